"""How old the content of a file is by its own words, and when it is stale; the time of the file itself says nothing.

A file's time of modification is that of the last checkout. What its author wrote is a claim: one that lies in the
future is flagged and trusted for nothing, and a smaller one written later replaces it.
"""

from __future__ import annotations

import datetime
import math
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import msgspec

from ackd.protocol.ids import shown
from ackd.protocol.instant import halfwidth, parse_deadline, parse_duration
from ackd.tree.front_matter import iso_day

SKEW_MS = 60_000
"""How far ahead a stamp may lie before it is from the future: clocks differ."""

_HOUR_MS = 3_600_000
LASTS_MS: Mapping[str, int] = MappingProxyType(
    {
        "status": 24 * _HOUR_MS,
        "intel": 24 * _HOUR_MS,
        "agent-session": 6 * _HOUR_MS,
        "monitor-task": 6 * _HOUR_MS,
        "tech-radar": 183 * 24 * _HOUR_MS,
    }
)
"""How long content of each kind holds where it says nothing itself."""

_STAMPS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "status": ("updated_at",),
        "intel": ("as_of", "updated_at"),
        "agent-session": ("updated_at", "started_at"),
        "monitor-task": ("updated_at", "started_at"),
    }
)
_LASTING: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {"status": ("lease_time",), "intel": ("valid_for", "ttl"), "monitor-task": ("timeout",)}
)
_OVER = frozenset(
    ["done", "completed", "complete", "delivered", "failed", "stopped", "cancelled", "canceled", "closed", "finished"]
) | frozenset(["完成", "已完成", "失败", "已停止", "已取消"])
_MOST_BLIPS = 10_000
_MOST_JUDGED = 1_000
_LONGEST_MS = 100 * 366 * 24 * _HOUR_MS


class Freshness(msgspec.Struct, frozen=True, kw_only=True):
    """How old something is, and until when it holds.

    Attributes:
        as_of_ms: From when it is: its own stamp, or when it was first read where that cannot be trusted; None where
            neither is known.
        stale_at_ms: When it is stale; None where it never is.
        is_stale: Whether that time has come.
        from_future: Its stamp lay more than a minute ahead when it was read.
        note: What is odd about it, or an empty string; safe to show.
        claimed_ms: The stamp as it can be read, the future one too; None where there is none.
    """

    as_of_ms: int | None = None
    stale_at_ms: int | None = None
    is_stale: bool = False
    from_future: bool = False
    note: str = ""
    claimed_ms: int | None = None

    def age_ms(self, now_ms: int) -> int | None:
        """Give its age, never negative; None where it is not known."""
        return None if self.as_of_ms is None else max(0, now_ms - self.as_of_ms)


def freshness(
    kind: str,
    document: object,
    now_ms: int,
    zone: datetime.tzinfo,
    *,
    read_ms: int | None = None,
    state_since_ms: int | None = None,
) -> Freshness:
    """Judge a document by what it says about its age; it never raises.

    Args:
        kind: status, intel, agent-session, monitor-task or tech-radar; anything else is never stale.
        document: The document as decoded.
        now_ms: Now.
        zone: The team's zone, for stamps without one.
        read_ms: When this content was first read here. It decides whether a stamp lies in the future, and takes the
            place of one that does or cannot be read.
        state_since_ms: For a monitor-task: since when its `state` is known to be what it is. An `updated_at` that moves
            on without a change of state does not count then.
    """
    if kind == "tech-radar":
        return _radar(document, now_ms, zone, read_ms)
    if kind not in _STAMPS or not isinstance(document, dict):
        return Freshness()
    notes: list[str] = []
    claimed = _claimed(document, _STAMPS[kind], now_ms, zone, notes)
    reference = now_ms if read_ms is None else read_ms
    from_future = claimed is not None and claimed > reference + SKEW_MS
    as_of = read_ms if claimed is None or from_future else claimed
    if from_future:
        notes.append(f"its time {_written(document, _STAMPS[kind])} lies in the future")
    elif claimed is None and not notes:
        notes.append("it does not say from when it is")
    since = state_since_ms if kind == "monitor-task" and state_since_ms is not None else as_of
    stale_at = None if _is_over(kind, document) else _stale_at(kind, document, since, now_ms, zone, notes)
    return Freshness(
        as_of_ms=as_of,
        stale_at_ms=stale_at,
        is_stale=stale_at is not None and now_ms >= stale_at,
        from_future=from_future,
        note="; ".join(notes),
        claimed_ms=claimed,
    )


def unreadable_times(kind: str, document: object, zone: datetime.tzinfo) -> list[tuple[str, str]]:
    """Give the times and lengths of time in a document that cannot be read for certain; a radar's first thousand blips.

    Returns:
        For each an RFC 6901 pointer, and what is wrong with it in a sentence that is safe to show.
    """
    if kind == "tech-radar":
        blips = document[:_MOST_JUDGED] if isinstance(document, list) else []
        return [
            (f"/{number}/reviewed", f"the reviewed {_shown(blip['reviewed'])} of blip {number + 1} is no day")
            for number, blip in enumerate(blips)
            if isinstance(blip, dict) and _is_written(blip, "reviewed") and read_stamp(blip["reviewed"], zone) is None
        ]
    if kind not in _STAMPS or not isinstance(document, dict):
        return []
    more = {"intel": ("valid_until",), "agent-session": ("ended_at",)}.get(kind, ())
    found = [
        (f"/{key}", f"its {key} {_shown(document[key])} is no time that can be read for certain")
        for key in (*_STAMPS[kind], *more)
        if _is_written(document, key) and read_stamp(document[key], zone) is None
    ]
    found += [
        (f"/{key}", f"its {key} {_shown(document[key])} is no length of time")
        for key in _LASTING.get(kind, ())
        if _is_written(document, key) and read_lasting(document[key]) is None
    ]
    return found


