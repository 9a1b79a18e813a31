"""Escaping for pages, held against a CommonMark parser: agents' text stays text."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from markdown_it.token import Token

from ackd.tree.markdown import block, code, inline, link, table, visible

PARSER = MarkdownIt("commonmark").enable(["table", "strikethrough"])

HOSTILE = [
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "&lt;b&gt; &#64;zoe &amp;",
    "[click](https://evil.example)",
    "![pixel](https://evil.example/x.png)",
    "[ref]: https://evil.example",
    "<https://evil.example>",
    "https://evil.example www.evil.example ftp://evil.example",
    "@zoe, mail zoe@example.org",
    "**bold** _em_ __strong__ ~~gone~~ ***",
    "`code` ``more``",
    "a | b \\| c",
    "# heading",
    "- item",
    "+ item",
    "* item",
    "1. one",
    "12) twelve",
    "> quote",
    "```\nfence",
    "~~~",
    "---",
    "===",
    "trailing \\",
    "$x^2$ and $$y$$",
    "{{ site.secret }} {% raw %}",
    "- [x] done",
    "snake_case_name and _lead trail_",
    "油价上涨百分之九，减仓",
    "\\",
    "`",
    "__",
    "*",
]

any_text = st.text(st.characters(exclude_categories=["Cs"]), max_size=60)
markup = st.text(st.sampled_from(list("\\`*_[]()<>&|~$#!{}@:/.-+=1 )w\n\tx油")), max_size=40)


def pieces(tokens: list[Token] | None) -> list[Token]:
    """Give the parts of the one inline token."""
    found = [token for token in tokens or () if token.type == "inline"]
    assert len(found) <= 1
    return (found[0].children or []) if found else []


def reads(children: list[Token]) -> str:
    """Give what a reader sees, and hold that nothing but text and code is there."""
    assert {token.type for token in children} <= {"text", "text_special", "code_inline"}
    return "".join(token.content for token in children)


def holds_nothing_live(children: list[Token]) -> None:
    """No text that is left outside code is a mention or an address for a git host."""
    for token in children:
        if token.type != "code_inline":
            assert "@" not in token.content
            assert "://" not in token.content
            assert not re.search(r"www\.", token.content, re.IGNORECASE)


def one_line(text: str) -> str:
    """Give what a line should read as."""
    return visible(re.sub(r"[ \t\r\n]+", " ", text).strip())


@pytest.mark.parametrize("text", HOSTILE)
@pytest.mark.parametrize("frame", ["{}", "# {}", "- {}", "1. {}", "words {} words", "**x** {}"])
def test_hostile_text_is_text(text: str, frame: str) -> None:
    """Markup of every sort shows as it was written, in a paragraph, a heading and a list."""
    children = pieces(PARSER.parse(frame.format(inline(text, 500))))
    kept = [token for token in children if token.type not in ("strong_open", "strong_close")]
    assert one_line(text).strip() in reads(kept)
    holds_nothing_live(children)


@given(any_text | markup)
def test_any_text_reads_as_written(text: str) -> None:
    """Whatever the text: one paragraph of text and code, which reads as the text does."""
    shown = inline(text, 1000)
    assert "\n" not in shown
    tokens = PARSER.parse(shown)
    children = pieces(tokens)
    assert {token.type for token in tokens} <= {"paragraph_open", "inline", "paragraph_close"}
    assert reads(children).strip() == one_line(text).strip()
    holds_nothing_live(children)


@given(st.lists(any_text | markup, min_size=3, max_size=3))
def test_a_cell_stays_in_its_cell(texts: list[str]) -> None:
    """No text breaks out of a table's cell."""
    page = table(["a", "b", "c"], [[inline(text, 200) for text in texts], ["1", "2", "3"]])
    tokens = PARSER.parse(page)
    assert [token.type for token in tokens].count("td_open") == 6
    assert tokens[-1].type == "table_close"


@given(st.lists(any_text | markup | st.sampled_from(["```", "````\n", "~~~", "\r\n", "   ```"]), max_size=6))
def test_a_block_cannot_be_closed_from_inside(parts: list[str]) -> None:
    """A block is one fence whatever stands in it, and holds the lines as they are."""
    text = "".join(parts)
    tokens = PARSER.parse(block(text, 10_000))
    assert [token.type for token in tokens] == ["fence"]
    lines = visible(text.replace("\r\n", "\n").replace("\r", "\n").strip("\n"))
    assert tokens[0].content == lines + "\n"


def test_a_block_is_capped() -> None:
    """A long text is cut, and the page says where the whole is."""
    page = block("长" * 50, 10, rest="roundtable/a/final-trading.json")
    assert "长" * 9 + "…" in page
    assert "长" * 10 not in page
    assert page.endswith("(cut after 10 of 50 characters; the whole text is in `roundtable/a/final-trading.json`)")
    assert block("short", 10) == "```text\nshort\n```"


def test_a_line_is_capped() -> None:
    """A long line is cut with an ellipsis."""
    assert inline("x" * 100, 10) == "x" * 9 + "…"
    assert inline("", 10) == ""


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[31mred\x1b[0m", "\\x1b[31mred\\x1b[0m"),
        ("a\u202eb", "a\\u202eb"),
        ("a\u200bb\u2060\ufeff", "a\\u200bb\\u2060\\ufeff"),
        ("\U000e0041", "\\U000e0041"),
        ("\ud800", "\\ud800"),
        ("\u3164", "\\u3164"),
        ("x\ufe0f", "x\\ufe0f"),
        ("nul\x00", "nul\\x00"),
        ("line\u2028end", "line\\u2028end"),
        ("zwj \u200d alone", "zwj \\u200d alone"),
    ],
)
def test_what_cannot_be_seen_is_shown(text: str, shown: str) -> None:
    """Control, bidirectional, zero-width and filler characters are shown as escapes."""
    assert visible(text) == shown


@pytest.mark.parametrize("text", ["油价　上涨", "a\u00a0b", "❤️", "👨‍👩‍👧", "👍🏽", "tab\tand\nline", "naïve"])
def test_what_people_write_stays(text: str) -> None:
    """Chinese spaces, emoji made of several characters, tabs and line breaks stay as they are."""
    assert visible(text) == text


def test_an_id_can_be_copied() -> None:
    """Ids and paths are code spans as they are; what would not be copied whole is escaped text."""
    assert code("oil_v1-202603081430") == "`oil_v1-202603081430`"
    assert code("a`b") == "`` a`b ``"
    assert code("") == "–"
    assert code("a|b") == "a\\|b"
    assert code("a\nb") == "a b"


@given(any_text | markup)
def test_an_id_is_never_markup(text: str) -> None:
    """Whatever stands where an id should stand: text and code."""
    reads(pieces(PARSER.parse(code(text))))


@given(any_text | markup)
def test_a_link_goes_to_its_place_only(target: str) -> None:
    """No path ends the link early; the address is plain ASCII."""
    children = pieces(PARSER.parse(link("`x`", "roundtable/" + target)))
    assert [token.type for token in children] == ["link_open", "code_inline", "link_close"]
    assert str(children[0].attrGet("href")).startswith("roundtable/")


def test_long_texts_are_quick() -> None:
    """A text of 200,000 characters of markup is escaped in no time worth mentioning."""
    for part in ("`", "\\", "*_", "@", "<", "www.", "\u202e", "\n"):
        text = part * (200_000 // len(part))
        assert inline(text, 200_000) or part == "\n"
        assert block(text, 200_000)
