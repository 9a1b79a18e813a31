"""The channels of a node: what a live channel runs or where it posts stands in the node's own configuration only."""

from __future__ import annotations

import os
import re
import shlex
import stat
from pathlib import Path

import msgspec

from ackd.config.node import config_file
from ackd.errors import InvalidError
from ackd.protocol.ids import clean_name, name_key, shown
from ackd.protocol.instant import parse_duration

MOST_CHANNELS = 100
LEAST_TIMEOUT_MS, MOST_TIMEOUT_MS = 1_000, 600_000
MOST_SENDS = 10_000
MOST_PARALLEL = 64

_CAP = 65_536
_RATE = re.compile(r"([0-9]{1,6}) ?/ ?(s|sec|second|m|min|minute|h|hour)")
_PER_MS = {"s": 1_000, "m": 60_000, "h": 3_600_000}
_EXAMPLE = "channels: {desk: {kind: command, run: [program, '{text}']}}"


class Limit(msgspec.Struct, frozen=True):
    """At most `count` sends in `per_ms` milliseconds."""

    count: int
    per_ms: int


class ChannelSetting(msgspec.Struct, frozen=True, kw_only=True):
    """One entry under `channels:`, as it was written; what belongs to its kind is read by that kind.

    Attributes:
        name: By which `team.yaml` names it.
        kind: `command`, `webhook`, `notify`, or the name of an entry point of the group `ackd.channels`.
        timeout_ms: How long one send may take.
        rate: Limit of the whole channel, or None.
        recipient_rate: Limit of one recipient, or None.
        parallel: How many sends run at once.
        options: All other keys, as read from YAML.
        origin: The file that it stands in.
    """

    name: str
    kind: str
    timeout_ms: int = 30_000
    rate: Limit | None = None
    recipient_rate: Limit | None = None
    parallel: int = 4
    options: dict[str, object] = {}
    origin: str = ""


_DEFAULT = ChannelSetting(name="", kind="")
COMMON = ("kind", "timeout", "rate", "recipient_rate", "parallel")
"""Keys that every channel has."""


def load_channels() -> tuple[ChannelSetting, ...]:
    """Read what stands under `channels:` in the node's own configuration, in its order.

    A channel runs a command, so whoever can write the file can run anything as this user: with channels in it, it must
    belong to this user or to root, and nobody else may write it.

    Returns:
        The channels; none where there is no file or nothing under `channels:`.

    Raises:
        InvalidError: The file cannot be used, or is not this user's alone; the message names file and key.
    """
    from ackd.config.yaml_file import read_yaml

    path = config_file()
    data, found = _read(path)
    document = read_yaml(data, name=str(path)) if data else None
    if document is None:
        return ()
    if not isinstance(document, dict):
        raise InvalidError(f"{path} is no mapping", hint="write `node: my-laptop`")
    written = document.get("channels")
    if written is None:
        return ()
    if not isinstance(written, dict):
        raise InvalidError(f"{path} channels: is no mapping of names", hint=f"write {_EXAMPLE}")
    if len(written) > MOST_CHANNELS:
        raise InvalidError(
            f"{path} channels: has {len(written)} channels; at most {MOST_CHANNELS} are taken", hint="take some out"
        )
    if written and found is not None:
        _hold_private(path, found)
    settings: dict[str, ChannelSetting] = {}
    for name, details in written.items():
        setting = _channel(path, name, details)
        other = settings.setdefault(name_key(setting.name), setting)
        if other is not setting:
            raise InvalidError(
                f"{path} channels: {other.name} and {setting.name} count as the same name", hint="rename one of them"
            )
    return tuple(settings.values())


