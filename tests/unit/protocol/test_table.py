"""The table: total, without dead rows, in the order that DESIGN's text has, and in words that everybody knows."""

from __future__ import annotations

from itertools import chain, combinations, product

import msgspec
import pytest

from ackd.protocol import table
from ackd.protocol.audience import _AUDIENCES
from ackd.protocol.envelope import TYPES
from ackd.protocol.policy import Timeouts
from ackd.protocol.table import FACTS, PHASES, TABLE, TIMERS, VERDICTS, Row, find_row

IN_THREAD = ("requester", "dri", "assignee", "target")
STANDINGS = (("stranger",), ("member",), ("member", "arbiter"), ("member", "person"))


def _roles() -> list[frozenset[str]]:
    """All combinations of roles that can occur: a stranger has no other; the DRI is an assignee."""
    found = {frozenset(["stranger"])}
    for standing in STANDINGS[1:]:
        for some in chain.from_iterable(combinations(IN_THREAD, n) for n in range(len(IN_THREAD) + 1)):
            if "dri" not in some or "assignee" in some:
                found.add(frozenset([*standing, *some]))
    return sorted(found, key=sorted)


ROLES = _roles()
CELLS = list(product(TYPES, ROLES, PHASES))
BEFORE = ("request", "confirmed")


def row(type_: str, roles: str, phase: str, *facts: str) -> str:
    """Give the name of the row that holds."""
    return find_row(type_, frozenset(roles.split()), phase, frozenset(facts)).name


def test_every_cell_has_exactly_one_first_row() -> None:
    """For each type, roles and phase, with no fact and with each, a row holds: the first that fits."""
    for (type_, roles, phase), fact in product(CELLS, (None, *sorted(FACTS))):
        facts = frozenset() if fact is None else frozenset([fact])
        fitting = [one for one in TABLE if one.fits(type_, roles, phase, facts)]
        assert fitting, (type_, roles, phase, fact)
        assert find_row(type_, roles, phase, facts) is fitting[0]


def test_the_last_row_fits_anything() -> None:
    """The last row has no condition at all, so the table is total whatever facts are added."""
    last = TABLE[-1]
    assert (last.types, last.roles, last.phases, last.needs) == (frozenset(),) * 4


@pytest.mark.parametrize("one", TABLE, ids=lambda one: one.name)
def test_every_row_is_reachable(one: Row) -> None:
    """Some cell with just the facts that the row needs reaches it, and none above it."""
    assert any(find_row(type_, roles, phase, one.needs) is one for type_, roles, phase in CELLS)


def test_rows_have_names_of_their_own_and_known_words() -> None:
    """Names are unique; verdicts, types, roles, phases, facts and audiences are those that are declared."""
    assert len({one.name for one in TABLE}) == len(TABLE)
    for one in TABLE:
        assert one.verdict in VERDICTS
        assert one.types <= set(TYPES)
        assert one.roles <= set(table.ROLES)
        assert one.phases <= set(PHASES)
        assert one.needs <= FACTS
        assert one.becomes in ("", *PHASES)
        assert {audience for audience, _ in one.told} <= _AUDIENCES.keys()


def test_every_verdict_word_and_every_fact_is_used() -> None:
    """No verdict word and no fact is declared in vain."""
    assert {one.verdict for one in TABLE} == set(VERDICTS)
    assert frozenset().union(*(one.needs for one in TABLE)) == FACTS


def test_the_state_never_goes_back() -> None:
    """No row leads to an earlier phase than the one that it fits, but into a thread of its own."""
    for one in TABLE:
        if one.becomes and one.name != "id-taken":
            phases = one.phases or frozenset(PHASES)
            ahead = PHASES.index(one.becomes)
            assert all(PHASES.index(phase) <= ahead for phase in phases), one.name


def test_only_the_dri_reaches_a_final() -> None:
    """In every cell whose row ends the thread by a final, the author is the DRI and the thread has not ended."""
    for type_, roles, phase in CELLS:
        if find_row(type_, roles, phase, frozenset()).becomes == "final":
            assert type_ == "final"
            assert "dri" in roles
            assert phase in BEFORE


def test_after_the_end_only_its_own_author_an_arbiter_or_a_person_changes_anything() -> None:
    """In an ended thread each cell is late, flagged, refused, silent, a revision of the final, or a pick."""
    still = {"duplicate", "no-reply", "late", "flagged", "refused", "collision", "held", "kept"}
    for (type_, roles, _), fact in product(CELLS, (None, *sorted(FACTS))):
        facts = frozenset() if fact is None else frozenset([fact])
        held = find_row(type_, roles, "final", facts)
        allowed = {"revises-final", "picks", "id-taken"}
        assert held.verdict in still or held.name in allowed, (type_, roles, fact, held.name)


