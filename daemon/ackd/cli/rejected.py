"""`ackd rejected`: refused files, how to put them right, and accepting a repair."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from ackd.cli.options import agent_named, common, complete_agents, examples, open_view
from ackd.cli.output import coloured, emit, hanging, line, local, out, say, wanted
from ackd.errors import UsageError

if TYPE_CHECKING:
    from ackd.engine.reading import View


_NOT_SHOWN = "(not shown: the file has no key of an envelope, so it may be anything)"


@click.command("rejected")
@click.argument("name", metavar="[ID]", required=False)
@click.option("--accept", "accepted", metavar="ID", help="Drop the repaired envelope of that refused file.")
@click.option(
    "--by",
    metavar="NAME",
    envvar="ACKD_AGENT",
    shell_complete=complete_agents,
    help="Who accepts it: its author or a person; else ACKD_AGENT.",
)
@common
@examples(
    "ackd rejected",
    "ackd rejected 4f0c2a",
    "ackd rejected --accept 4f0c2a --by macro",
)
def rejected(name: str | None, accepted: str | None, by: str | None) -> int:
    """Refused files, each with its reason and what to do; with an ID, or the path of the file, everything about one.

    --accept takes the repair of one as it is offered. The refused file stays as it is; it counts as put right. One that
    you delete leaves this list ten minutes later; its bytes stay in rejected/.
    """
    from ackd.engine.accepting import find_refusal
    from ackd.engine.show import refusal_documents

    with open_view() as view:
        if accepted is not None:
            if name is not None:
                raise UsageError(
                    "an ID to show and one to accept are too much", hint=f"ackd rejected --accept {accepted}"
                )
            return _accept(view, accepted, agent_named(by, "--by"))
        documents = refusal_documents(view) if name is None else [find_refusal(view, name)]
        zone = view.zone
    if wanted().json:
        emit(documents if name is None else documents[0])
        return 0
    if not documents:
        out("no file is refused")
    for one in documents:
        _show(one, zone, whole=name is not None)
    return 0


def _accept(view: View, name: str, by: str) -> int:
    from ackd.cli.verdict import exit_code, tell, wait
    from ackd.engine.accepting import accept_repair

    accepted = accept_repair(view, name, by)
    dropped = accepted.dropped
    row = wait(view, dropped.path)
    result = {
        "ack_id": (row.thread if row is not None else "") or dropped.thread,
        "refused": accepted.refusal["path"],
        "path": dropped.path,
        "message_id": dropped.message_id,
        "verdict": row.verdict if row is not None else None,
        "because": row.because if row is not None else "",
    }
    if wanted().json:
        emit(result)
    else:
        tell(view, result)
        say(f"{line(accepted.refusal['path'], 300)} stays as it is; you may delete it")
    return exit_code(row, anyway=False)


def _show(one: dict[str, Any], zone: Any, *, whole: bool) -> None:
    by = f"  by {line(one['author'], 70)}" if one["author"] else ""
    out(f"{coloured('refused', 'refused')} {one['id'][:8]}  {local(one['at'], zone)}{by}")
    out(f"  {line(one['path'], 300)}")
    out(hanging("  ", one["detail"]))
    for error in one["errors"] if whole else ():
        out(hanging(f"  {line(error.get('pointer') or 'the whole', 100)}: ", error.get("expected", "")))
        found = error.get("found", "")
        out(hanging("    found ", _NOT_SHOWN if found == "not shown" else found))
    for change in one["changes"] if whole else one["changes"][:3]:
        out(hanging("  repair: ", change))
    if whole and one["why_no_repair"]:
        out(hanging("  no repair is certain: ", one["why_no_repair"]))
    out(hanging("  fix: ", one["fix"]))
    if whole:
        out(f"  record: {line(one['record'], 300)}.problem.json")


COMMANDS: dict[str, click.Command] = {"rejected": rejected}
