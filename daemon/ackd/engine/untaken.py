"""Files that were dropped and not taken in yet, because no daemon runs or it has not come to them."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator
from typing import TYPE_CHECKING

import msgspec

from ackd.errors import InvalidError
from ackd.fs.beneath import FileRead
from ackd.intake.decode import Whole, decode
from ackd.protocol.envelope import read_envelope
from ackd.protocol.ids import clean_ack_id, name_key
from ackd.tree import layout

if TYPE_CHECKING:
    from ackd.engine.reading import View

_CAP = 1024 * 1024
_MOST_READ = 5000


class Untaken(msgspec.Struct, frozen=True):
    """A message that waits in its file: path relative to the tree, thread, type and author as they are written."""

    path: str
    ack_id: str
    type: str
    sender: str


def untaken(view: View, ack_id: str) -> Untaken | None:
    """Find a message of a thread that lies in the tree and is not taken in yet; a request before any other.

    The folder that bears the thread's name is read first, then the rest of the tree, at most 5,000 files.

    Args:
        view: The tree.
        ack_id: The whole ack_id, in any spelling that counts as the same.
    """
    try:
        wanted, first = name_key(clean_ack_id(ack_id)), None
    except InvalidError:
        return None
    for path in _paths_not_taken(view, ack_id):
        found = _message(view, path)
        if found is None or name_key(found.ack_id) != wanted:
            continue
        if found.type in ("request", "broadcast"):
            return found
        first = first or found
    return first


def _paths_not_taken(view: View, ack_id: str) -> Iterator[str]:
    rows = view.files() if view.from_tree else view.memory.files()
    taken = {row.path for row in rows}
    own = f"{layout.ROUNDTABLE}/{ack_id}"
    number = 0
    for path in itertools.chain(_below(view, own), _below(view, "")):
        if path in taken or not layout.is_drop_path(path):
            continue
        taken.add(path)
        number += 1
        if number > _MOST_READ:
            return
        yield path


def _below(view: View, folder: str) -> Iterator[str]:
    top = view.tree / folder
    for here, folders, names in os.walk(top):
        base = os.path.relpath(here, view.tree)
        never = (layout.LEDGER, layout.REJECTED) if base == "." else ()
        folders[:] = sorted(name for name in folders if not name.startswith(".") and name not in never)
        for name in sorted(names):
            if name.endswith(".json"):
                yield name if base == "." else f"{base}/{name}".replace(os.sep, "/")


def _message(view: View, path: str) -> Untaken | None:
    read = view.root.read(path, _CAP)
    decoded = decode(read.data) if isinstance(read, FileRead) else None
    if not isinstance(decoded, Whole) or "ack_id" not in decoded.value or "ackd" in decoded.value:
        return None
    try:
        envelope = read_envelope(decoded.value)
    except InvalidError:
        return None
    return Untaken(path, envelope.ack_id, envelope.type, envelope.sender)
