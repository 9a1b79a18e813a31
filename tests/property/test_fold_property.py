"""Whatever the order and however often: the same entries are the same thread, and an ended thread stays ended."""

from __future__ import annotations

import itertools
import random
from typing import Any

import msgspec
import pytest
import rfc8785
from hypothesis import given, settings
from hypothesis import strategies as st

from ackd.errors import InvalidError
from ackd.protocol.canonical import canonical
from ackd.protocol.clock import MAX_AHEAD_MS, ZERO, receive, tick
from ackd.protocol.entry import Entry, parse_entry
from ackd.protocol.fold import Folding, fold
from ackd.protocol.policy import MINUTE, Agent, Policy, make_roster
from ackd.protocol.table import PHASES
from ackd.protocol.thread import Thread
from ackd.testing import Conversation, Delivery

POLICY = Policy(
    roster=make_roster(
        [*(Agent(name=name) for name in ("zoe", "macro", "trading", "风控", "boss")), Agent(name="li", is_person=True)],
        arbiters=["boss"],
    )
)

encode = msgspec.json.encode


def _words(sender: str, kind: str, **words: Any) -> dict[str, Any]:
    key = "state" if kind in ("request", "confirmed", "final") else "type"
    named = {key: kind} if kind else {}
    return {"ack_id": "oil-v1", "from": sender, **named, **words}


DOCUMENTS = [
    _words("zoe", "request", to=["macro", "trading"], dri="trading", action="Oil?", message_id="r1"),
    _words("zoe", "request", to=["macro", "trading", "风控"], dri="macro", action="Oil and gas?", deadline="2h"),
    _words("风控", "request", to=["macro"], action="Something else", message_id="r2"),
    _words("macro", "confirmed", conclusion="up"),
    _words("macro", "confirmed", conclusion="down", message_id="c2"),
    _words("trading", "confirmed"),
    _words("MACRO", "confirmed", conclusion="up"),
    _words("风控", "confirmed", conclusion="我来", in_reply_to="h1"),
    _words("macro", "decline", reason="No data"),
    _words("trading", "clarify", question="Which week?", message_id="q1"),
    _words("macro", "clarify", question="Which market?"),
    _words("zoe", "answer", body="Next week", in_reply_to="q1"),
    _words("zoe", "", body="OK"),
    _words("trading", "handoff", to="风控", reason="On leave", message_id="h1"),
    _words("trading", "handoff", to="macro", reason="The data part", partial=True),
    _words("macro", "handoff", to="zoe", reason="Back to you"),
    _words("macro", "supplement", body="收到，马上开始"),
    _words("macro", "", body="收到"),
    _words("macro", "progress", body="Half"),
    _words("trading", "final", conclusion="Falls", message_id="f1"),
    _words("trading", "final", conclusion="Rises", message_id="f2"),
    _words("macro", "final", conclusion="Stays", message_id="f3"),
    _words("风控", "final", conclusion="跌", message_id="f4"),
    _words("trading", "amend", conclusion="Falls by 3 %", supersedes="f1"),
    _words("macro", "amend", conclusion="sideways", supersedes="c2"),
    _words("zoe", "cancel"),
    _words("boss", "ruling", ruling="dri", dri="macro"),
    _words("li", "ruling", ruling="dri", dri="风控"),
    _words("boss", "ruling", ruling="extend", deadline="3h"),
    _words("li", "ruling", ruling="pick", pick="f2"),
    _words("boss", "ruling", ruling="close"),
    _words("boss", "supplement", body="I'm calling them"),
    _words("zoe", "broadcast", to=["all"], body="Closed today"),
    _words("macro", "vote", body="Yes, next week"),
    _words("ghost", "confirmed", conclusion="boo"),
]

DROPS = st.lists(st.integers(0, len(DOCUMENTS) - 1), min_size=1, max_size=12)
"""Which documents are dropped, in which order; the same one may come again."""
STEPS = st.lists(st.sampled_from([0, 0, 1, 5, 11, 31]), min_size=12, max_size=12)
"""How many minutes go by after each of them."""


