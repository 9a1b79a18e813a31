"""What is said about a document that is refused."""

from __future__ import annotations

import datetime
import time
from typing import Any

import pytest

from ackd.schema import FieldProblem, accepts, problems
from ackd.schema.source import is_date, is_date_time
from ackd.schema.words import FOUND_LIMIT, found, pointer

FINAL: dict[str, Any] = {"state": "final", "ack_id": "oil-v1", "from": "trading", "conclusion": "hold"}


def test_a_missing_field_is_pointed_to_where_it_belongs() -> None:
    """Pointer, need and what was found: three things that a model can act on."""
    del (document := dict(FINAL))["conclusion"]
    assert problems("envelope", document) == [
        FieldProblem("/conclusion", "needed for a final: conclusion (a text that says the result)", "nothing")
    ]


def test_a_key_in_another_spelling_is_named() -> None:
    """`ackId` was meant for `ack_id`, and the author is told so."""
    document = {key: value for key, value in FINAL.items() if key != "ack_id"} | {"ackId": "oil-v1"}
    (problem,) = problems("envelope", document)
    assert problem.pointer == "/ack_id"
    assert problem.found == 'nothing, but the key "ackId"'


def test_one_problem_a_field_and_the_telling_one_first() -> None:
    """A wrong type breaks two rules; only the one that says what to write is given."""
    (problem,) = problems("envelope", FINAL | {"conclusion": 7})
    assert problem == FieldProblem("/conclusion", "needed for a final: conclusion, a text that says the result", "7")


def test_items_and_keys_are_pointed_to() -> None:
    """The pointer goes down to the item of a list and to the key of an object."""
    assert [p.pointer for p in problems("envelope", FINAL | {"to": ["macro", 1, "a b"]})] == ["/to/1", "/to/2"]
    assert [p.pointer for p in problems("team", {"agents": {"a/b": None}})] == ["/agents/a~1b"]
    assert [p.pointer for p in problems("tech-radar", [{"name": "x", "ring": "adopt", "quadrant": "tools"}])] == [
        "/0/isNew"
    ]


@pytest.mark.parametrize(
    ("kind", "document", "at", "says"),
    [
        ("envelope", FINAL | {"priority": "urgent"}, "/priority", "one of low, normal, high, critical"),
        ("envelope", FINAL | {"body": ["a"]}, "/body", "a text"),
        ("envelope", FINAL | {"writes": "yes"}, "/writes", "true or false"),
        ("envelope", FINAL | {"depth": {"current": -1}}, "/depth/current", "a number of at least 0"),
        ("envelope", FINAL | {"message_id": "a\nb"}, "/message_id", "one line of text"),
        ("envelope", FINAL | {"to": ["a"] * 1001}, "/to", "at most 1000 items, here are 1001"),
        ("envelope", FINAL | {"subject": "x" * 501}, "/subject", "at most 500 characters, here are 501"),
        ("envelope", FINAL | {"attachments": [{"sha256": "0" * 64}]}, "/attachments/0/path", "needed: path"),
        ("team", {}, "/agents", "needed: agents"),
        ("team", {"agents": {"macro": 1}}, "/agents/macro", "nothing, or a mapping with type"),
        ("team", {"agents": {}, "depth_limit": 21}, "/depth_limit", "a whole number from 1 to 20"),
        ("team", {"agents": {}, "timeouts": {"reminder": True}}, "/timeouts/reminder", "a duration"),
        ("team", {"agents": {}, "timezone": "GMT+8?"}, "/timezone", "the IANA name"),
        ("team", {"agents": {}, "protocol": {"version": "V1", "since": "2026-02-30"}}, "/protocol/since", "a day"),
        ("decision", {"status": "done"}, "/status", "one of proposed, rejected"),
        ("status", {}, "", "needed: agent"),
        ("intel", {"source": "wire"}, "", "needed: as_of"),
        ("tech-radar", [{"name": "x", "ring": "try", "quadrant": "tools", "isNew": True}], "/0/ring", "one of adopt"),
        ("agent-session", {"agent": "macro"}, "/session_id", "needed: session_id"),
        ("monitor-task", {"task_id": "t", "owner": "macro"}, "/state", "needed: state"),
        ("problem", {}, "/code", "needed: code"),
        ("ledger-entry", {"inc": "XYZ"}, "/inc", "8 hex digits"),
    ],
)
def test_plain_words(kind: str, document: object, at: str, says: str) -> None:
    """What is expected is said in words, not in keywords of JSON Schema."""
    assert not accepts(kind, document)
    by_pointer = {problem.pointer: problem.expected for problem in problems(kind, document)}
    assert by_pointer[at].startswith(says)


