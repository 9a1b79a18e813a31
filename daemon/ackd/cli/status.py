"""`ackd status`: does the daemon run, who owes what, and which files need a look."""

from __future__ import annotations

from typing import Any

import click

from ackd.cli.options import common, examples, open_view
from ackd.cli.output import LATE, block, coloured, columns, emit, line, local, out, state_word, wanted, wrap
from ackd.cli.threads import STEPS

MOST_OWED = 20
MOST_FILES = 20
MOST_REASONS = 3


@click.command("status")
@common
@examples(
    "ackd status",
    "ackd status --json",
)
def status() -> None:
    """Whether the daemon runs, how many threads are in which state, who owes what, and which files need a look."""
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
            _remark(trouble)
    for finding in document["findings"]:
        _remark(finding)
    for one in document["page"]["findings"]:
        _remark(f"{document['page']['path']}:{one['line']}: {one['what']}; expected: {one['expected']}")
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
        what = f"{line(one['agent'], 70)}  {STEPS.get(one['step'], one['step'])}  {line(one['ack_id'], 70)}{since}"
        first, *rest = wrap(what, columns() - 10)
        out(f"  {mark}  {first}")
        for piece in rest:
            out(f"          {piece}")
    if len(document["owes"]) > MOST_OWED:
        out(f"  … and {len(document['owes']) - MOST_OWED} more: ackd threads")
    _show_files([one for one in document["files"] if one["conditions"]], zone)


def _remark(text: object) -> None:
    first, *rest = wrap(line(text, 500), columns() - 4)
    out(f"  {coloured(LATE, 'late')} {first}")
    for piece in rest:
        out(f"    {piece}")


def _show_files(files: list[dict[str, Any]], zone: Any) -> None:
    """Show the files that need a look: what is wrong with each, whose it is, and why, in lines of 80 columns."""
    if not files:
        return
    out(f"files that need a look: {len(files)}")
    for one in files[:MOST_FILES]:
        owner = f"  {line(one['owner'], 70)}" if one["owner"] else ""
        out(f"  {coloured(f'{LATE} ' + ', '.join(one['conditions']), 'late')}  {line(one['path'], 200)}{owner}")
        for why in one["because"][:MOST_REASONS]:
            out(block(line(why, 600), "      "))
        if len(one["because"]) > MOST_REASONS:
            out(f"      … and {len(one['because']) - MOST_REASONS} more: ackd status --json")
        if "broken" in one["conditions"] and one["digest"]:
            out(f"      in force is what was read {local(one['read_at'], zone)}")
    if len(files) > MOST_FILES:
        out(f"  … and {len(files) - MOST_FILES} more: ackd status --json")


COMMANDS: dict[str, click.Command] = {"status": status}
