"""The memory: entries and their indexes in SQLite (WAL, synchronous=FULL), one transaction for a whole group.

It lies in the node's state directory, outside the tree, so that nothing that happens to the tree can make a node
forget. Every index in it can be rebuilt from the entries.
"""

from __future__ import annotations

import errno
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from ackd.errors import BusyError, NoTreeError
from ackd.ledger.rows import FileRow, InboxRow, Known, StagedRow, ThreadRow
from ackd.protocol.entry import Entry, parse_entry

FILE_NAME = "memory.sqlite"
_SCHEMA_VERSION = 1

_TABLES = """
CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE entries (id INTEGER PRIMARY KEY, node TEXT NOT NULL, inc TEXT NOT NULL, seq INTEGER NOT NULL,
  thread TEXT NOT NULL, kind TEXT NOT NULL, read_at INTEGER NOT NULL, line BLOB NOT NULL);
CREATE UNIQUE INDEX entries_source ON entries (node, inc, seq);
CREATE INDEX entries_thread ON entries (thread, id);
CREATE TABLE known (digest BLOB PRIMARY KEY, thread TEXT NOT NULL, verdict TEXT NOT NULL, rule TEXT NOT NULL,
  path TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE identities (identity TEXT PRIMARY KEY, digest BLOB NOT NULL) WITHOUT ROWID;
CREATE TABLE words (words BLOB NOT NULL, thread TEXT NOT NULL, PRIMARY KEY (words, thread)) WITHOUT ROWID;
CREATE TABLE chats (chat TEXT PRIMARY KEY, thread TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE files (path TEXT PRIMARY KEY, ino INTEGER NOT NULL, size INTEGER NOT NULL, ctime_ns INTEGER NOT NULL,
  sha256 TEXT NOT NULL, digest TEXT NOT NULL, verdict TEXT NOT NULL, thread TEXT NOT NULL, because TEXT NOT NULL,
  at INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE threads (id TEXT PRIMARY KEY, key TEXT NOT NULL, phase TEXT NOT NULL, next_due INTEGER,
  updated INTEGER NOT NULL, folder TEXT NOT NULL, board BLOB NOT NULL) WITHOUT ROWID;
CREATE INDEX threads_key ON threads (key);
CREATE INDEX threads_due ON threads (next_due) WHERE next_due IS NOT NULL;
CREATE INDEX threads_open ON threads (updated) WHERE phase != 'final';
CREATE INDEX threads_ended ON threads (updated, id) WHERE phase = 'final';
CREATE INDEX threads_folder ON threads (folder);
CREATE TABLE staged (obligation TEXT PRIMARY KEY, scratch TEXT NOT NULL, path TEXT NOT NULL, thread TEXT NOT NULL,
  body BLOB NOT NULL) WITHOUT ROWID;
CREATE TABLE inbox (path TEXT PRIMARY KEY, agent TEXT NOT NULL, thread TEXT NOT NULL, ids TEXT NOT NULL,
  sha256 TEXT NOT NULL, ino INTEGER NOT NULL, size INTEGER NOT NULL, mtime_ns INTEGER NOT NULL, state TEXT NOT NULL)
  WITHOUT ROWID;
CREATE INDEX inbox_thread ON inbox (thread) WHERE state = 'there';
CREATE TABLE pages (path TEXT PRIMARY KEY, sha256 TEXT NOT NULL, before TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE attached (path TEXT PRIMARY KEY, thread TEXT NOT NULL) WITHOUT ROWID;
"""

_AT_ONCE = 500
_MOST_PAGES = 16_384  # of 4 KiB in the write-ahead log before a commit moves them; `rest` does so when there is time
_LOOKUPS = {
    "digest": ("known", "digest", True),
    "words": ("words", "words", True),
    "key": ("threads", "key", False),
    "folder": ("threads", "folder", False),
    "path": ("files", "path", False),
    "attached": ("attached", "path", False),
}
_FILE = "INSERT OR REPLACE INTO files VALUES (?,?,?,?,?,?,?,?,?,?)"
_ENTRY = "INSERT INTO entries (node, inc, seq, thread, kind, read_at, line) VALUES (?,?,?,?,?,?,?)"
_THREAD = "INSERT OR REPLACE INTO threads VALUES (?,?,?,?,?,?,?)"
_INBOX = "INSERT OR REPLACE INTO inbox VALUES (?,?,?,?,?,?,?,?,?)"


