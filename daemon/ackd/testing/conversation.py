"""A conversation in memory: drop messages, let time go by, look at who is told what.

It runs the same core as the daemon (routing, judging, folding, obligations) on a clock that is set by hand, and records
verdicts, deliveries and timers as entries, as a node would. No file, process or socket is involved.

    talk = Conversation(Policy(roster=make_roster([Agent(name="zoe"), Agent(name="macro")], arbiters=["zoe"])))
    talk.drop({"state": "request", "ack_id": "oil-v1", "from": "zoe", "to": "macro", "action": "Say what oil does"})
    talk.advance()              # the request lies in macro's inbox
    talk.advance(5 * MINUTE)    # macro is reminded

`say` is a shorter `drop`: `talk.say("macro", "confirmed", conclusion="Up")`.
"""

from __future__ import annotations

import hashlib
from typing import Any

import msgspec

from ackd.protocol.clock import ZERO, Stamp, tick
from ackd.protocol.drop import Drop
from ackd.protocol.entry import DELIVERED, JUDGED, TIMER, Entry, make_entry
from ackd.protocol.envelope import STATES, Envelope, read_envelope
from ackd.protocol.fold import fold
from ackd.protocol.ids import bare_key, name_key
from ackd.protocol.judge import Verdict, could_rise, judge, judged_bodies, rejudge
from ackd.protocol.obligations import Clock, Deliver, Owed, obligations
from ackd.protocol.policy import Policy
from ackd.protocol.routing import route
from ackd.protocol.thread import Message, Thread
from ackd.testing.clock import ManualClock
from ackd.tree import layout

_ENDING = frozenset({"final", "cancel", "ruling"})
_SHOWS_REQUEST = frozenset({"request", "reminder", "escalation"})
_MOST_ROUNDS = 100


class Delivery(msgspec.Struct, frozen=True, kw_only=True):
    """Something that was handed over.

    Attributes:
        at: When, in milliseconds.
        path: Where it lies; empty where a reason was added to a file that its agent had taken already.
        deliver: What was owed: agent, kind, asks, reasons and the ids that it carries out.
    """

    at: int
    path: str
    deliver: Deliver

    @property
    def agent(self) -> str:
        """Who got it."""
        return self.deliver.agent

    @property
    def kind(self) -> str:
        """As what: request, reminder, escalation, final, notice and so on."""
        return self.deliver.kind


