"""The people's page, followed: its changes are told, its requests asked and its rulings judged, each once (M7, T24).

`PROJECT_STATUS.md` is read and never written. Editors save in many ways: for an instant the page is empty, cut or not
there. So a text counts once it has rested, and an empty one once it has rested long.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable
from typing import Any, Protocol

import msgspec

from ackd.engine.book import Book
from ackd.engine.judging import Said
from ackd.engine.keeper import BoardLine
from ackd.engine.page_memory import Line as Remembered
from ackd.engine.page_memory import Page, board_lines, cut, lines_after, page_of, without_the_oldest
from ackd.engine.page_reading import Reading, Spoken, named_in, read_page
from ackd.errors import InvalidError
from ackd.fs.beneath import FileRead, NotRegular, Root, Stat, TooLarge, Vanished
from ackd.intake.encodings import NoText, read_text
from ackd.protocol.envelope import Envelope, read_envelope
from ackd.protocol.policy import Policy
from ackd.protocol.subject import Note
from ackd.tree import layout
from ackd.tree.front_matter import Finding
from ackd.tree.outline import Line

CAP = 1024 * 1024
"""The largest page, in bytes."""

PAGE = layout.PROJECT_STATUS
_REST_MS, _UNFINISHED_MS, _EMPTY_MS = 1_000, 2_000, 5_000
_MOST_TOLD, _LONGEST_TOLD = 60, 600


class Speak(Protocol):
    """Judges what a line says."""

    def __call__(self, envelope: Envelope, path: str, now: int) -> Said:
        """Judge it as if it had been dropped."""


class _Found(msgspec.Struct, frozen=True):
    """What lies there: SHA-256 of the bytes, the text or None where there is none to read, and why not.

    `gone`: there is no file. `tag` tells any two states apart. `changed_at`: instant of its last change by the file
    system, milliseconds; 0 where it is not known.
    """

    sha256: str = ""
    text: str | None = None
    trouble: str = ""
    gone: bool = False
    changed_at: int = 0

    @property
    def tag(self) -> str:
        return self.sha256 or f"{self.gone} {self.trouble}"


class _Resting(msgspec.Struct, frozen=True):
    """A state that is not taken yet: which, since when it has been seen, and how long it must rest, milliseconds."""

    tag: str
    since: int
    patience: int

    @property
    def due(self) -> int:
        return self.since + self.patience


class People:
    """Follows the page.

    Args:
        root: The tree.
        book: Where what is known of the page is written.
        policy: Gives the rules in force.
        speak: Judges what a line says.
    """

    def __init__(self, root: Root, book: Book, policy: Callable[[], Policy], speak: Speak) -> None:
        self._root, self._book, self._policy, self._speak = root, book, policy, speak
        self._stat: Stat | None = None
        self._resting: _Resting | None = None
        self._taken: tuple[str, Policy] | None = None
        self._text = ""

    # What every keeper does.

    def wants(self, path: str) -> bool:
        """Only the page at the top of the tree."""
        return path == PAGE

    def file(self, path: str, kind: str, document: Any, read: FileRead, now: int) -> None:
        """Look at the page; whatever the hint was, it is read whole and anew."""
        if path == PAGE:
            self._look(now)

    def gone(self, path: str, now: int) -> None:
        """Look at the page, which may be back already."""
        self._look(now)

    def judged(self, thread: str, now: int) -> None:
        """Nothing: the board asks when it is written."""

    def next_due(self) -> int | None:
        """Give when the text will have rested."""
        return self._resting.due if self._resting is not None else None

    def work(self, now: int) -> None:
        """Look whether the page has changed without a hint, and take it once it has rested."""
        stat = self._root.stat(PAGE)
        has_new_rules = self._taken is not None and self._taken[1] is not self._policy()
        if stat != self._stat or self._taken is None or has_new_rules:
            self._stat = stat
            self._look(now)
        resting = self._resting
        if resting is None or now < resting.due:
            return
        found = self._look(now)
        if self._resting is resting:
            self._take(found, now)

    def board(self) -> tuple[BoardLine, ...]:
        """Give what the page asks and rules, what became of it, and what is wrong with it."""
        return board_lines(self._book)

    def unsaid(self, now: int) -> int:
        """Give how long a page that has something to say must still rest, milliseconds; 0 where it has nothing."""
        found = self._read()
        if self._resting is None or found.text is None:
            return 0
        policy, known = self._policy(), page_of(self._book.subject(PAGE))
        reading = read_page(found.text, policy.roster, policy.zone)
        spoken = {one.identity for one in (*reading.requests, *reading.rulings)}
        old = known.known_lines()
        fresh = [line for digest, line in reading.lines.items() if digest not in old]
        is_news = any(
            line.number >= reading.body_line and named_in(line, policy.roster, reading.author) for line in fresh
        )
        if not is_news and spoken <= known.requests.keys() | known.rulings.keys():
            return 0
        return max(0, min(self._resting.due - now, _EMPTY_MS))

    # Reading.

    def _look(self, now: int) -> _Found:
        """Read what lies there; a state that was not taken yet begins to rest."""
        found = self._read()
        if self._is_taken(found):
            self._resting = None
        elif self._resting is None or self._resting.tag != found.tag:
            # Whoever starts beside a page that has rested long needs not wait for it.
            since = min(now, found.changed_at) if self._taken is None and found.changed_at else now
            self._resting = _Resting(found.tag, since, self._patience(found))
        return found

    def _read(self) -> _Found:
        read = self._root.read(PAGE, CAP)
        if isinstance(read, FileRead):
            text = read_text(read.data)
            sha256 = hashlib.sha256(read.data).hexdigest()
            if isinstance(text, NoText):
                return _Found(sha256, trouble=f"the page cannot be read: {text.reason}")
            return _Found(sha256, text.text, changed_at=read.stat.ctime_ns // 1_000_000)
        if isinstance(read, Vanished):
            return _Found(gone=True)
        if isinstance(read, TooLarge):
            return _Found(trouble=f"the page has more than {CAP} bytes and is not read")
        if isinstance(read, NotRegular):
            return _Found(trouble=f"the page is a {read.kind}, no regular file, and is not read")
        return _Found(trouble=f"the page cannot be read: {read.reason}")

    def _is_taken(self, found: _Found) -> bool:
        if self._taken is None or self._taken[0] != found.tag or self._taken[1] is not self._policy():
            return False
        # What was taken in a turn that could not be committed was not taken.
        return page_of(self._book.subject(PAGE)).sha256 == found.sha256

    def _patience(self, found: _Found) -> int:
        """Give how long a state must rest: long where it may be an instant of somebody's saving."""
        if found.text is None or not found.text.strip():
            return _EMPTY_MS
        is_cut = len(found.text) < len(self._text) and self._text.startswith(found.text)
        if is_cut:
            return _EMPTY_MS
        return _REST_MS if found.text.endswith(("\n", "\r")) else _UNFINISHED_MS

    # Taking.

    def _take(self, found: _Found, now: int) -> None:
        policy = self._policy()
        self._resting = None
        self._taken = (found.tag, policy)
        before = page_of(self._book.subject(PAGE))
        notes: tuple[Note, ...] = ()
        if found.text is None and not found.gone:
            trouble = Finding(1, found.trouble, "a text in UTF-8 of at most 1 MiB")
            after = msgspec.structs.replace(before, findings=(trouble,))
        else:
            reading = read_page(found.text or "", policy.roster, policy.zone)
            if reading.readable:
                after, notes = self._read_lines(before, reading, now)
                self._text = found.text or ""
            else:
                after = msgspec.structs.replace(before, findings=reading.findings)
        after = msgspec.structs.replace(after, sha256=found.sha256)
        if notes or after != before:
            for note in notes or (None,):
                self._book.note(PAGE, msgspec.to_builtins(after), note, now)

    def _read_lines(self, before: Page, reading: Reading, now: int) -> tuple[Page, tuple[Note, ...]]:
        """Take a page that can be read: speak what is new on it, and say what changed."""
        requests = self._say(before.requests, reading.requests, now)
        rulings = self._say(before.rulings, reading.rulings, now)
        known = before.known_lines()
        fresh = {digest: line for digest, line in reading.lines.items() if digest not in known}
        asked = {
            one.line: one.to
            for one in reading.requests
            if one.identity not in before.requests and requests[one.identity].verdict == "opened"
        }
        after = Page(
            lines=lines_after(before, list(reading.lines)),
            requests=without_the_oldest(requests, self._book),
            rulings=without_the_oldest(rulings, self._book),
            findings=reading.findings,
        )
        return after, self._news(fresh, reading, asked)

    def _say(self, before: dict[str, Remembered], spoken: Iterable[Spoken], now: int) -> dict[str, Remembered]:
        """Give all lines that were ever spoken, each at its place on the page; the new ones are judged now."""
        lines = {identity: msgspec.structs.replace(one, line=0) for identity, one in before.items()}
        for one in spoken:
            known = lines.get(one.identity)
            if known is None:
                known = self._judge(one, now)
            lines[one.identity] = msgspec.structs.replace(known, line=one.line)
        return lines

    def _judge(self, one: Spoken, now: int) -> Remembered:
        text = cut(one.text)
        try:
            envelope = read_envelope(one.document)
        except InvalidError as error:
            return Remembered(line=one.line, text=text, thread="", digest="", verdict="refused", because=error.message)
        said = self._asked_before(envelope) or self._speak(envelope, PAGE, now)
        return Remembered(
            line=one.line,
            text=text,
            thread=said.thread,
            digest=envelope.digest,
            verdict=said.verdict,
            because=said.because,
        )

    def _asked_before(self, envelope: Envelope) -> Said | None:
        """Find the thread of a request that left the page so long ago that it was forgotten here."""
        if envelope.type != "request":
            return None
        for thread in self._book.named(envelope.ack_id):
            request = thread.message(thread.request)
            if request is not None and request.path == PAGE:
                return Said(thread.id, request.verdict)
        return None

    def _news(self, fresh: dict[str, Line], reading: Reading, asked: dict[int, tuple[str, ...]]) -> tuple[Note, ...]:
        """Give the notes to those whom changed lines name; nobody is shown a line that he gets as a request."""
        roster = self._policy().roster
        signs = any(line.number < reading.body_line and line.text.startswith("updated") for line in fresh.values())
        named: dict[str, None] = {}
        naming: set[int] = set()
        for line in fresh.values():
            names = named_in(line, roster, reading.author) if line.number >= reading.body_line else ()
            told = [name for name in names if name not in asked.get(line.number, ())]
            named.update(dict.fromkeys(told))
            if told:
                naming.add(line.number)
        # Only who has just signed the page is sure to have written the change himself.
        alike: dict[frozenset[int], list[str]] = {}
        for name in named:
            if not (signs and name == reading.author):
                hidden = frozenset(number for number, to in asked.items() if name in to)
                alike.setdefault(hidden, []).append(name)
        return tuple(_note(tuple(agents), fresh, naming, hidden) for hidden, agents in alike.items())


def _note(agents: tuple[str, ...], fresh: dict[str, Line], naming: set[int], hidden: frozenset[int]) -> Note:
    """Give the note to agents who are all asked by the hidden lines, about the other ones."""
    left = {digest: line for digest, line in fresh.items() if line.number not in hidden}
    # Of very many, those that name somebody come first.
    shown = sorted(left.values(), key=lambda line: line.number not in naming)[:_MOST_TOLD]
    lines = sorted((line.number, line.text.strip()) for line in shown)
    notes = [f"line {number}: {text}"[:_LONGEST_TOLD] for number, text in lines]
    if len(left) > len(shown):
        notes.append(f"… and {len(left) - len(shown)} more changed lines")
    told = "".join(fresh) + "".join(f" {number}" for number in sorted(hidden))
    return Note(
        step=hashlib.sha256(told.encode()).hexdigest()[:16],
        agents=agents,
        summary=f"{PAGE} has changed, and a changed line names you; no answer is asked",
        notes=tuple(notes),
    )
