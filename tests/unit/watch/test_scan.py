"""The scan finds every entry once, follows nothing, and survives what happens under it."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from ackd.errors import NoTreeError
from ackd.fs.beneath import FileRead, Root
from ackd.watch.scan import MAX_DEPTH, Found, scan


def nothing(rel: str, is_folder: bool) -> bool:
    """Skip nothing."""
    return False


@pytest.fixture
def root(tmp_path: Path) -> Iterator[Root]:
    """An empty tree."""
    with Root(tmp_path) as opened:
        yield opened


def kinds(root: Root, skip: Callable[[str, bool], bool] = nothing, below: str = "") -> dict[str, str]:
    """Scan, and give each path's kind; each path comes once."""
    found = list(scan(root, skip=skip, below=below))
    assert len({entry.rel for entry in found}) == len(found)
    return {entry.rel: entry.stat.kind for entry in found}


def test_all_entries_come_once_with_their_kind(root: Root, tmp_path: Path) -> None:
    """Files, folders (empty ones too), links and pipes; a folder before its content."""
    (tmp_path / "roundtable/周报").mkdir(parents=True)
    (tmp_path / "roundtable/周报/a.json").write_text("{}")
    (tmp_path / "empty").mkdir()
    (tmp_path / "team.yaml").touch()
    (tmp_path / "linked").symlink_to("roundtable")
    (tmp_path / "loop").symlink_to(".")
    os.mkfifo(tmp_path / "pipe.json")
    assert kinds(root) == {
        "team.yaml": "file",
        "empty": "folder",
        "roundtable": "folder",
        "roundtable/周报": "folder",
        "roundtable/周报/a.json": "file",
        "linked": "symlink",
        "loop": "symlink",
        "pipe.json": "pipe",
    }
    order = [entry.rel for entry in scan(root, skip=nothing)]
    assert order.index("roundtable") < order.index("roundtable/周报") < order.index("roundtable/周报/a.json")


def test_what_is_found_equals_what_is_read(root: Root, tmp_path: Path) -> None:
    """An unchanged file has the same stat in the next scan and in a read; an edit of the same size has another."""
    (tmp_path / "a.json").write_text("1")
    times = (1_000_000_000, 1_000_000_000)
    os.utime(tmp_path / "a.json", ns=times)
    first = next(scan(root, skip=nothing))
    read = root.read("a.json", 10)
    assert isinstance(read, FileRead)
    assert first == next(scan(root, skip=nothing)) == Found("a.json", read.stat)
    while (second := next(scan(root, skip=nothing)).stat) == first.stat:
        (tmp_path / "a.json").write_text("2")
        os.utime(tmp_path / "a.json", ns=times)
    assert (second.mtime_ns, second.size) == (first.stat.mtime_ns, first.stat.size)


def test_dot_folders_and_skipped_ones_are_not_entered(root: Root, tmp_path: Path) -> None:
    """`.git` anywhere, `.ackd`, and what the predicate names stay out; a `.git` file and dot-files are the caller's."""
    for folder in (".git/objects", ".ackd/tmp", "inbox/.git", "inbox/sub", "ledger/n-1"):
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / "x.json").touch()
    (tmp_path / "inbox/sub/.git").write_text("gitdir: elsewhere")
    asked: list[tuple[str, bool]] = []

    def skip(rel: str, is_folder: bool) -> bool:
        asked.append((rel, is_folder))
        return rel == "ledger" or rel.endswith("/.git")

    assert set(kinds(root, skip)) == {"inbox", "inbox/sub", "inbox/sub/x.json"}
    assert ("ledger", True) in asked
    assert ("inbox/sub/.git", False) in asked
    assert not any(rel.startswith("ledger/") for rel, _ in asked)


def test_one_folder_can_be_scanned_alone(root: Root, tmp_path: Path) -> None:
    """`below` gives that folder's content by paths from the top; a missing folder, a file or a link gives nothing."""
    (tmp_path / "roundtable/t/deep").mkdir(parents=True)
    (tmp_path / "roundtable/t/deep/a.json").touch()
    (tmp_path / "other.json").touch()
    (tmp_path / "linked").symlink_to("roundtable")
    assert set(kinds(root, below="roundtable/t")) == {"roundtable/t/deep", "roundtable/t/deep/a.json"}
    assert kinds(root, below="no/such") == kinds(root, below="other.json") == kinds(root, below="linked") == {}


def test_a_name_that_is_no_utf8_is_found_and_can_be_opened(root: Root, tmp_path: Path) -> None:
    """The byte 0xFF and a line break come through in files' and folders' names."""
    folder = os.fsdecode(b"f\xff\n")
    (tmp_path / folder).mkdir()
    (tmp_path / folder / os.fsdecode(b"a\xff.json")).write_text("{}")
    rel = f"{folder}/{os.fsdecode(b'a' + bytes([255]) + b'.json')}"
    assert set(kinds(root)) == {folder, rel}
    assert isinstance(root.read(rel, 10), FileRead)


