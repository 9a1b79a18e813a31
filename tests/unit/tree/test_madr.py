"""Decision records: written the same everywhere, safe whatever agents say, and read back with what is missing."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from ackd.schema import accepts
from ackd.tree.decision import STATUS_WORDS, Decision, Option, parse_status, read_decision
from ackd.tree.madr import Origin, decision_record, read_record, record_path, split_record_name
from ackd.tree.markdown import inline

PARSER = MarkdownIt("commonmark")

ORIGIN = Origin(
    ack_id="ashare-week-v1",
    dri="trading",
    day="2026-03-08",
    page="roundtable/ashare week/THREAD.md",
    conclusion="Cut exposure to 40 %\nfrom Monday",
    action="Next week's A-share strategy",
    requester="zoe",
    consulted=("macro", "宏观"),
)

DECISION = {
    "title": "Cut exposure to 40 %",
    "context": "Oil rose by 9 %.\nThe open will be weak.\n\n油价上涨。",
    "drivers": "drawdown below 5 %",
    "options": ["Hold", {"name": "Cut to 40 %", "good": ["it limits the loss"], "bad": "it misses a rebound"}],
    "chosen": "Cut to 40 %",
    "because": "the loss is limited",
    "consequences": ["Orders go out on Monday"],
    "supersedes": "ashare-week-v0",
    "informed": ["zoe"],
}

RECORD = """---
status: accepted
date: 2026-03-08
decision-makers: [trading]
consulted: [macro, 宏观]
informed: [zoe]
ack_id: ashare-week-v1
dri: trading
---

# Cut exposure to 40 %

## Context and Problem Statement

Oil rose by 9 %.\\
The open will be weak.

油价上涨。

## Decision Drivers

* drawdown below 5 %

## Considered Options

* Hold
* Cut to 40 %

## Decision Outcome

Chosen option: "Cut to 40 %", because the loss is limited

Cut exposure to 40 %\\
from Monday

### Consequences

* Orders go out on Monday

## Pros and Cons of the Options

### Cut to 40 %

* Good, because it limits the loss
* Bad, because it misses a rebound

## More Information

* Thread: [`ashare-week-v1`](../roundtable/ashare%20week/THREAD.md), asked by zoe; final by trading, success
* Supersedes ashare-week-v0
"""


def test_the_record_of_a_decision() -> None:
    """The record has the sections of MADR, the names of the thread and the way to its page."""
    decision = read_decision(DECISION)
    assert decision is not None
    assert decision.notes == ()
    assert decision_record(decision, ORIGIN) == RECORD


def test_the_record_reads_back() -> None:
    """What was written is read again, fits the schema and lacks nothing."""
    record = read_record(RECORD)
    assert record.findings == ()
    assert accepts("decision", record.front)
    assert (record.title, record.status, record.date) == ("Cut exposure to 40 %", "accepted", "2026-03-08")
    assert (record.decision_makers, record.consulted, record.informed) == (("trading",), ("macro", "宏观"), ("zoe",))
    assert (record.ack_id, record.dri) == ("ashare-week-v1", "trading")
    assert record.options == ("Hold", "Cut to 40 %")
    assert record.lines["ack_id"] == 7


def test_a_bare_decision_is_a_whole_record() -> None:
    """A title alone gives a record that lacks no section; the thread says the rest."""
    decision = read_decision("减仓到四成")
    assert decision is not None
    record = read_record(decision_record(decision, ORIGIN))
    assert record.findings == ()
    assert record.title == "减仓到四成"
    assert "Next week's A-share strategy" in [section.text for section in record.sections]


def test_a_decision_without_a_title_is_called_by_its_conclusion() -> None:
    """Where no title stands, the conclusion is the title, else what was asked, else the thread."""
    for origin, title in [
        (ORIGIN, "Cut exposure to 40 % from Monday"),
        (Origin(ack_id="a", dri="b", day="2026-03-08", page="p", action="Ask"), "Ask"),
        (Origin(ack_id="oil-v1", dri="b", day="2026-03-08", page="p"), "oil-v1"),
    ]:
        record = read_record(decision_record(Decision(), origin))
        assert record.title == title
        assert record.findings == ()


@pytest.mark.parametrize(
    ("final", "said", "status"),
    [
        ("success", "", "accepted"),
        ("partial_success", "", "accepted"),
        ("rejected", "", "rejected"),
        ("failed", "", "rejected"),
        ("cancelled", "", "rejected"),
        ("success", "Proposed", "proposed"),
    ],
)
def test_status(final: str, said: str, status: str) -> None:
    """The decision's own status counts, else that of the final."""
    decision = read_decision({"title": "x", "status": said})
    assert decision is not None
    origin = Origin(ack_id="a", dri="b", day="2026-03-08", page="p", final_status=final)
    assert read_record(decision_record(decision, origin)).status == status


