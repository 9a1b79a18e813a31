"""The people's page: what becomes of its lines, on an engine whose clock moves by hand."""

from __future__ import annotations

import hashlib
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from ackd.engine.page_memory import Page, page_document, page_of
from ackd.protocol.thread import Thread
from ackd.watch.port import NOTHING

if TYPE_CHECKING:
    from tests.conftest import Bench, Tree

PAGE = "PROJECT_STATUS.md"
ASK = "- [ ] @trading: check the limits (by 2099-03-09)"


def page(*requests: str, by: str = "wen", rulings: tuple[str, ...] = (), notes: tuple[str, ...] = ()) -> str:
    """Write a page with these lines under its headings."""
    parts = [
        *("---", "updated: 2026-03-08", f"updated_by: {by}", "health: green", "---", "", "# Project status", ""),
        *("## Requests", "", *requests, "", "## Rulings", "", *rulings, "", "## Notes", "", *notes),
    ]
    return "\n".join(parts) + "\n"


class Room:
    """A bench with a page: saves it, lets it rest, and knows that nobody else writes it."""

    def __init__(self, tree: Tree, bench: Bench) -> None:
        self.tree, self.bench = tree, bench
        self.path = tree.path / PAGE
        bench.turn()
        bench.turn(2)

    def save(self, text: str | bytes, rest: float = 2.5) -> None:
        """Save the page in place and let time pass."""
        data = text.encode() if isinstance(text, str) else text
        self.path.write_bytes(data)
        self.bench.turn()
        self.rest(rest)
        assert self.path.read_bytes() == data, "the page was written by somebody else"

    def rest(self, seconds: float) -> None:
        """Let time pass, in steps."""
        while seconds > 0:
            self.bench.turn(min(1.0, seconds))
            seconds -= 1.0

    def threads(self) -> list[Thread]:
        """Give the threads that the page opened, the oldest first."""
        rows = self.bench.engine.memory.threads()
        found = [self.bench.thread(row.id) for row in rows if row.id.startswith("page-")]
        return sorted(found, key=lambda one: one.messages[0].stamp)

    def told(self, agent: str, kind: str = "notice") -> list[dict[str, Any]]:
        """Give what an agent was told, of one kind."""
        return [one for one in self.tree.inbox(agent) if one["kind"] == kind]

    def about_page(self, agent: str) -> list[dict[str, Any]]:
        """Give the notices about the page."""
        return [one for one in self.told(agent) if one.get("path") == PAGE]

    def board(self) -> str:
        """Give the board, written anew."""
        self.bench.turn(11)
        return self.tree.page("BOARD.md")

    def known(self) -> Page:
        """Give what is remembered of the page."""
        return page_of(self.bench.engine.book.subject(PAGE))

    def document(self) -> dict[str, Any]:
        """Give what faces show of it."""
        return page_document(self.bench.engine.book)


@pytest.fixture
def room(tree: Tree, bench: Bench) -> Room:
    """Give a room whose template page was taken."""
    return Room(tree, bench)


