"""The fold: recorded entries in, one thread out; any order, any number of copies, the same thread (R7).

It only merges what was recorded: no clock, no files, no configuration. Entries are put into their total order first,
so that whoever folds the same set gets the same bytes.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from msgspec.structs import replace

from ackd.protocol.clock import Stamp
from ackd.protocol.entry import DELIVERED, JUDGED, TIMER, Entry
from ackd.protocol.table import CONFIRMED, FINAL, REQUEST, UNKNOWN
from ackd.protocol.thread import Cancelling, Done, Duty, Handoff, Message, Question, Tell, Thread

_STRENGTH = {"duplicate": -1, "held": 1, "refused": 2, "weak": 3}
_UNKNOWN_SENDER = 0
_EFFECTIVE = 4
_SILENT = frozenset({"no-reply", "duplicate", "refused"})


def strength(verdict: str, row: str = "") -> int:
    """Give how strong a verdict is: of two admissions of one message the stronger counts.

    What was held may be refused when its request comes; what was refused because nobody knew its author may be held
    once the roster has it.
    """
    if row == "stranger":
        return _UNKNOWN_SENDER
    return _STRENGTH.get(verdict, _EFFECTIVE)


def fold(thread_id: str, entries: Iterable[Entry]) -> Thread:
    """Merge the entries of one thread.

    Args:
        thread_id: The thread's id; entries of other threads must not be among them.
        entries: In any order, with any number of copies.

    Returns:
        The thread; equal for equal sets of entries.
    """
    return Folding(thread_id, entries).thread


class Folding:
    """A fold that grows: the thread of all entries so far.

    An entry that is later than all others is merged into what is there, also where it says more of a message that was
    held or weak; any other makes the fold begin anew. Either way the thread is the same as that of `fold` over all of
    them.

    Args:
        thread_id: The thread's id.
        entries: Entries to begin with, in any order, with any number of copies.
    """

    def __init__(self, thread_id: str, entries: Iterable[Entry] = ()) -> None:
        self._id = thread_id
        self._entries = {entry.key: entry for entry in entries}
        self._admissions: dict[str, list[Entry]] = {}
        self._merge: _Merge | None = None
        self._last: Entry | None = None
        self._thread: Thread | None = None

    @property
    def thread(self) -> Thread:
        """The thread of all entries so far."""
        if self._thread is None:
            if self._merge is None:
                self._begin()
            assert self._merge is not None
            self._thread = self._merge.result()
        return self._thread

    def add(self, entry: Entry) -> None:
        """Merge one more entry."""
        if entry.key in self._entries:
            return
        self._entries[entry.key] = entry
        merge, last, thread = self._merge, self._last, self._thread
        if merge is None:
            self._thread = None
            return
        is_again = entry.kind == JUDGED and entry.body["digest"] in merge.messages
        is_late = last is not None and entry.order <= last.order
        if is_late or (is_again and not self._withdraw(entry, merge)):
            self._merge = self._thread = None
            return
        self._last = entry
        if entry.kind == JUDGED:
            several = self._admissions.setdefault(entry.body["digest"], [])
            several.append(entry)
            merge.add(_united(entry, several) if is_again else entry)
        else:
            merge.add(entry)
        if entry.kind == DELIVERED and thread is not None:
            self._thread = replace(thread, done=dict(merge.done))
        else:
            self._thread = None

    def _withdraw(self, entry: Entry, merge: _Merge) -> bool:
        """Take a message back for a later admission; False where anything rests on the one that counted."""
        digest = entry.body["digest"]
        message = merge.messages[digest]
        is_stronger = all(_strength_of(one) < _strength_of(entry) for one in self._admissions[digest])
        if not is_stronger or message.verdict in _EFFECTS or message.revised_by:
            return False
        merge.withdraw(message)
        return True

    def _begin(self) -> None:
        self._admissions = {}
        for entry in sorted(self._entries.values(), key=_order_of):
            if entry.kind == JUDGED:
                self._admissions.setdefault(entry.body["digest"], []).append(entry)
        self._merge = _Merge(self._id)
        ordered = _in_order(self._entries.values())
        for entry in ordered:
            self._merge.add(entry)
        self._last = max(self._entries.values(), key=_order_of, default=None)


def _order_of(entry: Entry) -> tuple[Stamp, str, str, int]:
    return entry.order


def _done(entry: Entry) -> Done:
    body = entry.body
    return Done(
        key=entry.key,
        stamp=entry.stamp,
        agent=body["agent"],
        kind=body["kind"],
        path=body["path"],
        sha256=body["sha256"],
        facts=body.get("facts", {}),
    )


def _in_order(entries: Iterable[Entry]) -> list[Entry]:
    """Give the entries, in the total order; of several admissions of one message only the one that counts."""
    unique = sorted(entries, key=_order_of)
    if sum(entry.kind == JUDGED for entry in unique) < 2:
        return unique
    admissions: dict[str, list[Entry]] = {}
    for entry in unique:
        if entry.kind == JUDGED:
            admissions.setdefault(entry.body["digest"], []).append(entry)
    counts = {digest: max(several, key=_strength_of) for digest, several in admissions.items()}
    kept = []
    for entry in unique:
        if entry.kind == JUDGED:
            several = admissions[entry.body["digest"]]
            if counts[entry.body["digest"]] is not entry:
                continue
            if len(several) > 1:
                entry = _united(entry, several)
        kept.append(entry)
    return kept


def _strength_of(entry: Entry) -> int:
    return strength(entry.body["verdict"], entry.body["row"])


def _united(entry: Entry, several: list[Entry]) -> Entry:
    """Give the admission that counts with everybody whom any admission told: nobody who was asked is un-asked."""
    told = {(agent, kind): None for one in several for agent, kind in one.body["told"]}
    notes = {note: None for one in several for note in one.body.get("notes", ())}
    again = (one for one in several if one is not entry and one.body["verdict"] == "duplicate")
    notes.update({one.body["because"]: None for one in again if one.body.get("because")})
    return replace(entry, body={**entry.body, "told": [list(pair) for pair in told], "notes": list(notes)})


class _Merge:
    """The thread while it grows; every method takes one entry."""

    def __init__(self, thread_id: str) -> None:
        self.id = thread_id
        self.messages: dict[str, Message] = {}
        self.duties: dict[str, Duty] = {}
        self.questions: dict[str, Question] = {}
        self.handoffs: dict[str, Handoff] = {}
        self.done: dict[str, Done] = {}
        self.timers: dict[str, str] = {}
        self.signs: dict[str, Any] = {}
        self.claims: list[_Claim] = []
        self.rulings: list[_Ruling] = []
        self.closings: list[tuple[int, int, str]] = []
        self.finals: list[str] = []
        self.ends: list[tuple[str, str]] = []
        self.children: dict[str, None] = {}
        self.unknown: dict[str, None] = {}
        self.cancelling: Cancelling | None = None
        self.request: Message | None = None
        self.opening: dict[str, Any] = {}
        self.is_confirmed = False
        self.position = 0

    def add(self, entry: Entry) -> None:
        if entry.kind == JUDGED:
            self.judged(entry)
        elif entry.kind == DELIVERED:
            self.delivered(entry)
        elif entry.kind == TIMER:
            self.timer(entry)

    def judged(self, entry: Entry) -> None:
        body = entry.body
        self.position += 1
        message = Message(
            key=entry.key,
            digest=body["digest"],
            identity=body["identity"],
            type=body["type"],
            sender=body["from"],
            verdict=body["verdict"],
            row=body["row"],
            because=body.get("because", ""),
            told=tuple(Tell(agent, kind) for agent, kind in body["told"]),
            notes=tuple(body.get("notes", ())),
            path=body["path"],
            content=body["message"],
            basis=body["basis"],
            stamp=entry.stamp,
            after_end=bool(body["basis"].get("after_end")),
        )
        self.messages[message.digest] = message
        if message.verdict not in _SILENT:
            self.signs[message.sender] = (entry.stamp, entry.key)
        if message.type == "final" and message.verdict != "refused":
            self.finals.append(message.digest)
        effect = _EFFECTS.get(message.verdict)
        if effect is not None:
            effect(self, message)

    def withdraw(self, message: Message) -> None:
        """Undo `judged` for a message whose verdict did nothing yet."""
        del self.messages[message.digest]
        if message.digest in self.finals:
            self.finals.remove(message.digest)
        if self.signs.get(message.sender) == (message.stamp, message.key):
            del self.signs[message.sender]
            for other in reversed(self.messages.values()):
                if other.sender == message.sender and other.verdict not in _SILENT:
                    self.signs[message.sender] = (other.stamp, other.key)
                    break

    def delivered(self, entry: Entry) -> None:
        done = _done(entry)
        for one in entry.body["ids"]:
            self.done.setdefault(one, done)

    def timer(self, entry: Entry) -> None:
        name, digest = entry.body["name"], entry.body.get("digest", "")
        if self.timers.setdefault(entry.body["id"], entry.key) != entry.key:
            return
        if name == "clarify" and digest in self.questions:
            self.questions[digest] = replace(self.questions[digest], timed_out=entry.key)
        elif name == "handoff" and digest in self.handoffs and self.handoffs[digest].outcome == "pending":
            self.handoffs[digest] = replace(self.handoffs[digest], outcome="lapsed")
        elif name in ("cancel", "broadcast"):
            self.ends.append((name, entry.key))

    # What a verdict does.

    def opened(self, message: Message) -> None:
        if self.request is not None:
            # Two nodes opened it before they met: the earlier stands, the later adds whom it asked.
            self.messages[self.request.digest] = replace(self.request, revised_by=message.digest)
            self.add_duties(message, message.basis["assignees"])
            return
        self.request = message
        self.opening = message.basis
        self.unknown.update(dict.fromkeys(message.basis.get("unknown", ())))
        self.add_duties(message, message.basis["assignees"])
        dri = message.basis["dri"]
        self.claim(message, dri, self.duties[dri].start, rank=-1)
        self.is_confirmed = dri == message.sender

    def add_duties(self, message: Message, agents: Iterable[str]) -> None:
        # A notice or a collision asks for nothing: no time runs from it.
        kinds = {tell.agent: tell.kind for tell in message.told if tell.kind in ("request", "handoff")}
        for agent in agents:
            if agent in self.duties:
                continue
            kind = kinds.get(agent)
            start = f"{kind}:{self.id}:{agent}:{message.step}" if kind else f"entry:{message.key}"
            # Who asks itself has confirmed by asking.
            own = agent == message.sender and kind is None
            self.duties[agent] = Duty(agent=agent, start=start, message=message.digest, settled=own)

    def claim(self, message: Message, dri: str, start: str, *, rank: int) -> None:
        epoch = int(message.basis.get("dri_epoch", 0))
        self.claims.append(_Claim(epoch, self.position, rank, dri, start))

    def revision(self, message: Message) -> None:
        target = self.messages.get(message.basis.get("revises", ""))
        seen = set()
        while target is not None and target.revised_by and target.digest not in seen:
            seen.add(target.digest)
            target = self.messages.get(target.revised_by)
        if target is not None and target.digest != message.digest:
            self.messages[target.digest] = replace(target, revised_by=message.digest)
        self.add_duties(message, message.basis.get("added", ()))
        self.unknown.update(dict.fromkeys(message.basis.get("unknown", ())))

    def confirmed(self, message: Message) -> None:
        duty = self.duties.get(message.sender)
        if duty is not None:
            self.duties[duty.agent] = replace(duty, confirmed=message.digest, settled=True, declined="")
        self.is_confirmed = self.is_confirmed or bool(message.basis.get("by_dri"))
        if message.basis.get("ends"):
            self.ends.append((message.basis["ends"], message.key))

    def accepted(self, message: Message) -> None:
        handoff = self.handoffs.get(message.basis["accepts"])
        if handoff is None:
            return
        self.handoffs[handoff.digest] = replace(handoff, outcome="accepted")
        start = f"entry:{message.key}"
        duty = self.duties.get(message.sender) or Duty(agent=message.sender, start=start, message=handoff.digest)
        self.duties[message.sender] = replace(duty, confirmed=message.digest, settled=True, declined="", handed_to="")
        self.hand_over(handoff.owner, message.sender)
        if message.basis.get("by_dri"):
            self.claim(message, message.sender, start, rank=-1)
            self.is_confirmed = True

    def hand_over(self, owner: str, to: str) -> None:
        if owner in self.duties and owner != to:
            self.duties[owner] = replace(self.duties[owner], handed_to=to)

    def declined(self, message: Message) -> None:
        ended = self.handoffs.get(message.basis.get("declines", ""))
        if ended is not None:
            if ended.outcome == "pending":
                self.handoffs[ended.digest] = replace(ended, outcome="declined")
        elif message.sender in self.duties:
            self.duties[message.sender] = replace(self.duties[message.sender], declined=message.digest)

    def clarified(self, message: Message) -> None:
        self.questions[message.digest] = Question(
            digest=message.digest, identity=message.identity, asker=message.sender, key=message.key
        )

    def answered(self, message: Message) -> None:
        for digest in message.basis["answers"]:
            question = self.questions.get(digest)
            if question is not None and not question.answered:
                self.questions[digest] = replace(question, answered=message.key)

    def handed_off(self, message: Message) -> None:
        if message.basis.get("child"):
            self.children[message.basis["child"]] = None
            return
        for other in list(self.handoffs.values()):
            if other.owner == message.sender and other.outcome == "pending":
                self.handoffs[other.digest] = replace(other, outcome="replaced")
        self.handoffs[message.digest] = Handoff(
            digest=message.digest,
            identity=message.identity,
            owner=message.sender,
            target=message.basis["target"],
            key=message.key,
        )

    def supplement(self, message: Message) -> None:
        duty = self.duties.get(message.sender)
        if duty is not None:
            self.duties[duty.agent] = replace(duty, settled=True)

    def closed(self, message: Message) -> None:
        self.closings.append((-int(message.basis.get("dri_epoch", 0)), self.position, message.digest))
        self.ends.append(("final", message.key))

    def cancel(self, message: Message) -> None:
        if message.basis.get("ends"):
            self.ends.append(("cancel", message.key))
        elif self.cancelling is None:
            self.cancelling = Cancelling(message.sender, message.key)

    def ruled(self, message: Message) -> None:
        ruling = message.basis["ruling"]
        self.rulings.append(_Ruling(ruling, int(message.basis["rank"]), self.position, message))
        if ruling == "dri":
            dri = message.basis["new_dri"]
            kinds = {tell.agent: tell.kind for tell in message.told}
            start = f"ruling:{self.id}:{dri}:{message.step}" if dri in kinds else f"entry:{message.key}"
            old = message.basis.get("dri", "")
            self.duties[dri] = Duty(
                agent=dri, start=start, message=self.request.digest if self.request else "", settled=dri not in kinds
            )
            self.hand_over(old, dri)
            self.claim(message, dri, start, rank=int(message.basis["rank"]))
        elif ruling in ("cancel", "close", "pick") and not message.after_end:
            self.ends.append(("cancel" if ruling == "cancel" else "ruling", message.key))

    def broadcast(self, message: Message) -> None:
        self.request = message
        self.opening = message.basis

    # What it all comes to.

    def result(self) -> Thread:
        dri = _claim_in_force(self.claims)
        ended_by, ended_key = self.end()
        picked = _ruling_in_force([ruling for ruling in self.rulings if ruling.kind == "pick"])
        closing = min(self.closings, default=None)
        final = picked.message.basis["pick"] if picked else closing[2] if closing else ""
        extended = [ruling for ruling in self.rulings if ruling.kind == "extend"]
        extension = _ruling_in_force(extended)
        return Thread(
            id=self.id,
            phase=self.phase(ended_by),
            request=self.request.digest if self.request else "",
            requester=self.request.sender if self.request else "",
            dri=dri.dri if dri else "",
            dri_epoch=dri.epoch if dri else 0,
            dri_start=dri.start if dri else "",
            dri_by_ruling=dri is not None and dri.rank >= 0,
            duties=dict(self.duties),
            unknown=tuple(self.unknown),
            deadline_ms=extension.message.basis.get("deadline_ms") if extension else self.deadline(),
            extensions=len(extended),
            folder=self.opening.get("folder", ""),
            parent=self.opening.get("parent", ""),
            chain=tuple(self.opening.get("chain", ())),
            depth=int(self.opening.get("depth", 1)),
            questions=tuple(self.questions.values()),
            handoffs=tuple(self.handoffs.values()),
            cancelling=None if ended_by else self.cancelling,
            final=final,
            finals=tuple(self.finals),
            ended_by=ended_by,
            ended_key=ended_key,
            rulings=tuple(ruling.message.digest for ruling in self.rulings),
            is_broadcast=self.request is not None and self.request.verdict == "broadcast",
            messages=tuple(self.messages.values()),
            done=dict(self.done),
            timers=dict(self.timers),
            signs=dict(sorted(self.signs.items())),
            children=tuple(self.children),
        )

    def phase(self, ended_by: str) -> str:
        if ended_by:
            return FINAL
        if self.request is None:
            return UNKNOWN
        return CONFIRMED if self.is_confirmed else REQUEST

    def end(self) -> tuple[str, str]:
        """Give how the thread ended: a final outweighs whatever else ended it elsewhere at the same time."""
        finals = [end for end in self.ends if end[0] == "final"]
        return (finals or self.ends or [("", "")])[0]

    def deadline(self) -> int | None:
        """Give the deadline of the request's text in force; an amend that says nothing of it leaves it."""
        message = self.messages.get(self.request.digest) if self.request else None
        value: int | None = None
        seen: set[str] = set()
        while message is not None and message.digest not in seen:
            seen.add(message.digest)
            if not message.basis.get("keeps_deadline"):
                value = message.basis.get("deadline_ms")
            message = self.messages.get(message.revised_by) if message.revised_by else None
        return value


