"""Hints from the operating system by way of watchdog, and an honest account of when they are not to be trusted.

What is watched: the root without what lies beneath, and each folder in it with all that lies beneath, except for
dot-folders and what is ignored. So `.git/` and the scratch files under `.ackd/` cost nothing (each event is some 50 to
100 µs of interpreter time). `.ackd/` itself is watched too, for the cookie: a file that we write every half minute and
whose event must come back. That alone finds a watch that died in silence, as after an unmount and mount.

What goes wrong and what happens then: FAULTS R2, R13 and part 3. Everything ends in one of two ways, "watch anew and
rescan" or "rescan every few seconds and say why".
"""

from __future__ import annotations

import contextlib
import logging
import os
import threading
import time
import warnings
from collections.abc import Callable
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any, cast

from ackd.errors import AckdError
from ackd.fs.beneath import Root
from ackd.fs.stage import Stage
from ackd.watch.limits import kernel_watches, remote_kind
from ackd.watch.port import NOTHING, Changes

if TYPE_CHECKING:
    from watchdog.events import FileSystemEvent, FileSystemEventHandler
    from watchdog.observers.api import BaseObserver, ObservedWatch

log = logging.getLogger(__name__)

COOKIE_FOLDER = ".ackd"
COOKIE = ".ackd/cookie"
_MANY_HINTS = 50_000
# Each watched folder of the top is a thread of watchdog's, and with watchdog 6 an inotify instance (of 128) too.
_MANY_FOLDERS = 40
_WATCHDOG = "watchdog.observers"
_CHECK_S = 1.0
_REARM_S = 30.0


