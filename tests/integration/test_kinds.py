"""The folders' own kinds: each file validated, judged by its own words, its owner told once."""

from __future__ import annotations

import datetime
import json
import shutil
from collections.abc import Callable
from typing import Any, ClassVar

import pytest

from ackd.engine.files_shown import file_documents

HOUR = 3600


def at(bench: Any, seconds: float = 0) -> str:
    """Give an instant before or after the bench's now, as an agent writes it."""
    moment = datetime.datetime.fromtimestamp(bench.now / 1000 + seconds, datetime.UTC)
    return moment.isoformat(timespec="seconds")


def status(bench: Any, **more: Any) -> dict[str, Any]:
    """Give a good status."""
    return {"agent": "macro", "state": "working", "updated_at": at(bench), **more}


def intel(bench: Any, **more: Any) -> dict[str, Any]:
    """Give a good piece of intelligence."""
    return {"source": "exchange notices", "author": "macro", "as_of": at(bench), "valid_for": "2h", **more}


def session(bench: Any, **more: Any) -> dict[str, Any]:
    """Give a good session."""
    return {"session_id": "s-1", "agent": "macro", "state": "running", "updated_at": at(bench), **more}


def task(bench: Any, **more: Any) -> dict[str, Any]:
    """Give a good task under watch."""
    return {"task_id": "backfill", "owner": "macro", "state": "running", "updated_at": at(bench), **more}


KINDS: dict[str, tuple[str, Callable[..., dict[str, Any]], dict[str, Any], float, str]] = {
    "status": ("status/macro.json", status, {"agent": 7}, 25 * HOUR, "/agent"),
    "intel": ("intel/oil_latest.json", intel, {"source": ""}, 3 * HOUR, "/source"),
    "agent-session": ("agent-sessions/s-1.json", session, {"session_id": None}, 7 * HOUR, "/session_id"),
    "monitor-task": ("monitor-tasks/backfill.json", task, {"state": ["running"]}, 7 * HOUR, "/state"),
}
"""For each kind: a path, a good document, what breaks it, when it is stale (seconds), and the field that is wrong."""

each_kind = pytest.mark.parametrize("kind", KINDS)


def known(bench: Any, path: str) -> dict[str, Any]:
    """Give what is known of a file."""
    data: dict[str, Any] = bench.engine.book.subject(path).data
    return data


def summaries(tree: Any, agent: str, kind: str = "notice") -> list[str]:
    """Give what an agent is told."""
    return [one["summary"] for one in tree.inbox(agent) if one["kind"] == kind]


def board(bench: Any) -> str:
    """Give the board, written anew."""
    bench.turn(11)
    page: str = bench.tree.page("BOARD.md")
    return page


