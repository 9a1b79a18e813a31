"""Live sends on a clock that moves by hand: a scripted channel, real files, the real ledger."""

from __future__ import annotations

import hashlib
import json
import random
from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from ackd.channels.port import Outcome, Post, Sent
from ackd.config.channels import ChannelSetting, Limit
from ackd.engine.loop import Engine
from ackd.engine.show import thread_document
from ackd.protocol.fold import Folding, fold
from ackd.watch.port import EVERYTHING, NOTHING, Changes

DELIVERED = Sent(Outcome.DELIVERED)
TIMED_OUT = Sent(Outcome.AMBIGUOUS, "no answer within 30 s")
MISSED = Sent(Outcome.NOT_SENT, "connection refused")


class Script:
    """A channel that answers as it is told, and keeps what it was given."""

    name = "live"

    def __init__(self) -> None:
        self.posts: list[tuple[int, Post]] = []
        self.lates: list[Callable[[Sent], None]] = []
        self.answers: list[Sent] = []
        self.usual = DELIVERED
        self.now: Callable[[], int] = lambda: 0

    def send(self, post: Post, timeout_s: float, late: Callable[[Sent], None]) -> Sent:
        """Answer with the next of `answers`, else as usual."""
        self.posts.append((self.now(), post))
        self.lates.append(late)
        return self.answers.pop(0) if self.answers else self.usual

    def close(self) -> None:
        """Nothing runs."""


class Live:
    """A bench whose agents macro and trading have a live channel."""

    def __init__(self, bench: Any) -> None:
        self.bench, self.tree, self.script = bench, bench.tree, Script()
        self.setting = ChannelSetting(name="live", kind="command")
        agents = {"zoe": {}, "macro": {"channel": "live"}, "trading": {"channel": "live"}}
        self.tree.team(agents=agents)
        self.open()

    def open(self, **limits: Any) -> None:
        """Start the engine anew with the channel."""
        self.bench.close(clean=False)
        self.bench.open()
        self.bench.engine.hints.stop()
        setting = ChannelSetting(name="live", kind="command", **limits)
        engine = self.bench.engine
        self.bench.engine = Engine(
            engine.root,
            engine.node,
            engine.memory,
            engine.hints,
            clock=engine.clock,
            channels=[(setting, self.script)],
        )
        self.bench.engine.sender._spawn = lambda run: run()
        self.bench.engine.start()
        self.script.now = lambda: self.bench.now

    def turn(self, seconds: float = 0) -> None:
        """Let time pass and take turns until nothing comes of them at once."""
        self.bench.turn(seconds)
        for _ in range(4):
            self.bench.engine.turn(_nothing())

    def ask(self, ack_id: str = "week-v1", **more: Any) -> None:
        """Drop a request from zoe to trading alone."""
        self.tree.request(ack_id, to=["trading"], dri="trading", **more)
        self.turn()

    def to(self, agent: str) -> list[tuple[str, str]]:
        """Give kind and message_id of what was sent to an agent."""
        return [(post.kind, post.message_id) for _, post in self.script.posts if post.agent == agent]

    def say(self, kind: str, sender: str = "trading", ack_id: str = "week-v1", **more: Any) -> None:
        """Drop a message."""
        name = "state" if kind in ("confirmed", "final") else "type"
        self.tree.drop(
            f"roundtable/{ack_id}/{kind}-{sender}.json", {name: kind, "ack_id": ack_id, "from": sender, **more}
        )

    def states(self, ack_id: str = "week-v1") -> list[str]:
        """Give the states of the thread's sends."""
        return [one["state"] for one in thread_document(self.bench.thread(ack_id))["sends"]]


def _nothing() -> Changes:
    return NOTHING


@pytest.fixture
def live(bench: Any) -> Live:
    """Give a bench with a scripted channel."""
    return Live(bench)


