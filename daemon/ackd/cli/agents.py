"""`ackd agents`: the roster."""

from __future__ import annotations

import click

from ackd.cli.options import common, examples, open_view
from ackd.cli.output import emit, line, out, padded, say, wanted


@click.group("agents", invoke_without_command=True)
@common
@examples(
    "ackd agents list",
    "ackd agents add 风控 --type risk",
    "ackd agents add wen --person",
)
@click.pass_context
def agents(context: click.Context) -> None:
    """The roster of team.yaml."""
    if context.invoked_subcommand is None:
        out(context.get_help())


@agents.command("list")
@common
@examples(
    "ackd agents list --json",
)
def list_() -> None:
    """Who takes part, and how much each owes."""
    from ackd.engine.show import roster_document

    with open_view() as view:
        members = roster_document(view)
    if wanted().json:
        emit(members)
        return
    for one in members:
        role = "person" if one["person"] else f"arbiter {one['arbiter']}" if one["arbiter"] else "agent"
        owes = f"owes {one['owes']}" if one["owes"] else ""
        words = (padded(line(one["name"], 70), 20), padded(role, 10), padded(line(one["type"], 40), 14), owes)
        out("  ".join(words).rstrip())


@agents.command("add")
@click.argument("name")
@click.option("--type", "type_", metavar="TYPE", default="", help="What kind of agent it is, for the lineage rule.")
@click.option("--person", is_flag=True, help="It is a person.")
@click.option("--arbiter", is_flag=True, help="It becomes the last arbiter.")
@common
@examples(
    "ackd agents add macro --type analyst",
    "ackd agents add wen --person --arbiter",
)
def add(name: str, type_: str, person: bool, arbiter: bool) -> None:
    """Add somebody to team.yaml; its comments and form stay.

    A running daemon takes it up by itself.
    """
    from ackd.engine.roster_edit import add_member

    with open_view() as view:
        added = add_member(view.root, name, type_=type_, person=person, arbiter=arbiter)
    if wanted().json:
        emit({"name": added.name, "added": list(added.changes)})
    elif added.changes:
        say(f"team.yaml: {line(' and '.join(added.changes), 400)}")
    else:
        say(f"{line(added.name, 70)} is on the roster already; nothing was changed")


COMMANDS: dict[str, click.Command] = {"agents": agents}
