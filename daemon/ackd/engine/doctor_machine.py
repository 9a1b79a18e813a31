"""What the doctor looks at on the machine: Python, the packages that ackd needs, git, the clock."""

from __future__ import annotations

import datetime
import shutil
import sqlite3
import sys
from importlib import metadata

from ackd import __version__
from ackd.engine.doctor import Check, ok, problem, warning

_LEAST_PYTHON = (3, 11)
_YEARS = range(2024, 2100)
_PACKAGES = (
    *("click", "jsonschema", "jsonschema-rs", "msgspec", "platformdirs", "portalocker", "PyYAML", "referencing"),
    *("rfc3339-validator", "rfc8785", "rich", "tzdata", "watchdog"),
)
"""What ackd needs at run time; a test holds it to the project's own list."""


def examine(now: int) -> list[Check]:
    """Look at the machine.

    Args:
        now: The wall clock, milliseconds.
    """
    return [_clock(now), _python(), *_packages(), _git()]


def _clock(now: int) -> Check:
    at = datetime.datetime.fromtimestamp(now / 1000, datetime.UTC)
    if at.year not in _YEARS:
        return problem("clock", f"the clock says {at:%Y-%m-%d}: every timer depends on it", "set this machine's clock")
    return ok("clock", f"{at:%Y-%m-%d %H:%M} UTC")


def _python() -> Check:
    version = ".".join(str(one) for one in sys.version_info[:3])
    if sys.version_info < _LEAST_PYTHON:
        return problem("python", f"Python {version} is too old", "install Python 3.11 or newer")
    return ok("python", f"ackd {__version__}, Python {version}, SQLite {sqlite3.sqlite_version}")


def _packages() -> list[Check]:
    found, missing = [], []
    for name in _PACKAGES:
        try:
            found.append(f"{name} {metadata.version(name)}")
        except metadata.PackageNotFoundError:
            missing.append(name)
    checks = [ok("packages", ", ".join(found))]
    if missing:
        checks.append(problem("packages", f"missing: {', '.join(missing)}", f"pip install {' '.join(missing)}"))
    return checks


def _git() -> Check:
    path = shutil.which("git")
    if path is None:
        return warning("git", "there is no git here; the tree can be carried otherwise", "install git")
    return ok("git", f"git is {path}")