class Conversation:
    """The threads of one node, told by hand.

    Args:
        policy: The rules in force; the attribute may be replaced while the conversation goes on.
        clock: The node's wall clock; a new one where none is given.
        node: The node's name.
        ack_id: The thread that `say` and `thread` mean where nothing else is said.

    Attributes:
        policy, clock: As given.
        entries: All entries, in the order in which they were written.
        delivered: All deliveries, in the order in which they were made.
    """

    def __init__(
        self, policy: Policy, *, clock: ManualClock | None = None, node: str = "node-a", ack_id: str = "talk-v1"
    ) -> None:
        self.policy, self.clock, self.node, self.ack_id = policy, clock or ManualClock(), node, ack_id
        self.entries: list[Entry] = []
        self.delivered: list[Delivery] = []
        self._seen: dict[str, int] = {}
        self._by_thread: dict[str, list[Entry]] = {}
        self._folded: dict[str, Thread] = {}
        self._stamp: Stamp = ZERO
        self._known: dict[str, tuple[str, Verdict]] = {}
        self._identities: dict[str, str] = {}
        self._files: dict[str, str] = {}
        self._asked: dict[str, list[str]] = {}
        self._chats: dict[str, str] = {}
        self._folders: set[str] = set()
        self._inbox: dict[str, Delivery] = {}

    # Looking.

    @property
    def threads(self) -> tuple[str, ...]:
        """Ids of all threads, the oldest first."""
        return tuple(self._by_thread)

    def thread(self, ack_id: str = "") -> Thread:
        """Give a thread as its entries tell it; an empty one where nothing is known of it."""
        ack_id = ack_id or self.ack_id
        if ack_id not in self._folded:
            self._folded[ack_id] = fold(ack_id, self._by_thread.get(ack_id, ()))
        return self._folded[ack_id]

    def owed(self, ack_id: str = "") -> Owed:
        """Tell what a thread owes at this moment."""
        return obligations(self.thread(ack_id), self.policy, Clock(self.clock(), self._seen.__getitem__))

    def inbox(self, agent: str) -> tuple[Delivery, ...]:
        """Give what lies in an agent's inbox: handed over, not taken, and still owed or news."""
        return tuple(one for one in self._inbox.values() if one.agent == agent)

    # Doing.

    def drop(self, document: dict[str, Any], *, path: str = "", conflict_of: str = "") -> Verdict:
        """Drop a message and judge it; what waited for it is judged again. Nothing is handed over yet.

        Args:
            document: The envelope, as an agent would write it.
            path: Where it lies; a free name in its thread's folder where none is given. A path that held another
                message of the same author, type and ack_id makes it an edit.
            conflict_of: Path of the file that this is a sync tool's conflict copy of.

        Returns:
            The verdict, also where the message was dropped before.

        Raises:
            InvalidError: The document is no envelope (a name, the ack_id or the type).
        """
        envelope = read_envelope(document)
        sender = self.policy.roster.spelling(envelope.sender)
        path = path or self._free_path(envelope)
        before = self._files.get(path, "")
        self._files[path] = envelope.digest
        known = self._known.get(envelope.digest)
        if known is not None and not (known[1].row == "stranger" and self.policy.roster.find(sender)):
            return self._restated(envelope, path, known[0])
        routed = route(envelope, sender, self._named(envelope.ack_id))
        edits = self._edited(before, envelope, sender)
        taken_by = self._identities.get(envelope.identity, envelope.digest)
        found = Drop(
            envelope=envelope,
            path=path,
            at=self.clock(),
            folder=layout.thread_folder(path, routed.thread + routed.suffix, self._folders),
            holder=self._holder(envelope),
            retries=self._retries(envelope, routed.thread),
            edits=edits,
            conflict_of=conflict_of,
            identity_taken=taken_by != envelope.digest and not edits,
            candidates=routed.candidates,
            suffix=routed.suffix,
        )
        verdict = judge(self.thread(routed.thread), found, self.policy, self._find)
        self._record(found, verdict, sender)
        for one in (verdict, verdict.child):
            if one is not None:
                self._rise(one.thread)
        return verdict

    def say(self, sender: str, type_: str, *, path: str = "", **words: Any) -> Verdict:
        """Drop a message of a type, or one without a type where that is empty; the other words are its keys.

        The path and what is raised are those of `drop`.
        """
        document = {"from": sender, "ack_id": self.ack_id, **words}
        if type_:
            document["state" if type_ in STATES else "type"] = type_
        return self.drop(document, path=path)

    def take(self, agent: str) -> tuple[Delivery, ...]:
        """Take all files out of an agent's inbox, as the agent does that has read them."""
        taken = self.inbox(agent)
        for one in taken:
            del self._inbox[one.path]
        return taken

    def carry_out(self) -> list[Delivery]:
        """Carry out all that is owed at this moment and give what was handed over.

        Raises:
            AssertionError: Something is owed again and again, which would be a defect of the core.
        """
        made: list[Delivery] = []
        for _ in range(_MOST_ROUNDS):
            work = [deliver for ack_id in self.threads for deliver in self._fired(ack_id).deliver]
            made += [self._hand_over(deliver) for deliver in work]
            if not work:
                self._remove_gone()
                return made
        raise AssertionError("what is owed never comes to an end")

    def advance(self, ms: int = 0) -> list[Delivery]:
        """Let time go by while the daemon runs: everything is carried out at the instant at which it falls due.

        Returns:
            What was handed over, what is owed at the first and at the last instant included.
        """
        end = self.clock() + ms
        made = self.carry_out()
        while True:
            dues = [due for ack_id in self.threads if (due := self.owed(ack_id).next_due) is not None]
            if not dues or min(dues) > end:
                break
            self.clock.set(min(dues))
            made += self.carry_out()
        self.clock.set(end)
        return made + self.carry_out()

    def sleep(self, ms: int) -> None:
        """Let time go by while the daemon is stopped: nothing is carried out until the next call."""
        self.clock.advance(ms)

    # Finding out the circumstances of a drop.

    def _named(self, ack_id: str) -> list[Thread]:
        key = bare_key(ack_id)
        return [self.thread(one) for one in sorted(self._by_thread) if bare_key(one) == key]

    def _find(self, ack_id: str) -> Thread | None:
        return next((one for one in self._named(ack_id) if name_key(one.id) == name_key(ack_id)), None)

    def _free_path(self, envelope: Envelope) -> str:
        folder = f"roundtable/{envelope.ack_id}"
        return layout.free_path(folder, envelope.type, envelope.sender, self._files)

    def _edited(self, before: str, envelope: Envelope, sender: str) -> str:
        if before not in self._known:
            return ""
        message = self.thread(self._known[before][0]).message(before)
        if message is None or message.verdict == "refused":
            return ""
        same = message.sender == sender and message.type == envelope.type
        return before if same and bare_key(str(message.content.get("ack_id"))) == bare_key(envelope.ack_id) else ""

    def _holder(self, envelope: Envelope) -> str:
        holder = self._chats.get(envelope.text_of("thread"), "") if envelope.type == "request" else ""
        return holder if holder and bare_key(holder) != bare_key(envelope.ack_id) else ""

    def _retries(self, envelope: Envelope, ack_id: str) -> tuple[str, ...]:
        if envelope.type != "request":
            return ()
        others = (one for one in self._asked.get(envelope.words_digest, ()) if bare_key(one) != bare_key(ack_id))
        return tuple(one for one in others if not self.thread(one).ended)

    # Recording.

    def _restated(self, envelope: Envelope, path: str, ack_id: str) -> Verdict:
        drop = Drop(envelope=envelope, path=path, at=self.clock(), restated=True)
        verdict = judge(self.thread(ack_id), drop, self.policy, self._find)
        if verdict.told:
            self._record(drop, verdict, self.policy.roster.spelling(envelope.sender))
        return verdict

    def _record(self, drop: Drop, verdict: Verdict, sender: str) -> None:
        envelope = drop.envelope
        for thread, body in judged_bodies(drop, verdict, sender, ""):
            self._write(JUDGED, thread, body)
            folder = body["basis"].get("folder")
            if folder:
                self._folders.add(folder)
        if verdict.word == "duplicate":
            return
        self._known[envelope.digest] = (verdict.thread, verdict)
        self._identities.setdefault(envelope.identity, envelope.digest)
        if verdict.word == "opened":
            self._asked.setdefault(envelope.words_digest, []).append(verdict.thread)
            if envelope.text_of("thread"):
                self._chats.setdefault(envelope.text_of("thread"), verdict.thread)

    def _rise(self, ack_id: str) -> None:
        """Judge held and weak messages again until none rises; what may end a thread comes last."""
        for _ in range(_MOST_ROUNDS):
            thread = self.thread(ack_id)
            waiting = [one for one in thread.messages if could_rise(thread, one)]
            waiting.sort(key=lambda one: (one.type in _ENDING, one.stamp))
            rose = [self._rose(ack_id, one) for one in waiting]
            if not any(rose):
                return
        raise AssertionError("a message rises again and again")

    def _rose(self, ack_id: str, message: Message) -> bool:
        drop = Drop(envelope=read_envelope(message.content), path=message.path, at=int(message.basis["at"]))
        verdict = rejudge(self.thread(ack_id), message, drop, self.policy, self._find)
        if verdict is not None:
            self._record(drop, verdict, message.sender)
        return verdict is not None

    def _write(self, kind: str, ack_id: str, body: dict[str, Any]) -> Entry:
        now = self.clock()
        self._stamp = tick(self._stamp, now)
        entry, _ = make_entry(
            node=self.node,
            inc="00000001",
            seq=len(self.entries) + 1,
            prev=self.entries[-1].key if self.entries else "",
            stamp=self._stamp,
            kind=kind,
            thread=ack_id,
            at=now,
            body=body,
        )
        self.entries.append(entry)
        self._seen[entry.key] = now
        self._by_thread.setdefault(ack_id, []).append(entry)
        self._folded.pop(ack_id, None)
        return entry

    # Carrying out.

    def _fired(self, ack_id: str) -> Owed:
        """Give what a thread owes, once every timer that ran out is on record."""
        for _ in range(_MOST_ROUNDS):
            owed = self.owed(ack_id)
            if not owed.fire:
                return owed
            for fire in owed.fire:
                self._write(TIMER, ack_id, {"id": fire.id, "name": fire.name, "digest": fire.digest})
        raise AssertionError("timers run out again and again")

    def _hand_over(self, deliver: Deliver) -> Delivery:
        now = self.clock()
        path = layout.inbox_path(
            deliver.agent, layout.generated_name(now, deliver.kind, deliver.thread, deliver.ids[0])
        )
        if deliver.joins:
            path = next((one for one, other in self._inbox.items() if deliver.joins in other.deliver.ids), "")
        body = {
            "ids": list(deliver.ids),
            "agent": deliver.agent,
            "kind": deliver.kind,
            "path": path,
            "sha256": hashlib.sha256(msgspec.json.encode(deliver)).hexdigest(),
            "facts": _facts(deliver, self.thread(deliver.thread), self.policy, now),
        }
        delivery = Delivery(at=now, path=path, deliver=deliver)
        if path in self._inbox:
            earlier = self._inbox[path].deliver
            both = msgspec.structs.replace(deliver, ids=(*earlier.ids, *deliver.ids))
            self._inbox[path] = Delivery(at=now, path=path, deliver=both)
        elif path:
            self._inbox[path] = delivery
        self._write(DELIVERED, deliver.thread, body)
        self.delivered.append(delivery)
        return delivery

    def _remove_gone(self) -> None:
        gone = {one for ack_id in self.threads for one in self.owed(ack_id).gone}
        for path, one in list(self._inbox.items()):
            if gone.issuperset(one.deliver.ids):
                del self._inbox[path]


def told(verdict: Verdict) -> dict[str, str]:
    """Give who hears of a message, and as what."""
    return {tell.agent: tell.kind for tell in verdict.told}


def _facts(deliver: Deliver, thread: Thread, policy: Policy, now: int) -> dict[str, Any]:
    """Give what a delivery states, as the daemon records it."""
    facts: dict[str, Any] = {"dri": thread.dri, "dri_epoch": thread.dri_epoch, "asks": list(deliver.asks)}
    request = thread.text_in_force(thread.request)
    about = thread.text_in_force(deliver.message)
    if request is not None and (deliver.kind in _SHOWS_REQUEST or request == about):
        facts["text"] = request.digest
    if thread.final:
        facts["final"] = thread.final
    if deliver.kind == "request" and thread.deadline_ms is not None and now > thread.deadline_ms:
        facts["after_deadline"] = True
    if deliver.kind == "escalation" and policy.roster.rank(deliver.agent) == 0:
        facts["person"] = True
    return facts
