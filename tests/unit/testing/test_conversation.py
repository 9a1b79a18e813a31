"""The conversation in memory that users test with, and its clock."""

from __future__ import annotations

import pytest

from ackd.errors import InvalidError
from ackd.protocol.fold import fold
from ackd.protocol.policy import MINUTE, Agent, Policy, make_roster
from ackd.testing import Conversation, ManualClock, told

POLICY = Policy(roster=make_roster([Agent(name=name) for name in ("zoe", "macro", "boss")], arbiters=["boss"]))


@pytest.fixture
def talk() -> Conversation:
    """Give a conversation in which zoe asked macro; nothing was handed over yet."""
    talk = Conversation(POLICY)
    talk.say("zoe", "request", to="macro", action="Oil?")
    return talk


def test_a_manual_clock_moves_when_it_is_told_to() -> None:
    """Forward by advance, anywhere by set."""
    clock = ManualClock(1000)
    assert (clock(), clock.advance(5), clock()) == (1000, 1005, 1005)
    clock.set(7)
    assert clock() == 7
    with pytest.raises(ValueError, match="-1 ms"):
        clock.advance(-1)


def test_a_dropped_document_gets_a_verdict_and_wakes_nobody_yet(talk: Conversation) -> None:
    """Only carrying out hands something over."""
    assert talk.delivered == []
    assert [one.agent for one in talk.owed().deliver] == ["macro"]
    document = {"state": "confirmed", "ack_id": "talk-v1", "from": "macro", "conclusion": "up"}
    assert told(talk.drop(document)) == {"zoe": "confirmed"}


def test_time_that_goes_by_is_carried_out_at_the_instant(talk: Conversation) -> None:
    """While the daemon runs everything comes when it is due; after a stop it comes at once, and late."""
    start = talk.clock()
    made = talk.advance(11 * MINUTE)
    assert [(one.kind, one.at - start) for one in made] == [
        ("request", 0),
        ("reminder", 5 * MINUTE),
        ("escalation", 10 * MINUTE),
    ]
    assert talk.clock() == start + 11 * MINUTE
    stopped = Conversation(POLICY)
    stopped.say("zoe", "request", to="macro", action="Oil?")
    stopped.advance()
    stopped.sleep(11 * MINUTE)
    assert [(one.kind, one.at - start) for one in stopped.carry_out()] == [("reminder", 11 * MINUTE)]


def test_an_inbox_holds_what_is_owed_until_it_is_taken(talk: Conversation) -> None:
    """What was taken is not written again."""
    talk.advance()
    assert [one.kind for one in talk.inbox("macro")] == ["request"]
    assert [one.path.startswith("inbox/macro/") for one in talk.take("macro")] == [True]
    assert talk.inbox("macro") == ()
    assert talk.advance(MINUTE) == []


def test_a_thread_is_the_fold_of_its_entries(talk: Conversation) -> None:
    """Everything that happened is an entry; threads are named by their ids."""
    talk.advance(11 * MINUTE)
    assert talk.threads == ("talk-v1",)
    assert talk.thread() == fold("talk-v1", talk.entries)
    assert [entry.kind for entry in talk.entries] == ["judged", "delivered", "delivered", "delivered"]
    assert talk.thread("unknown").phase == "unknown"


def test_the_same_path_again_is_an_edit(talk: Conversation) -> None:
    """Another text of the same author, type and ack_id at that path revises; a free path is chosen otherwise."""
    path = "roundtable/talk-v1/mine.json"
    assert talk.say("macro", "confirmed", conclusion="up", path=path).word == "confirmed"
    assert talk.say("macro", "confirmed", conclusion="down", path=path).word == "revision"
    assert talk.say("macro", "confirmed", conclusion="sideways").word == "confirmed"
    paths = [message.path for message in talk.thread().messages if message.type == "confirmed"]
    assert paths == [path, path, "roundtable/talk-v1/confirmed-macro.json"]


def test_two_conversations_told_alike_are_alike() -> None:
    """Nothing is random: the same words at the same instants give the same entries."""
    told_twice = []
    for _ in range(2):
        talk = Conversation(POLICY)
        talk.say("zoe", "request", to="macro", action="Oil?")
        talk.advance(40 * MINUTE)
        told_twice.append(talk.entries)
    assert told_twice[0] == told_twice[1]


def test_what_is_no_envelope_raises(talk: Conversation) -> None:
    """The daemon would refuse such a file before it is judged."""
    with pytest.raises(InvalidError):
        talk.drop({"ack_id": "talk-v1", "body": "Who am I?"})
