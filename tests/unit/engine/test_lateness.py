"""Which debts are late."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ackd.engine.pages import board_row
from ackd.engine.show import thread_document


def late(talk: Any) -> set[tuple[str, str]]:
    """Give agent and step of what a thread's row marks as late; the whole thread marks the same."""
    row = {(one.agent, one.step) for one in board_row(talk.thread).owes if one.late}
    assert {(one["agent"], one["step"]) for one in thread_document(talk.thread)["owes"] if one["late"]} == row
    return row


def test_one_late_debt_marks_no_other(asked: Callable[..., Any]) -> None:
    """The confirmed that was escalated is late; the final of the same thread, not due yet, is not."""
    talk = asked()
    talk.say("trading", "confirmed")
    talk.pass_(6)
    assert late(talk) == set()
    talk.pass_(5)
    assert late(talk) == {("macro", "confirm")}
    assert {one.agent for one in board_row(talk.thread).owes if one.step == "final"} == {"trading"}


def test_the_final_is_late_once_its_time_is_over(asked: Callable[..., Any]) -> None:
    """Before anybody above hears of it; a confirmed that came in late is late no more."""
    talk = asked()
    talk.pass_(6)
    talk.pass_(5)
    assert late(talk) == {("macro", "confirm"), ("trading", "confirm")}
    talk.say("macro", "confirmed")
    talk.say("trading", "confirmed")
    assert late(talk) == set()
    talk.pass_(25)
    assert late(talk) == {("trading", "final")}


def test_a_ruling_makes_a_debt_new(asked: Callable[..., Any]) -> None:
    """What was ruled upon is late only when it is escalated again."""
    talk = asked()
    talk.say("trading", "confirmed")
    talk.pass_(6)
    talk.pass_(5)
    talk.pass_(1)
    talk.say("boss", "ruling", ruling="extend", deadline="4h")
    assert late(talk) == set()


def test_a_final_without_a_confirmed_is_what_its_author_did(asked: Callable[..., Any]) -> None:
    """The DRI that finished at once did not merely get asked; another assignee still did."""
    talk = asked()
    talk.say("trading", "final", conclusion="Cut 40 %")
    assert thread_document(talk.thread)["assignees"] == {"macro": "asked", "trading": "final"}
