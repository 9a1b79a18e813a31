"""Names: what is temporary, what is a sync tool's conflict copy, and what only looks like one."""

from __future__ import annotations

import time

import pytest

from ackd.tree.skips import conflict_original, is_temporary, placeholder_of

TEMPORARY = [
    # editors
    *(
        "4913",
        "cpi.json~",
        ".cpi.json.swp",
        ".cpi.json.swx",
        ".cpi.json.swo",
        "cpi.json.swp",
        "#cpi.json#",
        ".#cpi.json",
    ),
    *("cpi.json.save", "cpi.json.save.1", "cpi.json___jb_tmp___", "cpi.json___jb_old___", "sedAb12xY", "cpi.json.bak"),
    *("~$cpi.json", "~WRD0001.tmp", ".~lock.cpi.json#", "cpi.json.sb-1a2b3c4d-AbCdEf"),
    # copies and downloads on their way
    *("cpi.json.part", "cpi.json.PARTIAL", "cpi.json.crdownload", "cpi.json.download", "cpi.json.filepart"),
    *(".cpi.json.tmp.4711", "cpi.json.tmp.4711", "cpi.json.tmp-ab12", "cpi.json.tmp", "cpi.json.temp", "请求.json.tmp"),
    # sync tools, file systems
    *(
        ".syncthing.cpi.json.tmp",
        "~syncthing~cpi.json.tmp",
        ".cpi.json.Ab12Cd",
        ".nfs0000000000012345",
        ".cpi.json.icloud",
    ),
    *(".DS_Store", "._cpi.json", "Thumbs.db", "desktop.ini", "Icon\r"),
    # locks, merges, hidden files
    *("cpi.json.lock", "cpi.json.lck", "cpi.json.orig", "cpi.json.rej", ".json", ".a.json", ".x"),
]
ORDINARY = [
    *(
        "cpi.json",
        "请求.json",
        "request-macro-2.json",
        "x.json.txt",
        "4913.json",
        "sed.json",
        "sedation.json",
        "sedate",
    ),
    *(
        "download.json",
        "lock.json",
        "tmp.json",
        "part.json",
        "save.json",
        "orig.json",
        "a.template.json",
        "x.temperature",
    ),
    *("sync-conflict-guide.json", "q 2.json", "C#.json", "PROJECT_STATUS.md", "weird\nname.json", "a\udcff.json"),
]


@pytest.mark.parametrize("name", TEMPORARY)
def test_temporary_names_are_known(name: str) -> None:
    """A name that an editor, browser or sync tool gives to what is not finished is temporary."""
    assert is_temporary(name)


@pytest.mark.parametrize("name", ORDINARY)
def test_ordinary_names_are_not_temporary(name: str) -> None:
    """A name that a person or an agent may choose is never taken for a temporary one."""
    assert not is_temporary(name)


@pytest.mark.parametrize(
    ("name", "original"),
    [
        ("bond.sync-conflict-20260309-094100-ABCDEFG.json", "bond.json"),
        ("bond.sync-conflict-20260309-094100.json", "bond.json"),
        ("PROJECT_STATUS.sync-conflict-20260309-094200-ABCDEFG.md", "PROJECT_STATUS.md"),
        ("Makefile.sync-conflict-20260309-094200-ABCDEFG", "Makefile"),
        ("bond (wen's conflicted copy 2026-03-09).json", "bond.json"),
        ("bond (conflicted copy 2026-03-09 094100).json", "bond.json"),
        ("债券 (文's conflicted copy).json", "债券.json"),
        ("bond (SFConflict wen@example.org 2026-03-09-09-41-00).json", "bond.json"),
        ("bond_conflict-20260309-094100.json", "bond.json"),
        ("bond（冲突副本）.json", "bond.json"),
        ("bond (文的冲突副本 2026-03-09).json", "bond.json"),
        ("bond.Conflict.json", "bond.json"),
        (
            "bond.sync-conflict-20260309-094100-ABCDEFG.sync-conflict-20260310-094100-ABCDEFG.json",
            "bond.json",
        ),
    ],
)
def test_what_only_a_sync_tool_writes_is_a_copy_even_alone(name: str, original: str) -> None:
    """The original is named whether or not it is there any more."""
    assert conflict_original(name, lambda _: False) == original
    assert conflict_original(name, lambda _: True) == original


@pytest.mark.parametrize(
    "name",
    [
        *(
            "bond (1).json",
            "bond（2）.json",
            "bond(3).json",
            "bond 2.json",
            "bond-MacBook-Pro.json",
            "bond-DESKTOP-4F7K2QX.json",
        ),
        *("bond-Wens-MacBook-Air.json", "bond-Wens-iMac-2.json", "bond-wen-PC.json", "bond-Wens-MBP.local.json"),
    ],
)
def test_what_people_write_too_is_a_copy_only_beside_its_original(name: str) -> None:
    """With `bond.json` in the folder it is a copy of that; without it, a name like any other."""
    assert conflict_original(name, {"bond.json"}.__contains__) == "bond.json"
    assert conflict_original(name, lambda _: False) is None


@pytest.mark.parametrize(
    "name",
    [
        *("sync-conflict-guide.json", "bond.sync-conflict-guide.json", "bond.sync-conflict-2026-ABC.json", "bond.json"),
        *("final-trading.json", "final-trading-2.json", "confirmed-macro-3.json", "bond 20.json", "bond (v1).json"),
        *(
            "(1).json",
            " 2.json",
            "(conflicted copy).json",
            "conflicted copy of bond.json",
            "冲突副本.json",
            "PC.json",
            "bond-pc2.json",
        ),
    ],
)
def test_ordinary_names_are_no_copies(name: str) -> None:
    """Names that only resemble a copy's, and all names that ackd itself proposes, are no copies of anything."""
    assert conflict_original(name, lambda _: True) is None


def test_a_copy_of_a_copy_is_traced_to_the_first() -> None:
    """Each step asks only for names that could be there."""
    there = {"q.json", "q 2.json"}.__contains__
    assert conflict_original("q 2 (1).json", there) == "q.json"
    assert conflict_original("q 2 (1).json", {"q 2.json"}.__contains__) == "q 2.json"


def test_long_names_are_judged_in_no_time() -> None:
    """Names of 255 characters made to be slow take no time."""
    started = time.process_time()
    for part in ("(", " (conflicted copy", ".sync-conflict-20260309-094100", " 2", "-iMac", "（冲突副本", "#"):
        name = (part * 255)[:255]
        conflict_original(name, lambda _: True)
        assert is_temporary(name) == (part[0] in ".#")
    assert time.process_time() - started < 0.5


def test_a_placeholder_names_its_file() -> None:
    """The stand-in that iCloud leaves says which file is not on this machine yet."""
    assert placeholder_of(".bond.json.icloud") == "bond.json"
    assert placeholder_of("bond.json.icloud") is None
    assert placeholder_of(".icloud") is None
    assert placeholder_of(".bond.json") is None
