"""The notice to the author of a refused file: what is wrong with it, and how to put it right."""

from __future__ import annotations

import msgspec

from ackd.engine.delivery import Rendered
from ackd.protocol.ids import shown
from ackd.protocol.instant import iso
from ackd.protocol.obligations import Deliver
from ackd.protocol.refusal import Refusal
from ackd.tree import layout

_encode = msgspec.json.Encoder().encode


def render_refusal(deliver: Deliver, refusal: Refusal, at_ms: int) -> Rendered:
    """Render the notice about a refused file; the file's own content is never repeated in it."""
    problem = refusal.problem
    stem = refusal.record.rpartition("/")[2]
    document = {
        "ackd": "delivery/1",
        "id": deliver.ids[0],
        "kind": "refusal",
        "to": deliver.agent,
        "thread": None,
        "written_at": iso(at_ms),
        "summary": f"Your file {shown(refusal.path)} was refused: {problem['detail']}"[:1000],
        "asks": ["correct"],
        "due": None,
        "notes": [str(problem["fix"]), f"the bytes and the full reason are in {refusal.record}.problem.json"],
        "envelope": None,
        "path": refusal.path,
        "answers": [],
        "problem": problem,
    }
    return Rendered(
        name=layout.generated_name(at_ms, "refusal", stem, deliver.ids[0]),
        data=bytes(msgspec.json.format(_encode(document), indent=2)) + b"\n",
        facts={},
    )
