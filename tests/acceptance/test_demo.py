"""`make demo`: the roundtable is played for real, says what is true of the record, and leaves nothing behind."""

from __future__ import annotations

import ast
import copy
import importlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
FOLDER = ROOT / "examples" / "roundtable"
PARTS = ("agent", "demo", "picture", "story")
SUMMARY = """\
One final, by trading: Cut exposure to 40 %, add again after Wednesday
Receipt: roundtable/ashare-week-v1-202603081430/THREAD.md
Kept from the agents' turns: 10 messages of thanks, about 42 tokens.
In a chat each would wake the two others: 20 turns, and 84 tokens of replies.
"""


def start(tmp_path: Path, *arguments: str) -> subprocess.Popen[str]:
    """Start the demo with all temporary files below `tmp_path`, in a process group of its own."""
    places = {"TMPDIR": str(tmp_path), "PYTHONPATH": os.pathsep.join(sys.path), "ACKD_AGENT": "somebody"}
    return subprocess.Popen(
        [sys.executable, str(FOLDER / "demo.py"), *arguments],
        env={**os.environ, **places},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        encoding="utf-8",
        start_new_session=True,
    )


def nobody_plays(tmp_path: Path) -> bool:
    """Say whether every process that was started for a tree below `tmp_path` is gone."""
    done = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True)
    return str(tmp_path) not in done.stdout


@pytest.fixture
def part(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], ModuleType]]:
    """Give an importer of the example's scripts, which stand in no package."""
    monkeypatch.syspath_prepend(str(FOLDER))
    yield importlib.import_module
    for name in PARTS:
        sys.modules.pop(name, None)


class TestTheDemo:
    def test_the_story_comes_true(self, tmp_path: Path) -> None:
        """It ends by itself in under a minute: one final, one reminder, silence; what it says is in the record."""
        began = time.monotonic()
        playing = start(tmp_path, "--keep")
        said, troubles = playing.communicate(timeout=60)
        assert (playing.returncode, troubles) == (0, ""), said + troubles
        assert time.monotonic() - began < 60
        lines = said.splitlines()
        assert [line for line in SUMMARY.splitlines() if line not in lines] == []
        assert sum(line[10:].split() == ["ackd", "reminder", "→", "trading"] for line in lines) == 1
        assert sum("silenced" in line for line in lines) == 10
        assert nobody_plays(tmp_path)

        (base,) = tmp_path.glob("ackd-demo-*")
        tree = base / "shared-context"
        assert lines[-1] == f"Look around: cd {tree}"
        page = (tree / "roundtable/ashare-week-v1-202603081430/THREAD.md").read_text("utf-8")
        assert page.index("Cut exposure to 40 %") < page.index("预计低开，周三后企稳")
        assert [path.name for path in (tree / "inbox").rglob("*.json")] == []
        assert not list((tree / "rejected").rglob("*.json"))
        (record,) = (tree / "decisions").glob("????????-ashare-week-v1-202603081430.md")
        assert f"Decision record: decisions/{record.name}" in lines
        assert "Cut to 40 %" in record.read_text("utf-8")

    @pytest.mark.parametrize(("number", "whole_group"), [(signal.SIGINT, True), (signal.SIGTERM, False)])
    def test_stopped_midway_it_leaves_nothing(
        self, tmp_path: Path, eventually: Callable[..., None], number: signal.Signals, whole_group: bool
    ) -> None:
        """Ctrl-C (which every process of the terminal gets) and SIGTERM end daemon and agents and remove the folder."""
        playing = start(tmp_path)
        eventually(lambda: list(tmp_path.glob("ackd-demo-*/shared-context/roundtable/*/confirmed-macro.json")), 20)
        if whole_group:
            os.killpg(playing.pid, number)
        else:
            playing.send_signal(number)
        _, troubles = playing.communicate(timeout=30)
        assert playing.returncode == 130
        assert "stopped" in troubles
        assert nobody_plays(tmp_path)
        assert list(tmp_path.iterdir()) == []

    def test_a_process_that_breaks_ends_it(self, tmp_path: Path, part: Callable[[str], ModuleType]) -> None:
        """An agent that breaks down is named with what it said, and what still ran is stopped."""
        demo = part("demo")
        stage = demo.Stage(tmp_path)
        stage.start("zoe", "-c", "import time; time.sleep(60)")
        stage.start("macro", "-c", "raise SystemExit('no such folder')")
        began = time.monotonic()

        def watch() -> None:
            while time.monotonic() < began + 20:
                stage.check()

        with pytest.raises(demo.DemoError, match=r"macro exited 1: no such folder"):
            watch()
        stage.stop()
        assert time.monotonic() - began < 20


