"""Judging: one message against its thread as it is known now; the verdict is recorded and never taken back.

`judge` finds out who the author is in the thread and what is the case, asks the table for the row, and fills in who
is told and what the verdict was based on. It decides nothing that the table does not say.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from ackd.protocol import table
from ackd.protocol.audience import Audience
from ackd.protocol.drop import Drop
from ackd.protocol.facts import Findings, find_facts, roles_of
from ackd.protocol.ids import shown, split_suffix
from ackd.protocol.policy import Policy
from ackd.protocol.thread import Message, Tell, Thread


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    """What was decided about a message.

    Attributes:
        thread: The thread it belongs to.
        word: One of `table.VERDICTS`.
        row: Name of the row that held.
        because: What the author is told, or an empty string.
        told: Who hears of it.
        notes: More sentences for those who are told.
        basis: What it was based on; a JSON object.
        child: Verdict under which a partial handoff opens a thread of its own, or None.
    """

    thread: str
    word: str
    row: str
    because: str = ""
    told: tuple[Tell, ...] = ()
    notes: tuple[str, ...] = ()
    basis: dict[str, Any] = {}
    child: Verdict | None = None


def judge(thread: Thread, drop: Drop, policy: Policy, parent: Callable[[str], Thread | None]) -> Verdict:
    """Judge a message against its thread.

    Args:
        thread: The thread as known now; one without request where nothing is known of it.
        drop: The message and the circumstances of its finding.
        policy: The rules in force.
        parent: Gives the thread of an ack_id, for lineage through `parent`.

    Returns:
        The verdict; every message gets one.
    """
    sender = policy.roster.spelling(drop.envelope.sender)
    found = find_facts(thread, drop, policy, sender, parent)
    roles = roles_of(thread, sender, policy.roster)
    row = table.find_row(found.type, roles, thread.phase, found.facts)
    audience = Audience(thread, found, drop, policy, sender)
    basis = _basis(thread, drop, policy, sender, row, found)
    told = audience.resolve(row, basis)
    child = None
    if row.verdict == "handed-off" and found.is_partial:
        child = _child(thread, _child_number(thread, parent), found, basis)
        told = ()
    return Verdict(
        thread=thread.id + drop.suffix if row.name == "id-taken" else thread.id,
        word=row.verdict,
        row=row.name,
        because=_fill(row.because, thread, drop, sender, found),
        told=told,
        notes=found.notes,
        basis=basis,
        child=child,
    )


def could_rise(thread: Thread, message: Message) -> bool:
    """Tell whether a held or weak message may count for more in its thread as it is now: most never will.

    It is cheap and asked of every message whenever a thread grows; `rejudge` has the last word.
    """
    if message.verdict == "held":
        # Which thread it means, its author was asked; growing does not tell.
        return bool(thread.request) and message.row != "which-thread"
    if message.verdict != "weak" or thread.ended:
        return False
    sender = message.sender
    if message.type == "final":
        return sender == thread.dri
    if message.type == "answer":
        return sender in (thread.requester, thread.dri) and bool(thread.open_questions)
    return sender in thread.duties or any(one.target == sender for one in thread.handoffs)


def judged_bodies(drop: Drop, verdict: Verdict, sender: str, sha256: str) -> list[tuple[str, dict[str, Any]]]:
    """Give the bodies of the entries that record a verdict, each with its thread: one, and one for a child thread.

    Args:
        drop: The message.
        verdict: What was decided about it.
        sender: Its author in the roster's spelling.
        sha256: Of the bytes of its file.
    """
    envelope = drop.envelope
    message = {
        "digest": envelope.digest,
        "identity": envelope.identity,
        "type": envelope.type,
        "from": sender,
        "message": envelope.content,
        "path": drop.path,
        "sha256": sha256,
    }
    said = [
        (
            one.thread,
            {
                "verdict": one.word,
                "row": one.row,
                "because": one.because,
                "told": [[tell.agent, tell.kind] for tell in one.told],
                "notes": list(one.notes),
                "basis": one.basis,
            },
        )
        for one in (verdict, verdict.child)
        if one is not None
    ]
    return [(thread, message | words) for thread, words in said]


def rejudge(
    thread: Thread, message: Message, drop: Drop, policy: Policy, parent: Callable[[str], Thread | None]
) -> Verdict | None:
    """Judge a held or weak message again after its thread grew.

    Returns:
        The stronger verdict, or None where the old one stands.
    """
    verdict = judge(thread, drop, policy, parent)
    if verdict.word in ("held", "weak", "refused", "duplicate", "kept") and not (
        message.verdict == "held" and verdict.word != "held"
    ):
        return None
    if message.verdict == "weak" and not _may_rise(thread, message, verdict):
        return None
    return verdict


def _may_rise(thread: Thread, message: Message, verdict: Verdict) -> bool:
    """Tell whether what was said before still means the same now.

    An answer or an acceptance must name what it speaks to, since it may be older than that; what a ruling made of its
    author was not what the author spoke as.
    """
    if verdict.word in ("answered", "accepted"):
        return thread.named(str(message.content.get("in_reply_to") or "")) is not None
    if verdict.word in ("closed", "confirmed", "clarified", "handed-off", "progress"):
        return not (thread.dri_by_ruling and thread.dri == message.sender)
    return False


def _basis(thread: Thread, drop: Drop, policy: Policy, sender: str, row: table.Row, found: Findings) -> dict[str, Any]:
    """Record what the verdict rests on; keys without a value are left out."""
    word = row.verdict
    basis: dict[str, Any] = {
        "at": drop.at,
        "rules": policy.version,
        "rank": policy.roster.rank(sender),
        "request": thread.request,
        "dri": thread.dri,
        "dri_epoch": thread.dri_epoch,
        "depth": found.depth,
        "saw_final": thread.final,
        "saw_rulings": list(thread.rulings),
        "after_end": thread.ended,
        "edit": bool(drop.edits),
        "traceparent": drop.envelope.text_of("traceparent"),
        "signed": bool(drop.envelope.content.get("signature")),
        "courtesy": table.COURTESY in found.facts,
    }
    if found.members:
        basis["all"] = list(found.members)
    if found.unknown:
        basis["unknown"] = list(found.unknown)
    if word == "opened":
        basis |= {
            "after_end": False,
            "folder": drop.folder,
            "assignees": list(found.assignees),
            "dri": found.dri,
            "dri_epoch": 0,
            "chain": list(found.chain),
            "parent": drop.envelope.text_of("parent"),
        }
    elif word == "revision":
        basis["revises"] = found.revises
        basis["added"] = [name for name in found.assignees if name not in thread.duties]
    elif word == "confirmed":
        basis["by_dri"] = sender == thread.dri
    elif word == "accepted":
        basis["accepts"] = found.handoff
        moves = found.handoff_owner == thread.dri
        basis |= {"by_dri": moves, "dri_epoch": thread.dri_epoch + moves}
    elif word == "declined" and found.handoff:
        basis["declines"] = found.handoff
    elif word == "answered":
        basis["answers"] = list(found.answers)
    elif word == "handed-off":
        basis["target"] = found.target
    elif word == "ruled":
        basis["ruling"] = found.ruling
        if found.ruling == "dri":
            basis |= {"new_dri": found.dri, "dri_epoch": thread.dri_epoch + 1}
        elif found.ruling == "pick":
            basis["pick"] = found.pick
    elif word == "broadcast":
        basis["folder"] = drop.folder
    if word in ("confirmed", "cancelling") and row.becomes == table.FINAL:
        basis["ends"] = "cancel"
    if word in ("opened", "revision", "ruled"):
        basis["deadline_ms"] = found.deadline_ms
        basis["keeps_deadline"] = drop.envelope.type == "amend" and "deadline" not in drop.envelope.content
    return {
        key: value for key, value in basis.items() if value is not None and value is not False and value not in ("", [])
    }


def _child_number(thread: Thread, parent: Callable[[str], Thread | None]) -> int:
    """Give the next number under which no thread is known; somebody may have asked under such an id by hand."""
    number = len(thread.children) + 1
    while parent(_child_id(thread, number)) is not None:
        number += 1
    return number


def _child_id(thread: Thread, number: int) -> str:
    """Give `<ack_id>.<n>`; the suffix of a thread whose id was taken stays at the end, where the grammar has it."""
    bare, suffix = split_suffix(thread.id)
    return f"{bare}.{number}{suffix}"


def _child(thread: Thread, number: int, found: Findings, basis: dict[str, Any]) -> Verdict:
    """Open the thread of a partial handoff: its owner asks, its target is the DRI (C16)."""
    child = _child_id(thread, number)
    basis["child"] = child
    return Verdict(
        thread=child,
        word="opened",
        row="hands-off",
        told=(Tell(found.target, "handoff"),),
        notes=found.notes,
        basis={
            **{key: basis[key] for key in ("at", "rules", "rank", "depth") if key in basis},
            "folder": f"{thread.folder}.{number}" if thread.folder else f"roundtable/{child}",
            "assignees": [found.target],
            "dri": found.target,
            "dri_epoch": 0,
            "chain": [name for name in found.chain if name != found.target],
            "parent": thread.id,
        },
    )


def _fill(text: str, thread: Thread, drop: Drop, sender: str, found: Findings) -> str:
    """Fill the sentence of a row with the names of this thread."""
    if not text:
        return ""
    final = thread.text_in_force(thread.final)
    return text.format(
        sender=sender,
        type=drop.envelope.type,
        ack_id=drop.envelope.ack_id,
        thread=thread.id + drop.suffix,
        identity=shown(drop.envelope.identity),
        requester=found.taken_by or thread.requester,
        dri=thread.dri or "nobody",
        assignees=", ".join(thread.duties) or "nobody",
        original=shown(drop.conflict_of),
        candidates=", ".join(drop.candidates),
        chat_thread=shown(drop.envelope.text_of("thread")),
        holder=drop.holder,
        earlier=", ".join(drop.retries),
        depth=found.depth_shown,
        circle=_circle(drop, sender, found),
        nobody=found.nobody,
        awaited=found.awaited,
        final=final.identity if final else "",
        expected=found.expected,
    )


def _circle(drop: Drop, sender: str, found: Findings) -> str:
    """Say why a duty may not go to whom it names: it is its own author, or the chain has had enough of it."""
    if found.offender == sender:
        kind = drop.envelope.type
        return (
            f"a {kind} to oneself is refused, and this one goes from {sender} to {sender}: name somebody else, "
            "or do it without asking; what nobody else can do needs a person"
        )
    chain = " → ".join(found.chain)
    return f"{found.offender} already stands in this chain ({chain}): finish it yourself or decline; it needs a person"
