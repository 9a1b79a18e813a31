"""`ackd config show` and `ackd doctor` on live channels: who has one, and never what is secret in it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

CONFIG = """
channels:
  聊天:
    kind: command
    run: [/opt/chat/chatctl, send, --token, hunter2, "{text}"]
    timeout: 90s
    rate: 60/min
    recipient_rate: 5/s
  desk:
    kind: webhook
    url: https://user:hunter2@Example.org:8443/hook/hunter2?key=hunter2
    secret: hunter2
    parallel: 1
  people:
    kind: notify
    urls: ["tgram://hunter2/wen"]
  loft: {kind: pigeon, token: hunter2, url: https://hunter2.example.org}
"""


@pytest.fixture
def configured(ackd: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Give the command line on a machine with four channels, and a team that names two."""
    path = tmp_path / "machine.yaml"
    path.write_text(CONFIG, encoding="utf-8")
    path.chmod(0o600)
    monkeypatch.setenv("ACKD_CONFIG", str(path))
    ackd.tree.team(agents={"macro": {"channel": "聊天"}, "zoe": {}}, people={"wen": {"channel": "people"}})
    return ackd


def shown(ackd: Any) -> dict[str, Any]:
    """Give the values by key."""
    return {one["key"]: one["value"] for one in ackd.data("config", "show")}


def test_each_channel_is_shown_with_its_limits(configured: Any, tmp_path: Path) -> None:
    """Kind, limits, the program without its arguments, the host without the rest of the address, and the origin."""
    found = shown(configured)
    limits = {"timeout": 30_000, "rate": None, "recipient_rate": None, "parallel": 4}
    assert found["channels.聊天"] == {
        "kind": "command",
        "program": "/opt/chat/chatctl",
        "timeout": 90_000,
        "rate": "60/min",
        "recipient_rate": "5/s",
        "parallel": 4,
    }
    assert found["channels.desk"] == {**limits, "kind": "webhook", "host": "example.org", "parallel": 1}
    assert found["channels.people"] == {**limits, "kind": "notify"}
    assert found["channels.loft"] == {**limits, "kind": "pigeon"}
    origins = {one["origin"] for one in configured.data("config", "show") if one["key"].startswith("channels.")}
    assert origins == {str(tmp_path / "machine.yaml")}


def test_who_has_a_channel_is_shown(configured: Any) -> None:
    """Agents and people, from team.yaml; who has none has no line."""
    found = shown(configured)
    assert found["agents.macro.channel"] == "聊天"
    assert found["people.wen.channel"] == "people"
    assert "agents.zoe.channel" not in found


def test_as_text_it_is_one_line_each(configured: Any) -> None:
    """A person reads it in a line."""
    lines = [one for one in configured.ok("config", "show").splitlines() if one.startswith("channels.")]
    assert [" ".join(one.split()[1:-1]) for one in lines] == [
        "command /opt/chat/chatctl, timeout 90s, 4 at once, 60/min, 5/s each",
        "webhook example.org, timeout 30s, 1 at once",
        "notify, timeout 30s, 4 at once",
        "pigeon, timeout 30s, 4 at once",
    ]


@pytest.mark.parametrize("words", [("config", "show"), ("config", "show", "--json"), ("doctor",), ("doctor", "--json")])
def test_no_secret_is_ever_shown(configured: Any, tmp_path: Path, words: tuple[str, ...]) -> None:
    """No argument, no secret, no address, in neither form."""
    if words[0] == "doctor":  # it makes each channel on trial, and not every machine has what notify needs
        (tmp_path / "machine.yaml").write_text(CONFIG.replace("kind: notify", "kind: pigeon"), encoding="utf-8")
    done = configured(*words)
    assert isinstance(done.exception, SystemExit | None)
    assert "desk" in done.output
    assert "hunter2" not in done.output


@pytest.mark.parametrize(
    "keys",
    [
        *("kind: command", "kind: command, run: chatctl --token hunter2", "kind: command, run: [[hunter2]]"),
        *("kind: webhook", "kind: webhook, url: 'http://[hunter2'", "kind: webhook, url: hunter2"),
    ],
)
def test_options_of_another_form_are_not_shown(configured: Any, tmp_path: Path, keys: str) -> None:
    """What cannot be read for certain may be a secret in the wrong place."""
    (tmp_path / "machine.yaml").write_text(f"channels: {{desk: {{{keys}}}}}", encoding="utf-8")
    assert set(shown(configured)["channels.desk"]) == {"kind", "timeout", "rate", "recipient_rate", "parallel"}


def test_a_configuration_that_cannot_be_used_is_said(configured: Any, tmp_path: Path) -> None:
    """It exits 1 with file and key; commands that need no channel still work."""
    (tmp_path / "machine.yaml").write_text("channels: {desk: {kind: webhook, parallel: many}}", encoding="utf-8")
    code, error = configured.error("config", "show")
    assert code == 1
    assert "channels.desk.parallel" in error["message"]
    assert configured("threads").exit_code == 0
