"""Setting the sync up: a repository of the tree's own, its settings and its remote; the one around it left alone."""

from __future__ import annotations

import os
import re
from pathlib import Path

import msgspec

from ackd.errors import UsageError
from ackd.gitsync.git import GitError, run_git, said
from ackd.gitsync.repository import (
    BRANCH,
    REMOTE,
    SETTINGS,
    enclosing,
    kind_of_repository,
    must_be_own,
    read_config,
    refs_of,
)

_EXAMPLE = "a bare repository: ackd sync init git@example.org:team.git, or a path"
_SCP = re.compile(r"(?:[^/:@\s]+@)?[^/:\s]+:[^\s]*")
_SECRET = re.compile(r"^([a-z+]+://)[^/@]*@", re.IGNORECASE)


class Made(msgspec.Struct, frozen=True, kw_only=True):
    """What `make` did.

    Attributes:
        created: The repository is new.
        branch: Its branch.
        remote: Its remote, or an empty string.
        changes: What was changed, a sentence each; nothing when it is repeated.
        notes: What the person should know.
    """

    created: bool
    branch: str
    remote: str
    changes: tuple[str, ...]
    notes: tuple[str, ...]


def shown_remote(remote: str) -> str:
    """Give a remote for people: without name and password."""
    return _SECRET.sub(r"\1", remote)


def clean_remote(written: str, tree: Path) -> str:
    """Give the remote that a person wrote: a URL as it is, a path whole.

    Raises:
        UsageError: It is none, or lies in the tree.
    """
    remote = written.strip()
    if not remote or remote.startswith("-") or any(not one.isprintable() for one in remote):
        raise UsageError(f"{written!r:.80} is no remote", hint=_EXAMPLE)
    if "::" in remote.partition("/")[0]:
        raise UsageError("a remote that runs a program (`ext::` and the like) is not used", hint=_EXAMPLE)
    scheme, mark, rest = remote.partition("://")
    if mark and scheme.lower() != "file":
        if scheme.lower() not in ("ssh", "https", "http", "git", "git+ssh", "ssh+git"):
            raise UsageError(f"{scheme[:20]}:// is no way to a repository that ackd takes", hint=_EXAMPLE)
        return remote
    if not mark and _SCP.fullmatch(remote) and not os.path.exists(remote):
        return remote
    path = Path(os.path.abspath(rest if mark else os.path.expanduser(remote)))
    if path.resolve().is_relative_to(tree.resolve()):
        raise UsageError(f"{path} lies in the tree itself", hint=_EXAMPLE)
    return str(path)


def make(tree: Path, remote: str = "") -> Made:
    """Make the tree a repository of its own, or complete the one that is there; repeating it changes nothing.

    Args:
        tree: The tree.
        remote: Where to sync to, as `clean_remote` gives it; by default what is set already.

    Raises:
        NotAllowedError: `.git` is there and no repository of its own.
        UsageError: The remote is a path and no repository lies there.
        GitError: Git fails.
    """
    kind = kind_of_repository(tree)
    if kind == "odd":
        must_be_own(tree)
    changes: list[str] = []
    if os.path.isabs(remote) and not _is_repository(Path(remote)):
        raise UsageError(f"there is no repository at {remote}", hint=f"git init --bare {remote}")
    if kind == "none":
        done = run_git(("init", "--quiet", "--template=", f"--initial-branch={BRANCH}", str(tree)), cwd=tree)
        if done.code:
            raise GitError(f"git init failed: {said(done)}", hint="git --version: 2.32 or newer is needed")
        changes.append("a repository of its own")
    branch = refs_of(tree).branch or BRANCH
    config = read_config(tree)
    before = config.get(f"remote.{REMOTE}.url", "")
    wanted = dict(SETTINGS)
    if remote:
        wanted[f"remote.{REMOTE}.url"] = remote
    if remote or before:
        wanted |= {
            f"remote.{REMOTE}.fetch": f"+refs/heads/*:refs/remotes/{REMOTE}/*",
            f"branch.{branch}.remote": REMOTE,
            f"branch.{branch}.merge": f"refs/heads/{branch}",
        }
    for key, value in wanted.items():
        # git lower-cases section and key, and leaves what stands between them.
        if config.get(key) != value:
            _set(tree, key, value)
            changes.append(f"{key} = {shown_remote(value)}")
    around, notes = enclosing(tree), list[str]()
    if around is not None:
        changes += _exclude(around, tree)
        if _is_tracked(around, tree):
            notes.append(
                f"{around} still tracks files of the tree; give them up there: git -C {around} rm -r --cached {tree}"
            )
    url = remote or before
    return Made(created=kind == "none", branch=branch, remote=url, changes=tuple(changes), notes=tuple(notes))


def complete(tree: Path) -> None:
    """Set what a fresh clone lacks of `SETTINGS`; what a person set otherwise stays.

    Raises:
        GitError: Git fails.
    """
    config = read_config(tree)
    for key, value in SETTINGS.items():
        if key not in config:
            _set(tree, key, value)


def _is_repository(path: Path) -> bool:
    return any((one / "HEAD").is_file() and (one / "objects").is_dir() for one in (path, path / ".git"))


def _set(tree: Path, key: str, value: str) -> None:
    path = tree / ".git" / "config"
    done = run_git(("config", "--file", str(path), "--replace-all", key, value), cwd=tree)
    if done.code:
        raise GitError(f"{key} cannot be set: {said(done)}", hint=f"look at {path}")


def _exclude(around: Path, tree: Path) -> list[str]:
    """Add the tree to what the repository around it leaves alone, in a file that is no part of that repository."""
    done = run_git(("rev-parse", "--path-format=absolute", "--git-path", "info/exclude"), cwd=around, remote=True)
    if done.code:
        raise GitError(f"{around} cannot be read: {said(done)}", hint=f"git -C {around} status")
    path = Path(os.fsdecode(done.out.rstrip(b"\n")))
    relative = tree.resolve().relative_to(around).as_posix()
    line = "/" + re.sub(r"([\\*?\[\]])", r"\\\1", relative) + "/"
    text = path.read_text("utf-8", "surrogateescape") if path.is_file() else ""
    if line in text.splitlines():
        return []
    path.parent.mkdir(parents=True, exist_ok=True)
    start = "" if not text or text.endswith("\n") else "\n"
    with path.open("a", encoding="utf-8", errors="surrogateescape") as file:
        file.write(f"{start}{line}\n")
    return [f"{line} stands in {path}"]


def _is_tracked(around: Path, tree: Path) -> bool:
    relative = tree.resolve().relative_to(around).as_posix()
    done = run_git(("ls-files", "-z", "--", f":(top,literal){relative}"), cwd=around, remote=True)
    return done.code == 0 and bool(done.out)
