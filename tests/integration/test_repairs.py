"""Repairs that are certain: offered beside the refusal, accepted by whoever may, never made in silence."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from typing import TYPE_CHECKING, Any

import pytest

from ackd.engine.accepting import accept_repair, find_refusal
from ackd.engine.reading import View
from ackd.errors import InvalidError, NotAllowedError
from ackd.protocol.refusal import refusal_id
from ackd.schema import accepts

if TYPE_CHECKING:
    from pathlib import Path

    from tests.conftest import Bench, Tree

FOLDER = "roundtable/week-v1"
BROKEN = f"{FOLDER}/confirmed-macro.json"
CONFIRMED = {"state": "confirmed", "ack_id": "week-v1", "from": "macro", "conclusion": "油价已计入"}
FENCED = "```json\n" + json.dumps(CONFIRMED, ensure_ascii=False) + "\n```\n"


def only(tree: Tree, ending: str) -> Path:
    """Give the only file in `rejected/` with that ending."""
    (path,) = (tree.path / "rejected").rglob(f"*{ending}")
    return path


def refuse(tree: Tree, bench: Bench, content: str | bytes = FENCED) -> Path:
    """Ask, and let macro answer with a file that is refused."""
    tree.request()
    path = tree.drop(BROKEN, content)
    bench.turn()
    assert bench.verdict(BROKEN) == "refused"
    return path


def notice(tree: Tree, agent: str = "macro") -> dict[str, Any]:
    """Give the notice of a refusal in an inbox."""
    (found,) = [one for one in tree.inbox(agent) if one["kind"] == "refusal"]
    return found


class TestTheOffer:
    @pytest.mark.parametrize(
        "content",
        [
            FENCED,
            json.dumps(CONFIRMED)[:-1] + ",}",
            "// my answer\n" + json.dumps(CONFIRMED),
            json.dumps(CONFIRMED).replace("ack_id", "ackId"),
            json.dumps([CONFIRMED]),
            json.dumps(CONFIRMED, ensure_ascii=False).encode("utf-16"),
        ],
        ids=["fence", "comma", "comment", "key", "list", "utf-16"],
    )
    def test_it_lies_beside_the_record_and_is_no_drop(self, tree: Tree, bench: Bench, content: str | bytes) -> None:
        """The repaired envelope is whole and valid, nothing takes it in, and the file stays as it was."""
        path = refuse(tree, bench, content)
        bench.turn(61)
        assert json.loads(only(tree, ".repaired.json").read_bytes()) == CONFIRMED
        assert bench.thread().duties["macro"].confirmed == ""
        assert path.read_bytes() == (content.encode() if isinstance(content, str) else content)

    def test_the_problem_names_it_and_what_was_changed(self, tree: Tree, bench: Bench) -> None:
        """Path, changes, author and the way to accept it stand in the problem, which fits its schema."""
        refuse(tree, bench)
        problem = tree.problem()
        assert accepts("problem", problem)
        assert tree.path / problem["repaired"] == only(tree, ".repaired.json")
        assert ["fence" in one for one in problem["changes"]] == [True]
        assert problem["from"] == "macro"
        assert f"ackd rejected --accept {refusal_id(BROKEN)[1:]}" in problem["fix"]

    def test_the_notice_carries_it_to_its_author(self, tree: Tree, bench: Bench) -> None:
        """The author of a UTF-16 file is known by the repair; the answer of the notice is the repaired envelope."""
        refuse(tree, bench, json.dumps(CONFIRMED, ensure_ascii=False).encode("utf-16"))
        told = notice(tree)
        assert accepts("delivery", told)
        assert told["repaired"]["envelope"] == CONFIRMED
        assert told["answers"][0] | {"means": ""} == {
            "for": "correct",
            "means": "",
            "drop_at": BROKEN,
            "skeleton": CONFIRMED,
        }
        said = "\n".join(told["notes"])
        assert f"ackd rejected --accept {refusal_id(BROKEN)[1:]}" in said
        assert f"drop {told['repaired']['path']}, or save it over" in said

    def test_what_has_no_certain_repair_says_why(self, tree: Tree, bench: Bench) -> None:
        """Two objects may mean either: the reason stands in the problem, and nothing is offered."""
        refuse(tree, bench, f"{json.dumps(CONFIRMED)}\n{json.dumps(CONFIRMED)}\n")
        problem = tree.problem()
        assert "repaired" not in problem
        assert problem["why_no_repair"]
        assert accepts("problem", problem)
        assert list((tree.path / "rejected").rglob("*.repaired.json")) == []
        assert "repaired" not in notice(tree)

    def test_a_file_of_another_kind_gets_none(self, tree: Tree, bench: Bench) -> None:
        """A status file with a stray comma is its keeper's to judge, and no envelope to be."""
        tree.drop("status/macro.json", '{"ackId": "x-v1", "state": "request", "from": "macro",}')
        bench.turn()
        assert list((tree.path / "rejected").rglob("*.repaired.json")) == []

    def test_a_file_put_right_in_place_takes_it_away(self, tree: Tree, bench: Bench) -> None:
        """Record, repair and notice go; what counts is what the file holds now."""
        refuse(tree, bench)
        tree.drop(BROKEN, only(tree, ".repaired.json").read_bytes())
        bench.turn(1)
        assert bench.verdict(BROKEN) == "confirmed"
        assert tree.records() == []
        assert [one for one in tree.inbox("macro") if one["kind"] == "refusal"] == []

    def test_a_repaired_file_that_somebody_changed_stays(self, tree: Tree, bench: Bench) -> None:
        """What is not ours any more is not taken away."""
        refuse(tree, bench)
        only(tree, ".repaired.json").write_text("mine now", "utf-8")
        tree.drop(BROKEN, CONFIRMED)
        bench.turn(1)
        assert only(tree, ".repaired.json").read_text("utf-8") == "mine now"
        assert len(tree.records()) == 1


