"""Publish files so that a name never shows half of its bytes.

A file is written in the scratch folder (same file system, outside the watched folders), and a rename makes it appear
under its name, whole. Between the two the caller may record that it is about to do so: a staged file that is still
there after a crash was not handed over (`DESIGN.md` part 2). Nothing is flushed unless asked: SIGKILL loses nothing
that was written, a power cut may.
"""

from __future__ import annotations

import contextlib
import errno
import os
import secrets

import msgspec

from ackd.errors import InvalidError
from ackd.fs.beneath import Root, split

SCRATCH = ".ackd/tmp"

_NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
# What file systems without hard links say (FAT, some SMB and FUSE mounts), or with too many on one file.
_NO_LINK = (errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.EMLINK, errno.ENOSYS)


class Staged(msgspec.Struct, frozen=True):
    """A whole file in the scratch folder, waiting for its place.

    `name` is its name there; inode, size in bytes and mtime in nanoseconds stay the same when it is renamed.
    """

    name: str
    ino: int = 0
    size: int = 0
    mtime_ns: int = 0


class Stage:
    """Writes beneath one root, by way of its scratch folder.

    Args:
        root: The tree.
        scratch: The scratch folder, from the top; made when it is missing, also later (``git clean`` takes it away).
        durable: Flush each file and the folder that it appears in (about 1 ms a file).
    """

    def __init__(self, root: Root, scratch: str = SCRATCH, *, durable: bool = False) -> None:
        split(scratch)
        self._root = root
        self._scratch = scratch
        self._durable = durable

    def stage(self, name: str, data: bytes) -> Staged:
        """Write a file whole into the scratch folder, in place of one of that name that a crash left there.

        Args:
            name: One plain file name, the same for the same work, so that it is found again.
            data: All its bytes.

        Raises:
            InvalidError: The name is no plain file name.
            OSError: It could not be written (ENOSPC, EROFS, EDQUOT ...); nothing of it is left behind.
        """
        _plain(name)
        scratch = self._open_scratch()
        try:
            status = self._write(scratch, name, data)
        finally:
            os.close(scratch)
        return Staged(name, status.st_ino, status.st_size, status.st_mtime_ns)

    def publish(self, staged: Staged, dest: str) -> bool:
        """Rename a staged file into its place; folders that are missing are made.

        A file that lies there already is replaced: only for paths that have one writer, us.

        Returns:
            False where the staged file is not there any more (it was published before, or scratch was emptied).

        Raises:
            PathError: `dest` is no path beneath the tree.
            LinkedFolderError: A folder on the way is a symbolic link.
            OSError: As the system says (ENOSPC, EROFS, EXDEV ...); the staged file stays.
        """
        folder, name = _parent(dest)
        scratch = self._open_scratch()
        try:
            target = self._root.folder(folder, create=True, durable=self._durable)
            try:
                os.rename(staged.name, name, src_dir_fd=scratch, dst_dir_fd=target)
                if self._durable:
                    os.fsync(target)
            except FileNotFoundError:
                # Either the staged file is gone, or the folder went away between opening it and renaming.
                if staged.name in os.listdir(scratch):
                    self._root.forget(folder)
                    raise
                return False
            finally:
                os.close(target)
        finally:
            os.close(scratch)
        return True

    def replace(self, dest: str, data: bytes) -> None:
        """Put a generated page into its place, whole, instead of what lay there. Raises what `publish` raises."""
        staged = self.stage(_scratch_name(), data)
        try:
            done = self.publish(staged, dest)
        except BaseException:
            self.discard(staged.name)
            raise
        if not done:
            raise FileNotFoundError(errno.ENOENT, "the scratch folder was emptied under us", self._scratch)

    def create_new(self, dest: str, data: bytes) -> bool:
        """Lay down a file that must not replace another; it appears whole.

        Returns:
            False where the name is taken, by whatever kind of entry; nothing changed then.

        Raises:
            What `publish` raises.
        """
        folder, name = _parent(dest)
        temporary = _scratch_name()
        target = self._root.folder(folder, create=True, durable=self._durable)
        try:
            scratch = self._open_scratch()
            try:
                self._write(scratch, temporary, data)
                try:
                    os.link(temporary, name, src_dir_fd=scratch, dst_dir_fd=target, follow_symlinks=False)
                except FileExistsError:
                    return False
                except OSError as error:
                    if error.errno not in _NO_LINK and error.errno != errno.EXDEV:
                        raise
                    return self._create_in_place(target, name, data)
                finally:
                    _unlink(scratch, temporary)
                if self._durable:
                    os.fsync(target)
            finally:
                os.close(scratch)
        finally:
            os.close(target)
        return True

    def waiting(self) -> list[str]:
        """Names in the scratch folder: after a crash, what was staged and not published."""
        return self._root.listdir(self._scratch)

    def discard(self, name: str) -> None:
        """Remove a staged file; harmless when it is gone."""
        _plain(name)
        scratch = self._open_scratch()
        try:
            _unlink(scratch, name)
        finally:
            os.close(scratch)

    def _open_scratch(self) -> int:
        return self._root.folder(self._scratch, create=True)

    def _write(self, folder: int, name: str, data: bytes) -> os.stat_result:
        try:
            handle = os.open(name, _NEW_FILE, 0o666, dir_fd=folder)
        except FileExistsError:
            # Left by a crash, or laid there as a link: never write through it.
            os.unlink(name, dir_fd=folder)
            handle = os.open(name, _NEW_FILE, 0o666, dir_fd=folder)
        try:
            return self._fill(handle, data)
        except BaseException:
            _unlink(folder, name)
            raise

    def _create_in_place(self, folder: int, name: str, data: bytes) -> bool:
        # Without hard links the name may show a part for an instant: readers take an open text as "not yet".
        try:
            handle = os.open(name, _NEW_FILE, 0o666, dir_fd=folder)
        except FileExistsError:
            return False
        try:
            self._fill(handle, data)
            if self._durable:
                os.fsync(folder)
        except BaseException:
            _unlink(folder, name)
            raise
        return True

    def _fill(self, handle: int, data: bytes) -> os.stat_result:
        """Write all of `data`, flush it when asked, and close the handle whatever happens."""
        try:
            written = os.write(handle, data)
            while written < len(data):
                written += os.write(handle, memoryview(data)[written:])
            if self._durable:
                os.fsync(handle)
            return os.fstat(handle)
        finally:
            os.close(handle)


def _parent(dest: str) -> tuple[str, str]:
    split(dest)
    folder, _, name = dest.rpartition("/")
    return folder, name


def _plain(name: str) -> None:
    if len(split(name)) != 1:
        raise InvalidError("a staged file has one plain name, without a folder")


def _scratch_name() -> str:
    return f"{os.getpid()}-{secrets.token_hex(8)}"


def _unlink(folder: int, name: str) -> None:
    with contextlib.suppress(FileNotFoundError):
        os.unlink(name, dir_fd=folder)