class WatchdogHints:
    """`Hints` from watchdog 6 or 7.

    Args:
        root: The tree.
        is_ignored: Pure predicate on a relative path; hints for it are dropped, and where it is a folder of the top
            that folder is not watched at all.
        poll_s: Seconds between two "rescan everything" where the system gives no hints.
        cookie_s: Seconds between two cookies; 0 for none.
        cookie_wait_s: Seconds within which a cookie's event must come.
    """

    def __init__(
        self,
        root: Root,
        is_ignored: Callable[[str], bool] = lambda rel: False,
        *,
        poll_s: float = 5.0,
        cookie_s: float = 30.0,
        cookie_wait_s: float = 10.0,
    ) -> None:
        self._root = root
        self._prefix = f"{root.path}/"
        self._is_ignored = is_ignored
        self._poll_s = poll_s
        self._cookie_s = cookie_s
        self._cookie_wait_s = cookie_wait_s
        self._lock = threading.Lock()
        self._paths: set[str] = set()
        self._rescan = False
        self._tops_changed: set[str] = set()
        # A SimpleQueue and no Event: its put is safe in a signal handler, an Event's set can deadlock there.
        self._bell: SimpleQueue[None] = SimpleQueue()
        self._observer: BaseObserver | None = None
        self._watches: dict[str, ObservedWatch] = {}
        self._overflow = _OverflowHandler(self._lost)
        self._woken = False
        self._started = False
        self._trouble = ""
        self._blind = 0
        self._remote = ""
        self._next_check = self._next_poll = self._next_rearm = self._next_cookie = 0.0
        self._cookie_sent = 0.0
        self._cookie_due = 0.0
        self._cookie_seen = False

    def start(self) -> None:
        """Begin to watch; where the system gives no watches, polling begins and `healthy` says so."""
        self._started = True
        self._remote = remote_kind(self._root.path)
        _quiet_watchdog()
        logging.getLogger(_WATCHDOG).addHandler(self._overflow)
        self._arm()
        now = time.monotonic()
        self._next_check = now + _CHECK_S
        self._next_poll = now + self._poll_s

    def wait(self, timeout_s: float) -> Changes:
        """Return as soon as there is a hint or a `wake`, else after `timeout_s` seconds; see `Hints.wait`."""
        end = time.monotonic() + max(timeout_s, 0.0)
        while True:
            now = time.monotonic()
            if now >= self._next_check:
                self._check(now)
            changes = self._take()
            if changes is not NOTHING or self._woken or now >= end:
                self._woken = False
                return changes
            self._listen(max(min(end, self._next_check) - now, 0.0))

    def wake(self) -> None:
        """Make `wait` return now; safe from a signal handler and from any thread."""
        self._woken = True
        self._bell.put(None)

    def folders_seen(self, count: int) -> None:
        """Compare the folders of a scan, without ignored ones, with the number of watches that the kernel holds."""
        if self._observer is None:
            return
        watched = kernel_watches()
        self._blind = max(count - watched, 0) if watched is not None else 0

    def healthy(self) -> str:
        """Say what is wrong, in one plain sentence, or return an empty string."""
        if not self._started:
            return "not watching"
        if self._trouble:
            return f"{self._trouble}; the whole tree is looked at every {self._poll_s:g} s instead"
        if self._remote:
            return (
                f"the tree lies on {self._remote}, which reports no changes made by other machines; "
                f"the whole tree is looked at every {self._poll_s:g} s besides"
            )
        if self._blind:
            return (
                f"at least {self._blind} folders are not watched: raise fs.inotify.max_user_watches; "
                "changes in them are found by the periodic scan"
            )
        return ""

    def stop(self) -> None:
        """Stop watching; harmless when repeated."""
        self._started = False
        logging.getLogger(_WATCHDOG).removeHandler(self._overflow)
        self._disarm()

    # --- what watchdog's threads call -------------------------------------------------------------------------------

    def dispatch(self, event: FileSystemEvent) -> None:
        """Take one event from watchdog; named by its handler interface. Never raises: that would end its thread."""
        try:
            self._note(os.fsdecode(event.src_path), event.is_directory)
            if event.dest_path:
                self._note(os.fsdecode(event.dest_path), event.is_directory)
        except Exception:  # whatever it is, the thread must live (R13)
            self._lost()

    def _note(self, path: str, is_folder: bool) -> None:
        if not path.startswith(self._prefix):
            # The root itself was deleted or moved; the identity check does the rest.
            self._next_check = 0.0
            self._lost()
            return
        rel = path[len(self._prefix) :]
        if rel == COOKIE:
            self._cookie_seen = True
            return
        if rel == COOKIE_FOLDER and is_folder:
            with self._lock:
                self._tops_changed.add(rel)
            return
        if rel[0] == "." or "/." in rel:
            return
        if self._is_ignored(rel):
            return
        with self._lock:
            if is_folder and "/" not in rel:
                self._tops_changed.add(rel)
            if len(self._paths) >= _MANY_HINTS:
                self._paths.clear()
                self._rescan = True
            first = not self._paths
            self._paths.add(rel)
        if first:
            self._bell.put(None)

    def _lost(self) -> None:
        """Own up to hints that were lost."""
        with self._lock:
            self._rescan = True
        self._bell.put(None)

    # --- what the one calling thread does ---------------------------------------------------------------------------

    def _take(self) -> Changes:
        with self._lock:
            paths, self._paths = self._paths, set()
            tops, self._tops_changed = self._tops_changed, set()
            rescan, self._rescan = self._rescan, False
        if tops:
            self._watch_tops(tops)
        return Changes(frozenset(paths), rescan) if paths or rescan else NOTHING

    def _listen(self, timeout_s: float) -> None:
        """Sleep until the bell rings, and silence it."""
        try:
            self._bell.get(timeout=timeout_s)
        except Empty:
            return
        while not self._bell.empty():
            self._bell.get_nowait()

    def _check(self, now: float) -> None:
        """Once a second: is this still the tree, do the threads live, did the cookie come back, is a poll due (R2)."""
        self._next_check = now + _CHECK_S
        broken = self._what_broke(now)
        if broken:
            log.warning("the watcher of %s is set up anew: %s", self._root.path, broken)
            self._arm()
        elif self._trouble and now >= self._next_rearm:
            self._arm()
        if (self._trouble or self._remote) and now >= self._next_poll:
            self._next_poll = now + self._poll_s
            self._lost()
        if self._observer is not None and self._cookie_s and now >= self._next_cookie:
            self._send_cookie(now)

    def _what_broke(self, now: float) -> str:
        observer = self._observer
        if observer is None:
            return ""
        if not self._root.is_same():
            return "the tree's folder is gone or was replaced"
        # watchdog 7 reads the kernel's queue in a thread that it shows nowhere; without it all others wait for ever.
        reader = getattr(observer, "_inotify_fd", None)
        if not observer.is_alive() or (isinstance(reader, threading.Thread) and not reader.is_alive()):
            return "its thread has ended"
        dead = {emitter.watch for emitter in tuple(observer.emitters) if not emitter.is_alive()}
        names = {name for name, watch in self._watches.items() if watch in dead}
        if "" in names or len(dead) > len(names):
            return "a thread of it has ended"
        if names:
            # A folder of the top went away, and its thread with it; one of that name may be there again.
            self._watch_tops(names)
            with self._lock:
                self._paths |= names - {COOKIE_FOLDER}
        if self._cookie_due and now >= self._cookie_due:
            if not self._cookie_seen:
                return "a change that was made on purpose was not reported"
            self._cookie_due = 0.0
        return ""

    def _send_cookie(self, now: float) -> None:
        self._next_cookie = now + self._cookie_s
        self._cookie_seen = False
        try:
            Stage(self._root).replace(COOKIE, b"ackd writes this to see whether its watcher works\n")
        except (OSError, AckdError):
            self._cookie_due = 0.0  # nothing to be learned on a tree that cannot be written
        else:
            self._cookie_due = now + self._cookie_wait_s

    def _arm(self) -> None:
        """Watch, from nothing; whatever happened before that is covered by a rescan."""
        self._disarm()
        now = time.monotonic()
        self._next_rearm = now + _REARM_S
        self._next_cookie = now
        before, self._trouble = self._trouble, ""
        try:
            if self._root.is_same():
                self._watch_root()
            else:
                self._trouble = "the tree's folder is gone or was replaced"
                self._next_rearm = now + _CHECK_S
        except (OSError, ImportError, RuntimeError) as error:
            self._trouble = f"the system gives no watches ({error})"
        if self._trouble:
            self._disarm()
            if self._trouble != before:  # said once, not at each try
                log.warning("%s: %s", self._root.path, self._trouble)
        self._lost()

    def _disarm(self) -> None:
        observer, self._observer = self._observer, None
        self._watches.clear()
        self._cookie_due = 0.0
        if observer is not None:
            observer.stop()
            if observer.is_alive():
                observer.join(timeout=2.0)

    def _watch_root(self) -> None:
        from watchdog.observers import Observer

        observer: BaseObserver = Observer()
        observer.start()
        self._observer = observer
        tops = self._tops()
        if len(tops) > _MANY_FOLDERS:
            # One watch for all: dearer, since `.ackd/tmp` and `.git` are in it, but no thread for each folder.
            self._schedule(observer, "", recursive=True)
            return
        self._schedule(observer, "", recursive=False)
        if self._cookie_s:
            try:
                self._root.makedirs(COOKIE_FOLDER)
            except (OSError, AckdError):
                self._next_cookie = float("inf")  # a tree that cannot be written: no cookie
            else:
                self._schedule_top(observer, COOKIE_FOLDER)
        for name in tops:
            self._schedule_top(observer, name)

    def _watch_tops(self, changed: set[str]) -> None:
        """Follow the coming and going of the top's folders; the hint for one covers what was in it before its watch."""
        observer = self._observer
        if observer is None or self._is_one_watch():
            return
        present = {*self._tops(), *([COOKIE_FOLDER] if self._root.exists(COOKIE_FOLDER) else [])}
        for name in changed:
            watch = self._watches.pop(name, None)
            if watch is not None:
                with contextlib.suppress(KeyError, RuntimeError):  # it had ended by itself
                    observer.unschedule(watch)
        for name in changed & present:
            try:
                self._schedule_top(observer, name)
            except (OSError, RuntimeError) as error:
                self._trouble = f"the system gives no more watches ({error})"
                self._next_rearm = time.monotonic() + _REARM_S

    def _is_one_watch(self) -> bool:
        root = self._watches.get("")
        return root is not None and root.is_recursive

    def _tops(self) -> list[str]:
        with os.scandir(self._root.fd) as entries:
            return [
                entry.name
                for entry in entries
                if entry.name[0] != "." and entry.is_dir(follow_symlinks=False) and not self._is_ignored(entry.name)
            ]

    def _schedule_top(self, observer: BaseObserver, name: str) -> None:
        try:
            self._schedule(observer, name, recursive=name != COOKIE_FOLDER)
        except (FileNotFoundError, NotADirectoryError):
            return  # gone again

    def _schedule(self, observer: BaseObserver, name: str, *, recursive: bool) -> None:
        path = self._prefix + name if name else str(self._root.path)
        handler = cast("FileSystemEventHandler", self)
        self._watches[name] = observer.schedule(handler, path, recursive=recursive, event_filter=_wanted())


