"""The quick validator and the one that explains agree on every document."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ackd.schema import KINDS, accepts, load_schema, problems
from ackd.schema.words import FOUND_LIMIT

texts = st.one_of(
    st.text(max_size=12),
    st.sampled_from(
        [
            *(
                "",
                " ",
                "macro",
                "a b",
                "a/b",
                "x\n",
                "x\x00",
                "\u3000",
                "\u200b",
                "收到",
                "request",
                "final",
                "clarify",
            ),
            *(
                "2026-03-08",
                "2026-03-08T14:30:00Z",
                "2026-03-08t14:30:00z",
                "2026-03-08T14:30:00Z\n",
                "0" * 64,
                "0" * 65,
            ),
            *("TRUE", "ruling", "dri", "extend", "none", "5m", "1/5", "delivery/1", "９", "\U0001f600" * 64, "a" * 129),
        ]
    ),
)
numbers = st.one_of(
    st.integers(-3, 30),
    st.sampled_from([2**53 - 1, 2**53, -(2**53), 2**64, 2**70, 10**40, 0.0, 1.0, 1.5, -0.0, 1e300, 5e-324]),
)
values: st.SearchStrategy[Any] = st.recursive(
    st.one_of(st.none(), st.booleans(), numbers, texts),
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(texts, inner, max_size=4)),
    max_leaves=6,
)


def places(document: Any) -> list[tuple[Any, Any]]:
    """Give every container with each of its keys or indexes."""
    found: list[tuple[Any, Any]] = []
    waiting = [document]
    while waiting:
        one = waiting.pop()
        keys: list[Any] = list(one) if isinstance(one, dict) else list(range(len(one))) if isinstance(one, list) else []
        for key in keys:
            found.append((one, key))
            waiting.append(one[key])
    return found


def named_keys(kind: str) -> list[str]:
    """Give the keys that the schema knows at the top."""
    schema = load_schema(kind)
    return sorted(schema.get("properties") or schema["items"]["properties"])


@st.composite
def mutants(draw: st.DrawFn, kind: str) -> Any:
    """Change an example in up to three places: another value, a key less, a key more, a value from elsewhere."""
    document = copy.deepcopy(draw(st.sampled_from(load_schema(kind)["examples"])))
    for _ in range(draw(st.integers(0, 3))):
        spots = places(document)
        if not spots:
            return document
        holder, key = draw(st.sampled_from(spots))
        change = draw(st.sampled_from(["replace", "delete", "add", "move"]))
        if change == "delete":
            del holder[key]
        elif change == "add" and isinstance(holder, dict):
            holder[draw(st.one_of(st.sampled_from(named_keys(kind)), texts))] = draw(values)
        elif change == "move":
            other, where = draw(st.sampled_from(spots))
            if where in other if isinstance(other, dict) else where < len(other):
                holder[key] = copy.deepcopy(other[where])
        else:
            holder[key] = draw(values)
    return document


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=100, deadline=None)
@given(data=st.data())
def test_both_agree_on_changed_documents(kind: str, data: st.DataObject) -> None:
    """A document is accepted exactly where nothing is wrong with it, and every problem is fit to be shown."""
    document = data.draw(mutants(kind))
    told = problems(kind, document)
    assert accepts(kind, document) is (not told)
    for problem in told:
        assert problem.pointer == "" or problem.pointer.startswith("/")
        assert problem.expected
        assert problem.found.isprintable()
        assert 0 < len(problem.found) <= FOUND_LIMIT


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=40, deadline=None)
@given(document=values)
def test_both_agree_on_any_value(kind: str, document: Any) -> None:
    """So it is for values that have nothing to do with the kind."""
    assert accepts(kind, document) is (not problems(kind, document))
