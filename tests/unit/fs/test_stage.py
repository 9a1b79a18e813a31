"""Publishing: a name shows all of its bytes or is not there."""

from __future__ import annotations

import errno
import os
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from ackd.errors import InvalidError
from ackd.fs.beneath import LinkedFolderError, PathError, Root
from ackd.fs.stage import SCRATCH, Stage


@pytest.fixture(params=[False, True], ids=["plain", "durable"])
def stage(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Stage]:
    """A stage over an empty tree, once without and once with flushing."""
    with Root(tmp_path) as root:
        yield Stage(root, durable=request.param)


def test_a_staged_file_appears_whole_by_its_publication(stage: Stage, tmp_path: Path) -> None:
    """Before, it lies in scratch only; after, under its name only, in folders that were made for it."""
    staged = stage.stage("deliver-1", b"{}")
    assert stage.waiting() == ["deliver-1"]
    assert not (tmp_path / "inbox").exists()
    assert stage.publish(staged, "inbox/宏观/a.json")
    assert (tmp_path / "inbox/宏观/a.json").read_bytes() == b"{}"
    assert stage.waiting() == []


def test_a_second_publication_says_that_it_was_done(stage: Stage, tmp_path: Path) -> None:
    """After a crash between rename and record, the staged file is gone: that is how we know."""
    staged = stage.stage("a", b"1")
    assert stage.publish(staged, "a.json")
    assert not stage.publish(staged, "a.json")
    assert (tmp_path / "a.json").read_bytes() == b"1"


def test_staging_again_takes_the_place_of_what_a_crash_left(stage: Stage, tmp_path: Path) -> None:
    """A rest of the same name, even a link, is replaced and never written through."""
    (tmp_path / "victim").write_text("untouched")
    stage.stage("a", b"half")
    stage.stage("a", b"whole")
    (tmp_path / SCRATCH / "b").symlink_to(tmp_path / "victim")
    stage.stage("b", b"b")
    assert (tmp_path / SCRATCH / "a").read_bytes() == b"whole"
    assert (tmp_path / SCRATCH / "b").read_bytes() == b"b"
    assert (tmp_path / "victim").read_text() == "untouched"


def test_scratch_may_be_deleted_at_any_time(stage: Stage, tmp_path: Path) -> None:
    """``git clean`` takes `.ackd` away: the next file makes it anew."""
    stage.replace("a.json", b"1")
    (tmp_path / SCRATCH).rmdir()
    (tmp_path / ".ackd").rmdir()
    stage.replace("a.json", b"2")
    assert (tmp_path / "a.json").read_bytes() == b"2"


def test_a_page_is_never_seen_in_part(tmp_path: Path) -> None:
    """While a page is replaced over and over, each read gives one whole version."""
    pages = [bytes([65 + n]) * 100_000 for n in range(4)]
    stop = threading.Event()
    with Root(tmp_path) as root:
        stage = Stage(root)
        stage.replace("BOARD.md", pages[0])

        def write() -> None:
            turn = 0
            while not stop.is_set():
                turn += 1
                stage.replace("BOARD.md", pages[turn % 4])

        writer = threading.Thread(target=write)
        writer.start()
        try:
            for _ in range(200):
                assert (tmp_path / "BOARD.md").read_bytes() in pages
        finally:
            stop.set()
            writer.join()


def test_create_new_never_replaces(stage: Stage, tmp_path: Path) -> None:
    """The first takes the name; a second, and one over a folder or a dangling link, changes nothing."""
    assert stage.create_new("roundtable/t/a.json", b"1")
    assert not stage.create_new("roundtable/t/a.json", b"2")
    (tmp_path / "folder").mkdir()
    (tmp_path / "link").symlink_to("nowhere")
    assert not stage.create_new("folder", b"2")
    assert not stage.create_new("link", b"2")
    assert (tmp_path / "roundtable/t/a.json").read_bytes() == b"1"
    assert not (tmp_path / "nowhere").exists()
    assert stage.waiting() == []
    assert os.stat(tmp_path / "roundtable/t/a.json").st_nlink == 1