@pytest.mark.parametrize("phase", PHASES)
def test_restated_comes_before_everything(phase: str) -> None:
    """What was said before is a duplicate, also of a stranger, in a conflict copy, or as a courtesy."""
    for type_ in TYPES:
        assert row(type_, "stranger", phase, "restated", "conflict-copy", "courtesy") == "restated"
        assert row(type_, "member", phase, "restated", "awaited") == "restated-awaited"


@pytest.mark.parametrize(
    ("above", "below", "type_", "roles", "phase", "facts"),
    [
        ("stranger", "conflict-copy", "final", "stranger", "request", "conflict-copy"),
        ("conflict-copy", "revises", "final", "member dri assignee", "request", "conflict-copy revises"),
        ("same-identity", "closes", "final", "member dri assignee", "request", "same-identity"),
        ("no-request-yet", "courtesy", "supplement", "member", "unknown", "courtesy"),
        ("courtesy", "supplements", "supplement", "member", "request", "courtesy"),
        ("courtesy", "after-the-end", "supplement", "member", "final", "courtesy"),
        ("second-retry", "opens", "request", "member", "unknown", "second-retry"),
        ("chat-thread-taken", "opens", "request", "member", "unknown", "chat-thread-taken"),
        ("too-deep", "in-lineage", "handoff", "member assignee", "request", "too-deep in-lineage"),
        ("too-deep", "clarifies", "clarify", "member assignee", "request", "too-deep"),
        ("in-lineage", "opens", "request", "member", "unknown", "in-lineage"),
        ("nobody", "opens", "request", "member", "unknown", "nobody"),
        ("new-round", "id-taken", "request", "member requester", "final", "same-requester"),
        ("edit-unproven", "revises-final", "final", "member dri assignee", "final", "unproven revises revises-final"),
        ("revises-final", "second-final", "final", "member dri assignee", "final", "revises revises-final"),
        ("revises", "supplements", "supplement", "member", "request", "revises"),
        ("declines", "accepts-handoff", "confirmed", "member target", "request", "declines accepts"),
        ("declines", "confirms", "confirmed", "member assignee", "request", "declines"),
        ("declines", "not-the-dri", "final", "member assignee", "request", "declines"),
        ("accepts-handoff", "confirms", "confirmed", "member assignee target", "request", "accepts"),
        ("confirms-bare", "confirms", "confirmed", "member assignee", "request", "bare"),
        ("confirms-late", "after-the-end", "confirmed", "member assignee", "final", ""),
        ("confirms", "arbiter-speaks", "confirmed", "member assignee arbiter", "request", "asked-arbiter"),
        ("arbiter-speaks", "supplements", "supplement", "member arbiter", "request", "asked-arbiter"),
        ("arbiter-speaks", "not-an-assignee", "progress", "member person", "request", "asked-arbiter"),
        ("progresses", "not-an-assignee", "progress", "member assignee", "request", ""),
        ("closes", "not-the-dri", "final", "member dri assignee", "confirmed", ""),
        ("second-final", "after-the-end", "final", "member dri assignee", "final", ""),
        ("picks", "after-the-end", "ruling", "member arbiter", "final", "picks"),
        ("after-the-end", "anything-else", "vote", "member", "final", ""),
    ],
)
def test_of_two_rows_that_fit_the_upper_one_holds(
    above: str, below: str, type_: str, roles: str, phase: str, facts: str
) -> None:
    """Where DESIGN's order decides between two rows, both fit and the one that it has first holds."""
    both = {one.name for one in TABLE if one.fits(type_, frozenset(roles.split()), phase, frozenset(facts.split()))}
    assert {above, below} <= both
    assert row(type_, roles, phase, *facts.split()) == above


def test_timers_name_a_duration_of_the_timeouts() -> None:
    """Each timer names a field of `Timeouts`, and every field has its timer."""
    fields = {field.name for field in msgspec.structs.fields(Timeouts)}
    assert {timer.after for timer in TIMERS} == fields
    assert len({timer.name for timer in TIMERS}) == len(TIMERS)


def test_only_cancel_and_broadcast_end_a_thread_by_the_clock() -> None:
    """No other timer changes the phase: a timeout is not a failure and ends nothing."""
    assert {timer.name for timer in TIMERS if timer.becomes} == {"cancel", "broadcast"}
    assert all(timer.becomes in ("", "final") for timer in TIMERS)
