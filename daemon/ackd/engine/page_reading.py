"""What the people's page says to a team: its requests and rulings as envelopes, and what the roster objects to.

Pure: text and roster in, values out. The same words give the same ack_id on every machine, whenever they are read.
"""

from __future__ import annotations

import datetime
import hashlib
import unicodedata
from collections.abc import Iterable
from typing import Any

import msgspec

from ackd.errors import InvalidError
from ackd.protocol.ids import clean_ack_id, shown
from ackd.protocol.instant import iso
from ackd.protocol.policy import Roster
from ackd.tree import layout
from ackd.tree.front_matter import Finding, FrontMatter, iso_day, listed, read_front_matter
from ackd.tree.outline import Line
from ackd.tree.project_status import ProjectStatus, mentions, read_project_status, worded_lines
from ackd.tree.status_lines import StatusRequest, StatusRuling, read_deadline

MOST_LINES = 5_000
"""Lines with different words that a page may have."""

_SLUG_CHARACTERS, _SLUG_BYTES = 36, 100


class Spoken(msgspec.Struct, frozen=True, kw_only=True):
    """A line of the page as the envelope that it stands for.

    Attributes:
        identity: 16 hex of the line's words.
        line: Number of the line.
        text: The line in one form, for people.
        to: Members of the roster whom a request is for; empty for a ruling.
        document: The envelope.
    """

    identity: str
    line: int
    text: str
    document: dict[str, Any]
    to: tuple[str, ...] = ()


class Reading(msgspec.Struct, frozen=True, kw_only=True):
    """The page as a team reads it.

    Attributes:
        readable: False where nothing on it counts (git's conflict markers, too many lines): only findings are there.
        author: Who speaks on it: `updated_by` where the roster has it, else the first person; or an empty string.
        requests, rulings: What it asks and rules, in its order.
        lines: Its lines by the digests of their words, those of the front matter included.
        body_line: Number of the first line after the front matter.
        findings: What is wrong with it, by line.
    """

    readable: bool = True
    author: str = ""
    requests: tuple[Spoken, ...] = ()
    rulings: tuple[Spoken, ...] = ()
    lines: dict[str, Line] = {}
    body_line: int = 1
    findings: tuple[Finding, ...] = ()


def read_page(text: str, roster: Roster, zone: datetime.tzinfo = datetime.UTC) -> Reading:
    """Read the page for a team; nothing is raised.

    Args:
        text: The whole page.
        roster: Who takes part.
        zone: The team's zone: a day ends in it.
    """
    page = read_project_status(text)
    if page.conflicted:
        return Reading(readable=False, findings=page.findings)
    lines = {words_digest(words): line for words, line in worded_lines(text).items()}
    if len(lines) > MOST_LINES:
        what = f"the page has more than {MOST_LINES} lines; nothing on it is read"
        return Reading(readable=False, findings=(Finding(1, what, "a page that people can read"),))
    front = read_front_matter(text)
    found = list(page.findings)
    author = _author(page, front, roster, found)
    requests = tuple(_requests(page.requests, author, roster, zone, found))
    rulings = tuple(_rulings(page.rulings, author, roster, zone, found))
    return Reading(
        author=author,
        requests=requests,
        rulings=rulings,
        lines=lines,
        body_line=front.body_line,
        findings=listed(sorted(found, key=lambda one: one.line)),
    )


def words_digest(words: str) -> str:
    """Give the 10 hex by which the words of a line are remembered."""
    return hashlib.sha256(words.encode("utf-8", "surrogatepass")).hexdigest()[:10]


def named_in(line: Line, roster: Roster, author: str) -> tuple[str, ...]:
    """Give the members of the roster whom a line names with `@`, by themselves or by a group of theirs.

    A group leaves out the author, who alone is told only where the line names him.
    """
    names = [member.name for member in roster.members.values()]
    return roster.expand(mentions((line,), (*names, *roster.groups, "all")), without=author).members


def _author(page: ProjectStatus, front: FrontMatter, roster: Roster, found: list[Finding]) -> str:
    first = next(iter(roster.people), "")
    speaks = f"{first} counts as the author" if first else "nobody counts as the author, so nothing is asked or ruled"
    if page.updated_by:
        member = roster.find(page.updated_by)
        if member is not None:
            return member.name
        what = f"updated_by: {shown(page.updated_by)} is not on the roster of {layout.TEAM}; {speaks}"
        found.append(Finding(front.line_of("updated_by"), what, "a name of the roster"))
    elif not first and (page.requests or page.rulings):
        what = f"no updated_by stands there, and {layout.TEAM} has no people: {speaks}"
        found.append(Finding(front.line_of("updated_by"), what, "updated_by: a name of the roster"))
    return first


