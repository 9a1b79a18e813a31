"""What is remembered of a followed file (a status, intelligence, a task), and how new content changes it.

Pure: no clock, no file. What a file says of its own time is a claim: it decides when the file is stale, never which
content counts. The content that was read last counts.
"""

from __future__ import annotations

import hashlib
from typing import Any

import msgspec

from ackd.engine.texts import when
from ackd.errors import InvalidError
from ackd.protocol.canonical import canonical
from ackd.protocol.ids import shown
from ackd.protocol.policy import Policy, Roster
from ackd.protocol.subject import Note
from ackd.tree.freshness import Freshness, freshness, unreadable_times

TASK = "monitor-task"
RADAR = "tech-radar"
FOLLOWED = frozenset({"status", "intel", "agent-session", TASK, RADAR})
"""The kinds that are followed."""

WINDOW_MS = 3_600_000
"""Writes of two writers within this time are concurrent; so long is a file shown as flagged after the last sign."""

_QUICK_MS = 600_000
_MOST_PAST = 6
_MOST_BLIPS, _MOST_FINDINGS = 1_000, 5
_CONTENT = 8 * 1024
_OWNERS = {"status": ("agent",), "intel": ("author", "source"), "agent-session": ("agent",), TASK: ("owner",)}
_WRITERS = {
    "status": ("agent", "agent_id"),
    "intel": ("author", "source"),
    "agent-session": ("agent", "session_id"),
    TASK: ("owner", "task_id"),
}
_MOVING = frozenset({"state", "availability", "task", "ack_id", "progress", "note"})
"""Keys whose values one writer may well set to and fro."""

_ANEW = {
    "status": 'write it anew with "updated_at", or with "availability": "offline" if you are away',
    "intel": 'gather it anew and write "as_of", or say with "valid_for" how long it holds',
    "agent-session": 'write it anew with "updated_at", or with "ended_at" if it has ended',
    TASK: 'write its new "state", or a longer "timeout" if it needs more time',
    RADAR: 'look at the blips again and write the day into their "reviewed"',
}


class Past(msgspec.Struct, frozen=True):
    """A content that the file had: its digest, who wrote it by its own words, and when it was read, milliseconds."""

    digest: str
    writer: str
    at: int


class Other(msgspec.Struct, frozen=True, kw_only=True):
    """The content that lost against the one in force.

    Attributes:
        path: Where it lies, for the conflict copy of a sync tool; empty where it was written over.
        digest: Of the content.
        content: The content; None where it is too long to keep, or no valid JSON.
        at: When it was read, milliseconds.
    """

    path: str = ""
    digest: str
    content: Any = None
    at: int


class Followed(msgspec.Struct, frozen=True, kw_only=True):
    """A followed file as it is known.

    Attributes:
        kind: status, intel, agent-session, monitor-task or tech-radar.
        sha256: Of the bytes of the last good content; empty where there was none yet.
        digest: Of the last good content.
        content: The last good content; None where it is longer than 8 KiB.
        owner: Who answers for it, in the roster's spelling, or an empty string.
        writer: Who wrote it by its own words.
        state: What it says of its state.
        state_since: Since when it has that state, milliseconds.
        read_at: When the content was first read, milliseconds.
        as_of: From when it is: its own stamp, else `read_at`, milliseconds.
        claimed: Its own stamp, also one from the future; None where there is none.
        stale_at: When it is stale, milliseconds, or None.
        from_future: Its stamp lay in the future when it was read.
        odd: What is odd about what it says of its time.
        past: Its contents so far, the last ones, that in force included.
        other: The content of a second writer, while it is flagged.
        flag: Why it is flagged, or an empty string.
        flag_at: When the last sign of a second writer was seen, milliseconds.
        flag_step: Step of the note about that.
        stale_steps: Steps of the notes about its staleness.
        findings: Names that are not on the roster, and times that cannot be read; a sentence each.
        findings_step: Step of the note about them.
        asked_at: When its owner was told that it is stale, milliseconds; 0 before.
        ruled: Whether the arbiter was told, or there is none.
    """

    kind: str
    sha256: str = ""
    digest: str = ""
    content: Any = None
    owner: str = ""
    writer: str = ""
    state: str = ""
    state_since: int | None = None
    read_at: int = 0
    as_of: int | None = None
    claimed: int | None = None
    stale_at: int | None = None
    from_future: bool = False
    odd: str = ""
    past: tuple[Past, ...] = ()
    other: Other | None = None
    flag: str = ""
    flag_at: int = 0
    flag_step: str = ""
    stale_steps: tuple[str, ...] = ()
    findings: tuple[str, ...] = ()
    findings_step: str = ""
    asked_at: int = 0
    ruled: bool = False


