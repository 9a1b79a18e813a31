"""What is remembered of a followed file: pure, so that any course of contents can be tried."""

from __future__ import annotations

import datetime
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ackd.engine.followed import Followed, due, owner_of, remind, take
from ackd.protocol.policy import Agent, Policy, make_roster

NOW = 1_772_928_000_000
ROSTER = make_roster(
    [Agent(name="macro"), Agent(name="trading"), Agent(name="赵敏"), Agent(name="zoe")], arbiters=["zoe"]
)
RULES = Policy(roster=ROSTER)


def stamp(at: int) -> str:
    """Write an instant as an agent does."""
    return datetime.datetime.fromtimestamp(at / 1000, datetime.UTC).isoformat()


def read(before: Followed | None, document: Any, at: int, kind: str = "monitor-task") -> Followed:
    """Take a content and give what is known then."""
    data = msgspec.json.encode(document)
    return take(before, kind, document, data, path="monitor-tasks/t.json", now=at, rules=RULES).now


@pytest.mark.parametrize(
    ("kind", "document", "path", "owner"),
    [
        ("status", {"agent": "Macro"}, "status/x.json", "macro"),
        ("status", {"agent": "nobody"}, "status/trading.json", "trading"),
        ("status", {"agent": ["macro"]}, "status/赵敏.json", "赵敏"),
        ("status", None, "status/macro.json", "macro"),
        ("agent-session", {"agent": "@赵敏"}, "agent-sessions/1.json", "赵敏"),
        ("monitor-task", {"owner": "trading"}, "monitor-tasks/macro.json", "trading"),
        ("intel", {"author": "macro", "source": "trading"}, "intel/oil_latest.json", "macro"),
        ("intel", {"source": "trading"}, "intel/oil_latest.json", "trading"),
        ("intel", {"source": ["wire"]}, "intel/oil_latest.json", ""),
        (
            "tech-radar",
            [
                {"owner": "macro", "reviewed": "2026-01-02"},
                {"owner": "trading", "reviewed": "2026-01-01"},
                {"owner": 7},
            ],
            "tech-radar.json",
            "trading",
        ),
    ],
)
def test_owner(kind: str, document: object, path: str, owner: str) -> None:
    """The owner is whom the file names, else whose name it has; whatever else stands there."""
    assert owner_of(kind, document, path, ROSTER) == owner


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["running", "blocked", "done"]),
            st.integers(-100, 100),
            st.integers(0, 600),
        ),
        min_size=1,
        max_size=12,
    )
)
def test_any_course(course: list[tuple[str, int, int]]) -> None:
    """Whatever is written: what was read last counts, each thing is told once, the owner before the arbiter."""
    now, known, told = NOW, None, []
    for state, claim, minutes in course:
        now += minutes * 60_000 + 1
        document = {"owner": "macro", "task_id": "t", "state": state, "updated_at": stamp(now + claim * 60_000)}
        known = read(known, document, now)
        assert (known.content, known.read_at) == (document, now)
        assert known.as_of is not None
        assert known.as_of <= now + 60_000
        while (at := due(known, RULES)) is not None and at <= now:
            change = remind(known, "monitor-tasks/t.json", now, RULES)
            assert change is not None
            assert change.note is not None
            known = change.now
            told.append((change.note.step, change.note.agents))
            if change.note.agents == ("zoe",):
                assert change.note.step.removesuffix("-arbiter") in [step for step, _ in told[:-1]]
            else:
                assert change.note.agents == ("macro",)
        assert state != "done" or due(known, RULES) is None
    assert len({step for step, _ in told}) == len(told)


def test_without_owner_and_arbiter() -> None:
    """Where nobody can be told nothing is owed, and it is over."""
    rules = Policy(roster=make_roster([Agent(name="macro")]))
    document = {"owner": "nobody", "task_id": "t", "state": "running", "updated_at": stamp(NOW)}
    data = msgspec.json.encode(document)
    known = take(None, "monitor-task", document, data, path="monitor-tasks/t.json", now=NOW, rules=rules).now
    for hours in (7, 8):
        change = remind(known, "monitor-tasks/t.json", NOW + hours * 3_600_000, rules)
        assert change is not None
        assert change.note is not None
        assert change.note.agents == ()
        known = change.now
    assert due(known, rules) is None


def test_the_owner_is_the_arbiter() -> None:
    """An arbiter who owns the task is not asked about itself."""
    document = {"owner": "zoe", "task_id": "t", "state": "running", "updated_at": stamp(NOW)}
    known = read(None, document, NOW)
    first = remind(known, "t", NOW + 7 * 3_600_000, RULES)
    assert first is not None
    second = remind(first.now, "t", NOW + 8 * 3_600_000, RULES)
    assert second is not None
    assert second.note is not None
    assert second.note.agents == ()


def test_large_content() -> None:
    """Content that is too long to keep is known by its digest alone."""
    known = read(None, {"owner": "macro", "task_id": "t", "state": "running", "progress": "x" * 9_000}, NOW)
    assert known.content is None
    assert len(known.digest) == 64


def test_numbers_without_canonical_form() -> None:
    """Content with a number that JSON cannot carry everywhere is known by its bytes."""
    known = read(None, {"owner": "macro", "task_id": "t", "state": "running", "result": 2**60}, NOW)
    assert (known.content, known.digest) == (None, known.sha256)
