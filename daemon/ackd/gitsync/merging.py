"""The merge of two histories, path by path: pure, so that every case can be tried.

Whole files are compared. Git's own merge is not used on the tree: it follows renames of folders, runs merge drivers and
leaves conflicts. A file that both sides changed is ours, with theirs beside it under a name that follows from its bytes
alone, unless its lines can be merged.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterable, Mapping, Sequence

import msgspec

from ackd.gitsync.git import Entry
from ackd.tree import layout

BESIDE = re.compile(r"(?P<stem>.+)\.theirs-[0-9a-f]{8,64}(?:\.[^./]*)?", re.DOTALL)
"""Matches the path of a file that was laid beside another one."""

_LENGTHS = (8, 16, 64)


class Conflict(msgspec.Struct, frozen=True, kw_only=True):
    """A path on which two histories differ.

    Attributes:
        path: The path.
        beside: Where theirs lies now, or an empty string.
        what: What happened, one of `both-changed`, `deleted-here` (theirs was kept), `deleted-there` (ours was kept),
            `in-the-way` (a file here, a folder there), `no-file` (a link or a repository there: not taken).
    """

    path: str
    beside: str = ""
    what: str


class Merged(msgspec.Struct, frozen=True):
    """What a merge gives: how the result differs from ours, and the conflicts that were settled on the way."""

    changes: dict[str, Entry | None]
    conflicts: tuple[Conflict, ...]


Lines = Callable[[str, Entry | None, Entry, Entry], Entry | None]
"""Merges the lines of one path from base, ours and theirs; None where they conflict."""


def may_be_written(path: str) -> bool:
    """Tell whether a path of a commit may be written into the tree: nothing of git's, and no scratch of ours."""
    parts = path.casefold().split("/")
    if parts[0] == layout.SCRATCH or "\0" in path:
        return False
    return all(one not in ("", ".", "..") and not one.rstrip(". ").startswith(".git:") for one in parts) and all(
        one.rstrip(". ") not in (".git", "git~1") for one in parts
    )


def beside_name(path: str, oid: str, length: int = 8) -> str:
    """Name the place beside a path for the other side's file: no name that ackd takes for a drop.

    `PROJECT_STATUS.md` gives `PROJECT_STATUS.theirs-1a2b3c4d.md`; `x.json` gives `x.json.theirs-1a2b3c4d`.
    """
    folder, _, name = path.rpartition("/")
    stem, ending = posixpath.splitext(name)
    mark = f".theirs-{oid[:length]}"
    new = f"{name}{mark}" if layout.is_drop_path(f"x{ending}") else f"{stem}{mark}{ending}"
    return f"{folder}/{new}" if folder else new


def merge(
    bases: Sequence[Mapping[str, Entry]],
    ours: Mapping[str, Entry],
    theirs: Mapping[str, Entry],
    *,
    lines: Lines,
    stays: Iterable[str] = (),
) -> Merged:
    """Merge two histories.

    Args:
        bases: The best common ancestors; none for histories that have nothing in common.
        ours: What we have, by path.
        theirs: What the other side has.
        lines: Merges the lines of a file.
        stays: Paths whose file in the tree is newer than `ours` and is not to be touched; what the other side changed
            there is laid beside it.
    """
    work = _Merge(bases, ours, theirs, lines, frozenset(stays))
    for path in sorted(ours.keys() | theirs.keys()):
        work.settle(path)
    work.make_room()
    return Merged(work.changes, tuple(sorted(work.conflicts, key=lambda one: (one.path, one.beside))))


