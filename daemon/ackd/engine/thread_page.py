"""THREAD.md, the receipt of one conversation: the final first, what was asked, who owes what, who said what when.

Its bytes follow from the ledger alone. Whatever agents wrote is escaped and capped; the whole always lies in the file
that is named.
"""

from __future__ import annotations

from typing import Any

import msgspec

from ackd.engine.decisions import decision_file
from ackd.engine.page_parts import (
    ACTION,
    CELL,
    GENERATED,
    MOST_CELLS,
    TEXTS,
    UTC,
    WORDS,
    headline,
    moment,
    shown_name,
    shown_names,
)
from ackd.engine.texts import in_force, ordered
from ackd.protocol.conditions import assignee_state, conditions, who_owes
from ackd.protocol.policy import Policy
from ackd.protocol.table import UNKNOWN
from ackd.protocol.thread import Message, Thread
from ackd.tree.markdown import block, code, inline, link, table

MOST_MESSAGES = 300
"""Messages that a thread's page lists: the first ones and the last ones."""

_FINAL, _REQUEST, _MESSAGE = 20_000, 8_000, 2_000
_LINE = 600
"""A text of one line up to this length is shown as a quotation, which wraps; a longer one, or one of several lines, as
a block."""
_SAID_BY_ITS_PLACE = frozenset({"action", "conclusion", "question", "body"})
_SILENT = frozenset({"no-reply", "duplicate"})


def thread_page(thread: Thread, policy: Policy) -> bytes:
    """Render the page of a thread: the final first, then what was asked, who owes what, and who said what when."""
    request = thread.text_in_force(thread.request)
    title = inline(headline(in_force(thread, thread.request)), ACTION) if request is not None else ""
    parts = [f"# {title or code(thread.id)}", GENERATED]
    parts.append((f"Thread {code(thread.id)}. " if title else "") + UTC)
    final = thread.text_in_force(thread.final)
    if final is not None:
        parts += _final(thread, final, policy)
    elif thread.ended:
        parts += ["## No final", _ended_without(thread)]
    if request is not None:
        parts += _asked(thread, request)
    parts += ["## Where it stands", _standing(thread)]
    if thread.duties:
        parts.append(_duties(thread, policy))
    parts += _said(thread)
    return ("\n\n".join(part for part in parts if part) + "\n").encode("utf-8", "backslashreplace")


def _final(thread: Thread, final: Message, policy: Policy) -> list[str]:
    content = in_force(thread, final.digest)
    status = content.get("status")
    word = inline(status, 40) if isinstance(status, str) and status else "success"
    return [
        f"## Final: {word}",
        f"{shown_name(final.sender)}, {_at(final)}, {_file(thread, final.path)}",
        *_texts(content, _FINAL, final.path),
        *_record(thread, policy),
    ]


def _record(thread: Thread, policy: Policy) -> list[str]:
    record = decision_file(thread, policy.zone)
    return [f"Decision record: {_file(thread, record)}"] if record else []


def _ended_without(thread: Thread) -> str:
    by = next((message for message in thread.messages if message.key == thread.ended_key), None)
    how = {
        "cancel": "The thread was cancelled.",
        "ruling": "The thread was closed by a ruling, without a result.",
        "broadcast": "A broadcast owes nothing and has ended by itself.",
    }.get(thread.ended_by, "The thread has ended.")
    return f"{how} {shown_name(by.sender)}, {_at(by)}." if by is not None else how


def _asked(thread: Thread, request: Message) -> list[str]:
    content = in_force(thread, request.digest)
    to = content.get("to")
    names = [to] if isinstance(to, str) else to if isinstance(to, list) else []
    asked = (
        f"{shown_name(thread.requester)} asked {shown_names(names)}, {_at(thread.message(thread.request) or request)}"
    )
    if request.digest != thread.request:
        asked += f"; this text since {_at(request)}"
    lines = [f"{asked}, {_file(thread, request.path)}"]
    written = content.get("deadline")
    if written not in (None, ""):
        lines.append(f"Deadline: {_deadline(thread, str(written))}")
    if thread.extensions and thread.deadline_ms is not None:
        lines.append(f"Deadline by ruling: {moment(thread.deadline_ms)}")
    if thread.parent:
        lines.append(f"From thread {code(thread.parent)}")
    return ["## Asked", "  \n".join(lines), *_texts(content, _REQUEST, request.path)]


def _deadline(thread: Thread, written: str) -> str:
    if thread.deadline_ms is None:
        return f"{code(written)} (could not be read for certain)"
    return code(written) if thread.extensions else f"{moment(thread.deadline_ms)}, written {code(written)}"