def run(drops: list[int], steps: list[int], node: str = "node-a", *, opened: bool = True) -> Conversation:
    """Drop documents and let time go by; most conversations begin with the request."""
    talk = Conversation(POLICY, node=node)
    for number, minutes in zip([0, *drops] if opened else drops, [0, *steps], strict=False):
        talk.drop(DOCUMENTS[number])
        talk.advance(minutes * MINUTE)
    return talk


def by_thread(*talks: Conversation) -> dict[str, list[Entry]]:
    """Give the entries of several nodes by thread."""
    found: dict[str, list[Entry]] = {}
    for talk in talks:
        for entry in talk.entries:
            found.setdefault(entry.thread, []).append(entry)
    return found


@settings(max_examples=80, deadline=None)
@given(DROPS, STEPS, st.randoms(use_true_random=False), st.booleans())
def test_all_orders_and_any_number_of_copies_give_the_same_thread(
    drops: list[int], steps: list[int], chance: random.Random, opened: bool
) -> None:
    """As recorded entries: byte for byte, whatever was said and however often an entry is read."""
    for ack_id, entries in by_thread(run(drops, steps, opened=opened)).items():
        expected = encode(fold(ack_id, entries))
        for _ in range(3):
            mixed = entries + chance.choices(entries, k=chance.randrange(len(entries) + 1))
            chance.shuffle(mixed)
            assert encode(fold(ack_id, mixed)) == expected
        assert encode(fold(ack_id, reversed(entries))) == expected


@settings(max_examples=60, deadline=None)
@given(DROPS, DROPS, STEPS, st.randoms(use_true_random=False))
def test_two_nodes_that_judged_apart_merge_to_the_same_thread(
    here: list[int], there: list[int], steps: list[int], chance: random.Random
) -> None:
    """Each saw other files in another order; whoever has both ledgers folds the same bytes, in any order."""
    for ack_id, entries in by_thread(run(here, steps, "node-a"), run(there, steps, "node-b")).items():
        expected = fold(ack_id, entries)
        mixed = entries + entries[::2]
        chance.shuffle(mixed)
        assert encode(fold(ack_id, mixed)) == encode(expected)
        if any(entry.body.get("verdict") == "closed" for entry in entries):
            assert expected.phase == "final"
            assert expected.final in expected.finals


@settings(max_examples=60, deadline=None)
@given(DROPS, STEPS)
def test_an_entry_read_back_from_its_line_folds_alike(drops: list[int], steps: list[int]) -> None:
    """What was written, read and folded is what was folded before, in memory and from lines."""
    for ack_id, entries in by_thread(run(drops, steps)).items():
        again = [parse_entry(_line(entry)) for entry in entries]
        assert [entry.key for entry in again] == [entry.key for entry in entries]
        assert fold(ack_id, again) == fold(ack_id, entries)


def _line(entry: Entry) -> bytes:
    fields = {name: getattr(entry, name) for name in entry.__struct_fields__ if name != "key"}
    return msgspec.json.encode({"v": 1, **fields}, order="sorted")


@settings(max_examples=120, deadline=None)
@given(DROPS, STEPS, st.randoms(use_true_random=False), st.integers(0, 6), st.booleans())
def test_a_growing_fold_is_the_same_as_folding_all(
    drops: list[int], steps: list[int], chance: random.Random, swaps: int, opened: bool
) -> None:
    """After each entry, in order or not, with copies or not; and a thread that was given out never changes.

    Also where the request comes last, so that all that waited for it is admitted again.
    """
    for ack_id, entries in by_thread(run(drops if opened else [*drops, 0], steps, opened=opened)).items():
        arriving = list(entries)
        for _ in range(swaps):
            one, other = chance.randrange(len(arriving)), chance.randrange(len(arriving))
            arriving[one], arriving[other] = arriving[other], arriving[one]
        arriving += chance.choices(entries, k=swaps)
        start = chance.randrange(len(arriving))
        folding = Folding(ack_id, arriving[:start])
        given_out = []
        for n in range(start, len(arriving)):
            if chance.random() < 0.8:
                given_out.append((folding.thread, encode(folding.thread)))
            folding.add(arriving[n])
            assert encode(folding.thread) == encode(fold(ack_id, arriving[: n + 1]))
        assert all(encode(thread) == was for thread, was in given_out)