def test_a_delivered_send_leaves_no_file(live: Live) -> None:
    """An agent with a channel never gets both; one without gets the file at once."""
    live.tree.request("week-v1")
    live.turn()
    assert [kind for kind, _ in live.to("trading")] == ["request"]
    assert [kind for kind, _ in live.to("macro")] == ["request"]
    assert live.tree.inbox("trading") == live.tree.inbox("macro") == []
    assert live.states() == ["delivered", "delivered"]
    live.say("confirmed", conclusion="ok, 40 %")
    live.turn()
    assert [one["kind"] for one in live.tree.inbox("zoe")] == ["confirmed"]


def test_after_a_timeout_nothing_is_sent_until_the_reminder(live: Live) -> None:
    """The one more try is the reminder at five minutes, with the same message_id; then it is the file (T12, T13)."""
    live.script.usual = TIMED_OUT
    live.ask(message_id="zoe-1")
    assert live.to("trading") == [("request", "zoe-1")]
    assert "ambiguous" in thread_document(live.bench.thread())["conditions"]
    live.turn(299)
    assert len(live.to("trading")) == 1
    assert live.tree.inbox("trading") == []
    live.turn(1)
    assert live.to("trading") == [("request", "zoe-1"), ("reminder", "zoe-1")]
    assert live.script.posts[1][1].repeated
    assert "You may have this already" in live.script.posts[1][1].text
    (file,) = live.tree.inbox("trading")
    assert (file["kind"], file["fallback"]) == ("reminder", True)
    assert [one["outcome"] for one in file["attempts"]] == ["ambiguous", "ambiguous"]
    assert live.tree.inbox("zoe") == []
    live.turn(300)
    (told,) = live.tree.inbox("zoe")
    assert told["kind"] == "escalation"
    assert "delivery unknown" in told["summary"]
    assert "refuse" not in told["summary"]
    for _ in range(20):
        live.turn(300)
    assert len(live.to("trading")) == 2


def test_a_confirmed_before_the_reminder_ends_it(live: Live) -> None:
    """A sign of life clears what was ambiguous: exactly one send, no file, nobody is escalated to."""
    live.script.answers = [TIMED_OUT]
    live.ask()
    live.turn(170)
    live.say("confirmed", conclusion="at work")
    live.turn(10)
    assert "ambiguous" not in thread_document(live.bench.thread())["conditions"]
    live.turn(600)
    assert [kind for kind, _ in live.to("trading")] == ["request"]
    assert live.tree.inbox("trading") == []
    assert [one["kind"] for one in live.tree.inbox("zoe")] == ["confirmed"]


@pytest.mark.parametrize("about", [None, "week-v1", ""])
def test_a_status_that_says_working_is_a_sign_of_life(live: Live, about: str | None) -> None:
    """The send has arrived then: no second one goes live, and the reminder of the missing confirmed is a file."""
    live.script.answers = [TIMED_OUT]
    live.ask()
    live.turn(30)
    live.tree.drop("status/trading.json", {"agent": "trading", "state": "working", "ack_id": about})
    live.turn(1)
    assert live.states() == ["delivered"]
    assert "ambiguous" not in thread_document(live.bench.thread())["conditions"]
    live.turn(300)
    assert [kind for kind, _ in live.to("trading")] == ["request"]
    assert [one["kind"] for one in live.tree.inbox("trading")] == ["reminder"]


@pytest.mark.parametrize(
    "document",
    [
        {"agent": "trading", "state": "idle"},
        {"agent": "macro", "state": "working"},
        {"agent": "trading", "state": "working", "ack_id": "another-v1"},
    ],
)
def test_another_status_is_no_sign_of_life(live: Live, document: dict[str, str]) -> None:
    """Idle, another agent, or at work on something else."""
    live.script.answers = [TIMED_OUT]
    live.ask()
    live.turn(30)
    live.tree.drop(f"status/{document['agent']}.json", document)
    live.turn(1)
    assert live.states() == ["ambiguous"]


def test_a_late_success_clears_what_was_ambiguous(live: Live) -> None:
    """What timed out and ended well after all was delivered: the reminder is an ordinary one."""
    live.script.answers = [TIMED_OUT]
    live.ask()
    live.turn(60)
    live.script.lates[0](Sent(Outcome.DELIVERED, "exit 0 after 61 s"))
    live.turn(1)
    assert live.states() == ["delivered"]
    live.turn(240)
    assert [kind for kind, _ in live.to("trading")] == ["request", "reminder"]
    assert live.tree.inbox("trading") == []


