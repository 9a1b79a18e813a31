"""Which debts of a thread are late: somebody above was told of them, or the DRI that its final is missing."""

from __future__ import annotations

from ackd.protocol.conditions import Owes, final_step
from ackd.protocol.obligations import obligation_id
from ackd.protocol.thread import Thread


def late_debts(thread: Thread) -> frozenset[tuple[str, str]]:
    """Give agent and step (`confirm`, `final`) of what was found late in a thread and not ruled upon since.

    A debt that was paid meanwhile may be among them: only what is still owed is looked up here.
    """
    rulings = [message.stamp for digest in thread.rulings if (message := thread.message(digest)) is not None]
    last_ruling = max(rulings, default=None)
    final = final_step(thread)
    late: set[tuple[str, str]] = set()
    if obligation_id("overdue", thread.id, thread.dri, final) in thread.timers:
        late.add((thread.dri, "final"))
    for name, done in thread.done.items():
        if done.kind != "escalation" or (last_ruling is not None and last_ruling > done.stamp):
            continue
        agent, _, step = name.rpartition(":")[2].partition("|")
        if step.startswith("confirm"):
            late.add((agent, "confirm"))
        elif step == final:
            late.add((agent, "final"))
    return frozenset(late)


def is_late(debt: Owes, late: frozenset[tuple[str, str]]) -> bool:
    """Tell whether something that is owed is late, by what `late_debts` gave."""
    return (debt.agent, debt.step) in late