@settings(max_examples=60, deadline=None)
@given(DROPS, STEPS, st.booleans())
def test_a_thread_goes_only_forward(drops: list[int], steps: list[int], opened: bool) -> None:
    """With each entry the phase stays or moves on; what has ended stays ended, whatever follows."""
    for ack_id, entries in by_thread(run(drops, steps, opened=opened)).items():
        phase, ended = 0, False
        for n in range(1, len(entries) + 1):
            thread = fold(ack_id, entries[:n])
            assert PHASES.index(thread.phase) >= phase
            assert thread.ended or not ended
            phase, ended = PHASES.index(thread.phase), thread.ended


@settings(max_examples=60, deadline=None)
def _asks(delivery: Delivery) -> bool:
    """Whether a delivery asks for anything but to put one's own file right."""
    return bool(set(delivery.deliver.asks) - {"correct"})


@given(DROPS, DROPS, STEPS)
def test_a_thread_with_a_final_never_opens_again(before: list[int], after: list[int], steps: list[int]) -> None:
    """Its final changes only by a pick, or in its text by its author; nobody is asked for anything any more."""
    talk = run([*before, 19, 20, 21, 22], [0] * 16)
    talk.say("li", "ruling", ruling="close")  # ends it where no final did
    talk.advance()
    ended = talk.thread("oil-v1")
    made = len(talk.delivered)
    for number, minutes in zip(after, steps, strict=False):
        talk.drop(DOCUMENTS[number])
        talk.advance(minutes * MINUTE)
    thread = talk.thread("oil-v1")
    if ended.final:
        picked = any(verdict == "ruled" and type_ == "ruling" for type_, verdict, late in _said(thread) if late)
        assert thread.phase == "final"
        assert thread.final == ended.final or picked
    asking = [one for one in talk.delivered[made:] if one.deliver.thread == "oil-v1" and _asks(one)]
    assert not (ended.ended and asking)


def _said(thread: Thread) -> list[tuple[str, str, bool]]:
    return [(one.type, one.verdict, one.after_end) for one in thread.messages]


@settings(max_examples=60, deadline=None)
@given(DROPS, STEPS, st.booleans())
def test_nothing_is_carried_out_twice_and_all_that_is_owed_comes_to_an_end(
    drops: list[int], steps: list[int], opened: bool
) -> None:
    """No obligation's id is delivered a second time; two days later nothing is left to do."""
    talk = run(drops, steps, opened=opened)
    talk.advance(48 * 60 * MINUTE)
    assert talk.advance(48 * 60 * MINUTE) == []
    ids = [one for made in talk.delivered for one in made.deliver.ids]
    assert len(ids) == len(set(ids))


@settings(max_examples=60, deadline=None)
@given(DROPS, STEPS, st.booleans())
def test_every_message_has_one_verdict_and_nobody_hears_his_own_words(
    drops: list[int], steps: list[int], opened: bool
) -> None:
    """Each content stands once in its thread; its author gets notices about it and never the text itself."""
    talk = run(drops, steps, opened=opened)
    for ack_id in talk.threads:
        digests = [one.digest for one in talk.thread(ack_id).messages]
        assert len(digests) == len(set(digests))
        for message in talk.thread(ack_id).messages:
            own = {tell.kind for tell in message.told if tell.agent == message.sender}
            assert own <= {"notice", "refusal", "collision", "revision"}
            assert "revision" not in own or message.row == "revises-final"


# Dropped files in any order.

BASE = [DOCUMENTS[0], DOCUMENTS[3], DOCUMENTS[5], DOCUMENTS[19], DOCUMENTS[17]]
"""Request, two confirmeds, the final and a courtesy."""