def test_what_did_not_arrive_is_tried_twice_more(live: Live) -> None:
    """After 1 s and after 3 s, each a little later by chance; then it is the file, with all three tries (R43, R46)."""
    live.script.usual = MISSED
    start = live.bench.now
    live.ask()
    for _ in range(80):
        live.turn(0.1)
    times = [at - start for at, _ in live.script.posts]
    assert len(times) == 3
    assert 1_000 <= times[1] - times[0] <= 1_300
    assert 3_000 <= times[2] - times[1] <= 3_300
    (file,) = live.tree.inbox("trading")
    assert file["fallback"] is True
    assert file["kind"] == "request"
    assert [one["outcome"] for one in file["attempts"]] == ["not-sent"] * 3
    live.turn(300)
    assert len(live.script.posts) > 3, "the reminder is another message and has tries of its own"


def test_a_busy_receiver_is_tried_once_more(live: Live) -> None:
    """Later, and no third time (R45)."""
    live.script.usual = Sent(Outcome.BUSY)
    live.ask()
    live.turn(5)
    assert len(live.script.posts) == 1
    live.turn(6)
    assert len(live.script.posts) == 2
    assert [one["fallback"] for one in live.tree.inbox("trading")] == [True]


def test_a_refusal_is_never_tried_again(live: Live) -> None:
    """The file at once (R44)."""
    live.script.answers = [Sent(Outcome.REFUSED, "no such session")]
    live.ask()
    assert len(live.script.posts) == 1
    (file,) = live.tree.inbox("trading")
    assert "no such session" in json.dumps(file)
    assert live.states() == ["refused"]


def test_what_ends_while_it_waits_expires(live: Live) -> None:
    """A retry that is wanted no longer is not made."""
    live.script.usual = MISSED
    live.ask()
    live.say("cancel", "zoe")
    live.script.usual = DELIVERED
    live.turn(0.2)
    live.turn(1_000)
    assert ("request", live.script.posts[0][1].message_id) not in live.to("trading")[1:]


def test_a_kill_between_record_and_outcome_counts_as_a_try(live: Live) -> None:
    """The daemon dies over a send: it may have arrived, so the reminder is the only other one (promise 4)."""
    live.bench.engine.sender._spawn = lambda run: None
    live.ask()
    assert live.states() == ["sent"]
    live.open()
    live.script.usual = TIMED_OUT
    live.turn(40)
    assert live.states() == ["ambiguous"]
    live.turn(261)
    live.turn(600)
    assert [kind for kind, _ in live.to("trading")] == ["reminder"]
    assert [one["kind"] for one in live.tree.inbox("trading")] == ["reminder"]


def test_a_kill_over_the_second_try_makes_no_third(live: Live) -> None:
    """Two recorded tries that may have arrived are the most, over restarts."""
    live.script.usual = TIMED_OUT
    live.ask()
    live.bench.engine.sender._spawn = lambda run: None
    live.turn(301)
    live.open()
    for _ in range(30):
        live.turn(60)
    assert [kind for kind, _ in live.to("trading")] == ["request"]
    assert [one["kind"] for one in live.tree.inbox("trading")][:1] == ["reminder"]


@pytest.mark.parametrize(
    ("word", "counts"),
    [
        *(("ok", True), ("accepted", True), ("queued", True), ("pending", True), ("delivered", True), ("sent", True)),
        *(("timeout", True), ("skipped", True), ("", True), ("error", False), ("failed", False)),
    ],
)
def test_tries_that_the_author_made_count(live: Live, word: str, counts: bool) -> None:
    """Only what surely did not arrive does not; else the reminder is the one more try (T13)."""
    live.ask(attempts=[{"channel": "sessions_send", "to": "trading", "outcome": word}])
    assert [kind for kind, _ in live.to("trading")] == ([] if counts else ["request"])
    live.turn(300)
    assert [kind for kind, _ in live.to("trading")][-1:] == ["reminder"]
    assert live.tree.inbox("trading") == []


