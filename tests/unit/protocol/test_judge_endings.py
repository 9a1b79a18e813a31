"""Judging what ends a thread and what comes after: finals, cancels, rulings, broadcasts, late remarks."""

from __future__ import annotations

from typing import Any

import pytest

from ackd.protocol.policy import MINUTE, Policy
from ackd.testing import Conversation, told

# The final.


@pytest.mark.parametrize("status", ["", "success", "partial_success", "failed", "rejected", "cancelled"])
def test_the_dris_final_closes(asked: Conversation, status: str) -> None:
    """Requester and every assignee are told, no answer is asked; no confirmed is needed before."""
    words = {"status": status} if status else {}
    verdict = asked.say("trading", "final", conclusion="It falls", **words)
    assert (verdict.word, told(verdict)) == ("closed", {"zoe": "final", "macro": "final"})
    thread = asked.thread()
    assert (thread.phase, thread.ended_by, thread.ended) == ("final", "final", True)
    assert thread.final
    assert {one.deliver.asks for one in asked.advance()} == {()}
    assert asked.advance(600 * MINUTE) == []


def test_a_final_of_somebody_else_is_weak(asked: Conversation) -> None:
    """It does not close; its author learns why, the DRI gets it as a supplement."""
    verdict = asked.say("macro", "final", conclusion="It rises")
    assert (verdict.word, told(verdict)) == ("weak", {"macro": "notice", "trading": "supplement"})
    assert "trading is the DRI" in verdict.because
    assert asked.thread().phase == "request"
    assert asked.thread().final == ""


def test_it_rises_when_the_handoff_that_made_its_author_dri_comes_in_later(asked: Conversation) -> None:
    """The final arrives first, then the handoff and the acceptance that make it the DRI's."""
    asked.say("radar", "final", conclusion="It rises")
    asked.say("radar", "confirmed", conclusion="mine", in_reply_to="h1")
    assert asked.thread().phase == "request"
    asked.say("trading", "handoff", to="radar", reason="On leave", message_id="h1")
    thread = asked.thread()
    assert (thread.dri, thread.dri_epoch, thread.phase, thread.ended_by) == ("radar", 1, "final", "final")
    final = thread.message(thread.final)
    assert final is not None
    assert final.sender == "radar"
    assert {(one.agent, one.kind) for one in asked.advance()} >= {("zoe", "final"), ("macro", "final")}


def test_after_a_ruling_the_new_dri_is_asked_whether_its_earlier_final_stands(asked: Conversation) -> None:
    """What it wrote while it was not the DRI does not close by itself."""
    asked.say("macro", "final", conclusion="It rises", message_id="early")
    verdict = asked.say("boss", "ruling", ruling="dri", dri="macro")
    assert any("early" in note for note in verdict.notes)
    thread = asked.thread()
    assert (thread.dri, thread.phase, thread.final) == ("macro", "request", "")
    assert asked.say("macro", "final", conclusion="It rises", in_reply_to="early").word == "closed"


def test_a_second_final_of_the_dri_is_flagged(ended: Conversation) -> None:
    """The first stays in force; the DRI alone is asked once whether it is to be replaced."""
    verdict = ended.say("trading", "final", conclusion="It rises")
    assert (verdict.word, told(verdict)) == ("flagged", {"trading": "notice"})
    assert '"supersedes": "final-1"' in verdict.because
    final = ended.thread().message(ended.thread().final)
    assert final is not None
    assert final.content["conclusion"] == "It falls"
    assert len(ended.thread().finals) == 2
    assert [(one.agent, one.kind) for one in ended.advance()] == [("trading", "notice")]
    assert ended.advance(60 * MINUTE) == []


def test_a_final_of_somebody_else_after_the_end_is_late(ended: Conversation) -> None:
    """It goes to the DRI once."""
    verdict = ended.say("macro", "final", conclusion="It rises")
    assert (verdict.word, told(verdict)) == ("late", {"trading": "late"})


