"""What is owed, on a clock that is set by hand: reminders, deadlines, questions, handoffs, and which files go."""

from __future__ import annotations

import itertools

import pytest

from ackd.protocol.policy import MINUTE, Agent, Policy, Timeouts, make_roster
from ackd.testing import Conversation, Delivery

HOUR = 60 * MINUTE


def kinds(made: list[Delivery]) -> list[tuple[str, str]]:
    """Give agent and kind of deliveries, sorted."""
    return sorted((one.agent, one.kind) for one in made)


def of(made: list[Delivery], kind: str) -> list[Delivery]:
    """Give the deliveries of one kind."""
    return [one for one in made if one.kind == kind]


# Reminders.


def test_no_reminder_a_moment_before_five_minutes_one_at_five_and_none_after(asked: Conversation) -> None:
    """Once an assignee, counted from its own delivery."""
    assert asked.advance(5 * MINUTE - 1) == []
    made = asked.advance(1)
    assert kinds(made) == [("macro", "reminder"), ("trading", "reminder")]
    assert [one.deliver.asks for one in made] == [("confirm",), ("confirm",)]
    assert asked.advance(5 * MINUTE - 1) == []
    assert of(asked.advance(600 * MINUTE), "reminder") == of(asked.delivered, "reminder")[2:]
    reminders = [one for one in of(asked.delivered, "reminder") if "confirm" in one.deliver.asks]
    assert len(reminders) == 2


def test_the_next_due_instant_is_exact(asked: Conversation) -> None:
    """The engine may sleep until then."""
    assert asked.owed().next_due == asked.clock() + 5 * MINUTE
    asked.advance(5 * MINUTE)
    assert asked.owed().next_due == asked.clock() + 5 * MINUTE


def test_nothing_runs_before_the_request_is_handed_over(talk: Conversation) -> None:
    """Timers start with the delivery, whatever the request says about its time."""
    talk.say("zoe", "request", to="macro", action="Oil?", sent_at="2020-01-01T00:00:00Z")
    talk.sleep(7 * HOUR)
    assert kinds(talk.carry_out()) == [("macro", "request")]


@pytest.mark.parametrize(
    ("type_", "words"),
    [
        ("confirmed", {}),
        ("confirmed", {"conclusion": "up"}),
        ("supplement", {"body": "收到，马上开始"}),
        ("decline", {"reason": "No data"}),
    ],
)
def test_who_has_reacted_is_not_reminded(asked: Conversation, type_: str, words: dict[str, str]) -> None:
    """A confirmed, a supplement or a decline settles it."""
    asked.say("macro", type_, **words)
    asked.advance()
    assert [one.agent for one in asked.advance(5 * MINUTE)] == ["trading"]


def test_agents_have_times_of_their_own(policy: Policy) -> None:
    """The roster may give one agent longer."""
    slow = Timeouts(reminder=8 * MINUTE, escalation=20 * MINUTE)
    roster = make_roster([Agent(name="zoe"), Agent(name="macro", timeouts=slow), Agent(name="radar")])
    talk = Conversation(Policy(roster=roster))
    talk.say("zoe", "request", to=["macro", "radar"], dri="radar", action="Oil?")
    talk.advance()
    assert [one.agent for one in talk.advance(5 * MINUTE)] == ["radar"]
    assert [one.agent for one in talk.advance(3 * MINUTE)] == ["macro"]


# Escalation.


def test_the_escalation_comes_at_ten_minutes_once_for_all_who_are_silent(asked: Conversation) -> None:
    """One notice names both; it is not sent again."""
    asked.advance(10 * MINUTE - 1)
    assert of(asked.delivered, "escalation") == []
    made = asked.advance(1)
    assert kinds(made) == [("boss", "escalation")]
    assert [(one.agent, one.owes) for one in made[0].deliver.about] == [("macro", "confirm"), ("trading", "confirm")]
    assert made[0].deliver.asks == ("rule",)
    assert asked.advance(10 * MINUTE - 1) == []


