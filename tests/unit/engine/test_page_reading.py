"""The people's page as a team reads it: envelopes for its lines, and what the roster objects to."""

from __future__ import annotations

import zoneinfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ackd.engine.page_reading import MOST_LINES, named_in, read_page
from ackd.engine.validating import check_bytes
from ackd.protocol.envelope import read_envelope
from ackd.protocol.policy import Agent, make_roster
from ackd.resources import template_dir
from ackd.schema import problems
from ackd.tree.outline import Line

ROSTER = make_roster(
    [Agent(name="zoe"), Agent(name="Macro"), Agent(name="宏观"), Agent(name="wen", is_person=True)],
    arbiters=["zoe"],
    groups={"desk": ["Macro", "zoe"]},
)
SHANGHAI = zoneinfo.ZoneInfo("Asia/Shanghai")

REQUESTS = [
    "- [ ] @macro: check the limits (by 2026-03-09)",
    "- [x] @macro, @desk and @宏观: 查一查（2026年3月9日前）",  # full width, and a group
    "- [ ] @宏观: ¡…! ***",
    "- [ ] @macro: " + "很长的请求" * 200,
    "- [ ] @macro: " + "𠮷" * 300,
    "- [ ] @macro: ㅤㅤ fillers ㅤ",
    "- [ ] @macro: CON. (by in 2 hours)",
]
RULINGS = [
    "- week-v1: dri=macro",
    "- week-v1: extend=2h",
    "- 周报-v1: extend=2026-03-09",
    "- week-v1~1a2b: cancel",
    "- week-v1: pick=abc-1",
    "- week-v1: close",
]


def page(requests: list[str], rulings: list[str], by: str = "wen") -> str:
    """Write a page."""
    return "\n".join(["---", f"updated_by: {by}", "---", "## Requests", *requests, "## Rulings", *rulings, ""])


def test_every_line_becomes_an_envelope_that_the_schema_takes() -> None:
    """Long, Chinese, odd and odder ones, each under an ack_id of its own that any machine would give it."""
    reading = read_page(page(REQUESTS, RULINGS), ROSTER, SHANGHAI)
    spoken = [*reading.requests, *reading.rulings]
    assert len(spoken) == len(REQUESTS) + len(RULINGS)
    for one in spoken:
        assert problems("envelope", one.document) == []
        assert read_envelope(one.document).sender == "wen"
    ids = [one.document["ack_id"] for one in reading.requests]
    assert len(set(ids)) == len(ids)
    assert all(len(one) <= 64 for one in ids)
    assert read_page(page(REQUESTS[::-1], RULINGS), ROSTER, SHANGHAI).requests[-1].document == spoken[0].document


def test_a_day_ends_in_the_teams_zone() -> None:
    """For requests and rulings alike; what is no day is left to be read like any deadline."""
    reading = read_page(page(REQUESTS, RULINGS), ROSTER, SHANGHAI)
    assert reading.requests[0].document["deadline"].startswith("2026-03-09T15:59:59")
    assert reading.requests[1].document["deadline"] == reading.requests[0].document["deadline"]
    assert reading.rulings[2].document["deadline"] == reading.requests[0].document["deadline"]
    assert reading.requests[-1].document["deadline"] == "in 2 hours"


@pytest.mark.parametrize(
    ("by", "rulings", "line", "words"),
    [
        ("macro", ["- week-v1: close"], 6, "only a person or an arbiter"),
        ("ghost", [], 2, "wen counts as the author"),
        ("wen", ["- week-v1: dri=ghost"], 6, '"ghost" is not on the roster'),
    ],
)
def test_the_roster_objects_with_the_number_of_the_line(by: str, rulings: list[str], line: int, words: str) -> None:
    """And `ackd validate` says the same."""
    text = page([], rulings, by)
    (finding,) = read_page(text, ROSTER).findings
    assert finding.line == line
    assert words in finding.what
    assert read_page(text, ROSTER).rulings == ()


