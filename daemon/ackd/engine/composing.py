"""Composing: an envelope from what somebody says in a few words, with the ids and references that belong to it."""

from __future__ import annotations

import datetime
import secrets
from typing import Any

import msgspec

from ackd.engine.answers import reference
from ackd.engine.dropping import new_message_id, spoken_to
from ackd.engine.meant import unknown_thread
from ackd.engine.reading import View
from ackd.engine.texts import ordered
from ackd.engine.untaken import untaken
from ackd.errors import InvalidError, NotAllowedError
from ackd.protocol.envelope import STATES
from ackd.protocol.ids import clean_ack_id, clean_name, name_key, shown
from ackd.protocol.thread import Message, Thread
from ackd.tree import layout

_SLUG_CHARACTERS = 32
_SLUG_BYTES = 64
_OPENING = frozenset({"request", "broadcast"})
_WORDS_OF = {"request": "action", "final": "conclusion", "confirmed": "conclusion", "clarify": "question"}


class Composed(msgspec.Struct, frozen=True, kw_only=True):
    """An envelope that is ready to be checked.

    Attributes:
        document: The object.
        thread: The thread that it speaks in, or None where nothing is known of it yet.
        notes: What was filled in that its author should know, one sentence each.
    """

    document: dict[str, Any]
    thread: Thread | None
    notes: tuple[str, ...] = ()


def compose(
    view: View, type_: str, sender: str, fields: dict[str, Any], *, named: str = "", anyway: bool = False
) -> Composed:
    """Put an envelope together.

    `message_id` and, where it speaks to something, `in_reply_to` are filled in; an amend that names nothing corrects
    its author's last message.

    Args:
        view: The tree.
        type_: Message type.
        sender: Its author, in any spelling of the roster's.
        fields: What the author says, by envelope key.
        named: For all but requests and broadcasts: the ack_id as written, or the unique start of one.

        anyway: Whether it may name a thread that nobody knows; it then waits for its request.

    Raises:
        InvalidError: The ack_id cannot be one, or is the start of several threads'.
        NotAllowedError: Nobody knows the thread, or there is nothing to amend.
    """
    author = view.team.policy.roster.spelling(sender)
    document: dict[str, Any] = {("state" if type_ in STATES else "type"): type_, "from": author, **fields}
    notes: list[str] = []
    thread = None
    if type_ not in _OPENING:
        ack_id, thread = _speaks_in(view, named)
        document["ack_id"] = ack_id
        if name_key(ack_id) != name_key(named):
            notes.append(f"{named} is taken as {ack_id}")
        if thread is None:
            notes += _await_request(view, ack_id, author, anyway=anyway)
    elif type_ == "request" and not document.get("ack_id"):
        now = datetime.datetime.now(view.team.policy.zone)
        document["ack_id"] = new_ack_id(str(fields.get("action") or ""), now)
    if type_ == "amend" and not document.get("supersedes"):
        if thread is None:
            raise NotAllowedError(f"there is nothing to amend in {named}", hint="name the message with --supersedes")
        document["supersedes"] = reference(_last_own(thread, author))
        notes.append(f"it corrects your {_last_own(thread, author).type} {document['supersedes']}")
    elif type_ not in (*_OPENING, "amend") and thread is not None and not document.get("in_reply_to"):
        document["in_reply_to"] = spoken_to(thread, author, type_)
    document.setdefault("message_id", new_message_id())
    kept = {key: value for key, value in document.items() if value not in (None, "", [])}
    document = msgspec.json.decode(msgspec.json.encode(ordered(kept)))
    return Composed(document=document, thread=thread, notes=tuple(notes))


def words_key(view: View, type_: str, sender: str, named: str) -> str:
    """Give the key under which the words of an amend stand: that of the message that it corrects."""
    _, thread = _speaks_in(view, named)
    if type_ != "amend" or thread is None:
        return "body"
    last = _last_own(thread, view.team.policy.roster.spelling(sender))
    return _WORDS_OF.get(last.type, "body")


def new_ack_id(action: str, now: datetime.datetime) -> str:
    """Make an ack_id of what is asked: `<slug>-v1-<YYYYMMDDHHMM>-<4 characters>` (C19).

    Letters, marks and digits of any script stay; the digits at the end keep two of one minute apart.

    Args:
        action: What is asked.
        now: The time in the team's zone.
    """
    return f"{_slug(action)}-v1-{now:%Y%m%d%H%M}-{secrets.token_hex(2)}"


def _slug(action: str) -> str:
    import unicodedata

    first = action.strip().splitlines()[0] if action.strip() else ""
    letters = unicodedata.normalize("NFC", first[:200]).lower()
    kept = "".join(one if one.isalnum() or unicodedata.category(one)[0] == "M" else " " for one in letters)
    slug = ""
    for word in kept.split():
        longer = f"{slug}-{word}" if slug else word
        if len(longer) > _SLUG_CHARACTERS or len(longer.encode()) > _SLUG_BYTES:
            slug = slug or _cut(word)
            break
        slug = longer
    try:
        return clean_name(slug)
    except InvalidError:
        return "ask"


def _cut(word: str) -> str:
    word = word[:_SLUG_CHARACTERS]
    return word.encode()[:_SLUG_BYTES].decode(errors="ignore")


def _speaks_in(view: View, named: str) -> tuple[str, Thread | None]:
    """Find the thread that somebody means: by its whole ack_id, or by the unique start of it."""
    ack_id = clean_ack_id(named)
    threads = [one for one in view.book.named(ack_id) if one.messages]
    exact = next((one for one in threads if name_key(one.id) == name_key(ack_id)), None)
    if exact is not None:
        # A bare id that several threads have is left bare: who speaks decides which is meant.
        return (ack_id if len(threads) > 1 else exact.id), exact
    if threads or view.root.exists(f"{layout.ROUNDTABLE}/{ack_id}"):
        return ack_id, threads[0] if len(threads) == 1 else None
    found = view.starting_with(ack_id)
    if len(found) > 1:
        few = ", ".join(found[:5])
        raise InvalidError(f"{shown(named)} is the start of several threads: {few}", hint="write more of it")
    return (found[0], view.book.thread(found[0])) if found else (ack_id, None)


def _await_request(view: View, ack_id: str, author: str, *, anyway: bool) -> list[str]:
    """Say for which request a message waits; refuse one that waits for nothing that anybody knows of."""
    if any(one.messages for one in view.book.named(ack_id)):
        return []  # Several threads have the bare id: the judge says which is meant.
    waits = untaken(view, ack_id)
    if waits is not None and waits.type in _OPENING:
        return [f"the request in {waits.path} is not taken in yet: this waits for it"]
    view.refresh()
    if any(one.messages for one in view.book.named(ack_id)):
        return []  # The daemon took its request in while the files were looked through.
    if not anyway:
        raise NotAllowedError(
            unknown_thread(view, ack_id, author),
            hint="ackd threads lists them; --anyway drops it all the same, to wait for its request",
        )
    return [f"no request {ack_id} is known yet: this waits for it"]


def _last_own(thread: Thread, author: str) -> Message:
    own = [one for one in thread.messages if one.sender == author and not one.revised_by and one.verdict != "refused"]
    if not own:
        raise NotAllowedError(f"{author} wrote nothing in thread {thread.id}", hint=f"ackd show {thread.id}")
    return own[-1]
