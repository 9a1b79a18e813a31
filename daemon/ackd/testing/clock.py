"""A wall clock that only moves when it is told to."""

from __future__ import annotations

START_MS = 1_772_951_400_000
"""2026-03-08T06:30:00Z: where a manual clock starts if nothing else is said."""


class ManualClock:
    """A clock that gives milliseconds since the Unix epoch, UTC; call it to read it.

    It may be handed to everything in ackd that takes a clock as a callable.

    Args:
        now_ms: What it shows first.
    """

    def __init__(self, now_ms: int = START_MS) -> None:
        self._now = now_ms

    def __call__(self) -> int:
        """Give the instant that it shows, in milliseconds."""
        return self._now

    def advance(self, ms: int) -> int:
        """Move it forward and give the new instant.

        Args:
            ms: How far, in milliseconds; 0 or more.

        Raises:
            ValueError: `ms` is negative; use `set` to turn the clock back.
        """
        if ms < 0:
            raise ValueError(f"a clock does not advance by {ms} ms; use set() to turn it back")
        self._now += ms
        return self._now

    def set(self, now_ms: int) -> None:
        """Turn it to an instant, back or forth, as an administrator or a bad battery would."""
        self._now = now_ms
