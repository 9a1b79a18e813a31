"""A deadline is read for certain or not at all."""

from __future__ import annotations

import datetime
import time
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from ackd.protocol.instant import Deadline, halfwidth, iso, parse_deadline, parse_duration, shown

SHANGHAI = ZoneInfo("Asia/Shanghai")
NEW_YORK = ZoneInfo("America/New_York")
UTC = datetime.UTC
# 2026-03-08T14:30:00+08:00
INTAKE = 1_772_951_400_000

EXACT = [
    ("2026-03-08T14:30:00Z", "2026-03-08T14:30:00Z"),
    ("2026-03-08t14:30:00z", "2026-03-08T14:30:00Z"),
    ("2026-03-08T14:30:00+08:00", "2026-03-08T06:30:00Z"),
    ("2026-03-08T14:30:00+0800", "2026-03-08T06:30:00Z"),
    ("2026-03-08 14:30 +08:00", "2026-03-08T06:30:00Z"),
    ("2026-03-08 14:30 UTC", "2026-03-08T14:30:00Z"),
    ("2026-03-08T14:30Z", "2026-03-08T14:30:00Z"),
    ("  2026-03-08T14:30:00Z ", "2026-03-08T14:30:00Z"),
    ("２０２６-０３-０８Ｔ１４：３０：００Ｚ", "2026-03-08T14:30:00Z"),
    ("2026-03-08T14:30:00+14:00", "2026-03-08T00:30:00Z"),
    ("2026-03-08T14:30:00-03:30", "2026-03-08T18:00:00Z"),
    ("2026-03-08T14:30:00.5Z", "2026-03-08T14:30:00.500Z"),
    ("2026-03-08T14:30:00.123456789Z", "2026-03-08T14:30:00.123Z"),
    ("2026-03-08T14:30:00.1234567891Z", "2026-03-08T14:30:00.123Z"),
    ("2000-01-01T00:00:00Z", "2000-01-01T00:00:00Z"),
    ("2100-12-31T23:59:59.999Z", "2100-12-31T23:59:59.999Z"),
    ("2028-02-29T00:00:00Z", "2028-02-29T00:00:00Z"),
    ("202603081430Z", "2026-03-08T14:30:00Z"),
    ("20260308T143000+08:00", "2026-03-08T06:30:00Z"),
    ("1772951400", "2026-03-08T06:30:00Z"),
    ("1772951400000", "2026-03-08T06:30:00Z"),
    ("1772951400000000", "2026-03-08T06:30:00Z"),
    ("1772951400.25", "2026-03-08T06:30:00.250Z"),
    (1772951400, "2026-03-08T06:30:00Z"),
    (1772951400.5, "2026-03-08T06:30:00.500Z"),
    (1772951400000, "2026-03-08T06:30:00Z"),
    (1.7729514e12, "2026-03-08T06:30:00Z"),
    (1772951400000000, "2026-03-08T06:30:00Z"),
    ("946684800000", "2000-01-01T00:00:00Z"),
    ("in 30 minutes", "2026-03-08T07:00:00Z"),
    ("2h", "2026-03-08T08:30:00Z"),
    ("PT2H", "2026-03-08T08:30:00Z"),
    ("30分钟后", "2026-03-08T07:00:00Z"),
]

LOCAL = [
    ("2026-03-08 14:30", "2026-03-08T06:30:00Z"),
    ("2026-03-08T14:30:00", "2026-03-08T06:30:00Z"),
    ("2026-03-08T14:30:00.75", "2026-03-08T06:30:00.750Z"),
    ("202603081430", "2026-03-08T06:30:00Z"),
    (202603081430, "2026-03-08T06:30:00Z"),
    ("20260308143001", "2026-03-08T06:30:01Z"),
    ("20260308-143001", "2026-03-08T06:30:01Z"),
    ("20260308T1430", "2026-03-08T06:30:00Z"),
]

