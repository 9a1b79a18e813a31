"""What else is true of a thread, and who owes what in it: after every turn that changes it."""

from __future__ import annotations

from typing import Any

import pytest

from ackd.protocol.conditions import CONDITIONS, STEPS, assignee_state, conditions, who_owes
from ackd.protocol.drop import Drop
from ackd.protocol.entry import DELIVERED, JUDGED, TIMER, Entry, make_entry
from ackd.protocol.envelope import read_envelope
from ackd.protocol.fold import fold
from ackd.protocol.judge import judge
from ackd.protocol.obligations import Clock, obligations
from ackd.protocol.policy import MINUTE, Agent, Policy, make_roster
from ackd.protocol.thread import Duty, Thread

POLICY = Policy(
    roster=make_roster(
        [Agent(name=name) for name in ("zoe", "macro", "trading", "风控", "boss")] + [Agent(name="li", is_person=True)],
        arbiters=["boss"],
    )
)


class Told:
    """A thread as it is told; what is owed is recorded as delivered at once."""

    def __init__(self, id_: str = "oil-v1") -> None:
        self.id, self.now = id_, 1_772_951_400_000
        self.entries: list[Entry] = []

    @property
    def thread(self) -> Thread:
        return fold(self.id, self.entries)

    def conditions(self) -> tuple[str, ...]:
        return conditions(self.thread)

    @property
    def owed(self) -> list[tuple[str, str]]:
        return [(one.agent, one.step) for one in who_owes(self.thread)]

    def say(self, sender: str, type_: str, **words: Any) -> str:
        """Drop a message; give its verdict."""
        key = "state" if type_ in ("request", "confirmed", "final") else "type"
        circumstances = {name: words.pop(name) for name in ("candidates",) if name in words}
        envelope = read_envelope({key: type_, "ack_id": self.id, "from": sender, **words})
        drop = Drop(envelope=envelope, path=f"{len(self.entries)}.json", at=self.now, **circumstances)
        verdict = judge(self.thread, drop, POLICY, lambda _: None)
        self.write(
            JUDGED,
            {
                "digest": envelope.digest,
                "identity": envelope.identity,
                "type": envelope.type,
                "from": sender,
                "verdict": verdict.word,
                "row": verdict.row,
                "told": [[tell.agent, tell.kind] for tell in verdict.told],
                "path": drop.path,
                "message": envelope.content,
                "basis": verdict.basis,
            },
        )
        return verdict.word

    def write(self, kind: str, body: dict[str, Any]) -> str:
        entry, _ = make_entry(
            node="desk",
            inc="9c41d0aa",
            seq=len(self.entries) + 1,
            prev=self.entries[-1].key if self.entries else "",
            stamp=(self.now, len(self.entries)),
            kind=kind,
            thread=self.id,
            at=self.now,
            body=body,
        )
        self.entries.append(entry)
        return entry.key

    def pass_(self, minutes: float = 0) -> None:
        """Let time go by and record all that is owed as carried out."""
        self.now += int(minutes * MINUTE)
        while True:
            seen = {entry.key: entry.at for entry in self.entries}
            owed = obligations(self.thread, POLICY, Clock(self.now, seen.__getitem__))
            if not owed.deliver and not owed.fire:
                return
            for fire in owed.fire:
                self.write(TIMER, {"id": fire.id, "name": fire.name, "digest": fire.digest})
            for one in owed.deliver:
                facts = {"person": True} if one.kind == "escalation" and one.agent == "li" else {}
                done = {"ids": list(one.ids), "agent": one.agent, "kind": one.kind, "facts": facts}
                self.write(DELIVERED, {**done, "path": f"inbox/{one.agent}/x.json", "sha256": "0" * 64})


def asked(**words: Any) -> Told:
    """Begin with a delivered request of zoe's to macro and trading, the DRI."""
    told = Told()
    told.say("zoe", "request", **({"to": ["macro", "trading"], "dri": "trading", "action": "下周策略"} | words))
    told.pass_()
    return told


def test_a_request_that_runs_has_no_condition() -> None:
    """After a request each assignee owes its confirmed, and the DRI the final."""
    told = asked()
    assert told.conditions() == ()
    assert told.owed == [("macro", "confirm"), ("trading", "confirm"), ("trading", "final")]


