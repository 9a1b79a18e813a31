"""The daemon as a process: one a tree (lock), signals, logs, start and stop; the loop itself is in `loop`."""

from __future__ import annotations

import gc
import logging
import os
import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import msgspec

from ackd import __version__
from ackd.channels import Channel
from ackd.config import Node, load_node
from ackd.config.channels import ChannelSetting, load_channels
from ackd.engine.loop import Engine, wall_clock
from ackd.errors import BusyError
from ackd.fs.beneath import Root
from ackd.fs.lock import DaemonLock
from ackd.ledger import Memory
from ackd.tree import layout
from ackd.tree.skips import is_temporary
from ackd.watch.hints import WatchdogHints
from ackd.watch.port import EVERYTHING, NOTHING, Changes, Hints

log = logging.getLogger("ackd")

LOCK_NAME = "daemon.lock"
HEALTH_NAME = "health.json"
_LOCK_CHECK_MS = 5_000
_POLL_S = 0.05


class Health(msgspec.Struct, frozen=True, kw_only=True):
    """What the daemon says of itself, for `ackd status`.

    Attributes:
        pid: Its process.
        node: Its node's name.
        version: Of ackd.
        started_at, turned_at: Milliseconds; when it started, and when its loop last turned.
        trouble: What is wrong now, one sentence each.
    """

    pid: int
    node: str
    version: str
    started_at: int
    turned_at: int
    trouble: tuple[str, ...]


def tune_process() -> None:
    """Let the collector of cycles run seldom.

    What a turn makes is freed by its reference counts, and threads in hand are many and live long: looking through all
    of them again and again would cost a fifth of the time.
    """
    gc.set_threshold(50_000, 20, 50)


class NoHints:
    """`Hints` of a single pass: everything once, then nothing."""

    def start(self) -> None:
        """Nothing to start."""

    def wait(self, timeout_s: float) -> Changes:
        """Give no hint, at once."""
        return NOTHING

    def wake(self) -> None:
        """Nothing waits."""

    def folders_seen(self, count: int) -> None:
        """Nothing is watched."""

    def healthy(self) -> str:
        """Nothing can break."""
        return ""

    def stop(self) -> None:
        """Nothing to stop."""


def run_daemon(
    tree: Path,
    *,
    once: bool = False,
    ready: Callable[[Engine, Node], None] | None = None,
    clock: Callable[[], int] = wall_clock,
) -> Engine:
    """Run the daemon of a tree in the foreground until it is told to stop.

    Args:
        tree: The tree; it must exist.
        once: Take one full pass and stop.
        ready: Called when the engine is set up, before the first turn.
        clock: Gives the wall clock in milliseconds.

    Returns:
        The engine after its clean stop.

    Raises:
        BusyError: Another daemon runs on the tree; the message names it.
        NoTreeError, InvalidError: The tree or its `team.yaml` cannot be used.
    """
    tune_process()
    with Root(tree) as root:
        node = load_node(tree)
        assert node is not None
        with DaemonLock(node.state / LOCK_NAME, str(tree)) as lock:
            memory = Memory(node.state)
            try:
                hints: Hints = NoHints() if once else WatchdogHints(root, _is_ignored)
                engine = Engine(root, node, memory, hints, clock=clock, channels=_channels())
                for note in node.notes:
                    log.warning("tree", extra={"reason": note})
                if ready is not None:
                    ready(engine, node)
                if once:
                    single_pass(engine)
                else:
                    _Process(engine, node, lock).run()
                return engine
            finally:
                memory.close()


def _channels() -> list[tuple[ChannelSetting, Channel]]:
    """Open the live channels of this node's own configuration; most nodes have none."""
    settings = load_channels()
    if not settings:
        return []
    from ackd.channels.registry import open_channels

    opened = open_channels(settings)
    return [(setting, opened[setting.name]) for setting in settings]


def single_pass(engine: Engine) -> None:
    """Take one full pass: all that lies there, all that is due, all pages; what is not whole waits for the next."""
    engine.start()
    engine.turn(EVERYTHING)
    unsaid = engine.people.unsaid(engine.clock())
    if unsaid:
        # A page that was saved just now counts once it has rested; nobody looks again after this pass.
        time.sleep(unsaid / 1000)
        engine.turn(NOTHING)
    while engine.sender.is_flying:
        # What was begun is waited for; each send ends within its time-out.
        time.sleep(_POLL_S)
        engine.turn(NOTHING)
    engine.finish()


class _Process:
    """Signals, the lock's watch and the health file around a running engine."""

    def __init__(self, engine: Engine, node: Node, lock: DaemonLock) -> None:
        self._engine, self._node, self._lock = engine, node, lock
        self._started = engine.clock()
        self._checked = 0
        self._turn = engine.turn

    def run(self) -> None:
        before = self._take_signals()
        self._engine.turn = self._watched_turn  # type: ignore[method-assign]
        try:
            self._engine.run()
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)
            self._say(stopped=True)
            log.info("stopped")

    def _watched_turn(self, changes: Changes) -> None:
        now = self._engine.clock()
        if now - self._checked >= _LOCK_CHECK_MS or now < self._checked:
            self._checked = now
            if not self._lock.still_held():
                # Somebody removed or replaced the lock file: a second daemon may run already (R11).
                raise BusyError("the lock file was removed under this daemon; it stops", hint="ackd up")
            self._say()
        self._turn(changes)

    def _take_signals(self) -> dict[int, Any]:
        if threading.current_thread() is not threading.main_thread():
            return {}
        engine = self._engine

        def on_stop(number: int, frame: FrameType | None) -> None:
            engine.stop()

        def on_reload(number: int, frame: FrameType | None) -> None:
            engine.reload()

        handlers: dict[int, Callable[[int, FrameType | None], None]] = {
            signal.SIGTERM: on_stop,
            signal.SIGINT: on_stop,
        }
        if hasattr(signal, "SIGHUP"):
            handlers[signal.SIGHUP] = on_reload
        return {number: signal.signal(number, handler) for number, handler in handlers.items()}

    def _say(self, *, stopped: bool = False) -> None:
        path = self._node.state / HEALTH_NAME
        if stopped:
            path.unlink(missing_ok=True)
            return
        health = Health(
            pid=os.getpid(),
            node=self._node.name,
            version=__version__,
            started_at=self._started,
            turned_at=self._engine.clock(),
            trouble=tuple(self._engine.trouble.values()),
        )
        temporary = path.with_suffix(".tmp")
        try:
            temporary.write_bytes(msgspec.json.encode(health))
            os.replace(temporary, path)
        except OSError:
            log.warning("health-not-written", extra={"path": str(path)})


def _is_ignored(path: str) -> bool:
    """Tell the watcher what cannot matter: our own output, scratch and temporary files."""
    top, _, rest = path.partition("/")
    if top in (layout.LEDGER, layout.REJECTED, layout.BOARD, ".git"):
        return True
    name = path.rpartition("/")[2]
    return name == layout.THREAD_PAGE or (bool(rest) and is_temporary(name))
