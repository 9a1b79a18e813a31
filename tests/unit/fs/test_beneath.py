"""Reading and removing beneath a root: what is hostile is named, never followed, never waited for."""

from __future__ import annotations

import hashlib
import os
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from ackd.errors import NoTreeError
from ackd.fs.beneath import (
    FileRead,
    LinkedFolderError,
    NotRegular,
    PathError,
    Root,
    TooLarge,
    Unreadable,
    Vanished,
    read_at,
)

CAP = 1024 * 1024


@pytest.fixture
def root(tmp_path: Path) -> Iterator[Root]:
    """A tree with one folder in it."""
    (tmp_path / "tree" / "roundtable").mkdir(parents=True)
    with Root(tmp_path / "tree") as opened:
        yield opened


def test_a_file_is_read_whole_with_what_it_is(root: Root) -> None:
    """The bytes are the file's, and the stat is the one that lstat gives."""
    (root.path / "roundtable" / "请求.json").write_bytes("{}中".encode())
    found = root.read("roundtable/请求.json", CAP)
    assert isinstance(found, FileRead)
    assert found.data == "{}中".encode()
    status = os.lstat(root.path / "roundtable" / "请求.json")
    assert (found.stat.kind, found.stat.dev, found.stat.ino, found.stat.size) == (
        "file",
        status.st_dev,
        status.st_ino,
        5,
    )
    assert (found.stat.ctime_ns, found.stat.mtime_ns) == (status.st_ctime_ns, status.st_mtime_ns)
    assert root.stat("roundtable/请求.json") == found.stat


@pytest.mark.parametrize(
    "rel", ["", "/etc/passwd", "..", "../x", "a/../b", "a//b", "a/", "./a", "a/.", "a\0b", "roundtable/../../x"]
)
def test_a_path_that_could_lead_out_is_refused(root: Root, rel: str) -> None:
    """No call opens anything for a path that is empty, absolute, or has a part that is empty, '.' or '..'."""
    for call in (root.stat, root.exists, lambda r: root.read(r, CAP), lambda r: root.unlink_if(r, "")):
        with pytest.raises(PathError):
            call(rel)


def test_what_is_not_there_has_vanished(root: Root) -> None:
    """A missing file, a missing folder and a file in a folder's place all read as vanished."""
    (root.path / "plain").write_text("x")
    assert root.read("no.json", CAP) == Vanished()
    assert root.read("no/such/no.json", CAP) == Vanished()
    assert root.read("plain/no.json", CAP) == Vanished()
    assert root.stat("plain/no.json") is None


def test_links_are_refused_and_never_followed(root: Root, tmp_path: Path) -> None:
    """A link to a file inside, outside, to /dev/zero, to itself or to nothing reads as a link, at once."""
    (tmp_path / "secret").write_text("secret")
    (root.path / "inside").write_text("x")
    targets: dict[str, Path | str] = {
        "a": tmp_path / "secret",
        "b": root.path / "inside",
        "c": "/dev/zero",
        "d": root.path / "d",
        "e": "nowhere",
    }
    for name, target in targets.items():
        (root.path / name).symlink_to(target)
        assert root.read(name, CAP) == NotRegular("symlink")
        status = root.stat(name)
        assert status is not None
        assert status.kind == "symlink"


def test_a_linked_folder_is_refused_for_reading_and_writing(root: Root, tmp_path: Path) -> None:
    """Nothing is read from, listed in or made in a folder that is reached through a link."""
    outside = tmp_path / "outside"
    (outside / "deep").mkdir(parents=True)
    (outside / "deep" / "a.json").write_text("{}")
    (root.path / "outbox").symlink_to(outside)
    assert root.read("outbox/deep/a.json", CAP) == NotRegular("symlink")
    assert root.stat("outbox/deep/a.json") is None
    with pytest.raises(LinkedFolderError):
        root.listdir("outbox")
    with pytest.raises(LinkedFolderError):
        root.makedirs("outbox/new")
    digest = hashlib.sha256(b"{}").hexdigest()
    assert root.unlink_if("outbox/deep/a.json", digest) == "changed"
    assert sorted(os.listdir(outside)) == ["deep"]


