"""The package as users get it: what is in the wheel and the sdist, and that both work far from the checkout."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import sysconfig
import tarfile
import venv
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

import ackd

ROOT = Path(__file__).resolve().parent.parent
DATA = ("schemas", "shared-context-template")


def run(*command: str | Path, cwd: Path, path: str = "") -> subprocess.CompletedProcess[str]:
    """Run a program that sees nothing of this process's Python path, with `cwd` as home too; it must succeed."""
    env = {name: value for name, value in os.environ.items() if not name.startswith(("ACKD", "PYTHON", "XDG"))}
    env |= {"HOME": str(cwd), "PYTHONDONTWRITEBYTECODE": "1"} | ({"PYTHONPATH": path} if path else {})
    done = subprocess.run(command, cwd=cwd, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
    return done


def files_below(folder: Path) -> Iterator[Path]:
    """Give every file below `folder` that belongs to the project, leaving out what Python leaves there."""
    return (path for path in sorted(folder.rglob("*")) if path.is_file() and path.parent.name != "__pycache__")


def build(kind: str, source: Path, target: Path) -> Path:
    """Build the wheel or the sdist of `source` into `target`, without a network."""
    run(sys.executable, "-m", "hatchling", "build", "--target", kind, "--directory", target, cwd=source)
    (built,) = target.glob("*.whl" if kind == "wheel" else "*.tar.gz")
    return built


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built from the checkout."""
    return build("wheel", ROOT, tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="module")
def sdist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sdist, built from the checkout."""
    return build("sdist", ROOT, tmp_path_factory.mktemp("sdist"))


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A fresh environment with the wheel in it, which borrows the libraries of this one: gives its folder of programs.

    A path in a .pth file is added as it is; the .pth files in it are not read, so that an editable ackd of this
    environment stays out of sight.
    """
    fresh = tmp_path_factory.mktemp("fresh") / "env"
    venv.create(fresh, with_pip=False, symlinks=True)
    python = fresh / "bin" / "python"
    run(sys.executable, "-m", "pip", "--python", python, "install", "-q", "--no-deps", "--no-index", wheel, cwd=fresh)
    (site,) = fresh.glob("lib/python*/site-packages")
    (site / "libraries.pth").write_text(sysconfig.get_path("purelib") + "\n", "utf-8")
    return fresh / "bin"


@pytest.mark.needs_tools
def test_the_wheel_holds_the_package_and_its_data(wheel: Path) -> None:
    """Each module, schema and template file is in the wheel with the bytes of the checkout, dot-files included."""
    expected = {f"ackd/{path.relative_to(ROOT / 'daemon/ackd')}": path for path in files_below(ROOT / "daemon/ackd")}
    for folder in DATA:
        expected |= {f"ackd/_data/{path.relative_to(ROOT)}": path for path in files_below(ROOT / folder)}
    with zipfile.ZipFile(wheel) as archive:
        inside = {name for name in archive.namelist() if ".dist-info/" not in name}
        assert inside == set(expected)
        assert [name for name, path in expected.items() if archive.read(name) != path.read_bytes()] == []
    assert {"ackd/py.typed", "ackd/_data/shared-context-template/team.yaml"} <= inside
    assert "ackd/_data/shared-context-template/.gitignore" in inside


@pytest.mark.needs_tools
def test_the_wheel_says_what_it_is(wheel: Path) -> None:
    """Name, version, licence, oldest Python and the one script stand in the metadata."""
    info = f"ackd-{ackd.__version__}.dist-info"
    with zipfile.ZipFile(wheel) as archive:
        metadata = archive.read(f"{info}/METADATA").decode().splitlines()
        scripts = archive.read(f"{info}/entry_points.txt").decode()
        assert f"{info}/licenses/LICENSE" in archive.namelist()
    assert {f"Version: {ackd.__version__}", "License-Expression: MIT", "Requires-Python: >=3.11"} <= set(metadata)
    assert "ackd = ackd.cli:main" in scripts


@pytest.mark.needs_tools
def test_the_sdist_builds_the_same_wheel(wheel: Path, sdist: Path, tmp_path: Path) -> None:
    """Whoever builds from the sdist gets the same files, byte for byte, and finds the tests there too."""
    with tarfile.open(sdist) as archive:
        archive.extraction_filter = tarfile.fully_trusted_filter if hasattr(tarfile, "fully_trusted_filter") else None
        archive.extractall(tmp_path)  # noqa: S202 - our own archive; the argument `filter` came with Python 3.11.4
    source = tmp_path / f"ackd-{ackd.__version__}"
    again = build("wheel", source, tmp_path / "again")
    with zipfile.ZipFile(wheel) as one, zipfile.ZipFile(again) as other:
        assert one.namelist() == other.namelist()
        assert [name for name in one.namelist() if one.read(name) != other.read(name)] == []
    assert (source / "tests" / "test_packaging.py").is_file()
    assert not (source / ".venv").exists()


@pytest.mark.needs_tools
def test_the_installed_command_knows_its_version(installed: Path, tmp_path: Path) -> None:
    """The script and `python -m ackd` answer alike, and run the installed package."""
    where = run(installed / "python", "-c", "import ackd; print(ackd.__file__)", cwd=tmp_path).stdout.strip()
    assert Path(where).is_relative_to(installed.parent)
    by_script = run(installed / "ackd", "--version", cwd=tmp_path).stdout
    by_module = run(installed / "python", "-m", "ackd", "--version", cwd=tmp_path).stdout
    assert by_script == by_module
    assert ackd.__version__ in by_script.split()[-1]


@pytest.mark.needs_tools
def test_init_works_without_the_checkout(installed: Path, tmp_path: Path) -> None:
    """`ackd init` far from the checkout lays down every file of the template, and a second time changes nothing."""
    run(installed / "ackd", "init", "team", cwd=tmp_path)
    first = {path.relative_to(tmp_path): path.read_bytes() for path in files_below(tmp_path / "team")}
    template = ROOT / "shared-context-template"
    assert {Path("team") / path.relative_to(template) for path in files_below(template)} <= set(first)
    run(installed / "ackd", "init", "team", cwd=tmp_path)
    assert {path.relative_to(tmp_path): path.read_bytes() for path in files_below(tmp_path / "team")} == first


@pytest.mark.needs_tools
def test_another_package_named_daemon_stays_importable_beside_the_wheel(installed: Path, tmp_path: Path) -> None:
    """With python-daemon or the like on the path, `import daemon` gives that package."""
    (tmp_path / "other" / "daemon").mkdir(parents=True)
    (tmp_path / "other" / "daemon" / "__init__.py").write_text("OTHER = True\n", "utf-8")
    code = "import daemon, ackd; print(daemon.OTHER)"
    assert run(installed / "python", "-c", code, cwd=tmp_path, path=str(tmp_path / "other")).stdout == "True\n"


def test_another_package_named_daemon_stays_importable_in_the_checkout(tmp_path: Path) -> None:
    """Even where the checkout comes first on the path, its folder `daemon/` does not hide a package of that name."""
    (tmp_path / "daemon").mkdir()
    (tmp_path / "daemon" / "__init__.py").write_text("OTHER = True\n", "utf-8")
    path = os.pathsep.join([str(ROOT), str(ROOT / "daemon"), str(tmp_path)])
    done = run(sys.executable, "-c", "import daemon, ackd; print(daemon.OTHER)", cwd=tmp_path.parent, path=path)
    assert done.stdout == "True\n"


def test_every_make_target_says_what_it_does() -> None:
    """The targets of the Makefile, no more and no fewer, have the help line that `make help` prints."""
    text = (ROOT / "Makefile").read_text("utf-8")
    declared = re.findall(r"^\.PHONY: (.*)$", text, re.MULTILINE)[0].split()
    helped = re.findall(r"^([a-z-]+):.*## \S", text, re.MULTILINE)
    assert helped == declared
    assert {"install", "run", "test", "test-all", "bench", "lint"} <= set(declared)
