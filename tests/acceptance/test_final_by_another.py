"""Finals, withdrawals and new texts by those who are not the DRI, as dropped files: what counts, and who is woken."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.conftest import Bench, Daemon, Tree

AGENTS = ("macro", "trading", "radar", "scout", "zoe")
ACK = "roll-v1"
Told = set[tuple[str, str, str]]


def news(tree: Tree, known: set[str]) -> Told:
    """Give agent, kind and author of what came into the inboxes since the last call."""
    fresh = {(name, one["id"]): one for name in (*AGENTS, "wen") for one in tree.inbox(name) if one["id"] not in known}
    known.update(key for _, key in fresh)
    return {(name, one["kind"], (one.get("envelope") or {}).get("from", "")) for (name, _), one in fresh.items()}


class Story:
    """A thread on a manual clock: macro asked trading, who confirmed."""

    def __init__(self, tree: Tree, bench: Bench) -> None:
        self.tree, self.bench, self.known, self.count = tree, bench, set[str](), 0
        tree.team(
            agents={name: {} for name in AGENTS}, people={"wen": {}}, arbiters=["zoe"], groups={"desk": AGENTS[:3]}
        )
        bench.turn()

    def says(self, who: str, kind: str, ack_id: str = ACK, path: str = "", **more: Any) -> tuple[str, Told]:
        """Drop a message; give its verdict and who was told what."""
        self.count += 1
        path = path or f"roundtable/{ack_id}/{kind}-{who}-{self.count}.json"
        self.tree.drop(path, {"type": kind, "ack_id": ack_id, "from": who, **more})
        self.bench.turn(1)
        self.bench.turn(1)
        return self.bench.verdict(path), news(self.tree, self.known)

    def opens(self, ack_id: str = ACK, **more: Any) -> tuple[str, Told]:
        """Let macro ask trading, or as given."""
        asked = {"to": ["trading"], "dri": "trading", "action": "出策略", "body": "请给出下周仓位建议"}
        return self.says("macro", "request", ack_id, **{**asked, **more})

    @property
    def now(self) -> tuple[str, str, str, str]:
        """Give phase, DRI, author and conclusion of the final in force."""
        thread = self.bench.thread(ACK)
        final = thread.message(thread.final)
        said = (final.sender, str(final.content["conclusion"])) if final is not None else ("", "")
        return (thread.phase, thread.dri, *said)


@pytest.fixture
def story(tree: Tree, bench: Bench) -> Story:
    """Give the thread after trading's confirmed."""
    story = Story(tree, bench)
    assert story.opens() == ("opened", {("trading", "request", "macro")})
    told = story.says("trading", "confirmed", conclusion="看空")
    assert told == ("confirmed", {("macro", "confirmed", "trading")})
    return story


OPEN = ("confirmed", "trading", "", "")
CLOSED = ("final", "trading", "trading", "续一半")


def its_final(story: Story) -> None:
    """Let the DRI end the thread, and see that it alone did."""
    assert story.says("trading", "final", conclusion="续一半", path="finals/bond.json") == (
        "closed",
        {("macro", "final", "trading")},
    )
    assert story.now == CLOSED


