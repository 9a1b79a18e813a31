"""The people's page: what is asked and ruled there, what is told about it, and what never counts twice."""

from __future__ import annotations

import datetime
import time
from random import Random
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ackd.protocol.instant import iso, shown
from ackd.resources import template_dir
from ackd.tree.front_matter import MOST_FINDINGS
from ackd.tree.outline import Line
from ackd.tree.project_status import (
    MOST_REQUESTS,
    ProjectStatus,
    changed_lines,
    mentions,
    read_project_status,
)
from ackd.tree.status_lines import REQUEST_FORM, RULING_FORM, StatusRequest, StatusRuling, read_deadline

PAGE = """---
updated: 2026-03-08
updated_by: "@wen"
phase: 上线前
health: Amber
---

# Project status

## Now

- Weekly outlook: trading, with @macro

## Requests

Please take these first.

- [ ] @trading: check the limits (by 2026-03-09)
  - the fund's too
- [x] @macro, @宏观 and @zoe：看一下油价（2026-03-10 18:00 前）。

## Rulings

- oil-v1: dri=macro
- `week-v1~1a2b`： close

## Notes

- [ ] @zoe: this is no request
"""

SHANGHAI = ZoneInfo("Asia/Shanghai")


def asked(*lines: str) -> ProjectStatus:
    """Read a page whose requests are the lines."""
    return read_project_status("\n".join(["## Requests", *lines]))


def ruled(*lines: str) -> ProjectStatus:
    """Read a page whose rulings are the lines."""
    return read_project_status("\n".join(["## 裁决", *lines]))


def test_the_page_is_read() -> None:
    """Front matter, sections, requests and rulings are read with their lines."""
    page = read_project_status(PAGE)
    assert (page.updated, page.updated_by, page.phase, page.health) == ("2026-03-08", "wen", "上线前", "amber")
    assert [section.title for section in page.sections] == [
        "",
        "Project status",
        "Now",
        "Requests",
        "Rulings",
        "Notes",
    ]
    assert page.sections[2].text == "- Weekly outlook: trading, with @macro"
    assert page.requests == (
        StatusRequest(
            line=18,
            names=("trading",),
            text="check the limits",
            deadline_written="2026-03-09",
            identity="@trading: check the limits (by 2026-03-09)",
        ),
        StatusRequest(
            line=20,
            names=("macro", "宏观", "zoe"),
            text="看一下油价",
            deadline_written="2026-03-10 18:00",
            ticked=True,
            identity="@macro @宏观 @zoe: 看一下油价 (by 2026-03-10 18:00)",
        ),
    )
    assert page.rulings == (
        StatusRuling(line=24, ack_id="oil-v1", ruling="dri", value="macro", identity="oil-v1: dri=macro"),
        StatusRuling(line=25, ack_id="week-v1~1a2b", ruling="close", identity="week-v1~1a2b: close"),
    )
    assert page.findings == ()
    assert not page.conflicted


def test_the_page_that_is_laid_down_asks_nothing() -> None:
    """The template's page has no requests, no rulings and nothing to put right."""
    page = read_project_status((template_dir() / "PROJECT_STATUS.md").read_text(encoding="utf-8"))
    assert (page.requests, page.rulings, page.findings) == ((), (), ())
    assert page.health == "green"
    assert page.phase == "setting up"
    assert {"Now", "Next", "Blocked", "Requests", "Rulings", "Notes"} <= {one.title for one in page.sections}


