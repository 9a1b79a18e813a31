"""Threads by dropped files alone, with a real daemon in a process of its own: to the final, and to silence."""

from __future__ import annotations

import itertools
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

from ackd.fs.lock import who_holds

if TYPE_CHECKING:
    from tests.conftest import Bench, Daemon, Tree

Start = Callable[..., "Daemon"]
Eventually = Callable[..., None]

SYLLABLES = ["周报", "油价", "intel", "b", "交易", "x y", "-", "é", "Q3", "备忘"]


def random_path(dice: random.Random) -> str:
    """Give a path such as people and agents make up: folders and names of any script."""
    folders = ["".join(dice.choices(SYLLABLES, k=2)) for _ in range(dice.randrange(4))]
    name = "".join(dice.choices(SYLLABLES, k=3)) + str(dice.randrange(10**6))
    return "/".join(["drops", *folders, name + ".json"])


def kinds(tree: Tree, agent: str) -> list[str]:
    """Give the kinds of the deliveries in an inbox."""
    return [str(one["kind"]) for one in tree.inbox(agent)]


class TestADaemonThatRuns:
    @pytest.mark.parametrize("seed", [1, 2])
    def test_a_thread_goes_from_request_to_final_and_falls_silent(
        self, tree: Tree, daemon_process: Start, eventually: Eventually, seed: int
    ) -> None:
        """File names and folders at random, a Chinese agent among them; after the final no courtesy wakes anybody."""
        dice = random.Random(seed)
        tree.team(agents={"zoe": {}, "macro": {}, "交易员": {}})
        daemon = daemon_process()
        ack = "a股周策略-v1-202603081430"
        request = {"state": "request", "ack_id": ack, "from": "zoe", "to": ["macro", "交易员"], "dri": "交易员"}
        tree.drop(random_path(dice), {**request, "action": "下周策略"})
        eventually(lambda: kinds(tree, "交易员") == ["request"])
        (asked,) = tree.inbox("交易员")
        assert asked["asks"] == ["confirm", "final"]
        tree.drop(random_path(dice), {"state": "confirmed", "ack_id": ack, "from": "macro", "conclusion": "油价已计入"})
        tree.drop(random_path(dice), {"state": "confirmed", "ack_id": ack, "from": "交易员", "version": "v2"})
        eventually(lambda: tree.threads()[ack].phase == "confirmed")
        skeleton = dict(next(one for one in asked["answers"] if one["for"] == "final"))
        tree.drop(skeleton["drop_at"], {**skeleton["skeleton"], "conclusion": "减仓到 40 %"})
        eventually(lambda: "final" in kinds(tree, "zoe") and "final" in kinds(tree, "macro"))
        eventually(lambda: "request" not in kinds(tree, "交易员"))
        before = tree.all_inboxes()
        courtesies = {"thanks": "收到，感谢！", "ok": "OK 👍", "done": "Great, thank you all!"}
        paths = [random_path(dice) for _ in courtesies]
        for path, text in zip(paths, courtesies.values(), strict=True):
            tree.drop(path, {"ack_id": ack, "from": "macro", "body": text})
        tree.drop(random_path(dice), {**request, "action": "下周策略"})
        memory = tree.memory()
        eventually(lambda: all(memory.file(path) is not None for path in paths))
        verdicts = [getattr(memory.file(path), "verdict", "") for path in paths]
        memory.close()
        assert verdicts == ["no-reply"] * len(courtesies)
        time.sleep(0.5)
        assert {name: data for name, data in tree.all_inboxes().items() if name in before} == before
        assert all("ackd" not in json.loads(data) for name, data in tree.all_inboxes().items() if name not in before)
        assert tree.threads()[ack].phase == "final"
        assert daemon.stop() == 0
        assert "减仓到 40 %" in tree.page(f"{tree.threads()[ack].folder}/THREAD.md")

    def test_reminder_and_escalation_come_for_real(
        self, tree: Tree, daemon_process: Start, eventually: Eventually
    ) -> None:
        """With times of a second: the assignee once, the arbiter once, then the person, and then nobody."""
        times = {"reminder": "1s", "escalation": "2s", "complete": "60s", "arbiter": "1s"}
        tree.team(timeouts=times)
        started = time.monotonic()
        daemon = daemon_process()
        tree.request(to=["macro"], dri="macro")
        eventually(lambda: kinds(tree, "macro") == ["request"])
        eventually(lambda: kinds(tree, "macro") == ["reminder"])
        assert time.monotonic() - started >= 1
        assert kinds(tree, "zoe") == []
        eventually(lambda: kinds(tree, "zoe") == ["escalation"])
        eventually(lambda: kinds(tree, "wen") == ["escalation"])
        before = tree.all_inboxes()
        time.sleep(2.5)
        assert tree.all_inboxes() == before
        tree.drop("final.json", {"state": "final", "ack_id": "week-v1", "from": "macro", "conclusion": "done"})
        eventually(lambda: kinds(tree, "zoe") == ["final"])
        assert kinds(tree, "macro") == []
        assert kinds(tree, "wen") == []
        assert daemon.stop() == 0

    @pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
    def test_a_signal_stops_it_in_good_order(
        self, tree: Tree, daemon_process: Start, eventually: Eventually, number: int
    ) -> None:
        """Exit code 0, everything sealed, the lock free, nothing half done."""
        daemon = daemon_process()
        tree.request()
        eventually(lambda: kinds(tree, "macro") == ["request"])
        assert daemon.stop(number) == 0
        memory = tree.memory()
        count = memory.count("entries")
        memory.close()
        lines = [path.read_bytes().count(b"\n") - 1 for path in (tree.path / "ledger").rglob("*.jsonl")]
        assert sum(lines) == count
        assert who_holds(tree.node().state / "daemon.lock") is None

    def test_a_hangup_makes_it_read_the_team_again(
        self, tree: Tree, daemon_process: Start, eventually: Eventually
    ) -> None:
        """A name that was just added may write at once."""
        daemon = daemon_process()
        tree.drop("r.json", {"state": "request", "ack_id": "x-v1", "from": "kim", "to": "macro", "action": "look"})
        eventually(lambda: bool(tree.records()))
        tree.team(agents={"zoe": {}, "macro": {}, "trading": {}, "kim": {}})
        daemon.process.send_signal(signal.SIGHUP)
        eventually(lambda: kinds(tree, "macro") == ["request"])
        assert tree.records() == []
        assert daemon.stop() == 0

    def test_a_second_daemon_leaves_and_names_the_first(
        self, tree: Tree, daemon_process: Start, eventually: Eventually
    ) -> None:
        """One daemon a tree; after SIGKILL the next one starts at once."""
        first = daemon_process()
        tree.request()
        eventually(lambda: kinds(tree, "macro") == ["request"])
        second = subprocess.run(
            [sys.executable, "-m", "ackd", "up", str(tree.path)],
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
            capture_output=True,
            text=True,
            timeout=30,
            check=False,
        )
        assert second.returncode == 75
        assert f"pid {first.process.pid}@" in second.stderr
        first.process.kill()
        first.process.wait()
        third = daemon_process()
        tree.request("next-v1")
        eventually(lambda: len(kinds(tree, "macro")) == 2)
        assert third.stop() == 0

    def test_a_deleted_state_directory_costs_nothing(
        self, tree: Tree, daemon_process: Start, eventually: Eventually
    ) -> None:
        """Stop cleanly, delete it, start again: the same threads, no new delivery, the inboxes untouched."""
        daemon = daemon_process()
        tree.request()
        tree.request("open-v1")
        eventually(lambda: len(kinds(tree, "trading")) == 2)
        tree.drop("f.json", {"state": "final", "ack_id": "week-v1", "from": "trading", "conclusion": "cut"})
        eventually(lambda: "final" in kinds(tree, "zoe"))
        assert daemon.stop() == 0
        threads, inboxes = tree.threads(), tree.all_inboxes()
        shutil.rmtree(tree.base / "state")
        daemon = daemon_process()
        tree.drop("c.json", {"state": "confirmed", "ack_id": "open-v1", "from": "trading", "conclusion": "yes"})
        eventually(lambda: (tree.base / "state").exists() and "confirmed" in kinds(tree, "zoe"), 20)
        assert daemon.stop() == 0
        after = tree.threads()
        assert after["week-v1"] == threads["week-v1"]
        assert after["open-v1"].phase == "confirmed"
        new = [json.loads(data)["kind"] for name, data in tree.all_inboxes().items() if name not in inboxes]
        assert new == ["confirmed"]
        assert set(inboxes) <= set(tree.all_inboxes())


