"""Merging what two nodes judged apart: which final, DRI, deadline and verdict are in force."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from ackd.protocol.fold import fold, strength
from ackd.protocol.policy import MINUTE, Policy
from ackd.protocol.thread import Thread
from ackd.testing import Conversation

Say = Callable[[Conversation], object]


@pytest.fixture
def apart(policy: Policy) -> Callable[[Say, Say], Thread]:
    """Give a function: two nodes take in one request, then each hears something else; what does it come to?"""

    def merge(here: Say, there: Say) -> Thread:
        nodes = [Conversation(policy, node=name, ack_id="oil-v1") for name in ("node-a", "node-b")]
        for minutes, (talk, say) in enumerate(zip(nodes, (here, there), strict=True)):
            talk.say("zoe", "request", to=["macro", "trading"], dri="trading", action="Oil?", deadline="2h")
            talk.advance()
            talk.advance(minutes * MINUTE)
            say(talk)
            talk.carry_out()
        return fold("oil-v1", [entry for talk in nodes for entry in talk.entries])

    return merge


def final(thread: Thread) -> str:
    """Give who wrote the final in force."""
    message = thread.message(thread.final)
    assert message is not None
    return message.sender


def hand_over_and_close(talk: Conversation) -> None:
    """Trading hands off to radar, who accepts and writes the final."""
    talk.say("trading", "handoff", to="radar", reason="On leave", message_id="h1")
    talk.say("radar", "confirmed", in_reply_to="h1")
    talk.say("radar", "final", conclusion="Rises")


def test_of_two_finals_the_one_of_the_higher_dri_epoch_is_in_force(apart: Callable[[Say, Say], Thread]) -> None:
    """The new DRI's, though the old one's was earlier; the other is kept and shown."""
    thread = apart(lambda talk: talk.say("trading", "final", conclusion="Falls"), hand_over_and_close)
    assert (thread.phase, thread.dri, thread.dri_epoch, final(thread)) == ("final", "radar", 1, "radar")
    assert len(thread.finals) == 2


def test_else_the_earlier_one(apart: Callable[[Say, Say], Thread]) -> None:
    """Two finals of one DRI on two machines: the earlier stamp."""
    thread = apart(
        lambda talk: talk.say("trading", "final", conclusion="Falls"),
        lambda talk: talk.say("trading", "final", conclusion="Rises"),
    )
    message = thread.message(thread.final)
    assert message is not None
    assert message.content["conclusion"] == "Falls"


def test_a_final_outweighs_a_cancel_and_a_ruling_of_the_same_time(apart: Callable[[Say, Say], Thread]) -> None:
    """However the thread ended elsewhere, a final ends it with a result."""
    for ruling in ("cancel", "close"):
        thread = apart(
            lambda talk, ruling=ruling: talk.say("boss", "ruling", ruling=ruling),  # type: ignore[misc]
            lambda talk: talk.say("trading", "final", conclusion="Falls"),
        )
        assert (thread.ended_by, final(thread)) == ("final", "trading")


def test_of_rival_rulings_the_higher_rank_counts(apart: Callable[[Say, Say], Thread]) -> None:
    """A person before the first arbiter, the first before the second, whoever was earlier."""
    for low, high in (("boss", "li"), ("chief", "boss")):
        thread = apart(
            lambda talk, who=low: talk.say(who, "ruling", ruling="dri", dri="macro"),  # type: ignore[misc]
            lambda talk, who=high: talk.say(who, "ruling", ruling="dri", dri="radar"),  # type: ignore[misc]
        )
        assert (thread.dri, thread.dri_epoch) == ("radar", 1)


def test_of_rival_rulings_of_one_rank_the_earlier_counts(apart: Callable[[Say, Say], Thread]) -> None:
    """Here two extensions of one arbiter."""
    thread = apart(
        lambda talk: talk.say("boss", "ruling", ruling="extend", deadline="2026-03-09T10:00:00Z"),
        lambda talk: talk.say("boss", "ruling", ruling="extend", deadline="2026-03-10T10:00:00Z"),
    )
    assert thread.deadline_ms == 1_773_050_400_000


def test_of_two_admissions_the_stronger_counts_and_nobody_is_unasked(apart: Callable[[Say, Say], Thread]) -> None:
    """Weak where the handoff was not known yet, effective where it was: it has closed; all who were told stay told."""
    thread = apart(lambda talk: talk.say("radar", "final", conclusion="Rises"), hand_over_and_close)
    message = thread.message(thread.final)
    assert message is not None
    assert message.verdict == "closed"
    assert {(tell.agent, tell.kind) for tell in message.told} >= {
        ("radar", "notice"),
        ("trading", "supplement"),
        ("zoe", "final"),
        ("macro", "final"),
    }


def test_two_requests_of_one_author_that_met_late_add_up(policy: Policy) -> None:
    """Both nodes opened the thread with another text: the earlier stands, the later adds whom it asked."""
    nodes = [Conversation(policy, node=name, ack_id="oil-v1") for name in ("node-a", "node-b")]
    nodes[0].say("zoe", "request", to="macro", action="Oil?")
    nodes[1].clock.advance(MINUTE)
    nodes[1].say("zoe", "request", to=["radar", "macro"], dri="radar", action="Oil and gas?")
    thread = fold("oil-v1", [entry for talk in nodes for entry in talk.entries])
    assert (thread.dri, list(thread.duties)) == ("macro", ["macro", "radar"])


def test_the_strength_of_verdicts() -> None:
    """A copy says nothing, a stranger's refusal less than held, held less than refused, weak less than all effects."""
    order = [strength("duplicate"), strength("refused", "stranger"), strength("held"), strength("refused", "nobody")]
    order += [strength("weak", "not-the-dri"), strength("closed", "closes")]
    assert order == sorted(set(order))
    assert strength("confirmed") == strength("closed") == strength("no-reply")
