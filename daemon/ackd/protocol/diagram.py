"""The table as a picture: a state diagram in Mermaid, made from the rows and timers that the code runs."""

from __future__ import annotations

from ackd.protocol.table import BARE, CONFIRMED, FINAL, PHASES, TABLE, TIMERS, UNKNOWN, Row

_NO_CHANGE = frozenset({"refused", "duplicate", "kept", "collision", "no-reply"})
"""Verdicts that leave a thread as it is; the picture leaves them out."""


def mermaid() -> str:
    """Give the diagram: the phases, what leads from one to the next, and what else is taken in each."""
    lines = ["stateDiagram-v2", f"    [*] --> {UNKNOWN}"]
    for row in TABLE:
        lines += [
            f"    {phase} --> {row.becomes}: {_who(row)}"
            for phase in _phases(row)
            if row.becomes and _is_forward(phase, row.becomes) and not _is_shadowed(row, phase)
        ]
    for timer in TIMERS:
        if timer.becomes:
            # Nothing is waited for before the request, and nobody confirms a broadcast.
            left_out = (UNKNOWN, CONFIRMED) if timer.name == "broadcast" else (UNKNOWN,)
            lines += [
                f"    {phase} --> {timer.becomes}: {timer.name} time is over"
                for phase in PHASES
                if _is_forward(phase, timer.becomes) and phase not in left_out
            ]
    for phase in PHASES:
        words = dict.fromkeys(row.verdict for row in TABLE if _stays(row, phase))
        if words:
            lines.append(f"    {phase} --> {phase}: {', '.join(words)}")
    lines.append(f"    {FINAL} --> [*]")
    return "\n".join(dict.fromkeys(lines)) + "\n"


def _who(row: Row) -> str:
    types, roles = _in_order(row.types), _in_order(row.roles)
    who = f"{types} by {roles}" if roles else types
    needs = row.needs - {BARE}  # with few words or many, it is confirmed
    return f"{who} ({_in_order(needs)})" if needs else who


def _in_order(words: frozenset[str]) -> str:
    return " or ".join(sorted(words))


def _phases(row: Row) -> tuple[str, ...]:
    return tuple(phase for phase in PHASES if not row.phases or phase in row.phases)


def _is_forward(before: str, after: str) -> bool:
    return PHASES.index(before) < PHASES.index(after)


def _is_shadowed(row: Row, phase: str) -> bool:
    """Tell whether an earlier row takes everything that this one could in a phase, or leads the same way."""
    for other in TABLE[: TABLE.index(row)]:
        covers = not other.roles and not other.needs and (not other.types or row.types <= other.types)
        same = other.becomes == row.becomes and other.types == row.types and other.roles == row.roles
        same = same and (not other.needs or other.needs == row.needs)
        if phase in _phases(other) and row.types and (covers or same):
            return True
    return False


def _stays(row: Row, phase: str) -> bool:
    """Tell whether a row keeps a thread in its phase and still changes something in it."""
    moves = bool(row.becomes) and (row.becomes != phase or phase == UNKNOWN)
    return (
        not moves
        and bool(row.types or row.needs)
        and bool(row.phases)
        and phase in row.phases
        and (row.verdict not in _NO_CHANGE)
    )
