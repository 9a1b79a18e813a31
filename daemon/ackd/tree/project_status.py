"""`PROJECT_STATUS.md`, the people's page: what it says, what it asks of agents, what it rules (M7, T24). It is only read.

Under the heading `Requests` (请求) a line `- [ ] @trading: check the limits (by 2026-03-09)` is a request; under `Rulings`
(裁决) a line `- <ack_id>: dri=macro` (or `extend=2h`, `cancel`, `pick=<message_id>`, `close`) is a ruling. A request is its words:
moved, ticked, indented or bulleted otherwise it is the same one. Comments and code blocks count for nothing.
"""

from __future__ import annotations

import datetime
import re
import unicodedata

import msgspec

from ackd.errors import InvalidError
from ackd.protocol.ids import clean_ack_id, clean_name, name_key, shown
from ackd.protocol.instant import Deadline, halfwidth, parse_deadline
from ackd.tree.front_matter import Finding, FrontMatter, iso_day, listed, read_front_matter, split_lines
from ackd.tree.outline import Line, Section, conflict_line, is_list_item, sections, seen

REQUEST_FORM = "- [ ] @name: what is to be done (by 2026-03-09)"
RULING_FORM = "- <ack_id>: dri=<name> | extend=<2h> | cancel | pick=<message_id> | close"
HEALTH = ("green", "amber", "red")
MOST_REQUESTS = 200
"""Requests, and rulings, that are read from one page."""

_LONGEST_REQUEST, _LONGEST_RULING = 8_000, 1_000

_WORD = re.compile(r"[^\W_]+")
_HEADINGS = {
    "requests": frozenset({"requests", "请求", "請求"}),
    "rulings": frozenset({"rulings", "裁决", "裁決"}),
}

_BULLET = re.compile(r"[ \t\u3000]*(?:(?:[-*+]|[0-9]{1,9}[.)])[ \t\u3000]+)?")
_BOX = re.compile(r"\[(?P<mark>[ \t]{0,3}|[xX])\](?:[ \t]+|(?=@))")
_BETWEEN_NAMES = re.compile(r"[\s,、;&+/]+")
_AND = frozenset({"and", "和", "与", "與", "及", "跟"})
_EMPHASIS = str.maketrans("", "", "*`")

_STOPS = " \t.。!;"
_BY = re.compile(r"(?:by|until|till|due|before|no later than|deadline)(?:[ \t]*:[ \t]*|[ \t]+)(?P<when>.+)", re.IGNORECASE)
_BY_HEAD = re.compile(r"(?:截止|截至|期限|不晚于|最晚|最迟)(?:到|于|至|日期|时间)?[ \t]*:?[ \t]*(?P<when>.+)")
_BY_TAIL = re.compile(r"(?:请?[在于於])?[ \t]*(?P<when>.+?)[ \t]*(?:之前|以前|前|截止|为止)")
_SAYS_WHEN = re.compile(
    r"[0-9今明后後周週月日天晚早午]|\b(?:today|tonight|tomorrow|noon|midnight|eod|eow|end of|next|week|weekend|month|year"
    r"|(?:mon|tues?|wed(?:nes)?|thu(?:rs)?|fri|sat(?:ur)?|sun)(?:day)?)\b",
    re.IGNORECASE,
)
_LONGEST_DEADLINE = 80


class StatusRequest(msgspec.Struct, frozen=True, kw_only=True):
    """One request on the page.

    Attributes:
        line: Number of its line.
        names: Whom it is for, without `@`, NFC, in the order of the page; the first is the DRI.
        text: What is to be done, without the deadline.
        deadline_written: What stands behind `by`, as written; empty where nothing does. See `read_deadline`.
        ticked: Its box has a mark; that changes nothing.
        identity: Its words in one form. The same words are the same request, wherever they stand and however indented.
    """

    line: int
    names: tuple[str, ...]
    text: str
    deadline_written: str = ""
    ticked: bool = False
    identity: str = ""