def test_after_a_stop_of_nine_hours_the_reminder_comes_first(asked: Conversation) -> None:
    """The escalation follows not before five minutes later."""
    asked.sleep(9 * HOUR)
    made = asked.carry_out()
    assert kinds(made) == [("macro", "reminder"), ("trading", "reminder")]
    assert of(asked.advance(5 * MINUTE - 1), "escalation") == []
    made = asked.advance(1)
    assert kinds(made) == [("boss", "escalation")]


def test_a_late_reminder_moves_the_escalation(asked: Conversation) -> None:
    """Reminded at 8:00, escalated at 13:00."""
    asked.sleep(8 * MINUTE)
    asked.carry_out()
    assert asked.advance(5 * MINUTE - 1) == []
    assert kinds(asked.advance(1)) == [("boss", "escalation")]


def test_what_is_due_within_a_minute_shares_a_notice(asked: Conversation) -> None:
    """An assignee that was added half a minute later is named in the same escalation."""
    asked.advance(30_000)
    asked.say("zoe", "request", to=["macro", "trading", "radar"], dri="trading", action="And gas?")
    asked.advance()
    made = of(asked.advance(10 * MINUTE), "escalation")
    assert len(made) == 1
    assert [one.agent for one in made[0].deliver.about] == ["macro", "trading", "radar"]


def test_what_is_due_later_has_a_notice_of_its_own(asked: Conversation) -> None:
    """Two minutes apart are two notices, one an assignee."""
    asked.advance(2 * MINUTE)
    asked.say("zoe", "request", to=["macro", "trading", "radar"], dri="trading", action="And gas?")
    asked.advance()
    made = of(asked.advance(10 * MINUTE), "escalation")
    assert [[one.agent for one in notice.deliver.about] for notice in made] == [["macro", "trading"], ["radar"]]


def test_a_second_reason_joins_the_notice_that_is_out(asked: Conversation) -> None:
    """The DRI that never confirmed is also late with the final: the arbiter's file says both."""
    asked.say("macro", "confirmed")
    asked.advance(39 * MINUTE)
    before = asked.inbox("boss")
    assert [[one.owes for one in notice.deliver.about] for notice in before] == [["confirm"]]
    asked.advance(MINUTE)
    (after,) = asked.inbox("boss")
    assert after.path == before[0].path
    assert [one.owes for one in after.deliver.about] == ["confirm", "final"]


def test_a_second_reason_makes_no_new_file_where_the_first_was_taken(asked: Conversation) -> None:
    """It is recorded as said; an arbiter that read the file is not woken again for the same assignee."""
    asked.say("macro", "confirmed")
    asked.advance(11 * MINUTE)
    asked.take("boss")
    asked.advance(29 * MINUTE)
    assert asked.inbox("boss") == ()
    assert [one.path for one in asked.delivered if one.agent == "boss"][1:] == [""]


def test_there_is_no_notice_about_a_notice(asked: Conversation) -> None:
    """However long everybody is silent, only the two assignees are ever reminded, and each rung hears once."""
    asked.advance(48 * HOUR)
    assert asked.advance(48 * HOUR) == []
    reminded = {one.agent for one in of(asked.delivered, "reminder")}
    assert reminded == {"macro", "trading"}
    assert {one.agent for one in of(asked.delivered, "escalation")} == {"boss", "chief", "li"}
    ids = [one for made in asked.delivered for one in made.deliver.ids]
    assert len(ids) == len(set(ids))


# Ten recipients.


