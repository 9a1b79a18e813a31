"""Sealed files: written whole, never changed; what is torn or edited is found out and read up to the fault."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from ackd.exchange import Sealed, SealedFiles
from ackd.fs.beneath import Root
from ackd.fs.stage import Stage
from ackd.protocol.entry import NOTED, Entry, make_entry

INC = "0a1b2c3d"
Run = list[tuple[Entry, bytes]]


@pytest.fixture
def files(tmp_path: Path) -> Iterator[SealedFiles]:
    """Give an exchange through an empty tree."""
    with Root(tmp_path) as root:
        yield SealedFiles(root, Stage(root))


def run(count: int, first: int = 1, node: str = "lap", prev: str = "") -> Run:
    """Make a chain of entries."""
    made: Run = []
    for seq in range(first, first + count):
        entry, line = make_entry(
            node=node,
            inc=INC,
            seq=seq,
            prev=prev,
            stamp=(seq, 0),
            kind=NOTED,
            thread="周报",
            at=seq,
            body={"words": f"第 {seq}"},
        )
        made.append((entry, line))
        prev = entry.key
    return made


def publish(files: SealedFiles, entries: Run) -> str:
    """Publish a run and give its path."""
    first = entries[0][0]
    return files.publish(first.node, first.inc, first.seq, [line for _, line in entries])


def only(files: SealedFiles) -> Sealed:
    """Give the only sealed file that is read."""
    (found,) = files.read_all()
    return found


class TestPublishing:
    @pytest.mark.parametrize("node", ["lap", "desk-2", "书房"])
    def test_round_trip(self, files: SealedFiles, node: str) -> None:
        """What was published is read as it was, byte for byte, with its source."""
        entries = run(3, node=node)
        path = publish(files, entries)
        assert path == f"ledger/{node}-{INC}/0000000001-0000000003.jsonl"
        assert only(files) == Sealed(source=path, entries=tuple(entries))

    def test_the_header_says_what_the_file_holds(self, files: SealedFiles, tmp_path: Path) -> None:
        """First line: form, node, incarnation and numbers; then a line an entry, each with its line end."""
        entries = run(2, first=7)
        header, *lines = (tmp_path / publish(files, entries)).read_bytes().split(b"\n")
        assert json.loads(header) == {"ackd": "ledger/1", "node": "lap", "inc": INC, "first": 7, "last": 8, "read": {}}
        assert lines == [entries[0][1], entries[1][1], b""]

    def test_a_second_time_changes_nothing(self, files: SealedFiles, tmp_path: Path) -> None:
        """A name that is there stays as it is, whatever is published under it."""
        path = publish(files, run(2))
        before = (tmp_path / path).read_bytes(), (tmp_path / path).stat().st_ino
        assert publish(files, run(2)) == path
        assert publish(files, run(2, prev="f" * 64)) == path
        assert ((tmp_path / path).read_bytes(), (tmp_path / path).stat().st_ino) == before

    def test_a_damaged_file_can_be_put_back(self, files: SealedFiles, tmp_path: Path) -> None:
        """Only when asked for, the same run takes the damaged file's place."""
        entries = run(2)
        path = publish(files, entries)
        (tmp_path / path).write_bytes(b"damaged")
        publish(files, entries)
        assert (tmp_path / path).read_bytes() == b"damaged"
        assert files.put_back("lap", INC, 1, [line for _, line in entries]) == path
        assert only(files).entries == tuple(entries)

    def test_the_last_number_that_is_published(self, files: SealedFiles, tmp_path: Path) -> None:
        """It is read from the names of one incarnation; other names do not count."""
        assert files.published("lap", INC) == 0
        publish(files, run(3))
        publish(files, run(9, first=4))
        publish(files, run(20, node="desk"))
        for name in ("0000000013-0000000099.jsonl.tmp", "notes.md", "1-99.jsonl", "٠٠٠٠٠٠٠٠٠١-٠٠٠٠٠٠٠٠٩٩.jsonl"):
            (tmp_path / "ledger" / f"lap-{INC}" / name).touch()
        assert files.published("lap", INC) == 12


