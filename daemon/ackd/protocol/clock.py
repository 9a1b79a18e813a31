"""The hybrid logical clock: stamps that follow the wall clock and never go back (Kulkarni et al., 2014)."""

from __future__ import annotations

Stamp = tuple[int, int]
"""Wall time in milliseconds since the Unix epoch, and a counter that orders what falls into one of them."""

ZERO: Stamp = (0, 0)

MAX_AHEAD_MS = 60_000
"""A stamp further ahead of our wall clock than this does not move our clock (C29)."""


def tick(last: Stamp, now_ms: int) -> Stamp:
    """Give the stamp of the next event of this node.

    Args:
        last: The highest stamp given or taken so far.
        now_ms: The node's own wall clock; may have been set back.

    Returns:
        A stamp greater than `last`.
    """
    return (now_ms, 0) if now_ms > last[0] else (last[0], last[1] + 1)


def receive(last: Stamp, remote: Stamp, now_ms: int) -> Stamp:
    """Give our clock after reading a stamp of another node; one that is too far ahead leaves it as it is."""
    return last if remote[0] > now_ms + MAX_AHEAD_MS else max(last, remote)