def outcome(order: list[dict[str, Any]]) -> tuple[Any, ...]:
    """Drop in that order, carry out after each, check what holds on the way; give what it came to."""
    talk = Conversation(POLICY)
    for document in order:
        was_ended = talk.thread("oil-v1").ended
        talk.drop(document)
        made = talk.carry_out()
        assert not was_ended or made == [], "after the final nobody is woken"
        if talk.thread("oil-v1").ended:
            assert {one.kind for one in made} <= {"final"}, "with the final none but its own"
    made = talk.advance(24 * 60 * MINUTE)
    assert made == []
    ids = [one for delivery in talk.delivered for one in delivery.deliver.ids]
    assert len(ids) == len(set(ids))
    assert sorted((one.agent, one.kind) for one in talk.delivered if one.kind == "final") == [
        ("macro", "final"),
        ("zoe", "final"),
    ]
    thread = talk.thread("oil-v1")
    messages = sorted((one.sender, one.type, encode(one.content, order="sorted")) for one in thread.messages)
    return thread.phase, thread.dri, thread.dri_epoch, thread.final, messages


EXPECTED = outcome(BASE)


@pytest.mark.parametrize("order", list(itertools.permutations(range(5))), ids=lambda one: "".join(map(str, one)))
def test_dropped_in_any_order_it_comes_to_the_same(order: tuple[int, ...]) -> None:
    """Equal state, DRI, final and set of messages; nothing handed over twice; silence after the final."""
    assert outcome([BASE[n] for n in order]) == EXPECTED
    assert EXPECTED[0] == "final"


@settings(max_examples=250, deadline=None)
@given(st.lists(st.integers(0, 4), max_size=10), st.randoms(use_true_random=False))
def test_dropped_in_any_order_and_several_times_it_comes_to_the_same(copies: list[int], chance: random.Random) -> None:
    """Copies of any of the files change nothing."""
    order = [*range(5), *copies]
    chance.shuffle(order)
    assert outcome([BASE[n] for n in order]) == EXPECTED


# Canonical JSON and the clock.

NUMBERS = st.integers(-(2**53) + 1, 2**53 - 1) | st.floats(allow_nan=False, allow_infinity=False)
JSON = st.recursive(
    st.none() | st.booleans() | NUMBERS | st.text(),
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(st.text(max_size=8), inner, max_size=5),
    max_leaves=20,
)


@settings(max_examples=300, deadline=None)
@given(JSON)
def test_canonical_is_what_rfc8785_says(value: Any) -> None:
    """The fast way and the library give the same bytes for any JSON value."""
    assert canonical(value) == rfc8785.dumps(value)


@pytest.mark.parametrize("text", [chr(n) for n in range(0x80)] + ["\u2028", "\ue000", "𝄞", "é", "\u007f\x00"])
def test_every_ascii_character_is_escaped_alike(text: str) -> None:
    """Control characters, quotes and backslashes, as key and as value."""
    assert canonical({text: [text]}) == rfc8785.dumps({text: [text]})


@pytest.mark.parametrize(
    "value", [2**53, -(2**53), float("nan"), float("inf"), "\ud800", {"\udfff": 1}, ["a", {"b": "\ud800x"}]]
)
def test_what_has_no_canonical_form_is_an_error_of_ours(value: Any) -> None:
    """Numbers that JSON cannot carry and lone surrogates are reported as invalid."""
    with pytest.raises(InvalidError):
        canonical(value)


@given(st.lists(st.integers(0, 2**48), min_size=1), st.lists(st.tuples(st.integers(0, 2**48), st.integers(0, 9))))
def test_the_clock_never_goes_back(walls: list[int], remotes: list[tuple[int, int]]) -> None:
    """Every stamp is greater than all before it, whatever the wall clock and other nodes' stamps say."""
    last = ZERO
    for wall, remote in itertools.zip_longest(walls, remotes):
        now = wall if wall is not None else walls[-1]
        taken = receive(last, remote or ZERO, now)
        assert taken >= last
        assert taken == last or taken[0] <= now + MAX_AHEAD_MS
        stamp = tick(taken, now)
        assert stamp > taken
        assert stamp[0] >= now
        last = stamp
