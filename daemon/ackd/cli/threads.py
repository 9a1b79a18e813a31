"""`ackd threads`: the threads in short."""

from __future__ import annotations

from typing import Any

import click

from ackd.cli.options import common, examples, open_view
from ackd.cli.output import columns, emit, line, out, state_word, wanted

MOST_ENDED = 20
_STEPS = {
    "confirm": "its confirmed",
    "final": "the final",
    "answer": "an answer",
    "accept": "yes or no",
    "rule": "a ruling",
}


@click.command("threads")
@click.option("--state", type=click.Choice(["request", "confirmed", "final"]), help="Only threads in that state.")
@click.option("--overdue", is_flag=True, help="Only threads in which something is late.")
@common
@examples(
    "ackd threads",
    "ackd threads --overdue",
    "ackd threads --state final --json",
)
def threads(state: str | None, overdue: bool) -> None:
    """List the threads, the longest untouched first; who owes what stands below each."""
    from ackd.engine.show import thread_line

    with open_view() as view:
        boards = view.threads(state=state, overdue=overdue)
    if wanted().json:
        emit([thread_line(board) for board in boards])
        return
    live = [board for board in boards if not board["ended_by"]]
    ended = [board for board in boards if board["ended_by"]]
    if not boards:
        out("no thread" + (" is late" if overdue else f" is in state {state}" if state else " is known yet"))
    shown = ended if state else ended[-MOST_ENDED:]
    if len(ended) > len(shown):
        out(f"{len(ended) - len(shown)} more have ended: ackd threads --state final")
    for board in (*shown, *live):
        _show(board)


def _show(board: dict[str, Any]) -> None:
    out(f"{state_word(board['state'], board['conditions'])}  {line(board['id'], 70)}")
    asked = f"{board['requester']}: {board['action']}" if board["requester"] else board["action"]
    if asked:
        out(f"  {line(asked, columns() - 2)}")
    owed = owed_words(board["owes"])
    if owed:
        out(f"  owed: {line(owed, columns() - 8)}")


def owed_words(owes: list[dict[str, Any]]) -> str:
    """Say who owes what, in one line."""
    return ", ".join(f"{one['agent']} {_STEPS.get(one['step'], one['step'])}" for one in owes)


COMMANDS: dict[str, click.Command] = {"threads": threads}
