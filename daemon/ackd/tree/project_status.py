"""`PROJECT_STATUS.md`, the people's page: what it says, asks of agents, and rules (M7, T24). It is read, never written.

Under the heading `Requests` (请求) a line `- [ ] @trading: check the limits (by 2026-03-09)` is a request; under
`Rulings` (裁决) a line `- <ack_id>: dri=macro` (or `extend=2h`, `cancel`, `pick=<message_id>`, `close`) is a ruling. A
request is its words: moved, ticked, indented or bulleted otherwise it is the same one. Comments and code blocks count
for nothing.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable

import msgspec

from ackd.errors import InvalidError
from ackd.protocol.ids import clean_name, name_key, shown
from ackd.protocol.instant import halfwidth
from ackd.tree.front_matter import Finding, FrontMatter, listed, read_front_matter, split_lines
from ackd.tree.outline import Line, Section, conflict_line, is_list_item, sections, seen
from ackd.tree.status_lines import (
    REQUEST_FORM,
    RULING_FORM,
    StatusRequest,
    StatusRuling,
    bare_words,
    looks_like_request,
    read_request,
    read_ruling,
)

HEALTH = ("green", "amber", "red")
MOST_REQUESTS = 200
"""Requests, and rulings, that are read from one page."""

_WORD = re.compile(r"[^\W_]+")
_CODE_SPAN = re.compile(r"`[^`]*`")
# Behind a letter or digit of an address an @ names nobody. A run is longer than any name, so that its end is seen.
_MENTION = re.compile(r"(?<![a-z0-9%])@([^\s@,:;/()\[\]{}<>\"'!?，。、：；（）]{1,200})")
_HEADINGS = {
    "requests": frozenset({"requests", "请求", "請求"}),
    "rulings": frozenset({"rulings", "裁决", "裁決"}),
}
_MEANT = {
    "requests": frozenset({"requests", "request", "请求", "請求"}),
    "rulings": frozenset({"rulings", "ruling", "裁决", "裁決"}),
}
_HOMOPHONES = {"请球": "请求", "情求": "请求", "裁诀": "裁决", "裁绝": "裁决"}
_SPELLINGS = {"requests": "## Requests, or ## 请求", "rulings": "## Rulings, or ## 裁决"}
_LONGEST_WORD = 12


class ProjectStatus(msgspec.Struct, frozen=True, kw_only=True):
    """What the page says.

    Attributes:
        updated: The day or instant, as written.
        updated_by: Name of who wrote it last, without `@`; empty where none can be read.
        phase: What the project is doing, as written.
        health: green, amber or red; empty where none of them stands there.
        sections: The page at its headings; nothing where it is conflicted.
        requests: What it asks, in the order of the page, each once.
        rulings: What it rules, likewise.
        findings: What could not be read, by line.
        conflicted: git left conflict markers in it: nothing on it counts until they are gone.
    """

    updated: str = ""
    updated_by: str = ""
    phase: str = ""
    health: str = ""
    sections: tuple[Section, ...] = ()
    requests: tuple[StatusRequest, ...] = ()
    rulings: tuple[StatusRuling, ...] = ()
    findings: tuple[Finding, ...] = ()
    conflicted: bool = False


def read_project_status(text: str) -> ProjectStatus:
    """Read the page; any text is read, nothing is raised, the time is linear in its length.

    Args:
        text: The whole file, decoded; its size is the caller's to cap.
    """
    at = conflict_line(split_lines(text))
    if at is not None:
        what = "git left conflict markers in the page; nothing on it counts until they are gone"
        return ProjectStatus(
            conflicted=True, findings=(Finding(at, what, "one of the two versions, without the markers"),)
        )
    front = read_front_matter(text)
    lines, findings = seen(front.body, front.body_line)
    found = [*front.findings, *findings]
    page = sections(lines)
    requests, rulings = _Requests(found), _Rulings(found)
    for section, kind in zip(page, _kinds(page, found), strict=True):
        if kind == "requests":
            requests.take(section.lines)
        elif kind == "rulings":
            rulings.take(section.lines)
    return ProjectStatus(
        updated=front.text_of("updated"),
        updated_by=_updated_by(front, found),
        phase=front.text_of("phase"),
        health=_health(front, found),
        sections=tuple(page),
        requests=tuple(requests.found),
        rulings=tuple(rulings.found),
        findings=listed(sorted(found, key=lambda one: one.line)),
    )


def changed_lines(before: str, after: str) -> tuple[Line, ...]:
    """Give the lines that `after` has and `before` had nowhere, whatever their place, indent, bullet and tick.

    Args:
        before: The page as it was told last.
        after: The page as it is now; where it is conflicted, nothing has changed yet.

    Returns:
        Lines without comments, blank ones left out.
    """
    if conflict_line(split_lines(after)) is not None:
        return ()
    known = worded_lines(before)
    return tuple(line for words, line in worded_lines(after).items() if words not in known)


def worded_lines(text: str) -> dict[str, Line]:
    """Give the lines of the page by their words, whatever their indent, bullet and tick; of equal ones the first.

    Comments and blank lines are left out; the lines of the front matter are among them.
    """
    found: dict[str, Line] = {}
    for line in seen(split_lines(text))[0]:
        words = bare_words(line)
        if words:
            found.setdefault(words, line)
    return found


def mentions(lines: Iterable[Line], names: Iterable[str]) -> tuple[str, ...]:
    """Give those names that stand behind an `@` in the lines, in the order of the names.

    `@macro`, `@Macro:`, `＠macro` and, where the writing has no blanks, `请@macro看` and `@宏观请看` name somebody; an
    address such as zoe@example.org, code, and `@macro-2` for macro do not. Of two names the longer one is meant.

    Args:
        lines: Lines of the page.
        names: Names of the team, of groups too.
    """
    by_key = {name_key(name): name for name in names}
    lengths = sorted({len(key) for key in by_key}, reverse=True)
    found: set[str] = set()
    for line in lines:
        if line.code or "@" not in halfwidth(line.text):
            continue
        text = name_key(_CODE_SPAN.sub(" ", line.text))
        for match in _MENTION.finditer(text):
            run = match[1]
            key = next((run[:length] for length in lengths if run[:length] in by_key and _ends(run, length)), None)
            if key is not None:
                found.add(key)
    return tuple(name for key, name in by_key.items() if key in found)


def _kinds(page: list[Section], found: list[Finding]) -> list[str]:
    """What each section counts as; one of a deeper level belongs to the section that it stands in."""
    kinds: list[str] = []
    above: list[tuple[int, str]] = []
    for section in page:
        while above and above[-1][0] >= section.level:
            above.pop()
        words = frozenset(_WORD.findall(section.title[:100].casefold()))
        own = next((kind for kind, names in _HEADINGS.items() if words and words <= names), "")
        outer = above[-1][1] if above else ""
        meant = "" if own else _meant(section.title[:100])
        if meant and meant != outer:
            what = f"the heading {shown(section.title, 40)} is not read, and nothing below it counts"
            found.append(Finding(section.line, what, _SPELLINGS[meant]))
            outer = ""
        above.append((section.level, own or outer))
        kinds.append(above[-1][1])
    return kinds


def _meant(title: str) -> str:
    """Give the section that a mistyped heading was surely meant for, or an empty string."""
    words = _WORD.findall(unicodedata.normalize("NFKC", title).casefold())
    joined = "".join(words)
    if joined in _HOMOPHONES or any(joined == name for names in _HEADINGS.values() for name in names):
        words = [_HOMOPHONES.get(joined, joined)]
    return next((kind for kind, names in _MEANT.items() if words and all(_is_near(word, names) for word in words)), "")


def _is_near(word: str, names: Iterable[str]) -> bool:
    """Tell whether a word is one of the names but for one slip; of Chinese ones only letters behind them are one."""
    if len(word) > _LONGEST_WORD:
        return False
    return any(
        _is_one_slip(word, name) if name.isascii() else word.startswith(name) and word[len(name) :].isascii()
        for name in names
    )


def _is_one_slip(word: str, name: str) -> bool:
    """Tell whether one letter is missing, doubled, wrong or swapped with the next; the first one has to be there."""
    if word == name:
        return True
    if abs(len(word) - len(name)) > 1 or name[0] not in word[:2]:
        return False
    start = next((at for at, (one, other) in enumerate(zip(word, name, strict=False)) if one != other), None)
    if start is None:
        return True
    rest, other = word[start:], name[start:]
    if start == 0:
        return rest[:2] == other[1::-1] and rest[2:] == other[2:]
    return (
        rest[1:] == other
        or rest == other[1:]
        or rest[1:] == other[1:]
        or (rest[:2] == other[1::-1] and rest[2:] == other[2:])
    )


def _updated_by(front: FrontMatter, found: list[Finding]) -> str:
    written = front.values.get("updated_by")
    if written is None:
        return ""
    line, expected = front.line_of("updated_by"), "the name of one person or agent, as in team.yaml"
    if isinstance(written, str):
        try:
            return clean_name(written.lstrip("@＠").strip())
        except InvalidError as error:
            found.append(Finding(line, f"updated_by: {error.message}", expected))
    else:
        found.append(Finding(line, "updated_by is a list", expected))
    return ""


def _health(front: FrontMatter, found: list[Finding]) -> str:
    written = front.values.get("health")
    if written is None:
        return ""
    word = written.strip().lower() if isinstance(written, str) else "a list"
    if word in HEALTH:
        return word
    found.append(Finding(front.line_of("health"), f"health is {shown(word, 40)}", "one of green, amber, red"))
    return ""


class _Requests:
    """Takes the lines of the sections that ask."""

    def __init__(self, findings: list[Finding]) -> None:
        self.found: list[StatusRequest] = []
        self._lines: dict[str, int] = {}
        self._findings = findings
        self._too_many = False

    def take(self, lines: tuple[Line, ...]) -> None:
        follows_request = False
        for line in lines:
            if line.code or not line.text.strip():
                follows_request = False
            elif is_list_item(line.text) or looks_like_request(line):
                follows_request = self._item(line)
            elif follows_request:
                follows_request = False
                what = "this line goes on with the request above, but only the first line of a request is read"
                self._findings.append(Finding(line.number, what, "the whole request in one line"))

    def _item(self, line: Line) -> bool:
        request = read_request(line)
        if isinstance(request, str):
            if looks_like_request(line):
                self._findings.append(Finding(line.number, f"this is not read as a request: {request}", REQUEST_FORM))
            return False
        if request.identity in self._lines:
            what = f"the same request stands in line {self._lines[request.identity]}; it is asked once"
            self._findings.append(Finding(line.number, what, "other words for another request"))
        elif len(self.found) < MOST_REQUESTS:
            self._lines[request.identity] = line.number
            self.found.append(request)
        elif not self._too_many:
            self._too_many = True
            what = f"there are more than {MOST_REQUESTS} requests; from here on none is read"
            self._findings.append(Finding(line.number, what, "a page without the requests that are done"))
        return True


class _Rulings:
    """Takes the lines of the sections that rule."""

    def __init__(self, findings: list[Finding]) -> None:
        self.found: list[StatusRuling] = []
        self._seen: set[str] = set()
        self._findings = findings

    def take(self, lines: tuple[Line, ...]) -> None:
        for line in lines:
            if line.code or not line.text.strip():
                continue
            ruling: StatusRuling | str
            if len(self.found) >= MOST_REQUESTS:
                ruling = f"there are more than {MOST_REQUESTS} above it"
            else:
                ruling = read_ruling(line)
            if isinstance(ruling, str):
                self._findings.append(Finding(line.number, f"this is not read as a ruling: {ruling}", RULING_FORM))
            elif ruling.identity not in self._seen:
                self._seen.add(ruling.identity)
                self.found.append(ruling)


def _ends(run: str, length: int) -> bool:
    """Tell whether a name may end there: at the end, before punctuation, or before a script that has no blanks."""
    rest = run[length:]
    after = rest.lstrip("._-")
    if not after:
        return True
    if _has_no_blanks(after[0]):
        return True
    return len(after) == len(rest) and not after[0].isalnum() and unicodedata.category(after[0])[0] not in "LMN"


def _has_no_blanks(character: str) -> bool:
    return "\u2e80" <= character <= "\ud7ff" or "\u0e00" <= character <= "\u0e7f" or character >= "\U00020000"
