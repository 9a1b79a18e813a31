"""The schema files and the formats that they use, for both validators alike."""

from __future__ import annotations

import datetime
import json
import re
from functools import lru_cache
from typing import Any

from ackd.errors import InvalidError
from ackd.resources import schema_dir

KINDS = (
    "envelope",
    "team",
    "node",
    "delivery",
    "problem",
    "ledger-entry",
    "status",
    "intel",
    "decision",
    "tech-radar",
    "agent-session",
    "monitor-task",
)
"""Every kind of document that has a schema; `schemas/<kind>.schema.json` is its file."""

_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")


@lru_cache(maxsize=len(KINDS))
def load_schema(kind: str) -> dict[str, Any]:
    """Give the schema of a kind as it stands in its file; the same object each time, not to be changed.

    Raises:
        InvalidError: There is no such kind.
        AckdError: The schemas are not installed.
    """
    if kind not in KINDS:
        raise InvalidError(f"there is no schema for {kind!r:.80}", hint="known kinds: " + ", ".join(KINDS))
    schema: dict[str, Any] = json.loads((schema_dir() / f"{kind}.schema.json").read_text(encoding="utf-8"))
    return schema


def is_date_time(text: str) -> bool:
    """Tell whether a text is a date and time of RFC 3339, with its zone.

    Two validators with two readings of `date-time` would disagree, so both ask this one.
    """
    # Here and not at the top: accepting an envelope asks for no format.
    from rfc3339_validator import validate_rfc3339  # type: ignore[import-untyped]  # ships no types

    return len(text) <= 64 and "\n" not in text and bool(validate_rfc3339(text))


def is_date(text: str) -> bool:
    """Tell whether a text is a day of the calendar, `2026-03-08`."""
    if not _DAY.fullmatch(text):
        return False
    try:
        datetime.date.fromisoformat(text)
    except ValueError:
        return False
    return True


FORMATS = {"date-time": is_date_time, "date": is_date}
"""The formats that the schemas use, and what each means; any other format is an annotation."""
