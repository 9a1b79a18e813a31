"""What each kind of message needs, and where the envelope is lenient."""

from __future__ import annotations

from typing import Any

import pytest

from ackd.protocol.envelope import STATES, TYPES, read_envelope
from ackd.schema import accepts, load_schema, problems

BASE: dict[str, Any] = {"ack_id": "周报-v1-202603081430", "from": "小李"}

WHOLE: dict[str, dict[str, Any]] = {
    "request": {"to": ["macro"], "action": "写一页"},
    "confirmed": {},
    "final": {"conclusion": "减仓到四成"},
    "clarify": {"question": "哪个市场？"},
    "answer": {"body": "A 股"},
    "handoff": {"to": "macro", "reason": "not my field"},
    "decline": {"reason": "no access"},
    "supplement": {"body": "one more figure"},
    "progress": {"body": "half way"},
    "broadcast": {"to": "all", "body": "closed on Monday"},
    "cancel": {},
    "amend": {"supersedes": "m-1"},
    "ruling": {"ruling": "close"},
    "vote": {},
    "compensate": {},
}


def message(kind: str, **more: Any) -> dict[str, Any]:
    """Give a whole message of a kind, with other keys put over it."""
    return {**BASE, "state" if kind in STATES else "type": kind, **WHOLE[kind], **more}


def expected(document: object) -> dict[str, str]:
    """Give what is expected, by pointer."""
    return {problem.pointer: problem.expected for problem in problems("envelope", document)}


def test_the_types_are_those_of_the_protocol() -> None:
    """Schema and code know the same states and types."""
    known = load_schema("envelope")["properties"]
    assert tuple(known["state"]["enum"]) == STATES
    assert tuple(known["type"]["enum"]) == TYPES
    assert set(WHOLE) == set(TYPES)


@pytest.mark.parametrize("kind", TYPES)
def test_a_whole_message_is_accepted(kind: str) -> None:
    """Each kind is accepted with exactly what it needs, and the protocol reads it."""
    assert expected(message(kind)) == {}
    assert accepts("envelope", message(kind))
    assert read_envelope(message(kind)).type == kind


@pytest.mark.parametrize(("kind", "field"), [(kind, field) for kind, needs in WHOLE.items() for field in needs])
def test_what_is_needed_is_missed(kind: str, field: str) -> None:
    """Without a needed field the message is refused, and the problem names kind and field."""
    document = message(kind)
    del document[field]
    assert not accepts("envelope", document)
    said = expected(document)
    assert list(said) == [f"/{field}"]
    assert said[f"/{field}"].startswith("needed for a")
    assert f": {field}" in said[f"/{field}"]
    assert kind in said[f"/{field}"]


@pytest.mark.parametrize(("kind", "field"), [(kind, field) for kind, needs in WHOLE.items() for field in needs])
@pytest.mark.parametrize("empty", [None, "", [], {}])
def test_empty_is_as_good_as_missing(kind: str, field: str, empty: object) -> None:
    """A needed field that is null or empty is refused by one problem, at that field."""
    document = message(kind, **{field: empty})
    assert not accepts("envelope", document)
    assert list(expected(document)) == [f"/{field}"]


@pytest.mark.parametrize(
    ("kind", "field"),
    [(kind, field) for kind, needs in WHOLE.items() for field in needs if field not in ("to", "ruling")],
)
def test_blank_is_empty(kind: str, field: str) -> None:
    """White space alone is no text."""
    assert list(expected(message(kind, **{field: " \n\t "}))) == [f"/{field}"]


@pytest.mark.parametrize("field", ["from", "ack_id"])
@pytest.mark.parametrize("kind", TYPES)
def test_sender_and_thread_are_always_needed(kind: str, field: str) -> None:
    """Every message names its author and its thread; a broadcast's ack_id is made where it has none."""
    document = message(kind)
    del document[field]
    assert accepts("envelope", document) is (kind == "broadcast" and field == "ack_id")


@pytest.mark.parametrize("kind", STATES)
def test_the_three_may_stand_under_state_or_type_or_both(kind: str) -> None:
    """The three states may be named by either key; both have to say the same."""
    content = {**BASE, **WHOLE[kind]}
    assert accepts("envelope", {**content, "type": kind})
    assert accepts("envelope", {**content, "type": kind, "state": kind})
    other = "final" if kind != "final" else "request"
    said = expected({**content, "state": kind, "type": other, "conclusion": "x", "to": "a", "action": "b"})
    assert said == {"/type": f'the same word as state, "{kind}"; or leave one of the two out'}


@pytest.mark.parametrize("kind", sorted(set(TYPES) - set(STATES)))
def test_no_other_kind_is_a_state(kind: str) -> None:
    """`{"state": "clarify"}` is refused, and the author is told the other way to write it."""
    said = expected({**BASE, **WHOLE[kind], "state": kind})
    assert said["/state"] == (
        f'one of request, confirmed, final; for a {kind} write "type": "{kind}" and leave state out'
    )


