"""Judging requests: who owes what, who may ask whom, what a second text changes, and how far a duty is passed on."""

from __future__ import annotations

from typing import Any

import pytest

from ackd.errors import InvalidError
from ackd.protocol.judge import Verdict
from ackd.protocol.policy import MINUTE, Agent, Policy, make_roster
from ackd.testing import Conversation, told


def ask(talk: Conversation, sender: str = "zoe", **words: Any) -> Verdict:
    """Ask macro and trading, the DRI, or whom the words name."""
    return talk.say(sender, "request", **{"to": ["macro", "trading"], "dri": "trading", "action": "Oil?", **words})


def test_a_request_opens_a_thread(talk: Conversation) -> None:
    """Each assignee is told and owes a confirmed, the DRI the final; the requester is told nothing."""
    verdict = ask(talk)
    assert (verdict.word, verdict.thread) == ("opened", "oil-v1")
    assert told(verdict) == {"macro": "request", "trading": "request"}
    thread = talk.thread()
    assert (thread.phase, thread.requester, thread.dri) == ("request", "zoe", "trading")
    assert [duty.agent for duty in thread.duties.values() if duty.owes_confirmed] == ["macro", "trading"]
    assert {one.agent: one.deliver.asks for one in talk.advance()} == {
        "macro": ("confirm",),
        "trading": ("confirm", "final"),
    }


def test_a_chinese_team_asks_in_chinese(talk: Conversation) -> None:
    """Names and ids of any script are taken as they are."""
    verdict = talk.say("zoe", "request", ack_id="原油-周报-v1", to=["风控"], action="下周油价怎么走？")
    assert (verdict.word, verdict.thread, told(verdict)) == ("opened", "原油-周报-v1", {"风控": "request"})
    done = talk.say("风控", "final", ack_id="原油-周报-v1", conclusion="减仓至四成")
    assert (done.word, talk.thread("原油-周报-v1").phase) == ("closed", "final")


def test_names_are_compared_without_case_and_shown_as_the_roster_has_them(talk: Conversation) -> None:
    """`ZOE`, `Macro` and full-width letters mean the members of the roster, who are told in its spelling."""
    verdict = talk.say("ZOE", "request", to=["Macro", "ｔｒａｄｉｎｇ"], dri="@TRADING", action="Oil?")
    assert told(verdict) == {"macro": "request", "trading": "request"}
    assert talk.thread().requester == "zoe"
    assert talk.say("MACRO", "confirmed", conclusion="up").word == "confirmed"
    assert talk.thread().duties["macro"].confirmed


def test_an_ack_id_in_another_case_means_the_same_thread(talk: Conversation) -> None:
    """Ids are compared like names."""
    ask(talk)
    assert talk.say("macro", "confirmed", ack_id="OIL-V1", conclusion="up").thread == "oil-v1"


def test_a_stranger_is_refused_and_nobody_is_told(talk: Conversation) -> None:
    """A sender who is not on the roster opens nothing and wakes nobody."""
    verdict = ask(talk, "ghost")
    assert (verdict.word, verdict.row, verdict.told) == ("refused", "stranger", ())
    assert "ghost" in verdict.because
    assert talk.advance() == []


def test_a_stranger_is_judged_again_once_the_roster_has_it(talk: Conversation, policy: Policy) -> None:
    """The same text opens the thread after its author was added."""
    ask(talk, "ghost")
    members = [*policy.roster.members.values(), Agent(name="ghost")]
    talk.policy = Policy(roster=make_roster(members, arbiters=policy.roster.arbiters))
    assert ask(talk, "ghost").word == "opened"
    assert talk.thread().requester == "ghost"


# Recipients and the DRI.


def test_without_a_dri_the_first_named_recipient_is_it_and_the_requester_is_told(talk: Conversation) -> None:
    """`to` in its order decides; groups in front do not count as named."""
    verdict = talk.say("zoe", "request", to=["desk", "radar", "macro"], action="Oil?")
    assert talk.thread().dri == "radar"
    assert told(verdict)["zoe"] == "notice"
    assert any("radar" in note for note in verdict.notes)


