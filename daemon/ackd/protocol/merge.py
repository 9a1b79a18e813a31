"""The merge: what each recorded verdict, delivery and timer does to a thread, one entry after the other.

`fold` puts the entries into their order and decides which admission of a message counts; here each one is carried
out. Nothing is judged: the verdicts and their basis are taken as they were recorded.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from msgspec.structs import replace

from ackd.protocol.entry import ATTEMPTED, DELIVERED, JUDGED, OUTCOME, PURGED, TIMER, Entry
from ackd.protocol.sends import Send, add_send
from ackd.protocol.table import CONFIRMED, FINAL, REQUEST, UNKNOWN
from ackd.protocol.thread import Cancelling, Done, Duty, Handoff, Message, Question, Tell, Thread

_SILENT = frozenset({"no-reply", "duplicate", "refused"})


class Merge:
    """The thread while it grows: entries in their order in, the thread out; one method for what each verdict does."""

    def __init__(self, thread_id: str) -> None:
        self.id = thread_id
        self.messages: dict[str, Message] = {}
        self.duties: dict[str, Duty] = {}
        self.questions: dict[str, Question] = {}
        self.handoffs: dict[str, Handoff] = {}
        self.done: dict[str, Done] = {}
        self.sends: dict[str, Send] = {}
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
        """Take the next entry, which is later than all before it."""
        if entry.kind == JUDGED:
            self._judged(entry)
        elif entry.kind == DELIVERED:
            self._delivered(entry)
        elif entry.kind == TIMER:
            self._timer(entry)
        elif entry.kind in (ATTEMPTED, OUTCOME):
            add_send(self.sends, entry)
        elif entry.kind == PURGED:
            self._purged(entry)

    def _judged(self, entry: Entry) -> None:
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

    def _delivered(self, entry: Entry) -> None:
        done = _done(entry)
        for one in entry.body["ids"]:
            self.done.setdefault(one, done)

    def _timer(self, entry: Entry) -> None:
        name, digest = entry.body["name"], entry.body.get("digest", "")
        if self.timers.setdefault(entry.body["id"], entry.key) != entry.key:
            return
        if name == "clarify" and digest in self.questions:
            self.questions[digest] = replace(self.questions[digest], timed_out=entry.key)
        elif name == "handoff" and digest in self.handoffs and self.handoffs[digest].outcome == "pending":
            self.handoffs[digest] = replace(self.handoffs[digest], outcome="lapsed")
        elif name in ("cancel", "broadcast"):
            self.ends.append((name, entry.key))

    def _purged(self, entry: Entry) -> None:
        """End a thread whose request says nothing any more: nobody can do what was removed."""
        text = self.messages.get(self.request.digest) if self.request is not None else None
        for _ in self.messages:
            if text is None or not text.revised_by:
                break
            text = self.messages.get(text.revised_by)
        if text is not None and text.digest in entry.body.get("digests", ()):
            self.ends.append(("cancel", entry.key))

    # What a verdict does.

    def _opened(self, message: Message) -> None:
        if self.request is not None:
            # Two nodes opened it before they met: the earlier stands, the later adds whom it asked.
            self.messages[self.request.digest] = replace(self.request, revised_by=message.digest)
            self._add_duties(message, message.basis["assignees"])
            return
        self.request = message
        self.opening = message.basis
        self.unknown.update(dict.fromkeys(message.basis.get("unknown", ())))
        self._add_duties(message, message.basis["assignees"])
        dri = message.basis["dri"]
        self._claim(message, dri, self.duties[dri].start, rank=-1)
        self.is_confirmed = dri == message.sender

    def _add_duties(self, message: Message, agents: Iterable[str]) -> None:
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

    def _claim(self, message: Message, dri: str, start: str, *, rank: int) -> None:
        epoch = int(message.basis.get("dri_epoch", 0))
        self.claims.append(_Claim(epoch, self.position, rank, dri, start))

    def _revision(self, message: Message) -> None:
        target = self.messages.get(message.basis.get("revises", ""))
        seen = set()
        while target is not None and target.revised_by and target.digest not in seen:
            seen.add(target.digest)
            target = self.messages.get(target.revised_by)
        if target is not None and target.digest != message.digest:
            self.messages[target.digest] = replace(target, revised_by=message.digest)
        self._add_duties(message, message.basis.get("added", ()))
        self.unknown.update(dict.fromkeys(message.basis.get("unknown", ())))

    def _confirmed(self, message: Message) -> None:
        duty = self.duties.get(message.sender)
        if duty is not None:
            self.duties[duty.agent] = replace(duty, confirmed=message.digest, settled=True, declined="")
        self.is_confirmed = self.is_confirmed or bool(message.basis.get("by_dri"))
        if message.basis.get("ends"):
            self.ends.append((message.basis["ends"], message.key))

    def _accepted(self, message: Message) -> None:
        handoff = self.handoffs.get(message.basis["accepts"])
        if handoff is None:
            return
        self.handoffs[handoff.digest] = replace(handoff, outcome="accepted")
        start = f"entry:{message.key}"
        duty = self.duties.get(message.sender) or Duty(agent=message.sender, start=start, message=handoff.digest)
        self.duties[message.sender] = replace(duty, confirmed=message.digest, settled=True, declined="", handed_to="")
        self._hand_over(handoff.owner, message.sender)
        if message.basis.get("by_dri"):
            self._claim(message, message.sender, start, rank=-1)
            self.is_confirmed = True

    def _hand_over(self, owner: str, to: str) -> None:
        if owner in self.duties and owner != to:
            self.duties[owner] = replace(self.duties[owner], handed_to=to)

    def _declined(self, message: Message) -> None:
        ended = self.handoffs.get(message.basis.get("declines", ""))
        if ended is not None:
            if ended.outcome == "pending":
                self.handoffs[ended.digest] = replace(ended, outcome="declined")
        elif message.sender in self.duties:
            self.duties[message.sender] = replace(self.duties[message.sender], declined=message.digest)

    def _clarified(self, message: Message) -> None:
        self.questions[message.digest] = Question(
            digest=message.digest, identity=message.identity, asker=message.sender, key=message.key
        )

    def _answered(self, message: Message) -> None:
        for digest in message.basis["answers"]:
            question = self.questions.get(digest)
            if question is not None and not question.answered:
                self.questions[digest] = replace(question, answered=message.key)

    def _handed_off(self, message: Message) -> None:
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

    def _supplement(self, message: Message) -> None:
        duty = self.duties.get(message.sender)
        if duty is not None:
            self.duties[duty.agent] = replace(duty, settled=True)

    def _closed(self, message: Message) -> None:
        self.closings.append((-int(message.basis.get("dri_epoch", 0)), self.position, message.digest))
        self.ends.append(("final", message.key))

    def _cancel(self, message: Message) -> None:
        if message.basis.get("ends"):
            self.ends.append(("cancel", message.key))
        elif self.cancelling is None:
            self.cancelling = Cancelling(message.sender, message.key)

    def _ruled(self, message: Message) -> None:
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
            self._hand_over(old, dri)
            self._claim(message, dri, start, rank=int(message.basis["rank"]))
        elif ruling in ("cancel", "close", "pick") and not message.after_end:
            self.ends.append(("cancel" if ruling == "cancel" else "ruling", message.key))

    def _broadcast(self, message: Message) -> None:
        self.request = message
        self.opening = message.basis

    # What it all comes to.

    def result(self) -> Thread:
        """Give the thread of all entries so far."""
        dri = _claim_in_force(self.claims)
        ended_by, ended_key = self._end()
        picked = _ruling_in_force([ruling for ruling in self.rulings if ruling.kind == "pick"])
        closing = min(self.closings, default=None)
        final = picked.message.basis["pick"] if picked else closing[2] if closing else ""
        extended = [ruling for ruling in self.rulings if ruling.kind == "extend"]
        extension = _ruling_in_force(extended)
        return Thread(
            id=self.id,
            phase=self._phase(ended_by),
            request=self.request.digest if self.request else "",
            requester=self.request.sender if self.request else "",
            dri=dri.dri if dri else "",
            dri_epoch=dri.epoch if dri else 0,
            dri_start=dri.start if dri else "",
            dri_by_ruling=dri is not None and dri.rank >= 0,
            duties=dict(self.duties),
            unknown=tuple(self.unknown),
            deadline_ms=extension.message.basis.get("deadline_ms") if extension else self._deadline(),
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
            sends=dict(self.sends),
            timers=dict(self.timers),
            signs=dict(sorted(self.signs.items())),
            children=tuple(self.children),
        )

    def _phase(self, ended_by: str) -> str:
        if ended_by:
            return FINAL
        if self.request is None:
            return UNKNOWN
        return CONFIRMED if self.is_confirmed else REQUEST

    def _end(self) -> tuple[str, str]:
        """Give how the thread ended: a final outweighs whatever else ended it elsewhere at the same time."""
        finals = [end for end in self.ends if end[0] == "final"]
        return (finals or self.ends or [("", "")])[0]

    def _deadline(self) -> int | None:
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
    "opened": Merge._opened,
    "revision": Merge._revision,
    "confirmed": Merge._confirmed,
    "accepted": Merge._accepted,
    "declined": Merge._declined,
    "clarified": Merge._clarified,
    "answered": Merge._answered,
    "handed-off": Merge._handed_off,
    "supplement": Merge._supplement,
    "closed": Merge._closed,
    "cancelling": Merge._cancel,
    "ruled": Merge._ruled,
    "broadcast": Merge._broadcast,
}

EFFECTIVE = frozenset(_EFFECTS)
"""Verdicts that do something to a thread beyond being listed in it."""


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
