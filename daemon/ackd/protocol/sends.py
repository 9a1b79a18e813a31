"""Live sends as the ledger tells them: every try, recorded before it was made, and what became of it (T12, T29).

A send has a state of its own, apart from the thread's: queued, sent, delivered, refused, busy, not-sent, ambiguous or
expired. A try without a recorded outcome may have arrived, as may one that timed out: neither is ever a failure.
"""

from __future__ import annotations

import msgspec

from ackd.protocol.clock import Stamp
from ackd.protocol.entry import ATTEMPTED, OUTCOME, Entry

DELIVERED_LIVE = "delivered"
STATES = ("queued", "sent", "delivered", "refused", "busy", "not-sent", "ambiguous", "expired")
"""All states of a send, in the order of its life."""

_NEVER_ARRIVED = frozenset({"refused", "busy", "not-sent"})


class Attempt(msgspec.Struct, frozen=True, kw_only=True):
    """One try.

    Attributes:
        key: Key of the entry that recorded it, before it was made.
        stamp: Of that entry.
        at: When it was made, milliseconds by the clock of the node that made it.
        channel: Name of the channel.
        by: Author of the message where it made the try itself, else an empty string.
        outcome: delivered, refused, busy, not-sent or ambiguous; empty while it is not known.
        detail: What the channel said, one line.
        ended_at: When the outcome was recorded, or 0.
        by_sign: Whether it is known to have arrived only by a sign of life of its receiver.
    """

    key: str
    stamp: Stamp
    at: int
    channel: str
    by: str = ""
    outcome: str = ""
    detail: str = ""
    ended_at: int = 0
    by_sign: bool = False

    @property
    def may_have_arrived(self) -> bool:
        """Whether the receiver may have it: only what is known not to have arrived does not count (T13)."""
        return self.outcome not in _NEVER_ARRIVED

    @property
    def is_unknown(self) -> bool:
        """Whether nobody knows if it arrived."""
        return self.may_have_arrived and self.outcome != DELIVERED_LIVE


class Send(msgspec.Struct, frozen=True, kw_only=True):
    """One obligation that was sent live: to whom, as what, and every try.

    Attributes:
        id: Id of the obligation.
        agent: To whom.
        kind: Kind of the delivery.
        attempts: In the order in which they were made.
    """

    id: str
    agent: str
    kind: str
    attempts: tuple[Attempt, ...] = ()

    @property
    def last(self) -> Attempt:
        """The latest try."""
        return self.attempts[-1]

    @property
    def is_delivered(self) -> bool:
        """Whether a try is known to have arrived."""
        return any(one.outcome == DELIVERED_LIVE for one in self.attempts)

    @property
    def first_unknown(self) -> Attempt | None:
        """The first try of which nobody knows whether it arrived, or None; None too once one is known to have."""
        return None if self.is_delivered else next((one for one in self.attempts if one.is_unknown), None)

    @property
    def state(self) -> str:
        """One of `STATES` but queued and expired, which are no tries."""
        if self.is_delivered:
            return DELIVERED_LIVE
        if self.last.outcome:
            return self.last.outcome
        return "sent"


def add_send(sends: dict[str, Send], entry: Entry) -> None:
    """Merge one more entry into the sends of a ledger, by obligation; entries come in their total order.

    Where two outcomes of a try are known, `delivered` stands, else the first.
    """
    body = entry.body
    if entry.kind == ATTEMPTED:
        attempt = Attempt(key=entry.key, stamp=entry.stamp, at=entry.at, channel=body["channel"], by=body.get("by", ""))
        for one in body["ids"]:
            send = sends.get(one) or Send(id=one, agent=body["agent"], kind=body["kind"])
            sends[one] = msgspec.structs.replace(send, attempts=(*send.attempts, attempt))
    elif entry.kind == OUTCOME:
        for one, send in sends.items():
            sends[one] = _with_outcome(send, entry)


def _with_outcome(send: Send, entry: Entry) -> Send:
    key, outcome = entry.body["attempt"], entry.body["outcome"]
    attempts = []
    for one in send.attempts:
        if one.key == key and (not one.outcome or outcome == DELIVERED_LIVE != one.outcome):
            one = msgspec.structs.replace(
                one,
                outcome=outcome,
                detail=entry.body.get("detail", ""),
                ended_at=entry.at,
                by_sign=bool(entry.body.get("sign")),
            )
        attempts.append(one)
    return msgspec.structs.replace(send, attempts=tuple(attempts))


def unknown_tries(sends: dict[str, Send], agent: str, sign: Stamp | None) -> tuple[Attempt, ...]:
    """Give the tries to an agent of which nobody knows whether they arrived, since its last sign of life (T13).

    Args:
        sends: Those of one ledger.
        agent: To whom.
        sign: Stamp of the agent's last drop there but courtesy, or None.
    """
    found = {
        attempt.key: attempt
        for send in sends.values()
        if send.agent == agent and not send.is_delivered
        for attempt in send.attempts
        if attempt.is_unknown and (sign is None or sign < attempt.stamp)
    }
    return tuple(sorted(found.values(), key=lambda one: (one.stamp, one.key)))
