"""Dropping: an envelope laid into the tree as a file, checked before, its verdict waited for after."""

from __future__ import annotations

import secrets
import time
from typing import Any

import msgspec

from ackd.engine.answers import reference
from ackd.engine.meant import nearest, unknown_member
from ackd.engine.reading import View
from ackd.errors import InvalidError, NotAllowedError
from ackd.fs.stage import Stage
from ackd.ledger import FileRow
from ackd.protocol.drop import Drop
from ackd.protocol.envelope import Envelope, read_envelope
from ackd.protocol.ids import name_key, shown
from ackd.protocol.judge import Verdict, judge
from ackd.protocol.routing import route
from ackd.protocol.thread import Thread
from ackd.tree import layout

_POLL_S = 0.02
_POLL_TREE_S = 0.25
_NOT_WHAT_WAS_MEANT = frozenset({"refused", "weak", "kept", "collision", "late", "flagged", "no-reply"})
_INSTEAD = {
    "not-the-dri": 'add what you know for the DRI: ackd supplement {thread} "…"',
    "not-an-assignee": 'add what you know for the DRI: ackd supplement {thread} "…"',
    "answers-nothing": 'add what you know for the DRI: ackd supplement {thread} "…"',
    "second-final": 'to replace your final: ackd amend {thread} "…"',
    "after-the-end": "ask for new work with a new ack_id: ackd request AGENT --action …",
    "confirms-late": "ask for new work with a new ack_id: ackd request AGENT --action …",
    "new-round": "ask without --ack-id, which makes a new one",
    "courtesy": "say nothing: courtesy wakes nobody",
    "second-retry": "ackd show ACK_ID says where each of them stands",
}
"""What to do instead, by the row of the table that would hold."""
_FIELDS = {
    "/status": "--status takes success, partial_success, failed, rejected or cancelled",
    "/ack_id": "use letters, digits, '.', '_' and '-', starting with a letter or digit, at most 64 characters",
}
"""What a field takes, by its pointer."""


class Dropped(msgspec.Struct, frozen=True, kw_only=True):
    """A file that was laid down: its path, thread and message_id."""

    path: str
    thread: str
    message_id: str


def new_message_id() -> str:
    """Give a fresh message_id."""
    return f"m-{secrets.token_hex(8)}"


def check_document(view: View, document: dict[str, Any]) -> Envelope:
    """Check an envelope as the daemon will.

    Raises:
        InvalidError: It does not fit the schema, or its sender is not on the roster; the message says which field.
    """
    from ackd.schema import accepts, problems

    if not accepts("envelope", document):
        found = problems("envelope", document)
        text = "; ".join(f"{one.pointer or 'the envelope'}: {one.expected}, found {one.found}" for one in found[:5])
        hint = next((_FIELDS[one.pointer] for one in found if one.pointer in _FIELDS), "")
        raise InvalidError(
            f"this is no valid envelope: {text}", hint=hint or "ackd protocol says what each message needs"
        )
    envelope = read_envelope(document)
    roster = view.team.policy.roster
    if roster.find(envelope.sender) is None:
        hint = unknown_member(envelope.sender, (member.name for member in roster.members.values()))
        raise InvalidError(f"the sender {shown(envelope.sender)} is not on the roster", hint=hint)
    return envelope


def foresee(view: View, envelope: Envelope) -> Verdict:
    """Judge an envelope against what is known now, without recording anything."""
    policy = view.team.policy
    sender = policy.roster.spelling(envelope.sender)
    book = view.book
    routed = route(envelope, sender, book.named(envelope.ack_id))
    retries: tuple[str, ...] = ()
    if envelope.type == "request":
        asked = [one for one in book.asked(envelope.words_digest) if name_key(one) != name_key(routed.thread)]
        retries = tuple(one for one in asked if not book.thread(one).ended)
    drop = Drop(
        envelope=envelope,
        path="",
        at=int(time.time() * 1000),
        folder="",
        restated=book.known(envelope.digest) is not None,
        retries=retries,
        candidates=routed.candidates,
        suffix=routed.suffix,
    )
    return judge(book.thread(routed.thread), drop, policy, book.find)


def require_allowed(view: View, envelope: Envelope) -> Verdict:
    """Foresee the verdict, and refuse to drop what would not do what its author means.

    Raises:
        NotAllowedError: The thread does not allow it now; the message is what the author would be told.
    """
    verdict = foresee(view, envelope)
    if verdict.word in _NOT_WHAT_WAS_MEANT:
        if envelope.type == "ruling" and not _may_rule(view, envelope.sender):
            raise NotAllowedError(
                f"{view.team.policy.roster.spelling(envelope.sender)} may not rule: only arbiters and people do",
                hint=f"{_who_may_rule(view)}; --anyway drops it all the same",
            )
        # Nothing is kept yet: it was not dropped.
        because = verdict.because.removesuffix("; kept as a supplement")
        because = because or f"it would be taken as {verdict.word}, and nobody would hear of it"
        if verdict.row == "nobody" or (verdict.row not in _INSTEAD and unknown_recipients(view, envelope)):
            instead = _whom(view, envelope)
        else:
            instead = _INSTEAD.get(verdict.row, "ackd show {thread} says where the thread stands").format(
                thread=verdict.thread
            )
        raise NotAllowedError(because, hint=f"{instead}; --anyway drops it all the same")
    return verdict


