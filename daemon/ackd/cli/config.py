"""`ackd config`: the configuration in force, and where each value comes from."""

from __future__ import annotations

import sys
from typing import Any

import click

from ackd.cli.options import common, examples, open_view
from ackd.cli.output import columns, emit, line, out, padded, wanted, width, wrap

_KEY, _VALUE = 24, 28
_UNITS = ((3_600_000, "h"), (60_000, "m"), (1000, "s"))


@click.group("config", invoke_without_command=True)
@common
@examples(
    "ackd config show",
    "ackd config show --json",
)
@click.pass_context
def config(context: click.Context) -> None:
    """The configuration of this machine and of the tree."""
    if context.invoked_subcommand is None:
        out(context.get_help())


@config.command("show")
@common
@examples(
    "ackd config show",
)
def show() -> None:
    """Every value in force with its origin: --dir, a variable, team.yaml, this machine's own file, or the default."""
    from ackd.engine.effective import settings

    with open_view() as view:
        found = settings(view, wanted().directory)
    if wanted().json:
        emit(found)
        return
    for one in found:
        value, origin = _written(one.key, one.value), line(one.origin, 300)
        start = f"{padded(one.key, _KEY)}  {padded(value, _VALUE)}"
        # Only a person's terminal is narrow: elsewhere a value is a line.
        if not sys.stdout.isatty() or width(f"{start}  {origin}") <= columns():
            out(f"{start}  {origin}")
            continue
        # What is too wide goes below, its origin last.
        for number, piece in enumerate([*wrap(value, columns() - _KEY - 2), origin]):
            out(f"{padded(one.key if not number else '', _KEY)}  {piece}")


def _written(key: str, value: Any) -> str:
    if value is None or value == []:
        return "-"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int) and "timeouts." in key:
        return _duration(value)
    if isinstance(value, dict):
        return line(_channel(value), 300)
    return line(", ".join(value) if isinstance(value, list) else value, 300)


def _channel(value: dict[str, Any]) -> str:
    """Write a channel in a few words."""
    words = [" ".join(value[key] for key in ("kind", "program", "host") if key in value)]
    words += [f"timeout {_duration(value['timeout'])}", f"{value['parallel']} at once"]
    words += [f"{value['rate']}"] if value["rate"] else []
    words += [f"{value['recipient_rate']} each"] if value["recipient_rate"] else []
    return ", ".join(words)


def _duration(length_ms: int) -> str:
    """Write a time as `team.yaml` would have it."""
    for size, unit in _UNITS:
        if length_ms % size == 0:
            return f"{length_ms // size}{unit}"
    return f"{length_ms}ms"


COMMANDS: dict[str, click.Command] = {"config": config}
