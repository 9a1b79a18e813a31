"""Carrying out what is owed: stage, record the intent, rename into place, record that it is done.

After a crash a staged file that is still there was not handed over, and one that is gone was; so nothing is handed
over twice and nothing is forgotten (DESIGN part 2, Obligations).
"""

from __future__ import annotations

import contextlib
import hashlib
import itertools
import secrets
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import msgspec

from ackd.engine.book import Book
from ackd.engine.delivery import Rendered, render_delivery
from ackd.engine.flights import Plan, files_only, sooner
from ackd.engine.posts import as_fallback
from ackd.engine.refusal_notice import render_refusal
from ackd.engine.subject_notice import render_notice
from ackd.errors import AckdError
from ackd.fs import faults
from ackd.fs.beneath import Root
from ackd.fs.stage import SCRATCH, Stage, Staged
from ackd.ledger import InboxRow, StagedRow
from ackd.protocol.entry import DELIVERED, TIMER
from ackd.protocol.obligations import Deliver, Owed, obligations
from ackd.protocol.policy import Policy
from ackd.protocol.refusal import PREFIX, refusal_gone, refusal_owed
from ackd.protocol.retry import Fall
from ackd.protocol.subject import PREFIX as SUBJECT
from ackd.protocol.subject import subject_gone, subject_owed
from ackd.tree import layout

_ROUNDS = 16
_RETRY_MS = 5_000
_MARK = "scratch-mark"
_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(dict[str, Any]).decode

Signature = tuple[int, int, int]
"""Inode, size and mtime (ns): by these a file of ours is known without reading it; a rename keeps all three."""


