"""What faces show of threads, files and the daemon, as plain values: the contract of every `--json`."""

from __future__ import annotations

import datetime
import hashlib
import time
from typing import Any

from ackd.engine.decisions import decision_file
from ackd.engine.files_shown import file_documents
from ackd.engine.flights import EXPIRED
from ackd.engine.lateness import is_late, late_debts
from ackd.engine.page_memory import page_document
from ackd.engine.posts import attempts_shown
from ackd.engine.reading import View
from ackd.engine.texts import in_force
from ackd.errors import AckdError
from ackd.fs.beneath import FileRead
from ackd.intake.decode import Whole, decode
from ackd.ledger import FileRow
from ackd.protocol.conditions import assignee_state, conditions, who_owes
from ackd.protocol.instant import iso
from ackd.protocol.refusal import PREFIX
from ackd.protocol.sends import Send
from ackd.protocol.table import FINAL, UNKNOWN
from ackd.protocol.thread import Duty, Message, Thread
from ackd.tree import layout

_CAP = 1024 * 1024
_POLL_S = 0.1
_LATE = frozenset({"overdue", "escalated"})


def thread_document(thread: Thread, zone: datetime.tzinfo = datetime.UTC) -> dict[str, Any]:
    """Give all that is known of a thread.

    `state` is null before the request, `final` null where there is none or the thread was closed without one;
    `assignees` says for each what it did (`final`: it wrote the final and nothing before it) or that it was asked,
    `owes` what is owed now; `decision` is the path of its decision record.

    Args:
        thread: The thread.
        zone: The team's, by which a record's day is counted.
    """
    request = thread.text_in_force(thread.request)
    since = thread.moments()
    late = late_debts(thread)
    return {
        "ack_id": thread.id,
        "state": None if thread.phase == UNKNOWN else thread.phase,
        "conditions": list(conditions(thread)),
        "dri": thread.dri or None,
        "assignees": {duty.agent: _did(thread, duty) for duty in thread.duties.values()},
        "final": _final(thread),
        "requester": thread.requester or None,
        "action": in_force(thread, request.digest).get("action") if request is not None else None,
        "deadline": iso(thread.deadline_ms) if thread.deadline_ms is not None else None,
        "owes": [
            {
                "agent": one.agent,
                "step": one.step,
                "since": _iso(since.get(one.since_key)),
                "late": is_late(one, late),
            }
            for one in who_owes(thread)
        ],
        "ended_by": thread.ended_by or None,
        "decision": decision_file(thread, zone) or None,
        "parent": thread.parent or None,
        "folder": thread.folder or None,
        "messages": [_message(message) for message in thread.messages],
        "deliveries": [
            {"id": name, "kind": done.kind, "agent": done.agent, "path": done.path, "at": iso(done.stamp[0])}
            for name, done in sorted(thread.done.items(), key=lambda pair: (pair[1].stamp, pair[0]))
        ],
        "sends": [
            {
                "id": name,
                "kind": send.kind,
                "agent": send.agent,
                "state": send_state(thread, send),
                "attempts": attempts_shown(send.attempts),
            }
            for name, send in sorted(thread.sends.items(), key=lambda pair: (pair[1].attempts[0].stamp, pair[0]))
        ],
    }


def send_state(thread: Thread, send: Send) -> str:
    """Give the state of a send: one that did not arrive and is wanted no longer, or waited too long, is expired."""
    if send.state in ("not-sent", "busy", "sent"):
        done = thread.done.get(send.id)
        if done is not None:
            return "expired" if done.facts.get("fallback") == EXPIRED else send.state
        return "expired" if thread.ended else "sent" if send.state == "sent" else "queued"
    return send.state


def thread_line(board: dict[str, Any]) -> dict[str, Any]:
    """Give a thread in short, of the row that the memory keeps of it."""
    return {
        "ack_id": board["id"],
        "state": board["state"],
        "conditions": board["conditions"],
        "dri": board["dri"] or None,
        "requester": board["requester"] or None,
        "action": board["action"],
        "deadline": _iso(board["deadline_ms"]),
        "owes": [
            {
                "agent": one["agent"],
                "step": one["step"],
                "since": _iso(one["since_ms"]),
                "late": one.get("late", False),
            }
            for one in board["owes"]
        ],
        "ended_by": board["ended_by"] or None,
        "updated_at": iso(board["updated_at"]),
    }


def file_line(row: FileRow) -> dict[str, Any]:
    """Give what became of a file."""
    return {
        "path": row.path,
        "verdict": row.verdict,
        "ack_id": row.thread or None,
        "because": row.because,
        "at": iso(row.at),
        "sha256": row.sha256,
        "digest": row.digest or None,
    }