def test_since_when_something_is_owed() -> None:
    """A debt names the delivery from which it runs, and nothing before that delivery was made."""
    told = Told()
    told.say("zoe", "request", to=["macro"], action="x")
    assert [one.since_key for one in who_owes(told.thread)] == ["", ""]
    told.pass_()
    delivery = next(entry.key for entry in told.entries if entry.kind == DELIVERED)
    assert [one.since_key for one in who_owes(told.thread)] == [delivery, delivery]


def test_a_message_without_request_is_held() -> None:
    """What came before its request waits; nobody owes anything."""
    told = Told()
    assert told.say("macro", "confirmed", conclusion="ready") == "held"
    assert told.conditions() == ("held",)
    assert told.owed == []


def test_a_question_clarifies_until_it_is_answered() -> None:
    """An open question is a condition and the requester owes the answer, timed out or not."""
    told = asked()
    told.say("macro", "clarify", question="含港股吗？")
    told.pass_()
    assert told.conditions() == ("clarifying",)
    assert ("zoe", "answer") in told.owed
    question = next(one for one in who_owes(told.thread) if one.step == "answer")
    assert question.since_key == told.entries[-1].key
    told.pass_(10)
    assert "clarifying" in told.conditions()
    assert ("zoe", "answer") in told.owed
    told.say("zoe", "answer", body="不含")
    assert "clarifying" not in told.conditions()
    assert ("zoe", "answer") not in told.owed


def test_who_asks_itself_cannot_answer_itself() -> None:
    """A question of the requester as an assignee goes to the DRI; one of a requester that is the DRI to nobody."""
    told = Told()
    told.say("zoe", "request", to=["zoe", "trading"], dri="trading", action="x")
    thread = told.thread
    if "zoe" in thread.duties:
        told.say("zoe", "clarify", question="?")
        assert ("trading", "answer") in told.owed
    alone = Told()
    alone.say("zoe", "request", to=["macro", "zoe"], dri="zoe", action="x")
    assert alone.say("zoe", "clarify", question="?") == "clarified"
    assert all(step != "answer" for _, step in alone.owed)


def test_a_late_final_is_overdue_and_escalates() -> None:
    """Overdue from the moment at which the DRI is told; escalated once the arbiter is; the arbiter owes a ruling."""
    told = asked(deadline="20m")
    told.say("macro", "confirmed", conclusion="a")
    told.say("trading", "confirmed", conclusion="b")
    told.pass_(19)
    assert told.conditions() == ()
    told.pass_(1)
    assert told.conditions() == ("overdue",)
    told.pass_(10)
    assert told.conditions() == ("overdue", "escalated")
    assert told.owed == [("trading", "final"), ("boss", "rule")]


def test_more_time_takes_overdue_away() -> None:
    """A ruling that extends the deadline ends the delay and the arbiter's debt."""
    told = asked(deadline="20m")
    told.pass_(20)
    told.pass_(10)
    told.say("boss", "ruling", ruling="extend", deadline="2h")
    assert told.conditions() == ()
    assert ("boss", "rule") not in told.owed


def test_an_arbiter_that_spoke_owes_no_ruling() -> None:
    """Any word of the arbiter's settles its own debt, not that of the late assignee."""
    told = asked()
    told.pass_(5)
    told.pass_(5)
    assert ("boss", "rule") in told.owed
    told.say("boss", "progress", body="I look into it")
    assert ("boss", "rule") not in told.owed
    assert "escalated" in told.conditions()
    told.say("macro", "confirmed", conclusion="a")
    told.say("trading", "confirmed", conclusion="b")
    assert told.conditions() == ()


def test_the_last_rung_needs_a_person() -> None:
    """Where arbiters stayed silent a person was told, and the thread says so."""
    told = asked()
    told.pass_(5)
    told.pass_(5)
    assert told.conditions() == ("escalated",)
    told.pass_(10)
    assert told.conditions() == ("escalated", "needs-person")
    assert ("li", "rule") in told.owed
    told.say("li", "ruling", ruling="close")
    assert told.conditions() == ()


