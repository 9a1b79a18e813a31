"""Rebuilding a lost memory from the sealed files of the tree: the same threads, and nothing is delivered again."""

from __future__ import annotations

import hashlib
from typing import Any

import msgspec

from ackd.engine.book import Book
from ackd.exchange import Exchange
from ackd.fs.beneath import FileRead, Root
from ackd.ledger import FileRow, InboxRow, Known, Memory
from ackd.protocol.entry import DELIVERED, JUDGED, REFUSED, RESOLVED, Entry
from ackd.protocol.envelope import read_envelope
from ackd.protocol.fold import strength

_CAP = 16 * 1024 * 1024


def rebuild(memory: Memory, exchange: Exchange, root: Root, node: str, now: int) -> tuple[int, list[str]]:
    """Read every sealed entry that the memory lacks and make the indexes that follow from them.

    Args:
        memory: An empty memory, or one that lacks entries.
        exchange: Where sealed entries are read.
        root: The tree.
        node: This node's name: the times of its own entries are its own clock's.
        now: The node's wall clock, milliseconds.

    Returns:
        How many entries were read, and what was wrong with the files.
    """
    count = 0
    problems = []
    for sealed in exchange.read_all():
        if sealed.problem:
            problems.append(sealed.problem)
        new = [one for one in sealed.entries if not memory.has_entry(one[0].node, one[0].inc, one[0].seq)]
        if not new:
            continue
        count += len(new)
        with memory.transaction():
            for entry, line in new:
                memory.add_entries([(entry, line)], entry.at if entry.node == node else now)
            _index(memory, [entry for entry, _ in new], root)
    return count, problems


def touch_all(book: Book) -> None:
    """Mark every thread of the memory, so that its short row and timers are made anew."""
    for entry, _ in book.memory.all_entries():
        book.heard(entry.stamp, entry.stamp[0])
        book.touched[entry.thread] = None


def _index(memory: Memory, entries: list[Entry], root: Root) -> None:
    for entry in entries:
        if entry.kind == JUDGED:
            _index_message(memory, entry.thread, entry.body)
        elif entry.kind == DELIVERED and entry.body.get("path"):
            _index_delivery(memory, entry, root)
        elif entry.kind == REFUSED:
            # So that a file that was put right meanwhile takes its refusal with it.
            body = entry.body
            row = FileRow(path=body["path"], sha256=body["sha256"], verdict="refused", at=entry.at)
            memory.put_files([msgspec.structs.replace(row, because=str(body["problem"].get("detail", "")))])
        elif entry.kind == RESOLVED:
            memory.put_files([FileRow(path=entry.body["path"], at=entry.at)])


def _index_message(memory: Memory, thread: str, body: dict[str, Any]) -> None:
    digest = body["digest"]
    before = memory.known((digest,)).get(digest)
    if before is None or strength(before.verdict, before.row) < strength(body["verdict"], body["row"]):
        memory.add_known([(digest, Known(thread, body["verdict"], body["row"], body["path"]))])
    if body["identity"] != digest:
        memory.add_identities([(body["identity"], digest)])
    if body["verdict"] == "opened" and body["type"] == "request" and not body.get("purged"):
        envelope = read_envelope(body["message"])
        memory.add_asked([(envelope.words_digest, thread)])
        if envelope.text_of("thread"):
            memory.add_chats([(envelope.text_of("thread"), thread)])
    for attachment in body["message"].get("attachments") or ():
        path = attachment.get("path") if isinstance(attachment, dict) else attachment
        if isinstance(path, str):
            memory.add_attached([(path, thread)])


def _index_delivery(memory: Memory, entry: Entry, root: Root) -> None:
    body = entry.body
    found = root.read(body["path"], _CAP)
    is_there = isinstance(found, FileRead) and hashlib.sha256(found.data).hexdigest() == body["sha256"]
    stat = found.stat if isinstance(found, FileRead) else None
    memory.put_inbox(
        [
            InboxRow(
                path=body["path"],
                agent=body["agent"],
                thread=entry.thread,
                ids="\n".join(body["ids"]),
                sha256=body["sha256"],
                ino=stat.ino if stat else 0,
                size=stat.size if stat else 0,
                mtime_ns=stat.mtime_ns if stat else 0,
                state="there" if is_there else "taken",
            )
        ]
    )
