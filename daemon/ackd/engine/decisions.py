"""Keeping `decisions/`: the record of each final with a decision, and findings in records that others wrote.

A record follows from its thread to the byte and has one writer, us. Drafts of agents and records that people write by
hand are read and never touched; only the DRI's final decides (T24).
"""

from __future__ import annotations

import contextlib
import datetime
import hashlib
import logging
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import msgspec

from ackd.engine.book import Book
from ackd.engine.files_shown import DECISION, RECORD, finding_text
from ackd.engine.keeper import BoardLine
from ackd.engine.texts import in_force
from ackd.errors import AckdError
from ackd.fs.beneath import FileRead, Root
from ackd.fs.stage import Stage
from ackd.protocol.ids import name_key, shown
from ackd.protocol.policy import Policy
from ackd.protocol.subject import Note, is_thread
from ackd.protocol.thread import Thread
from ackd.schema import problems
from ackd.tree import layout
from ackd.tree.decision import Decision, read_decision
from ackd.tree.front_matter import Finding
from ackd.tree.madr import Origin, Record, decision_record, read_record, record_path, split_record_name

log = logging.getLogger("ackd")

HEADING = "Decision records that need a look"

_PREFIX = "decision "
"""Subjects of records; no path of a record starts so."""
_CAP = 4 * 1024 * 1024
_MOST_FINDINGS, _MOST_ON_BOARD = 20, 3
_MARK_MS = 600_000
_SEEN = "decisions-written"
_RETRY_MS = 30_000


class Kept(msgspec.Struct, frozen=True, kw_only=True):
    """The record of a thread as it is known.

    Attributes:
        thread: The thread.
        day: Day of its first final with a decision, `YYYY-MM-DD`; it stands in the file's name.
        at: When that final came in, milliseconds.
        supersedes: The record or thread that it replaces, as its author named it.
        sha256: Of the record as we wrote it last, or were about to.
        before: The same of what lay there before.
        notes: What could not be read under `decision`.
        void: The final in force has no decision any more.
        trouble: Why it cannot be written, or an empty string.
    """

    thread: str
    day: str
    at: int
    supersedes: str = ""
    sha256: str = ""
    before: str = ""
    notes: tuple[str, ...] = ()
    void: bool = False
    trouble: str = ""

    @property
    def path(self) -> str:
        """Where the record lies."""
        return record_path(self.day, self.thread)

    @property
    def stem(self) -> str:
        """The record's name without its ending."""
        return self.path.rpartition("/")[2].removesuffix(".md")


