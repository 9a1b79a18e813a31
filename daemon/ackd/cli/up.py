"""`ackd up`: run the daemon in the foreground."""

from __future__ import annotations

import shlex
import sys
from typing import TYPE_CHECKING

import click

from ackd.cli.options import common, examples
from ackd.cli.output import emit, out, program, say, wanted

if TYPE_CHECKING:
    from ackd.config import Node
    from ackd.engine.loop import Engine


@click.command("up")
@click.argument("folder", metavar="[DIR]", required=False)
@click.option("--once", is_flag=True, help="Take one full pass and exit.")
@click.option("--no-web", is_flag=True, help="Accepted for scripts; there are no pages yet.")
@click.option(
    "--log-format",
    type=click.Choice(["auto", "json", "text"]),
    default="auto",
    help="auto: text on a terminal, JSON lines otherwise.",
)
@click.option("--log-level", type=click.Choice(["debug", "info", "warning", "error"]), default="info")
@common
@examples(
    "ackd up",
    "ackd up shared-context --log-format json",
    "ackd up --once",
)
def up(folder: str | None, once: bool, no_web: bool, log_format: str, log_level: str) -> None:
    """Run the daemon of a tree in the foreground until Ctrl-C or SIGTERM; SIGHUP reads team.yaml again.

    A second one on the same tree exits 75 and names the first.
    """
    from ackd.engine.daemon import run_daemon
    from ackd.engine.logs import set_up
    from ackd.engine.reading import find_tree

    tree = find_tree(folder or wanted().directory)
    set_up(form=log_format, level=log_level)
    # Where standard error is for a machine, what a person reads goes to standard output.
    plain = log_format == "text" or (log_format == "auto" and sys.stderr.isatty())
    tell = say if plain else out

    def ready(engine: Engine, node: Node) -> None:
        from ackd.engine.template import lay_schemas

        lay_schemas(engine.root)
        if wanted().json:
            emit({"tree": str(tree), "state": str(node.state), "node": node.name, "once": once})
        elif not once:
            for text in _banner(str(tree), node):
                tell(text)

    engine = run_daemon(tree, once=once, ready=ready)
    if wanted().json:
        return
    if once:
        tell(f"one pass: {engine.deliveries} deliveries" + "".join(f"; {one}" for one in engine.trouble.values()))
    elif not plain or log_level in ("warning", "error"):
        tell("stopped")


def _banner(tree: str, node: Node) -> list[str]:
    """Say in at most ten lines what is watched and how to try it."""
    command = program()
    called = f'; ackd() {{ {command} "$@"; }}' if command != "ackd" else ""
    return [
        f"ackd watches {tree} as node {node.name}; state in {node.state}",
        "Drop JSON files into it, or try in another terminal:",
        f"  export ACKD_DIR={shlex.quote(tree)}{called}",
        '  ID=$(ackd request macro trading --dri trading --action "Next week\'s strategy" --deadline 2h --from zoe)',
        '  ackd confirm $ID "On it" --from macro; ackd confirm $ID --from trading',
        '  ackd final $ID "Cut exposure to 40 %" --from trading',
        "  ackd show $ID; ackd inbox zoe",
        "BOARD.md lists what is open and who owes what. Ctrl-C stops.",
    ]


COMMANDS: dict[str, click.Command] = {"up": up}
