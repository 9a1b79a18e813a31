"""Front matter: what people write is read as it stands, everything else is told with its line."""

from __future__ import annotations

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from ackd.tree.front_matter import (
    MOST_FINDINGS,
    Finding,
    FrontMatter,
    iso_day,
    listed,
    read_front_matter,
    split_lines,
    write_front_matter,
)

any_text = st.text(st.characters(exclude_categories=["Cs"]), max_size=80)
yamlish = st.text(st.sampled_from(list("---\n\r\n: #\"'[],\\ab油@`{&*!|>%?\t~.")), max_size=80)


def read(*lines: str) -> FrontMatter:
    """Read lines as front matter."""
    return read_front_matter("\n".join(["---", *lines, "---", ""]))


def test_keys_have_values_and_lines() -> None:
    """Each key is read as text, whatever YAML would make of it, and its line is kept."""
    front = read_front_matter(
        "---\nupdated: 2026-03-08\nphase: 上线前 # soon\n\nweek: 12\nflag: no\nempty:\n---\n# Title\n"
    )
    assert front.values == {"updated": "2026-03-08", "phase": "上线前", "week": "12", "flag": "no", "empty": None}
    assert front.lines == {"updated": 2, "phase": 3, "week": 5, "flag": 6, "empty": 7}
    assert front.body == ("# Title", "")
    assert front.body_line == 9
    assert front.findings == ()


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("bom", ["", "\ufeff"])
def test_line_ends_and_bom_change_nothing(end: str, bom: str) -> None:
    """Every way of ending lines gives the same values and the same line numbers."""
    front = read_front_matter(bom + end.join(["---", "phase: a", "health: red", "---", "body"]))
    assert front.values == {"phase": "a", "health": "red"}
    assert front.lines == {"phase": 2, "health": 3}
    assert front.body == ("body",)


def test_lines_are_those_of_an_editor() -> None:
    """Other separators of Unicode end no line."""
    assert split_lines("a\u2028b\x0bc\x85d\ne") == ["a\u2028b\x0bc\x85d", "e"]


def test_no_end_of_the_last_line() -> None:
    """Front matter may be the whole file, without a line end after it."""
    front = read_front_matter("---\nphase: a\n---")
    assert front.values == {"phase": "a"}
    assert front.body == ()


@pytest.mark.parametrize(
    ("line", "value"),
    [
        ('a: "x: # y"', "x: # y"),
        ("a: 'it''s'  # really", "it's"),
        (r'a: "\u6cb9\n\"\\"', '油\n"\\'),
        ("a: []", ()),
        ("a: [x, 'y, z', \"油\",  w w ]", ("x", "y, z", "油", "w w")),
        ("a: [x,]", ("x",)),
        ("a: ~", None),
        ("a: null", None),
        ("a: # nothing", None),
        ("a: -1", "-1"),
        ("a: x#y", "x#y"),
        ("a:\t12:30", "12:30"),
        ("a : b", "b"),
    ],
)
def test_values(line: str, value: str | tuple[str, ...] | None) -> None:
    """Quotes, lists, comments and empty values are read."""
    front = read(line)
    assert front.findings == ()
    assert front.values == {"a": value}


def test_a_list_with_one_item_a_line() -> None:
    """Items below a key are its list, indented or not, up to the next key."""
    front = read("makers:", "  - macro", "- '交易'", "", "# remark", "  -", "informed: zoe")
    assert front.values == {"makers": ("macro", "交易", ""), "informed": "zoe"}
    assert front.texts_of("makers") == ("macro", "交易", "")
    assert front.texts_of("informed") == ("zoe",)
    assert front.texts_of("nobody") == ()
    assert front.findings == ()


@pytest.mark.parametrize(
    "line",
    [
        "a: {x: 1}",
        "a: &anchor x",
        "a: *alias",
        "a: !!python/object x",
        "a: |",
        "a: >-",
        'a: "open',
        "a: 'x' y",
        r'a: "\q"',
        r'a: "\ud800"',
        "a: [x, [y]]",
        "a: [x",
        "a: [x] y",
        "a: [, x]",
        "a: [b: c]",
        "a: - x",
        "  a: indented",
        "just words",
        "a:x",
        "phase：上线",
        "- item of nothing",
        "a" * 9000 + ": x",
    ],
)
def test_anything_else_is_a_finding_with_its_line(line: str) -> None:
    """What is outside the subset is told where it stands, and the keys around it are read."""
    front = read("first: 1", line, "last: 2")
    assert [finding.line for finding in front.findings] == [3]
    assert front.findings[0].what
    assert front.findings[0].expected
    assert front.values == {"first": "1", "last": "2"}


