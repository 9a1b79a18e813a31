r"""Escaping for generated pages: whatever agents wrote is shown as text, never as markup, link or mention.

Pages are read on git hosts, in editors and on terminals. A backslash stops Markdown itself, but git hosts look for
mentions and addresses in the text that is left after Markdown was rendered: on GitHub `\@name` and `&#64;name` notify
somebody all the same, and GitLab makes links of bare addresses there. Both leave code spans alone, so the one character
that would start such a thing stands in a code span of its own. A zero-width character would do it too, but then nobody
could copy the text any more.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence

# What shows nothing or turns the line around although Python calls it printable: fillers, joiners, variation selectors.
_PRINTABLE_BUT_UNSEEN = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]"
)
_KEPT_SPACES = frozenset("\u00a0\u3000")
_EMOJI_SELECTOR, _JOINER = "\ufe0f", "\u200d"

_BREAKS = re.compile(r"[ \t\r\n]+")
_LINE_ENDS = re.compile(r"\r\n?")

_SPECIAL = re.compile(
    r"[\\`*\[\]|~$#{}]"  # emphasis, code, links, images, table cells, strike-through, math, headings, attributes
    r"|[<>&]"  # HTML, automatic links, entities
    # Mentions and bare addresses; a run of them at once, since two code spans side by side would be read as one.
    r"|(?P<live>(?:@|:(?=//)|(?<=www)\.)+)"
    r"|(?<![^\W_])_|_(?![^\W_])",  # emphasis; inside a word it is none
    re.IGNORECASE,
)
_ENTITIES = {"<": "&lt;", ">": "&gt;", "&": "&amp;"}
_LEADING_MARK = re.compile(r"[-+=:]")
_LEADING_NUMBER = re.compile(r"([0-9]{1,9})([.)])")

_BACKTICKS = re.compile("`+")


def visible(text: str) -> str:
    r"""Show as \u escapes what cannot be seen: control, bidirectional and zero-width characters, lone surrogates.

    Line breaks and tabs stay, spaces of Chinese typography too, and what joins the parts of one emoji.
    """
    if (text.isascii() and text.isprintable()) or (text.isprintable() and not _PRINTABLE_BUT_UNSEEN.search(text)):
        return text
    return "".join(
        character if _may_stand(text, position, character) else _escaped(character)
        for position, character in enumerate(text)
    )


def inline(text: str, limit: int) -> str:
    """Give a text from outside as one line of a page: capped, made visible, without any markup.

    Safe in a paragraph, a heading, a list item and a table cell.

    Args:
        text: Anything.
        limit: Most characters that are shown, before escaping; more ends in `…`.
    """
    line = _BREAKS.sub(" ", _cut(text, limit)).strip()
    if line.isalnum():
        return visible(line)
    line = _SPECIAL.sub(_escape, visible(line))
    if _LEADING_MARK.match(line):
        return "\\" + line
    return _LEADING_NUMBER.sub(r"\1\\\2", line, count=1) if _LEADING_NUMBER.match(line) else line


def code(text: str, limit: int = 200) -> str:
    """Give an id or path as a code span, so that it can be copied as it is; as escaped text where that cannot be."""
    if not text or "|" in text or not text.isprintable() or text != text.strip() or len(text) > limit:
        return inline(text, limit) or "–"
    if "`" not in text:
        return f"`{visible(text)}`"
    fence = "`" * (_longest_run(text) + 1)
    return f"{fence} {visible(text)} {fence}"


def block(text: str, limit: int, *, rest: str = "") -> str:
    """Give a text of several lines as a fenced block that nothing inside can close.

    Args:
        text: Anything.
        limit: Most characters that are shown.
        rest: Path of the file that holds the whole, for the note where the text was cut.

    Returns:
        Lines without a line end after the last.
    """
    whole = _LINE_ENDS.sub("\n", text).strip("\n")
    shown = visible(_cut(whole, limit))
    fence = "`" * max(3, _longest_run(shown) + 1)
    lines = f"{fence}text\n{shown}\n{fence}"
    if len(whole) <= limit:
        return lines
    where = f"; the whole text is in {code(rest)}" if rest else ""
    return f"{lines}\n\n(cut after {limit} of {len(whole)} characters{where})"


def link(text: str, target: str) -> str:
    """Link to a place in the tree.

    Args:
        text: What is shown, already escaped.
        target: Relative path; what an address does not take is written in per cent.
    """
    # Segment by segment, without urllib: what is left as it is can end neither the link nor the table cell.
    escaped = "".join(
        chr(byte) if (byte < 0x80 and chr(byte).isalnum()) or byte in b"/-._~" else f"%{byte:02X}"
        for byte in target.encode("utf-8", "surrogateescape")
    )
    return f"[{text}]({escaped})"


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Lay out a table.

    Args:
        header: Our own words.
        rows: Cells that were escaped by `inline`, `code` or `link`.

    Returns:
        Lines without a line end after the last.
    """
    lines = ["| " + " | ".join(header) + " |", "|" + " --- |" * len(header)]
    lines += ["| " + " | ".join(cell or "–" for cell in row) + " |" for row in rows]
    return "\n".join(lines)


def _cut(text: str, limit: int) -> str:
    return text if len(text) <= limit else text[: max(0, limit - 1)] + "…"


def _longest_run(text: str) -> int:
    return max((len(run) for run in _BACKTICKS.findall(text)), default=0)


def _escape(match: re.Match[str]) -> str:
    character = match[0]
    if match["live"]:
        return f"`{character}`"
    return _ENTITIES.get(character) or "\\" + character


def _may_stand(text: str, position: int, character: str) -> bool:
    if character in "\t\n" or character in _KEPT_SPACES:
        return True
    if character == _EMOJI_SELECTOR:
        return position > 0 and unicodedata.category(text[position - 1]) in ("So", "Sm")
    if character == _JOINER:
        around = text[max(0, position - 2) : position + 2]
        return len(around) >= 3 and _is_symbol(text[position - 1]) and unicodedata.category(around[-1]) == "So"
    return character.isprintable() and not _PRINTABLE_BUT_UNSEEN.match(character)


def _is_symbol(character: str) -> bool:
    return unicodedata.category(character) in ("So", "Sk") or character == _EMOJI_SELECTOR


def _escaped(character: str) -> str:
    number = ord(character)
    return f"\\x{number:02x}" if number < 0x100 else f"\\u{number:04x}" if number < 0x10000 else f"\\U{number:08x}"