FIVE: dict[str, dict[str, Any]] = {
    "request.json": {
        "state": "request",
        "ack_id": "week-v1",
        "from": "zoe",
        "to": ["macro", "trading"],
        "dri": "trading",
        "action": "Next week's strategy",
    },
    "confirmed-macro.json": {"state": "confirmed", "ack_id": "week-v1", "from": "macro", "conclusion": "油价"},
    "confirmed-trading.json": {"state": "confirmed", "ack_id": "week-v1", "from": "trading", "version": "v2"},
    "final.json": {"state": "final", "ack_id": "week-v1", "from": "trading", "conclusion": "cut to 40 %"},
    "thanks.json": {"ack_id": "week-v1", "from": "macro", "body": "收到，感谢！"},
}


def outcome(tree: Tree, bench: Bench) -> tuple[Any, ...]:
    """Give state, DRI, final and the set of messages."""
    thread = bench.thread()
    messages = {(one.sender, one.type, json.dumps(one.content, sort_keys=True)) for one in thread.messages}
    return thread.phase, thread.dri, thread.final, frozenset(messages)


def play(tree: Tree, bench: Bench, order: list[str]) -> set[str]:
    """Drop files one by one, a turn after each; give the obligations that were handed over; none comes twice."""
    seen: list[str] = []

    def take() -> None:
        for agent in ("zoe", "macro", "trading", "wen"):
            for path in tree.inbox_paths(agent):
                document = json.loads(path.read_bytes())
                seen.extend(document.get("ids") or [document["id"]])
                path.unlink()

    for number, name in enumerate(order):
        tree.drop(f"d{number}/{name}", FIVE[name])
        bench.turn(1)
        take()
    ended = len(seen)
    for _ in range(3):
        bench.turn(700)
        take()
    assert len(seen) == len(set(seen))
    assert len(seen) == ended, "something came after the end"
    return set(seen)


