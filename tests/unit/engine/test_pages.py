"""THREAD.md and BOARD.md: what they say, that they follow from the ledger alone, and that agents' texts stay text."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Collection
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from ackd.engine.pages import (
    MOST_ENDED,
    MOST_OPEN,
    BoardRow,
    OweRow,
    RefusedFile,
    board_page,
    board_row,
)
from ackd.engine.thread_page import MOST_MESSAGES, thread_page
from ackd.protocol.fold import fold
from ackd.protocol.policy import Agent, Policy, make_roster
from ackd.testing.conversation import Conversation
from ackd.tree.markdown import visible

Make = Callable[..., Any]
PARSER = MarkdownIt("commonmark").enable(["table", "strikethrough"])
HOSTILE = (
    "<script>alert(1)</script> <img src=x> [x](https://evil.example) ![p](//evil.example/p.png) | cell\n"
    "```\n# heading\n@zoe \x1b[31m \u202e `code` <!-- --> www.evil.example\n~~~\n---\n"
)


def page_of(told: Any) -> str:
    """Give the thread's page as text."""
    return thread_page(told.thread, told.policy).decode()


def closed(asked: Make) -> Any:
    """Give a conversation with a question, two confirmeds, courtesy and a final."""
    told = asked(deadline="2026-03-08T15:00:00+08:00")
    told.say("macro", "clarify", question="含港股吗？")
    told.pass_(1)
    told.say("zoe", "answer", body="不含")
    told.say("macro", "confirmed", conclusion="油价冲击已计入", version="v2")
    told.say("trading", "confirmed", conclusion="收到，马上开始")
    told.pass_(3)
    told.say("trading", "final", conclusion="减仓到四成", body="理由……", status="partial_success")
    told.pass_()
    told.say("macro", "supplement", body="谢谢")
    told.pass_()
    return told


def holds_only_our_markup(page: str, *, targets: Collection[str]) -> None:
    """Nothing in a page but our own comment is HTML; nothing is an image, or a link but to files of the tree."""
    found: set[str] = set()
    for token in PARSER.parse(page):
        assert token.type != "html_block" or token.content.startswith("<!-- Made by ackd")
        for child in token.children or ():
            assert child.type not in ("html_inline", "image", "s_open", "em_open")
            if child.type == "link_open":
                found.add(str(child.attrGet("href")))
            if child.type == "text":
                assert "@" not in child.content
                assert "://" not in child.content
    assert found == set(targets)
    assert visible(page) == page


def test_the_final_comes_first(asked: Make) -> None:
    """A closed thread's page begins with its final, then what was asked, where it stands, and who said what when."""
    page = page_of(closed(asked))
    heads = re.findall(r"^#+ .*$", page, re.MULTILINE)
    assert heads == ["# 下周A股策略：仓位？", "## Final: partial_success", "## Asked", "## Where it stands", "## Said"]
    assert page.index("> 减仓到四成") < page.index("> 下周A股策略：仓位？") < page.index("> 含港股吗？")
    assert "Thread `oil-v1`. All times are UTC." in page
    assert "Deadline: 2026-03-08 07:00, written `2026-03-08T15:00:00+08:00`" in page
    assert "State: **final**\n" in page
    assert "| who | as | asked at | did |\n" in page
    assert "| trading | DRI | 2026-03-08 06:30 | confirmed, wrote the final |\n" in page
    assert "2026-03-08 06:31 zoe: answer, **answered**, [`answer-zoe.json`](answer-zoe.json)\n\n> 不含" in page
    assert "macro: **confirmed**, [`confirmed-macro.json`](confirmed-macro.json)\n\nversion `v2`\n\n> 油价" in page


def test_what_woke_nobody_takes_one_line(asked: Make) -> None:
    """Courtesy is shown with its words in the line itself; ten rounds of thanks stay ten lines."""
    told = closed(asked)
    for number in range(2, 12):
        told.say("macro", "supplement", body=f"谢谢{'！' * number}", n=number)
    courtesy = [line for line in page_of(told).splitlines() if "**no-reply**" in line]
    assert len(courtesy) == 11
    assert courtesy[0].endswith(
        "macro: supplement, **no-reply**, [`supplement-macro.json`](supplement-macro.json): 谢谢"
    )
    assert "> 谢谢" not in page_of(told)