class Decisions:
    """Follows finals with a decision, and the files in `decisions/`.

    Args:
        root: The tree.
        stage: Where records are written before they appear.
        book: Threads, and where what is known is recorded.
        policy: Gives the rules in force.
    """

    def __init__(self, root: Root, stage: Stage, book: Book, policy: Callable[[], Policy]) -> None:
        self._root, self._stage, self._book, self._policy = root, stage, book, policy
        self._kept: dict[str, Kept] = {}
        self._drafts: dict[str, dict[str, Any]] = {}
        self._due: dict[str, int] = {}
        self._is_loaded = False
        self._mark_at = 0

    def wants(self, path: str) -> bool:
        """Want the Markdown files in `decisions/`."""
        folder, _, name = path.rpartition("/")
        return folder.split("/")[0] == layout.DECISIONS and name.endswith(".md") and not name.startswith(".")

    def file(self, path: str, kind: str, document: Any, read: FileRead, now: int) -> None:
        """Take a new or changed file: look for a person's hand in a record of ours, and for findings in all others."""
        if kind or not self.wants(path):
            return
        self._load(now)
        mine = next((one for one in self._kept.values() if one.path == path and not one.void), None)
        if mine is not None:
            if hashlib.sha256(read.data).hexdigest() not in self._ours(mine):
                self._write(mine.thread, now)
            return
        data = self._read_draft(path, read)
        known = self._book.subject(path).data
        if known.get("sha256") != data["sha256"] or known.get("gone"):
            data["read_at"] = now
            self._drafts[path] = data
            self._book.note(path, data, None, now)

    def gone(self, path: str, now: int) -> None:
        """Take a record of somebody else's off the lists: what is not there has no findings."""
        self._load(now)
        if not self._root.exists(path):
            self._forget_draft(path, now)

    def judged(self, thread: str, now: int) -> None:
        """Write the record of a thread whose final carries a decision, and of what that decision takes the place of."""
        self._load(now)
        folded = self._book.thread(thread)
        if not folded.final and thread not in self._kept:
            return
        before = self._kept.get(thread)
        kept = self._keep(folded, before, now)
        if kept is None:
            return
        self._kept[thread] = kept
        self._forget_draft(kept.path, now)
        for one in self._touched_by(kept, before):
            self._write(one, now)

    def next_due(self) -> int | None:
        """Give when a record that could not be written is tried again."""
        return min(self._due.values(), default=None)

    def work(self, now: int) -> None:
        """Catch up after a start, and try again what could not be written."""
        self._load(now)
        for thread in [thread for thread, at in self._due.items() if at <= now]:
            self._write(thread, now)
        if now >= self._mark_at and not self._due and self._book.is_clean:
            self._mark_at = now + _MARK_MS
            with self._book.memory.transaction():
                self._book.memory.set_meta(_SEEN, str(now))

    def board(self) -> tuple[BoardLine, ...]:
        """Give what was found in the records."""
        lines = []
        for kept in sorted(self._kept.values(), key=lambda one: one.path):
            if kept.trouble:
                lines.append(f"{kept.path}: it cannot be written: {kept.trouble}")
            if not kept.void and kept.notes:
                lines.append(f"{kept.path}: {'; '.join(kept.notes)}")
        for path, data in sorted(self._drafts.items()):
            said = [finding_text(one) for one in data["findings"]]
            if len(said) > 1:
                said = [f"line {one['line']}: {one['what']}" for one in data["findings"][:_MOST_ON_BOARD]]
            if len(data["findings"]) > len(said):
                said.append(f"… and {len(data['findings']) - len(said)} more: `ackd validate` with its path")
            other = self._record_of(data.get("ack_id") or "")
            if other is not None and other.path != path:
                said.insert(0, f"the decision of thread {other.thread} stands in {other.path}; this file does not")
            if said:
                lines.append(f"{path}{': ' if said[0].startswith('the ') else ', '}{'; '.join(said)}")
        return tuple(BoardLine(HEADING, line) for line in lines)

    # The record of a thread.

    def _keep(self, thread: Thread, before: Kept | None, now: int) -> Kept | None:
        """Give what is known of a thread's record now, or None where it has none."""
        decision = _decision_of(thread)
        if decision is None:
            return msgspec.structs.replace(before, void=True) if before is not None else None
        if before is not None:
            return msgspec.structs.replace(before, supersedes=decision.supersedes, notes=decision.notes, void=False)
        final = thread.message(thread.final)
        at = final.basis.get("at") if final is not None else None
        at = at if isinstance(at, int) else now
        day = datetime.datetime.fromtimestamp(at / 1000, self._policy().zone).date().isoformat()
        return Kept(thread=thread.id, day=day, at=at, supersedes=decision.supersedes, notes=decision.notes)

    def _touched_by(self, kept: Kept, before: Kept | None) -> Iterator[str]:
        """Give the threads whose records may read otherwise now: its own, what it replaces, what replaces it."""
        yield kept.thread
        named = {kept.supersedes, before.supersedes if before is not None else ""} - {""}
        for one in list(self._kept.values()):
            is_named = any(_names(name, one) for name in named)
            if one.thread != kept.thread and (is_named or _names(one.supersedes, kept)):
                yield one.thread

    def _write(self, thread: str, now: int) -> None:
        """Write a record where it reads otherwise than what lies there; a person's edit of it is kept and told once."""
        self._due.pop(thread, None)
        try:
            self._replace(self._kept[thread], now)
            return
        except AckdError as error:
            why = error.message
        except OSError as error:
            why = error.strerror or str(error)
        except Exception as error:
            # A fault of ours in one record must not stop all else (R13).
            log.exception("internal-error", extra={"ack_id": thread})
            why = f"ackd itself failed on it ({type(error).__name__})"
        self._record(msgspec.structs.replace(self._kept[thread], trouble=why), None, now)
        self._due[thread] = now + _RETRY_MS

    def _replace(self, kept: Kept, now: int) -> None:
        found = self._root.read(kept.path, _CAP)
        there = hashlib.sha256(found.data).hexdigest() if isinstance(found, FileRead) else ""
        if kept.void:
            if there and there in self._ours(kept):
                self._root.unlink_if(kept.path, there)
            self._record(kept, None, now)
            return
        data = self._render(kept)
        sha256 = hashlib.sha256(data).hexdigest()
        edited = isinstance(found, FileRead) and there != sha256 and there not in self._ours(kept)
        new = msgspec.structs.replace(kept, sha256=sha256, before=there or kept.before)
        note = None
        if edited and isinstance(found, FileRead):
            copy = layout.rejected_path(self._book.node, f"{there[:8]}-{kept.path.rpartition('/')[2]}")
            self._stage.replace(copy, found.data)
            note = self._edit_note(kept, copy, there)
        self._remember(new)
        self._record(new, note, now)
        if there != sha256:
            self._stage.replace(kept.path, data)
        self._record(msgspec.structs.replace(new, trouble=""), None, now)

    def _edit_note(self, kept: Kept, copy: str, sha256: str) -> Note:
        thread = self._book.thread(kept.thread)
        return Note(
            step=f"edited-{sha256[:16]}",
            agents=(thread.dri,) if self._policy().roster.find(thread.dri) is not None else (),
            summary=f"somebody had written in {kept.path}, the record of your decision; that text lies in {copy} now",
            notes=("the record follows from your final: to take something over, change the file of the final",),
        )

    def _render(self, kept: Kept) -> bytes:
        thread = self._book.thread(kept.thread)
        decision = _decision_of(thread)
        final = thread.text_in_force(thread.final)
        assert decision is not None
        assert final is not None
        content = in_force(thread, final.digest)
        request = thread.text_in_force(thread.request)
        action = in_force(thread, request.digest).get("action") if request is not None else ""
        replaced, replacing = self._replaced_by(kept), self._replacing(kept)
        origin = Origin(
            ack_id=thread.id,
            dri=final.sender,
            day=kept.day,
            page=layout.page_path(thread.folder),
            final_status=_text(content.get("status")) or "success",
            conclusion=_text(content.get("conclusion")),
            action=_text(action),
            requester=thread.requester,
            consulted=tuple(name for name in thread.duties if name not in (final.sender, thread.requester)),
            superseded_by=replacing.stem if replacing is not None else "",
            supersedes=replaced.stem if replaced is not None else "",
        )
        return decision_record(decision, origin).encode("utf-8", "backslashreplace")

    def _replaced_by(self, kept: Kept) -> Kept | None:
        """Give the record whose place this one takes."""
        others = (one for one in self._kept.values() if one.thread != kept.thread and not one.void)
        return next((one for one in others if _names(kept.supersedes, one) and _is_later(kept, one)), None)

    def _replacing(self, kept: Kept) -> Kept | None:
        """Give the newest record that takes the place of this one."""
        found = [
            one
            for one in self._kept.values()
            if one.thread != kept.thread and not one.void and _names(one.supersedes, kept) and _is_later(one, kept)
        ]
        return max(found, key=lambda one: (one.at, one.thread), default=None)

    def _ours(self, kept: Kept) -> set[str]:
        return {kept.sha256, kept.before, *self._book.memory.page(kept.path)} - {""}

    def _remember(self, kept: Kept) -> None:
        """Remember what is about to be written, so that after a crash it is not taken for a person's edit."""
        if self._book.memory.page(kept.path)[0] != kept.sha256:
            with self._book.memory.transaction():
                self._book.memory.put_pages([(kept.path, kept.sha256, kept.before)])

    def _record(self, kept: Kept, note: Note | None, now: int) -> None:
        self._kept[kept.thread] = kept
        name = _PREFIX + kept.thread
        data = {"kind": RECORD, **msgspec.json.decode(msgspec.json.encode(kept))}
        if note is not None or self._book.subject(name).data != data:
            self._book.note(name, data, note, now)

    # Records that others wrote.

    def _read_draft(self, path: str, read: FileRead) -> dict[str, Any]:
        sha256 = hashlib.sha256(read.data).hexdigest()
        data: dict[str, Any] = {"kind": DECISION, "sha256": sha256, "ack_id": "", "findings": []}
        try:
            record = read_record(read.data.decode("utf-8-sig"))
        except UnicodeDecodeError as error:
            line = read.data.count(b"\n", 0, error.start) + 1
            data["findings"] = _plain([Finding(line, "the record is no UTF-8", "text in UTF-8")])
            return data
        data["findings"] = _plain(record_findings(record))
        data["ack_id"] = record.ack_id
        return data

    def _forget_draft(self, path: str, now: int) -> None:
        data = self._drafts.pop(path, None)
        if data is not None:
            self._book.note(path, {**data, "gone": True, "findings": []}, None, now)

    def _record_of(self, ack_id: str) -> Kept | None:
        if not ack_id:
            return None
        key = name_key(ack_id)
        return next((one for one in self._kept.values() if name_key(one.thread) == key and not one.void), None)

    # What is known.

    def _load(self, now: int) -> None:
        """Take up what is known, and what a crash or a lost memory left undone."""
        if self._is_loaded:
            return
        self._is_loaded = True
        for name, data in self._book.subjects():
            if name.startswith(_PREFIX):
                with contextlib.suppress(msgspec.ValidationError):
                    kept = msgspec.convert(data, Kept)
                    self._kept[kept.thread] = kept
            elif data.get("kind") == DECISION and not data.get("gone"):
                self._drafts[name] = data
        self._catch_up(now)

    def _catch_up(self, now: int) -> None:
        """Look at every thread that changed since all records were last known to be written, and at missing drafts."""
        for thread in self._book.memory.updated_since(int(self._book.memory.meta(_SEEN, "0"))):
            if is_thread(thread):
                self.judged(thread, now)
        for path in list(self._drafts):
            self.gone(path, now)