class Carrier:
    """Carries out the obligations of the threads that were touched.

    Args:
        root: The tree.
        stage: Where deliveries are staged.
        book: Entries and threads.
        policy: Gives the rules in force.
        observe: Called with kind, agent, thread and path of each delivery.
        adopt: Whether files that lie in an inbox under an obligation's name count as handed over (after the memory
            was lost).

    Attributes:
        plan: Divides what is owed into files and live sends; without channels all of it is files.
    """

    def __init__(
        self,
        root: Root,
        stage: Stage,
        book: Book,
        policy: Callable[[], Policy],
        observe: Callable[[str, str, str, str], None],
        *,
        adopt: bool = False,
    ) -> None:
        self._root, self._stage, self._book, self._policy = root, stage, book, policy
        self._observe, self.adopt = observe, adopt
        self.plan: Callable[[str, Sequence[Deliver], int], Plan] = files_only
        self.own: dict[str, Signature] = {}
        self.trouble: dict[str, str] = {}
        self.changed: dict[str, None] = {}
        self._written: dict[str, Signature] = {}
        self._later: dict[str, None] = {}
        self._life, self._numbers = secrets.token_hex(4), itertools.count(1)

    def carry_out(self, now: int, *, finish: bool = True) -> int:
        """Carry out all that is owed in the touched threads; commit before and after.

        Args:
            now: The node's wall clock, milliseconds.
            finish: Also look again at the threads that got deliveries: when the next thing falls due, which files may
                go, what lists show. While there is a backlog, the next deliveries come before that.

        Returns:
            How many deliveries were made.
        """
        made = 0
        for _ in range(_ROUNDS):
            if self._book.is_clean:
                if not (finish and self._later):
                    break
                self._book.touched.update(self._later)
                self._later.clear()
            made += self._round(now)
        return made

    def _round(self, now: int) -> int:
        book = self._book
        owed = {thread: self._owed(thread, now) for thread in list(book.touched)}
        plans = {thread: self.plan(thread, one.deliver, now) for thread, one in owed.items()}
        work = [(deliver, self._file(deliver, fall, now)) for one in plans.values() for deliver, fall in one.files]
        if work:
            self._mark_scratch()
        staged = [self._prepare(deliver, rendered) for deliver, rendered in work]
        waits = {row.thread for row in staged}
        leaving = {thread for thread, one in owed.items() if thread not in waits and self._leaving(thread, one.gone)}
        faults.reach("intent")
        # A file goes only when what ended its purpose is kept; a crash before that finds such a thread due at once.
        due = {
            thread: now if thread in leaving else sooner(one.next_due, plans[thread].due)
            for thread, one in owed.items()
        }
        try:
            at = {thread: at for thread, at in due.items() if thread not in waits}
            book.commit(at, staged=staged, soon=waits, now=now)
        except BaseException:
            self._discard(row.scratch for row in staged)
            raise
        faults.reach("commit")
        for thread in owed:
            self.changed[thread] = None
        if staged or leaving:
            self._settle(staged, leaving, now)
        for thread, plan in plans.items():
            if plan.again:
                book.touched[thread] = None
        return len(staged)

    def _settle(self, staged: list[StagedRow], leaving: Iterable[str], now: int) -> None:
        """Rename staged files into place, take away what is no longer owed, and record both."""
        book = self._book
        inbox: list[InboxRow] = []
        failed: set[str] = set()
        for row in staged:
            body = _decode(row.body)
            if row.path:
                if not self._is_handed_over(row):
                    failed.add(row.thread)
                    self._written.pop(row.scratch, None)
                    continue
                faults.reach("rename")
                inbox.append(self._inbox_row(row, body))
                self._observe(body["kind"], body["agent"], row.thread, row.path)
            book.write(DELIVERED, row.thread, body, now)
        due: dict[str, int | None] = {}
        for thread in dict.fromkeys([*failed, *leaving]):
            owed = self._owed(thread, now)
            if not self._take_away(thread, owed.gone, inbox):
                failed.add(thread)
            due[thread] = now + _RETRY_MS if thread in failed else now if owed.deliver else owed.next_due
        faults.reach("done")
        book.commit(due, unstaged=[row.obligation for row in staged], inbox=inbox)
        for thread in due:
            self.changed[thread] = None
            if due[thread] == now:
                book.touched[thread] = None
        for row in staged:
            if row.thread not in due:
                book.touched.pop(row.thread, None)
                self._later[row.thread] = None

    def _is_handed_over(self, row: StagedRow) -> bool:
        """Rename one staged file into place; one that is gone was handed over before, unless all of scratch is gone."""
        try:
            done = self._stage.publish(Staged(row.scratch), row.path)
            if done or self._is_marked() or self._root.exists(row.path):
                self.trouble.pop(_folder(row.path), None)
                return True
            reason = "the scratch folder was emptied before it was handed over"
        except OSError as error:
            reason = error.strerror or str(error)
        except AckdError as error:
            reason = error.message
        self.trouble[_folder(row.path)] = f"{row.path} cannot be handed over: {reason}"
        return False

    def recover(self, now: int) -> int:
        """Finish what a crash, or a turn that failed, left between intent and record.

        Returns:
            How many deliveries were finished.
        """
        rows = self._book.memory.staged()
        if rows:
            self._settle(rows, (), now)
        return len(rows)

    def sweep(self, now: int) -> None:
        """Remove what was staged and never got an intent: its obligation is still owed, or was carried out since."""
        self._discard(name for name in self._stage.waiting() if name.startswith("d-") and self._is_old(name, now))

    def _is_old(self, name: str, now: int) -> bool:
        # A young one may be another daemon's, where the lock failed: its intent follows within milliseconds.
        stat = self._root.stat(f"{SCRATCH}/{name}")
        return stat is not None and abs(now - stat.mtime_ns // 1_000_000) > _RETRY_MS

    def _discard(self, names: Iterable[str]) -> None:
        for name in names:
            self._written.pop(name, None)
            with contextlib.suppress(OSError, AckdError):
                self._stage.discard(name)

    def _mark_scratch(self) -> None:
        """Leave a mark beside what will be staged: where it is gone, a staged file that is gone proves nothing."""
        if not self._is_marked():
            mark = secrets.token_hex(4)
            self._stage.stage(f"mark-{mark}", b"")
            with self._book.memory.transaction():
                self._book.memory.set_meta(_MARK, mark)

    def _is_marked(self) -> bool:
        mark = self._book.memory.meta(_MARK)
        return bool(mark) and self._root.exists(f"{SCRATCH}/mark-{mark}")

    def _owed(self, thread: str, now: int) -> Owed:
        """Give what is owed in a thread; timers that ran out are recorded on the way."""
        book = self._book
        if thread.startswith(SUBJECT):
            subject = book.subject_of(thread)
            return Owed(deliver=subject_owed(subject), gone=subject_gone(subject))
        if thread.startswith(PREFIX):
            refusal = book.refusal(thread)
            if refusal is None:
                return Owed()
            notice = refusal_owed(refusal)
            return Owed(deliver=(notice,) if notice else (), gone=refusal_gone(refusal))
        for _ in range(_ROUNDS):
            owed = obligations(book.thread(thread), self._policy(), book.clock(thread, now))
            if not owed.fire:
                return owed
            for fire in owed.fire:
                book.write(TIMER, thread, {"id": fire.id, "name": fire.name, "digest": fire.digest}, now)
        return owed

    def _file(self, deliver: Deliver, fall: Fall | None, now: int) -> Rendered:
        """Render a delivery that is handed over as a file, marked where a live send did not do."""
        rendered = self.render(deliver, now)
        if fall is None:
            return rendered
        sends = self._book.sends(deliver.thread)
        if deliver.kind == "reminder":
            # It carries the request again, so that one's tries are its history too.
            attempts = [one for send in sends.values() if send.agent == deliver.agent for one in send.attempts]
        else:
            attempts = [one for name in deliver.ids[:1] if name in sends for one in sends[name].attempts]
        return as_fallback(rendered, attempts, fall.reason)

    def render(self, deliver: Deliver, now: int) -> Rendered:
        """Render a delivery as it is at an instant."""
        if deliver.thread.startswith(SUBJECT):
            return render_notice(deliver, self._book.subject_of(deliver.thread), now)
        if deliver.thread.startswith(PREFIX):
            refusal = self._book.refusal(deliver.thread)
            assert refusal is not None
            return render_refusal(deliver, refusal, now)
        return render_delivery(deliver, self._book.thread(deliver.thread), self._policy(), now)

    def _prepare(self, deliver: Deliver, rendered: Rendered) -> StagedRow:
        """Stage one delivery and give the intent; without a path where it is only recorded."""
        path = layout.inbox_path(deliver.agent, rendered.name)
        if deliver.joins:
            path = self._open_file(deliver)
        elif self.adopt:
            path = self._there_already(deliver, path)
        body: dict[str, Any] = {
            "ids": list(deliver.ids),
            "agent": deliver.agent,
            "kind": deliver.kind,
            "path": path,
            "sha256": hashlib.sha256(rendered.data).hexdigest(),
            "facts": rendered.facts,
        }
        # A name of its own: a staged file is handed over by the intent that it was written for, and by no other.
        scratch = f"d-{layout.obligation_tag(deliver.ids[0])}-{next(self._numbers):x}-{self._life}"
        if path and not self._is_adopted(path, body):
            one = self._stage.stage(scratch, rendered.data)
            self._written[scratch] = (one.ino, one.size, one.mtime_ns)
            faults.reach("stage")
        return StagedRow(
            obligation=deliver.ids[0], scratch=scratch, path=path, thread=deliver.thread, body=_encode(body)
        )

    def _open_file(self, deliver: Deliver) -> str:
        """Give the file that a second reason is added to, or an empty string where it was taken."""
        for row in self._book.memory.inbox(thread=deliver.thread, agent=deliver.agent):
            if deliver.joins in row.ids.split("\n") and self._is_ours(row):
                return row.path
        return ""

    def _there_already(self, deliver: Deliver, path: str) -> str:
        """After the memory was lost: a file under this obligation's name was handed over before."""
        tag = f"-{layout.obligation_tag(deliver.ids[0])}.json"
        folder = path.rpartition("/")[0]
        return next((f"{folder}/{name}" for name in self._root.listdir(folder) if name.endswith(tag)), path)

    def _is_adopted(self, path: str, body: dict[str, Any]) -> bool:
        if not self.adopt or not self._root.exists(path):
            return False
        read = self._root.read(path, 16 * 1024 * 1024)
        data = getattr(read, "data", None)
        if data is not None:
            body["sha256"] = hashlib.sha256(data).hexdigest()
        return True

    def _inbox_row(self, row: StagedRow, body: dict[str, Any]) -> InboxRow:
        signature = self._written.pop(row.scratch, None) or self._look(row.path)
        self.own[row.path] = signature
        return InboxRow(
            path=row.path,
            agent=body["agent"],
            thread=row.thread,
            ids="\n".join(body["ids"]),
            sha256=body["sha256"],
            ino=signature[0],
            size=signature[1],
            mtime_ns=signature[2],
        )

    def _look(self, path: str) -> Signature:
        stat = self._root.stat(path)
        return (stat.ino, stat.size, stat.mtime_ns) if stat is not None else (0, 0, 0)

    def _leaving(self, thread: str, gone: frozenset[str]) -> list[InboxRow]:
        """Give the files of ours that are no longer owed."""
        if not gone:
            return []
        rows = self._book.memory.inbox(thread=thread)
        return [row for row in rows if gone.issuperset(row.ids.split("\n"))]

    def _take_away(self, thread: str, gone: frozenset[str], rows: list[InboxRow]) -> bool:
        """Take away what is no longer owed; what an agent took or changed stays as it is. False: try again later."""
        for row in self._leaving(thread, gone):
            try:
                result = self._root.unlink_if(row.path, row.sha256)
            except OSError as error:
                self.trouble[_folder(row.path)] = f"{row.path} cannot be taken away: {error.strerror}"
                return False
            self.own.pop(row.path, None)
            state = {"removed": "removed", "changed": "changed", "gone": "taken"}[result]
            rows.append(msgspec.structs.replace(row, state=state))
        return True

    def _is_ours(self, row: InboxRow) -> bool:
        stat = self._root.stat(row.path)
        return stat is not None and (stat.ino, stat.size, stat.mtime_ns) == (row.ino, row.size, row.mtime_ns)


def _folder(path: str) -> str:
    return path.rpartition("/")[0]
