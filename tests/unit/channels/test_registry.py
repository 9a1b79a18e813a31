"""From settings to channels: our own kinds, those of other packages, and what is said of broken ones."""

from __future__ import annotations

import importlib.metadata
import sys
import types
from collections.abc import Callable
from typing import Any

import pytest

from ackd.channels import registry
from ackd.channels.port import Outcome, Post, Sent
from ackd.channels.registry import GROUP, known_kinds, open_channel, open_channels
from ackd.config.channels import ChannelSetting
from ackd.errors import InvalidError


class Recorder:
    """A channel that keeps what happens to it."""

    def __init__(self, setting: ChannelSetting) -> None:
        self.name, self.setting, self.closed = setting.name, setting, False

    def send(self, post: Post, timeout_s: float, late: Callable[[Sent], None]) -> Sent:
        """Say that it arrived."""
        return Sent(Outcome.DELIVERED, post.agent)

    def close(self) -> None:
        """Remember it."""
        self.closed = True


def setting(kind: str, name: str = "desk", **options: object) -> ChannelSetting:
    """Give the setting of a channel."""
    return ChannelSetting(name=name, kind=kind, options=options, origin="/etc/ackd.yaml")


@pytest.fixture
def offer(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Give a way to offer kinds: each name stands for what its entry point gives."""
    module = types.ModuleType("offered_channels")
    monkeypatch.setitem(sys.modules, "offered_channels", module)
    points: list[importlib.metadata.EntryPoint] = []
    monkeypatch.setattr(importlib.metadata, "entry_points", lambda group: [one for one in points if one.group == group])

    def add(name: str, made: Any, attribute: str = "", group: str = GROUP) -> None:
        attribute = attribute or f"make_{len(points)}"
        setattr(module, attribute, made)
        points.append(importlib.metadata.EntryPoint(name, f"offered_channels:{attribute}", group))

    return add


def refused(kind: str) -> InvalidError:
    """Give the error with which a channel of that kind is refused; it names file, channel and next step."""
    with pytest.raises(InvalidError) as caught:
        open_channel(setting(kind))
    assert caught.value.message.startswith("/etc/ackd.yaml channels.desk: ")
    assert caught.value.message.isprintable()
    assert caught.value.hint
    return caught.value


class TestKinds:
    def test_a_kind_of_another_package(self, offer: Callable[..., None]) -> None:
        """Its entry point is called with the setting as it was written, and gives the channel."""
        offer("飞书", Recorder)
        channel = open_channel(setting("飞书", token_file="~/t"))
        assert isinstance(channel, Recorder)
        assert channel.setting == setting("飞书", token_file="~/t")

    def test_an_unknown_kind_names_the_known_ones(self, offer: Callable[..., None]) -> None:
        """Ours and those of other packages; entry points of another group are none."""
        offer("matrix", Recorder)
        offer("mail", Recorder, group="other.channels")
        assert known_kinds() == ("command", "webhook", "notify", "matrix")
        for kind in ("mail", "webhok", "Command"):
            error = refused(kind)
            assert f'the kind "{kind}" is unknown' in error.message
            assert "command, webhook, notify, matrix" in error.hint

    def test_nobody_takes_the_place_of_our_own(
        self, offer: Callable[..., None], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """An entry point that is called like a kind of ours is not even looked at, and not listed twice."""
        offer("command", lambda _: pytest.fail("it was called"))
        monkeypatch.setitem(registry.OWN_KINDS, "command", Recorder)
        assert isinstance(open_channel(setting("command")), Recorder)
        assert known_kinds().count("command") == 1

    def test_two_packages_of_one_kind_are_refused(self, offer: Callable[..., None]) -> None:
        """Which of them is meant nobody knows; the same one found twice is one."""
        offer("matrix", Recorder, "one")
        offer("matrix", Recorder, "one")
        assert isinstance(open_channel(setting("matrix")), Recorder)
        offer("matrix", Recorder, "other")
        error = refused("matrix")
        assert "offered_channels:one" in error.message
        assert "offered_channels:other" in error.message
        assert "uninstall" in error.hint


class TestBroken:
    @pytest.mark.parametrize(
        ("error", "says"),
        [
            (ImportError("no module named chat\n\x1b[31m"), 'ImportError "no module named chat\\x0a\\x1b[31m"'),
            (KeyError("token"), "KeyError"),
            (SystemExit(3), "SystemExit"),
            (RuntimeError(), "RuntimeError"),
            (RuntimeError("x" * 5000), "RuntimeError"),
        ],
    )
    def test_whatever_it_raises_is_said(self, offer: Callable[..., None], error: BaseException, says: str) -> None:
        """The message names the entry point and the error in one short line; the cause is kept."""

        def fail(_: ChannelSetting) -> Any:
            raise error

        offer("matrix", fail, "fail")
        found = refused("matrix")
        assert "offered_channels:fail" in found.message
        assert says in found.message
        assert len(found.message) < 400
        assert "offered_channels" in found.hint
        assert found.__cause__ is error

    def test_its_own_words_for_wrong_options_are_kept(self, offer: Callable[..., None]) -> None:
        """A kind that says what is wrong with its options is repeated, hint and all."""

        def fail(_: ChannelSetting) -> Any:
            raise InvalidError("room: is missing", hint="write room: desk")

        offer("matrix", fail)
        error = refused("matrix")
        assert error.message.endswith("failed: room: is missing")
        assert error.hint == "write room: desk"

    def test_an_error_without_words_of_its_own(self, offer: Callable[..., None]) -> None:
        """An error whose text cannot be made is named by its type."""

        class MuteError(Exception):
            def __str__(self) -> str:
                raise ValueError

        def fail(_: ChannelSetting) -> Any:
            raise MuteError

        offer("matrix", fail)
        assert refused("matrix").message.endswith("failed: MuteError")

    def test_an_entry_point_that_leads_nowhere(
        self, offer: Callable[..., None], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A module or a name that is gone is said like any other fault."""
        gone = [
            importlib.metadata.EntryPoint("matrix", "no_such_module_here:make", GROUP),
            importlib.metadata.EntryPoint("mail", "offered_channels:gone", GROUP),
        ]
        monkeypatch.setattr(importlib.metadata, "entry_points", lambda group: gone)
        assert "ModuleNotFoundError" in refused("matrix").message
        assert "AttributeError" in refused("mail").message

    def test_metadata_that_cannot_be_read(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """A package of anybody's with broken metadata is a message, and our own kinds are made all the same."""

        def fail(group: str) -> Any:
            raise TypeError(f"no {group}")

        monkeypatch.setattr(importlib.metadata, "entry_points", fail)
        monkeypatch.setitem(registry.OWN_KINDS, "command", Recorder)
        assert isinstance(open_channel(setting("command")), Recorder)
        with pytest.raises(InvalidError, match='cannot be read: TypeError "no ackd') as caught:
            open_channel(setting("matrix"))
        assert caught.value.hint.endswith("pip check")

    @pytest.mark.parametrize(
        ("made", "lacks"),
        [
            (None, "name, send, close"),
            (types.SimpleNamespace(name="desk", send=print), "close"),
            (types.SimpleNamespace(name="desk", send="no", close=print), "send"),
            (types.SimpleNamespace(name=5, send=print, close=print), "name"),
            (Recorder, "name"),
        ],
    )
    def test_what_comes_out_is_a_channel(self, offer: Callable[..., None], made: Any, lacks: str) -> None:
        """It has name, send and close, or the message says which of them it lacks."""
        offer("matrix", lambda _: made)
        error = refused("matrix")
        assert error.message.endswith(f"which lacks {lacks}")


class TestSeveral:
    def test_they_are_found_by_their_names(self, offer: Callable[..., None]) -> None:
        """In the order of the settings; two channels of one kind are two."""
        offer("matrix", Recorder)
        opened = open_channels([setting("matrix", "书房"), setting("matrix", "desk")])
        assert list(opened) == ["书房", "desk"]
        assert opened["书房"] is not opened["desk"]
        assert open_channels([]) == {}

    def test_a_broken_one_closes_those_before_it(self, offer: Callable[..., None]) -> None:
        """Nothing is left running behind an error."""
        made: list[Recorder] = []

        def make(one: ChannelSetting) -> Recorder:
            made.append(Recorder(one))
            return made[-1]

        offer("matrix", make)
        with pytest.raises(InvalidError, match=r"channels\.last: "):
            open_channels([setting("matrix"), setting("matrix", "next"), setting("mail", "last")])
        assert [one.closed for one in made] == [True, True]

    def test_one_that_cannot_be_closed_hides_nothing(self, offer: Callable[..., None]) -> None:
        """The first error is the one that is told."""

        def close() -> None:
            raise OSError

        offer("matrix", lambda _: types.SimpleNamespace(name="desk", send=print, close=close))
        with pytest.raises(InvalidError, match='"mail" is unknown'):
            open_channels([setting("matrix"), setting("mail", "last")])
