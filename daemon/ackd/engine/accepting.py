"""Accepting a repair: the repaired envelope of a refused file is dropped, because its author or a person says so.

The refused file stays as it is; the daemon takes its record away when it takes the repaired envelope in.
"""

from __future__ import annotations

from typing import Any

import msgspec

from ackd.engine.dropping import Dropped, check_document, drop, foresee
from ackd.engine.reading import View
from ackd.engine.show import refusal_documents
from ackd.errors import InvalidError, NotAllowedError
from ackd.fs.beneath import FileRead
from ackd.intake.decode import Whole, decode
from ackd.intake.repair import MAX_BYTES, Repaired
from ackd.protocol.ids import shown


class Accepted(msgspec.Struct, frozen=True):
    """A repair that was accepted: the refusal as `refusal_documents` gives it, and what was laid down."""

    refusal: dict[str, Any]
    dropped: Dropped


def find_refusal(view: View, name: str) -> dict[str, Any]:
    """Give the refusal that stands of an id, the unique start of one, or the path of the refused file.

    Raises:
        InvalidError: None or several have it.
    """
    found = [one for one in refusal_documents(view) if one["id"].startswith(name) or one["path"] == name]
    if not name or len(found) != 1:
        some = "no refused file has" if not found else "several refused files have"
        raise InvalidError(f"{some} the id {shown(name)}", hint="ackd rejected lists them")
    return found[0]


def accept_repair(view: View, name: str, by: str) -> Accepted:
    """Drop the repaired envelope of a refused file at the path that is proposed for it.

    Args:
        view: The tree.
        name: As for `find_refusal`.
        by: Who accepts it: the envelope's own author, or a person of the roster.

    Raises:
        InvalidError: There is no such refusal, no certain repair of it, or the thread would refuse the envelope.
        NotAllowedError: `by` is neither.
    """
    refusal = find_refusal(view, name)
    envelope = refusal["envelope"]
    if envelope is None:
        why = f": {refusal['why_no_repair']}" if refusal["why_no_repair"] else ""
        raise InvalidError(f"{refusal['path']} has no certain repair{why}", hint=str(refusal["fix"]))
    checked = check_document(view, envelope)
    roster = view.team.policy.roster
    who, author = roster.find(by), roster.spelling(checked.sender)
    if who is None or not (who.is_person or who.name == author):
        raise NotAllowedError(
            f"{shown(by)} may not accept the repair of a file by {author}", hint=f"{author} or a person may: --by NAME"
        )
    foreseen = foresee(view, checked)
    if foreseen.word == "refused":
        raise InvalidError(f"it would be refused: {foreseen.because}", hint=f"ackd show {foreseen.thread}")
    return Accepted(refusal, drop(view, checked, data=_as_offered(view, refusal)))


def _as_offered(view: View, refusal: dict[str, Any]) -> bytes:
    """Give the repaired file as it lies beside the record; made anew where something else, or nothing, lies there."""
    read = view.root.read(str(refusal["repaired"]), MAX_BYTES)
    decoded = decode(read.data) if isinstance(read, FileRead) else None
    if isinstance(read, FileRead) and isinstance(decoded, Whole) and decoded.value == refusal["envelope"]:
        return read.data
    return Repaired(refusal["envelope"], ()).to_bytes()