UNREADABLE: list[Any] = [
    "EOD",
    "tomorrow",
    "明天下午3点",
    "14:30",
    "2026-03-08",
    "20260308",
    20260308,
    "2026/3/8 2:30 PM",
    "03/08/2026 14:30",
    "2026-02-30T10:00:00Z",
    "2027-02-29T10:00:00Z",
    "2026-13-01T10:00:00Z",
    "2026-03-08T24:00:00Z",
    "2026-03-08T25:10:00Z",
    "2026-03-08T23:59:60Z",
    "2026-03-08T14:60:00Z",
    "2026-03-08T14:30:00 CST",
    "2026-03-08T14:30Z[Asia/Shanghai]",
    "2026-03-08T14:30:00+24:00",
    "2026-03-08T14:30:00+08:60",
    "2026-03-08Tnot-a-time",
    "2026-03-08T14:30:00Z and more",
    "2026-03-08T14:30:00Z\n2026-03-09",
    "2026-W10-7",
    "2026-067",
    "9999-12-31T23:59:59-12:00",
    "1999-12-31T23:59:59Z",
    "2000-01-01T00:00:00+08:00",
    "2101-01-01T00:00:00Z",
    "2100-12-31T23:59:59-12:00",
    "0001-01-01T00:00:00",
    "202613081430",
    "２０２６年３月８日",
    "२०२६-०३-०८T14:30:00Z",
    "2026-03-08T14:30:0²Z",
    "-1",
    "0",
    "30",
    "1e9",
    "30M",
    "P1M",
    "8日",
    "-5m",
    "9999999999999999999",
    "99999999999999",
    "1" * 5_000,
    "100000d",
    -1,
    0,
    30,
    10**5_000,
    1e300,
    float("nan"),
    float("inf"),
    float("-inf"),
    True,
    False,
    [],
    ["2026-03-08T14:30:00Z"],
    {},
    {"at": "2026-03-08T14:30:00Z"},
    b"2026-03-08T14:30:00Z",
    object(),
]


def read(written: object, zone: datetime.tzinfo = SHANGHAI) -> Deadline:
    """Read at the intake of these tests."""
    return parse_deadline(written, intake_ms=INTAKE, zone=zone)


@pytest.mark.parametrize(("written", "instant"), EXACT)
def test_an_instant_is_read_without_a_note(written: object, instant: str) -> None:
    """RFC 3339, epochs by size and durations from intake need no assumption, in any zone."""
    for zone in (SHANGHAI, NEW_YORK, UTC):
        deadline = read(written, zone)
        assert deadline.at_ms is not None
        assert iso(deadline.at_ms) == instant
        assert (deadline.note, deadline.readable) == ("", True)


@pytest.mark.parametrize(("written", "instant"), LOCAL)
def test_a_local_time_is_read_in_the_teams_zone_and_says_so(written: object, instant: str) -> None:
    """No zone is not UTC."""
    deadline = read(written)
    assert deadline.at_ms is not None
    assert iso(deadline.at_ms) == instant
    assert deadline.readable
    assert "no time zone" in deadline.note
    assert "Asia/Shanghai" in deadline.note


@pytest.mark.parametrize("written", UNREADABLE, ids=range(len(UNREADABLE)))
def test_what_is_not_certain_is_no_deadline(written: object) -> None:
    """It is shown as written, with the reason, and no timer is made up."""
    deadline = read(written)
    assert deadline.at_ms is None
    assert not deadline.readable
    assert deadline.note
    assert deadline.written
    assert len(deadline.written) <= 200


@pytest.mark.parametrize("written", [None, "", "   ", "\u3000"])
def test_no_deadline_is_nothing_to_complain_about(written: object) -> None:
    """Missing and blank are the same."""
    assert read(written) == Deadline(None, "", "", True)


def test_it_is_kept_as_written() -> None:
    """Texts stay as they are, numbers become text, what is long is cut."""
    assert read("明天下午3点").written == "明天下午3点"
    assert read(1772951400.5).written == "1772951400.5"
    assert read(True).written == "true"
    assert read([1]).written == "[1]"
    assert read("很" * 500).written == "很" * 199 + "…"


def test_a_duration_counts_from_intake() -> None:
    """Reading it again later, with the same intake, gives the same instant."""
    assert parse_deadline("90s", intake_ms=5_000, zone=UTC).at_ms == 95_000


def test_a_time_that_the_clocks_skip() -> None:
    """02:30 did not exist in New York on 8 March 2026; it is read as 02:30 before the change, with a note."""
    deadline = read("2026-03-08 02:30", NEW_YORK)
    assert deadline.at_ms is not None
    assert iso(deadline.at_ms) == "2026-03-08T07:30:00Z"
    assert "skip" in deadline.note


def test_a_time_that_comes_twice() -> None:
    """01:30 came twice in New York on 1 November 2026; the earlier is meant, with a note."""
    deadline = read("2026-11-01T01:30:00", NEW_YORK)
    assert deadline.at_ms is not None
    assert iso(deadline.at_ms) == "2026-11-01T05:30:00Z"
    assert "twice" in deadline.note
    assert "twice" not in read("2026-11-01T03:30:00", NEW_YORK).note


