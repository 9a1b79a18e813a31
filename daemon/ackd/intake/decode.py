"""Decode a dropped file strictly: one JSON object in UTF-8, or the reason why not, or "not finished yet".

No strict prefix of a JSON object parses, so a half-written file is never taken for a message: it is `Open` and waits
(R4). What parses but means different things to different readers is refused: duplicate keys, NaN, integers beyond
2^53-1, lone surrogates (RFC 7493, I-JSON). A UTF-8 byte order mark is taken.
"""

from __future__ import annotations

import json
import re
from typing import Any, TypeAlias

import msgspec

from ackd.intake.syntax import (
    MAX_DEPTH,
    Fault,
    bad_escape,
    brackets_close,
    explain,
    read_float,
    read_integer,
    too_deep,
)

_BOM = b"\xef\xbb\xbf"
_CONFLICT = re.compile(r"^(?:<{7}|>{7})(?: |\r?$)", re.MULTILINE)


class Whole(msgspec.Struct, frozen=True):
    """One whole object. Its numbers are finite, its keys unique, its strings hold no NUL and encode as UTF-8."""

    value: dict[str, Any]


class Open(msgspec.Struct, frozen=True):
    """Valid so far and not at its end: torn, or its writer died. `position` is its length in characters."""

    position: int


class Conflict(msgspec.Struct, frozen=True):
    """Git's conflict markers stand in it, the first one in `line`; it waits until a person has merged it."""

    line: int


class Bad(msgspec.Struct, frozen=True, kw_only=True):
    """No bytes added at its end could make it a valid object.

    Attributes:
        code: Stable kebab-case word.
        detail: Plain English; never shows content, but for the name of a duplicate key, escaped and cut.
        line: From 1.
        column: From 1, in characters.
        position: In characters from the start of the text (after a byte order mark), in bytes where it is not UTF-8.
        closed: True where its brackets close, so that no more of it is on its way.
        text: The decoded text, for a repair; None where the bytes are no UTF-8.
    """

    code: str
    detail: str
    line: int
    column: int
    position: int
    closed: bool
    text: str | None


Decoded: TypeAlias = Whole | Open | Conflict | Bad


class _RefusedError(ValueError):
    """A hook of the parser met what JSON allows and ackd does not."""


def decode(data: bytes) -> Decoded:
    """Decode the bytes of one file; never raises, whatever they are.

    Linear in their length, and about 10 µs for a small envelope; the caller has capped the length.
    """
    if data.startswith(_BOM):
        data = data[3:]
    elif _BOM.startswith(data):
        return Open(0)  # empty, or cut within the byte order mark
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        return _not_utf8(data, error)
    if text.count("{") + text.count("[") > MAX_DEPTH and too_deep(text):
        return _explained(text)
    try:
        value = _PARSER.decode(text)
    except (ValueError, RecursionError):
        return _explained(text)
    if type(value) is not dict:
        return _explained(text)
    # The two escapes that JSON allows and UTF-8 or the file system does not.
    if "\\u0000" in text or "\\ud" in text or "\\uD" in text:
        fault = bad_escape(text)
        if fault is not None:
            return _bad(text, fault)
    return Whole(value)


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) != len(pairs):
        raise _RefusedError
    return value


def _integer(literal: str) -> int:
    value = read_integer(literal)
    if value is None:
        raise _RefusedError
    return value


def _float(literal: str) -> float:
    value = read_float(literal)
    if value is None:
        raise _RefusedError
    return value


def _constant(literal: str) -> float:
    raise _RefusedError


_PARSER = json.JSONDecoder(
    object_pairs_hook=_object, parse_int=_integer, parse_float=_float, parse_constant=_constant, strict=True
)


def _explained(text: str) -> Decoded:
    """The slow path: a conflict, an open text, or the first fault with its place."""
    marker = _CONFLICT.search(text)
    if marker:
        return Conflict(text.count("\n", 0, marker.start()) + 1)
    if text[:1] == "\0" or text[1:2] == "\0":
        # ASCII in UTF-16 or 32 without a byte order mark is valid UTF-8, with NUL characters between.
        wide = _wide(text[:4].encode())
        if wide:
            return _bad(text, Fault(wide, f"the file is {wide.upper()}; write it as UTF-8", 0))
    fault = explain(text)
    return Open(len(text)) if fault is None else _bad(text, fault)


def _not_utf8(data: bytes, error: UnicodeDecodeError) -> Decoded:
    """Bytes that are no UTF-8: another encoding, or a text cut within its last character."""
    wide = _wide(data)
    if wide:
        return _bad_bytes(data, wide, f"the file is {wide.upper()}; write it as UTF-8", 0)
    if error.reason == "unexpected end of data":
        text = data[: error.start].decode()
        so_far = _explained(text)
        if isinstance(so_far, Conflict) or (isinstance(so_far, Bad) and so_far.position < len(text)):
            return so_far
        # Only within a string can the rest of that character still come.
        if isinstance(_explained(text + "é"), Open):
            return so_far
    return _bad_bytes(data, "not-utf-8", "a byte is not UTF-8; write the file as UTF-8", error.start)


def _wide(head: bytes) -> str:
    """``utf-16`` or ``utf-32`` where the first bytes look like it, by a mark or by an opening ASCII character."""
    if head.startswith((b"\xff\xfe\0\0", b"\0\0\xfe\xff")):
        return "utf-32"
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        return "utf-16"
    zeros = [byte == 0 for byte in head[:4]]
    if zeros in ([False, True, True, True], [True, True, True, False]):
        return "utf-32"
    return "utf-16" if zeros[:2] in ([False, True], [True, False]) else ""


def _bad(text: str, fault: Fault) -> Bad:
    at = fault.position
    return Bad(
        code=fault.code,
        detail=fault.detail,
        line=text.count("\n", 0, at) + 1,
        column=at - text.rfind("\n", 0, at),
        position=at,
        closed=brackets_close(text),
        text=text,
    )


def _bad_bytes(data: bytes, code: str, detail: str, at: int) -> Bad:
    line_start = data.rfind(b"\n", 0, at) + 1
    return Bad(
        code=code,
        detail=detail,
        line=data.count(b"\n", 0, at) + 1,
        column=len(data[line_start:at].decode(errors="replace")) + 1,
        position=at,
        closed=True,
        text=None,
    )
