"""`ackd show`: all about one thread, the final first."""

from __future__ import annotations

from typing import Any

import click

from ackd.cli.options import ack_id_argument, common, examples, open_view
from ackd.cli.output import block, coloured, columns, emit, line, local, out, padded, state_word, wanted, wrap
from ackd.cli.threads import owed_words

_DID = {"final": "wrote the final"}


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
        document = thread_document(wait_for_end(view, ack_id, wait))
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
        out("\nSaid")
    for message in messages:
        verdict = coloured(message["verdict"], message["verdict"])
        out(f"  {local(message['at'], zone)}  {line(message['from'], 40)}  {message['type']} → {verdict}")
        # A digest is named by its start too.
        identity = message["message_id"][:16] if message["message_id"] == message["digest"] else message["message_id"]
        out(f"    {line(message['path'], 300)}  {line(identity, 70)}")
        for why in (message["because"], *message["notes"]):
            if why:
                out(block(why, "    ", 600))


def _delivered(deliveries: list[dict[str, Any]], zone: Any) -> None:
    if deliveries:
        out("\nDelivered")
    for one in deliveries:
        out(f"  {local(one['at'], zone)}  {line(one['kind'], 20)} to {line(one['agent'], 70)}")


COMMANDS: dict[str, click.Command] = {"show": show}
