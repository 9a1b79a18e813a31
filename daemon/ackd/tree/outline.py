"""What a reader sees of a Markdown page: lines without comments, code told from text, sections under their headings.

Only what is certain line by line is read: comments, fences, `#` headings and headings underlined with `===` or `---`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import msgspec

from ackd.tree.front_matter import Finding

_MARKS = re.compile("`+|<!--")
_FENCE = re.compile(r"[ \t]*(`{3,}|~{3,})")
_LIST_ITEM = re.compile(r"[ \t]*(?:[-*+]|[0-9]{1,9}[.)])(?:[ \t]|$)")
_CONFLICT = re.compile(r"(?:<{7}|>{7}|\|{7})(?: |$)")
_MARKUP = re.compile(r"\\([!-/:-@\[-`{-~])|&(lt|gt|amp);|[*`]")
_ENTITIES = {"lt": "<", "gt": ">", "amp": "&"}


class Line(msgspec.Struct, frozen=True):
    """One line as it is seen.

    Attributes:
        number: Its number in the file, from 1.
        text: What is left of it without comments.
        code: It stands in a fenced block, or is its fence.
    """

    number: int
    text: str
    code: bool = False


class Section(msgspec.Struct, frozen=True, kw_only=True):
    """A heading and the lines below it, up to the next heading of whatever level.

    Attributes:
        title: Text of the heading, without escapes and emphasis; empty for what stands above the first.
        level: 1 to 6; 0 above the first heading.
        line: Number of the heading's line.
        lines: What stands below it.
    """

    title: str
    level: int
    line: int
    lines: tuple[Line, ...] = ()

    @property
    def text(self) -> str:
        """What stands below the heading, without blank lines around it."""
        return "\n".join(line.text for line in self.lines).strip("\n")


def seen(lines: Sequence[str], first: int = 1) -> tuple[list[Line], list[Finding]]:
    """Leave out comments, and tell code from text.

    Args:
        lines: Lines without their ends.
        first: Number of the first.

    Returns:
        As many lines, and a finding where a comment or a fence has no end: it hides all that follows.
    """
    found: list[Line] = []
    fence, opened = "", 0
    in_comment = False
    for number, line in enumerate(lines, start=first):
        if fence:
            found.append(Line(number, line, True))
            stripped = line.strip(" \t")
            if stripped.startswith(fence) and not stripped.strip(fence[0]):
                fence = ""
            continue
        text, was_inside = line, in_comment
        if in_comment or "<!--" in line:
            text, in_comment = _without_comments(line, in_comment)
            opened = number if in_comment and not was_inside else opened
        match = _FENCE.match(text)
        is_fence = match is not None and not (match[1][0] == "`" and "`" in text[match.end() :])
        if match is not None and is_fence:
            fence, opened = match[1], number
        found.append(Line(number, text, is_fence))
    findings = []
    if in_comment:
        findings.append(Finding(opened, "the comment that begins here has no end", "--> where it ends"))
    if fence:
        findings.append(Finding(opened, "the code block that begins here has no end", f"a line {fence} where it ends"))
    return found, findings


def sections(lines: Sequence[Line]) -> list[Section]:
    """Cut a page at its headings. The first section is what stands above them, without a title."""
    found: list[Section] = []
    title, level, at, start = "", 0, lines[0].number if lines else 1, 0
    for position, next_title, next_level, width in _headings(lines):
        found.append(Section(title=title, level=level, line=at, lines=tuple(lines[start:position])))
        title, level, at, start = next_title, next_level, lines[position].number, position + width
    found.append(Section(title=title, level=level, line=at, lines=tuple(lines[start:])))
    return found


def plain(text: str) -> str:
    """Give a line of Markdown without its escapes, emphasis and code marks."""
    return _MARKUP.sub(_meant, text).strip()


def is_list_item(text: str) -> bool:
    """Tell whether a line begins with a bullet or a number."""
    return _LIST_ITEM.match(text) is not None


def conflict_line(lines: Sequence[str], first: int = 1) -> int | None:
    """Give the number of the first line that git (or jj) left there because two versions met, or None."""
    for number, line in enumerate(lines, start=first):
        if line[:1] in ("<", ">", "|") and _CONFLICT.match(line):
            return number
    return None


def _headings(lines: Sequence[Line]) -> Iterator[tuple[int, str, int, int]]:
    """Position, title, level and number of lines of each heading."""
    alone = True  # nothing but blank lines and headings stand directly above
    for position, line in enumerate(lines):
        text = line.text
        stripped = text.strip()
        if line.code or not stripped:
            alone = True
            continue
        if stripped[0] == "#" and (level := _level(text)):
            yield position, _title(stripped[level:]), level, 1
            alone = True
            continue
        if alone and stripped[0] not in "|>" and not is_list_item(text) and position + 1 < len(lines):
            below = lines[position + 1]
            line_below = "" if below.code else below.text.strip()
            if len(line_below) > 1 and not line_below.strip(line_below[0]) and line_below[0] in "=-":
                yield position, _title(stripped), 1 if line_below[0] == "=" else 2, 2
        alone = False


def _level(text: str) -> int:
    """Level of a `#` heading; `##title` without the blank is one too, `#word` is a tag."""
    if len(text) - len(text.lstrip(" ")) > 3 or text[:1] == "\t":
        return 0
    stripped = text.strip()
    level = len(stripped) - len(stripped.lstrip("#"))
    if level > 6 or (level == 1 and stripped[1:2] not in ("", " ", "\t", "\u3000")):
        return 0
    return level


def _title(text: str) -> str:
    text = text.strip()
    bare = text.rstrip("#")
    if bare != text and (not bare or bare[-1] in " \t"):
        text = bare
    return plain(text)


def _meant(match: re.Match[str]) -> str:
    return match[1] or _ENTITIES.get(match[2], "")


def _without_comments(line: str, in_comment: bool) -> tuple[str, bool]:
    """Cut comments out of a line; `<!--` in a code span begins none."""
    parts: list[str] = []
    position = 0
    if in_comment:
        end = line.find("-->")
        if end < 0:
            return "", True
        position = end + 3
    last_run = {len(match[0]): match.start() for match in _MARKS.finditer(line, position) if match[0][0] == "`"}
    start = position  # of what is kept
    waiting = 0  # length of the run of backticks that a code span waits for
    while (match := _MARKS.search(line, position)) is not None:
        position = match.end()
        if match[0][0] == "`":
            length = len(match[0])
            if waiting:
                waiting = 0 if length == waiting else waiting
            elif last_run.get(length, -1) > match.start():
                waiting = length
        elif not waiting:
            parts.append(line[start : match.start()])
            end = line.find("-->", match.start() + 2)
            if end < 0:
                return "".join(parts), True
            position = start = end + 3
    parts.append(line[start:])
    return "".join(parts), False