def _is_written(document: dict[str, Any], key: str) -> bool:
    return document.get(key) not in (None, "")


def is_step_back(known: Freshness, written_later: Freshness) -> bool:
    """Tell content that was written over newer content: an old copy came back, or two write the same file.

    The content that was written later counts all the same, it is what the file says. A stamp from the future proves
    nothing: the smaller one that follows it is no step back.

    Args:
        known: Of the content that was known before, judged when that was read.
        written_later: Of the content that took its place.
    """
    if known.from_future or written_later.from_future:
        return False
    return (
        known.claimed_ms is not None
        and written_later.claimed_ms is not None
        and written_later.claimed_ms < known.claimed_ms
    )


def read_stamp(written: object, zone: datetime.tzinfo) -> int | None:
    """Read an instant that somebody wrote down: as a deadline (C30), but no duration; a day is its beginning.

    Returns:
        Milliseconds since the epoch, or None where it cannot be read for certain.
    """
    if isinstance(written, str):
        day = iso_day(written)
        if day is not None:
            written = f"{day}T00:00:00"
        elif parse_duration(written) is not None:
            return None
    return parse_deadline(written, intake_ms=0, zone=zone).at_ms


def read_lasting(written: object) -> int | None:
    """Read how long something holds: a number of seconds, `"7200"`, or a text such as `2h`.

    Returns:
        Milliseconds from 0 to a hundred years, or None where it cannot be read for certain.
    """
    if isinstance(written, bool):
        return None
    if isinstance(written, str):
        text = halfwidth(written[:40]).strip()
        if len(written) > 40 or not (text.isascii() and text.isdigit()):
            return parse_duration(written)
        written = int(text)
    if isinstance(written, int | float) and (isinstance(written, int) or math.isfinite(written)):
        return int(written * 1000) if 0 <= written * 1000 <= _LONGEST_MS else None
    return None


def _claimed(
    document: dict[str, Any], keys: tuple[str, ...], now_ms: int, zone: datetime.tzinfo, notes: list[str]
) -> int | None:
    """The first stamp that can be read."""
    for key in keys:
        written = document.get(key)
        if written is None or written == "":
            continue
        at_ms = read_stamp(written, zone)
        if at_ms is not None:
            return at_ms
        notes.append(f"its {key} {_shown(written)} is no time that can be read for certain")
    return None


def _stale_at(
    kind: str,
    document: dict[str, Any],
    since: int | None,
    now_ms: int,
    zone: datetime.tzinfo,
    notes: list[str],
) -> int | None:
    if kind == "intel" and document.get("valid_until") is not None:
        until = read_stamp(document["valid_until"], zone)
        if until is not None:
            return until
        notes.append(f"its valid_until {_shown(document['valid_until'])} is no time that can be read for certain")
    lasts = LASTS_MS[kind]
    for key in _LASTING.get(kind, ()):
        written = document.get(key)
        if written is None:
            continue
        found = read_lasting(written)
        if found is not None:
            lasts = found
            break
        notes.append(f"its {key} {_shown(written)} is no length of time")
    return None if since is None else since + lasts


def _is_over(kind: str, document: dict[str, Any]) -> bool:
    """Tell what needs no news any more: a session or task that has ended, an agent that said it is away."""
    if kind == "agent-session" and document.get("ended_at") is not None:
        return True
    key = "availability" if kind == "status" else "state"
    word = document.get(key)
    if kind == "intel" or not isinstance(word, str):
        return False
    word = word.strip().lower()
    return word == "offline" if kind == "status" else word in _OVER


def _radar(document: object, now_ms: int, zone: datetime.tzinfo, read_ms: int | None) -> Freshness:
    """The blip that was looked at longest ago speaks for the radar; without `reviewed` it is never stale."""
    blips = document[:_MOST_BLIPS] if isinstance(document, list) else []
    written = [blip["reviewed"] for blip in blips if isinstance(blip, dict) and blip.get("reviewed") is not None]
    stamps = [read_stamp(one, zone) for one in written]
    reference = (now_ms if read_ms is None else read_ms) + SKEW_MS
    known = [stamp for stamp in stamps if stamp is not None]
    trusted = [stamp for stamp in known if stamp <= reference]
    notes = []
    if len(trusted) < len(known):
        notes.append(f"{len(known) - len(trusted)} blips were reviewed in the future")
    if len(known) < len(written):
        notes.append(f"of {len(written) - len(known)} blips the day of the review cannot be read")
    due = sum(now_ms >= stamp + LASTS_MS["tech-radar"] for stamp in trusted)
    if due:
        notes.append(f"{due} blips are due for a review")
    oldest = min(trusted, default=None)
    return Freshness(
        as_of_ms=oldest,
        stale_at_ms=None if oldest is None else oldest + LASTS_MS["tech-radar"],
        is_stale=due > 0,
        from_future=len(trusted) < len(known),
        note="; ".join(notes),
        claimed_ms=max(known, default=None),
    )


def _written(document: dict[str, Any], keys: tuple[str, ...]) -> str:
    return next((_shown(document[key]) for key in keys if document.get(key) not in (None, "")), "")


def _shown(written: object) -> str:
    if isinstance(written, str):
        return shown(written, 40)
    if isinstance(written, int) and not isinstance(written, bool) and written.bit_length() > 64:
        return "a huge number"
    return shown(repr(written), 40) if isinstance(written, int | float) else f"({type(written).__name__})"