class TestEachKind:
    """What holds for every kind."""

    @each_kind
    def test_good(self, tree: Any, bench: Any, kind: str) -> None:
        """A good file is known with owner, age and content; nobody is told, nothing is shown."""
        path, make, _, _, _ = KINDS[kind]
        document = make(bench)
        tree.drop(path, document)
        bench.turn()
        data = known(bench, path)
        assert (data["kind"], data["owner"], data["content"]) == (kind, "macro", document)
        assert data["stale_at"] > bench.now
        assert tree.all_inboxes() == {}
        assert path not in board(bench)

    @each_kind
    def test_stale(self, tree: Any, bench: Any, kind: str) -> None:
        """A stale file is told to its owner once and shown; new content ends both."""
        path, make, _, lasts, _ = KINDS[kind]
        tree.drop(path, make(bench))
        bench.turn()
        bench.turn(lasts)
        (said,) = summaries(tree, "macro")
        assert path in said
        assert path in board(bench)
        bench.turn(60)
        assert len(summaries(tree, "macro")) == 1
        tree.drop(path, make(bench, state="resumed") if kind != "intel" else make(bench, summary="new"))
        bench.turn()
        assert summaries(tree, "macro") == []
        assert path not in board(bench)

    @each_kind
    def test_broken_and_fixed(self, tree: Any, bench: Any, kind: str) -> None:
        """An invalid file is refused with its field; the last good content stays in force until it is fixed."""
        path, make, wrong, _, pointer = KINDS[kind]
        good = make(bench)
        tree.drop(path, good)
        bench.turn()
        tree.drop(path, {**good, **wrong})
        bench.turn()
        problem = tree.problem()
        assert problem["code"] == f"invalid-{kind}"
        assert pointer in [one["pointer"] for one in problem["errors"]]
        assert "stays in force" in problem["fix"]
        assert known(bench, path)["content"] == good
        (notice,) = [one for one in tree.inbox("macro") if one["kind"] == "refusal"]
        assert path in notice["summary"]
        page = board(bench)
        assert path in page
        assert "stays in force" in page
        tree.drop(path, good)
        bench.turn()
        assert tree.records() == []
        assert summaries(tree, "macro", "refusal") == []
        assert path not in board(bench)

    @each_kind
    def test_no_json_and_fixed(self, tree: Any, bench: Any, kind: str) -> None:
        """A file that is no JSON goes to its owner too, whom the last good content names."""
        path, make, _, _, _ = KINDS[kind]
        good = make(bench)
        tree.drop(path, good)
        bench.turn()
        tree.drop(path, '{"agent": nonsense}')
        bench.turn()
        assert len(summaries(tree, "macro", "refusal")) == 1
        assert known(bench, path)["content"] == good
        assert "stays in force" in board(bench)
        tree.drop(path, good)
        bench.turn()
        assert tree.records() == []

    @each_kind
    def test_written_over_by_an_older_copy(self, tree: Any, bench: Any, kind: str) -> None:
        """Content that is older than the one in force within a short time is flagged; both are kept, told once."""
        path, make, _, _, _ = KINDS[kind]
        stamp = "as_of" if kind == "intel" else "updated_at"
        newer, older = make(bench), make(bench, **{stamp: at(bench, -300)})
        tree.drop(path, newer)
        bench.turn()
        for number in range(3):
            tree.drop(path, older)
            bench.turn(5)
            tree.drop(path, {**newer, "extra": number})
            bench.turn(5)
        tree.drop(path, older)
        bench.turn(5)
        data = known(bench, path)
        assert data["content"] == older
        assert data["other"]["content"] == {**newer, "extra": 2}
        (said,) = summaries(tree, "macro")
        assert "two writers" in said
        assert "written over newer content" in board(bench)

    @each_kind
    def test_conflict_copy(self, tree: Any, bench: Any, kind: str) -> None:
        """A sync tool's conflict copy is no file of its own: flagged, kept, told once, until it is removed."""
        path, make, _, _, _ = KINDS[kind]
        copy = path.removesuffix(".json") + ".sync-conflict-20260308-143000-ABCDEFG.json"
        mine, theirs = make(bench), make(bench, extra="of another machine")
        tree.drop(path, mine)
        tree.drop(copy, theirs)
        bench.turn()
        bench.turn(60)
        data = known(bench, path)
        assert data["content"] == mine
        assert data["other"] == {
            "path": copy,
            "digest": data["other"]["digest"],
            "content": theirs,
            "at": bench.now - 60_000,
        }
        assert known(bench, copy) == {}
        assert len(summaries(tree, "macro")) == 1
        assert "conflict copy" in board(bench)
        tree.remove(copy)
        bench.turn(61)
        assert summaries(tree, "macro") == []
        assert path not in board(bench)

    @each_kind
    def test_missing(self, tree: Any, bench: Any, kind: str) -> None:
        """That a file is missing says nothing: it is known as before."""
        path, make, _, _, _ = KINDS[kind]
        tree.drop(path, make(bench))
        bench.turn()
        before = known(bench, path)
        tree.remove(path)
        bench.turn(61)
        assert known(bench, path) == before
        assert tree.all_inboxes() == {}

    @each_kind
    def test_lost_memory(self, tree: Any, bench: Any, kind: str) -> None:
        """After a lost memory the same is known, and nobody is told a second time."""
        path, make, wrong, lasts, _ = KINDS[kind]
        good = make(bench)
        tree.drop(path, good)
        bench.turn()
        bench.turn(lasts)
        tree.drop(path, {**good, **wrong})
        bench.turn()
        page, data, told = board(bench), known(bench, path), tree.all_inboxes()
        assert len(told) == 2
        bench.close()
        shutil.rmtree(tree.base / "state")
        bench.open()
        bench.turn()
        assert known(bench, path) == data
        assert board(bench) == page
        for name in told:
            (tree.path / name).unlink(missing_ok=True)
        bench.turn(60)
        assert tree.all_inboxes() == {}


