"""What the doctor looks at around the daemon: state directory, memory, sealed files, lock, health, watches."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path

from ackd.config.node import Node, load_node
from ackd.engine.doctor import Check, Patient, ok, problem, warning
from ackd.exchange import SealedFiles
from ackd.fs.stage import Stage
from ackd.ledger import Memory
from ackd.protocol.instant import iso
from ackd.watch.limits import remote_kind

_SHOWN = 3
_SEAL_AT = 1000
_FRESH_MS = 10_000
_STUCK_MS = 120_000
_AHEAD_MS = 60_000
_NEARLY = 0.8
_WATCHES = Path("/proc/sys/fs/inotify/max_user_watches")
_OWN = re.compile(r"([0-9]{10})-([0-9]{10})\.jsonl\Z")


def look_at_state(patient: Patient) -> Iterator[Check]:
    """Whether the state directory is this user's alone, and can be written."""
    node = _node(patient)
    if node is None:
        yield warning("state", "nothing is remembered of this tree on this machine yet", "ackd up")
        return
    for note in node.notes:
        yield warning("state", note)
    found = node.state.stat()
    if found.st_uid != os.geteuid():
        yield problem("state", f"{node.state} belongs to uid {found.st_uid}", "set ACKD_STATE to a folder of your own")
    elif not os.access(node.state, os.W_OK | os.X_OK):
        yield problem("state", f"{node.state} cannot be written", f"chmod 700 {node.state}")
    elif found.st_mode & 0o077:
        if patient.fix:
            node.state.chmod(0o700)
            yield ok("state", f"{node.state} is private now", fixed=True)
        else:
            others = "write in" if found.st_mode & 0o022 else "read"
            level = problem if found.st_mode & 0o022 else warning
            yield level("state", f"others may {others} {node.state}", f"ackd doctor --fix, or chmod 700 {node.state}")
    else:
        yield ok("state", f"{node.state} is private and can be written")


def look_at_memory(patient: Patient) -> Iterator[Check]:
    """Whether the memory opens, and is whole."""
    node = _node(patient)
    if node is None or not (node.state / "memory.sqlite").exists():
        yield ok("memory", "there is none yet; it is made, or made anew from ledger/, by ackd up")
        return
    rebuild = f"stop the daemon, move {node.state / 'memory.sqlite'}* away, then ackd up: it is made anew from ledger/"
    memory = Memory(node.state, read_only=True)
    try:
        damage = memory.damage()
        if damage:
            yield problem("memory", f"the memory is damaged: {'; '.join(damage[:_SHOWN])}", rebuild)
            return
        last = memory.last_of(node.name, memory.meta("incarnation"))
        if last is not None and last.at > patient.now + _AHEAD_MS:
            ahead = f"the newest entry is of {iso(last.at)}, which is still to come"
            yield warning("clock", ahead, "set the clock; timers may run late until it gets there")
        yield ok("memory", f"whole, {memory.count('entries')} entries, {memory.count('known')} messages known")
    finally:
        memory.close()


def look_at_ledger(patient: Patient) -> Iterator[Check]:
    """Whether the sealed files are whole, and our own all there; own ones are put back from the memory."""
    view = patient.view
    memory = view.memory
    exchange = SealedFiles(view.root, Stage(view.root))
    whole: dict[str, list[tuple[int, int]]] = {}
    damaged, count = [], 0
    for sealed in exchange.read_all():
        count += 1
        folder = sealed.source.split("/")[1]
        if sealed.problem:
            damaged.append(sealed)
        elif sealed.entries:
            whole.setdefault(folder, []).append((sealed.entries[0][0].seq, sealed.entries[-1][0].seq))
    node = _node(patient)
    is_well = True
    for check in _own(patient, memory, exchange, node, whole) if node is not None and not view.from_tree else ():
        is_well = False
        yield check
    own = f"{node.name}-" if node is not None else "/"
    for sealed in damaged:
        is_ours = sealed.source.split("/")[1].startswith(own)
        if is_ours and patient.fix and _put_back(patient, exchange, node, sealed.source):
            yield ok("ledger", f"{sealed.source} was damaged and is put back", fixed=True)
            continue
        is_well = False
        todo = "ackd doctor --fix" if is_ours else "restore it from git or from the machine that wrote it"
        yield problem("ledger", sealed.problem, todo)
    if is_well:
        yield ok("ledger", f"{count} sealed files are whole, and none of our own is missing")


