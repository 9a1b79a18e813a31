"""The daemon as a process: one a tree, a lock that it watches, what it says of itself, and the single pass."""

from __future__ import annotations

import json
import os
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from ackd import __version__
from ackd.engine import daemon
from ackd.engine.daemon import HEALTH_NAME, LOCK_NAME, Health, run_daemon
from ackd.engine.loop import Engine
from ackd.errors import BusyError, InvalidError, NoTreeError
from ackd.fs.lock import who_holds

if TYPE_CHECKING:
    from tests.conftest import Tree

Eventually = Callable[..., None]


class Running:
    """A daemon in a thread of this process, which looks at its lock each turn."""

    def __init__(self, tree: Path) -> None:
        self.engine: Engine
        self.error: BaseException | None = None
        self._ready = threading.Event()
        self.thread = threading.Thread(target=self._run, args=(tree,))
        self.thread.start()
        assert self._ready.wait(10)

    def _run(self, tree: Path) -> None:
        try:
            run_daemon(tree, ready=self._take)
        except BaseException as error:
            self.error = error

    def _take(self, engine: Engine, _: object) -> None:
        self.engine = engine
        self._ready.set()

    def wake(self) -> None:
        """Let it take a turn now."""
        self.engine.hints.wake()

    def stop(self) -> None:
        """Stop it and wait for its end."""
        self.engine.stop()
        self.thread.join(10)
        assert not self.thread.is_alive()


@pytest.fixture
def running(tree: Tree, monkeypatch: pytest.MonkeyPatch) -> Iterator[Running]:
    """Start a daemon in a thread."""
    monkeypatch.setattr(daemon, "_LOCK_CHECK_MS", 0)
    one = Running(tree.path)
    yield one
    one.stop()


def health(tree: Tree) -> Health | None:
    """Give what the daemon says of itself, or None."""
    try:
        return msgspec.json.decode((tree.node().state / HEALTH_NAME).read_bytes(), type=Health)
    except OSError:
        return None


class TestOneATree:
    def test_a_second_daemon_names_the_first(
        self, tree: Tree, daemon_process: Callable[..., Any], eventually: Eventually
    ) -> None:
        """The second one says which process on which machine serves the tree, and touches nothing."""
        first = daemon_process()
        eventually(lambda: health(tree))
        with pytest.raises(BusyError, match="already running on this tree") as caught:
            run_daemon(tree.path, once=True)
        assert f"pid {first.process.pid}@{socket.gethostname()}" in caught.value.message
        assert str(tree.path) in caught.value.message
        assert caught.value.exit_code == 75
        assert first.process.poll() is None
        found = health(tree)
        assert found is not None
        assert found.pid == first.process.pid

    def test_a_killed_daemon_leaves_the_tree_free(
        self, tree: Tree, daemon_process: Callable[..., Any], eventually: Eventually
    ) -> None:
        """The lock goes with its process, and the next one works at once."""
        first = daemon_process()
        eventually(lambda: health(tree))
        first.stop(signal.SIGKILL)
        tree.request()
        run_daemon(tree.path, once=True)
        assert len(tree.inbox("trading")) == 1

    def test_two_trees_have_a_daemon_each(self, tree: Tree, running: Running, tmp_path: Path) -> None:
        """One daemon's lock holds up no other tree."""
        (tmp_path / "other").mkdir()
        other = type(tree)(tmp_path / "other")
        other.request()
        run_daemon(other.path, once=True)
        assert len(other.inbox("trading")) == 1
        assert running.thread.is_alive()


class TestTheLock:
    @pytest.mark.parametrize("how", ["removed", "replaced"])
    def test_a_lock_file_taken_away_under_it_stops_it(self, tree: Tree, running: Running, how: str) -> None:
        """It takes in nothing more, since another daemon may run by now, and says why it ends."""
        lock = tree.node().state / LOCK_NAME
        if how == "removed":
            lock.unlink()
        else:
            (lock.parent / "new").touch()
            (lock.parent / "new").replace(lock)
        tree.request()
        running.wake()
        running.thread.join(10)
        assert not running.thread.is_alive()
        assert isinstance(running.error, BusyError)
        assert "lock file was removed" in running.error.message
        assert running.error.hint == "ackd up"
        assert tree.inbox("trading") == []
        run_daemon(tree.path, once=True)
        assert len(tree.inbox("trading")) == 1

    def test_a_clean_stop_lets_go(self, tree: Tree, running: Running) -> None:
        """The lock file stays and nobody holds it."""
        lock = tree.node().state / LOCK_NAME
        holder = who_holds(lock)
        assert holder is not None
        assert (holder.pid, holder.tree) == (os.getpid(), str(tree.path))
        running.stop()
        assert running.error is None
        assert lock.exists()
        assert who_holds(lock) is None