class TestRequests:
    def test_a_line_becomes_a_request_by_who_signed_the_page(self, room: Room) -> None:
        """It goes the way of every request; a day is meant to its end; the addressee hears of it once, and by that."""
        room.save(page(ASK, by="Zoe"))
        (thread,) = room.threads()
        assert (thread.requester, thread.dri, list(thread.duties)) == ("zoe", "trading", ["trading"])
        assert thread.id.startswith("page-check-the-limits-")
        assert thread.folder == f"roundtable/{thread.id}"
        request = thread.message(thread.request)
        assert request is not None
        assert request.path == PAGE
        assert request.content["action"] == "check the limits"
        assert request.content["deadline"].startswith("2099-03-09T23:59:59")
        assert [one["kind"] for one in room.tree.inbox("trading")] == ["request"]
        assert room.bench.verdict(PAGE) == ""

    def test_without_a_signature_it_is_the_nodes_person(self, room: Room) -> None:
        """A page that nobody signed, or a stranger, is the first person's; the stranger is a finding."""
        room.save(page(ASK, by=""))
        assert [one.requester for one in room.threads()] == ["wen"]
        room.save(page(ASK, "- [ ] @macro: 看油价", by="nobody-here"))
        assert [one.requester for one in room.threads()] == ["wen", "wen"]
        (finding,) = room.known().findings
        assert finding.line == 3
        assert "nobody-here" in finding.what

    def test_a_moved_ticked_indented_line_is_the_same_and_changes_nothing(self, room: Room) -> None:
        """Nothing but the words counts."""
        room.save(page(ASK))
        before = room.tree.all_inboxes(), room.threads()
        for line in (
            ASK.replace("[ ]", "[x]"),
            "  " + ASK,
            ASK.replace("- ", "* "),
            ASK.replace("@trading:", "＠trading："),
        ):
            room.save(page("- a bullet above", "", line, notes=("moved",)))
        room.save(page(by="zoe", notes=("nothing is asked here",)))
        room.save(page(ASK, by="zoe"))
        assert (room.tree.all_inboxes(), room.threads()) == before

    def test_a_reworded_line_is_new_and_the_old_one_goes_on(self, room: Room) -> None:
        """The old request is not cancelled; the board says that its line is gone, until its thread ends."""
        room.save(page(ASK))
        room.save(page(ASK.replace("limits", "limits twice")))
        old, new = room.threads()
        assert (old.phase, new.phase, old.ended, old.cancelling) == ("request", "request", False, None)
        board = room.board()
        assert "## From the page" in board
        assert board.count("dropped from the page") == 1
        (gone,) = [line for line in board.splitlines() if "dropped from the page" in line]
        assert f"{old.id}, request" in gone.replace("\\", "")
        assert [one["line"] for one in room.document()["requests"]] == [None, 11]
        room.tree.drop("final.json", {"state": "final", "ack_id": old.id, "from": "trading", "conclusion": "in order"})
        assert "dropped from the page" not in room.board()

    def test_words_that_come_back_are_the_old_request(self, room: Room) -> None:
        """Reworded and put back: two requests in all."""
        for line in (ASK, ASK.replace("limits", "caps"), ASK, ASK.replace("limits", "caps")):
            room.save(page(line))
        assert len(room.threads()) == 2
        assert len(room.told("trading", "request")) == 2

    def test_nobody_on_the_roster_is_a_finding_until_somebody_is(self, room: Room) -> None:
        """The line waits, and is asked when the team takes the agent in."""
        room.save(page("- [ ] @ghost: find the keys", "- [ ] @desk: who?"))
        assert room.threads() == []
        first, second = room.known().findings
        assert (first.line, second.line) == (11, 12)
        assert "ghost" in first.what
        assert "groups alone" in second.what
        room.tree.team(agents={"zoe": {}, "macro": {}, "trading": {}, "ghost": {}})
        room.bench.turn()
        room.rest(3)
        assert [one.dri for one in room.threads()] == ["ghost"]

    def test_the_verdict_of_the_table_holds_for_the_page_too(self, room: Room) -> None:
        """The same words under a third deadline are a second retry: refused, shown beside the line, once."""
        room.save(page(*(ASK.replace("09", day) for day in ("10", "11", "12"))))
        assert [one.request != "" for one in room.threads()].count(True) == 2
        assert "refused: the same was asked under" in room.board()
        assert room.tree.records() == []

    def test_lines_elsewhere_and_in_comments_ask_nothing(self, room: Room) -> None:
        """Only the section of requests asks."""
        room.save(page("<!--", ASK, "-->", "```", ASK, "```", notes=(ASK,)))
        assert room.threads() == []

    def test_a_chinese_page_is_understood(self, room: Room) -> None:
        """Headings, punctuation, names, deadline."""
        room.tree.team(agents={"zoe": {}, "宏观": {}}, people=["文"])
        text = "---\nupdated_by: 文\n---\n## 请求\n\n- [ ] ＠宏观：看一下油价（2099年3月9日前）\n\n## 裁决\n"
        room.save(text)
        (thread,) = room.threads()
        assert (thread.requester, thread.dri) == ("文", "宏观")
        assert thread.id.startswith("page-看一下油价-")
        assert thread.deadline_ms is not None
        room.save(text + f"\n- {thread.id}：dri=zoe\n")
        assert room.bench.thread(thread.id).dri == "zoe"


