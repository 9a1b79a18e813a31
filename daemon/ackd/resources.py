"""Where the schemas and the template of a tree lie: in the installed package, or in the checkout."""

from __future__ import annotations

from pathlib import Path

from ackd.errors import AckdError

_PACKAGE = Path(__file__).resolve().parent


def schema_dir() -> Path:
    """Give the folder of the schemas, `<kind>.schema.json` each.

    Raises:
        AckdError: Neither the package nor a checkout around it has them.
    """
    return find_data("schemas", "envelope.schema.json")


def template_dir() -> Path:
    """Give the folder that `ackd init` lays down as a new tree.

    Raises:
        AckdError: Neither the package nor a checkout around it has it.
    """
    return find_data("shared-context-template", "team.yaml")


def find_data(name: str, marker: str, *, package: Path = _PACKAGE) -> Path:
    """Give a folder of files that ship with ackd.

    A wheel carries it as `_data/<name>` in the package. In a checkout it lies two levels above the package, beside
    `daemon/`.

    Args:
        name: Name of the folder.
        marker: A file that tells our folder from another one of that name.
        package: The folder of the package `ackd`.

    Raises:
        AckdError: It is at neither place.
    """
    places = (package / "_data" / name, package.parent.parent / name)
    for place in places:
        if (place / marker).is_file():
            return place
    raise AckdError(
        f"this installation of ackd lacks its {name} (looked in {places[0]} and {places[1]})",
        hint="install it again: pip install --force-reinstall ackd",
    )
