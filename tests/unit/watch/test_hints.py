"""The watcher's hints: what changes is named, what may have been missed is owned up to, and it never dies."""

from __future__ import annotations

import logging
import os
import shutil
import signal
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from ackd.fs.beneath import Root
from ackd.fs.stage import Stage
from ackd.watch import hints as hints_module
from ackd.watch.hints import COOKIE, WatchdogHints
from ackd.watch.port import NOTHING, Changes, Hints
from ackd.watch.scan import scan

# pytest takes back the filter that the watcher itself sets.
pytestmark = pytest.mark.filterwarnings("ignore:Callback with id:RuntimeWarning")

LONG = 10.0


@pytest.fixture
def root(tmp_path: Path) -> Iterator[Root]:
    """A tree with two folders."""
    (tmp_path / "tree" / "roundtable" / "old").mkdir(parents=True)
    (tmp_path / "tree" / "inbox").mkdir()
    with Root(tmp_path / "tree") as opened:
        yield opened


@pytest.fixture
def hints(root: Root) -> Iterator[WatchdogHints]:
    """A watcher that has said its first "rescan" already."""
    watcher = WatchdogHints(root, lambda rel: rel.startswith("ledger"), poll_s=0.3)
    watcher.start()
    assert watcher.wait(0) == Changes(rescan=True)
    assert watcher.healthy() == ""
    yield watcher
    watcher.stop()


def until(watcher: Hints, enough: Callable[[Changes], bool]) -> Changes:
    """Collect hints until there are enough, or fail."""
    end = time.monotonic() + LONG
    paths: frozenset[str] = frozenset()
    rescan = False
    while time.monotonic() < end:
        found = watcher.wait(0.2)
        paths |= found.paths
        rescan = rescan or found.rescan
        if enough(Changes(paths, rescan)):
            return Changes(paths, rescan)
    raise AssertionError(f"only {sorted(paths)}, rescan={rescan}; healthy: {watcher.healthy()!r}")


def until_seen(watcher: Hints, root: Root, *rels: str) -> None:
    """Do with each hint what its receiver does: look at the file, or at all in the folder; until all were seen."""
    missing = set(rels)

    def look(changes: Changes) -> bool:
        for rel in changes.paths:
            missing.discard(rel)
            for found in scan(root, skip=lambda rel, is_folder: False, below=rel):
                missing.discard(found.rel)
        return not missing

    until(watcher, look)


def names(*rels: str) -> Callable[[Changes], bool]:
    """Enough when all of these paths were named."""
    return lambda changes: changes.paths >= set(rels)


def rescans(changes: Changes) -> bool:
    """Enough when a rescan was asked for."""
    return changes.rescan


def test_every_way_of_writing_is_hinted(hints: WatchdogHints, root: Root) -> None:
    """In place, renamed within, renamed from outside, linked in, truncated, removed, in the top and in depth."""
    outside = root.path.parent / "outside.json"
    outside.write_text("{}")
    (root.path / "roundtable/old/请求.json").write_text("{}")
    (root.path / "top.json").write_text("{}")
    (root.path / "roundtable/.a.tmp").write_text("{}")
    os.rename(root.path / "roundtable/.a.tmp", root.path / "roundtable/a.json")
    os.link(outside, root.path / "inbox/linked.json")
    os.rename(outside, root.path / "inbox/moved.json")
    found = until(
        hints,
        names("roundtable/old/请求.json", "top.json", "roundtable/a.json", "inbox/linked.json", "inbox/moved.json"),
    )
    assert not any("/." in rel for rel in found.paths)
    os.truncate(root.path / "roundtable/a.json", 0)
    os.unlink(root.path / "top.json")
    until(hints, names("roundtable/a.json", "top.json"))


def test_what_ackd_publishes_is_one_hint_and_its_scratch_none(hints: WatchdogHints, root: Root) -> None:
    """Staging writes beneath `.ackd`, which nobody hears of; the rename into place is heard."""
    Stage(root).replace("inbox/delivery.json", b"{}")
    found = until(hints, names("inbox/delivery.json"))
    assert found.paths == {"inbox/delivery.json"}
    assert hints.wait(0.2) == NOTHING


def test_a_new_folder_is_hinted_and_watched_from_then_on(hints: WatchdogHints, root: Root) -> None:
    """At the top and in depth: the folder, or what was laid in it at once, and later files in it."""
    (root.path / "intel").mkdir()
    (root.path / "intel/early.json").write_text("{}")
    (root.path / "roundtable/a/b/c").mkdir(parents=True)
    (root.path / "roundtable/a/b/c/early.json").write_text("{}")
    until_seen(hints, root, "intel/early.json", "roundtable/a/b/c/early.json")
    (root.path / "intel/late.json").write_text("{}")
    (root.path / "roundtable/a/b/c/late.json").write_text("{}")
    until_seen(hints, root, "intel/late.json", "roundtable/a/b/c/late.json")


