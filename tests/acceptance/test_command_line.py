"""The command line as its users have it: real processes, pipes and signals."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

PATH = os.pathsep.join(sys.path)


class Shell:
    """Calls `ackd` as a program."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.env = {**os.environ, "PYTHONPATH": PATH, "PYTHONUTF8": "1"}
        for name in ("ACKD_DIR", "ACKD_AGENT", "ACKD_FAULT"):
            self.env.pop(name, None)
        self.started: list[subprocess.Popen[str]] = []

    def command(self, *words: str) -> list[str]:
        """Give the words by which it is called."""
        return [sys.executable, "-m", "ackd", *words]

    def __call__(self, *words: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
        """Call it and wait for its end."""
        return subprocess.run(
            self.command(*words),
            cwd=self.folder,
            env=self.env,
            input=stdin,
            capture_output=True,
            encoding="utf-8",
            timeout=60,
            check=False,
        )

    def ok(self, *words: str) -> str:
        """Call it, hold that it went well, and give its stdout."""
        done = self(*words)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def up(self, *words: str) -> subprocess.Popen[str]:
        """Start a daemon."""
        process = subprocess.Popen(
            self.command("up", *words),
            cwd=self.folder,
            env=self.env,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            encoding="utf-8",
        )
        self.started.append(process)
        return process


@pytest.fixture
def ackd(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Shell]:
    """Give a folder of one's own in which `ackd` is called; daemons that still run in the end are killed."""
    monkeypatch.setenv("ACKD_STATE", str(tmp_path / "state"))
    monkeypatch.setenv("ACKD_CONFIG", str(tmp_path / "none.yaml"))
    monkeypatch.setenv("ACKD_NODE", "lap")
    (tmp_path / "desk").mkdir()
    shell = Shell(tmp_path / "desk")
    yield shell
    for one in shell.started:
        if one.poll() is None:
            one.kill()
        one.communicate()


def data(text: str) -> Any:
    """Read the data of a --json."""
    return json.loads(text)["data"]


def test_a_thread_from_request_to_silence(ackd: Shell, eventually: Callable[..., None]) -> None:
    """With a daemon running, each verb prints its verdict, and the thread ends and stays ended."""
    ackd.ok("init")
    daemon = ackd.up("--log-format", "json")
    eventually(lambda: data(ackd.ok("status", "--json"))["daemon"] is not None)
    asked = ackd("request", "macro", "trading", "--dri", "trading", "--action", "下周A股策略", "--from", "zoe")
    ack_id = asked.stdout.strip()
    assert asked.stdout == f"{ack_id}\n"
    assert "opened roundtable/" in asked.stderr
    assert data(ackd.ok("inbox", "macro", "--wait", "10", "--json"))[0]["asks"] == ["confirm"]
    for words, verdict in (
        (("confirm", ack_id, "油价已计入", "--from", "macro"), "confirmed"),
        (("confirm", ack_id, "On it", "--from", "trading"), "confirmed"),
        (("final", ack_id, "Cut exposure to 40 %", "--from", "trading"), "closed"),
    ):
        done = ackd(*words)
        assert (done.returncode, done.stderr.split()[0]) == (0, verdict)
    thread = data(ackd.ok("show", ack_id, "--wait", "10", "--json"))
    assert (thread["state"], thread["final"]["conclusion"]) == ("final", "Cut exposure to 40 %")
    refused = ackd("final", ack_id, "Cut it to 30 %", "--from", "macro")
    assert refused.returncode == 4
    assert ackd("reply-check", "--agent", "trading", "--ack-id", ack_id, "收到，谢谢").stdout.startswith("NO_REPLY")
    before = {path: path.read_bytes() for path in (ackd.folder / "shared-context/inbox").rglob("*.json")}
    thanks = ackd("drop", "-", stdin=json.dumps({"ack_id": ack_id, "from": "macro", "body": "谢谢！"}))
    assert thanks.stdout.startswith("no-reply ")
    assert {path: path.read_bytes() for path in (ackd.folder / "shared-context/inbox").rglob("*.json")} == before
    daemon.send_signal(signal.SIGTERM)
    out, err = daemon.communicate(timeout=30)
    assert daemon.returncode == 0
    assert all(isinstance(json.loads(one), dict) for one in err.splitlines())
    banner = out[: out.index("stopped")].splitlines()
    assert len(banner) <= 10
    assert str(ackd.folder / "shared-context") in out


def test_everything_works_without_a_daemon(ackd: Shell) -> None:
    """Drops wait and say so; one pass takes them all, in the order that makes sense."""
    ackd.ok("init")
    ack_id = ackd.ok("request", "macro", "--action", "Oil", "--from", "zoe").strip()
    early = ackd("final", ack_id, "It rises", "--from", "macro")
    assert early.returncode == 0
    assert "waits for: ackd up" in early.stderr
    ackd.ok("up", "--once")
    assert data(ackd.ok("show", ack_id, "--json"))["final"]["conclusion"] == "It rises"


def test_a_second_daemon_exits_75_and_names_the_first(ackd: Shell, eventually: Callable[..., None]) -> None:
    """Its error holds the process id of the one that runs; Ctrl-C ends that one with 0."""
    ackd.ok("init")
    daemon = ackd.up()
    eventually(lambda: data(ackd.ok("status", "--json"))["daemon"] is not None)
    second = ackd("up", "--json")
    assert second.returncode == 75
    error = json.loads(second.stdout)["error"]
    assert error["code"] == "busy"
    assert f"pid {daemon.pid}@" in error["message"]
    daemon.send_signal(signal.SIGINT)
    daemon.communicate(timeout=30)
    assert daemon.returncode == 0


def test_a_reader_that_leaves_is_no_error(ackd: Shell) -> None:
    """`ackd … | head` is silent, however much is still to come."""
    ackd.ok("init")
    for command in (["protocol", "--json"], ["protocol"], ["--help"]):
        process = subprocess.Popen(
            ackd.command(*command), env=ackd.env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=ackd.folder
        )
        assert process.stdout is not None
        process.stdout.close()
        assert process.stderr is not None
        said = process.stderr.read()
        process.stderr.close()
        assert (said, process.wait(30)) == (b"", 0)


def test_a_terminal_without_utf_8_gets_escapes(ackd: Shell) -> None:
    """Signs that it cannot show do not end the command."""
    ackd.ok("init")
    ackd.env |= {"PYTHONUTF8": "0", "PYTHONIOENCODING": "ascii"}
    assert "request 0" in ackd.ok("status")


def test_texts_come_and_go_as_written(ackd: Shell) -> None:
    """Chinese words survive arguments, stdin, file names and JSON."""
    ackd.ok("init")
    ack_id = ackd.ok("request", "macro", "--action", "A股策略：仓位？", "--from", "zoe").strip()
    assert ack_id.startswith("a股策略-仓位-v1-")
    done = ackd("confirm", ack_id, "-", "--from", "macro", "--json", stdin="已看\n第二行\n")
    path = ackd.folder / "shared-context" / data(done.stdout)["path"]
    assert json.loads(path.read_bytes())["conclusion"] == "已看\n第二行"