class Memory:
    """What a node remembers. One writer: the daemon; any number of readers.

    Args:
        folder: The state directory of the tree; None for a memory that lasts as long as the object.
        read_only: Open for reading beside a running daemon.

    Raises:
        NoTreeError: There is no memory to read, or it is of a newer ackd.
        BusyError: Another process writes in it.
    """

    def __init__(self, folder: Path | None, *, read_only: bool = False) -> None:
        path = folder / FILE_NAME if folder is not None else Path(":memory:")
        try:
            if read_only:
                self._db = sqlite3.connect(f"file:{path}?mode=ro", uri=True, isolation_level=None)
            else:
                self._db = sqlite3.connect(path, isolation_level=None)
            self._db.execute("PRAGMA busy_timeout=5000")
            version = self._db.execute("PRAGMA user_version").fetchone()[0]
        except sqlite3.Error as error:
            raise NoTreeError(f"the memory {path} cannot be opened: {error}", hint="ackd doctor") from None
        if version > _SCHEMA_VERSION or (read_only and version == 0):
            raise NoTreeError(f"the memory {path} is of another version of ackd ({version})", hint="update ackd")
        if not read_only:
            self._prepare(version)

    def _prepare(self, version: int) -> None:
        try:
            self._db.execute("PRAGMA journal_mode=WAL")
            self._db.execute("PRAGMA synchronous=FULL")
            self._db.execute("PRAGMA cache_size=-65536")
            self._db.execute(f"PRAGMA wal_autocheckpoint={_MOST_PAGES}")
            if version == 0:
                self._db.executescript(f"BEGIN;{_TABLES}PRAGMA user_version={_SCHEMA_VERSION};COMMIT;")
        except sqlite3.OperationalError as error:
            raise BusyError(f"the memory is in use: {error}", hint="stop the other process, or try again") from None

    def close(self) -> None:
        """Close it; what was committed stays."""
        self._db.close()

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Commit all that is written inside at once, with one flush; an error takes all of it back.

        Raises:
            OSError: It could not be written: the disk is full, or another process is in the way.
        """
        try:
            self._db.execute("BEGIN IMMEDIATE")
            yield
            self._db.execute("COMMIT")
        except sqlite3.Error as error:
            self._roll_back()
            raise OSError(errno.EIO, f"the memory cannot be written: {error}") from error
        except BaseException:
            self._roll_back()
            raise

    def damage(self, most: int = 10) -> list[str]:
        """Give what SQLite's own check finds wrong with the file, at most so many lines; empty where it is whole."""
        try:
            rows = self._db.execute(f"PRAGMA integrity_check({int(most)})").fetchall()
        except sqlite3.DatabaseError as error:
            return [str(error)]
        return [str(row[0]) for row in rows if row[0] != "ok"]

    def redact(self, lines: Iterable[tuple[Entry, bytes]]) -> None:
        """Put other lines in place of entries from which a person had something removed."""
        self._db.executemany(
            "UPDATE entries SET line = ? WHERE node = ? AND inc = ? AND seq = ?",
            [(line, one.node, one.inc, one.seq) for one, line in lines],
        )

    def shrink(self) -> None:
        """Write the file anew with what it holds now and nothing else, and empty the write-ahead log.

        Raises:
            BusyError: Somebody reads in it, or the disk is full: what was removed can still be found in the file.
        """
        try:
            self._db.execute("VACUUM").fetchall()
            is_busy = bool(self._db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0])
            reason = "somebody reads in it"
        except sqlite3.Error as error:
            is_busy, reason = True, str(error)
        if is_busy:
            raise BusyError(f"the memory cannot be written anew: {reason}", hint="try the same again")

    def rest(self) -> None:
        """Move the write-ahead log into the database while nothing else is to be done; harmless at any time."""
        self._db.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchall()

    def _roll_back(self) -> None:
        # A full disk makes SQLite roll back by itself, and there may be nothing left to take back.
        if self._db.in_transaction:
            self._db.execute("ROLLBACK")

    # Meta.

    def meta(self, name: str, default: str = "") -> str:
        """Give a remembered value of the node itself."""
        row = self._db.execute("SELECT value FROM meta WHERE name = ?", (name,)).fetchone()
        return str(row[0]) if row else default

    def set_meta(self, name: str, value: str) -> None:
        """Remember a value of the node itself."""
        self._db.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (name, value))

    # Entries.

    def add_entries(self, entries: Iterable[tuple[Entry, bytes]], read_at: int | None = None) -> None:
        """Add entries with their lines; `read_at` is when this node first read them (None: it wrote them)."""
        self._db.executemany(
            _ENTRY,
            [
                (one.node, one.inc, one.seq, one.thread, one.kind, one.at if read_at is None else read_at, line)
                for one, line in entries
            ],
        )

    def has_entry(self, node: str, inc: str, seq: int) -> bool:
        """Tell whether an entry is known."""
        query = "SELECT 1 FROM entries WHERE node = ? AND inc = ? AND seq = ?"
        return self._db.execute(query, (node, inc, seq)).fetchone() is not None

    def entries_of(self, thread: str) -> list[tuple[Entry, int]]:
        """Give a thread's entries and when this node wrote or first read each."""
        rows = self._db.execute("SELECT line, read_at FROM entries WHERE thread = ? ORDER BY id", (thread,))
        return [(parse_entry(line), read_at) for line, read_at in rows]

    def lines(self, node: str, inc: str, first: int, last: int) -> list[bytes]:
        """Give the lines of one incarnation from `first` to `last`, both included."""
        query = "SELECT line FROM entries WHERE node = ? AND inc = ? AND seq BETWEEN ? AND ? ORDER BY seq"
        return [row[0] for row in self._db.execute(query, (node, inc, first, last))]

    def all_entries(self) -> Iterator[tuple[Entry, int]]:
        """Give every entry in the order in which it came."""
        for line, read_at in self._db.execute("SELECT line, read_at FROM entries ORDER BY id"):
            yield parse_entry(line), read_at

    def incarnations(self, node: str) -> list[tuple[str, int]]:
        """Give the incarnations of a node, each with the number of its newest entry that is known."""
        query = "SELECT inc, max(seq) FROM entries WHERE node = ? GROUP BY inc ORDER BY inc"
        return [(str(inc), int(last)) for inc, last in self._db.execute(query, (node,))]

    def last_of(self, node: str, inc: str) -> Entry | None:
        """Give the newest entry of an incarnation, or None."""
        query = "SELECT line FROM entries WHERE node = ? AND inc = ? ORDER BY seq DESC LIMIT 1"
        row = self._db.execute(query, (node, inc)).fetchone()
        return parse_entry(row[0]) if row else None

    def last_number(self, node: str, inc: str) -> int:
        """Give the number of the newest entry of an incarnation, 0 for none."""
        row = self._db.execute("SELECT max(seq) FROM entries WHERE node = ? AND inc = ?", (node, inc)).fetchone()
        return int(row[0] or 0)

    def count(self, table: str) -> int:
        """Count the rows of a table."""
        if table not in ("entries", "known", "files", "threads", "inbox", "staged"):
            raise ValueError(table)
        return int(self._db.execute(f"SELECT count(*) FROM {table}").fetchone()[0])  # noqa: S608 - one of the names above

    def absent(self, what: str, values: Iterable[str]) -> set[str]:
        """Give those of the values that the memory has no row for, with one query for many.

        Args:
            what: `digest`, `words`, `key` or `folder` (of a thread), `path` (of a file) or `attached` (a path).
            values: Hex for digests and words.
        """
        table, column, is_hex = _LOOKUPS[what]
        left = set(values)
        wanted = list(left)
        for first in range(0, len(wanted), _AT_ONCE):
            part = wanted[first : first + _AT_ONCE]
            marks = ",".join("?" * len(part))
            query = f"SELECT {column} FROM {table} WHERE {column} IN ({marks})"  # noqa: S608 - names of `_LOOKUPS`
            rows = self._db.execute(query, [bytes.fromhex(one) for one in part] if is_hex else part)
            left.difference_update(bytes(row[0]).hex() if is_hex else row[0] for row in rows)
        return left

    # Contents that were taken in.

    def known(self, digests: Iterable[str]) -> dict[str, Known]:
        """Give what is known of each of these digests; the unknown are left out."""
        found: dict[str, Known] = {}
        for digest in digests:
            row = self._db.execute(
                "SELECT thread, verdict, rule, path FROM known WHERE digest = ?", (bytes.fromhex(digest),)
            ).fetchone()
            if row:
                found[digest] = Known(*row)
        return found

    def add_known(self, rows: Iterable[tuple[str, Known]]) -> None:
        """Remember contents for ever."""
        self._db.executemany(
            "INSERT OR REPLACE INTO known VALUES (?,?,?,?,?)",
            [(bytes.fromhex(digest), one.thread, one.verdict, one.row, one.path) for digest, one in rows],
        )

    def identity(self, identity: str) -> str:
        """Give the digest that a message_id belongs to, or an empty string."""
        row = self._db.execute("SELECT digest FROM identities WHERE identity = ?", (identity,)).fetchone()
        return bytes(row[0]).hex() if row else ""

    def add_identities(self, rows: Iterable[tuple[str, str]]) -> None:
        """Remember whose a message_id is; the first content keeps it."""
        self._db.executemany(
            "INSERT OR IGNORE INTO identities VALUES (?,?)", [(name, bytes.fromhex(digest)) for name, digest in rows]
        )

    def asked(self, words: str) -> list[str]:
        """Give the threads in which these words were asked."""
        rows = self._db.execute("SELECT thread FROM words WHERE words = ?", (bytes.fromhex(words),))
        return [row[0] for row in rows]

    def add_asked(self, rows: Iterable[tuple[str, str]]) -> None:
        """Remember which words were asked in which thread."""
        self._db.executemany(
            "INSERT OR IGNORE INTO words VALUES (?,?)", [(bytes.fromhex(words), thread) for words, thread in rows]
        )

    def chat_thread(self, chat: str) -> str:
        """Give the thread that a chat thread carries, or an empty string."""
        row = self._db.execute("SELECT thread FROM chats WHERE chat = ?", (chat,)).fetchone()
        return str(row[0]) if row else ""

    def add_chats(self, rows: Iterable[tuple[str, str]]) -> None:
        """Remember which thread a chat thread carries; the first keeps it."""
        self._db.executemany("INSERT OR IGNORE INTO chats VALUES (?,?)", list(rows))

    # Files.

    def files(self) -> Iterator[FileRow]:
        """Give what became of each file."""
        for row in self._db.execute("SELECT * FROM files"):
            yield _file(row)

    def file(self, path: str) -> FileRow | None:
        """Give what became of the file at a path, or None."""
        row = self._db.execute("SELECT * FROM files WHERE path = ?", (path,)).fetchone()
        return _file(row) if row else None

    def put_files(self, rows: Iterable[FileRow]) -> None:
        """Remember what became of files."""
        self._db.executemany(
            _FILE,
            [
                (
                    *(one.path, one.ino, one.size, one.ctime_ns, one.sha256, one.digest, one.verdict, one.thread),
                    *(one.because, one.at),
                )
                for one in rows
            ],
        )

    def attached(self, path: str) -> bool:
        """Tell whether an envelope attaches the file at a path."""
        return self._db.execute("SELECT 1 FROM attached WHERE path = ?", (path,)).fetchone() is not None

    def add_attached(self, rows: Iterable[tuple[str, str]]) -> None:
        """Remember files that envelopes attach, with the thread."""
        self._db.executemany("INSERT OR IGNORE INTO attached VALUES (?,?)", list(rows))

    # Threads.

    def put_threads(self, rows: Iterable[ThreadRow]) -> None:
        """Remember threads in short."""
        self._db.executemany(
            _THREAD,
            [(one.id, one.key, one.phase, one.next_due, one.updated, one.folder, one.board) for one in rows],
        )

    def put_due(self, threads: Iterable[str], due: int) -> None:
        """Let threads that have a row fall due at an instant."""
        self._db.executemany("UPDATE threads SET next_due = ? WHERE id = ?", [(due, thread) for thread in threads])

    def threads_named(self, key: str) -> list[str]:
        """Give the threads whose bare ack_id has that compared form, oldest id first."""
        return [row[0] for row in self._db.execute("SELECT id FROM threads WHERE key = ? ORDER BY id", (key,))]

    def thread_row(self, thread: str) -> ThreadRow | None:
        """Give one thread in short, or None."""
        row = self._db.execute("SELECT * FROM threads WHERE id = ?", (thread,)).fetchone()
        return ThreadRow(**dict(zip(ThreadRow.__struct_fields__, row, strict=True))) if row else None

    def refused(self) -> list[str]:
        """Give the ledgers of refused files that stand."""
        query = "SELECT id FROM threads WHERE phase != 'final' AND phase = 'refused' ORDER BY id"
        return [str(row[0]) for row in self._db.execute(query)]

    def threads(self, *, open_only: bool = False, limit: int = -1, newest: bool = False) -> list[ThreadRow]:
        """Give threads in short, the longest untouched first (`newest`: the other way round)."""
        where = "WHERE phase != 'final'" if open_only else ""
        order = "DESC" if newest else "ASC"
        query = f"SELECT * FROM threads {where} ORDER BY updated {order}, id LIMIT ?"  # noqa: S608 - two fixed words
        rows = self._db.execute(query, (limit,))
        return [ThreadRow(**dict(zip(ThreadRow.__struct_fields__, row, strict=True))) for row in rows]

    def ended(self) -> Iterator[ThreadRow]:
        """Give the ended threads and the refusals that were put right in short, the newest first."""
        rows = self._db.execute("SELECT * FROM threads WHERE phase = 'final' ORDER BY updated DESC, id DESC")
        for row in rows:
            yield ThreadRow(**dict(zip(ThreadRow.__struct_fields__, row, strict=True)))

    def due(self, now: int) -> list[str]:
        """Give the threads in which something has fallen due."""
        query = "SELECT id FROM threads WHERE next_due <= ? ORDER BY next_due"
        return [row[0] for row in self._db.execute(query, (now,))]

    def next_due(self) -> int | None:
        """Give when the next thing falls due anywhere, or None."""
        row = self._db.execute("SELECT min(next_due) FROM threads WHERE next_due IS NOT NULL").fetchone()
        return row[0] if row else None

    def updated_since(self, at: int) -> list[str]:
        """Give the threads whose last entry was written at an instant (milliseconds) or later."""
        return [row[0] for row in self._db.execute("SELECT id FROM threads WHERE updated >= ? ORDER BY id", (at,))]

    def folder_taken(self, folder: str) -> str:
        """Give the thread that has a folder, or an empty string."""
        row = self._db.execute("SELECT id FROM threads WHERE folder = ?", (folder,)).fetchone()
        return str(row[0]) if row else ""

    # Deliveries.

    def stage(self, rows: Iterable[StagedRow]) -> None:
        """Record the intent to hand over staged files; an intent that is open already is an error."""
        self._db.executemany(
            "INSERT INTO staged VALUES (?,?,?,?,?)",
            [(one.obligation, one.scratch, one.path, one.thread, one.body) for one in rows],
        )

    def staged(self) -> list[StagedRow]:
        """Give the intents without a recorded outcome."""
        rows = self._db.execute("SELECT * FROM staged")
        return [StagedRow(**dict(zip(StagedRow.__struct_fields__, row, strict=True))) for row in rows]

    def unstage(self, obligations: Iterable[str]) -> None:
        """Forget intents whose outcome is recorded."""
        self._db.executemany("DELETE FROM staged WHERE obligation = ?", [(one,) for one in obligations])

    def put_inbox(self, rows: Iterable[InboxRow]) -> None:
        """Remember files of ours in inboxes."""
        self._db.executemany(
            _INBOX,
            [
                (
                    *(one.path, one.agent, one.thread, one.ids, one.sha256, one.ino, one.size, one.mtime_ns),
                    one.state,
                )
                for one in rows
            ],
        )

    def inbox(self, *, thread: str | None = None, agent: str | None = None) -> list[InboxRow]:
        """Give the files of ours that should lie in inboxes, by thread or agent."""
        query, values = "SELECT * FROM inbox WHERE state = 'there'", []
        if thread is not None:
            query, values = query + " AND thread = ?", [thread]
        if agent is not None:
            query, values = query + " AND agent = ?", [*values, agent]
        rows = self._db.execute(query + " ORDER BY path", values)
        return [InboxRow(**dict(zip(InboxRow.__struct_fields__, row, strict=True))) for row in rows]

    # Pages.

    def page(self, path: str) -> tuple[str, str]:
        """Give the SHA-256 of a page as we wrote it last, or were about to, and of the one before; else empty."""
        row = self._db.execute("SELECT sha256, before FROM pages WHERE path = ?", (path,)).fetchone()
        return (str(row[0]), str(row[1])) if row else ("", "")

    def put_pages(self, rows: Iterable[tuple[str, str, str]]) -> None:
        """Remember pages that are about to be written: path, SHA-256, and that of what lies there."""
        self._db.executemany("INSERT OR REPLACE INTO pages VALUES (?,?,?)", list(rows))


def _file(row: tuple[object, ...]) -> FileRow:
    return FileRow(**dict(zip(FileRow.__struct_fields__, row, strict=True)))  # type: ignore[arg-type]
