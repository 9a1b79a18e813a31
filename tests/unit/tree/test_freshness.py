"""How old content is by its own words: never by the file, never below zero, and not fooled by the future."""

from __future__ import annotations

import datetime
import json
import math
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ackd.tree.freshness import LASTS_MS, Freshness, freshness, is_step_back, read_lasting, read_stamp

ZONE = ZoneInfo("Asia/Shanghai")
HOUR = 3_600_000
NOW = int(datetime.datetime(2026, 3, 9, 11, 0, tzinfo=ZONE).timestamp() * 1000)
KINDS = ["status", "intel", "agent-session", "monitor-task", "tech-radar", "envelope"]


def judge(kind: str, document: Any, now: int = NOW, **more: int) -> Freshness:
    """Judge in the team's zone."""
    return freshness(kind, document, now, ZONE, **more)


@pytest.mark.parametrize(
    ("kind", "document", "lasts"),
    [
        ("status", {"lease_time": 120}, 120_000),
        ("status", {}, LASTS_MS["status"]),
        ("intel", {"valid_for": "2h"}, 2 * HOUR),
        ("intel", {"valid_for": 90}, 90_000),
        ("intel", {"ttl": "30分钟"}, HOUR // 2),
        ("intel", {}, LASTS_MS["intel"]),
        ("agent-session", {"state": "running"}, 6 * HOUR),
        ("monitor-task", {"state": "running"}, 6 * HOUR),
        ("monitor-task", {"state": "running", "timeout": "PT1H"}, HOUR),
        ("monitor-task", {"state": "running", "timeout": "3600"}, HOUR),
    ],
)
def test_content_holds_for_its_time(kind: str, document: dict[str, Any], lasts: int) -> None:
    """Content is stale when its time to live is over, counted from its stamp: not a moment earlier."""
    document["updated_at"] = "2026-03-09T11:00:00+08:00"
    before, after = judge(kind, document, NOW + lasts - 1), judge(kind, document, NOW + lasts)
    assert (before.is_stale, after.is_stale) == (False, True)
    assert before.as_of_ms == before.claimed_ms == NOW
    assert before.stale_at_ms == NOW + lasts
    assert after.age_ms(NOW + lasts) == lasts
    assert before.note == ""


def test_intelligence_says_from_when_it_is() -> None:
    """`as_of` goes before the time of writing, and an end that is written out before a length."""
    document = {"as_of": "2026-03-09T09:00:00+08:00", "updated_at": "2026-03-09T10:59:00+08:00", "valid_for": "1h"}
    assert judge("intel", document).is_stale
    document["valid_until"] = "2026-03-09 12:00"
    assert judge("intel", document).stale_at_ms == NOW + HOUR
    document["valid_until"] = "soon"
    found = judge("intel", document)
    assert found.stale_at_ms == NOW - HOUR
    assert "soon" in found.note


@pytest.mark.parametrize(
    "written", ["2026-03-09 11:00", 1_773_025_200, "1773025200000", "202603091100", "2026-03-09T03:00:00Z"]
)
def test_stamps_in_many_forms(written: object) -> None:
    """Stamps are read as deadlines are, in the team's zone where they have none."""
    assert judge("status", {"updated_at": written}).as_of_ms == NOW


def test_a_status_from_the_future_does_not_win() -> None:
    """It is flagged and not brand-new; the next status replaces it although its stamp is smaller."""
    future = judge("status", {"updated_at": "2099-01-01T00:00:00+08:00"}, NOW + HOUR, read_ms=NOW)
    assert future.from_future
    assert future.as_of_ms == NOW
    assert future.age_ms(NOW + HOUR) == HOUR
    assert "future" in future.note
    later = judge("status", {"updated_at": "2026-03-09T11:01:00+08:00"}, NOW + HOUR, read_ms=NOW + 60_000)
    assert not later.from_future
    assert later.note == ""
    assert not is_step_back(future, later)


def test_the_future_has_no_age() -> None:
    """Where nobody knows when it was read, a stamp from the future gives no age at all, and no end."""
    found = judge("status", {"updated_at": "2099-01-01T00:00:00+08:00"})
    assert (found.as_of_ms, found.age_ms(NOW), found.stale_at_ms, found.is_stale) == (None, None, None, False)
    assert found.claimed_ms is not None


def test_what_was_from_the_future_stays_so() -> None:
    """A stamp that lay ahead when it was read is not trusted once its time has come."""
    document = {"updated_at": NOW + 10 * 60_000}
    assert judge("status", document, NOW + HOUR, read_ms=NOW).from_future
    assert not judge("status", document, NOW + HOUR, read_ms=NOW + 9 * 60_000).from_future


@pytest.mark.parametrize(("ahead", "flagged"), [(0, False), (60_000, False), (60_001, True)])
def test_a_minute_of_skew_is_nothing(ahead: int, flagged: bool) -> None:
    """Clocks differ: up to a minute ahead is no future, and the age is zero, not less."""
    found = judge("status", {"updated_at": NOW + ahead}, read_ms=NOW)
    assert found.from_future is flagged
    assert found.age_ms(NOW) == 0


def test_older_content_over_newer() -> None:
    """A smaller stamp over a greater one is a step back, unless one of them is unknown or not to be trusted."""
    older, newer = judge("intel", {"updated_at": NOW - HOUR}), judge("intel", {"updated_at": NOW})
    assert is_step_back(newer, older)
    assert not is_step_back(older, newer)
    assert not is_step_back(newer, newer)
    assert not is_step_back(newer, judge("intel", {}))
    assert not is_step_back(judge("intel", {}), older)


@pytest.mark.parametrize("document", [{}, {"updated_at": None}, {"updated_at": ""}])
def test_no_stamp(document: dict[str, Any]) -> None:
    """Content without a stamp is as old as its first reading here, and never stale where that is unknown."""
    known = judge("status", document, NOW + 25 * HOUR, read_ms=NOW)
    assert known.as_of_ms == NOW
    assert known.is_stale
    assert known.note
    assert not judge("status", document).is_stale


@pytest.mark.parametrize(
    "written", ["yesterday", "2h", "in 30 minutes", "2026-02-30T10:00:00Z", True, [], {}, -1, math.nan, 10**400]
)
def test_stamps_that_cannot_be_read(written: object) -> None:
    """What is no instant is told and not guessed at; a length of time is none."""
    found = judge("status", {"updated_at": written})
    assert found.claimed_ms is None
    assert "updated_at" in found.note


def test_the_second_stamp_counts_where_the_first_cannot_be_read() -> None:
    """A session with an odd time of its last word is as old as its beginning."""
    found = judge("agent-session", {"updated_at": "now", "started_at": NOW - HOUR})
    assert found.as_of_ms == NOW - HOUR
    assert "now" in found.note


@pytest.mark.parametrize(
    ("kind", "document"),
    [
        ("agent-session", {"ended_at": "2026-03-08T10:00:00Z"}),
        ("agent-session", {"state": "Done"}),
        ("monitor-task", {"state": "delivered"}),
        ("monitor-task", {"state": "已完成"}),
        ("status", {"availability": "offline"}),
    ],
)
def test_what_is_over_is_never_stale(kind: str, document: dict[str, Any]) -> None:
    """Nobody has to write on about a session or a task that has ended, or while away."""
    found = judge(kind, {**document, "updated_at": "2020-01-01T00:00:00Z"})
    assert (found.stale_at_ms, found.is_stale) == (None, False)
    assert found.age_ms(NOW) is not None


def test_a_task_is_judged_by_its_state() -> None:
    """New progress under the same state does not put off its six hours, where it is known since when it holds."""
    document = {"state": "running", "updated_at": NOW}
    assert judge("monitor-task", document, NOW + HOUR, state_since_ms=NOW - 5 * HOUR).is_stale
    assert not judge("monitor-task", document, NOW + HOUR).is_stale
    assert not judge("status", document, NOW + HOUR, state_since_ms=NOW - 90 * HOUR).is_stale


def test_the_radar_is_stale_only_where_it_was_reviewed() -> None:
    """Without a day of review a radar never ages; else its oldest blip says how old it is."""
    blip = {"name": "x", "ring": "hold", "quadrant": "tools", "isNew": "FALSE"}
    assert judge("tech-radar", [blip]) == Freshness()
    found = judge("tech-radar", [blip, {**blip, "reviewed": "2026-03-01"}, {**blip, "reviewed": "2025/6/1"}])
    assert found.is_stale
    assert "1 blips" in found.note
    assert found.as_of_ms == read_stamp("2025-06-01", ZONE)
    odd = judge("tech-radar", [{**blip, "reviewed": "2099-01-01"}, {**blip, "reviewed": "once"}, "blip", 7])
    assert (odd.from_future, odd.is_stale, odd.as_of_ms) == (True, False, None)
    assert len(odd.note.split("; ")) == 2


@pytest.mark.parametrize(
    ("written", "lasts"),
    [
        (0, 0),
        (1.5, 1500),
        ("7200", 7_200_000),
        ("2h", 7_200_000),
        ("２小时", 7_200_000),
        (-1, None),
        (True, None),
        (math.inf, None),
        (math.nan, None),
        (1e308, None),
        (10**400, None),
        ("soon", None),
        ("9" * 39, None),
        ("9" * 5_000, None),
        (None, None),
        ([], None),
    ],
)
def test_lengths_of_time(written: object, lasts: int | None) -> None:
    """Seconds as a number or in digits, or a text with its unit."""
    assert read_lasting(written) == lasts


def test_a_length_that_cannot_be_read() -> None:
    """It is told, and the usual time holds."""
    found = judge("intel", {"updated_at": NOW, "valid_for": "a while"})
    assert found.stale_at_ms == NOW + LASTS_MS["intel"]
    assert "valid_for" in found.note


def test_notes_show_nothing_raw() -> None:
    """What an agent wrote stands in a note only quoted, escaped and cut."""
    found = judge("status", {"updated_at": "\x1b[31m\u202e" + "x" * 10_000})
    assert found.note.isprintable()
    assert len(found.note) < 200


json_value = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)
stamp = st.sampled_from(["2026-03-09", "2h", "2099-01-01T00:00:00Z", 1_773_025_200, "7200"]) | json_value
KEYS = [
    "updated_at",
    "as_of",
    "started_at",
    "ended_at",
    "valid_for",
    "valid_until",
    "lease_time",
    "timeout",
    "state",
    "reviewed",
]
document = st.dictionaries(st.sampled_from(KEYS), stamp, max_size=5)


@given(
    st.sampled_from(KINDS),
    document | st.lists(document, max_size=3) | json_value,
    st.integers(NOW - 10**11, NOW + 10**11),
    st.none() | st.integers(NOW - 10**11, NOW + 10**11),
)
def test_any_document_is_judged(kind: str, value: Any, now: int, read: int | None) -> None:
    """Nothing raises, no age is negative, and stale is what has passed its end."""
    found = freshness(kind, value, now, ZONE, read_ms=read)
    age = found.age_ms(now)
    assert age is None or age >= 0
    if kind != "tech-radar":
        assert found.is_stale == (found.stale_at_ms is not None and found.stale_at_ms <= now)
    assert found.note.isprintable()
    if found.from_future and kind != "tech-radar":
        assert found.as_of_ms == read
    json.dumps(found.note).encode()
