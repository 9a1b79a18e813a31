"""A thread as the ledger tells it: who asked, who owes, who said what, and what ended it. Values only."""

from __future__ import annotations

from typing import Any

import msgspec

from ackd.protocol.clock import Stamp
from ackd.protocol.sends import Attempt, Send, unknown_tries
from ackd.protocol.table import UNKNOWN


class Tell(msgspec.Struct, frozen=True):
    """Somebody who hears of a message, and as what: the kind of the delivery."""

    agent: str
    kind: str


class Message(msgspec.Struct, frozen=True, kw_only=True):
    """One message of a thread with the verdict in force.

    Attributes:
        key: Key of the entry that recorded the verdict.
        digest: Digest of the content; the short form (16 hex) is used in ids of obligations.
        identity: `message_id`, else the digest.
        type: Message type.
        sender: The author, in the roster's spelling.
        verdict: Verdict word.
        row: Name of the row of the table that held.
        because: What its author is told, or an empty string.
        told: Who hears of it.
        notes: More sentences for those who are told (an unknown recipient, an unreadable deadline, …).
        path: Where it was dropped, relative to the tree.
        content: The object as dropped.
        basis: What the verdict was based on (DESIGN part 2, Judged once).
        stamp: Stamp of the first admission.
        after_end: Whether the thread had ended when it was judged.
        revised_by: Digest of the message that revises this one, or an empty string.
    """

    key: str
    digest: str
    identity: str
    type: str
    sender: str
    verdict: str
    row: str
    because: str
    told: tuple[Tell, ...]
    notes: tuple[str, ...]
    path: str
    content: dict[str, Any]
    basis: dict[str, Any]
    stamp: Stamp
    after_end: bool = False
    revised_by: str = ""

    @property
    def step(self) -> str:
        """The short digest that names this message in an obligation's id."""
        return self.digest[:16]


class Duty(msgspec.Struct, frozen=True, kw_only=True):
    """What an assignee owes or did.

    Attributes:
        agent: Who.
        start: Obligation id of the delivery from which its times run, or `entry:<key>` where nothing is delivered.
        message: Digest of the message that asked it.
        confirmed: Digest of its confirmed in force, or an empty string.
        settled: Whether its confirmed is owed no longer (confirmed, supplement, accepted handoff, its own request).
        declined: Digest of its decline in force, or an empty string.
        handed_to: Who took its duty over, or an empty string.
    """

    agent: str
    start: str
    message: str
    confirmed: str = ""
    settled: bool = False
    declined: str = ""
    handed_to: str = ""

    @property
    def owes_confirmed(self) -> bool:
        """Whether its confirmed is missing."""
        return not (self.settled or self.declined or self.handed_to)

    @property
    def is_out(self) -> bool:
        """Whether it declined or handed its duty over."""
        return bool(self.declined or self.handed_to)


class Question(msgspec.Struct, frozen=True, kw_only=True):
    """A clarify and what became of it; `answered` and `timed_out` are entry keys or empty."""

    digest: str
    identity: str
    asker: str
    key: str
    answered: str = ""
    timed_out: str = ""


class Handoff(msgspec.Struct, frozen=True, kw_only=True):
    """A handoff and what became of it: pending, accepted, declined, lapsed or replaced."""

    digest: str
    identity: str
    owner: str
    target: str
    key: str
    outcome: str = "pending"


class Done(msgspec.Struct, frozen=True, kw_only=True):
    """One obligation that was carried out: entry key and stamp, who got it, where it lay, SHA-256 of the bytes.

    `facts` are what was stated: the digest of the text in force, the DRI, the final (for corrections).
    """

    key: str
    stamp: Stamp
    agent: str
    kind: str
    path: str
    sha256: str
    facts: dict[str, Any]


class Cancelling(msgspec.Struct, frozen=True):
    """A cancel that waits for the DRI: who wants it and the entry from which its time runs."""

    by: str
    key: str


