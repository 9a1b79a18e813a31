"""Arrears and the ladder: who is late with what, and which arbiter or person hears of it next (T15, C15)."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec

from ackd.protocol.policy import Policy
from ackd.protocol.thread import Done, Thread


class Arrear(msgspec.Struct, frozen=True, kw_only=True):
    """One debt that somebody above must hear of.

    Attributes:
        agent: The late assignee.
        step: Name of the debt in ids: confirm, final.e<epoch>, declined.
        due: When the arbiter is to hear of it, milliseconds.
        owes: confirm, final or declined.
    """

    agent: str
    step: str
    due: int
    owes: str


class Rung(msgspec.Struct, frozen=True, kw_only=True):
    """The next notice about a debt: to whom, when (`arrear.due`), and whose file it joins where one is out."""

    id: str
    agent: str
    arrear: Arrear
    joins: str = ""


def escalation_id(thread: str, agent: str, arrear: Arrear) -> str:
    """Give the id of the notice to an arbiter or person about one debt."""
    return f"escalation:{thread}:{agent}:{arrear.agent}|{arrear.step}"


def ladder(thread: Thread, policy: Policy, seen: Callable[[str], int], arrears: Sequence[Arrear]) -> tuple[Rung, ...]:
    """Give the next rung of each debt that is not settled with those who heard of it.

    Arbiters come in their order, one who is late itself is left out, one who is merely the requester is told; after
    the last arbiter comes the first person. The ladder of a debt stops at a ruling, or at any drop of the one who was
    told. Somebody who was told of one debt of an assignee hears of a second in the same notice.

    Args:
        thread: The thread.
        policy: Arbiters, people and times.
        seen: When this node wrote or first read an entry.
        arrears: All debts of the thread, due or not.
    """
    if not arrears:
        return ()
    late = {arrear.agent for arrear in arrears}
    climbers = [name for name in policy.roster.arbiters if name not in late]
    climbers += [name for name in policy.roster.people if name not in climbers and name not in late][:1]
    rungs = []
    for arrear in arrears:
        rung = _next(thread, policy, seen, arrear, climbers)
        if rung is not None:
            rungs.append(rung)
    return tuple(rungs)


def _next(
    thread: Thread, policy: Policy, seen: Callable[[str], int], arrear: Arrear, climbers: Sequence[str]
) -> Rung | None:
    due = arrear.due
    for agent in climbers:
        one = escalation_id(thread.id, agent, arrear)
        done = thread.done.get(one)
        if done is None:
            return Rung(
                id=one,
                agent=agent,
                arrear=msgspec.structs.replace(arrear, due=due),
                joins=_open_notice(thread, agent, arrear),
            )
        if _has_spoken(thread, agent, done):
            return None
        due = seen(done.key) + policy.timeouts.arbiter
    return None


def _open_notice(thread: Thread, agent: str, arrear: Arrear) -> str:
    """Give the notice about another unpaid debt of the same assignee that this agent has, or an empty string."""
    duty = thread.duties.get(arrear.agent)
    if duty is None or not duty.owes_confirmed or arrear.owes == "confirm":
        return ""
    start = f"escalation:{thread.id}:{agent}:{arrear.agent}|confirm"
    return next((name for name in thread.done if name.startswith(start)), "")


def _has_spoken(thread: Thread, agent: str, done: Done) -> bool:
    """Whether who was told has dropped anything in the thread since, or anybody has ruled."""
    sign = thread.signs.get(agent)
    if sign is not None and sign[0] > done.stamp:
        return True
    rulings = (thread.message(digest) for digest in thread.rulings)
    return any(ruling is not None and ruling.stamp > done.stamp for ruling in rulings)
