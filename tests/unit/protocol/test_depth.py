"""However oddly a depth is written, there is a limit."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ackd.protocol.depth import Depth, parse_depth

TAKEN = [
    ("1/5", 1, 5),
    ("4/5", 4, 5),
    ("5/5", 5, 5),
    ("2/3", 2, 3),
    (" 1 / 5 ", 1, 5),
    ("1／5", 1, 5),
    ("１/５", 1, 5),
    ("01/05", 1, 5),
    ("1 of 5", 1, 5),
    ("1/5 (first hop)", 1, 5),
    ("1/5（第一跳）", 1, 5),
    ("2/5 handed on by macro", 2, 5),
    ("Depth: 3/5", 3, 5),
    ({"current": 2, "max": 5}, 2, 5),
    ({"current": "2", "max": "５"}, 2, 5),
    ({"current": 2.0, "max": 5}, 2, 5),
    ({"current": 2, "max": 5, "by": "zoe"}, 2, 5),
    (None, 1, 5),
    ("", 1, 5),
    ("  ", 1, 5),
    ({}, 1, 5),
]

FLAGGED = [
    ("0/5", 1, 5, "first hop"),
    ("1/500", 1, 5, "team's of 5"),
    ("4/10", 4, 5, "team's of 5"),
    ("6/5", 6, 5, "beyond"),
    ("6/500", 6, 5, "beyond"),
    ("5/1", 5, 1, "beyond"),
    ("3", 3, 5, "no maximum"),
    (3, 3, 5, "no maximum"),
    ({"current": 4}, 4, 5, "no maximum"),
    ({"current": 4, "max": None}, 4, 5, "no maximum"),
    ({"current": 1, "max": 999_999_999}, 1, 5, "team's of 5"),
]

REJECTED = [
    "-1/5",
    "1/0",
    "1/-5",
    "一/五",
    "five",
    "1.0/5",
    "1/5.5",
    "1/5/9",
    "1/5 9",
    "1/5x",
    "∞",
    "1/∞",
    "none",
    "unlimited",
    "1/9999999999",
    "1²/5",
    "१/५",
    "1" * 10_000,
    "1/5" + " " * 300,
    -1,
    1.5,
    1e300,
    float("nan"),
    float("inf"),
    10**5000,
    True,
    False,
    [],
    [1, 5],
    {"max": 5},
    {"current": True, "max": 5},
    {"current": 1, "max": False},
    {"current": 1, "max": "many"},
    {"current": 1, "max": 0},
    {"current": -1},
    {"current": {}, "max": []},
]


@pytest.mark.parametrize(("written", "current", "maximum"), TAKEN)
def test_a_readable_depth_is_taken_as_it_stands(written: object, current: int, maximum: int) -> None:
    """Blanks, wide characters, leading zeros and words behind it change nothing; missing is the first hop."""
    assert parse_depth(written) == Depth(current, maximum)


@pytest.mark.parametrize(("written", "current", "maximum", "note"), FLAGGED)
def test_what_is_taken_otherwise_than_written_says_so(written: object, current: int, maximum: int, note: str) -> None:
    """An inflated or missing maximum gives way to the team's, and what is beyond the limit stays beyond."""
    depth = parse_depth(written)
    assert (depth.current, depth.max, depth.reason) == (current, maximum, "")
    assert note in depth.note


@pytest.mark.parametrize("written", REJECTED, ids=range(len(REJECTED)))
def test_what_cannot_be_read_is_rejected_with_a_reason(written: Any) -> None:
    """Unreadable never means unlimited: nothing is passed on with it."""
    depth = parse_depth(written)
    assert depth.reason
    assert depth.is_beyond
    assert depth.is_last


def test_the_limit_is_compared_not_equalled() -> None:
    """At the limit the receiver must answer; beyond it the message itself is one too many."""
    assert not parse_depth("4/5").is_last
    assert parse_depth("5/5").is_last
    assert not parse_depth("5/5").is_beyond
    assert parse_depth("6/5").is_beyond
    assert parse_depth("5/1").is_beyond


def test_the_team_sets_the_maximum() -> None:
    """Another limit than five holds everywhere."""
    assert parse_depth(None, limit=3) == Depth(1, 3)
    assert parse_depth("1/5", limit=3).max == 3
    assert parse_depth("4/5", limit=3).is_beyond
    assert parse_depth("7/8", limit=8) == Depth(7, 8)


@given(
    st.recursive(
        st.none()
        | st.booleans()
        | st.integers()
        | st.floats()
        | st.text(alphabet="0123456789/-. of１／五d(", max_size=20),
        lambda inner: st.lists(inner) | st.dictionaries(st.sampled_from(["current", "max", "x"]), inner),
        max_leaves=5,
    ),
    st.integers(1, 20),
)
def test_any_value_ends_in_a_limit(written: object, limit: int) -> None:
    """No value raises, and none lifts the team's maximum."""
    depth = parse_depth(written, limit=limit)
    assert depth.current >= 1
    assert 1 <= depth.max <= limit