@pytest.mark.parametrize("how", ["edit", "supersedes", "amend"])
def test_the_finals_author_amends_it_after_the_end(asked: Conversation, how: str) -> None:
    """Whoever got the first and its author are told once; the thread stays ended, both texts are kept."""
    path = "roundtable/oil-v1/final-trading.json"
    asked.say("trading", "final", conclusion="It falls", message_id="final-1", path=path)
    asked.advance()
    words = {"edit": {"path": path}, "supersedes": {"supersedes": "final-1"}, "amend": {"supersedes": "final-1"}}[how]
    verdict = asked.say("trading", "amend" if how == "amend" else "final", conclusion="It falls by 3 %", **words)
    assert (verdict.row, verdict.word) == ("revises-final", "revision")
    assert told(verdict) == {"zoe": "revision", "macro": "revision", "trading": "revision"}
    thread = asked.thread()
    assert thread.phase == "final"
    newest = thread.text_in_force(thread.final)
    assert newest is not None
    assert newest.content["conclusion"] == "It falls by 3 %"
    made = asked.advance()
    assert sorted((one.agent, one.kind) for one in made) == [(n, "revision") for n in ("macro", "trading", "zoe")]
    assert {one.deliver.asks for one in made} == {()}
    assert asked.advance(60 * MINUTE) == []


def test_a_second_amendment_reaches_who_got_the_first(ended: Conversation) -> None:
    """A chain of amendments is followed from either end."""
    ended.say("trading", "amend", conclusion="By 3 %", supersedes="final-1", message_id="final-2")
    ended.advance()
    verdict = ended.say("trading", "amend", conclusion="By 4 %", supersedes="final-2")
    assert told(verdict) == {"zoe": "revision", "macro": "revision", "trading": "revision"}
    newest = ended.thread().text_in_force(ended.thread().final)
    assert newest is not None
    assert newest.content["conclusion"] == "By 4 %"


def test_without_trust_an_edit_of_a_final_needs_proof(asked: Conversation, policy: Policy) -> None:
    """The changed file is kept and its author told; an amend with `supersedes` still counts."""
    path = "roundtable/oil-v1/final-trading.json"
    asked.policy = Policy(roster=policy.roster, trust_edits=False)
    asked.say("trading", "final", conclusion="It falls", message_id="final-1", path=path)
    verdict = asked.say("trading", "final", conclusion="It rises", path=path)
    assert (verdict.row, verdict.word, told(verdict)) == ("edit-unproven", "kept", {"trading": "notice"})
    assert asked.say("trading", "amend", conclusion="By 3 %", supersedes="final-1").word == "revision"


def test_nobody_else_amends_the_final(ended: Conversation) -> None:
    """Another's amend is a late remark."""
    assert ended.say("macro", "amend", conclusion="It rises", supersedes="final-1").word == "late"


# After the end.


@pytest.mark.parametrize("text", ["收到", "感谢！", "OK", "thanks, all 👍", "NO_REPLY"])
def test_courtesy_after_the_end_wakes_nobody(ended: Conversation, text: str) -> None:
    """Silence after the end."""
    verdict = ended.say("macro", "", body=text)
    assert (verdict.word, verdict.told) == ("no-reply", ())
    assert ended.advance() == []


@pytest.mark.parametrize(
    "words",
    [
        {"type_": "confirmed", "conclusion": ""},
        {"type_": "final", "conclusion": "收到，谢谢"},
        {"type_": "clarify", "question": "辛苦了"},
        {"type_": "decline", "reason": "Thanks, noted"},
    ],
    ids=lambda words: str(words["type_"]),
)
def test_thanks_under_any_type_wake_nobody_after_the_end(ended: Conversation, words: dict[str, Any]) -> None:
    """What the type would have done is over; what is left says nothing."""
    verdict = ended.say("macro", **words)
    assert (verdict.word, verdict.told) == ("no-reply", ())


