"""One sync: commit what rests, fetch, merge, push; killed at any instant, the next one finishes it.

The order makes it so. A commit is made beside the person's index, which then follows where nothing else is staged, and
only then the branch moves. A merge is written into the tree before the branch moves: what a crash leaves there is what
the other side has, and merges with it to nothing.
"""

from __future__ import annotations

import os
import random
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import msgspec

from ackd.errors import DeliveryError
from ackd.fs.beneath import Root
from ackd.gitsync.git import Entry, GitError, said
from ackd.gitsync.merging import BESIDE, Conflict, Merged, merge
from ackd.gitsync.repository import REMOTE, Repository, SyncBusyError
from ackd.gitsync.setup import shown_remote
from ackd.gitsync.worktree import RESTED_MS, Seen, TouchedError, WorkTree
from ackd.tree import layout

PUSHES = 6
"""How often a push is tried: once, and five times after somebody else was faster."""

_WAITS = 2
_PAUSE_S = 0.2
_SSH = "ssh -o BatchMode=yes -o ConnectTimeout=15 -o ServerAliveInterval=15 -o ServerAliveCountMax=4"
_FASTER = ("(fetch first)", "(non-fast-forward)", "(stale info)", "cannot lock ref", "failed to update ref")
_IN_CONFLICT = Entry("conflict", "")

Sleep = Callable[[float], object]


class Synced(msgspec.Struct, frozen=True, kw_only=True):
    """What a sync did.

    Attributes:
        head: The commit that the tree is at, or an empty string where there is none yet.
        committed: Paths that were committed here.
        taken: Paths that came from others.
        pushed: Whether commits went to the remote.
        conflicts: What both sides had changed, and how it was settled.
        waiting: Paths that were changed too lately to be committed.
        left_out: Paths that are never carried, with the reason.
        notes: What the person should know.
    """

    head: str
    committed: tuple[str, ...] = ()
    taken: tuple[str, ...] = ()
    pushed: bool = False
    conflicts: tuple[Conflict, ...] = ()
    waiting: tuple[str, ...] = ()
    left_out: dict[str, str] = msgspec.field(default_factory=dict)
    notes: tuple[str, ...] = ()


class Standing(msgspec.Struct, frozen=True, kw_only=True):
    """Where a tree stands, without asking the remote.

    Attributes:
        head: The commit that it is at, or an empty string.
        ahead: How many commits here the remote was not seen to have.
        behind: How many commits of the remote are not merged.
        rested: Paths that the next sync commits.
        waiting: Paths that have to rest first.
        left_out: Paths that are never carried, with the reason.
        beside: Files that lie beside others because both sides had changed them.
    """

    head: str
    ahead: int
    behind: int
    rested: tuple[str, ...]
    waiting: tuple[str, ...]
    left_out: dict[str, str]
    beside: tuple[str, ...]


def sync_once(
    repository: Repository,
    root: Root,
    *,
    wait: bool = True,
    rested_ms: int | None = None,
    sleep: Sleep = time.sleep,
) -> Synced:
    """Commit, fetch, merge and push once.

    Args:
        repository: The tree's repository.
        root: The tree, open.
        wait: Wait for files that were changed just now, at most `rested_ms`.
        rested_ms: How long a file must be unchanged; by default `RESTED_MS`.
        sleep: Waits so many seconds.

    Raises:
        SyncBusyError: Git is busy, or on another branch: nothing was done.
        DeliveryError: The remote cannot be reached or refuses; what was committed here stays and goes next time.
    """
    return _Sync(repository, root, RESTED_MS if rested_ms is None else rested_ms, sleep).run(wait=wait)


def standing(repository: Repository, root: Root, *, rested_ms: int | None = None) -> Standing:
    """Look where the tree stands; nothing is changed and nobody is asked."""
    git = repository.git
    head, theirs = git.oid_of(repository.ours), git.oid_of(repository.theirs)
    work, entries = WorkTree(root, git, rested_ms=rested_ms), git.entries(head)
    work.remember(head)
    seen = work.look(entries)
    ahead = behind = 0
    if head and theirs:
        counts = git.must("rev-list", "--left-right", "--count", f"{head}...{theirs}").split()
        ahead, behind = int(counts[0]), int(counts[1])
    elif head:
        ahead = int(git.must("rev-list", "--count", head))
    elif theirs:
        behind = int(git.must("rev-list", "--count", theirs))
    paths = entries.keys() | seen.rested.keys() | seen.young.keys()
    gone = {path for path, stat in seen.rested.items() if stat is None}
    return Standing(
        head=head,
        ahead=ahead,
        behind=behind,
        rested=tuple(seen.rested),
        waiting=tuple(seen.young),
        left_out=seen.left_out,
        beside=tuple(sorted(one for one in paths - gone if BESIDE.fullmatch(one))),
    )


