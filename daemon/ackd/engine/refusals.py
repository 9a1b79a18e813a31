"""Refused files: an entry, the bytes, an RFC 9457 problem and, where it is certain, a repair in `rejected/<node>/`.

They stay until the file is put right, or until the repaired content comes in as a file of its own.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from typing import Any

import msgspec

from ackd.engine.book import Book
from ackd.errors import AckdError
from ackd.fs.beneath import FileRead, Root, Stat
from ackd.fs.stage import Stage
from ackd.intake.repair import NoRepair, Repair, Repaired
from ackd.ledger import FileRow
from ackd.protocol.entry import REFUSED, RESOLVED
from ackd.protocol.ids import shown
from ackd.protocol.judge import Verdict
from ackd.protocol.refusal import PREFIX, Refusal, meant_digest, refusal_id
from ackd.schema import FieldProblem
from ackd.tree import layout

_TITLES = {
    "unknown-sender": "The sender is not on the roster",
    "invalid-envelope": "The envelope is not valid",
    "incomplete": "The file ends before the envelope does",
    "too-large": "The file is too large",
    "not-a-file": "This is no regular file",
    "internal-error": "ackd failed on the file",
    "conflict-markers": "The file has unresolved git conflicts",
    "bad-name": "The name of the file cannot be read",
}
_ENVELOPE_KEYS = frozenset({"from", "ack_id", "state", "type", "to", "action", "body", "conclusion"})
_encode = msgspec.json.Encoder(order="sorted").encode

_AWAY_MS = 600_000
"""How long a refused file must be away before it leaves the lists: git may fetch another branch and come back."""

REPAIRED = ".repaired.json"
"""Ending of the repaired file beside a record; no file of that ending is a drop."""


class Refusals:
    """Writes the records of refused files, and takes them away.

    Args:
        root: The tree.
        stage: Where files are written before they appear.
        book: Where entries are written.
    """

    def __init__(self, root: Root, stage: Stage, book: Book) -> None:
        self._root, self._stage, self._book = root, stage, book
        self.trouble = ""
        self._repairs: dict[str, list[str]] | None = None
        self._away: dict[str, int] = {}

    def add(
        self,
        path: str,
        read: FileRead,
        code: str,
        detail: str,
        author: str,
        now: int,
        *,
        document: dict[str, Any] | None = None,
        fields: Sequence[FieldProblem] = (),
        fix: str = "",
        line: int = 0,
        column: int = 0,
        repair: Repair | None = None,
    ) -> None:
        """Refuse a file that was read: its bytes are kept beside the problem, and the repair beside both.

        Where the repaired content was taken in already, the refusal does not stand: it is recorded, and nobody is told.
        """
        problem = _problem(path, code, detail, fix)
        problem |= {"sha256": hashlib.sha256(read.data).hexdigest(), "size": len(read.data)}
        if line:
            problem["errors"] = [{"pointer": "", "expected": "valid JSON", "found": f"line {line}, column {column}"}]
        if fields:
            is_envelope = document is not None and bool(_ENVELOPE_KEYS & document.keys())
            problem["errors"] = [
                {"pointer": one.pointer, "expected": one.expected, "found": one.found if is_envelope else "not shown"}
                for one in fields
            ]
        meant = document
        if isinstance(repair, Repaired):
            meant = repair.document
        elif isinstance(repair, NoRepair) and repair.reason not in detail:
            problem["why_no_repair"] = repair.reason
        sender = meant.get("from") if meant is not None else None
        if isinstance(sender, str):
            problem["from"] = sender[:80]
        repaired = repair if isinstance(repair, Repaired) else None
        if self._was_taken(path, problem["sha256"], read.stat, now):
            return
        self._write(path, read.data, problem, author, now, read.stat, repaired)
        if repaired is not None:
            self._offer(path, repaired, now)

    def add_thing(self, path: str, stat: Stat, code: str, detail: str, now: int) -> None:
        """Refuse what was not read: name, kind and size are kept, the thing itself stays where it is."""
        fix = "rename it" if code == "bad-name" else "put a regular file of at most 1 MiB in its place"
        problem = _problem(path, code, detail, fix)
        problem |= {"size": stat.size, "kind": stat.kind}
        self._write(path, None, problem, "", now, stat)

    def add_judged(self, path: str, data: bytes, code: str, verdict: Verdict, sender: str, now: int) -> None:
        """Record a message that its thread refused; its author hears of it through the thread."""
        fix = f"ackd agents add {sender}" if code == "unknown-sender" else ""
        problem = _problem(path, code, verdict.because, fix)
        problem |= {"sha256": hashlib.sha256(data).hexdigest(), "size": len(data), "from": sender}
        problem["thread"] = verdict.thread
        self._write(path, data, problem, "", now, None)

    def add_data(self, row: FileRow, data: bytes, code: str, detail: str, now: int) -> None:
        """Refuse a file whose envelope is valid and yet cannot be judged."""
        problem = _problem(row.path, code, detail, "")
        problem |= {"sha256": row.sha256, "size": len(data)}
        self._write(row.path, data, problem, "", now, None)
        self._book.put_file(msgspec.structs.replace(row, verdict="refused", because=detail))

    def resolve(self, path: str, now: int) -> None:
        """Take a refusal back: the file was put right, or judged again; its record goes."""
        refusal = self._book.refusal(refusal_id(path))
        if refusal is not None and refusal.standing:
            self._resolve(refusal, now)

    def came(self, digest: str, path: str, now: int) -> None:
        """Hear that a content was taken in: what was refused and meant just that is refused no more.

        The refused file stays as it is, and so does its verdict; only its record goes.

        Args:
            digest: Of the content.
            path: The file that brought it.
            now: The node's wall clock, milliseconds.
        """
        for refused in self._known_repairs().get(digest, ()):
            # The file itself, put right in place, gets the verdict of what it holds now.
            if refused != path:
                self._taken(refused, digest, path, now)

    def missing(self, now: int) -> None:
        """Look for refused files that are away: after a while nobody is asked to put one right any more.

        Absence is no message (R6): bytes and record stay, and a file that comes back is refused as before.
        """
        away: dict[str, int] = {}
        for ledger in self._book.memory.refused():
            refusal = self._book.refusal(ledger)
            # A name that is no UTF-8 is recorded as it is shown, and cannot be looked for.
            unknown = refusal is None or not refusal.standing or refusal.problem.get("code") == "bad-name"
            if refusal is None or unknown or self._is_there(refusal.path):
                continue
            away[ledger] = self._away.get(ledger, now)
            if now - away[ledger] >= _AWAY_MS:
                body = {"path": refusal.path, "sha256": refusal.sha256, "gone": True}
                self._book.write(RESOLVED, ledger, body, now)
        self._away = away

    def returned(self, path: str, now: int) -> None:
        """Hear that a refused file is there as it was: where it had been away, the refusal stands again."""
        refusal = self._book.refusal(refusal_id(path))
        if refusal is not None and refusal.gone and not refusal.standing:
            body = self._book.last_body(refusal.id, REFUSED)
            if body is not None:
                self._book.write(REFUSED, refusal.id, body, now)

    def _is_there(self, path: str) -> bool:
        try:
            return self._root.stat(path) is not None
        except AckdError:
            return True  # what cannot be looked at is not known to be away

    def _taken(self, refused: str, digest: str, path: str, now: int) -> None:
        refusal = self._book.refusal(refusal_id(refused))
        if refusal is None or not refusal.standing or meant_digest(refusal.repaired) != digest:
            return
        self._resolve(refusal, now, taken=path)
        row = self._book.file(refused)
        if row is not None and row.sha256 == refusal.sha256:
            self._book.put_file(msgspec.structs.replace(row, because=_repaired_by(refusal, path)))

    def _resolve(self, refusal: Refusal, now: int, *, taken: str = "") -> None:
        body = {"path": refusal.path, "sha256": refusal.sha256}
        self._book.write(RESOLVED, refusal.id, body | ({"taken": taken} if taken else {}), now)
        if refusal.repaired_sha256:
            self._root.unlink_if(f"{refusal.record}{REPAIRED}", refusal.repaired_sha256)
        self._root.unlink_if(f"{refusal.record}.problem.json", _sha256(_page(refusal.problem)))
        if refusal.problem.get("sha256"):
            self._root.unlink_if(f"{refusal.record}.original", refusal.sha256)

    def _was_taken(self, path: str, sha256: str, stat: Stat, now: int) -> bool:
        """Whether just these bytes were refused before, and their repair was taken or a person had them removed."""
        refusal = self._book.refusal(refusal_id(path))
        if refusal is None or refusal.standing or refusal.sha256 != sha256:
            return False
        if not (refusal.taken or refusal.purged):
            return False
        self._put_refused(path, stat, sha256, _repaired_by(refusal, refusal.taken), now)
        return True

    def _offer(self, path: str, repaired: Repaired, now: int) -> None:
        """Wait for the repaired content, unless it is there already."""
        digest = meant_digest(repaired.document)
        self._known_repairs().setdefault(digest, []).append(path)
        known = self._book.known(digest)
        if known is not None:
            self._taken(path, digest, known.path, now)

    def _known_repairs(self) -> dict[str, list[str]]:
        """Give the refused files that have a repair, by the digest of the content that they were meant to hold."""
        if self._repairs is None:
            self._repairs = {}
            for ledger in self._book.memory.refused():
                refusal = self._book.refusal(ledger)
                if refusal is not None and refusal.standing and refusal.repaired is not None:
                    self._repairs.setdefault(meant_digest(refusal.repaired), []).append(refusal.path)
        return self._repairs

    def _write(
        self,
        path: str,
        data: bytes | None,
        problem: dict[str, Any],
        author: str,
        now: int,
        stat: Stat | None,
        repaired: Repaired | None = None,
    ) -> None:
        sha256 = problem.get("sha256") or _sha256(_encode([path, problem.get("kind"), problem.get("size")]))
        self.resolve(path, now)
        record = _record_path(self._book.node, path, sha256)
        offer = b""
        body: dict[str, Any] = {"path": _safe(path), "sha256": sha256, "author": author, "record": record}
        if repaired is not None:
            offer = repaired.to_bytes()
            problem["repaired"] = record + REPAIRED
            problem["changes"] = list(repaired.changes)
            problem["fix"] = _how_to_accept(path, record)
            body["repaired"] = {"envelope": repaired.document, "sha256": _sha256(offer)}
        body["problem"] = problem
        # The record comes before its entry: after a crash between the two the same bytes are written again.
        try:
            if data is not None:
                self._stage.replace(f"{record}.original", data)
            if offer:
                self._stage.replace(f"{record}{REPAIRED}", offer)
            self._stage.replace(f"{record}.problem.json", _page(problem))
            self.trouble = ""
        except (AckdError, NotADirectoryError, IsADirectoryError) as error:
            # A link or a file where our folder should be; the verdict stands all the same, and other files go on.
            self.trouble = f"{record} cannot be written: {error}"
        self._book.write(REFUSED, refusal_id(path), body, now)
        if stat is not None:
            self._put_refused(path, stat, sha256, problem["detail"], now)

    def _put_refused(self, path: str, stat: Stat, sha256: str, because: str, now: int) -> None:
        self._book.put_file(
            FileRow(
                path=path,
                ino=stat.ino,
                size=stat.size,
                ctime_ns=stat.ctime_ns,
                sha256=sha256,
                verdict="refused",
                because=because,
                at=now,
            )
        )


def _problem(path: str, code: str, detail: str, fix: str) -> dict[str, Any]:
    return {
        "type": f"https://ackd.dev/problems/{code}",
        "title": _TITLES.get(code, "The file cannot be taken"),
        "detail": detail,
        "instance": _safe(path),
        "code": code,
        "fix": fix or f"correct {shown(path)} in place, or drop a corrected file; this record then goes",
    }


def _how_to_accept(path: str, record: str) -> str:
    return (
        f"accept the repair: ackd rejected --accept {refusal_id(path)[len(PREFIX) :]}; or drop {record}{REPAIRED}, "
        f"or save it over {shown(path)}; or correct the file in place"
    )


def _repaired_by(refusal: Refusal, path: str) -> str:
    return f"{refusal.problem['detail']}; repaired: taken in as {path}" if path else str(refusal.problem["detail"])


def _page(problem: dict[str, Any]) -> bytes:
    return bytes(msgspec.json.format(_encode(problem), indent=2)) + b"\n"


def _record_path(node: str, path: str, sha256: str) -> str:
    stem = re.sub(r"[^\w.-]+", "-", path.rpartition("/")[2].removesuffix(".json"))[:40].strip("-.") or "file"
    tag = _sha256(f"{path}\n{sha256}".encode("utf-8", "surrogateescape"))[:8]
    return f"{layout.REJECTED}/{node}/{stem}-{tag}"


def _safe(path: str) -> str:
    """Give a path that JSON can carry: bytes that are no UTF-8 are shown escaped."""
    return path.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def _sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