class TestRulings:
    def test_a_ruling_is_carried_out_once(self, room: Room) -> None:
        """By the person who signed; its verdict stands beside the line."""
        room.tree.request()
        room.bench.turn()
        room.save(page(rulings=("- week-v1: dri=macro", "- week-v1: extend=2h")))
        thread = room.bench.thread()
        assert (thread.dri, thread.extensions) == ("macro", 1)
        for _ in range(2):
            room.save(page(rulings=("* **week-v1**: DRI=macro", "", "- week-v1: extend=2h")))
        assert room.bench.thread().extensions == 1
        assert room.board().count(": ruled") == 2

    def test_only_people_and_arbiters_rule(self, room: Room) -> None:
        """An agent's signature makes it a finding."""
        room.tree.request()
        room.bench.turn()
        room.save(page(by="macro", rulings=("- week-v1: cancel",)))
        assert not room.bench.thread().ended
        (finding,) = room.known().findings
        assert finding.line == 14
        assert "only a person or an arbiter" in finding.what
        room.save(page(by="zoe", rulings=("- week-v1: cancel",)))
        assert room.bench.thread().ended

    def test_a_ruling_before_its_request_is_held_and_then_rises(self, room: Room) -> None:
        """The board shows what is true now."""
        room.save(page(rulings=("- week-v1: dri=macro", "- week-v1: dri=ghost")))
        assert room.document()["rulings"][0]["verdict"] == "held"
        assert [one.line for one in room.known().findings] == [15]
        room.tree.request()
        room.bench.turn(1)
        assert room.document()["rulings"][0]["verdict"] == "ruled"
        assert room.bench.thread().dri == "macro"

    def test_after_the_end_it_is_late_and_says_so(self, room: Room) -> None:
        """What the judge says is shown."""
        room.tree.request()
        room.tree.drop("final.json", {"state": "final", "ack_id": "week-v1", "from": "trading", "conclusion": "40 %"})
        room.bench.turn()
        room.save(page(rulings=("- week-v1: extend=2h",)))
        assert room.document()["rulings"][0]["verdict"] in ("late", "kept")
        assert room.bench.thread().deadline_ms is None


class TestWhoIsTold:
    def test_changed_lines_are_told_once_to_those_whom_they_name(self, room: Room) -> None:
        """Any spelling of the name, a group, and nobody else."""
        room.save(page(notes=("＠Macro: the archive is open <b>now</b>", "nobody is meant here")))
        (notice,) = room.about_page("macro")
        assert notice["asks"] == ["none"]
        assert notice["notes"] == [
            "line 2: updated: 2026-03-08",
            "line 3: updated_by: wen",
            "line 17: ＠Macro: the archive is open <b>now</b>",
            "line 18: nobody is meant here",
        ]
        assert room.about_page("trading") == room.about_page("zoe") == []
        room.save(page(notes=("nobody is meant here", "＠Macro: the archive is open <b>now</b>")))
        room.save(page(notes=("nobody is meant here", "＠Macro: the archive is open <b>now</b>", "one more line")))
        assert len(room.about_page("macro")) == 1
        room.save(page(notes=("@desk look here",)))
        assert (len(room.about_page("macro")), len(room.about_page("trading"))) == (2, 1)
        assert room.about_page("zoe") == room.about_page("wen") == []

    def test_of_many_changed_lines_those_with_names_are_shown(self, room: Room) -> None:
        """The rest is counted."""
        room.save(page(notes=(*(f"thought {number}" for number in range(100)), "and @macro: read on")))
        (notice,) = room.about_page("macro")
        assert notice["notes"][-2:] == ["line 117: and @macro: read on", "… and 43 more changed lines"]
        assert len(notice["notes"]) == 61

    def test_lines_that_come_back_are_no_news(self, room: Room) -> None:
        """Another version of the page and back: each change is told once."""
        one, other = page(notes=("@macro: call",)), page(notes=("@trading: call",))
        for text in (one, other, one, other, "", one):
            room.save(text, rest=7)
        assert (len(room.about_page("macro")), len(room.about_page("trading"))) == (1, 1)

    def test_who_is_named_in_a_request_of_others_is_told_of_it(self, room: Room) -> None:
        """The one who is asked gets the request alone."""
        room.save(page("- [ ] @trading: check the limits with @macro"))
        assert [one["kind"] for one in room.tree.inbox("trading")] == ["request"]
        assert len(room.about_page("macro")) == 1

    def test_a_line_that_came_as_a_request_is_not_in_the_notice(self, room: Room) -> None:
        """Each is shown the changed lines but for those that he was asked by; others are shown them."""
        room.save(page(ASK, "- [ ] @macro: 看油价", notes=("@trading and @macro and @zoe: see above",)))
        told = {}
        for name in ("trading", "macro", "zoe"):
            (notice,) = room.about_page(name)
            told[name] = str(notice)
        assert ("check the limits" in told["trading"], "看油价" in told["trading"]) == (False, True)
        assert ("check the limits" in told["macro"], "看油价" in told["macro"]) == (True, False)
        assert ("check the limits" in told["zoe"], "看油价" in told["zoe"]) == (True, True)
        before = room.tree.all_inboxes()
        room.bench.close()
        room.bench.open()
        room.rest(3)
        assert room.tree.all_inboxes() == before

    def test_who_signs_a_change_is_not_told_of_it(self, room: Room) -> None:
        """An old signature below somebody else's change proves nothing."""
        room.save(page(by="zoe", notes=("@zoe writes to herself",)))
        assert room.about_page("zoe") == []
        room.save(page(by="zoe", notes=("@zoe: somebody else asks",)))
        assert len(room.about_page("zoe")) == 1

    def test_addresses_code_and_front_matter_name_nobody(self, room: Room) -> None:
        """Neither does a longer name."""
        room.save(page(by='"@macro"', notes=("`@macro`", "mail zoe@macro.example", "@macro-2 and @macros")))
        assert room.tree.all_inboxes() == {}


