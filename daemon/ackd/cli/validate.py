"""`ackd validate`: check files without a daemon."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ackd.cli.options import common, examples
from ackd.cli.output import as_json, coloured, emit, line, out, say, wanted

if TYPE_CHECKING:
    from ackd.engine.validating import Finding


@click.command("validate")
@click.argument("paths", metavar="PATH...", nargs=-1, required=True)
@click.option("--format", "form", type=click.Choice(["text", "github", "json"]), default="text")
@common
@examples(
    "ackd validate shared-context",
    "ackd validate final.json team.yaml --format github",
)
def validate(paths: tuple[str, ...], form: str) -> int:
    """Check files and folders offline, by the schemas and the roster beside them.

    Exits 1 on findings.
    """
    from ackd.engine.validating import validate as check

    checked = check(Path(path) for path in paths)
    if wanted().json or form == "json":
        emit({"files": checked.files, "findings": list(checked.findings)})
    else:
        for finding in checked.findings:
            out(_annotation(finding) if form == "github" else _text(finding))
            for change in finding.repair if form == "text" else ():
                out(f"  repair: {line(change, 300)}")
            if finding.repair and form == "text":
                out(f"  take it: ackd drop --repair {shlex.quote(line(finding.path, 300))}")
        say(f"{_counted(checked.files, 'file')}, {_counted(len(checked.findings), 'finding')}")
    return 1 if checked.findings else 0


def _counted(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def _text(finding: Finding) -> str:
    column = f":{finding.column}" if finding.column else ""
    place = f":{finding.line}{column}" if finding.line else ""
    return f"{coloured(line(finding.path, 300) + place, 'late')}: {line(finding.message, 600)}"


def _annotation(finding: Finding) -> str:
    """Write a workflow command of GitHub: what it gives a meaning to is escaped."""
    column = f",col={finding.column}" if finding.column else ""
    place = f",line={finding.line}{column}" if finding.line else ""
    return f"::error file={_property(finding.path)}{place}::{_data(line(finding.message, 600))}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    shown = as_json(text)[1:-1] if not text.isprintable() else text
    return _data(shown).replace(":", "%3A").replace(",", "%2C")


COMMANDS: dict[str, click.Command] = {"validate": validate}
