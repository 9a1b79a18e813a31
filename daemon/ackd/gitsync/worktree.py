"""The files of the tree as git sees them: which changed and rest, their bytes into git, and a merge's bytes back.

Every file is opened beneath the tree without following links. A file that a merge replaces or removes must still hold
the bytes that the last commit holds; else it is somebody's, and stays.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import time
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import msgspec

from ackd.errors import AckdError, DeliveryError
from ackd.fs.beneath import FileRead, LinkedFolderError, NotRegular, Root, Stat, TooLarge, Vanished
from ackd.fs.stage import Stage
from ackd.gitsync.git import Entry, Git, GitError, said
from ackd.gitsync.merging import may_be_written

RESTED_MS = 10_000
"""How long a file must be unchanged before it is committed, milliseconds."""
CAP = 64 * 1024 * 1024
"""The most bytes of a file that is carried."""


class TouchedError(DeliveryError):
    """Files that a merge has to change were changed here just now; `paths` names them."""

    code = "touched"

    def __init__(self, paths: Iterable[str]) -> None:
        self.paths = tuple(sorted(paths))
        super().__init__(
            f"changed just now, and by the other side too: {', '.join(self.paths[:5])}", hint="ackd sync now, again"
        )


class Seen(msgspec.Struct, frozen=True, kw_only=True):
    """How the tree differs from a commit.

    Attributes:
        rested: Paths that may be committed: changed, new or gone, and unchanged for `RESTED_MS`.
        young: Paths that have to rest first, each with how many milliseconds are left.
        left_out: Paths that are never carried, each with the reason.
    """

    rested: dict[str, Stat | None]
    young: dict[str, int]
    left_out: dict[str, str]


class WorkTree:
    """The tree's files beside its git.

    Args:
        root: The tree, open.
        git: Git on it.
        rested_ms: How long a file must be unchanged; by default `RESTED_MS`.
    """

    def __init__(self, root: Root, git: Git, *, rested_ms: int | None = None) -> None:
        self._root, self._git, self._stage = root, git, Stage(root)
        self._rested_ns = (RESTED_MS if rested_ms is None else rested_ms) * 1_000_000

    def remember(self, commit: str) -> None:
        """Let our own index follow a commit; it goes on knowing which files did not change since they were read."""
        if not commit or self._git.run("read-tree", "-m", "-i", commit).code:
            # There is none yet, or a crash left something that is none.
            self._git.index.unlink(missing_ok=True)
            self._git.must("read-tree", commit or "--empty")
        self._git.run("update-index", "-q", "--refresh")

    def look(self, entries: Mapping[str, Entry]) -> Seen:
        """Find what differs from a commit that `remember` was called for."""
        out = self._git.must("ls-files", "--modified", "--deleted", "--others", "--exclude-standard", "-z")
        rested, young, left_out = dict[str, Stat | None](), dict[str, int](), dict[str, str]()
        now = time.time_ns()
        for path in sorted({os.fsdecode(one) for one in out.split(b"\0") if one}):
            entry = entries.get(path)
            if not may_be_written(path) or (entry is not None and not entry.is_file):
                continue  # It came from elsewhere and never lay here.
            stat, why = self._stat(path)
            if why:
                left_out[path.rstrip("/")] = why
                continue
            left = self._left(path, stat, now)
            if left > 0:
                young[path] = -(-left // 1_000_000)
            else:
                rested[path] = stat
        return Seen(rested=rested, young=young, left_out=left_out)

    def _stat(self, path: str) -> tuple[Stat | None, str]:
        if path.endswith("/"):
            return None, "a repository of its own"
        try:
            stat = self._root.stat(path)
            if stat is None:
                found = self._root.read(path, 0)
                return None, "below a link" if isinstance(found, NotRegular) else ""
        except (AckdError, OSError) as error:
            return None, f"cannot be looked at: {error}"
        if stat.kind == "folder":
            return None, ""  # The file is gone, and a folder took its place.
        if stat.kind != "file":
            return None, f"a {stat.kind}"
        return stat, "more than 64 MB" if stat.size > CAP else ""

    def _left(self, path: str, stat: Stat | None, now: int) -> int:
        """Give how many nanoseconds a change has to rest still; one that is gone is dated by its folder."""
        if stat is None:
            folder = path.rpartition("/")[0]
            while folder and self._root.stat(folder) is None:
                folder = folder.rpartition("/")[0]
            stat = self._root.stat(folder) if folder else None
            times = [stat.mtime_ns] if stat else [os.fstat(self._root.fd).st_mtime_ns]
        else:
            times = [stat.mtime_ns, stat.ctime_ns]
        # A time far ahead is a clock that was wrong: the other one decides.
        return max(self._rested_ns - (now - one) if abs(now - one) < self._rested_ns else 0 for one in times)

    def store(self, changed: Mapping[str, Stat | None], entries: Mapping[str, Entry]) -> dict[str, Entry | None]:
        """Bring the bytes of changed files into git.

        Args:
            changed: Paths, each with what was seen of the file; None where it is gone.
            entries: The commit that they differ from.

        Returns:
            What each path holds now; one that changed meanwhile is left out, as is one that only git calls changed.
        """
        found: dict[str, Entry | None] = {
            path: None for path, stat in changed.items() if stat is None and path in entries
        }
        reads = {path: stat for path, stat in changed.items() if stat is not None}
        if not reads:
            return found
        marks: dict[int, str] = {}
        table = self._git.private / "marks"
        table.unlink(missing_ok=True)
        done = self._git.run(
            "fast-import", "--quiet", f"--export-marks={table}", stdin=self._stream(reads, entries, marks)
        )
        if done.code:
            raise GitError(f"git cannot keep the files: {said(done)}", hint="is the disk full? ackd doctor")
        for line in table.read_text("ascii").splitlines() if table.exists() else ():
            mark, _, oid = line.partition(" ")
            path = marks[int(mark[1:])]
            before = entries.get(path)
            entry = Entry(before.mode if before is not None and before.is_file else "100644", oid)
            if entry != before:
                found[path] = entry
        table.unlink(missing_ok=True)
        return found

    def _stream(
        self, reads: Mapping[str, Stat], entries: Mapping[str, Entry], marks: dict[int, str]
    ) -> Iterator[bytes]:
        for path, stat in reads.items():
            read = self._root.read(path, CAP)
            if not isinstance(read, FileRead) or read.stat != stat or self._root.stat(path) != stat:
                continue  # Somebody writes it: it waits for the next time.
            before = entries.get(path)
            if before is not None and _differs_in_line_ends(read.data, before.oid):
                continue
            marks[len(marks) + 1] = path
            yield b"blob\nmark :%d\ndata %d\n" % (len(marks), len(read.data))
            yield read.data
            yield b"\n"

    def put(self, changes: Mapping[str, Entry | None], ours: Mapping[str, Entry]) -> None:
        """Bring the tree from one commit to the next: what goes first, then what comes.

        Args:
            changes: Paths and what they hold then.
            ours: The commit whose files lie there now.

        Raises:
            TouchedError: A file is not as in `ours`, nor as it shall be; it stays. Repeating it later is harmless.
            GitError: A file cannot be written.
        """
        wanted = {
            path: entry
            for path, entry in changes.items()
            if may_be_written(path) and (entry is None or entry.is_file) and not self._is_below_link(path)
        }
        touched = [path for path, entry in wanted.items() if not self._is(path, ours.get(path), entry)]
        if touched:
            raise TouchedError(touched)
        try:
            for path in [one for one, entry in wanted.items() if entry is None]:
                self._remove(path, ours.get(path))
            by_oid: dict[str, list[str]] = {}
            for path, entry in wanted.items():
                if entry is not None:
                    by_oid.setdefault(entry.oid, []).append(path)
            for oid, data in self._git.blobs(by_oid):
                for path in by_oid[oid]:
                    self._write(path, ours.get(path), Entry("100644", oid), data)
        except LinkedFolderError as error:
            raise GitError(f"a merge cannot be written: {error.message}", hint=error.hint) from None
        except OSError as error:
            raise GitError(f"a merge cannot be written: {error.strerror or error}", hint="ackd doctor") from None

    def _write(self, path: str, before: Entry | None, entry: Entry, data: bytes) -> None:
        read = self._root.read(path, CAP)
        if isinstance(read, FileRead) and _holds(read.data, entry.oid):
            return
        if before is None or isinstance(read, Vanished):
            self._clear(path)
            if not self._stage.create_new(path, data):
                raise TouchedError([path])
        elif isinstance(read, FileRead) and _is_of(read.data, before.oid):
            self._stage.replace(path, data)
        else:
            raise TouchedError([path])

    def _remove(self, path: str, before: Entry | None) -> None:
        read = self._root.read(path, CAP)
        if not isinstance(read, FileRead) or before is None:
            return
        digest = hashlib.sha256(read.data).hexdigest()
        if not _is_of(read.data, before.oid) or self._root.unlink_if(path, digest, cap=CAP) == "changed":
            raise TouchedError([path])

    def _clear(self, path: str) -> None:
        """Take away empty folders of that name: a file is to lie there."""
        here = Path(self._root.path) / path
        for folder, _, _ in sorted(os.walk(here, followlinks=False), reverse=True) if here.is_dir() else ():
            with contextlib.suppress(OSError):
                os.rmdir(folder)

    def _is_below_link(self, path: str) -> bool:
        return isinstance(self._root.read(path, 0), NotRegular) and self._root.stat(path) is None

    def _is(self, path: str, *expected: Entry | None) -> bool:
        """Tell whether what lies at a path is one of several."""
        read = self._root.read(path, CAP)
        if isinstance(read, FileRead):
            return any(one is not None and _is_of(read.data, one.oid) for one in expected)
        stat = self._root.stat(path)
        if isinstance(read, (Vanished, NotRegular)) and (stat is None or stat.kind == "folder"):
            # One that is gone is a change of this side, which is committed when it has rested.
            return any(one is None for one in expected) and not isinstance(read, TooLarge)
        return False


def blob_oid(data: bytes, like: str) -> str:
    """Give the hash that git gives to bytes, of the kind (SHA-1, SHA-256) of another one."""
    maker = hashlib.sha1 if len(like) == 40 else hashlib.sha256
    return maker(b"blob %d\0" % len(data) + data).hexdigest()


def _holds(data: bytes, oid: str) -> bool:
    return blob_oid(data, oid) == oid


def _differs_in_line_ends(data: bytes, oid: str) -> bool:
    # A checkout with core.autocrlf made CRLF of it; that is no change of anybody's.
    return b"\r\n" in data and _holds(data.replace(b"\r\n", b"\n"), oid)


def _is_of(data: bytes, oid: str) -> bool:
    return _holds(data, oid) or _differs_in_line_ends(data, oid)
