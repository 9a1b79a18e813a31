"""The memory: one transaction for all, every index answers for itself, and readers go beside the one writer."""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from ackd.errors import BusyError, NoTreeError
from ackd.ledger import Memory
from ackd.ledger.memory import FILE_NAME
from ackd.ledger.rows import FileRow, InboxRow, Known, StagedRow, ThreadRow
from ackd.protocol.entry import NOTED, Entry, make_entry, purge_entry


@pytest.fixture(params=["file", "in memory"])
def memory(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Memory]:
    """Give an empty memory, of both kinds."""
    memory = Memory(tmp_path if request.param == "file" else None)
    yield memory
    memory.close()


@pytest.fixture
def kept(tmp_path: Path) -> Iterator[Memory]:
    """Give an empty memory in a file."""
    memory = Memory(tmp_path)
    yield memory
    memory.close()


def entry(seq: int = 1, thread: str = "week-v1", **changes: Any) -> tuple[Entry, bytes]:
    """Make an entry with its line."""
    words = {"node": "lap", "inc": "0a1b2c3d", "prev": "", "stamp": (1_000 + seq, 0), "kind": NOTED, "at": 1_000 + seq}
    return make_entry(**{**words, "seq": seq, "thread": thread, "body": {"名": seq}, **changes})


def digest(text: str) -> str:
    """Give a digest, as hex."""
    return hashlib.sha256(text.encode()).hexdigest()


def thread(name: str, **changes: Any) -> ThreadRow:
    """Make a thread in short."""
    words = {"key": name, "phase": "open", "next_due": None, "updated": 1, "folder": "", "board": b"{}"}
    return ThreadRow(**{"id": name, **words, **changes})


class TestTransactions:
    def test_all_of_it_is_committed(self, kept: Memory, tmp_path: Path) -> None:
        """What was written inside is there for everybody once it ends."""
        reader = Memory(tmp_path, read_only=True)
        with kept.transaction():
            kept.add_entries([entry()])
            kept.set_meta("incarnation", "0a1b2c3d")
            assert reader.count("entries") == 0
        assert reader.count("entries") == 1
        assert reader.meta("incarnation") == "0a1b2c3d"
        reader.close()

    def test_an_error_takes_all_of_it_back(self, memory: Memory) -> None:
        """Nothing of a group stays when one part of it fails; the error is the caller's own."""

        def group() -> None:
            with memory.transaction():
                memory.add_entries([entry()])
                memory.set_meta("a", "b")
                memory.put_threads([thread("week-v1")])
                raise KeyError("mine")

        with pytest.raises(KeyError, match="mine"):
            group()
        assert (memory.count("entries"), memory.meta("a"), memory.threads()) == (0, "", [])
        with memory.transaction():
            memory.add_entries([entry()])
        assert memory.count("entries") == 1

    def test_what_the_database_refuses_is_an_os_error(self, memory: Memory) -> None:
        """An entry that is there already takes its whole group back, as a disk that fails would."""
        with memory.transaction():
            memory.add_entries([entry(1)])
        with pytest.raises(OSError, match="the memory cannot be written"), memory.transaction():
            memory.add_entries([entry(2), entry(1)])
        assert [one.seq for one, _ in memory.all_entries()] == [1]

    def test_a_second_writer_is_an_os_error(self, kept: Memory, tmp_path: Path) -> None:
        """Two transactions at once cannot be; the one that came second says so and can be tried again."""
        second = Memory(tmp_path)
        second._db.execute("PRAGMA busy_timeout=1")
        with kept.transaction():
            with pytest.raises(OSError, match="locked"), second.transaction():
                second.set_meta("a", "2")
            kept.set_meta("a", "1")
        with second.transaction():
            second.set_meta("b", "2")
        assert (kept.meta("a"), kept.meta("b")) == ("1", "2")
        second.close()


