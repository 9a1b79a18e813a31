"""Decision records: written from the DRI's final, and findings in what others put into `decisions/`."""

from __future__ import annotations

import datetime
import shutil
from pathlib import Path
from typing import Any

import pytest

DECISION = {
    "title": "Cut exposure to 40 %",
    "context": "Oil rose by 9 % in a week",
    "options": ["Hold", {"name": "Cut to 40 %", "good": ["less risk"], "bad": ["fees"]}],
    "chosen": "Cut to 40 %",
    "because": "the risk is one-sided",
}

DRAFT = """---
status: perhaps
---

# A draft

## Considered Options

* One

## Decision Outcome

One.
"""


def final(tree: Any, ack_id: str = "week-v1", decision: Any = DECISION, **more: Any) -> Path:
    """Drop trading's final."""
    document = {"state": "final", "ack_id": ack_id, "from": "trading", "conclusion": "We cut", "decision": decision}
    path: Path = tree.drop(f"roundtable/{ack_id}/final-trading.json", {**document, **more})
    return path


def day(bench: Any) -> str:
    """Give the bench's day as it stands in names."""
    return datetime.datetime.fromtimestamp(bench.now / 1000, datetime.UTC).strftime("%Y%m%d")


def record(tree: Any, bench: Any, ack_id: str = "week-v1") -> Path:
    """Give where the record of a thread lies today."""
    return Path(tree.path / "decisions" / f"{day(bench)}-{ack_id}.md")


def records(tree: Any) -> list[str]:
    """Give the names of all records."""
    return sorted(path.name for path in (tree.path / "decisions").glob("*.md"))


def board(bench: Any) -> str:
    """Give the board, written anew."""
    bench.turn(11)
    page: str = bench.tree.page("BOARD.md").replace("\\", "")
    return page


def notices(tree: Any, agent: str) -> list[dict[str, Any]]:
    """Give the notices of an agent that belong to no thread."""
    return [one for one in tree.inbox(agent) if one["kind"] == "notice" and one["thread"] is None]


@pytest.fixture
def decided(tree: Any, bench: Any) -> Any:
    """A thread whose final carries a decision."""
    bench.now = bench.now // 86_400_000 * 86_400_000 + 43_200_000
    tree.request()
    bench.turn()
    final(tree)
    bench.turn()
    return bench