def look_at_daemon(patient: Patient) -> Iterator[Check]:
    """Whether a daemon runs, turns, and says that all is well; and whether it still has the lock."""
    view, node = patient.view, _node(patient)
    health = view.health()
    if health is None:
        if node is not None and view.is_running:
            yield problem("lock", "a daemon says that it runs, but the lock is free", "stop it, then ackd up")
        yield warning("daemon", "no daemon runs on this tree here", "ackd up")
        return
    name = f"pid {health['pid']}@{health['host'] or '?'}"
    turned = health.get("turned_at")
    trouble = [str(one) for one in health.get("trouble") or ()]
    if isinstance(turned, int) and patient.now - turned > _STUCK_MS:
        yield problem(
            "daemon", f"{name} has not turned since {iso(turned)}", f"look at its log; kill {health['pid']}, ackd up"
        )
    for one in trouble:
        yield problem("daemon", one)
    if not trouble:
        yield ok("daemon", f"{name} runs, and nothing troubles it")


def look_at_disk(patient: Patient) -> Iterator[Check]:
    """Whether the kernel can tell the daemon of changes."""
    kind = remote_kind(patient.view.tree)
    if kind:
        yield warning("watch", f"the tree lies on {kind}, which says nothing of others' writes: it is looked through")
        return
    limit = _limit()
    folders = sum(1 for _ in os.walk(patient.view.tree)) if limit is not None else 0
    if limit is not None and folders > limit * _NEARLY:
        text = f"{folders} folders, and this machine watches at most {limit}"
        yield warning("watch", text, f"sysctl fs.inotify.max_user_watches={max(folders * 4, 524_288)}")
    else:
        most = f" of at most {limit}" if limit is not None else ""
        yield ok("watch", f"changes are heard of at once: {folders} folders{most}")


LOOKS = (look_at_state, look_at_memory, look_at_ledger, look_at_daemon, look_at_disk)


def _node(patient: Patient) -> Node | None:
    return load_node(patient.view.tree, create=False)


def _own(
    patient: Patient, memory: Memory, exchange: SealedFiles, node: Node, whole: dict[str, list[tuple[int, int]]]
) -> Iterator[Check]:
    """Find own entries that lie in no sealed file and should; the newest may wait for their turn."""
    for inc, last in memory.incarnations(node.name):
        newest = memory.last_of(node.name, inc)
        if newest is not None and patient.now - newest.at < _FRESH_MS:
            last = min(last, exchange.published(node.name, inc))
        damaged = _named(patient, node, inc, whole.get(f"{node.name}-{inc}", ()))
        for first, until in _gaps([*whole.get(f"{node.name}-{inc}", ()), *damaged], last):
            what = f"entries {first} to {until} of {node.name}-{inc} lie in no sealed file"
            if not patient.fix:
                yield problem("ledger", what, "ackd doctor --fix puts them back from the memory")
                continue
            for start in range(first, until + 1, _SEAL_AT):
                lines = memory.lines(node.name, inc, start, min(until, start + _SEAL_AT - 1))
                exchange.publish(node.name, inc, start, lines)
            yield ok("ledger", f"{what}: put back from the memory", fixed=True)


def _named(patient: Patient, node: Node, inc: str, whole: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Give the runs that files are named after which are not whole: they are there, damaged."""
    names = (_OWN.match(name) for name in patient.view.root.listdir(f"ledger/{node.name}-{inc}"))
    runs = [(int(match[1]), int(match[2])) for match in names if match]
    return [one for one in runs if one not in whole]


def _gaps(runs: Sequence[tuple[int, int]], last: int) -> list[tuple[int, int]]:
    """Give the runs of numbers from 1 to `last` that no run covers."""
    ends, reached = [(0, 0)], 0
    for first, until in sorted(runs):
        if until > reached:
            ends.append((max(first, reached + 1), until))
            reached = until
    ends.append((last + 1, last + 1))
    return [
        (before[1] + 1, after[0] - 1) for before, after in pairwise(ends) if before[1] + 1 <= min(after[0] - 1, last)
    ]


def _put_back(patient: Patient, exchange: SealedFiles, node: Node | None, path: str) -> bool:
    """Write a damaged file of our own again, where the memory has all of it."""
    folder, name = path.split("/")[1:3]
    match = _OWN.match(name)
    if node is None or match is None or patient.view.from_tree:
        return False
    first, last, inc = int(match[1]), int(match[2]), folder.removeprefix(f"{node.name}-")
    lines = patient.view.memory.lines(node.name, inc, first, last)
    return len(lines) == last - first + 1 and exchange.put_back(node.name, inc, first, lines) == path


def _limit() -> int | None:
    try:
        return int(_WATCHES.read_text("ascii"))
    except (OSError, ValueError):
        return None
