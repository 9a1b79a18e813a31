"""Rows of the memory beside the entries: files, threads, inbox files and staged deliveries. Values only."""

from __future__ import annotations

import msgspec


class FileRow(msgspec.Struct, frozen=True, kw_only=True):
    """What became of the file at a path.

    Attributes:
        path: Relative to the tree.
        ino, size, ctime_ns: By which a change is noticed.
        sha256: Of the bytes that were read, or empty where none were.
        digest: Digest of the message that it holds, or empty.
        verdict: Verdict word of this file, `pending`, or the kind of a file that is no envelope.
        thread: Thread of the message, or empty.
        because: Why, in a sentence, or empty.
        at: When it was last judged, milliseconds.
    """

    path: str
    ino: int = 0
    size: int = 0
    ctime_ns: int = 0
    sha256: str = ""
    digest: str = ""
    verdict: str = ""
    thread: str = ""
    because: str = ""
    at: int = 0


class ThreadRow(msgspec.Struct, frozen=True, kw_only=True):
    """One thread in short, for lists and for the timers.

    Attributes:
        id: Thread id.
        key: Compared form of its bare ack_id.
        phase: Phase of the thread.
        next_due: When something falls due next, milliseconds, or None.
        updated: When its last entry was written, milliseconds.
        folder: Its folder, or empty.
        board: What lists show, as JSON.
    """

    id: str
    key: str
    phase: str
    next_due: int | None
    updated: int
    folder: str
    board: bytes


class StagedRow(msgspec.Struct, frozen=True, kw_only=True):
    """A delivery that is about to be renamed into place: the intent, recorded before it is done.

    Attributes:
        obligation: The first obligation that it carries out; there is one open intent for each.
        scratch: Name of the staged file in the scratch folder; no two intents share one.
        path: Where it goes, or empty where it is only recorded.
        thread: Thread of the obligation.
        body: Body of the `delivered` entry that follows, as JSON.
    """

    obligation: str
    scratch: str
    path: str
    thread: str
    body: bytes


class InboxRow(msgspec.Struct, frozen=True, kw_only=True):
    """A file of ours in an inbox.

    Attributes:
        path: Relative to the tree.
        agent: Whose inbox.
        thread: Thread of the obligations.
        ids: Obligations that it carries out, joined by line ends.
        sha256: Of its bytes: only a file that is still ours is ever removed.
        ino, size, mtime_ns: By which it is known without reading it.
        state: `there`, `removed` or `taken`.
    """

    path: str
    agent: str
    thread: str
    ids: str
    sha256: str
    ino: int = 0
    size: int = 0
    mtime_ns: int = 0
    state: str = "there"


class Known(msgspec.Struct, frozen=True):
    """A content that was taken in before: its thread, verdict and path."""

    thread: str
    verdict: str
    row: str
    path: str