def test_two_tries_of_the_author_leave_the_file(live: Live) -> None:
    """Nothing goes live any more."""
    live.ask(attempts=[{"outcome": "timeout"}, {"outcome": "timeout"}])
    assert live.to("trading") == []
    assert [one["fallback"] for one in live.tree.inbox("trading")] == [True]


def test_twelve_escalations_are_one_summary(live: Live) -> None:
    """An arbiter with a channel is woken once, and hears of all twelve."""
    live.tree.team(agents={"zoe": {"channel": "live"}, "macro": {}, "trading": {}})
    live.turn()
    for number in range(12):
        live.tree.request(f"rebal-{number}", to=["trading"], dri="trading")
    live.turn()
    live.turn(301)
    live.turn(301)
    posts = [post for _, post in live.script.posts if post.agent == "zoe"]
    (summary,) = [post for post in posts if "escalation" in post.text or post.kind in ("summary", "escalation")]
    assert summary.kind == "summary"
    assert all(f"rebal-{number}" in summary.text.splitlines()[0] for number in range(12))
    document = json.loads(summary.delivery)
    assert len(document["deliveries"]) == 12
    assert live.tree.inbox("zoe") == []


def test_the_pressing_ones_go_first(live: Live) -> None:
    """Critical before high before normal before low, whatever came first."""
    live.open(recipient_rate=Limit(1, 1_000))
    for priority in ("low", "normal", "critical", "high"):
        live.tree.request(f"p-{priority}", to=["trading"], dri="trading", priority=priority)
    live.turn()
    for _ in range(5):
        live.turn(1)
    assert [post.thread for _, post in live.script.posts] == ["p-critical", "p-high", "p-normal", "p-low"]


def test_no_storm_after_an_outage(live: Live) -> None:
    """A thousand threads on a channel that is down for a minute: few probes, then all of them once, at its pace.

    The critical ones are first, and none has both a delivered send and a file.
    """
    live.open(rate=Limit(25, 1_000), recipient_rate=Limit(25, 1_000))
    live.script.usual = MISSED
    for number in range(1_000):
        priority = "critical" if number % 10 == 9 else "normal"
        live.tree.request(f"t-{number:03}", to=["trading"], dri="trading", priority=priority)
    start = live.bench.now
    while live.bench.now < start + 60_000:
        live.bench.turn(1, _nothing() if live.bench.now > start else EVERYTHING)
    probes = len(live.script.posts)
    assert probes <= 15
    live.script.usual = DELIVERED
    for _ in range(2_200):
        live.bench.turn(0.03, _nothing())
    sent = [(at, post) for at, post in live.script.posts[probes:] if post.kind == "request"]
    by_file = [one["thread"] for one in live.tree.inbox("trading") if one["kind"] == "request"]
    assert sorted([post.thread for _, post in sent] + by_file) == [f"t-{number:03}" for number in range(1_000)]
    assert len(by_file) <= 5
    critical = [post.priority for _, post in sent].index("normal")
    assert critical >= 100 - len(by_file)
    for first in range(60_000, 120_000, 1_000):
        assert sum(start + first <= at < start + first + 1_000 for at, _ in live.script.posts[probes:]) <= 27


def test_refusals_go_live_too(live: Live) -> None:
    """An author with a channel hears at once that its file was refused."""
    live.tree.drop("roundtable/x/a.json", {"state": "final", "ack_id": "x", "from": "trading"})
    live.turn()
    assert [kind for kind, _ in live.to("trading")] == ["refusal"]
    assert live.tree.inbox("trading") == []


def test_a_lost_memory_forgets_no_try(live: Live) -> None:
    """Tries are in the ledger: rebuilt from it, none is made again."""
    live.script.usual = TIMED_OUT
    live.ask()
    live.bench.turn(3)
    live.bench.close()
    import shutil

    shutil.rmtree(live.tree.base / "state")
    live.bench.open()
    live.open()
    for _ in range(10):
        live.turn(60)
    assert [kind for kind, _ in live.to("trading")] == ["request", "reminder"]


