"""Judging what is said on the way: confirmed, decline, clarify, answer, handoff, supplement, progress, courtesy."""

from __future__ import annotations

import pytest

from ackd.protocol.policy import MINUTE, Agent, Policy, make_roster
from ackd.testing import Conversation, told

# Confirmed.


def test_a_confirmed_with_substance_goes_to_requester_and_dri(asked: Conversation) -> None:
    """Nobody is asked to answer it."""
    verdict = asked.say("macro", "confirmed", version="v2", conclusion="Oil shock priced in")
    assert (verdict.word, told(verdict)) == ("confirmed", {"zoe": "confirmed", "trading": "confirmed"})
    thread = asked.thread()
    assert thread.phase == "request", "the thread is confirmed when its DRI has confirmed"
    assert not thread.duties["macro"].owes_confirmed
    assert [one.deliver.asks for one in asked.advance()] == [(), ()]


def test_a_bare_confirmed_counts_and_wakes_nobody(asked: Conversation) -> None:
    """Without version, effective time and conclusion nobody is told."""
    verdict = asked.say("trading", "confirmed")
    assert (verdict.row, verdict.word, verdict.told) == ("confirms-bare", "confirmed", ())
    assert asked.thread().phase == "confirmed"
    assert asked.advance() == []


def test_the_thread_is_confirmed_by_its_dri(asked: Conversation) -> None:
    """The DRI's own confirmed is told to the requester alone."""
    assert told(asked.say("trading", "confirmed", conclusion="on it")) == {"zoe": "confirmed"}
    assert asked.thread().phase == "confirmed"


def test_of_two_confirmeds_the_newer_stands(asked: Conversation) -> None:
    """Other content of the same assignee is taken and told again."""
    asked.say("macro", "confirmed", conclusion="up")
    verdict = asked.say("macro", "confirmed", conclusion="down")
    assert verdict.word == "confirmed"
    newest = asked.thread().message(asked.thread().duties["macro"].confirmed)
    assert newest is not None
    assert newest.content["conclusion"] == "down"


def test_a_confirmed_of_somebody_who_was_not_asked_is_weak(asked: Conversation) -> None:
    """It is kept as a supplement and its author learns why; the state stays."""
    verdict = asked.say("radar", "confirmed", conclusion="me too")
    assert (verdict.word, told(verdict)) == ("weak", {"radar": "notice"})
    assert "macro, trading" in verdict.because
    assert "radar" not in asked.thread().duties


@pytest.mark.parametrize("type_", ["confirmed", "clarify", "handoff", "progress"])
def test_who_was_not_asked_can_do_none_of_it(asked: Conversation, type_: str) -> None:
    """Each is weak and told to its author, with the reason."""
    words = {"confirmed": {"conclusion": "x"}, "clarify": {"question": "x?"}, "progress": {"body": "half"}}
    verdict = asked.say("radar", type_, **words.get(type_, {"to": "风控", "reason": "x"}))
    assert (verdict.row, verdict.word, told(verdict)) == ("not-an-assignee", "weak", {"radar": "notice"})


def test_a_weak_confirmed_rises_when_its_author_is_added(asked: Conversation) -> None:
    """It counts from then on, and no request is handed to somebody who owes nothing."""
    asked.say("radar", "confirmed", conclusion="me too")
    asked.advance()
    asked.say("zoe", "request", to=["macro", "trading", "radar"], dri="trading", action="Oil and gas?")
    thread = asked.thread()
    assert thread.duties["radar"].confirmed
    assert not thread.duties["radar"].owes_confirmed
    assert "request" not in [one.kind for one in asked.advance() if one.agent == "radar"]


def test_after_the_end_a_confirmed_is_late_and_silent(ended: Conversation) -> None:
    """Nobody is told."""
    verdict = ended.say("macro", "confirmed", conclusion="up")
    assert (verdict.row, verdict.word, verdict.told) == ("confirms-late", "late", ())
    assert ended.advance() == []


# Saying no.