class TestOneStepAlone:
    @pytest.mark.parametrize(
        ("who", "to", "words"),
        [
            pytest.param("radar", ["macro"], "我看可以续", id="another-agent"),
            pytest.param("macro", ["trading"], "就这样定了吧，不必再算", id="the-requester"),
            pytest.param("zoe", ["macro", "trading"], "归档关闭", id="the-arbiter"),
            pytest.param("wen", ["macro"], "Closed from the phone", id="a-person"),
            pytest.param("scout", "all", "范围内都可以", id="to-all"),
            pytest.param("scout", "desk", "Fine for the whole desk", id="to-a-group"),
        ],
    )
    def test_it_is_a_supplement_and_its_author_hears_why(
        self, story: Story, who: str, to: list[str] | str, words: str
    ) -> None:
        """Weak, never a final; told are its author and the DRI, whoever stands in `to`; then the DRI's closes."""
        verdict, told = story.says(who, "final", to=to, conclusion=words)
        assert (verdict, told) == ("weak", {(who, "notice", who), ("trading", "supplement", who)})
        (why,) = [one["notes"][0] for one in story.tree.inbox(who) if one["kind"] == "notice"]
        assert "trading is the DRI" in why
        assert story.now == OPEN
        its_final(story)

    def test_the_dri_alone_ends_it(self, story: Story) -> None:
        """The final without anything before it."""
        its_final(story)

    def test_a_person_withdraws_it(self, story: Story) -> None:
        """Not at once: the DRI may still end it; after ten minutes it is cancelled, by a cancel and without a final."""
        assert story.says("wen", "cancel", body="这条不用做了") == ("cancelling", {("trading", "cancelling", "wen")})
        assert story.now == OPEN
        story.bench.turn(601)
        story.bench.turn(1)
        thread = story.bench.thread(ACK)
        assert (thread.phase, thread.ended_by, thread.final) == ("final", "cancel", "")

    def test_the_arbiter_closes_without_a_result(self, story: Story) -> None:
        """A ruling ends it, and is shown as one: there is no final."""
        verdict, told = story.says("zoe", "ruling", ruling="close", reason="归档关闭")
        assert (verdict, {(name, author) for name, _, author in told}) == (
            "ruled",
            {("macro", "zoe"), ("trading", "zoe")},
        )
        thread = story.bench.thread(ACK)
        assert (thread.phase, thread.ended_by, thread.final) == ("final", "ruling", "")

    @pytest.mark.parametrize(
        ("text", "verdict"),
        [
            pytest.param({"from": "trading", "conclusion": "全部续作"}, "revision", id="under-its-author's-name"),
            pytest.param({"from": "radar", "conclusion": "全部续作"}, "late", id="under-another-name"),
        ],
    )
    def test_the_file_of_the_final_is_overwritten(self, story: Story, text: dict[str, str], verdict: str) -> None:
        """As its author's it revises, both told once (edits are trusted); as another's it changes nothing."""
        its_final(story)
        envelope = {"type": "final", "ack_id": ACK, **text}
        before = story.bench.thread(ACK)
        story.tree.drop("finals/bond.json", envelope)
        story.bench.turn(1)
        story.bench.turn(1)
        told = news(story.tree, story.known)
        after = story.bench.thread(ACK)
        assert story.bench.verdict("finals/bond.json") == verdict
        if verdict == "revision":
            assert told == {("macro", "revision", "trading"), ("trading", "revision", "trading")}
        else:
            assert told == {("trading", "late", "radar")}
        assert (after.phase, after.final) == ("final", before.final)
        earlier = after.message(before.final)
        assert earlier is not None
        assert earlier.content["conclusion"] == "续一半"
        assert bool(earlier.revised_by) is (verdict == "revision")

    def test_edits_that_are_not_trusted_leave_the_earlier_text_in_force(self, story: Story) -> None:
        """With `trust_edits: false` the overwritten final is not revised by words that nobody can prove."""
        story.tree.team(trust_edits=False)
        story.bench.turn(1)
        its_final(story)
        verdict, told = story.says("trading", "final", conclusion="全部续作", path="finals/bond.json")
        assert verdict == "kept"
        assert "macro" not in {name for name, _, _ in told}
        assert story.now == CLOSED
        kept = story.bench.thread(ACK)
        final = kept.message(kept.final)
        assert final is not None
        assert final.revised_by == ""

    def test_the_file_of_the_final_is_deleted(self, story: Story) -> None:
        """What was taken in stays in force, and nobody is woken."""
        its_final(story)
        story.tree.remove("finals/bond.json")
        story.bench.turn(1)
        story.bench.turn(60)
        assert news(story.tree, story.known) == set()
        assert story.now == CLOSED

    def test_a_second_text_names_another_dri(self, story: Story) -> None:
        """The DRI stays; the requester hears how to move it; who was newly named owes nothing and ends nothing."""
        verdict, told = story.opens(dri="radar")
        assert verdict == "revision"
        assert told == {("macro", "notice", "macro"), ("trading", "revision", "macro")}
        assert story.now == OPEN
        assert story.says("radar", "final", conclusion="我来定")[0] == "weak"
        its_final(story)

    def test_nobody_is_named_dri(self, story: Story) -> None:
        """The first agent in `to` is, and the requester is told so; the other's final closes nothing."""
        verdict, told = story.says("macro", "request", "none-v1", to=["trading", "radar"], action="出策略")
        assert verdict == "opened"
        assert told == {("macro", "notice", "macro"), ("trading", "request", "macro"), ("radar", "request", "macro")}
        assert story.says("radar", "final", "none-v1", conclusion="加仓")[0] == "weak"
        assert story.bench.thread("none-v1").dri == "trading"
        assert story.says("trading", "final", "none-v1", conclusion="减仓")[0] == "closed"


