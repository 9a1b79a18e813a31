"""Judging what was taken in: thread, circumstances, verdict, record; and judging again what waited for it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

import msgspec

from ackd.engine.book import Book
from ackd.engine.refusals import Refusals
from ackd.fs import faults
from ackd.ledger import FileRow, Known
from ackd.protocol.drop import Drop
from ackd.protocol.entry import JUDGED
from ackd.protocol.envelope import Envelope, read_envelope
from ackd.protocol.ids import bare_key, name_key
from ackd.protocol.judge import Verdict, could_rise, judge, judged_bodies, rejudge
from ackd.protocol.policy import Policy
from ackd.protocol.routing import route
from ackd.protocol.thread import Message, Thread
from ackd.tree import layout
from ackd.tree.skips import conflict_original

ENDING = frozenset({"final", "cancel", "ruling"})
"""Types that may end a thread: of what was found together they are judged last."""

_ROUNDS = 8
_MOST_SHAPES = 10_000


class Ready(msgspec.Struct, frozen=True, kw_only=True):
    """A valid envelope: the message, its file's row so far, its bytes, and what the file held before.

    `words` is the digest of what is asked, for a request; empty for all else.
    """

    envelope: Envelope
    row: FileRow
    data: bytes
    before: FileRow | None
    words: str = ""


class Said(msgspec.Struct, frozen=True):
    """What became of a message: the thread, the word of its verdict, and what its author is told."""

    thread: str
    verdict: str
    because: str = ""


class Settle(Protocol):
    """Says what became of a file."""

    def __call__(self, row: FileRow, verdict: str, thread: str, because: str, before: FileRow | None) -> None:
        """Remember a file's verdict."""


