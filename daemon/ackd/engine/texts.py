"""Texts for files and pages: of a message the one that counts, keys in an order that reads well; instants."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any

import msgspec

from ackd.protocol.instant import iso
from ackd.protocol.thread import Message, Thread

_STEERS = re.compile(
    "[\x7f-\x9f\xad\u061c\u180e\u200b\u200c\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\U000e0000-\U000e0fff]"
)

_STEER_BYTES = (
    b"\x7f",
    b"\xc2",
    b"\xd8\x9c",
    b"\xe1\xa0",
    b"\xe2\x80",
    b"\xe2\x81",
    b"\xef\xbb",
    b"\xef\xbf",
    b"\xf3\xa0",
)
"""How each of them begins in UTF-8, with few others beside."""

_FIRST = (
    *(
        "state",
        "type",
        "ack_id",
        "from",
        "to",
        "dri",
        "subject",
        "action",
        "deadline",
        "status",
        "version",
        "effective",
    ),
    *("conclusion", "question", "ruling", "pick", "reason", "body", "text", "message", "context", "data"),
)

# What an amend says about itself and not about the message that it corrects.
_OF_THE_AMEND = frozenset(
    {
        "state",
        "type",
        "ack_id",
        "from",
        "to",
        "supersedes",
        "message_id",
        "in_reply_to",
        "sent_at",
        "signature",
        "depth",
    }
    | {"traceparent", "via", "reason", "protocol_version", "thread", "parent", "retry_of", "attempts", "$schema"}
)

_encode_sorted = msgspec.json.Encoder(order="sorted").encode


def ordered(content: dict[str, Any]) -> dict[str, Any]:
    """Give an object with its keys in a fixed order: what tells most first, the rest by name, sorted inside too.

    An entry that was read back from the ledger has its keys in another order than the file had; what is made of it has
    the same bytes either way.
    """
    given = {key: _sorted(content[key]) for key in _FIRST if key in content}
    if len(given) < len(content):
        given |= {key: _sorted(content[key]) for key in sorted(content.keys() - given.keys())}
    return given


@lru_cache(maxsize=1024)
def when(at_ms: int) -> str:
    """Give an instant for a reader: RFC 3339, UTC, whole seconds."""
    return iso(at_ms // 1000 * 1000)


def in_force(thread: Thread, digest: str) -> dict[str, Any]:
    """Give the whole text of a message that counts now: its newest revision, an amend laid over what it amends.

    Args:
        thread: The thread.
        digest: Any of the texts that the message went through; an empty object is given where it is unknown.
    """
    message = thread.text_in_force(digest)
    return text_as_of(thread, message) if message is not None else {}


def text_as_of(thread: Thread, message: Message) -> dict[str, Any]:
    """Give the whole text of a message as it stood with this revision, later ones left out."""
    if not any(other.revised_by == message.digest for other in thread.messages):
        return message.content
    earlier = {other.revised_by: other for other in thread.messages if other.revised_by}
    chain = [message]
    while chain[-1].digest in earlier and len(chain) <= len(earlier):
        chain.append(earlier[chain[-1].digest])
    text: dict[str, Any] = {}
    kind = chain[-1].type
    for one in reversed(chain):
        if one.type == kind:
            text = one.content
        else:
            text = text | {key: value for key, value in one.content.items() if key not in _OF_THE_AMEND}
    return text


def original_type(thread: Thread, message: Message) -> str:
    """Give the type of the message that a chain of revisions began with."""
    for _ in thread.messages:
        before = next((other for other in thread.messages if other.revised_by == message.digest), None)
        if before is None:
            break
        message = before
    return message.type


def _sorted(value: Any) -> Any:
    return msgspec.Raw(_encode_sorted(value)) if type(value) in (dict, list) and value else value


def plain_json(data: bytes) -> bytes:
    """Write as escapes what steers a terminal or hides in JSON, such as C1 controls and bidirectional marks.

    The JSON says the same to whoever reads it as JSON. The encoder itself escapes the controls below U+0020.
    """
    # Nearly every text has none of these bytes: much quicker than to look at each character.
    if not any(start in data for start in _STEER_BYTES):
        return data
    return _STEERS.sub(_escape, data.decode()).encode()


def _escape(found: re.Match[str]) -> str:
    units = found[0].encode("utf-16-be")
    return "".join(f"\\u{units[n]:02x}{units[n + 1]:02x}" for n in range(0, len(units), 2))