def test_a_folder_of_the_top_may_go_and_come_back(hints: WatchdogHints, root: Root) -> None:
    """Removed and made again, or moved away and replaced: files in the new folder are found by their hints."""
    shutil.rmtree(root.path / "roundtable")
    (root.path / "roundtable").mkdir()
    (root.path / "roundtable/early.json").write_text("{}")
    until_seen(hints, root, "roundtable/early.json")
    (root.path / "roundtable/late.json").write_text("{}")
    until_seen(hints, root, "roundtable/late.json")
    os.rename(root.path / "inbox", root.path / "inbox-old")
    (root.path / "inbox").mkdir()
    (root.path / "inbox/early.json").write_text("{}")
    until_seen(hints, root, "inbox/early.json")
    (root.path / "inbox/late.json").write_text("{}")
    (root.path / "inbox-old/late.json").write_text("{}")
    until_seen(hints, root, "inbox/late.json", "inbox-old/late.json")
    assert hints.healthy() == ""


def test_reading_is_no_change(hints: WatchdogHints, root: Root) -> None:
    """Opening, listing and reading all of it raises no hint, so a rescan does not feed itself."""
    (root.path / "roundtable/a.json").write_text("{}")
    until(hints, names("roundtable/a.json"))
    hints.wait(0.2)
    for _ in range(20):
        root.read("roundtable/a.json", 100)
        root.listdir("roundtable")
    assert hints.wait(0.3) == NOTHING


def test_ignored_folders_are_silent(hints: WatchdogHints, root: Root) -> None:
    """Dot-folders and what the predicate names give no hints, also when they are new."""
    for name in (".git", "ledger", "roundtable/.git"):
        (root.path / name).mkdir()
        (root.path / name / "x.json").write_text("{}")
    (root.path / "roundtable/.hidden.json").write_text("{}")
    (root.path / "roundtable/end.json").write_text("{}")
    assert until(hints, names("roundtable/end.json")).paths == {"roundtable/end.json"}


def test_a_hint_comes_at_once(hints: WatchdogHints, root: Root) -> None:
    """The wait ends by the change, long before its time is over."""
    timer = threading.Timer(0.1, lambda: (root.path / "roundtable/a.json").write_text("{}"))
    timer.start()
    started = time.monotonic()
    assert hints.wait(LONG).paths == {"roundtable/a.json"}
    assert time.monotonic() - started < 2
    timer.join()


def test_without_a_change_the_wait_ends_in_time(hints: WatchdogHints) -> None:
    """A wait of 0.1 s gives nothing after about 0.1 s, one of zero or less at once."""
    started = time.monotonic()
    assert hints.wait(0.1) == NOTHING
    assert 0.09 < time.monotonic() - started < 1
    assert hints.wait(0) == hints.wait(-1) == NOTHING


def test_wake_ends_a_wait_from_a_thread_and_from_a_signal_handler(hints: WatchdogHints) -> None:
    """Also when it comes before the wait begins; one wake ends one wait."""
    started = time.monotonic()
    timer = threading.Timer(0.1, hints.wake)
    timer.start()
    assert hints.wait(LONG) == NOTHING
    hints.wake()
    hints.wake()
    assert hints.wait(LONG) == NOTHING
    before = signal.signal(signal.SIGALRM, lambda *_: hints.wake())
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.1)
        assert hints.wait(LONG) == NOTHING
    finally:
        signal.signal(signal.SIGALRM, before)
    assert time.monotonic() - started < LONG
    assert hints.wait(0.1) == NOTHING
    timer.join()


def test_an_overflow_asks_for_a_rescan(hints: WatchdogHints) -> None:
    """Any warning of watchdog's own log means that hints were lost."""
    logging.getLogger("watchdog.observers.inotify_c").warning("Inotify queue overflowed; events were lost")
    assert hints.wait(LONG) == Changes(rescan=True)
    logging.getLogger("watchdog.observers.inotify").error("queue_events() called when the thread is inactive")
    assert hints.wait(0.05) == NOTHING


