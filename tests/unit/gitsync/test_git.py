"""Git as a program: its environment, its time, and what is believed of a repository."""

from __future__ import annotations

import hashlib
import subprocess
import time
from pathlib import Path

import pytest

from ackd.errors import NotAllowedError, UsageError
from ackd.gitsync.git import GitError, run_git
from ackd.gitsync.repository import kind_of_repository, prepare, refs_of
from ackd.gitsync.setup import clean_remote, make, shown_remote
from ackd.gitsync.worktree import blob_oid


def _program(folder: Path, name: str, text: str) -> None:
    folder.mkdir(exist_ok=True)
    path = folder / name
    path.write_text(f"#!/bin/sh\n{text}\n", encoding="ascii")
    path.chmod(0o755)


def test_nothing_can_ask(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No terminal, no prompt, no input; git's variables of the caller do not reach it."""
    _program(tmp_path / "bin", "git", 'env; read x || echo "no input"; tty')
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:/usr/bin:/bin")
    monkeypatch.setenv("GIT_DIR", "/elsewhere")
    monkeypatch.setenv("GIT_SSH_COMMAND", "my-ssh")
    said = run_git(["status"], cwd=tmp_path).out.decode().splitlines()
    assert {"GIT_TERMINAL_PROMPT=0", "GIT_ASKPASS=true", "LC_ALL=C", "no input", "not a tty"} <= set(said)
    assert "GIT_SSH_COMMAND=my-ssh" in said
    assert "GIT_CONFIG_GLOBAL=/dev/null" in said
    assert not [one for one in said if one.startswith("GIT_DIR=")]


def test_the_persons_configuration_counts_towards_other_machines(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Credentials and ssh are git's own there, and nowhere else."""
    (tmp_path / "gitconfig").write_text("[user]\nname = 文\n", encoding="utf-8")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / "gitconfig"))
    assert "文" in run_git(["config", "--list"], cwd=tmp_path, remote=True).out.decode()
    assert "文" not in run_git(["config", "--list"], cwd=tmp_path).out.decode()


def test_one_that_hangs_is_ended_with_all_that_it_started(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """After the time is up, at once."""
    _program(tmp_path / "bin", "git", "sleep 60 & sleep 60")
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:/usr/bin:/bin")
    start = time.monotonic()
    with pytest.raises(GitError, match="no answer within"):
        run_git(["fetch"], cwd=tmp_path, timeout_s=0.3)
    assert time.monotonic() - start < 5


def test_a_machine_without_git_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With what to do."""
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(GitError, match="there is no git") as caught:
        run_git(["status"], cwd=tmp_path)
    assert caught.value.exit_code == 5


@pytest.mark.parametrize("like", ["0" * 40, "0" * 64])
def test_blobs_are_named_as_git_names_them(tmp_path: Path, like: str) -> None:
    """SHA-1 and SHA-256."""
    kind = "sha1" if len(like) == 40 else "sha256"
    subprocess.run(["git", "init", "--quiet", f"--object-format={kind}", str(tmp_path)], check=True)
    done = subprocess.run(["git", "hash-object", "--stdin"], cwd=tmp_path, input="文\n".encode(), capture_output=True)
    assert blob_oid("文\n".encode(), like) == done.stdout.decode().strip()
    assert blob_oid(b"", like) == hashlib.new(kind, b"blob 0\0").hexdigest()


class TestRepository:
    def test_what_it_is_to_git(self, tmp_path: Path) -> None:
        """None, one of its own, or something odd."""
        assert kind_of_repository(tmp_path) == "none"
        make(tmp_path)
        assert kind_of_repository(tmp_path) == "own"
        assert refs_of(tmp_path).branch == "main"
        (tmp_path / ".git/HEAD").rename(tmp_path / ".git/HEAD.away")
        assert kind_of_repository(tmp_path) == "odd"

    @pytest.mark.parametrize(("key", "value"), [("extensions.partialClone", "origin"), ("core.sparseCheckout", "true")])
    def test_one_that_lacks_files_on_purpose_is_refused(self, tmp_path: Path, key: str, value: str) -> None:
        """What is not there would be taken for deleted."""
        tree = tmp_path / "tree"
        tree.mkdir()
        make(tree)
        subprocess.run(["git", "config", "--file", ".git/config", key, value], cwd=tree, check=True)
        with pytest.raises(NotAllowedError, match="take what is not there for deleted"):
            prepare(tree, tmp_path / "private", node="one")

    def test_a_shallow_clone_is_refused(self, tmp_path: Path) -> None:
        """Without the history nothing can be merged."""
        tree = tmp_path / "tree"
        tree.mkdir()
        make(tree)
        (tree / ".git/shallow").write_text("", encoding="ascii")
        with pytest.raises(NotAllowedError, match="shallow"):
            prepare(tree, tmp_path / "private", node="one")

    def test_one_with_sha256_is_taken(self, tmp_path: Path) -> None:
        """The object format is the one extension that is followed."""
        tree = tmp_path / "tree"
        subprocess.run(["git", "init", "--quiet", "--object-format=sha256", str(tree)], check=True)
        repository = prepare(tree, tmp_path / "private", node="one")
        assert len(repository.git.must("write-tree").strip()) == 64


@pytest.mark.parametrize(
    "remote",
    ["git@example.org:team.git", "ssh://git@example.org/team.git", "https://example.org/团队.git", "host:/srv/x.git"],
)
def test_addresses_stay_as_they_are(tmp_path: Path, remote: str) -> None:
    """What git itself takes."""
    assert clean_remote(remote, tmp_path) == remote


def test_paths_become_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Git would read them from elsewhere."""
    monkeypatch.chdir(tmp_path)
    assert clean_remote("../x.git", tmp_path / "tree") == str(tmp_path.parent / "x.git")
    assert clean_remote(f"file://{tmp_path}/x.git", tmp_path / "tree") == f"{tmp_path}/x.git"
    with pytest.raises(UsageError, match="lies in the tree itself"):
        clean_remote(str(tmp_path / "tree/x.git"), tmp_path / "tree")


def test_name_and_password_are_not_shown() -> None:
    """Of an address with them."""
    assert shown_remote("https://wen:geheim@example.org/x.git") == "https://example.org/x.git"
    assert shown_remote("git@example.org:x.git") == "git@example.org:x.git"
