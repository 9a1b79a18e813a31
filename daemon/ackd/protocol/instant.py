"""Instants and durations: reading what agents write as a deadline, and writing instants for them (C30).

One documented grammar; what it cannot read for certain is no deadline, never a guess. Read are

- RFC 3339 with `Z` or an offset (also a blank for the `T`, no seconds, `+0800`, `UTC`), years 2000 to 2100;
- the same without a zone, and `YYYYMMDDHHMM[SS]` (also with `-`, `T` or a blank before the time): in the team's zone,
  with a note;
- epoch seconds, milliseconds or microseconds, told apart by size (their ranges for 2000 to 2100 do not meet);
- a duration from intake: `2h`, `90s`, `1h30m`, `1.5 hours`, `PT2H`, `in 30 minutes`, `30分钟后`.

The process's own time zone is never looked at.
"""

from __future__ import annotations

import datetime
import math
import re
from decimal import Decimal
from functools import lru_cache

import msgspec

_UTC = datetime.UTC
_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=_UTC)
_MS = datetime.timedelta(milliseconds=1)
_FIRST_MS = 946_684_800_000  # 2000-01-01T00:00:00Z
_AFTER_LAST_MS = 4_133_980_800_000  # 2101-01-01T00:00:00Z
_MAX_TEXT = 100
_MAX_SHOWN = 200

_HALFWIDTH = {0xFF01 + offset: 0x21 + offset for offset in range(94)} | {0x3000: 0x20}

_DATE_TIME = re.compile(
    r"(?P<year>[0-9]{4})-(?P<month>[0-9]{2})-(?P<day>[0-9]{2})(?:[Tt]| {1,3})"
    r"(?P<hour>[0-9]{2}):(?P<minute>[0-9]{2})(?::(?P<second>[0-9]{2})(?:\.(?P<fraction>[0-9]{1,30}))?)?"
    r" ?(?P<zone>[Zz]|UTC|GMT|[+-][0-9]{2}(?::?[0-9]{2})?)?"
)
_COMPACT = re.compile(
    r"(?P<year>20[0-9]{2}|2100)(?P<month>[0-9]{2})(?P<day>[0-9]{2})[-Tt ]?"
    r"(?P<hour>[0-9]{2})(?P<minute>[0-9]{2})(?P<second>[0-9]{2})?(?P<fraction>(?!))?"
    r" ?(?P<zone>[Zz]|UTC|GMT|\+[0-9]{2}(?::?[0-9]{2})?)?"
)
_NUMBER = re.compile(r"(?P<whole>[0-9]{9,16})(?:\.(?P<fraction>[0-9]{1,30}))?")
_DATE_ONLY = re.compile(r"[0-9]{4}[-/.]?[0-9]{1,2}[-/.]?[0-9]{1,2}")

_UNITS_MS = {"w": 604_800_000, "d": 86_400_000, "h": 3_600_000, "m": 60_000, "s": 1_000, "ms": 1}
_UNIT_WORDS = {
    "w": ("w", "week", "weeks", "周", "个星期", "個星期"),
    "d": ("d", "day", "days", "天"),
    "h": ("h", "hr", "hrs", "hour", "hours", "小时", "小時", "个小时", "個小時", "钟头"),
    "m": ("m", "min", "mins", "minute", "minutes", "分钟", "分鐘"),
    "s": ("s", "sec", "secs", "second", "seconds", "秒", "秒钟", "秒鐘"),
    "ms": ("ms", "msec", "millisecond", "milliseconds", "毫秒"),
}
_NUMBER_OF = r"[0-9]{1,9}(?:\.[0-9]{1,6})?"
# Every unit once at most, the larger first: "1h30m", "1 hour and 30 minutes", "1小时30分钟".
_DURATION = re.compile(
    r"(?:in |within |\+ ?)?"
    + "".join(
        rf"(?:(?P<{unit}>{_NUMBER_OF}) ?(?:{'|'.join(sorted(words, key=len, reverse=True))})(?![a-z])(?: and |, ?| )?)?"
        for unit, words in _UNIT_WORDS.items()
    )
    + r"(?: ?(?:from now|later|后|後|之后|之後|以内|以內|内|內))?"
)
_ISO_DURATION = re.compile(
    rf"P(?:(?P<w>{_NUMBER_OF})W)?(?:(?P<d>{_NUMBER_OF})D)?"
    rf"(?:T(?=[0-9])(?:(?P<h>{_NUMBER_OF})H)?(?:(?P<m>{_NUMBER_OF})M)?(?:(?P<s>{_NUMBER_OF})S)?)?",
    re.IGNORECASE,
)
_MAX_DURATION_MS = 100 * 366 * 86_400_000


