"""What the generated pages share: instants to the minute, names, headlines, and the words for what is owed."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ackd.engine.texts import when
from ackd.tree.markdown import inline

GENERATED = "<!-- Made by ackd from its ledger and written anew when something changes. Nobody else writes here. -->"
UTC = "All times are UTC."
CELL, ACTION = 300, 160
"""Most characters of a remark, and of what was asked where it stands in a heading or a table."""
MOST_CELLS = 100
"""Entries of a list within a page."""
TEXTS = ("subject", "action", "conclusion", "question", "reason", "body", "text", "message")
"""Keys of a message that hold a text, in the order in which they are shown."""
WORDS = {
    "confirm": "its confirmed",
    "final": "the final",
    "answer": "an answer",
    "accept": "an answer to a handoff",
    "rule": "a ruling",
}
"""What is owed, by its step."""


def headline(content: dict[str, Any]) -> str:
    """Give what a message is about: its first text, or an empty string."""
    return next(
        (content[key].strip() for key in TEXTS if isinstance(content.get(key), str) and content[key].strip()), ""
    )


def moment(at_ms: int) -> str:
    """Give an instant to the minute, UTC."""
    return when(at_ms)[:16].replace("T", " ")


def shown_name(name: str) -> str:
    """Give a name that somebody wrote, escaped and capped."""
    return inline(name, 80)


def shown_names(names: Iterable[Any]) -> str:
    """Give a list of names, capped; "nobody" where there is none."""
    written = [shown_name(str(name)) for name in names]
    more = f" and {len(written) - MOST_CELLS} more" if len(written) > MOST_CELLS else ""
    return (", ".join(written[:MOST_CELLS]) or "nobody") + more
