"""Keeping the folders' own kinds: status, intel, agent sessions, tasks under watch and the radar.

Each changed file is validated; the last good content stays in force and grows stale by its own words, and its owner is
told once. The time of a file says nothing, and neither does its absence (R6).
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterator
from typing import Any

import msgspec

from ackd.engine.book import Book
from ackd.engine.files_shown import read_followed
from ackd.engine.followed import (
    FOLLOWED,
    Change,
    Followed,
    Other,
    content_digest,
    due,
    owner_of,
    remark,
    remind,
    settle,
    stale_text,
    take,
    take_copy,
)
from ackd.engine.keeper import BoardLine
from ackd.engine.refusals import Refusals
from ackd.engine.texts import when
from ackd.errors import AckdError
from ackd.fs.beneath import FileRead, Root
from ackd.protocol.ids import shown
from ackd.protocol.policy import Policy
from ackd.schema import FieldProblem, accepts, problems
from ackd.tree import layout
from ackd.tree.skips import conflict_original

log = logging.getLogger("ackd")

HEADING = "Files that need a look"

_LOOK_MS = 60_000
_LOAD_MS = 600_000


class Kinds:
    """Follows the files of the folders' kinds.

    Args:
        root: The tree.
        book: Where what is known is recorded.
        refusals: Where invalid files go.
        policy: Gives the rules in force.
    """

    def __init__(self, root: Root, book: Book, refusals: Refusals, policy: Callable[[], Policy]) -> None:
        self._root, self._book, self._refusals, self._policy = root, book, refusals, policy
        self._known: dict[str, Followed] = {}
        self._load_at = 0
        self._look_at = 0

    def wants(self, path: str) -> bool:
        """Want nothing that is no drop: all kinds are JSON."""
        return False

    def file(self, path: str, kind: str, document: Any, read: FileRead, now: int) -> None:
        """Take a new or changed file of a kind, or refuse it."""
        if kind not in FOLLOWED:
            return
        try:
            self._file(path, kind, document, read, now)
        except (AckdError, OSError):
            raise
        except Exception as error:
            # A fault of ours in one file must not stop all others (R13).
            log.exception("internal-error", extra={"path": path})
            detail = f"ackd itself failed on it ({type(error).__name__}); please report it with the daemon's log"
            self._refusals.add(path, read, "internal-error", detail, "", now)

    def gone(self, path: str, now: int) -> None:
        """Do nothing: that a file is missing says nothing."""

    def judged(self, thread: str, now: int) -> None:
        """Do nothing: threads are no files."""

    def next_due(self) -> int | None:
        """Give when the next file is stale, or somebody is to hear of it."""
        rules = self._policy()
        return min((at for one in self._known.values() if (at := due(one, rules)) is not None), default=None)

    def work(self, now: int) -> None:
        """Tell owners of what is stale, and the arbiter of tasks that did not change even so."""
        self._load(now)
        rules = self._policy()
        for path, known in list(self._known.items()):
            at = due(known, rules)
            if at is not None and at <= now:
                # A turn that failed may have taken back what we hold; what is recorded decides.
                self._known[path] = self._now_known(path) or known
                change = remind(self._known[path], path, now, rules)
                if change is not None:
                    self._record(path, change, now)
        if now >= self._look_at:
            self._look_at = now + _LOOK_MS
            self._look_after_copies(now)

    def board(self) -> tuple[BoardLine, ...]:
        """Give what is broken, flagged or stale."""
        broken = dict(self._broken())
        lines = [f"{path}: {text}" for path, text in sorted(broken.items())]
        for path, known in sorted(self._known.items()):
            owner = f" (owner {known.owner})" if known.owner else ""
            if known.flag:
                lines.append(f"{path}{owner}: {known.flag}; seen at {when(known.flag_at)}")
            if known.findings and path not in broken:
                lines.append(f"{path}{owner}: {'; '.join(known.findings)}")
            if known.from_future:
                lines.append(f"{path}{owner}: {known.odd}; it was read at {when(known.read_at)}")
            if known.stale_steps:
                lines.append(f"{stale_text(known, path)}{owner}")
        return tuple(BoardLine(HEADING, line) for line in lines)

    # Files.

    def _file(self, path: str, kind: str, document: Any, read: FileRead, now: int) -> None:
        if document is None:
            document = _list_in(read.data)
        folder, slash, name = path.rpartition("/")
        first = conflict_original(name, lambda one: self._root.exists(folder + slash + one))
        if first is not None and layout.kind_of(folder + slash + first) == kind:
            self._copy(folder + slash + first, path, kind, document, read.data, now)
            return
        known = self._now_known(path)
        if not accepts(kind, document):
            self._refuse(path, kind, document, read, known, now)
            return
        if known is not None and known.digest == content_digest(document, read.data)[0]:
            return
        change = take(known, kind, document, read.data, path=path, now=now, rules=self._policy())
        self._record(path, change, now)
        found = remark(change.now, path, now)
        if found is not None:
            self._record(path, found, now)
        more = remind(self._known[path], path, now, self._policy())
        if more is not None:
            self._record(path, more, now)

    def _copy(self, path: str, copy: str, kind: str, document: Any, data: bytes, now: int) -> None:
        known = self._now_known(path)
        digest, content = content_digest(document, data)
        owner = owner_of(kind, document, path, self._policy().roster)
        other = Other(path=copy, digest=digest, content=content, at=now)
        change = take_copy(known, kind, other, owner, path=path, now=now)
        if change is not None:
            self._record(path, change, now)

    def _refuse(self, path: str, kind: str, document: Any, read: FileRead, known: Followed | None, now: int) -> None:
        found: list[FieldProblem] = problems(kind, document)
        detail = "; ".join(f"{one.pointer or 'the whole'}: {one.expected}" for one in found[:3]) or "it is not valid"
        owner = owner_of(kind, document, path, self._policy().roster) or (known.owner if known is not None else "")
        fix = f"correct {shown(path)} where it lies; `ackd validate` with its path checks it"
        if known is not None and known.digest:
            fix += f"; until then what was read at {when(known.read_at)} stays in force"
        self._refusals.add(
            path,
            read,
            f"invalid-{kind}",
            detail,
            owner,
            now,
            document=document if isinstance(document, dict) else None,
            fields=found,
            fix=fix,
        )
        log.warning("refused", extra={"path": path, "ack_id": "", "reason": f"invalid-{kind}: {detail}"})

    def _look_after_copies(self, now: int) -> None:
        """A conflict copy that somebody took away is settled."""
        for path, known in list(self._known.items()):
            if known.other is not None and known.other.path and not self._root.exists(known.other.path):
                self._record(path, settle(self._now_known(path) or known, now), now)

    def _broken(self) -> Iterator[tuple[str, str]]:
        """Give the files that are broken now, with why and what is in force instead."""
        for row in self._book.memory.threads(open_only=True):
            if row.phase != "refused":
                continue
            board = msgspec.json.decode(row.board)
            # Where nobody could be told, the board lists it among the refused files.
            if layout.kind_of(board["path"]) in FOLLOWED and (board["author"] or board["thread"]):
                known = self._known.get(board["path"])
                good = f"; what was read at {when(known.read_at)} stays in force" if known and known.digest else ""
                yield board["path"], f"not taken: {board['detail']}{good}"

    # What is known.

    def _record(self, path: str, change: Change, now: int) -> None:
        self._known[path] = change.now
        self._book.note(path, msgspec.json.decode(msgspec.json.encode(change.now)), change.note, now)

    def _now_known(self, path: str) -> Followed | None:
        return read_followed(self._book.subject(path).data)

    def _load(self, now: int) -> None:
        """Find what is followed, at the start and now and then: a turn that failed may have taken something back."""
        if self._load_at and now < self._load_at:
            return
        self._load_at = now + _LOAD_MS
        self._known = {}
        for name, data in self._book.subjects():
            known = read_followed(data) if layout.kind_of(name) in FOLLOWED else None
            if known is not None:
                self._known[name] = known


def _list_in(data: bytes) -> Any:
    """Read a document that is no object; None where it is no JSON."""
    try:
        return json.loads(data.decode("utf-8-sig"))
    except (ValueError, RecursionError):
        return None