@pytest.mark.parametrize("text", ["收到，谢谢", "OK", "Got it, thanks!"])
def test_thanks_are_no_final(asked: Conversation, text: str) -> None:
    """A final says a result: a DRI that only said it had heard is told so, and the thread goes on."""
    verdict = asked.say("trading", "final", conclusion=text)
    assert (verdict.word, verdict.row, told(verdict)) == ("refused", "no-result", {"trading": "refusal"})
    assert asked.thread().phase != "final"
    assert asked.say("trading", "final", conclusion=text, body="Oil falls by 3 %").word == "closed"


def test_data_is_a_result(asked: Conversation) -> None:
    """A final whose words are thin but that carries data closes."""
    assert asked.say("trading", "final", conclusion="OK", data={"oil": -0.03}).word == "closed"


@pytest.mark.parametrize(
    ("type_", "words"),
    [
        ("supplement", {"body": "Row 3 is wrong"}),
        ("", {"body": "Row 3 is wrong"}),
        ("clarify", {"question": "Which row?"}),
        ("answer", {"body": "Row 3"}),
        ("handoff", {"to": "radar", "reason": "Yours"}),
        ("progress", {"body": "Half of it"}),
        ("decline", {"reason": "No data"}),
        ("cancel", {"reason": "Stop"}),
        ("vote", {"body": "Yes, row 3"}),
    ],
)
def test_substance_after_the_end_reaches_its_addressee_once(
    ended: Conversation, type_: str, words: dict[str, str]
) -> None:
    """Late, no answer asked, pointed to a new ack_id; the thread stays ended."""
    verdict = ended.say("macro", type_, **words)
    assert (verdict.word, verdict.row) == ("late", "after-the-end")
    assert told(verdict) == {"radar" if type_ == "handoff" else "trading": "late"}
    assert "new ack_id" in verdict.because
    made = ended.advance()
    assert [(one.kind, one.deliver.asks) for one in made] == [("late", ())]
    assert ended.advance(60 * MINUTE) == []
    assert ended.thread().phase == "final"


def test_a_late_remark_with_an_addressee_goes_there_alone(ended: Conversation) -> None:
    """Else the DRI would hear it; groups leave out the author."""
    assert told(ended.say("macro", "", to=["zoe"], body="Row 3 is wrong")) == {"zoe": "late"}
    assert told(ended.say("macro", "", to=["desk"], body="Row 4 is wrong")) == {"trading": "late"}


# Cancel.


def test_a_cancel_of_the_requester_stops_reminders_and_waits_for_the_dri(asked: Conversation) -> None:
    """The assignees are told; ten minutes later the thread ends as cancelled, without a final."""
    verdict = asked.say("zoe", "cancel")
    assert (verdict.word, told(verdict)) == ("cancelling", {"macro": "cancelling", "trading": "cancelling"})
    assert asked.thread().cancelling is not None
    assert {one.kind for one in asked.advance()} == {"cancelling"}
    assert asked.advance(10 * MINUTE - 1) == []
    assert asked.thread().phase == "request"
    asked.advance(1)
    thread = asked.thread()
    assert (thread.phase, thread.ended_by, thread.final) == ("final", "cancel", "")


def test_a_final_of_the_dri_closes_a_thread_that_is_being_cancelled(asked: Conversation) -> None:
    """With its own status."""
    asked.say("zoe", "cancel")
    assert asked.say("trading", "final", status="partial_success", conclusion="Half done").word == "closed"
    assert asked.thread().ended_by == "final"


def test_the_dris_confirmed_ends_a_cancel_at_once(asked: Conversation) -> None:
    """Another assignee's does not."""
    asked.say("zoe", "cancel")
    asked.say("macro", "confirmed", version="v1")
    assert not asked.thread().ended
    asked.say("trading", "confirmed", version="v1")
    assert (asked.thread().ended_by, asked.thread().phase) == ("cancel", "final")


def test_a_requester_who_is_dri_cancels_at_once(talk: Conversation) -> None:
    """Who was asked is told once."""
    talk.say("zoe", "request", to="macro", dri="zoe", action="Figures?")
    talk.advance()
    talk.say("zoe", "cancel")
    assert talk.thread().ended_by == "cancel"
    assert [(one.agent, one.kind) for one in talk.advance()] == [("macro", "cancelling")]
    assert talk.inbox("macro") != ()


