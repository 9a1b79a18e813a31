"""A message as it was found: the envelope, and what only the node that found it can know."""

from __future__ import annotations

import msgspec

from ackd.protocol.envelope import Envelope


class Drop(msgspec.Struct, frozen=True, kw_only=True):
    """A message as it was found, with what only the node that found it can know.

    Attributes:
        envelope: The message.
        path: Where it lies, relative to the tree.
        at: When it was taken in, milliseconds.
        folder: Folder that its thread would get if it opens one.
        restated: Whether its content was taken in before.
        holder: ack_id of the thread that its chat `thread` belongs to, where that is another; else empty.
        retries: Threads without a final in which the same author asked the same under another ack_id, oldest first.
        edits: Digest of the message that this file held before, where the change is an edit; else empty.
        conflict_of: Path of the file beside which a sync tool left this copy; else empty.
        identity_taken: Whether its message_id belongs to another content and this is no edit.
        candidates: Threads that could be meant, where several could.
        suffix: What the thread id gets where the ack_id is taken by another requester; else empty.
    """

    envelope: Envelope
    path: str
    at: int
    folder: str = ""
    restated: bool = False
    holder: str = ""
    retries: tuple[str, ...] = ()
    edits: str = ""
    conflict_of: str = ""
    identity_taken: bool = False
    candidates: tuple[str, ...] = ()
    suffix: str = ""
