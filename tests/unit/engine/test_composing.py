"""The ids that are made of what is asked."""

from __future__ import annotations

import datetime
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ackd.engine.composing import new_ack_id
from ackd.protocol.ids import clean_ack_id

NOW = datetime.datetime(2026, 3, 8, 14, 30, tzinfo=datetime.UTC)


@pytest.mark.parametrize(
    ("action", "slug"),
    [
        ("Next week's A-share strategy", "next-week-s-a-share-strategy"),
        ("下周A股策略：仓位？", "下周a股策略-仓位"),
        ("  看\n第二行 ", "看"),
        ("…?!", "ask"),
        ("", "ask"),
        ("con", "ask"),
        ("one two three four five six seven eight nine ten", "one-two-three-four-five-six"),
        ("x" * 100, "x" * 32),
    ],
)
def test_the_slug_reads_like_the_action(action: str, slug: str) -> None:
    """Letters and digits of any script stay, in whole words, of the first line."""
    assert re.fullmatch(re.escape(slug) + r"-v1-202603081430-[0-9a-f]{4}", new_ack_id(action, NOW))


@given(st.text())
def test_any_action_gives_an_id_that_is_taken(action: str) -> None:
    """Whatever is asked, the id obeys the rules of names as it stands."""
    made = new_ack_id(action, NOW)
    assert clean_ack_id(made) == made


def test_two_of_one_minute_differ() -> None:
    """The last characters keep them apart."""
    assert len({new_ack_id("same", NOW) for _ in range(20)}) > 15
