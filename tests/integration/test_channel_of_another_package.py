"""A live channel that another package brings: installed beside ackd, named in the configuration, found and used."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from ackd.channels.port import Outcome, Post
from ackd.channels.registry import known_kinds, open_channels
from ackd.config.channels import load_channels
from ackd.errors import InvalidError

CODE = """
from pathlib import Path

from ackd.channels.port import Outcome, Sent


class Pigeon:
    def __init__(self, setting):
        self.name, self.loft = setting.name, Path(setting.options["loft"])

    def send(self, post, timeout_s, late):
        (self.loft / post.message_id).write_text(post.agent + ": " + post.text, "utf-8")
        return Sent(Outcome.DELIVERED, "it flew within %g s" % timeout_s)

    def close(self):
        (self.loft / "closed").touch()
"""

POST = Post(
    agent="交易员",
    message_id="m-1",
    thread="oil-v1",
    kind="request",
    priority="normal",
    text="计划本周",
    delivery=b"{}",
)


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Give a folder on the path with a package as an installer lays it down; one of its two kinds leads nowhere."""
    site = tmp_path / "site-packages"
    info = site / "ackd_pigeon-1.2.dist-info"
    info.mkdir(parents=True)
    (site / "ackd_pigeon.py").write_text(CODE, encoding="utf-8")
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: ackd-pigeon\nVersion: 1.2\n", encoding="utf-8")
    (info / "entry_points.txt").write_text(
        "[ackd.channels]\npigeon = ackd_pigeon:Pigeon\nraven = ackd_pigeon:Raven\n", encoding="utf-8"
    )
    monkeypatch.syspath_prepend(str(site))
    yield site
    sys.modules.pop("ackd_pigeon", None)
    importlib.invalidate_caches()


@pytest.fixture
def configured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give the place of this machine's own configuration."""
    path = tmp_path / "config.yaml"
    monkeypatch.setenv("ACKD_CONFIG", str(path))
    return path


def test_it_is_found_called_and_closed(package: Path, configured: Path, tmp_path: Path) -> None:
    """From the line in the configuration to the message that arrived; nothing of it is imported before."""
    configured.write_text(f"channels:\n  loft: {{kind: pigeon, loft: {tmp_path}, timeout: 5s}}\n", encoding="utf-8")
    configured.chmod(0o600)
    settings = load_channels()
    assert {"pigeon", "raven"} <= set(known_kinds())
    assert "ackd_pigeon" not in sys.modules
    channel = open_channels(settings)["loft"]
    sent = channel.send(POST, settings[0].timeout_ms / 1000, lambda _: None)
    assert (sent.outcome, sent.detail) == (Outcome.DELIVERED, "it flew within 5 s")
    assert (tmp_path / "m-1").read_text(encoding="utf-8") == "交易员: 计划本周"
    channel.close()
    assert (tmp_path / "closed").exists()


@pytest.mark.parametrize(
    ("keys", "says"),
    [("kind: raven", "AttributeError"), ("kind: pigeon", "KeyError"), ("kind: pigeon, loft: 5", "TypeError")],
)
def test_a_broken_one_is_named_with_its_package(package: Path, configured: Path, keys: str, says: str) -> None:
    """The message has file, channel, entry point, package and error."""
    configured.write_text(f"channels: {{loft: {{{keys}}}}}\n", encoding="utf-8")
    configured.chmod(0o600)
    with pytest.raises(InvalidError) as caught:
        open_channels(load_channels())
    assert caught.value.message.startswith(f"{configured} channels.loft: ackd_pigeon:")
    assert "of ackd-pigeon failed" in caught.value.message
    assert says in caught.value.message


def test_without_the_package_the_kind_is_unknown(configured: Path) -> None:
    """The hint lists what this machine has."""
    configured.write_text("channels: {loft: {kind: pigeon}}\n", encoding="utf-8")
    configured.chmod(0o600)
    with pytest.raises(InvalidError, match='"pigeon" is unknown') as caught:
        open_channels(load_channels())
    assert "command, webhook, notify" in caught.value.hint