def test_files_are_linked_from_where_the_page_lies(asked: Make) -> None:
    """A file beside the page is linked by its name, one elsewhere by the way up; odd characters stand in per cent."""
    told = asked()
    told.say("macro", "confirmed", conclusion="好", path="notes/来自 macro (v2).json")
    told.say("trading", "progress", body="…", path="roundtable/oil-v1/deep/p].json")
    page = page_of(told)
    assert "[`notes/来自 macro (v2).json`](../../notes/%E6%9D%A5%E8%87%AA%20macro%20%28v2%29.json)" in page
    targets = {"request-zoe.json", "deep/p%5D.json", "../../notes/%E6%9D%A5%E8%87%AA%20macro%20%28v2%29.json"}
    holds_only_our_markup(page, targets=targets)


@given(st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=80))
def test_any_line_that_is_quoted_is_text(text: str) -> None:
    """Whatever is said in one line, quoted or in a block, starts no heading, list, table or page of its own."""
    policy = Policy(roster=make_roster([Agent(name="zoe"), Agent(name="macro")]))
    told = Conversation(policy)
    told.drop(
        {"state": "request", "ack_id": "a", "from": "zoe", "to": "macro", "action": text},
    )
    told.say("macro", "confirmed", conclusion=text, version="v1")
    page = thread_page(told.thread("a"), policy).decode("utf-8")
    tokens = PARSER.parse(page)
    heads = [token.type for token in tokens].count("heading_open")
    assert heads == 4
    assert [token.type for token in tokens].count("table_open") == 1
    assert [token.type for token in tokens].count("bullet_list_open") == 1
    assert not {"ordered_list_open", "hr", "code_block"} & {token.type for token in tokens}


def test_an_open_thread_says_who_owes_what(asked: Make) -> None:
    """Before the end the page shows each assignee's debt, open questions and conditions."""
    told = asked()
    told.say("macro", "clarify", question="?")
    told.pass_()
    page = page_of(told)
    assert "## Final" not in page
    assert "Conditions: clarifying" in page
    assert "zoe owes an answer" in page
    assert "| macro | assignee | 2026-03-08 06:30 | asked | its confirmed |" in page
    assert "| trading | DRI | 2026-03-08 06:30 | asked | its confirmed and the final |" in page


def test_handoffs_revisions_and_rulings_show(asked: Make) -> None:
    """The page tells who took over, which text counts now, and what a ruling moved."""
    told = asked()
    told.say("macro", "handoff", to=["风控"], reason="rates")
    told.say("风控", "confirmed", conclusion="接手")
    told.say("zoe", "request", to=["macro", "trading", "ghost"], dri="trading", action="只要周一", n=2)
    told.say("boss", "ruling", ruling="extend", deadline="2026-03-09T00:00:00Z", reason="holiday")
    told.pass_()
    page = page_of(told)
    assert "handed-off to 风控" in page
    assert "; this text since 2026-03-08 06:30" in page
    assert "Deadline by ruling: 2026-03-09 00:00" in page
    assert "Replaced by a later text: [`request-zoe-2.json`](request-zoe-2.json)" in page
    assert "Not on the roster, so not asked: ghost" in page
    assert page.index("只要周一") < page.index("下周A股策略：仓位？")


@pytest.mark.parametrize(
    ("sender", "type_", "words", "says"),
    [
        ("boss", "ruling", {"ruling": "close", "reason": "x"}, "closed by a ruling, without a result. boss, "),
        ("boss", "ruling", {"ruling": "cancel", "reason": "x"}, "The thread was cancelled. boss, "),
    ],
)
def test_an_end_without_final_is_said(asked: Make, sender: str, type_: str, words: dict[str, str], says: str) -> None:
    """Where a thread ended otherwise than by a final, that stands first."""
    told = asked()
    told.say(sender, type_, **words)
    page = page_of(told)
    assert page.index("## No final") < page.index("## Asked")
    assert says in page


def test_a_weak_verdict_has_its_reason(asked: Make) -> None:
    """Verdicts that are not what the author hoped for say why."""
    told = asked()
    told.say("macro", "final", conclusion="mine")
    page = page_of(told)
    assert "macro: final, **weak**, " in page
    assert "trading is the DRI of thread oil-v1 and writes its final; kept as a supplement" in page


