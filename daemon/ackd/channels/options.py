"""Reading the options of a channel: each error names file, channel and key, and shows no value that may be a secret."""

from __future__ import annotations

import os
import stat
from collections.abc import Collection
from pathlib import Path
from typing import NoReturn

from ackd.config.channels import COMMON, ChannelSetting
from ackd.errors import InvalidError
from ackd.protocol.ids import shown
from ackd.protocol.instant import parse_duration


class Options:
    """The options of one channel.

    Args:
        setting: The channel's setting.
        known: Keys that its kind has.

    Raises:
        InvalidError: There is a key that it does not have.
    """

    def __init__(self, setting: ChannelSetting, known: Collection[str]) -> None:
        self._options = setting.options
        self._where = f"{setting.origin} channels.{setting.name}".strip()
        for key in self._options:
            if key not in known:
                every = ", ".join(sorted({*known, *COMMON}))
                self.fail(key, f"is no option of the kind {setting.kind}", f"known options: {every}")

    def get(self, key: str) -> object:
        """Give a value as it was written, or None."""
        return self._options.get(key)

    def flag(self, key: str, default: bool) -> bool:
        """Give true or false."""
        value = self._options.get(key, default)
        if not isinstance(value, bool):
            self.fail(key, f"is {shown(str(value))}", "use true or false")
        return value

    def choice(self, key: str, words: tuple[str, ...], default: str) -> str:
        """Give one of some words."""
        value = self._options.get(key, default)
        if not isinstance(value, str) or value not in words:
            self.fail(key, f"is {shown(str(value))}", f"use one of {', '.join(words)}")
        return value

    def duration(self, key: str, default: int, most: int) -> int:
        """Give a duration in milliseconds, from 0 to `most`."""
        value = self._options.get(key)
        if value is None:
            return default
        found = parse_duration(value)
        if found is None or found > most:
            self.fail(key, f"is {shown(str(value))}", f"a duration with its unit, at most {most // 60_000} min")
        return found

    def mapping(self, key: str, example: str) -> dict[str, str]:
        """Give a mapping of texts; numbers and the like as they are written."""
        value = self._options.get(key) or {}
        if not isinstance(value, dict):
            self.fail(key, "is no mapping", f"{key}: {example}")
        return {str(name): str(one) for name, one in value.items()}

    def path(self, key: str) -> Path | None:
        """Give a path, with `~` for the home of this user, or None."""
        value = self._options.get(key)
        return Path(os.path.expanduser(str(value))) if value is not None else None

    def private_file(self, key: str, hint: str) -> bytes | None:
        """Give what a file holds that only its owner can read, or None where none is named."""
        path = self.path(key)
        if path is None:
            return None
        try:
            found, data = path.stat(), path.read_bytes()
        except OSError as error:
            self.fail(key, f"cannot be read: {path}: {error.strerror}", hint.format(path=path))
        if stat.S_IMODE(found.st_mode) & 0o077:
            self.fail(key, f"can be read by others: {path}", f"chmod 600 {path}")
        return data

    def fail(self, key: str, what: str, hint: str) -> NoReturn:
        """Refuse the channel."""
        raise InvalidError(f"{self._where}: {key} {what}", hint=hint)