def test_a_single_recipient_is_the_dri_and_nothing_is_remarked(talk: Conversation) -> None:
    """One recipient as a plain string needs no DRI, and the requester hears nothing."""
    verdict = talk.say("zoe", "request", to="macro", action="Oil?")
    assert (talk.thread().dri, told(verdict), verdict.notes) == ("macro", {"macro": "request"}, ())


def test_a_dri_outside_to_is_an_assignee(talk: Conversation) -> None:
    """It is told and owes a confirmed like the others."""
    verdict = talk.say("zoe", "request", to=["macro"], dri="radar", action="Oil?")
    assert told(verdict) == {"macro": "request", "radar": "request"}
    assert talk.thread().duties["radar"].owes_confirmed


def test_a_requester_who_is_dri_counts_as_confirmed(talk: Conversation) -> None:
    """The thread is confirmed at once; the others still owe theirs."""
    verdict = talk.say("zoe", "request", to=["macro"], dri="zoe", action="Give me figures")
    assert told(verdict) == {"macro": "request"}
    thread = talk.thread()
    assert (thread.phase, thread.dri) == ("confirmed", "zoe")
    assert not thread.duties["zoe"].owes_confirmed
    assert talk.say("zoe", "final", conclusion="Done with macro's figures").word == "closed"


def test_whatever_else_a_requester_hears_it_is_not_reminded_of_its_own_confirmed(talk: Conversation) -> None:
    """A notice about an unknown recipient, or a collision, asks the requester who is DRI for nothing."""
    talk.say("radar", "request", ack_id="gas-v1", to=["macro"], action="Gas?")
    asked = {
        "oil-v1": talk.say("zoe", "request", to=["macro", "ghost"], dri="zoe", action="Give me figures"),
        "gas-v1": talk.say("zoe", "request", ack_id="gas-v1", to=["macro"], dri="zoe", action="And gas"),
    }
    assert [told(verdict)["zoe"] for verdict in asked.values()] == ["notice", "collision"]
    made = talk.advance(11 * MINUTE)
    assert not any(one.agent == "zoe" and one.kind == "reminder" for one in made)
    for verdict in asked.values():
        assert talk.thread(verdict.thread).duties["zoe"].settled
        about = [one.deliver.about for one in made if one.kind == "escalation" and one.deliver.thread == verdict.thread]
        assert [[arrear.agent for arrear in late] for late in about] == [["macro"]]


@pytest.mark.parametrize(
    "words",
    [
        {"to": ["desk"]},
        {"to": ["all"]},
        {"to": ["ghost"]},
        {"to": ["ghost"], "dri": "trading"},
        {"to": ["macro"], "dri": "ghost"},
        {"to": ["hall"]},
    ],
    ids=["group", "all", "unknown", "unknown-with-dri", "unknown-dri", "empty-group"],
)
def test_a_request_that_nobody_could_own_is_refused(talk: Conversation, words: dict[str, Any]) -> None:
    """Groups only and no DRI, no known recipient, or an unknown DRI: its author is told, nothing is opened."""
    verdict = talk.say("zoe", "request", action="Oil?", **words)
    assert (verdict.word, verdict.row, told(verdict)) == ("refused", "nobody", {"zoe": "refusal"})
    assert talk.thread().phase == "unknown"


def test_a_group_with_a_dri_is_taken(talk: Conversation) -> None:
    """The members owe, the DRI beside them."""
    verdict = talk.say("zoe", "request", to=["desk"], dri="radar", action="Oil?")
    assert told(verdict) == dict.fromkeys(("macro", "trading", "radar"), "request")


@pytest.mark.parametrize(("sender", "group"), [("macro", "desk"), ("zoe", "all")])
def test_all_and_groups_leave_out_their_author(talk: Conversation, sender: str, group: str) -> None:
    """Who writes to a group that it is in, is neither told nor owes anything."""
    verdict = talk.say(sender, "request", to=[group], dri="radar", action="Oil?")
    assert sender not in told(verdict)
    assert sender not in talk.thread().duties
    assert "li" not in told(verdict)