class TestAge:
    """What files say about their time."""

    def test_from_the_future(self, tree: Any, bench: Any) -> None:
        """A status of 2099 is flagged and has no age of its own; the next one counts although its stamp is smaller."""
        tree.drop("status/macro.json", status(bench, updated_at="2099-01-01T00:00:00Z"))
        bench.turn()
        data = known(bench, "status/macro.json")
        assert data["from_future"]
        assert data["stale_at"] == bench.now + 24 * HOUR * 1000
        assert "lies in the future" in board(bench)
        tree.drop("status/macro.json", status(bench, state="idle"))
        bench.turn()
        data = known(bench, "status/macro.json")
        assert (data["state"], data["from_future"], data["flag"]) == ("idle", False, "")
        assert "future" not in board(bench)
        assert tree.all_inboxes() == {}

    def test_time_of_the_file(self, tree: Any, bench: Any) -> None:
        """The file's own time is nothing: touched or checked out anew, the content is as old as before."""
        import os

        path = tree.drop("status/macro.json", status(bench, updated_at=at(bench, -30 * HOUR)))
        bench.turn()
        assert len(summaries(tree, "macro")) == 1
        os.utime(path)
        bench.turn(60)
        data = path.read_bytes()
        path.unlink()
        path.write_bytes(data)
        bench.turn(60)
        assert len(summaries(tree, "macro")) == 1
        assert known(bench, "status/macro.json")["stale_steps"]

    def test_told_once_for_each_content(self, tree: Any, bench: Any) -> None:
        """Each new content that grows stale is told once, the same one never again."""
        for number in range(2):
            tree.drop("intel/oil_latest.json", intel(bench, summary=str(number)))
            bench.turn()
            bench.turn(3 * HOUR)
            assert len(summaries(tree, "macro")) == 1
        first = intel(bench, summary="again", as_of=at(bench, -4 * HOUR))
        for _ in range(2):
            tree.drop("intel/oil_latest.json", first)
            bench.turn(60)
        assert len(summaries(tree, "macro")) == 1

    def test_no_owner_on_the_roster(self, tree: Any, bench: Any) -> None:
        """Without an owner on the roster nobody is told; people see it on the board."""
        tree.drop("intel/oil_latest.json", {"source": "wire", "as_of": at(bench), "ttl": 60})
        bench.turn()
        bench.turn(61)
        assert tree.all_inboxes() == {}
        assert "intel/oil_latest.json is stale" in board(bench).replace("\\", "")


class TestFindings:
    """Valid files that say something that nobody can use."""

    WRONG: ClassVar[dict[str, tuple[dict[str, Any], str]]] = {
        "status": ({"updated_at": "yesterday"}, 'updated_at "yesterday" is no time'),
        "intel": ({"as_of": "yesterday", "valid_for": "a while"}, 'valid_for "a while" is no length of time'),
        "agent-session": ({"ended_at": "昨天"}, 'ended_at "昨天" is no time'),
        "monitor-task": ({"timeout": "long"}, 'timeout "long" is no length of time'),
    }

    @each_kind
    def test_unreadable_times(self, tree: Any, bench: Any, kind: str) -> None:
        """They are on the board and told to the owner once, however often the file is written; corrected, both end."""
        path, make, *_ = KINDS[kind]
        wrong, words = self.WRONG[kind]
        for number in range(3):
            tree.drop(path, make(bench, **wrong, summary=str(number)))
            bench.turn(60)
            (said,) = [one for one in tree.inbox("macro") if "needs a look" in one["summary"]]
            assert words in str([said["summary"], said["notes"]]).replace("\\\\", "")
        assert words in board(bench).replace("\\", "")
        (shown,) = file_documents([(path, known(bench, path))], [], bench.now)
        assert "findings" in shown["conditions"]
        assert any(words in one for one in shown["because"])
        tree.drop(path, make(bench, summary="good"))
        bench.turn(60)
        assert tree.all_inboxes() == {}
        assert path not in board(bench)

    @pytest.mark.parametrize("path", ["monitor-tasks/backfill.json", "monitor-tasks/trading.json"])
    def test_unknown_owner(self, tree: Any, bench: Any, path: str) -> None:
        """A name that is not on the roster is a finding; who is told is whose name the file has, if anybody."""
        tree.drop(path, task(bench, owner="marco"))
        bench.turn()
        assert f"{path}" in board(bench).replace("\\", "")
        assert 'owner "marco" is not on the roster' in board(bench).replace("\\", "")
        assert len(summaries(tree, "trading")) == ("trading" in path)

    def test_a_refused_file_stands_on_the_board_once(self, tree: Any, bench: Any) -> None:
        """Whether or not somebody could be told."""
        for path in ("status/macro.json", "monitor-tasks/backfill.json"):
            tree.drop(path, {"agent": 7, "task_id": "b", "owner": "marco"})
        bench.turn()
        page = board(bench).replace("\\", "")
        assert [page.count(one) for one in ("status/macro.json", "monitor-tasks/backfill.json")] == [1, 1]


