"""What somebody who owes something types."""

from __future__ import annotations

from collections.abc import Sequence

STEPS = {
    "confirm": 'ackd confirm {thread} "…"',
    "final": 'ackd final {thread} "…"',
    "answer": 'ackd answer {thread} "…"',
    "accept": 'ackd confirm {thread} "…"',
    "rule": "ackd ruling {thread} dri AGENT",
}
"""A command for each step that can be owed; the words in quotes are the author's own."""


def next_steps(thread: str, asks: Sequence[str]) -> list[str]:
    """Give the commands that pay what is owed in a thread, in the order in which it is asked."""
    return list(dict.fromkeys(STEPS[ask].format(thread=thread) for ask in asks if ask in STEPS))