def _standing(thread: Thread) -> str:
    state = "no request yet" if thread.phase == UNKNOWN else thread.phase
    how = f", ended by {thread.ended_by}" if thread.ended and thread.ended_by != thread.phase else ""
    lines = [f"State: **{state}**{how}"]
    if thread.dri:
        lines.append(f"DRI: {shown_name(thread.dri)}" + (" (by ruling)" if thread.dri_by_ruling else ""))
    true = conditions(thread)
    if true:
        lines.append("Conditions: " + ", ".join(true))
    others = [one for one in who_owes(thread) if one.step not in ("confirm", "final")]
    lines += [f"{shown_name(one.agent)} owes {WORDS[one.step]}" for one in others]
    if thread.unknown:
        lines.append("Not on the roster, so not asked: " + shown_names(thread.unknown))
    if thread.children:
        lines.append("Parts that were handed on: " + ", ".join(code(child) for child in thread.children[:MOST_CELLS]))
    return "\n".join(f"- {line}" for line in lines)


def _duties(thread: Thread, policy: Policy) -> str:
    owed: dict[str, list[str]] = {}
    for one in who_owes(thread):
        if one.step in ("confirm", "final"):
            owed.setdefault(one.agent, []).append(WORDS[one.step])
    rows = []
    moments = thread.moments()
    for duty in list(thread.duties.values())[:MOST_CELLS]:
        did = assignee_state(duty)
        if any(message.verdict == "closed" and message.sender == duty.agent for message in thread.messages):
            did = f"{did}, wrote the final"
        if duty.handed_to:
            did = f"{did} to {shown_name(duty.handed_to)}"
        role = "DRI" if duty.agent == thread.dri else "person" if policy.roster.rank(duty.agent) == 0 else "assignee"
        asked = moments.get(thread.reached(duty.start))
        handed = moment(asked) if asked is not None else ""
        rows.append([shown_name(duty.agent), role, handed, did, " and ".join(owed.get(duty.agent, []))])
    heads = ["who", "as", "asked at", "did", "owes"]
    if not owed:
        heads, rows = heads[:-1], [row[:-1] for row in rows]
    page = table(heads, rows)
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
    """Give one message: a line, and what it says; of what woke nobody a line alone."""
    # Most verdicts are the word for the message itself, which is then not written twice.
    did = f"**{message.verdict}**" if message.verdict == message.type else f"{message.type}, **{message.verdict}**"
    said = f"{_at(message)} {shown_name(message.sender)}: {did}, {_file(thread, message.path)}"
    if message.verdict in _SILENT and not message.notes:
        return [f"{said}: {inline(headline(message.content), ACTION)}"]
    lines = [said]
    if message.because:
        lines.append(inline(message.because, CELL))
    lines += [inline(note, CELL) for note in message.notes[:20]]
    if message.revised_by:
        by = thread.message(message.revised_by)
        lines.append("Replaced by a later text" + (f": {_file(thread, by.path)}" if by is not None else ""))
    parts = ["  \n".join(lines)]
    # What stands above is not said twice: the final and the request, unless they were revised since.
    if message.digest not in (thread.final, thread.request) or message.revised_by:
        parts += _texts(message.content, _MESSAGE, message.path)
    return parts


def _texts(content: dict[str, Any], limit: int, path: str) -> list[str]:
    """Show what a message says: its short values in a line, its texts as quotations and blocks."""
    # The DRI of a request stands in the table below it.
    keys = ("version", "effective", "ruling", "pick") + (("dri",) if "ruling" in content else ())
    short = [f"{key} {code(str(content[key]))}" for key in keys if content.get(key)]
    parts = [", ".join(short)] if short else []
    said = [(key, content[key]) for key in TEXTS if isinstance(content.get(key), str) and content[key].strip()]
    for key, text in said:
        if len(said) > 1 and key not in _SAID_BY_ITS_PLACE:
            parts.append(f"{key}:")
        parts.append(_text(text, limit, path))
    if content.get("data") not in (None, "", [], {}):
        data = msgspec.json.format(msgspec.json.encode(ordered({"data": content["data"]})["data"]), indent=2)
        parts += ["data:", block(data.decode(), limit, rest=path)]
    return parts


def _text(text: str, limit: int, path: str) -> str:
    whole = text.strip()
    if len(whole) <= min(limit, _LINE) and whole.isprintable():
        return f"> {inline(whole, _LINE)}"
    return block(text, limit, rest=path)


def _file(thread: Thread, path: str) -> str:
    """Link to a file from the thread's page; of one that lies beside it the name says enough."""
    if not thread.folder:
        return code(path)
    if path.startswith(f"{thread.folder}/"):
        beside = path[len(thread.folder) + 1 :]
        return link(code(beside), beside)
    return link(code(path), "../" * (thread.folder.count("/") + 1) + path)


def _at(message: Message) -> str:
    at = message.basis.get("at")
    return moment(at if isinstance(at, int) else message.stamp[0])
