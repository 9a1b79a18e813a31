"""Depth as agents write it: how far a request has been passed on, and the most that is allowed (B7, B10).

What cannot be read is rejected with a reason; it never means "no limit". A higher maximum than the team's is flagged
and the team's holds; a lower one holds.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

import msgspec

from ackd.protocol.instant import halfwidth

_MAX_TEXT = 200
_PAIR = re.compile(
    r"(?:depth\s*:?\s*)?(?P<current>-?[0-9]{1,9})\s*(?:/|of)\s*(?P<max>-?[0-9]{1,9})(?:(?:\s+[^0-9\s/.]|\s*[(\[]).*)?",
    re.IGNORECASE | re.DOTALL,
)
_ONE = re.compile(r"-?[0-9]{1,9}")


class Depth(msgspec.Struct, frozen=True):
    """What was read: accepted as it stands, accepted with a note (flagged), or rejected with a reason.

    Attributes:
        current: The hop that the message stands at, 1 or more; beyond `max` where the writer said so.
        max: The limit in force, 1 to the team's maximum.
        note: What the author should know about a value that was taken otherwise than written, else "".
        reason: Why the value cannot be taken, else "". `current` and `max` are then 1 and the team's maximum.
    """

    current: int
    max: int
    note: str = ""
    reason: str = ""

    @property
    def is_beyond(self) -> bool:
        """Whether a request, clarify or handoff with this depth is one hop too many.

        It is compared, not tested for equality; what could not be read is always too many.
        """
        return bool(self.reason) or self.current > self.max

    @property
    def is_last(self) -> bool:
        """Whether whoever gets this must answer, since nothing more can be passed on."""
        return bool(self.reason) or self.current >= self.max


def parse_depth(written: object, *, limit: int = 5) -> Depth:
    """Read a depth in any of the forms that are met; it never raises.

    Forms: `{"current": 1, "max": 5}` (also as strings), `"1/5"` with blanks, full-width characters, leading zeros or
    words behind it, `"1 of 5"`, a lone current. Missing or empty is the first hop.

    Args:
        written: The value as decoded from JSON.
        limit: The team's maximum, 1 or more.

    Returns:
        The depth; see `Depth` for flagged and rejected ones.
    """
    if written is None:
        return Depth(1, limit)
    if isinstance(written, str):
        return _from_text(written, limit)
    if isinstance(written, Mapping):
        return _from_object(written, limit)
    current = _integer(written)
    if current is None:
        return _rejected("not a depth; write it as 1/5", limit)
    return _judged(current, None, limit)


def _from_text(written: str, limit: int) -> Depth:
    if len(written) > _MAX_TEXT:
        return _rejected(f"longer than {_MAX_TEXT} characters; write it as 1/5", limit)
    text = halfwidth(written).strip()
    if not text:
        return Depth(1, limit)
    if pair := _PAIR.fullmatch(text):
        return _judged(int(pair["current"]), int(pair["max"]), limit)
    if _ONE.fullmatch(text):
        return _judged(int(text), None, limit)
    return _rejected("cannot be read for certain; write it as 1/5", limit)


def _from_object(written: Mapping[object, object], limit: int) -> Depth:
    if not written:
        return Depth(1, limit)
    if written.get("current") is None:
        return _rejected('has no "current"; write {"current": 1, "max": 5}', limit)
    current = _integer(written["current"])
    if current is None:
        return _rejected('"current" is not a whole number', limit)
    if written.get("max") is None:
        return _judged(current, None, limit)
    maximum = _integer(written["max"])
    if maximum is None:
        return _rejected('"max" is not a whole number', limit)
    return _judged(current, maximum, limit)


def _integer(value: object) -> int | None:
    """A whole number of at most nine digits; JSON Schema calls 1.0 an integer too, and a boolean none."""
    if isinstance(value, bool):
        return None
    if isinstance(value, str):
        text = halfwidth(value[:_MAX_TEXT]).strip()
        return int(text) if _ONE.fullmatch(text) else None
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e9:
        return int(value)
    if isinstance(value, int) and abs(value) < 10**9:
        return int(value)
    return None


def _judged(current: int, maximum: int | None, limit: int) -> Depth:
    if current < 0:
        return _rejected("below zero", limit)
    if maximum is not None and maximum < 1:
        return _rejected("a maximum below 1 allows nothing", limit)
    notes = []
    if current == 0:
        current = 1
        notes.append("counted from 0; read as the first hop")
    if maximum is None:
        maximum = limit
        notes.append(f"no maximum given; the team's of {limit} holds")
    elif maximum > limit:
        notes.append(f"a maximum of {maximum} was asked for; the team's of {limit} holds")
        maximum = limit
    if current > maximum:
        notes.append(f"beyond the limit of {maximum}")
    return Depth(current, maximum, "; ".join(notes))


def _rejected(reason: str, limit: int) -> Depth:
    return Depth(1, limit, reason=reason)