class Judging:
    """Judges envelopes and records their verdicts.

    Args:
        book: Where verdicts are written.
        refusals: Where the records of refused messages go.
        policy: Gives the rules in force.
        settle: Called with what became of the file.
    """

    def __init__(self, book: Book, refusals: Refusals, policy: Callable[[], Policy], settle: Settle) -> None:
        self._book, self._refusals, self._policy, self._settle = book, refusals, policy, settle
        self._shapes: dict[str, tuple[object, ...]] = {}

    def prefetch(self, group: Sequence[Ready]) -> None:
        """Find out with a few queries what is new about a whole group."""
        book = self._book
        envelopes = [ready.envelope for ready in group]
        book.prefetch("digest", (one.digest for one in envelopes))
        book.prefetch("key", (bare_key(one.ack_id) for one in envelopes))
        opening = [ready for ready in group if ready.envelope.type in ("request", "broadcast")]
        book.prefetch("words", (ready.words for ready in opening if ready.words))
        folders = {f"{layout.ROUNDTABLE}/{ready.envelope.ack_id}" for ready in opening}
        book.prefetch("folder", folders | {ready.row.path.rpartition("/")[0] for ready in opening})

    def judge(self, ready: Ready, now: int) -> None:
        """Judge one envelope, record the verdict, and judge again what waited for it."""
        envelope, row, before = ready.envelope, ready.row, ready.before
        sender = self._policy().roster.spelling(envelope.sender)
        known = self._book.known(envelope.digest)
        if known is not None and not self._may_judge_again(known, sender):
            self._restated(envelope, row, known, sender, before, now)
            return
        words = ready.words
        edits = self._edited(before, envelope, sender)
        drop, verdict = self._decide(envelope, row.path, sender, now, edits=edits, words=words)
        self._record(drop, verdict, sender, row.sha256, now, words)
        self._settle(
            msgspec.structs.replace(row, digest=envelope.digest), verdict.word, verdict.thread, verdict.because, before
        )
        if verdict.word == "refused":
            code = "unknown-sender" if verdict.row == "stranger" else verdict.row
            self._refusals.add_judged(row.path, ready.data, code, verdict, sender, now)
        self._risen(verdict, now)

    def speak(self, envelope: Envelope, path: str, now: int) -> Said:
        """Judge what a line of a page says, and record it, as if it had been dropped; no file has a part in it.

        Args:
            envelope: What the line stands for.
            path: The page.
            now: The node's wall clock, milliseconds.

        Returns:
            What became of it. Content that is known is never news: then what became of it before.
        """
        sender = self._policy().roster.spelling(envelope.sender)
        known = self._book.known(envelope.digest)
        if known is not None and not self._may_judge_again(known, sender):
            return Said(known.thread, known.verdict)
        words = envelope.words_digest if envelope.type == "request" else ""
        drop, verdict = self._decide(envelope, path, sender, now, words=words)
        self._record(drop, verdict, sender, "", now, words)
        self._risen(verdict, now)
        return Said(verdict.thread, verdict.word, verdict.because)

    def _decide(
        self, envelope: Envelope, path: str, sender: str, now: int, *, edits: str = "", words: str = ""
    ) -> tuple[Drop, Verdict]:
        """Find out the circumstances of a message that is news, and judge it against its thread."""
        book = self._book
        routed = route(envelope, sender, book.named(envelope.ack_id))
        taken_by = book.identity(envelope.identity) if envelope.identity != envelope.digest else ""
        drop = Drop(
            envelope=envelope,
            path=path,
            at=now,
            folder=self._folder(path, routed.thread + routed.suffix),
            holder=self._holder(envelope, routed.thread),
            retries=self._retries(envelope, words, routed.thread),
            edits=edits,
            conflict_of=self._conflict_of(path, envelope),
            identity_taken=bool(taken_by) and taken_by != envelope.digest and not edits,
            candidates=routed.candidates,
            suffix=routed.suffix,
        )
        verdict = judge(book.thread(routed.thread), drop, self._policy(), book.find)
        faults.reach("judge")
        return drop, verdict

    def _risen(self, verdict: Verdict, now: int) -> None:
        """Judge again what waited for the threads that a verdict changed."""
        self._rise(verdict.thread, now)
        if verdict.child is not None:
            self._rise(verdict.child.thread, now)

    def _may_judge_again(self, known: Known, sender: str) -> bool:
        """A stranger's message is judged again once the roster has its author."""
        return known.row == "stranger" and self._policy().roster.find(sender) is not None

    def _restated(
        self, envelope: Envelope, row: FileRow, known: Known, sender: str, before: FileRow | None, now: int
    ) -> None:
        """Content that is known is never news; where a question waits for just these words, its author is told."""
        row = msgspec.structs.replace(row, digest=envelope.digest)
        if known.path == row.path:
            message = self._book.thread(known.thread).message(envelope.digest)
            replaced = message is not None and message.revised_by
            because = "this text was revised before; the later one stays in force" if replaced else ""
            self._settle(row, known.verdict, known.thread, because, before)
            return
        thread = self._book.thread(known.thread)
        if thread.open_questions or thread.pending_handoff is not None:
            drop = Drop(envelope=envelope, path=row.path, at=now, restated=True)
            verdict = judge(thread, drop, self._policy(), self._book.find)
            if verdict.told:
                self._record(drop, verdict, sender, row.sha256, now)
        self._settle(row, "duplicate", known.thread, f"the same as {known.path}", before)

    def _edited(self, before: FileRow | None, envelope: Envelope, sender: str) -> str:
        """Give the digest of the message that the file held before, where its change is an edit (DESIGN part 3)."""
        if before is None or not before.digest or not before.thread:
            return ""
        thread = self._book.thread(before.thread)
        message = thread.message(before.digest)
        if message is None or message.verdict == "refused":
            return ""
        same = message.sender == sender and message.type == envelope.type
        named = str(message.content.get("ack_id") or "")
        return message.digest if same and name_key(named) == name_key(envelope.ack_id) else ""

    def _conflict_of(self, path: str, envelope: Envelope) -> str:
        """Give the file beside which a sync tool left this copy, where that file holds a message of the thread."""
        folder, _, name = path.rpartition("/")
        prefix = f"{folder}/" if folder else ""
        original = conflict_original(name, lambda one: self._book.file(prefix + one) is not None)
        if original is None:
            return ""
        if conflict_original(name, lambda one: False) is not None:
            return prefix + original  # Only sync tools make such names: a copy, even where the original is gone.
        other = self._book.file(prefix + original)
        if other is None or not other.digest:
            return ""
        message = self._book.thread(other.thread).message(other.digest)
        same = message is not None and message.type == envelope.type
        return prefix + original if same and bare_key(other.thread) == bare_key(envelope.ack_id) else ""

    def _folder(self, path: str, thread: str) -> str:
        return layout.thread_folder(path, thread, _Taken(self._book))

    def _holder(self, envelope: Envelope, thread: str) -> str:
        chat = envelope.text_of("thread") if envelope.type == "request" else ""
        holder = self._book.chat_thread(chat) if chat else ""
        return holder if holder and bare_key(holder) != bare_key(thread) else ""

    def _retries(self, envelope: Envelope, words: str, thread: str) -> tuple[str, ...]:
        if envelope.type != "request":
            return ()
        others = [one for one in self._book.asked(words) if bare_key(one) != bare_key(thread)]
        return tuple(one for one in others if not self._book.thread(one).ended)

    def _record(self, drop: Drop, verdict: Verdict, sender: str, sha256: str, now: int, words: str = "") -> None:
        envelope, book = drop.envelope, self._book
        for thread, body in judged_bodies(drop, verdict, sender, sha256):
            book.write(JUDGED, thread, body, now)
        if verdict.word == "duplicate":
            return
        known = Known(verdict.thread, verdict.word, verdict.row, drop.path)
        book.learn(envelope.digest, known, envelope.identity)
        self._refusals.came(envelope.digest, drop.path, now)
        if verdict.word == "opened":
            if words:
                book.note_asked(words, verdict.thread)
            if envelope.text_of("thread"):
                book.note_chat(envelope.text_of("thread"), verdict.thread)
        for attachment in envelope.content.get("attachments") or ():
            path = attachment.get("path") if isinstance(attachment, dict) else attachment
            if isinstance(path, str):
                book.note_attached(path, verdict.thread)
                self._refusals.resolve(path, now)

    def _rise(self, thread_id: str, now: int) -> None:
        """Judge held and weak messages again, where their thread has grown so that they can rise; finals last."""
        for _ in range(_ROUNDS):
            thread = self._book.thread(thread_id)
            # What a person had removed cannot be judged again: its words are gone.
            waiting = [
                one for one in thread.messages if could_rise(thread, one) and one.content.get("purged") is not True
            ]
            if not waiting:
                return
            shape = _shape(thread)
            if self._shapes.get(thread_id) == shape:
                return
            if len(self._shapes) >= _MOST_SHAPES:
                self._shapes.clear()
            self._shapes[thread_id] = shape
            waiting.sort(key=lambda message: (message.type in ENDING, message.stamp))
            # Every one of them, not the first that rises: what waits together is judged together.
            if not sum(self._rejudged(thread, message, now) for message in waiting):
                return

    def _rejudged(self, thread: Thread, message: Message, now: int) -> bool:
        thread = self._book.thread(thread.id)
        drop = Drop(envelope=read_envelope(message.content), path=message.path, at=int(message.basis.get("at", now)))
        verdict = rejudge(thread, message, drop, self._policy(), self._book.find)
        if verdict is None:
            return False
        row = self._book.file(message.path)
        self._record(drop, verdict, message.sender, row.sha256 if row else "", now)
        if row is not None and row.digest == message.digest:
            changed = msgspec.structs.replace(row, verdict=verdict.word, because=verdict.because)
            self._book.put_file(changed)
        return True


def _shape(thread: Thread) -> tuple[object, ...]:
    """Give what the weak verdicts of a thread depend on: roles, questions, handoffs, its beginning and its end."""
    return (
        *(thread.request, thread.dri, thread.dri_epoch, thread.ended_by, tuple(thread.duties)),
        tuple((question.digest, question.answered) for question in thread.questions),
        tuple((handoff.digest, handoff.outcome) for handoff in thread.handoffs),
    )


class _Taken:
    """The folders that threads have, as something that a path can be looked up in."""

    def __init__(self, book: Book) -> None:
        self._book = book

    def __contains__(self, folder: object) -> bool:
        return isinstance(folder, str) and self._book.folder_taken(folder)
