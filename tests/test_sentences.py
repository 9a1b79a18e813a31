"""Sentences that agents and people read: plain words, without the numbers that our documents give to requirements."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

SOURCE = Path(__file__).parent.parent / "daemon" / "ackd"
NUMBERS = re.compile(r"\([A-Z][0-9]{1,3}(?:\)|,|;| to )")


def sentences(text: str) -> Iterator[tuple[int, str]]:
    """Give line and text of all literals of a module but for its docstrings; those of commands are their help."""
    tree = ast.parse(text)
    silent = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and any("command(" in ast.unparse(one) for one in node.decorator_list):
            yield node.lineno, ast.get_docstring(node) or ""
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            silent.add(id(node.value))
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in silent:
            yield node.lineno, node.value


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("x = 'wait (R54)'", 1),
        ("def f() -> None:\n    'Do (R54).'\n    y = f'{y} (C5, C24)'", 3),
        ("@click.command('a')\ndef f() -> None:\n    'Do (R54).'", 2),
    ],
)
def test_the_search_finds_them(text: str, found: int) -> None:
    """In plain and formatted texts and in the help of commands."""
    assert [line for line, one in sentences(text) if NUMBERS.search(one)] == [found]


def test_no_sentence_names_a_requirement() -> None:
    """Who reads a refusal does not have our list of requirements."""
    found = [
        f"{path.relative_to(SOURCE)}:{line}: {one}"
        for path in sorted(SOURCE.rglob("*.py"))
        for line, one in sentences(path.read_text(encoding="utf-8"))
        if NUMBERS.search(one)
    ]
    assert found == []