def test_ten_recipients_are_tracked_one_by_one(policy: Policy) -> None:
    """At 5:00 just the silent ones are reminded, at 10:00 one notice names just them."""
    names = [f"agent-{n}" for n in range(9)]
    roster = make_roster([Agent(name=name) for name in ("zoe", "boss", *names)], arbiters=["boss"])
    talk = Conversation(Policy(roster=roster))
    talk.say("zoe", "request", to=[*names, "nobody-knows-me"], dri="agent-0", action="Your view on oil?")
    made = talk.advance()
    assert kinds(made) == sorted([("zoe", "notice"), *((name, "request") for name in names)])
    talk.say("agent-0", "confirmed", conclusion="on it")
    talk.say("agent-1", "confirmed")
    talk.say("agent-2", "decline", reason="No data")
    talk.say("agent-3", "", body="收到")
    talk.say("agent-4", "confirmed", conclusion="up")
    talk.say("agent-4", "confirmed", conclusion="up")
    talk.say("AGENT-5", "confirmed", conclusion="down")
    talk.say("agent-6", "progress", body="a third")
    silent = ["agent-3", "agent-6", "agent-7", "agent-8"]
    talk.advance(5 * MINUTE - 1)
    made = talk.advance(1)
    assert kinds(made) == [(name, "reminder") for name in silent]
    made = talk.advance(5 * MINUTE)
    assert kinds(made) == [("boss", "escalation")]
    assert [one.agent for one in made[0].deliver.about] == silent
    assert talk.thread().unknown == ("nobody-knows-me",)


# The final.


def test_without_a_deadline_the_final_is_missing_after_thirty_minutes(asked: Conversation) -> None:
    """The DRI is told once that the final is missing, ten minutes later the arbiter."""
    asked.say("macro", "confirmed")
    asked.say("trading", "confirmed")
    assert asked.advance(30 * MINUTE - 1) == []
    made = asked.advance(1)
    assert [(one.agent, one.kind, one.deliver.asks) for one in made] == [("trading", "reminder", ("final",))]
    assert asked.advance(10 * MINUTE - 1) == []
    made = asked.advance(1)
    assert kinds(made) == [("boss", "escalation")]
    assert [(one.agent, one.owes) for one in made[0].deliver.about] == [("trading", "final")]


def test_with_a_deadline_it_is_missing_then(talk: Conversation) -> None:
    """Two hours and not thirty minutes."""
    talk.say("zoe", "request", to="macro", action="Oil?", deadline="2h")
    talk.advance()
    talk.say("macro", "confirmed")
    assert talk.advance(2 * HOUR - 1) == []
    assert kinds(talk.advance(1)) == [("macro", "reminder")]
    assert kinds(talk.advance(10 * MINUTE)) == [("boss", "escalation")]


def test_a_late_final_still_closes(asked: Conversation) -> None:
    """Overdue is a condition and never an end; afterwards nobody is told anything but the final."""
    asked.advance(3 * HOUR)
    assert asked.say("trading", "final", conclusion="Falls").word == "closed"
    assert kinds(asked.advance(9 * HOUR)) == [("macro", "final"), ("zoe", "final")]


def test_an_extension_starts_it_anew(asked: Conversation) -> None:
    """The DRI is reminded once more at the new deadline, and the ladder begins again."""
    asked.say("macro", "confirmed")
    asked.say("trading", "confirmed")
    asked.advance(41 * MINUTE)
    assert len(of(asked.delivered, "escalation")) == 1
    asked.say("boss", "ruling", ruling="extend", deadline="1h")
    assert kinds(asked.advance()) == [("trading", "ruling"), ("zoe", "ruling")]
    assert asked.inbox("boss") == (), "a debt that was ruled upon asks for nothing"
    assert asked.advance(HOUR - 1) == []
    assert kinds(asked.advance(1)) == [("trading", "reminder")]
    assert kinds(asked.advance(10 * MINUTE)) == [("boss", "escalation")]


def test_after_a_long_stop_one_file_says_all_that_is_missing(asked: Conversation) -> None:
    """The DRI owes both: it gets one reminder that names both."""
    asked.sleep(9 * HOUR)
    made = [one for one in asked.carry_out() if one.agent == "trading"]
    assert [one.deliver.asks for one in made] == [("confirm", "final")]


def test_a_delivery_after_the_deadline_asks_whether_it_still_stands(talk: Conversation) -> None:
    """The requester is asked once; the thirty minutes run from the delivery."""
    talk.say("zoe", "request", to="macro", action="Oil?", deadline="1h")
    talk.sleep(2 * HOUR)
    made = talk.carry_out()
    assert kinds(made) == [("macro", "request"), ("zoe", "notice")]
    assert "still stand" in of(made, "notice")[0].deliver.reasons[0]
    talk.say("macro", "confirmed")
    assert talk.advance(30 * MINUTE - 1) == []
    assert kinds(talk.advance(1)) == [("macro", "reminder")]


