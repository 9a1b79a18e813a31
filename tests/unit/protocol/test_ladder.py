"""The ladder: which arbiter or person hears of a debt next, and what stops it."""

from __future__ import annotations

from typing import Any

import pytest

from ackd.protocol.policy import MINUTE, Agent, Policy, Timeouts, make_roster
from ackd.testing import Conversation, ManualClock


def heard(talk: Conversation) -> list[tuple[int, str]]:
    """Give who was escalated to, and at which minute after the request's delivery."""
    start = talk.delivered[0].at
    return [((one.at - start) // MINUTE, one.agent) for one in talk.delivered if one.kind == "escalation"]


def begin(policy: Policy, sender: str = "zoe", **words: Any) -> Conversation:
    """Ask macro for something and hand it over."""
    talk = Conversation(policy, ack_id="oil-v1")
    talk.say(sender, "request", **{"to": "macro", "action": "Oil?", **words})
    talk.advance()
    return talk


def test_a_silent_arbiter_is_followed_by_the_next_and_then_by_a_person(policy: Policy) -> None:
    """Ten minutes each, and the first person is the end of it."""
    talk = begin(policy, deadline="2h")
    talk.advance(119 * MINUTE)
    assert heard(talk) == [(10, "boss"), (20, "chief"), (30, "li")]


def test_each_rung_counts_from_its_own_delivery(policy: Policy) -> None:
    """After a stop the next rung still has ten minutes."""
    talk = begin(policy, deadline="9h")
    talk.advance(10 * MINUTE)
    talk.sleep(60 * MINUTE)
    talk.advance(10 * MINUTE)
    assert heard(talk) == [(10, "boss"), (70, "chief"), (80, "li")]


@pytest.mark.parametrize(
    ("type_", "words"),
    [
        ("supplement", {"body": "I'm calling them"}),
        ("progress", {"body": "Looking"}),
        ("ruling", {"ruling": "extend", "deadline": "4h"}),
    ],
)
def test_any_drop_of_that_arbiter_stops_the_ladder(policy: Policy, type_: str, words: dict[str, str]) -> None:
    """Nobody above hears of this debt any more."""
    talk = begin(policy, deadline="2h")
    talk.advance(12 * MINUTE)
    talk.say("boss", type_, **words)
    talk.advance(100 * MINUTE)
    assert heard(talk) == [(10, "boss")]


def test_courtesy_of_the_arbiter_stops_nothing(policy: Policy) -> None:
    """It says nothing, so the next one hears."""
    talk = begin(policy, deadline="2h")
    talk.advance(12 * MINUTE)
    talk.say("boss", "", body="收到")
    talk.advance(10 * MINUTE)
    assert heard(talk) == [(10, "boss"), (20, "chief")]


def test_somebody_elses_drop_stops_nothing(policy: Policy) -> None:
    """Only the one who was told, a ruling, or the debtor."""
    talk = begin(policy, deadline="2h")
    talk.advance(12 * MINUTE)
    talk.say("radar", "supplement", body="I know nothing either")
    talk.advance(10 * MINUTE)
    assert heard(talk) == [(10, "boss"), (20, "chief")]


def test_a_ruling_of_another_arbiter_stops_it(policy: Policy) -> None:
    """Whoever ruled, it was ruled upon."""
    talk = begin(policy, deadline="2h")
    talk.advance(12 * MINUTE)
    talk.say("li", "ruling", ruling="extend", deadline="4h")
    talk.advance(100 * MINUTE)
    assert heard(talk) == [(10, "boss")]


def test_a_paid_debt_stops_it(policy: Policy) -> None:
    """The confirmed came late, and that is that."""
    talk = begin(policy, deadline="2h")
    talk.advance(12 * MINUTE)
    talk.say("macro", "confirmed", conclusion="up")
    talk.advance(100 * MINUTE)
    assert heard(talk) == [(10, "boss")]


def test_an_arbiter_who_is_the_requester_is_told(policy: Policy) -> None:
    """It may be the one who can do something about it."""
    talk = begin(policy, "boss", deadline="2h")
    talk.advance(20 * MINUTE)
    assert heard(talk) == [(10, "boss"), (20, "chief")]


def test_an_arbiter_who_is_the_late_assignee_is_skipped(policy: Policy) -> None:
    """Its own lateness goes to the next one."""
    talk = begin(policy, to=["boss", "macro"], dri="macro", deadline="2h")
    talk.advance(119 * MINUTE)
    assert heard(talk) == [(10, "chief"), (20, "li")]


def test_an_arbiter_who_is_an_assignee_and_not_late_is_told(policy: Policy) -> None:
    """It has confirmed and may rule about the other."""
    talk = begin(policy, to=["boss", "macro"], dri="macro", deadline="2h")
    talk.say("boss", "confirmed")
    talk.advance(10 * MINUTE)
    assert heard(talk) == [(10, "boss")]


@pytest.mark.parametrize(("people", "expected"), [((), []), (("li",), [(10, "li")])], ids=["nobody", "a-person"])
def test_without_arbiters_a_person_hears_at_once(people: tuple[str, ...], expected: list[tuple[int, str]]) -> None:
    """And where there is none either, nobody."""
    members = [Agent(name="zoe"), Agent(name="macro"), *(Agent(name=name, is_person=True) for name in people)]
    talk = begin(Policy(roster=make_roster(members)), deadline="2h")
    talk.advance(60 * MINUTE)
    assert heard(talk) == expected


def test_the_steps_are_settable(policy: Policy) -> None:
    """Reminder, escalation and rung in seconds instead of minutes."""
    times = Timeouts(reminder=2000, escalation=4000, arbiter=3000)
    talk = Conversation(Policy(roster=policy.roster, timeouts=times), clock=ManualClock(0))
    talk.say("zoe", "request", to="macro", action="Oil?", deadline="2h")
    talk.advance(20_000)
    at = [(one.at, one.kind, one.agent) for one in talk.delivered]
    assert at == [
        (0, "request", "macro"),
        (2000, "reminder", "macro"),
        (4000, "escalation", "boss"),
        (7000, "escalation", "chief"),
        (10_000, "escalation", "li"),
    ]


def test_the_arbiter_hears_of_a_decline_at_once_and_once(policy: Policy) -> None:
    """The ladder goes on if it is silent, and ends when it makes somebody else the DRI."""
    talk = begin(policy, deadline="2h")
    talk.say("macro", "decline", reason="On leave")
    talk.advance(5 * MINUTE)
    assert heard(talk) == [(0, "boss")]
    talk.say("boss", "ruling", ruling="dri", dri="radar")
    talk.advance(MINUTE)
    assert heard(talk) == [(0, "boss")]
    assert talk.inbox("boss") == ()
    talk.say("radar", "confirmed")
    talk.advance(60 * MINUTE)
    assert heard(talk) == [(0, "boss")]


def test_a_new_dri_that_is_silent_too_is_escalated_anew(policy: Policy) -> None:
    """Its own reminder at 5:00 and its own escalation at 10:00 after the ruling's delivery."""
    talk = begin(policy, deadline="9h")
    talk.advance(10 * MINUTE)
    talk.say("boss", "ruling", ruling="dri", dri="radar")
    talk.advance(10 * MINUTE)
    assert heard(talk) == [(10, "boss"), (20, "boss")]
    reminded = [one.agent for one in talk.delivered if one.kind == "reminder"]
    assert reminded == ["macro", "radar"]


def test_after_the_end_nobody_hears_anything(policy: Policy) -> None:
    """A final, even a late one, is the end of every ladder."""
    talk = begin(policy, deadline="2h")
    talk.advance(12 * MINUTE)
    talk.say("macro", "final", conclusion="Up")
    talk.advance(600 * MINUTE)
    assert heard(talk) == [(10, "boss")]
    assert talk.inbox("boss") == ()
