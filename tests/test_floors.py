"""The house: imports go down the floors, modules stay small, and each says what it is for."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "daemon" / "ackd"
MODULES = sorted(PACKAGE.rglob("*.py"))
MOST_LINES = 600

named = pytest.mark.parametrize("module", MODULES, ids=lambda path: path.relative_to(PACKAGE).as_posix())


def lint_imports(config: Path, *, cwd: Path, source: Path) -> subprocess.CompletedProcess[str]:
    """Run import-linter as a program: inside this process it would switch off the loggers of other tests."""
    return subprocess.run(
        [
            sys.executable,
            "-c",
            "from importlinter.cli import lint_imports_command; lint_imports_command()",
            str(config),
            "--no-cache",
            "--no-logo",
        ],
        cwd=cwd,
        env={**os.environ, "PYTHONPATH": str(source), "NO_COLOR": "1"},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.needs_tools
def test_imports_only_go_down_the_floors() -> None:
    """Every contract of pyproject.toml holds, and every module has a floor."""
    done = lint_imports(ROOT / "pyproject.toml", cwd=ROOT, source=ROOT / "daemon")
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.needs_tools
@pytest.mark.parametrize(
    ("path", "text", "said"),
    [
        ("protocol/ids.py", "import ackd.engine\n", "ackd.protocol.ids -> ackd.engine"),
        ("intake/__init__.py", "import ackd.ledger\n", "ackd.intake -> ackd.ledger"),
        ("tree/layout.py", "import time\n", "ackd.tree.layout -> time"),
        ("text/wire.py", "from pathlib import Path\n", "ackd.text.wire -> pathlib"),
        ("novelty.py", "", "ackd.novelty"),
    ],
    ids=["up-a-floor", "sideways", "clock-in-the-core", "files-in-a-later-floor", "no-floor"],
)
def test_the_contracts_catch_what_they_are_for(tmp_path: Path, path: str, text: str, said: str) -> None:
    """One import up, sideways or out of the pure floors, or a module without a floor, breaks a contract."""
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["importlinter"]["contracts"]
    layers = next(contract["layers"] for contract in contracts if contract["id"] == "floors")
    house = tmp_path / "src" / "ackd"
    house.mkdir(parents=True)
    (house / "__init__.py").touch()
    for name in {name.strip(" ()") for layer in layers for name in layer.replace("|", ":").split(":")}:
        (house / name).mkdir()
        (house / name / "__init__.py").touch()

    before = lint_imports(ROOT / "pyproject.toml", cwd=tmp_path, source=tmp_path / "src")
    (house / path).write_text(text, "utf-8")
    after = lint_imports(ROOT / "pyproject.toml", cwd=tmp_path, source=tmp_path / "src")

    assert before.returncode == 0, before.stdout + before.stderr
    assert after.returncode == 1
    assert said in after.stdout


@named
def test_a_module_is_small_enough_to_live_in(module: Path) -> None:
    """No module has more than 600 lines; above 400 it is time to think of a second idea in it."""
    lines = len(module.read_text("utf-8").splitlines())
    assert lines <= MOST_LINES, f"{module.relative_to(ROOT)} has {lines} lines: split it"


@named
def test_a_module_says_first_what_it_is_for(module: Path) -> None:
    """The first line of a module begins its docstring, before comments and imports."""
    tree = ast.parse(module.read_text("utf-8"))
    said = ast.get_docstring(tree)
    assert said, f"{module.relative_to(ROOT)} has no docstring"
    assert tree.body[0].lineno == 1, f"{module.relative_to(ROOT)}: the docstring is not the first line"
    assert said.splitlines()[0].strip(), f"{module.relative_to(ROOT)}: the first line of the docstring is empty"


def test_the_source_root_is_no_package() -> None:
    """`daemon/` has no __init__.py, so that another package of that name stays importable."""
    assert not (ROOT / "daemon" / "__init__.py").exists()
