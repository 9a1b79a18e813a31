"""Names of the tree: what is a drop, which folder a thread gets, how generated files are called."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ackd.tree import layout

AT = 1_772_951_401_999  # 2026-03-08T06:30:01.999Z


@pytest.mark.parametrize(
    "rel",
    [
        "request-zoe.json",
        "roundtable/oil-v1/request-zoe.json",
        "roundtable/a/b/c/d/x.json",
        "inbox/macro/answer.json",
        "status/macro.json",
        "圆桌/请求.json",
        "REQUEST.JSON",
        "decisions/ledger/x.json",
        "a..json",
        "tech-radar.json",
    ],
)
def test_any_json_may_be_a_drop(rel: str) -> None:
    """Any .json below the tree may be a drop, wherever it lies and however its ending is written."""
    assert layout.is_drop_path(rel)


@pytest.mark.parametrize(
    "rel",
    [
        "team.yaml",
        "BOARD.md",
        "roundtable/oil-v1/THREAD.md",
        "roundtable/oil-v1/notes.txt",
        ".ackd/stage/x.json",
        ".git/x.json",
        "roundtable/.hidden/x.json",
        "roundtable/oil-v1/.x.json",
        "ledger/desk-9c41d0aa/1-2.json",
        "rejected/desk/x.json",
        "Rejected/desk/x.json",
        "LEDGER/x.json",
        "roundtable/oil-v1/final.repaired.json",
        "roundtable/oil-v1/final.json.repaired",
        "json",
        "x.jsonl",
        "",
        "/etc/x.json",
        "../x.json",
        "a/../b.json",
        "a//b.json",
    ],
)
def test_what_is_never_a_drop(rel: str) -> None:
    """Pages, the ledger, refused bytes, repairs, everything hidden and paths out of the tree are no drops."""
    assert not layout.is_drop_path(rel)


@pytest.mark.parametrize(
    ("rel", "kind"),
    [
        ("status/macro.json", "status"),
        ("intel/oil_latest.json", "intel"),
        ("intel/2026/oil_latest.json", "intel"),
        ("agent-sessions/s1.json", "agent-session"),
        ("monitor-tasks/t1.json", "monitor-task"),
        ("tech-radar.json", "tech-radar"),
        ("team.yaml", "team"),
        ("roundtable/status/macro.json", None),
        ("roundtable/oil-v1/tech-radar.json", None),
        ("status/readme.md", None),
        ("status/.x.json", None),
        ("status", None),
        ("x.json", None),
    ],
)
def test_kind_by_place(rel: str, kind: str | None) -> None:
    """A file's kind follows from its folder at the top of the tree, and from nothing else."""
    assert layout.kind_of(rel) == kind


def test_a_request_keeps_its_folder() -> None:
    """The thread's folder is the one in which its request lies."""
    assert layout.thread_folder("roundtable/三月/request-zoe.json", "oil-v1", ()) == "roundtable/三月"


@pytest.mark.parametrize(
    "path",
    [
        "request-zoe.json",
        "roundtable/request-zoe.json",
        "inbox/macro/request-zoe.json",
        "roundtable/a/b/request-zoe.json",
        "roundtable/two\nlines/request-zoe.json",
        "roundtable/left\u202eright/request-zoe.json",
        "roundtable/\udcff/request-zoe.json",
        "roundtable/.hidden/request-zoe.json",
    ],
)
def test_a_request_elsewhere_gets_a_folder_of_its_own(path: str) -> None:
    """A request outside roundtable/<name>/, or in a folder that nobody could write down, gets roundtable/<ack_id>."""
    assert layout.thread_folder(path, "oil-v1", ()) == "roundtable/oil-v1"


def test_one_folder_has_one_thread() -> None:
    """A folder that another thread has is not shared, not even where it is called like this thread."""
    taken = {"roundtable/desk", "roundtable/oil-v1"}
    assert layout.thread_folder("roundtable/desk/r.json", "gas-v1", taken) == "roundtable/gas-v1"
    assert layout.thread_folder("r.json", "oil-v1", taken) == "roundtable/oil-v1~2"
    assert layout.thread_folder("r.json", "oil-v1", {*taken, "roundtable/oil-v1~2"}) == "roundtable/oil-v1~3"


def test_a_generated_name() -> None:
    """A generated name has instant, kind, ack_id and eight hex digits of its obligation."""
    name = layout.generated_name(AT, "request", "oil-v1", "request:oil-v1:macro:5f0c")
    tag = layout.obligation_tag("request:oil-v1:macro:5f0c")
    assert name == f"20260308T063001Z-request-oil-v1-{tag}.json"
    assert len(tag) == 8
    assert set(tag) <= set("0123456789abcdef")


def test_a_long_chinese_ack_id_is_cut_on_a_character() -> None:
    """Eighty bytes of an ack_id stand in a name, never half a character."""
    name = layout.generated_name(AT, "request", "油" * 64, "x")
    assert name.count("油") == 26
    assert len(name.encode()) < 255


def test_no_thread_leaves_no_gap() -> None:
    """Without a thread the name has no empty part."""
    assert layout.generated_name(0, "refusal", "", "x").startswith("19700101T000000Z-refusal-")


@given(st.text(st.characters(categories=["L", "Nd"]), min_size=1, max_size=64), st.text(max_size=300))
def test_generated_names_fit_every_file_system(ack_id: str, obligation: str) -> None:
    """No generated name is longer than what file systems take, and each may lie in a tree."""
    name = layout.generated_name(AT, "escalation", ack_id, obligation)
    assert len(name.encode()) <= 143
    assert layout.is_drop_path("inbox/macro/" + name)


def test_proposed_names() -> None:
    """Two authors never share a proposed path, and one author's second message has its own."""
    assert layout.proposed_name("final", "trading") == "final-trading.json"
    assert layout.proposed_name("clarify", "风控", 2) == "clarify-风控-2.json"
    taken = {"roundtable/a/clarify-macro.json", "roundtable/a/clarify-macro-2.json"}
    assert layout.free_path("roundtable/a", "clarify", "macro", taken) == "roundtable/a/clarify-macro-3.json"
    assert layout.free_path("roundtable/a", "clarify", "trading", taken) == "roundtable/a/clarify-trading.json"


def test_paths_of_generated_files() -> None:
    """Inbox, record and page paths are put together in one place."""
    assert layout.inbox_path("macro", "x.json") == "inbox/macro/x.json"
    assert layout.rejected_path("desk", "x.problem.json") == "rejected/desk/x.problem.json"
    assert layout.page_path("roundtable/a") == "roundtable/a/THREAD.md"


@pytest.mark.parametrize(
    ("rel", "keys", "kind"),
    [
        ("status/macro.json", {"agent"}, "status"),
        ("status/macro.json", {"agent", "ack_id"}, "status"),
        ("monitor-tasks/t.json", {"task_id", "owner", "state", "ack_id"}, "monitor-task"),
        ("status/final-macro.json", {"from", "ack_id", "state"}, None),
        ("status/ask.json", {"to", "ack_id", "action"}, None),
        ("roundtable/week-v1/x.json", {"agent"}, None),
    ],
)
def test_kind_of_object(rel: str, keys: set[str], kind: str | None) -> None:
    """A status may name the thread that it is about; what is addressed is a message wherever it lies."""
    assert layout.kind_of_object(rel, keys) == kind
