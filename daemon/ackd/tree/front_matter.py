"""Front matter of Markdown files: the few forms of YAML that people write there, read with line numbers, never guessed.

Read are `key: value` lines, quoted strings, comments and lists of strings, in `[a, b]` or with one `- item` a line. A
value is always text: `2026-03-08`, `no` and `12:30` mean what stands there. Everything else (nesting, anchors, tags,
texts over several lines) is a finding with its line, and the keys around it are read all the same.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterable, Sequence

import msgspec

from ackd.protocol.ids import shown
from ackd.protocol.instant import halfwidth

MOST_FINDINGS = 50
"""Findings that are listed for one file."""

_MOST_LINES = 1_000
_LONGEST_LINE = 8_000
_LONGEST_TEXT = 700  # escaped it still fits into a line that is read
_LONGEST_FLOW = 500

_KEY = re.compile(r"([^\W_][\w$.-]{0,63}|\$schema)[ \t]*:(?:[ \t]+|$)")
_LOOKS_LIKE_KEY = re.compile(r"[^\W_][\w.-]{0,63}[ \t]*[:：]")
_ITEM = re.compile(r"[ \t]*-(?:[ \t]+|$)")
_DOUBLE = re.compile(r'"((?:[^"\\]|\\.)*)"')
_SINGLE = re.compile(r"'((?:[^']|'')*)'")
_ESCAPE = re.compile(r"\\(?:x([0-9A-Fa-f]{2})|u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8})|(.))", re.DOTALL)
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "0": "\0", '"': '"', "\\": "\\", "/": "/", " ": " ", "b": "\b", "f": "\f"}
_NULLS = frozenset({"", "~", "null", "Null", "NULL"})
# What a plain text may not begin with in YAML; `@` and `` ` `` are only reserved, so what was meant is certain there.
_INDICATORS = frozenset("{}[],&*!|>%\"'#?-:")
_RESERVED = frozenset("@`")

_PLAIN = re.compile(r"[^\W\d_](?:[\w./ -]*[\w./])?")
_PLAIN_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_WORDS_OF_YAML = frozenset({"true", "false", "null", "yes", "no", "on", "off", "y", "n", "nan", "inf"})

_DAY = re.compile(r"([0-9]{4})(?:([-/.])([0-9]{1,2})\2([0-9]{1,2})|年([0-9]{1,2})月([0-9]{1,2})[日号號]?)")

Value = str | tuple[str, ...] | None


class Finding(msgspec.Struct, frozen=True):
    """What is wrong with a page, where, and how it would be right.

    Attributes:
        line: Number of the line, from 1.
        what: What was found, one sentence without a full stop; safe to show.
        expected: What would be right there.
    """

    line: int
    what: str
    expected: str


class FrontMatter(msgspec.Struct, frozen=True, kw_only=True):
    """The front matter of a file, and where its body begins.

    Attributes:
        values: What stands under each key: a text, a list of texts, or None where nothing stands.
        lines: Line of each key.
        body: Lines after the front matter, without their ends.
        body_line: Number of the first of them.
        findings: What was not read, or is no YAML for others.
    """

    values: dict[str, Value]
    lines: dict[str, int]
    body: tuple[str, ...]
    body_line: int
    findings: tuple[Finding, ...] = ()

    def text_of(self, key: str) -> str:
        """Give the text under a key, or an empty string where there is none or a list."""
        value = self.values.get(key)
        return value if isinstance(value, str) else ""

    def texts_of(self, key: str) -> tuple[str, ...]:
        """Give the texts under a key: one where a single text stands there."""
        value = self.values.get(key)
        return (value,) if isinstance(value, str) else value or ()

    def line_of(self, key: str) -> int:
        """Give the line of a key, or 1 where it is missing."""
        return self.lines.get(key, 1)


def split_lines(text: str) -> list[str]:
    """Split a text at LF, CRLF and CR, and nowhere else: line numbers are those of an editor. A BOM is left out."""
    return text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n").split("\n")


def read_front_matter(text: str) -> FrontMatter:
    """Read the front matter of a Markdown file; it never raises.

    Front matter stands between a first line `---` and the next line `---` or `...`. A file without one is all body.

    Args:
        text: The whole file, decoded.
    """
    lines = split_lines(text)
    end = _end_of(lines)
    if end is None:
        return FrontMatter(values={}, lines={}, body=tuple(lines), body_line=1, findings=_unclosed(lines))
    reader = _Reader()
    for number, line in enumerate(lines[1:end], start=2):
        reader.take(number, line)
    return FrontMatter(
        values={key: _finished(value) for key, value in reader.values.items()},
        lines=reader.lines,
        body=tuple(lines[end + 1 :]),
        body_line=end + 2,
        findings=listed(reader.findings),
    )


def write_front_matter(values: Iterable[tuple[str, str | Sequence[str]]]) -> str:
    """Write front matter that this module and every YAML reader read back as given.

    Args:
        values: Keys of ours with a text or a list of texts, in the order in which they are to stand there. Of a text
            at most 700 characters are written.

    Returns:
        The lines with both `---`, without a line end after the last.
    """
    written: list[str] = []
    for key, value in values:
        if isinstance(value, str):
            written.append(f"{key}: {_scalar(value)}")
            continue
        items = [_scalar(item) for item in value]
        if sum(map(len, items)) < _LONGEST_FLOW:
            written.append(f"{key}: [{', '.join(items)}]")
        else:
            written += [f"{key}:", *(f"  - {item}" for item in items)]
    return "\n".join(["---", *written, "---"])


def listed(findings: Sequence[Finding]) -> tuple[Finding, ...]:
    """Cap a list of findings; the last one says where more were left out."""
    if len(findings) <= MOST_FINDINGS:
        return tuple(findings)
    first = findings[MOST_FINDINGS - 1]
    more = f"there is more to put right from here on: {len(findings) - MOST_FINDINGS + 1} findings"
    return (*findings[: MOST_FINDINGS - 1], Finding(first.line, more, "the ones above put right first"))


def iso_day(written: str) -> str | None:
    """Read a day without a time: `2026-03-08`, `2026/3/8`, `2026.3.8`, `2026年3月8日`.

    Returns:
        `YYYY-MM-DD`, or None where it is no such day.
    """
    match = _DAY.fullmatch(halfwidth(written[:40]).strip())
    if match is None or len(written) > 40:
        return None
    try:
        return datetime.date(int(match[1]), int(match[3] or match[5]), int(match[4] or match[6])).isoformat()
    except ValueError:
        return None


def _end_of(lines: list[str]) -> int | None:
    if lines[0].rstrip(" \t") != "---":
        return None
    for position, line in enumerate(lines[1 : _MOST_LINES + 1], start=1):
        if line.startswith(("---", "...")) and line.rstrip(" \t") in ("---", "..."):
            return position
    return None


def _unclosed(lines: list[str]) -> tuple[Finding, ...]:
    """A page may also begin with a rule; keys below it tell that front matter was meant."""
    if lines[0].rstrip(" \t") == "---" and len(lines) > 1 and _LOOKS_LIKE_KEY.match(lines[1]):
        what = f"the front matter has no end within {_MOST_LINES} lines"
        return (Finding(1, what, "a line --- after its last key"),)
    if lines[0] != "---" and _is_later_front_matter(lines):
        return (Finding(1, "the front matter does not begin in the first line", "--- as the very first line"),)
    return ()


def _is_later_front_matter(lines: list[str]) -> bool:
    """Tell blank lines before front matter, which no reader takes for one then."""
    if lines[0].strip():
        return False
    for position, line in enumerate(lines[:20]):
        if line.strip():
            below = lines[position + 1] if position + 1 < len(lines) else ""
            return line.rstrip(" \t") == "---" and _LOOKS_LIKE_KEY.match(below) is not None
    return False


class _Reader:
    """Takes line after line; what it cannot read becomes a finding."""

    def __init__(self) -> None:
        self.values: dict[str, str | list[str] | None] = {}
        self.lines: dict[str, int] = {}
        self.findings: list[Finding] = []
        self._list: str | None = None  # the key that `- item` lines below belong to

    def take(self, number: int, line: str) -> None:
        stripped = line.strip()
        if not stripped or stripped.startswith("#"):
            return
        if len(line) > _LONGEST_LINE:
            self._list = None
            self._find(number, f"a line of {len(line)} characters", f"at most {_LONGEST_LINE} characters in a line")
        elif item := _ITEM.match(line):
            self._item(number, line[item.end() :])
        elif line[0] in " \t":
            self._find(number, f"an indented line: {shown(stripped, 40)}", "key: value, one in a line, not indented")
        elif key := _KEY.match(line):
            self._key(number, key[1], line[key.end() :])
        else:
            self._list = None
            self._find(number, f"no key and value: {shown(stripped, 40)}", "key: value, with a blank behind the colon")

    def _key(self, number: int, key: str, rest: str) -> None:
        self._list = None
        if key in self.lines:
            self._find(number, f"the key {shown(key)} stands in line {self.lines[key]} already", "each key once")
            return
        self.lines[key] = number
        rest = rest.strip(" \t")
        if rest.startswith("["):
            items = self._flow(number, rest)
            if items is not None:
                self.values[key] = items
            return
        value, read = self._read_scalar(number, rest, lenient=True)
        if read:
            self.values[key] = value
            self._list = key if value is None and not rest.startswith(("~", "n", "N")) else None

    def _item(self, number: int, rest: str) -> None:
        if self._list is None:
            self._find(number, "a list item that belongs to no key", "the key with nothing behind its colon above it")
            return
        value, read = self._read_scalar(number, rest.strip(" \t"), lenient=False)
        if not read:
            return
        items = self.values[self._list]
        if not isinstance(items, list):
            items = self.values[self._list] = []
        items.append(value or "")

    def _flow(self, number: int, rest: str) -> list[str] | None:
        """Read `[a, "b", c]` up to the end of the line."""
        items: list[str] = []
        expected = 'a list of texts in one line, such as [macro, "order book"]'
        position = 1
        while True:
            while position < len(rest) and rest[position] in " \t":
                position += 1
            if position < len(rest) and rest[position] in "\"'":
                match = (_DOUBLE if rest[position] == '"' else _SINGLE).match(rest, position)
                item = _unquoted(match) if match is not None else None
                if match is None or item is None:
                    break
                items.append(item)
                position = match.end()
            else:
                start = position
                while position < len(rest) and rest[position] not in ",]":
                    position += 1
                plain = rest[start:position].strip(" \t")
                if plain:
                    if plain[0] in _INDICATORS or set(plain) & set("[]{}#") or ": " in plain:
                        break
                    items.append(plain)
                elif rest[position : position + 1] == ",":
                    break
            while position < len(rest) and rest[position] in " \t":
                position += 1
            if rest[position : position + 1] == ",":
                position += 1
            elif rest[position : position + 1] == "]" and _is_comment(rest[position + 1 :]):
                return items
            else:
                break
        self._find(number, f"a list that cannot be read: {shown(rest, 40)}", expected)
        return None

    def _read_scalar(self, number: int, rest: str, *, lenient: bool) -> tuple[str | None, bool]:
        """Read one value: itself, and whether it was read."""
        if rest[:1] in ('"', "'"):
            match = (_DOUBLE if rest[0] == '"' else _SINGLE).match(rest)
            value = _unquoted(match) if match is not None and _is_comment(rest[match.end() :]) else None
            if value is None:
                self._find(
                    number, f"a quoted text that cannot be read: {shown(rest, 40)}", "one text in one pair of quotes"
                )
            return value, value is not None
        plain = _without_comment(rest)
        if plain in _NULLS:
            return None, True
        quoted = f"the value in quotes: {_quoted(plain[:40])}"
        if plain[0] in _INDICATORS and not (plain[0] in "-?:" and plain[1:2].strip()):
            self._find(
                number,
                f"a form of YAML that is not read here: {shown(plain, 40)}",
                f"one text or a list of texts; or {quoted}",
            )
            return None, False
        if plain[0] in _RESERVED or ": " in plain or plain.endswith(":"):
            self._find(number, f"a value that other readers of YAML refuse: {shown(plain, 40)}", quoted)
            return plain, lenient
        return plain, True

    def _find(self, number: int, what: str, expected: str) -> None:
        self.findings.append(Finding(number, what, expected))


def _finished(value: str | list[str] | None) -> Value:
    return tuple(value) if isinstance(value, list) else value


def _is_comment(rest: str) -> bool:
    """Tell whether nothing but a comment follows a value."""
    stripped = rest.strip(" \t")
    return not stripped or (rest[0] in " \t" and stripped[0] == "#")


def _without_comment(rest: str) -> str:
    if rest.startswith("#"):
        return ""
    cuts = [cut for mark in (" #", "\t#") if (cut := rest.find(mark)) >= 0]
    return rest[: min(cuts)].rstrip(" \t") if cuts else rest


def _unquoted(match: re.Match[str]) -> str | None:
    """What a quoted text means, or None where it has an escape that YAML does not know."""
    inner = match[1]
    if match[0][0] == "'":
        return inner.replace("''", "'")
    if "\\" not in inner:
        return inner
    known = True

    def one(escape: re.Match[str]) -> str:
        nonlocal known
        digits = escape[1] or escape[2] or escape[3]
        if digits:
            code = int(digits, 16)
            known = known and code < 0x110000 and not 0xD800 <= code < 0xE000
            return chr(code) if known else ""
        known = known and escape[4] in _ESCAPES
        return _ESCAPES.get(escape[4], "")

    meant = _ESCAPE.sub(one, inner)
    return meant if known else None


def _scalar(text: str) -> str:
    text = text[:_LONGEST_TEXT]
    if _PLAIN_DAY.fullmatch(text) or (_PLAIN.fullmatch(text) and text.lower() not in _WORDS_OF_YAML):
        return text
    return _quoted(text)


def _quoted(text: str) -> str:
    return '"' + "".join(_escaped(character) for character in text) + '"'


def _escaped(character: str) -> str:
    if character in '"\\':
        return "\\" + character
    if character.isprintable():
        return character
    code = ord(character)
    if 0xD800 <= code < 0xE000:
        return "\ufffd"  # a lone surrogate is no text; YAML cannot write it
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