@pytest.mark.parametrize(
    ("line", "names", "text", "deadline"),
    [
        ("- [ ] @trading: check the limits", ["trading"], "check the limits", ""),
        ("* [] @trading: check", ["trading"], "check", ""),
        ("12) [X] @trading: check", ["trading"], "check", ""),
        ("- [ ]@trading: check", ["trading"], "check", ""),
        ("\t-  [ ]   **@Trading** :   check   it", ["Trading"], "check it", ""),
        ("- ［ ］ ＠trading：检查限额（截止 2026-03-09）", ["trading"], "检查限额", "2026-03-09"),
        ("- [ ] @trading：检查限额（在 2026年3月9日 之前）", ["trading"], "检查限额", "2026年3月9日"),
        ("- [ ] @trading：检查（３月９日前）", ["trading"], "检查", "３月９日"),
        ("- [ ] @trading：检查（最晚明天下午3点）", ["trading"], "检查", "明天下午3点"),
        ("- [ ] @trading：检查（见目前的表）", ["trading"], "检查（见目前的表）", ""),
        ("- [ ] @宏观和@trading：检查", ["宏观", "trading"], "检查", ""),
        ("- [ ] @宏观、@trading 及 @文和：检查", ["宏观", "trading", "文和"], "检查", ""),
        ("- [ ] @a @b,@c & @d; @A: x", ["a", "b", "c", "d"], "x", ""),
        ("- [ ] @a: at 12:30, mail @b (by Friday noon).", ["a"], "at 12:30, mail @b", "Friday noon"),
        ("- [ ] @a: sort (by hand)", ["a"], "sort (by hand)", ""),
        ("- [ ] @a: sort (all of it)", ["a"], "sort (all of it)", ""),
        ("- [ ] @a: x (by in 30 minutes)", ["a"], "x", "in 30 minutes"),
        ("- [ ] @a: x (until: 2h)", ["a"], "x", "2h"),
        ("- [ ] @a: f(x) (y)", ["a"], "f(x) (y)", ""),
        ("- [ ] @a: )", ["a"], ")", ""),
        ("- [ ] @a: x <!-- why --> y", ["a"], "x y", ""),
        ("- [ ] @研究.组-2_a: x", ["研究.组-2_a"], "x", ""),
    ],
)
def test_forms_of_a_request(line: str, names: list[str], text: str, deadline: str) -> None:
    """A request is read however people punctuate, in English and in Chinese."""
    page = asked(line)
    assert page.findings == ()
    (request,) = page.requests
    assert (list(request.names), request.text, request.deadline_written) == (names, text, deadline)


@pytest.mark.parametrize(
    "line",
    [
        "- @macro: one page on oil",
        "- [ ] macro: one page on oil",
        "- [ ] @macro one page on oil",
        "- [ ] please @macro: one page",
        "- [ ] @macro please: one page",
        "- [ ] @macro, trading: one page",
        "- [ ] @macro:",
        "- [ ] @macro: (by 2026-03-09)",
        "- [ ] @: x",
        "- [ ] @-x: y",
        "- [ ] @a\u200bb: y",
        "- [ ] @nul: y",
        "-[ ] @macro: x",
        "[ ] @macro: x",
        "@macro: x",
        "- see @macro",
        "- [ ] @macro: " + "x" * 9_000,
        "- [?] @macro: x",
    ],
)
def test_what_is_meant_as_a_request_but_is_none(line: str) -> None:
    """A line that names somebody or has a box, but is not of the form, is told with what was expected."""
    page = asked("", line)
    assert page.requests == ()
    assert [(finding.line, finding.expected) for finding in page.findings] == [(3, REQUEST_FORM)]


@pytest.mark.parametrize(
    "line",
    [
        "Please take these first, @zoe.",
        "- nothing now",
        "**Note:** ask @macro",
        "<!-- - [ ] @macro: x -->",
        "",
        "---",
        "### Later",
        "    ",
        "- [ ]",
        "[a page](x.md) by @zoe",
    ],
)
def test_what_is_no_request_is_left_alone(line: str) -> None:
    """Prose, comments, plain items and headings between requests are nobody's business."""
    page = asked(line)
    assert (page.requests, page.findings) == ((), ())


def test_only_the_first_line_is_read() -> None:
    """A request that goes on in the next line is told, so that no half of it is lost unseen."""
    page = asked("- [ ] @macro: one page", "  on oil (by 2026-03-09)", "- [ ] @zoe: x", "", "Prose.")
    assert [request.text for request in page.requests] == ["one page", "x"]
    assert [finding.line for finding in page.findings] == [3]


@pytest.mark.parametrize(
    "title", ["Requests", "requests", "请求", "請求", "📥 Requests / 请求", "**Requests**:", "Requests #"]
)
@pytest.mark.parametrize("form", ["# {}", "#### {}", "##{}", "{}\n---", "{}\n==="])
def test_headings_of_requests(title: str, form: str) -> None:
    """The heading may be of any level, in English, in Chinese or both."""
    page = read_project_status(form.format(title) + "\n- [ ] @a: x\n")
    assert len(page.requests) == 1


