"""`ackd init`: lay down a tree."""

from __future__ import annotations

import shlex
from pathlib import Path

import click

from ackd.cli.options import common, examples
from ackd.cli.output import emit, out, program, wanted


@click.command("init")
@click.argument("folder", metavar="[DIR]", required=False)
@common
@examples(
    "ackd init",
    "ackd init ~/team/shared-context",
)
def init(folder: str | None) -> None:
    """Lay down a tree in DIR (./shared-context).

    A file that is there is never overwritten; repeating it is harmless. A tree is not laid into another one.
    """
    from ackd.engine.template import lay_down

    done = lay_down(Path(folder or wanted().directory or "shared-context").absolute())
    if wanted().json:
        emit({"tree": str(done.tree), "made": list(done.made), "kept": done.kept})
        return
    where = shlex.quote(_near(done.tree))
    out(f"{where}: {len(done.made)} files laid down" + (f", {done.kept} were there and stay" if done.kept else ""))
    if not done.made:
        return
    out("Next:")
    out(f"  1. put your agents and people into {where}/team.yaml")
    out("  2. let each agent read AGENTS.md in it")
    out(f"  3. {program()} up {where}")
    out("  4. try it, in another terminal:")
    ask = 'request macro trading --dri trading --action "Next week\'s strategy" --from zoe'
    out(f"     {program()} {ask} --dir {where}")


def _near(path: Path) -> str:
    here = Path.cwd()
    return str(path.relative_to(here)) if path.is_relative_to(here) and path != here else str(path)


COMMANDS: dict[str, click.Command] = {"init": init}
