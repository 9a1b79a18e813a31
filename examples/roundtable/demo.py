"""The roundtable, played for real: a daemon, three agents as processes of their own, and what the record says of it.

zoe asks macro and trading about next week's strategy. macro confirms at once, trading only after the reminder; trading
builds the final on what macro confirmed. Then the two thank each other, and nobody is woken. Everything happens in a
temporary folder that is removed in the end.

    python demo.py [--keep] [--plain]

The exit code is 0 only if the story came true.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from types import FrameType
from typing import Any

import agent as play
import picture
import story

AGENTS = ("macro", "trading", "zoe")
TIMES = {"reminder": "4s", "escalation": "30s", "complete": "60s"}
"""In life 5, 10 and 30 minutes."""

_HERE = Path(__file__).resolve().parent
_MOST_S = 50.0
_LOOK_S = 0.3
_STOP_S = 10.0
_MOST_ROWS = 40


class DemoError(Exception):
    """The demo could not be played to its end; the message says why."""


class Stage:
    """A temporary tree and state, and the processes that play in it.

    Args:
        base: An empty folder.
    """

    def __init__(self, base: Path) -> None:
        self.base, self.tree = base, base / "shared-context"
        kept = {name: value for name, value in os.environ.items() if not name.startswith("ACKD_")}
        places = {"ACKD_STATE": str(base / "state"), "ACKD_CONFIG": str(base / "config.yaml"), "ACKD_NODE": "demo"}
        # The language is fixed, so that Chinese reaches a terminal and a pipe alike.
        self._env = {**kept, **places, "PYTHONUTF8": "1"}
        self._running: dict[str, subprocess.Popen[bytes]] = {}

    def ackd(self, *arguments: str) -> Any:
        """Run a command and give its `data`.

        Raises:
            DemoError: It went wrong.
        """
        command = [sys.executable, "-m", "ackd", *arguments, "--json"]
        done = subprocess.run(command, env=self._env, capture_output=True, check=False)
        if done.returncode != 0:
            raise DemoError(f"ackd {' '.join(arguments)} exited {done.returncode}: {done.stderr.decode()[-500:]}")
        return json.loads(done.stdout)["data"]

    def thread(self) -> dict[str, Any] | None:
        """Give the thread as it is now, or None while nothing is known of it."""
        try:
            shown: dict[str, Any] = self.ackd("show", play.ACK_ID, "--dir", str(self.tree))
        except DemoError:
            return None
        return shown

    def lay_tree(self) -> None:
        """Lay down a tree whose times are short."""
        self.ackd("init", str(self.tree))
        team = self.tree / "team.yaml"
        text = team.read_text(encoding="utf-8")
        for name, length in TIMES.items():
            text, found = re.subn(rf"(?m)^(  {name}: )\S+", rf"\g<1>{length}", text)
            if found != 1:
                raise DemoError(f"team.yaml has no {name} to shorten")
        team.write_text(text, encoding="utf-8")

    def start(self, name: str, *command: str) -> None:
        """Start a process; what it prints goes to a file of its own."""
        with (self.base / f"{name}.log").open("ab") as log:
            self._running[name] = subprocess.Popen(
                [sys.executable, *command], env=self._env, stdin=subprocess.DEVNULL, stdout=log, stderr=log
            )

    def is_up(self) -> bool:
        """Say whether the daemon runs."""
        return self.ackd("status", "--dir", str(self.tree))["daemon"] is not None

    def check(self) -> bool:
        """Say whether an agent still plays.

        Raises:
            DemoError: A process broke down.
        """
        codes = {name: process.poll() for name, process in self._running.items()}
        for name, code in codes.items():
            if code or (code == 0 and name == "daemon"):
                said = (self.base / f"{name}.log").read_text(encoding="utf-8", errors="replace")
                raise DemoError(f"{name} exited {code}: {said[-500:]}")
        return any(codes.get(name) is None for name in AGENTS)

    def stop(self) -> None:
        """Stop what runs, agents first; what does not stop is killed."""
        for name in (*AGENTS, "daemon"):
            process = self._running.pop(name, None)
            if process is None:
                continue
            if process.poll() is None:
                process.terminate()
            try:
                process.wait(_STOP_S)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


class Screen:
    """Where the story is shown: drawn anew in a terminal, line by line elsewhere.

    Args:
        is_live: Whether it is a terminal that can be drawn upon.
    """

    def __init__(self, *, is_live: bool) -> None:
        self._is_live, self._lines = is_live, 0
        self._said: set[picture.Event] = set()

    def show(self, thread: dict[str, Any] | None, *, is_last: bool = False) -> None:
        """Show the thread as it is now; the last time with all that happened, however high the terminal is."""
        if self._is_live:
            rows = _MOST_ROWS if is_last else min(_MOST_ROWS, shutil.get_terminal_size().lines - 1)
            drawn = picture.picture(thread, rows=rows)
            up = f"\x1b[{self._lines}A" if self._lines else ""
            sys.stdout.write(up + "".join(f"\x1b[2K{line}\n" for line in drawn) + "\x1b[J")
            self._lines = len(drawn)
        elif thread is not None:
            for event in picture.events(thread):
                if event not in self._said:
                    self._said.add(event)
                    sys.stdout.write(picture.event_line(event) + "\n")
        sys.stdout.flush()


def perform(stage: Stage, screen: Screen) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Play the roundtable and give what the record says of it: the thread, and every file.

    Raises:
        DemoError: A process broke down, or the time was over.
    """
    end = time.monotonic() + _MOST_S
    stage.lay_tree()
    stage.start("daemon", "-m", "ackd", "up", str(stage.tree), "--log-format", "json")
    for name in AGENTS:
        # zoe asks when all the others are there: on a busy machine the reminder is for trading alone all the same.
        while name == "zoe" and not stage.is_up():
            stage.check()
            time.sleep(_LOOK_S)
        stage.start(name, str(_HERE / "agent.py"), name, str(stage.tree))
    folder = stage.tree / "roundtable" / play.ACK_ID
    while True:
        plays = stage.check()
        thread = stage.thread() if folder.exists() else None
        screen.show(thread)
        # The last files may lie there before the daemon has judged them.
        if not plays and thread and len(thread["messages"]) >= len(list(folder.glob("*.json"))):
            break
        if time.monotonic() > end:
            raise DemoError(f"not finished after {_MOST_S:.0f} seconds")
        time.sleep(_LOOK_S)
    stage.stop()
    thread = stage.ackd("show", play.ACK_ID, "--dir", str(stage.tree))
    screen.show(thread, is_last=True)
    # The daemon has stopped in good order: its pages are written, and the record is complete.
    return thread, stage.ackd("log", "--dir", str(stage.tree))


