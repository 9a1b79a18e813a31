"""`ackd threads`: the threads in short."""

from __future__ import annotations

from typing import Any

import click

from ackd.cli.options import common, examples, open_view
from ackd.cli.output import columns, emit, line, out, state_word, wanted, wrap

MOST_ENDED = 20
_MOST_OWED = 2000
STEPS = {
    "confirm": "its confirmed",
    "final": "the final",
    "answer": "an answer",
    "accept": "an answer to a handoff (accept or decline)",
    "rule": "a ruling",
}
"""What is owed, by its step."""


@click.command("threads")
@click.option("--state", type=click.Choice(["request", "confirmed", "final"]), help="Only threads in that state.")
@click.option("--open", "open_", is_flag=True, help="Only threads that have not ended.")
@click.option("--overdue", is_flag=True, help="Only threads in which something is late.")
@common
@examples(
    "ackd threads",
    "ackd threads --open",
    "ackd threads --overdue",
    "ackd threads --state final --json",
)
def threads(state: str | None, open_: bool, overdue: bool) -> None:
    """List the threads: the late, the other open ones, each the longest untouched first, then the newest ended.

    Who owes what stands below each.
    """
    from ackd.engine.show import thread_line

    with open_view() as view:
        boards = view.threads(state=state, overdue=overdue)
    live = sorted((board for board in boards if not board["ended_by"]), key=lambda board: not is_late(board))
    ended = [] if open_ else [board for board in reversed(boards) if board["ended_by"]]
    boards = [*live, *ended]
    if wanted().json:
        emit([thread_line(board) for board in boards])
        return
    if not boards:
        open_word = "is open" if open_ else "is known yet"
        out("no thread " + ("is late" if overdue else f"is in state {state}" if state else open_word))
    shown = ended if state else ended[:MOST_ENDED]
    for board in (*live, *shown):
        _show(board)
    if len(ended) > len(shown):
        out(f"{len(ended) - len(shown)} more have ended: ackd threads --state final")


def _show(board: dict[str, Any]) -> None:
    out(f"{state_word(board['state'], board['conditions'])}  {line(board['id'], 70)}")
    asked = f"{board['requester']}: {board['action']}" if board["requester"] else board["action"]
    if asked:
        out(f"  {line(asked, columns() - 2)}")
    owed = owed_words(board["owes"], who=True)
    if owed:
        first, *rest = wrap(line(owed, _MOST_OWED), columns() - 8)
        for piece in (f"owed: {first}", *(f"      {one}" for one in rest)):
            out(f"  {piece}")


def is_late(board: dict[str, Any]) -> bool:
    """Tell whether something in a thread is late."""
    return bool({"overdue", "escalated"} & set(board["conditions"]))


def owed_words(owes: list[dict[str, Any]], *, who: bool) -> str:
    """Say what is owed, the late first, with or without by whom."""
    words = []
    for one in sorted(owes, key=lambda one: not one.get("late")):
        by = f"{one['agent']} " if who else ""
        words.append(f"{by}{STEPS.get(one['step'], one['step'])}{' (late)' if one.get('late') else ''}")
    return ", ".join(words)


COMMANDS: dict[str, click.Command] = {"threads": threads}
