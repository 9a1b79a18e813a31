"""What is owed now: a pure function of thread, policy and clock, computed anew whenever one of them changes.

Each obligation has a deterministic id, `<kind>:<thread>:<agent>:<step>`. The engine carries out what is owed and not
yet recorded as done; after a crash the same ids come out again, so nothing is done twice and nothing is forgotten.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import msgspec

from ackd.protocol.arrears import Arrear, Rung, escalation_id, ladder
from ackd.protocol.policy import Policy, Timeouts
from ackd.protocol.retry import MOST_UNKNOWN
from ackd.protocol.thread import Done, Duty, Message, Question, Tell, Thread

ASKING = frozenset({"request", "reminder", "question", "handoff", "escalation"})
"""Kinds of delivery that ask for something: their files go when it is no longer owed."""


_TO_CORRECT = frozenset({"second-final", "which-thread", "restated-awaited"})
"""Rows whose notice asks its author to say the same thing better."""


class Clock(msgspec.Struct, frozen=True):
    """The time as this node sees it: now, and when it wrote or first read an entry (milliseconds)."""

    now: int
    seen: Callable[[str], int]


class Deliver(msgspec.Struct, frozen=True, kw_only=True):
    """Something that is to be handed to an agent, as one file.

    Attributes:
        ids: Obligations that it carries out; the first names the file.
        kind: Kind of the delivery.
        thread, agent: Which thread, and to whom.
        message: Digest of the message that it is about, or an empty string.
        asks: Steps that are asked for: confirm, final, answer, accept, rule.
        reasons: Sentences that say why now.
        about: Late assignees and what they owe, for an escalation.
        joins: Obligation whose file this one replaces where it still lies there, and only there.
    """

    ids: tuple[str, ...]
    kind: str
    thread: str
    agent: str
    message: str = ""
    asks: tuple[str, ...] = ()
    reasons: tuple[str, ...] = ()
    about: tuple[Arrear, ...] = ()
    joins: str = ""


class Fire(msgspec.Struct, frozen=True, kw_only=True):
    """A timer that ran out and whose outcome is to be recorded."""

    id: str
    name: str
    thread: str
    digest: str = ""


class Owed(msgspec.Struct, frozen=True, kw_only=True):
    """All that is owed in a thread.

    Attributes:
        deliver: Deliveries that are due now.
        fire: Timers that ran out.
        next_due: When something falls due next, milliseconds, or None.
        gone: Obligations that were carried out and whose files are no longer owed.
    """

    deliver: tuple[Deliver, ...] = ()
    fire: tuple[Fire, ...] = ()
    next_due: int | None = None
    gone: frozenset[str] = frozenset()


def obligation_id(kind: str, thread: str, agent: str, step: str) -> str:
    """Give the id of an obligation."""
    return f"{kind}:{thread}:{agent}:{step}"


def obligations(thread: Thread, policy: Policy, clock: Clock) -> Owed:
    """Tell what is owed in a thread now and not yet recorded as done.

    Args:
        thread: The thread as folded.
        policy: The rules in force.
        clock: This node's time.

    Returns:
        Deliveries and timer outcomes that are due, when to look again, and which files may go.
    """
    owing = _Owing(thread, policy, clock)
    owing.tells()
    if not thread.ended:
        owing.timers()
    owing.outcomes()
    return Owed(
        deliver=tuple(owing.deliver),
        fire=tuple(owing.fire),
        next_due=owing.next_due,
        gone=frozenset(owing.gone()),
    )


class _Owing:
    """Collects what is owed; one method a rule of DESIGN part 5."""

    def __init__(self, thread: Thread, policy: Policy, clock: Clock) -> None:
        self.thread, self.policy, self.clock = thread, policy, clock
        self.deliver: list[Deliver] = []
        self.fire: list[Fire] = []
        self.next_due: int | None = None

    # Who hears of what was said.

    def tells(self) -> None:
        for message in self.thread.messages:
            for tell in message.told:
                if self.lapsed(message, tell):
                    continue
                asks = self.asks(message, tell)
                if not self.is_under_way(message, tell, asks):
                    self.owe(tell.kind, tell.agent, message.step, message=message.digest, asks=asks)

    def is_under_way(self, message: Message, tell: Tell, asks: tuple[str, ...]) -> bool:
        """Whether a live send of it may have arrived, so that nothing is to be done: a reminder is the one more try.

        What no reminder follows is handed over as a file, unless a sign of life came (T12, T13).
        """
        send = self.thread.sends.get(obligation_id(tell.kind, self.thread.id, tell.agent, message.step))
        first = send.first_unknown if send is not None else None
        if first is None:
            return False
        sign = self.thread.signs.get(tell.agent)
        if sign is not None and sign[0] > first.stamp:
            return True
        if "confirm" not in asks:
            return False
        reminder = obligation_id("reminder", self.thread.id, tell.agent, self.confirm_step(tell.agent))
        was_reminded = reminder in self.thread.done or reminder in self.thread.sends
        return was_reminded or len(self.thread.unknown_tries(tell.agent)) < MOST_UNKNOWN

    def confirm_step(self, agent: str) -> str:
        """Give the step that names a missing confirmed: one that a ruling asks for is another one."""
        duty = self.thread.duties.get(agent)
        by_ruling = duty is not None and duty.start.startswith("ruling:")
        return f"confirm.e{self.thread.dri_epoch}" if by_ruling else "confirm"

    def lapsed(self, message: Message, tell: Tell) -> bool:
        thread, agent = self.thread, tell.agent
        if tell.kind in ("refusal", "collision", "final") or message.after_end:
            return False
        if message.key == thread.ended_key:
            # Who was never handed the request has nothing to stop.
            return tell.kind == "cancelling" and not self.was_told(agent)
        if thread.ended:
            return True
        duty = thread.duties.get(agent)
        if tell.kind == "request":
            pays = duty is not None and (duty.owes_confirmed or agent == thread.dri)
            return thread.cancelling is not None or not pays or (duty is not None and duty.is_out)
        if tell.kind == "cancelling":
            return duty is None or duty.is_out or not self.was_told(agent)
        if tell.kind == "revision":
            return bool(message.revised_by) or self.knows_text(agent, message)
        if tell.kind == "question":
            return all(one.digest != message.digest or bool(one.answered) for one in thread.questions)
        if tell.kind == "handoff" and message.verdict == "handed-off":
            return all(one.digest != message.digest or one.outcome != "pending" for one in thread.handoffs)
        return False

    def was_told(self, agent: str) -> bool:
        if any(done.agent == agent for done in self.thread.done.values()):
            return True
        tries = (one for send in self.thread.sends.values() if send.agent == agent for one in send.attempts)
        return any(one.may_have_arrived for one in tries)

    def knows_text(self, agent: str, message: Message) -> bool:
        """Whether the agent got this text already, or will get it now with the request itself."""
        if any(one.agent == agent and one.facts.get("text") == message.digest for one in self.thread.done.values()):
            return True
        return any(one.agent == agent and one.kind == "request" for one in self.deliver)

    def asks(self, message: Message, tell: Tell) -> tuple[str, ...]:
        thread, agent = self.thread, tell.agent
        if tell.kind == "refusal" or (message.row in _TO_CORRECT and agent == message.sender):
            return ("correct",)
        if thread.ended:
            return ()
        if tell.kind in ("request", "ruling", "revision") or (tell.kind == "handoff" and thread.dri == agent):
            duty = thread.duties.get(agent)
            confirm = duty is not None and duty.owes_confirmed and tell.kind != "revision"
            return (*(("confirm",) if confirm else ()), *(("final",) if agent == thread.dri else ()))
        return {"question": ("answer",), "handoff": ("accept",)}.get(tell.kind, ())

    # Timers: they run only before the end.

    def timers(self) -> None:
        thread = self.thread
        if not thread.request:
            self.held()
            return
        if thread.is_broadcast:
            message = thread.message(thread.request)
            if message is not None:
                self.fire_at(self.clock.seen(message.key) + self.policy.timeouts.broadcast, "broadcast", "all", "end")
            return
        self.questions()
        self.pending_handoffs()
        if thread.cancelling is not None:
            due = self.clock.seen(thread.cancelling.key) + self.policy.timeouts.cancel
            self.fire_at(due, "cancel", thread.cancelling.by, "end")
            return
        arrears: list[Arrear] = []
        for duty in thread.duties.values():
            self.missing_confirmed(duty, arrears)
        self.missing_final(arrears)
        self.escalate(arrears)

    def missing_confirmed(self, duty: Duty, arrears: list[Arrear]) -> None:
        thread, times = self.thread, self.policy.times(duty.agent)
        if duty.declined and duty.agent == thread.dri:
            since = self.seen_message(duty.declined)
            arrears.append(Arrear(agent=duty.agent, step="declined", due=since, owes="declined"))
            return
        start = self.start(duty.start)
        if not duty.owes_confirmed or start is None:
            return
        waited = self.paused(duty.agent, start)
        if waited is None:
            return
        step = self.confirm_step(duty.agent)
        reminded = self.remind_at(start + times.reminder + waited, duty.agent, step, "confirm")
        if reminded is not None:
            due = max(start + times.escalation + waited, reminded + times.after_reminder)
            arrears.append(Arrear(agent=duty.agent, step=step, due=due, owes="confirm"))

    def missing_final(self, arrears: list[Arrear]) -> None:
        thread = self.thread
        duty, start = thread.duties.get(thread.dri), self.start(thread.dri_start)
        if duty is None or duty.is_out or start is None:
            return
        times = self.policy.times(thread.dri)
        waited = self.paused(thread.dri, start)
        if waited is None:
            return
        deadline = thread.deadline_ms
        due = deadline if deadline is not None and deadline > start else start + times.complete + waited
        step = f"final.e{thread.dri_epoch}" + (f".x{thread.extensions}" if thread.extensions else "")
        overdue = self.fire_at(due, "overdue", thread.dri, step)
        if overdue is None:
            return
        reminded = self.remind_at(due, thread.dri, step, "final")
        if reminded is not None:
            at = max(overdue + times.escalation, reminded + times.after_reminder)
            arrears.append(Arrear(agent=thread.dri, step=step, due=at, owes="final"))

    def paused(self, agent: str, start: int) -> int | None:
        """Give how long an agent's timers stood still for its questions (C7); None while they stand still."""
        total, until = 0, start
        for question in self.thread.questions:
            if question.asker != agent:
                continue
            if not question.answered and not question.timed_out:
                if self.start(self.question_id(question)) is not None or self.thread.requester != agent:
                    return None
                continue
            ends = [self.clock.seen(key) for key in (question.answered, question.timed_out) if key]
            # Questions that were open at the same time stop the timers once.
            total += max(0, min(ends) - max(until, self.clock.seen(question.key)))
            until = max(until, min(ends))
        return total

    def question_id(self, question: Question) -> str:
        return obligation_id("question", self.thread.id, self.thread.requester, question.digest[:16])

    def questions(self) -> None:
        for question in self.thread.questions:
            asked = self.start(self.question_id(question))
            if question.answered or question.timed_out or asked is None:
                continue
            due = asked + self.policy.timeouts.clarify
            self.fire_at(due, "clarify", question.asker, question.digest[:16], digest=question.digest)

    def pending_handoffs(self) -> None:
        for handoff in self.thread.handoffs:
            step = handoff.digest[:16]
            handed = self.start(obligation_id("handoff", self.thread.id, handoff.target, step))
            if handoff.outcome == "pending" and handed is not None:
                due = handed + self.policy.timeouts.handoff
                self.fire_at(due, "handoff", handoff.target, step, digest=handoff.digest)

    def held(self) -> None:
        for message in self.thread.messages:
            if message.row != "no-request-yet" or message.verdict != "held" or message.basis.get("courtesy"):
                continue
            due = self.clock.seen(message.key) + self.policy.timeouts.held
            self.fire_at(due, "held", message.sender, message.step, digest=message.digest)

    def escalate(self, arrears: list[Arrear]) -> None:
        rungs = ladder(self.thread, self.policy, self.clock.seen, arrears)
        for rung in rungs:
            self.look_again(rung.arrear.due)
        window = self.clock.now + self.policy.timeouts.together
        agents = dict.fromkeys(rung.agent for rung in rungs if rung.arrear.due <= self.clock.now)
        for agent in agents:
            due = [rung for rung in rungs if rung.agent == agent and rung.arrear.due <= window]
            for joins in dict.fromkeys(rung.joins for rung in due):
                joining = [rung for rung in due if rung.joins == joins]
                # What a notice says already it goes on to say: the file that takes its place names every debt.
                done = self.thread.done
                told = [one for one in arrears if joins and escalation_id(self.thread.id, agent, one) in done]
                self.escalation(agent, joining, told, joins)

    def escalation(self, agent: str, rungs: list[Rung], told: list[Arrear], joins: str) -> None:
        self.deliver.append(
            Deliver(
                ids=tuple(rung.id for rung in rungs),
                kind="escalation",
                thread=self.thread.id,
                agent=agent,
                message=self.thread.request,
                asks=("rule",),
                about=(*told, *(rung.arrear for rung in rungs)),
                joins=joins,
            )
        )

    # What follows from timers that ran out and from what was stated.

    def outcomes(self) -> None:
        thread = self.thread
        if not thread.ended:
            for question in thread.questions:
                if question.timed_out and not question.answered:
                    reason = "the question was not answered in time; the timers of who asked go on"
                    for agent in dict.fromkeys((question.asker, thread.requester)):
                        self.owe("notice", agent, f"clarify.{question.digest[:16]}", question.digest, reason=reason)
            for handoff in thread.handoffs:
                if handoff.outcome == "lapsed":
                    reason = f"{handoff.target} did not accept the handoff in time; {handoff.owner} stays responsible"
                    for agent in dict.fromkeys((handoff.owner, thread.requester)):
                        self.owe("notice", agent, f"handoff.{handoff.digest[:16]}", handoff.digest, reason=reason)
        if not thread.request:
            for message in thread.messages:
                if obligation_id("held", thread.id, message.sender, message.step) in thread.timers:
                    reason = (
                        f"no request {thread.id} was seen: is the ack_id spelled right? This is kept, and is judged "
                        "when the request comes"
                    )
                    step = f"held.{message.step}"
                    self.owe("notice", message.sender, step, message.digest, asks=("correct",), reason=reason)
        late = [done for done in thread.done.values() if done.facts.get("after_deadline")]
        if late and not thread.ended and thread.requester:
            reason = f"the request reached {', '.join(dict.fromkeys(one.agent for one in late))} after its deadline"
            self.owe("notice", thread.requester, "deadline", thread.request, reason=reason + "; does it still stand?")

    def gone(self) -> Iterable[str]:
        """Give what was carried out and is no longer owed; notices stay until they are taken."""
        thread = self.thread
        # A reminder that went live left no file that could take the place of the request's.
        reminded = {done.agent for done in thread.done.values() if done.kind == "reminder" and done.path}
        latest = {done.agent: done for done in thread.done.values() if done.kind == "reminder"}
        ruled = {done.agent: done for done in thread.done.values() if done.kind == "ruling"}
        for name, done in thread.done.items():
            if done.kind == "refusal" and self.was_corrected(name.rsplit(":", 1)[1]):
                yield name
            if done.kind not in ASKING and done.kind not in ("ruling", "revision"):
                continue
            duty = thread.duties.get(done.agent)
            owes = duty is not None and not duty.is_out and (duty.owes_confirmed or done.agent == thread.dri)
            if thread.ended:
                # What was news stays until it is taken; what asked for something asks no longer.
                if done.kind in ASKING or done.facts.get("asks"):
                    yield name
            elif done.kind == "request":
                if not owes or done.agent in reminded or thread.cancelling is not None:
                    yield name
            elif done.kind == "reminder":
                if not owes or latest[done.agent] is not done or thread.cancelling is not None:
                    yield name
            elif done.kind == "ruling":
                if done.facts.get("asks") and ruled[done.agent] is not done:
                    yield name
            elif done.kind == "question":
                if all(question.digest[:16] != name.rsplit(":", 1)[1] for question in thread.open_questions):
                    yield name
            elif done.kind == "handoff":
                step = name.rsplit(":", 1)[1]
                handoff = next((one for one in thread.handoffs if one.digest[:16] == step), None)
                if (handoff.outcome != "pending") if handoff is not None else not owes:
                    yield name
            elif done.kind == "escalation" and not self.still_late(name, done):
                yield name

    def was_corrected(self, step: str) -> bool:
        """Whether the file of a refused message holds another one by now."""
        messages = self.thread.messages
        refused = next((one for one in messages if one.step == step), None)
        return refused is not None and any(
            one.path == refused.path and one.stamp > refused.stamp and one.verdict != "refused" for one in messages
        )

    def still_late(self, name: str, done: Done) -> bool:
        """Whether the debt behind an escalation is unpaid and nobody has ruled since."""
        thread = self.thread
        rulings = (thread.message(digest) for digest in thread.rulings)
        if any(ruling is not None and ruling.stamp > done.stamp for ruling in rulings):
            return False
        assignee, _, step = name.rsplit(":", 1)[1].partition("|")
        duty = thread.duties.get(assignee)
        if duty is None or duty.handed_to:
            return False
        if step.startswith("confirm"):
            return duty.owes_confirmed
        if step == "declined":
            return bool(duty.declined)
        return assignee == thread.dri and step.startswith(f"final.e{thread.dri_epoch}")

    # Small steps.

    def owe(
        self, kind: str, agent: str, step: str, message: str = "", *, asks: tuple[str, ...] = (), reason: str = ""
    ) -> None:
        one = obligation_id(kind, self.thread.id, agent, step)
        if one not in self.thread.done:
            reasons = (reason,) if reason else ()
            self.deliver.append(
                Deliver(
                    ids=(one,),
                    kind=kind,
                    thread=self.thread.id,
                    agent=agent,
                    message=message,
                    asks=asks,
                    reasons=reasons,
                )
            )

    def remind_at(self, due: int, agent: str, step: str, asks: str) -> int | None:
        """Owe a reminder from `due` on; give when it went out, or None."""
        one = obligation_id("reminder", self.thread.id, agent, step)
        if one in self.thread.done:
            return self.start(one)
        if due > self.clock.now:
            self.look_again(due)
            return None
        for position, other in enumerate(self.deliver):
            if other.kind == "reminder" and other.agent == agent:
                # One file says all that is missing.
                self.deliver[position] = msgspec.structs.replace(other, ids=(*other.ids, one), asks=(*other.asks, asks))
                return None
        self.owe("reminder", agent, step, self.thread.request, asks=(asks,))
        return None

    def fire_at(self, due: int, name: str, agent: str, step: str, *, digest: str = "") -> int | None:
        """Let a timer run out at `due`; give when its outcome was recorded, or None."""
        one = obligation_id(name, self.thread.id, agent, step)
        key = self.thread.timers.get(one)
        if key is not None:
            return self.clock.seen(key)
        if due > self.clock.now:
            self.look_again(due)
        else:
            self.fire.append(Fire(id=one, name=name, thread=self.thread.id, digest=digest))
        return None

    def start(self, name: str) -> int | None:
        """Give when what starts a timer happened: a delivery, or an entry named `entry:<key>`."""
        key = name.removeprefix("entry:") if name.startswith("entry:") else self.thread.reached(name)
        return self.clock.seen(key) if key else None

    def seen_message(self, digest: str) -> int:
        message = self.thread.message(digest)
        return self.clock.seen(message.key) if message is not None else self.clock.now

    def look_again(self, due: int) -> None:
        if due > self.clock.now and (self.next_due is None or due < self.next_due):
            self.next_due = due


__all__ = ["ASKING", "Clock", "Deliver", "Fire", "Owed", "Timeouts", "obligation_id", "obligations"]