class TestAccepting:
    def accept(self, tree: Tree, by: str = "macro") -> str:
        """Accept the repair as a face does; give the path that it was laid at."""
        with View(tree.path) as view:
            return accept_repair(view, refusal_id(BROKEN)[1:9], by).dropped.path

    def test_the_refusal_is_over_when_the_repair_is_taken_in(self, tree: Tree, bench: Bench) -> None:
        """The thread has its confirmed, the record goes, the refused file stays and says what became of it."""
        path = refuse(tree, bench)
        before = path.read_bytes()
        laid = self.accept(tree)
        assert (tree.path / laid).read_bytes().endswith(b"}\n")
        bench.turn(1)
        assert bench.verdict(laid) == "confirmed"
        assert bench.verdict(BROKEN) == "refused"
        row = bench.engine.book.file(BROKEN)
        assert row is not None
        assert row.because.endswith(f"; repaired: taken in as {laid}")
        assert tree.records() == []
        assert [one for one in tree.inbox("macro") if one["kind"] == "refusal"] == []
        assert path.read_bytes() == before
        with View(tree.path) as view:
            assert view.refusals() == []

    def test_it_is_not_refused_again(self, tree: Tree, bench: Bench) -> None:
        """Neither a rescan, nor a touch, nor a checkout of the same bytes brings the refusal back."""
        path = refuse(tree, bench)
        self.accept(tree)
        bench.turn(1)
        bench.turn(61)
        data = path.read_bytes()
        path.unlink()
        bench.turn(61)
        path.write_bytes(data)
        bench.turn(61)
        assert tree.records() == []
        assert bench.verdict(BROKEN) == "refused"

    def test_a_lost_memory_knows_it_too(self, tree: Tree, bench: Bench) -> None:
        """A memory rebuilt from the sealed files refuses the file no second time, and tells nobody anything."""
        refuse(tree, bench)
        laid = self.accept(tree)
        bench.turn(1)
        bench.close()
        before = tree.all_inboxes()
        shutil.rmtree(tree.node().state)
        bench.open()
        bench.turn(1)
        assert bench.verdict(BROKEN) == "refused"
        row = bench.engine.book.file(BROKEN)
        assert row is not None
        assert row.because.endswith(f"taken in as {laid}")
        assert tree.records() == []
        assert tree.all_inboxes() == before

    def test_a_restart_in_between_takes_it_all_the_same(self, tree: Tree, bench: Bench) -> None:
        """What waits for which content is found again in the memory."""
        refuse(tree, bench)
        bench.close()
        laid = self.accept(tree)
        bench.open()
        bench.turn(1)
        assert bench.verdict(laid) == "confirmed"
        assert tree.records() == []

    def test_the_repaired_file_dropped_by_hand_does_the_same(self, tree: Tree, bench: Bench) -> None:
        """Content is what counts, not by which command it came."""
        refuse(tree, bench)
        tree.drop("anywhere.json", only(tree, ".repaired.json").read_bytes())
        bench.turn(1)
        assert bench.verdict("anywhere.json") == "confirmed"
        assert tree.records() == []

    def test_a_broken_copy_of_what_is_known_wakes_nobody(self, tree: Tree, bench: Bench) -> None:
        """Content already known is never news, in a code fence either: it has its verdict, and no notice."""
        tree.request()
        tree.drop(BROKEN, CONFIRMED)
        bench.turn()
        before = tree.all_inboxes()
        for path in ("copy.json", BROKEN):
            tree.drop(path, FENCED)
            bench.turn(1)
            assert bench.verdict(path) == "refused"
        assert tree.all_inboxes() == before
        assert tree.records() == []
        assert bench.thread().duties["macro"].confirmed

    def test_other_broken_bytes_are_refused_anew(self, tree: Tree, bench: Bench) -> None:
        """After an accepted repair the file may be broken in another way: that is a refusal of its own."""
        refuse(tree, bench)
        self.accept(tree)
        bench.turn(1)
        tree.drop(BROKEN, FENCED.replace("油价", "利率"))
        bench.turn(1)
        assert len(tree.records()) == 3
        assert notice(tree)["repaired"]["envelope"]["conclusion"] == "利率已计入"

    def test_a_person_may_and_another_agent_may_not(self, tree: Tree, bench: Bench) -> None:
        """Only whoever stands under people, in any spelling of the name; an arbiter is none, a stranger is nobody."""
        refuse(tree, bench)
        for by in ("trading", "zoe", "nobody", ""):
            with pytest.raises(NotAllowedError):
                self.accept(tree, by)
        assert self.accept(tree, "WEN").startswith(FOLDER)

    def test_what_cannot_be_accepted_says_why(self, tree: Tree, bench: Bench) -> None:
        """No repair, no such id, or a thread that would refuse it."""
        refuse(tree, bench, f"{json.dumps(CONFIRMED)}\n{json.dumps(CONFIRMED)}\n")
        with View(tree.path) as view, pytest.raises(InvalidError, match="no certain repair"):
            accept_repair(view, BROKEN, "macro")
        for name in ("ffff", ""):
            with View(tree.path) as view, pytest.raises(InvalidError, match=r"no refused file|several"):
                find_refusal(view, name)

    def test_without_a_memory_the_tree_is_enough(self, tree: Tree, bench: Bench) -> None:
        """The sealed files carry the repair: whoever may not read the state directory can still accept it."""
        refuse(tree, bench)
        sha256 = hashlib.sha256(only(tree, ".repaired.json").read_bytes()).hexdigest()
        bench.close()
        state = tree.node().state
        state.rename(state.with_name("elsewhere"))
        laid = self.accept(tree)
        state.with_name("elsewhere").rename(state)
        assert hashlib.sha256((tree.path / laid).read_bytes()).hexdigest() == sha256
        bench.open()
        bench.turn(1)
        assert bench.verdict(laid) == "confirmed"


