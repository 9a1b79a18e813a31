"""`ackd doctor`: what is wrong with tree, memory or machine, and what to do."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ackd.cli.options import common, examples
from ackd.cli.output import coloured, columns, counted, emit, line, out, padded, say, wanted, wrap
from ackd.errors import NoTreeError

if TYPE_CHECKING:
    from ackd.engine.doctor import Check

_ROOM = 19
_COUNTED = ("check", "problem", "warning")
_COLOURS = {"ok": "final", "warning": "request", "problem": "late"}


@click.command("doctor")
@click.option("--fix", is_flag=True, help="Put right what is safe: missing files, own sealed files, old scratch.")
@common
@examples(
    "ackd doctor",
    "ackd doctor --fix",
)
def doctor(fix: bool) -> int:
    """Look at the tree, this machine's memory of it, the daemon and the machine; each ok, warning or problem.

    Exits 1 where a problem is left, and 3 where there is no tree.
    """
    from ackd.engine.doctor import examine, examine_machine, problem

    code = 0
    try:
        checks = examine(_find(), fix=fix)
    except NoTreeError as error:
        checks, code = [problem("tree", error.message, error.hint), *examine_machine()], error.exit_code
    problems = sum(one.level == "problem" for one in checks)
    if wanted().json:
        emit(checks)
    else:
        for one in checks:
            _show(one)
        warnings = sum(one.level == "warning" for one in checks)
        say(
            ", ".join(
                counted(count, what) for count, what in zip((len(checks), problems, warnings), _COUNTED, strict=True)
            )
        )
    return code or (1 if problems else 0)


def _find() -> Path:
    """Find the tree; a folder that is one but for its `team.yaml` is looked at too."""
    from ackd.engine.reading import find_tree
    from ackd.tree.layout import ROUNDTABLE

    try:
        return find_tree(wanted().directory)
    except NoTreeError:
        named = wanted().directory or os.environ.get("ACKD_DIR")
        if named and (Path(named) / ROUNDTABLE).is_dir():
            return Path(named).absolute()
        raise


def _show(one: Check) -> None:
    word = coloured(padded(one.level, 8), _COLOURS[one.level])
    done = "  (put right)" if one.fixed else ""
    first, *rest = wrap(line(one.message, 600) + done, columns() - _ROOM)
    out(f"{word} {padded(one.name, 9)} {first}")
    for piece in [*rest, *(wrap(f"do: {line(one.todo, 400)}", columns() - _ROOM) if one.todo else ())]:
        out(f"{'':{_ROOM}}{piece}")


COMMANDS: dict[str, click.Command] = {"doctor": doctor}