class TestReading:
    def test_nothing_is_there(self, files: SealedFiles) -> None:
        """A tree without a ledger has nothing to read."""
        assert list(files.read_all()) == []

    def test_one_incarnation_comes_in_order_and_other_files_are_left_out(
        self, files: SealedFiles, tmp_path: Path
    ) -> None:
        """Runs come by their numbers; what is no sealed file by its name is not read."""
        first, second = run(9), run(2, first=10)
        publish(files, second)
        publish(files, first)
        publish(files, run(1, node="desk"))
        folder = tmp_path / "ledger" / f"lap-{INC}"
        (folder / "0000000001-0000000009 (conflicted copy).jsonl").write_bytes(b"x")
        (folder / "0000000012-0000000012.jsonl.part").write_bytes(b"x")
        (tmp_path / "ledger" / "notes").mkdir()
        (tmp_path / "ledger" / "notes" / "0000000001-0000000001.jsonl").write_bytes(b"x")
        found = list(files.read_all())
        assert [(one.entries[0][0].node, one.entries[0][0].seq) for one in found] == [
            ("desk", 1),
            ("lap", 1),
            ("lap", 10),
        ]
        assert [one.problem for one in found] == ["", "", ""]

    def test_a_torn_file_is_read_up_to_the_fault_wherever_it_ends(self, files: SealedFiles, tmp_path: Path) -> None:
        """At every length, what is given are whole entries from the first on, and a problem unless all are there."""
        entries = run(3)
        path = publish(files, entries)
        whole = (tmp_path / path).read_bytes()
        seen = set()
        for length in range(len(whole) + 1):
            (tmp_path / path).write_bytes(whole[:length])
            found = only(files)
            assert found.entries == tuple(entries)[: len(found.entries)]
            assert bool(found.problem) == (len(found.entries) < 3)
            assert path in found.problem or not found.problem
            seen.add(len(found.entries))
        assert seen == {0, 1, 2, 3}

    def test_a_file_that_ends_early_says_where(self, files: SealedFiles, tmp_path: Path) -> None:
        """Cut at a line's end, the file is short of what its name promises."""
        entries = run(3)
        path = publish(files, entries)
        lines = (tmp_path / path).read_bytes().splitlines(keepends=True)
        (tmp_path / path).write_bytes(b"".join(lines[:3]))
        assert only(files) == Sealed(
            source=path, entries=tuple(entries[:2]), problem=f"{path} ends at entry 2, not at 3"
        )

    @pytest.mark.parametrize(
        ("edit", "kept", "line"),
        [
            (lambda lines: lines[1].replace("第 1".encode(), "第 9".encode()), 1, 3),
            (lambda lines: lines[1][:-2], 0, 2),
            (lambda lines: b"\xff" + lines[1], 0, 2),
            (lambda lines: lines[1].replace(b'"v":1', b'"v":2'), 0, 2),
            (lambda lines: lines[2], 0, 2),
            (lambda lines: lines[1] + b"\n" + lines[1], 1, 3),
            (lambda lines: lines[1].replace(b'"lap"', b'"desk"'), 0, 2),
            (lambda lines: lines[1].replace(INC.encode(), b"ffffffff"), 0, 2),
            (lambda lines: b"", 0, 2),
        ],
    )
    def test_an_edited_line_is_found(
        self, files: SealedFiles, tmp_path: Path, edit: Callable[[list[bytes]], bytes], kept: int, line: int
    ) -> None:
        """A changed entry is found at the one after it, which names its hash; a broken or strange one at itself."""
        path = publish(files, run(3))
        lines = (tmp_path / path).read_bytes().split(b"\n")
        lines[1] = edit(lines)
        (tmp_path / path).write_bytes(b"\n".join(lines))
        found = only(files)
        assert len(found.entries) == kept
        assert found.problem.startswith(f"{path}, line {line}: ")

    def test_more_than_the_name_says_is_a_problem(self, files: SealedFiles, tmp_path: Path) -> None:
        """Lines that were added below are said."""
        entries = run(4)
        path = publish(files, entries[:3])
        with (tmp_path / path).open("ab") as file:
            file.write(entries[3][1] + b"\n")
        assert only(files).problem == f"{path} ends at entry 4, not at 3"

    @pytest.mark.parametrize(
        "name",
        [
            f"lap-{INC}/0000000001-0000000004.jsonl",
            f"lap-{INC}/0000000002-0000000003.jsonl",
            f"desk-{INC}/0000000001-0000000003.jsonl",
            "lap-ffffffff/0000000001-0000000003.jsonl",
        ],
    )
    def test_a_file_under_another_name_is_not_taken(self, files: SealedFiles, tmp_path: Path, name: str) -> None:
        """Folder and name must be those that the header says: nobody's entries pass as another's."""
        path = tmp_path / publish(files, run(3))
        target = tmp_path / "ledger" / name
        target.parent.mkdir(exist_ok=True)
        path.rename(target)
        assert only(files) == Sealed(
            source=f"ledger/{name}", entries=(), problem=f"ledger/{name}, line 1: the header belongs to another file"
        )

    @pytest.mark.parametrize(
        "header", [b"", b"{}", b"[]", b"\xff", b'{"ackd":"ledger/1"}', b'{"ackd":"ledger/1","first":"1"}', b"[" * 5_000]
    )
    def test_without_a_header_nothing_is_taken(self, files: SealedFiles, tmp_path: Path, header: bytes) -> None:
        """Entries below something else are nobody's."""
        path = publish(files, run(1))
        (tmp_path / path).write_bytes(header + b"\n" + run(1)[0][1] + b"\n")
        assert only(files) == Sealed(source=path, entries=(), problem=f"{path}, line 1: no header of a ledger file")

    def test_another_form_is_not_taken(self, files: SealedFiles, tmp_path: Path) -> None:
        """A ledger file of a form to come is left alone, and said."""
        path = publish(files, run(1))
        data = (tmp_path / path).read_bytes()
        (tmp_path / path).write_bytes(data.replace(b'"ledger/1"', b'"ledger/2"'))
        assert (only(files).entries, bool(only(files).problem)) == ((), True)

    @pytest.mark.parametrize("obstacle", ["folder", "link", "dangling"])
    def test_what_is_no_file_is_said(self, files: SealedFiles, tmp_path: Path, obstacle: str) -> None:
        """A folder or a link under a sealed file's name is not followed, and holds up no other."""
        path = publish(files, run(2))
        other = publish(files, run(1, node="zoe"))
        moved = (tmp_path / path).rename(tmp_path / "elsewhere")
        if obstacle == "folder":
            (tmp_path / path).mkdir()
        else:
            (tmp_path / path).symlink_to(moved if obstacle == "link" else tmp_path / "none")
        broken, whole = files.read_all()
        assert broken == Sealed(source=path, entries=(), problem=f"{path} cannot be read")
        assert (whole.source, whole.problem) == (other, "")