def test_a_refused_file_that_is_gone_leaves_the_lists(bench: Bench, tree: Tree) -> None:
    """After ten minutes nobody is asked to put it right; its bytes stay, and it is refused again when it comes back."""
    path, bad = "roundtable/x/request-macro.json", '{"state": "request", "from": "macro"}'
    tree.drop(path, bad)
    bench.turn()
    records = tree.records()
    tree.remove(path)

    def stands() -> bool:
        refusal = bench.engine.book.refusal(refusal_id(path))
        assert refusal is not None
        return refusal.standing and len(tree.inbox("macro")) == 1

    bench.turn(60)
    bench.turn(599)
    assert stands()
    bench.turn(2)
    assert not stands()
    assert tree.inbox("macro") == []
    assert tree.records() == records
    with View(tree.path) as view:
        assert view.refusals() == []
    tree.drop(path, bad)
    bench.turn(1)
    refusal = bench.engine.book.refusal(refusal_id(path))
    assert refusal is not None
    assert refusal.standing
    assert tree.inbox("macro") == [], "it was told before"
    assert tree.records() == records


def test_a_name_that_cannot_be_read_is_not_taken_to_be_away(bench: Bench, tree: Tree) -> None:
    """It lies there still, under a name that no record can hold."""
    (tree.path / os.fsdecode(b"a\xff.json")).write_bytes(b"{}")
    bench.turn()
    for _ in range(3):
        bench.turn(601)
    with View(tree.path) as view:
        assert len(view.refusals()) == 1


@pytest.mark.parametrize("key", ["State", "STATE", "Type", "s tate"])
def test_a_misspelled_key_is_no_metadata(bench: Bench, tree: Tree, key: str) -> None:
    """A request whose state is misspelled would pass for a remark: it is refused, with the repair beside it."""
    tree.drop("a.json", {key: "request", "ack_id": "x-v1", "from": "zoe", "to": ["macro"], "action": "Count"})
    bench.turn()
    assert bench.verdict("a.json") == "refused"
    with View(tree.path) as view:
        accept_repair(view, "a.json", "zoe")
    bench.turn(1)
    assert bench.thread("x-v1").requester == "zoe"


def test_a_key_beside_the_right_one_is_metadata(bench: Bench, tree: Tree) -> None:
    """Then nothing is missing, and what was meant by the other nobody knows."""
    tree.request("x-v1", State="draft")
    bench.turn()
    assert bench.thread("x-v1").phase == "request"
