"""The sync with real git: clones over a bare repository, conflicts, crashes, hostile settings, repositories around."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ackd.engine.doctor import examine
from ackd.engine.syncing import set_up, sync_now, sync_status
from ackd.engine.template import lay_down
from ackd.errors import DeliveryError, NotAllowedError, UsageError
from ackd.gitsync import Synced
from ackd.gitsync.repository import SyncBusyError

PAGE = "PROJECT_STATUS.md"


def git(folder: Path, *words: str, ok: bool = True) -> str:
    """Run git as a person does."""
    vector = ["git", "-c", "user.name=wen", "-c", "user.email=wen@example.org", *words]
    done = subprocess.run(vector, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0 or not ok, done.stderr
    return done.stdout


class Site:
    """One machine's tree."""

    def __init__(self, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.path, self.name, self._monkeypatch = path, path.parent.name, monkeypatch

    def write(self, path: str, text: str | bytes) -> Path:
        """Write a file in place."""
        target = self.path / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(text.encode() if isinstance(text, str) else text)
        return target

    def read(self, path: str) -> str:
        """Read a file."""
        return (self.path / path).read_text(encoding="utf-8")

    def sync(self) -> Synced:
        """Sync once, as this machine."""
        self._monkeypatch.setenv("ACKD_NODE", self.name)
        return sync_now(self.path, wait=False)

    def files(self) -> dict[str, bytes]:
        """Give all files with their bytes, but git's and the scratch."""
        found = {}
        for here, folders, names in os.walk(self.path):
            folders[:] = [one for one in folders if one not in (".git", ".ackd")]
            for name in names:
                path = Path(here) / name
                if path.is_file() and not path.is_symlink():
                    found[path.relative_to(self.path).as_posix()] = path.read_bytes()
        return found

    def git(self, *words: str) -> str:
        """Run git in the tree as a person does."""
        return git(self.path, *words)

    def dirty(self) -> str:
        """Give what a person's `git status` shows."""
        return self.git("status", "--porcelain")


@pytest.fixture(autouse=True)
def _machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """State, configuration and git's own settings of this test alone; files count as rested at once."""
    monkeypatch.setenv("ACKD_STATE", str(tmp_path / "state"))
    monkeypatch.setenv("ACKD_CONFIG", str(tmp_path / "none.yaml"))
    monkeypatch.setenv("ACKD_NODE", "one")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / "gitconfig"))
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    monkeypatch.setattr("ackd.gitsync.sync.RESTED_MS", 0)
    monkeypatch.setattr("ackd.gitsync.sync._PAUSE_S", 0.001)


@pytest.fixture
def bare(tmp_path: Path) -> Path:
    """Make an empty bare repository."""
    path = tmp_path / "团队.git"
    git(tmp_path, "init", "--quiet", "--bare", "--initial-branch=main", str(path))
    return path


@pytest.fixture
def one(tmp_path: Path, bare: Path, monkeypatch: pytest.MonkeyPatch) -> Site:
    """Set up the first machine and sync once."""
    path = tmp_path / "one" / "shared-context"
    path.parent.mkdir()
    lay_down(path)
    set_up(path, str(bare))
    site = Site(path, monkeypatch)
    site.sync()
    return site


@pytest.fixture
def join(tmp_path: Path, bare: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Site]:
    """Give a way to clone the tree to further machines."""

    def clone(name: str) -> Site:
        path = tmp_path / name / "shared-context"
        path.parent.mkdir()
        git(tmp_path, "clone", "--quiet", str(bare), str(path))
        return Site(path, monkeypatch)

    return clone


@pytest.fixture
def two(one: Site, join: Callable[[str], Site]) -> Site:
    """Clone the tree to a second machine."""
    return join("two")


