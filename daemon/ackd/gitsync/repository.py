"""The tree's repository: making it, what of its configuration is believed, and whether git is at work in it.

Only the tree's own `.git` counts. A repository around the tree is never committed to, merged or pushed; making one of
its own adds the tree to that one's `.git/info/exclude`.
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from pathlib import Path

import msgspec

from ackd.errors import DeliveryError, NotAllowedError
from ackd.gitsync.git import Git, GitError, run_git, said

BRANCH = "main"
REMOTE = "origin"
SETTINGS: Mapping[str, str] = {"merge.renames": "false", "core.quotepath": "false"}
"""What a tree's repository is set to: renames are not followed (a new file of ours stays where it is)."""

_MOST_CONFIG = 256 * 1024
_OPEN = {
    "MERGE_HEAD": ("a merge is open", "git commit, or git merge --abort"),
    "rebase-merge": ("a rebase is open", "git rebase --continue, or git rebase --abort"),
    "rebase-apply": ("a rebase is open", "git rebase --continue, or git rebase --abort"),
    "CHERRY_PICK_HEAD": ("a cherry-pick is open", "git cherry-pick --continue, or --abort"),
    "REVERT_HEAD": ("a revert is open", "git revert --continue, or --abort"),
    "BISECT_LOG": ("a bisect is open", "git bisect reset"),
}
_SHARED = ("objects", "refs", "packed-refs")
# Git writes to these. A link there would let whoever may write in the tree have git write somewhere else; the reflog
# is not shared at all, since it is appended to wherever it leads.
_NO_LINKS = (
    "HEAD",
    "config",
    "index",
    "packed-refs",
    "objects",
    "refs",
    "refs/heads",
    "refs/remotes",
    "refs/remotes/origin",
)
_FORMATS = frozenset({"extensions.objectformat"})
_NO_FILTERS = "* -text -eol -ident -filter -working-tree-encoding -merge -diff\n"


class SyncBusyError(DeliveryError):
    """Git is in the middle of something that a person has to end."""

    code = "git-busy"


class Refs(msgspec.Struct, frozen=True):
    """What git itself says of the tree now.

    Attributes:
        branch: The branch that is checked out, or an empty string where none is.
        busy: Why nothing may be done now, or an empty string.
        todo: What to do about it.
    """

    branch: str
    busy: str = ""
    todo: str = ""


class Repository(msgspec.Struct, frozen=True, kw_only=True):
    """The tree's own repository, ready to be worked with.

    Attributes:
        git: Git on it.
        node: Name of this node, for the trailer of its commits.
        branch: The branch that syncs.
        remote: Where to, or an empty string.
        author: Name and e-mail address of commits.
        has_ssh: The person's own configuration says how ssh is called.
    """

    git: Git
    node: str
    branch: str
    remote: str
    author: tuple[str, str]
    has_ssh: bool = False

    @property
    def dot_git(self) -> Path:
        """The tree's `.git`."""
        return self.git.tree / ".git"

    @property
    def ours(self) -> str:
        """Full name of the branch here."""
        return f"refs/heads/{self.branch}"

    @property
    def theirs(self) -> str:
        """Full name of the remote's branch, as it was seen last."""
        return f"refs/remotes/{REMOTE}/{self.branch}"

    def must_rest(self) -> None:
        """See that git rests, on the branch that syncs.

        Raises:
            SyncBusyError: It does not; the hint says what to do.
        """
        found = refs_of(self.git.tree)
        if found.busy:
            raise SyncBusyError(f"{self.git.tree}: {found.busy}; nothing was done", hint=found.todo)
        if found.branch != self.branch:
            raise SyncBusyError(
                f"{self.git.tree} is on the branch {found.branch}, and {self.branch} is the one that syncs; "
                "nothing was done",
                hint=f"git -C {self.git.tree} switch {self.branch}, or make {found.branch} the one: ackd sync init",
            )