def test_a_requester_who_is_dri_owes_its_final_too(talk: Conversation) -> None:
    """It is told when the final is missing, though nothing was delivered to it."""
    talk.say("zoe", "request", to="macro", dri="zoe", action="Figures?")
    talk.advance()
    talk.say("macro", "confirmed")
    talk.advance(30 * MINUTE - 1)
    assert kinds(talk.advance(1)) == [("zoe", "reminder")]


# Questions.


def test_a_question_stops_the_askers_timers(asked: Conversation) -> None:
    """Asked at 3:00 and answered at 8:00, the reminder comes at 10:00; the other's clock goes on."""
    asked.advance(3 * MINUTE)
    asked.say("macro", "clarify", question="Which week?")
    asked.advance(5 * MINUTE)
    assert [one.agent for one in of(asked.delivered, "reminder")] == ["trading"]
    asked.say("zoe", "answer", body="Next")
    assert kinds(asked.advance()) == [("macro", "answer")]
    assert "macro" not in [one.agent for one in asked.advance(2 * MINUTE - 1)]
    assert ("macro", "reminder") in kinds(asked.advance(1))


def test_questions_that_were_open_together_stop_the_timers_once(asked: Conversation) -> None:
    """Two questions over the same three minutes are three minutes, not six."""
    asked.advance(MINUTE)
    asked.say("macro", "clarify", question="Which week?")
    asked.say("macro", "clarify", question="Which market?")
    asked.advance(3 * MINUTE)
    asked.say("zoe", "answer", body="Next, Shanghai")
    asked.advance(4 * MINUTE - 1)
    assert "macro" not in [one.agent for one in of(asked.delivered, "reminder")]
    assert kinds(asked.advance(1)) == [("macro", "reminder")]


def test_an_unanswered_question_times_out_and_both_are_told(asked: Conversation) -> None:
    """Ten minutes from its delivery to the requester; then the asker's timers go on where they stopped."""
    asked.say("trading", "confirmed")
    asked.say("macro", "clarify", question="Which week?")
    assert kinds(asked.advance()) == [("zoe", "question")]
    assert asked.advance(10 * MINUTE - 1) == []
    assert kinds(asked.advance(1)) == [("macro", "notice"), ("zoe", "notice")]
    assert asked.advance(5 * MINUTE - 1) == []
    assert kinds(asked.advance(1)) == [("macro", "reminder")]


def test_the_dris_question_stops_its_final_too(asked: Conversation) -> None:
    """Twenty minutes of waiting for an answer are not counted."""
    asked.say("macro", "confirmed")
    asked.say("trading", "confirmed")
    asked.say("trading", "clarify", question="Which week?")
    asked.advance(8 * MINUTE)
    asked.say("zoe", "answer", body="Next")
    asked.advance(30 * MINUTE - 1)
    assert of(asked.delivered, "reminder") == []
    assert kinds(asked.advance(1)) == [("trading", "reminder")]


# Handoffs, cancels, held.


def test_a_handoff_lapses_after_thirty_minutes(asked: Conversation) -> None:
    """Old owner and requester are told; the old owner's timers ran on all the while."""
    asked.say("macro", "confirmed")
    asked.say("trading", "handoff", to="radar", reason="On leave")
    asked.advance()
    made = asked.advance(30 * MINUTE)
    assert ("trading", "reminder") in kinds(made)
    assert {one.agent for one in of(made, "notice")} == {"trading", "zoe"}
    assert asked.thread().handoffs[0].outcome == "lapsed"
    assert asked.thread().dri == "trading"
    assert asked.inbox("radar") == ()
    assert asked.say("radar", "confirmed").word == "weak"


