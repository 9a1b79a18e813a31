"""The loop: hints and rescans in, files admitted, what is owed carried out, pages and sealed entries published.

`Engine.turn` is the whole engine; everything else here says when to take one.
"""

from __future__ import annotations

import contextlib
import logging
import random
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice

from ackd.channels import Channel
from ackd.config import Node, Team, load_team
from ackd.config.channels import ChannelSetting
from ackd.engine.admission import CAP, Admission, Candidate
from ackd.engine.book import Book
from ackd.engine.carry import Carrier
from ackd.engine.decisions import Decisions
from ackd.engine.keeper import BoardLine, Keeper
from ackd.engine.kinds import Kinds
from ackd.engine.people import People
from ackd.engine.publishing import Publisher
from ackd.engine.rebuild import rebuild, touch_all
from ackd.engine.refusals import Refusals
from ackd.engine.sending import Sender
from ackd.engine.signs import Signs
from ackd.errors import AckdError, NoTreeError
from ackd.exchange import SealedFiles
from ackd.fs import faults
from ackd.fs.beneath import FileRead, Root, Stat
from ackd.fs.stage import Stage
from ackd.ledger import Memory
from ackd.protocol.policy import Policy
from ackd.protocol.subject import is_thread
from ackd.tree import layout
from ackd.tree.skips import is_temporary
from ackd.watch.port import EVERYTHING, Changes, Hints
from ackd.watch.scan import scan

log = logging.getLogger("ackd")

GROUP = 512
"""Files that are judged and committed at once."""

_RESCAN_MS = (30_000, 60_000)
_PATIENCE_MS = 30_000
_SEAL_AFTER_MS = 2_000
_SEAL_AT = 1_000
_TICK_MS = 5_000
_RETRY_MS = 1_000
_RACY_NS = 20_000_000


def wall_clock() -> int:
    """Give the wall clock in milliseconds since the Unix epoch."""
    return time.time_ns() // 1_000_000


