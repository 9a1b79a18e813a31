"""reply-check: who must answer what, by text, mention and thread."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ackd.engine.reading import View
from ackd.engine.replying import NO_REPLY, REPLY, Reply, check_incoming, check_outgoing, mentions

WORDS: dict[str, tuple[str, ...]] = {
    name: (name,) for name in ("trading", "trading-desk", "macro", "宏观", "包", "zoe")
}


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("@trading，请看下", ["trading"]),
        ("@trading、@macro 请确认", ["trading", "macro"]),
        ("麻烦@trading看一下", ["trading"]),
        ("@Trading。", ["trading"]),
        ("（@trading）", ["trading"]),
        ("mail desk@trading.com", []),
        ("@trading-desk 在吗", ["trading-desk"]),
        ("@tradingbot 在吗", []),
        ("＠trading\u3000在吗", ["trading"]),
        ("@宏观，看", ["宏观"]),
        ("@包 在吗", ["包"]),
        ("@trad\u200bing，在吗", ["trading"]),
        ("@trading's view?", ["trading"]),
        ("@macro/@trading 二选一", ["macro", "trading"]),
        ("@trading@macro 看", ["trading", "macro"]),
        ("\\@trading 这样写不会提醒", []),
        ("@ trading", []),
        ("", []),
        ("@", []),
    ],
)
def test_mentions(text: str, named: list[str]) -> None:
    """A mention is found beside any script and sign; addresses and longer names are none."""
    assert mentions(text, WORDS)[0] == named


def test_a_chinese_name_that_runs_on_may_be_meant() -> None:
    """`@包子铺` may or may not be 包: it counts for 包, and against nobody."""
    assert mentions("@包子铺 几点开门", WORDS) == ([], ["包"])


class Desk:
    """A view of a tree in which threads go on, and the question whether to reply."""

    def __init__(self, bench: Any) -> None:
        self.bench, self.tree = bench, bench.tree

    def drop(self, name: str, content: dict[str, Any]) -> None:
        self.tree.drop(f"roundtable/week-v1/{name}.json", content)
        self.bench.turn()

    def incoming(self, text: str, agent: str = "macro", thread: str = "") -> Reply:
        with View(self.tree.path) as view:
            return check_incoming(view, text, agent, view.thread(thread) if thread else None)

    def outgoing(self, text: str, agent: str = "macro", thread: str = "") -> Reply:
        with View(self.tree.path) as view:
            return check_outgoing(view, text, agent, view.thread(thread) if thread else None)


@pytest.fixture
def desk(bench: Any) -> Desk:
    """Give a tree in which zoe has asked macro and trading, the DRI."""
    bench.tree.request()
    bench.turn()
    return Desk(bench)


def said(type_: str, sender: str, **words: Any) -> dict[str, Any]:
    """Write an envelope of the thread."""
    key = "state" if type_ in ("request", "confirmed", "final") else "type"
    return {key: type_, "ack_id": "week-v1", "from": sender, **words}


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("收到", NO_REPLY),
        ("OK, thanks!", NO_REPLY),
        ("@macro 收到 +1", NO_REPLY),
        ("", NO_REPLY),
        ("> 收到\n> @macro look", NO_REPLY),
        ("@trading 看一下仓位", NO_REPLY),
        ("@desk 看一下仓位", REPLY),
        ("@所有人 开会", REPLY),
        ("@trading @macro 看一下仓位", REPLY),
        ("收到，马上开始", REPLY),
        ("没收到", REPLY),
        ("Why 40 %?", REPLY),
    ],
)
def test_what_arrives_without_a_thread(desk: Desk, text: str, word: str) -> None:
    """Courtesy, quotes and texts for others deserve no reply; all else does."""
    assert desk.incoming(text).word == word


def test_a_yes_to_a_question_is_an_answer(desk: Desk) -> None:
    """Who has an open question hears the OK; once it is answered, the OK is courtesy again."""
    desk.drop("clarify", said("clarify", "macro", question="Shall I wait for Monday?"))
    assert desk.incoming("好的", "macro", "week-v1").word == REPLY
    assert desk.outgoing("好的", "zoe", "week-v1").word == REPLY
    assert desk.incoming("好的", "trading", "week-v1").word == NO_REPLY
    desk.drop("answer", said("answer", "zoe", body="Yes, do"))
    assert desk.incoming("好的", "macro", "week-v1").word == NO_REPLY


def test_a_yes_to_a_handoff_is_an_acceptance(desk: Desk) -> None:
    """Who handed its duty over hears the OK of the other."""
    desk.drop("handoff", said("handoff", "trading", to="macro", reason="rates"))
    assert desk.incoming("OK", "trading", "week-v1").word == REPLY
    assert "ackd confirm week-v1" in desk.outgoing("OK", "macro", "week-v1").because


def test_after_the_end(desk: Desk) -> None:
    """Courtesy gets NO_REPLY; substance REPLY, with the note that no answer is owed and new work needs a new id."""
    desk.drop("final", said("final", "trading", conclusion="Cut 40 %"))
    assert desk.incoming("谢谢，辛苦了", "trading", "week-v1").word == NO_REPLY
    reply = desk.incoming("另外查一下成交额", "trading", "week-v1")
    assert reply.word == REPLY
    assert "no answer is owed" in reply.because
    assert "new ack_id" in reply.because


def test_a_replay_gets_no_reply(desk: Desk) -> None:
    """A known text or envelope deserves none, unless it is what the agent still owes an answer to."""
    request = json.dumps(said("request", "zoe", to=["macro", "trading"], dri="trading", action="Plan week-v1"))
    owed = desk.incoming(request)
    assert owed.word == REPLY
    assert "ackd confirm week-v1" in owed.because
    desk.drop("confirmed", said("confirmed", "macro", conclusion="Oil shock is priced in"))
    assert desk.incoming(request).word == NO_REPLY
    confirmed = json.dumps(said("confirmed", "macro", conclusion="Oil shock is priced in", message_id="again-1"))
    assert desk.incoming(confirmed, "zoe").word == NO_REPLY
    assert desk.incoming("Oil  shock is priced in", "macro", "week-v1").word == NO_REPLY
    assert desk.incoming("Oil shock is not priced in", "macro", "week-v1").word == REPLY


def test_an_envelope_for_others_gets_no_reply(desk: Desk) -> None:
    """A new envelope counts by its recipients; one of courtesy alone is courtesy."""
    other = {"state": "request", "ack_id": "new-v1", "from": "zoe", "to": "trading", "action": "x"}
    assert desk.incoming(json.dumps(other)).word == NO_REPLY
    assert desk.incoming(json.dumps(other), "trading").word == REPLY
    assert desk.incoming(json.dumps(said("supplement", "zoe", body="谢谢"))).word == NO_REPLY


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("NO_REPLY", NO_REPLY),
        ("`no_reply`", NO_REPLY),
        ('{"reply": "NO_REPLY"}', NO_REPLY),
        ("收到，谢谢！", NO_REPLY),
        ("> all quoted", NO_REPLY),
        ("NO_REPLY because the desk is closed", REPLY),
        ("The limit is 40 %", REPLY),
    ],
)
def test_what_is_about_to_be_posted(desk: Desk, text: str, word: str) -> None:
    """An agent's own silent token and courtesy stay unposted; the rest is posted."""
    assert desk.outgoing(text).word == word


def test_a_courtesy_instead_of_a_debt_is_named(desk: Desk) -> None:
    """Who posts "收到" and still owes a confirmed is told what to type."""
    reply = desk.outgoing("收到", "macro", "week-v1")
    assert reply.word == NO_REPLY
    assert "ackd confirm week-v1" in reply.because