def orders(bench_of: Callable[[], tuple[Tree, Bench]], some: list[list[str]]) -> None:
    """Play each order on a tree of its own and compare the outcomes."""
    outcomes = set()
    for order in some:
        tree, bench = bench_of()
        seen = play(tree, bench, order)
        outcomes.add(outcome(tree, bench))
        finals = {name.split(":")[2] for name in seen if name.startswith("final:")}
        assert finals == {"zoe", "macro"}, order
        bench.close()
        shutil.rmtree(tree.base)
    assert len(outcomes) == 1
    assert next(iter(outcomes))[:2] == ("final", "trading")


@pytest.fixture
def bench_of(tree: Tree, bench: Bench, monkeypatch: pytest.MonkeyPatch) -> Callable[[], tuple[Tree, Bench]]:
    """Give a maker of trees, each with an engine."""
    numbers = itertools.count()

    def make() -> tuple[Tree, Bench]:
        base = tree.base / f"world-{next(numbers)}"
        base.mkdir()
        monkeypatch.setenv("ACKD_STATE", str(base / "state"))
        world = type(tree)(base)
        return world, type(bench)(world)

    return make


def test_all_orders_of_five_files_give_the_same_thread(bench_of: Callable[[], tuple[Tree, Bench]]) -> None:
    """Request, two confirmed, final and a courtesy: 120 orders, one outcome, no delivery twice."""
    orders(bench_of, [list(order) for order in itertools.permutations(FIVE)])


def test_random_orders_with_duplicates_give_the_same_thread(bench_of: Callable[[], tuple[Tree, Bench]]) -> None:
    """Every file up to three times, in any order (ACKD_ORDERS sets how many)."""
    dice = random.Random(20260308)
    some = []
    for _ in range(int(os.environ.get("ACKD_ORDERS", "60"))):
        order = [name for name in FIVE for _ in range(dice.randint(1, 3))]
        dice.shuffle(order)
        some.append(order)
    orders(bench_of, some)
