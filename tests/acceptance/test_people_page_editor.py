"""The people's page in the hands of the real vim, and of git pull, while a daemon runs: told once, never touched."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.conftest import Daemon, Tree

Eventually = Callable[..., None]

PAGE = "PROJECT_STATUS.md"
TEXT = """---
updated: 2026-03-08
updated_by: wen
health: green
---

# Project status

## Requests

- [ ] @trading: 检查限额 one

## Notes

nothing yet
"""
# What a user may have in his .vimrc; each way leaves other traces beside the page.
SETTINGS = {
    "no-backup-at-all": "nobackup nowritebackup",
    "moved-away-while-writing": "nobackup writebackup backupcopy=no",
    "copied-while-writing": "nobackup writebackup backupcopy=yes",
    "vim-decides": "nobackup writebackup backupcopy=auto",
    "backup-kept-by-renaming": "backup writebackup backupcopy=no",
    "backup-kept-by-copying": "backup writebackup backupcopy=yes",
}

CONFLICT = [r":/ one$/s/.*/<<<<<<< HEAD\r&\r=======\r- [ ] @trading: 别人的 three\r>>>>>>> side/"]
RESOLVED = [r":g/^[<=>]\{7}/d", r":g/three$/d"]


def stands(path: Path) -> tuple[str, int, int]:
    """Give hash, inode and time of change: another writer would change one of them."""
    found = path.stat()
    return hashlib.sha256(path.read_bytes()).hexdigest(), found.st_ino, found.st_mtime_ns


def notices(tree: Tree, agent: str) -> int:
    """Count the notices about the page."""
    return sum(one["kind"] == "notice" and one.get("path") == PAGE for one in tree.inbox(agent))


def asked(tree: Tree) -> list[str]:
    """Give what trading was asked, sorted."""
    return sorted(one["envelope"]["action"] for one in tree.inbox("trading") if one["kind"] == "request")


class Vim:
    """The real vim on the page, without its user's configuration."""

    def __init__(self, path: Path, settings: str) -> None:
        found = shutil.which("vim")
        assert found is not None, "this test needs vim: install it (apt-get install vim)"
        self.path, self.settings, self.program = path, settings, found

    def __call__(self, *commands: str) -> tuple[str, int, int]:
        """Run ex commands, write and quit; give what stands then, which is not what stood before."""
        before = self.path.read_bytes()
        script = [f"set {self.settings}", *commands, "wq"]
        subprocess.run(
            # Below /tmp vim makes no backup of any kind unless backupskip is empty.
            [self.program, "-e", "-s", "-u", "NONE", "-i", "NONE"]
            + ["--cmd", "set nocompatible encoding=utf-8 backupskip="]
            + [word for command in script for word in ("-c", command)]
            + [self.path.name],
            cwd=self.path.parent,
            check=True,
            timeout=20,
            stdin=subprocess.DEVNULL,
            env={**os.environ, "TERM": "dumb"},
        )
        assert self.path.read_bytes() != before, f"vim changed nothing: {commands}"
        return stands(self.path)


@pytest.fixture
def running(tree: Tree, daemon_process: Callable[..., Daemon], eventually: Eventually) -> Tree:
    """Give a tree with a page whose one request was told, under a daemon."""
    daemon_process()
    eventually(lambda: (tree.path / "BOARD.md").is_file())
    tree.drop(PAGE, TEXT)
    eventually(lambda: asked(tree) == ["检查限额 one"])
    return tree


