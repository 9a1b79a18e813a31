"""Where the schemas and the template are found."""

from __future__ import annotations

from pathlib import Path

import pytest

from ackd.errors import AckdError
from ackd.resources import find_data, schema_dir, template_dir


def _lay(folder: Path) -> Path:
    folder.mkdir(parents=True)
    (folder / "mark.json").touch()
    return folder


def test_the_checkout_has_both() -> None:
    """Run from the checkout, both folders are there."""
    assert (schema_dir() / "envelope.schema.json").is_file()
    assert (template_dir() / "AGENTS.md").is_file()


def test_the_package_goes_first(tmp_path: Path) -> None:
    """What the wheel carries holds, whatever lies beside the installed package."""
    package = tmp_path / "site" / "lib" / "ackd"
    beside = _lay(tmp_path / "site" / "schemas")
    assert find_data("schemas", "mark.json", package=package) == beside
    inside = _lay(package / "_data" / "schemas")
    assert find_data("schemas", "mark.json", package=package) == inside


def test_a_folder_that_is_not_ours_is_not_taken(tmp_path: Path) -> None:
    """A folder of the same name without the marker is passed over, and the error says what to do."""
    (tmp_path / "schemas").mkdir()
    with pytest.raises(AckdError) as raised:
        find_data("schemas", "mark.json", package=tmp_path / "daemon" / "ackd")
    assert "schemas" in raised.value.message
    assert raised.value.hint.startswith("install it again")
