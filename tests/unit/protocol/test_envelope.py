"""The envelope: its type, its identity and its content, and which two tellings are one message."""

from __future__ import annotations

from typing import Any

import pytest

from ackd.errors import InvalidError
from ackd.protocol.canonical import digest
from ackd.protocol.envelope import NOT_CONTENT, STATES, TYPES, Envelope, read_envelope

REQUEST = {"state": "request", "ack_id": "oil-v1", "from": "zoe", "to": ["macro"], "action": "Oil?"}


def read(**words: Any) -> Envelope:
    """Read a request with other words."""
    return read_envelope({**REQUEST, **words})


@pytest.mark.parametrize("kind", TYPES)
def test_every_type_is_read_from_type_and_the_three_also_from_state(kind: str) -> None:
    """State and type may both stand there if they are equal."""
    base = {"ack_id": "oil-v1", "from": "zoe"}
    envelope = read_envelope({**base, "type": kind})
    assert envelope.type == kind
    if kind in STATES:
        assert read_envelope({**base, "state": kind}).digest == envelope.digest
        assert read_envelope({**base, "state": kind, "type": kind}).digest == envelope.digest


def test_an_object_without_state_and_type_is_a_supplement() -> None:
    """A text with from and ack_id is enough."""
    envelope = read_envelope({"ack_id": "oil-v1", "from": "macro", "body": "See row 3"})
    assert (envelope.type, envelope.words) == ("supplement", "See row 3")


@pytest.mark.parametrize(
    "words",
    [
        {"type": "final"},
        {"state": "asked"},
        {"from": ""},
        {"from": None},
        {"from": "a/b"},
        {"ack_id": None},
        {"ack_id": ""},
        {"ack_id": "../x"},
        {"to": ["zoe", "a b"]},
    ],
    ids=str,
)
def test_what_is_no_envelope_is_refused(words: dict[str, Any]) -> None:
    """Contradicting or unknown types, missing or impossible names and ids."""
    with pytest.raises(InvalidError):
        read(**words)


def test_a_broadcast_gets_an_ack_id_of_its_content() -> None:
    """The same wherever it is read; another text has another."""
    first = read_envelope({"type": "broadcast", "from": "zoe", "to": "all", "body": "Closed"})
    again = read_envelope({"to": ["all"], "body": "Closed", "from": "zoe", "type": "broadcast", "message_id": "m"})
    other = read_envelope({"type": "broadcast", "from": "zoe", "to": "all", "body": "Open"})
    assert first.ack_id == again.ack_id != other.ack_id
    assert first.ack_id.startswith("broadcast-")


# Identity and content.


def test_identity_is_the_message_id_else_the_digest() -> None:
    """Two messages without one differ by what they say."""
    assert read(message_id="m-1").identity == "m-1"
    assert read().identity == read().digest
    assert len(read().digest) == 64


@pytest.mark.parametrize("key", sorted(NOT_CONTENT))
def test_what_is_no_content_makes_no_other_message(key: str) -> None:
    """message_id, sent_at, signature, traceparent, via and depth may differ between two tellings."""
    assert read(**{key: "x"}).digest == read().digest


def test_the_keys_that_are_no_content_are_these() -> None:
    """DESIGN names six; `$schema` only helps an editor."""
    named = {"message_id", "sent_at", "signature", "traceparent", "via", "depth"}
    assert named | {"$schema"} == NOT_CONTENT


@pytest.mark.parametrize(
    "words",
    [
        {"action": "Gas?"},
        {"ack_id": "oil-v2"},
        {"from": "radar"},
        {"to": ["macro", "trading"]},
        {"deadline": "2h"},
        {"in_reply_to": "m-1"},
        {"anything": "else"},
        {"metadata": {"a": 1}},
    ],
    ids=str,
)
def test_everything_else_is_content(words: dict[str, Any]) -> None:
    """Unknown keys too."""
    assert read(**words).digest != read().digest


def test_form_makes_no_other_content() -> None:
    """Order of keys, a single recipient as a string, state or type, `@` and decomposed letters."""
    first = read(to=["müller"])
    for words in ({"to": "müller"}, {"to": ["@müller"]}, {"to": ["mu\u0308ller"]}, {"to": ["müller", "müller"]}):
        assert read(**words).digest == first.digest
    backwards = dict(reversed(list(REQUEST.items())))
    assert read_envelope(backwards).digest == read().digest


def test_the_digest_is_that_of_the_canonical_content() -> None:
    """SHA-256 of RFC 8785, so that others can compute it."""
    content = {"type": "request", "ack_id": "oil-v1", "from": "zoe", "to": ["macro"], "action": "Oil?"}
    assert read(sent_at="now").digest == digest(content)


def test_reading_changes_nothing() -> None:
    """The object that was dropped is kept as it was."""
    content = {**REQUEST, "to": "macro", "message_id": "m-1"}
    before = dict(content)
    assert read_envelope(content).content == before
    assert content == before


@pytest.mark.parametrize("words", [{"action": "\ud800"}, {"data": 1e999}, {"data": {"n": 2**60}}], ids=ascii)
def test_what_has_no_canonical_form_is_refused(words: dict[str, Any]) -> None:
    """Lone surrogates and numbers that JSON cannot carry."""
    with pytest.raises(InvalidError):
        read(**words)


# Retries and bare confirmeds.


def test_a_retry_has_the_same_words() -> None:
    """Whatever ack_id, deadline, order and case of names it stands under."""
    again = read(ack_id="oil-v9", retry_of="oil-v1", deadline="1h", to=["MACRO"], message_id="m-2", thread="chat-1")
    assert again.words_digest == read().words_digest


@pytest.mark.parametrize("words", [{"action": "Gas?"}, {"from": "radar"}, {"to": ["trading"]}, {"data": {"a": 1}}])
def test_other_words_are_no_retry(words: dict[str, Any]) -> None:
    """Another text, author or recipient, or other data."""
    assert read(**words).words_digest != read().words_digest


@pytest.mark.parametrize(
    ("words", "bare"),
    [
        ({}, True),
        ({"body": "收到"}, True),
        ({"version": ""}, True),
        ({"version": "v2"}, False),
        ({"effective": "2026-03-09"}, False),
        ({"conclusion": "up"}, False),
    ],
)
def test_a_confirmed_is_bare_without_version_effective_and_conclusion(words: dict[str, str], bare: bool) -> None:
    """A body alone does not make it tell anybody anything."""
    envelope = read_envelope({"state": "confirmed", "ack_id": "oil-v1", "from": "macro", **words})
    assert envelope.is_bare is bare


def test_words_are_gathered_most_telling_first() -> None:
    """Only strings, stripped, one a line."""
    envelope = read(action=" Oil? ", body="In Brent", question=7, text="")
    assert envelope.words == "Oil?\nIn Brent"


@pytest.mark.parametrize(
    ("words", "more"),
    [({}, False), ({"data": {}}, False), ({"data": {"a": 1}}, True), ({"attachments": ["x.csv"]}, True)],
)
def test_data_and_attachments_are_more_than_words(words: dict[str, Any], more: bool) -> None:
    """Empty ones are not."""
    assert read(**words).has_more_than_words is more
