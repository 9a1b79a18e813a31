"""Laying down a tree: the template's files where none lie yet, and this machine's copies of the schemas."""

from __future__ import annotations

import os
import shlex
from pathlib import Path

import msgspec

from ackd.errors import AckdError, UsageError
from ackd.fs.beneath import FileRead, Root
from ackd.fs.stage import Stage
from ackd.resources import schema_dir, template_dir
from ackd.tree import layout

SCHEMAS = f"{layout.SCRATCH}/schemas"
"""Where editors find the schemas: in the scratch folder, which no sync carries."""

_CAP = 4 * 1024 * 1024


class LaidDown(msgspec.Struct, frozen=True):
    """What `ackd init` did: the tree, the files that it laid down, and how many were there already."""

    tree: Path
    made: tuple[str, ...]
    kept: int


def lay_down(folder: Path) -> LaidDown:
    """Make a folder a tree; a file that is there stays as it is, whatever it holds.

    Args:
        folder: The tree to be; made where it is missing.

    Raises:
        UsageError: It lies in a tree: one within another would take the other's files for its own.
        AckdError: The folder cannot be made, or something in it is in the way.
    """
    outer = _tree_around(folder)
    if outer is not None:
        raise UsageError(
            f"{folder} lies in the tree {outer}: trees do not nest",
            hint=f"this tree is there already: ackd status --dir {shlex.quote(str(outer))}; "
            "a new one beside it: ackd init DIR",
        )
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise AckdError(
            f"{folder} cannot be made: {error.strerror}", hint="name another folder: ackd init DIR"
        ) from None
    made, kept = [], 0
    template = template_dir()
    with Root(folder) as root:
        stage = Stage(root)
        for source in _files(template):
            path = source.relative_to(template).as_posix()
            try:
                is_new = not root.exists(path) and stage.create_new(path, source.read_bytes())
            except OSError as error:
                raise AckdError(f"{folder / path} cannot be written: {error.strerror}") from None
            if is_new:
                made.append(path)
            else:
                kept += 1
        lay_schemas(root)
    return LaidDown(folder, tuple(made), kept)


def _tree_around(folder: Path) -> Path | None:
    """Give the tree that a folder lies in, links followed; a tree does not lie in itself."""
    above = folder.resolve().parents
    return next((one for one in above if (one / layout.TEAM).is_file() and (one / layout.ROUNDTABLE).is_dir()), None)


def lay_schemas(root: Root) -> int:
    """Copy the schemas into the tree's scratch folder, where editors complete from them; give how many changed.

    They belong to the installed ackd, so an older copy is replaced.
    """
    stage, changed = Stage(root), 0
    for source in sorted(schema_dir().glob("*.json")):
        path, data = f"{SCHEMAS}/{source.name}", source.read_bytes()
        there = root.read(path, _CAP)
        if not isinstance(there, FileRead) or there.data != data:
            stage.replace(path, data)
            changed += 1
    return changed


def _files(folder: Path) -> list[Path]:
    found = []
    for here, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if name != "__pycache__")
        found += [Path(here) / name for name in sorted(names)]
    return found