def test_a_very_deep_tree_needs_no_recursion_and_few_handles(root: Root, tmp_path: Path) -> None:
    """All down to the limit is found, the rest is a problem, named once; few handles are open."""
    here = os.open(tmp_path, os.O_RDONLY)
    for level in range(300):
        os.mkdir("d", dir_fd=here)
        os.mkdir("e", dir_fd=here)
        file = os.open(f"{level}.json", os.O_CREAT, dir_fd=here)
        os.close(file)
        below = os.open("d", os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = below
    os.close(here)
    before = len(os.listdir("/proc/self/fd"))
    most, found = 0, []
    for entry in scan(root, skip=nothing):
        most = max(most, len(os.listdir("/proc/self/fd")) - before)
        found.append(entry)
    assert most < 30
    assert len(os.listdir("/proc/self/fd")) == before
    assert sum(entry.rel.endswith(".json") for entry in found) == MAX_DEPTH + 1
    problems = [entry for entry in found if entry.problem]
    assert {entry.problem for entry in problems} == {f"folders are nested deeper than {MAX_DEPTH}"}
    assert len(problems) == 2


def test_a_folder_that_may_not_be_read_is_a_problem_and_the_rest_is_found(
    root: Root, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A folder that may not be listed, or only listed, comes with the reason, once; its neighbours are scanned."""
    for name in ("a", "shut", "listed", "z"):
        (tmp_path / name / "sub").mkdir(parents=True)
        (tmp_path / name / "x.json").touch()
        (tmp_path / name / "y.json").touch()
    tmp_path.chmod(0o755)
    (tmp_path / "shut").chmod(0)
    (tmp_path / "listed").chmod(0o444)
    user = os.geteuid()
    if user == 0:
        os.seteuid(65534)  # the superuser may read everything
        monkeypatch.setattr(root, "is_same", lambda: True)  # for that user the way to the root is shut
    try:
        found = list(scan(root, skip=nothing))
    finally:
        os.seteuid(user)
        (tmp_path / "shut").chmod(0o755)
        (tmp_path / "listed").chmod(0o755)
    rels = {name + more for name in "az" for more in ("", "/sub", "/x.json", "/y.json")}
    assert {entry.rel for entry in found if not entry.problem} == rels | {"listed"}
    assert sorted((entry.rel, entry.problem) for entry in found if entry.problem) == [
        ("listed", "cannot be looked into: Permission denied"),
        ("shut", "cannot be looked into: Permission denied"),
    ]


def test_folders_that_vanish_under_it_are_left_out(root: Root, tmp_path: Path) -> None:
    """After the first entry everything is deleted: the scan ends in peace."""
    for name in "abc":
        (tmp_path / name).mkdir()
        (tmp_path / name / "x.json").touch()
    scanning = scan(root, skip=nothing)
    first = next(scanning)
    for name in "abc":
        shutil.rmtree(tmp_path / name)
    rest = [entry.rel for entry in scanning]
    assert first.rel in {"a", "b", "c"}
    assert rest == []


def test_a_folder_swapped_for_a_link_is_not_entered(root: Root, tmp_path: Path) -> None:
    """Between listing and opening, a folder becomes a link to outside: nothing of outside is seen."""
    outside = tmp_path.parent / f"{tmp_path.name}-outside"
    outside.mkdir()
    (outside / "secret.json").touch()
    (tmp_path / "first.json").touch()
    (tmp_path / "sub").mkdir()
    scanning = scan(root, skip=nothing)
    assert next(scanning).rel == "first.json"
    (tmp_path / "sub").rmdir()
    (tmp_path / "sub").symlink_to(outside)
    assert list(scanning) == []


def test_an_abandoned_scan_leaves_no_handle(root: Root, tmp_path: Path) -> None:
    """A caller that stops in the middle loses nothing but the rest."""
    (tmp_path / "a/b/c").mkdir(parents=True)
    before = len(os.listdir("/proc/self/fd"))
    scanning = scan(root, skip=nothing)
    next(scanning)
    next(scanning)
    scanning.close()  # type: ignore[attr-defined]
    assert len(os.listdir("/proc/self/fd")) == before


def test_a_replaced_root_ends_the_scan_with_an_error(tmp_path: Path) -> None:
    """A root that is gone or another one is never reported as an empty tree, not even at the end."""
    tree = tmp_path / "tree"
    tree.mkdir()
    (tree / "a.json").touch()
    with Root(tree) as root:
        scanning = scan(root, skip=nothing)
        assert next(scanning).rel == "a.json"
        tree.rename(tmp_path / "old")
        with pytest.raises(NoTreeError):
            list(scanning)
        tree.mkdir()
        with pytest.raises(NoTreeError):
            list(scan(root, skip=nothing))
