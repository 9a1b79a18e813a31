"""The generated pages: THREAD.md, the receipt of one conversation, and BOARD.md, the state of them all.

Their bytes follow from the ledger alone: instants instead of ages, no "now", a fixed order. Whatever agents wrote is
escaped and capped; the whole always lies in the file that is named.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from ackd.engine.keeper import BoardLine
from ackd.engine.texts import in_force, ordered, when
from ackd.errors import InvalidError
from ackd.protocol.conditions import assignee_state, conditions, who_owes
from ackd.protocol.ids import clean_name
from ackd.protocol.policy import Policy
from ackd.protocol.table import UNKNOWN
from ackd.protocol.thread import Message, Thread
from ackd.tree.layout import page_path
from ackd.tree.markdown import block, code, inline, link, table

MOST_OPEN = 200
"""Open threads that the board lists."""
MOST_ENDED = 20
"""Ended threads that the board lists, the newest first."""
MOST_MESSAGES = 300
"""Messages that a thread's page lists: the first ones and the last ones."""

_FINAL, _REQUEST, _MESSAGE, _CELL, _ACTION = 20_000, 8_000, 2_000, 300, 160
_MOST_CELLS = 100
_GENERATED = "<!-- Made by ackd from its ledger and written anew when something changes. Nobody else writes here. -->"
_TEXTS = ("subject", "action", "conclusion", "question", "reason", "body", "text", "message")
_WORDS = {
    "confirm": "its confirmed",
    "final": "the final",
    "answer": "an answer",
    "accept": "yes or no to a handoff",
    "rule": "a ruling",
}


class OweRow(msgspec.Struct, frozen=True):
    """Who owes what since when (milliseconds; None where it was not asked yet)."""

    agent: str
    step: str
    since_ms: int | None = None


class BoardRow(msgspec.Struct, frozen=True, kw_only=True):
    """One thread in a line, as the memory keeps it beside the thread.

    Attributes:
        id: The thread.
        state: request, confirmed or final; None before the request.
        conditions: What else is true of it.
        requester, dri: Who asked, and who is responsible.
        action: What was asked, cut; not escaped.
        deadline_ms: The deadline in force, or None.
        owes: Everything that is owed.
        ended_by: final, cancel, ruling or broadcast; empty before the end.
        updated_at: Instant of the newest message or delivery, milliseconds.
        folder: Folder of the conversation.
    """

    id: str
    state: str | None
    conditions: tuple[str, ...] = ()
    requester: str = ""
    dri: str = ""
    action: str = ""
    deadline_ms: int | None = None
    owes: tuple[OweRow, ...] = ()
    ended_by: str = ""
    updated_at: int = 0
    folder: str = ""


class RefusedFile(msgspec.Struct, frozen=True, kw_only=True):
    """A refused file that a person must look at: path, author where it is known, why, and where the record lies."""

    path: str
    author: str = ""
    reason: str = ""
    record: str = ""


def board_row(thread: Thread) -> BoardRow:
    """Put a thread into a line of the board."""
    request = in_force(thread, thread.request) if thread.request else {}
    since = {done.key: done.stamp[0] for done in thread.done.values()}
    since |= {message.key: message.stamp[0] for message in thread.messages}
    return BoardRow(
        id=thread.id,
        state=None if thread.phase == UNKNOWN else thread.phase,
        conditions=conditions(thread),
        requester=thread.requester,
        dri=thread.dri,
        action=_headline(request)[:_ACTION],
        deadline_ms=thread.deadline_ms,
        owes=tuple(OweRow(one.agent, one.step, since.get(one.since_key)) for one in who_owes(thread)),
        ended_by=thread.ended_by,
        updated_at=max(since.values(), default=0),
        folder=thread.folder,
    )


# THREAD.md


