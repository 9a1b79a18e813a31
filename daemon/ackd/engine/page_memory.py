"""What is remembered of the people's page, in the notes of its subject, and how the board and faces show it.

Whoever reads the ledger knows it: the daemon after a crash or a lost memory, and every face without a daemon.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from functools import cache
from typing import Any

import msgspec

from ackd.engine.book import Book
from ackd.engine.keeper import BoardLine
from ackd.engine.page_reading import words_digest
from ackd.protocol.conditions import conditions
from ackd.protocol.ids import shown
from ackd.protocol.subject import Subject
from ackd.protocol.table import UNKNOWN
from ackd.protocol.thread import Thread
from ackd.resources import template_dir
from ackd.tree import layout
from ackd.tree.front_matter import Finding
from ackd.tree.project_status import worded_lines

HEADING = "From the page"
MOST_GONE = 200
"""Requests, and rulings, that left the page and are still remembered."""
MOST_GONE_LINES = 2_000
"""Lines that left the page and are no news when they come back."""

_WIDTH = 10
_LONGEST, _MOST_SHOWN = 160, 95


class Line(msgspec.Struct, frozen=True, kw_only=True):
    """A line that was spoken.

    Attributes:
        line: Its number; 0 where it is no longer on the page.
        text: What it says, cut; not escaped.
        thread: The thread that it opened or ruled on; empty where it came to none.
        digest: Digest of its envelope.
        verdict: Word of its verdict when it was judged.
        because: What its author is told, or an empty string.
    """

    line: int
    text: str
    thread: str
    digest: str
    verdict: str
    because: str = ""


class Page(msgspec.Struct, frozen=True, kw_only=True):
    """What is remembered of the page.

    Attributes:
        sha256: Of the bytes that were taken last; empty where there were none.
        lines: Digests of its lines, 10 hex each, and of those that left it lately.
        requests, rulings: What it asked and ruled, by the identity of the line, the oldest first.
        findings: What is wrong with it now.
    """

    sha256: str = ""
    lines: str = ""
    requests: dict[str, Line] = {}
    rulings: dict[str, Line] = {}
    findings: tuple[Finding, ...] = ()

    def known_lines(self) -> dict[str, None]:
        """Give the digests of the lines that are no news, those of the page first."""
        return dict.fromkeys(self.lines[at : at + _WIDTH] for at in range(0, len(self.lines), _WIDTH))


def page_of(subject: Subject) -> Page:
    """Give what the notes of the page's subject say; before the first, what `ackd init` lays down is no news."""
    return msgspec.convert(subject.data, Page) if subject.data else _first_page()


@cache
def _first_page() -> Page:
    data = (template_dir() / layout.PROJECT_STATUS).read_bytes()
    lines = "".join(words_digest(words) for words in worded_lines(data.decode()))
    return Page(sha256=hashlib.sha256(data).hexdigest(), lines=lines)


def cut(text: str) -> str:
    """Cut what is remembered of a line."""
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"


def lines_after(before: Page, now: list[str]) -> str:
    """Give the digests to remember: those of the page as it is now, then those that left it."""
    gone = before.known_lines().keys() - set(now)
    kept = [digest for digest in before.known_lines() if digest in gone][:MOST_GONE_LINES]
    return "".join((*now, *kept))


def without_the_oldest(lines: dict[str, Line], book: Book) -> dict[str, Line]:
    """Forget lines that left the page long ago, those first whose threads have ended."""
    gone = [identity for identity, one in lines.items() if not one.line]
    if len(gone) <= MOST_GONE:
        return lines
    gone.sort(key=lambda identity: not book.thread(lines[identity].thread).ended)
    drop = set(gone[: len(gone) - MOST_GONE])
    return {identity: one for identity, one in lines.items() if identity not in drop}


def page_document(book: Book) -> dict[str, Any]:
    """Give how the page stands: its findings, and what became of its requests and rulings.

    `line` is null where the line is no longer on the page.
    """
    page = page_of(book.subject(layout.PROJECT_STATUS))
    return {
        "path": layout.PROJECT_STATUS,
        "findings": [{"line": one.line, "what": one.what, "expected": one.expected} for one in page.findings],
        "requests": [
            {**_common(one), "state": _state(thread), "conditions": list(conditions(thread))}
            for one, thread in _with_threads(page.requests, book)
        ],
        "rulings": [
            {**_common(one), "verdict": verdict, "because": because}
            for one, thread in _with_threads(page.rulings, book)
            for verdict, because in [_verdict(one, thread)]
        ],
    }


def board_lines(book: Book) -> tuple[BoardLine, ...]:
    """Give the page's part of the board; texts of the page are quoted, and cut."""
    page = page_of(book.subject(layout.PROJECT_STATUS))
    said = [f"line {one.line}: {one.what}; expected: {one.expected}" for one in page.findings]
    said += [_request(one, thread) for one, thread in _on_page(page.requests, book)]
    said += [_ruling(one, thread) for one, thread in _on_page(page.rulings, book)]
    said += [
        f"{shown(one.text)}: dropped from the page; {_standing(one, thread)}"
        for one, thread in _with_threads(page.requests, book)
        if not one.line and one.thread and one.verdict != "refused" and not thread.ended
    ]
    if len(said) > _MOST_SHOWN:
        said = [*said[:_MOST_SHOWN], f"… and {len(said) - _MOST_SHOWN} more: ackd status --json"]
    return tuple(BoardLine(HEADING, text) for text in said)


def _request(one: Line, thread: Thread) -> str:
    return f"line {one.line}, {shown(one.text)}: {_standing(one, thread)}"


def _ruling(one: Line, thread: Thread) -> str:
    verdict, because = _verdict(one, thread)
    return f"line {one.line}, {shown(one.text)}: {verdict}" + (f", {because}" if because else "")


def _standing(one: Line, thread: Thread) -> str:
    if not one.thread or one.verdict == "refused":
        return f"refused: {one.because}" if one.because else "refused"
    ended = f", ended by {thread.ended_by}" if thread.ended else ""
    return f"thread {one.thread}, {', '.join((_state(thread) or 'no request', *conditions(thread)))}{ended}"


def _common(one: Line) -> dict[str, Any]:
    return {
        "line": one.line or None,
        "text": one.text,
        "ack_id": one.thread or None,
        "verdict": one.verdict,
        "because": one.because,
    }


def _verdict(one: Line, thread: Thread) -> tuple[str, str]:
    """Give what is said of a line now: a held one is judged again when its thread grows."""
    message = thread.message(one.digest)
    return (message.verdict, message.because) if message is not None else (one.verdict, one.because)


def _state(thread: Thread) -> str | None:
    return None if thread.phase == UNKNOWN else thread.phase


def _on_page(lines: dict[str, Line], book: Book) -> Iterator[tuple[Line, Thread]]:
    there = sorted(
        ((one, thread) for one, thread in _with_threads(lines, book) if one.line), key=lambda two: two[0].line
    )
    yield from there


def _with_threads(lines: dict[str, Line], book: Book) -> Iterator[tuple[Line, Thread]]:
    for one in lines.values():
        yield one, book.thread(one.thread) if one.thread else Thread(id="")
