"""Instants come back as they were written, and nothing that is read as one raises."""

from __future__ import annotations

import datetime
from zoneinfo import ZoneInfo

from hypothesis import given
from hypothesis import strategies as st

from ackd.protocol.instant import iso, parse_deadline, parse_duration, shown

ZONES = st.sampled_from(
    [
        datetime.UTC,
        *map(
            ZoneInfo, ("Asia/Shanghai", "America/New_York", "Asia/Kolkata", "Pacific/Kiritimati", "Australia/Lord_Howe")
        ),
    ]
)
FIRST, LAST = 946_684_800_000, 4_133_980_799_999
INSTANTS = st.integers(FIRST, LAST)

anything = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=40)
    | st.text(alphabet="0123456789-:TZ+. hdms分天PTin", max_size=30),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)


@given(INSTANTS, ZONES, ZONES)
def test_what_is_written_is_read_as_the_same_instant(at_ms: int, zone: datetime.tzinfo, teams: datetime.tzinfo) -> None:
    """In UTC and in any zone, whatever the team's zone is."""
    for text in (iso(at_ms), shown(at_ms, zone)):
        read = parse_deadline(text, intake_ms=0, zone=teams)
        assert (read.at_ms, read.note) == (at_ms, "")


@given(INSTANTS, ZONES)
def test_an_epoch_is_read_by_its_size(at_ms: int, zone: datetime.tzinfo) -> None:
    """Milliseconds and microseconds, and whole seconds, as a number and as text."""
    for number, instant in ((at_ms, at_ms), (at_ms * 1000, at_ms), (at_ms // 1000, at_ms // 1000 * 1000)):
        assert parse_deadline(number, intake_ms=0, zone=zone).at_ms == instant
        assert parse_deadline(str(number), intake_ms=0, zone=zone).at_ms == instant


@given(INSTANTS, ZONES)
def test_a_local_time_without_a_zone_is_that_time_in_the_teams_zone(at_ms: int, zone: datetime.tzinfo) -> None:
    """But for the hour that comes twice, where the earlier is meant."""
    local = shown(at_ms, zone)[: len("2026-03-08T14:30:00")]
    read = parse_deadline(local, intake_ms=0, zone=zone)
    if read.readable:
        assert read.at_ms is not None
        assert shown(read.at_ms, zone).startswith(local)
        assert "no time zone" in read.note
    else:
        assert local[:4] in ("1999", "2101")


@given(anything, INSTANTS, ZONES)
def test_no_value_raises(written: object, intake_ms: int, zone: datetime.tzinfo) -> None:
    """Whatever JSON can hold is a deadline, none, or unreadable with a reason."""
    read = parse_deadline(written, intake_ms=intake_ms, zone=zone)
    assert read.readable or (read.at_ms is None and read.note)
    assert read.at_ms is None or FIRST <= read.at_ms <= LAST
    assert len(read.written) <= 200


@given(st.integers(0, 10_000), st.integers(0, 59), st.integers(0, 59))
def test_a_duration_is_the_sum_of_its_parts(hours: int, minutes: int, seconds: int) -> None:
    """Short, spelled out and in ISO form."""
    total = ((hours * 60 + minutes) * 60 + seconds) * 1000
    assert parse_duration(f"{hours}h{minutes}m{seconds}s") == total
    assert parse_duration(f"in {hours} hours, {minutes} minutes and {seconds} seconds") == total
    assert parse_duration(f"PT{hours}H{minutes}M{seconds}S") == total


@given(st.integers())
def test_any_integer_can_be_shown(at_ms: int) -> None:
    """A page never fails on a wild instant."""
    assert iso(at_ms)
    assert shown(at_ms, datetime.UTC)
