"""Putting things right as users do it: real processes, a running daemon, files that agents wrote badly."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.conftest import Daemon, Tree

ANSWER = '```json\n{"state": "confirmed", "ackId": "oil-v1", "from": "macro", "conclusion": "油价上行",}\n```\n'


@pytest.fixture
def ackd(tree: Tree) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Give a caller of `ackd` as a program, on the tree."""
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "PYTHONUTF8": "1", "ACKD_DIR": str(tree.path)}
    env.pop("ACKD_AGENT", None)

    def call(*words: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "ackd", *words]
        return subprocess.run(
            command, env=env, input=stdin, capture_output=True, encoding="utf-8", timeout=60, check=False
        )

    return call


def data(done: subprocess.CompletedProcess[str]) -> Any:
    """Read the data of a --json."""
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads(done.stdout)["data"]


def test_a_badly_written_answer_is_repaired_by_its_author(
    tree: Tree, ackd: Any, daemon_process: Callable[..., Daemon], eventually: Callable[..., None]
) -> None:
    """The author hears of the refusal with the repair, accepts it by one command, and nothing of it is left open."""
    daemon = daemon_process()
    eventually(lambda: data(ackd("status", "--json"))["daemon"] is not None)
    assert ackd("request", "macro", "--action", "Oil", "--ack-id", "oil-v1", "--from", "zoe").returncode == 0
    path = tree.drop("roundtable/oil-v1/answer.json", ANSWER)
    eventually(lambda: [one for one in tree.inbox("macro") if one["kind"] == "refusal"])
    (told,) = [one for one in tree.inbox("macro") if one["kind"] == "refusal"]
    assert told["repaired"]["envelope"]["ack_id"] == "oil-v1"
    command = next(one for one in told["notes"] if "ackd rejected --accept" in one)
    name = command.split("--accept ")[1].split(";")[0]
    accepted = data(ackd("rejected", "--accept", name, "--by", "macro", "--json"))
    assert accepted["verdict"] == "confirmed"
    eventually(lambda: data(ackd("rejected", "--json")) == [])
    eventually(lambda: [one for one in tree.inbox("macro") if one["kind"] == "refusal"] == [])
    assert data(ackd("show", "oil-v1", "--json"))["state"] == "confirmed"
    assert tree.records() == []
    assert path.read_text("utf-8") == ANSWER
    assert daemon.stop() == 0


def test_a_drop_is_repaired_only_when_asked(tree: Tree, ackd: Any) -> None:
    """Refused, its repair goes through a pipe; or --repair takes it at once."""
    refused = ackd("drop", "-", stdin=ANSWER)
    assert refused.returncode == 1
    again = ackd("drop", "-", stdin=refused.stdout)
    assert again.returncode == 0, again.stderr
    assert ackd("drop", "-", "--repair", stdin=ANSWER).returncode == 0
    names = sorted(one.name for one in (tree.path / "roundtable/oil-v1").glob("*.json"))
    assert names == ["confirmed-macro-2.json", "confirmed-macro.json"]


def test_a_secret_is_purged_once_the_daemon_has_stopped(
    tree: Tree, ackd: Any, daemon_process: Callable[..., Daemon], eventually: Callable[..., None]
) -> None:
    """Beside a daemon it exits 75 and names it; after that only the dropped file is left, and nobody owes a thing."""
    daemon = daemon_process()
    eventually(lambda: data(ackd("status", "--json"))["daemon"] is not None)
    secret = "password=hunter2-交易"
    ackd("request", "macro", "--action", secret, "--ack-id", "oil-v1", "--from", "zoe")
    eventually(lambda: tree.inbox("macro"))
    busy = ackd("purge", "oil-v1", "--by", "wen", "--yes")
    assert busy.returncode == 75
    assert f"pid {daemon.process.pid}@" in busy.stderr
    assert daemon.stop() == 0
    done = data(ackd("purge", "oil-v1", "--by", "wen", "--yes", "--json"))
    assert done["left"] == ["roundtable/oil-v1/request-zoe.json"]
    found = [path for path in tree.base.rglob("*") if path.is_file() and b"hunter2" in path.read_bytes()]
    assert [path.name for path in found] == ["request-zoe.json"]
    again = daemon_process()
    eventually(lambda: data(ackd("status", "--json"))["daemon"] is not None)
    assert data(ackd("show", "oil-v1", "--json"))["ended_by"] == "cancel"
    assert tree.inbox("macro") == []
    assert "late" in ackd("confirm", "oil-v1", "on it", "--from", "macro").stderr
    assert [one["level"] for one in data(ackd("doctor", "--json")) if one["name"] == "ledger"] == ["ok"]
    assert again.stop() == 0


def test_the_doctor_heals_what_git_clean_took(
    tree: Tree, ackd: Any, daemon_process: Callable[..., Daemon], eventually: Callable[..., None]
) -> None:
    """Sealed files and the template's are back, as they were; the daemon runs on."""
    daemon = daemon_process()
    eventually(lambda: data(ackd("status", "--json"))["daemon"] is not None)
    assert ackd("request", "macro", "--action", "Oil", "--ack-id", "oil-v1", "--from", "zoe").returncode == 0
    eventually(lambda: list((tree.path / "ledger").rglob("*.jsonl")))
    assert daemon.stop() == 0
    before = {path: path.read_bytes() for path in (tree.path / "ledger").rglob("*.jsonl")}
    (tree.path / "AGENTS.md").unlink()
    first = min(before)
    first.unlink()
    os.utime(tree.node().state / "memory.sqlite")
    assert ackd("doctor", "--fix").returncode == 0
    assert (tree.path / "AGENTS.md").is_file()
    settings = {one["key"]: one["origin"] for one in data(ackd("config", "show", "--json"))}
    assert settings["tree"] == "ACKD_DIR"