def test_pipes_sockets_devices_and_folders_are_named(root: Root) -> None:
    """Each kind that is no file is named within 0.1 s, without reading from it."""
    os.mkfifo(root.path / "pipe.json")
    (root.path / "folder.json").mkdir()
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(root.path / "socket.json"))
        started = time.monotonic()
        assert root.read("pipe.json", CAP) == NotRegular("pipe")
        assert root.read("socket.json", CAP) == NotRegular("socket")
        assert root.read("folder.json", CAP) == NotRegular("folder")
        assert time.monotonic() - started < 0.1
    devices = os.open("/dev", os.O_RDONLY | os.O_DIRECTORY)
    try:
        assert read_at(devices, "zero", CAP) == NotRegular("device")
    finally:
        os.close(devices)


def test_a_sparse_gigabyte_is_refused_by_its_size(root: Root) -> None:
    """The size is looked at before anything is read."""
    with open(root.path / "big.json", "wb") as file:
        file.truncate(1 << 30)
    started = time.monotonic()
    assert root.read("big.json", CAP) == TooLarge(1 << 30)
    assert time.monotonic() - started < 0.1


def test_the_cap_is_the_last_size_that_is_taken(root: Root) -> None:
    """A file of exactly the cap is read, one byte more is not."""
    (root.path / "a").write_bytes(b"x" * 100)
    assert isinstance(root.read("a", 100), FileRead)
    assert root.read("a", 99) == TooLarge(100)


def test_a_file_whose_size_is_not_told_is_still_capped() -> None:
    """Files of /proc say size 0 and give more: all of it comes, or the cap holds."""
    proc = os.open("/proc/self", os.O_RDONLY | os.O_DIRECTORY)
    try:
        found = read_at(proc, "status", CAP)
        assert isinstance(found, FileRead)
        assert b"Threads:" in found.data
        capped = read_at(proc, "status", 10)
        assert isinstance(capped, TooLarge)
        assert capped.size > 10
    finally:
        os.close(proc)


def test_a_file_that_grows_for_ever_ends_the_read(root: Root) -> None:
    """A writer that never stops can't hold the reader: the result is the file so far, or too large."""
    stop = threading.Event()

    def write() -> None:
        with open(root.path / "grow", "wb") as file:
            while not stop.is_set() and file.tell() < 64 * CAP:
                file.write(b"y\n" * 4096)

    writer = threading.Thread(target=write)
    writer.start()
    try:
        for _ in range(50):
            assert isinstance(root.read("grow", 65536), FileRead | TooLarge | Vanished)
    finally:
        stop.set()
        writer.join()


def test_a_name_that_is_too_long_is_unreadable_and_no_crash(root: Root) -> None:
    """ENAMETOOLONG comes back as a reason, and any permission error would."""
    assert root.read("x" * 300, CAP) == Unreadable("its name is too long")


def test_a_file_without_permission_is_unreadable(root: Root) -> None:
    """Mode 000 on a file, or on a folder on the way to it, gives a reason and no exception."""
    (root.path / "a").touch(mode=0o000)
    (root.path / "shut").mkdir(mode=0o000)
    user = os.geteuid()
    if user == 0:
        os.seteuid(65534)  # the superuser may read everything
    try:
        assert root.read("a", CAP) == Unreadable("no permission to read it")
        assert root.read("shut/a", CAP) == Unreadable("no permission to read it")
    finally:
        os.seteuid(user)