def drop(view: View, envelope: Envelope, *, data: bytes | None = None) -> Dropped:
    """Lay an envelope into its thread's folder under the proposed name; it appears whole and replaces nothing.

    Args:
        view: The tree.
        envelope: The message.
        data: Its bytes as they shall lie there; by default the object, indented.
    """
    thread, folder = _place(view, envelope)
    body = data if data is not None else _pretty(envelope.content)
    stage = Stage(view.root)
    number = 1
    path = f"{folder}/{layout.proposed_name(envelope.type, envelope.sender)}"
    while not stage.create_new(path, body):
        number += 1
        path = f"{folder}/{layout.proposed_name(envelope.type, envelope.sender, number)}"
    return Dropped(path=path, thread=thread, message_id=envelope.identity)


def wait_for_verdict(view: View, path: str, seconds: float) -> FileRow | None:
    """Wait until the file at a path has a verdict, at most so long; None where none came (no daemon runs)."""
    end = time.monotonic() + seconds
    while True:
        row = view.file(path)
        if row is not None or time.monotonic() >= end:
            return row
        time.sleep(_POLL_TREE_S if view.from_tree else _POLL_S)
        view.refresh()


def spoken_to(thread: Thread, agent: str, type_: str) -> str:
    """Give the message_id that an agent's answer of this type speaks to, for `in_reply_to`; empty for none."""
    if type_ == "answer":
        questions = [one for one in thread.open_questions if one.asker != agent]
        return reference(thread.message(questions[0].digest)) if len(questions) == 1 else ""
    if type_ in ("confirmed", "decline"):
        pending = [one for one in thread.handoffs if one.target == agent and one.outcome == "pending"]
        if pending:
            return reference(thread.message(pending[-1].digest))
    return reference(thread.text_in_force(thread.request))


def unknown_recipients(view: View, envelope: Envelope) -> list[str]:
    """Say for each name in a message's `to` and `dri` that the roster lacks whom it probably means, if anybody."""
    roster = view.team.policy.roster
    known = [*(member.name for member in roster.members.values()), *roster.groups, "all"]
    dri = envelope.text_of("dri").removeprefix("@")
    unknown = [*roster.expand(envelope.to).unknown, *([dri] if dri and roster.find(dri) is None else [])]
    near = ((name, nearest(name.removeprefix("@"), known)) for name in dict.fromkeys(unknown))
    return [f"{shown(name)}: did you mean {found[0]}?" for name, found in near if found]


def _whom(view: View, envelope: Envelope) -> str:
    """Say what to type where nobody could own a request or hear a broadcast."""
    meant = unknown_recipients(view, envelope)
    if meant:
        return " ".join(one.partition(": ")[2] for one in meant) + " ackd agents list shows the roster"
    if view.team.policy.roster.expand(envelope.to).members and not envelope.text_of("dri"):
        return "name who answers for it: --dri AGENT"
    return "ackd agents list shows the roster"


def _may_rule(view: View, sender: str) -> bool:
    roster = view.team.policy.roster
    member = roster.find(sender)
    return member is not None and (member.is_person or member.name in roster.arbiters)


def _who_may_rule(view: View) -> str:
    roster = view.team.policy.roster
    people = [member.name for member in roster.members.values() if member.is_person]
    may = list(dict.fromkeys([*roster.arbiters, *people]))
    return f"who may: {', '.join(may)}" if may else "nobody may yet: ackd agents add NAME --arbiter"


def _place(view: View, envelope: Envelope) -> tuple[str, str]:
    """Give the thread that a message will belong to, and the folder where it is laid."""
    sender = view.team.policy.roster.spelling(envelope.sender)
    routed = route(envelope, sender, view.book.named(envelope.ack_id))
    if routed.suffix:
        # The ack_id is another requester's: this becomes a thread of its own, with a folder of its own.
        thread = routed.thread + routed.suffix
        return thread, f"{layout.ROUNDTABLE}/{thread}"
    return routed.thread, view.book.thread(routed.thread).folder or f"{layout.ROUNDTABLE}/{routed.thread}"


def _pretty(document: dict[str, Any]) -> bytes:
    return bytes(msgspec.json.format(msgspec.json.encode(document), indent=2)) + b"\n"
