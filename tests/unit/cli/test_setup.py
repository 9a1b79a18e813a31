"""The commands that set up and check: init, up, drop, agents, validate, protocol, completion."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from ackd.protocol.diagram import mermaid
from ackd.protocol.table import TABLE, TIMERS
from ackd.resources import schema_dir, template_dir


def files_below(folder: Path) -> dict[str, bytes]:
    """Give every file below a folder with its bytes."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_init_lays_down_the_template_and_the_schemas(ackd: Any, tmp_path: Path) -> None:
    """Every file of the template is there, editors find the schemas, and the next steps are said in ten lines."""
    said = ackd.ok("init", str(tmp_path / "new"))
    laid = files_below(tmp_path / "new")
    assert files_below(template_dir()).items() <= laid.items()
    assert {f".ackd/schemas/{path.name}" for path in schema_dir().glob("*.json")} <= set(laid)
    assert len(said.splitlines()) <= 10
    assert "ackd" in said
    assert "up" in said


def test_init_never_overwrites(ackd: Any, tmp_path: Path) -> None:
    """A file that is there stays, whatever it holds; a second time changes nothing."""
    (tmp_path / "new").mkdir()
    (tmp_path / "new/team.yaml").write_text("agents: {mine: {}}\n", encoding="utf-8")
    ackd.ok("init", str(tmp_path / "new"))
    first = files_below(tmp_path / "new")
    assert first["team.yaml"] == b"agents: {mine: {}}\n"
    assert ackd.data("init", str(tmp_path / "new"))["made"] == []
    assert files_below(tmp_path / "new") == first


def test_init_without_a_folder_is_shared_context(ackd: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`ackd init` makes ./shared-context, which the other commands then find from below it."""
    (tmp_path / "project/src").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "project")
    monkeypatch.delenv("ACKD_DIR")
    ackd.ok("init")
    monkeypatch.chdir(tmp_path / "project/src")
    assert ackd.data("status")["tree"] == str(tmp_path / "project/shared-context")


def test_init_where_it_cannot(ackd: Any, tmp_path: Path) -> None:
    """A file in the way is an error that names it."""
    (tmp_path / "file").write_text("x", encoding="utf-8")
    assert str(tmp_path / "file") in ackd.error("init", str(tmp_path / "file"))[1]["message"]


def test_one_pass(ackd: Any) -> None:
    """`up --once` judges what lies there and exits 0."""
    ack_id = ackd.ask()
    assert "2 deliveries" in ackd("up", "--once", "--no-web", "--log-level", "error").output
    assert ackd.data("show", ack_id)["state"] == "request"


def test_drop_takes_the_bytes_as_they_are(ackd: Any) -> None:
    """A valid envelope is laid in its thread's folder, from stdin or a file, with the bytes that were given."""
    text = '{"ack_id": "d-v1",   "state": "request", "from": "zoe", "to": "macro", "action": "看"}'
    done = ackd("drop", "-", "--json", stdin=text)
    said = json.loads(done.stdout)["data"]
    assert (done.exit_code, said["path"], said["verdict"]) == (0, "roundtable/d-v1/request-zoe.json", None)
    assert (ackd.tree.path / said["path"]).read_text(encoding="utf-8") == text
    ackd.once()
    assert ackd.data("show", "d-v1")["state"] == "request"


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "empty"),
        (b'{"state": "final", ', "before its brackets close"),
        (b'{"a": 1, "a": 2}', "line 1"),
        (b"```json\n{}\n```", "line 1"),
        (b"[1]", "line 1"),
        (b"<<<<<<< HEAD\n{}", "conflict"),
        (b"\xff\xfe{\x00}\x00", "UTF-16"),
        (b'{"state": "final", "ack_id": "d-v1", "from": "zoe"}', "conclusion"),
        (b'{"state": "final", "ack_id": "d v1", "from": "zoe", "conclusion": "x"}', "ack_id"),
    ],
)
def test_drop_says_what_is_wrong(ackd: Any, data: bytes, said: str) -> None:
    """What is no whole, valid envelope exits 1 with the reason, and nothing is laid down."""
    done = ackd("drop", "-", "--json", stdin=data)
    assert done.exit_code == 1
    assert said in json.loads(done.stdout)["error"]["message"]
    assert list((ackd.tree.path / "roundtable").glob("*/*.json")) == []