@pytest.mark.needs_tools
@pytest.mark.parametrize("settings", SETTINGS.values(), ids=SETTINGS)
def test_vim_saves_each_change_once(running: Tree, eventually: Eventually, settings: str) -> None:
    """A line added, ticked, moved, in conflict, reworded: what is new is told once, of all else nobody hears."""
    path = running.path / PAGE
    vim = Vim(path, settings)

    inode = stands(path)[1]
    saved = vim(r":%s/ one$/ one\r- [ ] @trading: 看油价 two/", r":%s/nothing yet/@macro: note 1/")
    two = sorted(["检查限额 one", "看油价 two"])
    eventually(lambda: asked(running) == two and notices(running, "macro") == 1)
    assert stands(path) == saved
    # The way of saving is the one that was meant: a new file in the old one's place, or the old one written anew.
    if "backupcopy=no" in settings:
        assert saved[1] != inode
    if "backupcopy=yes" in settings or "nowritebackup" in settings:
        assert saved[1] == inode

    # Each of these is saved by itself, and nobody is to hear of it.
    before = running.all_inboxes()
    ticked, moved = [r":%s/\[ \] \(.*two\)/[x] \1/"], [r":/ one$/", ":m+1"]
    unticked, blanks = [r":%s/\[x\] /[ ] /"], [r":%s/ two$/ two  /"]
    for commands in (ticked, moved, unticked, blanks, CONFLICT, RESOLVED):
        saved = vim(*commands)
        time.sleep(1.2)
        assert stands(path) == saved
    assert running.all_inboxes() == before

    saved = vim(r":%s/ one$/ 1/", r":%s/note 1/note 2/")
    eventually(lambda: asked(running) == sorted([*two, "检查限额 1"]) and notices(running, "macro") == 2)
    time.sleep(1.2)
    assert stands(path) == saved
    assert asked(running) == sorted([*two, "检查限额 1"])
    assert (notices(running, "macro"), notices(running, "trading"), notices(running, "zoe")) == (2, 0, 0)
    assert {one.phase for name, one in running.threads().items() if name.startswith("page-")} == {"request"}
    assert running.records() == []
    assert (running.path / f"{PAGE}~").is_file() is settings.startswith("backup")


@pytest.mark.needs_tools
def test_the_board_shows_what_vim_left(running: Tree, eventually: Eventually) -> None:
    """Conflict markers while they stand; after a line was reworded, the old one as dropped from the page, once."""
    path = running.path / PAGE
    vim = Vim(path, SETTINGS["vim-decides"])
    before = running.all_inboxes()
    vim(*CONFLICT)
    eventually(lambda: "conflict markers" in running.page("BOARD.md"), 25)
    assert "dropped from the page" not in running.page("BOARD.md")
    vim(*RESOLVED)
    eventually(lambda: "conflict markers" not in running.page("BOARD.md"), 25)
    assert running.all_inboxes() == before
    saved = vim(r":%s/ one$/ 1/")
    eventually(lambda: asked(running) == sorted(["检查限额 one", "检查限额 1"]))
    eventually(lambda: running.page("BOARD.md").count("dropped from the page") == 1, 25)
    assert stands(path) == saved


def test_git_pull_and_another_commit_and_back(running: Tree, eventually: Eventually, tmp_path: Path) -> None:
    """A colleague's line comes by pull and is asked once; an older commit, detached, and the way back ask nothing."""
    path, other = running.path / PAGE, tmp_path / "other"

    def git(where: Path, *arguments: str) -> str:
        name = ["-c", "user.name=wen", "-c", "user.email=wen@example.org", "-c", "init.defaultBranch=main"]
        done = subprocess.run(["git", *name, *arguments], cwd=where, check=True, capture_output=True, text=True)
        return done.stdout.strip()

    git(running.path, "init", "-q")
    git(running.path, "add", PAGE)
    git(running.path, "commit", "-q", "-m", "first")
    git(tmp_path, "clone", "-q", str(running.path), str(other))
    (other / PAGE).write_text(
        TEXT.replace(" one\n", " one\n- [ ] @trading: 远方 two\n").replace("nothing yet", "@macro: 远方"), "utf-8"
    )
    git(other, "commit", "-q", "-a", "-m", "from afar")
    first = git(running.path, "rev-parse", "HEAD")
    git(running.path, "pull", "-q", "--ff-only", str(other), "main")
    saved = stands(path)
    eventually(lambda: asked(running) == sorted(["检查限额 one", "远方 two"]) and notices(running, "macro") == 1)
    assert stands(path) == saved
    before = running.all_inboxes()
    for commit in (first, "main", first, "main"):
        git(running.path, "checkout", "-q", commit)
        saved = stands(path)
        time.sleep(1.2)
        assert stands(path) == saved
    git(running.path, "pull", "-q", "--ff-only", str(other), "main")
    time.sleep(1.2)
    assert running.all_inboxes() == before
    assert running.records() == []
