"""One line of the people's page: a request to agents, or a ruling on a thread, read from how people write them.

Half-width and full-width punctuation mean the same, and so do all bullets. What is not of the form is told in words.
"""

from __future__ import annotations

import datetime
import re
import unicodedata

import msgspec

from ackd.errors import InvalidError
from ackd.protocol.ids import clean_ack_id, clean_name, name_key, shown
from ackd.protocol.instant import Deadline, halfwidth, parse_deadline
from ackd.tree.front_matter import iso_day
from ackd.tree.outline import Line, is_list_item

REQUEST_FORM = "- [ ] @name: what is to be done (by 2026-03-09)"
RULING_FORM = "- <ack_id>: dri=<name> | extend=<2h> | cancel | pick=<message_id> | close"

_LONGEST_REQUEST, _LONGEST_RULING = 8_000, 1_000

_BULLET = re.compile(r"[ \t\u3000]*(?:(?:[-*+]|[0-9]{1,9}[.)])[ \t\u3000]+)?")
_BOX = re.compile(r"\[(?P<mark>[ \t]{0,3}|[xX])\](?:[ \t]+|(?=@))")
_MEANT = re.compile(r"[ \t]*[-*+]?[ \t]?(?:@|\[[ \txX]{0,3}\])")
_BETWEEN_NAMES = re.compile(r"[\s,、;&+/]+")
_AND = frozenset({"and", "和", "与", "與", "及", "跟"})
_EMPHASIS = str.maketrans("", "", "*`")

_STOPS = " \t.。!;"
_BY = re.compile(
    r"(?:by|until|till|due|before|no later than|deadline)(?:[ \t]*:[ \t]*|[ \t]+)(?P<when>.+)", re.IGNORECASE
)
_BY_HEAD = re.compile(r"(?:截止|截至|期限|不晚于|最晚|最迟)(?:到|于|至|日期|时间)?[ \t]*:?[ \t]*(?P<when>.+)")
_BY_TAIL = re.compile(r"(?:请?[在于於])?[ \t]*(?P<when>.+?)[ \t]*(?:之前|以前|前|截止|为止)")
_SAYS_WHEN = re.compile(
    r"[0-9今明后後周週月日天晚早午]|\b(?:today|tonight|tomorrow|noon|midnight|eod|eow|end of|next|week|weekend|month"
    r"|year|(?:mon|tues?|wed(?:nes)?|thu(?:rs)?|fri|sat(?:ur)?|sun)(?:day)?)\b",
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


def read_request(line: Line) -> StatusRequest | str:
    """Read a line as a request, or say in words what it lacks."""
    if len(line.text) > _LONGEST_REQUEST:
        return f"it has more than {_LONGEST_REQUEST} characters"
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


def looks_like_request(line: Line) -> bool:
    """Tell a line that is meant as a request, whether or not it is one: it names somebody with @ or has a box."""
    text = halfwidth(line.text[:_LONGEST_REQUEST])
    if not is_list_item(text):
        return _MEANT.match(text) is not None
    return "@" in text or _BOX.match(text, _after_bullet(text)) is not None


def read_ruling(line: Line) -> StatusRuling | str:
    """Read a line as a ruling, or say in words what is wrong with it."""
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
    equals = plain.find("=", colon)
    word = plain[colon + 1 : equals if equals >= 0 else None].strip("*` \t").lower()
    value = rest[equals + 1 :].strip("*` \t\u3000") if equals >= 0 else ""
    if word in ("cancel", "close"):
        problem = f"{word} takes no value" if equals >= 0 else ""
    elif word in ("dri", "extend", "pick"):
        value, problem = _value(word, value)
    else:
        problem = f"{shown(word, 40)} is none of dri, extend, cancel, pick, close"
    if problem:
        return problem
    key = name_key(value) if word == "dri" else value
    identity = f"{name_key(ack_id)}: {word}={key}" if value else f"{name_key(ack_id)}: {word}"
    return StatusRuling(line=line.number, ack_id=ack_id, ruling=word, value=value, identity=identity)


def bare_words(line: Line) -> str:
    """Give the words of a line by which it is compared: without indent, bullet and tick, in half width.

    Of a request that is its identity.
    """
    if not line.text or line.text.isspace():
        return ""
    if "@" in line.text or "＠" in line.text:
        request = read_request(line)
        if isinstance(request, StatusRequest):
            return request.identity
    plain = halfwidth(unicodedata.normalize("NFC", line.text))
    box = _BOX.match(plain, _after_bullet(plain))
    return " ".join(plain[box.end() if box is not None else _after_bullet(plain) :].split())


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


def _after_bullet(text: str) -> int:
    match = _BULLET.match(text)
    return match.end() if match is not None else 0


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


def _value(word: str, value: str) -> tuple[str, str]:
    """The value of a ruling in its clean form, and what is wrong with it."""
    if not value:
        return "", f"{word} needs a value"
    if word == "dri":
        try:
            return clean_name(value.lstrip("@＠")), ""
        except InvalidError as error:
            return "", error.message
    if word == "extend":
        found = read_deadline(value, intake_ms=0, zone=datetime.UTC)
        return value, "" if found.at_ms is not None else f"extend={shown(value, 40)} is {found.note}"
    if len(value) > 200 or not value.isprintable() or " " in value:
        return "", "pick takes one message_id or digest"
    return value, ""
