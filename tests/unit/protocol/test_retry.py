"""What to do next with a live send, row by row, and for any history: never a third try that may have arrived."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ackd.protocol.retry import BUSY_PAUSE_MS, MOST_UNKNOWN, Fall, Step, Try, Wait, next_step
from ackd.protocol.sends import Attempt, Send, unknown_tries

OUTCOMES = ("delivered", "refused", "busy", "not-sent", "ambiguous", "")


def attempt(number: int, outcome: str, ended_at: int = 0) -> Attempt:
    """Give a try."""
    return Attempt(
        key=f"{number:064x}", stamp=(number, 0), at=number, channel="live", outcome=outcome, ended_at=ended_at
    )


def send(*outcomes: str, ended_at: int = 1_000) -> Send | None:
    """Give a send with tries that ended so, or None for none."""
    attempts = tuple(attempt(number, one, ended_at) for number, one in enumerate(outcomes, 1))
    return Send(id="request:x:a:1", agent="a", kind="request", attempts=attempts) if attempts else None


def step(one: Send | None, *, unknown: int = 0, now: int = 100_000, **more: object) -> Step:
    """Decide, with the usual circumstances."""
    tries = tuple(attempt(number, "ambiguous") for number in range(unknown))
    facts = {"kind": "request", "was_alive": False, "was_refused": False, "is_flying": False, "now": now, **more}
    return next_step(one, tries, **facts)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("outcomes", "kind"),
    [
        ((), Try),
        (("not-sent",), Try),
        (("not-sent", "not-sent"), Try),
        (("not-sent", "not-sent", "not-sent"), Fall),
        (("busy",), Try),
        (("busy", "busy"), Fall),
        (("busy", "not-sent"), Try),
        (("refused",), Fall),
        (("not-sent", "refused"), Fall),
        (("ambiguous",), Fall),
        (("not-sent", "ambiguous"), Fall),
        (("",), Fall),
    ],
)
def test_each_history_has_one_next_step(outcomes: tuple[str, ...], kind: type) -> None:
    """Twice more after what did not arrive, once more after busy, never after a refusal or a time-out (R43 to R45)."""
    assert isinstance(step(send(*outcomes)), kind)


@pytest.mark.parametrize(
    ("outcomes", "pause"), [(("not-sent",), 1_000), (("not-sent", "not-sent"), 3_000), (("busy",), BUSY_PAUSE_MS)]
)
def test_the_pauses(outcomes: tuple[str, ...], pause: int) -> None:
    """From when the try ended, and a little longer by chance (R46)."""
    one = send(*outcomes, ended_at=5_000)
    assert step(one, now=5_000 + pause - 1) == Wait(5_000 + pause)
    assert step(one, now=5_000 + pause) == Try()
    assert step(one, now=5_000 + pause, jitter=50) == Wait(5_050 + pause)


def test_circumstances() -> None:
    """What flies is waited for; two that may have arrived are the most; who is at work is not woken by a reminder."""
    assert step(None, is_flying=True) == Wait()
    assert step(None, unknown=1) == Try(repeated=True)
    assert isinstance(step(None, unknown=2), Fall)
    assert isinstance(step(None, kind="reminder", was_alive=True), Fall)
    assert step(None, kind="final", was_alive=True) == Try()
    assert isinstance(step(None, kind="reminder", was_refused=True), Fall)
    assert step(None, kind="final", was_refused=True) == Try()


@given(st.lists(st.sampled_from(OUTCOMES), max_size=40), st.lists(st.booleans(), min_size=40, max_size=40))
def test_never_a_third_that_may_have_arrived(outcomes: list[str], new_message: list[bool]) -> None:
    """Whatever becomes of each try, a daemon that died over it included, and however many messages are owed."""
    sends: dict[str, Send] = {}
    number, tried = 0, 0
    for position, outcome in enumerate(outcomes):
        number += new_message[position]
        name = f"notice:x:a:{number}"
        unknown = unknown_tries(sends, "a", None)
        facts = {"kind": "notice", "was_alive": False, "was_refused": False, "is_flying": False, "now": 10_000_000}
        if not isinstance(next_step(sends.get(name), unknown, **facts), Try):  # type: ignore[arg-type]
            continue
        tried += 1
        before = sends.get(name) or Send(id=name, agent="a", kind="notice")
        attempts = (*before.attempts, attempt(position + 1, outcome))
        sends[name] = Send(id=name, agent="a", kind="notice", attempts=attempts)
    assert len(unknown_tries(sends, "a", None)) <= MOST_UNKNOWN
    for one in sends.values():
        assert sum(attempt.is_unknown for attempt in one.attempts) <= 1
        assert len(one.attempts) <= 4