class TestTimeOutAtNine:
    """A request at nine o'clock whose send has 30 s, as three teams lived it."""

    @pytest.fixture
    def slow(self, live: Live) -> Live:
        """Let each send end 30 s after it began."""
        waiting: list[tuple[int, Callable[[], None]]] = []
        live.bench.engine.sender._spawn = lambda run: waiting.append((live.bench.now + 30_000, run))
        turn = live.bench.turn

        def later(seconds: float = 0, changes: Any = EVERYTHING) -> None:
            turn(seconds, changes)
            for due, run in [one for one in waiting if one[0] <= live.bench.now]:
                waiting.remove((due, run))
                run()
                turn(0, changes)

        live.bench.turn = later
        live.script.usual = TIMED_OUT
        live.ask("bond-roll-v1", message_id="macro-1")
        return live

    def test_it_runs_already(self, slow: Live) -> None:
        """Status at 9:01, the same request again, confirmed at 9:03, final at 9:25: one work, and never "failed"."""
        slow.turn(30)
        conditions = thread_document(slow.bench.thread("bond-roll-v1"))["conditions"]
        assert conditions == ["ambiguous"]
        slow.turn(30)
        slow.tree.drop("status/trading.json", {"agent": "trading", "state": "working"})
        slow.tree.request("bond-roll-v1", "again.json", to=["trading"], dri="trading", message_id="macro-1")
        slow.turn(1)
        assert slow.bench.verdict("again.json") == "duplicate"
        slow.turn(119)
        slow.say("confirmed", ack_id="bond-roll-v1", conclusion="done by noon")
        slow.turn(1)
        slow.turn(1_320)
        slow.say("final", ack_id="bond-roll-v1", conclusion="rolled")
        slow.turn(1)
        assert [kind for kind, _ in slow.to("trading")] == ["request"]
        document = thread_document(slow.bench.thread("bond-roll-v1"))
        assert document["state"] == "final"
        assert "fail" not in json.dumps(document, ensure_ascii=False)
        kinds = [one["kind"] for one in slow.tree.inbox("zoe")]
        assert sorted(kinds) == ["confirmed", "final"]

    def test_it_was_lost(self, slow: Live) -> None:
        """One reminder at 9:05:00, its time-out at 9:05:30, the file then, and the arbiter once at 9:10:00."""
        start = slow.bench.now
        slow.turn(30)
        for _ in range(539):
            slow.turn(1)
        told = [(at - start, post.kind, post.message_id) for at, post in slow.script.posts]
        assert told == [(30_000, "request", "macro-1"), (330_000, "reminder", "macro-1")]
        assert [one["fallback"] for one in slow.tree.inbox("trading")] == [True]
        assert slow.tree.inbox("zoe") == []
        slow.turn(31)
        (notice,) = slow.tree.inbox("zoe")
        assert "delivery unknown" in notice["summary"]
        slow.turn(400)
        assert len([one for one in slow.tree.inbox("zoe") if one["kind"] == "escalation"]) == 1

    def test_it_crosses_the_reminder(self, slow: Live) -> None:
        """A confirmed that comes after the reminder counts, and nobody is escalated to."""
        slow.turn(30)
        slow.turn(275)
        slow.say("confirmed", ack_id="bond-roll-v1", conclusion="written at 9:04:50")
        slow.turn(1)
        slow.turn(30)
        slow.turn(600)
        assert [kind for kind, _ in slow.to("trading")] == ["request", "reminder"]
        assert [one["kind"] for one in slow.tree.inbox("zoe")] == ["confirmed"]
        assert slow.tree.inbox("trading") == []


@pytest.mark.parametrize("written", ["' ; run-shell 'touch x", "-x", "a b", "{agent}", "编号-1", "x" * 150])
def test_a_message_id_is_plain_where_it_is_sent(live: Live, written: str) -> None:
    """It may stand beside other things in an argument: one of an agent's own making is hashed, a repetition alike."""
    live.script.usual = TIMED_OUT
    live.ask(message_id=written)
    live.turn(300)
    first, second = (message_id for _, message_id in live.to("trading"))
    assert first == second == "sha256-" + hashlib.sha256(written.encode()).hexdigest()