class _Claim:
    """Somebody's claim to be the DRI; `rank` is that of the ruling behind it, or -1."""

    def __init__(self, epoch: int, position: int, rank: int, dri: str, start: str) -> None:
        self.epoch, self.position, self.rank, self.dri, self.start = epoch, position, rank, dri, start


class _Ruling:
    def __init__(self, kind: str, rank: int, position: int, message: Message) -> None:
        self.kind, self.rank, self.position, self.message = kind, rank, position, message


def _claim_in_force(claims: list[_Claim]) -> _Claim | None:
    """Give the claim with the highest epoch; of rival rulings the higher rank, then whatever came earlier."""
    if len(claims) < 2:
        return claims[0] if claims else None
    top = max((claim.epoch for claim in claims), default=0)
    rivals = [claim for claim in claims if claim.epoch == top]
    by_ruling = min(
        (claim for claim in rivals if claim.rank >= 0), key=lambda one: (one.rank, one.position), default=None
    )
    rest = [claim for claim in rivals if claim.rank < 0 or claim is by_ruling]
    return min(rest, key=lambda one: one.position, default=None)


def _ruling_in_force(rulings: list[_Ruling]) -> _Ruling | None:
    """Give the ruling that counts: one that saw another replaces it; rivals by rank, then the earlier."""
    if not rulings:
        return None
    replaced = {digest for ruling in rulings for digest in ruling.message.basis.get("saw_rulings", ())}
    return min(
        (ruling for ruling in rulings if ruling.message.digest not in replaced),
        key=lambda ruling: (ruling.rank, ruling.position),
        default=None,
    )


_EFFECTS = {
    "opened": _Merge.opened,
    "revision": _Merge.revision,
    "confirmed": _Merge.confirmed,
    "accepted": _Merge.accepted,
    "declined": _Merge.declined,
    "clarified": _Merge.clarified,
    "answered": _Merge.answered,
    "handed-off": _Merge.handed_off,
    "supplement": _Merge.supplement,
    "closed": _Merge.closed,
    "cancelling": _Merge.cancel,
    "ruled": _Merge.ruled,
    "broadcast": _Merge.broadcast,
}