class TestHowItIsSaved:
    def test_a_text_counts_once_it_has_rested(self, room: Room) -> None:
        """Not at 0.9 s, at 1 s; a change in between begins anew; without a hint the change is seen all the same."""
        room.path.write_text(page(ASK), encoding="utf-8")
        room.bench.turn(0, NOTHING)
        room.bench.turn(0.9, NOTHING)
        assert room.threads() == []
        room.path.write_text(page(ASK.replace("limits", "caps")), encoding="utf-8")
        room.bench.turn(0.5, NOTHING)
        room.bench.turn(0.9, NOTHING)
        assert room.threads() == []
        room.bench.turn(0.1, NOTHING)
        assert [one.messages[0].content["action"] for one in room.threads()] == ["check the caps"]

    @pytest.mark.parametrize("instant", ["empty", "gone", "renamed", "beginning"])
    def test_an_instant_of_saving_is_no_deletion(self, room: Room, instant: str) -> None:
        """Four seconds of nothing, then the page is back: no line was ever gone."""
        text = page(ASK, notes=("@macro: call",))
        room.save(text)
        before = room.tree.all_inboxes(), room.known()
        if instant == "gone":
            room.path.unlink()
        elif instant == "renamed":
            room.path.rename(room.path.with_name(PAGE + "~"))
        else:
            room.path.write_bytes(b"" if instant == "empty" else text.encode()[:120])
        room.bench.turn()
        room.rest(4)
        assert room.known() == before[1]
        room.save(text)
        assert (room.tree.all_inboxes(), room.known()) == before

    def test_a_page_that_stays_away_drops_its_lines(self, room: Room) -> None:
        """After five seconds it is believed; nobody is told, nothing is cancelled, and its return is no news."""
        text = page(ASK, notes=("@macro: call",))
        room.save(text)
        before = room.tree.all_inboxes()
        room.path.unlink()
        room.bench.turn()
        room.rest(6)
        assert "dropped from the page" in room.board()
        room.save(text)
        assert "dropped from the page" not in room.board()
        assert room.tree.all_inboxes() == before

    def test_a_line_without_its_end_waits_longer(self, room: Room) -> None:
        """A text that does not end in a line end may go on."""
        whole = page(ASK)
        room.save(whole[: whole.index(" the limits")], rest=1.5)
        assert room.threads() == []
        room.save(whole)
        assert [one.messages[0].content["action"] for one in room.threads()] == ["check the limits"]

    def test_conflict_markers_are_one_finding_and_nothing_else(self, room: Room) -> None:
        """The text before them stays what changes are compared with; resolved, only the new line is asked."""
        room.save(page(ASK))
        before = room.tree.all_inboxes()
        other = "- [ ] @macro: look at oil"
        room.save(page("<<<<<<< HEAD", ASK, "=======", other, ">>>>>>> theirs", rulings=("- x: nonsense",)))
        (finding,) = room.known().findings
        assert (finding.line, "conflict" in finding.what) == (11, True)
        assert room.tree.all_inboxes() == before
        assert "dropped" not in room.board()
        room.save(page(other, ASK))
        assert room.known().findings == ()
        assert [one.dri for one in room.threads()] == ["trading", "macro"]

    def test_what_is_no_page_is_one_finding_and_changes_nothing(self, room: Room) -> None:
        """Too large, no text, a folder in its place: what was asked stands."""
        room.save(page(ASK))
        before = room.known().requests
        room.save(page(ASK) + "x" * (1024 * 1024), rest=7)
        assert "1048576 bytes" in room.known().findings[0].what
        room.save(page(ASK).encode() + b"\0\0\n", rest=7)
        assert "cannot be read" in room.known().findings[0].what
        room.save(page(*(f"- line {number}" for number in range(5_001))), rest=7)
        assert "5000 lines" in room.known().findings[0].what
        room.path.unlink()
        room.path.mkdir()
        room.bench.turn()
        room.rest(6)
        assert "folder" in room.known().findings[0].what
        assert room.known().requests == before
        room.path.rmdir()
        room.save(page(ASK))
        assert room.known().findings == ()
        assert len(room.threads()) == 1