def test_a_cancel_of_what_was_not_handed_over_wakes_nobody(talk: Conversation) -> None:
    """Neither the request nor its cancel goes out, whoever the DRI is."""
    for ack_id, dri in (("a", "zoe"), ("b", "macro")):
        talk.say("zoe", "request", ack_id=ack_id, to="macro", dri=dri, action=f"Figures {ack_id}?")
        talk.say("zoe", "cancel", ack_id=ack_id)
    assert talk.advance() == []


def test_a_person_cancels_and_nobody_else(asked: Conversation) -> None:
    """A co-assignee's or an arbiter's cancel changes nothing and is told to its author."""
    for sender in ("macro", "boss"):
        verdict = asked.say(sender, "cancel")
        assert (verdict.word, told(verdict)) == ("kept", {sender: "notice"})
    assert asked.say("li", "cancel").word == "cancelling"


# Rulings.


def test_a_ruling_reassigns_the_dri(asked: Conversation) -> None:
    """Old and new DRI and the requester are told; the new one owes confirmed and final from its delivery."""
    asked.say("trading", "confirmed", version="v1")
    verdict = asked.say("boss", "ruling", ruling="dri", dri="radar")
    assert (verdict.word, told(verdict)) == ("ruled", {"trading": "ruling", "radar": "ruling", "zoe": "ruling"})
    thread = asked.thread()
    assert (thread.dri, thread.dri_epoch, thread.dri_by_ruling) == ("radar", 1, True)
    assert thread.duties["radar"].owes_confirmed
    assert thread.duties["trading"].handed_to == "radar"
    asks = {one.agent: one.deliver.asks for one in asked.advance()}
    assert asks == {"trading": (), "radar": ("confirm", "final"), "zoe": ()}
    assert ("radar", "reminder") in [(one.agent, one.kind) for one in asked.advance(5 * MINUTE)]
    assert asked.say("radar", "final", conclusion="Falls").word == "closed"


@pytest.mark.parametrize("sender", ["boss", "chief", "li", "wen"])
def test_arbiters_and_people_rule(asked: Conversation, sender: str) -> None:
    """Any listed arbiter and any person may close a thread without a result."""
    assert asked.say(sender, "ruling", ruling="close").word == "ruled"
    thread = asked.thread()
    assert (thread.phase, thread.ended_by, thread.final) == ("final", "ruling", "")
    assert {(one.agent, one.kind) for one in asked.advance()} == {("trading", "ruling"), ("zoe", "ruling")}


def test_nobody_else_rules(asked: Conversation) -> None:
    """Requester and DRI cannot; their author is told what was expected."""
    for sender in ("zoe", "trading"):
        verdict = asked.say(sender, "ruling", ruling="close")
        assert (verdict.word, told(verdict)) == ("kept", {sender: "notice"})


def test_a_ruling_cancels(asked: Conversation) -> None:
    """At once, without a final."""
    asked.say("boss", "ruling", ruling="cancel")
    assert (asked.thread().ended_by, asked.thread().final) == ("cancel", "")


def test_a_ruling_extends(asked: Conversation) -> None:
    """The deadline in force is the ruling's; what cannot be read changes nothing."""
    assert asked.say("boss", "ruling", ruling="extend", deadline="some day").word == "kept"
    asked.say("boss", "ruling", ruling="extend", deadline="2h")
    assert (asked.thread().deadline_ms, asked.thread().extensions) == (asked.clock() + 120 * MINUTE, 1)


def test_a_ruling_picks_among_existing_finals(asked: Conversation) -> None:
    """Before the end it ends the thread with that one, though its author was not the DRI."""
    asked.say("macro", "final", conclusion="It rises", message_id="f2")
    assert asked.say("boss", "ruling", ruling="pick", pick="f9").word == "kept", "never the arbiter's own answer"
    assert asked.say("boss", "ruling", ruling="pick", pick="f2").word == "ruled"
    final = asked.thread().message(asked.thread().final)
    assert final is not None
    assert (final.identity, asked.thread().phase) == ("f2", "final")