class Change(msgspec.Struct, frozen=True):
    """What a file is known as now, and who is told, if anybody."""

    now: Followed
    note: Note | None = None


def owner_of(kind: str, document: object, path: str, roster: Roster) -> str:
    """Give who answers for a file, valid or not: who it names, else whose name it has; empty where none is known."""
    named: list[object] = []
    if isinstance(document, dict):
        named = [document.get(key) for key in _OWNERS.get(kind, ())]
    elif kind == RADAR and isinstance(document, list):
        blips = [one for one in document if isinstance(one, dict) and isinstance(one.get("owner"), str)]
        named = [one["owner"] for one in sorted(blips, key=lambda one: str(one.get("reviewed") or "~"))]
    named.append(path.rpartition("/")[2].removesuffix(".json"))
    for name in named:
        member = roster.find(name.removeprefix("@")) if isinstance(name, str) and len(name) <= 200 else None
        if member is not None:
            return member.name
    return ""


def unknown_names(kind: str, document: object, roster: Roster) -> list[tuple[str, str]]:
    """Give the names of agents in a document that are not on the roster; of a radar's first thousand blips.

    Returns:
        For each an RFC 6901 pointer, and what is wrong with it in a sentence that is safe to show.
    """
    named: list[tuple[str, object]] = []
    if isinstance(document, dict):
        # Where intelligence comes from is anybody.
        named = [(f"/{key}", document.get(key)) for key in _OWNERS.get(kind, ()) if key != "source"]
    elif kind == RADAR and isinstance(document, list):
        blips = enumerate(document[:_MOST_BLIPS])
        named = [(f"/{number}/owner", blip.get("owner")) for number, blip in blips if isinstance(blip, dict)]
    return [
        (pointer, f"{pointer.rpartition('/')[2]} {shown(name, 60)} is not on the roster of team.yaml")
        for pointer, name in named
        if isinstance(name, str) and name and (len(name) > 200 or roster.find(name.removeprefix("@")) is None)
    ]


def findings_in(kind: str, document: object, rules: Policy) -> tuple[str, ...]:
    """Give what is wrong with a valid document: unknown names and unreadable times, at most five, each once."""
    found = [*unknown_names(kind, document, rules.roster), *unreadable_times(kind, document, rules.zone)]
    said = list(dict.fromkeys(text for _, text in found))
    left = len(said) - _MOST_FINDINGS
    return (*said[:_MOST_FINDINGS], *([f"… and {left} more: `ackd validate` with its path"] if left > 0 else []))


def remark(known: Followed, path: str, now: int) -> Change | None:
    """Tell the owner what was found in the content, once as long as it is the same; end it when it is gone."""
    key = hashlib.sha256("\n".join(known.findings).encode("utf-8", "surrogatepass")).hexdigest()[:16]
    step = f"findings-{now:x}-{key}" if known.findings else ""
    if step.rpartition("-")[2] == known.findings_step.rpartition("-")[2]:
        return None
    ends = (known.findings_step,) if known.findings_step else ()
    changed = msgspec.structs.replace(known, findings_step=step)
    if not step:
        return Change(changed, Note(step=f"fine-{now:x}-{known.digest[:8]}", ends=ends))
    note = Note(
        step=step,
        agents=(known.owner,) if known.owner else (),
        summary=f"{path} was taken, but it needs a look: {known.findings[0]}",
        notes=(
            *known.findings[1:],
            "correct it where it lies; `ackd validate` with its path checks it",
            "you are told this once",
        ),
        ends=ends,
    )
    return Change(changed, note)


def content_digest(document: object, data: bytes) -> tuple[str, Any]:
    """Give the digest of a content, and the content itself where it is short enough to keep."""
    try:
        plain = canonical(document)
    except InvalidError:
        return hashlib.sha256(data).hexdigest(), None
    return hashlib.sha256(plain).hexdigest(), document if len(plain) <= _CONTENT else None