class TestRecord:
    """The record of a thread."""

    def test_written(self, tree: Any, decided: Any) -> None:
        """A final with a decision becomes a record with title, options, DRI, date and a link to the thread."""
        text = record(tree, decided).read_text(encoding="utf-8")
        iso = f"{datetime.datetime.fromtimestamp(decided.now / 1000, datetime.UTC).date()}"
        for piece in (
            "status: accepted",
            iso,
            "dri: trading",
            "ack_id: week-v1",
            "# Cut exposure to 40 %",
            "Oil rose by 9 % in a week",
            "* Hold",
            "less risk",
            "../roundtable/week-v1/THREAD.md",
            "asked by zoe",
        ):
            assert piece in text
        assert "macro" in text.split("---")[1]
        assert "decisions" not in board(decided)

    def test_good_by_our_own_rules(self, tree: Any, decided: Any) -> None:
        """What we write satisfies what we ask of records."""
        tree.drop("decisions/copy.md", record(tree, decided).read_bytes().replace(b"ack_id: week-v1", b"tags: [a]"))
        assert "decisions/copy.md" not in board(decided)

    def test_without_decision(self, tree: Any, bench: Any) -> None:
        """A final without a decision makes no record, nor does a draft of one in anything else."""
        tree.request()
        bench.turn()
        tree.drop(
            "roundtable/week-v1/supplement-macro.json",
            {"type": "supplement", "ack_id": "week-v1", "from": "macro", "body": "x", "decision": DECISION},
        )
        final(tree, decision=None)
        bench.turn()
        bench.turn(11)
        assert records(tree) == []

    def test_not_the_dri(self, tree: Any, bench: Any) -> None:
        """A decision of somebody who is not the DRI makes no record."""
        tree.request()
        bench.turn()
        document = {"state": "final", "ack_id": "week-v1", "from": "macro", "conclusion": "Hold", "decision": DECISION}
        tree.drop("roundtable/week-v1/final-macro.json", document)
        bench.turn()
        assert records(tree) == []

    def test_revised(self, tree: Any, decided: Any) -> None:
        """A corrected final is rendered anew under the same name, days later too."""
        path = record(tree, decided)
        decided.turn(3 * 86_400)
        final(tree, decision={**DECISION, "title": "削减敞口到 30 %"})
        decided.turn()
        assert records(tree) == [path.name]
        assert "# 削减敞口到 30 %" in path.read_text(encoding="utf-8")

    def test_unchanged(self, tree: Any, decided: Any) -> None:
        """The record is written only when it reads otherwise, and nobody is told of it."""
        before = record(tree, decided).stat()
        told = tree.all_inboxes()
        decided.turn(60)
        decided.close()
        decided.open()
        decided.turn()
        after = record(tree, decided).stat()
        assert (before.st_ino, before.st_mtime_ns) == (after.st_ino, after.st_mtime_ns)
        assert tree.all_inboxes() == told

    def test_edited_by_a_person(self, tree: Any, decided: Any) -> None:
        """An edit of a generated record is kept in `rejected/`, the record is ours again, the DRI hears of it once."""
        path = record(tree, decided)
        ours = path.read_bytes()
        path.write_bytes(ours + b"\nI think otherwise.\n")
        decided.turn()
        decided.turn(60)
        assert path.read_bytes() == ours
        (kept,) = (tree.path / "rejected").rglob("*.md")
        assert kept.read_bytes() == ours + b"\nI think otherwise.\n"
        (notice,) = notices(tree, "trading")
        assert kept.name in notice["summary"]
        assert notices(tree, "zoe") == []

    def test_what_cannot_be_read(self, tree: Any, bench: Any) -> None:
        """What cannot be read of a decision is left out and shown; the final counts."""
        tree.request()
        bench.turn()
        final(tree, decision={"title": "Hold", "options": 7})
        bench.turn()
        assert bench.thread().phase == "final"
        assert "decision.options is no list" in board(bench)
        assert len(records(tree)) == 1

    def test_chosen_is_no_option(self, tree: Any, bench: Any) -> None:
        """The decision is taken as it stands, and the board has a remark; one with more words behind it is fine."""
        tree.request()
        bench.turn()
        final(tree, decision={**DECISION, "chosen": "Sell everything"})
        bench.turn()
        assert "Sell everything" in record(tree, bench).read_text(encoding="utf-8")
        assert 'decision.chosen "Sell everything" is none of the options' in board(bench)
        final(tree, decision={**DECISION, "chosen": "cut to 40 %, from Monday"})
        bench.turn()
        assert "none of the options" not in board(bench)

    def test_hostile_text(self, tree: Any, bench: Any) -> None:
        """Text of an agent breaks neither front matter nor page."""
        tree.request()
        bench.turn()
        final(tree, decision={"title": "---\n# x\n<script>", "options": ["](javascript:x)\n\n## Decision Outcome"]})
        bench.turn()
        text = record(tree, bench).read_text(encoding="utf-8")
        assert text.count("\n## Decision Outcome") == 1
        assert "<script>" not in text

    def test_in_the_way(self, tree: Any, bench: Any) -> None:
        """A folder in the record's place is shown; once it is gone the record appears."""
        tree.request()
        bench.turn()
        record(tree, bench).mkdir()
        final(tree)
        bench.turn()
        assert "cannot be written" in board(bench)
        record(tree, bench).rmdir()
        bench.turn(31)
        assert record(tree, bench).is_file()
        assert "cannot be written" not in board(bench)

    def test_another_final_is_picked(self, tree: Any, decided: Any) -> None:
        """A ruling for a final without a decision takes the record away; one that names the first brings it back."""
        path = record(tree, decided)
        text = path.read_bytes()
        tree.request("week-v9")
        decided.turn()
        mine = {"state": "final", "ack_id": "week-v9", "from": "macro", "conclusion": "Hold", "message_id": "m-1"}
        tree.drop("roundtable/week-v9/final-macro.json", mine)
        decided.turn()
        final(tree, "week-v9", message_id="m-2")
        decided.turn()
        assert record(tree, decided, "week-v9").is_file()
        for pick, there in (("m-1", False), ("m-2", True)):
            ruling = {"type": "ruling", "ack_id": "week-v9", "from": "zoe", "ruling": "pick", "pick": pick}
            tree.drop(f"roundtable/week-v9/ruling-zoe-{pick}.json", ruling)
            decided.turn(1)
            assert record(tree, decided, "week-v9").is_file() == there
        assert path.read_bytes() == text

    def test_lost_memory(self, tree: Any, decided: Any) -> None:
        """After a lost memory the record is the same, still ours, and an edit is still noticed."""
        path = record(tree, decided)
        path.write_bytes(path.read_bytes() + b"x")
        decided.turn()
        ours, told = path.read_bytes(), tree.all_inboxes()
        decided.close()
        shutil.rmtree(tree.base / "state")
        path.write_bytes(ours + b"y")
        decided.open()
        decided.turn(3 * 86_400)
        assert path.read_bytes() == ours
        assert len(list((tree.path / "rejected").rglob("*.md"))) == 2
        assert len(notices(tree, "trading")) == 2
        assert set(told) <= set(tree.all_inboxes())

    def test_killed_before_it_was_written(self, tree: Any, bench: Any) -> None:
        """A record that a crash left out is written at the next start."""
        tree.request()
        bench.turn()
        final(tree)
        bench.turn()
        path = record(tree, bench)
        ours = path.read_bytes()
        bench.close(clean=False)
        path.unlink()
        bench.open()
        bench.turn()
        assert path.read_bytes() == ours