def test_the_zone_of_the_process_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """TZ of whoever started the daemon is never looked at."""
    before = [read("2026-03-08 02:30"), read("2026-11-01 01:30"), shown(INTAKE, SHANGHAI)]
    monkeypatch.setenv("TZ", "America/New_York")
    time.tzset()
    try:
        assert [read("2026-03-08 02:30"), read("2026-11-01 01:30"), shown(INTAKE, SHANGHAI)] == before
    finally:
        monkeypatch.undo()
        time.tzset()


def test_a_zone_that_cannot_tell_makes_it_unreadable() -> None:
    """A broken zone costs the deadline, not the request; with an offset nobody asks the zone."""

    class Silent(datetime.tzinfo):
        def utcoffset(self, at: datetime.datetime | None, /) -> datetime.timedelta | None:
            return None

        def dst(self, at: datetime.datetime | None, /) -> datetime.timedelta | None:
            return None

        def tzname(self, at: datetime.datetime | None, /) -> str | None:
            return None

    class Broken(Silent):
        def utcoffset(self, at: datetime.datetime | None, /) -> datetime.timedelta | None:
            raise NotImplementedError

    for zone in (Silent(), Broken()):
        assert not read("2026-03-08 14:30", zone).readable
        assert read("2026-03-08 14:30Z", zone).readable
        assert shown(INTAKE, zone) == "2026-03-08T06:30:00Z"


@pytest.mark.parametrize(
    ("written", "seconds"),
    [
        ("2h", 7_200),
        ("90s", 90),
        ("1d", 86_400),
        ("2w", 1_209_600),
        ("5 min", 300),
        ("5 MINUTES", 300),
        ("1h30m", 5_400),
        ("1 hour and 30 minutes", 5_400),
        ("1d 2h", 93_600),
        ("1.5h", 5_400),
        ("500ms", 0.5),
        ("in 30 minutes", 1_800),
        ("within 2 hours", 7_200),
        ("2 days from now", 172_800),
        ("+15m", 900),
        ("PT2H", 7_200),
        ("PT1H30M", 5_400),
        ("P1DT2H", 93_600),
        ("pt0.5s", 0.5),
        ("30分钟", 1_800),
        ("1小时30分钟后", 5_400),
        ("2天内", 172_800),
        ("３０ｍ", 1_800),
        ("0s", 0),
    ],
)
def test_a_duration_with_units_is_read(written: str, seconds: float) -> None:
    """Short, spelled out, ISO 8601 and Chinese, the larger unit first."""
    assert parse_duration(written) == seconds * 1_000


@pytest.mark.parametrize(
    "written",
    [
        "",
        "in",
        "P",
        "PT",
        "30",
        "30 M",
        "P1M",
        "P1Y",
        "-5m",
        "1h1h",
        "30m1h",
        "1e3s",
        "h",
        "soon",
        "2hours?",
        "1 h x",
        "9999999999s",
    ],
)
def test_a_duration_that_is_not_certain_is_none(written: str) -> None:
    """A number without a unit, months, years and anything beside it."""
    assert parse_duration(written) is None


@pytest.mark.parametrize("written", [None, 30, 1.5, True, [], {}])
def test_only_text_is_a_duration(written: object) -> None:
    """A number has no unit."""
    assert parse_duration(written) is None


def test_instants_are_written_in_utc_and_in_a_zone() -> None:
    """RFC 3339 with seconds; milliseconds only where there are some."""
    assert iso(INTAKE) == "2026-03-08T06:30:00Z"
    assert iso(INTAKE + 7) == "2026-03-08T06:30:00.007Z"
    assert iso(-1) == "1969-12-31T23:59:59.999Z"
    assert iso(10**20) == "@100000000000000000000ms"
    assert shown(INTAKE, SHANGHAI) == "2026-03-08T14:30:00+08:00"
    assert shown(INTAKE, NEW_YORK) == "2026-03-08T01:30:00-05:00"
    assert shown(INTAKE, ZoneInfo("Asia/Kolkata")) == "2026-03-08T12:00:00+05:30"
    assert shown(INTAKE, UTC) == "2026-03-08T06:30:00+00:00"
    assert shown(10**20, SHANGHAI) == iso(10**20)


def test_an_offset_with_seconds_is_shown_in_whole_minutes() -> None:
    """RFC 3339 knows no seconds in an offset; the instant shown stays the same."""
    odd = datetime.timezone(datetime.timedelta(hours=-4, minutes=-56, seconds=-2))
    text = shown(INTAKE, odd)
    assert text == "2026-03-08T01:33:00-04:57"
    assert read(text).at_ms == INTAKE


def test_wide_forms_become_ascii_and_nothing_else_does() -> None:
    """Superscripts and the digits of other scripts are not read as digits."""
    assert halfwidth("１／５　：") == "1/5 :"
    assert halfwidth("²१①中") == "²१①中"
