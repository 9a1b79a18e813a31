"""The recipe for an agent in tmux, read out of docs/channels.md, with the real tmux."""

from __future__ import annotations

import re
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from ackd.channels.command import CommandChannel, make_command
from ackd.channels.port import Outcome, Post
from ackd.config.channels import load_channels

pytestmark = pytest.mark.needs_tools

PAGE = Path(__file__).parents[2] / "docs" / "channels.md"
HOSTILE = "[ackd] 第一行 $(touch pwned) ; rm 'q' \"z\"\nkill-server;\n{agent} #{pane_id} Enter;"


@pytest.fixture
def pane(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[CommandChannel]:
    """Give the recipe's channel, on a tmux server of its own."""
    (recipe,) = (one for one in re.findall(r"```yaml\n(.*?)```", PAGE.read_text(), re.DOTALL) if "- tmux" in one)
    config = tmp_path / "config.yaml"
    config.write_text(recipe)
    config.chmod(0o600)
    monkeypatch.setenv("ACKD_CONFIG", str(config))
    monkeypatch.setenv("TMUX_TMPDIR", str(tmp_path))
    monkeypatch.delenv("TMUX", raising=False)
    (setting,) = load_channels()
    channel = make_command(setting)
    yield channel
    channel.close()
    subprocess.run(["tmux", "kill-server"], capture_output=True, check=False)


def post(agent: str) -> Post:
    """Give a post with a hostile text."""
    return Post(
        agent=agent, message_id="m-1", thread="x-v1", kind="request", priority="normal", text=HOSTILE, delivery=b"{}"
    )


def start(name: str, command: str, folder: Path) -> None:
    """Start a session."""
    subprocess.run(["tmux", "-f", "/dev/null", "new-session", "-d", "-s", name, "-c", str(folder), command], check=True)
    time.sleep(0.5)


def test_the_text_reaches_the_agent_and_runs_nothing(
    pane: CommandChannel, tmp_path: Path, eventually: Callable[..., None]
) -> None:
    """Byte for byte, whatever it holds."""
    got = tmp_path / "got.txt"
    start("交易", f"exec cat > {got}", tmp_path)
    sent = pane.send(post("交易"), 10, lambda late: None)
    assert sent.outcome == Outcome.DELIVERED, sent.detail
    eventually(lambda: got.read_text() == HOSTILE + "\n")
    assert not (tmp_path / "pwned").exists()


@pytest.mark.parametrize("name", ["nobody", "shell"])
def test_where_no_agent_is_nothing_is_pasted(pane: CommandChannel, tmp_path: Path, name: str) -> None:
    """No session of that name, or a shell that waits in it: known not to have arrived."""
    start("shell", "bash --norc", tmp_path)
    assert pane.send(post(name), 10, lambda late: None).outcome == Outcome.NOT_SENT
    time.sleep(0.5)
    assert not (tmp_path / "pwned").exists()
