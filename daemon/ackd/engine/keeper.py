"""Keepers: what the engine follows beside envelopes; each looks at its own files and writes to its own subjects."""

from __future__ import annotations

from typing import Any, Protocol

import msgspec

from ackd.fs.beneath import FileRead


class BoardLine(msgspec.Struct, frozen=True):
    """A line that a keeper has for the board: under which heading, and what; plain text, not escaped."""

    heading: str
    text: str


class Keeper(Protocol):
    """Follows files that are no envelopes. All methods are called from the loop's thread, between groups."""

    def wants(self, path: str) -> bool:
        """Tell whether a file at that path is the keeper's although it is no `.json` drop."""

    def file(self, path: str, kind: str, document: Any, read: FileRead, now: int) -> None:
        """Take a new or changed file: of a kind of its own (then `document` is its JSON), or one that it wants.

        `kind` is the kind by place (status, intel, …), or an empty string for a file that it wants.
        """

    def gone(self, path: str, now: int) -> None:
        """Hear that a file it wants is not there now; absence is never a message (R6)."""

    def judged(self, thread: str, now: int) -> None:
        """Hear that a thread has changed."""

    def next_due(self) -> int | None:
        """Give when there is something to do without a change of files, milliseconds, or None."""

    def work(self, now: int) -> None:
        """Do what is due."""

    def board(self) -> tuple[BoardLine, ...]:
        """Give what people must see."""