def status_document(view: View) -> dict[str, Any]:
    """Give how things stand: the daemon, how many threads are in which state, who owes what (the late first), files."""
    health = view.health()
    boards = view.threads()
    owes = [
        {
            "agent": one["agent"],
            "step": one["step"],
            "ack_id": board["id"],
            "since": _iso(one["since_ms"]),
            "late": one.get("late", False),
        }
        for board in boards
        for one in board["owes"]
    ]
    owes.sort(key=lambda one: (not one["late"], one["since"] or "~", one["ack_id"], one["agent"]))
    refusals = view.refusals()
    counts = dict.fromkeys(("request", "confirmed", "final"), 0)
    for board in boards:
        if board["state"] is not None:
            counts[board["state"]] += 1
    return {
        "tree": str(view.tree),
        "daemon": _daemon(health) if health is not None else None,
        "counts": counts,
        "late": [board["id"] for board in boards if _LATE & set(board["conditions"])],
        "needs_person": [board["id"] for board in boards if "needs-person" in board["conditions"]],
        "owes": owes,
        "files": file_documents(view.subjects(), refusals, time.time_ns() // 1_000_000),
        "rejected": len(refusals),
        "findings": _findings(view),
        "page": page_document(view.book),
        "source": "tree" if view.from_tree else "memory",
    }


def wait_for_end(view: View, written: str, seconds: float) -> Thread:
    """Give a thread once it has ended, or as it stands when the time is over.

    Raises:
        InvalidError: No thread of that ack_id became known.
    """
    end = time.monotonic() + seconds
    while True:
        is_over = time.monotonic() >= end
        try:
            thread = view.thread(written, explain=is_over)
            if thread.phase == FINAL or is_over:
                return thread
        except AckdError:
            if is_over:
                raise
        time.sleep(_POLL_S)
        view.refresh()


def why_without_verdict(view: View, path: str, row: FileRow | None) -> tuple[str, str] | None:
    """Say why a file has no verdict, or why the one it has is not of what it holds now.

    Args:
        view: The tree.
        path: Relative to it.
        row: What is known of the file, or None.

    Returns:
        A word (`no-drop`, `missing`, `pending`, `waiting`, `changed`) and a sentence; None where the verdict stands.
    """
    if not layout.is_drop_path(path):
        return "no-drop", "files of this name or place are no drops: they stay as they are"
    stat = view.root.stat(path)
    if stat is None:
        return None if row is not None else ("missing", "there is no such file, and none was ever taken in")
    read = view.root.read(path, _CAP)
    by = "the running daemon" if view.is_running else "ackd up"
    if row is not None:
        same = not isinstance(read, FileRead) or hashlib.sha256(read.data).hexdigest() == row.sha256
        return None if same else ("changed", f"the file has changed since; its new content waits for {by}")
    if isinstance(read, FileRead) and not isinstance(decode(read.data), Whole):
        return "pending", f"it is not whole: {by} takes it when it is, or refuses it once it has rested for 30 s"
    return "waiting", f"it waits for {by}"


def refusal_documents(view: View) -> list[dict[str, Any]]:
    """Give the refused files that stand, the oldest first, each with why and what to do."""
    documents = []
    for one in view.refusals():
        refusal = view.book.refusal(PREFIX + one["id"])
        if refusal is None:
            continue
        problem = refusal.problem
        errors, changes = problem.get("errors"), problem.get("changes")
        documents.append(
            {
                "id": one["id"],
                "path": refusal.path,
                "author": refusal.author or None,
                "code": problem.get("code"),
                "detail": problem.get("detail"),
                "errors": errors if isinstance(errors, list) else [],
                "fix": problem.get("fix"),
                "repaired": problem.get("repaired"),
                "changes": changes if isinstance(changes, list) else [],
                "why_no_repair": problem.get("why_no_repair"),
                "envelope": refusal.repaired,
                "record": refusal.record,
                "ack_id": problem.get("thread"),
                "at": iso(refusal.at),
            }
        )
    return documents


def roster_document(view: View) -> list[dict[str, Any]]:
    """Give the roster: who is what, and how much each owes."""
    roster = view.team.policy.roster
    owes: dict[str, int] = {}
    for board in view.threads():
        for one in board["owes"]:
            owes[one["agent"]] = owes.get(one["agent"], 0) + 1
    return [
        {
            "name": member.name,
            "type": member.type,
            "person": member.is_person,
            "arbiter": roster.arbiters.index(member.name) + 1 if member.name in roster.arbiters else None,
            "home": member.home or None,
            "channel": member.channel or None,
            "owes": owes.get(member.name, 0),
        }
        for member in roster.members.values()
    ]


def _did(thread: Thread, duty: Duty) -> str:
    state = assignee_state(duty)
    final = thread.text_in_force(thread.final)
    return "final" if state == "asked" and final is not None and final.sender == duty.agent else state


def _final(thread: Thread) -> dict[str, Any] | None:
    final = thread.text_in_force(thread.final)
    if final is None:
        return None
    content = in_force(thread, final.digest)
    return {
        "from": final.sender,
        "status": content.get("status") or "success",
        "conclusion": content.get("conclusion"),
        "body": content.get("body"),
        "data": content.get("data"),
        "message_id": final.identity,
        "digest": final.digest,
        "path": final.path,
        "at": iso(_at(final)),
    }


def _message(message: Message) -> dict[str, Any]:
    return {
        "type": message.type,
        "from": message.sender,
        "verdict": message.verdict,
        "path": message.path,
        "at": iso(_at(message)),
        "because": message.because,
        "notes": list(message.notes),
        "message_id": message.identity,
        "digest": message.digest,
        "revised_by": message.revised_by or None,
        "envelope": message.content,
    }


def _at(message: Message) -> int:
    at = message.basis.get("at")
    return at if isinstance(at, int) else message.stamp[0]


def _daemon(health: dict[str, Any]) -> dict[str, Any]:
    said = {key: health.get(key) for key in ("pid", "host", "node", "version")}
    said["started_at"] = _iso(health.get("started_at"))
    said["turned_at"] = _iso(health.get("turned_at"))
    said["trouble"] = list(health.get("trouble") or ())
    return said


def _findings(view: View) -> list[str]:
    try:
        return list(view.team.findings)
    except AckdError as error:
        return [error.message]


def _iso(at_ms: Any) -> str | None:
    return iso(at_ms) if isinstance(at_ms, int) else None
