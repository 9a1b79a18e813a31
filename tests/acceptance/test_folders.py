"""The other folders with a real daemon and the command line: a stale status, a broken task, a decision's record."""

from __future__ import annotations

import datetime
import json
from collections.abc import Callable
from typing import Any

from click.testing import CliRunner

from ackd.cli.group import main


def run(*words: str) -> str:
    """Run the command line and give what it prints."""
    result = CliRunner().invoke(main, list(words))
    assert result.exit_code == 0, result.output
    return str(result.output)


def test_folders(tree: Any, daemon_process: Callable[..., Any], eventually: Callable[..., None]) -> None:
    """What needs a look is told to its owner once and shown at 80 columns; what is put right is not."""
    long = "回填" * 20
    tree.drop("status/macro.json", {"agent": "macro", "state": "working", "updated_at": "2026-03-08T09:00:00+08:00"})
    tree.drop(f"monitor-tasks/{long}.json", {"task_id": long, "owner": "trading"})
    tree.drop("decisions/idea.md", "# An idea\n")
    tree.request()
    daemon = daemon_process()
    eventually(lambda: (tree.path / "roundtable/week-v1/THREAD.md").is_file())
    decision = {"title": "Hold", "options": ["Hold", "Cut"]}
    document = {"state": "final", "ack_id": "week-v1", "from": "trading", "conclusion": "Hold", "decision": decision}
    tree.drop("roundtable/week-v1/final-trading.json", document)
    eventually(lambda: list((tree.path / "decisions").glob("*-week-v1.md")))
    eventually(lambda: any(one["kind"] == "refusal" for one in tree.inbox("trading")))
    eventually(lambda: [one["kind"] for one in tree.inbox("macro")].count("notice") >= 1)
    said = run("status", "--dir", str(tree.path))
    assert "files that need a look: 3" in said
    for piece in (
        "stale  status/macro.json  macro",
        "broken  monitor-tasks/",
        "findings  decisions/idea.md",
        "line 1:",
    ):
        assert piece in said
    files = json.loads(run("status", "--dir", str(tree.path), "--json"))["data"]["files"]
    assert {one["path"].partition("/")[0] for one in files} == {
        "status",
        "monitor-tasks",
        "decisions",
        "tech-radar.json",
    }
    now = datetime.datetime.now(datetime.UTC).isoformat()
    tree.drop("status/macro.json", {"agent": "macro", "state": "working", "updated_at": now})
    tree.drop(f"monitor-tasks/{long}.json", {"task_id": long, "owner": "trading", "state": "running"})
    tree.remove("decisions/idea.md")
    eventually(lambda: "files that need a look" not in run("status", "--dir", str(tree.path)))
    assert tree.records() == []
    assert daemon.stop() == 0