def _read(path: Path) -> tuple[bytes, os.stat_result | None]:
    """Give the bytes of the file and what it is; nothing where there is none. Nothing waits at a pipe."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except (FileNotFoundError, NotADirectoryError):
        return b"", None
    except OSError as error:
        raise InvalidError(f"{path} cannot be read: {error.strerror}", hint=f"ls -l {_quoted(path)}") from None
    try:
        # Of the open file, not of the path: what is looked at is what is read.
        found = os.fstat(handle)
        with os.fdopen(handle, "rb", closefd=False) as file:
            # An open pipe with nothing in it gives None.
            return file.read(_CAP + 1) or b"", found
    except OSError as error:
        raise InvalidError(f"{path} cannot be read: {error.strerror}", hint=f"ls -l {_quoted(path)}") from None
    finally:
        os.close(handle)


def _hold_private(path: Path, found: os.stat_result) -> None:
    if not stat.S_ISREG(found.st_mode):
        raise InvalidError(f"{path} is no regular file, and it has channels", hint="write it as a file")
    if found.st_uid not in (os.geteuid(), 0):
        raise InvalidError(
            f"{path} belongs to uid {found.st_uid}, and it has channels, which run as uid {os.geteuid()}",
            hint=f"look through it, then: sudo chown {os.geteuid()} {_quoted(path)}",
        )
    if found.st_mode & 0o022:
        raise InvalidError(
            f"others may write {path}, and it has channels: whoever writes it can run commands as you",
            hint=f"look through it, then: chmod 600 {_quoted(path)}",
        )
    folder = path.parent.stat()
    if folder.st_mode & 0o022 and not folder.st_mode & stat.S_ISVTX:
        raise InvalidError(
            f"others may put another file in the place of {path}, and it has channels",
            hint=f"look through it, then: chmod go-w {_quoted(path.parent)}",
        )


def _quoted(path: Path) -> str:
    return shlex.quote(str(path))


def _channel(path: Path, written: str, details: object) -> ChannelSetting:
    try:
        name = clean_name(written, what="channel")
    except InvalidError as error:
        raise InvalidError(f"{path} channels: {error.message}", hint=error.hint) from None
    where = f"{path} channels.{name}"
    if not isinstance(details, dict):
        raise InvalidError(
            f"{where} is no mapping", hint=f"write {name}: {{kind: command, run: [program, '{{text}}']}}"
        )
    kind = details.get("kind")
    if kind is None:
        raise InvalidError(f"{where} has no kind", hint="add kind: command, webhook or notify")
    if not isinstance(kind, str):
        raise InvalidError(f"{where}.kind: {_said(kind)} is no kind", hint="write kind: command, webhook or notify")
    try:
        kind = clean_name(kind, what="kind")
    except InvalidError as error:
        raise InvalidError(f"{where}.kind: {error.message}", hint="write kind: command, webhook or notify") from None
    return ChannelSetting(
        name=name,
        kind=kind,
        timeout_ms=_timeout(where, details.get("timeout")),
        rate=_limit(where, "rate", details.get("rate")),
        recipient_rate=_limit(where, "recipient_rate", details.get("recipient_rate")),
        parallel=_parallel(where, details.get("parallel")),
        options={key: value for key, value in details.items() if key not in COMMON},
        origin=str(path),
    )


def _timeout(where: str, written: object) -> int:
    """Read a duration; a bare number means seconds, as in `team.yaml`."""
    if written is None:
        return _DEFAULT.timeout_ms
    is_number = isinstance(written, int | float) and not isinstance(written, bool)
    length = round(float(str(written)) * 1000) if is_number else parse_duration(written)
    if length is None or not LEAST_TIMEOUT_MS <= length <= MOST_TIMEOUT_MS:
        raise InvalidError(
            f"{where}.timeout: {_said(written)} is no duration from 1 s to 10 min", hint="write timeout: 30s"
        )
    return length


def _limit(where: str, key: str, written: object) -> Limit | None:
    if written is None:
        return None
    match = _RATE.fullmatch(written) if isinstance(written, str) else None
    count = int(match[1]) if match else 0
    if match is None or not 1 <= count <= MOST_SENDS:
        raise InvalidError(
            f"{where}.{key}: {_said(written)} is no rate of 1 to {MOST_SENDS} a second, minute or hour",
            hint=f"write {key}: 30/min, 5/s or 100/h",
        )
    return Limit(count, _PER_MS[match[2][0]])


def _parallel(where: str, written: object) -> int:
    if written is None:
        return _DEFAULT.parallel
    if isinstance(written, bool) or not isinstance(written, int) or not 1 <= written <= MOST_PARALLEL:
        raise InvalidError(
            f"{where}.parallel: {_said(written)} is no whole number from 1 to {MOST_PARALLEL}",
            hint="write parallel: 4",
        )
    return written


def _said(value: object) -> str:
    return shown(str(value), 40)