@pytest.mark.parametrize(
    ("type_", "words"),
    [
        ("decline", {"reason": "No data"}),
        ("confirmed", {"status": "rejected", "conclusion": "No data"}),
        ("final", {"status": "rejected", "conclusion": "No data"}),
    ],
)
def test_an_assignee_declines_in_three_ways(asked: Conversation, type_: str, words: dict[str, str]) -> None:
    """It owes nothing more; the requester is told; the thread goes on."""
    verdict = asked.say("macro", type_, **words)
    assert (verdict.word, told(verdict)) == ("declined", {"zoe": "declined"})
    thread = asked.thread()
    assert thread.duties["macro"].declined
    assert not thread.duties["macro"].owes_confirmed
    assert thread.phase == "request"
    asked.advance()
    assert [one.agent for one in asked.advance(5 * MINUTE)] == ["trading"], "macro is not reminded"


def test_the_dris_decline_escalates_at_once(asked: Conversation) -> None:
    """The first arbiter hears in the same moment, the requester too."""
    verdict = asked.say("trading", "decline", reason="On leave")
    assert told(verdict) == {"zoe": "declined"}
    made = asked.advance()
    assert {(one.agent, one.kind) for one in made} == {("zoe", "declined"), ("boss", "escalation")}
    about = next(one.deliver.about for one in made if one.kind == "escalation")
    assert [(one.agent, one.owes) for one in about] == [("trading", "declined")]


def test_a_confirmed_takes_a_decline_back(asked: Conversation) -> None:
    """The duty is confirmed, and what was escalated is over."""
    asked.say("trading", "decline", reason="On leave")
    asked.advance()
    asked.say("trading", "confirmed", conclusion="I'll do it after all")
    duty = asked.thread().duties["trading"]
    assert duty.confirmed
    assert not duty.declined
    asked.advance()
    assert asked.inbox("boss") == ()


def test_a_rejected_final_of_the_dri_closes(asked: Conversation) -> None:
    """The DRI's is a final with a status of its own, no decline."""
    assert asked.say("trading", "final", status="rejected", conclusion="Can't be known").word == "closed"


def test_a_decline_of_somebody_who_was_not_asked_changes_nothing(asked: Conversation) -> None:
    """It is kept and its author told what was expected."""
    verdict = asked.say("radar", "decline", reason="No")
    assert (verdict.row, told(verdict)) == ("anything-else", {"radar": "notice"})
    assert "only those who were asked decline" in verdict.because


# Questions.


def test_a_clarify_goes_to_the_requester(asked: Conversation) -> None:
    """The requester is asked for an answer."""
    verdict = asked.say("macro", "clarify", question="Which week?")
    assert (verdict.word, told(verdict)) == ("clarified", {"zoe": "question"})
    assert [one.deliver.asks for one in asked.advance()] == [("answer",)]


@pytest.mark.parametrize("by", ["zoe", "trading"])
def test_requester_or_dri_answers(asked: Conversation, by: str) -> None:
    """Who asked is told; the question is closed."""
    asked.say("macro", "clarify", question="Which week?", message_id="q1")
    verdict = asked.say(by, "answer", body="Next", in_reply_to="q1")
    assert (verdict.word, told(verdict)) == ("answered", {"macro": "answer"})
    assert asked.thread().open_questions == ()


def test_an_answer_answers_the_question_that_it_names_else_all_open_ones(asked: Conversation) -> None:
    """One by name leaves the others open; one without a name closes them all."""
    for n, who in enumerate(("macro", "trading", "macro")):
        asked.say(who, "clarify", question=f"Q{n}?", message_id=f"q{n}")
    assert told(asked.say("zoe", "answer", body="One", in_reply_to="q1")) == {"trading": "answer"}
    assert [one.identity for one in asked.thread().open_questions] == ["q0", "q2"]
    assert told(asked.say("zoe", "answer", body="The rest")) == {"macro": "answer"}
    assert asked.thread().open_questions == ()


def test_an_untyped_ok_answers_a_question(asked: Conversation) -> None:
    """With a question open, the requester's bare `OK` is its answer and no courtesy."""
    asked.say("macro", "clarify", question="Next week, right?")
    verdict = asked.say("zoe", "", body="OK")
    assert (verdict.word, told(verdict)) == ("answered", {"macro": "answer"})


def test_without_a_question_ok_is_courtesy(asked: Conversation) -> None:
    """The same word means nothing then."""
    verdict = asked.say("zoe", "", body="OK")
    assert (verdict.word, verdict.told) == ("no-reply", ())


def test_an_answer_without_a_question_is_weak(asked: Conversation) -> None:
    """It is a supplement for the DRI."""
    verdict = asked.say("zoe", "answer", body="Take Brent")
    assert (verdict.word, told(verdict)) == ("weak", {"trading": "supplement"})