class TestOpening:
    def test_what_was_committed_is_there_again(self, tmp_path: Path) -> None:
        """A memory outlives the process."""
        first = Memory(tmp_path)
        with first.transaction():
            first.add_entries([entry()])
        first.close()
        again = Memory(tmp_path)
        assert [one for one, _ in again.all_entries()] == [entry()[0]]
        again.close()

    def test_in_memory_nothing_is_kept(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """A memory without a folder writes no file, and two of them share nothing."""
        monkeypatch.chdir(tmp_path)
        one, other = Memory(None), Memory(None)
        one.set_meta("a", "b")
        assert other.meta("a") == ""
        assert list(tmp_path.iterdir()) == []
        one.close()
        other.close()

    def test_a_reader_beside_a_writer_sees_what_was_committed_and_writes_nothing(
        self, kept: Memory, tmp_path: Path
    ) -> None:
        """Reading needs no turn of its own, even while a group is being written."""
        kept.set_meta("a", "1")
        with kept.transaction():
            kept.set_meta("a", "2")
            reader = Memory(tmp_path, read_only=True)
            assert reader.meta("a") == "1"
        assert reader.meta("a") == "2"
        with pytest.raises(OSError, match="cannot be written"), reader.transaction():
            reader.set_meta("a", "3")
        reader.close()
        assert kept.meta("a") == "2"

    def test_without_a_memory_there_is_nothing_to_read(self, tmp_path: Path) -> None:
        """A reader makes no memory."""
        with pytest.raises(NoTreeError, match="cannot be opened"):
            Memory(tmp_path, read_only=True)
        assert list(tmp_path.iterdir()) == []

    def test_a_memory_that_is_not_made_yet_is_none(self, tmp_path: Path) -> None:
        """A file in which nobody has laid down the tables yet is no memory to read."""
        (tmp_path / FILE_NAME).touch()
        with pytest.raises(NoTreeError, match="another version"):
            Memory(tmp_path, read_only=True)

    @pytest.mark.parametrize("read_only", [False, True])
    def test_a_newer_version_is_refused_and_left_alone(self, tmp_path: Path, read_only: bool) -> None:
        """A memory that a newer ackd wrote is not touched."""
        Memory(tmp_path).close()
        database = sqlite3.connect(tmp_path / FILE_NAME)
        database.execute("PRAGMA user_version=99")
        database.close()
        before = (tmp_path / FILE_NAME).read_bytes()
        with pytest.raises(NoTreeError, match=r"another version of ackd \(99\)") as caught:
            Memory(tmp_path, read_only=read_only)
        assert caught.value.hint == "update ackd"
        assert (tmp_path / FILE_NAME).read_bytes() == before

    @pytest.mark.parametrize("read_only", [False, True])
    def test_what_is_no_memory_is_refused(self, tmp_path: Path, read_only: bool) -> None:
        """Another file in its place is said, not overwritten."""
        (tmp_path / FILE_NAME).write_bytes(b"no database at all" * 100)
        with pytest.raises(NoTreeError, match="cannot be opened"):
            Memory(tmp_path, read_only=read_only)
        assert (tmp_path / FILE_NAME).read_bytes() == b"no database at all" * 100

    def test_a_whole_file_has_no_damage(self, memory: Memory) -> None:
        """SQLite's own check finds nothing in a memory as we write it."""
        with memory.transaction():
            memory.add_entries([entry(seq) for seq in range(1, 50)])
        assert memory.damage() == []


class TestEntries:
    def test_they_are_given_as_they_came(self, memory: Memory) -> None:
        """The order is that of coming, not of numbers or nodes; a thread has its own, and when each was read."""
        here, there = entry(1), entry(7, node="desk", inc="ffffffff")
        memory.add_entries([there], read_at=5_000)
        memory.add_entries([here, entry(2, "其他")])
        assert [one.node for one, _ in memory.all_entries()] == ["desk", "lap", "lap"]
        assert memory.entries_of("week-v1") == [(there[0], 5_000), (here[0], here[0].at)]
        assert [one.seq for one, _ in memory.entries_of("其他")] == [2]
        assert memory.entries_of("none") == []

    def test_one_incarnation(self, memory: Memory) -> None:
        """Numbers, lines and the newest entry are those of one incarnation alone."""
        run = [entry(seq) for seq in (1, 2, 3)]
        memory.add_entries([*run, entry(9, inc="00000000"), entry(4, node="desk")])
        assert memory.lines("lap", "0a1b2c3d", 2, 3) == [run[1][1], run[2][1]]
        assert memory.last_number("lap", "0a1b2c3d") == 3
        assert memory.last_of("lap", "0a1b2c3d") == run[2][0]
        assert memory.incarnations("lap") == [("00000000", 9), ("0a1b2c3d", 3)]
        assert memory.has_entry("lap", "0a1b2c3d", 3)
        assert not memory.has_entry("lap", "0a1b2c3d", 4)
        assert memory.last_number("lap", "12345678") == 0
        assert memory.last_of("lap", "12345678") is None
        assert memory.incarnations("nobody") == []

    def test_a_purged_line_takes_the_place_and_the_old_one_goes_from_the_file(
        self, kept: Memory, tmp_path: Path
    ) -> None:
        """After a purge and a shrink the removed words are nowhere in the folder; key and order stay."""
        secret = entry(1, body={"words": "streng-geheim-王"})
        kept.add_entries([secret, entry(2)])
        kept.redact([(secret[0], purge_entry(secret[0], {}))])
        kept.shrink()
        (found, _), _ = kept.all_entries()
        assert (found.key, found.body) == (secret[0].key, {"purged": True})
        assert all(b"streng-geheim" not in one.read_bytes() for one in tmp_path.iterdir())

    def test_shrinking_beside_a_reader_says_that_it_was_not_done(self, kept: Memory, tmp_path: Path) -> None:
        """Where somebody reads, the removed words may still be in the file: that is an error, and harmless."""
        kept.add_entries([entry()])
        kept._db.execute("PRAGMA busy_timeout=1")
        reader = sqlite3.connect(tmp_path / FILE_NAME, isolation_level=None)
        reader.execute("BEGIN")
        reader.execute("SELECT * FROM entries").fetchone()
        with pytest.raises(BusyError, match="cannot be written anew"):
            kept.shrink()
        reader.close()
        kept.shrink()
        assert kept.count("entries") == 1

    def test_only_tables_are_counted(self, memory: Memory) -> None:
        """A word that is no table never becomes part of a query."""
        with pytest.raises(ValueError, match="entries; DROP"):
            memory.count("entries; DROP TABLE entries")


class TestContents:
    def test_what_was_taken_in_is_known(self, memory: Memory) -> None:
        """The unknown are left out; what was judged anew replaces what stood there."""
        first, second = digest("a"), digest("b")
        memory.add_known([(first, Known("week-v1", "accepted", "T1", "山/a.json"))])
        memory.add_known([(first, Known("week-v1", "noted", "T2", "山/a.json"))])
        assert memory.known([first, second]) == {first: Known("week-v1", "noted", "T2", "山/a.json")}

    def test_the_first_content_keeps_a_message_id(self, memory: Memory) -> None:
        """A second content under one id does not take it over."""
        memory.add_identities([("m-1", digest("a")), ("m-1", digest("b"))])
        memory.add_identities([("m-1", digest("c"))])
        assert memory.identity("m-1") == digest("a")
        assert memory.identity("m-2") == ""

    def test_words_belong_to_every_thread_in_which_they_were_asked(self, memory: Memory) -> None:
        """Each thread once."""
        memory.add_asked([(digest("w"), "a"), (digest("w"), "b"), (digest("w"), "a")])
        assert sorted(memory.asked(digest("w"))) == ["a", "b"]
        assert memory.asked(digest("x")) == []

    def test_a_chat_keeps_its_first_thread(self, memory: Memory) -> None:
        """A chat thread carries one thread for ever."""
        memory.add_chats([("chat/1", "a"), ("chat/1", "b")])
        assert (memory.chat_thread("chat/1"), memory.chat_thread("chat/2")) == ("a", "")

    def test_files(self, memory: Memory) -> None:
        """What became of a file is kept whole, the newest for each path; attached paths are known by name."""
        row = FileRow(
            path="山/王.json",
            ino=2**62,
            size=3,
            ctime_ns=2**62,
            sha256="s",
            digest="d",
            verdict="accepted",
            thread="week-v1",
            because="why",
            at=9,
        )
        memory.put_files([FileRow(path=row.path, verdict="pending"), FileRow(path="b.json")])
        memory.put_files([row])
        assert memory.file(row.path) == row
        assert memory.file("none") is None
        assert {one.path for one in memory.files()} == {row.path, "b.json"}
        memory.add_attached([("chart.png", "week-v1"), ("chart.png", "other")])
        assert memory.attached("chart.png")
        assert not memory.attached(row.path)

    @pytest.mark.parametrize("what", ["digest", "words", "key", "folder", "path", "attached"])
    def test_absent(self, memory: Memory, what: str) -> None:
        """Of any number of values, those without a row are given, each once, however many are asked for."""
        values = [digest(str(n)) for n in range(1_203)]
        there = values[::2]
        match what:
            case "digest":
                memory.add_known((one, Known("t", "v", "r", "p")) for one in there)
            case "words":
                memory.add_asked((one, "t") for one in there)
            case "key":
                memory.put_threads(thread(f"t-{one}", key=one) for one in there)
            case "folder":
                memory.put_threads(thread(f"t-{one}", folder=one) for one in there)
            case "path":
                memory.put_files(FileRow(path=one) for one in there)
            case _:
                memory.add_attached((one, "t") for one in there)
        assert memory.absent(what, [*values, *values]) == set(values[1::2])
        assert memory.absent(what, []) == set()


class TestThreads:
    def test_due(self, memory: Memory) -> None:
        """What has fallen due comes in the order in which it fell due, to the very millisecond; the rest waits."""
        memory.put_threads([thread("late", next_due=100), thread("later", next_due=200), thread("never")])
        memory.put_threads([thread("first", next_due=50)])
        assert memory.due(49) == []
        assert memory.due(199) == ["first", "late"]
        assert memory.due(200) == ["first", "late", "later"]
        assert memory.next_due() == 50
        memory.put_threads([thread("first"), thread("late"), thread("later")])
        assert memory.next_due() is None
        assert memory.due(10**15) == []

    def test_threads_can_be_made_due(self, memory: Memory) -> None:
        """Only those that have a row."""
        memory.put_threads([thread("a", next_due=900), thread("b")])
        memory.put_due(["a", "b", "none"], 10)
        assert sorted(memory.due(10)) == ["a", "b"]
        assert memory.count("threads") == 2

    def test_open_and_ended(self, memory: Memory) -> None:
        """Open threads come the longest untouched first, ended ones the newest first."""
        rows = [
            thread("old", updated=1),
            thread("new", updated=3),
            thread("end-1", updated=2, phase="final"),
            thread("end-2", updated=4, phase="final"),
        ]
        memory.put_threads(rows)
        assert memory.threads(open_only=True) == rows[:2]
        assert list(memory.ended()) == [rows[3], rows[2]]
        assert [one.id for one in memory.threads()] == ["old", "end-1", "new", "end-2"]
        assert [one.id for one in memory.threads(limit=2, newest=True)] == ["end-2", "new"]
        assert memory.threads(open_only=True, limit=1, newest=True) == [rows[1]]
        assert memory.updated_since(3) == ["end-2", "new"]

    def test_a_thread_that_ends_changes_lists(self, memory: Memory) -> None:
        """One row a thread."""
        memory.put_threads([thread("a")])
        memory.put_threads([thread("a", phase="final")])
        assert memory.threads(open_only=True) == []
        assert [one.id for one in memory.ended()] == ["a"]

    def test_by_name_and_folder(self, memory: Memory) -> None:
        """Threads of one bare name are found together, and a folder says whose it is."""
        row = thread("周报~1a2b", key="周报", folder="roundtable/周报", board=b'{"a":1}', next_due=7)
        memory.put_threads([row, thread("周报"), thread("other", folder="roundtable/other")])
        assert memory.threads_named("周报") == ["周报", "周报~1a2b"]
        assert memory.threads_named("none") == []
        assert memory.thread_row("周报~1a2b") == row
        assert memory.thread_row("none") is None
        assert memory.folder_taken("roundtable/周报") == "周报~1a2b"
        assert memory.folder_taken("roundtable/none") == ""


class TestDeliveries:
    def test_an_intent_is_open_until_its_outcome_is_recorded(self, memory: Memory) -> None:
        """It is given whole, and goes by its obligation."""
        rows = [
            StagedRow(obligation=name, scratch=f"s-{name}", path=f"inbox/王/{name}.json", thread="t", body=b"{}")
            for name in ("a", "b")
        ]
        memory.stage(rows)
        assert sorted(memory.staged(), key=lambda one: one.obligation) == rows
        memory.unstage(["a", "none"])
        assert memory.staged() == rows[1:]

    def test_one_obligation_has_one_open_intent(self, memory: Memory) -> None:
        """Staging it a second time takes the whole group back: nobody is told twice."""
        row = StagedRow(obligation="a", scratch="s", path="p", thread="t", body=b"{}")
        with memory.transaction():
            memory.stage([row])
        with pytest.raises(OSError, match="UNIQUE"), memory.transaction():
            memory.stage([msgspec.structs.replace(row, obligation="b"), row])
        assert memory.staged() == [row]

    def test_the_inbox_has_what_should_lie_there(self, memory: Memory) -> None:
        """By thread, by agent, by both; what was taken or removed is remembered and not listed."""
        rows = [
            InboxRow(path="inbox/macro/1.json", agent="macro", thread="a", ids="1\n2", sha256="s", ino=1, size=2),
            InboxRow(path="inbox/macro/2.json", agent="macro", thread="b", ids="3", sha256="s", mtime_ns=2**62),
            InboxRow(path="inbox/王/3.json", agent="王", thread="a", ids="4", sha256="s"),
            InboxRow(path="inbox/王/4.json", agent="王", thread="a", ids="5", sha256="s", state="taken"),
        ]
        memory.put_inbox(reversed(rows))
        assert memory.inbox() == rows[:3]
        assert memory.inbox(thread="a") == [rows[0], rows[2]]
        assert memory.inbox(agent="macro") == rows[:2]
        assert memory.inbox(thread="a", agent="王") == [rows[2]]
        memory.put_inbox([InboxRow(path=rows[0].path, agent="macro", thread="a", ids="1", sha256="s", state="removed")])
        assert memory.inbox(thread="a") == [rows[2]]
        assert memory.count("inbox") == 4

    def test_pages(self, memory: Memory) -> None:
        """A page has the hash that we wrote last and that of the one before."""
        assert memory.page("BOARD.md") == ("", "")
        memory.put_pages([("BOARD.md", "a", ""), ("roundtable/周报/THREAD.md", "c", "")])
        memory.put_pages([("BOARD.md", "b", "a")])
        assert memory.page("BOARD.md") == ("b", "a")
        assert memory.page("roundtable/周报/THREAD.md") == ("c", "")


def test_resting_changes_nothing(kept: Memory, tmp_path: Path) -> None:
    """Moving the write-ahead log is harmless at any time."""
    kept.set_meta("a", "b")
    kept.rest()
    kept.rest()
    assert kept.meta("a") == "b"
    reader = Memory(tmp_path, read_only=True)
    assert reader.meta("a") == "b"
    reader.close()