def test_a_new_dris_thirty_minutes_begin_with_its_acceptance(asked: Conversation) -> None:
    """And nobody is reminded twice because of it."""
    asked.say("macro", "confirmed")
    asked.say("trading", "confirmed")
    asked.say("trading", "handoff", to="radar", reason="On leave")
    asked.advance(20 * MINUTE)
    asked.say("radar", "confirmed")
    asked.advance()
    assert asked.advance(30 * MINUTE - 1) == []
    assert kinds(asked.advance(1)) == [("radar", "reminder")]


def test_while_a_cancel_waits_nobody_is_reminded(asked: Conversation) -> None:
    """Neither reminder nor escalation, and after its ten minutes nothing at all."""
    asked.say("zoe", "cancel")
    made = asked.advance(9 * HOUR)
    assert kinds(made) == [("macro", "cancelling"), ("trading", "cancelling")]
    assert asked.thread().ended_by == "cancel"


def test_who_was_told_of_a_cancel_keeps_that_file(asked: Conversation) -> None:
    """The request's file goes at the end; the news that it was cancelled stays until it is taken."""
    asked.say("zoe", "cancel")
    asked.advance(11 * MINUTE)
    assert [one.kind for one in asked.inbox("macro")] == ["cancelling"]


def test_what_is_held_is_reported_after_ten_minutes(talk: Conversation) -> None:
    """To its author, once; courtesy never."""
    talk.say("macro", "confirmed")
    talk.say("radar", "", body="收到")
    assert talk.advance(10 * MINUTE - 1) == []
    assert kinds(talk.advance(1)) == [("macro", "notice")]
    assert talk.advance(HOUR) == []


def test_what_is_held_is_not_reported_once_its_request_came(talk: Conversation) -> None:
    """The request came in time."""
    talk.say("macro", "confirmed")
    talk.advance(9 * MINUTE)
    talk.say("zoe", "request", to="macro", action="Oil?")
    talk.advance(2 * MINUTE)
    assert of(talk.delivered, "notice") == []


# What lapses, and which files go.


@pytest.mark.parametrize("order", list(itertools.permutations(["request", "confirmed", "final"])))
def test_where_all_is_over_before_it_was_handed_out_nobody_is_woken_for_it(
    talk: Conversation, order: tuple[str, ...]
) -> None:
    """Request, confirmed and final in any order: the requester hears of the final and that is all."""
    words: dict[str, tuple[str, dict[str, str]]] = {
        "request": ("zoe", {"to": "macro", "action": "Oil?"}),
        "confirmed": ("macro", {"conclusion": "on it"}),
        "final": ("macro", {"conclusion": "Falls"}),
    }
    for type_ in order:
        sender, said = words[type_]
        talk.say(sender, type_, **said)
    assert kinds(talk.advance(9 * HOUR)) == [("zoe", "final")]


def test_a_request_that_was_answered_before_its_delivery_is_not_delivered(talk: Conversation) -> None:
    """An assignee that confirmed already gets nothing; the DRI still owes the final."""
    talk.say("macro", "confirmed")
    talk.say("trading", "confirmed")
    talk.say("zoe", "request", to=["macro", "trading"], dri="trading", action="Oil?")
    made = talk.advance()
    assert [(one.agent, one.deliver.asks) for one in made] == [("trading", ("final",))]


def test_a_file_goes_when_it_is_owed_no_longer(asked: Conversation) -> None:
    """A confirmed takes an assignee's file away; the DRI's stays until the end."""
    asked.say("macro", "confirmed")
    asked.say("trading", "confirmed")
    asked.advance()
    assert asked.inbox("macro") == ()
    assert [one.kind for one in asked.inbox("trading")] == ["request"]
    asked.say("trading", "final", conclusion="Falls")
    asked.advance()
    assert asked.inbox("trading") == ()
    assert [one.kind for one in asked.inbox("macro")] == ["final"]


def test_a_reminder_takes_the_place_of_the_request(asked: Conversation) -> None:
    """One file a debt; it goes with the debt."""
    asked.advance(5 * MINUTE)
    assert [one.kind for one in asked.inbox("macro")] == ["reminder"]
    asked.say("macro", "confirmed")
    asked.advance()
    assert asked.inbox("macro") == ()


