"""The port of a live channel: one send, and what is known of it afterwards. Every agent has the file besides."""

from __future__ import annotations

import enum
from collections.abc import Callable
from typing import Protocol

import msgspec


class Outcome(enum.StrEnum):
    """How a live send ended (T12, T29, R43 to R45).

    `delivered`: the other side has it. `refused`: it said that it does not want it. `busy`: it asked for a pause.
    `not-sent`: known not to have arrived. `ambiguous`: it may have arrived, as after a time-out; never a failure.
    """

    DELIVERED = "delivered"
    REFUSED = "refused"
    BUSY = "busy"
    NOT_SENT = "not-sent"
    AMBIGUOUS = "ambiguous"


class Sent(msgspec.Struct, frozen=True):
    """The outcome of one send, and what the channel said of it: one line, at most 200 characters, shown escaped."""

    outcome: Outcome
    detail: str = ""


class Post(msgspec.Struct, frozen=True, kw_only=True):
    """What is sent live to one agent or person.

    Attributes:
        agent: To whom, in the roster's spelling.
        message_id: By this a receiver knows a repetition: a reminder of a request carries the request's.
        thread: The thread's id; of several in one post, the first.
        kind: Kind of the delivery: request, reminder, question, handoff, escalation, final, notice, summary …
        priority: critical, high, normal or low.
        text: What is asked and what was written, for a model or a person; what agents wrote stands in it fenced.
        delivery: The same as JSON in UTF-8, `schemas/delivery.schema.json`.
        repeated: Whether the receiver may have it already.
    """

    agent: str
    message_id: str
    thread: str
    kind: str
    priority: str
    text: str
    delivery: bytes
    repeated: bool = False


class Channel(Protocol):
    """A quick way to reach agents or people, from this node's own configuration.

    A channel is called from several threads at once. It never tries again by itself: whether and when to is decided
    elsewhere (T13).
    """

    name: str

    def send(self, post: Post, timeout_s: float, late: Callable[[Sent], None]) -> Sent:
        """Send once and say what is known of it.

        Args:
            post: What to send.
            timeout_s: Seconds within which this returns; what has not ended by then is `ambiguous`.
            late: Called at most once, from any thread, where an ambiguous send turns out to have been delivered.

        Returns:
            The outcome. It raises nothing: what goes wrong is an outcome too.
        """

    def close(self) -> None:
        """End what still runs; later sends are `not-sent`."""
