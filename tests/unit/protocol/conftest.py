"""A team for the tests of the core, and a conversation in which it talks."""

from __future__ import annotations

import pytest

from ackd.protocol.policy import Agent, Policy, make_roster
from ackd.testing import Conversation

TEAM = [
    *(Agent(name=name) for name in ("zoe", "macro", "trading", "radar", "boss", "chief", "风控")),
    *(Agent(name=f"scout-{n}", type="scout") for n in (1, 2, 3)),
    *(Agent(name=name, is_person=True) for name in ("li", "wen")),
]


@pytest.fixture
def policy() -> Policy:
    """Give the rules: boss arbitrates, then chief, then li, who is a person; `desk` is a group."""
    roster = make_roster(TEAM, arbiters=["boss", "chief"], groups={"desk": ["macro", "trading"], "hall": []})
    return Policy(roster=roster)


@pytest.fixture
def talk(policy: Policy) -> Conversation:
    """Give a conversation in which nothing was said yet."""
    return Conversation(policy, ack_id="oil-v1")


@pytest.fixture
def asked(talk: Conversation) -> Conversation:
    """Give a conversation in which zoe asked macro and trading, the DRI, and both got the request."""
    talk.say("zoe", "request", to=["macro", "trading"], dri="trading", action="What does oil do next week?")
    talk.advance()
    return talk


@pytest.fixture
def ended(asked: Conversation) -> Conversation:
    """Give that conversation after trading's final, which was handed over."""
    asked.say("trading", "final", conclusion="It falls", message_id="final-1")
    asked.advance()
    return asked