def test_after_the_end_only_pick_counts(ended: Conversation) -> None:
    """A flagged final may be put in force; every other ruling is late."""
    ended.say("trading", "final", conclusion="It rises", message_id="final-2")
    for ruling in ({"ruling": "close"}, {"ruling": "dri", "dri": "radar"}, {"ruling": "extend", "deadline": "2h"}):
        assert ended.say("boss", "ruling", **ruling).word == "late"
    verdict = ended.say("boss", "ruling", ruling="pick", pick="final-2")
    assert (verdict.row, told(verdict)) == ("picks", {"trading": "ruling", "zoe": "ruling"})
    final = ended.thread().message(ended.thread().final)
    assert final is not None
    assert (final.identity, ended.thread().phase) == ("final-2", "final")
    assert sorted(one.agent for one in ended.advance() if one.kind == "ruling") == ["trading", "zoe"]


def test_a_ruling_that_saw_another_replaces_it(ended: Conversation) -> None:
    """The later pick of a lower arbiter counts, since it knew of the first."""
    ended.say("trading", "final", conclusion="It rises", message_id="final-2")
    ended.say("boss", "ruling", ruling="pick", pick="final-2")
    ended.say("chief", "ruling", ruling="pick", pick="final-1")
    final = ended.thread().message(ended.thread().final)
    assert final is not None
    assert final.identity == "final-1"


# Broadcasts.


def test_a_broadcast_owes_nothing_and_ends_itself(talk: Conversation) -> None:
    """Each addressee is told once; five minutes later it has ended, and nobody was reminded."""
    verdict = talk.say("zoe", "broadcast", to=["all"], body="Market closed today")
    assert verdict.word == "broadcast"
    assert set(told(verdict).values()) == {"broadcast"}
    assert "zoe" not in told(verdict)
    assert {one.deliver.asks for one in talk.advance()} == {()}
    assert talk.advance(5 * MINUTE - 1) == []
    assert not talk.thread().ended
    assert talk.advance(1) == []
    assert (talk.thread().phase, talk.thread().ended_by) == ("final", "broadcast")


def test_a_broadcast_without_an_ack_id_gets_one(talk: Conversation) -> None:
    """It is made of its content, the same on every machine."""
    verdict = talk.drop({"type": "broadcast", "from": "zoe", "to": "macro", "body": "Market closed today"})
    assert verdict.thread.startswith("broadcast-")
    assert talk.thread(verdict.thread).is_broadcast


def test_a_broadcast_reports_unknown_addressees(talk: Conversation) -> None:
    """Its author hears of them; a broadcast to nobody is refused."""
    verdict = talk.say("zoe", "broadcast", to=["macro", "ghost"], body="Closed")
    assert told(verdict) == {"macro": "broadcast", "zoe": "notice"}
    assert talk.say("zoe", "broadcast", ack_id="b2", to=["ghost"], body="Closed").word == "refused"


def test_a_reply_of_substance_to_a_broadcast_reaches_who_sent_it(talk: Conversation) -> None:
    """Before and after its end, once; courtesy reaches nobody."""
    talk.say("zoe", "broadcast", to=["macro"], body="Market closed today")
    talk.advance()
    assert talk.say("macro", "", body="收到").told == ()
    assert told(talk.say("macro", "", body="In Shanghai only, I think")) == {"zoe": "supplement"}
    talk.advance(6 * MINUTE)
    assert told(talk.say("macro", "", body="Hong Kong is open")) == {"zoe": "late"}


def test_a_broadcast_under_a_known_ack_id_is_kept(asked: Conversation) -> None:
    """It opens nothing; its author is told to take another ack_id."""
    verdict = asked.say("zoe", "broadcast", to=["macro"], body="Closed")
    assert (verdict.word, told(verdict)) == ("kept", {"zoe": "notice"})
    assert "another ack_id" in verdict.because
