"""The book: the threads in hand, and what was written in this turn but is not yet committed to the memory.

Everything that a turn decides is first written here and then committed at once, so that a crash loses a turn whole or
not at all.
"""

from __future__ import annotations

import errno
import secrets
from collections.abc import Iterable
from typing import Any

import msgspec

from ackd.engine.pages import BoardRow, board_row
from ackd.ledger import FileRow, InboxRow, Known, Memory, StagedRow, ThreadRow
from ackd.protocol.clock import ZERO, Stamp, receive, tick
from ackd.protocol.entry import DELIVERED, NOTED, Entry, make_entry
from ackd.protocol.fold import Folding
from ackd.protocol.ids import bare_key, name_key
from ackd.protocol.obligations import Clock
from ackd.protocol.refusal import PREFIX, Refusal, fold_refusals
from ackd.protocol.sends import Send, add_send
from ackd.protocol.subject import PREFIX as SUBJECT
from ackd.protocol.subject import Note, Subject, add_entry, fold_subject, is_thread, note_body, subject_id
from ackd.protocol.table import UNKNOWN
from ackd.protocol.thread import Thread

_MOST_THREADS = 10_000

_encode = msgspec.json.Encoder().encode
_read = msgspec.json.Decoder(dict[str, Any]).decode


class _Live:
    """A thread in hand: its entries, when each was seen, and the fold of them, which grows with them."""

    __slots__ = ("entries", "folding", "has_row", "seen", "subject")

    def __init__(self, entries: list[tuple[Entry, int]]) -> None:
        self.entries = [entry for entry, _ in entries]
        self.seen = {entry.key: read_at for entry, read_at in entries}
        self.folding: Folding | None = None
        self.subject: Subject | None = None
        self.has_row = bool(entries)