class Engine:
    """One node's daemon on one tree, without process matters (lock, signals, logs).

    Args:
        root: The tree.
        node: This machine's name and state directory.
        memory: What it remembers.
        hints: Where to look first.
        clock: Gives the wall clock in milliseconds.
        channels: The live channels of this node, each with its setting.

    Raises:
        InvalidError: `team.yaml` cannot be used.
    """

    def __init__(
        self,
        root: Root,
        node: Node,
        memory: Memory,
        hints: Hints,
        *,
        clock: Callable[[], int] = wall_clock,
        channels: Sequence[tuple[ChannelSetting, Channel]] = (),
    ) -> None:
        self.root, self.node, self.memory, self.hints, self.clock = root, node, memory, hints, clock
        self._signatures: dict[str, tuple[int, int, int]] = {}
        self._note_team(root.stat(layout.TEAM))
        self.team: Team = load_team(root)
        self.stage = Stage(root, durable=node.durability == "paranoid")
        self.exchange = SealedFiles(root, self.stage)
        self.book = Book(memory, node.name)
        self.refusals = Refusals(root, self.stage, self.book)
        self.admission = Admission(root, self.book, self.refusals, self.policy, self._saw_verdict)
        self.carrier = Carrier(root, self.stage, self.book, self.policy, self._saw_delivery)
        self.sender = Sender(self.book, self.policy, self.carrier.render, channels, hints.wake)
        self.carrier.plan = self.sender.plan
        self.publisher = Publisher(root, self.stage, self.book, self.policy, self.findings, self.board_lines)
        self.people = People(root, self.book, self.policy, self.admission.speak)
        self.keepers: tuple[Keeper, ...] = (
            self.people,
            Kinds(root, self.book, self.refusals, self.policy),
            Decisions(root, self.stage, self.book, self.policy),
            Signs(self.book, self.sender),
        )
        self.admission.keepers = self.keepers
        self.trouble: dict[str, str] = {}
        self.on_delivery: Callable[[], None] = _nothing
        self.stopping = False
        self.deliveries = 0
        self._rescan_at = 0
        self._retry_at: int | None = None
        self._sealed = 0
        self._unsealed_since: int | None = None
        self._reload = False
        self._must_recover = False

    def policy(self) -> Policy:
        """Give the rules in force."""
        return self.team.policy

    # A turn.

    def run(self) -> None:
        """Take turns until `stop` is called, then leave everything in order."""
        self.start()
        changes = EVERYTHING
        while not self.stopping:
            self.turn(changes)
            changes = self.hints.wait(self.pause() / 1000)
        self.finish()

    def turn(self, changes: Changes) -> None:
        """Look, judge, carry out, publish."""
        now = self.clock()
        try:
            self._recover(now)
            self.sender.collect(now)
            for group in _grouped(self._candidates(changes, now), GROUP):
                with self.root.holding():
                    self._admit(group)
                    # While there is more to judge, deliveries come before the tidying up that follows them.
                    self._carry_out(finish=len(group) < GROUP)
                self.book.trim()
            self.admission.overdue(self.clock(), _PATIENCE_MS)
            for thread in self.memory.due(self.clock()):
                self.book.touched[thread] = None
            for keeper in self.keepers:
                keeper.work(self.clock())
            self._carry_out()
            self._send()
            self._publish()
            self._seal()
            self.book.trim()
            self.carrier.adopt = False
            self._note("handing-over", "; ".join(list(self.carrier.trouble.values())[:3]))
            self._note("pages", "; ".join(list(self.publisher.trouble.values())[:3]))
            self._note("rejected", self.refusals.trouble)
            self._all_well("disk")
            self._all_well("internal")
        except OSError as error:
            self._fail("disk", f"the tree or the state directory cannot be written: {error.strerror or error}")
        except AckdError as error:
            self._fail("tree", error.message)
            self._reopen()
        except Exception as error:
            # A fault of ours must not silence the team: it is shown, and the turn is taken again (R13).
            log.exception("internal-error")
            self._fail("internal", f"a fault in ackd itself ({type(error).__name__}); please report it with the log")
            self._forget()

    def _reopen(self) -> None:
        """Take up the folder that the tree's path names now, where the one before was moved or removed."""
        if not self.root.is_same():
            with contextlib.suppress(AckdError):
                self.root.reopen()

    def start(self) -> None:
        """Take up what was left: a lost memory is rebuilt, a crash's staged files are handed over."""
        now = self.clock()
        behind = self.exchange.published(self.node.name, self.book.inc) > self.book.seq
        if self.book.is_new or behind:
            self._rebuild(now, behind=behind)
        self._sealed = min(self.exchange.published(self.node.name, self.book.inc), self.book.seq)
        for row in self.memory.files():
            self._signatures[row.path] = (row.ino, row.size, row.ctime_ns)
        for inbox in self.memory.inbox():
            self.carrier.own[inbox.path] = (inbox.ino, inbox.size, inbox.mtime_ns)
        self._must_recover = True
        self.publisher.catch_up(now)
        self.sender.say_what_is_there()
        self._say_who_else_writes()
        self.hints.start()

    def _say_who_else_writes(self) -> None:
        """Warn where another node has written in the ledger: two daemons do not share the work."""
        writers = (name.rpartition("-")[0] for name in self.root.listdir(layout.LEDGER))
        others = sorted({name for name in writers if name and name != self.node.name})
        if others:
            reason = "another node wrote in the ledger; let one daemon run on this tree at a time, wherever it is"
            log.warning("other-nodes", extra={"nodes": ", ".join(_shown(name) for name in others), "reason": reason})

    def finish(self) -> None:
        """Stop in good order: everything published and sealed."""
        self.hints.stop()
        try:
            self.sender.close(self.clock())
            self._carry_out()
            self.publisher.write(self.clock(), all_=True)
            self._seal(at_once=True)
        except (OSError, NoTreeError) as error:
            log.error("stop-incomplete", extra={"reason": str(error)})

    def stop(self) -> None:
        """Ask the loop to end after this turn; safe from a signal handler."""
        self.stopping = True
        self.hints.wake()

    def reload(self) -> None:
        """Read `team.yaml` again with the next turn; safe from a signal handler."""
        self._reload = True
        self.hints.wake()

    def pause(self) -> int:
        """Give how long to wait for hints, in milliseconds."""
        now = self.clock()
        unsealed = None if self._unsealed_since is None else self._unsealed_since + _SEAL_AFTER_MS
        moments = [self._rescan_at, self.memory.next_due(), self.publisher.next_due(), unsealed, self._retry_at]
        moments.append(self.sender.next_due())
        # What cannot be read is looked at with each rescan; only what is open runs out of time.
        moments += [keeper.next_due() for keeper in self.keepers]
        moments += [one.since + _PATIENCE_MS for one in self.admission.waiting.values() if one.reason == "open"]
        soonest = min(moment for moment in (*moments, now + _TICK_MS) if moment is not None)
        return max(0, soonest - now)

    def findings(self) -> tuple[str, ...]:
        """Give what is wrong with the node or the team's file, for people."""
        return (*self.trouble.values(), *self.team.findings)

    def board_lines(self) -> tuple[BoardLine, ...]:
        """Give what is followed beside the threads and must be seen."""
        return tuple(line for keeper in self.keepers for line in keeper.board())

    # Looking.

    def _candidates(self, changes: Changes, now: int) -> Iterator[Candidate]:
        """Give the files that may be new or changed."""
        if self._reload:
            self._reload = False
            yield from self._reload_team()
        if changes.rescan or now >= self._rescan_at or (self._retry_at is not None and now >= self._retry_at):
            self._rescan_at = now + random.randint(*_RESCAN_MS)  # noqa: S311 - jitter, no secret
            self._retry_at = None
            yield from self._scan_all()
            return
        for path in changes.paths:
            yield from self._look(path)

    def _scan_all(self) -> Iterator[Candidate]:
        folders = 0
        blind = []
        for found in scan(self.root, skip=_is_skipped):
            if found.problem:
                blind.append(f"{_shown(found.rel)}: {found.problem}")
            if found.stat.kind == "folder":
                folders += 1
            elif found.rel == layout.TEAM:
                yield from self._team_changed(found.stat)
            elif self._is_new(found.rel, found.stat):
                yield Candidate(found.rel, found.stat)
        self.carrier.sweep(self.clock())
        self.refusals.missing(self.clock())
        self.hints.folders_seen(folders)
        self._note("blind", "; ".join(blind[:3]))
        self._note("watcher", self.hints.healthy())
        self._all_well("tree")

    def _look(self, path: str) -> Iterator[Candidate]:
        """Look at what a hint names: a file, or a folder whose whole content may be new."""
        if _is_skipped_anywhere(path):
            return
        try:
            stat = self.root.stat(path)
        except AckdError:
            return
        if stat is None:
            for keeper in self._keepers_of(path):
                keeper.gone(path, self.clock())
            return
        if path == layout.TEAM:
            yield from self._team_changed(stat)
        elif stat.kind == "folder":
            for found in scan(self.root, skip=_is_skipped, below=path):
                if found.stat.kind != "folder" and self._is_new(found.rel, found.stat):
                    yield Candidate(found.rel, found.stat)
        elif self._is_new(path, stat):
            yield Candidate(path, stat)

    def _is_new(self, path: str, stat: Stat) -> bool:
        if not layout.is_drop_path(path) and not self._keepers_of(path):
            return False
        own = self.carrier.own.get(path)
        if own is not None and own == (stat.ino, stat.size, stat.mtime_ns):
            return False
        if self._signatures.get(path) == (stat.ino, stat.size, stat.ctime_ns):
            return False
        waiting = self.admission.waiting.get(path)
        return waiting is None or waiting.stat != stat or waiting.reason != "open"

    def _admit(self, group: list[Candidate]) -> None:
        now = self.clock()
        readable = []
        for candidate in group:
            keepers = self._keepers_of(candidate.path)
            if keepers:
                self._show(candidate.path, keepers, now)
            elif _is_utf8(candidate.path):
                readable.append(candidate)
            else:
                self.admission.refuse_name(_shown(candidate.path), candidate.stat, now)
        self.admission.admit(readable, now)
        now_ns = time.time_ns()
        for path, stat in ((one.path, one.stat) for one in group):
            if path not in self.admission.waiting:
                # A change within the clock tick of the last one leaves the same ctime: such a file is read once more.
                racy = now_ns - stat.ctime_ns < _RACY_NS
                self._signatures[path] = (stat.ino, stat.size, 0 if racy else stat.ctime_ns)

    def _keepers_of(self, path: str) -> list[Keeper]:
        return [keeper for keeper in self.keepers if keeper.wants(path)]

    def _show(self, path: str, keepers: list[Keeper], now: int) -> None:
        """Let those who want a file that is no drop see it, where it can be read."""
        read = self.root.read(path, CAP)
        if isinstance(read, FileRead):
            for keeper in keepers:
                keeper.file(path, "", None, read, now)

    # Doing.

    def _carry_out(self, *, finish: bool = True) -> None:
        now = self.clock()
        try:
            self.deliveries += self.carrier.carry_out(now, finish=finish)
        except BaseException:
            # What was committed stands, and its intents are finished first; all else is judged again from the files.
            self._forget()
            raise
        self.publisher.changed(self.carrier.changed, now)
        changed, self.carrier.changed = self.carrier.changed, {}
        for keeper in self.keepers:
            for thread in changed:
                if is_thread(thread):
                    keeper.judged(thread, now)
        if self.book.seq > self._sealed and self._unsealed_since is None:
            self._unsealed_since = now

    def _send(self) -> None:
        """Let live sends fly whose turn it is, once their tries are on record."""
        self.sender.committed()
        if self.sender.prepare(self.clock()):
            self._carry_out()
            self.sender.launch()
        self._note("channels", self.sender.trouble())

    def _forget(self) -> None:
        self.book.forget()
        self.sender.forget()
        self._must_recover = True
        team = self._signatures.get(layout.TEAM)
        self._signatures = {row.path: (row.ino, row.size, row.ctime_ns) for row in self.memory.files()}
        if team is not None:
            self._signatures[layout.TEAM] = team

    def _recover(self, now: int) -> None:
        """Finish what a crash or a failed turn left half done, before anything new is decided."""
        if not self._must_recover:
            return
        finished = self.carrier.recover(now)
        self._must_recover = False
        if finished:
            log.info("recovered", extra={"finished": finished})

    def _publish(self) -> None:
        self.publisher.write(self.clock())

    def _seal(self, *, at_once: bool = False) -> None:
        """Publish own entries: after two seconds, at a thousand, or at once."""
        waiting = self.book.seq - self._sealed
        since = self._unsealed_since
        is_due = since is not None and self.clock() >= since + _SEAL_AFTER_MS
        if waiting <= 0 or not (at_once or is_due or waiting >= _SEAL_AT):
            return
        self._sealed = max(self._sealed, self.exchange.published(self.node.name, self.book.inc))
        while self._sealed < self.book.seq:
            first = self._sealed + 1
            last = min(self.book.seq, self._sealed + _SEAL_AT)
            lines = self.memory.lines(self.node.name, self.book.inc, first, last)
            self.exchange.publish(self.node.name, self.book.inc, first, lines)
            faults.reach("seal")
            self._sealed = last
        self._unsealed_since = None
        self.memory.rest()

    def _rebuild(self, now: int, *, behind: bool) -> None:
        count, problems = rebuild(self.memory, self.exchange, self.root, self.node.name, now)
        for problem in problems:
            log.warning("ledger-file-damaged", extra={"reason": problem})
        if behind:
            self.book.renew()
        if count:
            log.warning("memory-rebuilt", extra={"entries": count, "incarnation": self.book.inc})
            touch_all(self.book)
            # Threads are found by their short rows; all are due at once, after what lies there was taken in.
            self.book.commit(dict.fromkeys(self.book.touched, now))
            self.carrier.adopt = True

    # The team.

    def _team_changed(self, stat: Stat) -> Iterator[Candidate]:
        before = self._signatures.get(layout.TEAM)
        self._note_team(stat)
        if before != self._signatures.get(layout.TEAM):
            yield from self._reload_team()

    def _note_team(self, stat: Stat | None) -> None:
        if stat is not None:
            self._signatures[layout.TEAM] = (stat.ino, stat.size, stat.ctime_ns)

    def _reload_team(self) -> Iterator[Candidate]:
        """Take the team's new rules; a file that cannot be used leaves the old ones in force."""
        try:
            self.team = load_team(self.root)
        except AckdError as error:
            self._fail("team", f"{error.message}; the rules before stay in force")
            return
        self._all_well("team")
        log.info("team-loaded", extra={"agents": len(self.team.policy.roster.members)})
        self.sender.say_what_is_there()
        for row in self.memory.threads(open_only=True):
            self.book.touched[row.id] = None
            path = self._stranger_path(row.id)
            stat = self.root.stat(path) if path else None
            if stat is not None:
                self.admission.admit([Candidate(path, stat)], self.clock(), again=True)
        yield from ()

    def _stranger_path(self, ledger: str) -> str:
        """Give the path of a file that was refused for its sender alone, or an empty string."""
        if not ledger.startswith("!"):
            return ""
        refusal = self.book.refusal(ledger)
        is_stranger = refusal is not None and refusal.standing and refusal.problem.get("code") == "unknown-sender"
        return refusal.path if is_stranger and refusal is not None else ""

    # What is seen.

    def _saw_verdict(self, path: str, verdict: str, thread: str, because: str) -> None:
        level = logging.WARNING if verdict == "refused" else logging.INFO
        if not log.isEnabledFor(level):
            return
        log.log(level, verdict, extra={"path": _shown(path), "ack_id": thread, "reason": because})

    def _saw_delivery(self, kind: str, agent: str, thread: str, path: str) -> None:
        self.on_delivery()
        if not log.isEnabledFor(logging.INFO):
            return
        log.info("delivered", extra={"kind": kind, "agent": agent, "ack_id": thread, "path": path})

    def _fail(self, what: str, reason: str) -> None:
        """Note a trouble, once, and look again soon."""
        self._note(what, reason)
        self._retry_at = self.clock() + _RETRY_MS

    def _note(self, what: str, reason: str) -> None:
        if not reason:
            self._all_well(what)
        elif self.trouble.get(what) != reason:
            self.trouble[what] = reason
            log.error("trouble", extra={"what": what, "reason": reason})

    def _all_well(self, what: str) -> None:
        if self.trouble.pop(what, None) is not None:
            log.info("recovered", extra={"what": what})


def _nothing() -> None:
    """What happens with each delivery, unless somebody watches."""


def _grouped(candidates: Iterable[Candidate], size: int) -> Iterator[list[Candidate]]:
    iterator = iter(candidates)
    while group := list(islice(iterator, size)):
        yield group


def _is_skipped(path: str, is_folder: bool) -> bool:
    if is_folder:
        return path in (layout.LEDGER, layout.REJECTED)
    return is_temporary(path.rpartition("/")[2])


def _is_skipped_anywhere(path: str) -> bool:
    top = path.partition("/")[0]
    hidden = any(part.startswith(".") for part in path.split("/"))
    return hidden or top in (layout.LEDGER, layout.REJECTED) or is_temporary(path.rpartition("/")[2])


def _is_utf8(path: str) -> bool:
    try:
        path.encode()
    except UnicodeEncodeError:
        return False
    return True


def _shown(path: str) -> str:
    return path.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