def test_too_many_open_files_is_a_reason(root: Root, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever else the system answers to open comes back as a reason, to be tried again."""

    def refuse(*args: object, **kwargs: object) -> int:
        raise OSError(24, "Too many open files")

    monkeypatch.setattr(os, "open", refuse)
    assert root.read("a", CAP) == Unreadable("this process has too many files open")
    assert root.read("b/a", CAP) == Unreadable("this process has too many files open")


def test_a_hard_link_is_a_file(root: Root, tmp_path: Path) -> None:
    """A second name for a file is read like any other."""
    (tmp_path / "x").write_text("{}")
    os.link(tmp_path / "x", root.path / "a.json")
    assert isinstance(root.read("a.json", CAP), FileRead)


def test_a_name_with_bytes_that_are_no_utf8_is_read(root: Root) -> None:
    """A byte 0xFF in a name comes and goes as surrogateescape."""
    name = os.fsdecode(b"a\xff.json")
    (root.path / name).write_text("{}")
    assert isinstance(root.read(name, CAP), FileRead)
    assert name in root.listdir()


def test_listdir_is_sorted_and_empty_where_nothing_is(root: Root) -> None:
    """A folder that is not there lists as empty."""
    for name in "cab":
        (root.path / "roundtable" / name).touch()
    assert root.listdir("roundtable") == ["a", "b", "c"]
    assert root.listdir("no/such") == []


def test_makedirs_makes_what_is_missing_once(root: Root) -> None:
    """It makes all levels, twice is as good as once, and a file in the way is an error."""
    root.makedirs("inbox/宏观/deep", durable=True)
    root.makedirs("inbox/宏观/deep")
    assert (root.path / "inbox/宏观/deep").is_dir()
    (root.path / "plain").touch()
    with pytest.raises(NotADirectoryError):
        root.makedirs("plain/x")


def test_only_our_own_bytes_are_removed(root: Root) -> None:
    """A file that somebody edited stays; one with our bytes goes; one that is gone is gone."""
    digest = hashlib.sha256(b"ours").hexdigest()
    (root.path / "a").write_bytes(b"edited")
    (root.path / "b").write_bytes(b"ours")
    (root.path / "c").symlink_to(root.path / "b")
    assert root.unlink_if("a", digest) == "changed"
    assert root.unlink_if("c", digest) == "changed"
    assert root.unlink_if("b", digest) == "removed"
    assert root.unlink_if("b", digest) == "gone"
    assert root.unlink_if("no/b", digest) == "gone"
    assert root.listdir() == ["a", "c", "roundtable"]


def test_a_file_replaced_while_it_was_checked_stays(root: Root, monkeypatch: pytest.MonkeyPatch) -> None:
    """Between reading and removing somebody renames another file over it: that one is not removed."""
    (root.path / "a").write_bytes(b"ours")
    (root.path / "other").write_bytes(b"ours")
    read = root.read

    def read_then_replace(rel: str, cap: int) -> object:
        found = read(rel, cap)
        os.replace(root.path / "other", root.path / "a")
        return found

    monkeypatch.setattr(root, "read", read_then_replace)
    assert root.unlink_if("a", hashlib.sha256(b"ours").hexdigest()) == "changed"
    assert root.exists("a")


def test_a_replaced_root_is_noticed_and_opened_anew(root: Root) -> None:
    """After a rename and a new folder of the same name the root is another one, until it is opened again."""
    assert root.is_same()
    os.rename(root.path, root.path.with_name("old"))
    assert not root.is_same()
    with pytest.raises(NoTreeError):
        root.reopen()
    assert root.exists("roundtable")
    root.path.mkdir()
    assert not root.is_same()
    root.reopen()
    assert root.is_same()
    assert not root.exists("roundtable")


def test_a_root_that_is_no_folder_says_how_to_make_one(tmp_path: Path) -> None:
    """The error names the path and the command."""
    with pytest.raises(NoTreeError) as caught:
        Root(tmp_path / "no")
    assert str(tmp_path / "no") in caught.value.message
    assert "ackd init" in caught.value.hint


def test_no_handle_is_left_open(root: Root) -> None:
    """Whatever the outcome, the number of open handles stays as it was."""
    (root.path / "roundtable" / "a").write_text("x")
    (root.path / "link").symlink_to("roundtable")
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(3):
        root.read("roundtable/a", CAP)
        root.read("roundtable/a", 0)
        root.read("link/a", CAP)
        root.read("no/such/a", CAP)
        root.read("roundtable", CAP)
        root.stat("roundtable/a")
        root.makedirs("x/y/z")
        root.listdir("x")
        root.unlink_if("roundtable/a", "")
    assert len(os.listdir("/proc/self/fd")) == before


def test_a_fresh_change_is_racy_and_an_old_one_is_not(root: Root) -> None:
    """What changed within two seconds may have changed again under the same time stamp."""
    (root.path / "a").write_text("x")
    status = root.stat("a")
    assert status is not None
    assert status.racy_at(status.ctime_ns + 1)
    assert not status.racy_at(status.ctime_ns + 3_000_000_000)
