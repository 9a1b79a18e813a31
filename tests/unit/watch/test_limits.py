"""Which file systems do not report what others write, and how many watches there are."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ackd.watch.limits import kernel_watches, remote_kind


@pytest.mark.parametrize(
    ("kind", "remote"),
    [
        ("ext4", ""),
        ("nfs4", "nfs4"),
        ("9p", "9p"),
        ("fuse.sshfs", "fuse.sshfs"),
        ("fuseblk", ""),
        ("virtiofs", "virtiofs"),
    ],
)
def test_the_mount_of_the_folder_decides(tmp_path: Path, kind: str, remote: str) -> None:
    """The line with the folder's device is found by its third field, whatever optional fields stand in it."""
    device = os.stat(tmp_path).st_dev
    mounts = tmp_path / "mountinfo"
    mounts.write_text(
        "21 1 0:9999 / /mnt rw - nfs server:/ rw\n"
        f"22 1 {os.major(device)}:{os.minor(device)} / / rw,relatime shared:1 master:2 - {kind} /dev/x rw\n"
    )
    assert remote_kind(tmp_path, str(mounts)) == remote


def test_what_is_not_known_counts_as_local(tmp_path: Path) -> None:
    """No list of mounts, an odd one, or no folder: no claim is made."""
    (tmp_path / "odd").write_text("\n22\n22 1\n")
    assert remote_kind(tmp_path, str(tmp_path / "no")) == ""
    assert remote_kind(tmp_path, str(tmp_path / "odd")) == ""
    assert remote_kind(tmp_path / "no") == ""


def test_watches_are_counted(tmp_path: Path) -> None:
    """Each folder that is watched adds one, also beneath; none is left after the end."""
    from watchdog.events import FileSystemEventHandler
    from watchdog.observers import Observer

    before = kernel_watches()
    assert before is not None
    (tmp_path / "a/b").mkdir(parents=True)
    observer = Observer()
    observer.start()
    try:
        observer.schedule(FileSystemEventHandler(), str(tmp_path), recursive=True)
        assert kernel_watches() == before + 3
    finally:
        observer.stop()
        observer.join()
    assert kernel_watches() == before
