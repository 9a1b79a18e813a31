"""The template: its files satisfy the schemas, and nothing in it would be taken for a message."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from ackd.errors import InvalidError
from ackd.protocol.envelope import read_envelope
from ackd.resources import schema_dir, template_dir
from ackd.schema import accepts, problems

ROOT = template_dir()
FILES = sorted(path for path in ROOT.rglob("*") if path.is_file())
AGENTS = (ROOT / "AGENTS.md").read_text(encoding="utf-8")
FOLDERS = ("roundtable", "decisions", "intel", "status", "agent-sessions", "monitor-tasks", "inbox")


def team() -> dict[str, Any]:
    """Read team.yaml as JSON values: a day is a text there."""
    read: dict[str, Any] = yaml.safe_load((ROOT / "team.yaml").read_text(encoding="utf-8"))
    read["protocol"]["since"] = read["protocol"]["since"].isoformat()
    return read


def shapes() -> list[dict[str, Any]]:
    """Give the messages that AGENTS.md shows."""
    return [json.loads(block) for block in re.findall(r"```json\n(.*?)```", AGENTS, re.DOTALL)]


def test_the_folders_are_there_and_empty() -> None:
    """Every folder of the tree is laid down, with nothing in it that could be a drop."""
    for folder in FOLDERS:
        assert [path.name for path in (ROOT / folder).iterdir()] == [".gitkeep"]
        assert (ROOT / folder / ".gitkeep").read_bytes() == b""


def test_no_file_is_a_drop() -> None:
    """Outside the dot-folders the only JSON file is the radar."""
    visible = [path for path in FILES if not any(part.startswith(".") for part in path.relative_to(ROOT).parts)]
    assert [path.name for path in visible if path.suffix == ".json"] == ["tech-radar.json"]


def test_the_radar_satisfies_its_schema() -> None:
    """The radar is one that the application opens: texts for isNew."""
    radar = json.loads((ROOT / "tech-radar.json").read_text(encoding="utf-8"))
    assert problems("tech-radar", radar) == []
    assert {blip["isNew"] for blip in radar} <= {"TRUE", "FALSE"}
    assert len({blip["quadrant"] for blip in radar}) == 4


def test_the_team_satisfies_its_schema() -> None:
    """The example team: an arbiter, two agents, a person; every name that is used is on the roster."""
    document = team()
    assert problems("team", document) == []
    assert set(document["agents"]) == {"zoe", "macro", "trading"}
    assert set(document["people"]) == {"wen"}
    assert document["arbiters"] == ["zoe"]
    roster = document["agents"].keys() | document["people"].keys()
    assert {name for group in document["groups"].values() for name in group} <= roster


def test_editors_find_the_schemas() -> None:
    """Each schema that an editor is sent to is one that ships, at the place where it is laid beside the tree."""
    settings = json.loads((ROOT / ".vscode" / "settings.json").read_text(encoding="utf-8"))
    urls = [entry["url"] for entry in settings["json.schemas"]]
    first = (ROOT / "team.yaml").read_text(encoding="utf-8").splitlines()[0]
    match = re.fullmatch(r"# yaml-language-server: \$schema=(.+)", first)
    assert match
    for url in [*(url.removeprefix("./") for url in urls), match[1]]:
        assert url.startswith(".ackd/schemas/")
        assert (schema_dir() / Path(url).name).is_file()


def test_the_scratch_is_ignored_and_bytes_stay() -> None:
    """The repository leaves this machine's scratch alone and changes no byte of what is hashed."""
    ignored = (ROOT / ".gitignore").read_text(encoding="utf-8").splitlines()
    assert {".ackd/", ".*.tmp"} <= set(ignored)
    kept = (ROOT / ".gitattributes").read_text(encoding="utf-8").splitlines()
    assert {"*.json -text", "*.jsonl -text", "rejected/** -text"} <= set(kept)


def test_the_status_page_asks_for_nothing_yet() -> None:
    """Outside front matter, headings and comments the page is empty: no example is ever carried out."""
    text = (ROOT / "PROJECT_STATUS.md").read_text(encoding="utf-8")
    _, front, page = text.split("---\n", 2)
    assert list(yaml.safe_load(front)) == ["updated", "updated_by", "phase", "health"]
    bare = re.sub(r"<!--.*?-->", "", page, flags=re.DOTALL)
    lines = [line for line in bare.splitlines() if line.strip()]
    assert lines == [
        "# Project status",
        *(f"## {name}" for name in ("Now", "Next", "Blocked", "Requests", "Rulings", "Notes")),
    ]


def test_the_lesson_is_short() -> None:
    """An agent reads AGENTS.md at each start: under 60 lines."""
    assert len(AGENTS.splitlines()) < 60


def test_the_shapes_of_the_lesson_are_right() -> None:
    """Every message that AGENTS.md shows satisfies the schema once its places are filled in."""
    assert [shape.get("state", shape.get("type")) for shape in shapes()] == ["request", "confirmed", "final", "clarify"]
    for shape in shapes():
        filled = json.loads(re.sub(r"<[^>]+>", "macro", json.dumps(shape)))
        assert problems("envelope", filled) == []
        assert read_envelope(filled).sender == "macro"


def test_a_shape_that_was_copied_as_it_stands_is_refused() -> None:
    """Nobody speaks in another's name by copying an example without filling it in."""
    for shape in shapes():
        with pytest.raises(InvalidError):
            read_envelope(shape)


@pytest.mark.parametrize("kind", ["clarify", "answer", "decline", "handoff", "supplement", "progress", "cancel"])
def test_the_lesson_names_what_each_message_needs(kind: str) -> None:
    """What AGENTS.md says about each kind suffices for the schema."""
    (needs,) = re.findall(rf": +`{kind}`((?: with (?:`\w+`(?: \([^)]*\))?(?: and )?)+)?)", AGENTS.replace("\n", " "))
    document = {"type": kind, "ack_id": "oil-v1", "from": "macro"}
    document |= dict.fromkeys(re.findall(r"`(\w+)`", needs), "macro")
    assert accepts("envelope", document), problems("envelope", document)


@pytest.mark.parametrize(
    "words",
    [
        "inbox/<you>/",
        "<type>-<you>.json",
        "never send it yourself as well",
        "Never answer a courtesy",
        "After the final be silent",
        "Only the DRI writes the final",
        "digits are only part of its name",
        "in_reply_to",
        "ackd inbox",
        "time of day",
    ],
)
def test_the_lesson_says_what_matters(words: str) -> None:
    """The rules that keep a thread from becoming a chat stand in it."""
    assert words in AGENTS