def kind_of_repository(tree: Path) -> str:
    """Say what the tree is to git: `own`, `none`, or `odd` (a linked work tree, a submodule, broken)."""
    dot_git = tree / ".git"
    if not os.path.lexists(dot_git):
        return "none"
    is_linked = dot_git.is_symlink() or any((dot_git / one).is_symlink() for one in _NO_LINKS)
    is_own = not is_linked and (dot_git / "HEAD").is_file() and not (dot_git / "commondir").exists()
    return "own" if is_own and all((dot_git / one).is_dir() for one in ("objects", "refs")) else "odd"


def enclosing(tree: Path) -> Path | None:
    """Give the repository that the tree lies in, other than its own."""
    return next((one for one in tree.resolve().parents if os.path.lexists(one / ".git")), None)


def refs_of(tree: Path) -> Refs:
    """Look whether git rests in the tree's own repository; no program is run."""
    dot_git = tree / ".git"
    try:
        head = (dot_git / "HEAD").read_text("utf-8", "surrogateescape").strip()
    except OSError as error:
        return Refs("", f".git/HEAD cannot be read: {error.strerror}", f"git -C {tree} status")
    at = f"git -C {tree} "
    for name, (busy, todo) in _OPEN.items():
        if os.path.lexists(dot_git / name):
            return Refs("", busy, f"{at}status; {todo}")
    try:
        age = time.time() - os.lstat(dot_git / "index.lock").st_mtime
    except OSError:
        pass
    else:
        todo = f"wait for it; where none runs, remove {dot_git / 'index.lock'}"
        return Refs("", f"git is at work (index.lock is {max(0, age):.0f} s old)", todo)
    if not head.startswith("ref: refs/heads/"):
        return Refs("", "no branch is checked out (detached HEAD)", f"{at}switch {BRANCH}, or the branch that syncs")
    return Refs(head.removeprefix("ref: refs/heads/"))


def read_config(tree: Path) -> dict[str, str]:
    """Read the tree's `.git/config` as plain values, without following it anywhere; the last of each key counts.

    Raises:
        GitError: It cannot be read.
    """
    path = tree / ".git" / "config"
    if path.is_symlink() or not path.is_file() or path.stat().st_size > _MOST_CONFIG:
        raise GitError(f"{path} is no ordinary file", hint="ackd sync init")
    done = run_git(("config", "--file", str(path), "--no-includes", "--null", "--list"), cwd=tree)
    if done.code:
        raise GitError(f"{path} cannot be read: {said(done)}", hint=f"git -C {tree} config --list")
    return _pairs(done.out)


def _pairs(out: bytes) -> dict[str, str]:
    found = {}
    for one in os.fsdecode(out).split("\0"):
        key, _, value = one.partition("\n")
        found[key] = value
    return found


def prepare(tree: Path, private: Path, *, node: str, branch: str = "", remote: str = "") -> Repository:
    """Make everything ready to work with the tree's repository; nothing in the tree changes.

    Args:
        tree: The tree.
        private: A folder outside the tree for git's directory of ours; made anew but for its index.
        node: This node's name.
        branch: The branch that syncs; by default the one that is checked out.
        remote: The remote that this machine knows; by default what `.git/config` names.

    Raises:
        NotAllowedError: The tree is no repository of its own, or one that cannot be synced.
        GitError: Git fails.
    """
    must_be_own(tree)
    config = read_config(tree)
    odd = sorted(one for one in config if one.startswith("extensions.") and one not in _FORMATS)
    if odd or config.get("core.sparsecheckout", "").lower() in ("true", "yes", "on", "1"):
        what = odd[0] if odd else "core.sparsecheckout"
        raise NotAllowedError(
            f"{tree}/.git uses {what}, and ackd would take what is not there for deleted", hint=_CLONE
        )
    if (tree / ".git" / "shallow").exists():
        raise NotAllowedError(
            f"{tree} is a shallow clone: without its history nothing can be merged",
            hint=f"git -C {tree} fetch --unshallow",
        )
    git = _private(tree, private, config)
    done = run_git(("config", "--list", "--null"), cwd=tree, environment={"GIT_DIR": str(private)}, remote=True)
    person = _pairs(done.out) if done.code == 0 else {}
    url = remote or config.get(f"remote.{REMOTE}.url", "")
    with (private / "config").open("a", encoding="utf-8", errors="surrogateescape") as file:
        if person.get("core.excludesfile"):
            file.write(f"[core]\n\texcludesFile = {_quoted(person['core.excludesfile'])}\n")
        if url:
            fetch = f"+refs/heads/*:refs/remotes/{REMOTE}/*"
            file.write(f'[remote "{REMOTE}"]\n\turl = {_quoted(url)}\n\tfetch = {fetch}\n')
    name = config.get("user.name") or person.get("user.name") or "ackd"
    address = config.get("user.email") or person.get("user.email") or f"ackd@{node}"
    return Repository(
        git=git,
        node=node,
        branch=branch or refs_of(tree).branch or BRANCH,
        remote=url,
        has_ssh="core.sshcommand" in person,
        author=(name, address),
    )


