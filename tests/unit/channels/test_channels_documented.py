"""docs/channels.md: every channel in it can be pasted, and its tables say what the code says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from ackd.channels.command import _EXITS, PLACEHOLDERS
from ackd.channels.registry import OWN_KINDS, open_channel
from ackd.channels.status import outcome_of_status
from ackd.config.channels import load_channels
from ackd.engine.throttle import RECIPIENT_LIMIT

PAGE = Path(__file__).parents[3] / "docs" / "channels.md"
TEXT = PAGE.read_text(encoding="utf-8")
BLOCKS = re.findall(r"^ *```yaml\n(.*?)^ *```", TEXT, re.MULTILINE | re.DOTALL)


def _dedented(block: str) -> str:
    indent = len(block) - len(block.lstrip())
    return "".join(line[indent:] for line in block.splitlines(keepends=True))


@pytest.mark.parametrize("block", BLOCKS)
def test_each_example_can_be_pasted(block: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It loads, and its channel can be made where its program and folder exist."""
    home = tmp_path / "home"
    text = _dedented(block).replace("/home/wen", str(home))
    for name in ("tmux", "claude", "codex", "openclaw", "wake-agent"):
        program = home / "bin" / name
        program.parent.mkdir(parents=True, exist_ok=True)
        program.write_text("#!/bin/sh\n")
        program.chmod(0o755)
    for folder in ("agents/trading", "agents/macro"):
        (home / folder).mkdir(parents=True)
    config = tmp_path / "config.yaml"
    config.write_text(text, encoding="utf-8")
    config.chmod(0o600)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("PATH", str(home / "bin"))
    monkeypatch.setenv("ACKD_CONFIG", str(config))
    (setting,) = load_channels()
    assert setting.kind in OWN_KINDS
    if setting.kind != "notify":
        open_channel(setting).close()


def test_there_is_an_example_of_each_kind() -> None:
    """And of each runtime."""
    assert {kind for kind in OWN_KINDS if f"kind: {kind}" in TEXT} == set(OWN_KINDS)
    assert len(BLOCKS) >= 7


def test_its_tables_are_true() -> None:
    """Placeholders, exit codes, status words and limits."""
    for name in set(PLACEHOLDERS) - {"thread"}:
        assert f"`{{{name}}}`" in TEXT
    assert ", ".join(f"{code} {one.value}" for code, one in _EXITS.items()) in TEXT
    for word in ("error", "refused", "denied", "busy", "accepted", "success", "timeout", "queued"):
        assert f"`{word}`" in TEXT
        assert outcome_of_status(word)
    assert f"`{RECIPIENT_LIMIT.count}/min`" in TEXT


def test_the_check_of_a_signature_works() -> None:
    """The receiver's code is run as it stands."""
    code = re.findall(r"^```python\n(.*?)^```", TEXT, re.MULTILINE | re.DOTALL)[0]
    names: dict[str, object] = {}
    exec(code, names)  # noqa: S102 - our own page
    check = names["is_genuine"]
    assert callable(check)
    import base64
    import hashlib
    import hmac

    digest = base64.b64encode(hmac.new(b"k" * 32, b"1.2.{}", hashlib.sha256).digest()).decode()
    headers = {"webhook-id": "1", "webhook-timestamp": "2", "webhook-signature": f"v1,{digest}"}
    assert check(b"k" * 32, headers, b"{}")
    assert not check(b"k" * 32, headers, b"{ }")