def test_an_escalation_goes_when_the_debt_is_paid(asked: Conversation) -> None:
    """A notice about two stays until the second has paid."""
    asked.advance(10 * MINUTE)
    asked.say("macro", "confirmed")
    asked.advance()
    assert len(asked.inbox("boss")) == 1
    asked.say("trading", "confirmed")
    asked.advance()
    assert asked.inbox("boss") == ()


def test_a_question_goes_when_it_is_answered_and_a_handoff_when_it_is_over(asked: Conversation) -> None:
    """By whoever answered or however it ended."""
    asked.say("macro", "clarify", question="Which week?")
    asked.say("macro", "handoff", to="radar", reason="Yours")
    asked.advance()
    assert [one.kind for one in asked.inbox("zoe")] == ["question"]
    assert [one.kind for one in asked.inbox("radar")] == ["handoff"]
    asked.say("trading", "answer", body="Next")
    asked.say("radar", "decline", reason="No")
    asked.advance()
    assert "question" not in [one.kind for one in asked.inbox("zoe")]
    assert asked.inbox("radar") == ()


def test_notices_stay_until_they_are_taken(asked: Conversation) -> None:
    """A weak final's notice outlives the thread; what asked for something does not."""
    asked.say("macro", "final", conclusion="It rises")
    asked.advance(10 * MINUTE)
    asked.say("trading", "final", conclusion="Falls")
    asked.advance()
    assert sorted(one.kind for one in asked.inbox("macro")) == ["final", "notice"]
    assert asked.inbox("boss") == ()
    asked.take("macro")
    assert asked.advance(HOUR) == []


def test_at_the_end_what_was_not_handed_over_lapses_but_the_final(asked: Conversation) -> None:
    """A supplement, a question and a confirmed of the last moment wake nobody after the final."""
    asked.say("macro", "confirmed", conclusion="up")
    asked.say("macro", "supplement", body="See row 3")
    asked.say("macro", "clarify", question="Which week?")
    asked.say("trading", "final", conclusion="Falls")
    assert kinds(asked.advance()) == [("macro", "final"), ("zoe", "final")]


# Ids.


def test_ids_are_deterministic_and_doing_it_twice_gives_nothing_new(asked: Conversation) -> None:
    """The same thread, policy and clock give the same ids; what is recorded as done is not owed again."""
    asked.sleep(5 * MINUTE)
    first, second = asked.owed(), asked.owed()
    assert first == second
    assert [one.ids for one in first.deliver] == [
        ("reminder:oil-v1:macro:confirm",),
        ("reminder:oil-v1:trading:confirm",),
    ]
    assert len(asked.carry_out()) == 2
    assert asked.carry_out() == []
    assert asked.owed().deliver == ()


def test_the_step_of_what_is_told_is_the_digest_of_the_message(talk: Conversation) -> None:
    """`<kind>:<thread>:<agent>:<step>`."""
    talk.say("zoe", "request", to="macro", action="Oil?")
    assert [one.ids for one in talk.owed().deliver] == [(f"request:oil-v1:macro:{talk.thread().request[:16]}",)]


def test_a_handoff_repeats_nothing(asked: Conversation) -> None:
    """Who was reminded and told before is not told again because the DRI moved."""
    asked.advance(5 * MINUTE)
    before = {one for made in asked.delivered for one in made.deliver.ids}
    asked.say("trading", "handoff", to="radar", reason="On leave")
    asked.say("radar", "confirmed")
    made = asked.advance()
    assert kinds(made) == [("trading", "accepted"), ("zoe", "accepted")]
    assert before.isdisjoint(one for one_made in made for one in one_made.deliver.ids)


def test_obligations_change_nothing(asked: Conversation) -> None:
    """Asking what is owed at any instant leaves thread and entries as they are."""
    thread, entries = asked.thread(), list(asked.entries)
    for minutes in (0, 5, 10, 30, 60):
        asked.sleep(minutes * MINUTE)
        asked.owed()
    assert asked.thread() == thread
    assert asked.entries == entries
