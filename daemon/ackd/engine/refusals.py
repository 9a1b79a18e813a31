"""Refused files: an entry, the bytes and an RFC 9457 problem in `rejected/<node>/`, until the file is put right."""

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
from ackd.ledger import FileRow
from ackd.protocol.entry import REFUSED, RESOLVED
from ackd.protocol.ids import shown
from ackd.protocol.judge import Verdict
from ackd.protocol.refusal import refusal_id
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
    ) -> None:
        """Refuse a file that was read: its bytes are kept beside the problem."""
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
        sender = document.get("from") if document is not None else None
        if isinstance(sender, str):
            problem["from"] = sender[:80]
        self._write(path, read.data, problem, author, now, read.stat)

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
        ledger = refusal_id(path)
        refusal = self._book.refusal(ledger)
        if refusal is None or not refusal.standing:
            return
        self._book.write(RESOLVED, ledger, {"path": path, "sha256": refusal.sha256}, now)
        self._root.unlink_if(f"{refusal.record}.problem.json", _sha256(_page(refusal.problem)))
        if refusal.problem.get("sha256"):
            self._root.unlink_if(f"{refusal.record}.original", refusal.sha256)

    def _write(
        self, path: str, data: bytes | None, problem: dict[str, Any], author: str, now: int, stat: Stat | None
    ) -> None:
        sha256 = problem.get("sha256") or _sha256(_encode([path, problem.get("kind"), problem.get("size")]))
        self.resolve(path, now)
        record = _record_path(self._book.node, path, sha256)
        # The record comes before its entry: after a crash between the two the same bytes are written again.
        try:
            if data is not None:
                self._stage.replace(f"{record}.original", data)
            self._stage.replace(f"{record}.problem.json", _page(problem))
            self.trouble = ""
        except (AckdError, NotADirectoryError, IsADirectoryError) as error:
            # A link or a file where our folder should be; the verdict stands all the same, and other files go on.
            self.trouble = f"{record} cannot be written: {error}"
        body = {"path": _safe(path), "sha256": sha256, "author": author, "problem": problem, "record": record}
        self._book.write(REFUSED, refusal_id(path), body, now)
        if stat is not None:
            self._book.put_file(
                FileRow(
                    path=path,
                    ino=stat.ino,
                    size=stat.size,
                    ctime_ns=stat.ctime_ns,
                    sha256=sha256,
                    verdict="refused",
                    because=problem["detail"],
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
