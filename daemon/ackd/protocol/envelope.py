"""The envelope: one message as its author dropped it, read into the few fields that the protocol decides by."""

from __future__ import annotations

import hashlib
import re
from typing import Any

import msgspec

from ackd.errors import InvalidError
from ackd.protocol.canonical import canonical, digest
from ackd.protocol.ids import clean_ack_id, clean_name, name_key, shown

STATES = ("request", "confirmed", "final")
TYPES = (
    *STATES,
    "clarify",
    "answer",
    "handoff",
    "decline",
    "supplement",
    "progress",
    "broadcast",
    "cancel",
    "amend",
    "ruling",
    "vote",
    "compensate",
)
"""All message types; the first three may stand under `state` too."""

TEXT_KEYS = ("action", "conclusion", "question", "reason", "body", "text", "message")
"""Keys whose strings are what a message says, most telling first."""

NOT_CONTENT = frozenset({"message_id", "sent_at", "signature", "traceparent", "via", "depth", "$schema"})
"""Keys that two tellings of the same thing may differ in (DESIGN part 2, Identity and content)."""


class Envelope(msgspec.Struct, frozen=True, kw_only=True):
    """One message.

    Attributes:
        type: One of `TYPES`; an object without state and type is a supplement.
        sender: `from`, in the spelling of the file, NFC.
        ack_id: The thread that it names.
        to: Recipients as written; empty where none stand there.
        content: The whole object as it was dropped.
        digest: SHA-256 of the content, 64 hex digits; two tellings of the same thing have the same.
        identity: `message_id`, else the digest.
    """

    type: str
    sender: str
    ack_id: str
    to: tuple[str, ...]
    content: dict[str, Any]
    digest: str
    identity: str

    def text_of(self, key: str) -> str:
        """Give the string under a key, stripped; an empty string where there is none."""
        value = self.content.get(key)
        return value.strip() if isinstance(value, str) else ""

    @property
    def words(self) -> str:
        """All that the message says in words, one text a line."""
        return "\n".join(text for key in TEXT_KEYS if (text := self.text_of(key)))

    @property
    def has_more_than_words(self) -> bool:
        """Whether it carries anything beyond words and addressing: data, attachments, a decision, a version."""
        return any(self.content.get(key) not in (None, "", [], {}) for key in self.content.keys() & _SUBSTANCE)

    @property
    def is_bare(self) -> bool:
        """Whether a confirmed says neither version, nor effective time, nor conclusion."""
        return not any(self.content.get(key) not in (None, "") for key in ("version", "effective", "conclusion"))

    @property
    def words_digest(self) -> str:
        """Digest of what is asked of whom, whatever ack_id it stands under: by it retries are counted (C10)."""
        said = [self.type, name_key(self.sender), *sorted(map(name_key, self.to)), self.words]
        data = self.content.get("data")
        return hashlib.sha256("\0".join(said).encode() + (canonical(data) if data else b"")).hexdigest()


_SUBSTANCE = frozenset(
    {"data", "attachments", "decision", "version", "effective", "pick", "ruling", "supersedes", "writes", "deadline"}
)


def read_envelope(content: dict[str, Any]) -> Envelope:
    """Read an object that the envelope schema accepts.

    Args:
        content: The object as dropped; it is kept, not copied.

    Raises:
        InvalidError: A name or the ack_id breaks the rules of names, or state and type contradict each other.
    """
    kind = _type_of(content)
    sender = clean_name(_string(content, "from"), what="from")
    _refuse_placeholders(content)
    to = _recipients(content.get("to"))
    core = {key: value for key, value in content.items() if key not in NOT_CONTENT}
    core.pop("state", None)
    written = content.get("ack_id")
    # Names count as they are compared: "Macro" who says it again is macro.
    core |= {"type": kind, "from": name_key(sender)}
    if to:
        core["to"] = [name_key(name) for name in to]
    if isinstance(written, str):
        core["ack_id"] = name_key(written)
    content_digest = digest(core)
    if isinstance(written, str) and written:
        ack_id = clean_ack_id(written)
    elif kind == "broadcast":
        ack_id = f"broadcast-{content_digest[:12]}"
    else:
        raise InvalidError("the envelope has no ack_id", hint='add "ack_id": the id of the thread')
    message_id = content.get("message_id")
    return Envelope(
        type=kind,
        sender=sender,
        ack_id=ack_id,
        to=to,
        content=content,
        digest=content_digest,
        identity=message_id if isinstance(message_id, str) and message_id else content_digest,
    )


_BRACKETED = re.compile(r"\s*[<‹][^<>‹›]{1,200}[>›]\s*\Z")
_DOTS = frozenset({"…", "...", "……"})
_NEVER_DOTS = ("action", "conclusion", "question", "reason")


def _refuse_placeholders(content: dict[str, Any]) -> None:
    """Refuse a text that was copied from a pattern and not filled in: `<the result>`, or mere dots."""
    for key in TEXT_KEYS:
        text = content.get(key)
        if not isinstance(text, str):
            continue
        if _BRACKETED.match(text) or (key in _NEVER_DOTS and text.strip() in _DOTS):
            raise InvalidError(
                f"{key} still holds the placeholder {shown(text.strip())}", hint=f"put your own words into {key}"
            )


def _type_of(content: dict[str, Any]) -> str:
    state, kind = content.get("state"), content.get("type")
    if state is not None and kind is not None and state != kind:
        raise InvalidError(
            f"state says {state!r:.80} and type says {kind!r:.80}", hint="keep one of them, or make them equal"
        )
    named = state if state is not None else kind
    if named is None:
        return "supplement"
    if named not in TYPES:
        raise InvalidError(f"type {named!r:.80} is unknown", hint="use one of " + ", ".join(TYPES))
    return str(named)


def _string(content: dict[str, Any], key: str) -> str:
    value = content.get(key)
    if not isinstance(value, str):
        raise InvalidError(f"the envelope has no {key}", hint=f'add "{key}": your name')
    return value


def _recipients(value: Any) -> tuple[str, ...]:
    names = [value] if isinstance(value, str) else value if isinstance(value, list) else []
    return tuple(dict.fromkeys(clean_name(name.removeprefix("@"), what="recipient") for name in names))
