"""Say what is wrong with a text that is no JSON object, and where; or that it is only not finished yet.

This is the slow path behind `decode`: it runs only where the fast parser refused. One pass from left to right, with a
stack of what is open; every character is looked at a bounded number of times, however hostile the text. A text is
*open* when some bytes appended to it could make it a valid object, and only then.
"""

from __future__ import annotations

import math
import re

import msgspec

MAX_DEPTH = 64
MAX_INTEGER = 2**53 - 1
_MAX_NUMBER_CHARS = 400
_SHOWN_KEY = 80

_SPACE = re.compile(r"[ \t\n\r]*")
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?")
_OPEN_NUMBER = re.compile(r"-|-?(?:0|[1-9][0-9]*)(?:\.|(?:\.[0-9]+)?[eE][+-]?)")
_NUMBER_CHARS = re.compile(r"[-+0-9.eE]*")
_WORD = re.compile(r"[A-Za-z_]+")
_PLAIN = re.compile(r'[^"\\\x00-\x1f]*')
_ESCAPE = re.compile(r'\\(?:["\\/bfnrt]|u([0-9a-fA-F]{4}))')
_OPEN_ESCAPE = re.compile(r"\\(?:u[0-9a-fA-F]{0,3})?")
_OPEN_LOW_HALF = re.compile(r"\\(?:u(?:[dD](?:[c-fC-F][0-9a-fA-F]?)?)?)?")
_LITERALS = ("true", "false", "null")
_LONE_LITERAL = re.compile(r"(?:true|false|null)\s*\Z")
# A string is taken as one token, also one that never ends: else each of its quotes would be tried as a start.
_BRACKETS = re.compile(r'"(?:[^"\\]++|\\.)*+(?:"|\\?\Z)|[\[\]{}]', re.DOTALL)
_NOT_FINITE = ("NaN", "Infinity", "-Infinity")
_FOREIGN = {"True": "true", "False": "false", "None": "null", "undefined": "null"}


class Fault(msgspec.Struct, frozen=True):
    """What is wrong: a stable kebab-case `code`, plain words, and the `position` in characters from the start."""

    code: str
    detail: str
    position: int


class _StopError(Exception):
    """Ends the pass; carries a `Fault`, or None where the text is merely open."""

    def __init__(self, fault: Fault | None) -> None:
        super().__init__()
        self.fault = fault


def explain(text: str) -> Fault | None:
    """Find the first fault in a text, or None where it is a valid object so far and could still become whole.

    A text that is a whole valid object gives a fault too (``syntax``, at its end): there is nothing to explain, and the
    caller asked because a parser had refused it.
    """
    try:
        _document(text)
    except _StopError as stop:
        return stop.fault
    return Fault("syntax", "this is not the JSON that ackd reads", len(text))


def bad_escape(text: str) -> Fault | None:
    """Find a NUL or half a surrogate pair written as an escape, in a text whose JSON is valid otherwise."""
    position = text.find("\\")
    while position >= 0:
        try:
            position = _escape(text, position)
        except _StopError as stop:
            return stop.fault
        position = text.find("\\", position)
    return None


def too_deep(text: str) -> bool:
    """True where brackets outside strings nest deeper than `MAX_DEPTH`; linear, and needs no valid JSON."""
    depth = 0
    for match in _BRACKETS.finditer(text):
        mark = match.group()
        if mark in "[{":
            depth += 1
            if depth > MAX_DEPTH:
                return True
        elif mark in "]}":
            depth -= 1
    return False


def brackets_close(text: str) -> bool:
    """True where every bracket outside strings that was opened is closed again: no more of it is on its way."""
    depth = 0
    for match in _BRACKETS.finditer(text):
        mark = match.group()
        if mark in "[{":
            depth += 1
        elif mark in "]}":
            depth -= 1
        elif not mark.endswith('"') or len(mark) == 1:
            return False
    return depth <= 0


def shown_key(key: str) -> str:
    """A key as it may be shown: what does not print is escaped, and it is cut at 80 characters."""
    cut = key if len(key) <= _SHOWN_KEY else key[:_SHOWN_KEY] + "…"
    return "".join(c if c.isprintable() else f"\\u{ord(c):04x}" for c in cut)