def test_an_unknown_recipient_is_reported_and_owes_nothing(talk: Conversation) -> None:
    """The others are asked; the requester is told which name nobody has."""
    verdict = talk.say("zoe", "request", to=["macro", "ghost"], dri="macro", action="Oil?")
    assert told(verdict) == {"macro": "request", "zoe": "notice"}
    assert "ghost" in verdict.notes[0]
    thread = talk.thread()
    assert (thread.unknown, list(thread.duties)) == (("ghost",), ["macro"])


def test_an_unreadable_deadline_never_refuses_a_request(talk: Conversation) -> None:
    """The request stands without one, and the requester is told once."""
    verdict = talk.say("zoe", "request", to="macro", action="Oil?", deadline="when the moon is up")
    assert (verdict.word, told(verdict)["zoe"]) == ("opened", "notice")
    assert talk.thread().deadline_ms is None
    assert [one.kind for one in talk.advance() if one.agent == "zoe"] == ["notice"]


def test_a_duration_runs_from_intake(talk: Conversation) -> None:
    """`2h` is an instant once the file is taken in."""
    talk.say("zoe", "request", to="macro", action="Oil?", deadline="2h")
    assert talk.thread().deadline_ms == talk.clock() + 120 * MINUTE


# The same ack_id once more.


def test_a_restatement_is_silent(asked: Conversation) -> None:
    """Same author, ack_id and content, whatever its message_id and path."""
    verdict = ask(asked, action="What does oil do next week?", message_id="again", sent_at="2026-03-08T00:00:00Z")
    assert (verdict.word, verdict.told) == ("duplicate", ())
    assert asked.advance() == []


def test_another_text_of_the_same_requester_is_a_revision(asked: Conversation) -> None:
    """Recipients hear once that the text changed; DRI, confirmeds and timers stay."""
    asked.say("macro", "confirmed", conclusion="up")
    asked.advance(2 * MINUTE)
    verdict = ask(asked, action="What does oil do this month?")
    assert (verdict.word, told(verdict)) == ("revision", {"macro": "revision", "trading": "revision"})
    thread = asked.thread()
    assert thread.duties["macro"].confirmed
    assert (thread.dri, thread.dri_epoch) == ("trading", 0)
    text = thread.text_in_force(thread.request)
    assert text is not None
    assert text.content["action"].endswith("this month?")
    assert [(one.agent, one.kind) for one in asked.advance()] == [("macro", "revision"), ("trading", "revision")]
    assert [one.agent for one in asked.advance(3 * MINUTE)] == ["trading"], "the timer went on"


def test_an_added_recipient_owes_from_now_on(asked: Conversation) -> None:
    """It gets the request as it stands now; its five minutes begin with its own delivery."""
    asked.advance(4 * MINUTE)
    verdict = ask(asked, to=["macro", "trading", "radar"])
    assert told(verdict)["radar"] == "request"
    assert [one.kind for one in asked.advance() if one.agent == "radar"] == ["request"]
    assert {one.agent for one in asked.advance(MINUTE)} == {"macro", "trading"}
    assert [(one.agent, one.kind) for one in asked.advance(4 * MINUTE) if one.agent == "radar"] == [
        ("radar", "reminder")
    ]


@pytest.mark.parametrize("to", [["macro", "trading"], ["macro", "trading", "radar"]])
def test_another_dri_in_a_revision_changes_nothing(asked: Conversation, to: list[str]) -> None:
    """The requester is told to hand off or to ask for a ruling."""
    verdict = ask(asked, to=to, dri="radar")
    assert asked.thread().dri == "trading"
    assert told(verdict)["zoe"] == "notice"
    assert any("DRI stays trading" in note for note in verdict.notes)
    assert ("radar" in asked.thread().duties) == ("radar" in to), "a DRI that changes nothing owes nothing"


