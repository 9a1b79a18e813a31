"""What the tests of the command line share: a tree that it finds, an engine beside it, and a way to call it."""

from __future__ import annotations

import json
from typing import Any

import pytest
from click.testing import CliRunner, Result

from ackd.cli import main
from ackd.engine.daemon import run_daemon


class Line:
    """The command line on one tree; `once` lets the daemon take one pass."""

    def __init__(self, tree: Any) -> None:
        self.tree = tree

    def __call__(self, *words: str, stdin: str | bytes | None = None, env: dict[str, str] | None = None) -> Result:
        """Call it; the exit code is not looked at."""
        return CliRunner().invoke(main, list(words), input=stdin, env=env or {}, prog_name="ackd")

    def ok(self, *words: str, stdin: str | None = None) -> str:
        """Call it, hold that it went well, and give its stdout."""
        done = self(*words, stdin=stdin)
        assert done.exit_code == 0, done.output
        return str(done.stdout)

    def data(self, *words: str) -> Any:
        """Call it with --json and give the data."""
        said = json.loads(self.ok(*words, "--json"))
        assert set(said) == {"schema_version", "data"}
        assert said["schema_version"] == 1
        return said["data"]

    def error(self, *words: str) -> tuple[int, dict[str, str]]:
        """Call it with --json and give its exit code and error."""
        done = self(*words, "--json")
        said = json.loads(done.stdout)
        assert set(said) == {"schema_version", "error"}
        return done.exit_code, said["error"]

    def once(self) -> None:
        """Let a daemon take one pass."""
        run_daemon(self.tree.path, once=True)

    def ask(self, *more: str) -> str:
        """Ask macro and trading, the DRI, in the name of zoe; give the ack_id."""
        words = ("request", "macro", "trading", "--dri", "trading", "--action", "Plan the week", "--from", "zoe")
        return self.ok(*words, *more).strip()


@pytest.fixture
def ackd(tree: Any, monkeypatch: pytest.MonkeyPatch) -> Line:
    """Give the command line on a fresh tree."""
    monkeypatch.setenv("ACKD_DIR", str(tree.path))
    for name in ("ACKD_AGENT", "NO_COLOR", "FORCE_COLOR", "CLICOLOR_FORCE"):
        monkeypatch.delenv(name, raising=False)
    return Line(tree)


@pytest.fixture
def closed(ackd: Line) -> tuple[Line, str]:
    """Give the command line and a thread that went from request to final."""
    ack_id = ackd.ask()
    for words in (("confirm", "On it", "macro"), ("confirm", "Me too", "trading"), ("final", "Cut 40 %", "trading")):
        ackd.once()
        ackd.ok(words[0], ack_id, words[1], "--from", words[2])
    ackd.once()
    return ackd, ack_id