@pytest.mark.parametrize("title", ["Done requests", "Requests of last week", "Notes", "请求记录"])
def test_other_headings_ask_nothing(title: str) -> None:
    """A heading that says more is another one."""
    assert read_project_status(f"## {title}\n- [ ] @a: x\n").requests == ()


@pytest.mark.parametrize(
    ("title", "spelling"),
    [
        *((one, "## Requests, or ## 请求") for one in ("Request", "Requets", "Reqests", "Requestss", "rEqusets")),
        *(
            (one, "## Requests, or ## 请求")
            for one in ("Erquests", "Request / 请求", "请求s", "请 求", "Ｒｅｑｕｅｓｔｓ")
        ),
        *((one, "## Rulings, or ## 裁决") for one in ("Rullings", "Ruling", "Rulngs:", "Rulinsg", "裁诀", "裁決s")),
    ],
)
@pytest.mark.parametrize("line", ["- [ ] @a: x", "- oil-v1: close"])
def test_a_mistyped_heading_is_a_finding(title: str, spelling: str, line: str) -> None:
    """It says what would be read, with its line; what stands below it makes nothing, also inside another section."""
    for above in ("", "# Page\n", "## Now\n"):
        page = read_project_status(f"{above}### {title}\n{line}\n")
        (finding,) = page.findings
        assert (finding.line, finding.expected) == (above.count("\n") + 1, spelling)
        assert (page.requests, page.rulings) == ((), ())


@pytest.mark.parametrize(
    "title",
    ["Quests", "Guests", "Railings", "Rolling", "Requests of last week", "Bequests", "请求记录", "Request 7", "请", ""],
)
def test_another_heading_is_no_finding(title: str) -> None:
    """Only what was surely meant is one."""
    assert read_project_status(f"## {title}\n- [ ] @a: x\n").findings == ()


def test_a_heading_inside_its_own_section_is_no_finding() -> None:
    """`Request` below `Requests` stays inside; `Ruling` there does not."""
    page = read_project_status("## Requests\n### Request\n- [ ] @a: x\n### Ruling\n- [ ] @a: y\n")
    assert [one.text for one in page.requests] == ["x"]
    assert [one.line for one in page.findings] == [4]


def test_deeper_headings_stay_inside() -> None:
    """What stands under a deeper heading belongs to the section; the next heading of its level ends it."""
    page = read_project_status(
        "# Page\n## Requests\n### This week\n- [ ] @a: x\n### Rulings\n- o: close\n"
        "### More\n- [ ] @a: y\n## Now\n- [ ] @a: z\n"
    )
    assert [request.text for request in page.requests] == ["x", "y"]
    assert [ruling.ack_id for ruling in page.rulings] == ["o"]
    assert page.findings == ()


def test_comments_and_code_count_for_nothing() -> None:
    """Neither requests nor rulings are read in comments and code blocks; one without end is told."""
    page = read_project_status(
        "## Requests\n<!--\n- [ ] @a: x\n-->\n```\n- [ ] @a: y\n```\n"
        "## Rulings\n~~~\n- o: close\n~~~\n<!-- open\n- o: close\n"
    )
    assert (page.requests, page.rulings) == ((), ())
    assert [finding.line for finding in page.findings] == [12]


@pytest.mark.parametrize(
    "other",
    [
        "- [x] @trading: check the limits (by 2026-03-09)",
        "      * [X]   @trading :  check   the limits (by 2026-03-09)  ",
        "3. [ ] ＠Trading：check the limits （by 2026-03-09）.",
        "- [ ] **@trading**: check the limits (due 2026-03-09)",
        "\t- [ ] @trading: check <!-- all --> the limits (by 2026-03-09)",
    ],
)
def test_a_request_is_its_words(other: str) -> None:
    """Ticked, indented, bulleted or punctuated otherwise it is the same request."""
    (first,) = asked("- [ ] @trading: check the limits (by 2026-03-09)").requests
    (second,) = asked(other).requests
    assert first.identity == second.identity