def test_who_asked_does_not_answer_itself(asked: Conversation) -> None:
    """The DRI's remark on its own question is no answer to it."""
    asked.say("trading", "clarify", question="Which week?")
    assert asked.say("trading", "answer", body="I guess the next").word == "weak"
    assert len(asked.thread().open_questions) == 1


def test_a_question_that_timed_out_is_still_answered(asked: Conversation) -> None:
    """An answer after ten minutes counts."""
    asked.say("macro", "clarify", question="Which week?")
    asked.advance(11 * MINUTE)
    assert asked.thread().questions[0].timed_out
    assert asked.say("zoe", "answer", body="Next").word == "answered"


def test_an_answer_that_came_before_its_question_rises_if_it_names_it(asked: Conversation) -> None:
    """A weak answer is judged again when the question arrives."""
    asked.say("zoe", "answer", body="Next week", in_reply_to="q9", message_id="a9")
    asked.say("zoe", "answer", body="Take Brent")
    asked.say("macro", "clarify", question="Which week?", message_id="q9")
    words = {one.content.get("body"): one.verdict for one in asked.thread().messages if one.type == "answer"}
    assert words == {"Next week": "answered", "Take Brent": "weak"}


# Handoffs.


def test_the_old_owner_stays_responsible_until_the_new_one_confirms(asked: Conversation) -> None:
    """The DRI moves with the acceptance, which raises its epoch; old owner and requester are told."""
    verdict = asked.say("trading", "handoff", to="radar", reason="On leave", message_id="h1")
    assert (verdict.word, told(verdict)) == ("handed-off", {"radar": "handoff"})
    assert (asked.thread().dri, asked.thread().dri_epoch) == ("trading", 0)
    assert [one.deliver.asks for one in asked.advance()] == [("accept",)]
    accepted = asked.say("radar", "confirmed", in_reply_to="h1")
    assert (accepted.word, told(accepted)) == ("accepted", {"trading": "accepted", "zoe": "accepted"})
    thread = asked.thread()
    assert (thread.dri, thread.dri_epoch, thread.phase) == ("radar", 1, "confirmed")
    assert thread.duties["trading"].handed_to == "radar"
    assert asked.say("trading", "final", conclusion="Mine").word == "weak"
    assert asked.say("radar", "final", conclusion="Falls").word == "closed"


def test_a_target_that_had_confirmed_its_own_part_accepts(asked: Conversation) -> None:
    """Its second confirmed is the acceptance, with or without naming the handoff."""
    asked.say("macro", "confirmed", conclusion="up")
    asked.say("trading", "handoff", to="macro", reason="On leave")
    assert asked.say("macro", "confirmed", conclusion="I take it").word == "accepted"
    assert asked.thread().dri == "macro"


def test_a_handoff_of_another_assignee_moves_its_own_duty(asked: Conversation) -> None:
    """The DRI stays; the target owes nothing but what it took over and has confirmed."""
    asked.say("macro", "handoff", to="radar", reason="Yours")
    asked.say("radar", "confirmed", conclusion="mine")
    thread = asked.thread()
    assert (thread.dri, thread.dri_epoch) == ("trading", 0)
    assert thread.duties["macro"].handed_to == "radar"
    assert not thread.duties["radar"].owes_confirmed
    asked.advance()
    assert [one.agent for one in asked.advance(5 * MINUTE)] == ["trading"]


def test_a_second_handoff_replaces_the_pending_one(asked: Conversation) -> None:
    """The first target can no longer accept, and its file goes."""
    asked.say("trading", "handoff", to="radar", reason="On leave")
    asked.advance()
    assert len(asked.inbox("radar")) == 1
    asked.say("trading", "handoff", to="风控", reason="Radar is away too")
    asked.advance()
    assert asked.inbox("radar") == ()
    assert asked.say("radar", "confirmed", conclusion="mine").word == "weak"
    assert asked.say("风控", "confirmed", conclusion="我来").word == "accepted"
    assert asked.thread().dri == "风控"


