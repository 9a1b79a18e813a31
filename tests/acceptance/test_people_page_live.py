"""The people's page under a daemon that runs: every way of saving it, git included, and never a byte of ours in it."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.conftest import Daemon, Tree

Start = Callable[..., "Daemon"]
Eventually = Callable[..., None]

PAGE = "PROJECT_STATUS.md"
FRONT = "---\nupdated: 2026-03-08\nupdated_by: wen\nhealth: green\n---\n\n# Project status\n"


def page(*requests: str, notes: str = "") -> str:
    """Write a page with these requests and notes."""
    return f"{FRONT}\n## Requests\n\n" + "".join(f"{line}\n" for line in requests) + f"\n## Notes\n\n{notes}\n"


def in_place(path: Path, data: bytes) -> None:
    """Save as `cat > file` does: the page is empty, then it is cut, then it is whole."""
    with path.open("wb", buffering=0) as file:
        time.sleep(0.05)
        file.write(data[: len(data) // 2])
        time.sleep(0.05)
        file.write(data[len(data) // 2 :])


def by_rename(path: Path, data: bytes) -> None:
    """Save as most programs do: beside it, then over it."""
    beside = path.with_name(f".{path.name}.tmp")
    beside.write_bytes(data)
    beside.replace(path)


def like_vim(path: Path, data: bytes) -> None:
    """Save as vim does with a backup: try the folder, move the page away, write it anew, remove what was moved."""
    swap, backup = path.with_name(f".{path.name}.swp"), path.with_name(f"{path.name}~")
    swap.write_bytes(b"b0VIM 9.0")
    path.with_name("4913").touch()
    path.with_name("4913").unlink()
    path.rename(backup)
    time.sleep(0.05)
    with path.open("xb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    backup.unlink()
    swap.unlink()


def unlinked(path: Path, data: bytes) -> None:
    """Save as careless scripts do: remove it, then write it."""
    path.unlink()
    time.sleep(0.1)
    path.write_bytes(data)


def about_page(tree: Tree, agent: str) -> list[dict[str, Any]]:
    """Give the notices about the page."""
    return [one for one in tree.inbox(agent) if one["kind"] == "notice" and one.get("path") == PAGE]


def requests(tree: Tree, agent: str) -> list[str]:
    """Give what an agent was asked, sorted."""
    return sorted(one["envelope"]["action"] for one in tree.inbox(agent) if one["kind"] == "request")


def sha256(path: Path) -> str:
    """Give the hash of the page."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


@pytest.fixture
def running(tree: Tree, daemon_process: Start, eventually: Eventually) -> Tree:
    """Give a tree whose daemon is up."""
    daemon_process()
    eventually(lambda: (tree.path / "BOARD.md").is_file())
    return tree


class TestEveryWayOfSaving:
    def test_each_change_is_told_once_and_the_page_is_never_touched(
        self, running: Tree, eventually: Eventually
    ) -> None:
        """In place, by rename, as vim, by removing it first, by a real sed -i."""
        path = running.path / PAGE
        ways = (in_place, by_rename, like_vim, unlinked)
        for number, save in enumerate(ways, start=1):
            text = page(
                *(f"- [ ] @trading: task {one}" for one in range(1, number + 1)), notes=f"@macro: note {number}"
            )
            save(path, text.encode())
            saved = sha256(path)
            eventually(lambda number=number: len(about_page(running, "macro")) == number)
            assert requests(running, "trading") == [f"task {one}" for one in range(1, number + 1)]
            assert sha256(path) == saved
        sed = shutil.which("sed")
        assert sed is not None
        subprocess.run([sed, "-i", "s/note 4/note five/", str(path)], check=True)
        eventually(lambda: len(about_page(running, "macro")) == len(ways) + 1)
        subprocess.run([sed, "-i", "s/\\[ \\]/[x]/", str(path)], check=True)
        saved = sha256(path)
        time.sleep(2.5)
        assert len(about_page(running, "macro")) == len(ways) + 1
        assert len(requests(running, "trading")) == len(ways)
        assert about_page(running, "trading") == about_page(running, "zoe") == []
        assert sha256(path) == saved
        assert [one for one in running.records() if "PROJECT" in one] == []

    def test_a_reworded_line_is_one_new_request_and_the_board_shows_the_old_one(
        self, running: Tree, eventually: Eventually
    ) -> None:
        """Chinese words; both threads go on."""
        path = running.path / PAGE
        by_rename(path, page("- [ ] @trading: 检查限额").encode())
        eventually(lambda: requests(running, "trading") == ["检查限额"])
        like_vim(path, page("- [ ] @trading: 检查全部限额").encode())
        eventually(lambda: requests(running, "trading") == sorted(["检查限额", "检查全部限额"]))
        eventually(lambda: running.page("BOARD.md").count("dropped from the page") == 1, 15)
        assert {one.phase for name, one in running.threads().items() if name.startswith("page-")} == {"request"}


class TestReplacedByGit:
    def test_another_commit_and_back_tells_and_asks_each_thing_once(
        self, running: Tree, eventually: Eventually
    ) -> None:
        """A checkout, the way back, a merge that conflicts and is given up: no second request, no second notice."""
        path = running.path / PAGE

        def git(*arguments: str, check: bool = True) -> None:
            subprocess.run(
                ["git", "-c", "user.name=wen", "-c", "user.email=wen@example.org", *arguments],
                cwd=running.path,
                check=check,
                capture_output=True,
            )

        git("init", "-q", "-b", "main")
        by_rename(path, page("- [ ] @trading: from main", notes="@macro: main speaks").encode())
        git("add", PAGE)
        git("commit", "-q", "-m", "main")
        eventually(lambda: requests(running, "trading") == ["from main"] and len(about_page(running, "macro")) == 1)
        git("checkout", "-q", "-b", "side")
        by_rename(path, page("- [ ] @trading: from side", notes="@macro: side speaks").encode())
        git("commit", "-q", "-a", "-m", "side")
        both = ["from main", "from side"]
        eventually(lambda: requests(running, "trading") == both and len(about_page(running, "macro")) == 2)
        before = running.all_inboxes()
        for branch in ("main", "side", "main"):
            git("checkout", "-q", branch)
            saved = sha256(path)
            time.sleep(1.6)
            assert sha256(path) == saved
        by_rename(path, page("- [ ] @trading: from main", notes="nothing here").encode())
        git("commit", "-q", "-a", "-m", "main again")
        git("merge", "side", check=False)
        assert "<<<<<<<" in path.read_text(encoding="utf-8")
        saved = sha256(path)
        eventually(lambda: "conflict markers" in running.page("BOARD.md"), 20)
        assert sha256(path) == saved
        git("merge", "--abort")
        eventually(lambda: "conflict markers" not in running.page("BOARD.md"), 20)
        assert running.all_inboxes() == before
