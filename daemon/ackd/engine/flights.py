"""What waits to be sent live, what is under way, and how it came back: the values of `sending`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from ackd.channels.port import Post, Sent
from ackd.protocol.obligations import Deliver
from ackd.protocol.retry import Fall

PRIORITIES = ("critical", "high", "normal", "low")

EXPIRED = "the live channel had no room for it in time"
"""Why a file is handed over that never had its turn."""


class Offer(msgspec.Struct, frozen=True):
    """A delivery that waits for its turn.

    Attributes:
        deliver: What is to be handed over.
        channel: By which channel.
        since: Since when it waits, milliseconds.
        priority: critical, high, normal or low.
        repeated: Whether its receiver may have it already.
    """

    deliver: Deliver
    channel: str
    since: int
    priority: str
    repeated: bool

    @property
    def agent(self) -> str:
        """To whom."""
        return self.deliver.agent


class Plan(msgspec.Struct, frozen=True):
    """How what is owed in a ledger is handed over.

    Attributes:
        files: What goes as a file, with why where a live send did not do.
        due: When to look again, milliseconds, or None.
        again: Whether to look again at once: something was recorded that changes what is owed.
    """

    files: tuple[tuple[Deliver, Fall | None], ...] = ()
    due: int | None = None
    again: bool = False


class Part(msgspec.Struct, frozen=True):
    """One delivery within a send: its ledger, the key of the entry that recorded the try, and that entry's body."""

    thread: str
    key: str
    body: dict[str, Any]


class Flight(msgspec.Struct, frozen=True):
    """One send that is under way."""

    channel: str
    agent: str
    post: Post
    parts: tuple[Part, ...]

    @property
    def key(self) -> str:
        """The key of its first try."""
        return self.parts[0].key


class Landed(msgspec.Struct, frozen=True):
    """What became of a send; `late` where it had been ambiguous before."""

    flight: Flight
    sent: Sent
    late: bool = False


def turn_of(offer: Offer) -> tuple[int, int, str]:
    """Give the order in which offers have their turn: the pressing ones first, then the older."""
    return PRIORITIES.index(offer.priority), offer.since, offer.deliver.ids[0]


def files_only(thread: str, owed: Sequence[Deliver], now: int) -> Plan:
    """Hand everything over as files: the plan of a node without live channels."""
    return Plan(tuple((deliver, None) for deliver in owed))


def sooner(one: int | None, other: int | None) -> int | None:
    """Give the earlier of two instants; None is never."""
    return other if one is None else one if other is None else min(one, other)