class Book:
    """A node's entries, old and new.

    Args:
        memory: Where they are kept.
        node: The node's name.
    """

    def __init__(self, memory: Memory, node: str) -> None:
        self.memory, self.node = memory, node
        self.inc = memory.meta("incarnation")
        self.is_new = not self.inc
        if self.is_new:
            self.inc = secrets.token_hex(4)
        last = memory.last_of(node, self.inc)
        self.seq = last.seq if last else 0
        self._prev = last.key if last else ""
        self._stamp: Stamp = last.stamp if last else ZERO
        self._live: dict[str, _Live] = {}
        self._entries: list[tuple[Entry, bytes]] = []
        self._files: dict[str, FileRow] = {}
        self._known: dict[str, Known] = {}
        self._identities: dict[str, str] = {}
        self._asked: dict[str, list[str]] = {}
        self._chats: dict[str, str] = {}
        self._attached: dict[str, str] = {}
        self._keys: dict[str, dict[str, None]] = {}
        self._folders: dict[str, str] = {}
        self._absent: dict[str, set[str]] = {}
        self.touched: dict[str, None] = {}

    # Writing.

    def write(self, kind: str, thread: str, body: dict[str, Any], at: int) -> Entry:
        """Write an entry of this node; it counts at once and is kept with the next commit."""
        self._stamp = tick(self._stamp, at)
        self.seq += 1
        entry, line = make_entry(
            node=self.node,
            inc=self.inc,
            seq=self.seq,
            prev=self._prev,
            stamp=self._stamp,
            kind=kind,
            thread=thread,
            at=at,
            body=body,
        )
        self._prev = entry.key
        self._entries.append((entry, line))
        live = self._hold(thread)
        live.entries.append(entry)
        live.seen[entry.key] = at
        if live.folding is not None:
            live.folding.add(entry)
        if live.subject is not None:
            live.subject = add_entry(live.subject, entry)
        self._keys.setdefault(bare_key(thread), {})[thread] = None
        self.touched[thread] = None
        return entry

    def heard(self, stamp: Stamp, now: int) -> None:
        """Take another node's stamp into our clock."""
        self._stamp = receive(self._stamp, stamp, now)

    def learn(self, digest: str, known: Known, identity: str) -> None:
        """Remember a content for ever."""
        self._known[digest] = known
        if identity != digest:
            self._identities.setdefault(identity, digest)

    def note_asked(self, words: str, thread: str) -> None:
        """Remember in which thread these words were asked."""
        self._asked.setdefault(words, []).append(thread)

    def note_chat(self, chat: str, thread: str) -> None:
        """Remember which thread a chat thread carries."""
        self._chats.setdefault(chat, thread)

    def note_attached(self, path: str, thread: str) -> None:
        """Remember that an envelope attaches a file."""
        self._attached.setdefault(path, thread)

    def put_file(self, row: FileRow) -> None:
        """Remember what became of a file."""
        self._files[row.path] = row

    # Reading, what is not yet committed included.

    def prefetch(self, what: str, values: Iterable[str]) -> None:
        """Find out with one query what of many values is new, until the next commit.

        Args:
            what: `digest`, `words`, `key`, `folder`, `path` or `attached`, see `Memory.absent`.
            values: The values that will be asked for.
        """
        self._absent.setdefault(what, set()).update(self.memory.absent(what, values))

    def _is_absent(self, what: str, value: str) -> bool:
        return value in self._absent.get(what, ())

    def thread(self, thread: str) -> Thread:
        """Give a thread as it is known now; one without messages where nothing is known of it."""
        live = self._hold(thread)
        if not live.entries:
            return Thread(id=thread)
        if live.folding is None:
            live.folding = Folding(thread, live.entries)
        folded = live.folding.thread
        if folded.folder:
            self._folders[folded.folder] = thread
        return folded

    def refusal(self, ledger: str) -> Refusal | None:
        """Give the refusal of the file that a ledger of refusals is about."""
        return fold_refusals(ledger, self._hold(ledger).entries)

    def sends(self, ledger: str) -> dict[str, Send]:
        """Give what was tried live for a thread or another ledger, by obligation."""
        if is_thread(ledger):
            return self.thread(ledger).sends
        sends: dict[str, Send] = {}
        for entry in self._hold(ledger).entries:
            add_send(sends, entry)
        return sends

    def entry(self, ledger: str, key: str) -> Entry | None:
        """Give an entry of a thread or another ledger by its key, or None."""
        return next((entry for entry in self._hold(ledger).entries if entry.key == key), None)

    def last_body(self, ledger: str, kind: str) -> dict[str, Any] | None:
        """Give the body of the newest entry of a kind in a ledger, or None."""
        found = [entry for entry in self._hold(ledger).entries if entry.kind == kind]
        return max(found, key=lambda one: one.order).body if found else None

    def is_done(self, ledger: str, obligation: str) -> bool:
        """Tell whether an obligation of a thread or another ledger was carried out."""
        entries = self._hold(ledger).entries
        return any(entry.kind == DELIVERED and obligation in entry.body["ids"] for entry in entries)

    def subject(self, name: str) -> Subject:
        """Give what is known of a subject by its name; one without notes where nothing is."""
        return self.subject_of(subject_id(name))

    def subject_of(self, ledger: str) -> Subject:
        """Give what is known of the subject with that ledger."""
        live = self._hold(ledger)
        if live.subject is None:
            live.subject = fold_subject(ledger, live.entries)
        return live.subject

    def subjects(self) -> list[tuple[str, dict[str, Any]]]:
        """Give name and data of every subject, as they were committed."""
        boards = (_read(row.board) for row in self.memory.threads(open_only=True) if row.phase == "noted")
        return [(board["name"], board["data"]) for board in boards]

    def note(self, name: str, data: dict[str, Any], note: Note | None, at: int) -> None:
        """Record what is known of a subject now, and who is told of it, once."""
        self.write(NOTED, subject_id(name), note_body(name, data, note), at)

    def clock(self, thread: str, now: int) -> Clock:
        """Give this node's time for a thread."""
        return Clock(now, self._hold(thread).seen.__getitem__)

    def named(self, ack_id: str) -> list[Thread]:
        """Give all threads of a bare ack_id, in the order of their ids."""
        key = bare_key(ack_id)
        old = () if self._is_absent("key", key) else self.memory.threads_named(key)
        ids = dict.fromkeys([*old, *self._keys.get(key, ())])
        return [self.thread(one) for one in sorted(ids)]

    def find(self, ack_id: str) -> Thread | None:
        """Give the thread that an ack_id names, or None."""
        return next((one for one in self.named(ack_id) if name_key(one.id) == name_key(ack_id)), None)

    def known(self, digest: str) -> Known | None:
        """Give what is known of a content, or None."""
        if digest in self._known or self._is_absent("digest", digest):
            return self._known.get(digest)
        return self.memory.known((digest,)).get(digest)

    def identity(self, identity: str) -> str:
        """Give the digest that a message_id belongs to, or an empty string."""
        return self._identities.get(identity) or self.memory.identity(identity)

    def asked(self, words: str) -> list[str]:
        """Give the threads in which these words were asked, the oldest first."""
        pending = self._asked.get(words, ())
        old = () if self._is_absent("words", words) else self.memory.asked(words)
        return list(dict.fromkeys([*old, *pending]))

    def chat_thread(self, chat: str) -> str:
        """Give the thread that a chat thread carries, or an empty string."""
        return self._chats.get(chat) or self.memory.chat_thread(chat)

    def folder_taken(self, folder: str) -> bool:
        """Tell whether a thread has a folder already."""
        if folder in self._folders or self._is_absent("folder", folder):
            return folder in self._folders
        return bool(self.memory.folder_taken(folder))

    def file(self, path: str) -> FileRow | None:
        """Give what became of the file at a path, or None."""
        if path in self._files or self._is_absent("path", path):
            return self._files.get(path)
        return self.memory.file(path)

    def attached(self, path: str) -> bool:
        """Tell whether an envelope attaches the file at a path."""
        if path in self._attached or self._is_absent("attached", path):
            return path in self._attached
        return self.memory.attached(path)

    # Committing.

    @property
    def is_clean(self) -> bool:
        """Whether nothing waits for a commit."""
        return not (self._entries or self._files or self.touched)

    def commit(
        self,
        next_due: dict[str, int | None],
        *,
        staged: Iterable[StagedRow] = (),
        unstaged: Iterable[str] = (),
        inbox: Iterable[InboxRow] = (),
        soon: Iterable[str] = (),
        now: int = 0,
    ) -> None:
        """Commit all that was written, with one flush.

        Args:
            next_due: The threads whose short rows are written, with when each is due next.
            staged: Deliveries that will now be renamed into place.
            unstaged: Obligations whose intents have their outcome among the entries, or none.
            inbox: Files of ours in inboxes.
            soon: Threads whose short rows follow in this turn: only that they are due `now` is kept, so that a crash
                before that leaves them to the next start.
            now: The node's wall clock, milliseconds.

        Raises:
            OSError: Nothing was committed: the disk is full, or a second daemon writes in this memory.
        """
        memory = self.memory
        rows = [self._row(thread, due) for thread, due in next_due.items()]
        known = [thread for thread in soon if self._hold(thread).has_row]
        rows += [self._brief_row(thread, now) for thread in soon if not self._hold(thread).has_row]
        with memory.transaction():
            begun = self.is_new and memory.meta("incarnation")
            if begun or memory.last_number(self.node, self.inc) != self.seq - len(self._entries):
                # The lock only saves work: what another daemon recorded since makes our decisions stale.
                raise OSError(errno.EAGAIN, "another daemon writes in the memory of this tree")
            if self.is_new:
                memory.set_meta("incarnation", self.inc)
            memory.add_entries(self._entries)
            memory.put_files(self._files.values())
            memory.add_known(self._known.items())
            memory.add_identities(self._identities.items())
            memory.add_asked((words, thread) for words, threads in self._asked.items() for thread in threads)
            memory.add_chats(self._chats.items())
            memory.add_attached(self._attached.items())
            memory.put_threads(rows)
            memory.put_due(known, now)
            memory.stage(staged)
            memory.unstage(unstaged)
            memory.put_inbox(inbox)
        self.is_new = False
        for row in rows:
            self._hold(row.id).has_row = True
        self._entries.clear()
        for pending in (self._files, self._known, self._identities, self._asked, self._chats, self._attached):
            pending.clear()
        self._absent.clear()
        for thread in next_due:
            self.touched.pop(thread, None)
        if not self.touched:
            self._keys.clear()
            self._folders.clear()

    def trim(self) -> None:
        """Let go of threads that nothing is to be done with, where there are too many in hand; the oldest first."""
        excess = len(self._live) - _MOST_THREADS
        if excess <= 0 or self._entries:
            return
        for thread in [one for one in self._live if one not in self.touched][:excess]:
            del self._live[thread]

    def renew(self) -> None:
        """Take a new incarnation: this memory was restored, and lacks entries that the old one wrote."""
        self.inc, self.seq, self._prev = secrets.token_hex(4), 0, ""
        with self.memory.transaction():
            self.memory.set_meta("incarnation", self.inc)

    def forget(self) -> None:
        """Drop all that is not committed, after a commit that failed: the next turn reads and judges it again."""
        self.__init__(self.memory, self.node)  # type: ignore[misc]

    def _hold(self, thread: str) -> _Live:
        live = self._live.get(thread)
        if live is None:
            is_new = self._is_absent("key", bare_key(thread))
            live = self._live[thread] = _Live([] if is_new else self.memory.entries_of(thread))
        return live

    def _brief_row(self, thread: str, due: int) -> ThreadRow:
        if not is_thread(thread):
            return self._row(thread, due)
        folded = self.thread(thread)
        board = BoardRow(id=thread, state=None if folded.phase == UNKNOWN else folded.phase, requester=folded.requester)
        return ThreadRow(
            id=thread,
            key=bare_key(thread),
            phase=folded.phase,
            next_due=due,
            updated=due,
            folder=folded.folder,
            board=_encode(board),
        )

    def _row(self, thread: str, due: int | None) -> ThreadRow:
        live = self._hold(thread)
        updated = live.entries[-1].at if live.entries else 0
        if thread.startswith(SUBJECT):
            subject = self.subject_of(thread)
            board = _encode({"name": subject.name, "data": subject.data})
            return ThreadRow(
                id=thread, key=thread, phase="noted", next_due=None, updated=updated, folder="", board=board
            )
        if thread.startswith(PREFIX):
            refusal = self.refusal(thread)
            assert refusal is not None
            return ThreadRow(
                id=thread,
                key=thread,
                phase="refused" if refusal.standing else "final",
                next_due=None,
                updated=refusal.at,
                folder="",
                board=_encode(
                    {
                        "path": refusal.path,
                        "author": refusal.author,
                        "code": refusal.problem.get("code"),
                        "detail": refusal.problem.get("detail"),
                        "record": refusal.record,
                        "sender": refusal.problem.get("from"),
                        "thread": refusal.problem.get("thread"),
                    }
                ),
            )
        folded = self.thread(thread)
        return ThreadRow(
            id=thread,
            key=bare_key(thread),
            phase=folded.phase,
            next_due=due,
            updated=updated,
            folder=folded.folder,
            board=_encode(board_row(folded)),
        )