@pytest.mark.parametrize(
    "other",
    [
        "- [ ] @trading: check all limits (by 2026-03-09)",
        "- [ ] @trading: check the limits (by 2026-03-10)",
        "- [ ] @trading: check the limits",
        "- [ ] @macro: check the limits (by 2026-03-09)",
    ],
)
def test_other_words_are_another_request(other: str) -> None:
    """Another text, deadline or name makes another request."""
    (first,) = asked("- [ ] @trading: check the limits (by 2026-03-09)").requests
    (second,) = asked(other).requests
    assert first.identity != second.identity


def test_the_same_request_twice_is_one() -> None:
    """A copied line asks nothing new, and that is told."""
    page = asked("- [ ] @a: x", "* [x] @A：x")
    assert [request.line for request in page.requests] == [2]
    assert [finding.line for finding in page.findings] == [3]


@pytest.mark.parametrize(
    ("line", "ruling", "value"),
    [
        ("- oil-v1: dri=macro", "dri", "macro"),
        ("* oil-v1 : DRI = @宏观", "dri", "宏观"),
        ("- `oil-v1`：extend＝2h", "extend", "2h"),
        ("- oil-v1: extend=2026-03-09 18:00", "extend", "2026-03-09 18:00"),
        ("- oil-v1: extend=2026-03-09", "extend", "2026-03-09"),
        ("- oil-v1: extend=30分钟", "extend", "30分钟"),
        ("- oil-v1: cancel", "cancel", ""),
        ("- oil-v1: pick=`final-7:a=b`", "pick", "final-7:a=b"),
        ("- **oil-v1**: close", "close", ""),
    ],
)
def test_forms_of_a_ruling(line: str, ruling: str, value: str) -> None:
    """Each of the five rulings is read, with either punctuation."""
    page = ruled(line, line)
    assert page.findings == ()
    assert [(one.line, one.ack_id, one.ruling, one.value) for one in page.rulings] == [(2, "oil-v1", ruling, value)]


@pytest.mark.parametrize(
    "line",
    [
        "oil-v1: close",
        "Nothing yet.",
        "- oil-v1",
        "- oil-v1: trading is the DRI",
        "- oil-v1: dri",
        "- oil-v1: dri=",
        "- oil-v1: dri=macro (trading is away)",
        "- oil-v1: extend=soon",
        "- oil-v1: extend=2026-02-30",
        "- oil-v1: cancel=now",
        "- oil-v1: pick=a b",
        "- oil-v1: pick=" + "x" * 201,
        "- oil-v1: dri=macro | cancel",
        "- [ ] oil-v1: close",
        "- oil v1: close",
        "- : close",
        "- oil-v1: close " + " " * 2_000,
        "- oil-v1: close" + "." * 2_000,
        "> - oil-v1: close",
    ],
)
def test_anything_else_under_rulings_is_a_finding(line: str) -> None:
    """Under this heading nothing is passed over: each other line is told with the form."""
    page = ruled("", line, "- o: cancel")
    if line.rstrip() == "- oil-v1: close":
        assert [one.ack_id for one in page.rulings] == ["oil-v1", "o"]
        return
    assert [one.ack_id for one in page.rulings] == ["o"]
    assert [(finding.line, finding.expected) for finding in page.findings] == [(3, RULING_FORM)]


