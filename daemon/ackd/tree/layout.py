"""The names of the tree in one place: its folders and pages, what may be a drop, and how generated files are called."""

from __future__ import annotations

import datetime
import hashlib
from collections.abc import Collection, Container, Mapping
from functools import lru_cache
from types import MappingProxyType

ROUNDTABLE = "roundtable"
DECISIONS = "decisions"
INBOX = "inbox"
REJECTED = "rejected"
LEDGER = "ledger"
SCRATCH = ".ackd"
BOARD = "BOARD.md"
THREAD_PAGE = "THREAD.md"
TEAM = "team.yaml"
PROJECT_STATUS = "PROJECT_STATUS.md"
TECH_RADAR = "tech-radar.json"

KIND_FOLDERS: Mapping[str, str] = MappingProxyType(
    {"status": "status", "intel": "intel", "agent-sessions": "agent-session", "monitor-tasks": "monitor-task"}
)
"""Folders whose files are of a kind of their own where they carry no ack_id, and the name of that kind's schema."""

KIND_FILES: Mapping[str, str] = MappingProxyType({TECH_RADAR: "tech-radar", TEAM: "team"})
"""The same for single files at the top of the tree."""

ACK_ID_BYTES = 80
"""How much of an ack_id stands in a generated name."""

_NEVER_DROPS = frozenset({LEDGER, REJECTED})
_DROP_ENDING = ".json"
_REPAIRED_ENDINGS = (".repaired", ".repaired.json")


def is_drop_path(rel: str) -> bool:
    """Tell whether a file at that path may be a drop, by its path alone.

    A drop is any `.json` below the tree, `inbox/` included. Dot-files, dot-folders, `ledger/`, `rejected/` and repairs
    are none. Upper and lower case are the same here, as they are on the disks of many machines.

    Args:
        rel: Path relative to the tree, with `/`.
    """
    folded = rel.lower()
    if not folded.endswith(_DROP_ENDING) or folded.endswith(_REPAIRED_ENDINGS):
        return False
    if folded.startswith((".", "/")) or "/." in folded or "//" in folded:
        return False
    return folded.partition("/")[0] not in _NEVER_DROPS


def kind_of(rel: str) -> str | None:
    """Give the kind that a file has by its place: status, intel, agent-session, monitor-task, tech-radar or team.

    Returns:
        Name of the schema, or None where the place says nothing. Only `.json` files in a kind's folder have its kind.
    """
    top, slash, _ = rel.partition("/")
    if not slash:
        return KIND_FILES.get(rel)
    return KIND_FOLDERS.get(top) if is_drop_path(rel) else None


def kind_of_object(rel: str, keys: Collection[str]) -> str | None:
    """Give the kind of a JSON object by its place and its keys; None where it may be an envelope.

    In a kind's folder `ack_id` alone says what a status or a task is about; with `from` or `to` it is a message.
    """
    kind = kind_of(rel)
    return None if "ack_id" in keys and ("from" in keys or "to" in keys) else kind


def thread_folder(drop_path: str, ack_id: str, taken: Container[str]) -> str:
    """Choose the folder of a thread: where its request lies if that is free, else one named after it.

    The request's folder counts where it is exactly `roundtable/<name>`, the name can be written into a path and read
    (no control or invisible character), and no thread has it. Where another thread already sits in
    `roundtable/<ack_id>`, a number behind `~` follows: no ack_id is spelled so.

    Args:
        drop_path: Where the request lies, relative to the tree.
        ack_id: Id of the thread.
        taken: Folders that threads have, as this function gave them.

    Returns:
        `roundtable/<name>`, without a slash at the end.
    """
    folder, _, _ = drop_path.rpartition("/")
    top, _, name = folder.partition("/")
    if (
        top == ROUNDTABLE
        and name
        and "/" not in name
        and not name.startswith(".")
        and name.isprintable()
        and folder not in taken
    ):
        return folder
    own = f"{ROUNDTABLE}/{ack_id}"
    number = 1
    while own in taken:
        number += 1
        own = f"{ROUNDTABLE}/{ack_id}~{number}"
    return own


def obligation_tag(obligation_id: str) -> str:
    """Give the 8 hex digits by which the names of generated files tell obligations apart."""
    return hashlib.sha256(obligation_id.encode("utf-8", "surrogatepass")).hexdigest()[:8]


def generated_name(at_ms: int, kind: str, ack_id: str, obligation_id: str) -> str:
    """Give the name of a delivery: `<UTC instant>-<kind>-<ack_id>-<tag>.json`, sorted by time in any listing.

    Args:
        at_ms: Instant of the delivery.
        kind: Kind of the delivery.
        ack_id: Id of the thread, cut at 80 bytes on a character border; left out where it is empty.
        obligation_id: The first obligation that the file carries out.
    """
    cut = ack_id if len(ack_id) * 4 <= ACK_ID_BYTES else ack_id.encode()[:ACK_ID_BYTES].decode(errors="ignore")
    middle = f"{kind}-{cut}" if cut else kind
    return f"{_compact(at_ms // 1000)}-{middle}-{obligation_tag(obligation_id)}.json"


@lru_cache(maxsize=64)
def _compact(at_s: int) -> str:
    return datetime.datetime.fromtimestamp(at_s, datetime.UTC).strftime("%Y%m%dT%H%M%SZ")


def proposed_name(type_: str, agent: str, n: int = 1) -> str:
    """Give the file name that is proposed to an author everywhere: `<type>-<agent>[-n].json`, one author a path."""
    return f"{type_}-{agent}-{n}.json" if n > 1 else f"{type_}-{agent}.json"


def free_path(folder: str, type_: str, agent: str, taken: Collection[str]) -> str:
    """Give the first proposed path of a folder that holds nothing yet: writing over a message would be an edit of it.

    Args:
        folder: Folder of the thread.
        type_: Type of the message to be written.
        agent: Its author.
        taken: Paths that hold messages.
    """
    path = f"{folder}/{proposed_name(type_, agent)}"
    n = 1
    while path in taken:
        n += 1
        path = f"{folder}/{proposed_name(type_, agent, n)}"
    return path


def inbox_path(agent: str, name: str) -> str:
    """Give the path of a file in an agent's inbox."""
    return f"{INBOX}/{agent}/{name}"


def rejected_path(node: str, name: str) -> str:
    """Give the path of a record about a refused file; each node writes into its own folder."""
    return f"{REJECTED}/{node}/{name}"


def page_path(folder: str) -> str:
    """Give the path of a thread's page."""
    return f"{folder}/{THREAD_PAGE}"
