"""What each kind of delivery says: one sentence that a weak model understands, by when, and what else goes with it.

Sentences hold names, ids, instants and our own words only. What agents wrote stands beside them as values, never inside
them, so that no text of an agent reads like an order of ackd.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from ackd.engine.answers import cancelled_answers, replacement, withdrawal
from ackd.engine.texts import original_type, when
from ackd.protocol.arrears import Arrear
from ackd.protocol.ids import split_suffix
from ackd.protocol.obligations import Deliver
from ackd.protocol.policy import Policy
from ackd.protocol.thread import Message, Thread

_MOST_NAMES = 10
_STATUSES = frozenset({"success", "partial_success", "failed", "rejected", "cancelled"})
_MISSING = {"confirm": "your confirmed", "final": "the final"}
_NEEDS = {"confirm": "has not confirmed", "final": "owes the final", "declined": "was the DRI and declined"}


class Letter(msgspec.Struct, frozen=True, kw_only=True):
    """What a delivery says.

    Attributes:
        summary: What is asked, in a sentence or two.
        due: By when, milliseconds, or None where nothing is asked.
        notes: What else is to be known, in sentences of our own.
        with_request: Whether the request goes along beside the message that the delivery is about.
        history: Who is late with what and since when, for an escalation.
        answers: Ways to answer that nobody asks for.
    """

    summary: str
    due: int | None = None
    notes: tuple[str, ...] = ()
    with_request: bool = False
    history: tuple[dict[str, Any], ...] = ()
    answers: tuple[dict[str, Any], ...] = ()


class Case(msgspec.Struct, frozen=True, kw_only=True):
    """One delivery with all that its words follow from; `message` is None only where a thread lacks it."""

    deliver: Deliver
    thread: Thread
    policy: Policy
    at: int
    message: Message | None

    @property
    def sender(self) -> str:
        """Author of the message that the delivery is about."""
        return self.message.sender if self.message is not None else "somebody"

    @property
    def type(self) -> str:
        """Type of that message."""
        return self.message.type if self.message is not None else "message"

    @property
    def is_own(self) -> bool:
        """Whether the agent hears of what it wrote itself."""
        return self.message is not None and self.message.sender == self.deliver.agent

    def basis(self, key: str) -> Any:
        """Give what the verdict of that message was based on."""
        return self.message.basis.get(key) if self.message is not None else None

    @property
    def confirm_by(self) -> int:
        """When the reminder comes."""
        return self.at + self.policy.times(self.deliver.agent).reminder

    @property
    def final_by(self) -> int:
        """When the DRI is told that the final is missing."""
        deadline = self.thread.deadline_ms
        if deadline is not None and deadline > self.at:
            return deadline
        return self.at + self.policy.times(self.deliver.agent).complete

    @property
    def is_after_deadline(self) -> bool:
        """Whether the deadline has passed already."""
        return self.thread.deadline_ms is not None and self.thread.deadline_ms < self.at


def write_letter(case: Case) -> Letter:
    """Write what a delivery says."""
    return _LETTERS.get(case.deliver.kind, _notice)(case)


# What asks for something.


def _request(case: Case) -> Letter:
    summary, due = _duty(case, f"{case.thread.requester} asks you for the work in `envelope`")
    return Letter(summary=summary, due=due, notes=_deadline_notes(case))


def _duty(case: Case, opening: str) -> tuple[str, int | None]:
    """Say what somebody with a duty is to do now."""
    asks, dri = case.deliver.asks, case.thread.dri
    if "final" in asks and "confirm" in asks:
        then = f"when the work is done write the final, by {when(case.final_by)}"
        return f"{opening}. You are the DRI: first confirm, by {when(case.confirm_by)}; {then}.", case.confirm_by
    if "final" in asks:
        return f"{opening}. You are the DRI: write the final by {when(case.final_by)}.", case.final_by
    if "confirm" in asks:
        wanted = (
            f" by {when(case.final_by)}" if case.thread.deadline_ms is not None and not case.is_after_deadline else ""
        )
        return f"{opening}. Confirm by {when(case.confirm_by)}. {dri} is the DRI and writes the final{wanted}.", (
            case.confirm_by
        )
    return f"{opening}. Nothing is asked of you now.", None


def _reminder(case: Case) -> Letter:
    times = case.policy.times(case.deliver.agent)
    missing = " and ".join(_MISSING[step] for step in case.deliver.asks if step in _MISSING)
    # As a file after a live try that may have arrived it is due when that one was.
    since = min(case.at, _instant(case.thread, case.deliver.ids[0]) or case.at)
    due = since + (times.after_reminder if "confirm" in case.deliver.asks else times.escalation)
    above = _above(case)
    then = f"without an answer by {when(due)} {above} is told" if above else f"answer by {when(due)}"
    are = "are" if len(case.deliver.asks) > 1 else "is"
    return Letter(
        summary=f"{missing[0].upper()}{missing[1:]} {are} missing. This is the only reminder: {then}.",
        due=due,
        notes=("The whole request stands under `envelope`.", *_deadline_notes(case)),
    )


def _above(case: Case) -> str:
    """Name who hears of a debt of this agent first: the ladder of arrears.py, as far as it can be told now."""
    roster = case.policy.roster
    return next((name for name in (*roster.arbiters, *roster.people[:1]) if name != case.deliver.agent), "")


def _deadline_notes(case: Case) -> tuple[str, ...]:
    if not case.is_after_deadline or case.thread.deadline_ms is None:
        return ()
    note = f"The deadline, {when(case.thread.deadline_ms)}, had passed when this was delivered."
    if case.deliver.kind == "request":
        note += f" {case.thread.requester} is asked whether the request still stands."
    return (note,)


def _question(case: Case) -> Letter:
    due = case.at + case.policy.timeouts.clarify
    return Letter(
        summary=f"{case.sender} asks you a question about thread {case.thread.id} and waits: answer by {when(due)}.",
        due=due,
        notes=(f"Until then {case.sender} is not reminded; afterwards its times run on, answered or not.",),
        with_request=case.thread.requester != case.deliver.agent,
    )


def _handoff(case: Case) -> Letter:
    thread = case.thread
    if case.message is not None and case.message.verdict == "opened":
        summary, due = _duty(case, f"{case.sender} hands you a part of thread {thread.parent} as a thread of its own")
        return Letter(summary=summary, due=due, notes=_deadline_notes(case))
    due = case.at + case.policy.timeouts.handoff
    duty = "its duty as the DRI" if thread.dri == case.sender else "its part"
    then = f", and you write the final by {when(case.final_by)}" if thread.dri == case.sender else ""
    return Letter(
        summary=f"{case.sender} hands {duty} in the work under `request` to you: accept or decline by {when(due)}. "
        f"Until you accept, {case.sender} stays responsible; from then on you are{then}.",
        due=due,
        notes=_deadline_notes(case),
        with_request=True,
    )


def _escalation(case: Case) -> Letter:
    about = case.deliver.about
    named = [_named(case.thread, arrear) for arrear in about[:_MOST_NAMES]]
    more = f" and {len(about) - _MOST_NAMES} more are late" if len(about) > _MOST_NAMES else ""
    due = case.at + case.policy.timeouts.arbiter
    return Letter(
        summary=f"Thread {case.thread.id} is stuck: {', '.join(named)}{more}. Rule by {when(due)}: choose one of "
        "`answers`.",
        due=due,
        notes=(
            "You decide who works, until when, or that it ends; you do not write the expert's answer.",
            "A message of yours in this thread, such as a progress, says that you see to it; else the next is told.",
        ),
        history=tuple(_late(case, arrear) for arrear in about),
    )


def _named(thread: Thread, arrear: Arrear) -> str:
    """Say who is late, and whether anybody knows that it was reached at all."""
    unknown = (
        " (delivery unknown: whether the live sends arrived, nobody knows)"
        if thread.unknown_tries(arrear.agent)
        else ""
    )
    return f"{arrear.agent} {_NEEDS.get(arrear.owes, 'is late')}{unknown}"


def _late(case: Case, arrear: Arrear) -> dict[str, Any]:
    """Say what a late assignee owes, since when, and what was heard of it."""
    thread, duty = case.thread, case.thread.duties.get(arrear.agent)
    said: dict[str, Any] = {"agent": arrear.agent, "owes": arrear.owes}
    start = duty.start if duty is not None and arrear.owes == "confirm" else thread.dri_start
    declined = thread.message(duty.declined) if duty is not None and arrear.owes == "declined" else None
    if declined is not None:
        said |= {"owes": "final", "declined_at": when(declined.stamp[0])}
        if isinstance(declined.content.get("reason"), str):
            said["reason"] = declined.content["reason"]
    elif (since := _instant(thread, start)) is not None:
        said["since"] = when(since)
    reminded = _instant(thread, f"reminder:{thread.id}:{arrear.agent}:{arrear.step}")
    if reminded is not None:
        said["reminded_at"] = when(reminded)
    if thread.unknown_tries(arrear.agent):
        said["delivery"] = "unknown"
    if arrear.agent in thread.signs:
        said["last_heard_at"] = when(thread.signs[arrear.agent][0][0])
    return said


def _instant(thread: Thread, start: str) -> int | None:
    key = start.removeprefix("entry:") if start.startswith("entry:") else thread.reached(start)
    return thread.moments().get(key)


def _cancelling(case: Case) -> Letter:
    thread = case.thread
    if thread.ended or thread.cancelling is None:
        return Letter(summary=f"{case.sender} cancelled thread {thread.id}: it has ended, stop working on it.")
    if case.deliver.agent != thread.dri:
        return Letter(summary=f"{case.sender} cancels thread {thread.id}: stop working on it.")
    until = when(case.at + case.policy.timeouts.cancel)
    return Letter(
        summary=f"{case.sender} cancels thread {thread.id}: stop working on it. Without a word from you it ends as "
        f"cancelled, about {until}.",
        notes=("You are the DRI: if the work is done all the same, a final before that ends it with your own status.",),
        answers=tuple(cancelled_answers(thread, case.deliver.agent)),
    )


def _ruling(case: Case) -> Letter:
    thread, agent, kind = case.thread, case.deliver.agent, case.basis("ruling")
    opening = f"{case.sender} ruled in thread {thread.id}"
    if kind == "dri":
        new = str(case.basis("new_dri"))
        if agent == new and case.deliver.asks:
            summary, due = _duty(case, f"{opening} that the work under `request` is yours")
            return Letter(summary=summary, due=due, notes=_deadline_notes(case), with_request=True)
        rest = "; you owe nothing more here" if agent == case.basis("dri") else ""
        return Letter(summary=f"{opening}: {new} is the DRI now{rest}.")
    if kind == "extend":
        deadline = case.basis("deadline_ms")
        until = (
            f": the final is wanted by {when(deadline)} now" if isinstance(deadline, int) else ": there is more time"
        )
        return Letter(summary=f"{opening}{until}.", due=deadline if case.deliver.asks else None)
    if kind == "pick":
        final = thread.message(str(case.basis("pick")))
        return Letter(summary=f"{opening}: the final that {final.sender if final else 'it names'} wrote holds.")
    how = "cancelled" if kind == "cancel" else "closed without a result"
    return Letter(summary=f"{opening}: it is {how}, stop working on it.")


# News.


def _answer(case: Case) -> Letter:
    return Letter(
        summary=f"{case.sender} answered your question in thread {case.thread.id}.",
        notes=("Go on with what you owe there: its times run on.",) if not case.thread.ended else (),
    )


def _accepted(case: Case) -> Letter:
    handoff = next((one for one in case.thread.handoffs if one.digest == case.basis("accepts")), None)
    owner = handoff.owner if handoff is not None else "its owner"
    whose = "your handoff" if owner == case.deliver.agent else f"the handoff of {owner}"
    now = f"; {case.sender} is the DRI now" if case.basis("by_dri") else ""
    rest = "; you owe nothing more here" if owner == case.deliver.agent else ""
    return Letter(summary=f"{case.sender} accepted {whose} in thread {case.thread.id}{now}{rest}.")


def _confirmed(case: Case) -> Letter:
    return Letter(summary=f"{case.sender} confirmed in thread {case.thread.id}.")


def _declined(case: Case) -> Letter:
    thread, opening = case.thread, f"{case.sender} declined in thread {case.thread.id}"
    handoff = next((one for one in thread.handoffs if one.digest == case.basis("declines")), None)
    if handoff is not None:
        what = f"declined the handoff of {handoff.owner} in thread {thread.id}"
        return Letter(summary=f"{case.sender} {what}; {handoff.owner} stays responsible.")
    if case.basis("dri") == case.sender:
        return Letter(summary=f"{opening}. It was the DRI: an arbiter is told and names another, or ends it.")
    return Letter(summary=f"{opening} and owes nothing more there.")


def _supplement(case: Case) -> Letter:
    thread = case.thread
    what = "wrote a final, which counts as a supplement" if case.type == "final" else "added something"
    use = " Use it for your final." if case.deliver.agent == thread.dri and not thread.ended else ""
    return Letter(summary=f"{case.sender} {what} in thread {thread.id}.{use}")


def _revision(case: Case) -> Letter:
    kind = original_type(case.thread, case.message) if case.message is not None else "message"
    opening = "Your change of your own" if case.is_own else f"{case.sender} changed its"
    taken = " was taken" if case.is_own else ""
    owed = f" You still owe the final, by {when(case.final_by)}." if "final" in case.deliver.asks else ""
    return Letter(
        summary=f"{opening} {kind} in thread {case.thread.id}{taken}: `envelope` counts now, `was` no more.{owed}",
        due=case.final_by if "final" in case.deliver.asks else None,
        notes=("If you acted upon the earlier text, look at what you did.",) if not case.is_own else (),
    )


def _final(case: Case) -> Letter:
    written = case.message.content.get("status") if case.message is not None else None
    status = written if isinstance(written, str) and written in _STATUSES else "success"
    return Letter(summary=f"Thread {case.thread.id} has ended: {case.sender} wrote the final, status {status}.")


def _broadcast(case: Case) -> Letter:
    return Letter(summary=f"{case.sender} tells you what stands under `envelope`.")


def _late_remark(case: Case) -> Letter:
    after = f"{case.sender} wrote this after thread {case.thread.id} had ended"
    return Letter(summary=f"{after}. No answer is owed; new work needs a new ack_id.")


# What somebody hears of its own messages, and notices.


def _refusal(case: Case) -> Letter:
    return Letter(
        summary=f"Your {case.type} at `path` was refused and changes nothing: `notes` say why and what to do."
    )


def _collision(case: Case) -> Letter:
    thread = case.thread
    if case.message is not None and case.message.row == "id-taken":
        bare = split_suffix(thread.id)[0]
        if case.is_own:
            taken = f"The ack_id {bare} was taken already"
            return Letter(summary=f"{taken}: your request is thread {thread.id}. Use that as its ack_id.")
        used = f"{case.sender} used your ack_id {bare} for a request of its own"
        return Letter(summary=f"{used}: that one is thread {thread.id}; yours stays {bare}.")
    return Letter(
        summary=f"Your {case.type} at `path` was not taken: its message_id belongs to another message. Drop it again "
        "with a message_id of its own, or with none."
    )


def _notice(case: Case) -> Letter:
    thread, agent = case.thread, case.deliver.agent
    if case.deliver.reasons:
        reason = case.deliver.reasons[0]
        asks_whether = case.deliver.ids[0].endswith(":deadline")
        return Letter(
            summary=f"Thread {thread.id}: {reason}{'' if reason.endswith('?') else '.'}",
            answers=tuple(withdrawal(thread, agent)) if asks_whether else (),
        )
    if case.message is not None and case.message.row == "second-final" and agent == case.sender:
        return Letter(
            summary=f"Thread {thread.id} has your final already; this second one does not replace it. If it is to, "
            "drop the amend under `answers`; otherwise do nothing.",
            answers=tuple(replacement(thread, agent, case.message)),
        )
    whose = f"your {case.type}" if case.is_own else f"a {case.type} by {case.sender}"
    verdict = case.message.verdict if case.message is not None else "kept"
    return Letter(summary=f"About {whose} in thread {thread.id}, verdict {verdict}: read `notes`.")


_LETTERS: dict[str, Callable[[Case], Letter]] = {
    "request": _request,
    "reminder": _reminder,
    "escalation": _escalation,
    "question": _question,
    "answer": _answer,
    "handoff": _handoff,
    "accepted": _accepted,
    "confirmed": _confirmed,
    "declined": _declined,
    "supplement": _supplement,
    "revision": _revision,
    "final": _final,
    "cancelling": _cancelling,
    "ruling": _ruling,
    "broadcast": _broadcast,
    "late": _late_remark,
    "refusal": _refusal,
    "collision": _collision,
    "notice": _notice,
}