def test_the_targets_decline_ends_the_handoff(asked: Conversation) -> None:
    """The old owner keeps its duty; the requester is told; nothing escalates."""
    asked.say("trading", "handoff", to="radar", reason="On leave", message_id="h1")
    verdict = asked.say("radar", "decline", reason="No", in_reply_to="h1")
    assert (verdict.word, told(verdict)) == ("declined", {"zoe": "declined"})
    thread = asked.thread()
    assert (thread.dri, thread.handoffs[0].outcome) == ("trading", "declined")
    assert "escalation" not in [one.kind for one in asked.advance()]
    assert asked.say("radar", "confirmed", conclusion="after all").word == "weak"


@pytest.mark.parametrize("to", [["radar", "风控"], ["desk"], ["ghost"], []], ids=["two", "group", "unknown", "nobody"])
def test_a_handoff_goes_to_exactly_one_agent(asked: Conversation, to: list[str]) -> None:
    """Anything else is refused and its author told."""
    verdict = asked.say("trading", "handoff", to=to, reason="On leave")
    assert (verdict.row, told(verdict)) == ("nobody", {"trading": "refusal"})


def test_a_partial_handoff_opens_a_thread_of_its_own(asked: Conversation) -> None:
    """Its owner is the requester there, its target the DRI; the DRI of the parent stays."""
    verdict = asked.say("trading", "handoff", to="radar", reason="The data part", partial=True)
    assert (verdict.word, verdict.told) == ("handed-off", ())
    child = asked.thread("oil-v1.1")
    assert (child.requester, child.dri, child.parent, child.phase) == ("trading", "radar", "oil-v1", "request")
    assert (child.chain, child.depth) == (("zoe", "trading"), 2)
    assert (asked.thread().dri, asked.thread().children) == ("trading", ("oil-v1.1",))
    made = asked.advance()
    assert [(one.agent, one.kind, one.deliver.asks) for one in made] == [("radar", "handoff", ("confirm", "final"))]
    assert asked.say("radar", "final", ack_id="oil-v1.1", conclusion="Data").word == "closed"
    assert [(one.agent, one.kind) for one in asked.advance()] == [("trading", "final")]
    assert asked.thread().phase == "request"


def test_partial_handoffs_are_numbered_past_ids_that_are_taken(asked: Conversation) -> None:
    """`oil-v1.1` may have been asked by hand."""
    asked.say("macro", "request", ack_id="oil-v1.1", to="风控", action="Own question")
    verdict = asked.say("trading", "handoff", to="radar", reason="The data part", partial=True)
    assert verdict.child is not None
    assert verdict.child.thread == "oil-v1.2"
    again = asked.say("trading", "handoff", to="风控", reason="The risk part", partial=True)
    assert again.child is not None
    assert again.child.thread == "oil-v1.3"


def test_the_child_of_a_thread_with_a_suffix_can_be_named(asked: Conversation) -> None:
    """Its id keeps the suffix at the end, where the grammar of ids has it."""
    own = asked.say("radar", "request", to=["风控"], action="Something else").thread
    verdict = asked.say("风控", "handoff", ack_id=own, to="macro", reason="The data part", partial=True)
    assert verdict.child is not None
    assert verdict.child.thread == f"oil-v1.1{own[-5:]}"
    assert asked.say("macro", "final", ack_id=verdict.child.thread, conclusion="Data").word == "closed"


# Supplements, progress, courtesy.


def test_a_supplement_goes_to_the_dri_and_settles_an_assignees_confirmed(asked: Conversation) -> None:
    """Who adds something of substance has shown that it is at work."""
    verdict = asked.say("macro", "supplement", body="OPEC meets on Tuesday")
    assert (verdict.word, told(verdict)) == ("supplement", {"trading": "supplement"})
    assert not asked.thread().duties["macro"].owes_confirmed


def test_anybody_on_the_roster_may_add_something(asked: Conversation) -> None:
    """It reaches the DRI and settles nothing."""
    assert told(asked.say("radar", "", body="OPEC meets on Tuesday")) == {"trading": "supplement"}


def test_the_dris_own_supplement_wakes_nobody(asked: Conversation) -> None:
    """Nobody is told what he wrote himself."""
    assert asked.say("trading", "supplement", body="OPEC meets on Tuesday").told == ()


def test_shou_dao_with_something_behind_it_accepts(asked: Conversation) -> None:
    """`收到，马上开始` is no courtesy: it settles the confirmed."""
    verdict = asked.say("macro", "", body="收到，马上开始")
    assert verdict.word == "supplement"
    assert not asked.thread().duties["macro"].owes_confirmed


