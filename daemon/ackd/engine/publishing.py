"""Publishing pages: THREAD.md in each conversation's folder and BOARD.md, written only when they change."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from itertools import islice

import msgspec

from ackd.engine.book import Book
from ackd.engine.pages import MOST_ENDED, BoardRow, RefusedFile, board_page, thread_page
from ackd.fs import faults
from ackd.fs.beneath import FileRead, Root
from ackd.fs.stage import Stage
from ackd.protocol.policy import Policy
from ackd.protocol.refusal import PREFIX
from ackd.protocol.table import CONFIRMED, FINAL, REQUEST
from ackd.tree import layout

EVERY_MS = 10_000
"""A page is written at most once in this time (DESIGN part 2)."""

_CAP = 4 * 1024 * 1024
_read_row = msgspec.json.Decoder(BoardRow).decode


class Publisher:
    """Writes the pages of the threads that changed.

    Args:
        root: The tree.
        stage: Where pages are written before they appear.
        book: Threads.
        policy: Gives the rules in force.
        findings: Gives what the node itself found wrong, for the board.
    """

    def __init__(
        self,
        root: Root,
        stage: Stage,
        book: Book,
        policy: Callable[[], Policy],
        findings: Callable[[], tuple[str, ...]],
    ) -> None:
        self._root, self._stage, self._book, self._policy = root, stage, book, policy
        self._findings = findings
        self._due: dict[str, int] = {}
        self._written: dict[str, int] = {}
        self._pages: dict[str, str] = {}
        self._board_due: int | None = 0

    def changed(self, threads: dict[str, None], now: int) -> None:
        """Note that threads changed; their pages follow, and the board."""
        for thread in threads:
            if not thread.startswith(PREFIX):
                self._due.setdefault(thread, self._written.get(thread, now - EVERY_MS) + EVERY_MS)
        if threads and self._board_due is None:
            self._board_due = self._written.get(layout.BOARD, now - EVERY_MS) + EVERY_MS

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
        for thread in ready:
            del self._due[thread]
            self._written[thread] = now
            folded = self._book.thread(thread)
            if folded.folder:
                self._publish(layout.page_path(folded.folder), thread_page(folded, self._policy()))
        if self._board_due is not None and (all_ or self._board_due <= now):
            self._board_due = None
            self._written[layout.BOARD] = now
            self._publish(layout.BOARD, self._board())
        if self._pages:
            with self._book.memory.transaction():
                self._book.memory.put_pages(self._pages.items())
            self._pages.clear()
        if len(self._written) > 4 * limit:
            self._written = {name: at for name, at in self._written.items() if at + EVERY_MS > now}
        return len(ready)

    def _board(self) -> bytes:
        memory = self._book.memory
        rows = memory.threads(open_only=True)
        refused = [msgspec.json.decode(row.board) for row in rows if row.phase == "refused"]
        ended = (row for row in memory.threads(newest=True) if row.phase == FINAL and not row.id.startswith(PREFIX))
        shown = [*(row for row in rows if row.phase in (REQUEST, CONFIRMED)), *islice(ended, MOST_ENDED)]
        # Whoever has an inbox was told there; what is left needs a person.
        unheard = [one for one in refused if not one["author"] and not one["thread"]]
        return board_page(
            [_read_row(row.board) for row in shown],
            refused=[
                RefusedFile(path=one["path"], reason=str(one["detail"]), record=f"{one['record']}.problem.json")
                for one in unheard
            ],
            strangers=[str(one["sender"]) for one in refused if one["code"] == "unknown-sender"],
            findings=self._findings(),
        )

    def _publish(self, path: str, data: bytes) -> None:
        sha256 = hashlib.sha256(data).hexdigest()
        remembered = self._book.memory.page(path)
        found = self._root.read(path, _CAP)
        if isinstance(found, FileRead):
            there = hashlib.sha256(found.data).hexdigest()
            if there == sha256:
                return
            if remembered and there != remembered:
                # Somebody edited a generated page: the text is kept, then the page is ours again.
                self._stage.replace(f"{layout.REJECTED}/{self._book.node}/{there[:8]}-{_name(path)}", found.data)
        self._stage.replace(path, data)
        faults.reach("page")
        self._pages[path] = sha256


def _name(path: str) -> str:
    return path.rpartition("/")[2]