class _Sync:
    def __init__(self, repository: Repository, root: Root, rested_ms: int, sleep: Sleep) -> None:
        self._repository, self._git, self._sleep = repository, repository.git, sleep
        self._rested_s = rested_ms / 1000
        self._work = WorkTree(root, repository.git, rested_ms=rested_ms)
        self._head = ""
        self._committed: set[str] = set()
        self._taken: set[str] = set()
        self._conflicts: dict[tuple[str, str], Conflict] = {}

    def run(self, *, wait: bool) -> Synced:
        self._repository.must_rest()
        self._head = self._git.oid_of(self._repository.ours)
        self._work.remember(self._head)
        seen = self._look()
        if wait and seen.young:
            self._sleep(min(max(seen.young.values()) / 1000, self._rested_s))
            seen = self._look()
        self._commit(seen)
        pushed, notes = False, list[str]()
        if self._repository.remote:
            pushed = self._exchange()
        else:
            notes.append("no remote is set: everything stays on this machine")
        last = self._look()
        return Synced(
            head=self._head,
            committed=tuple(sorted(self._committed)),
            taken=tuple(sorted(self._taken)),
            pushed=pushed,
            conflicts=tuple(self._conflicts.values()),
            waiting=tuple(last.young),
            left_out=last.left_out,
            notes=tuple(notes),
        )

    # Here.

    def _look(self) -> Seen:
        return self._work.look(self._git.entries(self._head))

    def _commit(self, seen: Seen) -> None:
        if not seen.rested:
            return
        before = self._git.entries(self._head)
        changes = self._work.store(seen.rested, before)
        if not changes:
            return
        tree = self._git.tree_with(self._head, changes, self._git.private / "index.new")
        count = len(changes)
        subject = f"Sync of {self._repository.node}: {count} file{'s' * (count != 1)}"
        self._advance(self._record(tree, subject, self._head), before, changes)
        self._committed |= changes.keys()

    def _record(self, tree: str, subject: str, *parents: str) -> str:
        """Write a commit that no branch has yet."""
        name, address = self._repository.author
        who = {
            f"GIT_{role}_{what}": value
            for role in ("AUTHOR", "COMMITTER")
            for what, value in (("NAME", name), ("EMAIL", address))
        }
        above = [part for one in parents if one for part in ("-p", one)]
        text = f"{subject}\n\nAckd-Node: {self._repository.node}\n"
        return self._git.must("commit-tree", tree, *above, stdin=text.encode(), environment=who).decode().strip()

    def _advance(self, commit: str, before: Mapping[str, Entry], changes: Mapping[str, Entry | None]) -> None:
        """Let the person's index and the branch follow to a commit, in this order: see the module's text."""
        self._repository.must_rest()
        index = self._repository.dot_git / "index"
        staged = {path: one or _IN_CONFLICT for path, one in self._git.staged(index, changes).items()}
        # Where a person has staged something else, it stays staged.
        follow = {path: entry for path, entry in changes.items() if staged.get(path) == before.get(path)}
        try:
            if follow:
                self._git.change_index(index, follow)
                self._git.run("update-index", "-q", "--refresh", index=index)
        except GitError as error:
            if "index.lock" in error.message:
                raise SyncBusyError(f"git is at work in {self._git.tree} (index.lock)", hint=_AGAIN) from None
            raise
        old = self._head or "0" * len(commit)
        done = self._git.run("update-ref", "-m", "ackd sync", self._repository.ours, commit, old)
        if done.code:
            raise SyncBusyError(f"{self._repository.branch} moved under the sync: {said(done)}", hint=_AGAIN)
        self._head = commit
        self._work.remember(commit)

    # With the others.

    def _exchange(self) -> bool:
        """Fetch, merge and push until both sides have the same; True where something was pushed."""
        for attempt in range(PUSHES):
            if attempt:
                self._sleep(_PAUSE_S * 2**attempt * random.uniform(0.5, 1.5))  # noqa: S311 - to part two machines
            theirs = self._fetch()
            if theirs and theirs != self._head:
                self._merge(theirs)
            if not self._head or self._head == theirs:
                return False
            if self._push():
                return True
        raise DeliveryError(
            f"others pushed to {self._where} each of {PUSHES} times; what was committed here waits", hint=_AGAIN
        )

    @property
    def _where(self) -> str:
        return shown_remote(self._repository.remote)

    def _speak(self, *arguments: str) -> tuple[int, str, str]:
        environment = {}
        if not self._repository.has_ssh and not {"GIT_SSH", "GIT_SSH_COMMAND"} & os.environ.keys():
            environment["GIT_SSH_COMMAND"] = _SSH
        try:
            done = self._git.run(*arguments, remote=True, environment=environment)
        except GitError as error:
            raise DeliveryError(f"{self._where}: {error.message}; {self._kept}", hint=error.hint) from None
        return done.code, os.fsdecode(done.out), shown_remote(said(done))

    @property
    def _kept(self) -> str:
        count = len(self._committed)
        are = "file is" if count == 1 else "files are"
        return f"{count} {are} committed here and will go next time" if count else _NOTHING

    def _fetch(self) -> str:
        """Bring what the remote has; give its commit of our branch, or an empty string where it has none."""
        seen = self._git.oid_of(self._repository.theirs)
        code, _, error = self._speak(
            "fetch", "--quiet", "--prune", "--no-tags", "--no-write-fetch-head", "--no-recurse-submodules", REMOTE
        )
        if code:
            hint = f"git ls-remote {self._where}; credentials and ssh keys are git's own"
            raise DeliveryError(f"{self._where} cannot be read: {error}; {self._kept}", hint=hint)
        theirs = self._git.oid_of(self._repository.theirs)
        if not theirs and not seen:
            others = self._git.must("for-each-ref", "--format=%(refname:lstrip=3)", f"refs/remotes/{REMOTE}").split()
            names = sorted({os.fsdecode(one) for one in others} - {"HEAD"})
            if names:
                branch = self._repository.branch
                raise DeliveryError(
                    f"{self._where} has no branch {branch}, but {', '.join(names[:5])}: is it the tree's?",
                    hint=f"where it is: git -C {self._git.tree} branch -m {branch} {names[0]} && ackd sync init",
                )
        return theirs

    def _push(self) -> bool:
        """Push; False where somebody was faster."""
        code, out, error = self._speak(
            "push", "--porcelain", "--no-verify", REMOTE, f"{self._head}:{self._repository.ours}"
        )
        if code == 0:
            return True
        refused = next((one for one in out.splitlines() if one.startswith("!")), "")
        if any(one in refused + error for one in _FASTER):
            return False
        why = refused.rpartition("\t")[2] or error
        raise DeliveryError(f"{self._where} does not take it: {why}; {self._kept}", hint=f"git ls-remote {self._where}")

    def _merge(self, theirs: str) -> None:
        stays = frozenset[str]()
        for turn in range(_WAITS + 2):
            try:
                self._merge_once(theirs, stays)
            except TouchedError as error:
                # Somebody is at these files. Let them rest, commit them, and merge again; who never rests keeps his.
                seen, touched = self._look(), frozenset(error.paths)
                if turn < _WAITS and touched & (seen.young.keys() | seen.rested.keys()):
                    if touched & seen.young.keys():
                        self._sleep(self._rested_s)
                else:
                    stays |= touched
                self._commit(self._look())
            else:
                return
        raise DeliveryError("files change faster than they can be merged; nothing was lost", hint=_AGAIN)

    def _merge_once(self, theirs: str, stays: frozenset[str]) -> None:
        git, head = self._git, self._head
        found = git.run("merge-base", "--all", head, theirs) if head else None
        bases = found.out.decode("ascii").split() if found and found.code == 0 else []
        if theirs in bases:
            return
        ours, other = git.entries(head), git.entries(theirs)
        if not bases and layout.TEAM not in other:
            raise DeliveryError(
                f"{self._where} holds something else: its {self._repository.branch} has no {layout.TEAM}",
                hint="use an empty repository: ackd sync init REMOTE",
            )
        merged = merge([git.entries(one) for one in bases], ours, other, lines=self._lines, stays=stays)
        commit = theirs
        if (head and head not in bases) or merged.conflicts:
            tree = git.tree_with(head, merged.changes, git.private / "index.new")
            commit = self._record(tree, f"Sync of {self._repository.node}: merged", head, theirs)
        self._repository.must_rest()
        self._work.put({path: one for path, one in merged.changes.items() if path not in stays}, ours)
        self._advance(commit, ours, merged.changes)
        self._count(merged)

    def _count(self, merged: Merged) -> None:
        self._taken |= merged.changes.keys()
        self._conflicts |= {(one.path, one.beside): one for one in merged.conflicts}

    def _lines(self, path: str, base: Entry | None, ours: Entry, theirs: Entry) -> Entry | None:
        """Merge the lines of a file as git does, without any driver."""
        if base is None or not base.is_file:
            return None
        with tempfile.TemporaryDirectory(dir=self._git.private) as folder:
            files = [Path(folder) / name for name in ("ours", "base", "theirs")]
            for file, entry in zip(files, (ours, base, theirs), strict=True):
                file.write_bytes(self._git.blob(entry.oid))
            done = self._git.run("merge-file", "--stdout", "--quiet", *(str(one) for one in files))
        if done.code:
            return None
        oid = self._git.must("hash-object", "-w", "-t", "blob", "--stdin", stdin=done.out).decode().strip()
        return Entry(ours.mode, oid)


_AGAIN = "ackd sync now, again"
_NOTHING = "nothing was lost"
