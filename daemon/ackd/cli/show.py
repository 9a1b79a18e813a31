"""`ackd show`: all about one thread, the final first."""

from __future__ import annotations

from typing import Any

import click

from ackd.cli.options import ack_id_argument, common, examples, open_view
from ackd.cli.output import block, coloured, columns, emit, hanging, line, local, out, padded, state_word, wanted, wrap
from ackd.cli.threads import owed_words

_DID = {"final": "wrote the final"}
_TEXTS = ("action", "conclusion", "question", "reason", "body", "version", "effective")
_MOST_WORDS, _MOST_LINES = 220, 3
_OPEN_SENDS = frozenset({"ambiguous", "not-sent", "busy", "refused", "expired"})


@click.command("show")
@ack_id_argument
@click.option("--wait", type=click.FloatRange(0, 86_400), default=0, metavar="SECONDS", help="Wait for its end.")
@common
@examples(
    "ackd show oil-v1",
    "ackd show oil-v1 --wait 600 --json",
)
def show(ack_id: str, wait: float) -> None:
    """Show one thread: the final, what was asked, who owes what, who said what when.

    The unique start of an ack_id is enough.
    """
    from ackd.engine.show import thread_document, wait_for_end

    with open_view() as view:
        document = thread_document(wait_for_end(view, ack_id, wait), view.zone)
        if wanted().json:
            emit(document)
            return
        _show(document, view.zone)


def _show(thread: dict[str, Any], zone: Any) -> None:
    ended = f"  ended by {thread['ended_by']}" if thread["ended_by"] else ""
    out(f"{line(thread['ack_id'], 80)}  {state_word(thread['state'], thread['conditions'])}{ended}")
    final = thread["final"]
    if final is not None:
        out()
        said = f"{line(final['status'], 40)}, by {line(final['from'], 70)}, {local(final['at'], zone)}"
        out(f"{coloured('Final', 'final')}  {said}")
        _text(final["conclusion"])
        _text(final["body"])
        out(f"  {line(final['path'], 300)}")
        if thread["decision"]:
            out(f"  decision record: {line(thread['decision'], 300)}")
    elif thread["ended_by"]:
        out("\nIt has no final.")
    if thread["requester"]:
        out()
        deadline = f", wanted by {local(thread['deadline'], zone)}" if thread["deadline"] else ""
        out(f"Asked  by {line(thread['requester'], 70)}{deadline}")
        _text(thread["action"])
    if thread["assignees"]:
        out()
        _who(thread)
    _said(thread["messages"], zone)
    _delivered(thread["deliveries"], zone)
    _sent(thread["sends"], zone)


def _text(text: Any) -> None:
    if isinstance(text, str) and text.strip():
        out(block(text))


def _who(thread: dict[str, Any]) -> None:
    out("Who")
    owed: dict[str, list[dict[str, Any]]] = {}
    for one in thread["owes"]:
        owed.setdefault(one["agent"], []).append(one)
    author = thread["final"]["from"] if thread["final"] is not None else ""
    names = [*thread["assignees"], *(name for name in owed if name not in thread["assignees"])]
    room = min(24, max(len(name) for name in names))
    for name in names:
        role = "DRI" if name == thread["dri"] else ""
        did = _DID.get(thread["assignees"].get(name, ""), thread["assignees"].get(name, ""))
        if name == author and did != _DID["final"]:
            did = f"{did}, {_DID['final']}".removeprefix(", ")
        owes = owed_words(owed.get(name, []), who=False)
        words = "  ".join(one for one in (padded(role, 3), padded(did, 10), f"owes {owes}" if owes else "") if one)
        first, *rest = wrap(words, columns() - room - 4)
        out(f"  {padded(line(name, 70), room)}  {first}".rstrip())
        for piece in rest:
            out(f"  {'':{room}}  {piece}")


def _said(messages: list[dict[str, Any]], zone: Any) -> None:
    if messages:
        out(f"\nSaid  (times: {zone})")
    for message in messages:
        verdict = coloured(message["verdict"], message["verdict"])
        out(f"  {local(message['at'], zone)}  {line(message['from'], 40)}  {message['type']} → {verdict}")
        # A digest is named by its start too.
        identity = message["message_id"][:16] if message["message_id"] == message["digest"] else message["message_id"]
        out(f"    {line(message['path'], 300)}  {line(identity, 70)}")
        for piece in wrap(_words(message), columns() - 6)[:_MOST_LINES]:
            out(f"    | {piece}")
        for why in (message["because"], *message["notes"]):
            if why:
                out(block(why, "    ", 600))


def _words(message: dict[str, Any]) -> str:
    """Give what a message said, in short."""
    said = message["envelope"]
    if message["type"] == "ruling":
        parts = [f"{key}={said[key]}" for key in ("ruling", "dri", "deadline", "pick") if said.get(key)]
        return line(", ".join(parts), _MOST_WORDS)
    texts = [said.get(key) for key in _TEXTS]
    whole = " · ".join(one for one in texts if isinstance(one, str) and one.strip())
    return line(whole, _MOST_WORDS)


def _sent(sends: list[dict[str, Any]], zone: Any) -> None:
    if sends:
        out("\nSent live")
    for one in sends:
        word = coloured(one["state"], "late" if one["state"] in _OPEN_SENDS else "")
        out(f"  {line(one['kind'], 20)} to {line(one['agent'], 70)}: {word}")
        for attempt in one["attempts"]:
            by = f" by {line(attempt['by'], 70)} itself" if "by" in attempt else ""
            start = f"    {local(attempt['at'], zone)}  {line(attempt['channel'], 40)}{by}  {attempt['outcome']}"
            out(hanging(f"{start}: ", attempt["detail"]) if "detail" in attempt else start)


def _delivered(deliveries: list[dict[str, Any]], zone: Any) -> None:
    if deliveries:
        out("\nDelivered")
    for one in deliveries:
        how = "" if one["path"] else ", live"
        out(f"  {local(one['at'], zone)}  {line(one['kind'], 20)} to {line(one['agent'], 70)}{how}")


COMMANDS: dict[str, click.Command] = {"show": show}
