"""Printing: JSON that cannot steer a terminal, text that fits and hides nothing, colour where it is wanted."""

from __future__ import annotations

import io
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ackd.cli.output import as_json, block, cut, has_colour, line, padded, width, wrap


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


@given(st.recursive(st.text() | st.integers(-(2**53), 2**53) | st.none(), st.lists, max_leaves=5))
def test_json_means_the_same_and_shows_nothing_unseen(value: object) -> None:
    """Whatever is printed reads back as it was, and no character in it is one that cannot be seen."""
    text = as_json(value)
    assert json.loads(text) == value
    assert all(one.isprintable() or one in "\u3000\u00a0" for one in text)


def test_json_carries_file_names_that_are_no_utf_8() -> None:
    """A byte that is no UTF-8 in a file name does not end the command."""
    assert json.loads(as_json({"path": "a\udcff.json"}))["path"] == "a\udcff.json"


@pytest.mark.parametrize("hostile", ["\x1b[2J", "a\x9b31m", "a\u202eb", "a\u200bb", "a\x00b", "a\x07b"])
def test_text_from_a_tree_cannot_steer_a_terminal(hostile: str) -> None:
    """Escape sequences, bidirectional and zero-width characters are shown as escapes, in lines and in blocks."""
    for shown in (line(hostile), block(hostile)):
        assert all(one.isprintable() or one == "\n" for one in shown)
        assert "\\u" in shown or "\\x" in shown


def test_a_line_stays_one_line() -> None:
    """No line break of an author can pose as a line of ours."""
    assert line("yes\nfinal by trading\r\nmore") == "yes final by trading more"
    assert all(one.startswith("  ") for one in block("a\rb\nfinal by trading").split("\n"))


@given(st.text(), st.integers(1, 60))
def test_a_cut_line_fits(text: str, room: int) -> None:
    """A cut line takes no more columns than it may; wide characters take two."""
    assert width(cut(text, room)) <= room


@given(st.text(st.characters(categories=("L", "N", "P", "Zs"))), st.integers(4, 60))
def test_wrapping_loses_no_character(text: str, room: int) -> None:
    """Wrapped pieces fit, and hold the text but for blanks."""
    pieces = wrap(text, room)
    assert all(width(one) <= room for one in pieces)
    assert "".join("".join(pieces).split()) == "".join(text.split())


def test_chinese_text_takes_two_columns_a_character() -> None:
    """Columns line up beside Chinese names."""
    assert width(padded("风控", 8)) == 8
    assert wrap("下周策略", 4) == ["下周", "策略"]
    assert cut("下周策略", 5) == "下周…"


@pytest.mark.parametrize(
    ("settings", "is_terminal", "expected"),
    [
        ({}, False, False),
        ({}, True, True),
        ({"TERM": "dumb"}, True, False),
        ({"NO_COLOR": "1"}, True, False),
        ({"NO_COLOR": ""}, True, True),
        ({"FORCE_COLOR": "1"}, False, True),
        ({"CLICOLOR_FORCE": "1"}, False, True),
        ({"FORCE_COLOR": "0"}, False, False),
        ({"NO_COLOR": "1", "FORCE_COLOR": "1"}, True, False),
    ],
)
def test_colour(monkeypatch: pytest.MonkeyPatch, settings: dict[str, str], is_terminal: bool, expected: bool) -> None:
    """A terminal has colour unless it is dumb; NO_COLOR wins over what forces it."""
    for name in ("NO_COLOR", "FORCE_COLOR", "CLICOLOR_FORCE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm")
    for name, value in settings.items():
        monkeypatch.setenv(name, value)
    assert has_colour(Terminal() if is_terminal else io.StringIO()) is expected
