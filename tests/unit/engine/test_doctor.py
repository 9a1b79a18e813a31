"""The doctor: what it finds wrong with tree, memory and machine, and what it puts right."""

from __future__ import annotations

import os
import re
import time
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from ackd.engine import doctor_machine, doctor_memory
from ackd.engine.doctor import Check, examine, examine_machine
from ackd.exchange import SealedFiles
from ackd.fs.beneath import Root
from ackd.fs.stage import Stage

if TYPE_CHECKING:
    from tests.conftest import Bench, Tree

HOUR = 3_600_000


def in_a_minute() -> int:
    """Give the wall clock a minute from now: what was just written has been sealed by then."""
    return time.time_ns() // 1_000_000 + 60_000


def found(tree: Tree, name: str, *, fix: bool = False) -> list[Check]:
    """Give what the doctor says of one thing, a minute from now."""
    return [one for one in examine(tree.path, fix=fix, now=in_a_minute()) if one.name == name]


def level(tree: Tree, name: str) -> str:
    """Give the worst that it says of one thing."""
    levels = [one.level for one in found(tree, name)]
    return next(one for one in ("problem", "warning", "ok") if one in levels)


@pytest.fixture
def grown(tree: Tree, bench: Bench) -> Tree:
    """Give a tree on which a daemon ran, stopped in good order."""
    tree.request()
    bench.turn()
    tree.drop("roundtable/week-v1/confirmed-macro.json", {"state": "confirmed", "ack_id": "week-v1", "from": "macro"})
    bench.turn(5)
    bench.close()
    bench.open()
    return tree


def sealed(tree: Tree) -> list[Path]:
    """Give the sealed files."""
    return sorted((tree.path / "ledger").rglob("*.jsonl"))


def test_a_healthy_tree_has_no_problems(grown: Tree) -> None:
    """After a clean stop nothing is broken, and the only warning is that no daemon runs."""
    checks = examine(grown.path, now=in_a_minute())
    assert {(one.level, one.name) for one in checks if one.level != "ok"} == {("warning", "daemon")}
    assert all(one.message for one in checks)


def test_what_is_not_ok_says_what_to_do(tree: Tree) -> None:
    """Each of several faults comes with the next thing to type."""
    (tree.path / "AGENTS.md").unlink()
    tree.team(people={}, arbiters=["nobody"])
    faults = [one for one in examine(tree.path) if one.level != "ok"]
    assert len(faults) >= 4
    assert [one for one in faults if not one.todo] == []


