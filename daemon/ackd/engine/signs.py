"""Signs of life outside a thread: an agent whose status file says that it works has got what was sent to it (T29)."""

from __future__ import annotations

from typing import Any

from ackd.channels.port import Outcome
from ackd.engine.book import Book
from ackd.engine.keeper import BoardLine
from ackd.engine.sending import Sender
from ackd.fs.beneath import FileRead
from ackd.protocol.ids import bare_key, name_key
from ackd.protocol.sends import Send

_AT_WORK = frozenset({"working", "busy", "running", "in-progress", "in_progress", "工作中", "进行中", "执行中"})
_AMBIGUOUS = b'"ambiguous"'


class Signs:
    """Watches status files for agents to which a live send may have arrived.

    Args:
        book: Entries and threads.
        sender: Records what is known of sends.
    """

    def __init__(self, book: Book, sender: Sender) -> None:
        self._book, self._sender = book, sender

    def wants(self, path: str) -> bool:
        """Want nothing that is no drop."""
        return False

    def file(self, path: str, kind: str, document: Any, read: FileRead, now: int) -> None:
        """Take a changed status: one that says "working", on this thread or on none that it names, is a sign."""
        if kind != "status" or not isinstance(document, dict):
            return
        state, agent, about = (document.get(key) for key in ("state", "agent", "ack_id"))
        if not isinstance(agent, str) or not isinstance(state, str) or state.strip().lower() not in _AT_WORK:
            return
        named = bare_key(about) if isinstance(about, str) and about.strip() else ""
        for thread in self._candidates():
            if named and bare_key(thread) != named:
                continue
            for send in self._book.sends(thread).values():
                if name_key(send.agent) == name_key(agent):
                    self._arrived(thread, send, path, now)

    def _candidates(self) -> list[str]:
        """Give the threads in which a send is under way or may have arrived."""
        rows = self._book.memory.threads(open_only=True) if self._sender.has_channels else ()
        unknown = [row.id for row in rows if _AMBIGUOUS in row.board]
        return list(dict.fromkeys([*unknown, *self._sender.in_flight()]))

    def _arrived(self, thread: str, send: Send, path: str, now: int) -> None:
        first = send.first_unknown
        entry = self._book.entry(thread, first.key) if first is not None else None
        if entry is not None:
            detail = f"{path} says that {send.agent} is at work"
            self._sender.resolve(thread, entry.key, entry.body, Outcome.DELIVERED, detail, now, sign=True)

    def gone(self, path: str, now: int) -> None:
        """Nothing: absence is never a message (R6)."""

    def judged(self, thread: str, now: int) -> None:
        """Nothing: what is said in the thread itself counts there."""

    def next_due(self) -> int | None:
        """Nothing falls due."""
        return None

    def work(self, now: int) -> None:
        """Nothing is left to do later."""

    def board(self) -> tuple[BoardLine, ...]:
        """Nothing that the threads' own lines do not show."""
        return ()