def thread_page(thread: Thread, policy: Policy) -> bytes:
    """Render the page of a thread: the final first, then what was asked, who owes what, and who said what when."""
    request = thread.text_in_force(thread.request)
    parts = [f"# {code(thread.id)}", _GENERATED]
    final = thread.text_in_force(thread.final)
    if final is not None:
        parts += _final(thread, final)
    elif thread.ended:
        parts += ["## No final", _ended_without(thread)]
    if request is not None:
        parts += _asked(thread, request)
    parts += ["## Where it stands", _standing(thread)]
    if thread.duties:
        parts.append(_duties(thread, policy))
    parts += _said(thread)
    return ("\n\n".join(part for part in parts if part) + "\n").encode("utf-8", "backslashreplace")


def _final(thread: Thread, final: Message) -> list[str]:
    content = in_force(thread, final.digest)
    status = content.get("status")
    word = inline(status, 40) if isinstance(status, str) and status else "success"
    return [
        f"## Final: {word}",
        f"{_name(final.sender)}, {_at(final)}, {code(final.path)}",
        *_texts(content, _FINAL, final.path),
    ]


def _ended_without(thread: Thread) -> str:
    by = next((message for message in thread.messages if message.key == thread.ended_key), None)
    how = {
        "cancel": "The thread was cancelled.",
        "ruling": "The thread was closed by a ruling, without a result.",
        "broadcast": "A broadcast owes nothing and has ended by itself.",
    }.get(thread.ended_by, "The thread has ended.")
    return f"{how} {_name(by.sender)}, {_at(by)}." if by is not None else how


def _asked(thread: Thread, request: Message) -> list[str]:
    content = in_force(thread, request.digest)
    to = content.get("to")
    names = [to] if isinstance(to, str) else to if isinstance(to, list) else []
    lines = [f"{_name(thread.requester)} asked {_list(names)}, {_at(thread.message(thread.request) or request)}"]
    if request.digest != thread.request:
        lines[0] += f"; this text since {_at(request)}"
    lines.append(code(request.path))
    written = content.get("deadline")
    if written not in (None, ""):
        read = (
            f" ({when(thread.deadline_ms)})" if thread.deadline_ms is not None else " (could not be read for certain)"
        )
        lines.append(f"deadline {code(str(written))}{read if not thread.extensions else ''}")
    if thread.extensions and thread.deadline_ms is not None:
        lines.append(f"deadline by ruling {when(thread.deadline_ms)}")
    if thread.parent:
        lines.append(f"from thread {code(thread.parent)}")
    return ["## Asked", ", ".join(lines), *_texts(content, _REQUEST, request.path)]


def _standing(thread: Thread) -> str:
    state = "no request yet" if thread.phase == UNKNOWN else thread.phase
    lines = [f"State: **{state}**" + (f", ended by {thread.ended_by}" if thread.ended else "")]
    if thread.dri:
        lines.append(f"DRI: {_name(thread.dri)}" + (" (by ruling)" if thread.dri_by_ruling else ""))
    true = conditions(thread)
    if true:
        lines.append("Conditions: " + ", ".join(true))
    others = [one for one in who_owes(thread) if one.step not in ("confirm", "final")]
    lines += [f"{_name(one.agent)} owes {_WORDS[one.step]}" for one in others]
    if thread.unknown:
        lines.append("Not on the roster, so not asked: " + _list(thread.unknown))
    if thread.children:
        lines.append("Parts that were handed on: " + ", ".join(code(child) for child in thread.children[:_MOST_CELLS]))
    return "\n".join(f"- {line}" for line in lines)


def _duties(thread: Thread, policy: Policy) -> str:
    owed: dict[str, list[str]] = {}
    for one in who_owes(thread):
        if one.step in ("confirm", "final"):
            owed.setdefault(one.agent, []).append(_WORDS[one.step])
    rows = []
    for duty in list(thread.duties.values())[:_MOST_CELLS]:
        did = assignee_state(duty)
        if any(message.verdict == "closed" and message.sender == duty.agent for message in thread.messages):
            did = f"{did}, wrote the final"
        if duty.handed_to:
            did = f"{did} to {_name(duty.handed_to)}"
        role = "DRI" if duty.agent == thread.dri else "person" if policy.roster.rank(duty.agent) == 0 else "assignee"
        asked = thread.done.get(duty.start)
        handed = when(asked.stamp[0]) if asked is not None else ""
        rows.append([_name(duty.agent), role, handed, did, " and ".join(owed.get(duty.agent, []))])
    page = table(["who", "as", "asked at", "did", "owes"], rows)
    rest = len(thread.duties) - len(rows)
    return page + (f"\n\n… and {rest} more" if rest > 0 else "")