def _decision_of(thread: Thread) -> Decision | None:
    final = thread.text_in_force(thread.final)
    return read_decision(in_force(thread, final.digest).get("decision")) if final is not None else None


def decision_file(thread: Thread, zone: datetime.tzinfo) -> str:
    """Give the path of a thread's decision record, or an empty string where it has none."""
    if _decision_of(thread) is None:
        return ""
    deciding = [thread.message(digest) for digest in (*thread.finals, thread.final)]
    first = next((one for one in deciding if one is not None and one.content.get("decision")), None)
    at = first.basis.get("at") if first is not None else None
    if not isinstance(at, int):
        return ""
    return record_path(datetime.datetime.fromtimestamp(at / 1000, zone).date().isoformat(), thread.id)


def _names(written: str, kept: Kept) -> bool:
    """Tell whether a text names a record: by its thread, or by its file with or without folder and ending."""
    name = written.strip().removeprefix("./").removeprefix(f"{layout.DECISIONS}/")
    if not name or len(name) > 300:
        return False
    named = split_record_name(name if name.endswith(".md") else f"{name}.md")
    return name_key(name) == name_key(kept.thread) or (named is not None and named == (kept.day, kept.thread))


def _is_later(one: Kept, other: Kept) -> bool:
    return (one.at, one.thread) > (other.at, other.thread)


def record_findings(record: Record) -> list[Finding]:
    """Give what is wrong with a record, by line: what it lacks, and what its schema objects to; at most 20."""
    return sorted([*record.findings, *_by_schema(record)], key=lambda one: one.line)[:_MOST_FINDINGS]


def _by_schema(record: Record) -> Iterator[Finding]:
    for one in problems("decision", record.front):
        key = one.pointer.split("/")[1] if "/" in one.pointer else ""
        yield Finding(
            record.lines.get(key, 1), f"{shown(key) if key else 'the front matter'} is not valid", one.expected
        )


def _plain(findings: Iterable[Finding]) -> list[dict[str, Any]]:
    return [{"line": one.line, "what": one.what, "expected": one.expected} for one in findings]


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
