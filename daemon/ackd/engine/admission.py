"""Taking files in: read, decode, validate, hand over to be judged; every file gets exactly one verdict (promise 1)."""

from __future__ import annotations

import hashlib
import logging
import re
from collections.abc import Callable, Iterable
from typing import Any

import msgspec

from ackd.engine.book import Book
from ackd.engine.judging import ENDING, Judging, Ready, Said
from ackd.engine.keeper import Keeper
from ackd.engine.refusals import Refusals
from ackd.errors import AckdError, InvalidError
from ackd.fs import faults
from ackd.fs.beneath import FileRead, NotRegular, Root, Stat, TooLarge, Unreadable, Vanished
from ackd.intake.decode import Bad, Conflict, Open, decode
from ackd.intake.repair import NoRepair, Repair, Repaired, misspelled_key, repair
from ackd.ledger import FileRow
from ackd.protocol.courtesy import is_courtesy
from ackd.protocol.envelope import TEXT_KEYS, Envelope, read_envelope
from ackd.protocol.ids import shown
from ackd.protocol.policy import Policy
from ackd.protocol.table import VERDICTS
from ackd.schema import KINDS, accepts, problems
from ackd.tree import layout

log = logging.getLogger("ackd")

CAP = 1024 * 1024
"""The largest envelope, in bytes."""

DELIVERY_KEY = "ackd"
_ADDRESSING = frozenset({"from", "ack_id"})
"""What no delivery has at its top level: an answer that was written into one is a message all the same."""
_BEYOND_REPAIR = frozenset({"incomplete", "conflict-markers"})
"""Refusals that say themselves why only the author can put the file right."""

_FROM = re.compile(rb'"(?:from|sender|From)"\s*:\s*"([^"\\\x00-\x1f]{1,64})"')


class Candidate(msgspec.Struct, frozen=True):
    """A file that may be new or changed."""

    path: str
    stat: Stat


class Waiting(msgspec.Struct, frozen=True, kw_only=True):
    """A file that is not whole yet: since when it has not changed (milliseconds), and why it waits."""

    stat: Stat
    since: int
    reason: str