def _said(thread: Thread) -> list[str]:
    messages = thread.messages
    parts = ["## Said"] if messages else []
    half = MOST_MESSAGES // 2
    for number, message in enumerate(messages):
        if len(messages) > MOST_MESSAGES and half <= number < len(messages) - half:
            if number == half:
                parts.append(f"… {len(messages) - 2 * half} messages are left out here …")
            continue
        parts += _one_said(thread, message)
    return parts


def _one_said(thread: Thread, message: Message) -> list[str]:
    said = f"{message.type}, verdict **{message.verdict}**, {code(message.path)}"
    lines = [f"**{_at(message)}** {_name(message.sender)}: {said}"]
    if message.because:
        lines.append(inline(message.because, _CELL))
    lines += [inline(note, _CELL) for note in message.notes[:20]]
    if message.revised_by:
        by = thread.message(message.revised_by)
        lines.append("Replaced by a later text" + (f": {code(by.path)}" if by is not None else ""))
    parts = ["  \n".join(lines)]
    # What stands above is not said twice: the final and the request, unless they were revised since.
    if message.digest not in (thread.final, thread.request) or message.revised_by:
        parts += _texts(message.content, _MESSAGE, message.path)
    return parts


def _texts(content: dict[str, Any], limit: int, path: str) -> list[str]:
    """Show what a message says: its short values in a line, its texts in blocks."""
    short = [
        f"{key} {code(str(content[key]))}"
        for key in ("version", "effective", "ruling", "dri", "pick")
        if content.get(key)
    ]
    parts = [", ".join(short)] if short else []
    said = [(key, content[key]) for key in _TEXTS if isinstance(content.get(key), str) and content[key].strip()]
    for key, text in said:
        if len(said) > 1:
            parts.append(f"{key}:")
        parts.append(block(text, limit, rest=path))
    if content.get("data") not in (None, "", [], {}):
        data = msgspec.json.format(msgspec.json.encode(ordered({"data": content["data"]})["data"]), indent=2)
        parts += ["data:", block(data.decode(), limit, rest=path)]
    return parts


# BOARD.md


def board_page(
    rows: Sequence[BoardRow],
    *,
    refused: Sequence[RefusedFile] = (),
    strangers: Sequence[str] = (),
    findings: Sequence[str] = (),
    lines: Sequence[BoardLine] = (),
) -> bytes:
    """Render the board.

    Args:
        rows: All threads that are shown, in any order.
        refused: Refused files whose author has no inbox, so that a person must look.
        strangers: Names that wrote and are not on the roster.
        findings: What else a person must know, in sentences.
        lines: What is followed beside the threads, each under its heading.
    """
    open_rows = sorted((row for row in rows if not row.ended_by), key=_urgency)
    ended = sorted((row for row in rows if row.ended_by), key=lambda row: (-row.updated_at, row.id))
    late = [row for row in open_rows if _is_late(row)]
    parts = ["# Board", _GENERATED]
    parts.append(f"{len(open_rows)} open, {len(late)} late")
    person = _needs_person(open_rows, refused, strangers, findings)
    if person:
        parts += ["## Needs a person", person]
    if late:
        parts += ["## Late", _open_table(late)]
    rest = [row for row in open_rows if not _is_late(row)]
    if rest:
        parts += ["## Open", _open_table(rest, MOST_OPEN - len(late))]
    for heading in dict.fromkeys(line.heading for line in lines):
        texts = [inline(line.text, _CELL) for line in lines if line.heading == heading]
        parts += [f"## {inline(heading, _CELL)}", "\n".join(f"- {text}" for text in texts[:_MOST_CELLS])]
    if ended:
        parts += ["## Ended lately", _ended_table(ended)]
    return ("\n\n".join(parts) + "\n").encode("utf-8", "backslashreplace")


