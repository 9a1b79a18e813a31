"""What the kernel's watches do not cover: file systems that other machines write to, and folders beyond the limit.

inotify hears nothing of writes that come over a network, from a virtual machine's host or through most of FUSE
(fault 101); and watchdog 7 says nothing where `fs.inotify.max_user_watches` is used up, watchdog 6 only at its start
(fault 88).
"""

from __future__ import annotations

import os

_REMOTE = frozenset(
    (
        *("nfs", "nfs4", "afs", "cifs", "smb2", "smb3", "smbfs", "ncpfs", "coda"),
        *("ceph", "glusterfs", "lustre", "beegfs"),
        *("9p", "drvfs", "prl_fs", "vboxsf", "virtiofs", "vmhgfs", "fuse"),
    )
)
_LOCAL_FUSE = frozenset({"fuseblk", "fuse.ext2", "fuse.lxcfs", "fuse.bindfs"})
_MOUNTS = "/proc/self/mountinfo"


def remote_kind(path: str | os.PathLike[str], mounts: str = _MOUNTS) -> str:
    """Name the type of the remote file system that a folder lies on; empty where it is local or not known.

    Args:
        path: The folder.
        mounts: Linux's list of mounts (``man 5 proc``, mountinfo).
    """
    try:
        device = os.stat(path).st_dev
        with open(mounts, encoding="utf-8", errors="surrogateescape") as lines:
            found = _kind_of_device(lines.read(), f"{os.major(device)}:{os.minor(device)}")
    except OSError:
        return ""
    if found in _REMOTE or (found.startswith("fuse.") and found not in _LOCAL_FUSE):
        return found
    return ""


def _kind_of_device(mounts: str, device: str) -> str:
    """The type of the file system with this ``major:minor``: the third field, and the first after the lone dash."""
    for line in mounts.splitlines():
        before, _, after = line.partition(" - ")
        fields = before.split(" ")
        if len(fields) > 2 and fields[2] == device:
            return after.split(" ")[0]
    return ""


def kernel_watches() -> int | None:
    """Count the inotify watches of this process, or None where the system does not say (not Linux)."""
    count = 0
    try:
        for fd in os.listdir("/proc/self/fd"):
            try:
                if os.readlink(f"/proc/self/fd/{fd}") != "anon_inode:inotify":
                    continue
                with open(f"/proc/self/fdinfo/{fd}", encoding="ascii") as lines:
                    count += sum(line.startswith("inotify wd:") for line in lines)
            except FileNotFoundError:
                continue
    except OSError:
        return None
    return count
