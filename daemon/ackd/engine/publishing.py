"""Publishing pages: THREAD.md in each conversation's folder and BOARD.md, written only when they change."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from itertools import islice

import msgspec

from ackd.engine.book import Book
from ackd.engine.keeper import BoardLine
from ackd.engine.pages import MOST_ENDED, BoardRow, RefusedFile, board_page
from ackd.engine.thread_page import thread_page
from ackd.errors import AckdError
from ackd.fs import faults
from ackd.fs.beneath import FileRead, Root
from ackd.fs.stage import Stage
from ackd.protocol.policy import Policy
from ackd.protocol.subject import is_thread
from ackd.protocol.table import CONFIRMED, REQUEST, UNKNOWN
from ackd.tree import layout

EVERY_MS = 10_000
"""A page is written at most once in this time (DESIGN part 2)."""

_MOST_ENDED_KNOWN = 100_000
_CAP = 4 * 1024 * 1024
_WRITTEN = "pages-written"
_read_row = msgspec.json.Decoder(BoardRow).decode


class Publisher:
    """Writes the pages of the threads that changed.

    Args:
        root: The tree.
        stage: Where pages are written before they appear.
        book: Threads.
        policy: Gives the rules in force.
        findings: Gives what the node itself found wrong, for the board.
        lines: Gives what is followed beside the threads, for the board.
    """

    def __init__(
        self,
        root: Root,
        stage: Stage,
        book: Book,
        policy: Callable[[], Policy],
        findings: Callable[[], tuple[str, ...]],
        lines: Callable[[], tuple[BoardLine, ...]],
    ) -> None:
        self._root, self._stage, self._book, self._policy = root, stage, book, policy
        self._findings, self._lines = findings, lines
        self._due: dict[str, int] = {}
        self._ended: set[str] = set()
        self._written: dict[str, int] = {}
        self._board_due: int | None = 0
        self._all_written_at = 0
        self.trouble: dict[str, str] = {}

    def changed(self, threads: dict[str, None], now: int) -> None:
        """Note that threads changed; their pages follow, and the board."""
        for thread in threads:
            if not is_thread(thread):
                continue
            self._due.setdefault(thread, self._written.get(thread, now - EVERY_MS) + EVERY_MS)
            if self._due[thread] > now and thread not in self._ended and self._book.thread(thread).ended:
                # The receipt of a finished thread is what people look for: it is written at once.
                self._ended.add(thread)
                self._due[thread] = now
        if threads and self._board_due is None:
            self._board_due = self._written.get(layout.BOARD, now - EVERY_MS) + EVERY_MS

    def catch_up(self, now: int) -> None:
        """Look at the pages of all threads that changed since every page was last known to be written."""
        since = int(self._book.memory.meta(_WRITTEN, "0"))
        self.changed(dict.fromkeys(self._book.memory.updated_since(since)), now)

    def next_due(self) -> int | None:
        """Give when the next page is to be written, milliseconds, or None."""
        due = list(self._due.values())
        if self._board_due is not None:
            due.append(self._board_due)
        return min(due, default=None)

    def write(self, now: int, *, limit: int = 200, all_: bool = False) -> int:
        """Write the pages that are due.

        Args:
            now: The node's wall clock, milliseconds.
            limit: At most this many, so that deliveries do not wait.
            all_: Whatever is pending, due or not (at a clean stop).

        Returns:
            How many pages were looked at.
        """
        ready = [thread for thread, due in self._due.items() if all_ or due <= now][: None if all_ else limit]
        pages: dict[str, tuple[str, bytes]] = {}
        for thread in ready:
            del self._due[thread]
            self._written[thread] = now
            folded = self._book.thread(thread)
            if folded.folder:
                pages[layout.page_path(folded.folder)] = (thread, thread_page(folded, self._policy()))
        if self._board_due is not None and (all_ or self._board_due <= now):
            self._board_due = None
            self._written[layout.BOARD] = now
            pages[layout.BOARD] = (layout.BOARD, self._board())
        self._publish({path: data for path, (_, data) in pages.items()})
        for path, (name, _) in pages.items():
            if path not in self.trouble:
                continue
            if name == layout.BOARD:
                self._board_due = now + EVERY_MS
            else:
                self._due[name] = now + EVERY_MS
        if ready and not self._due:
            self._all_written_at = now
            if all_:
                with self._book.memory.transaction():
                    self._book.memory.set_meta(_WRITTEN, str(now))
        if len(self._ended) > _MOST_ENDED_KNOWN:
            self._ended.clear()
        if len(self._written) > 4 * limit:
            self._written = {name: at for name, at in self._written.items() if at + EVERY_MS > now}
        return len(ready)

    def _board(self) -> bytes:
        memory = self._book.memory
        rows = memory.threads(open_only=True)
        refused = [msgspec.json.decode(row.board) for row in rows if row.phase == "refused"]
        ended = islice((row for row in memory.ended() if is_thread(row.id)), MOST_ENDED)
        opened = [_read_row(row.board) for row in rows if row.phase in (REQUEST, CONFIRMED)]
        # What waits for its request, or was refused for good, is a person's to see; refused strangers stand apart.
        opened += [one for row in rows if row.phase == UNKNOWN and (one := _read_row(row.board)).conditions]
        # Whoever has an inbox was told there; what is left needs a person.
        unheard = [one for one in refused if not one["author"] and not one["thread"]]
        return board_page(
            [*opened, *(_read_row(row.board) for row in ended)],
            refused=[
                RefusedFile(path=one["path"], reason=str(one["detail"]), record=f"{one['record']}.problem.json")
                for one in unheard
            ],
            strangers=[str(one["sender"]) for one in refused if one["code"] == "unknown-sender"],
            findings=self._findings(),
            lines=self._lines(),
        )

    def _publish(self, pages: dict[str, bytes]) -> None:
        """Write the pages that differ from what lies there.

        What is about to be written is remembered first, beside what was written before: after a crash between the two
        neither is taken for a person's edit.
        """
        rows = []
        for path, data in pages.items():
            row = self._compare(path, data)
            if row is not None:
                rows.append(row)
        if not rows:
            return
        memory = self._book.memory
        with memory.transaction():
            memory.put_pages(rows)
            memory.set_meta(_WRITTEN, str(self._all_written_at))
        for path, sha256, before in rows:
            if sha256 != before:
                self._replace(path, pages[path])
                faults.reach("page")

    def _compare(self, path: str, data: bytes) -> tuple[str, str, str] | None:
        """Give path, SHA-256 and that of what lies there, or None where nothing is to be done."""
        sha256 = hashlib.sha256(data).hexdigest()
        ours = self._book.memory.page(path)
        found = self._root.read(path, _CAP)
        if not isinstance(found, FileRead):
            return path, sha256, ""
        there = hashlib.sha256(found.data).hexdigest()
        if there == sha256:
            return None if ours == (sha256, sha256) else (path, sha256, sha256)
        if any(ours) and there not in ours:
            # Somebody edited a generated page: the text is kept, then the page is ours again.
            self._replace(f"{layout.REJECTED}/{self._book.node}/{there[:8]}-{_name(path)}", found.data)
        return path, sha256, there

    def _replace(self, path: str, data: bytes) -> None:
        """Put a page into its place; one that cannot be written (a folder of its name, say) holds up nothing else."""
        try:
            self._stage.replace(path, data)
            self.trouble.pop(path, None)
        except (AckdError, IsADirectoryError, NotADirectoryError) as error:
            self.trouble[path] = f"{path} cannot be written: {error}"


def _name(path: str) -> str:
    return path.rpartition("/")[2]
