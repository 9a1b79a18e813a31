"""The README's first thread, pasted into a shell as it stands, beside a running daemon."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.conftest import Daemon, Tree

ROOT = Path(__file__).resolve().parent.parent.parent
ACTIVATE = "source .venv/bin/activate && "


def pasted(readme: str) -> str:
    """Give all shell blocks but the first, which makes the environment that the tests have already."""
    parts = (ROOT / readme).read_text(encoding="utf-8").split("```sh\n")[2:]
    return "set -e\n" + "\n".join(part.partition("```")[0] for part in parts)


@pytest.mark.parametrize("readme", ["README.md", "README.zh-CN.md"])
def test_every_block_does_what_is_said(
    tree: Tree,
    daemon_process: Callable[..., Daemon],
    eventually: Callable[..., None],
    tmp_path: Path,
    readme: str,
) -> None:
    """From the first file to a final, silence after it, and a ruling by a person, without a thought of one's own."""
    command = tmp_path / "bin" / "ackd"
    command.parent.mkdir()
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m ackd "$@"\n', encoding="utf-8")
    command.chmod(0o755)
    script = pasted(readme)
    assert script.count(ACTIVATE) == 1
    daemon = daemon_process()
    eventually(lambda: (tree.path / "BOARD.md").exists())
    kept = {name: value for name, value in os.environ.items() if name not in ("ACKD_DIR", "ACKD_AGENT")}
    places = {"PATH": f"{command.parent}:{os.environ['PATH']}", "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        ["bash", "-c", script.replace(ACTIVATE, "")],
        cwd=tree.base,
        env={**kept, **places},
        capture_output=True,
        text=True,
        check=False,
        timeout=90,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "inbox/macro:\n" in done.stdout
    assert "no-reply" in done.stdout
    assert "trading: owes 1" in done.stdout

    def told() -> bool:
        threads = tree.threads()
        return len(threads) == 2 and all(thread.phase == "final" for thread in threads.values())

    eventually(told)
    threads = tree.threads()
    oil = threads.pop("oil-v1")
    (copper,) = threads.values()
    assert (oil.dri, [message.verdict for message in oil.messages][-1]) == ("trading", "no-reply")
    assert (copper.dri, copper.dri_by_ruling) == ("macro", True)
    assert daemon.stop() == 0