def test_drop_refuses_what_the_thread_refuses(closed: tuple[Any, str]) -> None:
    """A new round under an ended id exits 1 with the reason."""
    ackd, ack_id = closed
    text = json.dumps({"state": "request", "ack_id": ack_id, "from": "zoe", "to": "macro", "action": "Again"})
    done = ackd("drop", "-", stdin=text)
    assert done.exit_code == 1
    assert "new ack_id" in done.stderr


def test_drop_of_a_file_in_the_tree_tells_its_verdict(ackd: Any) -> None:
    """Such a file is dropped already: it is not copied, its verdict is told."""
    path = ackd.tree.request()
    ackd.once()
    done = ackd("drop", str(path))
    assert done.exit_code == 0
    assert done.stdout.startswith("opened ")
    assert [one.name for one in path.parent.glob("*.json")] == [path.name]


def test_drop_of_no_file(ackd: Any) -> None:
    """A file that is not there is a usage error."""
    assert ackd.error("drop", "nowhere.json")[0] == 2


def test_agents_are_listed_and_added(ackd: Any) -> None:
    """A new name is in the roster at once; comments stay; a second time changes nothing; a bad name is refused."""
    before = (ackd.tree.path / "team.yaml").read_text(encoding="utf-8")
    ackd.ok("agents", "add", "风控", "--type", "risk")
    ackd.ok("agents", "add", "li", "--person", "--arbiter")
    after = (ackd.tree.path / "team.yaml").read_text(encoding="utf-8")
    assert [one for one in before.splitlines() if one.startswith("#") and one not in after] == []
    members = {one["name"]: one for one in ackd.data("agents", "list")}
    assert members["风控"]["type"] == "risk"
    assert (members["li"]["person"], members["li"]["arbiter"]) == (True, 2)
    assert ackd.data("agents", "add", "Macro") == {"name": "macro", "added": []}
    assert ackd.error("agents", "add", "a/b")[0] == 1
    assert "风控" in ackd.ok("agents", "list")
    assert (ackd.tree.path / "team.yaml").read_text(encoding="utf-8") == after


def test_validate_exits_1_on_findings(ackd: Any, tmp_path: Path) -> None:
    """A sound tree has none; a bad file is named with its place, as text, for GitHub and as JSON."""
    ackd.tree.request()
    assert ackd("validate", str(ackd.tree.path)).exit_code == 0
    bad = ackd.tree.drop("roundtable/b,x/bad.json", '{\n  "state": "request",\n  "from": "zoe", "to": 5}')
    done = ackd("validate", str(ackd.tree.path))
    assert done.exit_code == 1
    assert f"{bad}:3:" in done.stdout
    github = ackd("validate", "--format", "github", str(bad)).stdout
    assert github.startswith("::error file=")
    assert "b%2Cx" in github
    assert ",line=3,col=24::" in github
    found = json.loads(ackd("validate", "--format", "json", str(bad)).stdout)["data"]
    assert found["files"] == 1
    assert {one["pointer"] for one in found["findings"]} >= {"/to", "/ack_id"}
    assert ackd.error("validate", str(tmp_path / "none"))[0] == 1


def test_protocol_shows_every_row(ackd: Any) -> None:
    """Table, JSON and diagram are made from the rows that the code runs."""
    said = ackd.ok("protocol")
    assert [row.name for row in TABLE if row.name not in said] == []
    document = ackd.data("protocol")
    assert [row["name"] for row in document["rows"]] == [row.name for row in TABLE]
    assert [timer["name"] for timer in document["timers"]] == [timer.name for timer in TIMERS]
    assert ackd.ok("protocol", "--mermaid") == mermaid()


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_prints_a_script(ackd: Any, shell: str) -> None:
    """The script calls ackd to complete."""
    assert "_ACKD_COMPLETE" in ackd.ok("completion", shell)


