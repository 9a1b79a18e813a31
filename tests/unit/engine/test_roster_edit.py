"""Adding to team.yaml: comments and form stay, and nothing but the new name changes what the file says."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ackd.config import parse_team
from ackd.engine.roster_edit import with_member
from ackd.errors import AckdError, InvalidError, NotAllowedError
from ackd.resources import template_dir

TEMPLATE = (template_dir() / "team.yaml").read_bytes()

FORMS = {
    "block": "agents:\n  zoe:\n  macro:\n    type: analyst # knows rates\n",
    "deep": "agents:\n    zoe: {}\n    # the last one\n    macro: {}\n    # end of agents\n\ngroups: {}\n",
    "flow": "agents: {zoe: {}, macro: {type: analyst}}\n",
    "flow-comma": "agents: {zoe: {}, macro: {},}\n",
    "no line end": "agents:\n  zoe: {}\n  macro: {}",
    "comment at the end": "agents:\n  zoe: {}\n  macro: {}\n# 完",
    "windows": "agents:\r\n  zoe: {}\r\n  macro: {}\r\n\r\narbiters: [zoe]\r\n",
    "bom": "\ufeffagents:\n  zoe: {}\n  macro: {}\n",
    "lists": "people:\n- wen\n- li\narbiters:\n  - zoe\nagents:\n  zoe: {}\n  macro: {}\n",
    "flow lists": "people: [wen]\narbiters: [zoe]   # in order\nagents:\n  zoe: {}\n  macro: {}\n",
    "several lines": "agents:\n  zoe: {\n    type: a }\n  macro: {}\n",
    "template": TEMPLATE.decode(),
}


@pytest.mark.parametrize("person", [False, True])
@pytest.mark.parametrize("text", FORMS.values(), ids=FORMS)
def test_every_form_is_added_to(text: str, person: bool) -> None:
    """In each form that YAML has, the name is added, every line of before stays, and the old roster with it."""
    data = text.encode()
    before = parse_team(data).policy.roster
    written, added = with_member(data, "风控", type_="" if person else "risk", person=person, arbiter=True)
    after = parse_team(written).policy.roster
    member = after.find("风控")
    assert member is not None
    assert (member.is_person, member.type) == (person, "" if person else "risk")
    assert after.arbiters == (*before.arbiters, "风控")
    assert [one for one in before.members.values() if after.find(one.name) != one] == []
    assert len(after.members) == len(before.members) + 1
    assert len(added.changes) == 2
    comments = [one.partition("#")[2] for one in text.splitlines() if "#" in one]
    assert [one for one in comments if one not in written.decode()] == []


def test_a_second_time_changes_nothing() -> None:
    """Whoever is there already stays as it is, in whatever spelling it is named."""
    written, added = with_member(TEMPLATE, "@Macro", type_="other")
    assert written == TEMPLATE
    assert (added.name, added.changes) == ("macro", ())


def test_somebody_who_is_there_becomes_an_arbiter() -> None:
    """`arbiter` alone is added where the name is there."""
    written, added = with_member(TEMPLATE, "trading", arbiter=True)
    assert parse_team(written).policy.roster.arbiters == ("zoe", "trading")
    assert len(added.changes) == 1


@pytest.mark.parametrize("name", ["a/b", "", "-x", "con", "a\nb", "x" * 65, "all\u200b"])
def test_a_bad_name_is_refused(name: str) -> None:
    """The rules of names hold before anything is written."""
    with pytest.raises(InvalidError):
        with_member(TEMPLATE, name)


def test_a_group_keeps_its_name() -> None:
    """A name that a group has is refused."""
    with pytest.raises(AckdError):
        with_member(TEMPLATE, "desk")


@pytest.mark.parametrize("text", ["agents:\n  zoe: {}\n...\n", "{agents: {zoe: {}}}\n"])
def test_a_form_that_cannot_be_added_to_is_left_alone(text: str) -> None:
    """What the text would not say for certain afterwards is not written; the hint says what to write."""
    with pytest.raises(NotAllowedError) as caught:
        with_member(text.encode(), "new", person=True)
    assert "new" in caught.value.hint


@given(st.text(max_size=20))
def test_any_name_is_added_whole_or_not_at_all(name: str) -> None:
    """Whatever the name (numbers and words of YAML too), the file afterwards has just it, or stays."""
    try:
        written, added = with_member(TEMPLATE, name, type_="no", arbiter=True)
    except AckdError:
        return
    member = parse_team(written).policy.roster.find(added.name)
    assert member is not None
    assert member.name == added.name


@pytest.mark.parametrize("name", ["true", "null", "no", "12", "1.5", "1e3", "0x1F"])
def test_words_of_yaml_are_names_too(name: str) -> None:
    """A name that YAML would read as a number or a truth value is written in quotes."""
    written, _ = with_member(TEMPLATE, name, type_=name, arbiter=True)
    roster = parse_team(written).policy.roster
    assert (roster.arbiters[-1], roster.members[name.lower()].type) == (name, name)