def test_superseded() -> None:
    """A record whose place another took says so in its status and links to it; the other links back."""
    origin = Origin(
        ack_id="oil-v1",
        dri="b",
        day="2026-03-08",
        page="p",
        superseded_by="20260401-oil-v2",
        supersedes="20260101-oil-v0",
    )
    text = decision_record(Decision(title="x", supersedes="oil-v0"), origin)
    record = read_record(text)
    assert (record.status, record.superseded_by) == ("superseded", "20260401-oil-v2")
    assert accepts("decision", record.front)
    assert "* Superseded by [`20260401-oil-v2`](20260401-oil-v2.md)" in text
    assert "* Supersedes [`20260101-oil-v0`](20260101-oil-v0.md)" in text


@pytest.mark.parametrize("value", [None, "", "  ", [], {}, 1, True, ["x"]])
def test_no_decision(value: object) -> None:
    """A final without a decision makes no record."""
    assert read_decision(value) is None


def test_what_is_no_form_of_a_decision_is_noted() -> None:
    """Keys of another kind are left out with a sentence each; the rest stands."""
    decision = read_decision(
        {"title": ["x"], "options": ["a", 1, {"good": "b"}], "drivers": {"a": 1}, "status": "maybe", "consulted": [1]}
    )
    assert decision is not None
    assert decision.options == (Option("a"),)
    assert (decision.title, decision.drivers, decision.status, decision.consulted) == ("", (), "", ())
    assert len(decision.notes) == 5


def test_other_spellings_of_the_options() -> None:
    """Options are taken under the names that people use for them."""
    for key in ("options", "options_considered", "considered_options"):
        decision = read_decision({key: [{"title": "a", "pros": ["p"], "cons": ["c"]}, {"option": "b"}]})
        assert decision is not None
        assert decision.options == (Option("a", ("p",), ("c",)), Option("b"))
        assert decision.notes == ()


def test_too_much_is_capped() -> None:
    """A decision of megabytes makes a record of a bounded size, and the cut is noted."""
    decision = read_decision({"title": "t" * 10**6, "context": "x\n" * 10**6, "options": ["o" * 10**4] * 10**4})
    assert decision is not None
    assert decision.notes
    text = decision_record(decision, ORIGIN)
    assert len(text) < 100_000
    assert read_record(text).findings == ()


def test_paths() -> None:
    """The record's name has the day and the thread, and is taken apart again; other names are left alone."""
    assert record_path("2026-03-08", "周报-v1~1a2b") == "decisions/20260308-周报-v1~1a2b.md"
    assert split_record_name("20260308-周报-v1~1a2b.md") == ("2026-03-08", "周报-v1~1a2b")
    for name in ("0001-use-git.md", "20260230-x.md", "20260308-.md", "20260308-x.txt", "20260308.md", ""):
        assert split_record_name(name) is None


@pytest.mark.parametrize(
    ("written", "status"),
    [
        ("accepted", ("accepted", "")),
        (" Accepted ", ("accepted", "")),
        ("superseded by ADR-0007", ("superseded", "ADR-0007")),
        ("Superseded  by 20260401-油价", ("superseded", "20260401-油价")),
        ("superseded by ", ("", "")),
        ("superseded", ("", "")),
        ("done", ("", "")),
        ("", ("", "")),
    ],
)
def test_status_words(written: str, status: tuple[str, str]) -> None:
    """The words of MADR are read, and the name behind `superseded by`."""
    assert parse_status(written) == status


HAND_WRITTEN = """# 1. Use git

## 背景

We need a carrier.

## Options

- git
  - it is there
* NATS

## Decision

### In short

git.
"""


def test_a_record_written_by_hand() -> None:
    """Front matter may be missing, and titles may be those that people know, in Chinese too."""
    record = read_record(HAND_WRITTEN)
    assert record.findings == ()
    assert (record.title, record.options, record.front) == ("1. Use git", ("git", "NATS"), {})