@pytest.mark.parametrize("marker", ["<<<<<<< HEAD", "||||||| base", ">>>>>>> 1a2b3c (wen)"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_a_conflicted_page_counts_for_nothing(marker: str, end: str) -> None:
    """While git's markers stand in the page there is one finding, and nothing is asked or changed."""
    text = end.join([*PAGE.splitlines(), marker, "- [ ] @zoe: new"])
    page = read_project_status(text)
    assert page == ProjectStatus(conflicted=True, findings=page.findings)
    assert [finding.line for finding in page.findings] == [len(PAGE.splitlines()) + 1]
    assert changed_lines(PAGE, text) == ()


@pytest.mark.parametrize(
    ("line", "field"),
    [
        ("health: yellow", "health"),
        ("health: [red]", "health"),
        ("updated_by: wen li", "updated_by"),
        ("updated_by: [a, b]", "updated_by"),
    ],
)
def test_front_matter_that_says_something_else(line: str, field: str) -> None:
    """A health or an author that cannot be read is told, and stays empty."""
    page = read_project_status(f"---\nupdated: x\n{line}\n---\n")
    assert getattr(page, field) == ""
    assert [finding.line for finding in page.findings] == [3]


def test_line_ends_and_bom_change_nothing() -> None:
    """Saved with CRLF and a BOM, without the last line end, the page says the same."""
    page = read_project_status(PAGE)
    assert read_project_status("\ufeff" + PAGE.replace("\n", "\r\n")) == page
    assert read_project_status(PAGE.rstrip("\n")).requests == page.requests
    assert changed_lines(PAGE, "\ufeff" + PAGE.replace("\n", "\r\n")) == ()


@pytest.mark.parametrize(
    ("written", "at", "note"),
    [
        ("2026-03-09", "2026-03-09T23:59:59+08:00", "to its end"),
        ("2026年3月9日", "2026-03-09T23:59:59+08:00", "to its end"),
        ("2026-03-09 18:00", "2026-03-09T18:00:00+08:00", "Asia/Shanghai"),
        ("in 30 minutes", "1970-01-01T08:30:00+08:00", ""),
    ],
)
def test_deadlines(written: str, at: str, note: str) -> None:
    """A day lasts to its end in the team's zone; the rest is read as in an envelope."""
    found = read_deadline(written, intake_ms=0, zone=SHANGHAI)
    assert found.at_ms is not None
    assert shown(found.at_ms, SHANGHAI) == at
    assert found.written == written
    assert note in found.note


def test_a_deadline_that_cannot_be_read() -> None:
    """It is told as written, and no instant is made up."""
    found = read_deadline("下周五", intake_ms=0, zone=SHANGHAI)
    assert (found.at_ms, found.readable, found.written) == (None, False, "下周五")


def changed(before: str, after: str) -> list[tuple[int, str]]:
    """Give the changed lines with their numbers."""
    return [(line.number, line.text) for line in changed_lines(before, after)]


def test_changes_are_told_by_content() -> None:
    """New and reworded lines are changes; moved, ticked, indented, removed and commented ones are not."""
    before = "# A\n\n- [ ] @macro: oil\n- two\n- three\n"
    assert changed(before, "- three\n# A\n  * [x] @macro：oil\n") == []
    assert changed(before, before + "- four <!-- @zoe -->\n<!-- @wen -->\n") == [(6, "- four ")]
    assert changed(before, before.replace("two", "two and a half")) == [(4, "- two and a half")]
    assert changed(before, before + "- five\n- five\n") == [(6, "- five")]
    assert changed("---\nhealth: green\n---\n", "---\nhealth: red\n---\n") == [(2, "health: red")]
    assert changed("<!--\n- a\n-->", "- a") == [(1, "- a")]


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("@macro look", ["macro"]),
        ("(@Macro) and ＠ｔｒａｄｉｎｇ.", ["macro", "trading"]),
        ("see @trading: x; @macro's", ["macro", "trading"]),
        ("请@macro看一下，@宏观请看", ["macro", "宏观"]),
        ("@宏观组看这里", ["宏观组"]),
        ("@macro/@trading…", ["macro", "trading"]),
        ("_@macro_ **@trading**", ["macro", "trading"]),
        ("-@macro", ["macro"]),
        ("@macro2 @macro-2 @macros @macro_x", []),
        ("wen@macro.org macro @ trading", []),
        ("`@macro` said `x`", []),
        ("@@macro", ["macro"]),
        ("@macro...", ["macro"]),
        ("", []),
        ("@", []),
    ],
)
def test_mentions(text: str, names: list[str]) -> None:
    """Whoever is named with @ is found; words, addresses and code are no mentions."""
    assert list(mentions([Line(1, text)], ["macro", "trading", "宏观", "宏观组"])) == names


def test_mentions_in_code_blocks_and_of_nobody() -> None:
    """Code mentions nobody, and who is not in the team is not mentioned."""
    assert mentions([Line(1, "@macro", True), Line(2, "@zoe")], ["macro"]) == ()
    assert mentions([Line(1, "@macro")], []) == ()