def told() -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Give a thread and a log such as `show` and `log` print them, in which the story came true."""

    def message(second: int, sender: str, type_: str, verdict: str, **words: str) -> dict[str, Any]:
        return {
            "type": type_,
            "from": sender,
            "verdict": verdict,
            "path": f"roundtable/a/{second}.json",
            "at": f"2026-03-08T06:30:{second:02}.000Z",
            "envelope": words,
        }

    def delivery(second: int, kind: str, agent: str) -> dict[str, Any]:
        return {"kind": kind, "agent": agent, "at": f"2026-03-08T06:30:{second:02}.000Z"}

    messages = [
        message(1, "zoe", "request", "opened", action="下周A股策略"),
        message(2, "macro", "confirmed", "confirmed", conclusion="预计低开"),
        message(5, "trading", "confirmed", "confirmed", conclusion="sizing"),
        message(7, "trading", "final", "closed", conclusion="Cut", body="macro: 预计低开. So cut."),
        message(8, "macro", "supplement", "no-reply", body="收到，谢谢！"),
        message(9, "trading", "supplement", "no-reply", body="You're welcome!"),
    ]
    deliveries = [
        *(delivery(1, "request", name) for name in ("macro", "trading")),
        *(delivery(2, "confirmed", name) for name in ("trading", "zoe")),
        delivery(4, "reminder", "trading"),
        *(delivery(7, "final", name) for name in ("macro", "zoe")),
    ]
    show = {
        "ack_id": "a",
        "state": "final",
        "action": "下周A股策略",
        "ended_by": "final",
        "dri": "trading",
        "requester": "zoe",
        "assignees": {"macro": "confirmed", "trading": "confirmed"},
        "owes": [],
        "final": {"from": "trading", "at": messages[3]["at"], "body": messages[3]["envelope"]["body"]},
        "messages": messages,
        "deliveries": deliveries,
    }
    return show, [{"path": one["path"], "verdict": one["verdict"]} for one in messages]


class TestTheStory:
    def test_a_true_one_has_no_objection(self, part: Callable[[str], ModuleType]) -> None:
        """Where the record says what was told, nothing is found."""
        assert part("story").untrue(*told()) == []

    @pytest.mark.parametrize(
        ("change", "claim"),
        [
            (lambda s: s["messages"].append({**s["messages"][3], "path": "b.json"}), "there is one final"),
            (lambda s: s.update(ended_by="ruling"), "there is one final"),
            (lambda s: s.update(final=None), "trading is the DRI and wrote the final"),
            (lambda s: s["final"].update({"from": "macro"}), "trading is the DRI and wrote the final"),
            (lambda s: s["messages"].pop(1), "macro confirmed before the final"),
            (lambda s: s["final"].update(body="So cut."), "the final is built on"),
            (lambda s: s["deliveries"].append(s["deliveries"][4]), "trading was reminded once"),
            (lambda s: s["deliveries"].pop(4), "trading was reminded once"),
            (lambda s: s["deliveries"][4].update(at="2026-03-08T06:30:06.000Z"), "trading confirmed after the"),
            (lambda s: s["deliveries"][0].update(kind="escalation"), "nothing went to an arbiter"),
            (
                lambda s: s["deliveries"].append({**s["deliveries"][5], "kind": "late", "at": "2026-03-08T06:31Z"}),
                "after the final only the final",
            ),
            (lambda s: s["deliveries"].pop(), "after the final only the final"),
            (lambda s: s.update(messages=s["messages"][:4]), "thanks were dropped"),
            (lambda s: s["messages"][5].update(verdict="late"), "every one of them was silenced"),
            (lambda s: s["messages"][0].update(path="elsewhere.json"), "show and log say the same"),
        ],
    )
    def test_each_untruth_is_found(
        self, part: Callable[[str], ModuleType], change: Callable[[dict[str, Any]], object], claim: str
    ) -> None:
        """Whatever is otherwise in the record than in the story is named."""
        show, log = told()
        changed = copy.deepcopy(show)
        change(changed)
        assert any(one.startswith(claim) for one in part("story").untrue(changed, log))

    def test_a_refused_file_is_found(self, part: Callable[[str], ModuleType]) -> None:
        """No file may have been refused."""
        show, log = told()
        assert part("story").untrue(show, [*log, {"path": "x", "verdict": "refused"}]) == ["no file was refused"]

    def test_what_was_saved_is_counted(self, part: Callable[[str], ModuleType]) -> None:
        """Two messages of thanks: 4 characters of Chinese and 2 signs, 15 letters; each would wake two others."""
        story = part("story")
        assert story.saved(told()[0]) == (2, 5 + 4, 4, 18)
        assert story.saved({**told()[0], "messages": []}) == (0, 0, 0, 0)

    @pytest.mark.parametrize(
        ("text", "count"), [("", 1), ("👍", 1), ("abcd", 1), ("abcde", 2), ("收到", 2), ("收到ok", 3)]
    )
    def test_tokens_are_estimated(self, part: Callable[[str], ModuleType], text: str, count: int) -> None:
        """One per Chinese character, a quarter for any other, rounded up."""
        assert part("story").tokens(text) == count


class TestThePicture:
    @pytest.mark.parametrize("rows", [12, 24, 40])
    def test_it_keeps_to_its_columns_and_rows(self, part: Callable[[str], ModuleType], rows: int) -> None:
        """No line is wider than 80 columns, Chinese counted as two, and no picture higher than the terminal."""
        picture = part("picture")
        show, _ = told()
        show["action"] = show["ack_id"] = "下周A股策略" * 40
        show["messages"][3]["envelope"]["conclusion"] = "减仓\n到四成" * 40
        lines = picture.picture(show, rows=rows)
        assert len(lines) <= rows
        assert all(picture.columns(plain(line)) <= 80 for line in lines)

    def test_it_shows_how_far_the_thread_is(self, part: Callable[[str], ModuleType]) -> None:
        """State, debts and what was silenced; before the request it says what it waits for."""
        picture = part("picture")
        show, _ = told()
        show["state"], show["owes"] = "confirmed", [{"agent": "trading", "step": "final"}]
        drawn = plain("\n".join(picture.picture(show, rows=40)))
        assert "● request ──▶ ● confirmed ──▶ ○ final" in drawn
        assert "trading   DRI  confirmed    owes final" in drawn
        assert "reminder   → trading" in drawn
        assert "waiting for the request" in picture.picture(None, rows=40)[1]

    def test_events_come_in_their_order(self, part: Callable[[str], ModuleType]) -> None:
        """What was said comes before what it caused, also at the same instant."""
        events = part("picture").events(told()[0])
        assert [(round(one.at), one.who, one.what) for one in events] == [
            (0, "zoe", "request"),
            (1, "macro", "confirmed"),
            (3, "ackd", "reminder"),
            (4, "trading", "confirmed"),
            (6, "trading", "final"),
            (6, "ackd", "final"),
            (6, "ackd", "final"),
            (7, "macro", "silenced"),
            (8, "trading", "silenced"),
        ]

    def test_a_terminal_is_drawn_anew(
        self, part: Callable[[str], ModuleType], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Each picture takes the place of the one before, line for line; the last shows all that happened."""
        monkeypatch.setenv("LINES", "14")
        screen = part("demo").Screen(is_live=True)
        show, _ = told()
        screen.show(None)
        assert capsys.readouterr().out.count("\n") == 2
        screen.show(show)
        drawn = capsys.readouterr().out
        assert drawn.startswith("\x1b[2A\x1b[2K")
        assert drawn.count("\n") <= 13
        assert "下周A股策略" in drawn
        screen.show(show, is_last=True)
        last = capsys.readouterr().out
        assert last.startswith(f"\x1b[{drawn.count(chr(10))}A")
        assert "request    下周A股策略" in last

    def test_elsewhere_each_event_is_said_once(
        self, part: Callable[[str], ModuleType], capsys: pytest.CaptureFixture[str]
    ) -> None:
        """Into a pipe go lines without colours, each when it is new."""
        screen = part("demo").Screen(is_live=False)
        show, _ = told()
        for many in (0, 2, 4, 4, 6):
            screen.show({**show, "messages": show["messages"][:many]} if many else None)
        lines = capsys.readouterr().out.splitlines()
        assert len(lines) == len(set(lines)) == 9
        assert "\x1b" not in "".join(lines)


def plain(text: str) -> str:
    """Give a text without its colours."""
    for code in ("1", "2", "32", "33", "0"):
        text = text.replace(f"\x1b[{code}m", "")
    return text


def test_the_agents_know_no_more_than_they_should() -> None:
    """No script of the example imports ackd or a library: agents have the tree, the demo the command line."""
    for name in PARTS:
        tree = ast.parse((FOLDER / f"{name}.py").read_text("utf-8"))
        direct = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
        parts = {node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
        assert {one.partition(".")[0] for one in direct | parts} <= {*sys.stdlib_module_names, *PARTS}
