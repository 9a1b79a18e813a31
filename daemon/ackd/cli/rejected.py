"""`ackd rejected`: refused files and how to put them right."""

from __future__ import annotations

from typing import Any

import click

from ackd.cli.options import common, examples, open_view
from ackd.cli.output import coloured, emit, line, local, out, wanted
from ackd.errors import InvalidError
from ackd.protocol.ids import shown


@click.command("rejected")
@click.argument("name", metavar="[ID]", required=False)
@common
@examples(
    "ackd rejected",
    "ackd rejected 4f0c2a",
    "ackd rejected --json",
)
def rejected(name: str | None) -> None:
    """Refused files, each with its reason and what to do; with an ID, or the path of the file, everything about one."""
    from ackd.engine.show import refusal_documents

    with open_view() as view:
        documents = refusal_documents(view)
        zone = view.zone
    if name is not None:
        documents = [one for one in documents if one["id"].startswith(name) or one["path"] == name]
        if len(documents) != 1:
            some = "no refused file has" if not documents else "several refused files have"
            raise InvalidError(f"{some} the id {shown(name)}", hint="ackd rejected lists them")
    if wanted().json:
        emit(documents if name is None else documents[0])
        return
    if not documents:
        out("no file is refused")
    for one in documents:
        _show(one, zone, whole=name is not None)


def _show(one: dict[str, Any], zone: Any, *, whole: bool) -> None:
    by = f"  by {line(one['author'], 70)}" if one["author"] else ""
    out(f"{coloured('refused', 'refused')} {one['id'][:8]}  {line(one['path'], 300)}{by}  {local(one['at'], zone)}")
    out(f"  {line(one['detail'], 600)}")
    for error in one["errors"] if whole else ():
        out(f"  {line(error.get('pointer') or 'the whole', 100)}: {line(error.get('expected', ''), 300)}")
        out(f"    found {line(error.get('found', ''), 200)}")
    out(f"  fix: {line(one['fix'], 300)}")
    if whole:
        out(f"  record: {line(one['record'], 300)}.problem.json")


COMMANDS: dict[str, click.Command] = {"rejected": rejected}