item = st.builds(
    "{}{}{}: {}{}".format,
    st.sampled_from(["- [ ] ", "* [x] ", "- ", "", "  - [ ]"]),
    st.sampled_from(["@", "", "＠", "@@"]),
    st.sampled_from(["trading", "宏观", "a b", "@x, @y", ""]),
    st.text(st.sampled_from(list("ab油 @:()（）`<!->")), max_size=12),
    st.sampled_from(["", " (by 2026-03-09)", "（2026-03-09 前）", " (by"]),
)
noise = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)
page_text = st.lists(
    item | noise | st.sampled_from(["## Requests", "## 裁决", "---", "```", "<!--", "-->", "- o: close", "<<<<<<< x"]),
    max_size=12,
).map("\n".join)


@given(page_text)
def test_any_page_is_read(text: str) -> None:
    """Whatever stands on the page, nothing raises, lines are those of the page, and no request stands there twice."""
    page = read_project_status(text)
    count = len(text.replace("\r\n", "\n").replace("\r", "\n").split("\n"))
    assert all(1 <= finding.line <= count and finding.what and finding.expected for finding in page.findings)
    assert len({request.identity for request in page.requests}) == len(page.requests)
    assert all(request.names and request.text for request in page.requests)
    assert changed_lines(text, text) == ()
    mentions(changed_lines("", text), ["trading", "宏观"])


wishes = st.lists(
    st.sampled_from(["check the limits", "看油价", "one page (by 2026-03-09)", "sort it"]), min_size=1, unique=True
)


@given(wishes, st.randoms(use_true_random=False))
def test_moves_ticks_and_indents_make_no_new_request(words: list[str], random: Random) -> None:
    """However lines are shuffled, ticked and indented, the same requests stand on the page and nothing has changed."""
    lines = [f"- [ ] @trading: {one}" for one in words]
    other = [
        f"{random.choice(['', '  ', chr(9)])}{random.choice('-*+')} [{random.choice(' xX')}] @trading：{one}"
        for one in words
    ]
    random.shuffle(other)
    before, after = "\n".join(["## Requests", *lines]), "\n\n".join(["Intro", "# 请求", *other])
    first, second = read_project_status(before).requests, read_project_status(after).requests
    assert {one.identity for one in first} == {one.identity for one in second}
    assert len(first) == len(second) == len(words)
    assert [line.text for line in changed_lines(before, after)] == ["Intro", "# 请求"]


def test_too_many_are_capped() -> None:
    """A page with a hundred thousand requests is read as far as people write pages, and says so once."""
    page = asked(*[f"- [ ] @a: {number}" for number in range(100_000)])
    assert len(page.requests) == MOST_REQUESTS
    assert [finding.line for finding in page.findings] == [MOST_REQUESTS + 2]
    page = ruled(*[f"- a{number}: close" for number in range(1_000)])
    assert len(page.rulings) == MOST_REQUESTS
    assert len(page.findings) == MOST_FINDINGS


@pytest.mark.parametrize(
    "unit",
    [
        "@",
        "@a",
        "`",
        "` ``",
        "<!--",
        "<!-- -->",
        "-",
        " ",
        "(",
        "- [ ] @a:",
        "#",
        "(by ",
        "和@",
        "［",
        "@a" + "\u0301" * 50,
        "# ",
    ],
)
def test_a_line_of_a_megabyte_is_read_at_once(unit: str) -> None:
    """No line, however hostile, takes more than linear time."""
    line = unit * (1_000_000 // len(unit))
    start = time.monotonic()
    page = read_project_status(f"## Requests\n{line}\n- [ ] @a: {line}\n- [ ] {line}: x\n")
    mentions(changed_lines("", line), ["a", "macro"])
    assert time.monotonic() - start < 10
    assert page.requests == ()


def test_the_earliest_instant_is_not_a_surprise() -> None:
    """A duration in a deadline counts from when the line was first read."""
    found = read_deadline("2h", intake_ms=1_772_951_400_000, zone=datetime.UTC)
    assert found.at_ms is not None
    assert iso(found.at_ms) == "2026-03-08T08:30:00Z"
