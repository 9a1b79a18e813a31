"""A delivery as a file: what is asked in one sentence, by when, the whole message, and ready-made answers.

Its form is `schemas/delivery.schema.json`. The message stands inside, under `envelope`: nothing at the top level could
be taken for a message itself.
"""

from __future__ import annotations

from typing import Any

import msgspec

from ackd.engine.answers import answers
from ackd.engine.letters import Case, Letter, write_letter
from ackd.engine.texts import in_force, ordered, plain_json, text_as_of, when
from ackd.protocol.obligations import Deliver
from ackd.protocol.policy import Policy
from ackd.protocol.thread import Message, Thread
from ackd.tree.layout import generated_name
from ackd.tree.markdown import visible

VERSION = "delivery/1"

_SHOWS_REQUEST = frozenset({"request", "reminder", "escalation"})
_TELLS_WHY = frozenset({"notice", "refusal", "collision"})
_MOST_NOTES, _LONGEST = 100, 2000
_SILENCE = "No answer is asked: read it and be silent."
_ENDED = "The thread has ended: do not answer."

_encode = msgspec.json.Encoder().encode


class Rendered(msgspec.Struct, frozen=True):
    """A delivery that is ready to be written.

    Attributes:
        name: File name.
        data: Its bytes: JSON, UTF-8, indented, with a line end.
        facts: What it states, for the ledger: `dri`, `dri_epoch` and `asks`; `text`, the digest of the request's text
            that it holds; `final`, the digest of the final in force; `after_deadline` where a request came after its
            deadline; `person` where an escalation goes to a person.
    """

    name: str
    data: bytes
    facts: dict[str, Any]


def render_delivery(deliver: Deliver, thread: Thread, policy: Policy, at_ms: int) -> Rendered:
    """Render a delivery.

    Args:
        deliver: What is to be handed over, as `obligations` gives it.
        thread: The thread that it belongs to.
        policy: The rules in force.
        at_ms: Instant of the delivery.

    Returns:
        The same bytes for the same arguments.
    """
    request = thread.text_in_force(thread.request)
    about = thread.message(deliver.message)
    message = request if deliver.kind in _SHOWS_REQUEST else thread.text_in_force(deliver.message) or about
    case = Case(deliver=deliver, thread=thread, policy=policy, at=at_ms, message=message)
    letter = write_letter(case)
    document: dict[str, Any] = {
        "ackd": VERSION,
        "kind": deliver.kind,
        "to": deliver.agent,
        "thread": deliver.thread,
        "summary": letter.summary[:_LONGEST],
        "asks": deliver.asks or ("none",),
    }
    if letter.due is not None and deliver.asks:
        document["due"] = when(letter.due)
    notes = _notes(case, letter, about)
    if notes:
        document["notes"] = notes
    given = [*answers(deliver, thread, message), *letter.answers]
    if given:
        document["answers"] = given
    if letter.history:
        document["history"] = letter.history
    if message is not None:
        document["envelope"] = ordered(_text(thread, message))
        document["path"] = message.path
    if deliver.kind == "revision" and message is not None:
        before = next((one for one in thread.messages if one.revised_by == message.digest), None)
        if before is not None:
            document["was"] = {"envelope": ordered(text_as_of(thread, before)), "path": before.path}
    with_request = letter.with_request and request is not None and request is not message
    if with_request and request is not None:
        document["request"] = {"envelope": ordered(in_force(thread, request.digest)), "path": request.path}
    document["written_at"] = when(at_ms)
    document["id"] = deliver.ids[0]
    if len(deliver.ids) > 1:
        document["ids"] = deliver.ids
    return Rendered(
        generated_name(at_ms, deliver.kind, deliver.thread, deliver.ids[0]),
        plain_json(msgspec.json.format(_encode(document), indent=2)) + b"\n",
        _facts(case, request, states_request=with_request or (request is not None and request is message)),
    )


def _text(thread: Thread, message: Message) -> dict[str, Any]:
    """Give the whole text; most messages are no revision and have none."""
    return text_as_of(thread, message) if len(thread.messages) > 1 else message.content


def _notes(case: Case, letter: Letter, about: Message | None) -> list[str]:
    """Give what else is to be known: why, what was remarked on the message, and whether silence is right."""
    deliver = case.deliver
    notes: list[str] = []
    if about is not None and about.because and (deliver.kind in _TELLS_WHY or about.sender == deliver.agent):
        notes.append(about.because)
    notes += letter.notes
    if about is not None and deliver.kind not in ("reminder", "escalation"):
        notes += about.notes
    if deliver.kind != "notice":
        notes += deliver.reasons
    if not deliver.asks and not letter.answers and deliver.kind not in ("refusal", "collision"):
        notes.append(_ENDED if case.thread.ended else _SILENCE)
    # What is made visible takes up to ten times its room.
    return [visible(note[:_LONGEST])[:_LONGEST] for note in notes[:_MOST_NOTES]]


def _facts(case: Case, request: Message | None, *, states_request: bool) -> dict[str, Any]:
    deliver, thread = case.deliver, case.thread
    facts: dict[str, Any] = {"dri": thread.dri, "dri_epoch": thread.dri_epoch, "asks": list(deliver.asks)}
    if states_request and request is not None:
        facts["text"] = request.digest
    if thread.final:
        facts["final"] = thread.final
    if deliver.kind == "request" and deliver.asks and case.is_after_deadline:
        facts["after_deadline"] = True
    if deliver.kind == "escalation" and case.policy.roster.rank(deliver.agent) == 0:
        facts["person"] = True
    return facts
