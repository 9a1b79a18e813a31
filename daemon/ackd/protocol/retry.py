"""What to do next with a live send: try, wait, or hand it over as a file. A decision is a value; nothing waits here.

What is known not to have arrived is tried twice more, after 1 s and 3 s (R43); a busy receiver once more, later (R45);
a refusal is final (R44). After a time-out nothing is tried at once: the reminder is the one more try, with the same
message_id, and only where no sign of life came; then it is the file (T12, T13). Never more than two tries that may
have arrived.
"""

from __future__ import annotations

import msgspec

from ackd.protocol.sends import Attempt, Send

NOT_SENT_PAUSES_MS = (1_000, 3_000)
"""Pauses before the second and the third try of what did not arrive."""
BUSY_PAUSE_MS = 10_000
"""Pause before the second try where the receiver was busy."""
JITTER_MS = 50
"""Each pause is longer by a random time up to this (R46)."""
MOST_UNKNOWN = 2
"""At most so many tries may have arrived."""


class Try(msgspec.Struct, frozen=True):
    """Send it now; `repeated` where the receiver may have it already."""

    repeated: bool = False


class Wait(msgspec.Struct, frozen=True):
    """Nothing before `until` (milliseconds), or before an outcome comes in where it is None."""

    until: int | None = None


class Fall(msgspec.Struct, frozen=True):
    """Hand it over as a file, marked as a fallback; `reason` is a sentence for its reader."""

    reason: str


Step = Try | Wait | Fall


def next_step(
    send: Send | None,
    unknown: tuple[Attempt, ...],
    *,
    kind: str,
    was_alive: bool,
    was_refused: bool,
    is_flying: bool,
    now: int,
    jitter: int = 0,
) -> Step:
    """Decide what to do with a delivery that is owed to an agent with a live channel.

    Args:
        send: Its tries so far, or None.
        unknown: Tries to this agent in this thread of which nobody knows whether they arrived, see `unknown_tries`.
        kind: Kind of the delivery.
        was_alive: Whether a try to this agent timed out and a sign of life followed: it is at work.
        was_refused: Whether the channel refused to hand this agent anything in this thread before.
        is_flying: Whether a try to this agent in this thread is under way.
        now: The node's wall clock, milliseconds.
        jitter: 0 to `JITTER_MS`, drawn by the caller.
    """
    if is_flying:
        return Wait()
    outcomes = [one.outcome for one in send.attempts] if send is not None else []
    if send is not None and any(one.is_unknown for one in send.attempts):
        return Fall("it is not known whether the live send arrived: you may have this already")
    if "refused" in outcomes:
        return Fall("the live channel refused it" + _said(send, "refused"))
    if len(unknown) >= MOST_UNKNOWN:
        return Fall("two live sends may have arrived, and a third is never made: you may have this already")
    if kind == "reminder" and was_refused:
        return Fall("the live channel refused the request")
    if kind == "reminder" and was_alive:
        return Fall("you gave a sign of life after a live send that timed out, so no other is made")
    busy, missed = outcomes.count("busy"), outcomes.count("not-sent")
    if busy > 1:
        return Fall("the live channel was busy twice")
    if missed > len(NOT_SENT_PAUSES_MS):
        return Fall("the live channel could not send it" + _said(send, "not-sent"))
    if send is not None and outcomes:
        pause = BUSY_PAUSE_MS if outcomes[-1] == "busy" else NOT_SENT_PAUSES_MS[missed - 1]
        due = send.last.ended_at + pause + jitter
        if now < due:
            return Wait(due)
    return Try(repeated=bool(unknown))


def _said(send: Send | None, outcome: str) -> str:
    detail = next((one.detail for one in reversed(send.attempts) if one.outcome == outcome), "") if send else ""
    return f" ({detail})" if detail else ""
