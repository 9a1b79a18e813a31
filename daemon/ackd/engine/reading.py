"""Reading: what every face shows of a tree, from the daemon's memory, or from the tree where that cannot be read."""

from __future__ import annotations

import datetime
import hashlib
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from ackd.config import Team, load_node, load_team
from ackd.config.node import Node
from ackd.config.yaml_file import read_yaml
from ackd.engine.book import Book
from ackd.errors import AckdError, InvalidError, NoTreeError
from ackd.exchange import SealedFiles
from ackd.fs.beneath import FileRead, Root
from ackd.fs.stage import Stage
from ackd.ledger import FileRow, Memory
from ackd.protocol.entry import JUDGED, REFUSED, RESOLVED
from ackd.protocol.envelope import TEXT_KEYS
from ackd.protocol.ids import name_key, shown
from ackd.protocol.instant import iso
from ackd.protocol.subject import is_thread
from ackd.protocol.thread import Thread
from ackd.tree import layout

_CAP = 4 * 1024 * 1024
_HEALTH = "health.json"


class InboxItem(msgspec.Struct, frozen=True, kw_only=True):
    """One thing in an agent's inbox.

    Attributes:
        kind: Kind of the delivery, or `owed` where no file says it (the agent took it away, or it lies elsewhere).
        thread: The thread, or an empty string.
        asks: What is owed: confirm, final, answer, accept, rule; empty for what is only told.
        summary: One sentence.
        text: What its author wrote, or as much of it as is known.
        due: RFC 3339 instant, or None.
        path: File in the inbox, relative to the tree, or an empty string.
        written_at: RFC 3339 instant, or an empty string.
        delivery: The whole delivery file, or None.
    """

    kind: str
    thread: str
    asks: tuple[str, ...]
    summary: str
    text: str
    due: str | None
    path: str
    written_at: str
    delivery: dict[str, Any] | None