def take(
    before: Followed | None, kind: str, document: Any, data: bytes, *, path: str, now: int, rules: Policy
) -> Change:
    """Take new, valid content of a file.

    Args:
        before: What was known of the file, or None.
        kind: One of `FOLLOWED`.
        document: The content.
        data: Its bytes.
        path: Where it lies.
        now: The node's wall clock, milliseconds.
        rules: The team's rules.
    """
    known = before or Followed(kind=kind)
    digest, content = content_digest(document, data)
    writer, state = _writer(kind, document), _state(document)
    fresh = freshness(kind, document, now, rules.zone, read_ms=now)
    since = fresh.as_of_ms
    if known.digest and known.state == state:
        since = known.state_since
    elif known.digest and fresh.as_of_ms is not None and fresh.as_of_ms <= known.read_at:
        since = now  # It changed after we last read it, whatever it says.
    if kind == TASK:
        fresh = freshness(kind, document, now, rules.zone, read_ms=now, state_since_ms=since)
    new = Followed(
        kind=kind,
        sha256=hashlib.sha256(data).hexdigest(),
        digest=digest,
        content=content,
        owner=owner_of(kind, document, path, rules.roster),
        writer=writer,
        state=state,
        state_since=since,
        read_at=now,
        as_of=fresh.as_of_ms,
        claimed=fresh.claimed_ms,
        stale_at=fresh.stale_at_ms,
        from_future=fresh.from_future,
        odd=fresh.note if fresh.from_future or fresh.claimed_ms is None else "",
        findings=findings_in(kind, document, rules),
        findings_step=known.findings_step,
        past=(*known.past, Past(digest, writer, now))[-_MOST_PAST:],
    )
    new, ends = _staleness(known, new, fresh)
    return _flagged(known, new, _quarrel(known, new, now), ends, path)


def take_copy(before: Followed | None, kind: str, copy: Other, owner: str, *, path: str, now: int) -> Change | None:
    """Take the conflict copy that a sync tool laid beside a file; None where it says nothing that is not known."""
    known = before or Followed(kind=kind, owner=owner)
    if copy.digest in (known.digest, known.other.digest if known.other is not None else ""):
        return None
    why = f"a sync tool laid a conflict copy beside it, {shown(copy.path, 120)}: two wrote it at the same time"
    step = known.flag_step or f"writers-{copy.digest[:16]}"
    now_known = msgspec.structs.replace(known, other=copy, flag=why, flag_at=now, flag_step=step)
    if known.flag_step:
        return Change(now_known)
    return Change(now_known, _flag_note(step, path, why, (known.owner, owner), ()))


def settle(known: Followed, now: int) -> Change:
    """Take the flag from a file: its conflict copy is gone."""
    free = msgspec.structs.replace(known, other=None, flag="", flag_at=0, flag_step="")
    return Change(free, _end_note((known.flag_step,), known.digest, now))


def due(known: Followed, rules: Policy) -> int | None:
    """Give when somebody is to be told next that a file is stale, milliseconds, or None."""
    if known.stale_at is None or known.ruled:
        return None
    if not known.stale_steps:
        return known.stale_at
    return known.asked_at + rules.times(known.owner).escalation if known.kind == TASK else None


def remind(known: Followed, path: str, now: int, rules: Policy) -> Change | None:
    """Tell the owner of a stale file, once for its content; of a task without change, later the first arbiter, once."""
    at = due(known, rules)
    if at is None or now < at:
        return None
    assert known.stale_at is not None
    if not known.stale_steps:
        step = f"stale-{_stale_key(known)}"
        note = Note(
            step=step,
            agents=(known.owner,) if known.owner else (),
            summary=stale_text(known, path),
            notes=(f"{_ANEW[known.kind]}; until then others are shown that it is stale", "you are told this once"),
        )
        return Change(msgspec.structs.replace(known, stale_steps=(step,), asked_at=now), note)
    step = f"{known.stale_steps[0]}-arbiter"
    arbiter = next((name for name in rules.roster.arbiters if name != known.owner), "")
    told = f"{known.owner} was told at {when(known.asked_at)}" if known.owner else "it has no owner on the roster"
    note = Note(
        step=step,
        agents=(arbiter,) if arbiter else (),
        summary=stale_text(known, path),
        notes=(f"{told}, and nothing has changed since: ask whether it still runs, or give it to another",),
    )
    return Change(msgspec.structs.replace(known, stale_steps=(*known.stale_steps, step), ruled=True), note)


