"""Carrying out what is owed: stage, record the intent, rename into place, record that it is done.

After a crash a staged file that is still there was not handed over, and one that is gone was; so nothing is handed
over twice and nothing is forgotten (DESIGN part 2, Obligations).
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Any

import msgspec

from ackd.engine.book import Book
from ackd.engine.delivery import Rendered, render_delivery
from ackd.engine.refusal_notice import render_refusal
from ackd.fs import faults
from ackd.fs.beneath import Root
from ackd.fs.stage import Stage, Staged
from ackd.ledger import InboxRow, StagedRow
from ackd.protocol.entry import DELIVERED, TIMER
from ackd.protocol.obligations import Deliver, Owed, obligations
from ackd.protocol.policy import Policy
from ackd.protocol.refusal import PREFIX, refusal_gone, refusal_owed
from ackd.tree import layout

_ROUNDS = 16
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
        self.own: dict[str, Signature] = {}
        self.changed: dict[str, None] = {}

    def carry_out(self, now: int) -> int:
        """Carry out all that is owed in the touched threads; commit before and after.

        Args:
            now: The node's wall clock, milliseconds.

        Returns:
            How many deliveries were made.
        """
        made = 0
        for _ in range(_ROUNDS):
            if self._book.is_clean:
                break
            made += self._round(now)
        return made

    def _round(self, now: int) -> int:
        book = self._book
        owed = {thread: self._owed(thread, now) for thread in list(book.touched)}
        work = [(deliver, self._render(deliver, now)) for one in owed.values() for deliver in one.deliver]
        staged = []
        for deliver, rendered in work:
            row = self._prepare(deliver, rendered)
            if row is not None:
                staged.append(row)
        gone = {thread: one.gone for thread, one in owed.items() if one.gone}
        removed = self._removals(gone)
        waits = {row.thread for row in staged}
        faults.reach("intent")
        book.commit(
            {thread: one.next_due for thread, one in owed.items() if thread not in waits}, staged=staged, inbox=removed
        )
        faults.reach("commit")
        for thread in owed:
            self.changed[thread] = None
        if staged:
            self.hand_over(staged, now)
        return len(staged)

    def hand_over(self, staged: list[StagedRow], now: int) -> None:
        """Rename staged files into place and record it; a staged file that is gone was handed over before."""
        inbox = []
        for row in staged:
            body = _decode(row.body)
            if row.path:
                self._stage.publish(Staged(row.scratch, 0), row.path)
                faults.reach("rename")
                inbox.append(self._inbox_row(row, body))
                self._observe(body["kind"], body["agent"], row.thread, row.path)
            self._book.write(DELIVERED, row.thread, body, now)
        due = {thread: self._owed(thread, now) for thread in {row.thread for row in staged}}
        settled = {thread: one.next_due for thread, one in due.items() if not one.deliver}
        removed = self._removals({thread: one.gone for thread, one in due.items() if one.gone})
        faults.reach("done")
        self._book.commit(settled, unstaged=[row.scratch for row in staged], inbox=[*inbox, *removed])

    def recover(self, now: int) -> tuple[int, int]:
        """Finish what a crash left between intent and record.

        Returns:
            How many deliveries were finished, and how many staged files without an intent were dropped.
        """
        rows = self._book.memory.staged()
        if rows:
            self.hand_over(rows, now)
        left = [name for name in self._stage.waiting() if name.startswith("d-")]
        for name in left:
            self._stage.discard(name)
        return len(rows), len(left)

    def _owed(self, thread: str, now: int) -> Owed:
        """Give what is owed in a thread; timers that ran out are recorded on the way."""
        book = self._book
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

    def _render(self, deliver: Deliver, now: int) -> Rendered:
        if deliver.thread.startswith(PREFIX):
            refusal = self._book.refusal(deliver.thread)
            assert refusal is not None
            return render_refusal(deliver, refusal, now)
        return render_delivery(deliver, self._book.thread(deliver.thread), self._policy(), now)

    def _prepare(self, deliver: Deliver, rendered: Rendered) -> StagedRow | None:
        """Stage one delivery and give the intent; None where it was only recorded."""
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
        # The name is the obligation's: what a crash left there is written again with the same bytes or newer ones.
        scratch = "d-" + layout.obligation_tag(deliver.ids[0]) + layout.obligation_tag(deliver.agent)
        if path and not self._is_adopted(path, body):
            self._stage.stage(scratch, rendered.data)
            faults.reach("stage")
        return StagedRow(scratch=scratch, path=path, thread=deliver.thread, body=_encode(body))

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
        stat = self._root.stat(row.path)
        signature = (stat.ino, stat.size, stat.mtime_ns) if stat is not None else (0, 0, 0)
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

    def _removals(self, gone: dict[str, frozenset[str]]) -> list[InboxRow]:
        """Take away the files of ours that are no longer owed; what an agent took or changed stays as it is."""
        rows = []
        for thread, ids in gone.items():
            for row in self._book.memory.inbox(thread=thread):
                if not ids.issuperset(row.ids.split("\n")):
                    continue
                result = self._root.unlink_if(row.path, row.sha256)
                state = {"removed": "removed", "changed": "changed", "gone": "taken"}[result]
                self.own.pop(row.path, None)
                rows.append(msgspec.structs.replace(row, state=state))
        return rows

    def _is_ours(self, row: InboxRow) -> bool:
        stat = self._root.stat(row.path)
        return stat is not None and (stat.ino, stat.size, stat.mtime_ns) == (row.ino, row.size, row.mtime_ns)
