"""What becomes of files: the engine of one node on a real tree and a real memory, on a clock that moves by hand."""

from __future__ import annotations

import json
import os
import shutil
import socket
import sqlite3
from typing import TYPE_CHECKING, Any

import pytest

from ackd.exchange import SealedFiles
from ackd.fs.beneath import Root
from ackd.fs.stage import Stage
from ackd.ledger import Memory
from ackd.watch.port import NOTHING, Changes

if TYPE_CHECKING:
    from tests.conftest import Bench, Tree

CONFIRMED = {"state": "confirmed", "ack_id": "week-v1", "from": "macro", "conclusion": "oil is priced in"}
FINAL = {"state": "final", "ack_id": "week-v1", "from": "trading", "conclusion": "cut to 40 %"}


def hint(*paths: str) -> Changes:
    """Give a hint on these paths."""
    return Changes(frozenset(paths))


class TestWhenAFileCounts:
    def test_a_whole_file_is_taken_at_its_first_hint(self, tree: Tree, bench: Bench) -> None:
        """A hint is enough: no scan and no waiting."""
        bench.turn()
        tree.request()
        bench.turn(0.1, hint("roundtable/week-v1/request-zoe.json"))
        assert bench.verdict("roundtable/week-v1/request-zoe.json") == "opened"
        assert [one["kind"] for one in tree.inbox("macro")] == ["request"]

    def test_a_hint_on_a_folder_brings_all_that_lies_in_it(self, tree: Tree, bench: Bench) -> None:
        """A folder that was moved in may come with one hint for itself alone."""
        bench.turn()
        tree.request(path="moved/deep/er/a.json")
        bench.turn(0.1, hint("moved"))
        assert bench.verdict("moved/deep/er/a.json") == "opened"

    def test_a_file_that_no_hint_named_is_found_by_the_rescan(self, tree: Tree, bench: Bench) -> None:
        """The watcher may lose everything: a minute later the file is there all the same."""
        bench.turn()
        tree.request()
        bench.turn(1, NOTHING)
        assert bench.verdict("roundtable/week-v1/request-zoe.json") == ""
        bench.turn(60, NOTHING)
        assert bench.verdict("roundtable/week-v1/request-zoe.json") == "opened"

    def test_a_torn_file_waits_thirty_seconds_and_is_then_refused_once(self, tree: Tree, bench: Bench) -> None:
        """An open text is "not yet" at 29 s, refused at 30 s, and not again with later scans."""
        whole = tree.request().read_bytes()
        tree.drop("roundtable/week-v1/request-zoe.json", whole[:60])
        bench.turn()
        bench.turn(29)
        assert bench.verdict("roundtable/week-v1/request-zoe.json") == ""
        assert tree.records() == []
        bench.turn(1)
        assert bench.verdict("roundtable/week-v1/request-zoe.json") == "refused"
        assert tree.problem()["code"] == "incomplete"
        before = bench.engine.book.seq
        bench.turn(60)
        bench.turn(60)
        assert bench.engine.book.seq == before

    def test_a_file_that_still_grows_is_not_refused(self, tree: Tree, bench: Bench) -> None:
        """Each change gives it thirty seconds more."""
        whole = tree.request().read_bytes()
        for size in range(10, 60, 10):
            tree.drop("roundtable/week-v1/request-zoe.json", whole[:size])
            bench.turn(20)
        assert tree.records() == []
        tree.drop("roundtable/week-v1/request-zoe.json", whole)
        bench.turn(1)
        assert bench.verdict("roundtable/week-v1/request-zoe.json") == "opened"

    def test_a_refused_half_that_is_finished_later_is_taken_and_its_record_goes(self, tree: Tree, bench: Bench) -> None:
        """Refusing is never the last word about a path."""
        whole = tree.request().read_bytes()
        tree.drop("roundtable/week-v1/request-zoe.json", whole[:90])
        bench.turn()
        bench.turn(30)
        assert len(tree.records()) == 2
        tree.drop("roundtable/week-v1/request-zoe.json", whole)
        bench.turn(1)
        assert bench.verdict("roundtable/week-v1/request-zoe.json") == "opened"
        assert tree.records() == []

    def test_an_empty_file_waits_too(self, tree: Tree, bench: Bench) -> None:
        """An editor truncates before it writes."""
        tree.drop("a.json", b"")
        bench.turn()
        assert bench.verdict("a.json") == ""
        bench.turn(31)
        assert bench.verdict("a.json") == "refused"

    def test_a_file_renamed_into_place_is_taken_and_its_temporary_name_is_not(self, tree: Tree, bench: Bench) -> None:
        """The way in which careful programs write."""
        draft = tree.request(path=".request.json.tmp")
        part = tree.request(path="drops/request.json.tmp")
        bench.turn()
        assert bench.thread().messages == ()
        assert tree.records() == []
        part.unlink()
        (tree.path / "drops").mkdir(exist_ok=True)
        os.rename(draft, tree.path / "drops/request.json")
        bench.turn(1)
        assert bench.verdict("drops/request.json") == "opened"

    def test_waiting_for_a_file_that_cannot_be_read_does_not_spin(
        self, tree: Tree, bench: Bench, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A file without permission is looked at with each rescan and leaves the loop asleep between them."""
        from ackd.fs.beneath import Unreadable

        tree.request(path="a.json")
        read = bench.engine.root.read
        monkeypatch.setattr(
            bench.engine.root,
            "read",
            lambda path, cap: Unreadable("no permission to read it") if path == "a.json" else read(path, cap),
        )
        bench.turn()
        bench.now += 31_000
        bench.turn(0, NOTHING)
        bench.turn(9, NOTHING)
        assert bench.engine.pause() > 0
        monkeypatch.undo()
        bench.turn()
        assert bench.verdict("a.json") == "opened"


class TestTheSameAgain:
    def test_copies_and_duplicates_are_silent(self, tree: Tree, bench: Bench) -> None:
        """The same content at another path, spelled otherwise, or dropped a second time tells nobody anything."""
        first = tree.request()
        bench.turn()
        document = json.loads(first.read_bytes())
        tree.drop("copy.json", first.read_bytes())
        tree.drop("turned.json", dict(reversed(document.items())))
        tree.drop("spaced.json", json.dumps(document, indent=8))
        before = tree.all_inboxes()
        bench.turn(1)
        for path in ("copy.json", "turned.json", "spaced.json"):
            assert bench.verdict(path) == "duplicate"
        assert len([path for path in tree.all_inboxes() if path not in before]) == 0

    def test_two_copies_that_come_at_once_open_one_thread(self, tree: Tree, bench: Bench) -> None:
        """Which of them was first does not matter: there is one thread and one delivery each."""
        data = tree.request(path="b/x.json").read_bytes()
        tree.drop("a/x.json", data)
        bench.turn()
        assert sorted([bench.verdict("a/x.json"), bench.verdict("b/x.json")]) == ["duplicate", "opened"]
        assert len(tree.inbox("macro")) == 1

    @pytest.mark.parametrize("how", ["touch", "chmod", "rewrite", "replace"])
    def test_the_same_bytes_again_change_nothing(self, tree: Tree, bench: Bench, how: str) -> None:
        """touch, chmod, a checkout: another stat, the same content, not an entry more."""
        path = tree.request()
        bench.turn()
        before = bench.engine.book.seq
        data = path.read_bytes()
        if how == "touch":
            os.utime(path, (1, 1))
        elif how == "chmod":
            path.chmod(0o600)
        elif how == "rewrite":
            path.write_bytes(data)
        else:
            path.unlink()
            path.write_bytes(data)
        bench.turn(1)
        assert bench.engine.book.seq == before
        assert bench.verdict("roundtable/week-v1/request-zoe.json") == "opened"

    def test_a_file_that_git_took_away_and_brought_back_is_no_news(self, tree: Tree, bench: Bench) -> None:
        """Deleting after acceptance withdraws nothing, and coming back starts nothing."""
        path = tree.request()
        bench.turn()
        data, before = path.read_bytes(), bench.engine.book.seq
        path.unlink()
        bench.turn(60)
        assert bench.thread().phase == "request"
        assert len(tree.inbox("macro")) == 1
        path.write_bytes(data)
        bench.turn(60)
        assert bench.engine.book.seq == before

    def test_a_replay_months_later_is_recognised(self, tree: Tree, bench: Bench) -> None:
        """After the end, and long after it, a message that is known stays known."""
        tree.request()
        tree.drop("final.json", FINAL)
        bench.turn()
        before = tree.all_inboxes()
        bench.turn(200 * 86400)
        tree.drop("again/final.json", FINAL)
        bench.turn(1)
        assert bench.verdict("again/final.json") == "duplicate"
        assert tree.all_inboxes() == before


class TestEdits:
    def test_an_edit_is_a_revision_and_everybody_asked_hears_once(self, tree: Tree, bench: Bench) -> None:
        """Another whole envelope of the same author, type and ack_id in the same file."""
        tree.request()
        bench.turn()
        tree.request(action="Plan it with oil")
        bench.turn(1)
        assert bench.verdict("roundtable/week-v1/request-zoe.json") == "revision"
        assert [one["kind"] for one in tree.inbox("macro")] == ["request", "revision"]
        bench.turn(60)
        assert len(tree.inbox("macro")) == 2

    def test_back_to_an_earlier_text_is_not_news(self, tree: Tree, bench: Bench) -> None:
        """A to B to A: the third is known, the second stays in force, and nobody is woken again."""
        tree.request(action="A")
        bench.turn()
        tree.request(action="B")
        bench.turn(1)
        before = tree.all_inboxes()
        tree.request(action="A")
        bench.turn(1)
        thread = bench.thread()
        in_force = thread.text_in_force(thread.request)
        assert in_force is not None
        assert in_force.content["action"] == "B"
        assert tree.all_inboxes() == before
        row = bench.engine.memory.file("roundtable/week-v1/request-zoe.json")
        assert row is not None
        assert "revised" in row.because

    def test_a_same_size_edit_with_its_time_put_back_is_found(self, tree: Tree, bench: Bench) -> None:
        """As rsync -t and cp -p do: the change time gives it away."""
        path = tree.request(action="AAAA")
        bench.turn()
        bench.turn(1)
        status = path.stat()
        tree.request(action="BBBB")
        os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
        bench.turn(60)
        assert bench.verdict("roundtable/week-v1/request-zoe.json") == "revision"

    def test_a_file_that_is_used_for_another_thread_holds_a_message_of_that(self, tree: Tree, bench: Bench) -> None:
        """The first message stays in force; the second opens its own thread."""
        tree.request("one-v1", path="x.json")
        bench.turn()
        tree.request("two-v1", path="x.json")
        bench.turn(1)
        assert bench.thread("one-v1").phase == "request"
        assert bench.thread("two-v1").phase == "request"
        assert {one["thread"] for one in tree.inbox("macro")} == {"one-v1", "two-v1"}

    def test_garbage_over_a_message_leaves_it_in_force_and_is_shown(self, tree: Tree, bench: Bench) -> None:
        """What was taken in stands; the garbage is refused, with its bytes."""
        tree.request()
        bench.turn()
        tree.drop("roundtable/week-v1/request-zoe.json", "}{ not JSON")
        bench.turn(1)
        bench.turn(31)
        assert bench.verdict("roundtable/week-v1/request-zoe.json") == "refused"
        assert bench.thread().phase == "request"
        originals = list((tree.path / "rejected").rglob("*.original"))
        assert [path.read_text() for path in originals] == ["}{ not JSON"]

    def test_truncation_after_acceptance_leaves_it_in_force(self, tree: Tree, bench: Bench) -> None:
        """An emptied file is reported after its time and withdraws nothing."""
        tree.request()
        bench.turn()
        tree.drop("roundtable/week-v1/request-zoe.json", b"")
        bench.turn(1)
        bench.turn(31)
        assert bench.thread().phase == "request"
        assert bench.verdict("roundtable/week-v1/request-zoe.json") == "refused"

    def test_a_refused_file_that_is_corrected_in_place_is_taken(self, tree: Tree, bench: Bench) -> None:
        """Its record goes, and so does the notice in its author's inbox."""
        tree.request()
        tree.drop("roundtable/week-v1/confirmed-macro.json", '{"state": "confirmed", "from": "macro",}')
        bench.turn()
        assert "refusal" in [one["kind"] for one in tree.inbox("macro")]
        assert len(tree.records()) == 2
        tree.drop("roundtable/week-v1/confirmed-macro.json", CONFIRMED)
        bench.turn(1)
        assert bench.verdict("roundtable/week-v1/confirmed-macro.json") == "confirmed"
        assert tree.records() == []
        assert "refusal" not in [one["kind"] for one in tree.inbox("macro")]

    def test_refused_bytes_that_change_to_other_refused_bytes_leave_one_record(self, tree: Tree, bench: Bench) -> None:
        """The record is always about what lies there now."""
        tree.drop("a.json", '{"from": "macro",}')
        bench.turn()
        tree.drop("a.json", '{"from": "macro", "ack_id": 7}')
        bench.turn(1)
        assert tree.problem()["code"] == "invalid-envelope"
        assert len(tree.records()) == 2
        assert [one["kind"] for one in tree.inbox("macro")] == ["refusal"]

    def test_a_conflict_copy_never_revises(self, tree: Tree, bench: Bench) -> None:
        """It is kept and shown; the DRI and a person hear of it once."""
        tree.request()
        bench.turn()
        copy = "roundtable/week-v1/request-zoe.sync-conflict-20260308-120000-ABCDEFG.json"
        tree.request(path=copy, action="Something else")
        bench.turn(1)
        assert bench.verdict(copy) == "kept"
        thread = bench.thread()
        in_force = thread.text_in_force(thread.request)
        assert in_force is not None
        assert in_force.content["action"] == "Plan week-v1"
        assert "revision" not in [one["kind"] for one in tree.inbox("macro")]
        bench.turn(60)
        told = [one for agent in ("macro", "trading", "zoe", "wen") for one in tree.inbox(agent)]
        assert len([one for one in told if one.get("path") == copy]) <= 2

    def test_a_conflict_copy_with_the_same_bytes_is_a_duplicate(self, tree: Tree, bench: Bench) -> None:
        """Nothing differs, nobody hears of it."""
        data = tree.request().read_bytes()
        bench.turn()
        tree.drop("roundtable/week-v1/request-zoe (conflicted copy 2026-03-08).json", data)
        bench.turn(1)
        assert bench.verdict("roundtable/week-v1/request-zoe (conflicted copy 2026-03-08).json") == "duplicate"

    def test_git_conflict_markers_are_refused_until_they_go(self, tree: Tree, bench: Bench) -> None:
        """A merge that a person has not finished."""
        one = json.dumps(CONFIRMED)
        tree.request()
        tree.drop("c.json", f"<<<<<<< HEAD\n{one}\n=======\n{one}\n>>>>>>> other\n")
        bench.turn()
        assert tree.problem()["code"] == "conflict-markers"
        tree.drop("c.json", one)
        bench.turn(1)
        assert bench.verdict("c.json") == "confirmed"


class TestStrangeThings:
    @pytest.mark.parametrize("kind", ["symlink", "dangling", "pipe", "socket", "zero", "loop"])
    def test_what_is_no_file_is_refused_by_name(self, tree: Tree, bench: Bench, kind: str) -> None:
        """Nothing hangs, nothing is followed, the thing stays where it is, and its neighbours flow."""
        thing = tree.path / "x.json"
        if kind == "symlink":
            secret = tree.base / "secret.json"
            secret.write_text('{"from": "macro", "ack_id": "top-secret", "body": "TOP"}')
            thing.symlink_to(secret)
        elif kind == "dangling":
            thing.symlink_to("nowhere")
        elif kind == "pipe":
            os.mkfifo(thing)
        elif kind == "socket":
            with socket.socket(socket.AF_UNIX) as one:
                here = os.open(tree.path, os.O_RDONLY)
                one.bind(f"/proc/self/fd/{here}/x.json")
                os.close(here)
        elif kind == "zero":
            thing.symlink_to("/dev/zero")
        else:
            thing.symlink_to("x.json")
        tree.request()
        bench.turn()
        assert bench.verdict("x.json") == "refused"
        assert bench.verdict("roundtable/week-v1/request-zoe.json") == "opened"
        assert tree.problem()["code"] == "not-a-file"
        assert os.path.lexists(thing)
        assert b"top-secret" not in b"".join(path.read_bytes() for path in (tree.path / "rejected").rglob("*.json"))
        before = bench.engine.book.seq
        bench.turn(60)
        assert bench.engine.book.seq == before

    def test_a_folder_named_like_a_drop_is_a_folder(self, tree: Tree, bench: Bench) -> None:
        """What lies in it counts."""
        tree.request(path="x.json/y.json")
        bench.turn()
        assert bench.verdict("x.json/y.json") == "opened"
        assert bench.verdict("x.json") == ""

    def test_an_oversized_file_is_refused_unread(self, tree: Tree, bench: Bench) -> None:
        """A sparse gigabyte costs nothing; its size is on the record."""
        path = tree.drop("big.json", b"{")
        os.truncate(path, 1 << 30)
        bench.turn()
        assert tree.problem()["code"] == "too-large"
        assert tree.problem()["size"] == 1 << 30
        assert tree.records() == [next(iter(tree.records()))]
        before = bench.engine.book.seq
        bench.turn(60)
        assert bench.engine.book.seq == before

    def test_a_name_that_is_no_utf8_gets_a_verdict_under_its_escaped_name(self, tree: Tree, bench: Bench) -> None:
        """The loop lives, the name is shown escaped, and the next start does not say it again."""
        name = os.fsencode(tree.path) + b"/a\xff.json"
        with open(name, "wb") as file:
            file.write(b"{}")
        tree.request()
        bench.turn()
        assert bench.verdict("a\\xff.json") == "refused"
        assert bench.verdict("roundtable/week-v1/request-zoe.json") == "opened"
        before = bench.engine.book.seq
        bench.close()
        bench.open()
        bench.turn(60)
        assert bench.engine.book.seq == before

    @pytest.mark.parametrize(
        "path",
        [
            "line\nend.json",
            "-rf $(reboot) `x`.json",
            "周报/请求 一.json",
            "/".join(["d"] * 120) + "/x.json",
            "é" * 120 + ".json",
            "roundtable/桌/x.JSON",
        ],
    )
    def test_odd_names_are_names(self, tree: Tree, bench: Bench, path: str) -> None:
        """Identity is content, not path."""
        tree.request(path=path)
        bench.turn()
        assert bench.verdict(path) == "opened"
        bench.turn(10)
        assert len(tree.inbox("macro")) == 1

    @pytest.mark.parametrize("path", ["ledger/x/a.json", "rejected/a.json", ".hidden/a.json", ".a.json", "a.json~"])
    def test_what_is_never_a_drop(self, tree: Tree, bench: Bench, path: str) -> None:
        """Our own folders, dot-files and temporary names."""
        tree.request(path=path)
        bench.turn()
        assert bench.thread().messages == ()
        assert bench.verdict(path) == ""

    def test_a_drop_into_an_inbox_counts(self, tree: Tree, bench: Bench) -> None:
        """Wherever it lies: in another's inbox too."""
        tree.request()
        bench.turn()
        tree.drop("inbox/zoe/answer.json", CONFIRMED)
        bench.turn(1)
        assert bench.verdict("inbox/zoe/answer.json") == "confirmed"
        assert (tree.path / "inbox/zoe/answer.json").exists()

    def test_deep_nesting_and_wild_values_are_refused_and_the_engine_lives(self, tree: Tree, bench: Bench) -> None:
        """Each of these has stopped a program somewhere."""
        wild: list[bytes] = [
            b"[" * 100_000,
            b'{"a":' * 2000 + b"1" + b"}" * 2000,
            b'{"from": "macro", "ack_id": "x", "body": "\\ud800"}',
            b'{"from": "macro", "ack_id": "x\\u0000", "body": "y"}',
            b'{"from": "macro", "ack_id": "x", "body": NaN}',
            b'{"from": "macro", "from": "zoe", "ack_id": "x", "body": "y"}',
            b'{"from": ["macro"], "ack_id": {"a": 1}, "body": 7}',
            b'{"from": "macro", "ack_id": "../../etc", "body": "y"}',
            b'{"state": "request", "from": "zoe", "ack_id": "CON", "to": "macro", "action": "x"}',
            b"\xff\xfe{\x00}\x00",
            b"null",
            b"\x00" * 64,
            b'{"n": ' + b"9" * 5000 + b"}",
        ]
        for number, data in enumerate(wild):
            tree.drop(f"w/{number}.json", data)
        tree.request()
        bench.turn()
        bench.turn(31)
        for number in range(len(wild)):
            assert bench.verdict(f"w/{number}.json") == "refused", number
        assert bench.verdict("roundtable/week-v1/request-zoe.json") == "opened"


class TestTheTeam:
    def test_a_stranger_is_refused_and_judged_again_once_on_the_roster(self, tree: Tree, bench: Bench) -> None:
        """The board says how to add it; adding it is enough, its file is not touched."""
        tree.drop("r.json", {"state": "request", "ack_id": "x-v1", "from": "kim", "to": "macro", "action": "look"})
        bench.turn()
        assert bench.verdict("r.json") == "refused"
        assert not (tree.path / "inbox/kim").exists()
        assert "ackd agents add kim" in tree.page("BOARD.md")
        tree.team(agents={"zoe": {}, "macro": {}, "trading": {}, "kim": {}})
        bench.turn(11)
        assert bench.verdict("r.json") == "opened"
        assert tree.records() == []
        assert [one["kind"] for one in tree.inbox("macro")] == ["request"]
        bench.turn(11)
        assert "agents add" not in tree.page("BOARD.md")

    def test_a_broken_team_file_leaves_the_rules_in_force_and_says_so(self, tree: Tree, bench: Bench) -> None:
        """A half-saved file must not stop the team; the board tells people."""
        bench.turn()
        good = (tree.path / "team.yaml").read_bytes()
        tree.drop("team.yaml", "agents: [: {")
        bench.turn(11)
        tree.request()
        bench.turn(11)
        assert bench.verdict("roundtable/week-v1/request-zoe.json") == "opened"
        assert "team.yaml" in tree.page("BOARD.md")
        tree.drop("team.yaml", good)
        bench.turn(11)
        bench.turn(11)
        assert bench.engine.trouble == {}
        assert "stay in force" not in tree.page("BOARD.md")

    def test_a_hint_on_the_team_file_is_enough(self, tree: Tree, bench: Bench) -> None:
        """No restart and no rescan."""
        bench.turn()
        tree.team(timeouts={"reminder": "7s", "escalation": "20s"})
        bench.turn(1, hint("team.yaml"))
        assert bench.engine.policy().timeouts.reminder == 7_000

    def test_reload_reads_the_team_again(self, tree: Tree, bench: Bench) -> None:
        """As SIGHUP asks for."""
        bench.turn()
        tree.team(timeouts={"reminder": "7s", "escalation": "20s"})
        bench.engine.reload()
        bench.turn(1, NOTHING)
        assert bench.engine.policy().timeouts.reminder == 7_000


class TestDeliveries:
    def test_a_delivery_is_never_taken_for_a_drop(self, tree: Tree, bench: Bench) -> None:
        """Neither where it lies nor copied, moved or archived elsewhere."""
        tree.request()
        bench.turn()
        (path,) = tree.inbox_paths("macro")
        before = bench.engine.book.seq
        shutil.copy(path, tree.path / "copy.json")
        (tree.path / "archive").mkdir()
        os.rename(path, tree.path / "archive/read.json")
        bench.turn(60)
        assert bench.engine.book.seq == before
        assert bench.verdict("copy.json") == "delivery"

    def test_a_file_that_the_agent_took_away_is_not_written_again(self, tree: Tree, bench: Bench) -> None:
        """It means "read", never "done"."""
        tree.request()
        bench.turn()
        (path,) = tree.inbox_paths("macro")
        path.unlink()
        bench.turn(60)
        bench.turn(60)
        assert tree.inbox("macro") == []
        bench.turn(180)
        assert [one["kind"] for one in tree.inbox("macro")] == ["reminder"]

    def test_an_inbox_that_was_deleted_is_made_again_for_the_next_delivery(self, tree: Tree, bench: Bench) -> None:
        """Empty folders are not carried by git, for one."""
        bench.turn()
        shutil.rmtree(tree.path / "inbox")
        tree.request()
        bench.turn(1)
        assert len(tree.inbox("macro")) == 1

    def test_a_delivery_that_the_agent_edits_into_its_answer_is_an_answer(self, tree: Tree, bench: Bench) -> None:
        """The file is the agent's then: the daemon does not take it away."""
        tree.request()
        bench.turn()
        (path,) = tree.inbox_paths("macro")
        path.write_text(json.dumps(CONFIRMED))
        rel = str(path.relative_to(tree.path))
        bench.turn(1)
        assert bench.verdict(rel) == "confirmed"
        tree.drop("final.json", FINAL)
        bench.turn(1)
        assert path.read_text() == json.dumps(CONFIRMED)

    def test_an_answer_that_was_written_into_a_delivery_is_an_answer(self, tree: Tree, bench: Bench) -> None:
        """An agent may leave the keys of the delivery where they are: what it dropped still gets a verdict."""
        tree.request()
        bench.turn()
        (path,) = tree.inbox_paths("macro")
        path.write_text(json.dumps({**json.loads(path.read_bytes()), **CONFIRMED}))
        bench.turn(1)
        assert bench.verdict(str(path.relative_to(tree.path))) == "confirmed"

    def test_a_request_file_goes_when_it_is_owed_no_longer(self, tree: Tree, bench: Bench) -> None:
        """An agent that wakes tomorrow must not redo ended work."""
        tree.request()
        bench.turn()
        tree.drop("final.json", FINAL)
        bench.turn(1)
        assert [one["kind"] for one in tree.inbox("macro")] == ["final"]
        assert tree.inbox("trading") == []

    def test_a_changed_delivery_is_left_alone_when_it_is_owed_no_longer(self, tree: Tree, bench: Bench) -> None:
        """Only a file whose bytes are still its own is ever removed."""
        tree.request()
        bench.turn()
        (path,) = tree.inbox_paths("macro")
        path.write_text(path.read_text() + "\n")
        tree.drop("final.json", FINAL)
        bench.turn(1)
        assert path.exists()

    @pytest.mark.parametrize("obstacle", ["file", "link"])
    def test_one_bad_inbox_holds_up_nobody_else(self, tree: Tree, bench: Bench, obstacle: str) -> None:
        """A file or a link in place of an inbox: the others are served, the trouble is shown, and it heals."""
        elsewhere = tree.base / "elsewhere"
        elsewhere.mkdir()
        if obstacle == "file":
            tree.drop("inbox/macro", "mine")
        else:
            (tree.path / "inbox/macro").symlink_to(elsewhere)
        tree.request()
        bench.turn()
        assert [one["kind"] for one in tree.inbox("trading")] == ["request"]
        assert any("macro" in one for one in bench.engine.trouble.values())
        assert list(elsewhere.iterdir()) == []
        bench.turn(6)
        assert len(tree.inbox("trading")) == 1
        (tree.path / "inbox/macro").unlink()
        bench.turn(6)
        assert [one["kind"] for one in tree.inbox("macro")] == ["request"]
        assert bench.engine.trouble == {}

    def test_reminder_and_escalation_come_when_they_are_due_and_once(self, tree: Tree, bench: Bench) -> None:
        """No reminder at 4:59, one at 5:00, none at 5:01; the arbiter at 10:00, once."""
        tree.request()
        bench.turn()
        bench.turn(299, NOTHING)
        assert [one["kind"] for one in tree.inbox("macro")] == ["request"]
        bench.turn(1, NOTHING)
        assert [one["kind"] for one in tree.inbox("macro")] == ["reminder"]
        bench.turn(1, NOTHING)
        assert len(tree.inbox("macro")) == 1
        bench.turn(298, NOTHING)
        assert tree.inbox("zoe") == []
        bench.turn(1, NOTHING)
        assert [one["kind"] for one in tree.inbox("zoe")] == ["escalation"]
        bench.turn(60, NOTHING)
        assert len(tree.inbox("zoe")) == 1

    def test_after_nine_hours_of_sleep_the_reminder_comes_first(self, tree: Tree, bench: Bench) -> None:
        """The escalation follows five minutes later and not before."""
        tree.request()
        bench.turn()
        bench.close()
        bench.now += 9 * 3_600_000
        bench.open()
        bench.turn()
        assert [one["kind"] for one in tree.inbox("macro")] == ["reminder"]
        assert tree.inbox("zoe") == []
        bench.turn(299)
        assert tree.inbox("zoe") == []
        bench.turn(1)
        assert [one["kind"] for one in tree.inbox("zoe")] == ["escalation"]


class TestPages:
    def test_a_threads_page_comes_within_a_second_and_then_at_most_every_ten(self, tree: Tree, bench: Bench) -> None:
        """A busy thread does not make the page flicker."""
        bench.turn()
        tree.request()
        bench.turn(0.5, hint("roundtable/week-v1/request-zoe.json"))
        first = tree.page("roundtable/week-v1/THREAD.md")
        assert "Plan week-v1" in first
        tree.drop("c.json", CONFIRMED)
        bench.turn(5, hint("c.json"))
        assert tree.page("roundtable/week-v1/THREAD.md") == first
        assert bench.engine.pause() <= 5_000
        bench.turn(5, NOTHING)
        assert "oil is priced in" in tree.page("roundtable/week-v1/THREAD.md")

    def test_a_persons_edit_of_a_generated_page_is_kept_and_the_page_written_anew(
        self, tree: Tree, bench: Bench
    ) -> None:
        """What people wrote is never lost, even where it does not belong."""
        tree.request()
        bench.turn()
        tree.drop("roundtable/week-v1/THREAD.md", "my own words")
        tree.drop("c.json", CONFIRMED)
        bench.turn(11)
        assert "oil is priced in" in tree.page("roundtable/week-v1/THREAD.md")
        kept = list((tree.path / "rejected").rglob("*THREAD.md"))
        assert [path.read_text() for path in kept] == ["my own words"]

    def test_an_unchanged_page_is_not_written_again(self, tree: Tree, bench: Bench) -> None:
        """Its file is the same file, restarts included."""
        tree.request()
        bench.turn()
        bench.turn(20)
        before = (tree.path / "BOARD.md").stat(), (tree.path / "roundtable/week-v1/THREAD.md").stat()
        bench.close()
        bench.open()
        bench.turn(20)
        bench.turn(20)
        after = (tree.path / "BOARD.md").stat(), (tree.path / "roundtable/week-v1/THREAD.md").stat()
        assert [one.st_ino for one in before] == [one.st_ino for one in after]

    def test_a_folder_in_place_of_a_page_holds_up_nothing(self, tree: Tree, bench: Bench) -> None:
        """Deliveries and the other pages go on, and the trouble is shown."""
        (tree.path / "BOARD.md").mkdir()
        tree.request()
        bench.turn()
        assert tree.page("roundtable/week-v1/THREAD.md")
        assert any("BOARD.md" in one for one in bench.engine.trouble.values())
        (tree.path / "BOARD.md").rmdir()
        bench.turn(11)
        assert "week-v1" in tree.page("BOARD.md")

    def test_what_waits_for_its_request_is_on_the_board_until_it_comes(self, tree: Tree, bench: Bench) -> None:
        """A final whose request never came is shown to people, thanks for nobody knows what are not."""
        bench.turn()
        tree.drop("f.json", {"state": "final", "ack_id": "week-v1", "from": "trading", "conclusion": "cut to 40 %"})
        tree.drop("t.json", {"ack_id": "other-v1", "from": "macro", "body": "谢谢"})
        bench.turn(11)
        page = tree.page("BOARD.md")
        assert [line.count("no request yet, held") for line in page.splitlines() if "`week-v1`" in line] == [1]
        assert "other-v1" not in page
        tree.request()
        bench.turn(11)
        page = tree.page("BOARD.md")
        assert "no request yet" not in page
        assert "## Ended lately" in page

    def test_a_circle_that_was_refused_is_on_the_board(self, tree: Tree, bench: Bench) -> None:
        """Its thread never opened, and yet a person must look."""
        bench.turn()
        tree.request(to=["zoe"], dri="zoe")
        bench.turn(11)
        lines = tree.page("BOARD.md").partition("## Needs a person")[2].splitlines()
        assert any("`week-v1`" in line and "a message was refused" in line for line in lines)

    def test_pages_left_behind_by_a_crash_are_written_after_it(self, tree: Tree, bench: Bench) -> None:
        """The threads that changed after the last complete writing are looked at again."""
        tree.request()
        bench.turn()
        tree.drop("c.json", CONFIRMED)
        bench.turn(1)
        bench.close(clean=False)
        bench.open()
        bench.turn(11)
        assert "oil is priced in" in tree.page("roundtable/week-v1/THREAD.md")


def sealed(tree: Tree) -> list[Any]:
    """Give all sealed runs of the tree."""
    with Root(tree.path) as root:
        return list(SealedFiles(root, Stage(root)).read_all())


class TestSealedFiles:
    def test_entries_are_sealed_after_two_seconds(self, tree: Tree, bench: Bench) -> None:
        """Not sooner: no delivery waits for it, and a busy second makes one file."""
        tree.request()
        bench.turn()
        bench.turn(1.9, NOTHING)
        assert sealed(tree) == []
        assert bench.engine.pause() <= 100
        bench.turn(0.1, NOTHING)
        (one,) = sealed(tree)
        assert len(one.entries) == bench.engine.book.seq

    def test_a_clean_stop_seals_at_once_and_the_chain_is_whole(self, tree: Tree, bench: Bench) -> None:
        """Every entry names the one before it, across files."""
        for number in range(5):
            tree.request(f"t-{number}")
            bench.turn()
            bench.close()
            bench.open()
        runs = sealed(tree)
        assert [one.problem for one in runs] == [""] * len(runs)
        assert len(runs) == 5
        entries = [entry for one in runs for entry, _ in one.entries]
        assert [entry.seq for entry in entries] == list(range(1, len(entries) + 1))
        assert [entry.prev for entry in entries] == ["", *(entry.key for entry in entries[:-1])]

    def test_a_thousand_entries_are_sealed_without_waiting(self, tree: Tree, bench: Bench) -> None:
        """A burst is exchanged as it comes."""
        for number in range(360):
            tree.request(f"t-{number:04d}", path=f"burst/{number}.json")
        bench.turn()
        runs = sealed(tree)
        assert len(runs) >= 1
        assert len(runs[0].entries) == 1000

    def test_a_restored_state_directory_takes_a_new_incarnation(self, tree: Tree, bench: Bench) -> None:
        """A memory that lacks what it once wrote imports it and never writes a number twice."""
        tree.request("one")
        bench.turn()
        bench.close()
        state = tree.node().state
        shutil.copytree(state, tree.base / "backup")
        bench.open()
        tree.request("two")
        bench.turn()
        bench.close()
        shutil.rmtree(state)
        shutil.copytree(tree.base / "backup", state)
        state.chmod(0o700)
        before = tree.all_inboxes()
        bench.open()
        tree.request("three")
        bench.turn()
        incs = {path.name for path in (tree.path / "ledger").iterdir()}
        bench.close()
        assert {path.name for path in (tree.path / "ledger").iterdir()} > incs
        assert set(tree.threads()) == {"one", "two", "three"}
        assert set(before) <= set(tree.all_inboxes())
        assert sorted(one["thread"] for one in tree.inbox("macro")) == ["one", "three", "two"]
        bench.open()


class TestTrouble:
    def test_a_commit_that_fails_loses_and_doubles_nothing(
        self, tree: Tree, bench: Bench, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The disk is full at each commit in turn: afterwards everything is there once."""
        real = Memory.add_entries
        for failing in range(1, 6):
            tree.request(f"t-{failing}")
            tree.drop(f"c-{failing}.json", {**CONFIRMED, "ack_id": f"t-{failing}"})
            left = [failing]

            def full(self: Memory, *given: Any, left: list[int] = left) -> None:
                left[0] -= 1
                real(self, *given)
                if left[0] == 0:
                    raise sqlite3.OperationalError("database or disk is full")

            with monkeypatch.context() as patch:
                patch.setattr(Memory, "add_entries", full)
                bench.turn(1)
            bench.turn(1, NOTHING)
            bench.turn(1, NOTHING)
            assert bench.engine.trouble == {}
            assert bench.thread(f"t-{failing}").phase == "request"
            ids = [one["id"] for agent in ("macro", "trading", "zoe") for one in tree.inbox(agent)]
            assert len(ids) == len(set(ids))
            assert {one["thread"] for one in tree.inbox("trading") if one["kind"] == "request"} == {
                f"t-{number}" for number in range(1, failing + 1)
            }

    def test_a_rename_that_fails_half_way_doubles_nothing(
        self, tree: Tree, bench: Bench, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Some of a group lie in their inboxes, the others follow."""
        real = Stage.publish
        count = 0

        def broken(self: Stage, staged: Any, dest: str) -> bool:
            nonlocal count
            if dest.startswith("inbox/"):
                count += 1
                if count == 3:
                    raise OSError(28, "No space left on device")
            return real(self, staged, dest)

        monkeypatch.setattr(Stage, "publish", broken)
        for number in range(4):
            tree.request(f"t-{number}")
        bench.turn()
        taken = [one["id"] for agent in ("macro", "trading") for one in tree.inbox(agent)]
        for agent in ("macro", "trading"):
            for path in tree.inbox_paths(agent):
                path.unlink()
        bench.turn(10)
        bench.turn(10)
        taken += [one["id"] for agent in ("macro", "trading") for one in tree.inbox(agent)]
        assert len(taken) == 8
        assert len(set(taken)) == 8

    def test_a_scratch_folder_that_was_emptied_before_the_rename_costs_nothing(
        self, tree: Tree, bench: Bench, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """It may be deleted at any time: a staged file that went with it was not handed over."""
        real = Stage.publish

        def cleaned(self: Stage, staged: Any, dest: str) -> bool:
            if dest.startswith("inbox/"):
                shutil.rmtree(tree.path / ".ackd")
            return real(self, staged, dest)

        monkeypatch.setattr(Stage, "publish", cleaned)
        tree.request()
        bench.turn()
        assert tree.all_inboxes() == {}
        monkeypatch.setattr(Stage, "publish", real)
        bench.turn(6)
        assert [one["kind"] for one in tree.inbox("macro")] == ["request"]
        assert [one["kind"] for one in tree.inbox("trading")] == ["request"]

    def test_a_link_in_place_of_rejected_holds_up_nothing(self, tree: Tree, bench: Bench) -> None:
        """It may come with a pull; nothing is written through it and the other files flow."""
        elsewhere = tree.base / "elsewhere"
        elsewhere.mkdir()
        (tree.path / "rejected").symlink_to(elsewhere)
        tree.drop("a.json", '{"from": "macro",}')
        tree.request()
        bench.turn()
        assert bench.verdict("a.json") == "refused"
        assert bench.verdict("roundtable/week-v1/request-zoe.json") == "opened"
        assert list(elsewhere.iterdir()) == []

    def test_two_engines_under_a_broken_lock_hand_over_once(self, tree: Tree, bench: Bench) -> None:
        """The lock only saves work: whoever commits second judges anew."""
        second = type(bench)(tree)
        taken: list[str] = []

        def take() -> None:
            for agent in ("macro", "trading", "zoe", "wen"):
                for path in tree.inbox_paths(agent):
                    document = json.loads(path.read_bytes())
                    taken.extend(document.get("ids") or [document["id"]])
                    path.unlink()

        for number in range(12):
            tree.request(f"t-{number}")
            if number % 2:
                tree.drop(f"f-{number}.json", {**FINAL, "ack_id": f"t-{number - 1}"})
            for one in (bench, second) if number % 3 else (second, bench):
                one.now = bench.now = max(bench.now, second.now) + 40_000
                one.turn()
                take()
        for _ in range(40):
            for one in (second, bench):
                one.now = bench.now = max(bench.now, second.now) + 60_000
                one.turn()
                take()
        second.close()
        assert len(taken) == len(set(taken))
        assert len([name for name in taken if name.startswith("request:")]) == 24
        numbers = [entry.seq for entry, _ in bench.engine.memory.all_entries()]
        assert numbers == list(range(1, len(numbers) + 1))


class TestLostMemory:
    def test_a_deleted_state_directory_is_rebuilt_and_nothing_is_delivered_again(
        self, tree: Tree, bench: Bench
    ) -> None:
        """The same threads from the sealed files; the inboxes stay as they are, byte for byte."""
        tree.team(agents={"zoe": {}, "macro": {}, "trading": {}, "交易员": {}})
        tree.request("open-v1", to=["macro", "交易员"], dri="交易员")
        tree.request("week-v1")
        tree.drop("c.json", CONFIRMED)
        tree.drop("bad.json", '{"from": "macro",}')
        bench.turn()
        tree.drop("f.json", FINAL)
        tree.request("open-v1", to=["macro", "交易员"], dri="交易员", action="revised")
        bench.turn(301)
        (taken, *_) = tree.inbox_paths("macro")
        taken.unlink()
        bench.turn(1)
        bench.close()
        before, inboxes, records = tree.threads(), tree.all_inboxes(), tree.records()
        pages = tree.page("BOARD.md"), tree.page("roundtable/week-v1/THREAD.md")
        shutil.rmtree(tree.base / "state")
        bench.open()
        bench.turn(1)
        bench.turn(11)
        bench.close()
        assert tree.threads() == before
        assert tree.all_inboxes() == inboxes
        assert tree.records() == records
        assert (tree.page("BOARD.md"), tree.page("roundtable/week-v1/THREAD.md")) == pages
        bench.open()


def test_another_node_in_the_ledger_is_warned_of(tree: Tree, bench: Bench, caplog: pytest.LogCaptureFixture) -> None:
    """Two daemons on one tree do not share the work: who starts a second one elsewhere is told."""
    (tree.path / "ledger" / "桌面-1-0a1b2c3d").mkdir(parents=True)
    bench.close()
    bench.open()
    (record,) = [one for one in caplog.records if one.getMessage() == "other-nodes"]
    assert record.__dict__["nodes"] == "桌面-1"
