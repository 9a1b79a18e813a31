"""`ackd inbox`: what an agent owes, and what it is told."""

from __future__ import annotations

import shlex
import time
from typing import TYPE_CHECKING

import click

from ackd.cli.options import agent_named, common, complete_agents, examples, open_view
from ackd.cli.output import block, coloured, columns, emit, line, out, wanted, width

if TYPE_CHECKING:
    from ackd.engine.reading import InboxItem, View

_POLL_S = 0.2
_MOST_NOTES = 4
_MOST_TEXT = 600


@click.command("inbox")
@click.argument("agent", metavar="[AGENT]", required=False, envvar="ACKD_AGENT", shell_complete=complete_agents)
@click.option("--take", is_flag=True, help="Take the files out of the inbox: read, not done. What is owed stays owed.")
@click.option(
    "--wait", type=click.FloatRange(0, 86_400), default=0, metavar="SECONDS", help="Wait for something to come."
)
@common
@examples(
    "ackd inbox macro",
    "ACKD_AGENT=macro ackd inbox --take --json",
    "ackd inbox macro --wait 60",
)
def inbox(agent: str | None, take: bool, wait: float) -> None:
    """What AGENT owes, with what to type, then what it is told; the oldest first."""
    with open_view() as view:
        name = view.member(agent_named(agent, "AGENT"))
        items = _look(view, name, wait)
        if wanted().json:
            emit([_document(view, name, item) for item in items])
        else:
            _show(view, name, items)
        if take:
            for item in items:
                view.take(item)


def _look(view: View, name: str, seconds: float) -> list[InboxItem]:
    end = time.monotonic() + seconds
    while True:
        items = view.inbox(name)
        if items or time.monotonic() >= end:
            return items
        time.sleep(_POLL_S)
        view.refresh()


def _document(view: View, name: str, item: InboxItem) -> dict[str, object]:
    from ackd.engine.steps import next_steps, other_steps

    return {
        "kind": item.kind,
        "ack_id": item.thread or None,
        "asks": list(item.asks),
        "summary": item.summary,
        "text": item.text,
        "due": item.due,
        "commands": next_steps(view, name, item.thread, item.asks),
        "otherwise": other_steps(view, name, item.thread, item.asks),
        "path": item.path or None,
        "written_at": item.written_at or None,
        "delivery": item.delivery,
    }


def _show(view: View, name: str, items: list[InboxItem]) -> None:
    owed = [item for item in items if item.asks]
    told = [item for item in items if not item.asks]
    if not items:
        out(f"{name}: nothing is owed, nothing is new")
        return
    out(f"{name}: owes {len(owed)}, is told {len(told)}")
    for item in owed:
        out()
        _show_item(view, name, item, coloured("owed", "late"))
    for item in told:
        out()
        _show_item(view, name, item, "told")


def _show_item(view: View, name: str, item: InboxItem, word: str) -> None:
    from ackd.engine.steps import next_steps, other_steps

    asks = f"  {', '.join(item.asks)}" if item.asks else f"  {line(item.kind, 20)}"
    due = f"  by {line(item.due, 30)}" if item.due else ""
    out(f"{word}  {line(item.thread or '–', 70)}{asks}{due}")
    out(block(item.summary, "  ", _MOST_TEXT))
    if item.text:
        out(block(item.text, "  | ", _MOST_TEXT))
    notes = (item.delivery or {}).get("notes") if item.kind in ("refusal", "notice", "collision", "late") else None
    for note in [one for one in notes or () if isinstance(one, str)][:_MOST_NOTES]:
        out(block(note, "  - ", _MOST_TEXT))
    # A tree that had to be named for this command has to be for the next.
    tree = f" --dir {shlex.quote(wanted().directory or '')}" if wanted().directory else ""
    for step in next_steps(view, name, item.thread, item.asks):
        out(f"  $ {line(step + tree, _MOST_TEXT)}")
    others = [line(step + tree, _MOST_TEXT) for step in other_steps(view, name, item.thread, item.asks)]
    together = "; ".join(others)
    for step in [together] if others and width(together) + 6 <= columns() else others:
        out(click.style(f"  or: {step}", dim=True))
    if item.path:
        out(f"  {line(item.path, 300)}")


COMMANDS: dict[str, click.Command] = {"inbox": inbox}
