"""What a final says under `decision`: read leniently, since agents write it by hand; what is left out is noted."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from ackd.protocol.ids import shown
from ackd.protocol.instant import halfwidth

STATUS_WORDS = ("proposed", "rejected", "accepted", "deprecated")
"""What a record's status may be, beside `superseded by` and the name of a record."""

SUPERSEDED = "superseded by "

MOST_NAMES = 200
_MOST_ITEMS = 50


class Option(msgspec.Struct, frozen=True):
    """A way that was considered, and what speaks for it and against it."""

    name: str
    good: tuple[str, ...] = ()
    bad: tuple[str, ...] = ()


class Decision(msgspec.Struct, frozen=True, kw_only=True):
    """What a final says under `decision`, as written.

    Attributes:
        title: The decision in a few words.
        context: Why there was something to decide.
        drivers: What mattered.
        options: What was considered.
        chosen: The option that was taken.
        because: Why.
        consequences: What follows.
        status: One of `STATUS_WORDS`, or empty: then the final's status says it.
        supersedes: Record or thread that it replaces, as its author named it.
        consulted: Who was asked.
        informed: Who was told.
        notes: What could not be read, one sentence each, for its author.
    """

    title: str = ""
    context: str = ""
    drivers: tuple[str, ...] = ()
    options: tuple[Option, ...] = ()
    chosen: str = ""
    because: str = ""
    consequences: tuple[str, ...] = ()
    status: str = ""
    supersedes: str = ""
    consulted: tuple[str, ...] = ()
    informed: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


def read_decision(value: object) -> Decision | None:
    """Read what stands under `decision` in a final; it never raises.

    Taken are a text, which is the title, or an object with `title`, `options` (texts, or objects with `name`, `good`
    and `bad`), `context`, `drivers`, `chosen`, `because`, `consequences`, `status`, `supersedes`, `consulted` and
    `informed`.

    Returns:
        The decision, or None where the final carries none.
    """
    if isinstance(value, str) and value.strip():
        return Decision(title=value)
    if not isinstance(value, dict) or not value:
        return None
    reader = _DecisionReader(value)
    options, chosen = (
        reader.options("options", "options_considered", "considered_options"),
        reader.text("chosen", "outcome"),
    )
    if chosen.strip() and options and not any(_is_option(chosen, option.name) for option in options):
        reader.notes.append(f"decision.chosen {shown(chosen, 60)} is none of the options")
    return Decision(
        title=reader.text("title"),
        context=reader.text("context"),
        drivers=reader.texts("drivers"),
        options=options,
        chosen=chosen,
        because=reader.text("because", "reason"),
        consequences=reader.texts("consequences"),
        status=reader.status(),
        supersedes=reader.text("supersedes"),
        consulted=reader.texts("consulted", most=MOST_NAMES),
        informed=reader.texts("informed", most=MOST_NAMES),
        notes=tuple(reader.notes),
    )


def parse_status(written: str) -> tuple[str, str]:
    """Read a status word: `accepted`, or `superseded by 20260401-oil-v2`.

    Returns:
        The word and the name of the other record; both empty where it is no status.
    """
    text = " ".join(written.split())
    if text.lower().startswith(SUPERSEDED) and len(text) > len(SUPERSEDED):
        return "superseded", text[len(SUPERSEDED) :]
    return (text.lower(), "") if text.lower() in STATUS_WORDS else ("", "")


class _DecisionReader:
    """Reads the keys that it knows, and notes what is none of the forms."""

    def __init__(self, value: dict[str, Any]) -> None:
        self.notes: list[str] = []
        self._value = value

    def text(self, *keys: str) -> str:
        value = self._get(keys)
        if value is None or isinstance(value, str):
            return value or ""
        self.notes.append(f"decision.{keys[0]} is no text")
        return ""

    def texts(self, key: str, most: int = _MOST_ITEMS) -> tuple[str, ...]:
        value = self._get((key,))
        if value is None:
            return ()
        items = [value] if isinstance(value, str) else value
        if not isinstance(items, list) or not all(isinstance(item, str) for item in items):
            self.notes.append(f"decision.{key} is no list of texts")
            return ()
        return self._capped(key, tuple(items), most)

    def options(self, *keys: str) -> tuple[Option, ...]:
        value = self._get(keys)
        items = [value] if isinstance(value, str | dict) else value
        if items is None:
            return ()
        found = [_option(item) for item in items] if isinstance(items, list) else [None]
        if None in found:
            self.notes.append("decision.options is no list of texts or of objects with a name")
        return self._capped("options", tuple(one for one in found if one is not None), _MOST_ITEMS)

    def status(self) -> str:
        written = self.text("status")
        word, _ = parse_status(written)
        if written.strip() and word not in STATUS_WORDS:
            self.notes.append(f"decision.status is none of {', '.join(STATUS_WORDS)}")
        return word if word in STATUS_WORDS else ""

    def _capped(self, key: str, items: tuple[Any, ...], most: int) -> tuple[Any, ...]:
        if len(items) > most:
            self.notes.append(f"decision.{key} has {len(items)} entries; the first {most} are shown")
        return items[:most]

    def _get(self, keys: Sequence[str]) -> Any:
        return next((self._value[key] for key in keys if self._value.get(key) is not None), None)


def _is_option(chosen: str, option: str) -> bool:
    """Tell whether an option was meant: its name whatever the case, or one of the two with more words behind it."""
    short, long = sorted((halfwidth(" ".join(one.casefold().split())) for one in (chosen, option)), key=len)
    return bool(short) and long.startswith(short) and not long[len(short) : len(short) + 1].isalnum()


def _option(item: object) -> Option | None:
    if isinstance(item, str):
        return Option(item)
    if not isinstance(item, dict):
        return None
    name = next((item[key] for key in ("name", "title", "option") if isinstance(item.get(key), str)), None)
    return None if name is None else Option(name, _arguments(item, "good", "pros"), _arguments(item, "bad", "cons"))


def _arguments(item: dict[str, Any], *keys: str) -> tuple[str, ...]:
    value = next((item[key] for key in keys if item.get(key) is not None), ())
    found = [value] if isinstance(value, str) else value if isinstance(value, list) else []
    return tuple(one for one in found if isinstance(one, str))[:_MOST_ITEMS]
