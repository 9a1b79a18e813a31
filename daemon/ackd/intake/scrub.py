"""Take out of a text what is no JSON and means nothing: code fence, list of one, comments, trailing commas.

One pass over the tokens. A string is one token and keeps its value; a raw tab or line break in it is only written as
JSON writes it. What is taken out leaves blanks and line breaks behind, so that places stay the same. The result may
still be no JSON: that is for the strict decoder to say.
"""

from __future__ import annotations

import re

import msgspec

_STRING = re.compile(r'"(?:[^"\\]++|\\.)*+"', re.DOTALL)
_PLAIN = re.compile(r'[^"/#\[\]{},]+')
_LINE_COMMENT = re.compile(r"(?://|#)[^\r\n]*")
_OTHER_LINE_ENDS = re.compile("[\v\f\x85\u2028\u2029]")
_MEMBER = re.compile(r'"[ \t]*:')
_RAW = re.compile(r"\\.|[\t\n]", re.DOTALL)
_FENCE = re.compile(r"^[ \t]*(`{3,}|~{3,})", re.MULTILINE)
_INFO = re.compile(r"[^\r\n`~{}\[\]]*")
_VISIBLE = re.compile(r"[^\r\n]")
_BLANKS = " \t\r\n"
_SHOWN_LINES = 5

_COMMENT, _COMMA, _TAB, _BREAK = "comment", "comma", "tab", "break"
_SENTENCES = {
    _COMMENT: ("a comment was taken out", "{} comments were taken out"),
    _COMMA: ("a comma before the closing bracket was taken out", "{} commas before closing brackets were taken out"),
    _TAB: ("a tab in a string is now written \\t", "{} tabs in strings are now written \\t"),
    _BREAK: ("a line break in a string is now written \\n", "{} line breaks in strings are now written \\n"),
}


class Scrubbed(msgspec.Struct, frozen=True):
    """The object alone, on the lines where it stood, and what was changed, as sentences in plain English."""

    text: str
    changes: tuple[str, ...]


class Doubt(msgspec.Struct, frozen=True):
    """Nothing certain can be made of the text; `reason` is a clause in plain English that shows no content."""

    reason: str


class _DoubtError(Exception):
    """Ends the pass; its only argument is the reason."""


def scrub(text: str) -> Scrubbed | Doubt:
    """Give the one object of a text without what stands around and between its parts.

    Never raises, and linear in the length.

    Args:
        text: What the strict decoder refused, without a byte order mark and without NUL.
    """
    try:
        return _scrub(text)
    except _DoubtError as doubt:
        return Doubt(str(doubt))


def _scrub(text: str) -> Scrubbed:
    fence = _FENCE.search(text)
    brace = text.find("{")
    if brace < 0:
        raise _DoubtError("it holds no object")
    if fence is None or brace < fence.start():
        walk = _Walk(text, 0)
        walk.value()
        walk.rest()
        changes = walk.changes()
    else:
        before = text[: fence.start()].strip()
        if before.startswith(("[", '"')) or "}" in before:
            raise _DoubtError("the code fence stands inside something else")
        info = _INFO.match(text, fence.end())
        walk = _Walk(text, info.end() if info else fence.end())
        walk.value()
        around = _after_fence(walk, fence.group(1)) or before
        what = "the code fence and the text around it were" if around else "the code fence around the object was"
        changes = (f"{what} taken out", *walk.changes())
    clean = walk.text()
    body = clean.strip(_BLANKS)
    if not body.startswith("["):
        return Scrubbed(clean, changes)
    opening, closing = clean.index("["), clean.rfind("]")
    inner = clean[opening + 1 : closing]
    if walk.parts != 1 or not body.endswith("]") or not inner.strip(_BLANKS).startswith("{"):
        raise _DoubtError("the top level is a list that does not hold exactly one object")
    return Scrubbed(clean[:opening] + " " + inner, ("the object was taken out of a list of one", *changes))


def _after_fence(walk: _Walk, opening: str) -> str:
    """Pass the closing fence, which the end of the file may stand for, and give the text behind it."""
    text = walk.source
    at = walk.pass_blanks()
    if at == len(text):
        return ""
    closing = re.compile(f"{opening[0]}{{{len(opening)},}}").match(text, at)
    if closing is None:
        raise _DoubtError(f"something follows the object in the code fence (line {walk.line(at)})")
    behind = text[closing.end() :]
    if _FENCE.search(behind):
        raise _DoubtError("there is more than one code fence")
    if "{" in behind or "}" in behind:
        raise _DoubtError("braces stand outside the code fence too")
    return behind.strip()


