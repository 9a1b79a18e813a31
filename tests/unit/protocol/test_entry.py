"""Entries: a line for each, its hash as the key, and a chain through the hash of the one before."""

from __future__ import annotations

import hashlib
from typing import Any

import pytest

from ackd.errors import InvalidError
from ackd.protocol.entry import JUDGED, KINDS, Entry, make_entry, parse_entry

FIELDS: dict[str, Any] = {
    "node": "node-a",
    "inc": "0a1b2c3d",
    "seq": 7,
    "prev": "f" * 64,
    "stamp": (1_772_951_400_000, 3),
    "kind": JUDGED,
    "thread": "原油-v1",
    "at": 1_772_951_400_123,
    "body": {"digest": "d", "message": {"action": "油价？", "n": 0.5, "list": [1, None, True]}},
}


def make(**fields: Any) -> tuple[Entry, bytes]:
    """Make an entry with other fields."""
    return make_entry(**{**FIELDS, **fields})


def test_a_line_is_read_back_as_what_it_was() -> None:
    """All fields, types included; the key is the SHA-256 of the line."""
    entry, line = make()
    assert parse_entry(line) == entry
    assert entry.key == hashlib.sha256(line).hexdigest()
    assert b"\n" not in line


def test_the_same_fields_give_the_same_line() -> None:
    """Whatever the order of the keys of its body."""
    body = FIELDS["body"]
    assert make(body=dict(reversed(list(body.items()))))[1] == make()[1]


@pytest.mark.parametrize(
    "fields",
    [
        {"node": "node-b"},
        {"inc": "ffffffff"},
        {"seq": 8},
        {"prev": ""},
        {"stamp": (1, 0)},
        {"kind": "timer"},
        {"thread": "x"},
        {"at": 1},
        {"body": {}},
        {"epoch": 1},
    ],
    ids=str,
)
def test_every_field_counts_in_the_key(fields: dict[str, Any]) -> None:
    """Nothing can be changed under an entry's key."""
    assert make(**fields)[0].key != make()[0].key


def test_a_changed_line_has_another_key() -> None:
    """The key is of the line as it stands, also with keys that this version does not know."""
    entry, line = make()
    changed = line.replace(b'"v":1', b'"new":0,"v":1')
    assert changed != line
    assert parse_entry(changed).key != entry.key
    assert parse_entry(changed).body == entry.body


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"{}",
        b"[]",
        b"not json",
        b'{"v":1}',
        b"\xff\xfe",
        make()[1][:-1],
        make()[1].replace(b'"seq":7', b'"seq":"7"'),
        make()[1].replace(b'"body":{', b'"body":[],"x":{'),
    ],
    ids=lambda line: f"{len(line)} bytes",
)
def test_what_is_no_entry_is_refused(line: bytes) -> None:
    """Half a line, another form, other types."""
    with pytest.raises(InvalidError):
        parse_entry(line)


def test_another_version_is_refused_with_the_known_one() -> None:
    """Its reader is told to update."""
    with pytest.raises(InvalidError, match="version 2, known is 1") as caught:
        parse_entry(make()[1].replace(b'"v":1', b'"v":2'))
    assert "update" in caught.value.hint


def test_entries_are_ordered_by_stamp_then_node() -> None:
    """The total order in which they are merged; the sequence decides last."""
    entries = [
        make(stamp=(1, 0), node="b", seq=1)[0],
        make(stamp=(1, 0), node="a", inc="2", seq=2)[0],
        make(stamp=(1, 0), node="a", inc="1", seq=9)[0],
        make(stamp=(0, 9), node="z", seq=3)[0],
        make(stamp=(1, 0), node="a", inc="1", seq=8)[0],
        make(stamp=(1, 1), node="a", seq=4)[0],
    ]
    assert [entry.seq for entry in sorted(entries, key=lambda one: one.order)] == [3, 8, 9, 2, 1, 4]


def test_the_kinds_are_these() -> None:
    """Stable words: they stand in ledgers for ever."""
    words = "judged refused resolved noted delivered attempted outcome timer home settled purged"
    assert set(words.split()) == KINDS
