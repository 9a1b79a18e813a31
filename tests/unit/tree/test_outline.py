"""What a reader sees of a page: comments are gone, code is known, sections have their headings."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ackd.tree.outline import conflict_line, is_list_item, sections, seen

markdown = st.text(st.sampled_from(list("<!--> `~#=-\n\n\n ab油")), max_size=80)


def texts(*lines: str) -> list[str]:
    """Give what is seen of lines, code left out."""
    return [line.text for line in seen(lines)[0] if not line.code]


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        (["a <!-- b --> c"], ["a  c"]),
        (["a <!-- b", "c", "d --> e"], ["a ", "", " e"]),
        (["<!--> a <!---> b"], [" a  b"]),
        (["<!-- a <!-- b --> c -->"], [" c -->"]),
        (["`<!--` a <!-- b -->"], ["`<!--` a "]),
        (["``a ` <!-- ``` `` b <!-- c -->"], ["``a ` <!-- ``` `` b "]),
        (["` a <!-- b -->"], ["` a "]),
        (["--> a"], ["--> a"]),
    ],
)
def test_comments_are_left_out(lines: list[str], expected: list[str]) -> None:
    """A comment hides what stands in it and nothing else; in a code span it is none."""
    assert texts(*lines) == expected
    assert seen(lines)[1] == []


def test_code_is_told_from_text() -> None:
    """Fences hold until one of their kind, as long at least; comments are none in them, nor they in comments."""
    lines = ["````md", "<!-- a", "```", "````", "b", "  ~~~", "```", "~~~~", "<!--", "```", "-->", "c", "```x``` d"]
    assert texts(*lines) == ["b", "", "", "", "c", "```x``` d"]
    assert seen(lines)[1] == []


@pytest.mark.parametrize("line", ["<!-- a", "a <!-- b", "```", "~~~~"])
def test_what_has_no_end_is_told(line: str) -> None:
    """An open comment or fence hides the rest of the page, so its first line is told."""
    lines, findings = seen(["above", line, "below"], 5)
    assert [finding.line for finding in findings] == [6]
    assert lines[2].code or not lines[2].text


def test_sections() -> None:
    """Headings of both kinds cut the page, and nothing in a code block does."""
    page = "\n".join(
        [
            "intro",
            "",
            "# One #",
            "a",
            "```",
            "# no",
            "```",
            "##请求",
            "b",
            "",
            "**Two**",
            "---",
            "c",
            "- d",
            "---",
            "#tag",
        ]
    )
    found = sections(seen(page.split("\n"), 10)[0])
    assert [(one.title, one.level, one.line, one.text) for one in found] == [
        ("", 0, 10, "intro\n"[:-1]),
        ("One", 1, 12, "a\n```\n# no\n```"),
        ("请求", 2, 17, "b"),
        ("Two", 2, 20, "c\n- d\n---\n#tag"),
    ]


@pytest.mark.parametrize(
    "text", ["a\n===", "a\nb\n===", "- a\n---", "| a |\n---", "#######  a", "    # a", "# ", "###", "a\n="]
)
def test_headings_are_certain(text: str) -> None:
    """A line is a heading only where every reader takes it for one."""
    found = [(one.title, one.level) for one in sections(seen(text.split("\n"))[0])[1:]]
    assert found == {"a\n===": [("a", 1)], "# ": [("", 1)], "###": [("", 3)]}.get(text, [])


@pytest.mark.parametrize(
    ("line", "is_one"),
    [
        ("<<<<<<< HEAD", True),
        (">>>>>>> theirs", True),
        ("||||||| base", True),
        ("<<<<<<<", True),
        ("=======", False),
        ("<<<<<<<< eight", False),
        (" <<<<<<< HEAD", False),
        ("<<<<<<<x", False),
    ],
)
def test_conflict_markers(line: str, is_one: bool) -> None:
    """Seven of a sign at the beginning of a line tell a conflict; an underline does not."""
    assert conflict_line(["a", line], 3) == (4 if is_one else None)


def test_list_items() -> None:
    """Bullets and numbers begin an item."""
    assert all(is_list_item(text) for text in ["- a", "* a", "+ a", "  1. a", "12) a", "-", "\t- a"])
    assert not any(is_list_item(text) for text in ["-a", "a", "**a**", "1234567890. a", "", "1.a"])


@given(markdown)
def test_any_page_keeps_its_lines(text: str) -> None:
    """Nothing raises; each line stands in one section or is a heading, with its number."""
    lines = text.split("\n")
    visible, _ = seen(lines)
    assert [line.number for line in visible] == list(range(1, len(lines) + 1))
    found = sections(visible)
    numbers = [line.number for one in found for line in one.lines]
    assert numbers == sorted(set(numbers))
    assert found[0].level == 0
    assert all(one.line not in numbers for one in found[1:])