class Thread(msgspec.Struct, frozen=True, kw_only=True):
    """All that the entries of one thread come to.

    Attributes:
        id: The ack_id, or `<ack_id>~<4 hex>` for a request whose id was taken.
        phase: One of `table.PHASES`; never goes back.
        request: Digest of the request, or an empty string.
        requester: Who asked.
        dri: The directly responsible individual in force (T19).
        dri_epoch: Rises with each accepted handoff of the DRI and each reassigning ruling.
        dri_by_ruling: Whether an arbiter made it the DRI.
        dri_start: From when the DRI's final runs: an obligation id or `entry:<key>`.
        duties: Assignees in the order in which they were asked.
        unknown: Recipients that nobody knows.
        deadline_ms: The deadline in force, or None.
        extensions: How often a ruling moved the deadline.
        folder: Folder of the conversation, relative to the tree.
        parent: The thread that it came from, or an empty string.
        chain: Requester and owners so far, through parent threads (lineage).
        depth: Hops so far.
        questions, handoffs: In the order in which they came.
        cancelling: A cancel that waits, or None.
        final: Digest of the final in force, or an empty string.
        finals: Digests of all finals, those not in force included.
        ended_by: `final`, `cancel`, `ruling` or `broadcast`; empty before the end.
        ended_key: Entry that ended it.
        rulings: Digests of the rulings in force, in order.
        is_broadcast: Whether it owes nothing.
        messages: Every message, in the order of their stamps.
        done: Obligations that were carried out, by id.
        sends: What was tried live, by obligation.
        timers: Timers that ran out: id to entry key.
        signs: Each author's last drop but courtesy: name to stamp and entry key.
        children: Ids of the threads that partial handoffs opened.
    """

    id: str
    phase: str = UNKNOWN
    request: str = ""
    requester: str = ""
    dri: str = ""
    dri_epoch: int = 0
    dri_start: str = ""
    dri_by_ruling: bool = False
    duties: dict[str, Duty] = {}
    unknown: tuple[str, ...] = ()
    deadline_ms: int | None = None
    extensions: int = 0
    folder: str = ""
    parent: str = ""
    chain: tuple[str, ...] = ()
    depth: int = 1
    questions: tuple[Question, ...] = ()
    handoffs: tuple[Handoff, ...] = ()
    cancelling: Cancelling | None = None
    final: str = ""
    finals: tuple[str, ...] = ()
    ended_by: str = ""
    ended_key: str = ""
    rulings: tuple[str, ...] = ()
    is_broadcast: bool = False
    messages: tuple[Message, ...] = ()
    done: dict[str, Done] = {}
    sends: dict[str, Send] = {}
    timers: dict[str, str] = {}
    signs: dict[str, tuple[Stamp, str]] = {}
    children: tuple[str, ...] = ()

    def message(self, digest: str) -> Message | None:
        """Give the message with that digest, or None."""
        return next((message for message in self.messages if message.digest == digest), None)

    def named(self, name: str) -> Message | None:
        """Give the message that an `in_reply_to`, `supersedes` or `pick` names by identity, digest or its start."""
        if not name:
            return None
        for message in self.messages:
            if name in (message.identity, message.digest):
                return message
        if len(name) >= 8:
            found = [message for message in self.messages if message.digest.startswith(name)]
            if len(found) == 1:
                return found[0]
        return None

    def text_in_force(self, digest: str) -> Message | None:
        """Follow the revisions of a message to the one that counts."""
        message = self.message(digest)
        for _ in self.messages:
            if message is None or not message.revised_by:
                return message
            message = self.message(message.revised_by)
        return message

    def reached(self, obligation: str) -> str:
        """Give the key of the entry since when somebody has, or may have, what an obligation hands over; else empty.

        Timers run from there: from the first live try that may have arrived (T12), else from the file.
        """
        send = self.sends.get(obligation)
        tried = next((one.key for one in send.attempts if one.may_have_arrived), "") if send is not None else ""
        done = self.done.get(obligation)
        return tried or (done.key if done is not None else "")

    def moments(self) -> dict[str, int]:
        """Give when each message, delivery and live try was recorded, milliseconds, by the key of its entry."""
        found = {done.key: done.stamp[0] for done in self.done.values()}
        found |= {message.key: message.stamp[0] for message in self.messages}
        found |= {one.key: one.stamp[0] for send in self.sends.values() for one in send.attempts}
        return found

    def unknown_tries(self, agent: str) -> tuple[Attempt, ...]:
        """Give the live tries to an agent of which nobody knows whether they arrived, since its last sign of life."""
        if not self.sends:
            return ()
        sign = self.signs.get(agent)
        return unknown_tries(self.sends, agent, sign[0] if sign is not None else None)

    @property
    def ended(self) -> bool:
        """Whether the thread has ended, however it ended."""
        return bool(self.ended_by)

    @property
    def pending_handoff(self) -> Handoff | None:
        """The first handoff that waits for its target, or None."""
        return next((handoff for handoff in self.handoffs if handoff.outcome == "pending"), None)

    @property
    def open_questions(self) -> tuple[Question, ...]:
        """Questions without an answer, timed out or not."""
        return tuple(question for question in self.questions if not question.answered)
