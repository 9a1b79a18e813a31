"""BOARD.md, the state of all conversations, and the line of each that the memory keeps for it.

Its bytes follow from the ledger alone: instants instead of ages, no "now", a fixed order. Whatever agents wrote is
escaped and capped. The page of one conversation is made in `thread_page`.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from ackd.engine.keeper import BoardLine
from ackd.engine.lateness import is_late, late_debts
from ackd.engine.page_parts import ACTION, CELL, GENERATED, MOST_CELLS, UTC, WORDS, headline, moment, shown_name
from ackd.engine.texts import in_force
from ackd.errors import InvalidError
from ackd.protocol.conditions import conditions, who_owes
from ackd.protocol.ids import clean_name
from ackd.protocol.table import UNKNOWN
from ackd.protocol.thread import Thread
from ackd.tree.layout import page_path
from ackd.tree.markdown import code, inline, link, table

MOST_OPEN = 200
"""Open threads that the board lists."""
MOST_ENDED = 20
"""Ended threads that the board lists, the newest first."""

_WENT_TOO_FAR = "a message was refused because the work had been passed on too far, or in a circle"


class OweRow(msgspec.Struct, frozen=True):
    """Who owes what since when (milliseconds; None where it was not asked yet), and whether it is late."""

    agent: str
    step: str
    since_ms: int | None = None
    late: bool = False


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
    since = thread.moments()
    late = late_debts(thread)
    return BoardRow(
        id=thread.id,
        state=None if thread.phase == UNKNOWN else thread.phase,
        conditions=conditions(thread),
        requester=thread.requester,
        dri=thread.dri,
        action=headline(request)[:ACTION],
        deadline_ms=thread.deadline_ms,
        owes=tuple(
            OweRow(one.agent, one.step, since.get(one.since_key), is_late(one, late)) for one in who_owes(thread)
        ),
        ended_by=thread.ended_by,
        updated_at=max(since.values(), default=0),
        folder=thread.folder,
    )


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
    parts = ["# Board", GENERATED]
    parts.append(f"{len(open_rows)} open, {len(late)} late. {UTC}")
    person = _needs_person(open_rows, refused, strangers, findings)
    if person:
        parts += ["## Needs a person", person]
    if late:
        parts += ["## Late", _open_table(late)]
    rest = [row for row in open_rows if not _is_late(row)]
    if rest:
        parts += ["## Open", _open_table(rest, MOST_OPEN - len(late))]
    for heading in dict.fromkeys(line.heading for line in lines):
        texts = [inline(line.text, CELL) for line in lines if line.heading == heading]
        parts += [f"## {inline(heading, CELL)}", "\n".join(f"- {text}" for text in texts[:MOST_CELLS])]
    if ended:
        parts += ["## Ended lately", _ended_table(ended)]
    return ("\n\n".join(parts) + "\n").encode("utf-8", "backslashreplace")


def _needs_person(
    rows: Sequence[BoardRow], refused: Sequence[RefusedFile], strangers: Sequence[str], findings: Sequence[str]
) -> str:
    lines = [inline(finding, CELL) for finding in findings[:MOST_CELLS]]
    lines += [_stuck(row) for row in rows if "needs-person" in row.conditions][:MOST_CELLS]
    lines += [_stranger(name) for name in sorted(set(strangers))[:MOST_CELLS]]
    for one in refused[:MOST_CELLS]:
        by = f" by {shown_name(one.author)}" if one.author else ""
        record = f", see {code(one.record)}" if one.record else ""
        lines.append(f"Refused: {code(one.path)}{by}: {inline(one.reason, CELL) or 'no reason is known'}{record}")
    left = max(0, len(refused) - MOST_CELLS) + max(0, len(set(strangers)) - MOST_CELLS)
    if left:
        lines.append(f"… and {left} more: `ackd rejected`")
    return "\n".join(f"- {line}" for line in lines)


def _stuck(row: BoardRow) -> str:
    thread = f"{_page(row)} ({code(row.id)})" if row.action else _page(row)
    owed = _owed(row)
    return f"{thread}: {owed}" if owed else f"{thread}: {_WENT_TOO_FAR}"


def _stranger(name: str) -> str:
    """Say how to add somebody; a name that the roster could not take gets no command that somebody might paste."""
    try:
        clean = clean_name(name)
    except InvalidError:
        return f"{shown_name(name)} wrote and is not on the roster; the name breaks the rules of names"
    return f"{shown_name(name)} wrote and is not on the roster. To add it: `ackd agents add {clean}`"


def _open_table(rows: Sequence[BoardRow], most: int = MOST_OPEN) -> str:
    shown = rows[: max(0, most)]
    page = table(
        ["asked", "by", "DRI", "state", "deadline", "owed", "thread"],
        (
            [
                _page(row),
                shown_name(row.requester) if row.requester else "",
                shown_name(row.dri) if row.dri else "",
                ", ".join([row.state or "no request yet", *row.conditions]),
                moment(row.deadline_ms) if row.deadline_ms is not None else "",
                _owed(row),
                code(row.id),
            ]
            for row in shown
        ),
    )
    left = len(rows) - len(shown)
    return page + (f"\n\n… and {left} more: `ackd threads`" if left else "")


def _ended_table(rows: Sequence[BoardRow]) -> str:
    return table(
        ["asked", "by", "DRI", "ended by", "last entry", "thread"],
        (
            [
                _page(row),
                shown_name(row.requester) if row.requester else "",
                shown_name(row.dri) if row.dri else "",
                ", ".join([row.ended_by, *row.conditions]),
                moment(row.updated_at),
                code(row.id),
            ]
            for row in rows[:MOST_ENDED]
        ),
    )


def _owed(row: BoardRow) -> str:
    """Say who owes what since when; what one agent owes since the same minute stands together."""
    debts: dict[tuple[str, str], list[str]] = {}
    for one in row.owes[:10]:
        since = f" since {moment(one.since_ms)}" if one.since_ms is not None else ""
        debts.setdefault((one.agent, since), []).append(WORDS[one.step])
    said = [f"{shown_name(agent)} {' and '.join(words)}{since}" for (agent, since), words in debts.items()]
    left = len(row.owes) - 10
    return ", ".join(said) + (f" and {left} more" if left > 0 else "")


def _is_late(row: BoardRow) -> bool:
    return "overdue" in row.conditions or "escalated" in row.conditions


def _urgency(row: BoardRow) -> tuple[bool, int, str]:
    """Late threads first, then by deadline, those without one last."""
    return (not _is_late(row), row.deadline_ms if row.deadline_ms is not None else 2**62, row.id)


def _page(row: BoardRow) -> str:
    """Give a thread in words: what was asked, else its id, with a link to its page."""
    words = inline(row.action, ACTION) or code(row.id)
    return link(words, page_path(row.folder)) if row.folder else words
