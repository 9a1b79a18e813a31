"""What else is true of a thread beside its state, and who owes what in it now: for views, pages and the command line.

Both follow from the thread alone, as the fold gives it; the same thread gives the same words on every machine.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from ackd.protocol.obligations import obligation_id
from ackd.protocol.thread import Done, Duty, Message, Thread

CONDITIONS = (
    *("held", "clarifying", "overdue", "escalated", "ambiguous", "conflicted", "provisional", "cancelling"),
    "needs-person",
)
"""All conditions, in the order in which they are given (DESIGN part 4)."""

STEPS = ("confirm", "final", "answer", "accept", "rule")
"""What can be owed, in the order in which it is given."""

NEEDS_PERSON_ROWS = frozenset({"too-deep", "in-lineage"})
"""Rows of the table whose refusal only a person can put right."""


class Owes(msgspec.Struct, frozen=True):
    """One thing that somebody owes.

    Attributes:
        agent: Who.
        step: One of `STEPS`.
        since_key: Key of the entry from which it is owed: the delivery that asked it, else what gave the duty; an empty
            string where that delivery was not made yet.
    """

    agent: str
    step: str
    since_key: str


def conditions(thread: Thread) -> tuple[str, ...]:
    """Give the conditions that hold for a thread, in the order of `CONDITIONS`.

    - held: a message of substance waits, for its request or for its author to say which thread is meant;
    - clarifying: a question has no answer yet, timed out or not;
    - overdue: the DRI was told that the final is missing, and it still is;
    - escalated: somebody above was told of a debt that is neither paid nor ruled upon;
    - conflicted: a final that differs from the one in force was written by a DRI, and nothing settled it since: no
      ruling picked one, and the final in force was not revised afterwards;
    - cancelling: a cancel waits for the DRI;
    - needs-person: a person was told of such a debt, or a message was refused for depth or lineage and its author has
      said nothing in the thread since.

    - ambiguous: a live send may have arrived or not, and nobody knows: no sign of life came since (T29).

    One is never given here: `provisional` belongs to trees with several nodes.
    """
    held = {
        "held": any(message.verdict == "held" and not message.basis.get("courtesy") for message in thread.messages),
        "conflicted": _is_conflicted(thread),
    }
    if not thread.ended:
        open_notices = list(_open_escalations(thread))
        held |= {
            "clarifying": bool(thread.open_questions),
            "overdue": obligation_id("overdue", thread.id, thread.dri, final_step(thread)) in thread.timers,
            "escalated": bool(open_notices),
            "cancelling": thread.cancelling is not None,
            "ambiguous": any(thread.unknown_tries(agent) for agent in {one.agent for one in thread.sends.values()}),
            "needs-person": any(done.facts.get("person") for done in open_notices)
            or any(_needs_person(thread, message) for message in thread.messages),
        }
    return tuple(name for name in CONDITIONS if held.get(name))


def who_owes(thread: Thread) -> tuple[Owes, ...]:
    """Give everything that is owed in a thread now, whether it was asked for already or will be at once.

    A confirmed by each assignee that has not settled it, the final by the DRI, an answer to each open question, an
    acceptance by the target of each pending handoff, a ruling by each who was escalated to and has not spoken since.
    Nothing is owed before the request, after the end, or while a cancel waits.
    """
    if thread.ended or not thread.request or thread.is_broadcast or thread.cancelling is not None:
        return ()
    owed = [
        Owes(duty.agent, "confirm", _key(thread, duty.start)) for duty in thread.duties.values() if duty.owes_confirmed
    ]
    dri = thread.duties.get(thread.dri)
    if dri is not None and not dri.is_out:
        owed.append(Owes(thread.dri, "final", _key(thread, thread.dri_start)))
    for question in thread.open_questions:
        # Who asks for itself cannot answer itself; the DRI may.
        agent = thread.requester if thread.requester != question.asker else thread.dri
        if agent != question.asker:
            delivery = obligation_id("question", thread.id, agent, question.digest[:16])
            owed.append(Owes(agent, "answer", _key(thread, delivery)))
    for handoff in thread.handoffs:
        if handoff.outcome == "pending":
            delivery = obligation_id("handoff", thread.id, handoff.target, handoff.digest[:16])
            owed.append(Owes(handoff.target, "accept", _key(thread, delivery)))
    asked: dict[str, str] = {}
    for done in _open_escalations(thread):
        if not _has_spoken(thread, done):
            asked.setdefault(done.agent, done.key)
    owed += [Owes(agent, "rule", key) for agent, key in asked.items()]
    return tuple(owed)


def assignee_state(duty: Duty) -> str:
    """Give the word for what an assignee owes or did: asked, confirmed, declined, handed-off or settled."""
    if duty.handed_to:
        return "handed-off"
    if duty.declined:
        return "declined"
    if duty.confirmed:
        return "confirmed"
    return "settled" if duty.settled else "asked"


def final_step(thread: Thread) -> str:
    """Give the step that names the final of the DRI in force in ids of timers and reminders."""
    return f"final.e{thread.dri_epoch}" + (f".x{thread.extensions}" if thread.extensions else "")


def _is_conflicted(thread: Thread) -> bool:
    in_force = thread.text_in_force(thread.final)
    if in_force is None or any(_is_pick(thread.message(digest)) for digest in thread.rulings):
        return False
    for digest in thread.finals:
        final, now = thread.message(digest), thread.text_in_force(digest)
        if final is None or now is None or now.digest == in_force.digest:
            continue
        settled = in_force.digest != thread.final and in_force.stamp > now.stamp
        if final.verdict in ("closed", "flagged") and not settled:
            return True
    return False


def _is_pick(message: Message | None) -> bool:
    return message is not None and message.basis.get("ruling") == "pick"


def _open_escalations(thread: Thread) -> Iterator[Done]:
    """Give each notice to somebody above, once a debt that it names is unpaid and nobody has ruled since."""
    rulings = [message.stamp for digest in thread.rulings if (message := thread.message(digest)) is not None]
    last_ruling = max(rulings, default=None)
    for name, done in thread.done.items():
        if done.kind != "escalation" or (last_ruling is not None and last_ruling > done.stamp):
            continue
        if _is_unpaid(thread, name.rpartition(":")[2]):
            yield done


def _is_unpaid(thread: Thread, debt: str) -> bool:
    """Tell whether a debt, `<agent>|<step>` as in the id of an escalation, is still unpaid."""
    agent, _, step = debt.partition("|")
    duty = thread.duties.get(agent)
    if duty is None or duty.handed_to:
        return False
    if step == "declined":
        return bool(duty.declined)
    if step.startswith("confirm"):
        return duty.owes_confirmed
    return agent == thread.dri and not duty.is_out and step == final_step(thread)


def _has_spoken(thread: Thread, done: Done) -> bool:
    """Tell whether who was told has dropped anything in the thread since."""
    sign = thread.signs.get(done.agent)
    return sign is not None and sign[0] > done.stamp


def _needs_person(thread: Thread, message: Message) -> bool:
    if message.verdict != "refused" or message.row not in NEEDS_PERSON_ROWS:
        return False
    sign = thread.signs.get(message.sender)
    return sign is None or sign[0] < message.stamp


def _key(thread: Thread, start: str) -> str:
    """Give the key of the entry that starts a duty: of a delivery, or the one that `entry:<key>` names."""
    if start.startswith("entry:"):
        return start.removeprefix("entry:")
    return thread.reached(start)