def _document(text: str) -> None:
    """Walk the whole text; raises `_StopError` at the first fault or at an open end."""
    at = _skip(text, 0)
    if at == len(text):
        raise _StopError(None)
    if text[at] != "{":
        raise _StopError(_no_object(text, at))
    # One entry for each open bracket: the keys seen so far for an object, None for a list.
    open_: list[set[str] | None] = [set()]
    at = _skip(text, at + 1)
    fresh = True  # nothing stands yet between the innermost bracket and `at`
    while open_:
        if at == len(text):
            raise _StopError(None)
        inner = open_[-1]
        closer = "]" if inner is None else "}"
        if text[at] == closer:
            open_.pop()
            at, fresh = _skip(text, at + 1), False
            continue
        if not fresh:
            at = _comma(text, at, closer)
        if inner is not None:
            at = _key(text, at, inner)
        if text[at] in "{[":
            if len(open_) == MAX_DEPTH:
                raise _StopError(Fault("too-deep", f"brackets are nested deeper than {MAX_DEPTH}", at))
            open_.append(set() if text[at] == "{" else None)
            at, fresh = _skip(text, at + 1), True
        else:
            at, fresh = _skip(text, _scalar(text, at)), False
    if at != len(text):
        raise _StopError(_after_end(text, at))


def _skip(text: str, at: int) -> int:
    match = _SPACE.match(text, at)
    return match.end() if match else at


def _comma(text: str, at: int, closer: str) -> int:
    """Pass the comma between two members; the result is where the next one begins."""
    if text[at] != ",":
        raise _StopError(_unexpected(text, at, f"a comma or {closer}"))
    after = _skip(text, at + 1)
    if after == len(text):
        raise _StopError(None)
    if text[after] in "]}":
        raise _StopError(Fault("trailing-comma", "a comma stands before the closing bracket", at))
    return after


def _key(text: str, at: int, seen: set[str]) -> int:
    """Pass a key and its colon; the result is where the value begins."""
    if text[at] != '"':
        raise _StopError(_unexpected(text, at, "a key in double quotes"))
    end = _string(text, at)
    key = _unescaped(text[at + 1 : end - 1])
    if key in seen:
        raise _StopError(Fault("duplicate-key", f'the key "{shown_key(key)}" stands twice in one object', at))
    seen.add(key)
    colon = _skip(text, end)
    if colon == len(text):
        raise _StopError(None)
    if text[colon] != ":":
        raise _StopError(_unexpected(text, colon, "a colon after the key"))
    value = _skip(text, colon + 1)
    if value == len(text):
        raise _StopError(None)
    return value


def _scalar(text: str, at: int) -> int:
    first = text[at]
    if first == '"':
        return _string(text, at)
    if first == "-" or "0" <= first <= "9":
        return _number(text, at)
    word = _WORD.match(text, at)
    if word and word.group() in _LITERALS:
        return word.end()
    if word and word.end() == len(text) and any(literal.startswith(word.group()) for literal in _LITERALS):
        raise _StopError(None)
    raise _StopError(_unexpected(text, at, "a value"))


def _string(text: str, at: int) -> int:
    """Pass a string from its opening quote; the result is just after the closing one."""
    start = at
    at += 1
    while True:
        match = _PLAIN.match(text, at)
        at = match.end() if match else at
        if at == len(text):
            raise _StopError(None)
        if text[at] == '"':
            return at + 1
        if text[at] != "\\":
            raise _StopError(_control(text, at, start))
        at = _escape(text, at)


def _escape(text: str, at: int) -> int:
    r"""Pass one escape, or the two of a surrogate pair (RFC 8259, section 7); the result is just after it."""
    match = _ESCAPE.match(text, at)
    if match is None:
        partial = _OPEN_ESCAPE.match(text, at)
        if partial and partial.end() == len(text):
            raise _StopError(None)
        raise _StopError(Fault("bad-escape", "a backslash is followed by something that JSON does not know", at))
    if match.group(1) is None:
        return match.end()
    unit = int(match.group(1), 16)
    if unit == 0:
        raise _StopError(Fault("nul", "a string holds the character NUL, written as an escape", at))
    if not 0xD800 <= unit <= 0xDFFF:
        return match.end()
    if unit <= 0xDBFF:
        second = _ESCAPE.match(text, match.end())
        if second and second.group(1) and 0xDC00 <= int(second.group(1), 16) <= 0xDFFF:
            return second.end()
        if match.end() == len(text) or _OPEN_LOW_HALF.fullmatch(text, match.end()):
            raise _StopError(None)
    raise _StopError(Fault("lone-surrogate", "an escape names half of a surrogate pair", at))


def _unescaped(raw: str) -> str:
    r"""Decode the inside of a string that `_string` passed; ``"ack\u005fid"`` and ``"ack_id"`` are one key."""
    if "\\" not in raw:
        return raw
    decoded: str = msgspec.json.decode(f'"{raw}"', type=str)
    return decoded


