"""`ackd protocol`: the rules that the code runs, as table, JSON or diagram."""

from __future__ import annotations

from typing import Any

import click

from ackd.cli.options import common, examples
from ackd.cli.output import emit, out, padded, wanted
from ackd.errors import UsageError


@click.command("protocol")
@click.option("--mermaid", is_flag=True, help="The states and what leads from one to the next, as a Mermaid diagram.")
@common
@examples(
    "ackd protocol",
    "ackd protocol --mermaid",
    "ackd protocol --json",
)
def protocol(mermaid: bool) -> None:
    """Every transition of a thread; the table is read from the top, and the first row that fits holds."""
    if mermaid and wanted().json:
        raise UsageError("--json and --mermaid exclude each other", hint="ackd protocol --mermaid")
    if mermaid:
        from ackd.protocol.diagram import mermaid as draw

        out(draw().rstrip("\n"))
    elif wanted().json:
        emit(_document())
    else:
        _show()


def _document() -> dict[str, Any]:
    from ackd.protocol import table
    from ackd.protocol.envelope import TYPES

    return {
        "types": list(TYPES),
        "phases": list(table.PHASES),
        "roles": list(table.ROLES),
        "facts": sorted(table.FACTS),
        "verdicts": list(table.VERDICTS),
        "rows": [
            {
                "name": row.name,
                "types": sorted(row.types),
                "roles": sorted(row.roles),
                "phases": [phase for phase in table.PHASES if phase in row.phases],
                "needs": sorted(row.needs),
                "verdict": row.verdict,
                "told": [{"who": who, "kind": kind} for who, kind in row.told],
                "becomes": row.becomes or None,
                "because": row.because,
            }
            for row in table.TABLE
        ],
        "timers": [
            {
                "name": timer.name,
                "while": timer.while_,
                "after": timer.after,
                "outcome": timer.outcome,
                "told": [{"who": who, "kind": kind} for who, kind in timer.told],
                "becomes": timer.becomes or None,
            }
            for timer in table.TIMERS
        ],
    }


def _show() -> None:
    document = _document()
    for row in document["rows"]:
        types = " ".join(row["types"]) if len(row["types"]) < 6 else "any but request, broadcast"
        who = f" by {' or '.join(row['roles'])}" if row["roles"] else ""
        phases = f" while {' or '.join(row['phases'])}" if row["phases"] else ""
        needs = f" if {' and '.join(row['needs'])}" if row["needs"] else ""
        becomes = f", becomes {row['becomes']}" if row["becomes"] else ""
        out(f"{padded(row['name'], 18)} {types or 'any'}{who}{phases}{needs}")
        out(f"{'':18}   → {row['verdict']}{becomes}; told: {_told(row)}")
    out()
    for timer in document["timers"]:
        becomes = f", becomes {timer['becomes']}" if timer["becomes"] else ""
        out(f"{padded(timer['name'], 18)} timer, while {timer['while']}, after `{timer['after']}`")
        out(f"{'':18}   → {timer['outcome']}{becomes}; told: {_told(timer)}")


def _told(row: dict[str, Any]) -> str:
    return ", ".join(f"{one['who']} ({one['kind']})" for one in row["told"]) or "nobody"


COMMANDS: dict[str, click.Command] = {"protocol": protocol}
