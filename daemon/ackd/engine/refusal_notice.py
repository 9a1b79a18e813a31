"""The notice to the author of a refused file: what is wrong with it, and how to put it right."""

from __future__ import annotations

from typing import Any

import msgspec

from ackd.engine.delivery import Rendered
from ackd.protocol.ids import shown
from ackd.protocol.instant import iso
from ackd.protocol.obligations import Deliver
from ackd.protocol.refusal import Refusal
from ackd.tree import layout

_MOST_NOTES = 20
_MOST_SKELETON = 64 * 1024
_encode = msgspec.json.Encoder().encode


def render_refusal(deliver: Deliver, refusal: Refusal, at_ms: int) -> Rendered:
    """Render the notice about a refused file.

    The file's own content is never repeated in it, but for the envelope that it was certainly meant to be: then the
    notice says how to accept that, and its answer is the repaired envelope, to be saved over the file.
    """
    problem = refusal.problem
    changes = _changes(problem)
    stem = refusal.record.rpartition("/")[2]
    document: dict[str, Any] = {
        "ackd": "delivery/1",
        "id": deliver.ids[0],
        "kind": "refusal",
        "to": deliver.agent,
        "thread": None,
        "written_at": iso(at_ms),
        "summary": f"Your file {shown(refusal.path)} was refused: {problem['detail']}"[:1000],
        "asks": ["correct"],
        "due": None,
        "notes": [
            *(f"a repair is certain: {one}"[:1000] for one in changes[:_MOST_NOTES]),
            str(problem["fix"]),
            f"the bytes and the full reason are in {refusal.record}.problem.json",
        ],
        "envelope": None,
        "path": refusal.path,
        "answers": [],
        "problem": problem,
    }
    if refusal.repaired is not None:
        document["repaired"] = {"path": problem.get("repaired"), "changes": changes, "envelope": refusal.repaired}
        if len(_encode(refusal.repaired)) <= _MOST_SKELETON:
            means = "you mean the repaired envelope: save it over your file"
            document["answers"] = [
                {"for": "correct", "means": means, "drop_at": refusal.path, "skeleton": refusal.repaired}
            ]
    return Rendered(
        name=layout.generated_name(at_ms, "refusal", stem, deliver.ids[0]),
        data=bytes(msgspec.json.format(_encode(document), indent=2)) + b"\n",
        facts={},
    )


def _changes(problem: dict[str, object]) -> list[str]:
    changes = problem.get("changes")
    return [str(one) for one in changes] if isinstance(changes, list) else []