def test_a_declined_dri_owes_nothing_and_is_escalated() -> None:
    """A DRI that declined owes neither confirmed nor final; the arbiter is asked at once."""
    told = asked()
    told.say("trading", "decline", reason="no access")
    told.pass_()
    assert told.conditions() == ("escalated",)
    assert told.owed == [("macro", "confirm"), ("boss", "rule")]


def test_a_refusal_for_lineage_needs_a_person_until_its_author_goes_on() -> None:
    """A handoff back into the chain is refused and needs a person, until its author says something else."""
    told = asked()
    assert told.say("trading", "handoff", to=["zoe"], reason="yours") == "refused"
    assert told.conditions() == ("needs-person",)
    told.say("trading", "progress", body="then I do it")
    assert told.conditions() == ()


def test_a_pending_handoff_is_owed_an_answer() -> None:
    """The target owes yes or no, the owner stays responsible until then."""
    told = asked()
    told.say("trading", "handoff", to=["风控"], reason="rates")
    told.pass_()
    assert ("风控", "accept") in told.owed
    assert ("trading", "final") in told.owed
    told.say("风控", "confirmed", conclusion="接手")
    assert told.owed == [("macro", "confirm"), ("风控", "final")]


def test_a_cancel_rests_all_debts() -> None:
    """While a cancel waits for the DRI nobody owes anything."""
    told = asked()
    told.say("zoe", "cancel")
    assert told.conditions() == ("cancelling",)
    assert told.owed == []


def test_after_the_end_nothing_is_owed() -> None:
    """A final ends all debts and conditions."""
    told = asked()
    told.say("macro", "clarify", question="?")
    told.pass_(10)
    told.say("trading", "final", conclusion="减仓")
    assert told.conditions() == ()
    assert told.owed == []


def test_a_broadcast_owes_nothing() -> None:
    """A broadcast has neither conditions nor debts."""
    told = Told("holiday")
    told.say("zoe", "broadcast", to=["all"], body="休市")
    told.pass_()
    assert told.conditions() == ()
    assert told.owed == []


def test_a_second_final_conflicts_until_it_is_settled() -> None:
    """A flagged final conflicts with the one in force until the DRI amends that one, or a ruling picks."""
    for by_ruling in (False, True):
        told = asked()
        told.say("trading", "final", conclusion="one")
        assert told.say("trading", "final", conclusion="two") == "flagged"
        assert told.conditions() == ("conflicted",)
        first, second = told.thread.finals
        if by_ruling:
            assert told.say("boss", "ruling", ruling="pick", pick=second) == "ruled"
        else:
            assert told.say("trading", "amend", supersedes=first, conclusion="three") == "revision"
        assert told.conditions() == ()


def test_a_weak_final_is_no_conflict() -> None:
    """The final of somebody who was never the DRI is a supplement."""
    told = asked()
    assert told.say("macro", "final", conclusion="mine") == "weak"
    told.say("trading", "final", conclusion="ours")
    assert told.conditions() == ()


def test_rival_finals_of_two_nodes_conflict() -> None:
    """Two finals that were taken at the same time, each where the other was not known, are a conflict."""
    told = asked()
    told.say("trading", "final", conclusion="one")
    apart = asked()
    apart.now += 1
    apart.say("trading", "final", conclusion="two")
    told.entries.append(apart.entries[-1])
    assert told.conditions() == ("conflicted",)


@pytest.mark.parametrize(
    ("duty", "word"),
    [
        ({}, "asked"),
        ({"confirmed": "d", "settled": True}, "confirmed"),
        ({"settled": True}, "settled"),
        ({"declined": "d"}, "declined"),
        ({"declined": "d", "confirmed": "c", "settled": True}, "declined"),
        ({"handed_to": "macro", "confirmed": "c", "settled": True}, "handed-off"),
    ],
)
def test_the_word_for_an_assignee(duty: dict[str, Any], word: str) -> None:
    """One word says what an assignee owes or did; what came last outweighs what was before."""
    assert assignee_state(Duty(agent="macro", start="", message="", **duty)) == word


def test_words_are_fixed() -> None:
    """Scripts rely on the words and their order."""
    assert CONDITIONS == (
        "held",
        "clarifying",
        "overdue",
        "escalated",
        "ambiguous",
        "conflicted",
        "provisional",
        "cancelling",
        "needs-person",
    )
    assert STEPS == ("confirm", "final", "answer", "accept", "rule")
