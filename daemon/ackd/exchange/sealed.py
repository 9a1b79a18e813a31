"""Sealed files: `ledger/<node>-<incarnation>/<first>-<last>.jsonl`, written whole, never changed (R8).

One writer a folder, so no sync tool can conflict on them. The first line is a header; every other line is an entry
whose hash the next one names, so a torn or edited file is found out and read up to the fault.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import msgspec

from ackd.errors import InvalidError
from ackd.exchange.port import Sealed
from ackd.fs.beneath import FileRead, Root
from ackd.fs.stage import Stage
from ackd.protocol.canonical import canonical
from ackd.protocol.entry import Entry, parse_entry

FOLDER = "ledger"
FORM = "ledger/1"
_CAP = 64 * 1024 * 1024
_NAME = re.compile(r"([0-9]{10})-([0-9]{10})\.jsonl\Z")
_SOURCE = re.compile(r"(.{1,160})-([0-9a-f]{8})\Z")


class SealedFiles:
    """The exchange through the tree.

    Args:
        root: The tree.
        stage: Where files are written before they appear.
    """

    def __init__(self, root: Root, stage: Stage) -> None:
        self._root, self._stage = root, stage

    def publish(self, node: str, inc: str, first: int, lines: Sequence[bytes]) -> str:
        """Publish a run of entries as one sealed file; one of that name that is there already stays as it is."""
        path, data = _sealed(node, inc, first, lines)
        self._stage.create_new(path, data)
        return path

    def put_back(self, node: str, inc: str, first: int, lines: Sequence[bytes]) -> str:
        """Publish a run of own entries again, in place of a file that something damaged; give its path."""
        path, data = _sealed(node, inc, first, lines)
        self._stage.replace(path, data)
        return path

    def published(self, node: str, inc: str) -> int:
        """Give the number of the last published entry of an incarnation, 0 for none."""
        names = (_NAME.match(name) for name in self._root.listdir(f"{FOLDER}/{node}-{inc}"))
        return max((int(match[2]) for match in names if match), default=0)

    def read_all(self) -> Iterator[Sealed]:
        """Give every sealed file of every node, those of one incarnation in order."""
        for folder in self._root.listdir(FOLDER):
            if not _SOURCE.match(folder):
                continue
            for name in self._root.listdir(f"{FOLDER}/{folder}"):
                if _NAME.match(name):
                    yield self._read(f"{FOLDER}/{folder}/{name}")

    def _read(self, path: str) -> Sealed:
        found = self._root.read(path, _CAP)
        if not isinstance(found, FileRead):
            return Sealed(source=path, entries=(), problem=f"{path} cannot be read")
        entries: list[tuple[Entry, bytes]] = []
        header, *lines = found.data.split(b"\n")
        try:
            node, inc, number, last = _read_header(header, path)
        except InvalidError as error:
            return Sealed(source=path, entries=(), problem=error.message)
        if lines and not lines[-1]:
            lines.pop()
        previous = ""
        for line in lines:
            try:
                entry = parse_entry(line)
            except InvalidError as error:
                problem = f"{path}, line {len(entries) + 2}: {error.message}"
                return Sealed(source=path, entries=tuple(entries), problem=problem)
            if (entry.node, entry.inc, entry.seq) != (node, inc, number) or (previous and entry.prev != previous):
                problem = f"{path}, line {len(entries) + 2}: this entry does not follow the one before it"
                return Sealed(source=path, entries=tuple(entries), problem=problem)
            entries.append((entry, line))
            previous, number = entry.key, number + 1
        problem = "" if number == last + 1 else f"{path} ends at entry {number - 1}, not at {last}"
        return Sealed(source=path, entries=tuple(entries), problem=problem)


def _sealed(node: str, inc: str, first: int, lines: Sequence[bytes]) -> tuple[str, bytes]:
    last = first + len(lines) - 1
    header = canonical({"ackd": FORM, "node": node, "inc": inc, "first": first, "last": last, "read": {}})
    return f"{FOLDER}/{node}-{inc}/{first:010d}-{last:010d}.jsonl", b"\n".join((header, *lines, b""))


class _Header(msgspec.Struct, frozen=True):
    ackd: str
    node: str
    inc: str
    first: int
    last: int


def _read_header(line: bytes, path: str) -> tuple[str, str, int, int]:
    """Read a header; it must say what folder and name say."""
    try:
        header = msgspec.json.decode(line, type=_Header)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        raise InvalidError(f"{path}, line 1: no header of a ledger file") from None
    expected = f"{FOLDER}/{header.node}-{header.inc}/{header.first:010d}-{header.last:010d}.jsonl"
    if header.ackd != FORM or expected != path:
        raise InvalidError(f"{path}, line 1: the header belongs to another file")
    return header.node, header.inc, header.first, header.last