def records(stage: Stage) -> list[str]:
    """Give the paths of the decision records that ackd made of the final."""
    made = sorted(stage.tree.glob(f"decisions/????????-{play.ACK_ID}.md"))
    return [record.relative_to(stage.tree).as_posix() for record in made]


def objections(stage: Stage, thread: dict[str, Any], log: list[dict[str, Any]]) -> list[str]:
    """Say what of the story did not come true."""
    decided = [] if len(records(stage)) == 1 else ["the final's decision has one record"]
    return story.untrue(thread, log) + decided


def report(stage: Stage, thread: dict[str, Any]) -> list[str]:
    """Say what came of it, in words that are the same each time but for the date in the record's name."""
    final, kept = thread["final"] or {}, story.saved(thread)
    return [
        "",
        f"One final, by {final.get('from')}: {final.get('conclusion')}",
        *(f"Decision record: {record}" for record in records(stage)),
        f"Receipt: {thread['folder']}/THREAD.md",
        "",
        f"Kept from the agents' turns: {kept.messages} messages of thanks, about {kept.tokens} tokens.",
        f"In a chat each would wake the two others: {kept.turns} turns, and {kept.reply_tokens} tokens of replies.",
        "Not counted: the replies to those replies, and the context that each turn reads again.",
    ]


def main(arguments: list[str] | None = None) -> int:
    """Play the demo and give its exit code: 0 the story came true, 1 it did not, 130 interrupted."""
    parser = argparse.ArgumentParser(description="The roundtable, played for real in a temporary folder.")
    parser.add_argument("--keep", action="store_true", help="leave the folder, to look at it afterwards")
    parser.add_argument("--plain", action="store_true", help="line by line, in a terminal too")
    options = parser.parse_args(arguments)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _interrupt)
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(encoding="utf-8", errors="replace")
    is_wide = shutil.get_terminal_size().columns >= picture.WIDTH
    is_live = sys.stdout.isatty() and is_wide and os.environ.get("TERM") != "dumb" and not options.plain
    base = Path(tempfile.mkdtemp(prefix="ackd-demo-"))
    stage = Stage(base)
    try:
        print("zoe asks macro and trading; the times are short: a reminder after 4 seconds, in life after 5 minutes.")
        thread, log = perform(stage, Screen(is_live=is_live))
        print("\n".join(report(stage, thread)))
        untrue = objections(stage, thread, log)
        print("".join(f"\nNot true: {claim}" for claim in untrue), end="", flush=True)
        return 1 if untrue else 0
    except DemoError as error:
        print(f"demo: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("\nstopped", file=sys.stderr)
        return 130
    finally:
        # A second Ctrl-C does not interrupt the cleaning up.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        stage.stop()
        if options.keep:
            print(f"\nLook around: cd {stage.tree}")
        else:
            shutil.rmtree(base, ignore_errors=True)


def _interrupt(_number: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt


if __name__ == "__main__":
    sys.exit(main())