class TestTheTree:
    def test_a_team_file_that_cannot_be_used_is_a_problem(self, tree: Tree) -> None:
        """The message has the place, and the other checks go on."""
        tree.drop("team.yaml", "agents: [\n")
        (check,) = found(tree, "team")
        assert check.level == "problem"
        assert "line" in check.message
        assert level(tree, "template") == "ok"

    def test_missing_files_are_laid_down(self, tree: Tree) -> None:
        """With fix they come back; a file that is there stays as it is, and a folder counts without its placeholder."""
        for path in (".gitattributes", ".gitignore", "AGENTS.md", "inbox/.gitkeep"):
            (tree.path / path).unlink()
        tree.drop("PROJECT_STATUS.md", "mine")
        (before,) = found(tree, "template")
        assert before.level == "warning"
        assert before.message == "missing: .gitattributes, .gitignore, AGENTS.md"
        (after,) = found(tree, "template", fix=True)
        assert (after.level, after.fixed) == ("ok", True)
        assert found(tree, "template")[0].fixed is False
        assert (tree.path / ".gitattributes").is_file()
        assert (tree.path / "PROJECT_STATUS.md").read_text("utf-8") == "mine"

    def test_a_team_file_that_is_missing_is_a_problem(self, tree: Tree) -> None:
        """Without it nothing works."""
        tree.remove("team.yaml")
        assert level(tree, "template") == "problem"

    def test_git_files_without_our_lines_are_said(self, tree: Tree) -> None:
        """Line ends of what is hashed, and this machine's scratch."""
        tree.drop(".gitattributes", "*.json   -text\n")
        tree.drop(".gitignore", "*.tmp\n")
        said = " ".join(one.message for one in found(tree, "git"))
        assert "*.jsonl -text" in said
        assert ".ackd/" in said

    def test_names_that_collide_elsewhere_are_said(self, tree: Tree) -> None:
        """Two inboxes, or two files of a conversation, that differ in case alone."""
        assert level(tree, "names") == "ok"
        tree.drop("inbox/Macro/a.json", "{}")
        tree.drop("inbox/macro/a.json", "{}")
        tree.drop("roundtable/x/É.json", "{}")
        tree.drop("roundtable/x/e\u0301.json", "{}")
        (check,) = found(tree, "names")
        assert check.level == "warning"
        assert check.message.count(" and ") == 2

    def test_old_scratch_is_removed_and_what_is_needed_stays(self, grown: Tree) -> None:
        """Only what is old and has no intent goes; the mark of the scratch folder is no leftover."""
        scratch = grown.path / ".ackd/tmp"
        marks = {one.name for one in scratch.iterdir()}
        for name, age in (("d-old", 2 * HOUR), ("d-young", 0)):
            path = grown.drop(f".ackd/tmp/{name}", "x")
            at = (in_a_minute() - age) / 1000
            os.utime(path, (at, at))
        for mark in marks:
            os.utime(scratch / mark, (1, 1))
        assert level(grown, "scratch") == "warning"
        assert found(grown, "scratch", fix=True)[0].fixed
        assert {one.name for one in scratch.iterdir()} == marks | {"d-young"}

    def test_refused_files_are_said(self, tree: Tree, bench: Bench) -> None:
        """They are a warning with their paths."""
        tree.drop("bad.json", '{"from": "macro",}')
        bench.turn()
        (check,) = found(tree, "refused")
        assert (check.level, check.todo) == ("warning", "ackd rejected")
        assert "bad.json" in check.message


class TestTheMemory:
    def test_without_a_memory_nothing_is_broken(self, tree: Tree) -> None:
        """A tree that no daemon has seen is healthy."""
        assert [one for one in examine(tree.path) if one.level == "problem"] == []

    def test_a_damaged_memory_is_found(self, tree: Tree, bench: Bench) -> None:
        """Bytes written over the middle of the file are found by SQLite's own check, or by opening it."""
        for number in range(40):
            tree.request(f"week-{number}")
        bench.turn()
        bench.close()
        path = tree.node().state / "memory.sqlite"
        data = bytearray(path.read_bytes())
        data[8192 : len(data) - 4096] = b"\xa5" * (len(data) - 4096 - 8192)
        path.write_bytes(bytes(data))
        assert level(tree, "memory") == "problem"
        path.write_bytes(b"no database at all, but as long as one must be" * 100)
        assert level(tree, "memory") == "problem"
        for name in ("memory.sqlite", "memory.sqlite-wal", "memory.sqlite-shm"):
            (tree.node().state / name).unlink(missing_ok=True)
        bench.open()

    def test_a_state_directory_that_others_can_read_is_made_private(self, grown: Tree) -> None:
        """Readable is a warning, writable a problem."""
        state = grown.node().state
        state.chmod(0o755)
        assert level(grown, "state") == "warning"
        state.chmod(0o770)
        (check,) = found(grown, "state")
        assert check.level == "problem"
        assert found(grown, "state", fix=True)[0].fixed
        assert state.stat().st_mode & 0o777 == 0o700

    def test_a_clock_that_went_back_is_said(self, grown: Tree) -> None:
        """An entry that is still to come makes timers late."""
        checks = examine(grown.path, now=in_a_minute() - 3 * HOUR)
        assert [one.level for one in checks if one.name == "clock"] == ["warning", "ok"]