@pytest.mark.parametrize(("line", "value"), [("a: @wen", "@wen"), ("a: plan: week 2", "plan: week 2"), ("a: b:", "b:")])
def test_what_is_certain_is_read_and_told(line: str, value: str) -> None:
    """A value that other readers refuse, but whose meaning is certain, is read with a finding."""
    front = read(line)
    assert front.values == {"a": value}
    assert [finding.line for finding in front.findings] == [2]


def test_a_key_twice() -> None:
    """The first of two equal keys counts, and the second is told."""
    front = read("a: 1", "a: 2")
    assert front.values == {"a": "1"}
    assert [finding.line for finding in front.findings] == [3]


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("", []),
        ("# Title\n---\n", []),
        ("---\n\nA page that begins with a rule\n", []),
        ("---\nphase: a\nno end\n", [1]),
        ("\n---\nphase: a\n---\n", [1]),
    ],
)
def test_a_file_without_front_matter_is_all_body(text: str, lines: list[int]) -> None:
    """No front matter is fine; one without its end, or below blank lines, is told."""
    front = read_front_matter(text)
    assert front.values == {}
    assert "\n".join(front.body) == text
    assert front.body_line == 1
    assert [finding.line for finding in front.findings] == lines


def test_findings_are_capped() -> None:
    """Of ten thousand findings some are listed, and the last says how many more there are."""
    found = listed([Finding(number, "x", "y") for number in range(1, 10_001)])
    assert len(found) == MOST_FINDINGS
    assert str(10_001 - MOST_FINDINGS) in found[-1].what
    assert found[-1].line == MOST_FINDINGS


@given(any_text | yamlish | yamlish.map(lambda text: f"---\n{text}\n---\n{text}"))
def test_any_text_is_read(text: str) -> None:
    """Nothing raises; every line stands in the front matter or in the body."""
    front = read_front_matter(text)
    lines = split_lines(text)
    assert list(front.body) == lines[front.body_line - 1 :]
    assert all(1 <= finding.line <= len(lines) for finding in front.findings)


@given(st.dictionaries(st.sampled_from(["status", "date", "decision-makers", "ack_id"]), any_text | st.lists(any_text)))
def test_what_is_written_is_read_back(values: dict[str, str | list[str]]) -> None:
    """Written front matter reads back as given, here and in a YAML library that knows no types."""
    text = write_front_matter(values.items())
    front = read_front_matter(text + "\n\n# Title\n")
    assert front.findings == ()
    expected = {key: tuple(value) if isinstance(value, list) else value for key, value in values.items()}
    assert front.values == expected
    loaded = yaml.load(text.removesuffix("---"), Loader=yaml.BaseLoader) or {}  # noqa: S506 -- BaseLoader makes only texts
    assert {key: tuple(value) if isinstance(value, list) else value for key, value in loaded.items()} == expected


def test_long_lists_and_texts_are_read_back() -> None:
    """A long list stands in many lines, and a text is cut so that its line is read."""
    names = [f"代理-{number}" for number in range(200)]
    front = read_front_matter(write_front_matter([("informed", names), ("note", "\U000e0001" * 5_000)]))
    assert front.findings == ()
    assert front.values == {"informed": tuple(names), "note": "\U000e0001" * 700}


@pytest.mark.parametrize(
    ("written", "day"),
    [
        ("2026-03-08", "2026-03-08"),
        (" 2026/3/8 ", "2026-03-08"),
        ("2026.03.8", "2026-03-08"),
        ("2026年3月8日", "2026-03-08"),
        ("２０２６－０３－０８", "2026-03-08"),
        ("2026-02-30", None),
        ("2026-03/08", None),
        ("3月8日", None),
        ("2026-03-08 14:00", None),
        ("20260308", None),
        ("", None),
        ("2026-03-08" + " " * 100, None),
        ("２０２６年٣月8日", None),
    ],
)
def test_days(written: str, day: str | None) -> None:
    """A day is read in the forms that cannot be taken for another day."""
    assert iso_day(written) == day
