"""The notice about a subject: something that an agent is told once, and that asks for no answer."""

from __future__ import annotations

import msgspec

from ackd.engine.delivery import VERSION, Rendered
from ackd.engine.texts import when
from ackd.protocol.obligations import Deliver
from ackd.protocol.subject import Subject
from ackd.tree import layout

_LONGEST = 1000
_encode = msgspec.json.Encoder().encode


def render_notice(deliver: Deliver, subject: Subject, at_ms: int) -> Rendered:
    """Render a note of a subject for one agent."""
    note = next(one for one in subject.notes if one.step == deliver.message)
    document = {
        "ackd": VERSION,
        "kind": "notice",
        "to": deliver.agent,
        "thread": None,
        "summary": note.summary[:_LONGEST],
        "asks": ["none"],
        "notes": [one[:_LONGEST] for one in note.notes],
        "path": subject.name,
        "written_at": when(at_ms),
        "id": deliver.ids[0],
    }
    stem = "".join(one if one.isalnum() or one in "._-" else "-" for one in subject.name)
    return Rendered(
        name=layout.generated_name(at_ms, "notice", stem, deliver.ids[0]),
        data=bytes(msgspec.json.format(_encode(document), indent=2)) + b"\n",
        facts={},
    )
