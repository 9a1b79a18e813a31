"""What all tests share: a tree of one's own, files dropped into it, an engine on a manual clock, a real daemon."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from ackd.config import Node, load_node
from ackd.engine.daemon import NoHints
from ackd.engine.loop import Engine
from ackd.fs.beneath import Root
from ackd.ledger import Memory
from ackd.protocol.fold import fold
from ackd.protocol.subject import is_thread
from ackd.protocol.thread import Thread
from ackd.resources import template_dir
from ackd.watch.port import EVERYTHING, Changes

_UP = "import sys; from pathlib import Path; from ackd.engine.daemon import run_daemon; run_daemon(Path(sys.argv[1]))"


class Tree:
    """A shared-context as `ackd init` lays it down, with a state directory of its own."""

    def __init__(self, base: Path) -> None:
        self.base, self.path = base, base / "shared-context"
        shutil.copytree(template_dir(), self.path)

    def drop(self, path: str, content: dict[str, Any] | str | bytes) -> Path:
        """Write a file in place, as an agent would."""
        target = self.path / path
        target.parent.mkdir(parents=True, exist_ok=True)
        text = json.dumps(content, ensure_ascii=False) if isinstance(content, dict) else content
        target.write_bytes(text.encode() if isinstance(text, str) else text)
        return target

    def remove(self, path: str) -> None:
        """Delete a file."""
        (self.path / path).unlink()

    def team(self, **changes: Any) -> None:
        """Change keys of `team.yaml`; it is written anew."""
        import yaml

        document = yaml.safe_load((self.path / "team.yaml").read_text(encoding="utf-8"))
        document.update(changes)
        self.drop("team.yaml", yaml.safe_dump(document, allow_unicode=True))

    def inbox(self, agent: str) -> list[dict[str, Any]]:
        """Give what lies in an inbox, the deliveries alone, oldest name first."""
        found = [json.loads(path.read_bytes()) for path in sorted((self.path / "inbox" / agent).glob("*.json"))]
        return [document for document in found if "ackd" in document]

    def inbox_paths(self, agent: str) -> list[Path]:
        """Give the files of the deliveries in an inbox."""
        paths = sorted((self.path / "inbox" / agent).glob("*.json"))
        return [path for path in paths if "ackd" in json.loads(path.read_bytes())]

    def all_inboxes(self) -> dict[str, bytes]:
        """Give every file of every inbox with its bytes."""
        return {str(path): path.read_bytes() for path in sorted((self.path / "inbox").rglob("*.json"))}

    def records(self) -> list[str]:
        """Give the names in `rejected/`."""
        return sorted(path.name for path in (self.path / "rejected").rglob("*") if path.is_file())

    def problem(self) -> dict[str, Any]:
        """Give the only problem in `rejected/`."""
        (path,) = (self.path / "rejected").rglob("*.problem.json")
        document: dict[str, Any] = json.loads(path.read_bytes())
        return document

    def page(self, path: str) -> str:
        """Give a generated page."""
        return (self.path / path).read_text(encoding="utf-8")

    def node(self) -> Node:
        """Give this machine's node for the tree."""
        node = load_node(self.path)
        assert node is not None
        return node

    def memory(self) -> Memory:
        """Open the memory for reading beside a daemon."""
        return Memory(self.node().state, read_only=True)

    def threads(self) -> dict[str, Thread]:
        """Fold all threads from the memory."""
        memory = self.memory()
        try:
            entries: dict[str, list[Any]] = {}
            for entry, _ in memory.all_entries():
                entries.setdefault(entry.thread, []).append(entry)
        finally:
            memory.close()
        return {name: fold(name, one) for name, one in entries.items() if is_thread(name)}

    def request(self, ack_id: str = "week-v1", path: str = "", **more: Any) -> Path:
        """Drop a request from zoe to macro and trading; trading is its DRI."""
        document = {
            "state": "request",
            "ack_id": ack_id,
            "from": "zoe",
            "to": ["macro", "trading"],
            "dri": "trading",
            "action": f"Plan {ack_id}",
        }
        return self.drop(path or f"roundtable/{ack_id}/request-zoe.json", {**document, **more})


class Bench:
    """An engine in this process on a clock that only moves by hand."""

    def __init__(self, tree: Tree) -> None:
        self.tree = tree
        self.now = time.time_ns() // 1_000_000
        self.engine: Engine
        self._root: Root
        self._memory: Memory
        self.open()

    def open(self) -> None:
        """Start the engine, anew after `close`."""
        self._root = Root(self.tree.path)
        node = self.tree.node()
        self._memory = Memory(node.state)
        self.engine = Engine(self._root, node, self._memory, NoHints(), clock=lambda: self.now)
        self.engine.start()

    def close(self, *, clean: bool = True) -> None:
        """Stop the engine; not clean: as if it had been killed between two turns."""
        if clean:
            self.engine.finish()
        self._memory.close()
        self._root.close()

    def turn(self, seconds: float = 0, changes: Changes = EVERYTHING) -> None:
        """Let time pass, then take one turn."""
        self.now += round(seconds * 1000)
        self.engine.turn(changes)

    def verdict(self, path: str) -> str:
        """Give the verdict of a file, or an empty string."""
        row = self._memory.file(path)
        return row.verdict if row is not None else ""

    def thread(self, ack_id: str = "week-v1") -> Thread:
        """Give a thread as it is now."""
        return self.engine.book.thread(ack_id)


class Daemon:
    """A daemon in a process of its own."""

    def __init__(self, tree: Tree, fault: str = "") -> None:
        self.log = tree.base / "daemon.log"
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-c", _UP, str(tree.path)],
                env={**os.environ, "ACKD_FAULT": fault, "PYTHONPATH": os.pathsep.join(sys.path)},
                stdout=log,
                stderr=log,
            )

    def stop(self, number: int = signal.SIGTERM) -> int:
        """Ask it to stop and give its exit code."""
        self.process.send_signal(number)
        return self.process.wait(20)


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Tree:
    """Lay down a tree with a state directory of its own."""
    monkeypatch.setenv("ACKD_STATE", str(tmp_path / "state"))
    monkeypatch.setenv("ACKD_CONFIG", str(tmp_path / "none.yaml"))
    monkeypatch.setenv("ACKD_NODE", "lap")
    monkeypatch.delenv("ACKD_FAULT", raising=False)
    return Tree(tmp_path)


@pytest.fixture
def bench(tree: Tree) -> Iterator[Bench]:
    """Start an engine in this process."""
    bench = Bench(tree)
    yield bench
    bench.close()


@pytest.fixture
def daemon_process(tree: Tree) -> Iterator[Callable[..., Daemon]]:
    """Give a starter of daemons; what still runs in the end is killed."""
    started: list[Daemon] = []

    def start(fault: str = "") -> Daemon:
        started.append(Daemon(tree, fault))
        return started[-1]

    yield start
    for one in started:
        if one.process.poll() is None:
            one.process.kill()
            one.process.wait()


@pytest.fixture
def eventually() -> Callable[..., None]:
    """Give a wait for a condition, asked again every 20 ms."""

    def wait(holds: Callable[[], object], seconds: float = 10.0) -> None:
        end = time.monotonic() + seconds
        while not holds():
            assert time.monotonic() < end, "it did not come true in time"
            time.sleep(0.02)

    return wait
