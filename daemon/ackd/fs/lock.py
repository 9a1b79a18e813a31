"""One daemon a tree: a lock file in the state directory, outside the tree, that is never removed.

The lock belongs to the open file, so it is free the instant its holder dies, however it dies. The file itself stays:
a lock file that is unlinked under its holder lets a second daemon in (R11), and `DaemonLock.still_held` finds that out.
Who holds it is written into it, for people.
"""

from __future__ import annotations

import contextlib
import os
import socket
import time
from collections.abc import Iterator
from pathlib import Path
from typing import IO

import msgspec

from ackd.errors import BusyError

_TRIES = 4
_PAUSE_S = 0.05
_MOST_BYTES = 8192


class Holder(msgspec.Struct, frozen=True):
    """Who holds the lock: process id, name of the machine, and the tree that it serves."""

    pid: int
    host: str
    tree: str


class DaemonLock:
    """The right to be the daemon of one tree on this machine.

    Args:
        path: The lock file, in the state directory; its folder must exist.
        tree: Path of the tree, for the message that a second daemon prints.
    """

    def __init__(self, path: Path, tree: str) -> None:
        self._path = path
        self._tree = tree
        self._file: IO[bytes] | None = None

    def acquire(self) -> None:
        """Take the lock, or say who has it; returns within 0.2 s.

        Raises:
            BusyError: Another process holds it; the message names pid@host and the tree.
            OSError: The lock file cannot be opened.
        """
        # `who_holds` takes the lock for an instant: a daemon that starts just then must not give up.
        for attempt in range(_TRIES):
            if attempt:
                time.sleep(_PAUSE_S)
            if self._try():
                return
        holder = _read(self._path)
        who = f"pid {holder.pid}@{holder.host}" if holder else "another process"
        where = holder.tree if holder else self._tree
        raise BusyError(
            f"{where}: an ackd is already running on this tree ({who})",
            hint=f"ackd status --dir {self._tree}, or stop that one first",
        )

    def still_held(self) -> bool:
        """True while the path names the very file that is locked; False means: stop writing, and leave (fault 110)."""
        if self._file is None:
            return False
        try:
            there = os.stat(self._path, follow_symlinks=False)
        except OSError:
            return False
        ours = os.fstat(self._file.fileno())
        return (there.st_dev, there.st_ino) == (ours.st_dev, ours.st_ino)

    def release(self) -> None:
        """Let go; the file stays, empty. Harmless when repeated."""
        if self._file is None:
            return
        import portalocker

        file, self._file = self._file, None
        try:
            os.ftruncate(file.fileno(), 0)
            portalocker.unlock(file)
        finally:
            file.close()

    def __enter__(self) -> DaemonLock:
        self.acquire()
        return self

    def __exit__(self, *exc: object) -> None:
        self.release()

    def _try(self) -> bool:
        file = _lock(self._path)
        if file is None:
            return False
        self._file = file
        if not self.still_held():
            # The file was replaced between opening and locking: what we hold is nobody's lock any more.
            self._file = None
            file.close()
            return False
        os.ftruncate(file.fileno(), 0)
        os.pwrite(file.fileno(), msgspec.json.encode(Holder(os.getpid(), socket.gethostname(), self._tree)), 0)
        return True


@contextlib.contextmanager
def exclusively(path: Path) -> Iterator[None]:
    """Hold a lock file while something short is read and written again; waits for whoever has it.

    Raises:
        OSError: The lock file cannot be opened.
    """
    import portalocker

    handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    with os.fdopen(handle, "r+b", buffering=0) as file:
        portalocker.lock(file, portalocker.LockFlags.EXCLUSIVE)
        yield


def who_holds(path: Path) -> Holder | None:
    """Say which daemon holds a lock file, or None where nobody does (or the file cannot be opened).

    A holder that has not written its name yet is shown as pid 0 on an unnamed machine.
    """
    if not path.exists():
        return None
    try:
        file = _lock(path)
    except OSError:
        return None
    if file is not None:
        file.close()
        return None
    return _read(path) or Holder(0, "", "")


def _lock(path: Path) -> IO[bytes] | None:
    """Open the file and lock it without waiting; None where another process has it."""
    # Lazily: where redis is installed, portalocker imports it (150 to 400 ms).
    import portalocker

    # CLOEXEC: a child program must not inherit the lock and keep it after our death (fault 109).
    handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    file = os.fdopen(handle, "r+b", buffering=0)
    try:
        portalocker.lock(file, portalocker.LockFlags.EXCLUSIVE | portalocker.LockFlags.NON_BLOCKING)
    except portalocker.AlreadyLocked:
        file.close()
        return None
    except BaseException:
        file.close()
        raise
    return file


def _read(path: Path) -> Holder | None:
    try:
        with open(path, "rb") as file:
            return msgspec.json.decode(file.read(_MOST_BYTES), type=Holder)
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError):
        return None
