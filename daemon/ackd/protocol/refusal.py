"""Refused files: what their entries come to, and what is owed to their authors."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from ackd.errors import InvalidError
from ackd.protocol.canonical import digest
from ackd.protocol.entry import DELIVERED, REFUSED, RESOLVED, Entry
from ackd.protocol.envelope import read_envelope
from ackd.protocol.obligations import Deliver, obligation_id

PREFIX = "!"
"""Refused files have ledgers of their own, one a path; names never start with this, so no thread can clash."""


class Refusal(msgspec.Struct, frozen=True, kw_only=True):
    """The newest refusal of the file at one path.

    Attributes:
        id: Id of its ledger, `!` and 16 hex.
        path: The file.
        sha256: Of the refused bytes, or of what is known of a thing that was not read.
        author: Who is told, in the roster's spelling, or an empty string: then a person must look.
        problem: The RFC 9457 problem.
        record: Where the record lies in `rejected/`, without its ending.
        at: When it was refused, milliseconds.
        standing: Whether it still stands: not put right and not judged again.
        told: Obligations that were carried out, with the path of each file.
        repaired: The envelope that the file was certainly meant to be, or None.
        repaired_sha256: Of the repaired file beside the record, or an empty string.
        taken: The file that brought the repaired content, or an empty string; then the refusal stands no more, although
            the refused file is as it was.
        purged: A person had it removed; it stands no more.
        gone: The refused file has been away for a while: nobody can put it right, until it comes back.
    """

    id: str
    path: str
    sha256: str
    author: str
    problem: dict[str, object]
    record: str
    at: int
    standing: bool
    told: dict[str, str]
    repaired: dict[str, Any] | None = None
    repaired_sha256: str = ""
    taken: str = ""
    purged: bool = False
    gone: bool = False


def refusal_id(path: str) -> str:
    """Give the id of the ledger of refusals of a path."""
    return PREFIX + digest(["refused", path.encode("utf-8", "surrogateescape").hex()])[:16]


def meant_digest(repaired: Any) -> str:
    """Give the digest of the message that a refused file was meant to hold; empty where that is no envelope."""
    try:
        return read_envelope(repaired).digest if isinstance(repaired, dict) else ""
    except InvalidError:
        return ""


def fold_refusals(ledger: str, entries: Iterable[Entry]) -> Refusal | None:
    """Merge the entries of one path; None where it was never refused."""
    newest: Entry | None = None
    resolved: dict[str, Entry] = {}
    told: dict[str, str] = {}
    for entry in sorted({entry.key: entry for entry in entries}.values(), key=lambda one: one.order):
        if entry.kind == REFUSED:
            newest = entry
            resolved.pop(entry.body["sha256"], None)
        elif entry.kind == RESOLVED:
            resolved[entry.body["sha256"]] = entry
        elif entry.kind == DELIVERED:
            told.update(dict.fromkeys(entry.body["ids"], entry.body["path"]))
    if newest is None:
        return None
    body = newest.body
    repaired = body["repaired"] if isinstance(body.get("repaired"), dict) else {}
    end = resolved.get(body["sha256"])
    return Refusal(
        id=ledger,
        path=body["path"],
        sha256=body["sha256"],
        author=body["author"],
        problem=body["problem"],
        record=body["record"],
        at=newest.at,
        standing=end is None,
        told=told,
        repaired=repaired.get("envelope"),
        repaired_sha256=repaired.get("sha256", ""),
        taken=end.body.get("taken", "") if end is not None else "",
        purged=end is not None and bool(end.body.get("purged")),
        gone=end is not None and bool(end.body.get("gone")),
    )


def refusal_owed(refusal: Refusal) -> Deliver | None:
    """Give the notice that the author of a refused file is still owed, or None."""
    one = obligation_id("refusal", refusal.id, refusal.author, refusal.sha256[:16])
    if not refusal.author or not refusal.standing or one in refusal.told:
        return None
    return Deliver(ids=(one,), kind="refusal", thread=refusal.id, agent=refusal.author, message=refusal.sha256)


def refusal_gone(refusal: Refusal) -> frozenset[str]:
    """Give the notices whose files may go: all once it is put right, else all but the newest."""
    newest = obligation_id("refusal", refusal.id, refusal.author, refusal.sha256[:16])
    return frozenset(one for one in refusal.told if not refusal.standing or one != newest)