@pytest.mark.parametrize("text", ["收到", "收到，谢谢！", "OK", "Thanks, got it 👍", "@zoe 好的"])
def test_courtesy_before_the_end_wakes_nobody_and_settles_nothing(asked: Conversation, text: str) -> None:
    """It is no sign of life either: the reminder still comes."""
    verdict = asked.say("macro", "", body=text)
    assert (verdict.word, verdict.told) == ("no-reply", ())
    assert asked.thread().duties["macro"].owes_confirmed
    assert "macro" not in asked.thread().signs
    assert "macro" in [one.agent for one in asked.advance(5 * MINUTE)]


def test_a_confirmed_that_says_only_shou_dao_still_confirms(asked: Conversation) -> None:
    """Who was asked for a confirmed and sends one has confirmed, however politely."""
    assert asked.say("macro", "confirmed", conclusion="收到").word == "confirmed"


def test_courtesy_with_data_is_substance(asked: Conversation) -> None:
    """Thanks beside figures reach the DRI."""
    assert asked.say("macro", "supplement", body="Thanks!", data={"brent": 71}).word == "supplement"


def test_progress_wakes_nobody(asked: Conversation) -> None:
    """It is a sign of life and no confirmed."""
    verdict = asked.say("macro", "progress", body="Half of it")
    assert (verdict.word, verdict.told) == ("progress", ())
    assert "macro" in asked.thread().signs
    assert asked.thread().duties["macro"].owes_confirmed


def test_the_asked_arbiters_words_are_progress_for_the_ladder(asked: Conversation) -> None:
    """Before it was asked its supplement is one; afterwards nobody is woken by it."""
    assert asked.say("boss", "supplement", body="Mind the strike").word == "supplement"
    asked.advance(10 * MINUTE)
    verdict = asked.say("boss", "supplement", body="I'm calling them")
    assert (verdict.row, verdict.word, verdict.told) == ("arbiter-speaks", "progress", ())


def test_a_type_that_changes_nothing_is_kept(asked: Conversation) -> None:
    """Its author hears once what was expected."""
    verdict = asked.say("macro", "amend", body="Better so", supersedes="nothing-known")
    assert (verdict.word, told(verdict)) == ("kept", {"macro": "notice"})
    assert "supersedes" in verdict.because


# What is said again.


def test_a_restated_confirmed_is_silent(asked: Conversation) -> None:
    """The second copy, in another file, changes nothing."""
    asked.say("macro", "confirmed", conclusion="up")
    asked.advance()
    verdict = asked.say("macro", "confirmed", conclusion="up", message_id="copy")
    assert (verdict.word, verdict.told) == ("duplicate", ())
    assert asked.advance() == []


def test_a_restated_answer_says_how_it_would_count(asked: Conversation) -> None:
    """Where a question waits for exactly such words, their author is told once to name it."""
    asked.say("macro", "clarify", question="Next week?", message_id="q1")
    asked.say("zoe", "answer", body="Yes, next week")
    asked.say("trading", "clarify", question="For all desks?", message_id="q2")
    asked.advance()
    verdict = asked.say("zoe", "answer", body="Yes, next week")
    assert (verdict.word, told(verdict)) == ("duplicate", {"zoe": "notice"})
    assert '"in_reply_to": "q2"' in verdict.because
    assert [(one.agent, one.kind) for one in asked.advance()] == [("zoe", "notice")]
    asked.say("zoe", "answer", body="Yes, next week")
    assert asked.advance() == [], "once"
    assert asked.say("zoe", "answer", body="Yes, next week", in_reply_to="q2").word == "answered"


def test_a_restated_confirmed_says_how_a_handoff_would_be_accepted(asked: Conversation) -> None:
    """The same words as before do not accept by themselves."""
    asked.say("macro", "confirmed", version="v1")
    asked.say("trading", "handoff", to="macro", reason="On leave", message_id="h1")
    verdict = asked.say("macro", "confirmed", version="v1")
    assert (verdict.word, told(verdict)) == ("duplicate", {"macro": "notice"})
    assert asked.say("macro", "confirmed", version="v1", in_reply_to="h1").word == "accepted"


def test_a_message_id_belongs_to_one_content(asked: Conversation) -> None:
    """Another text under a known message_id is a collision, shown to its author; it has no effect."""
    asked.say("macro", "progress", body="Half", message_id="m1")
    verdict = asked.say("trading", "confirmed", conclusion="on it", message_id="m1")
    assert (verdict.word, told(verdict)) == ("collision", {"trading": "collision"})
    assert asked.thread().duties["trading"].owes_confirmed