def test_a_revision_without_a_dri_says_nothing_about_it(asked: Conversation) -> None:
    """The DRI stays and nobody hears that the first recipient were it now."""
    verdict = asked.say("zoe", "request", to=["macro", "trading"], action="What about gas?")
    assert (verdict.word, verdict.notes, asked.thread().dri) == ("revision", (), "trading")
    assert told(verdict) == {"macro": "revision", "trading": "revision"}


def test_a_revision_before_the_delivery_goes_with_the_request(talk: Conversation) -> None:
    """Who has not got the first text yet gets one file, with the text in force."""
    ask(talk)
    ask(talk, action="Gas?")
    assert [(one.agent, one.kind) for one in talk.advance()] == [("macro", "request"), ("trading", "request")]


def test_after_the_end_another_text_is_a_new_round_and_refused(ended: Conversation) -> None:
    """Its author is told to open a new ack_id; the thread stays as it is."""
    verdict = ask(ended, action="And the week after?")
    assert (verdict.word, verdict.row, told(verdict)) == ("refused", "new-round", {"zoe": "refusal"})
    assert "new ack_id" in verdict.because
    assert ended.thread().phase == "final"
    assert ended.say("zoe", "request", to=["macro"], dri="macro", action="Another round").notes == ()


@pytest.mark.parametrize("late", [False, True], ids=["before-the-end", "after-the-end"])
def test_another_requester_with_the_same_ack_id_opens_a_thread_of_its_own(asked: Conversation, late: bool) -> None:
    """It gets `~` and four hex of its digest; both requesters are told once, and both threads go on."""
    if late:
        asked.say("trading", "final", conclusion="It falls")
        asked.advance()
    verdict = asked.say("radar", "request", to=["风控", "macro"], action="Something else")
    assert (verdict.word, verdict.row) == ("opened", "id-taken")
    digest = asked.thread(verdict.thread).request
    assert verdict.thread == f"oil-v1~{digest[:4]}"
    assert told(verdict) == {
        "风控": "request",
        "macro": "request",
        "zoe": "collision",
        "radar": "collision",
    }
    own = asked.thread(verdict.thread)
    assert (own.requester, own.dri, own.phase) == ("radar", "风控", "request")
    assert asked.thread().requester == "zoe"
    kinds = [(one.agent, one.kind) for one in asked.advance() if one.kind == "collision"]
    assert sorted(kinds) == [("radar", "collision"), ("zoe", "collision")]


def test_who_has_a_thread_of_its_own_revises_that_one(asked: Conversation) -> None:
    """A later text of the second requester belongs to its own thread."""
    first = asked.say("radar", "request", to=["风控"], action="Something else")
    again = asked.say("radar", "request", to=["风控"], action="Something else again")
    assert (again.word, again.thread) == ("revision", first.thread)
    assert first.thread in first.because
    # Who had the id first was told of the collision, but got no text that could change.
    assert told(again) == {"风控": "revision"}


# Chat threads and retries.


def test_one_chat_thread_has_one_ack_id(talk: Conversation) -> None:
    """A request that names a chat thread which carries another ack_id is refused (T10)."""
    ask(talk, thread="chat-77")
    verdict = ask(talk, ack_id="gas-v1", action="Gas?", thread="chat-77")
    assert (verdict.row, told(verdict)) == ("chat-thread-taken", {"zoe": "refusal"})
    assert "oil-v1" in verdict.because
    assert ask(talk, action="Oil, again?", thread="chat-77").word == "revision"
    assert ask(talk, ack_id="gas-v1", action="Gas?", thread="chat-78").word == "opened"


def test_the_same_is_asked_again_at_most_once(talk: Conversation) -> None:
    """A second retry under a new ack_id is refused while none of the threads has ended (C10)."""
    ask(talk)
    assert ask(talk, ack_id="oil-v2", retry_of="oil-v1").word == "opened"
    verdict = ask(talk, ack_id="oil-v3", retry_of="oil-v2")
    assert (verdict.row, told(verdict)) == ("second-retry", {"zoe": "refusal"})