@pytest.mark.parametrize(
    ("old", "new", "line"),
    [
        ("# 1. Use git", "Use git", 1),
        ("# 1. Use git", "#", 1),
        ("## 背景\n", "## Story\n", 1),
        ("We need a carrier.", "<!-- why -->", 3),
        ("## Options", "## Pros and Cons of the Options", 1),
        ("### In short\n\ngit.\n", "", 13),
        ("# 1. Use git", "---\nstatus: {x}\n---\n# A", 2),
        ("git.", "```\ngit.", 17),
        ("git.", "<<<<<<< HEAD\ngit.", 17),
    ],
)
def test_what_a_record_lacks_is_told_with_its_line(old: str, new: str, line: int) -> None:
    """A missing title, a missing or empty section, front matter and fences that cannot be read: each has its line."""
    found = read_record(HAND_WRITTEN.replace(old, new, 1)).findings
    assert [finding.line for finding in found] == [line]
    assert found[0].what
    assert found[0].expected


def test_names_in_one_text() -> None:
    """Names written as one text are names all the same."""
    record = read_record("---\ndecision-makers: wen, 交易、macro\nconsulted:\n  - zoe\n---\n")
    assert record.decision_makers == ("wen", "交易", "macro")
    assert record.consulted == ("zoe",)
    assert record.front == {"decision-makers": "wen, 交易、macro", "consulted": ["zoe"]}


any_text = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)
markup = st.text(st.sampled_from(list("\\`*_[]()<>&|~$#!{}@:/.-+=1 )w\n\r\tx油")), max_size=40)
said = any_text | markup
json_value = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | said,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["name", "good", "cons"]) | said, inner, max_size=3)
    ),
    max_leaves=6,
)
KEYS = [
    "title",
    "context",
    "drivers",
    "options",
    "chosen",
    "because",
    "consequences",
    "status",
    "supersedes",
    "consulted",
]
decision_value = said | st.dictionaries(
    st.sampled_from(KEYS), said | st.lists(said, max_size=3) | json_value, max_size=8
)
name = st.text(st.sampled_from(list("ab1油_.-")), min_size=1, max_size=12).map(lambda text: "n" + text)


@given(decision_value, name, name, said, st.sampled_from(["success", "failed"]))
def test_any_decision_makes_a_whole_record(value: object, ack_id: str, dri: str, text: str, status: str) -> None:
    """Whatever an agent says: the record reads back with its thread and its DRI, lacks nothing, and fits the schema."""
    decision = read_decision(value)
    if decision is None:
        return
    origin = Origin(
        ack_id=ack_id, dri=dri, day="2026-03-08", page="roundtable/a/THREAD.md", conclusion=text, final_status=status
    )
    page = decision_record(decision, origin)
    assert page == decision_record(decision, origin)
    record = read_record(page)
    assert record.findings == ()
    assert record.title
    assert (record.ack_id, record.dri, record.decision_makers, record.date) == (ack_id, dri, (dri,), "2026-03-08")
    assert record.status in STATUS_WORDS
    assert len(record.options) == max(1, sum(bool(inline(option.name, 500)) for option in decision.options))
    assert accepts("decision", record.front)


@given(decision_value, said)
def test_nothing_that_agents_say_is_live(value: object, text: str) -> None:
    """No HTML, image or heading comes out of a decision, and no link but that to the thread."""
    decision = read_decision(value) or Decision()
    page = decision_record(
        decision, Origin(ack_id="a", dri="b", day="2026-03-08", page="p", conclusion=text, action=text)
    )
    tokens = PARSER.parse(page.split("\n---\n", 1)[1])
    allowed = {"heading", "paragraph", "bullet_list", "list_item"}
    assert {token.type.removesuffix("_open").removesuffix("_close") for token in tokens} <= {*allowed, "inline"}
    assert sum(token.type == "heading_open" and token.tag in ("h1", "h2") for token in tokens) <= 7
    children = [child for token in tokens for child in token.children or ()]
    assert {child.type for child in children} <= {
        "text",
        "text_special",
        "code_inline",
        "hardbreak",
        "softbreak",
        "link_open",
        "link_close",
    }
    assert sum(child.type == "link_open" for child in children) == 1


@given(said | said.map(lambda text: f"---\n{text}\n---\n# {text}\n## Options\n* {text}\n") | st.just(RECORD))
def test_any_record_is_read(text: str) -> None:
    """Nothing raises, and every finding has a line of the file."""
    record = read_record(text)
    count = len(text.replace("\r\n", "\n").replace("\r", "\n").split("\n"))
    assert all(1 <= finding.line <= count for finding in record.findings)
