"""Offer the envelope that a refused file was certainly meant to be, with all that was changed; or say why not.

A repair is what anybody would do by hand without asking: a code fence, a comment, a trailing comma, `ackId`, UTF-16. It
is offered beside the refusal and taken only by a person or the author (DESIGN part 4), so it has to be right: two
objects, a missing bracket, a key twice, anything that could be meant in two ways is left to whoever wrote it. The value
of a string is never touched.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, TypeAlias

import msgspec

from ackd.errors import InvalidError
from ackd.intake.decode import Bad, Conflict, Open, Whole, decode
from ackd.intake.encodings import NoText, read_text
from ackd.intake.scrub import Doubt, scrub
from ackd.protocol.envelope import STATES, TYPES, read_envelope
from ackd.protocol.ids import shown
from ackd.schema import accepts, problems
from ackd.schema.source import load_schema

MAX_BYTES = 1024 * 1024
"""The largest file that is looked at, and the largest that a repair may become."""

_MAX_PRETTY = 64 * 1024
_MAX_KEY = 64
_SHOWN_PROBLEMS = 3


class Repaired(msgspec.Struct, frozen=True):
    """A valid envelope, made from a file that is none.

    Attributes:
        document: The envelope. Its strings are those of the file; unknown keys are kept.
        changes: What was changed, at least one sentence in plain English, such as ``a comma before the closing bracket
            was taken out (line 7)``; no capital at the beginning, no full stop.
    """

    document: dict[str, Any]
    changes: tuple[str, ...]

    def to_bytes(self) -> bytes:
        """Give the repaired file: UTF-8 with a line break at its end, indented unless it is large."""
        return _written(self.document)


class NoRepair(msgspec.Struct, frozen=True):
    """No repair is certain; `reason` is a clause in plain English and shows no content but keys, escaped and cut."""

    reason: str


Repair: TypeAlias = Repaired | NoRepair


def repair(data: bytes) -> Repair:
    """Repair a file that `decode` or the envelope schema refuses, where what was meant is certain.

    Never raises, whatever the bytes are, and linear in their length. A file that is taken as it stands gets no repair.

    Args:
        data: The bytes of the file as they were dropped.
    """
    if len(data) > MAX_BYTES:
        return NoRepair(f"it has {len(data)} bytes, more than {MAX_BYTES}")
    decoded = decode(data)
    changes: list[str] = []
    if isinstance(decoded, Bad):
        read = read_text(data)
        if isinstance(read, NoText):
            return NoRepair(read.reason)
        if read.change:
            changes.append(read.change)
            decoded = decode(read.text.encode())
        if isinstance(decoded, Bad):
            scrubbed = scrub(read.text)
            if isinstance(scrubbed, Doubt):
                return NoRepair(scrubbed.reason)
            changes += scrubbed.changes
            decoded = decode(scrubbed.text.encode())
    if isinstance(decoded, Whole):
        return _as_envelope(decoded.value, changes)
    return NoRepair(_still(changes, _why_not_whole(decoded)))


def _why_not_whole(decoded: Open | Conflict | Bad) -> str:
    if isinstance(decoded, Open):
        return "it ends before the object does"
    detail = decoded.detail if isinstance(decoded, Bad) else "git left conflict markers in it"
    return f"{detail} (line {decoded.line})"


def _still(changes: list[str], wrong: str) -> str:
    return f"{'; '.join(changes)}; it is still no envelope: {wrong}" if changes else wrong


def _as_envelope(document: dict[str, Any], changes: list[str]) -> Repair:
    """Put keys and state right, and offer the result only where it is an envelope that would be taken."""
    spelled = _spell_keys(document)
    if isinstance(spelled, NoRepair):
        return spelled
    document, renamed = spelled
    moved = _name_type(document)
    if isinstance(moved, NoRepair):
        return moved
    document, named = moved
    changes = [*changes, *renamed, *named]
    wrong = _what_is_wrong(document)
    if wrong:
        return NoRepair(_still(changes, wrong))
    if not changes:
        return NoRepair("it is an envelope as it stands")
    if len(_written(document)) > MAX_BYTES:
        return NoRepair(f"written as UTF-8 it has more than {MAX_BYTES} bytes")
    return Repaired(document, tuple(changes))


def _spell_keys(document: dict[str, Any]) -> tuple[dict[str, Any], list[str]] | NoRepair:
    """Give each top-level key that can only be one key of the envelope the spelling of that key."""
    keys = _envelope_keys()
    meant: dict[str, str] = {}
    for key in document:
        name = keys.get(_folded(key))
        if name is None:
            continue
        if name in meant:
            return NoRepair(f"the keys {shown(meant[name])} and {shown(key)} both mean {shown(name)}")
        meant[name] = key
    names = {key: name for name, key in meant.items() if key != name}
    changes = [f"the key {shown(key)} is now {shown(name)}" for key, name in names.items()]
    return {names.get(key, key): value for key, value in document.items()}, changes


def misspelled_key(document: dict[str, Any]) -> tuple[str, str] | None:
    """Give a key that can only be meant as a key of the envelope that is not there, and that key; or None.

    `State` beside no `state` is no metadata: taken as such, a request would pass for a remark.
    """
    keys = _envelope_keys()
    for key in document:
        name = keys.get(_folded(key)) if key not in _spellings() else None
        if name is not None and name not in document:
            return key, name
    return None


@lru_cache(maxsize=1)
def _spellings() -> frozenset[str]:
    return frozenset(load_schema("envelope")["properties"])


def _folded(key: str) -> str:
    # Only ASCII: a look-alike is not a matter of spelling.
    if len(key) > _MAX_KEY or not key.isascii():
        return ""
    return key.replace("_", "").replace("-", "").replace(" ", "").lower()


@lru_cache(maxsize=1)
def _envelope_keys() -> dict[str, str]:
    """Give the keys of the envelope by their folded form; a form that two keys share is left out."""
    names: dict[str, str] = {}
    shared = set()
    for name in load_schema("envelope")["properties"]:
        if names.setdefault(_folded(name), name) != name:
            shared.add(_folded(name))
    return {form: name for form, name in names.items() if form and form not in shared}


def _name_type(document: dict[str, Any]) -> tuple[dict[str, Any], list[str]] | NoRepair:
    """Put a type that stands under `state`, as ``{"state": "clarify"}``, under `type`."""
    word = document.get("state")
    if not isinstance(word, str) or word in STATES or word not in TYPES:
        return document, []
    if "type" not in document:
        moved = {"type" if key == "state" else key: value for key, value in document.items()}
        return moved, [f'"{word}" stands under "type" now: it is a type of message and no state']
    if document["type"] != word:
        return NoRepair(f'"state" and "type" contradict each other: "state" says "{word}"')
    rest = {key: value for key, value in document.items() if key != "state"}
    return rest, [f'"state" was taken out: "{word}" is a type of message and no state, and "type" names it']


def _what_is_wrong(document: dict[str, Any]) -> str:
    """Say why a document would be refused; empty where it would be taken."""
    if not accepts("envelope", document):
        found = problems("envelope", document)[:_SHOWN_PROBLEMS]
        return "; ".join(f"{one.pointer or 'the envelope'}: {one.expected}" for one in found) or "it is no envelope"
    try:
        read_envelope(document)
    except InvalidError as error:
        return error.message
    return ""


def _written(document: dict[str, Any]) -> bytes:
    # A small object nested deeply grows a hundredfold by its indents.
    compact = msgspec.json.encode(document)
    if len(compact) <= _MAX_PRETTY:
        pretty = msgspec.json.format(compact, indent=2)
        if len(pretty) < MAX_BYTES:
            return pretty + b"\n"
    return compact + b"\n"