def test_a_page_before_the_request(talk: Make) -> None:
    """A thread that is only held has a page too."""
    told = talk()
    told.say("macro", "confirmed", conclusion="ready")
    page = page_of(told)
    assert "State: **no request yet**" in page
    assert "Conditions: held" in page


def test_pages_follow_from_the_ledger_alone(asked: Make) -> None:
    """The same entries give the same bytes, in whatever order and number they came."""
    told = closed(asked)
    page = thread_page(told.thread, told.policy)
    row = board_row(told.thread)
    for seed in range(10):
        entries = told.entries * 2
        random.Random(seed).shuffle(entries)
        again = fold(told.id, entries)
        assert thread_page(again, told.policy) == page
        assert board_row(again) == row


def test_hostile_texts_stay_text(asked: Make) -> None:
    """HTML, links, fences, control and bidirectional characters show as text and change nothing around them."""
    told = asked(action=HOSTILE, subject=HOSTILE, context={"x": HOSTILE}, deadline="<b>soon</b> | @zoe")
    told.say("macro", "confirmed", conclusion=HOSTILE, version="v2 | `x` [a](b)", effective=HOSTILE[:150])
    told.say("macro", "final", conclusion=HOSTILE, message_id="<b>" + "`" * 3)
    told.say("trading", "final", conclusion=HOSTILE, status="success", data={HOSTILE: [HOSTILE]})
    told.pass_()
    page = page_of(told)
    beside = {one.path.removeprefix("roundtable/oil-v1/") for one in told.thread.messages}
    holds_only_our_markup(page, targets=beside)
    assert "<script>" in page  # inside a fence, where it is text
    heads = [token for token in PARSER.parse(page) if token.type == "heading_open"]
    assert len(heads) == 5
    board = board_page([board_row(told.thread)]).decode()
    holds_only_our_markup(board, targets={"roundtable/oil-v1/THREAD.md"})


@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=80), st.text(max_size=30), st.text(max_size=30))
def test_any_text_on_the_board_is_text(action: str, path: str, reason: str) -> None:
    """Whatever an agent asked and however a refused file is called, the board keeps its form."""
    row = BoardRow(id="a", state="request", requester="zoe", action=action, folder="roundtable/a")
    refused = RefusedFile(path=path, author="zoe", reason=reason, record="rejected/desk/x")
    page = board_page([row], refused=[refused], findings=[reason]).decode("utf-8")
    holds_only_our_markup(page, targets={"roundtable/a/THREAD.md"})
    tokens = PARSER.parse(page)
    assert [token.type for token in tokens].count("td_open") == 7
    assert [token.type for token in tokens].count("heading_open") == 3


def test_long_texts_are_cut_with_the_path(asked: Make) -> None:
    """A text beyond the cap is cut, and the file that holds it is named."""
    told = asked(action="长" * 30_000)
    told.say("风控", "supplement", body="补" * 30_000)
    page = page_of(told)
    assert len(page) < 20_000
    assert "the whole text is in `roundtable/oil-v1/request-zoe.json`" in page
    assert "the whole text is in `roundtable/oil-v1/supplement-风控.json`" in page


def test_a_long_thread_shows_its_ends(asked: Make) -> None:
    """Of very many messages the first and the last are shown."""
    told = asked()
    thread = told.thread
    one = thread.messages[0]
    many = tuple(
        msgspec.structs.replace(one, digest=f"{number:064x}", path=f"roundtable/oil-v1/m-{number}.json")
        for number in range(MOST_MESSAGES + 50)
    )
    page = thread_page(msgspec.structs.replace(thread, messages=many), told.policy).decode()
    assert "50 messages are left out here" in page
    assert "m-0.json" in page
    assert f"m-{MOST_MESSAGES + 49}.json" in page
    assert f"m-{MOST_MESSAGES // 2 + 10}.json" not in page


def test_a_row_of_the_board(asked: Make) -> None:
    """A row holds what the board shows, as JSON."""
    told = asked(deadline="2026-03-08T15:00:00+08:00")
    row = board_row(told.thread)
    at = told.now
    assert row == BoardRow(
        id="oil-v1",
        state="request",
        conditions=(),
        requester="zoe",
        dri="trading",
        action="下周A股策略：仓位？",
        deadline_ms=1_772_953_200_000,
        owes=(OweRow("macro", "confirm", at), OweRow("trading", "confirm", at), OweRow("trading", "final", at)),
        ended_by="",
        updated_at=at,
        folder="roundtable/oil-v1",
    )
    assert msgspec.json.decode(msgspec.json.encode(row), type=BoardRow) == row


