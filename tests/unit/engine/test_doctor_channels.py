"""The doctor on live channels: what cannot be used, what others may change, and whether team and machine agree."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from ackd.channels import registry
from ackd.channels.command import make_command
from ackd.engine.doctor import Check, examine
from ackd.errors import InvalidError

if TYPE_CHECKING:
    from tests.conftest import Tree


class Quiet:
    """A channel that does nothing."""

    name = "quiet"
    closed = 0

    def send(self, *_: Any) -> Any:
        """Never called: the doctor sends nothing."""
        pytest.fail("the doctor sent something")

    def close(self) -> None:
        """Count it."""
        Quiet.closed += 1


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give the place of this machine's configuration, on a machine where every kind of ours can be made."""
    path = tmp_path / "machine.yaml"
    monkeypatch.setenv("ACKD_CONFIG", str(path))
    for kind in list(registry.OWN_KINDS):
        monkeypatch.setitem(registry.OWN_KINDS, kind, lambda _: Quiet())
    return path


def write(path: Path, text: str, mode: int = 0o600) -> Path:
    """Lay a file down."""
    path.write_text(text, encoding="utf-8")
    path.chmod(mode)
    return path


def found(tree: Tree) -> list[Check]:
    """Give what the doctor says of channels; whatever is not well says what to do."""
    checks = [one for one in examine(tree.path) if one.name == "channels"]
    assert all(one.todo for one in checks if one.level != "ok")
    return checks


def faults(tree: Tree) -> list[Check]:
    """Give what is not well."""
    return [one for one in found(tree) if one.level != "ok"]


class TestWhoHasOne:
    def test_without_channels_all_is_well(self, tree: Tree, file: Path) -> None:
        """No configuration, no channel, no fault."""
        (check,) = found(tree)
        assert (check.level, check.message) == ("ok", "this machine has no live channels; everything goes by file")

    def test_a_channel_that_is_used(self, tree: Tree, file: Path) -> None:
        """It is made, closed again, and named; nothing is sent."""
        Quiet.closed = 0
        write(file, "channels: {聊天: {kind: webhook, url: https://example.org/hook}}")
        tree.team(agents={"macro": {"channel": "聊天"}, "zoe": {}})
        (check,) = found(tree)
        assert (check.level, check.message) == ("ok", "live channels that can be used: 聊天")
        assert Quiet.closed == 1

    def test_a_channel_that_this_machine_lacks_is_a_remark(self, tree: Tree, file: Path) -> None:
        """It may be on another machine; who would be told by it gets files here. People count too."""
        tree.team(agents={"macro": {"channel": "chat"}, "trading": {"channel": "chat"}, "zoe": {}})
        tree.team(people={"wen": {"channel": "phone"}})
        first, second, _ = found(tree)
        assert (first.level, second.level) == ("ok", "ok")
        assert first.message == 'this machine has no channel "chat"; told by file here: macro, trading'
        assert second.message == 'this machine has no channel "phone"; told by file here: wen'

    @pytest.mark.parametrize("written", ["Phone", "phones", "fone-desk"])
    def test_a_channel_that_is_only_written_otherwise_is_a_warning(self, tree: Tree, file: Path, written: str) -> None:
        """Another case or a slip of the pen keeps a person from being told live, and nobody would notice."""
        write(file, "channels: {phone: {kind: notify, urls_file: x}, phone-desk: {kind: notify, urls_file: x}}")
        tree.team(people={"wen": {"channel": written}})
        (check,) = faults(tree)
        assert check.level == "warning"
        assert "did you mean phone" in check.todo

    def test_a_channel_that_nobody_uses_is_a_remark(self, tree: Tree, file: Path) -> None:
        """The configuration serves all trees of the machine."""
        write(file, "channels: {desk: {kind: webhook, url: https://example.org/hook}}")
        assert faults(tree) == []
        assert "nobody in team.yaml uses desk" in [one.message for one in found(tree)]

    def test_a_team_file_that_cannot_be_used_hides_nothing(self, tree: Tree, file: Path) -> None:
        """The channels are looked at all the same, and the team's own fault is told once, by its own check."""
        tree.drop("team.yaml", "agents: [\n")
        write(file, "channels: {desk: {kind: pigeon}}")
        (check,) = found(tree)
        assert "pigeon" in check.message