def test_completion_knows_ids_and_names(ackd: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """ack_ids come from the threads, names from the roster, and a broken tree completes to nothing."""
    ackd.ask("--ack-id", "week-v1")
    ackd.once()

    def complete(words: str) -> list[str]:
        env = {"_ACKD_COMPLETE": "bash_complete", "COMP_WORDS": words, "COMP_CWORD": str(words.count(" "))}
        return [one.partition(",")[2] for one in ackd(env=env).stdout.splitlines() if one]

    assert complete("ackd show we") == ["week-v1"]
    assert complete("ackd inbox t") == ["trading"]
    assert complete("ackd request m") == ["macro"]
    assert "reply-check" in complete("ackd re")
    monkeypatch.setenv("ACKD_DIR", os.devnull)
    assert complete("ackd show we") == []


def test_init_does_not_nest(ackd: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Within a tree it exits 2 and makes nothing, by whatever way the folder is named; outside it does as told."""
    monkeypatch.delenv("ACKD_DIR")
    monkeypatch.chdir(ackd.tree.path / "roundtable")
    (tmp_path / "link").symlink_to(ackd.tree.path / "status")
    before = files_below(ackd.tree.path)
    for words in ((), ("sub",), (str(ackd.tree.path / "x/y"),), (str(tmp_path / "link/new"),)):
        code, error = ackd.error("init", *words)
        assert (code, error["code"]) == (2, "usage")
        assert f"ackd status --dir {ackd.tree.path}" in error["hint"]
    assert files_below(ackd.tree.path) == before
    ackd.ok("init", str(tmp_path / "outside"))
    ackd.ok("init", str(ackd.tree.path))


@pytest.mark.parametrize("name", ["all", "ALL", "desk", "Desk"])
def test_what_means_several_is_no_name_for_one(ackd: Any, name: str) -> None:
    """`all` and the groups are taken; team.yaml stays as it is."""
    before = (ackd.tree.path / "team.yaml").read_bytes()
    code, error = ackd.error("agents", "add", name)
    assert code == 1
    assert "another name" in error["hint"]
    assert (ackd.tree.path / "team.yaml").read_bytes() == before


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("timeouts:", "timeout:", 'team.yaml:25:1: the key "timeout" is unknown; did you mean timeouts?'),
        ("reminder: 5m", "reminder: soon", "team.yaml:26:3: timeouts/reminder: 'soon' is no duration; write 5m"),
        ("reminder: 5m", "remindr: 5m", "team.yaml:26:3: timeouts: remindr is no timeout"),
        ("[zoe]", "[zo]", "team.yaml:20:1: arbiters: zo is not on the roster; did you mean zoe?"),
        ("macro, trading", "macro, tradin", "team.yaml:23:3: tradin in group desk is not on the roster"),
        ("timezone: UTC", "timezone: Mars", "team.yaml:7:1: timezone: 'Mars' is no time zone"),
        ("agents:", "agents: [", "team.yaml:11: did not find"),
    ],
)
def test_validate_says_where_team_yaml_is_wrong(ackd: Any, old: str, new: str, said: str) -> None:
    """The file is named once, with line and column where they are known, and one finding is one finding."""
    path = ackd.tree.path / "team.yaml"
    path.write_text(path.read_text(encoding="utf-8").replace(old, new, 1), encoding="utf-8")
    done = ackd("validate", str(path))
    assert done.exit_code == 1
    assert done.stdout.startswith(f"{path.parent}/{said}")
    assert done.stdout.count("team.yaml") == 1
    assert done.stderr == "1 file, 1 finding\n"
    assert ",col=0" not in ackd("validate", "--format", "github", str(path)).stdout