class StatusRuling(msgspec.Struct, frozen=True, kw_only=True):
    """One ruling on the page.

    Attributes:
        line: Number of its line.
        ack_id: The thread.
        ruling: dri, extend, cancel, pick or close, as in an envelope of type ruling.
        value: The new DRI, the new deadline as written, the message_id or digest; else empty.
        identity: Thread, ruling and value in one form.
    """

    line: int
    ack_id: str
    ruling: str
    value: str = ""
    identity: str = ""


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
        return ProjectStatus(conflicted=True, findings=(Finding(at, what, "one of the two versions, without the markers"),))
    front = read_front_matter(text)
    lines, findings = seen(front.body, front.body_line)
    found = [*front.findings, *findings]
    page = sections(lines)
    requests, rulings = _Requests(found), _Rulings(found)
    for section, kind in zip(page, _kinds(page), strict=True):
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


def read_deadline(written: str, *, intake_ms: int, zone: datetime.tzinfo) -> Deadline:
    """Read a deadline of the page: a day is meant to its end, everything else is read as in an envelope (C30).

    Args:
        written: `deadline_written` of a request, or the value of a ruling `extend`.
        intake_ms: When the line was first read; durations count from it.
        zone: The team's zone, for days and for times without one.
    """
    day = iso_day(written)
    if day is None:
        return parse_deadline(written, intake_ms=intake_ms, zone=zone)
    found = parse_deadline(f"{day}T23:59:59", intake_ms=intake_ms, zone=zone)
    note = f"a day is read to its end; {found.note}" if found.readable else found.note
    return Deadline(found.at_ms, written, note, found.readable)


def _kinds(page: list[Section]) -> list[str]:
    """What each section counts as; one of a deeper level belongs to the section that it stands in."""
    kinds: list[str] = []
    above: list[tuple[int, str]] = []
    for section in page:
        while above and above[-1][0] >= section.level:
            above.pop()
        words = frozenset(_WORD.findall(section.title[:100].casefold()))
        own = next((kind for kind, names in _HEADINGS.items() if words and words <= names), "")
        above.append((section.level, own or (above[-1][1] if above else "")))
        kinds.append(above[-1][1])
    return kinds


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
        previous = ""  # "request" where the line above is one, so that text here would be its second half
        for line in lines:
            text = line.text
            if line.code or not text.strip():
                previous = ""
                continue
            item = is_list_item(text)
            if item or _is_meant(text):
                previous = "request" if self._item(line, "@" in halfwidth(text[:_LONGEST_REQUEST])) else ""
            elif previous:
                what = "this line goes on with the request above, but only the first line of a request is read"
                self._findings.append(Finding(line.number, what, "the whole request in one line"))
                previous = ""

    def _item(self, line: Line, names_somebody: bool) -> bool:
        if len(line.text) > _LONGEST_REQUEST:
            what = f"a line of {len(line.text)} characters is no request"
            self._findings.append(Finding(line.number, what, f"at most {_LONGEST_REQUEST} characters"))
            return False
        request = _request(line)
        if isinstance(request, str):
            if names_somebody or _BOX.match(halfwidth(line.text), _after_bullet(line.text)):
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
            self._findings.append(Finding(line.number, what, "done ones taken off the page"))
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
                ruling = f"there are more than {MOST_REQUESTS}; done ones can go"
            else:
                ruling = _ruling(line)
            if isinstance(ruling, str):
                self._findings.append(Finding(line.number, f"this is not read as a ruling: {ruling}", RULING_FORM))
            elif ruling.identity not in self._seen:
                self._seen.add(ruling.identity)
                self.found.append(ruling)


def _after_bullet(text: str) -> int:
    match = _BULLET.match(text)
    return match.end() if match is not None else 0


def _is_meant(text: str) -> bool:
    """Tell a line without a bullet that is written like a request all the same."""
    start = halfwidth(text.lstrip(" \t\u3000")[:2])
    return start.startswith(("@", "[")) or (start[:1] in "-*+" and "@" in halfwidth(text[:_LONGEST_REQUEST]))


