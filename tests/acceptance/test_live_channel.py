"""A live channel for real: a child process that logs every start and hangs, kills, and the file at the end."""

from __future__ import annotations

import json
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

PROGRAM = """
import json, sys, time
agent, message_id, kind, log = sys.argv[1:5]
with open(log, "a") as file:
    file.write(json.dumps([time.time(), agent, message_id, kind]) + "\\n")
time.sleep(600)
"""


class Desk:
    """A tree whose trading has a channel that runs a program which hangs."""

    def __init__(self, tree: Any, base: Path, start: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
        self.tree, self.log, self._start = tree, base / "starts.jsonl", start
        program = base / "hang.py"
        program.write_text(PROGRAM)
        config = base / "node.yaml"
        run = [sys.executable, str(program), "{agent}", "{message_id}", "{kind}", str(self.log)]
        channels = {"slow": {"kind": "command", "run": run, "stdin": "nothing", "timeout": "1s", "linger": "30s"}}
        config.write_text(json.dumps({"node": "lap", "channels": channels}))
        config.chmod(0o600)
        monkeypatch.setenv("ACKD_CONFIG", str(config))
        agents: dict[str, Any] = {"zoe": {}, "macro": {}, "trading": {"channel": "slow"}}
        tree.team(agents=agents, timeouts={"reminder": "3s", "escalation": "6s", "complete": "60s"})
        self.daemon = start()

    def ask(self) -> None:
        """Drop a request to trading."""
        self.tree.request("bond-v1", to=["trading"], dri="trading", message_id="macro-1")

    def starts(self) -> list[list[Any]]:
        """Give every start of the program: time, agent, message_id, kind."""
        return [json.loads(line) for line in self.log.read_text().splitlines()] if self.log.exists() else []

    def again(self, fault: str = "") -> None:
        """Start the daemon anew."""
        self.daemon = self._start(fault)


@pytest.fixture
def desk(tree: Any, tmp_path: Path, daemon_process: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> Desk:
    """Give the desk with its daemon running."""
    return Desk(tree, tmp_path, daemon_process, monkeypatch)


def wait_for(is_so: Callable[[], object], seconds: float = 15) -> None:
    """Wait until something is so."""
    end = time.monotonic() + seconds
    while not is_so():
        assert time.monotonic() < end, "it did not come"
        time.sleep(0.05)


def test_with_a_confirmed_in_time_it_starts_once(desk: Desk) -> None:
    """The send timed out, the work had begun: no second start, no file (promise 4)."""
    desk.ask()
    wait_for(lambda: len(desk.starts()) == 1)
    time.sleep(1.5)
    desk.tree.drop("roundtable/bond-v1/c.json", {"state": "confirmed", "ack_id": "bond-v1", "from": "trading"})
    time.sleep(5)
    assert [one[2:] for one in desk.starts()] == [["macro-1", "request"]]
    assert desk.tree.inbox("trading") == []
    assert desk.tree.inbox("zoe") == []


def test_with_a_status_that_says_working_it_starts_once(desk: Desk) -> None:
    """The same by its status file alone; the reminder of the missing confirmed is a file."""
    desk.ask()
    wait_for(lambda: len(desk.starts()) == 1)
    desk.tree.drop("status/trading.json", {"agent": "trading", "state": "working"})
    wait_for(lambda: desk.tree.inbox("trading"))
    assert [one[2:] for one in desk.starts()] == [["macro-1", "request"]]
    assert [one["kind"] for one in desk.tree.inbox("trading")] == ["reminder"]


def test_without_a_word_it_starts_twice_and_then_it_is_a_file(desk: Desk) -> None:
    """The second start is the reminder, at its time and with the same message_id; then the file, then the arbiter."""
    desk.ask()
    wait_for(lambda: desk.tree.inbox("trading"))
    starts = desk.starts()
    assert [one[2:] for one in starts] == [["macro-1", "request"], ["macro-1", "reminder"]]
    assert 2.9 <= starts[1][0] - starts[0][0] <= 4.5
    (file,) = desk.tree.inbox("trading")
    assert file["fallback"] is True
    assert [one["outcome"] for one in file["attempts"]] == ["ambiguous"]
    wait_for(lambda: desk.tree.inbox("zoe"))
    assert "delivery unknown" in desk.tree.inbox("zoe")[0]["summary"]
    assert len(desk.starts()) == 2


@pytest.mark.parametrize("point", ["attempt:1", "send:1", "outcome:1", "attempt:2", "send:2", "outcome:2"])
def test_killed_at_any_point_there_is_never_a_third(desk: Desk, point: str) -> None:
    """Between the record of a try and its outcome, at the first and at the second try."""
    desk.daemon.stop()
    desk.again(point)
    desk.ask()
    assert desk.daemon.process.wait(20) == -signal.SIGKILL
    desk.again()
    wait_for(lambda: desk.tree.inbox("trading"), 20)
    time.sleep(3)
    starts = desk.starts()
    assert len(starts) <= 2
    assert {one[2] for one in starts} <= {"macro-1"}
    (document,) = [one for one in desk.tree.inbox("trading") if one["kind"] in ("request", "reminder")]
    assert document["fallback"] is True


def test_a_clean_stop_ends_what_it_started(desk: Desk) -> None:
    """No child is left behind, and the try counts after the next start."""
    desk.ask()
    wait_for(lambda: len(desk.starts()) == 1)
    assert desk.daemon.stop() == 0
    left = [one for one in Path("/proc").glob("[0-9]*/cmdline") if str(desk.log) in _read(one)]
    assert left == []
    desk.again()
    wait_for(lambda: desk.tree.inbox("trading"), 20)
    assert len(desk.starts()) == 2


def _read(path: Path) -> str:
    try:
        return path.read_bytes().decode("utf-8", "replace")
    except OSError:
        return ""