@pytest.mark.parametrize("key", ["from", "ack_id", "state", "type"])
def test_a_delivery_never_looks_like_an_envelope(key: str) -> None:
    """No key of an envelope stands at the top of a delivery, so that it can never be taken for a drop."""
    document = {
        "ackd": "delivery/1",
        "id": "request:oil-v1:macro:1",
        "kind": "request",
        "to": "macro",
        "written_at": "2026-03-08T06:30:01Z",
        "summary": "x",
        "asks": ["confirm"],
    }
    assert accepts("delivery", document)
    (problem,) = problems("delivery", {**document, key: "x"})
    assert problem.expected.startswith("no from, ack_id, state or type")
    assert not accepts("envelope", document)


def test_many_problems_are_cut() -> None:
    """A file with a thousand wrong items gives as many problems as were asked for."""
    document = FINAL | {"to": [1] * 1000}
    assert len(problems("envelope", document)) == 20
    assert len(problems("envelope", document, limit=3)) == 3


def test_a_huge_file_is_explained_quickly() -> None:
    """A list far over its bound is not read item by item."""
    document = FINAL | {"to": ["a"] * 200_000, "metadata": {str(number): number for number in range(100_000)}}
    problems("envelope", FINAL)
    start = time.perf_counter()
    pointers = {problem.pointer for problem in problems("envelope", document)}
    assert pointers == {"/to", "/metadata"}
    assert time.perf_counter() - start < 1


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("收到", '"收到"'),
        ("a\n\x1b[31m", '"a\\x0a\\x1b[31m"'),
        ("a\u202eb", '"a\\u202eb"'),
        (None, "null"),
        (True, "true"),
        (1.5, "1.5"),
        pytest.param(10**5000, "a number of more than 60 digits", id="huge"),
        ([], "an empty list"),
        ([1, 2], "a list of 2"),
        ({}, "an empty object"),
        ({"from": 1, "b\n": 2}, "an object with from, b\\x0a"),
        (datetime.date(2026, 3, 8), "a value that JSON does not have (date)"),
    ],
)
def test_found_is_escaped(value: object, text: str) -> None:
    """What comes from a file is shown without control and invisible characters."""
    assert found(value) == text


@pytest.mark.parametrize("value", ["x" * 10_000, "\u202e" * 500, {"k" * 500 + str(n): n for n in range(50)}])
def test_found_is_cut(value: object) -> None:
    """It is never longer than its limit."""
    assert len(found(value)) <= FOUND_LIMIT


def test_a_pointer_is_escaped_and_cut() -> None:
    """RFC 6901 escapes; invisible characters are shown, long keys cut."""
    assert pointer(["a/b~c", 0, "x\n"]) == "/a~1b~0c/0/x\\u000a"
    assert len(pointer(["k" * 5000])) == FOUND_LIMIT + 1


@pytest.mark.parametrize("value", ["\ud800", 7.5, datetime.date(2026, 3, 8), b"zoe", ("zoe",)])
def test_what_json_cannot_carry_is_refused_with_a_reason(value: Any) -> None:
    """A lone surrogate or a foreign value is no name, and that is said instead of an exception."""
    document = FINAL | {"from": value}
    assert not accepts("envelope", document)
    assert problems("envelope", document)


@pytest.mark.parametrize(
    ("text", "good"),
    [
        ("2026-03-08T14:30:00Z", True),
        ("2026-03-08T14:30:00.123+08:00", True),
        ("2026-03-08T14:30:00", False),
        ("2026-03-08", False),
        ("2026-02-30T00:00:00Z", False),
        ("2026-03-08T14:30:00Z\n", False),
        ("2026-03-08T14:30:0\u0660Z", False),
        ("2026-03-08T14:30:00." + "1" * 100 + "Z", False),
    ],
)
def test_date_time(text: str, good: bool) -> None:
    """A date and time has its zone, real days, and ASCII digits."""
    assert is_date_time(text) is good


@pytest.mark.parametrize(
    ("text", "good"),
    [("2026-03-08", True), ("2026-02-29", False), ("20260308", False), ("2026-03-08\n", False), ("2026-W10-7", False)],
)
def test_date(text: str, good: bool) -> None:
    """A day is written with dashes and exists."""
    assert is_date(text) is good
