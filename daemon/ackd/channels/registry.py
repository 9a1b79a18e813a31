"""From settings to channels: each kind is one of our own, or an entry point of the group `ackd.channels`."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, cast

from ackd.channels.port import Channel
from ackd.config.channels import ChannelSetting
from ackd.errors import AckdError, InvalidError
from ackd.protocol.ids import shown

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

GROUP = "ackd.channels"
"""The group of entry points. Each is called with a `ChannelSetting` and gives a `Channel`; its name is the kind."""

_LONGEST_WORDS = 160


def open_channels(settings: Iterable[ChannelSetting]) -> dict[str, Channel]:
    """Make the channels of a node.

    Args:
        settings: What the node's own configuration says.

    Returns:
        The channels by the names of their settings.

    Raises:
        InvalidError: One cannot be made; the message names it. Those that were made already are closed.
    """
    opened: dict[str, Channel] = {}
    try:
        for setting in settings:
            opened[setting.name] = open_channel(setting)
    except BaseException:
        for channel in opened.values():
            with contextlib.suppress(Exception):
                channel.close()
        raise
    return opened


def open_channel(setting: ChannelSetting) -> Channel:
    """Make one channel.

    Raises:
        InvalidError: There is no such kind, its options do not suit it, or it failed itself.
    """
    own = OWN_KINDS.get(setting.kind)
    return own(setting) if own is not None else _from_elsewhere(setting)


def known_kinds() -> tuple[str, ...]:
    """Give the kinds that this machine knows: our own, then those of other packages."""
    others = {one.name for one in _entry_points()}
    return (*OWN_KINDS, *sorted(others - OWN_KINDS.keys()))


def _command(setting: ChannelSetting) -> Channel:
    from ackd.channels.command import make_command

    return make_command(setting)


def _webhook(setting: ChannelSetting) -> Channel:
    from ackd.channels.webhook import make_webhook

    return make_webhook(setting)


def _notify(setting: ChannelSetting) -> Channel:
    from ackd.channels.notify import make_notify

    return make_notify(setting)


OWN_KINDS: dict[str, Callable[[ChannelSetting], Channel]] = {
    "command": _command,
    "webhook": _webhook,
    "notify": _notify,
}
"""Our own kinds; an entry point of the same name does not take their place. Each is imported where it is needed."""


def _entry_points() -> list[EntryPoint]:
    from importlib.metadata import entry_points

    try:
        return list(entry_points(group=GROUP))
    # One package with broken metadata, whichever it is, is enough.
    except Exception as error:
        raise InvalidError(
            f"the entry points of the packages in {sys.prefix} cannot be read: {_words(error)}",
            hint=f"{sys.executable} -m pip check",
        ) from error


def _from_elsewhere(setting: ChannelSetting) -> Channel:
    where = f"{setting.origin} channels.{setting.name}".strip()
    found = {one.value: one for one in _entry_points() if one.name == setting.kind}
    if not found:
        raise InvalidError(
            f"{where}: the kind {shown(setting.kind)} is unknown",
            hint=f"known kinds: {', '.join(known_kinds())}; others come with packages that have an entry point {GROUP}",
        )
    if len(found) > 1:
        raise InvalidError(
            f"{where}: several packages give the kind {setting.kind}: {', '.join(map(_source, found.values()))}",
            hint="uninstall all of them but one",
        )
    (entry,) = found.values()
    try:
        made = entry.load()(setting)
    # What comes from elsewhere may raise anything, and leave the program too.
    except (Exception, SystemExit) as error:
        raise InvalidError(f"{where}: {_source(entry)} failed: {_words(error)}", hint=_hint(error, entry)) from error
    missing = [name for name in ("send", "close") if not callable(getattr(made, name, None))]
    if not isinstance(getattr(made, "name", None), str):
        missing.insert(0, "name")
    if missing:
        raise InvalidError(
            f"{where}: {_source(entry)} gave {shown(type(made).__name__)}, which lacks {', '.join(missing)}",
            hint=f"a channel has name, send and close; ask the makers of {_package(entry)}",
        )
    return cast(Channel, made)


def _words(error: BaseException) -> str:
    """Say what went wrong in one line; the error's own text may fail too."""
    if isinstance(error, AckdError):
        return error.message
    try:
        text = str(error)
    except Exception:
        text = ""
    return f"{type(error).__name__} {shown(text, _LONGEST_WORDS)}" if text else type(error).__name__


def _hint(error: BaseException, entry: EntryPoint) -> str:
    own = error.hint if isinstance(error, AckdError) else ""
    return own or f"look at its options, or install {_package(entry)} again"


def _package(entry: EntryPoint) -> str:
    return entry.dist.name if entry.dist is not None else entry.module


def _source(entry: EntryPoint) -> str:
    return f"{entry.value} of {_package(entry)}"