class TestSealedFiles:
    def whole(self, tree: Tree) -> list[int]:
        """Give the numbers of all entries that can be read from the tree, without a fault."""
        with Root(tree.path) as root:
            files = list(SealedFiles(root, Stage(root)).read_all())
        assert [one.problem for one in files if one.problem] == []
        return sorted(entry.seq for one in files for entry, _ in one.entries)

    def test_a_missing_own_file_is_put_back(self, grown: Tree) -> None:
        """Its entries are in the memory: after the fix the tree has every one of them again."""
        before = self.whole(grown)
        sealed(grown)[0].unlink()
        assert level(grown, "ledger") == "problem"
        assert [one.fixed for one in found(grown, "ledger", fix=True)] == [True]
        assert self.whole(grown) == before
        assert level(grown, "ledger") == "ok"

    def test_a_damaged_own_file_is_put_back_byte_for_byte(self, grown: Tree) -> None:
        """A changed word in the middle breaks the chain; a cut file ends early."""
        path = sealed(grown)[0]
        data = path.read_bytes()
        for broken in (data.replace(b"Plan week-v1", b"Plan week-v2"), data[:-40], b"", b"\xff" * 10):
            path.write_bytes(broken)
            assert level(grown, "ledger") == "problem"
            assert any(one.fixed for one in found(grown, "ledger", fix=True))
            assert path.read_bytes() == data

    def test_a_damaged_file_of_another_node_stays_and_is_a_problem(self, grown: Tree) -> None:
        """Only its own node may write it."""
        grown.drop("ledger/other-00000001/0000000001-0000000002.jsonl", "x")
        checks = found(grown, "ledger", fix=True)
        assert [one.level for one in checks] == ["problem"]
        assert (grown.path / "ledger/other-00000001/0000000001-0000000002.jsonl").read_text("utf-8") == "x"

    def test_entries_that_were_just_written_may_wait(self, tree: Tree, bench: Bench) -> None:
        """A running daemon seals after two seconds: until then nothing is missing."""
        tree.request()
        bench.turn()
        now = time.time_ns() // 1_000_000
        assert [one.level for one in examine(tree.path, now=now) if one.name == "ledger"] == ["ok"]
        assert level(tree, "ledger") == "problem"

    @pytest.mark.parametrize(
        ("runs", "last", "gaps"),
        [
            ([], 0, []),
            ([], 5, [(1, 5)]),
            ([(1, 5)], 5, []),
            ([(1, 2), (4, 5)], 6, [(3, 3), (6, 6)]),
            ([(2, 3), (3, 7)], 5, [(1, 1)]),
            ([(1, 9), (2, 3)], 9, []),
        ],
    )
    def test_gaps(self, runs: list[tuple[int, int]], last: int, gaps: list[tuple[int, int]]) -> None:
        """The numbers up to the last that no run covers."""
        assert doctor_memory._gaps(runs, last) == gaps


class TestTheDaemon:
    def test_a_running_daemon_is_named(self, tree: Tree, daemon_process: Any, eventually: Any) -> None:
        """Its process is in the message; one that has not turned for long is a problem."""
        daemon = daemon_process()
        eventually(lambda: (tree.node().state / "health.json").exists())
        (check,) = [one for one in examine(tree.path) if one.name == "daemon"]
        assert check.level == "ok"
        assert f"pid {daemon.process.pid}@" in check.message
        stuck = [one for one in examine(tree.path, now=in_a_minute() + HOUR) if one.name == "daemon"]
        assert stuck[0].level == "problem"
        (tree.node().state / "daemon.lock").unlink()
        assert [one.level for one in examine(tree.path) if one.name == "lock"] == ["problem"]


class TestTheMachine:
    def test_it_is_well(self) -> None:
        """Python, packages and clock of the machine that runs the tests."""
        assert [one.message for one in examine_machine() if one.level == "problem"] == []

    @pytest.mark.parametrize("now", [0, 4_200_000_000_000])
    def test_a_clock_that_is_off_by_years_is_a_problem(self, now: int) -> None:
        """1970 and 2103 are no time for a daemon."""
        assert [one.level for one in examine_machine(now) if one.name == "clock"] == ["problem"]

    def test_it_knows_what_the_project_needs(self) -> None:
        """The list of packages is that of pyproject.toml."""
        project = tomllib.loads((Path(__file__).parents[3] / "pyproject.toml").read_text("utf-8"))["project"]
        needed = {re.split(r"[^\w-]", one)[0] for one in project["dependencies"]}
        assert set(doctor_machine._PACKAGES) == needed