class TestTasks:
    """Tasks under watch."""

    def test_no_change_of_state(self, tree: Any, bench: Any) -> None:
        """After six hours in one state the owner hears of it once, ten minutes later the first arbiter, once."""
        path = "monitor-tasks/回填.json"
        tree.drop(path, task(bench))
        bench.turn()
        for hour in range(5):
            bench.turn(HOUR)
            tree.drop(path, task(bench, progress=f"{hour} of 9"))
            bench.turn()
        assert tree.all_inboxes() == {}
        bench.turn(HOUR)
        assert len(summaries(tree, "macro")) == 1
        assert summaries(tree, "zoe") == []
        tree.drop(path, task(bench, progress="5 of 9"))
        bench.turn(9 * 60)
        assert summaries(tree, "zoe") == []
        bench.turn(61)
        (said,) = summaries(tree, "zoe")
        assert path in said
        assert '"running" without a change' in said
        bench.turn(24 * HOUR)
        assert (len(summaries(tree, "macro")), len(summaries(tree, "zoe"))) == (1, 1)
        assert "without a change" in board(bench)
        tree.drop(path, task(bench, state="delivered"))
        bench.turn()
        assert tree.all_inboxes() == {}
        bench.turn(24 * HOUR)
        assert tree.all_inboxes() == {}
        assert "without a change" not in board(bench)

    def test_own_timeout(self, tree: Any, bench: Any) -> None:
        """A task says itself how long its state may last; the team says when the arbiter hears of it."""
        tree.team(timeouts={"escalation": "20m"})
        tree.drop("monitor-tasks/t.json", task(bench, timeout="30m"))
        bench.turn()
        bench.turn(29 * 60)
        assert tree.all_inboxes() == {}
        bench.turn(61)
        assert len(summaries(tree, "macro")) == 1
        bench.turn(19 * 60)
        assert summaries(tree, "zoe") == []
        bench.turn(61)
        assert len(summaries(tree, "zoe")) == 1

    def test_changed_without_a_new_stamp(self, tree: Any, bench: Any) -> None:
        """A change of state counts from when it was seen where the stamp was left as it was."""
        first = task(bench)
        tree.drop("monitor-tasks/t.json", first)
        bench.turn()
        bench.turn(7 * HOUR)
        tree.drop("monitor-tasks/t.json", {**first, "state": "blocked"})
        bench.turn()
        assert summaries(tree, "macro") == []
        assert known(bench, "monitor-tasks/t.json")["state_since"] == bench.now


class TestWriters:
    """Two writers of one file."""

    def test_by_turns(self, tree: Any, bench: Any) -> None:
        """Two instances that write one status by turns are flagged, also when each write is fresh."""
        for number in range(3):
            tree.drop("status/macro.json", status(bench, agent_id=f"desk:macro:{number % 2}"))
            bench.turn(30)
        assert "by turns" in known(bench, "status/macro.json")["flag"]
        assert len(summaries(tree, "macro")) == 1

    def test_back_and_forth(self, tree: Any, bench: Any) -> None:
        """Two texts without stamps that replace each other are flagged."""
        for number in range(4):
            tree.drop("status/macro.json", {"agent": "macro", "skills": [f"skill {number % 2}"]})
            bench.turn(30)
        assert "back and forth" in known(bench, "status/macro.json")["flag"]

    def test_one_writer(self, tree: Any, bench: Any) -> None:
        """One agent that goes to and fro between idle and working is no conflict."""
        for number in range(6):
            tree.drop("status/macro.json", {"agent": "macro", "state": ("idle", "working")[number % 2]})
            bench.turn(30)
        assert known(bench, "status/macro.json")["flag"] == ""
        assert tree.all_inboxes() == {}

    def test_over_after_an_hour(self, tree: Any, bench: Any) -> None:
        """An hour after the last sign the flag goes, and with it the note."""
        for number in range(3):
            tree.drop("status/macro.json", status(bench, agent_id=f"desk:macro:{number % 2}"))
            bench.turn(30)
        assert len(summaries(tree, "macro")) == 1
        bench.turn(2 * HOUR)
        tree.drop("status/macro.json", status(bench, agent_id="desk:macro:0"))
        bench.turn()
        assert known(bench, "status/macro.json")["flag"] == ""
        assert tree.all_inboxes() == {}


