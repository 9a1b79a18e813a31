"""The command line starts fast: what agents call all day imports nothing heavy."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tomllib
from importlib.metadata import distribution, packages_distributions
from pathlib import Path

import pytest
from packaging.requirements import Requirement

ROOT = Path(__file__).resolve().parent.parent

# Besides ackd itself and the standard library, a command may import exactly these at its start.
LIGHT = {"click", "msgspec", "typing_extensions"}
# What reading a tree may add: where the state directory is, and the roster.
READING = LIGHT | {"platformdirs", "yaml"}
# Parts of the standard library that are slow to import, and that no reading command has a use for.
SLOW_PARTS = {"asyncio", "http", "multiprocessing", "unittest", "xml", "ctypes.wintypes"}

MOST_PACKAGES = 30

PROBE = """
import sys
before = set(sys.modules)
from ackd.cli import main
try:
    main({arguments!r}, prog_name="ackd")
except SystemExit as stop:
    code = stop.code or 0
import json
print("\\n@@" + json.dumps([code, sorted(set(sys.modules) - before)]))
"""


def imported_by(arguments: list[str], *, home: Path) -> set[str]:
    """Give the names of all modules that a command imports, in a process of its own, started in `home`."""
    env = {name: value for name, value in os.environ.items() if not name.startswith(("ACKD", "PYTHON", "COVERAGE"))}
    env |= {"PYTHONPATH": str(ROOT / "daemon"), "HOME": str(home), "XDG_STATE_HOME": str(home / "state")}
    done = subprocess.run(
        [sys.executable, "-c", PROBE.format(arguments=arguments)],
        cwd=home,
        env=env,
        capture_output=True,
        text=True,
        check=False,
    )
    assert "\n@@" in done.stdout, done.stdout + done.stderr
    code, modules = json.loads(done.stdout.rpartition("\n@@")[2])
    assert code == 0, done.stdout + done.stderr
    return set(modules)


def libraries(modules: set[str]) -> set[str]:
    """Give the top-level names among `modules` that are neither ackd's nor the standard library's."""
    tops = {name.partition(".")[0] for name in modules}
    installed = set(packages_distributions())
    return tops & installed - sys.stdlib_module_names - {"ackd"}


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A folder with a fresh shared-context/ in it, laid down by a process of its own."""
    imported_by(["init", "shared-context"], home=tmp_path)
    assert (tmp_path / "shared-context" / "team.yaml").is_file()
    return tmp_path


def test_help_imports_click_and_little_else(tmp_path: Path) -> None:
    """`ackd --help` imports no library but the light ones, and no floor between the command line and the errors."""
    modules = imported_by(["--help"], home=tmp_path)
    assert libraries(modules) <= LIGHT
    assert not modules & SLOW_PARTS
    assert "sqlite3" not in modules
    assert not {name for name in modules if name.startswith(("ackd.engine", "ackd.ledger", "ackd.intake"))}


def test_version_imports_click_and_little_else(tmp_path: Path) -> None:
    """`ackd --version` answers without reading anything."""
    modules = imported_by(["--version"], home=tmp_path)
    assert libraries(modules) <= LIGHT
    assert not modules & SLOW_PARTS


@pytest.mark.parametrize("more", [[], ["--json"]], ids=["text", "json"])
def test_inbox_imports_nothing_heavy(tree: Path, more: list[str]) -> None:
    """`ackd inbox` reads the tree and the memory, and needs no schema, watcher, lock or table for it."""
    modules = imported_by(["inbox", "trading", "--dir", "shared-context", *more], home=tree)
    assert libraries(modules) <= READING
    assert not modules & SLOW_PARTS


def needed_by(*requirements: str) -> set[str]:
    """Give the names of all packages that come with `requirements`, on this Python and system."""
    wanted = [Requirement(text) for text in requirements]
    seen: set[tuple[str, str]] = set()
    while wanted:
        one = wanted.pop()
        for extra in one.extras | {""}:
            if (key := (one.name.lower().replace("_", "-"), extra)) in seen:
                continue
            seen.add(key)
            for text in distribution(one.name).requires or ():
                more = Requirement(text)
                if more.marker is None or more.marker.evaluate({"extra": extra}):
                    wanted.append(more)
    return {name for name, _ in seen}


def test_few_packages_come_along() -> None:
    """An environment with ackd, its tests, what they need and pip holds at most 30 packages."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    fetched = needed_by(*project["dependencies"], *project["optional-dependencies"]["test"])
    assert len(fetched | {"ackd", "pip"}) <= MOST_PACKAGES, sorted(fetched)
