"""The port of the exchange: carriers of entries, of which the tree's sealed files are the first."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol

import msgspec

from ackd.protocol.entry import Entry


class Sealed(msgspec.Struct, frozen=True, kw_only=True):
    """A run of entries of one incarnation as it was published.

    Attributes:
        source: Where it came from, for messages.
        entries: The entries with their lines, in the order of their numbers.
        problem: What is wrong with it, or an empty string; then the entries before the fault are given.
    """

    source: str
    entries: tuple[tuple[Entry, bytes], ...]
    problem: str = ""


class Exchange(Protocol):
    """Carries entries between nodes; publishing the same run twice changes nothing."""

    def publish(self, node: str, inc: str, first: int, lines: Sequence[bytes]) -> str:
        """Publish entries `first` and following of an incarnation, never to be changed; give where they went."""

    def published(self, node: str, inc: str) -> int:
        """Give the number of the last entry of an incarnation that is published, 0 for none."""

    def read_all(self) -> Iterator[Sealed]:
        """Give all that can be read, of every node."""