def test_a_row_before_the_request(talk: Make) -> None:
    """Without a request the state is null."""
    told = talk()
    told.say("macro", "confirmed", conclusion="ready")
    row = board_row(told.thread)
    assert (row.state, row.conditions, row.owes) == (None, ("held",), ())


def test_the_board_parts_late_open_and_ended(asked: Make) -> None:
    """Late threads come first, then open ones, then those that ended lately."""
    late = asked("late-v1")
    late.pass_(5)
    late.pass_(5)
    page = board_page([board_row(one.thread) for one in (asked("open-v1"), closed(asked), late)]).decode()
    heads = re.findall(r"^## .*$", page, re.MULTILINE)
    assert heads == ["## Late", "## Open", "## Ended lately"]
    assert "2 open, 1 late" in page
    assert page.index("late-v1") < page.index("open-v1") < page.index("oil-v1")
    assert "| [下周A股策略：仓位？](roundtable/late-v1/THREAD.md) | zoe | trading | request, escalated |" in page
    assert "macro its confirmed since 2026-03-08 06:30, trading its confirmed and the final since 2026" in page
    assert "boss a ruling since 2026-03-08 06:40 | `late-v1` |" in page


def test_an_empty_board() -> None:
    """A tree without conversations has a board that says so."""
    assert board_page([]).decode().endswith("0 open, 0 late. All times are UTC.\n")


def test_what_needs_a_person() -> None:
    """Strangers come with the command that adds them, refused files with their record; odd names get no command."""
    stuck = BoardRow(
        id="a",
        state="request",
        conditions=("escalated", "needs-person"),
        action="Plan it",
        owes=(OweRow("li", "rule", 0),),
        folder="roundtable/a",
    )
    circle = BoardRow(id="b", state=None, conditions=("needs-person",))
    page = board_page(
        [stuck, circle],
        refused=[RefusedFile(path="x/y.json", reason="no author", record="rejected/desk/y")],
        strangers=["新人", "bob", "bob", "x; rm -rf ~"],
        findings=["the tree was copied"],
    ).decode()
    assert "- the tree was copied" in page
    assert "- [Plan it](roundtable/a/THREAD.md) (`a`): li a ruling since 1970-01-01 00:00\n" in page
    assert "- `b`: a message was refused because" in page
    assert page.count("`ackd agents add bob`") == 1
    assert "`ackd agents add 新人`" in page
    assert "agents add x" not in page
    assert "- Refused: `x/y.json`: no author, see `rejected/desk/y`" in page


def test_the_board_is_capped() -> None:
    """Two hundred open threads and twenty ended ones are listed; the rest is counted."""
    late = [
        BoardRow(id=f"l{number:04}", state="request", conditions=("overdue",), owes=(OweRow("a", "final", 0),) * 30)
        for number in range(50)
    ]
    rows = [BoardRow(id=f"o{number:04}", state="request") for number in range(500)]
    ended = [BoardRow(id=f"e{number:04}", state="final", ended_by="final", updated_at=number) for number in range(60)]
    page = board_page([*rows, *late, *ended]).decode()
    assert len(re.findall(r"^\| `[lo].*\| `[lo][0-9]+` \|$", page, re.MULTILINE)) == MOST_OPEN
    assert "… and 350 more: `ackd threads`" in page
    assert re.findall(r"^\| `(e[0-9]{4})", page, re.MULTILINE) == [f"e{number:04}" for number in range(59, 39, -1)]
    assert len(re.findall(r"^\| `e", page, re.MULTILINE)) == MOST_ENDED
    assert "and 20 more |" in page


def test_the_board_follows_from_its_rows() -> None:
    """Any order of the rows gives the same bytes; deadlines come first among equals."""
    rows = [BoardRow(id=f"t{number}", state="request", deadline_ms=number * 1000 or None) for number in range(9)]
    page = board_page(rows)
    assert board_page(rows[::-1]) == page
    assert re.findall(r"^\| `(t[0-9])`", page.decode(), re.MULTILINE) == [
        *(f"t{number}" for number in range(1, 9)),
        "t0",
    ]
