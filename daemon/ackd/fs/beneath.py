"""Everything beneath one root, opened step by step so that no link and no `..` leads out of it.

A path from the tree is hostile: any of its folders may be a symbolic link to somewhere else, and any of its files a
pipe that blocks for ever. So every component is opened relative to the folder before it with ``O_NOFOLLOW``, and a
file is looked at (kind, size) through its open handle before a byte of it is read (R12).

`Root` keeps one handle, on the root itself, and nothing else: opening two or three folders anew costs 4 to 6 µs, and
in exchange no handle can be stale and threads may share a `Root`.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Literal, TypeAlias

import msgspec

from ackd.errors import InvalidError, NotAllowedError, NoTreeError

Kind: TypeAlias = Literal["file", "folder", "symlink", "pipe", "socket", "device"]

FOLDER_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
# NONBLOCK: a named pipe without a writer must not hang us. NOCTTY: a terminal must not become ours.
FILE_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC

_MOST_HELD = 128
_RACY_NS = 2_000_000_000
_REASONS = {
    errno.EACCES: "no permission to read it",
    errno.EPERM: "no permission to read it",
    errno.ENAMETOOLONG: "its name is too long",
    errno.EMFILE: "this process has too many files open",
    errno.ENFILE: "this machine has too many files open",
    errno.ENOMEM: "out of memory",
    errno.EIO: "the disk reports an error",
    errno.ESTALE: "the network file system has lost it",
}


class PathError(InvalidError):
    """A relative path that cannot name anything beneath the tree."""

    code = "bad-path"


class LinkedFolderError(NotAllowedError):
    """A folder on the way is a symbolic link; it is not followed, neither to read nor to write."""

    code = "linked-folder"


class Stat(msgspec.Struct, frozen=True, gc=False):
    """What one ``lstat`` says about an entry; two equal ones mean "not changed since", but see `racy_at`.

    `ctime_ns` finds the same-size edit whose mtime was put back (``cp -p``, ``rsync -t``). `size` is in bytes, instants
    are nanoseconds since the epoch, as the file system wrote them: never used for order.
    """

    kind: Kind
    dev: int
    ino: int
    size: int
    ctime_ns: int
    mtime_ns: int

    def racy_at(self, now_ns: int) -> bool:
        """True where the file changed so lately that another change could leave the same ctime.

        Whoever remembers such a `Stat` reads the file once more later (git's rule for its index).
        """
        return now_ns - self.ctime_ns < _RACY_NS


class FileRead(msgspec.Struct, frozen=True):
    """A regular file, whole: its bytes, and what it was just before they were read."""

    data: bytes
    stat: Stat


class NotRegular(msgspec.Struct, frozen=True):
    """There is something of that name, but no file that could be read; nothing of it was read.

    `kind` is ``symlink`` also where a folder on the way to it is one.
    """

    kind: Kind


class TooLarge(msgspec.Struct, frozen=True):
    """A regular file above the cap, `size` bytes; at most one byte over the cap was read."""

    size: int


class Vanished(msgspec.Struct, frozen=True):
    """Nothing of that name (any more)."""


class Unreadable(msgspec.Struct, frozen=True):
    """It is there, but the system does not let us read it now; trying again later is right."""

    reason: str


ReadResult: TypeAlias = FileRead | NotRegular | TooLarge | Vanished | Unreadable
Removal: TypeAlias = Literal["removed", "changed", "gone"]


def kind_of(mode: int) -> Kind:
    """Name the kind of an entry from its ``st_mode``."""
    if stat.S_ISREG(mode):
        return "file"
    if stat.S_ISDIR(mode):
        return "folder"
    if stat.S_ISLNK(mode):
        return "symlink"
    if stat.S_ISFIFO(mode):
        return "pipe"
    return "socket" if stat.S_ISSOCK(mode) else "device"


def stat_of(status: os.stat_result) -> Stat:
    """Take from a system's stat what ackd compares."""
    return Stat(
        kind_of(status.st_mode),
        status.st_dev,
        status.st_ino,
        status.st_size,
        status.st_ctime_ns,
        status.st_mtime_ns,
    )


def split(rel: str) -> list[str]:
    """Split a relative path into its components, ``/`` between them.

    Raises:
        PathError: It is empty or absolute, or holds NUL, ``.``, ``..`` or an empty component.
    """
    parts = rel.split("/")
    if "\0" in rel or "" in parts or "." in parts or ".." in parts:
        raise PathError(
            "a path beneath the tree is relative and has no empty, '.' or '..' part", hint="name it from the tree's top"
        )
    return parts


class Root:
    """The top of one tree, held open.

    Args:
        path: The folder; its own path may go through links, what lies beneath may not.

    Raises:
        NoTreeError: There is no such folder, or it cannot be opened.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(os.path.abspath(path))
        self.fd = -1
        self.identity = (0, 0)
        self._held: dict[str, int] | None = None
        self.reopen()

    def reopen(self) -> None:
        """Open what the path names now, after `is_same` said no. What it held before is let go only on success.

        Raises:
            NoTreeError: There is no such folder, or it cannot be opened.
        """
        try:
            fd = os.open(self.path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except OSError as error:
            raise NoTreeError(
                f"{self.path}: cannot open this folder: {os.strerror(error.errno or 0)}",
                hint=f"ackd init {self.path}",
            ) from error
        self.close()
        status = os.fstat(fd)
        self.fd = fd
        self.identity = (status.st_dev, status.st_ino)

    @contextlib.contextmanager
    def holding(self) -> Iterator[None]:
        """Keep the folders that are opened inside open until the end: many files of a few folders cost one walk each.

        A folder that is moved away meanwhile is still the one that is read and written: keep it short. For one thread.
        """
        if self._held is not None:
            yield
            return
        self._held = {}
        try:
            yield
        finally:
            held, self._held = self._held, None
            for fd in held.values():
                os.close(fd)

    def close(self) -> None:
        """Let go of the root; harmless when repeated."""
        if self.fd >= 0:
            os.close(self.fd)
            self.fd = -1

    def __enter__(self) -> Root:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def is_same(self) -> bool:
        """True while the path still names the folder that was opened (R2: renamed, replaced and unmounted roots)."""
        try:
            status = os.stat(self.path)
        except OSError:
            return False
        return (status.st_dev, status.st_ino) == self.identity

    def folder(self, rel: str = "", *, create: bool = False, durable: bool = False) -> int:
        """Open a folder and return its handle, which the caller closes.

        Args:
            rel: The folder, from the top; empty for the top itself.
            create: Make the folders that are missing.
            durable: Flush each folder in which one was made.

        Raises:
            PathError: See `split`.
            LinkedFolderError: A component is a symbolic link.
            FileNotFoundError: It is not there, and `create` is false.
            NotADirectoryError: A component is a file.
            OSError: As the system says (EACCES, ENOSPC, EMFILE ...).
        """
        if not rel:
            return os.dup(self.fd)
        return self._descend(split(rel), create, durable)

    def read(self, rel: str, cap: int) -> ReadResult:
        """Read one file whole, about 10 µs for a small one.

        Args:
            rel: The file, from the top.
            cap: The most bytes that it may have.

        Raises:
            PathError: See `split`. All else is a result.
        """
        parts = split(rel)
        name = parts.pop()
        if not parts:
            return read_at(self.fd, name, cap)
        try:
            fd = self._descend(parts, False, False)
        except LinkedFolderError:
            return NotRegular("symlink")
        except OSError as error:
            return _failure(error)
        try:
            return read_at(fd, name, cap)
        finally:
            os.close(fd)

    def stat(self, rel: str) -> Stat | None:
        """Look at an entry without opening it; None where there is none, or a folder on the way is a link.

        Raises:
            PathError: See `split`.
            OSError: The system does not let us look.
        """
        parts = split(rel)
        name = parts.pop()
        try:
            fd = self._descend(parts, False, False) if parts else self.fd
        except (LinkedFolderError, FileNotFoundError, NotADirectoryError):
            return None
        try:
            return stat_of(os.stat(name, dir_fd=fd, follow_symlinks=False))
        except FileNotFoundError:
            return None
        finally:
            if fd != self.fd:
                os.close(fd)

    def exists(self, rel: str) -> bool:
        """True where an entry of any kind has that name."""
        return self.stat(rel) is not None

    def listdir(self, rel: str = "") -> list[str]:
        """Names in a folder, sorted; empty where there is no such folder. Raises what `folder` raises otherwise."""
        try:
            fd = self.folder(rel)
        except (FileNotFoundError, NotADirectoryError):
            return []
        try:
            return sorted(os.listdir(fd))
        finally:
            os.close(fd)

    def makedirs(self, rel: str, *, durable: bool = False) -> None:
        """Make a folder and those above it; nothing happens where they are there. Raises what `folder` raises."""
        os.close(self.folder(rel, create=True, durable=durable))

    def unlink_if(self, rel: str, sha256: str, *, cap: int = 16 * 1024 * 1024) -> Removal:
        """Remove a file of ours, but only while its bytes are still the ones that we wrote.

        Args:
            rel: The file, from the top.
            sha256: Hex digest of what we wrote there.
            cap: A file larger than this is not ours.

        Returns:
            ``removed``; ``gone`` where there is nothing; ``changed`` where something else lies there, which stays.

        Raises:
            OSError: The system does not let us remove it.
        """
        found = self.read(rel, cap)
        if isinstance(found, Vanished):
            return "gone"
        if not isinstance(found, FileRead) or hashlib.sha256(found.data).hexdigest() != sha256:
            return "changed"
        folder, _, name = rel.rpartition("/")
        try:
            fd = self.folder(folder)
        except (FileNotFoundError, NotADirectoryError):
            return "gone"
        except LinkedFolderError:
            return "changed"
        try:
            # A person's editor may have replaced it since we read it; what is left is a window of microseconds.
            if stat_of(os.stat(name, dir_fd=fd, follow_symlinks=False)) != found.stat:
                return "changed"
            os.unlink(name, dir_fd=fd)
        except FileNotFoundError:
            return "gone"
        finally:
            os.close(fd)
        return "removed"

    def _descend(self, parts: list[str], create: bool, durable: bool) -> int:
        held = self._held
        if held is None:
            return self._walk(parts, create, durable)
        name = "/".join(parts)
        fd = held.get(name)
        if fd is None:
            fd = self._walk(parts, create, durable)
            if len(held) >= _MOST_HELD:
                os.close(held.pop(next(iter(held))))
            held[name] = fd
        return os.dup(fd)

    def forget(self, rel: str) -> None:
        """Let go of a held folder that turned out to be gone."""
        fd = self._held.pop(rel, None) if self._held is not None else None
        if fd is not None:
            os.close(fd)

    def _walk(self, parts: list[str], create: bool, durable: bool) -> int:
        fd = self.fd
        for part in parts:
            try:
                below = _open_folder(fd, part, create, durable)
            finally:
                if fd != self.fd:
                    os.close(fd)
            fd = below
        return fd


def read_at(fd: int, name: str, cap: int) -> ReadResult:
    """Read the file `name` in the open folder `fd`; for callers that go through a folder in order. See `Root.read`."""
    try:
        handle = os.open(name, FILE_FLAGS, dir_fd=fd)
    except OSError as error:
        # A socket refuses to be opened (ENXIO), a link with O_NOFOLLOW too (ELOOP): say which it is.
        if error.errno in (errno.ELOOP, errno.ENXIO, errno.ENODEV):
            return _kind_at(fd, name, error)
        return _failure(error)
    try:
        status = os.fstat(handle)
        if not stat.S_ISREG(status.st_mode):
            return NotRegular(kind_of(status.st_mode))
        size = status.st_size
        if size > cap:
            return TooLarge(size)
        data = os.read(handle, size + 1)
        if len(data) != size:
            data = _read_on(handle, data, cap)
            if len(data) > cap:
                return TooLarge(max(len(data), os.fstat(handle).st_size))
        return FileRead(data, stat_of(status))
    except OSError as error:
        return _failure(error)
    finally:
        os.close(handle)


def _read_on(handle: int, data: bytes, cap: int) -> bytes:
    """Go on where a file grew under us, or a network file system gave less than was asked for."""
    pieces = [data]
    got = len(data)
    while data and got <= cap:
        data = os.read(handle, min(cap + 1 - got, 1 << 20))
        pieces.append(data)
        got += len(data)
    return b"".join(pieces)


def _open_folder(fd: int, name: str, create: bool, durable: bool) -> int:
    try:
        return os.open(name, FOLDER_FLAGS, dir_fd=fd)
    except FileNotFoundError:
        if not create:
            raise
    except OSError as error:
        # Linux answers ENOTDIR to O_DIRECTORY|O_NOFOLLOW on a link, BSD and macOS ELOOP.
        if error.errno not in (errno.ENOTDIR, errno.ELOOP) or not _is_link(fd, name):
            raise
        raise LinkedFolderError(
            "a folder on the way is a symbolic link, and ackd follows none", hint="put a real folder in its place"
        ) from error
    try:
        os.mkdir(name, 0o777, dir_fd=fd)
    except FileExistsError:
        pass  # another process made it meanwhile: as good
    else:
        if durable:
            os.fsync(fd)
    return _open_folder(fd, name, False, False)


def _is_link(fd: int, name: str) -> bool:
    try:
        return stat.S_ISLNK(os.stat(name, dir_fd=fd, follow_symlinks=False).st_mode)
    except OSError:
        return False


def _kind_at(fd: int, name: str, error: OSError) -> ReadResult:
    try:
        kind = kind_of(os.stat(name, dir_fd=fd, follow_symlinks=False).st_mode)
    except OSError as second:
        return _failure(second)
    # A file by now: it was swapped between the two calls, and the next look will read it.
    return _failure(error) if kind == "file" else NotRegular(kind)


def _failure(error: OSError) -> ReadResult:
    if error.errno in (errno.ENOENT, errno.ENOTDIR):
        return Vanished()
    number = error.errno or 0
    return Unreadable(_REASONS.get(number) or os.strerror(number))
