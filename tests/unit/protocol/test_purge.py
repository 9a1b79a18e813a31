"""What is left of a message that a person had removed, and of the entries that held it."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from ackd.errors import InvalidError
from ackd.protocol.entry import DELIVERED, JUDGED, NOTED, REFUSED, make_entry, parse_entry, purge_entry
from ackd.protocol.purge import REMOVED, redact_entry, redact_message, strings, texts_of

MESSAGE = {
    "state": "final",
    "ack_id": "oil-v1",
    "from": "macro",
    "status": "failed",
    "conclusion": "金钥在此处",
    "data": {"deep": ["a secret of some length", 7]},
    "decision": {"title": "Sell it all", "options": ["a", "b"], "weight": 7},
    "whatever": "also a secret",
}


def entry(kind: str, body: dict[str, Any], thread: str = "oil-v1") -> Any:
    """Make an entry."""
    return make_entry(node="lap", inc="0" * 8, seq=1, prev="", stamp=(1, 0), kind=kind, thread=thread, at=1, body=body)[
        0
    ]


def test_a_message_keeps_its_role_and_loses_its_words() -> None:
    """Who, which thread and what it did stay; every text, value and unknown key goes."""
    assert redact_message(MESSAGE) == {
        "state": "final",
        "ack_id": "oil-v1",
        "from": "macro",
        "status": "failed",
        "conclusion": REMOVED,
        "decision": {"title": REMOVED, "options": [REMOVED, REMOVED], "weight": None},
        "purged": True,
    }


def test_removing_twice_is_removing_once() -> None:
    """What is left has nothing more to lose."""
    once = redact_message(MESSAGE)
    assert redact_message(once) == once


def test_copies_are_known_by_what_is_long_enough() -> None:
    """A short text stands in many files by chance; ids and names are no secret; the longest come first."""
    assert texts_of(MESSAGE) == ("a secret of some length", "also a secret", "Sell it all", "金钥在此处")


def test_strings_are_found_at_any_depth() -> None:
    """Keys are none."""
    assert list(strings({"a": ["b", {"c": "d"}, 1, None]})) == ["b", "d"]


class TestEntries:
    def test_a_message_of_another_digest_stays(self) -> None:
        """Only what was named is removed."""
        body = {"digest": "d1", "message": MESSAGE, "because": "x", "notes": ["y"], "verdict": "closed"}
        left = redact_entry(entry(JUDGED, body), {"d1"}, (), ())
        assert left == {**body, "message": redact_message(MESSAGE), "because": "", "notes": []}
        assert redact_entry(entry(JUDGED, body), {"d2"}, ("oil-v1",), ("a secret of some length",)) is None
        assert redact_entry(entry(DELIVERED, {"ids": []}), {"d1"}, ("oil-v1",), ()) is None

    def test_a_refusal_keeps_where_and_why_in_a_word(self) -> None:
        """Detail, fields and repair go; path, digest and code stay."""
        problem = {
            "code": "invalid-envelope",
            "detail": "secret",
            "errors": [{"found": "secret"}],
            "changes": ["secret"],
        }
        body = {"path": "a.json", "sha256": "0", "record": "r", "author": "m", "problem": problem, "repaired": {"x": 1}}
        left = redact_entry(entry(REFUSED, body, "!1"), (), {"!1"}, ())
        assert left is not None
        assert "secret" not in str(left)
        assert (left["path"], left["problem"]["code"], left["author"]) == ("a.json", "invalid-envelope", "m")
        assert "repaired" not in left

    def test_a_note_that_repeats_it_goes_and_is_told_to_nobody_again(self) -> None:
        """Its step and agents stay, so that it counts as told; other notes are not touched."""
        note = {"step": "s", "agents": ["m"], "summary": "says: a long secret", "notes": ["fine"], "ends": []}
        body = {"name": "n", "data": {"title": "a long secret", "n": 1}, "note": note}
        left = redact_entry(entry(NOTED, body, "#1"), (), (), ("long secret",))
        assert left == {"name": "n", "data": {"title": REMOVED, "n": 1}, "note": {**note, "summary": REMOVED}}
        assert redact_entry(entry(NOTED, body, "#1"), (), (), ("other",)) is None
        assert redact_entry(entry(NOTED, {**body, "note": None, "data": {}}, "#1"), (), (), ("long secret",)) is None


class TestKeys:
    def test_an_entry_keeps_its_key(self) -> None:
        """So the next one still follows it; all but the body is as it was."""
        one = entry(JUDGED, {"digest": "d", "message": MESSAGE})
        left = parse_entry(purge_entry(one, {"digest": "d"}))
        assert left == msgspec.structs.replace(one, body={"digest": "d", "purged": True})

    def test_an_entry_that_was_not_purged_has_the_line_that_it_always_had(self) -> None:
        """The new key stands in no other line: keys of old entries are the hashes that they were."""
        _, line = make_entry(
            node="lap", inc="0" * 8, seq=1, prev="", stamp=(1, 0), kind=JUDGED, thread="t", at=1, body={}
        )
        assert b"purged" not in line

    @pytest.mark.parametrize("key", ["x", "0" * 63, "G" * 64])
    def test_another_key_is_taken_only_from_a_purged_entry(self, key: str) -> None:
        """An entry cannot give itself the key of another one, but by saying that it was purged."""
        one = entry(JUDGED, {})
        line = purge_entry(msgspec.structs.replace(one, key=key), {})
        with pytest.raises(InvalidError):
            parse_entry(line)
        honest = purge_entry(one, {})
        with pytest.raises(InvalidError):
            parse_entry(honest.replace(b'"purged":true', b'"purged":1'))
