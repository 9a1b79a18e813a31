"""Entries of the ledger: what was taken in, judged, refused, delivered; each names the one before it by its hash."""

from __future__ import annotations

import hashlib
import re
from typing import Any

import msgspec

from ackd.errors import InvalidError
from ackd.protocol.clock import Stamp

VERSION = 1

JUDGED = "judged"
"""A message was taken in and judged; `body` has the whole message, its verdict and the basis of the verdict."""
REFUSED = "refused"
"""A file was refused; `body` has its path, the SHA-256 of its bytes, the problem and, if certain, the repair."""
RESOLVED = "resolved"
"""A refused file was put right or judged again; `body` has the path and the SHA-256 of the refused bytes, and `taken`,
the file that brought the repaired content, where it was not the refused file itself, or `gone` where the file went."""
DELIVERED = "delivered"
"""An obligation was carried out; `body` has the ids, the agent, the path and the facts that were stated."""
ATTEMPTED = "attempted"
"""A live send is about to be made; `body` has the ids of the obligations, the agent, kind, channel and message_id."""
OUTCOME = "outcome"
"""What became of a live send; `body` has the key of the entry that recorded the try, the outcome and a detail."""
TIMER = "timer"
"""A timer ran out and its outcome stands; `body` has its id."""
NOTED = "noted"
"""Something is known of a subject that is no thread; `body` has its name, what is known, and who is told."""
HOME = "home"
"""An agent's home was taken, released or seized; `body` has agent, node and epoch."""
SETTLED = "settled"
"""Every joined node has read the final."""
PURGED = "purged"
"""A person had a message removed; its hash stays."""

_KEY = re.compile(r"[0-9a-f]{64}\Z")

KINDS = frozenset({JUDGED, REFUSED, RESOLVED, DELIVERED, ATTEMPTED, OUTCOME, TIMER, NOTED, HOME, SETTLED, PURGED})


class Entry(msgspec.Struct, frozen=True, kw_only=True):
    """One line of the ledger.

    Attributes:
        key: SHA-256 of the entry's line as it was written, 64 hex digits.
        node: Name of the node that wrote it.
        inc: The node's incarnation, 8 hex digits.
        seq: Number of the entry in that incarnation, from 1.
        prev: Key of the entry before it in that incarnation, or an empty string.
        stamp: Hybrid logical clock.
        epoch: Home epoch under which the node acted; 0 while nodes have no homes.
        kind: One of `KINDS`.
        thread: The thread it belongs to, or an empty string (a refused file may belong to none).
        at: The node's own wall clock when it wrote the entry, in milliseconds.
        body: What is said, a JSON object; its keys depend on the kind.
    """

    key: str
    node: str
    inc: str
    seq: int
    prev: str
    stamp: Stamp
    epoch: int
    kind: str
    thread: str
    at: int
    body: dict[str, Any]

    @property
    def order(self) -> tuple[Stamp, str, str, int]:
        """The total order in which entries that had not seen each other are merged."""
        return (self.stamp, self.node, self.inc, self.seq)


class _Line(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=False, omit_defaults=True):
    v: int
    node: str
    inc: str
    seq: int
    prev: str
    stamp: Stamp
    epoch: int
    kind: str
    thread: str
    at: int
    body: dict[str, Any]
    purged: str = ""


_encode_line = msgspec.json.Encoder(order="sorted").encode
_decode_line = msgspec.json.Decoder(_Line).decode


def make_entry(
    *,
    node: str,
    inc: str,
    seq: int,
    prev: str,
    stamp: Stamp,
    kind: str,
    thread: str,
    at: int,
    body: dict[str, Any],
    epoch: int = 0,
) -> tuple[Entry, bytes]:
    """Make an entry and the line that stands for it, without its line end."""
    line = _encode_line(
        _Line(
            v=VERSION,
            node=node,
            inc=inc,
            seq=seq,
            prev=prev,
            stamp=stamp,
            epoch=epoch,
            kind=kind,
            thread=thread,
            at=at,
            body=body,
        )
    )
    entry = Entry(
        key=hashlib.sha256(line).hexdigest(),
        node=node,
        inc=inc,
        seq=seq,
        prev=prev,
        stamp=stamp,
        epoch=epoch,
        kind=kind,
        thread=thread,
        at=at,
        body=body,
    )
    return entry, line


def parse_entry(line: bytes) -> Entry:
    """Read an entry from its line; the key is the hash of the line as it stands.

    The line of a purged entry names the key that it had before, `purged`, and keeps it: so the next entry still follows
    it. Only a line whose body says that it was purged may do so.

    Raises:
        InvalidError: The line is no entry, or of a version that this ackd does not know.
    """
    try:
        read = _decode_line(line)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise InvalidError(f"this line is no ledger entry: {error}") from None
    if read.v != VERSION:
        raise InvalidError(f"this ledger entry has version {read.v}, known is {VERSION}", hint="update ackd")
    if read.purged and not (_KEY.match(read.purged) and read.body.get("purged") is True):
        raise InvalidError("this ledger entry names another key, and yet nothing was removed from it")
    return Entry(
        key=read.purged or hashlib.sha256(line).hexdigest(),
        node=read.node,
        inc=read.inc,
        seq=read.seq,
        prev=read.prev,
        stamp=read.stamp,
        epoch=read.epoch,
        kind=read.kind,
        thread=read.thread,
        at=read.at,
        body=read.body,
    )


def purge_entry(entry: Entry, body: dict[str, Any]) -> bytes:
    """Give the line that stands for an entry from which a person had something removed.

    Args:
        entry: The entry as it was; its key stays.
        body: What is left of its body; `purged` is added to it.
    """
    return _encode_line(
        _Line(
            v=VERSION,
            node=entry.node,
            inc=entry.inc,
            seq=entry.seq,
            prev=entry.prev,
            stamp=entry.stamp,
            epoch=entry.epoch,
            kind=entry.kind,
            thread=entry.thread,
            at=entry.at,
            body={**body, "purged": True},
            purged=entry.key,
        )
    )