class TestAllInOrder:
    def test_five_others_speak_and_the_dri_ends_it(self, story: Story) -> None:
        """Two agents, the requester and the arbiter, then a second DRI: one final, that of the DRI."""
        for who in ("radar", "scout", "macro", "zoe"):
            assert story.says(who, "final", conclusion=f"{who} 的结论")[0] == "weak"
        assert story.opens(dri="radar")[0] == "revision"
        its_final(story)
        ends = [one.sender for one in story.bench.thread(ACK).messages if one.verdict == "closed"]
        assert ends == ["trading"]
        verdict, told = story.says("radar", "final", conclusion="事后再说一句")
        assert (verdict, told) == ("late", {("trading", "late", "radar")})
        assert story.now == CLOSED

    def test_a_final_by_the_new_owner_counts_once_it_has_confirmed(self, story: Story) -> None:
        """Until then the old one is the DRI and the final weak; the confirmed lifts it, and it ends the thread."""
        assert story.says("trading", "handoff", to=["scout"], reason="交给侦察")[0] == "handed-off"
        verdict, told = story.says("scout", "final", conclusion="太早")
        assert (verdict, told) == ("weak", {("scout", "notice", "scout"), ("trading", "supplement", "scout")})
        assert story.now == OPEN
        verdict, told = story.says("scout", "confirmed", version="v1")
        assert verdict == "accepted"
        assert ("macro", "final", "scout") in told
        assert ("trading", "final", "scout") in told
        assert story.now == ("final", "scout", "scout", "太早")

    def test_a_final_after_the_handoff_by_the_old_owner(self, story: Story) -> None:
        """Weak, told to the new DRI; the new DRI's closes."""
        story.says("trading", "handoff", to=["scout"], reason="交给侦察")
        story.says("scout", "confirmed", version="v1")
        verdict, told = story.says("trading", "final", conclusion="我还是说一下")
        assert (verdict, told) == ("weak", {("trading", "notice", "trading"), ("scout", "supplement", "trading")})
        assert story.says("scout", "final", conclusion="由我定")[0] == "closed"
        assert story.now == ("final", "scout", "scout", "由我定")

    def test_a_stranger_and_a_final_before_its_request(self, story: Story) -> None:
        """Who is not on the roster is refused, never woken; a final before its request waits for it, then is weak."""
        assert story.says("路人", "final", conclusion="我说了算") == ("refused", set())
        assert story.says("radar", "final", "early-v1", conclusion="先说了")[0] == "held"
        assert story.says("macro", "request", "early-v1", to=["trading"], dri="trading", action="出策略")[0] == "opened"
        thread = story.bench.thread("early-v1")
        assert (thread.phase, thread.final) == ("request", "")
        assert [one.verdict for one in thread.messages] == ["opened", "weak"]
        assert story.now == OPEN


def test_the_whole_story_under_a_daemon(
    tree: Tree, daemon_process: Callable[..., Daemon], eventually: Callable[..., None]
) -> None:
    """Chinese names, files alone: two finals by others are weak, the DRI's is the one, each told once."""
    tree.team(agents={name: {} for name in ("宏观", "交易", "雷达")}, people={"文": {}}, arbiters=["宏观"], groups={})
    daemon_process()
    eventually(lambda: (tree.path / "BOARD.md").is_file())

    def says(who: str, kind: str, **more: Any) -> None:
        tree.drop(f"roundtable/续作/{kind}-{who}.json", {"type": kind, "ack_id": "续作", "from": who, **more})

    def kinds(agent: str) -> list[str]:
        return sorted(one["kind"] for one in tree.inbox(agent))

    says("宏观", "request", to=["交易"], dri="交易", action="出策略")
    eventually(lambda: kinds("交易") == ["request"])
    says("交易", "confirmed", conclusion="看空")
    eventually(lambda: kinds("宏观") == ["confirmed"])
    says("雷达", "final", conclusion="我看可以续")
    eventually(lambda: kinds("雷达") == ["notice"])
    says("宏观", "final", conclusion="就这样定了吧")
    eventually(lambda: kinds("宏观") == ["confirmed", "notice"])
    assert tree.threads()["续作"].phase == "confirmed"
    says("交易", "final", conclusion="续一半")
    eventually(lambda: kinds("宏观") == ["confirmed", "final", "notice"])
    thread = tree.threads()["续作"]
    assert (thread.phase, thread.dri, thread.ended_by) == ("final", "交易", "final")
    assert [(one.sender, one.verdict) for one in thread.messages if one.type == "final"] == [
        ("雷达", "weak"),
        ("宏观", "weak"),
        ("交易", "closed"),
    ]
    assert kinds("雷达") == ["notice"]