class Deadline(msgspec.Struct, frozen=True):
    """A deadline as it was written and as it was read.

    Attributes:
        at_ms: The instant, or None where there is none or it could not be read.
        written: As written, cut at 200 characters; "" where none was.
        note: Read with an assumption: which. Not readable: why. Else "".
        readable: False only where something was written that cannot be read for certain.
    """

    at_ms: int | None
    written: str
    note: str
    readable: bool


def parse_deadline(written: object, *, intake_ms: int, zone: datetime.tzinfo) -> Deadline:
    """Read a deadline in the grammar of this module; it never raises.

    Args:
        written: The value as decoded from JSON: text, number, null, or something that is none.
        intake_ms: When the file was taken in; durations count from it.
        zone: The team's zone, for local times without one.

    Returns:
        The deadline. Missing, null and blank are readable and have no instant.
    """
    if written is None:
        return Deadline(None, "", "", True)
    shown_as = _as_written(written)
    if isinstance(written, bool) or not isinstance(written, str | int | float):
        return Deadline(None, shown_as, "not a time", False)
    text = written if isinstance(written, str) else _digits(written)
    if len(text) > _MAX_TEXT:
        return Deadline(None, shown_as, f"longer than {_MAX_TEXT} characters", False)
    text = halfwidth(text).strip()
    if not text:
        return Deadline(None, shown_as.strip(), "", True)
    at_ms, note = _read(text, intake_ms, zone)
    return Deadline(at_ms, shown_as, note, at_ms is not None)


def parse_duration(written: object) -> int | None:
    """Read a duration with its unit: `2h`, `90s`, `1h30m`, `1d`, `5 min`, `PT2H`, `in 30 minutes`, `30分钟`.

    Args:
        written: Text; a bare number has no unit and is not read. Months and years are no durations, nor is `M` for
            minutes.

    Returns:
        Milliseconds, 0 to a hundred years, or None where it cannot be read for certain.
    """
    return _duration(written) if isinstance(written, str) and len(written) <= _MAX_TEXT else None


@lru_cache(maxsize=256)
def _duration(written: str) -> int | None:
    text = " ".join(halfwidth(written).split())
    match = _ISO_DURATION.fullmatch(text)
    if match is None:
        # "30M" may mean months; all other units mean the same in capitals.
        if re.search(r"[0-9] ?M(?![A-Za-z])", text):
            return None
        match = _DURATION.fullmatch(text.lower())
    if match is None:
        return None
    parts = {unit: number for unit, number in match.groupdict().items() if number is not None}
    if not parts:
        return None
    total = int(sum(Decimal(number) * _UNITS_MS[unit] for unit, number in parts.items()))
    return total if total <= _MAX_DURATION_MS else None


def iso(at_ms: int) -> str:
    """Write an instant as RFC 3339 in UTC, as in 2026-03-08T06:30:00Z.

    Args:
        at_ms: Milliseconds since the epoch; milliseconds are written only where they are not zero.

    Returns:
        The text; `@<at_ms>ms` for an instant outside the years 1 to 9999, which RFC 3339 cannot write.
    """
    moment = _moment(at_ms)
    return f"@{at_ms}ms" if moment is None else _written(moment) + "Z"


def shown(at_ms: int, zone: datetime.tzinfo) -> str:
    """Write an instant as RFC 3339 in a zone, with that zone's offset, as in 2026-03-08T14:30:00+08:00.

    Args:
        at_ms: Milliseconds since the epoch.
        zone: The zone to show it in.

    Returns:
        The text; as `iso` where the zone cannot tell.
    """
    moment = _moment(at_ms)
    if moment is None:
        return iso(at_ms)
    try:
        offset = moment.astimezone(zone).utcoffset()
        # RFC 3339 has offsets of whole minutes; old local times had seconds.
        minutes = 0 if offset is None else math.floor(offset.total_seconds() / 60)
        local = moment + datetime.timedelta(minutes=minutes)
    except (OverflowError, ValueError, NotImplementedError):  # a bare tzinfo has no offset: Python's own answer
        return iso(at_ms)
    return _written(local) + f"{'-' if minutes < 0 else '+'}{abs(minutes) // 60:02}:{abs(minutes) % 60:02}"


def halfwidth(text: str) -> str:
    """Read full-width forms (`１／５`, `：`, the wide blank) as ASCII; nothing else is changed."""
    return text.translate(_HALFWIDTH)


def _read(text: str, intake_ms: int, zone: datetime.tzinfo) -> tuple[int | None, str]:
    """The instant and the note, or None and the reason."""
    match = _DATE_TIME.fullmatch(text) or _COMPACT.fullmatch(text)
    if match is not None:
        return _from_calendar(match, zone)
    if match := _NUMBER.fullmatch(text):
        return _from_number(match["whole"], match["fraction"] or "")
    duration = parse_duration(text)
    if duration is not None:
        at_ms = intake_ms + duration
        return (at_ms, "") if at_ms < _AFTER_LAST_MS else (None, "after the year 2100")
    if _DATE_ONLY.fullmatch(text):
        return None, "a date without a time of day"
    return None, "not a time that can be read for certain"


