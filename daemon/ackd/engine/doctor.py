"""The doctor: looks at tree, memory and machine, says what is wrong and what to do, and puts right what is safe.

Each check is a function of its own that gives findings; a check that fails itself is a finding too.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Literal, TypeAlias

import msgspec

from ackd.engine.reading import View
from ackd.errors import AckdError

Level: TypeAlias = Literal["ok", "warning", "problem"]


class Check(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that was looked at.

    Attributes:
        name: What was looked at, one word.
        level: `ok`, `warning` (it works, but) or `problem`.
        message: What was found, a sentence.
        todo: What to do now, or an empty string.
        fixed: Whether this run put it right.
    """

    name: str
    level: Level
    message: str
    todo: str = ""
    fixed: bool = False


class Patient(msgspec.Struct, frozen=True):
    """What is looked at: the tree as a view, whether to put things right, and the wall clock in milliseconds."""

    view: View
    fix: bool
    now: int


def ok(name: str, message: str, *, fixed: bool = False) -> Check:
    """Say that something is well."""
    return Check(name=name, level="ok", message=message, fixed=fixed)


def warning(name: str, message: str, todo: str = "") -> Check:
    """Say that something is not as it should be, although it works."""
    return Check(name=name, level="warning", message=message, todo=todo)


def problem(name: str, message: str, todo: str = "") -> Check:
    """Say that something is broken."""
    return Check(name=name, level="problem", message=message, todo=todo)


def examine(tree: Path, *, fix: bool = False, now: int | None = None) -> list[Check]:
    """Look at a tree, this machine's memory of it, and the machine.

    Args:
        tree: The tree.
        fix: Put right what is safe: missing files of the template, own sealed files, old scratch files, the mode of the
            state directory.
        now: The wall clock, milliseconds; by default the machine's.

    Raises:
        NoTreeError: There is no such folder.
    """
    from ackd.engine import doctor_channels, doctor_memory, doctor_sync, doctor_tree

    with View(tree) as view:
        patient = Patient(view, fix, int(time.time() * 1000) if now is None else now)
        looks = (*doctor_tree.LOOKS, *doctor_memory.LOOKS, *doctor_channels.LOOKS, *doctor_sync.LOOKS)
        checks = [one for look in looks for one in guarded(look, patient)]
    return [*checks, *examine_machine(now)]


def examine_machine(now: int | None = None) -> list[Check]:
    """Look at the machine alone: Python, packages, git, the clock."""
    from ackd.engine import doctor_machine

    return doctor_machine.examine(int(time.time() * 1000) if now is None else now)


def guarded(look: Callable[[Patient], Iterable[Check]], patient: Patient) -> list[Check]:
    """Run one look; one that cannot be finished is a problem of its own."""
    try:
        return list(look(patient))
    except (AckdError, OSError, sqlite3.Error) as error:
        message = error.message if isinstance(error, AckdError) else str(error)
        hint = error.hint if isinstance(error, AckdError) else ""
        return [problem(look.__name__.removeprefix("look_at_"), f"it cannot be looked at: {message}", hint)]
