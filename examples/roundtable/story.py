"""What the roundtable came to: what must be true of it, and what the silence saved; counted from ackd's own record.

Everything here takes what `ackd show --json` and `ackd log --json` print (their `data`) and gives values.
"""

from __future__ import annotations

import unicodedata
from typing import Any, NamedTuple

SILENT = frozenset({"no-reply", "duplicate"})
"""Verdicts of messages that wake nobody."""

_TEXTS = ("action", "conclusion", "question", "reason", "body")

Show = dict[str, Any]
Log = list[dict[str, Any]]


class Saved(NamedTuple):
    """What was kept from the agents' turns.

    Attributes:
        messages: Messages that woke nobody.
        tokens: Estimated tokens in them.
        turns: Turns that they would have cost: each message wakes everybody else in the thread.
        reply_tokens: Estimated tokens of one reply a turn, of the same average length; the replies to those replies
            are not counted.
    """

    messages: int
    tokens: int
    turns: int
    reply_tokens: int


def tokens(text: str) -> int:
    """Estimate the tokens of a text: one per CJK character, a quarter for any other; at least one."""
    wide = sum(unicodedata.east_asian_width(character) in "WF" and character.isalpha() for character in text)
    return max(1, wide + -(-(len(text) - wide) // 4))


def words(message: dict[str, Any]) -> str:
    """Give what a message says in words."""
    envelope = message["envelope"]
    return next((envelope[key] for key in _TEXTS if isinstance(envelope.get(key), str) and envelope[key]), "")


def silenced(show: Show) -> list[dict[str, Any]]:
    """Give the messages that woke nobody."""
    return [message for message in show["messages"] if message["verdict"] in SILENT]


def saved(show: Show) -> Saved:
    """Count what was kept from the agents' turns."""
    messages = silenced(show)
    room = {show["requester"], *show["assignees"]}
    written = sum(tokens(words(message)) for message in messages)
    turns = sum(len(room - {message["from"]}) for message in messages)
    return Saved(len(messages), written, turns, round(turns * written / len(messages)) if messages else 0)


def untrue(show: Show, log: Log) -> list[str]:
    """Hold the story against the record.

    Args:
        show: The thread, as `ackd show --json` gives it.
        log: Every file, as `ackd log --json` gives it.

    Returns:
        What is not as it should be, one sentence each; nothing where the story came true.
    """
    messages, deliveries, final = show["messages"], show["deliveries"], show["final"] or {}
    closed = [message for message in messages if message["verdict"] == "closed"]
    ended = final.get("at", "")
    confirmed = {
        message["from"]: message
        for message in messages
        if (message["type"], message["verdict"]) == ("confirmed", "confirmed") and message["at"] <= ended
    }
    reminders = [delivery for delivery in deliveries if delivery["kind"] == "reminder"]
    after = [delivery for delivery in deliveries if ended and delivery["at"] >= ended]
    late = [message for message in messages if ended and message["at"] > ended]
    verdicts = {row["path"]: row["verdict"] for row in log}
    heard = words(confirmed["macro"]) if "macro" in confirmed else ""
    claims = {
        "there is one final, and it ended the thread": len(closed) == 1 and show["ended_by"] == "final",
        "trading is the DRI and wrote the final": (show["dri"], final.get("from")) == ("trading", "trading"),
        "macro confirmed before the final": bool(heard),
        "the final is built on what macro confirmed": bool(heard) and heard in str(final.get("body")),
        "trading was reminded once, and nobody else": [one["agent"] for one in reminders] == ["trading"],
        "trading confirmed after the reminder": "trading" in confirmed
        and all(one["at"] <= confirmed["trading"]["at"] for one in reminders),
        "nothing went to an arbiter": not any(one["kind"] == "escalation" for one in deliveries),
        "after the final only the final was delivered, once to each": sorted(
            (one["kind"], one["agent"]) for one in after
        )
        == [("final", "macro"), ("final", "zoe")],
        "thanks were dropped after the final": bool(late),
        "every one of them was silenced": all(message["verdict"] in SILENT for message in late),
        "show and log say the same of every message": all(
            verdicts.get(message["path"]) == message["verdict"] for message in messages
        ),
        "no file was refused": "refused" not in verdicts.values(),
    }
    return [claim for claim, is_true in claims.items() if not is_true]
