"""From a composed envelope to a verdict: check, foresee, lay down, wait for the daemon, and say what became of it."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from ackd.cli.output import emit, line, out, say, wanted
from ackd.errors import UsageError
from ackd.protocol.ids import shown

if TYPE_CHECKING:
    from ackd.engine.composing import Composed
    from ackd.engine.reading import View
    from ackd.ledger import FileRow

WAIT_S = 2.0
UNWANTED = frozenset({"refused", "weak", "kept", "collision", "late", "flagged", "no-reply"})
"""Verdicts that its author did not mean."""


def lay_down(view: View, composed: Composed, *, anyway: bool) -> int:
    """Lay a composed envelope down and say what became of it; give the exit code.

    A request's ack_id goes to stdout alone; everything else are messages.

    Raises:
        InvalidError: It is no valid envelope.
        NotAllowedError: The thread does not allow it now, and `anyway` is not set.
        UsageError: Its deadline cannot be read.
    """
    from ackd.engine.dropping import check_document, drop, foresee, require_allowed, unknown_recipients

    _check_deadline(view, composed.document)
    envelope = check_document(view, composed.document)
    foreseen = foresee(view, envelope) if anyway else require_allowed(view, envelope)
    dropped = drop(view, envelope)
    row = wait(view, dropped.path)
    thread = (row.thread if row is not None else "") or dropped.thread
    meant = unknown_recipients(view, envelope)
    for note in (*composed.notes, *foreseen.notes, *meant):
        say(f"note: {line(note, 400)}")
    result = {
        "ack_id": thread,
        "type": envelope.type,
        "path": dropped.path,
        "message_id": dropped.message_id,
        "verdict": row.verdict if row is not None else None,
        "because": row.because if row is not None else "",
    }
    tell(view, result)
    if wanted().json:
        emit(result)
    elif envelope.type in ("request", "broadcast"):
        out(thread)
    return exit_code(row, anyway=anyway)


def exit_code(row: FileRow | None, *, anyway: bool) -> int:
    """Give the exit code for a verdict: 1 refused, 4 not what was meant, else 0."""
    if row is None or anyway:
        return 0
    return 1 if row.verdict == "refused" else 4 if row.verdict in UNWANTED else 0


def wait(view: View, path: str) -> FileRow | None:
    """Wait a moment for the verdict of a running daemon; None where none runs or it takes longer."""
    from ackd.engine.dropping import wait_for_verdict

    return wait_for_verdict(view, path, WAIT_S) if view.is_running else None


def tell(view: View, result: dict[str, Any]) -> None:
    """Say what became of a drop, as a message."""
    path = line(result["path"], 400)
    if result["verdict"] is not None:
        because = f": {line(result['because'], 600)}" if result["because"] else ""
        say(f"{result['verdict']} {path}{because}")
    elif view.is_running:
        say(f"dropped {path}; the daemon has not judged it yet: ackd log --file {path}")
    else:
        say(f"dropped {path}; no daemon runs on this tree here, so it waits for: ackd up")


def _check_deadline(view: View, document: dict[str, Any]) -> None:
    """Refuse a deadline that nobody can read while its author is still there to write another."""
    from ackd.protocol.instant import parse_deadline

    written = document.get("deadline")
    if written in (None, ""):
        return
    read = parse_deadline(written, intake_ms=int(time.time() * 1000), zone=view.team.policy.zone)
    if not read.readable:
        raise UsageError(
            f"--deadline {shown(str(written))} cannot be read for certain: {read.note}",
            hint="write 2h, or a time with its zone: 2026-03-08T15:00:00+08:00",
        )
