"""Runs git as a program, so that it never asks, never hangs, and never runs what the tree or its `.git` names.

Whoever may write in the tree may write in its `.git` too, and much of what stands there is a program to run: hooks
(`hooks/`, `core.hooksPath`, `hook.*`), `core.fsmonitor`, `core.sshCommand`, `core.gitProxy`, `core.editor`,
`core.pager`, `core.askPass`, `core.alternateRefsCommand`, `credential.helper`, `gpg.program`, `filter.*.clean`,
`.smudge` and `.process`, `merge.*.driver`, `diff.*.command` and `.textconv`, `remote.*.uploadpack`, `.receivepack` and
`.vcs`, `url.*.insteadOf` (to `ext::`), `alias.*`, `include.path`. None is disarmed one by one: git runs here with a
directory of our own (`GIT_DIR`, outside the tree) that shares objects and refs with the tree's `.git` and neither its
configuration nor its hooks. Its `info/attributes` takes filters, merge drivers and line ends off every path, whatever a
`.gitattributes` in the tree says.

The person's own configuration (`~/.gitconfig`) is read only where another machine is spoken to: credentials, ssh
command and proxies are git's own affair. Hooks, fsmonitor, signing and prompts are off there too.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import msgspec

from ackd.errors import DeliveryError

QUICK_S = 300.0
"""How long a git command on this machine may take, seconds."""
REMOTE_S = 600.0
"""How long one that speaks to another machine may take, seconds."""

_CHUNK = 256
_SAID = 400
_QUIET = (
    *("core.hooksPath=/dev/null", "core.fsmonitor=false", "core.pager=cat", "core.askPass=true", "gc.auto=0"),
    *(
        "maintenance.auto=false",
        "submodule.recurse=false",
        "fetch.recurseSubmodules=false",
        "push.recurseSubmodules=no",
    ),
    *("push.gpgSign=false", "push.followTags=false", "commit.gpgSign=false", "credential.interactive=never"),
    *("http.lowSpeedLimit=1", "http.lowSpeedTime=60"),
    *("transfer.fsckObjects=true", "core.quotePath=false", "core.alternateRefsCommand=true"),
    *("protocol.allow=never", "protocol.ext.allow=never", "protocol.file.allow=always", "protocol.ssh.allow=always"),
    *("protocol.https.allow=always", "protocol.http.allow=always", "protocol.git.allow=always"),
)
_NOBODY_ASKS = {
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_ASKPASS": "true",
    "SSH_ASKPASS": "true",
    "SSH_ASKPASS_REQUIRE": "never",
    "GIT_PAGER": "cat",
    "GIT_EDITOR": "true",
    "LC_ALL": "C",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_NO_REPLACE_OBJECTS": "1",
}
_OF_THE_PERSON = frozenset(
    {"GIT_SSH", "GIT_SSH_COMMAND", "GIT_SSH_VARIANT", "GIT_SSL_CAINFO", "GIT_SSL_NO_VERIFY", "GIT_CONFIG_GLOBAL"}
)


class GitError(DeliveryError):
    """Git did not do what it was asked."""

    code = "git-failed"


class Done(msgspec.Struct, frozen=True):
    """What a git command said: exit code, output, and its errors as text."""

    code: int
    out: bytes
    errors: str


def run_git(
    arguments: Iterable[str],
    *,
    cwd: Path,
    environment: Mapping[str, str] | None = None,
    stdin: bytes | Iterable[bytes] = b"",
    timeout_s: float = QUICK_S,
    remote: bool = False,
    config: Iterable[str] = (),
) -> Done:
    """Run git once, in a session of its own, without terminal, prompt, pager or hook.

    Args:
        arguments: What follows `git`.
        cwd: The folder to run in.
        environment: Variables such as `GIT_DIR`; git's variables of the caller's environment count for nothing, but for
            those that say how to reach other machines.
        stdin: What it reads: bytes, or pieces that are made while it runs.
        timeout_s: After that many seconds it and all that it started is killed.
        remote: It speaks to another machine: the person's configuration is in force.
        config: Further `key=value`.

    Raises:
        GitError: There is no git, or it took too long.
    """
    words = list(arguments)
    vector = ["git", *(part for one in (*_QUIET, *config) for part in ("-c", one)), *words]
    try:
        process = subprocess.Popen(
            vector,
            cwd=cwd,
            env=_environment(environment or {}, remote=remote),
            stdin=subprocess.PIPE if stdin else subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
    except FileNotFoundError:
        raise GitError("there is no git on this machine", hint="install git 2.32 or newer") from None
    except OSError as error:
        raise GitError(f"git cannot be started: {error.strerror or error}", hint="ackd doctor") from None
    try:
        if isinstance(stdin, bytes):
            out, errors = process.communicate(stdin or None, timeout=timeout_s)
        else:
            # Only for commands that say nothing before they have read everything: no pipe can fill.
            _feed(process, stdin)
            out, errors = process.communicate(timeout=timeout_s)
    except subprocess.TimeoutExpired:
        raise GitError(
            f"git {words[0]} gave no answer within {timeout_s:g} s", hint="try again; is the remote up?"
        ) from None
    finally:
        if process.poll() is None:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
    return Done(process.returncode, out, errors.decode("utf-8", "replace").strip())


def _feed(process: subprocess.Popen[bytes], pieces: Iterable[bytes]) -> None:
    pipe = process.stdin
    assert pipe is not None
    with contextlib.suppress(BrokenPipeError):
        for piece in pieces:
            pipe.write(piece)


def _environment(more: Mapping[str, str], *, remote: bool) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("GIT_") or name in _OF_THE_PERSON}
    environment = {**kept, **_NOBODY_ASKS, **more}
    if not remote:
        environment |= {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    return environment


def said(done: Done) -> str:
    """Give the line of git's errors that says most, at most 400 characters."""
    lines = [one.strip() for one in done.errors.splitlines() if one.strip()]
    telling = [one for one in lines if one.startswith(("fatal:", "error:", "remote:", "ssh:", "!"))]
    return (telling or lines or [f"exit {done.code}"])[0][:_SAID]


