"""Depth and lineage: how far a duty has been passed on, and by whom (B7 to B11, R42, R54; C5, C24)."""

from __future__ import annotations

from collections.abc import Iterable

from ackd.protocol.envelope import Envelope
from ackd.protocol.policy import Roster
from ackd.protocol.thread import Message, Thread

COUNTED = frozenset({"request", "clarify", "handoff"})
"""Types that count a hop; everything else takes the depth of what it speaks to."""


def chain_of(thread: Thread, agent: str) -> tuple[str, ...]:
    """Give the chain of an agent's duty in a thread: the requester and the owners so far, the agent last.

    Parent threads come first; co-assignees are left out. A pending handoff counts: its target passes on what it was
    handed.
    """
    owners = [agent]
    seen = {agent}
    while True:
        previous = next(
            (
                handoff.owner
                for handoff in reversed(thread.handoffs)
                if handoff.target == owners[-1] and handoff.outcome in ("pending", "accepted")
            ),
            "",
        )
        if not previous or previous in seen:
            break
        seen.add(previous)
        owners.append(previous)
    chain = (*thread.chain, *reversed(owners)) if thread.chain else (thread.requester, *reversed(owners))
    return tuple(dict.fromkeys(name for name in chain if name))


def offender(chain: Iterable[str], recipients: Iterable[str], roster: Roster) -> str:
    """Give the first recipient to whom the chain must not be passed on, or an empty string.

    It stands in the chain already, or it would be the third agent of its type there.
    """
    names = tuple(chain)
    for recipient in recipients:
        if recipient in names:
            return recipient
        kind = _type_of(recipient, roster)
        if sum(_type_of(name, roster) == kind for name in names) >= 2:
            return recipient
    return ""


def depth_before(thread: Thread, envelope: Envelope, sender: str) -> int:
    """Give the depth of what a message speaks to, 0 where it opens a conversation.

    That is the message that its `in_reply_to` names; else what gave the sender its duty: the handoff to it, else the
    request.
    """
    base = thread.named(envelope.text_of("in_reply_to"))
    if base is None:
        base = _what_gave(thread, sender)
    return int(base.basis.get("depth", thread.depth)) if base is not None else 0


def _what_gave(thread: Thread, agent: str) -> Message | None:
    for handoff in reversed(thread.handoffs):
        if handoff.target == agent and handoff.outcome in ("pending", "accepted"):
            return thread.message(handoff.digest)
    return thread.message(thread.request)


def _type_of(name: str, roster: Roster) -> str:
    member = roster.find(name)
    return (member.type or member.name) if member is not None else name