class TestRadar:
    """`tech-radar.json`, the one document that is a list."""

    def blip(self, **more: Any) -> dict[str, Any]:
        return {"name": "git", "ring": "adopt", "quadrant": "tools", "isNew": "FALSE", "owner": "macro", **more}

    def drop(self, tree: Any, *blips: dict[str, Any]) -> None:
        tree.drop("tech-radar.json", json.dumps(list(blips)))

    def test_of_the_template(self, bench: Any) -> None:
        """The radar that comes with a new tree is good."""
        bench.turn()
        assert known(bench, "tech-radar.json")["kind"] == "tech-radar"
        assert "tech-radar" not in board(bench)

    def test_stale_and_reviewed(self, tree: Any, bench: Any) -> None:
        """A blip that nobody looked at for half a year is told to its owner once."""
        self.drop(tree, self.blip(reviewed=at(bench, -184 * 24 * HOUR)[:10]))
        bench.turn()
        bench.turn(60)
        assert len(summaries(tree, "macro")) == 1
        assert "tech-radar.json is stale" in board(bench)
        self.drop(tree, self.blip(reviewed=at(bench)[:10]))
        bench.turn()
        assert tree.all_inboxes() == {}

    def test_broken_and_fixed(self, tree: Any, bench: Any) -> None:
        """A wrong ring is refused with its place; the radar before stays in force."""
        bench.turn()
        before = known(bench, "tech-radar.json")
        self.drop(tree, self.blip(ring="perhaps"))
        bench.turn()
        assert [one["pointer"] for one in tree.problem()["errors"]] == ["/0/ring"]
        assert len(summaries(tree, "macro", "refusal")) == 1
        assert known(bench, "tech-radar.json") == before
        self.drop(tree, self.blip())
        bench.turn()
        assert tree.records() == []

    def test_back_and_forth(self, tree: Any, bench: Any) -> None:
        """Two radars that replace each other are flagged."""
        for number in range(4):
            self.drop(tree, self.blip(name=f"git {number % 2}"))
            bench.turn(30)
        assert "back and forth" in known(bench, "tech-radar.json")["flag"]


class TestPlaces:
    """What is a kind and what is a message."""

    def test_with_an_ack_id(self, tree: Any, bench: Any) -> None:
        """A status may say for which thread its agent works; a message in `status/` is a message all the same."""
        tree.drop("status/macro.json", status(bench, ack_id="week-v1"))
        tree.request(path="status/ask.json")
        bench.turn()
        assert known(bench, "status/macro.json")["state"] == "working"
        assert bench.verdict("status/ask.json") == "opened"
        assert tree.records() == []

    def test_a_list_in_a_folder_of_objects(self, tree: Any, bench: Any) -> None:
        """A list where an object belongs is refused to its owner."""
        tree.drop("status/macro.json", "[1, 2]")
        bench.turn()
        assert tree.problem()["code"] == "invalid-status"
        assert len(summaries(tree, "macro", "refusal")) == 1

    def test_restart(self, tree: Any, bench: Any) -> None:
        """What was told before a restart is not told after it, and timers go on."""
        tree.drop("monitor-tasks/t.json", task(bench))
        bench.turn()
        bench.turn(7 * HOUR)
        assert len(summaries(tree, "macro")) == 1
        bench.close(clean=False)
        bench.open()
        bench.turn(601)
        assert (len(summaries(tree, "macro")), len(summaries(tree, "zoe"))) == (1, 1)


class TestShown:
    """What `ackd status` shows of files."""

    def test_documents(self, tree: Any, bench: Any) -> None:
        """Each followed file stands there with owner, instants, conditions and reasons, with a daemon or without."""
        from ackd.engine.reading import View
        from ackd.engine.show import status_document

        old = status(bench, updated_at=at(bench, -30 * HOUR))
        tree.drop("status/macro.json", old)
        tree.drop("status/trading.json", {"agent": ""})
        tree.drop("intel/oil_latest.json", intel(bench))
        tree.drop("decisions/idea.md", "no title\n")
        bench.turn()
        tree.drop("status/macro.json", {**old, "agent": 7})
        bench.turn()
        bench.close()
        with View(tree.path) as view:
            known_here = status_document(view)["files"]
        shutil.rmtree(tree.base / "state")
        with View(tree.path) as view:
            document = status_document(view)
            assert document["source"] == "tree"
            assert document["files"] == known_here
        bench.open()
        files = {one["path"]: one for one in known_here}
        macro, trading = files["status/macro.json"], files["status/trading.json"]
        assert (macro["owner"], macro["conditions"]) == ("macro", ["broken", "stale"])
        assert macro["in_force"] == old
        assert datetime.datetime.fromisoformat(macro["as_of"]) == datetime.datetime.fromisoformat(old["updated_at"])
        assert (trading["owner"], trading["conditions"], trading["digest"]) == ("trading", ["broken"], None)
        assert files["intel/oil_latest.json"]["conditions"] == []
        assert files["decisions/idea.md"]["conditions"] == ["findings"]
        assert files["decisions/idea.md"]["findings"][0]["line"] == 1