class _OverflowHandler(logging.Handler):
    """Listens to watchdog's own log: an overflow of the kernel's queue is told nowhere else."""

    def __init__(self, lost: Callable[[], None]) -> None:
        super().__init__(logging.WARNING)
        self._on_loss = lost

    def emit(self, record: logging.LogRecord) -> None:
        """Take any warning of watchdog's as a loss of hints, but the one that ending a watch may cause."""
        message = record.getMessage()
        if "thread is inactive" not in message:
            log.info("watchdog says: %s", message)
            self._on_loss()


def _quiet_watchdog() -> None:
    """Let what watchdog warns of come to us, and to nobody's terminal.

    watchdog 7 warns from its reading thread where folders are made quickly one in another, which is harmless; under
    ``-W error`` that warning would end the thread.
    """
    logger = logging.getLogger(_WATCHDOG)
    logger.propagate = False
    if not any(isinstance(handler, logging.NullHandler) for handler in logger.handlers):
        # Without any handler its last words at a stop would land on the terminal all the same.
        logger.addHandler(logging.NullHandler())
    if not logger.isEnabledFor(logging.WARNING):
        logger.setLevel(logging.WARNING)
    warnings.filterwarnings("ignore", message="Callback with id", category=RuntimeWarning)


def _wanted() -> list[type[Any]]:
    """The kinds of events that may mean new content; without the filter our own reads come back as events."""
    from watchdog import events

    return [
        events.DirCreatedEvent,
        events.DirDeletedEvent,
        events.DirMovedEvent,
        events.FileClosedEvent,
        events.FileCreatedEvent,
        events.FileDeletedEvent,
        events.FileModifiedEvent,
        events.FileMovedEvent,
    ]
