"""A live channel for real: a child process that logs every start and hangs, kills, and the file at the end."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
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
    assert [one["outcome"] for one in file["attempts"]] == ["ambiguous", "ambiguous"]
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


OUTCOMES = {
    "delivered": (200, 0, ["delivered"]),
    "refused": (410, 77, ["refused"]),
    "busy": (429, 75, ["busy", "busy"]),
    "not-sent": (408, 69, ["not-sent"] * 3),
    "ambiguous": (0, -1, ["ambiguous", "ambiguous"]),
}
"""Answer of a server (0: none in time), exit of a program (-1: none in time), and how the tries then read."""


class Answers(BaseHTTPRequestHandler):
    """A server that answers by the name of the thread."""

    def do_POST(self) -> None:
        """Answer as `OUTCOMES` says."""
        document = json.loads(self.rfile.read(int(self.headers["content-length"])))
        code = OUTCOMES[document["thread"].removesuffix("-v1")][0]
        if not code:
            time.sleep(4)
            return
        self.send_response(code)
        self.end_headers()

    def log_message(self, *arguments: object) -> None:
        """Say nothing."""


@pytest.fixture
def address() -> Iterator[str]:
    """Start a real server on loopback."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Answers)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
    yield f"http://127.0.0.1:{server.server_address[1]}/hook"
    server.shutdown()
    server.server_close()


@pytest.mark.parametrize("kind", ["command", "webhook"])
def test_each_outcome_is_shown_with_its_tries(
    tree: Any,
    tmp_path: Path,
    address: str,
    daemon_process: Callable[..., Any],
    monkeypatch: pytest.MonkeyPatch,
    kind: str,
) -> None:
    """Delivered, refused, busy, not sent, timed out: every try with its time, and a file wherever it did not do."""
    program = tmp_path / "exit.py"
    codes = {f"{name}-v1": code for name, (_, code, _) in OUTCOMES.items()}
    program.write_text(
        f"import sys, time\ncode = {codes!r}[sys.argv[1]]\ntime.sleep(9 if code < 0 else 0)\nsys.exit(code)"
    )
    options: dict[str, Any] = {"run": [sys.executable, str(program), "{ack_id}"], "stdin": "nothing", "linger": "1s"}
    if kind == "webhook":
        options = {"url": address, "private": True}
    config = tmp_path / "node.yaml"
    config.write_text(json.dumps({"channels": {"live": {"kind": kind, "timeout": "1s", "parallel": 8, **options}}}))
    config.chmod(0o600)
    monkeypatch.setenv("ACKD_CONFIG", str(config))
    agents = {f"a-{name}": {"channel": "live"} for name in OUTCOMES}
    tree.team(agents={"zoe": {}, **agents}, timeouts={"reminder": "14s", "escalation": "60s"})
    daemon = daemon_process()
    for name in OUTCOMES:
        tree.request(f"{name}-v1", to=[f"a-{name}"], dri=f"a-{name}")
    wait_for(lambda: all(tree.inbox(f"a-{name}") for name in OUTCOMES if name != "delivered"), 40)
    assert tree.inbox("a-delivered") == []
    for name, (_, _, words) in OUTCOMES.items():
        command = [sys.executable, "-m", "ackd", "show", f"{name}-v1", "--json", "--dir", str(tree.path)]
        shown = json.loads(subprocess.run(command, capture_output=True, check=True).stdout)["data"]
        attempts = [attempt for send in shown["sends"] for attempt in send["attempts"]]
        found = [attempt["outcome"] for attempt in attempts]
        assert found[: len(words)] == words
        assert all(attempt["at"] <= attempt["ended_at"] for attempt in attempts)
        if name != "delivered":
            file = tree.inbox(f"a-{name}")[0]
            assert file["fallback"] is True
            assert file["attempts"]
    assert daemon.stop() == 0


def _read(path: Path) -> str:
    try:
        return path.read_bytes().decode("utf-8", "replace")
    except OSError:
        return ""