def _from_calendar(match: re.Match[str], zone: datetime.tzinfo) -> tuple[int | None, str]:
    try:
        local = datetime.datetime(
            int(match["year"]),
            int(match["month"]),
            int(match["day"]),
            int(match["hour"]),
            int(match["minute"]),
            int(match["second"] or 0),
            tzinfo=_UTC,  # for the arithmetic; the zone comes below
        )
    except ValueError:
        return None, "no such day or time of day"
    if match["zone"] is None:
        offset, note = _offset_of(zone, local)
    else:
        offset, note = _offset_from(match["zone"])
    if offset is None:
        return None, note
    at_ms = (local - _EPOCH - offset) // _MS + int((match["fraction"] or "")[:3].ljust(3, "0"))
    return (at_ms, note) if _in_range(at_ms) else (None, "outside the years 2000 to 2100")


def _offset_from(written: str) -> tuple[datetime.timedelta | None, str]:
    if written.upper() in ("Z", "UTC", "GMT"):
        return datetime.timedelta(0), ""
    hours, minutes = int(written[1:3]), int(written[3:].lstrip(":") or 0)
    if hours > 23 or minutes > 59:
        return None, "no such offset from UTC"
    offset = datetime.timedelta(hours=hours, minutes=minutes)
    return (-offset if written[0] == "-" else offset), ""


def _offset_of(zone: datetime.tzinfo, local: datetime.datetime) -> tuple[datetime.timedelta | None, str]:
    """The zone's offset at a local time; where clocks change, the offset before the change (PEP 495, fold 0)."""
    note = f"no time zone: read in the team's zone {_zone_name(zone)}".rstrip()
    try:
        before, after = (local.replace(tzinfo=zone, fold=fold).utcoffset() for fold in (0, 1))
    except (ValueError, OverflowError, TypeError, NotImplementedError):  # the last: a bare tzinfo's own answer
        return None, "no time zone, and the team's zone cannot tell"
    if before is None or after is None:
        return None, "no time zone, and the team's zone cannot tell"
    if before > after:
        note += "; the clocks go back and this time comes twice: the earlier is meant"
    elif before < after:
        note += "; the clocks go forward and skip this time: read as if they had not"
    return before, note


def _from_number(whole: str, fraction: str) -> tuple[int | None, str]:
    """Epoch seconds, milliseconds or microseconds, whichever lies in 2000 to 2100: at most one does."""
    value = Decimal(f"{whole}.{fraction or 0}")
    for per_ms in (Decimal("0.001"), Decimal(1), Decimal(1000)):
        at_ms = math.floor(value / per_ms)
        if _in_range(at_ms):
            return at_ms, ""
    return None, "a number that is no epoch time in the years 2000 to 2100"


def _in_range(at_ms: int) -> bool:
    return _FIRST_MS <= at_ms < _AFTER_LAST_MS


def _digits(number: float) -> str:
    """A JSON number as plain digits, or something that no form reads."""
    if isinstance(number, int):
        # str() of a huge integer is slow, and refused above 4,300 digits.
        return str(number) if number.bit_length() <= 64 else "a huge number"
    return format(Decimal(repr(number)), "f") if math.isfinite(number) and abs(number) < 1e20 else "no finite number"


def _as_written(written: object) -> str:
    if isinstance(written, str):
        text = written[: _MAX_SHOWN + 1]
    elif isinstance(written, int) and written.bit_length() > 640:
        text = "a huge number"
    elif isinstance(written, float) and not math.isfinite(written):
        text = repr(written)
    else:
        try:
            text = msgspec.json.encode(written).decode()
        except (TypeError, ValueError, OverflowError, RecursionError, msgspec.MsgspecError):
            text = f"a {type(written).__name__}"
    return text if len(text) <= _MAX_SHOWN else text[: _MAX_SHOWN - 1] + "…"


def _zone_name(zone: datetime.tzinfo) -> str:
    # zoneinfo has the name as `key`; a fixed offset says it itself.
    name = getattr(zone, "key", None)
    return name if isinstance(name, str) else str(zone)[:40]


def _moment(at_ms: int) -> datetime.datetime | None:
    try:
        return _EPOCH + datetime.timedelta(milliseconds=at_ms)
    except OverflowError:
        return None


def _written(moment: datetime.datetime) -> str:
    text = moment.replace(tzinfo=None).isoformat(timespec="milliseconds")
    return text.removesuffix(".000")
