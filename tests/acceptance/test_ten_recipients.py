"""One request to ten: some confirm, some only say thanks, one declines, one is unknown; who is asked again."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

if TYPE_CHECKING:
    from tests.conftest import Bench, Daemon, Tree

ASKED = ("trading", "macro", "radar", "scout", "ledger", "quant", "desk2", "legal", "ops")
ROSTER = (*ASKED, "intern", "zoe")
ACK = "report-v1"
Told = set[tuple[str, str]]


class Step(msgspec.Struct, frozen=True):
    """One drop, or the clock alone: the minute, who, the type, more keys; its verdict and who is told what."""

    minute: float
    who: str
    type: str
    more: dict[str, Any]
    verdict: str
    told: Told


def confirmed(minute: float, who: str, *told: tuple[str, str], verdict: str = "confirmed", **more: Any) -> Step:
    """Give a confirmed that zoe hears of, or as given."""
    return Step(minute, who, "confirmed", more or {"version": "v1"}, verdict, set(told) or {("zoe", "confirmed")})


def clock(minute: float, *told: tuple[str, str]) -> Step:
    """Let time alone pass."""
    return Step(minute, "", "", {}, "", set(told))


REQUEST = {"to": [*ASKED, "ghost"], "dri": "zoe", "action": "报送仓位", "body": "九点半前"}
STEPS = {
    "the-request": Step(
        0, "zoe", "request", REQUEST, "opened", {("zoe", "notice"), *((one, "request") for one in ASKED)}
    ),
    "trading-confirms": confirmed(1, "trading", conclusion="满仓"),
    "macro-confirms-bare": Step(1, "macro", "confirmed", {}, "confirmed", set()),
    "radar-only-says-received": Step(2, "radar", "supplement", {"body": "收到"}, "no-reply", set()),
    "scout-confirms": confirmed(2, "scout"),
    "scout-confirms-again": Step(2, "scout", "confirmed", {"version": "v1"}, "duplicate", set()),
    "ledger-declines": Step(3, "ledger", "decline", {"reason": "没有仓位权限"}, "declined", {("zoe", "declined")}),
    "quant-in-capitals": confirmed(3, "Quant"),
    "intern-was-not-asked": confirmed(4, "intern", ("intern", "notice"), verdict="weak"),
    "legal-shows-a-thumb": Step(4, "legal", "supplement", {"body": "👍"}, "no-reply", set()),
    "just-before-five": clock(4.9),
    "five-minutes": clock(5.1, *((one, "reminder") for one in ("radar", "legal", "desk2", "ops"))),
    "desk2-confirms": confirmed(8, "desk2"),
    "just-before-ten": clock(9.9),
    "ten-minutes": clock(10.5, ("zoe", "escalation")),
    "no-second-notice": clock(19),
    "zoe-is-silent-so-a-person-hears": clock(21, ("wen", "escalation")),
    "no-further-reminder": clock(29.9),
    "zoe-ends-it": Step(30, "zoe", "final", {"conclusion": "五家已报"}, "closed", {(one, "final") for one in ASKED}),
    **{f"{one}-says-thanks": Step(31, one, "supplement", {"body": "谢谢"}, "no-reply", set()) for one in ASKED},
    "nobody-says-thanks": Step(31, "ghost", "supplement", {"body": "谢谢"}, "refused", set()),
    "an-hour-later": clock(90),
}


class Story:
    """A tree with all of them, an engine on a manual clock, and what was told so far."""

    def __init__(self, tree: Tree, bench: Bench) -> None:
        self.tree, self.bench, self.known, self.count = tree, bench, set[tuple[str, str]](), 0
        tree.team(
            agents={name: {} for name in ROSTER},
            people={"wen": {}},
            arbiters=["zoe"],
            groups={"desk": ["trading", "macro", "quant"]},
        )
        bench.turn()
        self.began = bench.now

    def at(self, minute: float) -> None:
        """Let time pass up to a minute of the story."""
        self.bench.turn(minute * 60 - (self.bench.now - self.began) / 1000)
        self.bench.turn()

    def news(self) -> list[tuple[str, str]]:
        """Give who was told what since the last call, sorted, each delivery by itself."""
        fresh: list[tuple[str, str]] = []
        for name in (*ROSTER, "wen", "ghost"):
            for one in self.tree.inbox(name):
                if (name, one["id"]) not in self.known:
                    self.known.add((name, one["id"]))
                    fresh.append((name, one["kind"]))
        return sorted(fresh)

    def drop(self, who: str, kind: str, ack_id: str = ACK, **more: Any) -> str:
        """Drop a message and give its verdict."""
        self.count += 1
        path = f"roundtable/{ack_id}/{kind}-{who}-{self.count}.json"
        self.tree.drop(path, {"type": kind, "ack_id": ack_id, "from": who, **more})
        self.bench.turn()
        self.bench.turn()
        return self.bench.verdict(path)

    def play(self, step: Step) -> tuple[str, list[tuple[str, str]]]:
        """Take one step; give the verdict and who was told what."""
        self.at(step.minute)
        verdict = self.drop(step.who, step.type, **step.more) if step.who else ""
        return verdict, self.news()

    def owing(self, ack_id: str = ACK) -> set[str]:
        """Give who owes a confirmed."""
        return {name for name, duty in self.bench.thread(ack_id).duties.items() if duty.owes_confirmed}


@pytest.fixture
def story(tree: Tree, bench: Bench) -> Story:
    """Give the story before its first step."""
    return Story(tree, bench)


@pytest.mark.parametrize("name", STEPS)
def test_one_step(story: Story, name: str) -> None:
    """After all steps before it, a step has this verdict, tells these and nobody else, and zoe stays the DRI."""
    for earlier, step in STEPS.items():
        verdict, told = story.play(step)
        if earlier == name:
            assert (verdict, told) == (step.verdict, sorted(step.told))
            thread = story.bench.thread(ACK)
            assert (thread.dri, thread.requester, thread.unknown) == ("zoe", "zoe", ("ghost",))
            ended = name.endswith(("-thanks", "-it", "-later"))
            assert (thread.phase, bool(thread.final)) == (("final", True) if ended else ("confirmed", False))
            return


class TestWhatStands:
    def test_who_owes_what_at_each_hour(self, story: Story) -> None:
        """Nine owe; a decline and a confirmed end it, thanks and a thumb do not; the end ends it for the rest."""
        owes = {
            "the-request": set(ASKED),
            "five-minutes": {"radar", "legal", "desk2", "ops"},
            "ten-minutes": {"radar", "legal", "ops"},
        }
        for name, step in STEPS.items():
            story.play(step)
            if name in owes:
                assert story.owing() == owes[name]
        thread = story.bench.thread(ACK)
        did = {name: duty for name, duty in thread.duties.items() if name != "zoe"}
        assert {name for name, one in did.items() if one.confirmed} == {"trading", "macro", "scout", "quant", "desk2"}
        assert {name for name, one in did.items() if one.declined} == {"ledger"}
        assert {name for name, one in did.items() if not (one.confirmed or one.declined)} == {"radar", "legal", "ops"}
        assert "intern" not in did
        assert "Not on the roster, so not asked: ghost" in story.tree.page(f"roundtable/{ACK}/THREAD.md")

    def test_one_notice_names_all_three_who_are_late(self, story: Story) -> None:
        """Not desk2, which confirmed after its reminder, and not ledger, which declined."""
        for step in list(STEPS.values())[:15]:
            story.play(step)
        (notice,) = [one for one in story.tree.inbox("zoe") if one["kind"] == "escalation"]
        assert [f"{name} has not confirmed" in notice["summary"] for name in ("radar", "legal", "ops")] == [True] * 3
        assert [name for name in ("desk2", "ledger", "ghost", "trading") if name in notice["summary"]] == []

    def test_zoe_in_silence_the_person_hears_once(self, story: Story) -> None:
        """Ten minutes after the arbiter; then nobody else, and no second reminder."""
        for step in list(STEPS.values())[:16]:
            story.play(step)
        story.at(21)
        assert story.news() == [("wen", "escalation")]
        story.at(29)
        assert story.news() == []


class TestOthersOfTheKind:
    def test_chinese_names_in_another_order(self, tree: Tree, bench: Bench) -> None:
        """Replies in any order, one name in full width, one `status: rejected`; one reminder for the rest."""
        names = ("交易", "宏观", "雷达", "法务", "desk2")
        tree.team(agents={name: {} for name in (*names, "组长")}, people={"文": {}}, arbiters=["组长"], groups={})
        bench.turn()

        def drop(who: str, kind: str, **more: Any) -> str:
            path = f"roundtable/周报/{kind}-{who}.json"
            tree.drop(path, {"type": kind, "ack_id": "周报", "from": who, **more})
            bench.turn()
            bench.turn()
            return bench.verdict(path)

        assert drop("组长", "request", to=[*names, "路人"], dri="交易", action="报送") == "opened"
        assert drop("ｄｅｓｋ２", "confirmed", version="v1") == "confirmed"
        assert drop("法务", "confirmed", status="rejected", conclusion="不归我管") == "declined"
        assert drop("雷达", "supplement", body="好的，谢谢大家") == "no-reply"
        assert drop("宏观", "supplement", body="油价上周涨了百分之三，请一并考虑") == "supplement"
        assert bench.thread("周报").phase == "request"
        bench.turn(301)
        bench.turn()
        reminded = {name for name in names if any(one["kind"] == "reminder" for one in tree.inbox(name))}
        assert reminded == {"交易", "雷达"}
        assert drop("交易", "confirmed", version="v2") == "confirmed"
        assert bench.thread("周报").phase == "confirmed"
        assert bench.thread("周报").unknown == ("路人",)

    def test_a_group_and_a_name_in_it_are_asked_once(self, story: Story) -> None:
        """A group, one of its agents again, an unknown one: each once; a reply settles its author alone."""
        opened = story.drop("zoe", "request", to=["desk", "macro", "nobody", "ops"], dri="trading", action="报送")
        asked = ("macro", "ops", "quant", "trading")
        assert (opened, story.news()) == (
            "opened",
            sorted([("zoe", "notice"), *((name, "request") for name in asked)]),
        )
        assert story.drop("quant", "confirmed", version="v1") == "confirmed"
        assert (story.owing(), story.bench.thread(ACK).phase) == ({"macro", "ops", "trading"}, "request")

    def test_all_leaves_out_the_author(self, story: Story) -> None:
        """`all` is every agent but the one who asks; people are not agents."""
        assert story.drop("zoe", "request", to="all", dri="macro", action="报送") == "opened"
        assert story.news() == sorted((name, "request") for name in (*ASKED, "intern"))

    def test_only_groups_and_no_dri_is_refused(self, story: Story) -> None:
        """Nobody can say who would write the final: the author hears, nobody is asked."""
        assert story.drop("zoe", "request", to=["desk"], action="报送") == "refused"
        assert story.news() == [("zoe", "refusal")]
        assert story.drop("zoe", "request", "other-v1", to=["ghost", "nobody"], action="报送") == "refused"
        assert story.drop("zoe", "request", "third-v1", to=["trading"], dri="ghost", action="报送") == "refused"
        assert {name for name, _ in story.news()} == {"zoe"}

    def test_the_dri_declines_and_two_others_speak_for_it(self, story: Story) -> None:
        """It escalates at once; finals by two others close nothing; a ruling names another, whose final does."""
        story.drop("macro", "request", to=["trading", "radar", "scout"], dri="trading", action="报送")
        story.news()
        assert story.drop("trading", "decline", reason="没有权限") == "declined"
        assert set(story.news()) == {("macro", "declined"), ("zoe", "escalation")}
        for who in ("radar", "scout"):
            assert story.drop(who, "final", conclusion=f"{who} 认为可以") == "weak"
        assert story.bench.thread(ACK).phase == "request"
        assert story.drop("zoe", "ruling", ruling="dri", dri="radar", reason="交易无权限") == "ruled"
        assert story.bench.thread(ACK).dri == "radar"
        assert story.drop("radar", "final", conclusion="由我来定：减仓") == "closed"

    def test_a_decline_is_taken_back_by_a_confirmed(self, story: Story) -> None:
        """Ledger declines and then confirms: it counts as confirmed, and no reminder is sent to it."""
        story.play(STEPS["the-request"])
        story.drop("ledger", "decline", reason="没有仓位权限")
        assert story.drop("ledger", "confirmed", version="v2") == "confirmed"
        duty = story.bench.thread(ACK).duties["ledger"]
        assert (bool(duty.confirmed), bool(duty.declined)) == (True, False)
        story.news()
        story.at(5.1)
        assert "ledger" not in {name for name, _ in story.news()}


def test_the_whole_story_under_a_daemon(
    tree: Tree, daemon_process: Callable[..., Daemon], eventually: Callable[..., None]
) -> None:
    """Reminders after four seconds, the escalation after eight: the same four, then the same three, each once."""
    tree.team(
        agents={name: {} for name in ROSTER},
        people={"wen": {}},
        arbiters=["zoe"],
        groups={},
        timeouts={"reminder": "4s", "escalation": "8s", "arbiter": "10m", "complete": "30m"},
    )
    daemon_process()
    eventually(lambda: (tree.path / "BOARD.md").is_file())

    def say(number: int, step: Step) -> None:
        message = {"type": step.type, "ack_id": ACK, "from": step.who, **step.more}
        tree.drop(f"roundtable/{ACK}/{step.type}-{step.who}-{number}.json", message)

    def told(kind: str) -> list[str]:
        return sorted(name for name in ROSTER for one in tree.inbox(name) if one["kind"] == kind)

    steps = list(STEPS.values())
    say(0, steps[0])
    eventually(lambda: told("request") == sorted(ASKED))
    for number, step in enumerate(steps[1:10], start=1):
        say(number, step)
    eventually(lambda: told("reminder") == ["desk2", "legal", "ops", "radar"])
    say(12, STEPS["desk2-confirms"])
    eventually(lambda: told("escalation") == ["zoe"], 25)
    (notice,) = [one for one in tree.inbox("zoe") if one["kind"] == "escalation"]
    assert [name for name in ASKED if f"{name} has not" in notice["summary"]] == ["radar", "legal", "ops"]
    say(13, STEPS["zoe-ends-it"])
    eventually(lambda: told("final") == sorted(ASKED))
    before = tree.all_inboxes()
    for number, name in enumerate(ASKED, start=20):
        say(number, STEPS[f"{name}-says-thanks"])
    eventually(lambda: sum(one.verdict == "no-reply" for one in tree.threads()[ACK].messages) == 2 + len(ASKED))
    assert tree.all_inboxes() == before
    # What is no longer owed is taken out of the inboxes.
    assert told("reminder") == []
