"""The port of the watcher: hints where something may have changed, and nothing more.

Hints are allowed to be late, doubled, wrong and lost; the engine looks at the file itself, and its periodic scan finds
what no hint named (R1, R3). So an implementation is judged by one rule only: what it knows to have missed, it owns up
to by `Changes.rescan`.
"""

from __future__ import annotations

from typing import Protocol

import msgspec


class Changes(msgspec.Struct, frozen=True):
    """What may have changed since the last call.

    Attributes:
        paths: Relative paths, ``/`` between components: files, or folders whose whole content may be new. A path may
            be gone again, and may hold bytes that are no UTF-8 (``surrogateescape``).
        rescan: Changes may have been missed: look at everything.
    """

    paths: frozenset[str] = frozenset()
    rescan: bool = False


NOTHING = Changes()
EVERYTHING = Changes(rescan=True)


class Hints(Protocol):
    """A source of hints for one tree. All but `wake` is called from one thread."""

    def start(self) -> None:
        """Begin to watch; never fails for want of a watcher, but says so in `healthy`."""

    def wait(self, timeout_s: float) -> Changes:
        """Return as soon as there is a hint or a `wake`, else after `timeout_s` seconds with `NOTHING`."""

    def wake(self) -> None:
        """Make `wait` return now; safe from a signal handler and from any thread."""

    def folders_seen(self, count: int) -> None:
        """Take from a complete scan how many folders there are, to know whether all of them are watched."""

    def healthy(self) -> str:
        """Say what is wrong, in one plain sentence, or return an empty string."""

    def stop(self) -> None:
        """Stop watching; harmless when repeated."""