def test_a_retry_counts_only_for_its_author_and_its_text(talk: Conversation) -> None:
    """Other words, or the same by another author, are no retry."""
    ask(talk)
    ask(talk, ack_id="oil-v2")
    assert ask(talk, ack_id="oil-v3", action="Gas?").word == "opened"
    assert ask(talk, "radar", ack_id="oil-v4").word == "opened"


def test_after_a_final_the_same_may_be_asked_again(talk: Conversation) -> None:
    """Only threads without an end count."""
    ask(talk)
    ask(talk, ack_id="oil-v2")
    talk.say("trading", "final", conclusion="It falls")
    assert ask(talk, ack_id="oil-v3").word == "opened"


# Lineage: circles and types.


def test_a_request_to_oneself_is_refused(talk: Conversation) -> None:
    """It is said plainly, no chain is spoken of; the first arbiter hears of it too."""
    verdict = talk.say("zoe", "request", to=["zoe"], action="Think")
    assert verdict.because.startswith("a request to oneself is refused, and this one goes from zoe to zoe")
    assert "chain" not in verdict.because
    assert (verdict.word, verdict.row) == ("refused", "in-lineage")
    assert told(verdict) == {"zoe": "refusal", "boss": "notice"}
    assert "person" in verdict.because


def test_a_circle_through_parents_is_refused(talk: Conversation) -> None:
    """What zoe asks macro, and macro radar, radar may ask of neither; the arbiter is told once."""
    talk.say("zoe", "request", to="macro", action="Oil?")
    assert talk.say("macro", "request", ack_id="oil-b", parent="oil-v1", to="radar", action="Data?").word == "opened"
    for back in ("zoe", "macro"):
        verdict = talk.say("radar", "request", ack_id=f"oil-{back}", parent="oil-b", to=back, action="Help")
        assert verdict.row == "in-lineage", back
        assert "zoe → macro → radar" in verdict.because


def test_a_circle_under_one_id_is_refused(asked: Conversation) -> None:
    """A duty that was handed on does not come back to who had it, nor to who asked; the arbiter hears of it once."""
    asked.say("trading", "handoff", to="radar", reason="Yours", message_id="h1")
    asked.say("radar", "confirmed", in_reply_to="h1", conclusion="mine")
    for back, hear in (("trading", {"radar": "refusal", "boss": "notice"}), ("zoe", {"radar": "refusal"})):
        verdict = asked.say("radar", "handoff", to=back, reason=f"No, {back}'s")
        assert (verdict.row, told(verdict)) == ("in-lineage", hear), back
    assert asked.thread().dri == "radar"


def test_a_star_is_no_circle(talk: Conversation) -> None:
    """Co-assignees do not stand in one another's chain: macro may ask trading for help."""
    ask(talk)
    verdict = talk.say("macro", "request", ack_id="oil-b", parent="oil-v1", to="trading", action="Your book?")
    assert verdict.word == "opened"
    assert talk.say("macro", "handoff", to="trading", reason="Take my part").word == "handed-off"


def test_a_question_back_is_no_circle(asked: Conversation) -> None:
    """Clarify, answer and final are never refused for lineage."""
    assert asked.say("trading", "clarify", question="Brent or WTI?").word == "clarified"
    assert asked.say("zoe", "answer", body="Brent").word == "answered"
    assert asked.say("trading", "final", conclusion="Falls").word == "closed"


def test_a_third_agent_of_one_type_is_refused(talk: Conversation) -> None:
    """Two of a type may stand in a chain, a third may not."""
    talk.say("scout-1", "request", to="scout-2", action="Look")
    verdict = talk.say("scout-2", "request", ack_id="b", parent="oil-v1", to="scout-3", action="You look")
    assert verdict.row == "in-lineage"
    assert talk.say("scout-2", "handoff", to="scout-3", reason="You look").row == "in-lineage"
    assert talk.say("scout-2", "request", ack_id="c", parent="oil-v1", to="macro", action="Look").word == "opened"


# Depth.


