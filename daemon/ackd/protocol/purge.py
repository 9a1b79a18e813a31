"""Removing what a message says from the record: who, to whom and which thread stay, every word of it goes.

What is left keeps the form of a message, so that whatever reads old messages goes on working.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any

from ackd.protocol.entry import JUDGED, NOTED, REFUSED, Entry
from ackd.protocol.envelope import TEXT_KEYS

REMOVED = "removed by a person"
"""What stands in place of every text."""

_KEPT = frozenset(
    (
        *("state", "type", "ack_id", "from", "to", "dri", "status", "partial", "report_to", "parent", "ruling", "pick"),
        *("message_id", "in_reply_to", "supersedes", "retry_of", "mode", "priority", "protocol_version", "purged"),
    )
)
_REDACTED = frozenset((*TEXT_KEYS, "subject", "decision"))
_PROBLEM = ("type", "title", "instance", "code", "sha256", "size")
_LEAST = 8


def redact_message(content: dict[str, Any]) -> dict[str, Any]:
    """Give a message without what it says; unknown keys, data and attachments go wholly."""
    kept = {key: value for key, value in content.items() if key in _KEPT}
    said = {key: _redacted(value) for key, value in content.items() if key in _REDACTED}
    return {**kept, **said, "purged": True}


def texts_of(content: dict[str, Any]) -> tuple[str, ...]:
    """Give the texts by which a copy of a message is known, the longest first.

    Short ones are left out: they stand in many files by chance. A character beyond Latin counts for two.
    """
    said = [text for key, value in content.items() if key not in _KEPT for text in strings(value)]
    known = {text for text in said if sum(1 if one < "\u0250" else 2 for one in text) >= _LEAST}
    return tuple(sorted(known, key=lambda text: (-len(text), text)))


def strings(value: Any) -> Iterator[str]:
    """Give every string in a JSON value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for one in value.values():
            yield from strings(one)
    elif isinstance(value, list):
        for one in value:
            yield from strings(one)


def redact_entry(
    entry: Entry, digests: Collection[str], ledgers: Collection[str], texts: Collection[str]
) -> dict[str, Any] | None:
    """Give the body that is left of an entry, or None where it holds nothing of what is removed.

    Args:
        entry: Any entry.
        digests: Of the messages that are removed.
        ledgers: Of the refused files that are removed.
        texts: As `texts_of` gives them; where a subject's note repeats one, that goes too.
    """
    body = entry.body
    if entry.kind == JUDGED and body["digest"] in digests:
        return {**body, "message": redact_message(body["message"]), "because": "", "notes": []}
    if entry.kind == REFUSED and entry.thread in ledgers:
        problem = {key: body["problem"][key] for key in _PROBLEM if key in body["problem"]}
        left = {key: value for key, value in body.items() if key != "repaired"}
        return {**left, "problem": {**problem, "detail": REMOVED, "fix": "nothing: a person had it removed"}}
    if entry.kind == NOTED and any(text in said for said in strings([body["data"], body["note"]]) for text in texts):
        return {**body, "data": _without(body["data"], texts), "note": _note_without(body["note"], texts)}
    return None


def _redacted(value: Any) -> Any:
    """Give a value of the same form with every string replaced; numbers and words of yes and no go."""
    if isinstance(value, str):
        return REMOVED
    if isinstance(value, dict):
        return {key: _redacted(one) for key, one in value.items()}
    return [_redacted(one) for one in value] if isinstance(value, list) else None


def _note_without(note: Any, texts: Collection[str]) -> Any:
    # Step and agents say who was told what: they stay, so that nobody is told again.
    if not isinstance(note, dict):
        return note
    return {key: _without(value, texts) if key in ("summary", "notes") else value for key, value in note.items()}


def _without(value: Any, texts: Collection[str]) -> Any:
    if isinstance(value, str):
        return REMOVED if any(text in value for text in texts) else value
    if isinstance(value, dict):
        return {key: _without(one, texts) for key, one in value.items()}
    return [_without(one, texts) for one in value] if isinstance(value, list) else value