class View:
    """A tree as it is known on this machine; read only.

    Args:
        tree: The tree.

    Raises:
        NoTreeError: There is no tree.
    """

    def __init__(self, tree: Path) -> None:
        self.tree = tree
        self.root = Root(tree)
        self.node: Node | None = None
        self.from_tree = True
        self._team: Team | None = None
        self._memory: Memory | None = None
        self._book: Book | None = None

    def close(self) -> None:
        """Let go of files."""
        if self._memory is not None:
            self._memory.close()
        self.root.close()

    def __enter__(self) -> View:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    @property
    def team(self) -> Team:
        """The team's rules, read when they are first asked for: checking them needs the schemas.

        Raises:
            InvalidError: `team.yaml` cannot be used.
        """
        if self._team is None:
            self._team = load_team(self.root)
        return self._team

    @property
    def zone(self) -> datetime.tzinfo:
        """The team's time zone; UTC where `team.yaml` cannot be used."""
        try:
            return self.team.policy.zone
        except AckdError:
            return datetime.UTC

    def members(self) -> tuple[str, ...]:
        """Give the names on the roster, agents and people, without checking `team.yaml` any further.

        Raises:
            InvalidError: `team.yaml` is no YAML.
        """
        read = self.root.read(layout.TEAM, _CAP)
        document = read_yaml(read.data, name=layout.TEAM) if isinstance(read, FileRead) else None
        parts = (document.get("agents"), document.get("people")) if isinstance(document, dict) else ()
        return tuple(name for part in parts if isinstance(part, dict | list) for name in part if isinstance(name, str))

    def member(self, agent: str) -> str:
        """Give the roster's spelling of an agent.

        Raises:
            InvalidError: The agent is not on the roster.
        """
        for name in self.members():
            if name_key(name) == name_key(agent.removeprefix("@")):
                return name
        from ackd.engine.meant import unknown_member

        raise InvalidError(f"{shown(agent)} is not on the roster", hint=unknown_member(agent, self.members()))

    @property
    def memory(self) -> Memory:
        """The daemon's memory, or one made of the tree's sealed files where that cannot be read."""
        if self._memory is None:
            self._memory = self._open_memory()
        return self._memory

    @property
    def book(self) -> Book:
        """Threads by id."""
        if self._book is None:
            self._book = Book(self.memory, self.node.name if self.node else "reader")
        return self._book

    def refresh(self) -> None:
        """Forget the threads in hand: the next look sees what the daemon has written since."""
        self._book = None
        if self.from_tree and self._memory is not None:
            self._memory.close()
            self._memory = None

    def _find_node(self) -> Node | None:
        """Give this machine's memory of the tree, or None where there is none or it may not be read."""
        if self.node is None:
            try:
                self.node = load_node(self.tree, create=False)
            except (AckdError, OSError):
                return None
        return self.node

    def _open_memory(self) -> Memory:
        node = self._find_node()
        try:
            if node is not None:
                memory = Memory(node.state, read_only=True)
                self.from_tree = False
                return memory
        except (AckdError, OSError):
            self.node = None
        self.from_tree = True
        from ackd.engine.rebuild import rebuild, touch_all

        memory = Memory(None)
        rebuild(memory, SealedFiles(self.root, Stage(self.root)), self.root, "", int(time.time() * 1000))
        book = Book(memory, "reader")
        touch_all(book)
        book.commit(dict.fromkeys(book.touched))
        return memory

    # Threads.

    def threads(self, *, state: str | None = None, overdue: bool = False) -> list[dict[str, Any]]:
        """Give the threads in short, the longest untouched first.

        Args:
            state: Only threads in that state: request, confirmed or final.
            overdue: Only threads in which something is late.
        """
        rows = self.memory.threads(open_only=state in ("request", "confirmed") or overdue)
        found = []
        for row in rows:
            if not is_thread(row.id) or (state is not None and row.phase != state):
                continue
            board = msgspec.json.decode(row.board)
            if overdue and not {"overdue", "escalated"} & set(board["conditions"]):
                continue
            if row.phase == "unknown" and state is None and not board["conditions"]:
                continue
            found.append(board)
        return found

    def thread(self, written: str, *, speaker: str = "", explain: bool = True) -> Thread:
        """Give the thread that an ack_id, or the unique start of one, names.

        Args:
            written: What was written.
            speaker: Who speaks, in the roster's spelling; a slip is more likely to mean one of its own threads.
            explain: Whether the error says what may have been meant, which looks through the tree.

        Raises:
            InvalidError: None or several have it, or its request lies in the tree and waits for the daemon.
        """
        found = self.book.find(written)
        if found is not None and found.messages:
            return found
        ids = self.starting_with(written)
        if len(ids) == 1:
            return self.book.thread(ids[0])
        if ids:
            few = ", ".join(ids[:5])
            raise InvalidError(f"{shown(written)} is the start of several threads: {few}", hint="write more of it")
        if not explain:
            raise InvalidError(f"no thread {shown(written)} is known", hint="ackd threads lists them")
        from ackd.engine.meant import unknown_thread
        from ackd.engine.untaken import untaken

        waits = untaken(self, written)
        if waits is not None:
            by, hint = ("the running daemon", "try again") if self.is_running else ("a daemon", "ackd up")
            raise InvalidError(f"thread {waits.ack_id} is not taken in yet: {waits.path} waits for {by}", hint=hint)
        raise InvalidError(unknown_thread(self, written, speaker), hint="ackd threads lists them")

    def starting_with(self, written: str) -> list[str]:
        """Give the ids of the threads that start so."""
        key = name_key(written)
        ids = (row.id for row in self.memory.threads())
        return [one for one in ids if is_thread(one) and name_key(one).startswith(key)]

    # Inboxes.

    def inbox(self, agent: str) -> list[InboxItem]:
        """Give what an agent owes, from the threads, and what it is told, from its inbox.

        What is owed comes first, the oldest first.

        Raises:
            InvalidError: The agent is not on the roster.
        """
        name = self.member(agent)
        told = list(self._delivered(name))
        said = {(item.thread, ask) for item in told for ask in item.asks}
        owed = [item for item in told if item.asks]
        for board in self.threads():
            mine = [one for one in board["owes"] if one["agent"] == name]
            missing = [one for one in mine if (board["id"], one["step"]) not in said]
            file = next((number for number, item in enumerate(owed) if item.thread == board["id"]), None)
            if missing and file is not None:
                # One thread is one entry: a reminder names the step that is late, and the others are owed as well.
                asks = (*owed[file].asks, *(one["step"] for one in missing))
                owed[file] = msgspec.structs.replace(owed[file], asks=asks)
            elif missing:
                since = min((one["since_ms"] for one in missing if one["since_ms"]), default=board["updated_at"])
                owed.append(
                    InboxItem(
                        kind="owed",
                        thread=board["id"],
                        asks=tuple(one["step"] for one in missing),
                        summary=f"{board['requester']} asks in thread {board['id']}",
                        text=board["action"],
                        due=None,
                        path="",
                        written_at=iso(since),
                        delivery=None,
                    )
                )
        owed.sort(key=lambda item: item.written_at)
        return [*owed, *sorted((item for item in told if not item.asks), key=lambda item: item.written_at)]

    def _delivered(self, agent: str) -> Iterator[InboxItem]:
        folder = f"{layout.INBOX}/{agent}"
        for name in self.root.listdir(folder):
            path = f"{folder}/{name}"
            read = self.root.read(path, _CAP) if layout.is_drop_path(path) else None
            if not isinstance(read, FileRead):
                continue
            try:
                document = msgspec.json.decode(read.data)
            except (msgspec.MsgspecError, UnicodeDecodeError):
                continue
            if not isinstance(document, dict) or not str(document.get("ackd", "")).startswith("delivery/"):
                continue
            asks = [one for one in document.get("asks") or () if isinstance(one, str) and one != "none"]
            yield InboxItem(
                kind=str(document.get("kind") or ""),
                thread=str(document.get("thread") or ""),
                asks=tuple(asks),
                summary=str(document.get("summary") or ""),
                text=_said_in(document.get("envelope")),
                due=document["due"] if isinstance(document.get("due"), str) else None,
                path=path,
                written_at=str(document.get("written_at") or ""),
                delivery=document,
            )

    def take(self, item: InboxItem) -> None:
        """Take a file out of an inbox: it was read. Nothing is done by that but reading."""
        if item.path:
            read = self.root.read(item.path, _CAP)
            if isinstance(read, FileRead):
                self.root.unlink_if(item.path, hashlib.sha256(read.data).hexdigest())

    # Files.

    def file(self, path: str) -> FileRow | None:
        """Give what became of the file at a path relative to the tree, or None where it was not taken in yet."""
        row = self.memory.file(path)
        return self._files_of_entries().get(path) if row is None and self.from_tree else row

    def files(self) -> list[FileRow]:
        """Give what became of every file that was dropped, the newest last."""
        rows = list(self._files_of_entries().values()) if self.from_tree else list(self.memory.files())
        return sorted((row for row in rows if row.verdict != "delivery"), key=lambda row: (row.at, row.path))

    def _files_of_entries(self) -> dict[str, FileRow]:
        """Give the last verdict of each file, from the entries alone."""
        found: dict[str, FileRow] = {}
        for entry, _ in self.memory.all_entries():
            body = entry.body
            if entry.kind == JUDGED and body["verdict"] == "duplicate" and body["path"] in found:
                continue
            if entry.kind == RESOLVED and body.get("taken") and body["path"] in found:
                row = found[body["path"]]
                because = f"{row.because}; repaired: taken in as {body['taken']}"
                found[row.path] = msgspec.structs.replace(row, because=because)
            if entry.kind in (JUDGED, REFUSED):
                refused = entry.kind == REFUSED
                found[body["path"]] = FileRow(
                    path=body["path"],
                    sha256=body.get("sha256", ""),
                    digest=body.get("digest", ""),
                    verdict="refused" if refused else body["verdict"],
                    thread="" if refused else entry.thread,
                    because=str(body["problem"].get("detail", "")) if refused else body.get("because", ""),
                    at=entry.at,
                )
        return found

    def refusals(self) -> list[dict[str, Any]]:
        """Give the refusals that stand."""
        rows = [row for row in self.memory.threads(open_only=True) if row.phase == "refused"]
        return [msgspec.json.decode(row.board) | {"id": row.id[1:], "at": row.updated} for row in rows]

    def subjects(self) -> list[tuple[str, dict[str, Any]]]:
        """Give name and data of all that is followed beside the threads."""
        return self.book.subjects()

    # The daemon.

    def health(self) -> dict[str, Any] | None:
        """Give what the running daemon says of itself; None where none runs on this machine."""
        from ackd.fs.lock import who_holds

        node = self._find_node()
        if node is None:
            return None
        holder = who_holds(node.state / "daemon.lock")
        if holder is None:
            return None
        try:
            said = msgspec.json.decode((node.state / _HEALTH).read_bytes())
        except (OSError, msgspec.MsgspecError):
            said = {}
        return {**said, "pid": holder.pid, "host": holder.host}

    @property
    def is_running(self) -> bool:
        """Whether a daemon says that it runs; cheap: the lock itself is not asked."""
        node = self._find_node()
        if node is None:
            return False
        try:
            said = msgspec.json.decode((node.state / _HEALTH).read_bytes())
            os.kill(int(said["pid"]), 0)
        except PermissionError:
            return True
        except (OSError, msgspec.MsgspecError, KeyError, ValueError):
            return False
        return True


