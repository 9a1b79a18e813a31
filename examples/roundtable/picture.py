"""The thread as a picture in the terminal, from what `ackd show --json` prints; 80 columns, Chinese counted as two."""

from __future__ import annotations

import datetime
import unicodedata
from typing import Any, NamedTuple

from story import SILENT, words

WIDTH = 80
STEPS = ("request", "confirmed", "final")

_BOLD, _DIM, _GREEN, _YELLOW, _OFF = "\x1b[1m", "\x1b[2m", "\x1b[32m", "\x1b[33m", "\x1b[0m"
_SHOWN = {"reminder", "final", "escalation"}


class Event(NamedTuple):
    """Something that happened: when (seconds after the request), who, what, and in which words."""

    at: float
    who: str
    what: str
    says: str
    style: str = ""


def events(show: dict[str, Any]) -> list[Event]:
    """Give what happened in a thread, the oldest first: all messages, and the deliveries that tell a story."""
    messages, deliveries = show["messages"], show["deliveries"]
    if not messages:
        return []
    start = _instant(messages[0]["at"])
    told = [
        Event(
            _instant(message["at"]) - start,
            message["from"],
            "silenced" if message["verdict"] in SILENT else message["type"],
            words(message),
            _DIM if message["verdict"] in SILENT else _GREEN if message["type"] == "final" else "",
        )
        for message in messages
    ]
    told += [
        Event(_instant(one["at"]) - start, "ackd", one["kind"], f"→ {one['agent']}", _YELLOW)
        for one in deliveries
        if one["kind"] in _SHOWN
    ]
    # What is delivered comes after what was said, also within one millisecond.
    return sorted(told, key=lambda event: (event.at, event.who == "ackd", event.says))


def event_line(event: Event, *, colour: bool = False) -> str:
    """Give one event in a line."""
    line = fit(f"{event.at:6.1f} s  {pad(event.who, 8)} {pad(event.what, 10)} {event.says}", WIDTH)
    return f"{event.style}{line}{_OFF}" if colour and event.style else line


def picture(show: dict[str, Any] | None, *, rows: int) -> list[str]:
    """Draw the thread: how far it is, who owes what, and what happened last.

    Args:
        show: The thread, or None before the request.
        rows: How many lines there are; of the events the last ones are shown.
    """
    if show is None:
        return ["", " waiting for the request …"]
    owed: dict[str, list[str]] = {}
    for one in show["owes"]:
        owed.setdefault(one["agent"], []).append({"confirm": "confirmed"}.get(one["step"], one["step"]))
    lines = ["", f" {_BOLD}{fit(show['ack_id'], WIDTH - 2)}{_OFF}", fit(f" {show['action']}", WIDTH), ""]
    lines += [_track(show["state"]), ""]
    for agent, did in show["assignees"].items():
        role = "DRI" if agent == show["dri"] else ""
        owes = f"owes {' and '.join(owed[agent])}" if agent in owed else ""
        lines.append(fit(f" {pad(agent, 9)} {pad(role, 4)} {pad(did, 12)} {owes}", WIDTH))
    lines.append(f"{_DIM}{'─' * WIDTH}{_OFF}")
    last = events(show)[-max(1, rows - len(lines) - 1) :]
    return lines + [event_line(event, colour=True) for event in last]


def pad(text: str, width: int) -> str:
    """Fill a text with spaces to a width in columns."""
    return text + " " * max(0, width - columns(text))


def fit(text: str, width: int) -> str:
    """Cut a text to a width in columns, with `…` where something was cut; line breaks become spaces."""
    text = " ".join(text.split("\n"))
    if columns(text) <= width:
        return text
    while columns(text) > width - 1:
        text = text[:-1]
    return text + "…"


def columns(text: str) -> int:
    """Give how many columns a text takes in a terminal."""
    return sum(
        0 if unicodedata.combining(character) else 1 + (unicodedata.east_asian_width(character) in "WF")
        for character in text
    )


def _track(state: str | None) -> str:
    reached = STEPS.index(state) if state in STEPS else -1
    drawn = [
        f"{_GREEN}{_BOLD}● {step}{_OFF}" if number <= reached else f"{_DIM}○ {step}{_OFF}"
        for number, step in enumerate(STEPS)
    ]
    return " " + f"{_DIM} ──▶ {_OFF}".join(drawn)


def _instant(written: str) -> float:
    return datetime.datetime.fromisoformat(written).timestamp()