class TestWhatIsBroken:
    def test_a_program_that_is_not_there(self, tree: Tree, file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """Its name is said, and none of its arguments."""
        monkeypatch.setitem(registry.OWN_KINDS, "command", make_command)
        write(file, "channels: {desk: {kind: command, run: [no-such-program-here, --token, hunter2]}}")
        (check,) = faults(tree)
        assert check.level == "problem"
        assert check.message.startswith(f"{file} channels.desk: ")
        assert '"no-such-program-here"' in check.message
        assert "hunter2" not in str(check)

    def test_a_configuration_that_others_may_write(self, tree: Tree, file: Path) -> None:
        """The daemon would refuse it; the doctor says the command that puts it right."""
        write(file, "channels: {desk: {kind: webhook}}", 0o666)
        (check,) = found(tree)
        assert check.level == "problem"
        assert f"chmod 600 {file}" in check.todo

    def test_a_value_that_cannot_be_used(self, tree: Tree, file: Path) -> None:
        """The message of the loader is the doctor's."""
        write(file, "channels: {desk: {kind: webhook, rate: often}}")
        (check,) = found(tree)
        assert (check.level, check.todo) == ("problem", "write rate: 30/min, 5/s or 100/h")

    def test_an_unknown_kind(self, tree: Tree, file: Path) -> None:
        """The known ones are listed."""
        write(file, "channels: {desk: {kind: pigeon}}")
        (check,) = faults(tree)
        assert check.level == "problem"
        assert 'the kind "pigeon" is unknown; known: command, webhook, notify' in check.message

    def test_options_that_do_not_suit_the_kind(self, tree: Tree, file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """Each channel is made on trial: one that cannot be is a problem, and the others are still looked at."""

        def fail(_: Any) -> Any:
            raise InvalidError("no url", hint="write url: https://…")

        monkeypatch.setitem(registry.OWN_KINDS, "webhook", fail)
        write(file, "channels: {desk: {kind: webhook}, other: {kind: pigeon}}")
        first, second = faults(tree)
        assert (first.level, first.message, first.todo) == ("problem", "no url", "write url: https://…")
        assert "pigeon" in second.message


class TestWhatOthersMayDo:
    @pytest.mark.parametrize("key", ["secret_file", "urls_file"])
    def test_a_secret_that_others_may_read(self, tree: Tree, file: Path, tmp_path: Path, key: str) -> None:
        """The hint makes it private; once it is, nothing is said. What it holds is never shown."""
        secret = write(tmp_path / "desk secret", "hunter2", 0o644)
        write(file, f"channels: {{desk: {{kind: webhook, {key}: {secret}}}}}")
        (check,) = faults(tree)
        assert check.level == "warning"
        assert check.todo == f"chmod 600 '{secret}'"
        assert "hunter2" not in str(found(tree))
        secret.chmod(0o600)
        assert faults(tree) == []

    def test_addresses_in_the_configuration_itself(self, tree: Tree, file: Path) -> None:
        """Addresses of services hold secrets: a file that has them is this user's alone."""
        write(file, "channels: {people: {kind: notify, urls: ['tgram://123:hunter2/wen']}}", 0o644)
        (check,) = faults(tree)
        assert (check.level, check.todo) == ("warning", f"chmod 600 {file}")
        assert "hunter2" not in check.message
        file.chmod(0o600)
        assert faults(tree) == []

    def test_a_program_that_others_may_write(self, tree: Tree, file: Path, tmp_path: Path) -> None:
        """Whoever writes the program runs as this user."""
        program = write(tmp_path / "send", "#!/bin/sh\n", 0o777)
        write(file, f"channels: {{desk: {{kind: command, run: [{program}]}}}}")
        (check,) = faults(tree)
        assert (check.level, check.todo) == ("warning", f"chmod go-w {program}")
        program.chmod(0o755)
        assert faults(tree) == []
