"""What the command line prints: data on stdout, messages on stderr, JSON or text, colour where it is wanted.

Everything that comes from a tree goes through `line`, `block` or `emit`: none of it can steer a terminal.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import sys
import unicodedata
from collections.abc import Iterable
from typing import IO, Any

import click

from ackd.errors import AckdError

SCHEMA_VERSION = 1
"""Version of every `--json`; additions do not raise it."""

SYMBOLS = {"request": "○", "confirmed": "◐", "final": "●"}
"""A state's sign; the word always stands beside it."""
LATE = "!"

_COLOURS = {"request": "yellow", "confirmed": "cyan", "final": "green", "late": "red", "refused": "red"}
_HARMLESS = frozenset("\u3000\u00a0")
_MOST_COLUMNS = 100


class Wanted:
    """What the options of every command ask for; one a call."""

    def __init__(self) -> None:
        self.directory: str | None = None
        self.json = False
        self.debug = False


def wanted() -> Wanted:
    """Give the options of the running command."""
    return click.get_current_context().ensure_object(Wanted)


# JSON.


def emit(data: Any) -> None:
    """Print data as the one JSON object of `--json`."""
    click.echo(as_json({"schema_version": SCHEMA_VERSION, "data": data}), color=False)


def emit_error(error: AckdError) -> None:
    """Print an error as the one JSON object of `--json`."""
    said: dict[str, Any] = {"code": error.code, "message": error.message, "hint": error.hint}
    for name in ("path", "repaired", "changes"):
        if getattr(error, name, None):
            said[name] = getattr(error, name)
    click.echo(as_json({"schema_version": SCHEMA_VERSION, "error": said}), color=False)


def as_json(value: Any) -> str:
    r"""Write a value as one line of JSON; what cannot be seen is written as \u escapes, which mean the same."""
    import msgspec

    try:
        text = msgspec.json.encode(value).decode()
    except UnicodeEncodeError:  # a lone surrogate: a file name that is no UTF-8
        import json

        return json.dumps(msgspec.to_builtins(value))
    if text.isascii():
        return text
    return "".join(one if one.isprintable() or one in _HARMLESS else _escaped(one) for one in text)


def _escaped(character: str) -> str:
    units = character.encode("utf-16-be")
    return "".join(f"\\u{units[at]:02x}{units[at + 1]:02x}" for at in range(0, len(units), 2))


# Text.


def out(text: str = "") -> None:
    """Print a line of data."""
    click.echo(text, color=has_colour(sys.stdout))


def say(text: str) -> None:
    """Print a line of message."""
    click.echo(text, err=True, color=has_colour(sys.stderr))


def show_error(error: AckdError) -> None:
    """Print an error and its hint as messages."""
    say(f"{click.style('error:', fg='red')} {line(error.message, 2000)}")
    if error.hint:
        say(f"{click.style('hint:', fg='cyan')} {line(error.hint, 2000)}")


def has_colour(stream: IO[str]) -> bool:
    """Tell whether a stream gets colour: NO_COLOR wins over FORCE_COLOR, and a terminal that is not dumb has it."""
    if os.environ.get("NO_COLOR"):
        return False
    for name in ("FORCE_COLOR", "CLICOLOR_FORCE"):
        if os.environ.get(name, "0") not in ("", "0"):
            return True
    return stream.isatty() and os.environ.get("TERM") != "dumb"


def columns() -> int:
    """Give how wide text may be: the terminal, at most 100; 80 where there is none."""
    if not sys.stdout.isatty():
        return 80
    return max(40, min(_MOST_COLUMNS, shutil.get_terminal_size().columns))


def program() -> str:
    """Give how this command line is called in a shell: by name where the PATH has it."""
    if shutil.which("ackd"):
        return "ackd"
    script = os.path.join(os.path.dirname(sys.executable), "ackd")
    return shlex.quote(script) if os.path.exists(script) else f"{shlex.quote(sys.executable)} -m ackd"


def counted(count: int, what: str) -> str:
    """Give a number of things with its word: 1 check, 2 checks."""
    return f"{count} {what}" if count == 1 else f"{count} {what}s"


def coloured(text: str, what: str) -> str:
    """Colour a word of ours by what it stands for."""
    return click.style(text, fg=_COLOURS[what]) if what in _COLOURS else text


def state_word(state: str | None, conditions: Iterable[str] = ()) -> str:
    """Give a thread's state with its sign, and what else is true of it."""
    word = coloured(f"{SYMBOLS.get(state or '', '·')} {state or 'no request yet'}", state or "")
    others = [
        coloured(f"{LATE} {one}", "late") if one in ("overdue", "escalated", "needs-person") else one
        for one in conditions
    ]
    return "  ".join([word, *others])


def line(text: object, room: int = 200) -> str:
    """Give a text from outside as one line, escaped, cut at `room` columns."""
    from ackd.tree.markdown import visible

    return cut(visible(re.sub(r"\s+", " ", str(text)[: room * 4]).strip()), room)


def block(text: object, indent: str = "  ", most: int = 4000) -> str:
    """Give a text from outside as indented lines, escaped and wrapped, cut at `most` characters."""
    from ackd.tree.markdown import visible

    whole = str(text).strip("\n")
    shown = visible(whole[:most].replace("\r\n", "\n")).expandtabs(4)
    lines = [piece for one in shown.split("\n") for piece in wrap(one, columns() - len(indent))]
    if len(whole) > most:
        lines.append(f"… ({len(whole) - most} more characters: --json has the whole)")
    return "\n".join(indent + one for one in lines)


def hanging(start: str, text: object, most: int = 600) -> str:
    """Give a text from outside behind a start of ours, escaped; where it wraps, the next lines stand two further in."""
    inner = " " * (len(start) - len(start.lstrip()) + 2)
    first, *rest = wrap(start.lstrip() + line(text, most), columns() - len(inner))
    return "\n".join([start[: len(start) - len(start.lstrip())] + first, *(inner + one for one in rest)])


def cut(text: str, room: int) -> str:
    """Cut a line at a number of columns; wide characters take two."""
    if width(text) <= room:
        return text
    taken = 0
    for position, character in enumerate(text):
        taken += _columns_of(character)
        if taken > room - 1:
            return text[:position] + "…"
    return text


def wrap(text: str, room: int) -> list[str]:
    """Break a line at blanks, and anywhere between wide characters, so that each piece fits."""
    pieces: list[str] = []
    while width(text) > room:
        taken, blank, wide, at = 0, 0, 0, len(text)
        for position, character in enumerate(text):
            taken += _columns_of(character)
            if taken > room:
                at = (blank if blank * 3 > position else wide or blank) or max(1, position)
                break
            if character == " ":
                blank = position
            elif _columns_of(character) == 2:
                wide = position + 1
        pieces.append(text[:at].rstrip())
        text = text[at:].lstrip()
    return [*pieces, text]


def width(text: str) -> int:
    """Give how many columns a text takes."""
    return len(text) if text.isascii() else sum(_columns_of(one) for one in text)


def padded(text: str, room: int) -> str:
    """Fill a text up to a number of columns."""
    return text + " " * max(0, room - width(text))


def local(at: str | None, zone: Any) -> str:
    """Give an instant of our own JSON (RFC 3339) as a person of the team reads it; nothing for none."""
    import datetime

    if not at:
        return ""
    try:
        return datetime.datetime.fromisoformat(at).astimezone(zone).strftime("%Y-%m-%d %H:%M:%S")
    except (ValueError, OverflowError):
        return line(at, 40)


def _columns_of(character: str) -> int:
    if unicodedata.combining(character):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1