def test_a_conflict_copy_never_revises(asked: Conversation) -> None:
    """It is kept and shown; the DRI and a person are told once."""
    first = "roundtable/oil-v1/confirmed-macro.json"
    asked.say("macro", "confirmed", conclusion="up", path=first)
    document = {"state": "confirmed", "ack_id": "oil-v1", "from": "macro", "conclusion": "down"}
    verdict = asked.drop(document, path=first.replace(".json", ".sync-conflict-1.json"), conflict_of=first)
    assert (verdict.word, told(verdict)) == ("kept", {"trading": "notice", "li": "notice"})
    assert first in verdict.because
    newest = asked.thread().message(asked.thread().duties["macro"].confirmed)
    assert newest is not None
    assert newest.content["conclusion"] == "up"


# Corrections of one's own words.


@pytest.mark.parametrize("how", ["edit", "supersedes", "amend"])
def test_an_author_corrects_its_own_message(asked: Conversation, how: str) -> None:
    """By an edit of the file, by `supersedes`, or by an amend: both texts are kept, who got the first hears once."""
    path = "roundtable/oil-v1/c.json"
    asked.say("macro", "confirmed", conclusion="up", message_id="c1", path=path)
    asked.advance()
    if how == "edit":
        verdict = asked.say("macro", "confirmed", conclusion="down", message_id="c1", path=path)
    elif how == "supersedes":
        verdict = asked.say("macro", "confirmed", conclusion="down", supersedes="c1")
    else:
        verdict = asked.say("macro", "amend", conclusion="down", supersedes="c1")
    assert (verdict.word, told(verdict)) == ("revision", {"zoe": "revision", "trading": "revision"})
    thread = asked.thread()
    first = thread.named("c1")
    assert first is not None
    newest = thread.text_in_force(first.digest)
    assert newest is not None
    assert newest.content["conclusion"] == "down"
    assert {one.content.get("conclusion") for one in thread.messages} >= {"up", "down"}
    assert thread.duties["macro"].confirmed
    assert [one.kind for one in asked.advance()] == ["revision", "revision"]
    assert asked.advance() == []


def test_nobody_corrects_what_another_wrote(asked: Conversation) -> None:
    """An amend of somebody else's message changes nothing."""
    asked.say("macro", "confirmed", conclusion="up", message_id="c1")
    assert asked.say("trading", "amend", conclusion="down", supersedes="c1").word == "kept"


def test_an_edit_back_to_a_known_text_is_a_restatement(asked: Conversation) -> None:
    """Content that is known is never news."""
    path = "roundtable/oil-v1/c.json"
    asked.say("macro", "confirmed", conclusion="up", path=path)
    asked.say("macro", "confirmed", conclusion="down", path=path)
    assert asked.say("macro", "confirmed", conclusion="up", path=path).word == "duplicate"


def test_an_edit_that_turns_a_yes_into_a_no_is_a_decline(asked: Conversation) -> None:
    """A confirmed that is edited to `rejected` declines."""
    path = "roundtable/oil-v1/c.json"
    asked.say("macro", "confirmed", conclusion="up", path=path)
    verdict = asked.say("macro", "confirmed", status="rejected", conclusion="no data", path=path)
    assert verdict.word == "declined"
    assert asked.thread().duties["macro"].declined


def test_an_amend_of_the_request_keeps_its_deadline_or_sets_a_new_one(talk: Conversation) -> None:
    """Only an amend that names a deadline moves it."""
    talk.say("zoe", "request", to="macro", action="Oil?", deadline="2h", message_id="r1")
    due = talk.clock() + 120 * MINUTE
    assert talk.say("zoe", "amend", body="Brent, I mean", supersedes="r1").word == "revision"
    assert talk.thread().deadline_ms == due
    assert talk.say("zoe", "amend", body="Later is fine", deadline="3h", supersedes="r1").word == "revision"
    assert talk.thread().deadline_ms == due + 60 * MINUTE