class _Walk:
    """One pass over a value and what surrounds it.

    Args:
        source: The whole text.
        start: Where to begin; what stands before becomes blank.

    Attributes:
        source: The whole text.
        parts: How many items or members the outermost bracket holds, where it holds any.
    """

    def __init__(self, source: str, start: int) -> None:
        self.source = source
        self._at = start
        self._out = [_blank(source[:start])]
        self._counted = (0, 1)  # a position, and the line that it is in
        self._lines: dict[str, list[int]] = {kind: [] for kind in _SENTENCES}
        self.parts = 1

    def text(self) -> str:
        """Give what was passed, without what was taken out."""
        return "".join(self._out)

    def changes(self) -> tuple[str, ...]:
        """Say what was changed, one sentence a kind."""
        return tuple(_sentence(kind, lines) for kind, lines in self._lines.items() if lines)

    def line(self, at: int) -> int:
        """Give the line of a position, from 1; positions never go back, so that all of it stays linear."""
        counted, line = self._counted
        line += self.source.count("\n", counted, at)
        self._counted = (at, line)
        return line

    def pass_blanks(self) -> int:
        """Pass blanks and comments; the result is where something else begins, or the end of the text."""
        text = self.source
        while self._at < len(text):
            if text[self._at] in _BLANKS:
                self._keep(self._at + 1)
            elif text[self._at] == "#" or text.startswith(("//", "/*"), self._at):
                self._comment()
            else:
                break
        return self._at

    def value(self) -> None:
        """Pass one object or list, to its closing bracket."""
        text = self.source
        at = self.pass_blanks()
        if at == len(text) or text[at] not in "{[":
            raise _DoubtError(f"something else stands where the object should begin (line {self.line(at)})")
        depth = 0
        # The last sign that means something, the one before it, and the place of a comma in what is given out.
        last = before = ""
        comma = (0, 0)
        while self._at < len(text):
            at = self.pass_blanks()
            if at == len(text):
                break
            first = text[at]
            if first == '"':
                self._string()
            elif first in "{[":
                depth += 1
                self._keep(at + 1)
            elif first in "}]":
                # A comma that follows no value (`[,]`, `[1,,]`) may stand for a value that was forgotten.
                if last == "," and before not in ("", ",", ":", "[", "{"):
                    self._out[comma[0]] = " "
                    self._lines[_COMMA].append(comma[1])
                    self.parts -= depth == 1
                depth -= 1
                self._keep(at + 1)
                if depth == 0:
                    return
            elif first == ",":
                comma = (len(self._out), self.line(at))
                self.parts += depth == 1
                self._keep(at + 1)
            else:
                plain = _PLAIN.match(text, at)
                self._keep(plain.end() if plain else at + 1)
                first = self._out[-1].rstrip(_BLANKS)[-1]
            last, before = first, last
        raise _DoubtError("a closing bracket is missing")

    def rest(self) -> None:
        """Pass what follows the value; only blanks and comments may."""
        at = self.pass_blanks()
        if at < len(self.source):
            what = "a second object" if self.source[at] in "{[" else "something else"
            raise _DoubtError(f"{what} follows the object (line {self.line(at)})")

    def _keep(self, end: int) -> None:
        self._out.append(self.source[self._at : end])
        self._at = end

    def _comment(self) -> None:
        text, at = self.source, self._at
        line = self.line(at)
        if text.startswith("/*", at):
            end = text.find("*/", at + 2) + 2
            if end == 1:
                raise _DoubtError(f"a comment is not closed (line {line})")
        else:
            found = _LINE_COMMENT.match(text, at)
            end = found.end() if found else len(text)
            self._check_line_comment(text[at:end], line)
        self._out.append(_blank(text[at:end]))
        self._lines[_COMMENT].append(line)
        self._at = end

    def _check_line_comment(self, comment: str, line: int) -> None:
        """Refuse a comment that may have swallowed a part of the object, as lost line breaks make it do."""
        if _OTHER_LINE_ENDS.search(comment):
            raise _DoubtError(f"it is not clear where a comment ends (line {line})")
        if _MEMBER.search(comment):
            start = self.source.rfind("\n", 0, self._at) + 1
            if self.source[start : self._at].strip():
                raise _DoubtError(f"a comment may hold a part of the object (line {line})")

    def _string(self) -> None:
        at, line = self._at, self.line(self._at)
        found = _STRING.match(self.source, at)
        if found is None:
            raise _DoubtError(f"a string is not closed (line {line})")
        raw = found.group()
        self._at = found.end()
        breaks = raw.count("\n")
        if not breaks and "\t" not in raw:
            self._out.append(raw)
            return
        if "\r" in raw or "\n " in raw or "\n\t" in raw:
            # CR and LF are the system's, an indent may be the file's: how much of them belongs to the value?
            raise _DoubtError(f"a string goes over the end of a line, and its value is not clear (line {line})")
        # The line breaks follow the string as blanks, so that what comes after stays on its line.
        self._out.append(_RAW.sub(_escape, raw) + "\n" * breaks)
        self._lines[_BREAK] += [line] * breaks
        self._lines[_TAB] += [line] * raw.count("\t")


def _escape(found: re.Match[str]) -> str:
    """Write one raw character as an escape; a backslash and what follows it stay, also where JSON does not know it."""
    mark = found.group()
    return "\\t" if mark == "\t" else "\\n" if mark == "\n" else mark


def _blank(text: str) -> str:
    return _VISIBLE.sub(" ", text)


def _sentence(kind: str, lines: list[int]) -> str:
    one, many = _SENTENCES[kind]
    return f"{one if len(lines) == 1 else many.format(len(lines))} ({_places(list(dict.fromkeys(lines)))})"


def _places(lines: list[int]) -> str:
    if len(lines) == 1:
        return f"line {lines[0]}"
    shown = [str(line) for line in lines[:_SHOWN_LINES]]
    last = f"{len(lines) - _SHOWN_LINES} more" if len(lines) > _SHOWN_LINES else shown.pop()
    return f"lines {', '.join(shown)} and {last}"
