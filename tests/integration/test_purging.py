"""Purging: every word of a message leaves memory, ledger, pages, inboxes and rejected/; what follows of it stays."""

from __future__ import annotations

import json
import shutil
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from ackd.engine.purging import Purged, purge
from ackd.errors import BusyError, InvalidError, NotAllowedError
from ackd.exchange import SealedFiles
from ackd.fs.beneath import Root
from ackd.fs.lock import DaemonLock
from ackd.fs.stage import Stage
from ackd.protocol.entry import JUDGED, PURGED
from ackd.schema import accepts

if TYPE_CHECKING:
    from tests.conftest import Bench, Tree

SECRET = "the key is sk-9f3a77 for the 交易所账户密钥"
PART = "sk-9f3a77"
PATH = "roundtable/week-v1/final-trading.json"
FINAL = {
    "state": "final",
    "ack_id": "week-v1",
    "from": "trading",
    "status": "partial_success",
    "conclusion": "Cut to 40 %",
    "body": SECRET,
    "data": {"note": SECRET},
    "message_id": "m-final",
}


def remove(tree: Tree, name: str = PATH, by: str = "wen") -> Purged:
    """Purge, and give what was done."""
    return purge(tree.path, name, by, time.time_ns() // 1_000_000 + 120_000)


def holders(base: Path) -> set[str]:
    """Give every file below a folder whose bytes hold the secret, in whatever form."""
    found = set()
    for path in base.rglob("*"):
        if path.is_file() and PART.encode() in path.read_bytes():
            found.add(path.relative_to(base).as_posix())
    return found


@pytest.fixture
def ended(tree: Tree, bench: Bench) -> Tree:
    """Give a tree with an ended thread, whose final holds a secret; no daemon runs."""
    tree.request()
    bench.turn()
    tree.drop("roundtable/week-v1/confirmed-macro.json", {"state": "confirmed", "ack_id": "week-v1", "from": "macro"})
    tree.drop(PATH, FINAL)
    bench.turn(20)
    assert bench.thread().phase == "final"
    bench.close()
    assert len(holders(tree.base)) > 4
    bench.open()
    bench.close = lambda **_: None  # type: ignore[method-assign]
    bench._memory.close()
    bench._root.close()
    return tree


def entries(tree: Tree) -> list[Any]:
    """Give all entries of the memory."""
    memory = tree.memory()
    try:
        return [entry for entry, _ in memory.all_entries()]
    finally:
        memory.close()


class TestAMessage:
    @pytest.mark.parametrize("name", [PATH, f"./{PATH}", "m-final"])
    def test_its_words_are_gone_from_all_that_is_ours(self, ended: Tree, name: str) -> None:
        """Only the dropped file holds the secret still, and it is named; memory and its log are wiped."""
        done = remove(ended, name)
        assert holders(ended.base) == {f"shared-context/{PATH}"}
        assert done.left == (PATH,)
        assert done.entries >= 1
        assert json.loads((ended.path / PATH).read_bytes()) == FINAL

    def test_what_follows_from_it_stays(self, ended: Tree) -> None:
        """State, verdict, author and status of the thread are as they were; the page says what happened to its text."""
        before = ended.threads()["week-v1"]
        remove(ended)
        after = ended.threads()["week-v1"]
        assert (after.phase, after.final, after.dri) == (before.phase, before.final, before.dri)
        assert [one.verdict for one in after.messages] == [one.verdict for one in before.messages]
        final = after.message(after.final)
        assert final is not None
        assert final.content["status"] == "partial_success"
        assert final.content["conclusion"] == "removed by a person"
        assert "data" not in final.content
        assert "removed by a person" in ended.page("roundtable/week-v1/THREAD.md")
        assert "Plan week-v1" in ended.page("roundtable/week-v1/THREAD.md")

    def test_the_chain_of_entries_still_holds(self, ended: Tree) -> None:
        """Keys stay, sealed files read whole, and the record says who had it removed."""
        keys = [one.key for one in entries(ended)]
        remove(ended)
        assert [one.key for one in entries(ended)][: len(keys)] == keys
        with Root(ended.path) as root:
            files = list(SealedFiles(root, Stage(root)).read_all())
        assert [one.problem for one in files if one.problem] == []
        sealed = [pair for one in files for pair in one.entries]
        assert [one.key for one, _ in sealed] == [one.key for one in entries(ended)]
        assert all(accepts("ledger-entry", json.loads(line)) for _, line in sealed)
        purged = [one for one in entries(ended) if one.kind == PURGED]
        assert {one.body["by"] for one in purged} == {"wen"}
        judged = [one for one in entries(ended) if one.kind == JUDGED and one.body.get("purged")]
        assert {one.body["digest"] for one in judged} == set(purged[0].body["digests"])

    def test_the_file_that_still_lies_there_is_never_taken_again(self, ended: Tree, bench: Bench) -> None:
        """Neither with the next start, nor under another name, nor by a memory that was made anew."""
        remove(ended)
        inboxes = ended.all_inboxes()
        for lost in (False, True):
            if lost:
                shutil.rmtree(ended.node().state)
            bench.open()
            ended.drop("copy.json", FINAL)
            bench.now += 300_000
            bench.turn(61)
            assert bench.thread().phase == "final"
            bench.engine.finish()
            bench._memory.close()
            bench._root.close()
            assert holders(ended.base) == {f"shared-context/{PATH}", "shared-context/copy.json"}
            assert ended.all_inboxes() == inboxes

    def test_a_secret_that_was_edited_out_is_found_by_the_path(self, ended: Tree, bench: Bench) -> None:
        """Every text that the file ever held goes; what it was edited into goes with it."""
        bench.open()
        bench.now += 1000
        ended.drop(PATH, {**FINAL, "body": "nothing to see", "data": {}})
        bench.turn(1)
        bench.engine.finish()
        bench._memory.close()
        bench._root.close()
        assert f"shared-context/{PATH}" not in holders(ended.base)
        assert len(remove(ended).digests) == 2
        assert holders(ended.base) == set()

    def test_a_purge_that_was_killed_is_finished_by_the_next(
        self, ended: Tree, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Between memory and sealed files: the same command again leaves nothing anywhere."""

        def killed(*words: Any) -> str:
            raise KeyboardInterrupt

        with monkeypatch.context() as patch:
            patch.setattr(SealedFiles, "put_back", killed)
            with pytest.raises(KeyboardInterrupt):
                remove(ended)
        assert any("ledger/" in one for one in holders(ended.base))
        remove(ended)
        assert holders(ended.base) == {f"shared-context/{PATH}"}

    def test_a_decision_leaves_its_record_too(self, tree: Tree, bench: Bench) -> None:
        """The record in decisions/ follows its thread: its words go with those of the final."""
        tree.request()
        bench.turn()
        tree.drop(PATH, {**FINAL, "decision": {"title": SECRET, "options": [SECRET, "the other one"]}})
        bench.turn(20)
        bench.engine.finish()
        bench._memory.close()
        bench._root.close()
        (record,) = (tree.path / "decisions").glob("*.md")
        assert PART in record.read_text("utf-8")
        remove(tree)
        assert holders(tree.base) == {f"shared-context/{PATH}"}
        assert record.exists()

    def test_a_line_of_the_people_s_page_asks_no_second_time(self, tree: Tree, bench: Bench) -> None:
        """The line still stands there, for its people to delete; it is no news, and nobody gets its words again."""
        line = f"- [ ] @trading: look at the new connection to the exchange and to our own archive: {SECRET}"
        text = f"---\nupdated: 2026-03-08\nupdated_by: wen\n---\n\n# Page\n\n## Requests\n\n{line}\n"
        bench.turn()
        tree.drop("PROJECT_STATUS.md", text)
        for _ in range(5):
            bench.turn(2)
        (name,) = [row.id for row in bench.engine.memory.threads() if row.id.startswith("page-")]
        bench.engine.finish()
        bench._memory.close()
        bench._root.close()
        assert remove(tree, name).left == ("PROJECT_STATUS.md",)
        assert holders(tree.base) == {"shared-context/PROJECT_STATUS.md"}
        bench.open()
        bench.now += 200_000
        for _ in range(5):
            bench.turn(2)
        bench.engine.finish()
        assert [row.id for row in bench.engine.memory.threads() if row.id.startswith("page-")] == [name]
        assert {one.removesuffix("-wal") for one in holders(tree.base)} == {"shared-context/PROJECT_STATUS.md"}

    def test_twice_changes_nothing_more(self, ended: Tree) -> None:
        """The second time finds nothing to remove, and says again what is left."""
        remove(ended)
        again = remove(ended)
        assert (again.entries, again.left) == (0, (PATH,))

    def test_a_request_can_be_purged_and_its_thread_goes_on(self, tree: Tree, bench: Bench) -> None:
        """Duties and timers stay; whoever has not read it does not get its words; the board is clean."""
        tree.request(action=SECRET)
        bench.turn()
        bench.engine.finish()
        bench._memory.close()
        bench._root.close()
        done = remove(tree, "week-v1")
        assert len([one for one in done.removed if one.startswith("inbox/")]) == 2
        assert holders(tree.base) == {"shared-context/roundtable/week-v1/request-zoe.json"}
        bench.open()
        bench.now += 200_000
        tree.drop("roundtable/week-v1/final-trading.json", {**FINAL, "body": "done", "data": {}})
        bench.turn(400)
        assert bench.thread().phase == "final"
        assert holders(tree.base) == {"shared-context/roundtable/week-v1/request-zoe.json"}

    def test_a_held_message_that_was_purged_stays_as_it_is(self, tree: Tree, bench: Bench) -> None:
        """When its request comes it is not judged by the words that stand in its place."""
        tree.drop(PATH, FINAL)
        bench.turn()
        assert bench.verdict(PATH) == "held"
        bench.engine.finish()
        bench._memory.close()
        bench._root.close()
        remove(tree)
        tree.remove(PATH)
        bench.open()
        bench.now += 200_000
        tree.request()
        bench.turn(1)
        assert bench.thread().phase == "request"
        assert [one.verdict for one in bench.thread().messages if one.type == "final"] == ["held"]


class TestARefusedFile:
    @pytest.mark.parametrize("is_repairable", [True, False])
    def test_its_record_goes_and_it_is_not_refused_again(self, tree: Tree, bench: Bench, is_repairable: bool) -> None:
        """Bytes, repair, problem and notice are gone, also after the memory was made anew."""
        text = json.dumps(FINAL, ensure_ascii=False)
        tree.request()
        tree.drop(PATH, f"```\n{text}\n```" if is_repairable else f"{text}\n{text}")
        bench.turn(5)
        assert bench.verdict(PATH) == "refused"
        bench.engine.finish()
        bench._memory.close()
        bench._root.close()
        done = remove(tree)
        assert done.left == (PATH,)
        assert holders(tree.base) == {f"shared-context/{PATH}"}
        assert tree.records() == []
        shutil.rmtree(tree.node().state)
        bench.open()
        bench.now += 200_000
        bench.turn(1)
        assert bench.verdict(PATH) == "refused"
        assert {one for one in holders(tree.base) if one.startswith("shared")} == {f"shared-context/{PATH}"}
        assert [one for one in tree.inbox("trading") if one["kind"] == "refusal"] == []


class TestWhoAndWhen:
    def test_a_file_that_was_never_taken_in_is_only_to_be_deleted(self, ended: Tree) -> None:
        """Nothing is remembered of it, and it says so instead of taking it in."""
        ended.drop("fresh.json", FINAL | {"body": "never seen"})
        with pytest.raises(InvalidError, match="never taken in"):
            remove(ended, "fresh.json")

    @pytest.mark.parametrize("by", ["zoe", "trading", "nobody"])
    def test_only_a_person_may(self, ended: Tree, by: str) -> None:
        """No agent may, not even an arbiter; nothing is changed."""
        before = holders(ended.base)
        with pytest.raises(NotAllowedError):
            remove(ended, by=by)
        assert holders(ended.base) == before

    def test_never_beside_a_daemon(self, ended: Tree) -> None:
        """Whoever holds the lock is named."""
        with DaemonLock(ended.node().state / "daemon.lock", "x"), pytest.raises(BusyError, match="already running"):
            remove(ended)

    @pytest.mark.parametrize("name", ["nothing", "week-v1", "roundtable/none.json", "f" * 64, ""])
    def test_it_must_be_clear_what_is_meant(self, ended: Tree, name: str) -> None:
        """An unknown name, and a thread of several messages, remove nothing."""
        with pytest.raises(InvalidError):
            remove(ended, name)


def test_a_thread_whose_request_is_purged_owes_nothing(tree: Tree, bench: Bench) -> None:
    """Nobody can do what was removed: the thread has ended, with an engine and after a lost memory."""
    path = tree.request("deal-v1", action=SECRET)
    bench.turn()
    assert tree.inbox("trading")
    bench.close()
    path.unlink()
    remove(tree, "roundtable/deal-v1/request-zoe.json")
    assert tree.threads()["deal-v1"].ended_by == "cancel"
    assert tree.inbox("trading") == []
    shutil.rmtree(tree.base / "state")
    bench.open()
    bench.turn(600)
    bench.turn(3_600)
    assert bench.thread("deal-v1").ended
    assert tree.inbox("trading") == tree.inbox("macro") == []


def test_a_thread_whose_old_text_is_purged_goes_on(tree: Tree, bench: Bench) -> None:
    """Where a later text of the request is in force, the work is known."""
    path = tree.request("deal-v1", action=SECRET)
    bench.turn()
    tree.request("deal-v1", path="roundtable/deal-v1/second.json", action="Count again")
    bench.turn(1)
    first = bench.thread("deal-v1").request
    bench.close()
    path.unlink()
    remove(tree, first)
    bench.open()
    assert not bench.thread("deal-v1").ended