class TestSuperseded:
    """One record in another's place."""

    @pytest.mark.parametrize("form", ["week-v1", "{day}-week-v1", "{day}-week-v1.md", "decisions/{day}-week-v1.md"])
    def test_marked(self, tree: Any, decided: Any, form: str) -> None:
        """A later decision that names an earlier one, by thread or file, marks it; both link to each other."""
        old = record(tree, decided)
        decided.turn(60)
        tree.request("week-v2")
        decided.turn()
        final(tree, "week-v2", {**DECISION, "supersedes": form.format(day=day(decided))})
        decided.turn()
        new = record(tree, decided, "week-v2")
        assert f"status: superseded by {new.stem}" in old.read_text(encoding="utf-8")
        assert f"({new.name})" in old.read_text(encoding="utf-8")
        assert f"({old.name})" in new.read_text(encoding="utf-8")

    def test_taken_back(self, tree: Any, decided: Any) -> None:
        """A correction that no longer names it gives the earlier record back its place."""
        before = record(tree, decided).read_bytes()
        decided.turn(60)
        tree.request("week-v2")
        decided.turn()
        final(tree, "week-v2", {**DECISION, "supersedes": "week-v1"})
        decided.turn()
        assert record(tree, decided).read_bytes() != before
        final(tree, "week-v2", DECISION)
        decided.turn()
        assert record(tree, decided).read_bytes() == before

    def test_not_backwards(self, tree: Any, decided: Any) -> None:
        """An earlier decision replaces no later one, nor itself."""
        decided.turn(60)
        tree.request("week-v2")
        decided.turn()
        final(tree, "week-v2", {**DECISION, "supersedes": "week-v2"})
        decided.turn()
        final(tree, decision={**DECISION, "supersedes": "week-v2"})
        decided.turn()
        for ack_id in ("week-v1", "week-v2"):
            assert "status: accepted" in record(tree, decided, ack_id).read_text(encoding="utf-8")