class Admission:
    """Takes candidates in, one after the other.

    Args:
        root: The tree.
        book: Where verdicts are written.
        refusals: Where refused files go.
        policy: Gives the rules in force.
        observe: Called with path, verdict word, thread and reason of each file that got a verdict.
    """

    def __init__(
        self,
        root: Root,
        book: Book,
        refusals: Refusals,
        policy: Callable[[], Policy],
        observe: Callable[[str, str, str, str], None],
    ) -> None:
        self._root, self._book, self._refusals, self._policy = root, book, refusals, policy
        self._observe = observe
        self._judging = Judging(book, refusals, policy, self._settle)
        self._ready: list[Ready] = []
        self.waiting: dict[str, Waiting] = {}
        self.keepers: tuple[Keeper, ...] = ()

    def admit(self, candidates: Iterable[Candidate], now: int, *, again: bool = False) -> None:
        """Take files in that were found together.

        What was found together has no order of its own: requests are judged first and what ends a thread last, so
        that nothing is late or unknown only because of the order of a directory (R7).

        Args:
            candidates: The files as they were found.
            now: The node's wall clock, milliseconds.
            again: Judge them again although their content is known (a sender who came onto the roster).
        """
        # A file may be hinted at twice, as itself and as part of a new folder.
        group = list({candidate.path: candidate for candidate in candidates}.values())
        self._ready.clear()
        for what in ("path", "attached"):
            self._book.prefetch(what, (candidate.path for candidate in group))
        for candidate in group:
            self._take(candidate, now, again)
        ready, self._ready = sorted(self._ready, key=_rank), []
        self._judging.prefetch(ready)
        for one in ready:
            try:
                self._judging.judge(one, now)
            except (AckdError, OSError):
                raise
            except Exception as error:
                # A fault of ours in one file must not stop all others: the file is refused, and says so (R13).
                log.exception("internal-error", extra={"path": one.row.path})
                detail = f"ackd itself failed on it ({type(error).__name__}); please report it with the daemon's log"
                self._refusals.add_data(one.row, one.data, "internal-error", detail, now)
                self._observe(one.row.path, "refused", "", detail)

    def speak(self, envelope: Envelope, path: str, now: int) -> Said:
        """Judge what a line of a page says, as if it had been dropped; see `Judging.speak`."""
        try:
            said = self._judging.speak(envelope, path, now)
        except (AckdError, OSError):
            raise
        except Exception as error:
            # A fault of ours in one line must not stop all others (R13).
            log.exception("internal-error", extra={"path": path})
            said = Said("", "refused", f"ackd itself failed on it ({type(error).__name__}); please report it")
        self._observe(path, said.verdict, said.thread, said.because)
        return said

    def _take(self, candidate: Candidate, now: int, again: bool) -> None:
        path, stat = candidate.path, candidate.stat
        if stat.kind != "file":
            self._refuse_thing(path, stat, f"it is a {stat.kind}, not a regular file", "not-a-file", now)
            return
        read = self._root.read(path, CAP)
        if isinstance(read, FileRead):
            self._admit_bytes(path, read, now, again)
        elif isinstance(read, TooLarge):
            reason = f"it has {read.size} bytes; an envelope has at most {CAP}"
            self._refuse_thing(path, stat, reason, "too-large", now)
        elif isinstance(read, NotRegular):
            self._refuse_thing(path, stat, f"it is a {read.kind}, not a regular file", "not-a-file", now)
        elif isinstance(read, Unreadable):
            self._wait(path, stat, read.reason, now)
        elif isinstance(read, Vanished):
            self.waiting.pop(path, None)

    def refuse_name(self, path: str, stat: Stat, now: int) -> None:
        """Refuse a file whose name is no UTF-8; `path` is the name as it is shown, escaped."""
        self._refuse_thing(path, stat, "its name is no UTF-8", "bad-name", now)

    def overdue(self, now: int, patience: int) -> None:
        """Refuse what has not become whole: unchanged for `patience` milliseconds."""
        for path, waiting in list(self.waiting.items()):
            if now - waiting.since >= patience and waiting.reason == "open":
                read = self._root.read(path, CAP)
                del self.waiting[path]
                if isinstance(read, FileRead):
                    decoded = decode(read.data)
                    if isinstance(decoded, Open):
                        detail = f"the text ends at character {decoded.position}, before its brackets close"
                        if not decoded.position:
                            detail = "the file is empty"
                        self._refuse(path, read, "incomplete", detail, now)
                    elif isinstance(decoded, Bad):
                        self._refuse_bad(path, read, decoded, now)
                    else:
                        self.admit([Candidate(path, read.stat)], now)

    def _admit_bytes(self, path: str, read: FileRead, now: int, again: bool) -> None:
        sha256 = hashlib.sha256(read.data).hexdigest()
        before = self._book.file(path)
        if before is not None and before.sha256 == sha256 and not again:
            self.waiting.pop(path, None)
            self._remember(before, read.stat)
            if before.verdict == "refused":
                self._refusals.returned(path, now)
            return
        decoded = decode(read.data)
        if isinstance(decoded, Open) or (isinstance(decoded, Bad) and not decoded.closed and decoded.text is not None):
            # Its writer may still be at it: what is wrong is said once, when it rests.
            self._wait(path, read.stat, "open", now)
            return
        self.waiting.pop(path, None)
        if isinstance(decoded, Conflict):
            detail = "git left conflict markers in it; it is taken when they are gone"
            self._refuse(path, read, "conflict-markers", detail, now)
        elif isinstance(decoded, Bad):
            if decoded.code == "not-an-object" and layout.kind_of(path):
                row = FileRow(path=path, ino=read.stat.ino, size=read.stat.size, ctime_ns=read.stat.ctime_ns, at=now)
                kind = layout.kind_of(path) or ""
                self._settle(msgspec.structs.replace(row, sha256=sha256), kind, "", "", before)
                self._show_keepers(path, kind, None, read, now)
                return
            self._refuse_bad(path, read, decoded, now)
        else:
            self._admit_object(path, read, sha256, decoded.value, before, now)

    def _admit_object(
        self, path: str, read: FileRead, sha256: str, document: dict[str, Any], before: FileRow | None, now: int
    ) -> None:
        faults.reach("intake")
        row = FileRow(
            path=path,
            ino=read.stat.ino,
            size=read.stat.size,
            ctime_ns=read.stat.ctime_ns,
            sha256=sha256,
            at=now,
        )
        kind = self._other_kind(path, document)
        if kind:
            self._settle(row, kind, "", "", before)
            self._show_keepers(path, kind, document, read, now)
            return
        try:
            if not accepts("envelope", document):
                if self._is_mere_courtesy(document):
                    self._settle(row, "no-reply", "", "", before)
                    return
                found = problems("envelope", document)
                detail = "; ".join(f"{one.pointer or 'the envelope'}: {one.expected}" for one in found[:3])
                self._refuse(path, read, "invalid-envelope", detail, now, document=document, fields=found)
                return
            misspelled = misspelled_key(document)
            if misspelled is not None:
                written, meant = misspelled
                detail = f"the key {shown(written)} is spelled {shown(meant)}"
                self._refuse(path, read, "invalid-envelope", detail, now, document=document)
                return
            envelope = read_envelope(document)
        except InvalidError as error:
            self._refuse(path, read, "invalid-envelope", error.message, now, document=document, fix=error.hint)
            return
        words = envelope.words_digest if envelope.type == "request" else ""
        self._ready.append(Ready(envelope=envelope, row=row, data=read.data, before=before, words=words))

    def _other_kind(self, path: str, document: dict[str, Any]) -> str:
        """Give what a file is that is no envelope, or an empty string."""
        mark = document.get(DELIVERY_KEY)
        if isinstance(mark, str) and mark.startswith("delivery/") and not document.keys() & _ADDRESSING:
            return "delivery"
        kind = layout.kind_of_object(path, document)
        if kind:
            return kind
        return "attachment" if self._book.attached(path) else ""

    def _is_mere_courtesy(self, document: dict[str, Any]) -> bool:
        """Whether a file that is no valid envelope says nothing but thanks: nobody is woken to correct that."""
        if any(key in document for key in ("state", "type", "data", "attachments")):
            return False
        texts = [document[key] for key in TEXT_KEYS if isinstance(document.get(key), str)]
        names = [member.name for member in self._policy().roster.members.values()]
        return bool(texts) and is_courtesy("\n".join(texts), names=names)

    # What happens to the file itself.

    def _settle(self, row: FileRow, verdict: str, thread: str, because: str, before: FileRow | None) -> None:
        if before is not None and before.verdict == "refused" and verdict != "refused":
            self._refusals.resolve(row.path, row.at)
        self._book.put_file(msgspec.structs.replace(row, verdict=verdict, thread=thread, because=because))
        if verdict in VERDICTS:
            self._observe(row.path, verdict, thread, because)

    def _remember(self, before: FileRow, stat: Stat) -> None:
        """Take a file's new stat where only that changed (touch, chmod, checkout)."""
        if (before.ino, before.size, before.ctime_ns) != (stat.ino, stat.size, stat.ctime_ns):
            self._book.put_file(msgspec.structs.replace(before, ino=stat.ino, size=stat.size, ctime_ns=stat.ctime_ns))

    def _wait(self, path: str, stat: Stat, reason: str, now: int) -> None:
        """Leave a file for later; the time runs anew with each change."""
        before = self.waiting.get(path)
        same = before is not None and before.stat == stat and before.reason == reason
        if not same:
            self.waiting[path] = Waiting(stat=stat, since=now, reason=reason)
            if reason != "open":
                self._observe(path, "pending", "", reason)

    def _refuse(
        self,
        path: str,
        read: FileRead,
        code: str,
        detail: str,
        now: int,
        *,
        document: dict[str, Any] | None = None,
        **more: Any,
    ) -> None:
        offer = _offer(path, read.data) if code not in _BEYOND_REPAIR else None
        meant = offer.document if isinstance(offer, Repaired) else document
        author = self._author(path, read.data, meant)
        self._refusals.add(path, read, code, detail, author, now, document=document, repair=offer, **more)
        self._observe(path, "refused", "", f"{code}: {detail}")

    def _show_keepers(self, path: str, kind: str, document: Any, read: FileRead, now: int) -> None:
        """Let those who follow files of that kind see it."""
        if kind in KINDS:
            for keeper in self.keepers:
                keeper.file(path, kind, document, read, now)

    def _refuse_bad(self, path: str, read: FileRead, bad: Bad, now: int) -> None:
        self._refuse(path, read, bad.code, bad.detail, now, line=bad.line, column=bad.column)

    def _refuse_thing(self, path: str, stat: Stat, detail: str, code: str, now: int) -> None:
        before = self._book.file(path)
        if before is not None and (before.ino, before.size, before.ctime_ns) == (stat.ino, stat.size, stat.ctime_ns):
            return
        self._refusals.add_thing(path, stat, code, detail, now)
        self._observe(path, "refused", "", f"{code}: {detail}")

    def _author(self, path: str, data: bytes, document: dict[str, Any] | None) -> str:
        """Give who wrote a refused file, where its bytes say so and the roster knows the name."""
        written: Any = document.get("from") if document is not None else None
        match = _FROM.search(data) if document is None else None
        if match is not None:
            written = match[1].decode("utf-8", "replace")
        elif written is None and layout.kind_of(path):
            # Such a file is its owner's, who was known before, or whose name it has, as status/macro.json.
            written = self._book.subject(path).data.get("owner") or path.rpartition("/")[2].removesuffix(".json")
        member = self._policy().roster.find(written.removeprefix("@")) if isinstance(written, str) else None
        return member.name if member is not None else ""


def _offer(path: str, data: bytes) -> Repair | None:
    """Repair a refused file, where what it was meant to be is certain; None for what is no envelope by its place."""
    if layout.kind_of(path):
        return None
    offer = repair(data)
    if isinstance(offer, Repaired) and str(offer.document.get(DELIVERY_KEY, "")).startswith("delivery/"):
        return NoRepair("it is a delivery of ackd's own")
    return offer


def _rank(ready: Ready) -> tuple[int, str]:
    kind = ready.envelope.type
    return (0 if kind in ("request", "broadcast") else 2 if kind in ENDING else 1, ready.row.path)
