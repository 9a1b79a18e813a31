"""What faces show of threads, files and the daemon, as plain values: the contract of every `--json`."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

from ackd.engine.reading import View
from ackd.engine.texts import in_force
from ackd.errors import AckdError
from ackd.ledger import FileRow
from ackd.protocol.conditions import assignee_state, conditions, who_owes
from ackd.protocol.instant import iso
from ackd.protocol.table import FINAL, UNKNOWN
from ackd.protocol.thread import Message, Thread

STEPS = {
    "confirm": 'ackd confirm {thread} "…"',
    "final": 'ackd final {thread} "…"',
    "answer": 'ackd answer {thread} "…"',
    "accept": 'ackd confirm {thread} "…"',
    "rule": "ackd ruling {thread} dri NAME",
}
"""What somebody who owes a step types."""

_POLL_S = 0.1
_LATE = frozenset({"overdue", "escalated"})


def thread_document(thread: Thread) -> dict[str, Any]:
    """Give all that is known of a thread.

    `state` is null before the request, `final` null where there is none or the thread was closed without one;
    `assignees` says for each what it did or that it was asked, `owes` what is owed now.
    """
    request = thread.text_in_force(thread.request)
    since = {done.key: done.stamp[0] for done in thread.done.values()}
    since |= {message.key: message.stamp[0] for message in thread.messages}
    return {
        "ack_id": thread.id,
        "state": None if thread.phase == UNKNOWN else thread.phase,
        "conditions": list(conditions(thread)),
        "dri": thread.dri or None,
        "assignees": {duty.agent: assignee_state(duty) for duty in thread.duties.values()},
        "final": _final(thread),
        "requester": thread.requester or None,
        "action": in_force(thread, request.digest).get("action") if request is not None else None,
        "deadline": iso(thread.deadline_ms) if thread.deadline_ms is not None else None,
        "owes": [
            {"agent": one.agent, "step": one.step, "since": _iso(since.get(one.since_key))} for one in who_owes(thread)
        ],
        "ended_by": thread.ended_by or None,
        "parent": thread.parent or None,
        "folder": thread.folder or None,
        "messages": [_message(message) for message in thread.messages],
        "deliveries": [
            {"id": name, "kind": done.kind, "agent": done.agent, "path": done.path, "at": iso(done.stamp[0])}
            for name, done in sorted(thread.done.items(), key=lambda pair: (pair[1].stamp, pair[0]))
        ],
    }


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
        "owes": [{"agent": one["agent"], "step": one["step"], "since": _iso(one["since_ms"])} for one in board["owes"]],
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
    """Give how things stand: the daemon, how many threads are in which state, who owes what (the late first)."""
    health = view.health()
    boards = view.threads()
    owes = [
        {
            "agent": one["agent"],
            "step": one["step"],
            "ack_id": board["id"],
            "since": _iso(one["since_ms"]),
            "late": bool(_LATE & set(board["conditions"])),
        }
        for board in boards
        for one in board["owes"]
    ]
    owes.sort(key=lambda one: (not one["late"], one["since"] or "~", one["ack_id"], one["agent"]))
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
        "rejected": len(view.refusals()),
        "findings": _findings(view),
        "source": "tree" if view.from_tree else "memory",
    }


def wait_for_end(view: View, written: str, seconds: float) -> Thread:
    """Give a thread once it has ended, or as it stands when the time is over.

    Raises:
        InvalidError: No thread of that ack_id became known.
    """
    end = time.monotonic() + seconds
    while True:
        try:
            thread = view.thread(written)
            if thread.phase == FINAL or time.monotonic() >= end:
                return thread
        except AckdError:
            if time.monotonic() >= end:
                raise
        time.sleep(_POLL_S)
        view.refresh()


def next_steps(thread: str, asks: Sequence[str]) -> list[str]:
    """Give what an agent types to pay what it owes."""
    return list(dict.fromkeys(STEPS[ask].format(thread=thread) for ask in asks if ask in STEPS))


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