def stale_text(known: Followed, path: str) -> str:
    """Say that a file is stale, in a sentence; for one whose `stale_at` is set."""
    at = when(known.stale_at) if known.stale_at is not None else "?"
    if known.kind == TASK:
        since = f" since {when(known.state_since)}" if known.state_since is not None else ""
        return f"the task in {path} has been {shown(known.state, 40)} without a change{since}"
    from_when = f"; it is from {when(known.as_of)}" if known.as_of is not None and not known.from_future else ""
    return f"{path} is stale since {at}{from_when}"


def _staleness(known: Followed, new: Followed, fresh: Freshness) -> tuple[Followed, tuple[str, ...]]:
    """Carry on what was told of a task whose state has not changed; all else ends with new content."""
    if new.kind == TASK and fresh.is_stale and known.stale_steps and known.state == new.state:
        carried = msgspec.structs.replace(
            new, stale_steps=known.stale_steps, asked_at=known.asked_at, ruled=known.ruled
        )
        return carried, ()
    return new, known.stale_steps


def _quarrel(known: Followed, new: Followed, now: int) -> str:
    """Say what shows that two write the file, or give an empty string."""
    recent = [one for one in known.past if now - one.at <= WINDOW_MS]
    if not recent:
        return ""
    trusted = not (known.from_future or new.from_future) and new.kind != RADAR
    if trusted and known.claimed is not None and new.claimed is not None and new.claimed < known.claimed:
        return f"content from {when(new.claimed)} was written over newer content from {when(known.claimed)}"
    if new.writer and new.writer != known.writer and any(one.writer == new.writer for one in recent):
        return f"two write it by turns: {shown(known.writer, 60)} and {shown(new.writer, 60)}"
    quick = [one.digest for one in recent if now - one.at <= _QUICK_MS]
    to_and_fro = len(quick) >= 3 and quick[-3] == quick[-1] and quick[-2] == new.digest
    if to_and_fro and quick[-1] != new.digest and _differs(known.content, new.content):
        return "its content goes back and forth between two texts"
    return ""


def _differs(one: Any, other: Any) -> bool:
    """Tell whether two contents differ in more than what one writer may well set to and fro."""
    if not isinstance(one, dict) or not isinstance(other, dict):
        return True
    return any(one.get(key) != other.get(key) for key in one.keys() | other.keys() if key not in _MOVING)


def _flagged(known: Followed, new: Followed, why: str, ends: tuple[str, ...], path: str) -> Change:
    """Flag new content, keep the flag that was there, or take it away after a time without a sign."""
    if why:
        other = Other(digest=known.digest, content=known.content, at=known.read_at)
        step = known.flag_step or f"writers-{new.digest[:8]}{known.digest[:8]}"
        new = msgspec.structs.replace(new, other=other, flag=why, flag_at=new.read_at, flag_step=step)
        if not known.flag_step:
            return Change(new, _flag_note(step, path, why, (known.owner, new.owner), ends))
    elif known.flag and new.read_at - known.flag_at <= WINDOW_MS:
        new = msgspec.structs.replace(
            new, other=known.other, flag=known.flag, flag_at=known.flag_at, flag_step=known.flag_step
        )
    elif known.flag_step:
        ends = (*ends, known.flag_step)
    return Change(new, _end_note(ends, new.digest, new.read_at))


def _flag_note(step: str, path: str, why: str, agents: tuple[str, ...], ends: tuple[str, ...]) -> Note:
    return Note(
        step=step,
        agents=tuple(dict.fromkeys(name for name in agents if name)),
        summary=f"{path} seems to have two writers: {why}",
        notes=(
            (
                "what was read last counts, the other text is kept; let one alone write this file, and if an old copy "
                "came back (a checkout, say) write it anew"
            ),
            "you are told this once",
        ),
        ends=ends,
    )


def _end_note(ends: tuple[str, ...], digest: str, now: int) -> Note | None:
    return Note(step=f"fresh-{now:x}-{digest[:8]}", ends=ends) if ends else None


def _stale_key(known: Followed) -> str:
    """Name what is told once: the content, or for a task its state since it has it."""
    if known.kind != TASK:
        return known.digest[:16]
    return hashlib.sha256(f"{known.state}\n{known.state_since}".encode("utf-8", "surrogatepass")).hexdigest()[:16]


def _writer(kind: str, document: object) -> str:
    if not isinstance(document, dict):
        return ""
    named = [document[key] for key in _WRITERS.get(kind, ()) if isinstance(document.get(key), str)]
    return " ".join(one[:200] for one in named)


def _state(document: object) -> str:
    state = document.get("state") if isinstance(document, dict) else None
    return state if isinstance(state, str) else ""
