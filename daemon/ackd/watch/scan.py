"""Look at every entry beneath the root: the truth that the hints only hurry along (R1).

About 10 µs a file. No link is followed, no recursion, and a bounded number of open folders however deep the tree is.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator

import msgspec

from ackd.errors import NoTreeError
from ackd.fs.beneath import FOLDER_FLAGS, LinkedFolderError, Root, Stat, stat_of

_MOST_OPEN = 16

# Deeper than any tree that people make; each level costs one more handle or walk.
MAX_DEPTH = 256


class Found(msgspec.Struct, frozen=True, gc=False):
    """One entry of the tree.

    Attributes:
        rel: Its path from the root. A byte that is no UTF-8 stands in it as a lone surrogate (``surrogateescape``):
            escape it before showing it.
        stat: What it is, see `Stat`.
        problem: For a folder that could not be looked into, wholly or in part, why; what is not found in it is
            unknown, not gone. Where this comes out late, the folder comes a second time; the top's path is empty.
    """

    rel: str
    stat: Stat
    problem: str = ""


class _Folder:
    """A folder on the way down: its path, its handle while there are not too many, and what is still to do in it."""

    __slots__ = ("fd", "rel", "todo", "troubled")

    def __init__(self, rel: str, fd: int) -> None:
        self.rel = rel
        self.fd = fd
        self.todo: list[str] = []
        self.troubled = False

    def trouble(self, error: OSError) -> Iterator[Found]:
        """Yield the folder with its problem, once."""
        if not self.troubled and self.fd >= 0:
            self.troubled = True
            yield Found(self.rel, stat_of(os.fstat(self.fd)), _reason(error))


def scan(root: Root, *, skip: Callable[[str, bool], bool], below: str = "") -> Iterator[Found]:
    """Yield every entry beneath the root, in no particular order; a folder before what lies in it.

    Dot-folders (``.git``, ``.ackd``) and links are never entered, and dot-folders not yielded. What vanishes during
    the scan is left out; a folder that cannot be read is yielded with its `Found.problem`.

    Args:
        root: The tree.
        skip: Called with the relative path and whether it is a folder; true leaves the entry out, with all beneath it.
        below: Only this folder's content, from the top; nothing is yielded where there is no such folder.

    Raises:
        NoTreeError: The root's path names another folder now, or none: its old content says nothing about the tree.
            Raised before the first entry, or after the last one.
        OSError: The top cannot be opened (EMFILE ...); only what vanished is passed over.
    """
    _require_same(root)
    try:
        top = _Folder(below, root.folder(below))
    except (FileNotFoundError, NotADirectoryError, LinkedFolderError):
        return
    path = [top]
    try:
        yield from _list(top, skip)
        while path:
            here = path[-1]
            if not here.todo:
                path.pop()
                _close(here)
                continue
            yield from _enter(root, path, here.todo.pop(), skip)
    finally:
        for folder in path:
            _close(folder)
    _require_same(root)


def _enter(root: Root, path: list[_Folder], name: str, skip: Callable[[str, bool], bool]) -> Iterator[Found]:
    """Open one folder of the innermost one, yield it and its files, and make it the innermost."""
    here = path[-1]
    rel = f"{here.rel}/{name}" if here.rel else name
    try:
        if here.fd < 0:
            here.fd = root.folder(here.rel)
        status = os.stat(name, dir_fd=here.fd, follow_symlinks=False)
    except (FileNotFoundError, NotADirectoryError, LinkedFolderError):
        return  # vanished, or replaced by what is no folder
    except OSError as error:
        yield from here.trouble(error)
        return
    if len(path) > MAX_DEPTH:
        yield Found(rel, stat_of(status), f"folders are nested deeper than {MAX_DEPTH}")
        return
    try:
        folder = _Folder(rel, os.open(name, FOLDER_FLAGS, dir_fd=here.fd))
    except (FileNotFoundError, NotADirectoryError):
        return
    except OSError as error:
        yield Found(rel, stat_of(status), _reason(error))
        return
    # The way back up is walked anew from the root where a tree is very deep; handles are scarcer than time.
    if len(path) > _MOST_OPEN:
        _close(path[-_MOST_OPEN])
    path.append(folder)
    yield Found(rel, stat_of(status))
    yield from _list(folder, skip)


def _list(folder: _Folder, skip: Callable[[str, bool], bool]) -> Iterator[Found]:
    """Yield what is no folder, and note the folders for later."""
    prefix = f"{folder.rel}/" if folder.rel else ""
    try:
        with os.scandir(folder.fd) as entries:
            for entry in entries:
                name = entry.name
                rel = prefix + name
                is_folder = entry.is_dir(follow_symlinks=False)
                if (is_folder and name[0] == ".") or skip(rel, is_folder):
                    continue
                if is_folder:
                    folder.todo.append(name)
                    continue
                try:
                    status = entry.stat(follow_symlinks=False)
                except FileNotFoundError:
                    continue  # vanished between listing and looking
                except OSError as error:
                    yield from folder.trouble(error)
                    continue
                yield Found(rel, stat_of(status))
    except FileNotFoundError:
        return
    except OSError as error:
        yield from folder.trouble(error)


def _require_same(root: Root) -> None:
    if not root.is_same():
        raise NoTreeError(
            f"{root.path}: the folder that was opened is not there any more",
            hint="put it back, or start ackd on the new one",
        )


def _close(folder: _Folder) -> None:
    if folder.fd >= 0:
        os.close(folder.fd)
        folder.fd = -1


def _reason(error: OSError) -> str:
    return f"cannot be looked into: {os.strerror(error.errno or 0)}"
