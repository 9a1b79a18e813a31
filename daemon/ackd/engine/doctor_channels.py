"""What the doctor looks at in the live channels: whether they can be used, and whether team and machine agree.

Nothing is sent. Who has no channel here gets files, so what is wrong costs speed and no message.
"""

from __future__ import annotations

import os
import shlex
import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path

from ackd.channels.registry import OWN_KINDS, known_kinds, open_channel
from ackd.config.channels import ChannelSetting, load_channels
from ackd.config.node import config_file
from ackd.engine.doctor import Check, Patient, ok, problem, warning
from ackd.errors import AckdError
from ackd.protocol.ids import name_key, shown
from ackd.protocol.policy import Agent
from ackd.tree import layout

_NAME = "channels"
_SHOWN = 5


def look_at_channels(patient: Patient) -> Iterator[Check]:
    """Whether the channels of this machine can be used, and who has one, or misses one."""
    try:
        settings = load_channels()
    except AckdError as error:
        yield problem(_NAME, error.message, error.hint)
        return
    faults = [fault for setting in settings for fault in _look_at(setting)]
    yield from faults
    try:
        members = [one for one in patient.view.team.policy.roster.members.values() if one.channel]
    except AckdError:
        return  # That it cannot be used is said elsewhere.
    yield from _missing(members, settings)
    unused = [one.name for one in settings if all(one.name != member.channel for member in members)]
    if unused:
        # The same channels serve every tree of this machine: another one may use it.
        yield ok(_NAME, f"nobody in {layout.TEAM} uses {_few(unused)}")
    if not settings:
        yield ok(_NAME, "this machine has no live channels; everything goes by file")
    elif not faults:
        yield ok(_NAME, f"live channels that can be used: {_few(one.name for one in settings)}")


def _missing(members: list[Agent], settings: tuple[ChannelSetting, ...]) -> Iterator[Check]:
    """Say whose channel is not on this machine: it may be on theirs, unless it is only written otherwise."""
    import difflib

    names = {one.name for one in settings}
    keys = {name_key(one): one for one in names}
    by_channel: dict[str, list[str]] = {}
    for member in members:
        if member.channel not in names:
            by_channel.setdefault(member.channel, []).append(member.name)
    for channel, agents in by_channel.items():
        near = next(iter(difflib.get_close_matches(name_key(channel), keys, n=1, cutoff=0.8)), "")
        lacks = f"this machine has no channel {shown(channel)}; told by file here: {_few(agents)}"
        if near:
            yield warning(_NAME, lacks, f"did you mean {keys[near]}? correct {layout.TEAM} or {config_file()}")
        else:
            yield ok(_NAME, lacks)


def _look_at(setting: ChannelSetting) -> Iterator[Check]:
    """Look at one channel; those of our own kinds are made and closed again, others are only looked for.

    A command whose program is not there cannot be made.
    """
    try:
        if setting.kind in OWN_KINDS:
            open_channel(setting).close()
        elif setting.kind not in known_kinds():
            yield problem(
                _NAME,
                f"channel {setting.name}: the kind {shown(setting.kind)} is unknown; known: {_few(known_kinds())}",
                f"install the package that brings it, or correct {setting.origin}",
            )
    except AckdError as error:
        yield problem(_NAME, error.message, error.hint)
        return
    yield from _look_at_files(setting)


def _look_at_files(setting: ChannelSetting) -> Iterator[Check]:
    """Look whether files with secrets are this user's alone, and what is run can be changed by nobody else."""
    secret = [path for key in ("secret_file", "urls_file") if (path := _path(setting.options.get(key)))]
    if {"urls", "headers", "environment"} & setting.options.keys():
        secret.append(Path(setting.origin))
    for path in secret:
        mode = _mode(path)
        if mode & 0o077:
            yield warning(
                _NAME,
                f"channel {setting.name}: others may read or write {path}, which may hold a secret",
                f"chmod 600 {shlex.quote(str(path))}",
            )
    run = setting.options.get("run")
    program = shutil.which(os.path.expanduser(run[0])) if isinstance(run, list) and run and _path(run[0]) else None
    if program is not None and _mode(Path(program)) & 0o022:
        yield warning(
            _NAME,
            f"channel {setting.name}: others may write {program}, and it is run as you",
            f"chmod go-w {shlex.quote(program)}",
        )


def _path(written: object) -> Path | None:
    return Path(os.path.expanduser(written)) if isinstance(written, str) and written else None


def _mode(path: Path) -> int:
    try:
        return path.stat().st_mode
    except (OSError, ValueError):
        return 0  # That it is missing is the kind's own to say.


def _few(names: Iterable[str]) -> str:
    several = list(names)
    more = f" and {len(several) - _SHOWN} more" if len(several) > _SHOWN else ""
    return ", ".join(several[:_SHOWN]) + more


LOOKS = (look_at_channels,)