def _said_in(envelope: Any) -> str:
    """Give what the message in a delivery says, most telling first."""
    if not isinstance(envelope, dict):
        return ""
    texts = (envelope.get(key) for key in ("subject", *TEXT_KEYS))
    return next((text.strip() for text in texts if isinstance(text, str) and text.strip()), "")


def find_tree(directory: str | None = None) -> Path:
    """Find the tree: `directory`, else `ACKD_DIR`, else the nearest `shared-context/` upwards.

    Raises:
        NoTreeError: There is none; the message says where was looked.
    """
    named = directory or os.environ.get("ACKD_DIR")
    if named:
        path = Path(named).absolute()
        if not (path / layout.TEAM).is_file():
            inner = path / "shared-context"
            if (inner / layout.TEAM).is_file():
                return inner
            raise NoTreeError(f"{path} is no shared-context tree: it has no {layout.TEAM}", hint=f"ackd init {named}")
        return path
    here = Path.cwd()
    for folder in (here, *here.parents):
        if (folder / layout.TEAM).is_file() and (folder / layout.ROUNDTABLE).is_dir():
            return folder
        if (folder / "shared-context" / layout.TEAM).is_file():
            return folder / "shared-context"
    raise NoTreeError(f"no shared-context/ in {here} or above it", hint="ackd init, or name one with --dir")
