"""The channels in the node's own configuration: what is read, what is refused, and who may have written it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ackd.config.channels import ChannelSetting, Limit, load_channels
from ackd.config.node import node_settings
from ackd.config.yaml_file import read_yaml
from ackd.errors import InvalidError
from ackd.schema import accepts


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give the place of the node's own configuration; nothing is there yet."""
    path = tmp_path / "config.yaml"
    monkeypatch.setenv("ACKD_CONFIG", str(path))
    monkeypatch.setenv("ACKD_NODE", "desk-2")
    return path


def write(path: Path, text: str, mode: int = 0o600) -> None:
    """Lay a configuration down."""
    path.write_text(text, encoding="utf-8")
    path.chmod(mode)


def one(path: Path, keys: str) -> ChannelSetting:
    """Give the setting of a channel `desk` with these keys."""
    write(path, f"channels:\n  desk: {{{keys}}}\n")
    (setting,) = load_channels()
    return setting


def refused(path: Path, text: str) -> InvalidError:
    """Give the error with which a configuration is refused; it names the file and the next step."""
    write(path, text)
    with pytest.raises(InvalidError) as caught:
        load_channels()
    assert caught.value.message.startswith(str(path))
    assert caught.value.hint
    return caught.value


class TestReading:
    def test_all_that_a_channel_may_say(self, file: Path) -> None:
        """Common keys are read; all others belong to the kind and are kept as they were written, in their order."""
        write(
            file,
            """
            node: laptop
            channels:
              聊天:
                kind: command
                run: [chatctl, send, "{text}"]
                timeout: 1m
                rate: 60/min
                recipient_rate: 100/h
                parallel: 2
              desk:
                kind: webhook
                url: https://example.org/hook
                private: true
            """,
        )
        chat, desk = load_channels()
        assert chat == ChannelSetting(
            name="聊天",
            kind="command",
            timeout_ms=60_000,
            rate=Limit(60, 60_000),
            recipient_rate=Limit(100, 3_600_000),
            parallel=2,
            options={"run": ["chatctl", "send", "{text}"]},
            origin=str(file),
        )
        assert (desk.name, desk.options) == ("desk", {"url": "https://example.org/hook", "private": True})
        assert (desk.timeout_ms, desk.rate, desk.recipient_rate, desk.parallel) == (30_000, None, None, 4)

    @pytest.mark.parametrize("text", ["", "# nothing\n", "node: laptop\n", "channels:\n", "channels: {}\n"])
    def test_without_channels_there_are_none(self, file: Path, text: str) -> None:
        """Nothing under the key, no key, an empty file: no channel, whoever may write the file."""
        write(file, text, 0o666)
        assert load_channels() == ()

    def test_without_a_file_there_are_none(self, file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """A machine needs no configuration; nor does one whose folder is none, or that names the null device."""
        assert load_channels() == ()
        file.touch()
        for place in (str(file / "under-a-file"), os.devnull):
            monkeypatch.setenv("ACKD_CONFIG", place)
            assert load_channels() == ()

    @pytest.mark.parametrize(
        ("written", "length"), [("1s", 1000), ("90s", 90_000), ("10 min", 600_000), ("PT30S", 30_000), ("5", 5000)]
    )
    def test_a_timeout_is_a_duration(self, file: Path, written: str, length: int) -> None:
        """A bare number means seconds, as it does in team.yaml."""
        assert one(file, f"kind: command, timeout: {written}").timeout_ms == length

    @pytest.mark.parametrize(
        ("written", "limit"),
        [
            ("1/s", Limit(1, 1000)),
            ("30/min", Limit(30, 60_000)),
            ("30 / m", Limit(30, 60_000)),
            ("100/hour", Limit(100, 3_600_000)),
            ("10000/h", Limit(10_000, 3_600_000)),
        ],
    )
    def test_a_rate_is_a_count_in_a_time(self, file: Path, written: str, limit: Limit) -> None:
        """For the channel and for one recipient alike."""
        assert one(file, f"kind: command, rate: {written}").rate == limit
        assert one(file, f"kind: command, recipient_rate: {written}").recipient_rate == limit

    def test_a_key_that_was_left_empty_has_its_default(self, file: Path) -> None:
        """An empty key is as good as none."""
        setting = one(file, "kind: webhook, timeout: , rate: , recipient_rate: , parallel: ")
        assert setting == ChannelSetting(name="desk", kind="webhook", origin=str(file))

    def test_the_nodes_settings_do_not_ask_for_channels(self, file: Path) -> None:
        """A channel that cannot be used, or a file that others may write, keeps no other command from working."""
        write(file, "durability: paranoid\nchannels: [desk]\n", 0o666)
        assert node_settings()["durability"].value == "paranoid"
        with pytest.raises(InvalidError):
            load_channels()


class TestWrong:
    @pytest.mark.parametrize(
        ("text", "says", "hint"),
        [
            ("- desk", "is no mapping", "node: my-laptop"),
            ("channels: [desk]", "channels: is no mapping", "kind: command"),
            ("channels: {desk: }", "channels.desk is no mapping", "desk: {kind: command"),
            ("channels: {desk: chat}", "channels.desk is no mapping", "desk: {kind: command"),
            ("channels: {desk: {run: [a]}}", "channels.desk has no kind", "kind: command, webhook or notify"),
            ("channels: {desk: {kind: 5}}", 'channels.desk.kind: "5" is no kind', "kind: command, webhook or notify"),
            ("channels: {desk: {kind: a b}}", 'channels.desk.kind: kind "a b" has the character', "kind: command"),
            ("channels: {-x: {kind: command}}", 'channel "-x" does not start with a letter', "letters, digits"),
            ("channels: {Desk: {kind: a}, desk: {kind: b}}", "Desk and desk count as the same name", "rename"),
            ("channels: {desk: {kind: a}, desk: {kind: b}}", "stands here twice", "correct"),
            ("channels: {desk: &x {kind: a}}", "anchors are not taken", "correct"),
            ("channels: {desk: {kind: !!python/name:os.system ''}}", "tags are not taken", "correct"),
        ],
    )
    def test_it_names_the_key_and_what_to_write(self, file: Path, text: str, says: str, hint: str) -> None:
        """Each message has file and key, each hint what stands there instead."""
        error = refused(file, text)
        assert says in error.message
        assert hint in error.hint

    @pytest.mark.parametrize(
        ("key", "written"),
        [
            *(
                ("timeout", one)
                for one in ("0s", "999ms", "11m", "soon", "true", "-5", "0", "601", "[1s]", "30M", "1d")
            ),
            *((key, one) for key in ("rate", "recipient_rate") for one in ("0/s", "10001/h", "30", "a/s", "30/day")),
            *(("rate", one) for one in ("-1/s", "1.5/s", "٣/s", "/s", "30/min.", "9999999/s", "{a: b}", "true")),
            *(("parallel", one) for one in ("0", "65", "many", "true", "2.5", "-1", "'4'")),
        ],
    )
    def test_values_out_of_their_range_are_refused(self, file: Path, key: str, written: str) -> None:
        """What stands there is shown, and what it should look like."""
        error = refused(file, f"channels: {{desk: {{kind: command, {key}: {written}}}}}")
        assert f"channels.desk.{key}: " in error.message
        assert error.hint.startswith(f"write {key}: ")

    def test_what_it_hints_at_is_taken(self, file: Path) -> None:
        """The example of a hint can be written as it stands."""
        error = refused(file, "channels: [desk]")
        write(file, error.hint.removeprefix("write ") + "\n")
        assert [one.kind for one in load_channels()] == ["command"]

    def test_there_may_be_a_hundred(self, file: Path) -> None:
        """A hundred channels are taken, one more is not."""
        lines = [f"  c{number}: {{kind: command}}" for number in range(101)]
        write(file, "\n".join(["channels:", *lines[:100]]))
        assert len(load_channels()) == 100
        assert "at most 100" in refused(file, "\n".join(["channels:", *lines])).message

    def test_a_huge_file_is_not_read(self, file: Path) -> None:
        """The size is bounded as that of any configuration."""
        assert "at most 65536 are read" in refused_plain(file, "# " + "x" * 70_000).message

    @given(written=st.text(max_size=30))
    def test_any_rate_is_taken_or_refused(self, written: str) -> None:
        """Nothing but an InvalidError comes out, and a limit is always within its range."""
        from ackd.config.channels import _limit

        try:
            limit = _limit("config.yaml channels.desk", "rate", written)
        except InvalidError as error:
            said, limit = error.message, Limit(1, 1000)
        else:
            said = "config.yaml"
        assert said.isprintable()
        assert said.startswith("config.yaml")
        assert limit is not None
        assert 1 <= limit.count <= 10_000
        assert limit.per_ms in (1000, 60_000, 3_600_000)


def refused_plain(path: Path, text: str) -> InvalidError:
    """Give the error with which a configuration is refused, whatever its hint."""
    write(path, text)
    with pytest.raises(InvalidError) as caught:
        load_channels()
    return caught.value


class TestWhoWroteIt:
    TEXT = "channels: {desk: {kind: command}}\n"

    @pytest.mark.parametrize("mode", [0o620, 0o602, 0o666, 0o664])
    def test_a_file_that_others_may_write_is_refused(self, file: Path, mode: int) -> None:
        """Whoever writes it runs commands as this user; the hint is the command that puts it right."""
        write(file, self.TEXT, mode)
        with pytest.raises(InvalidError, match="others may write") as caught:
            load_channels()
        assert caught.value.hint.endswith(f"chmod 600 {file}")
        file.chmod(mode & ~0o022)
        assert len(load_channels()) == 1

    def test_others_may_read_it(self, file: Path) -> None:
        """Reading alone is no danger to what is run."""
        write(file, self.TEXT, 0o644)
        assert len(load_channels()) == 1

    def test_a_file_of_somebody_else_is_refused(self, file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """Only this user and root say what is run; root's own file is taken by everybody."""
        write(file, self.TEXT)
        real = os.fstat

        def owned_by(uid: int) -> None:
            def fstat(handle: int) -> os.stat_result:
                return os.stat_result([*real(handle)[:4], uid, *real(handle)[5:]])

            monkeypatch.setattr("ackd.config.channels.os.fstat", fstat)

        monkeypatch.setattr(os, "geteuid", lambda: 1000)
        owned_by(1001)
        with pytest.raises(InvalidError, match="belongs to uid 1001") as caught:
            load_channels()
        assert f"chown 1000 {file}" in caught.value.hint
        for uid in (0, 1000):
            owned_by(uid)
            assert len(load_channels()) == 1

    def test_a_path_with_blanks_is_quoted(self, file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """The command of the hint can be typed as it stands."""
        path = tmp_path / "my config.yaml"
        monkeypatch.setenv("ACKD_CONFIG", str(path))
        write(path, self.TEXT, 0o666)
        with pytest.raises(InvalidError) as caught:
            load_channels()
        assert caught.value.hint.endswith(f"chmod 600 '{path}'")

    def test_a_link_to_a_file_of_ones_own_is_taken(self, file: Path, tmp_path: Path) -> None:
        """Many keep their configuration elsewhere; what the link leads to is what is looked at."""
        write(tmp_path / "kept.yaml", self.TEXT)
        file.symlink_to(tmp_path / "kept.yaml")
        assert len(load_channels()) == 1
        (tmp_path / "kept.yaml").chmod(0o666)
        with pytest.raises(InvalidError, match="others may write"):
            load_channels()

    def test_a_pipe_is_not_waited_for(self, file: Path) -> None:
        """A pipe gives nothing while nobody writes, and is no file to run commands from when somebody does."""
        os.mkfifo(file, 0o600)
        assert load_channels() == ()
        reader = os.open(file, os.O_RDONLY | os.O_NONBLOCK)
        writer = os.open(file, os.O_WRONLY)
        try:
            assert load_channels() == ()
            os.write(writer, self.TEXT.encode())
            with pytest.raises(InvalidError, match="no regular file"):
                load_channels()
        finally:
            os.close(writer)
            os.close(reader)

    def test_a_folder_in_its_place_is_named(self, file: Path) -> None:
        """What cannot be read is said, and not passed over: channels may be missing."""
        file.mkdir()
        with pytest.raises(InvalidError, match="cannot be read"):
            load_channels()


@pytest.mark.parametrize(
    "keys",
    [
        *("kind: command", "kind: chat-app, token: 1", "kind: command, timeout: 2m", "kind: command, timeout: 600"),
        *("kind: command, rate: 5/s", "kind: command, rate: 5 / min", "kind: command, parallel: 64", "kind: "),
        *("run: [a]", "kind: 5", "kind: command, timeout: 601", "kind: command, timeout: 0", "kind: command, rate: 5"),
        *("kind: command, rate: 5/day", "kind: command, parallel: 65", "kind: command, parallel: 0.5", "kind: a b"),
    ],
)
def test_the_schema_for_editors_says_the_same(file: Path, keys: str) -> None:
    """What an editor marks is what is refused."""
    text = f"channels: {{desk: {{{keys}}}}}"
    write(file, text)
    try:
        is_taken = bool(load_channels())
    except InvalidError:
        is_taken = False
    assert accepts("node", read_yaml(text.encode(), name="config.yaml")) is is_taken


def test_a_folder_in_which_others_may_write_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever may replace the file may run commands too."""
    folder = tmp_path / "ackd"
    folder.mkdir()
    path = folder / "config.yaml"
    path.write_text("channels: {desk: {kind: command, run: [sh]}}\n")
    path.chmod(0o600)
    monkeypatch.setenv("ACKD_CONFIG", str(path))
    folder.chmod(0o777)
    with pytest.raises(InvalidError, match="put another file in the place of") as caught:
        load_channels()
    assert caught.value.hint.endswith(f"chmod go-w {folder}")
    folder.chmod(0o1777)
    assert len(load_channels()) == 1
