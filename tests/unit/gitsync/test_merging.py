"""The merge of two histories, path by path."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ackd.gitsync.git import Entry
from ackd.gitsync.merging import BESIDE, beside_name, may_be_written, merge
from ackd.tree.layout import is_drop_path
from ackd.tree.skips import conflict_original, is_temporary

A, B, C = (Entry("100644", letter * 40) for letter in "abc")
LINK = Entry("120000", "f" * 40)
NAMES = st.sampled_from(["x.json", "x.md", "d", "d/x.md", "d/e/x.json", "周报.md"])


def _is_possible(entries: dict[str, Entry]) -> bool:
    return not any(other.startswith(f"{one}/") for one in entries for other in entries)


TREES = st.dictionaries(NAMES, st.sampled_from([A, B, C])).filter(_is_possible)


def never(path: str, base: Entry | None, ours: Entry, theirs: Entry) -> None:
    """Merge no lines."""


def after(ours: dict[str, Entry], changes: dict[str, Entry | None]) -> dict[str, Entry]:
    """Give what ours becomes."""
    result: dict[str, Entry | None] = {**ours, **changes}
    return {path: one for path, one in result.items() if one is not None}


def test_what_one_side_changed_is_taken() -> None:
    """Changed, new and gone on the other side only; ours is left alone."""
    base, ours, theirs = {"a": A, "b": A, "c": A}, {"a": A, "b": A, "c": B}, {"a": B, "c": A, "d": C}
    merged = merge([base], ours, theirs, lines=never)
    assert merged.changes == {"a": B, "b": None, "d": C}
    assert merged.conflicts == ()


def test_with_two_bases_a_change_of_either_side_is_seen() -> None:
    """What neither base holds is new; what each holds differently is a conflict, never a silent step back."""
    assert merge([{"x.md": A}, {"x.md": B}], {"x.md": A}, {"x.md": C}, lines=never).changes == {"x.md": C}
    (conflict,) = merge([{"x.md": A}, {"x.md": B}], {"x.md": A}, {"x.md": B}, lines=never).conflicts
    assert conflict.what == "both-changed"


def test_lines_are_merged_but_for_json() -> None:
    """A page may be merged by lines; a message never is."""
    base, ours, theirs = ({"x.md": one, "x.json": one, "ledger/x.jsonl": one} for one in (A, B, C))
    merged = merge([base], ours, theirs, lines=lambda *_: A)
    assert merged.changes["x.md"] == A
    assert {one.path for one in merged.conflicts} == {"x.json", "ledger/x.jsonl"}


def test_a_link_does_not_take_the_place_of_a_file() -> None:
    """Ours stays, and it is said; a link where nothing was stays in git alone."""
    merged = merge([{"x.md": A}], {"x.md": A}, {"x.md": LINK, "y.md": LINK}, lines=never)
    assert merged.changes == {"y.md": LINK}
    assert [one.what for one in merged.conflicts] == ["no-file"]


def test_who_may_run_it_is_no_conflict() -> None:
    """The same bytes with another mode on both sides."""
    ours, theirs = {"x": Entry("100755", "a" * 40)}, {"x": Entry("100644", "a" * 40)}
    assert merge([], ours, theirs, lines=never).changes == {}


def test_a_name_beside_that_is_taken_grows() -> None:
    """Another file under the first name stays."""
    first = beside_name("x.md", C.oid)
    merged = merge([{}], {"x.md": A, first: B}, {"x.md": C}, lines=never)
    assert merged.changes == {beside_name("x.md", C.oid, 16): C}


@pytest.mark.parametrize(
    "path", [".git/config", "a/.GIT/x", "a/.git./x", ".git::$DATA/x", "GIT~1/x", "../x", "/x", ".ackd/x", ".ACKD/x", ""]
)
def test_places_of_git_and_of_ours_are_not_written(path: str) -> None:
    """Whatever a commit holds, under whatever spelling a disk takes for the same."""
    assert not may_be_written(path)


@pytest.mark.parametrize("path", [".gitignore", "a/.github/x", "x.git/y", "..x", "周报/x"])
def test_ordinary_names_are_written(path: str) -> None:
    """Names that merely look alike."""
    assert may_be_written(path)


@pytest.mark.parametrize("path", ["x.json", "X.JSON", "a/论坛.json", "x", "a.b/x", ".gitignore", "P.md", "a/x.tar.gz"])
def test_a_name_beside_is_no_drop_and_no_temporary_file(path: str) -> None:
    """Nor a sync tool's copy; and the status finds it."""
    name = beside_name(path, "0123456789" * 4)
    last = name.rpartition("/")[2]
    assert not is_drop_path(name)
    assert is_temporary(last) == is_temporary(path.rpartition("/")[2])
    assert conflict_original(last, lambda _: True) is None
    assert BESIDE.fullmatch(name)


@given(base=TREES, ours=TREES, theirs=TREES)
def test_no_bytes_of_either_side_are_lost(
    base: dict[str, Entry], ours: dict[str, Entry], theirs: dict[str, Entry]
) -> None:
    """What a side holds, and the other did not take from the base, is in the result, which a commit can hold."""
    result = after(ours, merge([base], ours, theirs, lines=never).changes)
    assert _is_possible(result)
    for mine, other in ((ours, theirs), (theirs, ours)):
        for path, entry in mine.items():
            if base.get(path) != entry or other.get(path) == entry:
                assert entry.oid in {one.oid for one in result.values()}


@given(base=TREES, ours=TREES, theirs=TREES)
def test_a_merge_merged_again_is_the_same(
    base: dict[str, Entry], ours: dict[str, Entry], theirs: dict[str, Entry]
) -> None:
    """Written and committed as ours, as after a crash, it merges to itself, but for other names beside."""
    result = after(ours, merge([base], ours, theirs, lines=never).changes)
    again = merge([base], result, theirs, lines=never)
    assert {one.oid for one in after(result, again.changes).values()} == {one.oid for one in result.values()}


@given(base=TREES, theirs=TREES)
def test_where_only_they_changed_theirs_is_the_result(base: dict[str, Entry], theirs: dict[str, Entry]) -> None:
    """A fast-forward is exactly their commit."""
    merged = merge([base], base, theirs, lines=never)
    assert after(base, merged.changes) == theirs
    assert merged.conflicts == ()