def test_of_many_writers_one_gets_the_name(tmp_path: Path) -> None:
    """Eight threads claim the same fifty names: each name is claimed once, with its claimer's bytes."""
    won: list[tuple[str, int]] = []

    def claim(worker: int) -> None:
        with Root(tmp_path) as root:
            stage = Stage(root)
            won.extend(
                (f"drops/{n}.json", worker) for n in range(50) if stage.create_new(f"drops/{n}.json", b"%d" % worker)
            )

    threads = [threading.Thread(target=claim, args=(worker,)) for worker in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(won) == len({name for name, _ in won}) == 50
    assert all((tmp_path / name).read_bytes() == b"%d" % worker for name, worker in won)


@pytest.mark.parametrize("number", [errno.EPERM, errno.EOPNOTSUPP, errno.EXDEV])
def test_create_new_works_without_hard_links(stage: Stage, tmp_path: Path, number: int) -> None:
    """Where the file system has no links, the name is still claimed once and nothing is replaced."""

    def no_links(*args: object, **kwargs: object) -> None:
        raise OSError(number, "no links here")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "link", no_links)
        assert stage.create_new("a.json", b"1")
        assert not stage.create_new("a.json", b"2")
    assert (tmp_path / "a.json").read_bytes() == b"1"
    assert stage.waiting() == []


def test_a_full_disk_leaves_the_old_page_and_no_rest(stage: Stage, tmp_path: Path) -> None:
    """ENOSPC in the middle of writing: what was there stays whole, and the part that was written is removed."""
    stage.replace("BOARD.md", b"old")
    write = os.write

    def full(handle: int, data: bytes) -> int:
        if len(data) > 2:
            return write(handle, data[:2])
        raise OSError(errno.ENOSPC, "No space left on device")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "write", full)
        with pytest.raises(OSError, match="No space left"):
            stage.replace("BOARD.md", b"new!")
        with pytest.raises(OSError, match="No space left"):
            stage.create_new("a.json", b"new!")
    assert (tmp_path / "BOARD.md").read_bytes() == b"old"
    assert not (tmp_path / "a.json").exists()
    assert stage.waiting() == []


def test_a_write_in_parts_is_completed(stage: Stage, tmp_path: Path) -> None:
    """The system may take less than was offered; all of it arrives in the end."""
    write = os.write
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "write", lambda handle, data: write(handle, bytes(data[:3])))
        stage.replace("a", b"0123456789")
    assert (tmp_path / "a").read_bytes() == b"0123456789"


def test_nothing_is_written_through_a_linked_folder(stage: Stage, tmp_path: Path) -> None:
    """A folder that is a link to outside gets nothing, by any of the three ways; nothing is left in scratch."""
    outside = tmp_path.parent / f"{tmp_path.name}-outside"
    outside.mkdir()
    (tmp_path / "inbox").symlink_to(outside)
    with pytest.raises(LinkedFolderError):
        stage.replace("inbox/a/b.json", b"x")
    with pytest.raises(LinkedFolderError):
        stage.create_new("inbox/b.json", b"x")
    staged = stage.stage("a", b"x")
    with pytest.raises(LinkedFolderError):
        stage.publish(staged, "inbox/b.json")
    assert os.listdir(outside) == []
    assert stage.waiting() == ["a"]


def test_a_published_file_takes_the_place_of_a_link(stage: Stage, tmp_path: Path) -> None:
    """A link that lies where a page belongs is replaced itself; its target keeps its bytes."""
    (tmp_path / "mine").write_text("mine")
    (tmp_path / "BOARD.md").symlink_to("mine")
    stage.replace("BOARD.md", b"page")
    assert not (tmp_path / "BOARD.md").is_symlink()
    assert (tmp_path / "mine").read_text() == "mine"


def test_names_are_checked(stage: Stage) -> None:
    """A staged name is one component, a destination a path beneath the tree."""
    with pytest.raises(InvalidError):
        stage.stage("a/b", b"")
    with pytest.raises(PathError):
        stage.stage("..", b"")
    with pytest.raises(PathError):
        stage.publish(stage.stage("a", b""), "../a")
    with pytest.raises(PathError):
        stage.create_new("/etc/x", b"")


def test_a_folder_in_the_way_is_an_error_and_the_staged_file_stays(stage: Stage, tmp_path: Path) -> None:
    """Renaming a file over a folder fails and hands nothing over."""
    (tmp_path / "a.json").mkdir()
    with pytest.raises(IsADirectoryError):
        stage.publish(stage.stage("a", b""), "a.json")
    assert stage.waiting() == ["a"]
    stage.discard("a")
    stage.discard("a")
    assert stage.waiting() == []


def test_durable_flushes_the_file_and_its_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By default nothing is flushed; durable flushes the file, each folder that got a new one, and the last folder."""
    flushed: list[str] = []
    monkeypatch.setattr(os, "fsync", lambda fd: flushed.append(os.readlink(f"/proc/self/fd/{fd}")))
    with Root(tmp_path) as root:
        Stage(root).replace("x/y/a", b"1")
        assert flushed == []
        Stage(root, durable=True).publish(Stage(root, durable=True).stage("s", b"1"), "p/q/a")
    assert flushed == [f"{tmp_path}/{SCRATCH}/s", str(tmp_path), f"{tmp_path}/p", f"{tmp_path}/p/q"]
