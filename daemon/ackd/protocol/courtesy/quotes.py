"""Quoted parts of a chat message: what somebody else said and this author only repeats.

Only what is certain to be a quote is taken off. A `>` line below the author's own words is kept, because "> 3 % : sell"
may be the author's own rule, and losing it is worse than one delivery too many.
"""

from __future__ import annotations

import re

_QUOTED = re.compile(r"[ \t]{0,3}>")
# "> 3% ..." and ">3 ..." may be comparisons that the author wrote himself.
_COMPARISON = re.compile(
    r"[ \t]{0,3}>(?:=|[0-9０-９]|[ \t]*(?:[¥$€][ \t]*)?[0-9０-９][0-9０-９.,]*[ \t]*"
    r"(?:[%％‰万亿元点倍个手股天]|bps?\b|就|则|即|时|以上|then\b|sell\b|buy\b|stop\b))",
    re.IGNORECASE,
)
_CHAT_REPLY = re.compile(r"[ \t]*[↪↩⤷↳⮑⮎]\ufe0f?[ \t]*[@＠][^\s:：]{1,64}[ \t]*[:：].*")
_WROTE_ZH = re.compile(r"(?:[在于於][ \t]*)?[0-9]{4}[-年/.][^\n]{1,120}(?:写道|寫道)[ \t]*[:：][ \t]*")
_DASHES = re.compile(r"[ \t]*(?:[-—－–][ \t]*){5,}")
_DATE_WORD = re.compile(
    r"(?:mon|tue|tues|wed|thu|thur|thurs|fri|sat|sun)(?:day|nesday|rsday|urday|sday)?|"
    r"(?:jan|feb|mar|apr|may|jun|jul|aug|sep|sept|oct|nov|dec)[a-z]{0,6}|at|am|pm|a\.m|p\.m|utc|gmt|cst|cet|"
    r"[0-9]{1,4}(?:st|nd|rd|th)?|[0-9]{1,4}[-/.][0-9]{1,2}[-/.][0-9]{1,4}|[0-9]{1,2}:[0-9]{2}(?::[0-9]{2})?(?:am|pm)?|[+-][0-9]{4}"
)
_NOT_A_NAME = frozenset({"i", "we", "you", "they", "he", "she", "nobody", "who", "what"})


def strip_quotes(text: str) -> str:
    """Take the quoted parts off a chat message and give back what its author says.

    Taken off: `>` lines (nested too) at the top, the line "On <date>, <name> wrote:" together with the `>` lines below
    it, a chat client's reply header (`↪ @name: …`), and the 「name：…」 block above a row of dashes. Kept: a `>` line
    below own words, and one that reads like a comparison (`> 3% …`).

    Args:
        text: A chat message, any length; linear time.

    Returns:
        The rest, without empty lines around it; "" where all is quoted.
    """
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    kept: list[str] = []
    has_own = False
    at = _block_end(lines)
    while at < len(lines):
        line = lines[at]
        if not line.strip():
            kept.append("")
        elif header := _header_lines(lines, at):
            at = _skip_quoted(lines, at + header)
            continue
        elif has_own or not (_is_quoted(line) or _CHAT_REPLY.fullmatch(line)):
            kept.append(line)
            has_own = True
        at += 1
    return "\n".join(kept).strip()


def _is_quoted(line: str) -> bool:
    return _QUOTED.match(line) is not None and _COMPARISON.match(line) is None


def _skip_quoted(lines: list[str], at: int) -> int:
    """The index after the quote that a header has announced, blank lines before it included."""
    while at < len(lines) and not lines[at].strip():
        at += 1
    # A header says that a quote follows, so that even "> 3% …" is one here.
    while at < len(lines) and _QUOTED.match(lines[at]):
        at += 1
    return at


def _header_lines(lines: list[str], at: int) -> int:
    """How many lines at `at` are a header of a quote: 0, 1, or 2 where a mail program has wrapped it."""
    for count in (1, 2):
        if at + count > len(lines):
            break
        line = " ".join(part.strip() for part in lines[at : at + count])
        if (
            len(line) <= 300
            and (_WROTE_ZH.fullmatch(line) or _is_wrote_header(line))
            and _quote_follows(lines, at + count)
        ):
            return count
    return 0


def _quote_follows(lines: list[str], at: int) -> bool:
    # Two blank lines at most, so that many headers in a row stay cheap.
    for line in lines[at : at + 3]:
        if line.strip():
            return _QUOTED.match(line) is not None
    return False


def _is_wrote_header(line: str) -> bool:
    """Whether a line is "On <date words>, <name> wrote:", where a name has three words at most."""
    folded = line.casefold().strip()
    if not folded.startswith("on ") or not folded.endswith("wrote:"):
        return False
    words = folded[len("on ") : -len("wrote:")].replace(",", " ").split()
    dated = 0
    while dated < len(words) and _DATE_WORD.fullmatch(words[dated]):
        dated += 1
    name = words[dated:]
    if name and name[-1].startswith("<") and name[-1].endswith(">"):
        name = name[:-1] or name
    has_digit = any(character.isdigit() for word in words[:dated] for character in word)
    return dated > 0 and has_digit and 1 <= len(name) <= 3 and name[0] not in _NOT_A_NAME


def _block_end(lines: list[str]) -> int:
    """The index after a leading 「…」 block that a row of dashes closes, else 0."""
    at = 0
    while at < len(lines) and not lines[at].strip():
        at += 1
    if at == len(lines) or not lines[at].lstrip().startswith("「"):
        return 0
    for end in range(at, len(lines)):
        if "」" in lines[end]:
            closes = lines[end].rstrip().endswith("」")
            return end + 2 if closes and end + 1 < len(lines) and _DASHES.fullmatch(lines[end + 1]) else 0
    return 0
