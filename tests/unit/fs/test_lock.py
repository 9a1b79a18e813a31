"""One daemon a tree, and nobody is locked out by a dead one."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from ackd.errors import BusyError
from ackd.fs.lock import DaemonLock, Holder, who_holds

SOURCES = str(Path(__file__).parents[3] / "daemon")
HOLD = """
import sys
from pathlib import Path
from ackd.fs.lock import DaemonLock
lock = DaemonLock(Path(sys.argv[1]), "/tree")
lock.acquire()
print("held", flush=True)
sys.stdin.read()
"""


def held_elsewhere(path: Path) -> subprocess.Popen[bytes]:
    """Start a process that holds the lock, and wait until it does."""
    process = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": SOURCES},
    )
    assert process.stdout is not None
    assert process.stdout.readline() == b"held\n"
    return process


def test_a_second_daemon_is_told_who_the_first_is(tmp_path: Path) -> None:
    """BusyError names pid@host and the tree, has exit code 75, and after SIGKILL of the holder the lock is free."""
    path = tmp_path / "daemon.lock"
    with held_elsewhere(path) as first:
        lock = DaemonLock(path, "/tree")
        with pytest.raises(BusyError) as caught:
            lock.acquire()
        assert f"pid {first.pid}@{socket.gethostname()}" in caught.value.message
        assert "/tree" in caught.value.message
        assert caught.value.exit_code == 75
        assert not lock.still_held()
        assert who_holds(path) == Holder(first.pid, socket.gethostname(), "/tree")
        first.send_signal(signal.SIGKILL)
        first.wait()
        assert who_holds(path) is None
        lock.acquire()
        assert lock.still_held()
        lock.release()


def test_two_locks_in_one_process_exclude_each_other(tmp_path: Path) -> None:
    """The lock belongs to the open file, not to the process."""
    path = tmp_path / "daemon.lock"
    with DaemonLock(path, "/tree"):
        with pytest.raises(BusyError):
            DaemonLock(path, "/tree").acquire()
        assert who_holds(path) == Holder(os.getpid(), socket.gethostname(), "/tree")
    with DaemonLock(path, "/树"):
        assert who_holds(path) == Holder(os.getpid(), socket.gethostname(), "/树")


def test_release_keeps_the_file_and_may_be_repeated(tmp_path: Path) -> None:
    """The lock file is never removed; it is empty when nobody holds it, and private."""
    path = tmp_path / "daemon.lock"
    lock = DaemonLock(path, "/tree")
    lock.acquire()
    assert path.stat().st_mode & 0o077 == 0
    lock.release()
    lock.release()
    assert path.read_bytes() == b""
    assert not lock.still_held()
    assert who_holds(path) is None


def test_a_lock_file_taken_away_is_noticed(tmp_path: Path) -> None:
    """Removed or replaced under its holder, the lock is not held any more."""
    path = tmp_path / "daemon.lock"
    with DaemonLock(path, "/tree") as lock:
        path.unlink()
        assert not lock.still_held()
        path.touch()
        assert not lock.still_held()


def test_a_lock_file_replaced_while_it_is_taken_does_not_count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Locking a file that has lost its name is tried anew, on the file that has it now."""
    import portalocker

    path = tmp_path / "daemon.lock"
    take = portalocker.lock
    replaced: list[bool] = []

    def replace_first(*args: object) -> None:
        if not replaced:
            replaced.append(True)
            path.unlink()
            path.touch()
        take(*args)  # type: ignore[arg-type]

    monkeypatch.setattr(portalocker, "lock", replace_first)
    with DaemonLock(path, "/tree") as lock:
        assert lock.still_held()
        assert b"/tree" in path.read_bytes()


@pytest.mark.parametrize("content", [b"", b"\xff\xfe", b'{"pid": "x"}', b"[" * 10_000])
def test_a_holder_that_wrote_nonsense_is_still_a_holder(tmp_path: Path, content: bytes) -> None:
    """What stands in the file is for people only: the lock counts, whatever it says."""
    path = tmp_path / "daemon.lock"
    with DaemonLock(path, "/tree"):
        path.write_bytes(content)
        assert who_holds(path) == Holder(0, "", "")
        with pytest.raises(BusyError, match="another process"):
            DaemonLock(path, "/tree").acquire()


def test_a_program_started_by_the_holder_does_not_inherit_the_lock(tmp_path: Path) -> None:
    """While a child program lives on, the lock is free once its parent let go."""
    path = tmp_path / "daemon.lock"
    lock = DaemonLock(path, "/tree")
    lock.acquire()
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE, close_fds=False) as child:
        lock.release()
        with DaemonLock(path, "/tree") as again:
            assert again.still_held()
        child.communicate(b"\n")


def test_a_link_in_its_place_is_refused(tmp_path: Path) -> None:
    """A lock file that is a symbolic link is not opened."""
    (tmp_path / "daemon.lock").symlink_to("elsewhere")
    with pytest.raises(OSError, match="symbolic links"):
        DaemonLock(tmp_path / "daemon.lock", "/tree").acquire()