class TestWhatIsShown:
    def test_findings_stand_on_the_board_with_their_lines_and_go_to_nobody(self, room: Room) -> None:
        """Hostile text is escaped."""
        room.save(page("- [ ] macro: no at", rulings=("- week-v1: <script>", "- oil: pick")).replace("green", "pink"))
        board = room.board()
        assert [one.line for one in room.known().findings] == [4, 11, 15, 16]
        assert all(f"line {number}:" in board for number in (4, 11, 15, 16))
        assert "<script>" not in board
        assert room.tree.all_inboxes() == {}

    def test_a_long_page_is_cut_on_the_board(self, room: Room) -> None:
        """The rest is named, and faces still give it."""
        room.save(page(*(f"- [ ] @macro: task {number}" for number in range(120))))
        assert len(room.threads()) == 120
        assert "more: ackd status --json" in room.board()
        assert len(room.document()["requests"]) == 120


class TestWhatIsRemembered:
    def test_the_page_of_the_template_is_no_news(self, room: Room) -> None:
        """Nothing is written of it, in the ledger or elsewhere."""
        assert room.bench.engine.book.subject(PAGE).at == 0
        assert room.board().count("From the page") == 0

    def test_a_restart_and_a_lost_memory_ask_and_tell_nothing_again(self, room: Room) -> None:
        """The ledger in the tree is enough."""
        room.save(page(ASK, rulings=("- week-v1: cancel",), notes=("@macro: call",)))
        before, threads = room.tree.all_inboxes(), [one.id for one in room.threads()]
        known = room.known()
        room.bench.close()
        state: Path = room.tree.node().state
        for lose in (False, True):
            if lose:
                shutil.rmtree(state)
            room.bench.open()
            room.bench.turn()
            room.rest(4)
            assert room.tree.all_inboxes() == before
            assert [one.id for one in room.threads()] == threads
            assert room.known() == known
            if not lose:
                room.bench.close()

    def test_a_request_that_was_forgotten_is_found_by_its_thread(self, room: Room) -> None:
        """Even signed by another person it is not asked a second time."""
        room.save(page(ASK))
        book = room.bench.engine.book
        book.note(PAGE, {}, None, room.bench.now)
        room.bench.turn()
        room.save(page(ASK, by="zoe"))
        assert len(room.threads()) == 1
        assert len(room.told("trading", "request")) == 1
        assert room.document()["requests"][0]["ack_id"] == room.threads()[0].id

    def test_what_left_the_page_is_bounded(self, room: Room) -> None:
        """Of 300 requests that left it the latest 200 are remembered, and the page's own hash never changes."""
        for start in (0, 150):
            room.save(page(*(f"- [ ] @macro: task {number}" for number in range(start, start + 150))))
        room.save(page())
        assert len(room.known().requests) == 200
        assert room.known().sha256 == hashlib.sha256(room.path.read_bytes()).hexdigest()

    def test_a_turn_that_failed_is_taken_again(self, room: Room, monkeypatch: pytest.MonkeyPatch) -> None:
        """Nothing was recorded, so nothing counts as taken."""
        memory = room.bench.engine.memory
        add = memory.add_entries

        def fail(*_: object) -> None:
            raise OSError(28, "No space left on device")

        monkeypatch.setattr(memory, "add_entries", fail)
        room.save(page(ASK))
        assert room.tree.all_inboxes() == {}
        monkeypatch.setattr(memory, "add_entries", add)
        room.bench.turn(2)
        room.rest(3)
        assert len(room.told("trading", "request")) == 1