def _requests(
    requests: Iterable[StatusRequest], author: str, roster: Roster, zone: datetime.tzinfo, found: list[Finding]
) -> Iterable[Spoken]:
    for one in requests:
        expansion = roster.expand(one.names, without=author)
        for name in expansion.unknown:
            what = f"{shown('@' + name)} is not on the roster of {layout.TEAM} and is not asked"
            found.append(Finding(one.line, what, "a name of the roster, or of a group"))
        if expansion.members and not expansion.named:
            what = "this is not asked: it names groups alone, and nobody who would write the final"
            found.append(Finding(one.line, what, "one agent of the group first: @name, @group: …"))
        elif author and set(expansion.members) == {author}:
            what = f"this is not asked: it is from {author} to {author}, and a request to oneself is refused"
            found.append(Finding(one.line, what, "the name of somebody else behind the box"))
        elif expansion.members and author:
            identity = _identity(one.identity)
            document = {
                "state": "request",
                "ack_id": _ack_id(one.text, identity),
                "from": author,
                "to": list(one.names),
                "dri": expansion.named[0],
                "action": one.text,
            }
            if one.deadline_written:
                document["deadline"] = _deadline(one.deadline_written, zone)
                _check_deadline(one, zone, found)
            yield Spoken(identity=identity, line=one.line, text=one.identity, document=document, to=expansion.members)


def _check_deadline(request: StatusRequest, zone: datetime.tzinfo, found: list[Finding]) -> None:
    read = read_deadline(request.deadline_written, intake_ms=0, zone=zone)
    if not read.readable:
        why = f": {read.note}" if read.note else ""
        what = f"the deadline {shown(request.deadline_written, 60)} cannot be read{why}; this is asked without one"
        found.append(Finding(request.line, what, "a day, an instant or a duration: 2026-03-09, 2026-03-09 18:00, 2h"))


def _rulings(
    rulings: Iterable[StatusRuling], author: str, roster: Roster, zone: datetime.tzinfo, found: list[Finding]
) -> Iterable[Spoken]:
    for one in rulings:
        if not author:
            continue  # Said once, at updated_by.
        if roster.rank(author) < 0:
            what = f"this rules nothing: only a person or an arbiter of {layout.TEAM} rules, and {author} is neither"
            found.append(Finding(one.line, what, "updated_by: who decided it"))
        elif one.ruling == "dri" and roster.find(one.value) is None:
            what = f"this rules nothing: {shown(one.value)} is not on the roster of {layout.TEAM}"
            found.append(Finding(one.line, what, "dri=a name of the roster"))
        else:
            document: dict[str, Any] = {"type": "ruling", "ack_id": one.ack_id, "from": author, "ruling": one.ruling}
            if one.value:
                key = {"dri": "dri", "extend": "deadline", "pick": "pick"}[one.ruling]
                document[key] = _deadline(one.value, zone) if one.ruling == "extend" else one.value
            yield Spoken(identity=_identity(one.identity), line=one.line, text=one.identity, document=document)


def _identity(words: str) -> str:
    return hashlib.sha256(words.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def _ack_id(text: str, identity: str) -> str:
    """Give `page-<words>-<8 hex>`; the words only help people, the digits tell requests apart."""
    slug = ""
    for character in unicodedata.normalize("NFC", text.lower()):
        category = unicodedata.category(character)
        is_named = category[0] == "L" or category in ("Nd", "Mn", "Mc")
        slug = slug + character if is_named else slug.rstrip("-") + "-"
        if len(slug) > _SLUG_CHARACTERS or len(slug.encode("utf-8", "surrogatepass")) > _SLUG_BYTES:
            slug = slug[:-1]
            break
    try:
        return clean_ack_id(f"page-{slug.strip('-')}-{identity[:8]}")
    except InvalidError:
        return f"page-{identity[:8]}"


def _deadline(written: str, zone: datetime.tzinfo) -> str:
    """Give a day as the instant at which it ends; all else as it is written, to be read like any deadline."""
    if iso_day(written) is None:
        return written
    at = read_deadline(written, intake_ms=0, zone=zone).at_ms
    return written if at is None else iso(at)