class Entry(msgspec.Struct, frozen=True, order=True):
    """What a commit holds under one path: mode (`100644` a file) and the hash of its object."""

    mode: str
    oid: str

    @property
    def is_file(self) -> bool:
        """True for a regular file: no link, no repository of its own."""
        return self.mode in ("100644", "100755")


class Git:
    """Git on one tree: all commands run with the private directory, see above.

    Args:
        tree: The tree.
        private: Our git directory for it, outside the tree.
    """

    def __init__(self, tree: Path, private: Path) -> None:
        self.tree, self.private = tree, private
        self.index = private / "index"

    def run(
        self,
        *arguments: str,
        stdin: bytes | Iterable[bytes] = b"",
        index: Path | None = None,
        remote: bool = False,
        environment: Mapping[str, str] | None = None,
        config: Iterable[str] = (),
    ) -> Done:
        """Run a command, whatever it says; `index` names another index file than our own."""
        variables = {
            "GIT_DIR": str(self.private),
            "GIT_WORK_TREE": str(self.tree),
            "GIT_INDEX_FILE": str(index or self.index),
            **(environment or {}),
        }
        limit = REMOTE_S if remote else QUICK_S
        return run_git(
            arguments,
            cwd=self.tree,
            environment=variables,
            stdin=stdin,
            timeout_s=limit,
            remote=remote,
            config=config,
        )

    def must(
        self,
        *arguments: str,
        stdin: bytes | Iterable[bytes] = b"",
        index: Path | None = None,
        environment: Mapping[str, str] | None = None,
        config: Iterable[str] = (),
    ) -> bytes:
        """Run a command that has to go well, and give its output.

        Raises:
            GitError: It did not.
        """
        done = self.run(*arguments, stdin=stdin, index=index, environment=environment, config=config)
        if done.code:
            raise GitError(f"git {arguments[0]} failed: {said(done)}", hint=f"git -C {self.tree} status")
        return done.out

    def oid_of(self, name: str) -> str:
        """Give the commit that a name stands for, or an empty string."""
        done = self.run("rev-parse", "--verify", "--quiet", f"{name}^{{commit}}")
        return done.out.decode("ascii").strip() if done.code == 0 else ""

    def entries(self, commit: str) -> dict[str, Entry]:
        """Give every path of a commit with what it holds; nothing for an empty name."""
        if not commit:
            return {}
        found = {}
        for line in self.must("ls-tree", "-r", "-z", "--full-tree", commit).split(b"\0"):
            if line:
                head, _, path = line.partition(b"\t")
                mode, _, oid = head.decode("ascii").split(" ")
                found[os.fsdecode(path)] = Entry(mode, oid)
        return found

    def staged(self, index: Path, paths: Iterable[str]) -> dict[str, Entry | None]:
        """Give what an index holds under paths; None where it is in a conflict, which nobody but a person ends."""
        wanted, found = set(paths), dict[str, Entry | None]()
        for line in self.must("ls-files", "--stage", "-z", index=index).split(b"\0"):
            head, _, name = line.partition(b"\t")
            path = os.fsdecode(name)
            if line and path in wanted:
                mode, oid, stage = head.decode("ascii").split(" ")
                found[path] = Entry(mode, oid) if stage == "0" else None
        return found

    def blobs(self, oids: Iterable[str]) -> Iterator[tuple[str, bytes]]:
        """Give the bytes of objects, in the order asked, some hundred at a time in memory."""
        names = list(oids)
        for start in range(0, len(names), _CHUNK):
            part = names[start : start + _CHUNK]
            out = self.must("cat-file", "--batch", stdin="".join(f"{one}\n" for one in part).encode("ascii"))
            at = 0
            for oid in part:
                end = out.index(b"\n", at)
                words = out[at:end].split(b" ")
                if len(words) != 3 or words[1] != b"blob":
                    raise GitError(
                        f"git lacks the object {oid}", hint=f"git -C {self.tree} fsck; a fresh clone has everything"
                    )
                size = int(words[2])
                yield oid, out[end + 1 : end + 1 + size]
                at = end + 1 + size + 1

    def blob(self, oid: str) -> bytes:
        """Give the bytes of one object."""
        return next(data for _, data in self.blobs([oid]))

    def tree_with(self, commit: str, changes: Mapping[str, Entry | None], scratch: Path) -> str:
        """Write a tree: that of a commit (none: an empty name) with changes; None takes a path away.

        Args:
            commit: Where to start from.
            changes: Paths and what they hold then.
            scratch: An index file to use; it is removed.
        """
        scratch.unlink(missing_ok=True)
        try:
            self.must("read-tree", commit or "--empty", index=scratch)
            if changes:
                self.change_index(scratch, changes)
            return self.must("write-tree", index=scratch).decode("ascii").strip()
        finally:
            scratch.unlink(missing_ok=True)

    def change_index(self, index: Path, changes: Mapping[str, Entry | None]) -> None:
        """Change paths of an index; what else is in it stays."""
        self.must("update-index", "-z", "--add", "--replace", "--index-info", stdin=_lines(changes), index=index)


def _lines(changes: Mapping[str, Entry | None]) -> bytes:
    # What goes, goes first: a folder may take the place of a file.
    zero = "0" * max((len(one.oid) for one in changes.values() if one), default=40)
    ordered = sorted(changes.items(), key=lambda item: (item[1] is not None, item[0]))
    return b"".join(
        f"{one.mode if one else '0'} {one.oid if one else zero}\t".encode("ascii") + os.fsencode(path) + b"\0"
        for path, one in ordered
    )
