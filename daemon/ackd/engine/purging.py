"""Purging: a person has a message removed from the memory, the ledger and `rejected/`; its hash stays (DESIGN part 8).

An entry keeps its key, its place and its verdict, and loses every word of the message. Sealed files of our own are
written again with what is left. The file that was dropped is its people's: it is named, and stays.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import msgspec

from ackd.config import Node, load_node
from ackd.engine.daemon import LOCK_NAME, NoHints, single_pass
from ackd.engine.loop import Engine
from ackd.engine.reading import View
from ackd.errors import InvalidError, NotAllowedError
from ackd.exchange import SealedFiles
from ackd.fs.beneath import FileRead, Root
from ackd.fs.lock import DaemonLock
from ackd.fs.stage import SCRATCH, Stage
from ackd.ledger import InboxRow, Memory
from ackd.protocol.entry import JUDGED, PURGED, REFUSED, RESOLVED, Entry, purge_entry
from ackd.protocol.ids import shown
from ackd.protocol.purge import REMOVED, redact_entry, texts_of
from ackd.protocol.refusal import PREFIX, meant_digest, refusal_id
from ackd.tree import layout

_CAP = 16 * 1024 * 1024
_DIGEST = re.compile(r"[0-9a-f]{64}\Z")
_ENDINGS = (".original", ".problem.json", ".repaired.json")
_MOST_LEFT = 100


class Target(msgspec.Struct, frozen=True):
    """What is removed: messages by their digests, refused files by their ledgers, and the paths of both."""

    digests: tuple[str, ...]
    ledgers: tuple[str, ...]
    paths: tuple[str, ...]


class Purged(msgspec.Struct, frozen=True, kw_only=True):
    """What was done.

    Attributes:
        digests: Of the messages that were removed; they stay known.
        entries: How many entries lost their words.
        removed: Files that were taken away or written again.
        left: Files that still hold it, for the person to delete: the dropped file first.
    """

    digests: tuple[str, ...]
    entries: int
    removed: tuple[str, ...]
    left: tuple[str, ...]


def find_target(view: View, name: str) -> Target:
    """Find what a message_id, a digest, the path of a dropped file, the id of a refusal or an ack_id names.

    Raises:
        InvalidError: Nothing is known under that name, or a thread of several messages.
    """
    memory = view.memory
    path = name.removeprefix("./")
    for ledger in [row.id for row in memory.threads() if row.id.startswith(PREFIX)]:
        refusal = view.book.refusal(ledger)
        is_start = len(name) >= 6 and ledger[len(PREFIX) :].startswith(name)
        if refusal is not None and (is_start or refusal.path == path):
            return _whole(memory, _held(memory, refusal.path), refusal.path)
    held = _held(memory, path)
    if held and (len(held) == 1 or layout.is_drop_path(path)):
        return _whole(memory, held, path)
    if held:
        raise InvalidError(
            f"{path} said {len(held)} things", hint="name one by its message_id: ackd show ACK_ID --json"
        )
    digest = memory.identity(name) or (name if _DIGEST.match(name) and memory.known((name,)) else "")
    if digest:
        return _whole(memory, {digest}, "")
    if layout.is_drop_path(path) and view.root.exists(path):
        raise InvalidError(f"{path} was never taken in: nothing of it is remembered", hint=f"delete it: rm {path}")
    thread = view.thread(name)
    if len(thread.messages) == 1:
        return _whole(memory, {thread.messages[0].digest}, "")
    several = ", ".join(f"{one.type} of {one.sender}: {one.path}" for one in thread.messages[:5])
    raise InvalidError(f"{thread.id} has {len(thread.messages)} messages ({several})", hint="ackd purge PATH --by NAME")


def _held(memory: Memory, path: str) -> set[str]:
    """Give every message that a file ever held: a secret may have been edited out of it since."""
    held = {one.body["digest"] for one, _ in memory.all_entries() if one.kind == JUDGED and one.body["path"] == path}
    row = memory.file(path)
    return held | ({row.digest} if row is not None and row.digest else set())


def _whole(memory: Memory, digests: set[str], path: str) -> Target:
    """Give the messages, and the refused files that held them or were meant to."""
    paths = dict.fromkeys([path] if path else [])
    for entry, _ in memory.all_entries():
        is_it = entry.kind == JUDGED and entry.body["digest"] in digests
        if is_it or (entry.kind == REFUSED and _meant(entry) in digests):
            paths[entry.body["path"]] = None
    paths |= dict.fromkeys(row.path for row in memory.files() if row.digest in digests)
    return Target(tuple(sorted(digests)), tuple(refusal_id(one) for one in paths), tuple(paths))


def _meant(entry: Entry) -> str:
    repaired = entry.body.get("repaired")
    return meant_digest(repaired.get("envelope")) if isinstance(repaired, dict) else ""


def purge(tree: Path, name: str, by: str, now: int) -> Purged:
    """Remove a message; then take one pass, which renders the pages and publishes that it was removed.

    Args:
        tree: The tree.
        name: As for `find_target`.
        by: The person who wants it.
        now: The wall clock, milliseconds.

    Raises:
        BusyError: A daemon runs on the tree.
        NotAllowedError: `by` is no person of the roster, or nothing is remembered of the tree here.
        InvalidError: Nothing of that name is known.
    """
    node = load_node(tree, create=False)
    if node is None:
        raise NotAllowedError("nothing is remembered of this tree on this machine", hint="purge it where ackd up runs")
    with View(tree) as view:
        member = view.team.policy.roster.find(by)
        if member is None or not member.is_person:
            raise NotAllowedError(f"{shown(by)} is no person of {layout.TEAM}", hint="name one with --by")
        person = member.name
    with DaemonLock(node.state / LOCK_NAME, str(tree)), Root(tree) as root:
        with View(tree) as view:
            target = find_target(view, name)
        memory = Memory(node.state)
        try:
            return _purge(root, node, memory, target, person, now)
        finally:
            memory.close()


def _purge(root: Root, node: Node, memory: Memory, target: Target, person: str, now: int) -> Purged:
    single_pass(Engine(root, node, memory, NoHints(), clock=lambda: now))
    touched = _entries(memory, target)
    contents = [entry.body["message"] for entry, _ in touched if entry.kind == JUDGED]
    contents += [entry.body["repaired"]["envelope"] for entry, _ in touched if entry.body.get("repaired")]
    texts = tuple(dict.fromkeys(text for content in contents for text in texts_of(content)))
    stage = Stage(root)
    lines = [(entry, purge_entry(entry, body)) for entry, body in touched]
    removed = [*_records(root, touched), *_scratch(root, stage)]
    inbox = list(_deliveries(root, memory, target, contents, texts))
    removed += [row.path for row in inbox]
    # After a crash in between, the same again finishes it: each step looks at what is there.
    with memory.transaction():
        memory.redact(lines)
        memory.put_inbox(inbox)
    removed += _sealed(SealedFiles(root, stage), node, memory)
    _record(Engine(root, node, memory, NoHints(), clock=lambda: now), target, touched, person, now)
    memory.shrink()
    return Purged(
        digests=target.digests,
        entries=len(lines),
        removed=tuple(removed),
        left=tuple(_left(root, target, texts)),
    )


def _entries(memory: Memory, target: Target) -> list[tuple[Entry, dict[str, Any]]]:
    """Give the entries that hold it, with what is left of each; an entry that was purged before is left out."""
    everything = [entry for entry, _ in memory.all_entries()]
    held = [one for one in everything if one.kind == JUDGED and one.body["digest"] in target.digests]
    texts = [text for one in held for text in texts_of(one.body["message"]) if not one.body.get("purged")]
    found = []
    for entry in everything:
        body = redact_entry(entry, target.digests, target.ledgers, texts)
        if body is not None and not entry.body.get("purged"):
            found.append((entry, body))
    return found


def _records(root: Root, touched: Iterable[tuple[Entry, dict[str, Any]]]) -> Iterator[str]:
    """Take away what lies in `rejected/` of it, whoever changed it since."""
    for record in {entry.body["record"]: None for entry, _ in touched if entry.kind == REFUSED}:
        for ending in _ENDINGS:
            read = root.read(record + ending, _CAP)
            if isinstance(read, FileRead):
                root.unlink_if(record + ending, hashlib.sha256(read.data).hexdigest())
                yield record + ending


def _scratch(root: Root, stage: Stage) -> Iterator[str]:
    """Take away what crashes left in the scratch folder: after a pass nothing in it has an intent."""
    for name in stage.waiting():
        if name.startswith("d-"):
            stage.discard(name)
            yield f"{SCRATCH}/{name}"


def _deliveries(
    root: Root, memory: Memory, target: Target, contents: list[dict[str, Any]], texts: tuple[str, ...]
) -> Iterator[InboxRow]:
    """Take our deliveries that carry it out of the inboxes."""
    for row in memory.inbox():
        read = root.read(row.path, _CAP)
        if not isinstance(read, FileRead) or hashlib.sha256(read.data).hexdigest() != row.sha256:
            continue
        document = msgspec.json.decode(read.data)
        if row.thread in target.ledgers or _carries(document, contents, texts):
            root.unlink_if(row.path, row.sha256)
            yield msgspec.structs.replace(row, state="removed")


def _carries(document: Any, contents: list[dict[str, Any]], texts: tuple[str, ...]) -> bool:
    if isinstance(document, dict):
        return document in contents or any(_carries(one, contents, texts) for one in document.values())
    if isinstance(document, list):
        return any(_carries(one, contents, texts) for one in document)
    return isinstance(document, str) and any(text in document for text in texts)


def _sealed(exchange: SealedFiles, node: Node, memory: Memory) -> Iterator[str]:
    """Write our own sealed files again that say more than the memory does; those of other nodes are theirs."""
    for sealed in list(exchange.read_all()):
        if not sealed.entries or sealed.problem or sealed.entries[0][0].node != node.name:
            continue
        first, last = sealed.entries[0][0], sealed.entries[-1][0]
        lines = memory.lines(first.node, first.inc, first.seq, last.seq)
        if len(lines) == len(sealed.entries) and lines != [line for _, line in sealed.entries]:
            yield exchange.put_back(first.node, first.inc, first.seq, lines)


def _record(engine: Engine, target: Target, touched: list[tuple[Entry, dict[str, Any]]], person: str, now: int) -> None:
    """Record that it was removed, and by whom; the pass renders every page of it anew."""
    book = engine.book
    for thread in dict.fromkeys(entry.thread for entry, _ in touched):
        refusal = book.refusal(thread) if thread.startswith(PREFIX) else None
        if refusal is not None and refusal.standing:
            book.write(RESOLVED, thread, {"path": refusal.path, "sha256": refusal.sha256, "purged": True}, now)
        book.write(PURGED, thread, {"digests": list(target.digests), "by": person}, now)
    for path in target.paths:
        row = book.file(path)
        if row is not None and row.because:
            book.put_file(msgspec.structs.replace(row, because=REMOVED))
    single_pass(engine)


def _left(root: Root, target: Target, texts: tuple[str, ...]) -> list[str]:
    """Give the files in the tree that still hold it: those that were dropped, and whatever repeats one of its texts."""
    dropped = [path for path in target.paths if root.exists(path)]
    needles = [one for text in texts for one in {text.encode(), json.dumps(text)[1:-1].encode()}]
    found = dict.fromkeys(dropped)
    for here, folders, names in os.walk(root.path):
        folders[:] = sorted(one for one in folders if one != ".git")
        for name in sorted(names):
            path = os.path.relpath(os.path.join(here, name), root.path)
            read = root.read(path, _CAP) if needles and path.isprintable() else None
            if isinstance(read, FileRead) and any(needle in read.data for needle in needles):
                found[path] = None
            if len(found) >= _MOST_LEFT:
                return list(found)
    return list(found)
