"""The text that counts: revisions replace, amends are laid over, and the order of keys is always the same."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from ackd.engine.texts import in_force, ordered, original_type, plain_json, text_as_of, when

Make = Callable[..., Any]

json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=8,
)
keys = st.sampled_from(["state", "ack_id", "from", "body", "data", "x", "油"]) | st.text(max_size=4)


@given(st.dictionaries(keys, json_values, max_size=8))
def test_order_follows_from_the_keys_alone(content: dict[str, Any]) -> None:
    """However the keys came, the bytes are the same, and the object too."""

    def turned(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: turned(item) for key, item in reversed(value.items())}
        return [turned(item) for item in value] if isinstance(value, list) else value

    data = msgspec.json.encode(ordered(content))
    assert msgspec.json.encode(ordered(turned(content))) == data
    assert json.loads(data) == content


def test_what_tells_most_comes_first() -> None:
    """A reader meets type, thread and author before the long texts."""
    content = {"zeta": 1, "body": "b", "from": "zoe", "ack_id": "a", "state": "final"}
    assert list(ordered(content)) == ["state", "ack_id", "from", "body", "zeta"]


def test_an_amend_is_laid_over(asked: Make) -> None:
    """An amend changes what it names; its own address, reason and reference are not part of the text."""
    told = asked(subject="oil")
    first = told.thread.request
    told.say("zoe", "amend", supersedes=first, action="只要周一", reason="shorter", to=["boss"])
    told.say("zoe", "amend", supersedes=first, subject="gas", n=2)
    thread = told.thread
    text = in_force(thread, first)
    assert (text["state"], text["action"], text["subject"]) == ("request", "只要周一", "gas")
    assert text["to"] == ["macro", "trading"]
    assert "reason" not in text
    assert "supersedes" not in text
    between = thread.messages[1]
    assert text_as_of(thread, between)["subject"] == "oil"
    assert original_type(thread, thread.messages[2]) == "request"


def test_a_new_text_replaces_the_old_one(asked: Make) -> None:
    """A request that is told anew counts as it stands: what it leaves out is gone."""
    told = asked(subject="oil")
    first = told.thread.request
    told.say("zoe", "request", to=["macro", "trading"], dri="trading", action="anew", n=2)
    assert in_force(told.thread, first)["action"] == "anew"
    assert "subject" not in in_force(told.thread, first)
    assert in_force(told.thread, "0" * 64) == {}


def test_json_for_people_steers_no_terminal() -> None:
    """Whatever an agent wrote reads the same as JSON and does nothing where it is printed; Chinese and emoji stay."""
    said = "油价\u3000\x1b[2J \x9b2J \x7f \u202egpj \u200b \U000e0041 👩\u200d🔬"
    shown = plain_json(json.dumps(said, ensure_ascii=False).encode()).decode()
    assert json.loads(shown) == said
    assert "油价\u3000" in shown
    assert "👩\u200d🔬" in shown
    assert not [one for one in shown if one in "\x1b\x9b\x7f\u202e\u200b\U000e0041"]
    assert plain_json(b'{"a": 1}') == b'{"a": 1}'


def test_instants_have_whole_seconds() -> None:
    """Readers get no milliseconds."""
    assert when(1_772_951_401_999) == "2026-03-08T06:30:01Z"


def test_each_character_that_steers_is_escaped() -> None:
    """Alone in a text too: none of them hides behind the quick look at the bytes."""
    ranges = "7f-9f ad-ad 61c-61c 180e-180e 200b-200c 200e-200f 2028-202e 2060-206f feff-feff fff9-fffb e0000-e0fff"
    for first, last in (one.split("-") for one in ranges.split()):
        for code in range(int(first, 16), int(last, 16) + 1):
            text = f'"{chr(code)}"'
            assert chr(code) not in plain_json(text.encode()).decode()
            assert json.loads(plain_json(text.encode())) == chr(code)