def test_watchdogs_own_warnings_do_not_end_it(root: Root) -> None:
    """Where warnings are errors, the one that watchdog raises in its reading thread is let pass."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        watcher = WatchdogHints(root)
        watcher.start()
        watcher.stop()
        warnings.warn("Callback with id '1' already exists for watch ...", RuntimeWarning, stacklevel=1)
        with pytest.raises(RuntimeWarning):
            warnings.warn("another", RuntimeWarning, stacklevel=1)


def test_too_many_hints_become_one_rescan(hints: WatchdogHints, root: Root, monkeypatch: pytest.MonkeyPatch) -> None:
    """The set of hints is bounded: beyond that everything is looked at."""
    monkeypatch.setattr(hints_module, "_MANY_HINTS", 5)
    for number in range(50):
        (root.path / f"roundtable/{number}.json").write_text("{}")
    time.sleep(0.3)
    found = until(hints, rescans)
    assert len(found.paths) <= 5


def test_an_error_in_the_handler_is_a_lost_hint_and_no_more(root: Root) -> None:
    """A predicate that raises costs a rescan; the threads live, and the next change is heard."""
    faults = [True]

    def is_ignored(rel: str) -> bool:
        if faults and "/" in rel:
            faults.clear()
            raise RuntimeError("oops")
        return False

    watcher = WatchdogHints(root, is_ignored)
    watcher.start()
    try:
        assert watcher.wait(0) == Changes(rescan=True)
        (root.path / "roundtable/a.json").touch()
        until(watcher, rescans)
        (root.path / "roundtable/b.json").touch()
        until(watcher, names("roundtable/b.json"))
        assert watcher.healthy() == ""
    finally:
        watcher.stop()


def test_a_replaced_root_is_told_and_watched_again_once_it_is_opened(hints: WatchdogHints, root: Root) -> None:
    """Renamed and replaced: a rescan is asked for and `healthy` says why, until the root is opened anew."""
    os.rename(root.path, root.path.with_name("old"))
    (root.path / "roundtable").mkdir(parents=True)
    until(hints, rescans)
    assert "gone or was replaced" in hints.healthy()
    root.reopen()
    end = time.monotonic() + LONG
    while hints.healthy() and time.monotonic() < end:
        hints.wait(0.2)
    assert hints.healthy() == ""
    (root.path / "roundtable/a.json").write_text("{}")
    until(hints, names("roundtable/a.json"))


def test_dead_threads_are_replaced(hints: WatchdogHints, root: Root) -> None:
    """An observer or an emitter that ended is set up anew with a rescan, and hints flow again."""
    observer = hints._observer
    assert observer is not None
    observer.stop()
    observer.join()
    until(hints, rescans)
    (root.path / "roundtable/a.json").write_text("{}")
    until(hints, names("roundtable/a.json"))
    reader = getattr(hints._observer, "_inotify_fd", None)
    if reader is not None:  # watchdog 7 has one more thread
        reader.stop()
        reader.join()
        until(hints, rescans)
    again = hints._observer
    assert again is not None
    for emitter in tuple(again.emitters):
        if emitter.watch == hints._watches[""]:
            emitter.stop()
            emitter.join()
    until(hints, rescans)
    (root.path / "top.json").write_text("{}")
    until(hints, names("top.json"))


def test_a_watch_that_died_in_silence_is_found_by_the_cookie(root: Root) -> None:
    """All threads live and the root is the same, yet no event comes: the cookie's absence sets it up anew."""
    watcher = WatchdogHints(root, cookie_s=0.5, cookie_wait_s=0.5)
    watcher.start()
    try:
        until(watcher, lambda _: root.exists(COOKIE))
        time.sleep(1.2)
        watcher.wait(0)
        assert watcher.wait(0.05) == NOTHING
        observer = watcher._observer
        assert observer is not None
        observer.remove_handler_for_watch(watcher, watcher._watches[".ackd"])  # type: ignore[arg-type]
        until(watcher, rescans)
        assert watcher._observer is not observer
        assert watcher.healthy() == ""
    finally:
        watcher.stop()


def test_scratch_cleaned_away_is_no_alarm(root: Root) -> None:
    """``git clean`` removes `.ackd`: the cookie finds its way again without any rescan."""
    watcher = WatchdogHints(root, cookie_s=0.5, cookie_wait_s=2.0)
    watcher.start()
    try:
        until(watcher, lambda _: root.exists(COOKIE))
        observer = watcher._observer
        shutil.rmtree(root.path / ".ackd")
        end = time.monotonic() + 4
        while time.monotonic() < end:
            assert not watcher.wait(0.2).rescan
        assert root.exists(COOKIE)
        assert watcher._observer is observer
    finally:
        watcher.stop()