class TestOthersRecords:
    """Drafts of agents, records that people write."""

    def test_findings(self, tree: Any, bench: Any) -> None:
        """What a record lacks stands on the board with its lines; the file is never touched."""
        path = tree.drop("decisions/my idea.md", DRAFT)
        page = board(bench)
        assert "decisions/my idea.md, line 2:" in page
        assert "no section Context and Problem Statement" in page
        assert path.read_text(encoding="utf-8") == DRAFT
        assert tree.all_inboxes() == {}

    def test_one_line_a_file(self, tree: Any, bench: Any) -> None:
        """However much a note lacks, it takes one line of the board."""
        tree.drop("decisions/my idea.md", "no heading at all\n")
        page = board(bench)
        (line,) = [one for one in page.splitlines() if "my idea.md" in one]
        assert "no title" in line
        assert "no section Considered Options" in line
        assert "… and 1 more" in line

    def test_fixed(self, tree: Any, bench: Any) -> None:
        """Once it is right nothing is shown."""
        tree.drop("decisions/idea.md", DRAFT)
        assert "idea.md" in board(bench)
        good = DRAFT.replace("perhaps", "proposed").replace("# A draft\n", "# A draft\n\n## Context\n\nOil rose.\n")
        tree.drop("decisions/idea.md", good)
        bench.turn()
        assert "idea.md" not in board(bench)

    def test_good(self, tree: Any, bench: Any) -> None:
        """A record by hand in Chinese is as good as any."""
        text = "# 削减敞口\n\n## 背景\n\n油价上涨。\n\n## 方案\n\n* 持有\n* 削减\n\n## 决定\n\n削减。\n"
        path = tree.drop("decisions/20260308-敞口.md", text)
        assert "敞口" not in board(bench)
        assert path.read_text(encoding="utf-8") == text

    def test_no_text(self, tree: Any, bench: Any) -> None:
        """Bytes that are no UTF-8 are a finding with its line."""
        tree.drop("decisions/x.md", b"# a\n\n\xff\n")
        assert "decisions/x.md, line 3: the record is no UTF-8" in board(bench)

    def test_only_the_final_stands(self, tree: Any, decided: Any) -> None:
        """A draft that names a decided thread is shown as not in force, and stays as it is."""
        draft = record(tree, decided).read_bytes().replace(b"40", b"90")
        path = tree.drop("decisions/mine.md", draft)
        assert "decisions/mine.md: the decision of thread week-v1 stands in" in board(decided)
        assert path.read_bytes() == draft
        assert "90" not in record(tree, decided).read_text(encoding="utf-8")

    def test_removed(self, tree: Any, bench: Any) -> None:
        """A draft that was removed is shown no more, at the latest after a restart."""
        tree.drop("decisions/idea.md", DRAFT)
        assert "idea.md" in board(bench)
        tree.remove("decisions/idea.md")
        bench.close()
        bench.open()
        bench.turn()
        assert "idea.md" not in board(bench)
        tree.drop("decisions/idea.md", DRAFT)
        bench.turn()
        assert "idea.md" in board(bench)

    def test_in_the_place_of_ours(self, tree: Any, bench: Any) -> None:
        """What lay at the record's path before is kept before the record takes it."""
        tree.request()
        bench.turn()
        record(tree, bench).write_text(DRAFT, encoding="utf-8")
        bench.turn()
        final(tree)
        bench.turn()
        assert "ack_id: week-v1" in record(tree, bench).read_text(encoding="utf-8")
        (kept,) = (tree.path / "rejected").rglob("*.md")
        assert kept.read_text(encoding="utf-8") == DRAFT
        assert "line 2" not in board(bench)
