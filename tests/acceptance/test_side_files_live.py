"""Trouble in side files, with a real daemon: on the board, in the status, by validate, and told once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from click.testing import CliRunner

from ackd.cli import main

PAGE = "---\nupdated_by: wen\n---\n## Rullings\n- week-v1: close\n## Requests\n- [ ] @macro: 看油价 (by next week)\n"


def test_trouble_is_shown_and_told_once(tree: Any, daemon_process: Callable[..., Any], eventually: Any) -> None:
    """A name and a time that nobody knows, a mistyped heading, a deadline and a poor note: each in its place."""
    daemon_process()
    tree.drop("monitor-tasks/fill.json", {"task_id": "fill", "owner": "marco", "state": "running"})
    tree.drop("intel/oil_latest.json", {"source": "wire", "author": "macro", "as_of": "yesterday"})
    tree.drop("PROJECT_STATUS.md", PAGE)
    tree.drop("decisions/bad.md", "# 削减\n\n## 决定\n\n削减。\n")

    def board() -> str:
        path = tree.path / "BOARD.md"
        return path.read_text(encoding="utf-8").replace("\\", "") if path.exists() else ""

    for words in (
        'owner "marco" is not on the roster',
        'as_of "yesterday" is no time',
        'line 4: the heading "Rullings" is not read',
        'line 7: the deadline "next week" cannot be read',
        "decisions/bad.md, line 1: the record has no section",
    ):
        eventually(lambda words=words: words in board(), 30)
    assert board().count("decisions/bad.md") == 1
    told = [one for one in tree.inbox("macro") if "needs a look" in one["summary"]]
    assert len(told) == 1
    assert "yesterday" in told[0]["summary"]

    def ackd(*words: str) -> Any:
        return CliRunner().invoke(main, list(words), env={"ACKD_DIR": str(tree.path)}, prog_name="ackd")

    assert "marco" in " ".join(ackd("status").output.split())
    checked = ackd("validate", str(tree.path / "decisions/bad.md"))
    assert (checked.exit_code, "decisions/bad.md:1" in checked.output) == (1, True)
    assert "PROJECT_STATUS.md:7" in ackd("log", "--file", "PROJECT_STATUS.md").output