_CLONE = "clone it anew, whole: git clone URL"


def must_be_own(tree: Path) -> None:
    """See that the tree is a repository of its own.

    Raises:
        NotAllowedError: It is not; the message says what it is instead.
    """
    kind = kind_of_repository(tree)
    if kind == "own":
        return
    if kind == "odd":
        what = f"{tree / '.git'} is no repository of its own (a linked work tree, a submodule, links inside, or broken)"
        raise NotAllowedError(f"{what}; ackd leaves it alone", hint=_CLONE)
    around = enclosing(tree)
    if around is not None:
        raise NotAllowedError(
            f"{tree} lies inside the repository {around}, and ackd never commits, merges or pushes there",
            hint="ackd sync init [REMOTE] makes the tree a repository of its own",
        )
    raise NotAllowedError(f"{tree} is no git repository yet", hint="ackd sync init [REMOTE]")


def _private(tree: Path, private: Path, config: Mapping[str, str]) -> Git:
    """Lay out git's directory of ours: shared objects and refs; configuration and attributes of our own."""
    private.mkdir(parents=True, exist_ok=True, mode=0o700)
    (private / "info").mkdir(exist_ok=True)
    for name in _SHARED:
        link, target = private / name, tree / ".git" / name
        if not link.is_symlink() or os.readlink(link) != str(target):
            link.unlink(missing_ok=True)
            link.symlink_to(target)
    for name in ("index.lock", "config.lock"):
        (private / name).unlink(missing_ok=True)  # A crash of ours left it: one sync at a time runs here.
    sha = config.get("extensions.objectformat", "")
    version = f"\trepositoryformatversion = {1 if sha else 0}\n"
    extension = f"[extensions]\n\tobjectFormat = {'sha256' if sha == 'sha256' else 'sha1'}\n" if sha else ""
    (private / "config").write_text(
        f"[core]\n{version}\tbare = false\n\tfileMode = false\n\tlogAllRefUpdates = false\n"
        f"\tautocrlf = false\n[merge]\n\trenames = false\n{extension}",
        encoding="utf-8",
    )
    (private / "HEAD").write_text("ref: refs/heads/ackd-none\n", encoding="ascii")
    (private / "info" / "attributes").write_text(_NO_FILTERS, encoding="ascii")
    exclude = tree / ".git" / "info" / "exclude"
    more = ""
    if exclude.is_file() and not exclude.is_symlink() and exclude.stat().st_size <= _MOST_CONFIG:
        more = exclude.read_text("utf-8", "surrogateescape")
    (private / "info" / "exclude").write_text(f"/.ackd/\n{more}\n", encoding="utf-8", errors="surrogateescape")
    return Git(tree, private)


def _quoted(value: str) -> str:
    text = value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{text}"'
