"""Refused files as their entries tell it: whether they stand, what they were meant to be, and who is told."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import pytest

from ackd.protocol.entry import REFUSED, RESOLVED, Entry, make_entry
from ackd.protocol.envelope import read_envelope
from ackd.protocol.refusal import Refusal, fold_refusals, meant_digest, refusal_id, refusal_owed

MEANT = {"state": "confirmed", "ack_id": "oil-v1", "from": "macro", "conclusion": "上行"}
ID = refusal_id("a.json")


def refused(seq: int, sha256: str, **more: Any) -> Entry:
    """Make the entry of a refusal."""
    problem = {"code": "syntax", "detail": "a comma"}
    body = {
        "path": "a.json",
        "sha256": sha256,
        "author": "macro",
        "problem": problem,
        "record": "rejected/lap/a",
        **more,
    }
    return entry(seq, REFUSED, body)


def entry(seq: int, kind: str, body: dict[str, Any]) -> Entry:
    """Make an entry of the file's ledger."""
    return make_entry(
        node="lap", inc="0" * 8, seq=seq, prev="", stamp=(seq, 0), kind=kind, thread=ID, at=seq, body=body
    )[0]


def folded(*entries: Entry) -> Refusal:
    """Fold them in any order: it is always the same."""
    found = {repr(fold_refusals(ID, order)) for order in permutations(entries)}
    assert len(found) == 1
    refusal = fold_refusals(ID, entries)
    assert refusal is not None
    return refusal


def test_a_repair_is_part_of_it() -> None:
    """Envelope and digest of the repaired file are given back."""
    one = folded(refused(1, "s1", repaired={"envelope": MEANT, "sha256": "r1"}))
    assert (one.standing, one.repaired, one.repaired_sha256, one.taken) == (True, MEANT, "r1", "")
    assert refusal_owed(one) is not None


def test_a_repair_that_was_taken_ends_it() -> None:
    """It stands no more, says which file brought the content, and nobody is told."""
    offer = refused(1, "s1", repaired={"envelope": MEANT, "sha256": "r1"})
    one = folded(offer, entry(2, RESOLVED, {"path": "a.json", "sha256": "s1", "taken": "b.json"}))
    assert (one.standing, one.taken, one.purged) == (False, "b.json", False)
    assert refusal_owed(one) is None


def test_the_same_bytes_refused_anew_stand_again() -> None:
    """What ended an earlier refusal of theirs does not end a later one, and says nothing of it."""
    end = entry(2, RESOLVED, {"path": "a.json", "sha256": "s1", "taken": "b.json"})
    one = folded(refused(1, "s1"), end, refused(3, "s1"))
    assert (one.standing, one.taken) == (True, "")


def test_what_a_person_had_removed_stands_no_more() -> None:
    """And it is told apart from what was put right."""
    one = folded(refused(1, "s1"), entry(2, RESOLVED, {"path": "a.json", "sha256": "s1", "purged": True}))
    assert (one.standing, one.purged) == (False, True)


@pytest.mark.parametrize("repaired", [None, "x", 7, [], {"from": 1}, {"state": "confirmed"}])
def test_what_is_no_envelope_means_nothing(repaired: Any) -> None:
    """Entries come from a tree that others write in."""
    assert meant_digest(repaired) == ""
    assert folded(refused(1, "s1", repaired=repaired)).standing


def test_what_was_meant_is_known_by_its_content() -> None:
    """The digest is the message's own."""
    assert meant_digest(MEANT) == read_envelope(MEANT).digest
