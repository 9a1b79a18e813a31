"""What every face calls to carry a tree between machines: set up, sync once, look where it stands.

Which remote and branch this machine syncs with is remembered in the state directory, outside the tree: whoever can
write in the tree cannot turn it elsewhere by changing `.git/config`.
"""

from __future__ import annotations

import time
from pathlib import Path

import msgspec

from ackd.config import Node, load_node
from ackd.errors import AckdError, NotAllowedError
from ackd.fs.beneath import Root
from ackd.fs.lock import exclusively
from ackd.gitsync.repository import kind_of_repository, must_be_own, prepare, read_config, refs_of
from ackd.gitsync.setup import Made, clean_remote, complete, make, shown_remote
from ackd.gitsync.sync import Standing, Synced, standing, sync_once
from ackd.protocol.instant import iso
from ackd.resources import template_dir

GIT_FILES = (".gitattributes", ".gitignore")
"""Files of the template that git needs beside it."""

_RECORD = "sync.json"
_LOCK = "sync.lock"
_PRIVATE = "git"


class LastSync(msgspec.Struct, frozen=True, kw_only=True):
    """How the last sync ended: when (RFC 3339), its error or an empty string, and what went to and fro."""

    at: str
    error: str = ""
    committed: int = 0
    taken: int = 0
    pushed: bool = False
    conflicts: int = 0


class SyncRecord(msgspec.Struct, frozen=True, kw_only=True):
    """What this machine knows of the sync of one tree."""

    remote: str = ""
    branch: str = ""
    last: LastSync | None = None


class SetUp(msgspec.Struct, frozen=True, kw_only=True):
    """What `set_up` did: see `Made`; `files` are those of the template that were missing."""

    made: Made
    files: tuple[str, ...]


class SyncStatus(msgspec.Struct, frozen=True, kw_only=True):
    """Where the sync of a tree stands; see `Standing`.

    Attributes:
        is_set_up: The tree is a repository of its own.
        branch: The branch that syncs.
        remote: The remote, without name and password; empty where there is none.
        busy: Why the next sync would do nothing, or an empty string.
        todo: What to do about it.
        last: The last sync of this machine.
        standing: The counts; None where git is no help.
    """

    is_set_up: bool
    branch: str = ""
    remote: str = ""
    busy: str = ""
    todo: str = ""
    last: LastSync | None = None
    standing: Standing | None = None


def set_up(tree: Path, remote: str = "") -> SetUp:
    """Make a tree ready to be synced; repeating it changes nothing.

    Args:
        tree: The tree.
        remote: Where to, as a person writes it; by default what is set.

    Raises:
        UsageError: The remote is none.
        NotAllowedError: The tree's `.git` is no repository of its own, or names another remote than is known here.
        GitError: Git fails.
    """
    cleaned = clean_remote(remote, tree) if remote else ""
    node = _node(tree)
    with exclusively(node.state / _LOCK):
        record = read_record(node)
        if not cleaned and record.remote and kind_of_repository(tree) == "own":
            _checked(tree, record)  # Only a person who names it changes where a machine syncs to.
        made = make(tree, cleaned or record.remote)
        files = _lay_git_files(tree)
        _write(node, msgspec.structs.replace(record, remote=_as_written(made.remote, tree), branch=made.branch))
    return SetUp(made=msgspec.structs.replace(made, remote=shown_remote(made.remote)), files=files)


def sync_now(tree: Path, *, wait: bool = True) -> Synced:
    """Sync a tree once; two of them at a time go one after the other.

    Args:
        tree: The tree.
        wait: Wait some seconds for files that were changed just now.

    Raises:
        NotAllowedError: The tree is no repository of its own, or its remote was changed behind our back.
        DeliveryError: The sync failed; nothing was lost.
    """
    must_be_own(tree)
    node = _node(tree)
    with exclusively(node.state / _LOCK):
        record = _checked(tree, read_record(node))
        complete(tree)
        at = iso(int(time.time() * 1000))
        try:
            repository = prepare(
                tree, node.state / _PRIVATE, node=node.name, branch=record.branch, remote=record.remote
            )
            if record.branch != repository.branch:
                repository.must_rest()
                record = msgspec.structs.replace(record, branch=repository.branch)
            with Root(tree) as root:
                done = sync_once(repository, root, wait=wait)
        except AckdError as error:
            _write(node, msgspec.structs.replace(record, last=LastSync(at=at, error=error.message)))
            raise
        last = LastSync(
            at=at,
            committed=len(done.committed),
            taken=len(done.taken),
            pushed=done.pushed,
            conflicts=len(done.conflicts),
        )
        _write(node, msgspec.structs.replace(record, last=last))
    return done


def sync_status(tree: Path) -> SyncStatus:
    """Look where the sync of a tree stands; nothing is sent and nobody is asked.

    Raises:
        GitError: Git fails.
    """
    if kind_of_repository(tree) != "own":
        try:
            must_be_own(tree)
        except NotAllowedError as error:
            return SyncStatus(is_set_up=False, busy=error.message, todo=error.hint)
    node = _node(tree)
    with exclusively(node.state / _LOCK):
        record = read_record(node)
        found = refs_of(tree)
        repository = prepare(tree, node.state / _PRIVATE, node=node.name, branch=record.branch, remote=record.remote)
        with Root(tree) as root:
            stands = standing(repository, root)
    busy, todo = found.busy, found.todo
    try:
        if not busy:
            repository.must_rest()
            _checked(tree, record)
    except AckdError as error:
        busy, todo = error.message, error.hint
    return SyncStatus(
        is_set_up=True,
        branch=repository.branch,
        remote=shown_remote(repository.remote),
        busy=busy,
        todo=todo,
        last=record.last,
        standing=stands,
    )


def read_record(node: Node) -> SyncRecord:
    """Give what this machine knows of the sync; nothing where it never synced."""
    try:
        return msgspec.json.decode((node.state / _RECORD).read_bytes(), type=SyncRecord)
    except (OSError, msgspec.MsgspecError):
        return SyncRecord()


def _checked(tree: Path, record: SyncRecord) -> SyncRecord:
    """Take the remote that a clone came with; one that was changed later is not followed.

    Raises:
        NotAllowedError: It was changed.
    """
    written = _as_written(read_config(tree).get("remote.origin.url", ""), tree)
    if not record.remote:
        return msgspec.structs.replace(record, remote=written)
    if written != record.remote:
        now = shown_remote(written) or "nothing"
        raise NotAllowedError(
            f"the remote in {tree}/.git/config is {now}, and this machine syncs with {shown_remote(record.remote)}",
            hint=f"where that is meant: ackd sync init {shown_remote(written) or 'REMOTE'}",
        )
    return record


def _as_written(remote: str, tree: Path) -> str:
    return clean_remote(remote, tree) if remote else ""


def _node(tree: Path) -> Node:
    node = load_node(tree)
    assert node is not None
    return node


def _write(node: Node, record: SyncRecord) -> None:
    temporary = node.state / f"{_RECORD}.new"
    temporary.write_bytes(msgspec.json.format(msgspec.json.encode(record), indent=1) + b"\n")
    temporary.replace(node.state / _RECORD)


def _lay_git_files(tree: Path) -> tuple[str, ...]:
    from ackd.fs.stage import Stage

    with Root(tree) as root:
        stage = Stage(root)
        return tuple(one for one in GIT_FILES if stage.create_new(one, (template_dir() / one).read_bytes()))