def test_a_slip_of_the_pen_is_answered_with_the_right_word() -> None:
    """A state that is nearly right names the one that was meant."""
    assert expected({**BASE, "state": "Confirmd"}) == {
        "/state": "one of request, confirmed, final; did you mean confirmed?"
    }


def test_neither_state_nor_type_is_a_supplement_if_there_is_a_text() -> None:
    """An object with author, thread and a text is taken; without a text it is refused."""
    assert accepts("envelope", {**BASE, "body": "油价又涨了"})
    assert not accepts("envelope", {**BASE, "body": " "})
    assert "supplement" in expected(BASE)[""]


@pytest.mark.parametrize(
    ("ruling", "field", "value"),
    [("dri", "dri", "macro"), ("extend", "deadline", "2h"), ("pick", "pick", "m-7")],
)
def test_a_ruling_carries_what_it_rules(ruling: str, field: str, value: str) -> None:
    """Reassigning needs the new DRI, extending the deadline, picking the final."""
    assert accepts("envelope", message("ruling", ruling=ruling, **{field: value}))
    assert list(expected(message("ruling", ruling=ruling))) == [f"/{field}"]


def test_a_ruling_is_never_a_text() -> None:
    """Anything but the five rulings is refused: an arbiter does not give the expert's answer."""
    assert expected(message("ruling", ruling="buy")) == {"/ruling": "one of dri, extend, cancel, pick, close"}
    assert accepts("envelope", message("ruling", ruling="cancel"))


def test_a_handoff_has_exactly_one_target() -> None:
    """Two targets would mean two owners."""
    assert accepts("envelope", message("handoff", to=["macro"]))
    assert expected(message("handoff", to=["macro", "zoe"])) == {"/to": "needed for a handoff: to, exactly one name"}


@pytest.mark.parametrize("deadline", ["soon", "昨天", "2026-02-30T25:61:00Z", "", None, 1772951400, 1.5e12, -1])
def test_a_deadline_never_refuses(deadline: object) -> None:
    """A deadline that nobody can read leaves the request standing (DESIGN part 4)."""
    assert accepts("envelope", message("request", deadline=deadline))


@pytest.mark.parametrize(
    "more",
    [
        {"depth": "1/5"},
        {"depth": {"current": 1, "max": 5}},
        {"depth": "?"},
        {"sent_at": "half past nine"},
        {"traceparent": "nonsense"},
        {"protocol_version": 1.0},
        {"protocol_version": "2.0"},
        {"to": "all"},
        {"to": ["@macro"]},
        {"metadata": {"any": [1]}, "due": "x", "created_at": "y"},
        {"attachments": ["intel/oil_latest.json", {"path": "a.csv", "sha256": "0" * 64}]},
        {"data": [1, {"a": None}]},
        {"parent": None, "dri": None, "priority": None, "context": {"a": 1}},
    ],
)
def test_kind_about_form(more: dict[str, Any]) -> None:
    """What is not decided by a field's form is not refused for it."""
    assert accepts("envelope", message("request", **more)), problems("envelope", message("request", **more))


def test_a_bare_confirmed_counts() -> None:
    """A confirmed without version, effective time and conclusion is taken."""
    assert accepts("envelope", message("confirmed"))
    assert accepts("envelope", message("confirmed", conclusion="", version=2))


@pytest.mark.parametrize("status", ["success", "partial_success", "failed", "rejected", "cancelled", None])
def test_a_final_ends_in_one_of_five_ways(status: str | None) -> None:
    """The five outcomes are accepted, also none at all."""
    assert accepts("envelope", message("final", status=status))


def test_another_outcome_is_refused() -> None:
    """`done` could mean too much; the author is told the five."""
    assert expected(message("final", status="done")) == {
        "/status": "one of success, partial_success, failed, rejected, cancelled"
    }
    assert accepts("envelope", message("confirmed", status="rejected"))


@pytest.mark.parametrize(
    "name",
    ["", "a b", "a/b", "../x", "a\\b", "a\n", "a\x00b", "a\u200bb", "a\u202eb", "x" * 129, "\u3000", 7, None, ["zoe"]],
)
@pytest.mark.parametrize("field", ["from", "ack_id"])
def test_names_that_could_never_be_names(field: str, name: object) -> None:
    """Slashes, white space, control and invisible characters and overlong names are refused, by both validators."""
    document = message("cancel", **{field: name})
    assert not accepts("envelope", document)
    assert list(expected(document)) == [f"/{field}"]


@pytest.mark.parametrize(
    "name", ["zoe", "小李", "Zoë", "Zoe\u0308", "a.b-c_d", "अनु", "x~1a2b", "topic-v1-202603081430.2"]
)
def test_names_of_any_script(name: str) -> None:
    """Letters and marks of any script pass; the full grammar is the protocol's."""
    assert accepts("envelope", message("cancel", **{"from": name, "ack_id": name}))


@pytest.mark.parametrize("document", [None, 1, "x", [], [message("cancel")], True])
def test_only_an_object_is_an_envelope(document: object) -> None:
    """Another value is refused with one problem, at the top."""
    assert not accepts("envelope", document)
    assert list(expected(document)) == [""]
