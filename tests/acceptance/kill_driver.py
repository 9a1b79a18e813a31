"""Kills the daemon again and again while many threads are under way, and counts what was lost or handed over twice.

Agents are played by a reader that takes every delivery out of its inbox the moment it appears and notes the obligations
that it names: an obligation that comes a second time was handed over twice, one that the ledger has as handed over and
nobody ever saw was lost. By hand: `python tests/acceptance/kill_driver.py --threads 1000 --kills 200`.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ackd.config import load_node, load_team
from ackd.engine.thread_page import thread_page
from ackd.exchange import SealedFiles
from ackd.fs.beneath import Root
from ackd.fs.faults import POINTS
from ackd.fs.stage import Stage
from ackd.ledger import Memory
from ackd.protocol.entry import DELIVERED, JUDGED, Entry
from ackd.protocol.fold import fold
from ackd.protocol.obligations import Clock, obligations
from ackd.protocol.subject import is_thread
from ackd.protocol.table import VERDICTS
from ackd.resources import template_dir

TEAM = """
agents:
  zoe: {type: coordinator}
  macro: {type: analyst}
  交易员: {type: trader}
people:
  wen: {}
arbiters: [zoe]
timeouts: {reminder: 2s, escalation: 4s, complete: 5s, clarify: 2s, handoff: 2s, broadcast: 2s, arbiter: 2s, held: 5s}
"""
CHILD = "import sys; from pathlib import Path; from ackd.engine.daemon import run_daemon; run_daemon(Path(sys.argv[1]))"
LOCKLESS = "from ackd.fs.lock import DaemonLock as L; L.acquire = lambda self: None; L.still_held = lambda self: True; "
_LONGEST_LIFE_S = {"seal": 6.0}
_SCRATCH_AGE_S = 6
_QUIET_S = 90.0
_TIMES: dict[str, tuple[int, ...]] = {
    "seal": (1,),
    "page": (1, 2),
    "intent": (1, 1, 2, 3),
    "commit": (1, 2),
    "done": (1, 2),
}


@dataclass
class Report:
    """What came out of a campaign; all lists but `kills` are empty where the promises hold."""

    threads: int = 0
    files: int = 0
    deliveries: int = 0
    kills: Counter[str] = field(default_factory=Counter)
    kinds: Counter[str] = field(default_factory=Counter)
    lost: list[str] = field(default_factory=list)
    doubled: list[str] = field(default_factory=list)
    without_verdict: list[str] = field(default_factory=list)
    torn: list[str] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)

    def faults(self) -> list[str]:
        """Give all that must not be, one line each."""
        named = (("lost", self.lost), ("doubled", self.doubled), ("no verdict", self.without_verdict))
        lines = [f"{name}: {one}" for name, found in named for one in found]
        return [*lines, *(f"torn: {one}" for one in self.torn), *self.wrong]


class Reader(threading.Thread):
    """Takes each delivery out of its inbox as soon as it is there, as an agent that archives what it reads would."""

    def __init__(self, tree: Path, archive: Path) -> None:
        super().__init__(daemon=True)
        self._inbox, self._archive = tree / "inbox", archive
        self._done = threading.Event()
        self.seen: Counter[str] = Counter()
        self.kinds: Counter[str] = Counter()
        self.files = 0
        self.torn: list[str] = []

    def run(self) -> None:
        while not self._done.is_set():
            if not self.take():
                time.sleep(0.002)

    def stop(self) -> None:
        self._done.set()
        self.join()
        self.take()

    def take(self) -> int:
        """Take what lies there; give how many files."""
        taken = 0
        for path in self._inbox.glob("*/2*T*Z-*.json"):
            kept = self._archive / f"{self.files}.json"
            try:
                os.rename(path, kept)
            except FileNotFoundError:
                continue  # the daemon took it back: it was no longer owed
            taken += 1
            self.files += 1
            try:
                document = json.loads(kept.read_bytes())
                self.seen.update(document.get("ids") or [document["id"]])
                self.kinds[document["kind"]] += 1
            except (ValueError, KeyError):
                self.torn.append(path.name)
        return taken


class Script:
    """What the agents write, file by file, in an order that a real team could produce."""

    def __init__(self, threads: int, dice: random.Random) -> None:
        self._dice = dice
        self._all = [self._thread(number) for number in range(threads)]
        self.finals: dict[str, bool] = {}

    def files(self) -> Iterator[tuple[str, bytes]]:
        """Give path and bytes of all files, those of neighbouring threads mixed with one another."""
        window = [list(one) for one in self._all[:40]]
        rest = iter(self._all[40:])
        while window:
            one = self._dice.choice(window)
            yield one.pop(0)
            if not one:
                window.remove(one)
                window += [list(following) for following in itertools.islice(rest, 1)]

    def _thread(self, number: int) -> list[tuple[str, bytes]]:
        dice, ack = self._dice, f"周报-v1-{number:05d}"
        folder = dice.choice([f"roundtable/{ack}", f"roundtable/桌-{number}", "drops/深/deep", "inbox/macro", "."])
        base = {"ack_id": ack}
        lines: list[dict[str, Any]] = [
            {
                "state": "request",
                "from": "zoe",
                "to": ["macro", "交易员"],
                "dri": "交易员",
                "action": f"第 {number} 份周报",
            }
        ]
        if dice.random() < 0.7:
            lines.append({"state": "confirmed", "from": "macro", "conclusion": f"油价 {number}"})
        if dice.random() < 0.3:
            lines.append({"type": "clarify", "from": "macro", "question": f"哪一周？ {number}"})
            lines.append({"type": "answer", "from": "zoe", "body": f"week {number}"})
        if dice.random() < 0.4:
            lines.append({"from": "macro", "body": f"row {number} is wrong"})
        if dice.random() < 0.7:
            lines.append({"state": "confirmed", "from": "交易员", "version": f"v{number}"})
        if dice.random() < 0.2:
            lines.append(
                {"type": "amend", "from": "zoe", "supersedes": "request", "action": f"第 {number} 份周报, both"}
            )
        if dice.random() < 0.6:
            lines.append({"state": "final", "from": "交易员", "conclusion": f"减仓到 {number} %", "body": "x" * 200})
            lines.append({"from": "macro", "body": "收到，感谢！"})
        if dice.random() < 0.1:
            lines[0], lines[1:] = lines[-1], [*lines[1:-1], lines[0]]
        named = [
            (f"{folder}/{ack}-{place}-{dice.randrange(10**6)}.json".removeprefix("./"), _bytes({**base, **one}))
            for place, one in enumerate(lines)
        ]
        if dice.random() < 0.1:
            named.append(
                (f"{folder}/{ack}-bad.json".removeprefix("./"), b'{"from": "macro", "ack_id": "%d",}' % number)
            )
        return named


def _bytes(document: dict[str, Any]) -> bytes:
    return json.dumps(document, ensure_ascii=False).encode()


class Campaign:
    """One tree, one script, many deaths; `lockless`: beside a second daemon that the lock did not keep out."""

    def __init__(self, base: Path, *, threads: int, kills: int, seed: int, lockless: bool = False) -> None:
        self._dice = random.Random(seed)
        self._child = LOCKLESS + CHILD if lockless else CHILD
        self._lockless = lockless
        self._base, self._threads, self._kills = base, threads, kills
        self.tree = base / "shared-context"
        shutil.copytree(template_dir(), self.tree)
        (self.tree / "team.yaml").write_text(TEAM, encoding="utf-8")
        (base / "archive").mkdir()
        self.env = {
            **os.environ,
            "ACKD_STATE": str(base / "state"),
            "ACKD_CONFIG": str(base / "none.yaml"),
            "ACKD_NODE": "lap",
            "PYTHONPATH": os.pathsep.join(sys.path),
        }
        self._dropped: list[str] = []
        self.report = Report(threads=threads)

    def run(self) -> Report:
        """Carry it through and give what was found."""
        reader = Reader(self.tree, self._base / "archive")
        reader.start()
        script = list(Script(self._threads, self._dice).files())
        share = len(script) // (self._kills + 1) + 1
        pieces = [script[at : at + share] for at in range(0, len(script), share)]
        pieces += [[] for _ in range(self._kills - len(pieces))]
        second = self._start() if self._lockless else None
        while second is not None and not (self.tree / "BOARD.md").exists():
            time.sleep(0.05)  # both on a tree that neither knew before would not be one node
        aims = [*POINTS, "random"]
        for number, piece in enumerate(pieces[: self._kills]):
            self._life(aims[number % len(aims)], piece)
        self._last_life([one for piece in pieces[self._kills :] for one in piece])
        if second is not None:
            self._stop(second)
        reader.stop()
        self._check(reader)
        return self.report

    def _start(self, fault: str = "") -> subprocess.Popen[bytes]:
        log = open(self._base / "daemon.log", "ab")  # noqa: SIM115 - the child keeps it
        with log:
            return subprocess.Popen(
                [sys.executable, "-c", self._child, str(self.tree)],
                env={**self.env, "ACKD_FAULT": fault},
                stdout=log,
                stderr=log,
            )

    def _life(self, aim: str, piece: list[tuple[str, bytes]]) -> None:
        """Let the daemon live until it comes to a point for the n-th time, or until some moment."""
        times = self._dice.choice(_TIMES.get(aim, (1, 1, 2, 3, self._dice.randrange(4, 40))))
        child = self._start("" if aim == "random" else f"{aim}:{times}")
        end = time.monotonic() + (self._dice.uniform(0.2, 1.5) if aim == "random" else _LONGEST_LIFE_S.get(aim, 4.0))
        for path, data in piece:
            self._drop(path, data)
            time.sleep(self._dice.choice((0, 0, 0.001, 0.01)))
        while child.poll() is None and time.monotonic() < end:
            time.sleep(0.01)
        reached = child.poll() is not None
        if not reached:
            child.kill()
        if child.wait() != -signal.SIGKILL:
            self.report.wrong.append(f"the daemon ended by itself with {child.returncode} (aimed at {aim})")
        self.report.kills[aim if reached else "random"] += 1

    def _last_life(self, rest: list[tuple[str, bytes]]) -> None:
        """Let it live in peace until nothing is owed any more, then stop it."""
        child = self._start()
        self._wait_for(child)
        for path, data in rest:
            self._drop(path, data)
        end = time.monotonic() + _QUIET_S + len(self._dropped) / 50
        while not self._is_quiet():
            if child.poll() is not None or time.monotonic() > end:
                self.report.wrong.append(f"not quiet in the end (daemon: {child.poll()})")
                break
            time.sleep(0.2)
        self._stop(child)
        # What a kill left in scratch is swept when it is old enough to be nobody's work in progress.
        time.sleep(_SCRATCH_AGE_S)
        child = self._start()
        self._wait_for(child)
        time.sleep(1)
        self._stop(child)

    def _wait_for(self, child: subprocess.Popen[bytes]) -> None:
        """Wait until a daemon has taken its signals; the health file may be the second daemon's in between."""
        while self._health_of() != child.pid and child.poll() is None:
            time.sleep(0.005)

    def _health_of(self) -> int:
        """Give the process that wrote the health file last, or 0."""
        try:
            return int(json.loads((self._state() / "health.json").read_bytes())["pid"])
        except (OSError, ValueError):
            return 0

    def _stop(self, child: subprocess.Popen[bytes]) -> None:
        child.send_signal(signal.SIGTERM)
        if child.wait(60) != 0:
            self.report.wrong.append(f"a clean stop ended with {child.returncode}")

    def _drop(self, path: str, data: bytes) -> None:
        target = self.tree / path
        target.parent.mkdir(parents=True, exist_ok=True)
        if self._dice.random() < 0.3:
            scratch = target.with_suffix(".tmp")
            scratch.write_bytes(data)
            os.replace(scratch, target)
        else:
            target.write_bytes(data)
        self._dropped.append(path)

    def _state(self) -> Path:
        os.environ.update({name: self.env[name] for name in ("ACKD_STATE", "ACKD_CONFIG", "ACKD_NODE")})
        node = load_node(self.tree, create=False)
        assert node is not None
        return node.state

    def _is_quiet(self) -> bool:
        if not (self._base / "state").exists():
            return False
        memory = Memory(self._state(), read_only=True)
        try:
            if memory.next_due() is not None or memory.staged():
                return False
            return all(memory.file(path) is not None for path in self._dropped)
        finally:
            memory.close()

    # What must hold in the end.

    def _check(self, reader: Reader) -> None:
        report = self.report
        report.files, report.deliveries, report.kinds = len(self._dropped), reader.files, reader.kinds
        report.torn = reader.torn
        report.doubled = [name for name, count in reader.seen.items() if count > 1]
        state = self._state()
        memory = Memory(state, read_only=True)
        try:
            entries = [entry for entry, _ in memory.all_entries()]
            self._check_files(memory)
            self._check_deliveries(entries, reader, state)
            self._check_chain(entries)
            with Root(self.tree) as root:
                self._check_threads(entries, root)
        finally:
            memory.close()
        with sqlite3.connect(state / "memory.sqlite") as raw:
            if raw.execute("PRAGMA integrity_check").fetchone() != ("ok",):
                report.wrong.append("the memory is damaged")
        raw.close()
        left = [one.name for one in (self.tree / ".ackd/tmp").iterdir() if not one.name.startswith("mark-")]
        if left:
            report.wrong.append(f"left in scratch: {left}")

    def _check_files(self, memory: Memory) -> None:
        for path in self._dropped:
            row = memory.file(path)
            if row is None or row.verdict not in VERDICTS:
                self.report.without_verdict.append(path)

    def _check_deliveries(self, entries: list[Entry], reader: Reader, state: Path) -> None:
        with sqlite3.connect(state / "memory.sqlite") as raw:
            withdrawn = {
                name
                for (ids,) in raw.execute("SELECT ids FROM inbox WHERE state='removed'")
                for name in ids.split("\n")
            }
        raw.close()
        recorded: Counter[str] = Counter()
        for entry in entries:
            if entry.kind != DELIVERED:
                continue
            recorded.update(entry.body["ids"])
            if entry.body["path"]:
                self.report.lost += [
                    name for name in entry.body["ids"] if not reader.seen[name] and name not in withdrawn
                ]
        self.report.doubled += [f"{name} (recorded twice)" for name, count in recorded.items() if count > 1]
        self.report.wrong += [f"seen but not recorded: {name}" for name in reader.seen if name not in recorded]
        judged = Counter((one.thread, one.body["digest"], one.body["verdict"]) for one in entries if one.kind == JUDGED)
        self.report.doubled += [f"judged twice: {name}" for name, count in judged.items() if count > 1]

    def _check_chain(self, entries: list[Entry]) -> None:
        for before, after in itertools.pairwise(entries):
            if after.prev != before.key or after.seq != before.seq + 1:
                self.report.wrong.append(f"entry {after.seq} does not follow {before.seq}")
        with Root(self.tree) as root:
            runs = list(SealedFiles(root, Stage(root)).read_all())
        self.report.wrong += [one.problem for one in runs if one.problem]
        sealed = [entry.key for run in runs for entry, _ in run.entries]
        if self._lockless:
            sealed = list(dict.fromkeys(sealed))  # both seal the same entries, in runs of their own
        if sealed != [entry.key for entry in entries]:
            self.report.wrong.append(f"{len(sealed)} entries are sealed, {len(entries)} are remembered")

    def _check_threads(self, entries: list[Entry], root: Root) -> None:
        report = self.report
        policy = load_team(root).policy
        seen = {entry.key: entry.at for entry in entries}
        by_thread: dict[str, list[Entry]] = {}
        for entry in entries:
            by_thread.setdefault(entry.thread, []).append(entry)
        names = [name for name in by_thread if is_thread(name)]
        if len(names) != self._threads:
            report.wrong.append(f"{len(names)} threads, {self._threads} were begun")
        for name in names:
            thread = fold(name, by_thread[name])
            clock = Clock(max(seen.values()) + 3_600_000, seen.__getitem__)
            owed = obligations(thread, policy, clock)
            report.lost += [f"{one} is still owed" for deliver in owed.deliver for one in deliver.ids]
            told = {one.agent for one in thread.done.values() if one.kind == "final"}
            if thread.final and told != {"zoe", "macro"}:
                report.lost.append(f"the final of {name} was told to {sorted(told)}")
            page = self.tree / thread.folder / "THREAD.md"
            if not page.is_file() or page.read_bytes() != thread_page(thread, policy):
                report.wrong.append(f"{page.relative_to(self.tree)} is not as the ledger has it")
        for path in (self.tree / "rejected").rglob("*.md"):
            report.wrong.append(f"taken for a person's edit: {path.name}")


def main() -> int:
    """Run a campaign by hand and print its figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--threads", type=int, default=1000)
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep", type=Path, help="work in this new folder and leave it")
    parser.add_argument("--lockless", action="store_true", help="a second daemon runs all the time")
    asked = parser.parse_args()
    base = asked.keep or Path(tempfile.mkdtemp(prefix="ackd-kill-"))
    base.mkdir(exist_ok=True)
    began = time.monotonic()
    report = Campaign(base, threads=asked.threads, kills=asked.kills, seed=asked.seed, lockless=asked.lockless).run()
    took = round(time.monotonic() - began)
    lines = [
        f"{report.threads} threads, {report.files} files, {report.deliveries} deliveries, {took} s",
        f"kills: {sum(report.kills.values())}: {dict(report.kills)}",
        f"deliveries: {dict(report.kinds)}",
        f"lost {len(report.lost)}, doubled {len(report.doubled)}, without a verdict {len(report.without_verdict)}",
        *report.faults()[:40],
    ]
    sys.stdout.write("\n".join(lines) + "\n")
    if asked.keep is None:
        shutil.rmtree(base)
    return 1 if report.faults() else 0


if __name__ == "__main__":
    raise SystemExit(main())