def test_without_inotify_it_polls_and_says_so(root: Root, monkeypatch: pytest.MonkeyPatch) -> None:
    """A system that gives no watches: a rescan every poll, the reason in `healthy`, and another try later."""
    from watchdog import observers

    def refuse() -> None:
        raise OSError(24, "inotify instance limit reached")

    with monkeypatch.context() as patch:
        patch.setattr(observers, "Observer", refuse)
        watcher = WatchdogHints(root, poll_s=0.3)
        watcher.start()
        assert watcher.wait(0) == Changes(rescan=True)
        assert "inotify instance limit reached" in watcher.healthy()
        assert "every 0.3 s" in watcher.healthy()
        until(watcher, rescans)
        until(watcher, rescans)
    try:
        watcher._next_rearm = 0.0
        until(watcher, lambda _: watcher.healthy() == "")
        (root.path / "roundtable/a.json").write_text("{}")
        until(watcher, names("roundtable/a.json"))
    finally:
        watcher.stop()


def test_on_a_remote_file_system_it_polls_besides(root: Root, monkeypatch: pytest.MonkeyPatch) -> None:
    """Hints of this machine's writes still come, and a rescan comes for those of others."""
    monkeypatch.setattr(hints_module, "remote_kind", lambda path: "nfs4")
    watcher = WatchdogHints(root, poll_s=0.3)
    watcher.start()
    try:
        watcher.wait(0)
        assert "nfs4" in watcher.healthy()
        until(watcher, rescans)
        (root.path / "roundtable/a.json").write_text("{}")
        until(watcher, names("roundtable/a.json"))
    finally:
        watcher.stop()


def test_many_folders_at_the_top_are_watched_by_one_watch(root: Root) -> None:
    """Beyond a number of folders no thread is spent on each; hints come all the same, scratch stays silent."""
    for number in range(60):
        (root.path / f"t{number}").mkdir()
    threads = threading.active_count()
    watcher = WatchdogHints(root)
    watcher.start()
    try:
        assert threading.active_count() - threads < 6
        watcher.wait(0)
        Stage(root).replace("t59/a.json", b"{}")
        assert until(watcher, names("t59/a.json")).paths == {"t59/a.json"}
        (root.path / "new").mkdir()
        (root.path / "new/b.json").touch()
        until(watcher, lambda changes: bool(changes.paths & {"new", "new/b.json"}))
    finally:
        watcher.stop()


def test_folders_without_a_watch_are_counted(hints: WatchdogHints, monkeypatch: pytest.MonkeyPatch) -> None:
    """More folders in the scan than watches in the kernel: `healthy` says how many are blind, until they are not."""
    hints.folders_seen(3)
    assert hints.healthy() == ""
    hints.folders_seen(1_000_000)
    assert "folders are not watched" in hints.healthy()
    monkeypatch.setattr(hints_module, "kernel_watches", lambda: None)
    hints.folders_seen(1_000_000)
    assert hints.healthy() == ""


def test_a_tree_that_cannot_be_written_is_watched_without_a_cookie(root: Root) -> None:
    """Where `.ackd` is a file (or the disk read-only), everything else works."""
    (root.path / ".ackd").touch()
    watcher = WatchdogHints(root, cookie_s=0.2, cookie_wait_s=0.2)
    watcher.start()
    try:
        watcher.wait(0)
        time.sleep(1.1)
        assert watcher.wait(0.5) == NOTHING
        assert watcher.healthy() == ""
        (root.path / "roundtable/a.json").write_text("{}")
        until(watcher, names("roundtable/a.json"))
    finally:
        watcher.stop()


def test_a_name_that_is_no_utf8_is_hinted(hints: WatchdogHints, root: Root) -> None:
    """The byte 0xFF comes as surrogateescape, and the watcher lives on."""
    name = os.fsdecode(b"roundtable/a\xff.json")
    (root.path / name).write_text("{}")
    (root.path / "roundtable/line\nbreak.json").write_text("{}")
    until(hints, names(name, "roundtable/line\nbreak.json"))


def test_stop_ends_all_threads_and_may_be_repeated(root: Root) -> None:
    """After the stop no thread, no log handler and no watch is left."""
    before = threading.active_count()
    watcher = WatchdogHints(root)
    assert watcher.healthy() == "not watching"
    watcher.start()
    watcher.stop()
    watcher.stop()
    assert watcher.healthy() == "not watching"
    end = time.monotonic() + LONG
    while threading.active_count() > before and time.monotonic() < end:
        time.sleep(0.05)
    assert threading.active_count() == before
    assert watcher._overflow not in logging.getLogger("watchdog.observers").handlers