class _Merge:
    def __init__(
        self,
        bases: Sequence[Mapping[str, Entry]],
        ours: Mapping[str, Entry],
        theirs: Mapping[str, Entry],
        lines: Lines,
        stays: frozenset[str],
    ) -> None:
        self._bases, self._ours, self._theirs, self._lines, self._stays = bases, ours, theirs, lines, stays
        self.changes: dict[str, Entry | None] = {}
        self.conflicts: list[Conflict] = []

    def settle(self, path: str) -> None:
        """Decide what one path holds."""
        ours, theirs = self._ours.get(path), self._theirs.get(path)
        if ours == theirs:
            return
        before = [base.get(path) for base in self._bases] or [None]
        is_ours, is_theirs = ours not in before, theirs not in before
        if is_ours and not is_theirs:
            return  # Only we changed it.
        if is_theirs and not is_ours:
            self._take(path, ours, theirs)
        else:
            self._both(path, before[0], ours, theirs)

    def _take(self, path: str, ours: Entry | None, theirs: Entry | None) -> None:
        if ours is not None and theirs is not None and ours.is_file != theirs.is_file:
            # A link or a repository would take the place of a file, or the other way round.
            self.conflicts.append(Conflict(path=path, what="no-file"))
            return
        self.changes[path] = theirs
        self._keep_seen(path, theirs)

    def _keep_seen(self, path: str, theirs: Entry | None) -> None:
        """Where the file here stays, it will be committed over theirs: that has to lie beside it then."""
        if path in self._stays and theirs is not None and theirs.is_file:
            self._lay_beside(path, theirs, "both-changed")

    def _both(self, path: str, base: Entry | None, ours: Entry | None, theirs: Entry | None) -> None:
        if theirs is None:
            self.conflicts.append(Conflict(path=path, what="deleted-there"))
        elif ours is None:
            self.changes[path] = theirs
            self.conflicts.append(Conflict(path=path, what="deleted-here"))
            self._keep_seen(path, theirs)
        elif not (ours.is_file and theirs.is_file):
            self.conflicts.append(Conflict(path=path, what="no-file"))
        elif ours.oid == theirs.oid:
            return  # The same bytes; only who may run it differs.
        else:
            merged = None if path in self._stays or _is_json(path) else self._lines(path, base, ours, theirs)
            if merged is None:
                self._lay_beside(path, theirs, "both-changed")
            elif merged != ours:
                self.changes[path] = merged

    def _lay_beside(self, path: str, theirs: Entry, what: str) -> None:
        for length in _LENGTHS:
            name = beside_name(path, theirs.oid, length)
            there = self._result(name)
            if there is None or there.oid == theirs.oid:
                break
        if there is None:
            self.changes[name] = Entry("100644", theirs.oid)
        self.conflicts.append(Conflict(path=path, beside=name, what=what))

    def _result(self, path: str) -> Entry | None:
        return self.changes[path] if path in self.changes else self._ours.get(path)

    def make_room(self) -> None:
        """Where one side has a file and the other a folder of that name, ours stays and theirs gets another name."""
        for path in [one for one, entry in self.changes.items() if entry is not None]:
            entry = self.changes[path]
            assert entry is not None
            above = next((one for one in _above(path) if self._result(one) is not None), None)
            if above is not None:
                if self.changes.get(above) is not None and above not in self._ours:
                    continue  # Both are theirs: no commit holds that.
                moved = f"{beside_name(above, entry.oid)}{path[len(above) :]}"
                self._move(path, moved, entry)
        folders = {one for path in self._ours if self._result(path) is not None for one in _above(path)}
        for path in [one for one, entry in self.changes.items() if entry is not None and one in folders]:
            entry = self.changes[path]
            assert entry is not None
            self._move(path, beside_name(path, entry.oid), entry)

    def _move(self, path: str, moved: str, entry: Entry) -> None:
        if path in self._ours:
            self.changes[path] = None
        else:
            del self.changes[path]
        self.changes[moved] = entry
        self.conflicts.append(Conflict(path=path, beside=moved, what="in-the-way"))


def _is_json(path: str) -> bool:
    # Lines that fit together need not be a message that anybody wrote.
    return path.lower().endswith((".json", ".jsonl"))


def _above(path: str) -> list[str]:
    parts = path.split("/")
    return ["/".join(parts[:count]) for count in range(1, len(parts))]