class TestHealth:
    def test_it_says_who_runs_since_when(self, tree: Tree, running: Running, eventually: Eventually) -> None:
        """Process, node, version and the loop's last turn, which goes on."""
        eventually(lambda: health(tree))
        first = health(tree)
        assert first is not None
        assert (first.pid, first.node, first.version, first.trouble) == (os.getpid(), "lap", __version__, ())
        assert 0 <= first.turned_at - first.started_at < 60_000
        assert abs(time.time() * 1000 - first.turned_at) < 60_000
        time.sleep(0.01)
        running.wake()
        eventually(lambda: (now := health(tree)) is not None and now.turned_at > first.turned_at)
        now = health(tree)
        assert now is not None
        assert now.started_at == first.started_at

    def test_it_says_what_is_wrong_until_it_is_right(
        self, tree: Tree, running: Running, eventually: Eventually
    ) -> None:
        """A team.yaml that cannot be used is a trouble; once corrected, there is none."""
        whole = (tree.path / "team.yaml").read_bytes()
        tree.drop("team.yaml", "agents: [")

        def troubles() -> tuple[str, ...]:
            running.wake()
            found = health(tree)
            return found.trouble if found is not None else ()

        eventually(lambda: any("team.yaml" in one for one in troubles()))
        tree.drop("team.yaml", whole)
        eventually(lambda: health(tree) is not None and troubles() == ())

    def test_it_goes_with_the_daemon(self, tree: Tree, running: Running, eventually: Eventually) -> None:
        """After a clean stop nothing says that a daemon runs."""
        eventually(lambda: health(tree))
        running.stop()
        assert health(tree) is None

    def test_that_it_cannot_be_written_stops_nothing(
        self, tree: Tree, running: Running, eventually: Eventually
    ) -> None:
        """A state directory in which the health file has no room costs the status, not the work."""
        eventually(lambda: health(tree))
        temporary = (tree.node().state / HEALTH_NAME).with_suffix(".tmp")
        temporary.mkdir()
        tree.request()
        running.wake()
        eventually(lambda: tree.inbox("trading"))
        assert running.thread.is_alive()


def test_a_signal_to_stop_is_a_clean_end(
    tree: Tree, daemon_process: Callable[..., Any], eventually: Eventually
) -> None:
    """SIGTERM ends the process with 0, after what was taken in is sealed."""
    one = daemon_process()
    eventually(lambda: health(tree))
    tree.request()
    eventually(lambda: tree.inbox("trading"))
    assert one.stop(signal.SIGTERM) == 0
    assert health(tree) is None
    assert list((tree.path / "ledger").glob("lap-*/*.jsonl"))


class TestSinglePass:
    def test_it_does_all_that_is_to_do(self, tree: Tree) -> None:
        """One pass delivers, writes the pages and seals the ledger; then nothing runs and the lock is free."""
        tree.request()
        tree.request("周报", to=["zoe", "macro"], dri="macro", **{"from": "wen"})
        engine = run_daemon(tree.path, once=True)
        assert [one["thread"] for one in tree.inbox("trading")] == ["week-v1"]
        assert [one["thread"] for one in tree.inbox("zoe")] == ["周报"]
        assert "week-v1" in tree.page("BOARD.md")
        assert "Plan 周报" in tree.page("roundtable/周报/THREAD.md")
        (sealed,) = (tree.path / "ledger").glob("lap-*/*.jsonl")
        assert json.loads(sealed.read_bytes().split(b"\n")[0])["last"] == engine.book.seq
        assert health(tree) is None
        assert who_holds(tree.node().state / LOCK_NAME) is None

    def test_a_second_pass_changes_nothing(self, tree: Tree) -> None:
        """Nothing is told twice, and no entry is written."""
        tree.request()
        before = run_daemon(tree.path, once=True).book.seq
        inboxes = tree.all_inboxes()
        assert run_daemon(tree.path, once=True).book.seq == before
        assert tree.all_inboxes() == inboxes

    def test_what_fell_due_between_two_passes_is_said_in_the_next(self, tree: Tree) -> None:
        """A pass does the work of all timers that ran out while nothing ran."""
        now = time.time_ns() // 1_000_000
        tree.request()
        run_daemon(tree.path, once=True, clock=lambda: now)
        assert [one["kind"] for one in tree.inbox("macro")] == ["request"]
        run_daemon(tree.path, once=True, clock=lambda: now + 301_000)
        assert [one["kind"] for one in tree.inbox("macro")] == ["reminder"]

    def test_what_is_not_whole_waits_for_a_later_pass(self, tree: Tree) -> None:
        """Half a file is neither taken nor refused by a pass; it is once it is whole."""
        tree.drop("roundtable/week-v1/request-zoe.json", '{"state": "request", "ack_id"')
        run_daemon(tree.path, once=True)
        assert (tree.records(), tree.inbox("trading")) == ([], [])
        tree.request()
        run_daemon(tree.path, once=True)
        assert len(tree.inbox("trading")) == 1

    def test_ready_is_called_before_anything_is_done(self, tree: Tree) -> None:
        """Whoever waits for the daemon hears of it once it is set up, before its first turn."""
        tree.request()
        heard: list[tuple[str, int]] = []
        run_daemon(tree.path, once=True, ready=lambda _, node: heard.append((node.name, len(tree.inbox("trading")))))
        assert heard == [("lap", 0)]

    def test_without_a_tree_there_is_no_daemon(self, tree: Tree, tmp_path: Path) -> None:
        """The tree must be there; none is made, and no memory either."""
        with pytest.raises(NoTreeError):
            run_daemon(tmp_path / "none", once=True)
        assert not (tmp_path / "none").exists()
        assert not (tmp_path / "state").exists()

    def test_without_rules_it_does_not_start(self, tree: Tree) -> None:
        """A team.yaml that cannot be used at the start ends it, and the lock is free again."""
        whole = (tree.path / "team.yaml").read_bytes()
        tree.drop("team.yaml", "agents: [")
        with pytest.raises(InvalidError, match=r"team\.yaml"):
            run_daemon(tree.path, once=True)
        tree.drop("team.yaml", whole)
        tree.request()
        run_daemon(tree.path, once=True)
        assert len(tree.inbox("trading")) == 1
