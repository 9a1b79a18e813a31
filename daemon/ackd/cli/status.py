"""`ackd status`: does the daemon run, and who owes what."""

from __future__ import annotations

from typing import Any

import click

from ackd.cli.options import common, examples, open_view
from ackd.cli.output import LATE, coloured, emit, line, local, out, state_word, wanted

MOST_OWED = 20
_STEPS = {"confirm": "confirm", "final": "final", "answer": "answer", "accept": "accept", "rule": "rule"}


@click.command("status")
@common
@examples(
    "ackd status",
    "ackd status --json",
)
def status() -> None:
    """Whether the daemon runs, how many threads are in which state, and who owes what, the late first."""
    from ackd.engine.show import status_document

    with open_view() as view:
        document = status_document(view)
        if wanted().json:
            emit(document)
            return
        _show(document, view.zone)


def _show(document: dict[str, Any], zone: Any) -> None:
    daemon = document["daemon"]
    out(line(document["tree"], 300))
    if daemon is None:
        out("no daemon runs on it here; what is dropped waits for: ackd up")
    else:
        since = f" since {local(daemon['started_at'], zone)}" if daemon["started_at"] else ""
        out(f"the daemon runs: pid {daemon['pid']}, node {line(daemon['node'] or '?', 70)}{since}")
        for trouble in daemon["trouble"]:
            out(f"  {coloured(LATE, 'late')} {line(trouble, 400)}")
    for finding in document["findings"]:
        out(f"  {coloured(LATE, 'late')} {line(finding, 400)}")
    out("  ".join(f"{state_word(state)} {count}" for state, count in document["counts"].items()))
    late, people, refused = len(document["late"]), len(document["needs_person"]), document["rejected"]
    for count, text in ((late, "late: ackd threads --overdue"), (people, "need a person: see BOARD.md")):
        if count:
            out(coloured(f"{LATE} {count} {text}", "late"))
    if refused:
        out(coloured(f"{LATE} {refused} refused: ackd rejected", "late"))
    for one in document["owes"][:MOST_OWED]:
        mark = coloured(f"{LATE} late", "late") if one["late"] else "owes  "
        since = f"  since {local(one['since'], zone)}" if one["since"] else ""
        out(f"  {mark}  {line(one['agent'], 70)}  {one['step']}  {line(one['ack_id'], 70)}{since}")
    if len(document["owes"]) > MOST_OWED:
        out(f"  … and {len(document['owes']) - MOST_OWED} more: ackd threads")


COMMANDS: dict[str, click.Command] = {"status": status}
