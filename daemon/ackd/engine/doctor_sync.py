"""What the doctor looks at in the sync: whether git can carry the tree as ackd needs it. The remote is not asked."""

from __future__ import annotations

import shutil
from collections.abc import Iterator

from ackd.config import load_node
from ackd.engine.doctor import Check, Patient, ok, problem, warning
from ackd.engine.syncing import GIT_FILES, read_record
from ackd.errors import AckdError
from ackd.gitsync.repository import SETTINGS, kind_of_repository, must_be_own, read_config, refs_of
from ackd.gitsync.setup import clean_remote, shown_remote

_NAME = "sync"
_SET_UP = "ackd sync init"


def look_at_sync(patient: Patient) -> Iterator[Check]:
    """Whether git can carry the tree: its repository, settings, attributes, branch and remote."""
    tree = patient.view.tree
    kind = kind_of_repository(tree)
    if kind == "none":
        yield ok(
            _NAME, "the tree is no git repository of its own: it stays on this machine, or something else syncs it"
        )
        return
    if shutil.which("git") is None:
        yield problem(_NAME, "the tree is a git repository, and there is no git on this machine", "install git")
        return
    must_be_own(tree)
    faults = [*_settings(patient), *_rest(patient)]
    yield from faults
    if not faults:
        remote = shown_remote(read_config(tree).get("remote.origin.url", ""))
        yield ok(_NAME, f"git carries the tree: {refs_of(tree).branch} to {remote or 'nowhere, no remote is set'}")


def _settings(patient: Patient) -> Iterator[Check]:
    tree = patient.view.tree
    config = read_config(tree)
    unset = [f"{key}={value}" for key, value in SETTINGS.items() if config.get(key) != value]
    if unset:
        yield warning(_NAME, f".git/config lacks {' and '.join(unset)}: a pull by hand may move new files", _SET_UP)
    missing = [one for one in GIT_FILES if not patient.view.root.exists(one)]
    if missing:
        yield warning(_NAME, f"missing: {' and '.join(missing)}", _SET_UP)


def _rest(patient: Patient) -> Iterator[Check]:
    tree = patient.view.tree
    found = refs_of(tree)
    if found.busy:
        yield warning(_NAME, f"nothing is synced: {found.busy}", found.todo)
    node = load_node(tree, create=False)
    if node is None:
        return
    record = read_record(node)
    if record.branch and found.branch and found.branch != record.branch:
        yield warning(_NAME, f"{found.branch} is checked out, and {record.branch} syncs", f"git switch {record.branch}")
    written = read_config(tree).get("remote.origin.url", "")
    try:
        is_same = not record.remote or clean_remote(written, tree) == record.remote
    except AckdError:
        is_same = False
    if not is_same:
        yield problem(
            _NAME,
            f".git/config names another remote than this machine syncs with ({shown_remote(record.remote)})",
            "ackd sync init REMOTE, with the right one",
        )


LOOKS = (look_at_sync,)
