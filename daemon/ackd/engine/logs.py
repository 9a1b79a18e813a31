"""Logs of the daemon: JSON lines where a machine reads, aligned words where a person does; events have fixed names."""

from __future__ import annotations

import datetime
import logging
import sys
from typing import IO, Any

import msgspec

from ackd.engine.texts import plain_json

_STANDARD = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}
_encode = msgspec.json.Encoder().encode
_COLOURS = {logging.WARNING: "33", logging.ERROR: "31"}


def set_up(*, form: str = "auto", level: str = "info", stream: IO[str] | None = None) -> None:
    """Send the daemon's log to a stream.

    Args:
        form: `json`, `text`, or `auto`: text on a terminal, JSON otherwise.
        level: debug, info, warning or error.
        stream: Where it goes; standard error by default.
    """
    target = stream or sys.stderr
    is_terminal = target.isatty()
    handler = logging.StreamHandler(target)
    text = form == "text" or (form == "auto" and is_terminal)
    handler.setFormatter(TextFormatter(colour=is_terminal) if text else JsonFormatter())
    logger = logging.getLogger("ackd")
    logger.handlers[:] = [handler]
    logger.setLevel(level.upper())
    logger.propagate = False


class JsonFormatter(logging.Formatter):
    """One JSON object a line: at, level, event, and the event's own fields."""

    def format(self, record: logging.LogRecord) -> str:
        """Format a record."""
        line: dict[str, Any] = {"at": _instant(record), "level": record.levelname.lower(), "event": record.getMessage()}
        line |= _fields(record)
        if record.exc_info:
            line["traceback"] = self.formatException(record.exc_info)
        return plain_json(_encode(line)).decode()


class TextFormatter(logging.Formatter):
    """One line for a person: time, event, and the fields as key=value; nothing in it can steer a terminal."""

    def __init__(self, *, colour: bool) -> None:
        super().__init__()
        self._colour = colour

    def format(self, record: logging.LogRecord) -> str:
        """Format a record."""
        event = f"{record.getMessage():<10}"
        if self._colour and record.levelno in _COLOURS:
            event = f"\x1b[{_COLOURS[record.levelno]}m{event}\x1b[0m"
        fields = "  ".join(f"{name}={_plain(value)}" for name, value in _fields(record).items())
        text = f"{_instant(record)[11:19]}  {event}  {fields}".rstrip()
        return f"{text}\n{self.formatException(record.exc_info)}" if record.exc_info else text


def _fields(record: logging.LogRecord) -> dict[str, Any]:
    return {name: value for name, value in vars(record).items() if name not in _STANDARD and value not in ("", None)}


def _instant(record: logging.LogRecord) -> str:
    moment = datetime.datetime.fromtimestamp(record.created, datetime.UTC)
    return moment.strftime("%Y-%m-%dT%H:%M:%S.") + f"{moment.microsecond // 1000:03d}Z"


def _plain(value: Any) -> str:
    """Show a value without control, bidirectional or invisible characters."""
    text = str(value)
    return "".join(one if one.isprintable() else f"\\u{ord(one):04x}" for one in text)
