"""The diagram of the states, made from the table."""

from __future__ import annotations

import re
from pathlib import Path

from ackd.protocol.diagram import mermaid
from ackd.protocol.table import FINAL, PHASES, TABLE, TIMERS, UNKNOWN, VERDICTS

README = Path(__file__).resolve().parents[3] / "README.md"
EDGE = re.compile(r"    (\w+) --> (\w+): (.+)")


def edges() -> list[tuple[str, str, str]]:
    """Give each edge between two phases with its label."""
    found = (EDGE.fullmatch(line) for line in mermaid().splitlines())
    return [(match[1], match[2], match[3]) for match in found if match]


def test_it_is_a_state_diagram_of_the_phases() -> None:
    """It begins before the request, ends after the final, and knows no other state."""
    lines = mermaid().splitlines()
    assert lines[0] == "stateDiagram-v2"
    assert lines[1].strip() == f"[*] --> {UNKNOWN}"
    assert lines[-1].strip() == f"{FINAL} --> [*]"
    assert {phase for before, after, _ in edges() for phase in (before, after)} == set(PHASES)


def test_a_state_never_goes_back() -> None:
    """Every edge leads forward, or stays."""
    assert all(PHASES.index(before) <= PHASES.index(after) for before, after, _ in edges())


def test_every_change_of_phase_has_an_edge() -> None:
    """Each phase that a row or a timer leads to is reached by an edge that names its type or the timer."""
    for row in TABLE:
        if row.becomes:
            labels = [label for before, after, label in edges() if after == row.becomes and before != after]
            assert any(kind in label for kind in row.types for label in labels), row.name
    for timer in TIMERS:
        if timer.becomes:
            assert any(after == timer.becomes and timer.name in label for _, after, label in edges()), timer.name


def test_what_stays_is_named_by_its_verdicts() -> None:
    """The loops of a state list words of the table."""
    loops = {before: label.split(", ") for before, after, label in edges() if before == after}
    assert {word for words in loops.values() for word in words} <= set(VERDICTS)
    assert {"clarified", "answered", "handed-off", "ruled"} <= set(loops["request"])
    assert "late" in loops[FINAL]


def test_no_edge_stands_twice() -> None:
    """Rows that lead the same way share an edge."""
    assert len(edges()) == len(set(edges()))


def test_the_readme_shows_it() -> None:
    """Between its marks the README holds what `ackd protocol --mermaid` prints now."""
    text = README.read_text(encoding="utf-8")
    shown = text.partition("<!-- diagram: begin -->")[2].partition("<!-- diagram: end -->")[0]
    assert shown == f"\n```mermaid\n{mermaid()}```\n"
