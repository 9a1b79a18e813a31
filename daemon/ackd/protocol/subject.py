"""Subjects: what is followed beside the threads (a status file, the people's page), as entries like everything else.

A subject has a ledger of its own. Each entry says what is known now (`data`) and who is to be told, once; nothing is
asked for. So a crash forgets nothing, and nobody is told twice.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from ackd.protocol.canonical import digest
from ackd.protocol.entry import DELIVERED, NOTED, Entry
from ackd.protocol.obligations import Deliver, obligation_id
from ackd.protocol.refusal import PREFIX as REFUSAL

PREFIX = "#"
"""Ledgers of subjects; names never start with this, so no thread can clash."""


def is_thread(ledger: str) -> bool:
    """Tell whether a ledger is that of a thread, and not of a refused file or a subject."""
    return not ledger.startswith((REFUSAL, PREFIX))


def subject_id(name: str) -> str:
    """Give the ledger of a subject: `#` and 16 hex."""
    return PREFIX + digest(["subject", name])[:16]


class Note(msgspec.Struct, frozen=True, kw_only=True):
    """Something that agents are told about a subject, once.

    Attributes:
        step: Names the note in ids: the same step is never told twice to the same agent.
        agents: Who is told, in the roster's spelling.
        summary: One sentence.
        notes: More sentences.
        ends: Steps whose files go with this one, where they still lie in the inbox.
    """

    step: str
    agents: tuple[str, ...] = ()
    summary: str = ""
    notes: tuple[str, ...] = ()
    ends: tuple[str, ...] = ()


class Subject(msgspec.Struct, frozen=True, kw_only=True):
    """A subject as its entries tell it.

    Attributes:
        id: Its ledger.
        name: What it is about: a path relative to the tree, say.
        data: What was known last, a JSON object; its keys are the business of whoever follows it.
        notes: All notes, the oldest first.
        told: Obligations that were carried out, with the path of each file.
        at: When the last note was written, milliseconds.
    """

    id: str
    name: str = ""
    data: dict[str, Any] = {}
    notes: tuple[Note, ...] = ()
    told: dict[str, str] = {}
    at: int = 0


def note_body(name: str, data: dict[str, Any], note: Note | None) -> dict[str, Any]:
    """Give the body of the entry that records what is known of a subject, and a note if there is one."""
    return {"name": name, "data": data, "note": msgspec.to_builtins(note) if note is not None else None}


def fold_subject(ledger: str, entries: Iterable[Entry]) -> Subject:
    """Merge the entries of one subject; any order, any number of copies."""
    subject = Subject(id=ledger)
    for entry in sorted({entry.key: entry for entry in entries}.values(), key=lambda one: one.order):
        subject = add_entry(subject, entry)
    return subject


def add_entry(subject: Subject, entry: Entry) -> Subject:
    """Merge one entry that is newer than all before: a status that is written each minute has very many."""
    if entry.kind == NOTED:
        notes, body = subject.notes, entry.body
        if body["note"] is not None and all(one.step != body["note"]["step"] for one in notes):
            notes = (*notes, msgspec.convert(body["note"], Note))
        return Subject(id=subject.id, name=body["name"], data=body["data"], notes=notes, told=subject.told, at=entry.at)
    if entry.kind == DELIVERED:
        told = {**subject.told, **dict.fromkeys(entry.body["ids"], entry.body["path"])}
        return msgspec.structs.replace(subject, told=told)
    return subject


def subject_owed(subject: Subject) -> tuple[Deliver, ...]:
    """Give the notices that are still owed; a note that a later one ended is owed no longer."""
    ended = {step for note in subject.notes for step in note.ends}
    return tuple(
        Deliver(ids=(one,), kind="notice", thread=subject.id, agent=agent, message=note.step)
        for note in subject.notes
        if note.step not in ended
        for agent in note.agents
        if (one := obligation_id("notice", subject.id, agent, note.step)) not in subject.told
    )


def subject_gone(subject: Subject) -> frozenset[str]:
    """Give the notices whose files may go, since a later note ended them."""
    ended = {step for note in subject.notes for step in note.ends}
    return frozenset(one for one in subject.told if one.rsplit(":", 1)[1] in ended)
