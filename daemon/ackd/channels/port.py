"""The port of a live channel: one send, and what is known of it afterwards. Every agent has the file today."""

from __future__ import annotations

import enum
from typing import Protocol

import msgspec


class Outcome(enum.StrEnum):
    """How a live send ended. A time-out is ambiguous, never failed (T12, T29)."""

    DELIVERED = "delivered"
    REFUSED = "refused"
    BUSY = "busy"
    NOT_SENT = "not-sent"
    AMBIGUOUS = "ambiguous"


class Sent(msgspec.Struct, frozen=True):
    """The outcome of one send, and what the channel said of it."""

    outcome: Outcome
    detail: str = ""


class Channel(Protocol):
    """A way to reach agents at once."""

    name: str

    def send(self, agent: str, message_id: str, delivery: bytes, timeout_s: float) -> Sent:
        """Hand a delivery to an agent; the same message_id is never work twice. Returns within the time-out."""