def _request(line: Line) -> StatusRequest | str:
    """Read one line, or say what it lacks."""
    text = unicodedata.normalize("NFC", line.text)
    ascii_text = halfwidth(text)  # as long as the text itself, so that places in one are places in the other
    if not is_list_item(text):
        return "it is no list item"
    box = _BOX.match(ascii_text, _after_bullet(text))
    if box is None:
        return "it has no box"
    colon = ascii_text.find(":", box.end())
    if colon < 0:
        return "no colon stands behind the names"
    names = _names(ascii_text[box.end() : colon])
    if isinstance(names, str):
        return names
    words, deadline = _split_deadline(" ".join(text[colon + 1 :].split()))
    if not words:
        return "it does not say what is to be done"
    to = " ".join("@" + name_key(name) for name in names)
    until = f" (by {halfwidth(deadline)})" if deadline else ""
    return StatusRequest(
        line=line.number,
        names=names,
        text=words,
        deadline_written=deadline,
        ticked=not box["mark"].isspace() and bool(box["mark"]),
        identity=f"{to}: {' '.join(halfwidth(words).split())}{until}",
    )


def _names(head: str) -> tuple[str, ...] | str:
    """Read `@macro, @trading and @宏观`, or say what is wrong."""
    before, *pieces = head.translate(_EMPHASIS).split("@")
    if before.strip() or not pieces:
        return "a name with @ has to stand directly behind the box"
    names: dict[str, str] = {}
    for position, piece in enumerate(pieces):
        words = [word for word in _BETWEEN_NAMES.split(piece) if word]
        is_last = position == len(pieces) - 1
        if not words or any(is_last or word.lower() not in _AND for word in words[1:]):
            return "between the box and the colon stands something else than names with @"
        name = words[0]
        if not is_last and piece == name and len(name) > 1 and name[-1] in _AND:
            name = name[:-1]  # 宏观和@交易
        try:
            name = clean_name(name)
        except InvalidError as error:
            return error.message
        names.setdefault(name_key(name), name)
    return tuple(names.values())


def _split_deadline(text: str) -> tuple[str, str]:
    """Part `check the limits (by 2026-03-09)` into what is to be done and until when."""
    bare = text.rstrip(_STOPS)
    if not bare.endswith((")", "）")):
        return text, ""
    start = max(bare.rfind("("), bare.rfind("（"))
    inner = bare[start + 1 : -1].strip()
    if start < 0 or not 0 < len(inner) <= _LONGEST_DEADLINE:
        return text, ""
    plain = halfwidth(inner)
    match = _BY.fullmatch(plain) or _BY_HEAD.fullmatch(plain) or _BY_TAIL.fullmatch(plain)
    if match is None or not _SAYS_WHEN.search(match["when"]):
        return text, ""
    return bare[:start].rstrip(), inner[match.start("when") : match.end("when")].strip()


def _ruling(line: Line) -> StatusRuling | str:
    """Read one line, or say what is wrong with it."""
    text = line.text.strip()
    if len(text) > _LONGEST_RULING:
        return f"it has more than {_LONGEST_RULING} characters"
    if not is_list_item(text):
        return "it is no list item"
    rest = text[_after_bullet(text) :]
    plain = halfwidth(rest)
    colon = plain.find(":")
    if colon < 0:
        return "no colon stands behind the ack_id"
    try:
        ack_id = clean_ack_id(rest[:colon].strip("*` \t\u3000"))
    except InvalidError as error:
        return error.message
    order = plain[colon + 1 :].strip("*` \t")
    word, equals, value = (part.strip("*` \t") for part in order.partition("="))
    word = word.lower()
    if word in ("cancel", "close"):
        problem = f"{word} takes no value" if equals else ""
    elif word in ("dri", "extend", "pick"):
        value, problem = _value(word, value)
    else:
        problem = f"{shown(word, 40)} is none of dri, extend, cancel, pick, close"
    if problem:
        return problem
    key = name_key(value) if word == "dri" else value
    identity = f"{name_key(ack_id)}: {word}={key}" if value else f"{name_key(ack_id)}: {word}"
    return StatusRuling(line=line.number, ack_id=ack_id, ruling=word, value=value, identity=identity)


def _value(word: str, value: str) -> tuple[str, str]:
    """The value of a ruling in its clean form, and what is wrong with it."""
    if not value:
        return "", f"{word} needs a value"
    if word == "dri":
        try:
            return clean_name(value.lstrip("@")), ""
        except InvalidError as error:
            return "", error.message
    if word == "extend":
        found = read_deadline(value, intake_ms=0, zone=datetime.UTC)
        return value, "" if found.at_ms is not None else f"extend={shown(value, 40)} is {found.note}"
    if len(value) > 200 or not value.isprintable() or " " in value:
        return "", "pick takes one message_id or digest"
    return value, ""