def test_replies_before_the_request_are_held_and_wake_nobody(talk: Conversation) -> None:
    """They are judged when the request comes, before anything is owed."""
    for words in ({"type_": "confirmed", "version": "v1"}, {"type_": "supplement", "body": "See row 3"}):
        verdict = talk.say("macro", **words)
        assert (verdict.word, verdict.told) == ("held", ())
    assert talk.advance() == []
    talk.say("zoe", "request", to=["macro", "trading"], dri="trading", action="Oil?")
    assert [one.verdict for one in talk.thread().messages if one.sender == "macro"] == ["confirmed", "supplement"]
    assert "macro" not in [one.agent for one in talk.advance() if one.kind == "request"]


def test_any_number_of_held_replies_is_judged_when_the_request_comes(talk: Conversation) -> None:
    """Thirty of them rise together."""
    for n in range(30):
        talk.say("macro", "progress", body=f"Step {n}")
    talk.say("zoe", "request", to="macro", action="Oil?")
    assert {one.verdict for one in talk.thread().messages if one.type == "progress"} == {"progress"}


def test_a_held_courtesy_stays_silent(talk: Conversation) -> None:
    """When the request comes it is what it always was."""
    talk.say("macro", "", body="收到")
    talk.say("zoe", "request", to="macro", action="Oil?")
    assert [one.verdict for one in talk.thread().messages if one.sender == "macro"] == ["no-reply"]
    assert talk.thread().duties["macro"].owes_confirmed


# Which thread is meant.


def test_with_two_threads_of_one_id_a_reply_goes_where_its_author_has_a_role(asked: Conversation) -> None:
    """Else where its `in_reply_to` points, else it is held and its author is asked."""
    own = asked.say("radar", "request", to=["风控", "macro"], message_id="r2", action="Something else").thread
    assert asked.say("风控", "confirmed", conclusion="好").thread == own
    assert asked.say("trading", "confirmed", conclusion="on it").thread == "oil-v1"
    assert asked.say("macro", "confirmed", conclusion="x", in_reply_to="r2").thread == own
    assert asked.say("macro", "confirmed", conclusion="y", ack_id=own).thread == own
    verdict = asked.say("macro", "confirmed", conclusion="z")
    assert (verdict.word, verdict.row, told(verdict)) == ("held", "which-thread", {"macro": "notice"})
    assert own in verdict.because


def test_what_is_held_for_its_author_to_say_stays_held(asked: Conversation) -> None:
    """A thread that grows does not tell which one was meant."""
    asked.say("radar", "request", to=["风控", "macro"], action="Something else")
    asked.say("macro", "confirmed", conclusion="z")
    asked.say("trading", "confirmed", conclusion="on it")
    assert asked.thread().duties["macro"].owes_confirmed
    assert [one.verdict for one in asked.thread().messages if one.sender == "macro"] == ["held"]


def test_a_bare_confirmed_that_came_before_its_handoff_rises(asked: Conversation) -> None:
    """Though it says nothing in words it is no courtesy: it accepts when the handoff comes in."""
    verdict = asked.say("radar", "confirmed", in_reply_to="h1")
    assert (verdict.word, told(verdict)) == ("weak", {"radar": "notice"})
    asked.say("trading", "handoff", to="radar", reason="On leave", message_id="h1")
    assert (asked.thread().dri, asked.thread().dri_epoch) == ("radar", 1)


def test_what_was_held_may_be_refused_when_its_request_comes(talk: Conversation) -> None:
    """It is refused once and for all, and its author is told once."""
    talk.say("macro", "handoff", to="zoe", reason="Back to you")
    talk.say("zoe", "request", to="macro", action="Oil?")
    assert [one.row for one in talk.thread().messages if one.type == "handoff"] == ["in-lineage"]
    made = talk.advance()
    assert sorted((one.agent, one.kind) for one in made if one.agent == "macro") == [
        ("macro", "refusal"),
        ("macro", "request"),
    ]


def test_a_strangers_reply_is_held_once_the_roster_has_it(talk: Conversation, policy: Policy) -> None:
    """Refused as a stranger's it waits like any other's after its author was added, and counts when it may."""
    assert talk.say("ghost", "confirmed").word == "refused"
    members = [*policy.roster.members.values(), Agent(name="ghost")]
    talk.policy = Policy(roster=make_roster(members, arbiters=policy.roster.arbiters))
    assert talk.say("ghost", "confirmed").word == "held"
    talk.say("zoe", "request", to="ghost", action="Oil?")
    assert talk.thread().duties["ghost"].confirmed