def _needs_person(
    rows: Sequence[BoardRow], refused: Sequence[RefusedFile], strangers: Sequence[str], findings: Sequence[str]
) -> str:
    lines = [inline(finding, _CELL) for finding in findings[:_MOST_CELLS]]
    lines += [f"Thread {_page(row)}: {_owed(row)}" for row in rows if "needs-person" in row.conditions][:_MOST_CELLS]
    lines += [_stranger(name) for name in sorted(set(strangers))[:_MOST_CELLS]]
    for one in refused[:_MOST_CELLS]:
        by = f" by {_name(one.author)}" if one.author else ""
        record = f", see {code(one.record)}" if one.record else ""
        lines.append(f"Refused: {code(one.path)}{by}: {inline(one.reason, _CELL) or 'no reason is known'}{record}")
    left = max(0, len(refused) - _MOST_CELLS) + max(0, len(set(strangers)) - _MOST_CELLS)
    if left:
        lines.append(f"… and {left} more: `ackd rejected`")
    return "\n".join(f"- {line}" for line in lines)


def _stranger(name: str) -> str:
    """Say how to add somebody; a name that the roster could not take gets no command that somebody might paste."""
    try:
        clean = clean_name(name)
    except InvalidError:
        return f"{_name(name)} wrote and is not on the roster; the name breaks the rules of names"
    return f"{_name(name)} wrote and is not on the roster. To add it: `ackd agents add {clean}`"


def _open_table(rows: Sequence[BoardRow], most: int = MOST_OPEN) -> str:
    shown = rows[: max(0, most)]
    page = table(
        ["thread", "state", "asked", "DRI", "deadline", "owed"],
        (
            [
                _page(row),
                ", ".join([row.state or "no request yet", *row.conditions]),
                (f"{_name(row.requester)}: " if row.requester else "") + inline(row.action, _ACTION),
                _name(row.dri) if row.dri else "",
                when(row.deadline_ms) if row.deadline_ms is not None else "",
                _owed(row),
            ]
            for row in shown
        ),
    )
    left = len(rows) - len(shown)
    return page + (f"\n\n… and {left} more: `ackd threads`" if left else "")


def _ended_table(rows: Sequence[BoardRow]) -> str:
    return table(
        ["thread", "ended by", "asked", "DRI", "last entry"],
        (
            [
                _page(row),
                ", ".join([row.ended_by, *row.conditions]),
                (f"{_name(row.requester)}: " if row.requester else "") + inline(row.action, _ACTION),
                _name(row.dri) if row.dri else "",
                when(row.updated_at),
            ]
            for row in rows[:MOST_ENDED]
        ),
    )


def _owed(row: BoardRow) -> str:
    said = [
        f"{_name(one.agent)} {_WORDS[one.step]}" + (f" since {when(one.since_ms)}" if one.since_ms is not None else "")
        for one in row.owes[:10]
    ]
    left = len(row.owes) - len(said)
    return ", ".join(said) + (f" and {left} more" if left > 0 else "")


def _is_late(row: BoardRow) -> bool:
    return "overdue" in row.conditions or "escalated" in row.conditions


def _urgency(row: BoardRow) -> tuple[bool, int, str]:
    """Late threads first, then by deadline, those without one last."""
    return (not _is_late(row), row.deadline_ms if row.deadline_ms is not None else 2**62, row.id)


# Small pieces.


def _headline(content: dict[str, Any]) -> str:
    return next(
        (content[key].strip() for key in _TEXTS if isinstance(content.get(key), str) and content[key].strip()), ""
    )


def _page(row: BoardRow) -> str:
    return link(code(row.id), page_path(row.folder)) if row.folder else code(row.id)


def _name(name: str) -> str:
    return inline(name, 80)


def _list(names: Iterable[Any]) -> str:
    written = [_name(str(name)) for name in names]
    more = f" and {len(written) - _MOST_CELLS} more" if len(written) > _MOST_CELLS else ""
    return (", ".join(written[:_MOST_CELLS]) or "nobody") + more


def _at(message: Message) -> str:
    at = message.basis.get("at")
    return when(at if isinstance(at, int) else message.stamp[0])