def _number(text: str, at: int) -> int:
    run = _NUMBER_CHARS.match(text, at)
    end = run.end() if run else at
    if end - at > _MAX_NUMBER_CHARS:
        raise _StopError(Fault("number-too-large", f"a number has more than {_MAX_NUMBER_CHARS} characters", at))
    if end == at + 1 and text.startswith("-Infinity", at):
        raise _StopError(_unexpected(text, at, "a value"))
    whole = _NUMBER.fullmatch(text, at, end)
    literal = text[at:end]
    # More digits only make an exponent larger, while those of an integer may get a negative exponent yet.
    if whole and whole.group(2) and read_float(literal) is None:
        raise _StopError(Fault("number-too-large", "a number is too large for a 64-bit float", at))
    if end == len(text) and (whole or _OPEN_NUMBER.fullmatch(literal)):
        raise _StopError(None)
    if whole is None:
        raise _StopError(Fault("syntax", "a number is not written as JSON writes it", at))
    if whole.group(1) is None and whole.group(2) is None:
        if read_integer(literal) is None:
            raise _StopError(Fault("number-too-large", "an integer lies beyond 2^53-1", at))
    elif read_float(literal) is None:
        raise _StopError(Fault("number-too-large", "a number is too large for a 64-bit float", at))
    return end


def read_integer(literal: str) -> int | None:
    """Convert the digits of an integer, or None beyond 2^53-1 (what every JSON reader holds exactly; RFC 7493).

    The digits are counted first: converting very many takes quadratic time.
    """
    value = int(literal) if len(literal) <= 17 else MAX_INTEGER + 1
    return value if -MAX_INTEGER <= value <= MAX_INTEGER else None


def read_float(literal: str) -> float | None:
    """Convert a number with a fraction or an exponent, or None where a double holds it only as infinite."""
    value = float(literal) if len(literal) <= _MAX_NUMBER_CHARS else math.inf
    return value if math.isfinite(value) else None


def _unexpected(text: str, at: int, wanted: str) -> Fault:
    """Name what stands at a place where something else belongs, without showing it."""
    first = text[at]
    word = _WORD.match(text, at)
    if text.startswith(_NOT_FINITE, at):
        return Fault("not-finite", "NaN and Infinity are no JSON numbers", at)
    if text.startswith(("//", "/*"), at) or first == "#":
        return Fault("comment", "JSON has no comments", at)
    if first in "'‘’":
        return Fault("single-quotes", f"a single quote stands where {wanted} belongs; JSON uses double quotes", at)
    if first in "“”「」＂":
        return Fault("curly-quotes", f"a typographic quote stands where {wanted} belongs; JSON uses plain ones", at)
    if first in "，：｛｝［］":
        return Fault("fullwidth-punctuation", f"a full-width sign stands where {wanted} belongs", at)
    if word and word.group() in _FOREIGN:
        return Fault("foreign-literal", f"JSON writes this value as {_FOREIGN[word.group()]}", at)
    if first == "\0":
        return Fault("nul", f"a NUL byte stands where {wanted} belongs", at)
    return Fault("syntax", f"{_kind(first)} stands where {wanted} belongs", at)


def _kind(character: str) -> str:
    if character == '"':
        return "a string"
    if character == ",":
        return "a comma"
    if character == ":":
        return "a colon"
    if character in "]}":
        return "a closing bracket"
    if character in "[{":
        return "an opening bracket"
    if character.isdecimal() or character == "-":
        return "a number"
    return "a word" if character.isalpha() else "another character"


def _control(text: str, at: int, start: int) -> Fault:
    if text[at] == "\0":
        return Fault("nul", "a string holds a NUL byte", at)
    if text[at] in "\r\n":
        return Fault("line-break", "a string goes over the end of a line; write the break as \\n", start)
    return Fault("control-character", f"a string holds the raw control character U+{ord(text[at]):04X}", at)


def _no_object(text: str, at: int) -> Fault:
    """Say what a text is whose first character does not open an object."""
    first = text[at]
    if first == "\0":
        return Fault("nul", "the file begins with NUL bytes, as a crash of its machine leaves them", at)
    if text.startswith(("`", "~~~"), at):
        return Fault("fenced", "the object stands in a code fence", at)
    if first == "[":
        return Fault("not-an-object", "the top level is a list; a file holds one object", at)
    if first in '"-' or "0" <= first <= "9" or _LONE_LITERAL.match(text, at):
        return Fault("not-an-object", "the top level is a single value; a file holds one object", at)
    if text.startswith(("//", "/*", "#"), at):
        return Fault("comment", "JSON has no comments", at)
    if text.startswith(_NOT_FINITE, at):
        return Fault("not-finite", "NaN and Infinity are no JSON numbers", at)
    if "```" in text:
        return Fault("fenced", "the object stands in a code fence, with text around it", at)
    if "{" in text:
        return Fault("prose", "text stands before the object", at)
    return Fault("not-json", "the file holds plain text and no object", at)


def _after_end(text: str, at: int) -> Fault:
    """Say what follows a whole object."""
    if text[at] in "{[":
        return Fault("two-documents", "a second document follows the first; a file holds one object", at)
    if text[at] == "\0":
        return Fault("nul", "NUL bytes follow the object", at)
    return Fault("trailing-garbage", "something follows the object", at)