def deep(talk: Conversation, hops: int) -> list[Verdict]:
    """Pass a task on, hop by hop, each in a thread of its own, by agents of different types."""
    names = ["zoe", "macro", "trading", "radar", "风控", "boss", "chief"]
    verdicts = []
    for n in range(1, hops + 1):
        parent = {"parent": f"d{n - 1}"} if n > 1 else {}
        verdicts.append(talk.say(names[n - 1], "request", ack_id=f"d{n}", to=names[n], action=f"Hop {n}", **parent))
    return verdicts


def test_the_system_counts_the_hops(talk: Conversation) -> None:
    """Five hops are taken and counted, the sixth is refused; its author alone is told."""
    verdicts = deep(talk, 6)
    assert [one.word for one in verdicts] == ["opened"] * 5 + ["refused"]
    assert [talk.thread(f"d{n}").depth for n in range(1, 6)] == [1, 2, 3, 4, 5]
    assert verdicts[5].row == "too-deep"
    assert told(verdicts[5]) == {"boss": "refusal"}
    assert "person" in verdicts[5].because


@pytest.mark.parametrize("type_", ["clarify", "handoff"])
def test_at_the_limit_only_answers_are_taken(talk: Conversation, type_: str) -> None:
    """No clarify and no handoff goes out at 5/5; confirmed, supplement, progress and final are never refused."""
    deep(talk, 5)
    words = {"question": "Which?"} if type_ == "clarify" else {"to": "chief", "reason": "Yours"}
    assert talk.say("boss", type_, ack_id="d5", **words).row == "too-deep"
    assert talk.say("boss", "confirmed", ack_id="d5", conclusion="on it").word == "confirmed"
    assert talk.say("boss", "progress", ack_id="d5", body="half").word == "progress"
    assert talk.say("boss", "supplement", ack_id="d5", body="see row 3").word == "supplement"
    assert talk.say("boss", "final", ack_id="d5", conclusion="done").word == "closed"


def test_what_an_author_writes_never_makes_it_less_deep(talk: Conversation) -> None:
    """`1/5` at the sixth hop is still the sixth hop."""
    deep(talk, 5)
    verdict = talk.say("boss", "request", ack_id="d6", parent="d5", to="chief", action="Hop", depth="1/5")
    assert verdict.row == "too-deep"


@pytest.mark.parametrize("depth", ["6/5", {"current": 6, "max": 5}, "3/2", "deep", {"current": 9, "max": 99}])
def test_a_depth_beyond_its_limit_is_refused(talk: Conversation, depth: object) -> None:
    """Over the team's limit, over its own lower one, or not to be read for certain."""
    assert ask(talk, depth=depth).row == "too-deep"


@pytest.mark.parametrize("depth", ["5/5", "1/5", {"current": 4, "max": 5}, "2/9"])
def test_a_depth_within_the_limit_is_taken(talk: Conversation, depth: object) -> None:
    """Also the last hop, and one with a maximum that is not the team's."""
    assert ask(talk, depth=depth).word == "opened"


def test_questions_count_as_hops_and_answers_do_not(asked: Conversation) -> None:
    """A clarify is one deeper than what it speaks to, its answer as deep as itself."""
    for n in range(4):
        last = {"in_reply_to": f"a{n - 1}"} if n else {}
        assert asked.say("trading", "clarify", question=f"Q{n}?", message_id=f"q{n}", **last).word == "clarified"
        assert asked.say("zoe", "answer", body=f"A{n}", message_id=f"a{n}", in_reply_to=f"q{n}").word == "answered"
    assert asked.say("trading", "clarify", question="Q4?", in_reply_to="a3").row == "too-deep"
    assert asked.say("trading", "clarify", question="Q5?").word == "clarified", "it speaks to the request itself"


def test_names_and_ids_that_break_the_rules_are_no_envelope(talk: Conversation) -> None:
    """They are refused before anything is judged."""
    for words in ({"to": ["../zoe"]}, {"ack_id": "a/b"}, {"ack_id": ""}):
        with pytest.raises(InvalidError):
            ask(talk, **words)
