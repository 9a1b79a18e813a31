"""Validation without a daemon: the same verdict as the daemon's, with the place in the file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ackd.engine.places import json_place, yaml_place
from ackd.engine.validating import check_bytes, validate
from ackd.errors import InvalidError
from ackd.resources import template_dir

GOOD = {"state": "request", "ack_id": "week-v1", "from": "zoe", "to": ["macro"], "action": "看"}


def test_the_template_is_valid() -> None:
    """What `ackd init` lays down has no finding."""
    checked = validate([template_dir()])
    assert (checked.files, checked.findings) == (3, ())


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("roundtable/x/a.json", "envelope"),
        ("status/macro.json", "status"),
        ("intel/news_latest.json", "intel"),
        ("monitor-tasks/a.json", "monitor-task"),
        ("agent-sessions/a.json", "agent-session"),
        ("tech-radar.json", "tech-radar"),
        ("team.yaml", "team"),
    ],
)
def test_the_place_says_what_a_file_is(path: str, kind: str) -> None:
    """An empty object is checked as what its folder takes."""
    found = check_bytes(b"{}", path, path)
    assert {one.kind for one in found} <= {kind}
    assert found or kind in ("intel", "agent-session")


def test_a_file_with_an_ack_id_is_an_envelope_anywhere() -> None:
    """In a folder of another kind, too."""
    assert check_bytes(json.dumps(GOOD).encode(), "s", "status/macro.json") == []


def test_an_unknown_sender_is_found(tree: Any) -> None:
    """The roster beside the files is asked."""
    path = tree.request(**{"from": "lotte"})
    (found,) = validate([path]).findings
    assert found.pointer == "/from"
    assert "lotte" in found.message


def test_what_the_daemon_does_not_read_is_left_out(tree: Any) -> None:
    """Dot-folders, ledger, rejected, temporary and attached files are no findings."""
    for path in (".x/a.json", "ledger/n-1/a.json", "rejected/n/a.json", "roundtable/w/.a.json.tmp", "notes.txt"):
        tree.drop(path, "{")
    tree.drop("roundtable/w/table.json", "[1, 2]")
    tree.request(attachments=[{"path": "roundtable/w/table.json"}])
    assert validate([tree.path]).findings == ()


@pytest.mark.parametrize(
    ("text", "line", "column"),
    [
        ('{\n  "a": 1,\n  "a": 2\n}', 3, 3),
        ('{\n "from": tru\n}', 2, 10),
        ("<<<<<<< HEAD\n{}\n", 1, 1),
        ('{"state": "final"', 0, 0),
    ],
)
def test_a_broken_file_has_its_place(text: str, line: int, column: int) -> None:
    """Line and column of what is wrong, where they are known."""
    (found,) = check_bytes(text.encode(), "x", "x.json")
    assert (found.line, found.column) == (line, column)


def test_what_is_no_file_is_said(tmp_path: Path) -> None:
    """A missing path is an error; a huge file is a finding and is not read."""
    with pytest.raises(InvalidError):
        validate([tmp_path / "none.json"])
    (tmp_path / "big.json").write_bytes(b" " * (1024 * 1024 + 1))
    (found,) = validate([tmp_path / "big.json"]).findings
    assert "1048577 bytes" in found.message


TEXT = '{\n  "from": "zoe",\n  "to": ["macro",\n    7],\n  "depth": {"current": "x"}\n}\n'


@pytest.mark.parametrize(
    ("pointer", "place"),
    [
        ("", (1, 1)),
        ("/from", (2, 11)),
        ("/to", (3, 9)),
        ("/to/1", (4, 5)),
        ("/to/9", (3, 9)),
        ("/depth/current", (5, 24)),
        ("/action", (1, 1)),
        ("/from/deeper", (2, 11)),
    ],
)
def test_a_pointer_leads_to_its_place(pointer: str, place: tuple[int, int]) -> None:
    """A value's own place; for a missing one the place of what should hold it."""
    assert json_place(TEXT, pointer) == place


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers(-1000, 1000) | st.text(max_size=5),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
        max_leaves=12,
    ),
    st.sampled_from([None, 1, 3]),
    st.data(),
)
def test_every_value_of_any_document_is_found(value: Any, indent: int | None, data: st.DataObject) -> None:
    """Following any path of any document leads to where that very value starts."""
    text = json.dumps(value, indent=indent, ensure_ascii=False)
    pointer = ""
    while isinstance(value, dict | list) and value and data.draw(st.booleans()):
        step = data.draw(st.sampled_from(list(value) if isinstance(value, dict) else list(range(len(value)))))
        pointer += "/" + str(step).replace("~", "~0").replace("/", "~1")
        value = value[step]
    line, column = json_place(text, pointer)
    # Lines end where the place counts them: at line feeds alone.
    start = sum(len(one) + 1 for one in text.split("\n")[: line - 1]) + column - 1
    assert json.JSONDecoder().raw_decode(text, start)[0] == value


def test_a_key_of_yaml_is_found() -> None:
    """The place of a key in team.yaml; of a missing one, of what should hold it."""
    data = b"agents:\n  zoe: {}\narbiters:\n  - zoe\n  - 5\n"
    assert yaml_place(data, "/agents/zoe") == (2, 3)
    assert yaml_place(data, "/arbiters/1") == (5, 5)
    assert yaml_place(data, "/agents/other") == (1, 1)
    assert yaml_place(b"[", "/x") == (0, 0)


def test_a_record_is_checked_with_its_lines(tree: Any) -> None:
    """What a decision record lacks is found, as the daemon finds it; a whole one has no finding."""
    path = tree.drop("decisions/bad.md", "# 削减敞口\n\n## 背景\n\n## 决定\n\n削减。\n")
    found = validate([path]).findings
    assert [(one.line, one.kind) for one in found] == [(1, "decision"), (3, "decision")]
    assert "no section Considered Options" in found[0].message
    assert check_bytes(b"# a\n\xff", "x", "decisions/x.md")[0].line == 2
    tree.drop("decisions/bad.md", "# 削减\n## 背景\n油价。\n## 方案\n* 持有\n## 决定\n削减。\n")
    assert validate([path]).findings == ()


@pytest.mark.parametrize(
    ("path", "document", "pointer"),
    [
        ("status/macro.json", {"agent": "marco", "state": "idle"}, "/agent"),
        ("status/macro.json", {"agent": "macro", "updated_at": "yesterday"}, "/updated_at"),
        ("intel/oil_latest.json", {"source": "wire", "as_of": "昨天"}, "/as_of"),
        ("monitor-tasks/a.json", {"task_id": "a", "owner": "marco", "state": "running"}, "/owner"),
        ("agent-sessions/a.json", {"agent": "macro", "session_id": "s", "started_at": "soon"}, "/started_at"),
    ],
)
def test_unknown_names_and_unreadable_times_are_found(tree: Any, path: str, document: Any, pointer: str) -> None:
    """In files that are valid by their schema, at the field's own place."""
    (found,) = validate([tree.drop(path, json.dumps(document, indent=1))]).findings
    assert found.pointer == pointer
    assert found.line > 1