class TestSetUp:
    def test_a_tree_becomes_a_repository_of_its_own_once(self, tmp_path: Path, bare: Path) -> None:
        """A repeated `sync init` changes nothing."""
        path = tmp_path / "shared-context"
        lay_down(path)
        first, again = set_up(path, str(bare)), set_up(path)
        assert first.made.created
        assert (again.made.changes, again.files, again.made.remote) == ((), (), str(bare))
        assert git(path, "config", "merge.renames").strip() == "false"
        assert git(path, "config", "core.quotepath").strip() == "false"
        assert git(path, "symbolic-ref", "HEAD").strip() == "refs/heads/main"

    def test_a_branch_that_is_there_stays(self, tmp_path: Path) -> None:
        """A repository with a branch of another name keeps it."""
        path = tmp_path / "shared-context"
        lay_down(path)
        git(path, "init", "--quiet", "--initial-branch=trunk")
        assert set_up(path).made.branch == "trunk"

    def test_missing_git_files_are_laid_down_and_others_stay(self, tmp_path: Path) -> None:
        """Only what is missing of .gitattributes and .gitignore is written."""
        path = tmp_path / "shared-context"
        lay_down(path)
        (path / ".gitattributes").unlink()
        (path / ".gitignore").write_text("mine\n", encoding="ascii")
        assert set_up(path).files == (".gitattributes",)
        assert (path / ".gitignore").read_text(encoding="ascii") == "mine\n"

    def test_a_repository_around_it_is_left_alone(self, tmp_path: Path, bare: Path) -> None:
        """The tree is excluded there by a file that is no part of that repository, and nothing is committed there."""
        around = tmp_path / "项目 [x]"
        around.mkdir()
        git(around, "init", "--quiet")
        git(around, "commit", "--quiet", "--allow-empty", "-m", "start")
        path = around / "shared-context"
        lay_down(path)
        with pytest.raises(NotAllowedError, match="never commits, merges or pushes there"):
            sync_now(path)
        set_up(path, str(bare))
        set_up(path)
        sync_now(path)
        assert git(around, "status", "--porcelain") == ""
        assert git(around, "rev-list", "--count", "HEAD").strip() == "1"
        assert (around / ".git/info/exclude").read_text(encoding="utf-8").count("/shared-context/") == 1
        assert git(path, "rev-list", "--count", "HEAD").strip() == "1"

    def test_files_that_the_repository_around_tracks_are_said(self, tmp_path: Path) -> None:
        """Excluding does not untrack; the person is told the command."""
        git(tmp_path, "init", "--quiet")
        lay_down(tmp_path / "shared-context")
        git(tmp_path, "add", "shared-context")
        assert "rm -r --cached" in set_up(tmp_path / "shared-context").made.notes[0]

    @pytest.mark.parametrize(
        "remote", ["ext::sh -c id", "-u", "", " \n", "ftp://x/y", "fd::3", "{tree}/inner.git", "/no/where.git"]
    )
    def test_what_is_no_remote_is_refused(self, one: Site, remote: str) -> None:
        """Helpers that run programs, options, folders of the tree and missing ones."""
        before = one.read(".git/config")
        with pytest.raises(UsageError):
            set_up(one.path, remote.replace("{tree}", str(one.path)) or " ")
        assert one.read(".git/config") == before

    def test_a_linked_work_tree_is_refused(self, one: Site, tmp_path: Path) -> None:
        """Its `.git` is a file and names another repository."""
        one.git("worktree", "add", "--quiet", str(tmp_path / "linked" / "shared-context"), "-b", "x")
        with pytest.raises(NotAllowedError, match="no repository of its own"):
            sync_now(tmp_path / "linked" / "shared-context")