@pytest.mark.parametrize("written", ["by next week", "by 2026-02-30", "by 13:77 tomorrow", "截止下周五"])
def test_a_deadline_that_cannot_be_read_is_a_finding(written: str) -> None:
    """The request is asked all the same; the finding has its line and says what can be read."""
    reading = read_page(page([REQUESTS[0], f"- [ ] @macro: look at it ({written})"], []), ROSTER, SHANGHAI)
    assert len(reading.requests) == 2
    (finding,) = reading.findings
    assert finding.line == 6
    assert finding.what.startswith("the deadline ")
    assert "2026-03-09 18:00" in finding.expected


@pytest.mark.parametrize("names", ["@wen", "@Wen, @wen"])
def test_a_request_to_oneself_is_said_to_be_one(names: str) -> None:
    """It is not asked, and no chain is spoken of; with somebody else beside it is asked."""
    reading = read_page(page([f"- [ ] {names}: look at it"], []), ROSTER)
    (finding,) = reading.findings
    assert (finding.line, reading.requests) == (5, ())
    assert "a request to oneself is refused" in finding.what
    both = read_page(page([f"- [ ] {names}, @macro: look at it"], []), ROSTER)
    assert (len(both.requests), both.findings) == (1, ())


def test_without_people_an_unsigned_page_speaks_for_nobody() -> None:
    """It says so, once."""
    roster = make_roster([Agent(name="macro")])
    reading = read_page(page(REQUESTS[:1], RULINGS, by=""), roster)
    assert (reading.author, reading.requests, reading.rulings) == ("", (), ())
    assert [one.what for one in reading.findings if "no people" in one.what] != []
    assert len(reading.findings) == 1


def test_conflicts_and_endless_pages_are_one_finding() -> None:
    """Nothing on them counts."""
    for text in (
        page(["<<<<<<< HEAD", *REQUESTS], []),
        page(REQUESTS, []) + "\n".join(f"line {number}" for number in range(MOST_LINES)),
    ):
        reading = read_page(text, ROSTER)
        assert (reading.readable, len(reading.findings), reading.requests) == (False, 1, ())


def test_a_group_names_its_members_but_for_the_author() -> None:
    """Who is named himself is told; `all` means every agent."""
    assert named_in(Line(1, "see @desk"), ROSTER, "zoe") == ("Macro",)
    assert named_in(Line(1, "see @desk, @Zoe"), ROSTER, "zoe") == ("zoe", "Macro")
    assert set(named_in(Line(1, "请@all看"), ROSTER, "wen")) == {"zoe", "Macro", "宏观"}


def test_validate_reads_the_page_with_line_numbers() -> None:
    """Without a roster by its form alone; the template's page has no finding, and its examples are examples."""
    text = page(["- [ ] no name here"], ["- week-v1: perhaps"])
    found = check_bytes(text.encode(), "p", "PROJECT_STATUS.md")
    assert [(one.line, one.kind) for one in found] == [(5, "project-status"), (7, "project-status")]
    assert check_bytes(b"\xff\xfe\0", "p", "PROJECT_STATUS.md")[0].kind == "project-status"
    template = (template_dir() / "PROJECT_STATUS.md").read_text(encoding="utf-8")
    assert read_page(template, ROSTER).findings == ()
    assert read_page(template, ROSTER).requests == ()
    uncommented = read_page(template.replace("<!--", "").replace("-->", ""), ROSTER)
    assert [one.document["to"] for one in uncommented.requests] == [["macro"]]
    assert "not on the roster" in str([one.what for one in uncommented.findings if "trading" in one.what])


@given(st.text(st.sampled_from("-[] x@macrozw:=（）(by 29)\n#Requests裁决~<>`'\"\\\0é\u202e")), st.text())
def test_any_text_is_read(lines: str, more: str) -> None:
    """Nothing is raised, and what comes out is an envelope."""
    for text in (lines + more, page([lines], [more]), page([f"- [ ] @macro: {lines}"], [f"- {more}: close"])):
        reading = read_page(text, ROSTER)
        for one in (*reading.requests, *reading.rulings):
            assert problems("envelope", one.document) == []