def test_a_person_is_told_over_a_channel(live: Live) -> None:
    """The end of the ladder: a person with a channel is called, not only written to."""
    live.tree.team(people={"wen": {"channel": "live"}}, agents={"zoe": {}, "macro": {}, "trading": {}})
    live.turn()
    live.ask()
    for _ in range(5):
        live.turn(301)
    assert [kind for kind, _ in live.to("wen")] == ["escalation"]
    assert live.tree.inbox("wen") == []
    assert "needs-person" in thread_document(live.bench.thread())["conditions"]


def test_its_entries_in_any_order_are_the_same_thread(live: Live) -> None:
    """Tries and outcomes too: shuffled, and with copies, byte for byte."""
    live.script.answers = [MISSED, TIMED_OUT, TIMED_OUT]
    live.ask()
    live.turn(2)
    live.script.lates[1](DELIVERED)
    live.tree.drop("status/trading.json", {"agent": "trading", "state": "working"})
    live.turn(300)
    live.say("confirmed", conclusion="at work")
    live.turn(1)
    entries = [entry for entry, _ in live.bench.engine.memory.all_entries() if entry.thread == "week-v1"]
    assert sum(entry.kind in ("attempted", "outcome") for entry in entries) >= 6
    expected = msgspec.json.encode(fold("week-v1", entries))
    dice = random.Random(7)
    for _ in range(200):
        several = entries + dice.choices(entries, k=5)
        dice.shuffle(several)
        assert msgspec.json.encode(fold("week-v1", several)) == expected
        growing = Folding("week-v1")
        for entry in several:
            growing.add(entry)
        assert msgspec.json.encode(growing.thread) == expected


def test_a_live_reminder_takes_no_file_away(live: Live) -> None:
    """The request's file stays until it is paid: the reminder left none in its place."""
    live.script.answers = [Sent(Outcome.REFUSED)]
    live.tree.team(agents={"zoe": {}, "macro": {}, "trading": {}})
    live.turn()
    live.ask()
    live.tree.team(agents={"zoe": {}, "macro": {}, "trading": {"channel": "live"}})
    live.script.answers = []
    live.turn(300)
    assert [kind for kind, _ in live.to("trading")] == ["reminder"]
    assert [one["kind"] for one in live.tree.inbox("trading")] == ["request"]
    live.say("confirmed", conclusion="at work")
    live.turn(1)
    assert [one["asks"] for one in live.tree.inbox("trading")] == [["confirm", "final"]]


def test_what_was_refused_is_not_sent_again_as_a_reminder(live: Live) -> None:
    """A refusal is final for the request and for what carries it again (R44)."""
    live.script.usual = Sent(Outcome.REFUSED, "no such session")
    live.ask()
    live.turn(301)
    assert [kind for kind, _ in live.to("trading")] == ["request"]
    assert [one["kind"] for one in live.tree.inbox("trading")] == ["reminder"]


def test_a_channel_that_is_down_is_shown(live: Live) -> None:
    """With what it said last; and no longer once a send gets through."""
    live.script.usual = MISSED
    live.ask()
    for _ in range(50):
        live.turn(0.1)
    assert live.bench.engine.trouble["channels"] == "the channel live is down: connection refused"
    live.script.usual = DELIVERED
    live.ask("next-v1")
    live.turn(20)
    assert "channels" not in live.bench.engine.trouble


def test_a_channel_that_was_taken_away_leaves_nothing_open(live: Live) -> None:
    """A try whose daemon died is settled although this machine has no channel now; the reminder is a file."""
    live.bench.engine.sender._spawn = lambda run: None
    live.ask()
    live.bench.close(clean=False)
    live.bench.open()
    live.bench.turn(40)
    live.bench.turn(0)
    assert live.states() == ["ambiguous"]
    live.bench.turn(261)
    assert [one["kind"] for one in live.tree.inbox("trading")] == ["reminder"]