class TestTogether:
    def test_two_machines_come_to_the_same_tree(self, one: Site, two: Site, join: Callable[[str], Site]) -> None:
        """Thirty syncs with different files on both sides: no conflict, equal trees, clean status, a fresh clone."""
        for number in range(15):
            one.write(f"roundtable/week/final-宏观-{number}.json", json.dumps({"n": number}))
            two.write(f"ledger/two-1/{number}.jsonl", f"{number}\n")
            two.write(f"inbox/trading/{number}.json", "{}")
            if number > 2:
                (two.path / f"inbox/trading/{number - 2}.json").unlink()
            for site in (one, two) if number % 2 else (two, one):
                assert site.sync().conflicts == ()
        one.sync()
        two.sync()
        assert one.files() == two.files() == join("three").files()
        assert one.dirty() == two.dirty() == ""
        assert "Ackd-Node: two" in one.git("log", "--format=%B")
        assert len(list(one.path.glob("roundtable/week/*.json"))) == 15

    def test_pages_are_carried_and_lines_merged(self, one: Site, two: Site) -> None:
        """Both sides edit other lines of the people's page: git's merge of lines is taken."""
        one.write(PAGE, "a\nb\nc\nd\ne\n")
        one.sync()
        two.sync()
        one.write(PAGE, "A\nb\nc\nd\ne\n")
        two.write(PAGE, "a\nb\nc\nd\nE\n")
        one.sync()
        assert two.sync().conflicts == ()
        one.sync()
        assert one.read(PAGE) == two.read(PAGE) == "A\nb\nc\nd\nE\n"

    def test_a_clone_is_set_as_the_first_machine_is(self, one: Site, two: Site) -> None:
        """By its first sync; what a person set otherwise stays."""
        two.git("config", "core.quotepath", "true")
        two.sync()
        assert two.git("config", "merge.renames").strip() == "false"
        assert two.git("config", "core.quotepath").strip() == "true"

    def test_nothing_to_do_makes_no_commit(self, one: Site, two: Site) -> None:
        """An idle sync changes neither side."""
        two.sync()
        before = one.git("rev-parse", "HEAD")
        assert not one.sync().pushed
        assert one.git("rev-parse", "HEAD") == before
        assert two.git("rev-parse", "HEAD") == before

    def test_two_thousand_files_go_in_one_sync(self, one: Site, two: Site) -> None:
        """In seconds, and no file is left behind."""
        for number in range(2000):
            one.write(f"roundtable/t{number % 20}/request-张三-{number}.json", f'{{"n": {number}}}')
        start = time.monotonic()
        assert len(one.sync().committed) == 2000
        assert len(two.sync().taken) == 2000
        assert time.monotonic() - start < 60
        assert one.files() == two.files()

    def test_two_trees_that_began_apart_are_joined(
        self, one: Site, tmp_path: Path, bare: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """`ackd init` and `sync init` on both machines instead of a clone: histories without a common start merge."""
        path = tmp_path / "four" / "shared-context"
        lay_down(path)
        set_up(path, str(bare))
        other = Site(path, monkeypatch)
        other.write("intel/x.json", "{}")
        assert other.sync().conflicts == ()
        one.sync()
        assert one.files() == other.files()

    def test_a_remote_that_holds_something_else_is_not_touched(self, tmp_path: Path, bare: Path) -> None:
        """A code repository named by mistake is neither merged nor pushed to."""
        git(tmp_path, "clone", "--quiet", str(bare), "code")
        (tmp_path / "code/main.c").write_text("int x;\n", encoding="ascii")
        git(tmp_path / "code", "add", ".")
        git(tmp_path / "code", "commit", "--quiet", "-m", "code")
        git(tmp_path / "code", "push", "--quiet", "origin", "HEAD:main")
        path = tmp_path / "shared-context"
        lay_down(path)
        set_up(path, str(bare))
        with pytest.raises(DeliveryError, match="something else"):
            sync_now(path, wait=False)
        assert not (path / "main.c").exists()
        assert git(bare, "rev-list", "--count", "main").strip() == "1"

    def test_a_remote_without_our_branch_is_not_guessed_at(self, one: Site, bare: Path) -> None:
        """Only `master` there, `main` here: a person decides."""
        git(bare, "branch", "-m", "main", "master")
        one.git("update-ref", "-d", "refs/remotes/origin/main")
        with pytest.raises(DeliveryError, match="has no branch main, but master"):
            one.sync()

    def test_a_push_that_was_overtaken_is_tried_again(
        self, one: Site, two: Site, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Another machine pushes between our fetch and our push."""
        from ackd.gitsync.sync import _Sync

        real, turns = _Sync._push, iter((1, 2, 3))

        def push(self: Any) -> bool:
            for number in turns:
                two.git("pull", "--quiet", "--no-rebase")
                two.write(f"intel/{number}.json", "{}")
                two.git("add", "--all")
                two.git("commit", "--quiet", "-m", "x")
                two.git("push", "--quiet")
                break
            return real(self)

        monkeypatch.setattr(_Sync, "_push", push)
        one.write("intel/mine.json", "{}")
        assert one.sync().pushed
        assert next(turns, None) is None
        two.sync()
        assert one.files() == two.files()
        assert {"intel/1.json", "intel/3.json", "intel/mine.json"} <= one.files().keys()

    def test_one_that_is_always_overtaken_gives_up_and_keeps_everything(
        self, one: Site, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """After six tries it exits 5; the commit stays and goes next time."""
        from ackd.gitsync.sync import _Sync

        tries = list[int]()

        def overtaken(self: _Sync) -> bool:
            tries.append(1)
            return False

        with monkeypatch.context() as patch:
            patch.setattr(_Sync, "_push", overtaken)
            one.write("intel/mine.json", "{}")
            with pytest.raises(DeliveryError, match="each of 6 times"):
                one.sync()
        assert len(tries) == 6
        assert one.sync().pushed

    def test_a_force_push_by_somebody_loses_nothing(self, one: Site, two: Site) -> None:
        """What a rewritten remote lacks comes back from whoever has it."""
        first = one.git("rev-parse", "HEAD").strip()
        one.write("intel/x.json", "{}")
        one.sync()
        two.write("intel/y.json", "{}")
        two.git("push", "--quiet", "--force", "origin", f"{first}:main")
        two.sync()
        one.sync()
        two.sync()
        assert one.files() == two.files()
        assert {"intel/x.json", "intel/y.json"} <= one.files().keys()


class TestConflicts:
    def test_of_the_peoples_page_ours_stays_and_theirs_lies_beside(self, one: Site, two: Site) -> None:
        """Both versions on both machines, under the same names; nothing is left open."""
        one.write(PAGE, "Anna's\n")
        two.write(PAGE, "文的\n")
        one.sync()
        (conflict,) = two.sync().conflicts
        oid = git(one.path, "rev-parse", f"HEAD:{PAGE}").strip()
        assert (conflict.path, conflict.beside, conflict.what) == (
            PAGE,
            f"PROJECT_STATUS.theirs-{oid[:8]}.md",
            "both-changed",
        )
        one.sync()
        assert one.files() == two.files()
        assert one.read(PAGE) == "文的\n"
        assert one.read(conflict.beside) == "Anna's\n"
        assert one.dirty() == two.dirty() == ""
        assert sync_status(one.path).standing.beside == (conflict.beside,)  # type: ignore[union-attr]

    def test_of_a_message_theirs_is_no_drop(self, one: Site, two: Site) -> None:
        """Two authors under one path: the other's file does not end in .json, and no lines are mixed."""
        path = "roundtable/week/final.json"
        one.write(path, '{\n"a": 1,\n"b": 1,\n"c": 1,\n"d": 1\n}\n')
        one.sync()
        two.sync()
        one.write(path, '{\n"a": 2,\n"b": 1,\n"c": 1,\n"d": 1\n}\n')
        two.write(path, '{\n"a": 1,\n"b": 1,\n"c": 1,\n"d": 2\n}\n')
        two.sync()
        (conflict,) = one.sync().conflicts
        assert conflict.beside.startswith(f"{path}.theirs-")
        two.sync()
        assert '"a": 2' in two.read(path)
        assert '"d": 2' in two.read(conflict.beside)

    def test_an_edit_outlives_a_deletion(self, one: Site, two: Site) -> None:
        """Deleted on one side and edited on the other: the edited file stays, whoever syncs first."""
        for name in ("x.md", "y.md"):
            one.write(f"decisions/{name}", "1\n")
        one.sync()
        two.sync()
        (one.path / "decisions/x.md").unlink()
        one.write("decisions/y.md", "2\n")
        (two.path / "decisions/y.md").unlink()
        two.write("decisions/x.md", "2\n")
        one.sync()
        assert {one_.what for one_ in two.sync().conflicts} == {"deleted-here", "deleted-there"}
        one.sync()
        assert one.files() == two.files()
        assert one.read("decisions/x.md") == one.read("decisions/y.md") == "2\n"

    def test_a_file_here_and_a_folder_there(self, one: Site, two: Site) -> None:
        """Both are kept, under two names."""
        one.write("decisions/plan", "file\n")
        two.write("decisions/plan/a.md", "in a folder\n")
        one.sync()
        (conflict,) = two.sync().conflicts
        one.sync()
        assert conflict.what == "in-the-way"
        assert one.files() == two.files()
        assert {b"file\n", b"in a folder\n"} <= set(one.files().values())

    def test_a_file_that_becomes_a_folder_is_no_conflict(self, one: Site, two: Site) -> None:
        """And the other way round."""
        one.write("decisions/a", "1\n")
        one.write("decisions/b/c", "1\n")
        one.sync()
        two.sync()
        (one.path / "decisions/a").unlink()
        one.write("decisions/a/x", "2\n")
        (one.path / "decisions/b/c").unlink()
        (one.path / "decisions/b").rmdir()
        one.write("decisions/b", "2\n")
        one.sync()
        assert two.sync().conflicts == ()
        assert one.files() == two.files()

    def test_somebody_writing_all_the_time_keeps_his_file(
        self, one: Site, two: Site, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A file that never rests does not hold the sync up; what the other side wrote lies beside it."""
        two.sync()
        one.write(PAGE, "theirs\n")
        one.sync()
        two.write(PAGE, "being written\n")
        monkeypatch.setattr("ackd.gitsync.sync.RESTED_MS", 60_000)
        monkeypatch.setattr("ackd.gitsync.sync._WAITS", 0)
        (conflict,) = two.sync().conflicts
        assert two.read(PAGE) == "being written\n"
        assert two.read(conflict.beside) == "theirs\n"
        monkeypatch.setattr("ackd.gitsync.sync.RESTED_MS", 0)
        two.sync()
        one.sync()
        assert one.files() == two.files()
        assert one.read(PAGE) == "being written\n"

    def test_the_same_bytes_on_both_sides_are_none(self, one: Site, two: Site) -> None:
        """An untracked file with the bytes that come does not stand in the way, nor does a young one."""
        one.write("BOARD.md", "board\n")
        one.sync()
        two.write("BOARD.md", "board\n")
        assert two.sync().conflicts == ()
        assert two.dirty() == ""


class TestBesidePeople:
    def test_what_is_staged_stays_staged(self, one: Site, two: Site) -> None:
        """A person's index keeps its own version; git's status shows nothing else."""
        one.write(PAGE, "staged\n")
        one.git("add", PAGE)
        one.write(PAGE, "later\n")
        one.write("intel/x.json", "{}")
        one.write("notes.md", "new, staged\n")
        one.git("add", "notes.md")
        two.write("intel/y.json", "{}")
        two.sync()
        one.sync()
        assert one.git("show", f":{PAGE}") == "staged\n"
        assert one.git("show", f"HEAD:{PAGE}") == "later\n"
        assert one.git("diff", "--cached", "--name-only").split() == [PAGE]
        assert "intel" not in one.dirty()

    @pytest.mark.parametrize(
        ("prepare", "said"),
        [
            (lambda site: site.write(".git/index.lock", ""), "index.lock"),
            (lambda site: site.git("checkout", "--quiet", "--detach"), "detached"),
            (lambda site: site.git("checkout", "--quiet", "-b", "side"), "on the branch side"),
            (lambda site: site.write(".git/MERGE_HEAD", "0" * 40), "a merge is open"),
            (lambda site: (site.path / ".git/rebase-merge").mkdir(), "a rebase is open"),
        ],
    )
    def test_while_git_is_busy_nothing_is_done(self, one: Site, prepare: Callable[[Site], Any], said: str) -> None:
        """It exits 5, says what to do, and commits nothing."""
        prepare(one)
        one.write("intel/x.json", "{}")
        before = one.git("rev-parse", "HEAD", "main")
        with pytest.raises(SyncBusyError, match=said) as caught:
            one.sync()
        assert (caught.value.exit_code, bool(caught.value.hint)) == (5, True)
        assert one.git("rev-parse", "HEAD", "main") == before
        assert said.split()[-1] in sync_status(one.path).busy
        # The CLI's doctor says the same.
        assert any(one_.name == "sync" and one_.level == "warning" for one_ in examine(one.path))

    def test_young_files_wait(self, one: Site, monkeypatch: pytest.MonkeyPatch) -> None:
        """What was changed just now is not committed, and named."""
        monkeypatch.setattr("ackd.gitsync.sync.RESTED_MS", 60_000)
        one.write("intel/x.json", "{")
        done = one.sync()
        assert (done.committed, done.waiting) == ((), ("intel/x.json",))

    def test_a_deletion_rests_as_its_folder_does(self, one: Site, monkeypatch: pytest.MonkeyPatch) -> None:
        """A file that is gone just now may be about to come back, as in a checkout."""
        one.write("intel/x.json", "{}")
        one.sync()
        monkeypatch.setattr("ackd.gitsync.sync.RESTED_MS", 60_000)
        (one.path / "intel/x.json").unlink()
        done = one.sync()
        assert (done.committed, done.waiting) == ((), ("intel/x.json",))
        long_ago = time.time() - 100
        os.utime(one.path / "intel", (long_ago, long_ago))
        assert one.sync().committed == ("intel/x.json",)

    def test_a_person_who_waits_gets_it_all(self, one: Site, monkeypatch: pytest.MonkeyPatch) -> None:
        """By default the command waits until what was just changed has rested."""
        monkeypatch.setattr("ackd.gitsync.sync.RESTED_MS", 400)
        one.write(PAGE, "just now\n")
        start = time.monotonic()
        assert sync_now(one.path).committed == (PAGE,)
        assert time.monotonic() - start > 0.2

    def test_links_and_pipes_are_never_carried(self, one: Site, two: Site, tmp_path: Path) -> None:
        """Nor is what lies behind a linked folder, the scratch, or what is ignored."""
        (tmp_path / "secret").mkdir()
        (tmp_path / "secret/key").write_text("secret", encoding="ascii")
        (one.path / "intel/link.json").symlink_to(tmp_path / "secret/key")
        (one.path / "intel/folder").symlink_to(tmp_path / "secret")
        os.mkfifo(one.path / "intel/pipe.json")
        one.write("x.tmp", "half")
        one.write(".ackd/x", "scratch")
        one.write("intel/x.json", "{}")
        done = one.sync()
        assert done.committed == ("intel/x.json",)
        assert set(done.left_out) <= {"intel/link.json", "intel/folder", "intel/pipe.json"}
        two.sync()
        assert "secret" not in str(two.files())
        assert {path for path in two.files() if path.startswith("intel/")} >= {"intel/x.json"}

    def test_a_link_that_somebody_pushed_is_not_made_here(self, one: Site, two: Site) -> None:
        """A merge writes no link; it stays in git, and is not taken for deleted."""
        (one.path / "intel/passwd.json").symlink_to("/etc/passwd")
        one.git("add", "intel/passwd.json")
        one.git("commit", "--quiet", "-m", "a link")
        one.sync()
        two.write("intel/x.json", "{}")
        two.sync()
        assert not os.path.lexists(two.path / "intel/passwd.json")
        two.sync()
        assert "intel/passwd.json" in two.git("ls-tree", "-r", "--name-only", "HEAD")

    def test_a_merge_does_not_write_through_a_linked_folder(self, one: Site, two: Site, tmp_path: Path) -> None:
        """A folder of the tree that is a link elsewhere stays as it is, and so does what lies there."""
        (tmp_path / "elsewhere").mkdir()
        (two.path / "intel/deep").symlink_to(tmp_path / "elsewhere")
        one.write("intel/deep/x.json", "{}")
        one.sync()
        two.sync()
        assert "intel/deep/x.json" in two.sync().left_out
        one.sync()
        assert list((tmp_path / "elsewhere").iterdir()) == []
        assert (one.path / "intel/deep/x.json").exists()

    def test_names_of_any_bytes_are_carried(self, one: Site, two: Site) -> None:
        """No UTF-8, blanks, quotes, a line break, a leading dash and a star."""
        for name in (b"\xff\xfe.md", b"a b\"'.md", b"line\nbreak.md", b"-x.md", b"*.md", "论坛：周报.md".encode()):
            (one.path / "intel" / os.fsdecode(name)).write_bytes(name)
        assert len(one.sync().committed) == 6
        (two.path / "intel" / os.fsdecode(b"\xff\xfe.md")).write_bytes(b"other")
        assert len(two.sync().conflicts) == 1
        one.sync()
        assert one.files() == two.files()

    def test_crlf_of_a_checkout_is_no_change(self, one: Site, two: Site) -> None:
        """A machine whose git writes CRLF does not send every page back."""
        text = two.read(PAGE)
        two.write(PAGE, text.replace("\n", "\r\n"))
        assert two.sync().committed == ()


class TestSafety:
    def test_nothing_that_lies_in_git_folder_is_run(self, one: Site, two: Site, tmp_path: Path) -> None:
        """Hooks, fsmonitor, filters, drivers, ssh commands, helpers and includes of `.git` are dead."""
        mark = tmp_path / "ran"
        bad = f"sh -c 'echo \"$0 $@\" >> {mark}; cat'"
        for name in ("post-commit", "pre-push", "pre-commit", "reference-transaction", "post-merge", "post-checkout"):
            hook = one.write(f".git/hooks/{name}", f"#!/bin/sh\necho {name} >> {mark}\nexit 1\n")
            hook.chmod(0o755)
        for key in (
            *("core.fsmonitor", "core.sshCommand", "core.editor", "core.pager", "core.askPass", "core.gitProxy"),
            *("filter.evil.clean", "filter.evil.smudge", "filter.evil.process", "merge.evil.driver"),
            *(
                "credential.helper",
                "gpg.program",
                "diff.evil.command",
                "diff.evil.textconv",
                "core.alternateRefsCommand",
            ),
            *("remote.origin.uploadpack", "remote.origin.receivepack", "uploadpack.packObjectsHook", "hook.x.command"),
        ):
            git(one.path, "config", "--file", ".git/config", key, bad)
        for key in ("filter.evil.required", "commit.gpgSign", "push.gpgSign"):
            git(one.path, "config", "--file", ".git/config", key, "true")
        git(one.path, "config", "--file", ".git/config", "core.hooksPath", str(one.path / ".git/hooks"))
        git(one.path, "config", "--file", ".git/config", "include.path", str(one.write("more", "[alias]\n")))
        one.write(".gitattributes", "* filter=evil merge=evil diff=evil\n")
        two.write(PAGE, "theirs\n")
        two.sync()
        one.write(PAGE, "ours\n")
        one.write("intel/x.json", "{}")
        assert one.sync().pushed
        sync_status(one.path)
        examine(one.path)
        two.sync()
        assert not mark.exists()
        assert one.files() == two.files()

    @pytest.mark.parametrize("name", ["index", "refs/heads", "packed-refs", "config"])
    def test_links_in_git_folder_do_not_lead_writes_elsewhere(self, one: Site, tmp_path: Path, name: str) -> None:
        """Git would write its index or a branch wherever they point."""
        target = tmp_path / "elsewhere"
        old = one.path / ".git" / name
        if old.exists():
            old.rename(target)
        else:
            target.write_text("a person's\n", encoding="ascii")
        before = target.read_bytes() if target.is_file() else b""
        old.symlink_to(target)
        one.write("intel/x.json", "{}")
        with pytest.raises(NotAllowedError, match="links inside"):
            one.sync()
        assert (target.read_bytes() if target.is_file() else b"") == before

    def test_the_reflog_is_not_written_through_a_link(self, one: Site, tmp_path: Path) -> None:
        """It would append a line of somebody's choice to a file of the person."""
        profile = tmp_path / "profile"
        profile.write_text("", encoding="ascii")
        log = one.path / ".git/logs/refs/heads/main"
        log.parent.mkdir(parents=True, exist_ok=True)
        log.unlink(missing_ok=True)
        log.symlink_to(profile)
        one.write("intel/x.json", "{}")
        assert one.sync().pushed
        assert profile.read_text(encoding="ascii") == ""

    def test_a_remote_that_was_changed_behind_our_back_is_not_used(self, one: Site, tmp_path: Path) -> None:
        """Only `sync init` changes where a machine syncs to; the doctor says so too."""
        git(tmp_path, "init", "--quiet", "--bare", "evil.git")
        one.git("config", "remote.origin.url", str(tmp_path / "evil.git"))
        one.write("intel/x.json", "{}")
        with pytest.raises(NotAllowedError, match="this machine syncs with"):
            one.sync()
        with pytest.raises(NotAllowedError, match="this machine syncs with"):
            set_up(one.path)
        assert git(tmp_path / "evil.git", "for-each-ref") == ""
        assert any(one_.name == "sync" and one_.level == "problem" for one_ in examine(one.path))
        set_up(one.path, str(tmp_path / "evil.git"))
        assert one.sync().pushed

    def test_a_password_in_the_remote_is_not_shown(self, one: Site) -> None:
        """Neither by the status nor in a message."""
        set_up(one.path, "https://wen:geheim@localhost:1/team.git")
        with pytest.raises(DeliveryError) as caught:
            one.sync()
        assert "geheim" not in caught.value.message + caught.value.hint + repr(sync_status(one.path))

    def test_an_unreachable_remote_loses_nothing(self, one: Site, two: Site, bare: Path) -> None:
        """Exit 5; what was committed goes with the next sync."""
        away = bare.rename(bare.with_name("away.git"))
        one.write("intel/x.json", "{}")
        with pytest.raises(DeliveryError, match="1 file is committed here") as caught:
            one.sync()
        assert caught.value.exit_code == 5
        status = sync_status(one.path)
        assert status.last is not None
        assert status.last.error
        assert status.standing is not None
        assert status.standing.ahead == 1
        away.rename(bare)
        assert one.sync().pushed
        two.sync()
        assert one.files() == two.files()

    def test_a_remote_that_refuses_is_told_and_not_tried_again(self, one: Site, bare: Path) -> None:
        """A hook of the remote is the remote's own matter."""
        hook = bare / "hooks/pre-receive"
        hook.parent.mkdir(exist_ok=True)
        hook.write_text("#!/bin/sh\nexit 1\n", encoding="ascii")
        hook.chmod(0o755)
        one.write("intel/x.json", "{}")
        with pytest.raises(DeliveryError, match=r"does not take it: .*pre-receive hook declined"):
            one.sync()

    @pytest.mark.parametrize("shot", range(8))
    def test_killed_in_the_middle_the_next_sync_finishes(self, one: Site, two: Site, shot: int) -> None:
        """After kill -9 anywhere no byte is lost, no change is reverted, and both trees are equal in the end."""
        for number in range(60):
            one.write(f"roundtable/a/{number}.json", f'{{"one": {number}}}')
            two.write(f"roundtable/b/{number}.json", f'{{"two": {number}}}')
        one.write(PAGE, "one's\n")
        two.write(PAGE, "two's\n")
        (one.path / "AGENTS.md").unlink()
        one.sync()
        wanted = {**{path: data for path, data in two.files().items() if path != "AGENTS.md"}, **one.files()}
        code = (
            "import sys; from pathlib import Path; import ackd.gitsync.sync as s; s.RESTED_MS = 0\n"
            "from ackd.engine.syncing import sync_now; print('go', flush=True); sync_now(Path(sys.argv[1]), wait=False)"
        )
        environment = {**os.environ, "ACKD_NODE": "two", "PYTHONPATH": os.pathsep.join(sys.path)}
        with subprocess.Popen(
            [sys.executable, "-c", code, str(two.path)], env=environment, stdout=subprocess.PIPE
        ) as process:
            assert process.stdout is not None
            process.stdout.readline()
            time.sleep(0.02 + shot * 0.06)
            process.send_signal(signal.SIGKILL)
        time.sleep(0.3)  # Git itself, in a session of its own, ends what it was at.
        for name in ("index.lock", "refs/heads/main.lock"):
            assert not (two.path / ".git" / name).exists()
        two.sync()
        one.sync()
        two.sync()
        assert one.files() == two.files()
        assert one.dirty() == two.dirty() == ""
        found = one.files()
        wanted.pop(PAGE)
        assert {path for path, data in wanted.items() if found.get(path) != data} == set()
        assert "AGENTS.md" not in found
        assert {b"one's\n", b"two's\n"} <= set(found.values())

    def test_stopped_between_any_two_steps_the_next_sync_goes_on(
        self, one: Site, two: Site, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A sync that dies before its first, second … git command: the next one finishes, nothing is reverted."""
        from ackd.gitsync.git import Git

        class Died(BaseException):
            """The end of the process."""

        real, left = Git.run, [0]

        def run(self: Git, *words: str, **more: Any) -> Any:
            left[0] -= 1
            if left[0] == 0:
                raise Died
            return real(self, *words, **more)

        one.write(PAGE, "one's\n")
        one.write("decisions/both.md", "a\nb\nc\nd\n")
        one.sync()
        two.sync()
        one.write("decisions/both.md", "A\nb\nc\nd\n")
        two.write("decisions/both.md", "a\nb\nc\nD\n")
        one.write(PAGE, "one's again\n")
        two.write(PAGE, "two's\n")
        one.write("intel/一.json", "{}")
        two.write("intel/二.json", "{}")
        (one.path / "AGENTS.md").unlink()
        one.sync()
        monkeypatch.setattr(Git, "run", run)
        for number in range(1, 200):
            left[0] = number
            try:
                two.sync()
            except Died:
                continue
            break
        assert number > 15
        monkeypatch.setattr(Git, "run", real)
        two.sync()
        one.sync()
        assert one.files() == two.files()
        assert one.dirty() == two.dirty() == ""
        assert one.read("decisions/both.md") == "A\nb\nc\nD\n"
        assert one.read(PAGE) == "two's\n"
        assert b"one's again\n" in one.files().values()
        assert {"intel/一.json", "intel/二.json"} <= one.files().keys()
        assert "AGENTS.md" not in one.files()
        assert sum(".theirs-" in path for path in one.files()) == 1


class TestCommands:
    @pytest.fixture
    def ackd(self) -> Callable[..., tuple[int, Any]]:
        """Give the command line, with --json."""
        from click.testing import CliRunner

        from ackd.cli import main

        def call(*words: str) -> tuple[int, Any]:
            done = CliRunner().invoke(main, [*words, "--json"], prog_name="ackd")
            return done.exit_code, json.loads(done.stdout)

        return call

    def test_from_init_to_the_second_machine(
        self, ackd: Callable[..., tuple[int, Any]], tmp_path: Path, bare: Path
    ) -> None:
        """The commands that `sync init` prints are the ones that work."""
        path = tmp_path / "shared-context"
        lay_down(path)
        where = ("--dir", str(path))
        code, said = ackd("sync", "status", *where)
        assert (code, said["data"]["is_set_up"]) == (0, False)
        code, said = ackd("sync", "now", *where)
        assert (code, said["error"]["hint"]) == (4, "ackd sync init [REMOTE]")
        code, said = ackd("sync", "init", str(bare), *where)
        assert (code, said["data"]["branch"], said["data"]["remote"]) == (0, "main", str(bare))
        code, said = ackd("sync", "now", "--no-wait", *where)
        assert (code, said["data"]["pushed"]) == (0, True)
        code, said = ackd("sync", "status", *where)
        assert said["data"]["standing"] | {"head": ""} == {
            "head": "",
            "ahead": 0,
            "behind": 0,
            "rested": [],
            "waiting": [],
            "left_out": {},
            "beside": [],
        }
        bare.rename(tmp_path / "gone")
        code, said = ackd("sync", "now", *where)
        assert (code, said["error"]["code"]) == (5, "delivery-failed")

    def test_the_texts_say_what_to_do_next(self, one: Site, two: Site) -> None:
        """Without --json: a line on what went, the conflicts, and the commands of the second machine."""
        from click.testing import CliRunner

        from ackd.cli import main

        one.write(PAGE, "a\n")
        two.write(PAGE, "b\n")
        two.sync()
        runner = CliRunner()
        text = runner.invoke(main, ["sync", "now", "--dir", str(one.path)], prog_name="ackd").output
        assert "1 file committed" in text
        assert "both sides changed it; yours stays, and theirs is PROJECT_STATUS.theirs-" in text
        text = runner.invoke(main, ["sync", "status", "--dir", str(one.path)], prog_name="ackd").output
        assert "lies beside" in text
        text = runner.invoke(main, ["sync", "init", "--dir", str(one.path)], prog_name="ackd").output
        assert "shared-context && ackd up shared-context" in text

    def test_the_doctor_looks_without_asking_the_remote(self, one: Site, bare: Path) -> None:
        """Well, then one finding for each thing that is not as it should be."""
        bare.rename(bare.with_name("gone.git"))
        assert [check.level for check in examine(one.path) if check.name == "sync"] == ["ok"]
        one.git("config", "merge.renames", "true")
        (one.path / ".gitattributes").unlink()
        said = " ".join(check.message for check in examine(one.path) if check.name == "sync")
        assert "merge.renames=false" in said
        assert ".gitattributes" in said
