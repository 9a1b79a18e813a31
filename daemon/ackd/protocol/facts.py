"""What is the case about a message: the facts that the rows of the table ask for, found in thread, text and roster."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from ackd.protocol import table
from ackd.protocol.courtesy import says_nothing
from ackd.protocol.depth import parse_depth
from ackd.protocol.drop import Drop
from ackd.protocol.envelope import Envelope
from ackd.protocol.ids import name_key, shown
from ackd.protocol.instant import iso, parse_deadline
from ackd.protocol.lineage import COUNTED, chain_of, depth_before, offender
from ackd.protocol.policy import Policy, Roster
from ackd.protocol.thread import Handoff, Message, Thread

_MOST_GUESSES = 5
_MAY_BE_COURTESY = frozenset({"supplement", "progress", "answer"})
_COUNTS_BEFORE_THE_END = frozenset({"confirmed", "clarify", "decline", "final"})
"""What these do before the end they do whatever their words are; afterwards only the words are left."""


class Findings(msgspec.Struct, kw_only=True):
    """All that was found out about a message; empty where it does not apply.

    Attributes:
        type: The type by which the table is read: an untyped text that answers an open question is an answer.
        facts: A subset of `table.FACTS`.
        notes: Sentences for those who are told.
        depth, depth_shown: Hops, and how the message's depth reads.
        members, unknown: Whom `to` addresses, and the names in it that nobody knows.
        assignees, dri: Who owes a confirmed and who the final, for a request; the new DRI, for a ruling.
        chain, offender: The chain of the duty, and who stands in it already.
        taken_by: Requester who holds the ack_id already.
        nobody: Why nobody could own it.
        revises: Digest of the message that is revised.
        handoff, handoff_owner: The pending handoff that is accepted or declined, and its owner.
        target, is_partial: Of a handoff.
        answers, askers: Digests of the questions that are answered, and who asked.
        awaited: Identity of the question or handoff that waits for such words.
        ruling, pick, deadline_ms: Of a ruling; the deadline of a request too.
        expected: What would have been expected, for a message that changes nothing.
    """

    type: str
    facts: frozenset[str] = frozenset()
    notes: tuple[str, ...] = ()
    depth: int = 1
    depth_shown: str = ""
    members: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()
    assignees: tuple[str, ...] = ()
    dri: str = ""
    chain: tuple[str, ...] = ()
    offender: str = ""
    taken_by: str = ""
    nobody: str = ""
    revises: str = ""
    handoff: str = ""
    handoff_owner: str = ""
    target: str = ""
    is_partial: bool = False
    answers: tuple[str, ...] = ()
    askers: tuple[str, ...] = ()
    awaited: str = ""
    ruling: str = ""
    pick: str = ""
    deadline_ms: int | None = None
    expected: str = ""
    tells_author: bool = False


def roles_of(thread: Thread, sender: str, roster: Roster) -> frozenset[str]:
    """Give all roles of an author in a thread."""
    rank = roster.rank(sender)
    roles = {table.MEMBER if roster.find(sender) is not None else table.STRANGER}
    if rank == 0:
        roles.add(table.PERSON)
    elif rank > 0:
        roles.add(table.ARBITER)
    if sender == thread.requester:
        roles.add(table.REQUESTER)
    if sender == thread.dri:
        roles.add(table.DRI)
    duty = thread.duties.get(sender)
    if duty is not None and (not duty.handed_to or sender == thread.dri):
        roles.add(table.ASSIGNEE)
    if any(handoff.target == sender and handoff.outcome == "pending" for handoff in thread.handoffs):
        roles.add(table.TARGET)
    return frozenset(roles)


def find_facts(
    thread: Thread, drop: Drop, policy: Policy, sender: str, parent: Callable[[str], Thread | None]
) -> Findings:
    """Find out all that the table needs to know about a message."""
    finder = _Finder(thread, drop, policy, sender, parent)
    finder.circumstances()
    finder.speech()
    by_type = _BY_TYPE.get(finder.found.type)
    if by_type is not None:
        by_type(finder)
    finder.courtesy()
    finder.found.facts = frozenset(finder.facts)
    finder.found.notes = tuple(finder.notes)
    finder.found.expected = _expected(finder)
    return finder.found


class _Finder:
    """Collects the facts; one method a subject."""

    def __init__(
        self, thread: Thread, drop: Drop, policy: Policy, sender: str, parent: Callable[[str], Thread | None]
    ) -> None:
        self.thread, self.drop, self.policy, self.sender, self.parent = thread, drop, policy, sender, parent
        self.envelope: Envelope = drop.envelope
        self.found = Findings(type=drop.envelope.type)
        self.facts: set[str] = set()
        self.notes: list[str] = []
        self.reply_to: Message | None = thread.named(self.envelope.text_of("in_reply_to"))

    def circumstances(self) -> None:
        """What the node that found the message knows about it."""
        drop = self.drop
        pairs = (
            (drop.restated, table.RESTATED),
            (bool(drop.conflict_of), table.CONFLICT_COPY),
            (drop.identity_taken, table.SAME_IDENTITY),
            (bool(drop.candidates), table.WHICH_THREAD),
            (bool(drop.holder), table.CHAT_THREAD_TAKEN),
            (len(drop.retries) >= 2, table.SECOND_RETRY),
        )
        self.facts.update(fact for holds, fact in pairs if holds)
        if self.thread.requester and self.thread.requester == self.thread.dri:
            self.facts.add(table.OWN_THREAD)
        if self.thread.cancelling is not None:
            self.facts.add(table.CANCELLING)
        self.revision()
        self.depth()

    def revision(self) -> None:
        named = self.thread.named(self.envelope.text_of("supersedes"))
        digest = self.drop.edits or (named.digest if named is not None and named.sender == self.sender else "")
        target = self.thread.message(digest) if digest else None
        if target is None or target.digest == self.envelope.digest:
            return
        declines = self._declines()
        if declines and target.type not in ("decline", "final"):
            return  # An edit that turns a yes into a no is a no.
        if self.envelope.type not in ("amend", self._type_of_first(target)):
            return  # A final that names its own confirmed in `supersedes` is a final.
        self.found.revises = target.digest
        self.facts.add(table.REVISES)
        is_of_final = self._is_of_final(target)
        if is_of_final:
            self.facts.add(table.REVISES_FINAL)
        if self.drop.edits and (is_of_final or target.type == "final") and not self.policy.trust_edits:
            self.facts.add(table.UNPROVEN)

    def _type_of_first(self, target: Message) -> str:
        """Give the type of the message that a chain of amends began with."""
        message: Message | None = target
        for _ in self.thread.messages:
            if message is None or message.type != "amend":
                break
            message = self.thread.message(message.basis.get("revises", ""))
        return message.type if message is not None else target.type

    def _is_of_final(self, target: Message) -> bool:
        """Tell whether a message is the final in force or one of the texts that it went through."""
        message = self.thread.message(self.thread.final)
        for _ in self.thread.messages:
            if message is None:
                return False
            if message.digest == target.digest:
                return True
            message = self.thread.message(message.revised_by) if message.revised_by else None
        return False

    def depth(self) -> None:
        written = self.envelope.content.get("depth")
        limit = self.policy.depth_limit
        before = depth_before(self.thread, self.envelope, self.sender) if self.thread.request else 0
        if self.envelope.type == "request":
            origin = self.parent(self.envelope.text_of("parent")) if self.envelope.text_of("parent") else None
            before = depth_before(origin, self.envelope, self.sender) if origin is not None and origin.request else 0
        counted = before + 1 if self.envelope.type in COUNTED else max(before, 1)
        if written in (None, ""):
            self.found.depth, self.found.depth_shown = counted, f"{counted}/{limit}"
            too_deep = counted > limit
        else:
            read = parse_depth(written, limit=limit)
            self.found.depth = max(counted, read.current)
            self.found.depth_shown = f"{self.found.depth}/{min(limit, read.max)}" if not read.reason else read.reason
            too_deep = bool(read.reason) or self.found.depth > min(limit, read.max)
            if read.note:
                self.notes.append(read.note)
        if too_deep and self.envelope.type in COUNTED:
            self.facts.add(table.TOO_DEEP)

    def speech(self) -> None:
        """What it says, apart from its type: an answer to a question, a refusal, an acceptance."""
        thread, envelope = self.thread, self.envelope
        questions = [one for one in thread.open_questions if one.asker != self.sender]
        if questions and self.sender in (thread.requester, thread.dri):
            named = [one for one in questions if self.reply_to is not None and one.digest == self.reply_to.digest]
            untyped = "type" not in envelope.content and "state" not in envelope.content
            if envelope.type == "supplement" and (untyped or named):
                self.found.type = "answer"
            chosen = named or questions
            if self.found.type == "answer":
                self.facts.add(table.QUESTION_OPEN)
                self.found.answers = tuple(one.digest for one in chosen)
                self.found.askers = tuple(dict.fromkeys(one.asker for one in chosen))
        if self._declines():
            self.facts.add(table.DECLINES)
        handoff = self._pending_for_sender()
        if handoff is not None:
            self.found.handoff, self.found.handoff_owner = handoff.digest, handoff.owner
            # Who was asked for a part of its own as well may mean that one: then `in_reply_to` says so.
            means_own = self.reply_to is not None and self.reply_to.digest != handoff.digest
            if not (means_own and self.sender in self.thread.duties):
                self.facts.add(table.ACCEPTS)
        if self.drop.restated:
            waiting = handoff.identity if handoff is not None and envelope.type == "confirmed" else ""
            if self.found.answers:
                waiting = next(one.identity for one in thread.questions if one.digest == self.found.answers[0])
            if waiting and envelope.text_of("in_reply_to") != waiting:
                self.found.awaited = waiting
                self.facts.add(table.AWAITED)
        if envelope.type == "confirmed" and envelope.is_bare:
            self.facts.add(table.BARE)
        if self._is_asked_arbiter():
            self.facts.add(table.ASKED_ARBITER)

    def _declines(self) -> bool:
        kind, status = self.envelope.type, self.envelope.text_of("status").lower()
        if kind == "decline" or (kind == "confirmed" and status == "rejected"):
            return True
        return kind == "final" and status == "rejected" and self.sender != self.thread.dri

    def _pending_for_sender(self) -> Handoff | None:
        pending = [one for one in self.thread.handoffs if one.target == self.sender and one.outcome == "pending"]
        named = [one for one in pending if self.reply_to is not None and one.digest == self.reply_to.digest]
        return next(iter(named or pending), None)

    def _is_asked_arbiter(self) -> bool:
        thread, sender = self.thread, self.sender
        if sender in thread.duties or sender == thread.requester:
            return False
        return any(done.kind == "escalation" and done.agent == sender for done in thread.done.values())

    def courtesy(self) -> None:
        """Whether it only says thanks: in doubt it does not (C17)."""
        kind, facts, thread = self.found.type, self.facts, self.thread
        counts = kind in _COUNTS_BEFORE_THE_END
        if (
            not (counts or kind in _MAY_BE_COURTESY)
            or table.QUESTION_OPEN in facts
            or self.envelope.has_more_than_words
        ):
            return
        # A confirmed may count later, once a handoff or a new text asks its author; no-reply never rises.
        if counts and not thread.ended and kind != "final":
            return
        names = [member.name for member in self.policy.roster.members.values()]
        if says_nothing(self.envelope.words, names=names):
            facts.add(table.NO_RESULT if counts and not thread.ended else table.COURTESY)

    # One method for each type that names somebody.

    def request(self) -> None:
        found, roster, thread = self.found, self.policy.roster, self.thread
        if self.sender == thread.requester:
            self.facts.add(table.SAME_REQUESTER)
            found.revises = found.revises or self._request_text_in_force()
        else:
            found.taken_by = thread.requester
        expansion = roster.expand(self.envelope.to, without=self.sender)
        others = tuple(name for name in expansion.members if name != self.sender)
        found.members, found.unknown = others, expansion.unknown
        opens = not (thread.request and self.sender == thread.requester)
        self._choose_dri(expansion.named, others, opens=opens)
        if opens and found.dri and found.dri not in others:
            others = (*others, found.dri)
        found.assignees = others
        if opens and not found.nobody:
            self._lineage(others or expansion.members)
        self._deadline("")
        for name in found.unknown:
            self._note(f"{shown(name)} is not on the roster and was not asked")
        names_another = bool(self.envelope.content.get("dri")) and found.dri not in ("", thread.dri)
        if not opens and names_another and not thread.ended:
            self._note(
                f"the DRI stays {thread.dri}: a new text does not move it; let {thread.dri} hand off, or ask the "
                "arbiter for a ruling"
            )

    def _request_text_in_force(self) -> str:
        message = self.thread.text_in_force(self.thread.request)
        return message.digest if message is not None else ""

    def _choose_dri(self, named: tuple[str, ...], others: tuple[str, ...], *, opens: bool) -> None:
        found, written = self.found, self.envelope.text_of("dri")
        if written:
            member = self.policy.roster.find(written.removeprefix("@"))
            if member is None:
                self._nobody(f"the dri {shown(written)} is not on the roster")
            elif not others and member.name != self.sender:
                found.dri = member.name
                if not self.envelope.to or found.unknown:
                    self._nobody(self._none_known())
            else:
                found.dri = member.name
                if not others and not named:
                    self._nobody(self._none_known())
            return
        candidates = [name for name in named if name != self.sender] or list(named)
        if candidates:
            found.dri = candidates[0]
            if opens and len(others) > 1:
                self._note(f"no dri was named: {found.dri}, the first recipient, is the DRI and writes the final")
        elif others:
            self._nobody("only groups are addressed and no dri is named")
        else:
            self._nobody(self._none_known())

    def _none_known(self) -> str:
        """Say which names nobody knows, and what may have been meant."""
        import difflib

        known = [member.name for member in self.policy.roster.members.values()]
        guesses = []
        for name in self.found.unknown[:_MOST_GUESSES]:
            near = difflib.get_close_matches(name_key(name), [name_key(one) for one in known], n=1)
            meant = self.policy.roster.spelling(near[0]) if near else ""
            guesses.append(f"{shown(name)} (did you mean {meant}?)" if meant else shown(name))
        return (
            f"none of the recipients is on the roster: {', '.join(guesses)}" if guesses else "nobody else is addressed"
        )

    def _nobody(self, why: str) -> None:
        self.found.nobody = why
        self.facts.add(table.NOBODY)

    def _lineage(self, recipients: tuple[str, ...]) -> None:
        parent = self.parent(self.envelope.text_of("parent")) if self.envelope.text_of("parent") else None
        chain = chain_of(parent, self.sender) if parent is not None and parent.request else (self.sender,)
        self.found.chain = chain
        targets = tuple(name for name in recipients if name != self.sender) or recipients
        self.found.offender = offender(chain, targets, self.policy.roster)
        if self.found.offender:
            self.facts.add(table.IN_LINEAGE)

    def amend(self) -> None:
        self._deadline("")

    def handoff(self) -> None:
        expansion = self.policy.roster.expand(self.envelope.to)
        self.found.is_partial = bool(self.envelope.content.get("partial"))
        if len(expansion.named) != 1 or len(self.envelope.to) != 1:
            who = ", ".join(shown(name) for name in self.envelope.to) or "nobody"
            self._nobody(f"a handoff goes to exactly one agent of the roster, this one to {who}")
            return
        self.found.target = expansion.named[0]
        chain = chain_of(self.thread, self.sender)
        self.found.chain = (*chain, self.found.target) if self.found.target not in chain else chain
        self.found.offender = offender(chain, expansion.named, self.policy.roster)
        if self.found.offender:
            self.facts.add(table.IN_LINEAGE)

    def broadcast(self) -> None:
        expansion = self.policy.roster.expand(self.envelope.to, without=self.sender)
        self.found.members = tuple(name for name in expansion.members if name != self.sender)
        self.found.unknown = expansion.unknown
        for name in expansion.unknown:
            self._note(f"{shown(name)} is not on the roster and was not told")
        if not self.found.members:
            self._nobody(self._none_known())

    def ruling(self) -> None:
        found, kind = self.found, self.envelope.text_of("ruling").lower()
        found.ruling = kind
        if kind == "dri":
            member = self.policy.roster.find(self.envelope.text_of("dri").removeprefix("@"))
            if member is None:
                self._nobody_rules(f"the dri {shown(self.envelope.text_of('dri'))} is not on the roster")
                return
            found.dri = member.name
            earlier = [one for one in self.thread.messages if one.type == "final" and one.sender == member.name]
            if earlier:
                self._say(
                    f"the final that {member.name} wrote before ({shown(earlier[-1].identity)}) is kept as a "
                    "supplement; if it stands, write it again with in_reply_to"
                )
        elif kind == "extend":
            # "2h more" counts from the deadline in force, where that lies ahead.
            before = self.thread.deadline_ms or 0
            self._deadline("", base=max(before, self.drop.at))
            if found.deadline_ms is None:
                self._nobody_rules("extend needs a deadline that can be read")
            elif found.deadline_ms <= before:
                self._nobody_rules(
                    f"extend gives more time, and {iso(found.deadline_ms)} is no later than {iso(before)}"
                )
        elif kind == "pick":
            chosen = self.thread.named(self.envelope.text_of("pick"))
            if chosen is None or chosen.type != "final" or chosen.verdict == "refused":
                self._nobody_rules("pick names no final of this thread")
                return
            found.pick = chosen.digest
            self.facts.add(table.PICKS)
        if kind in ("cancel", "close", "pick"):
            self.facts.add(table.RULES_THE_END)

    def _nobody_rules(self, why: str) -> None:
        """A ruling that cannot be carried out changes nothing; it falls through to the last rows."""
        self.found.expected = why
        self.found.type = "vote"

    def _deadline(self, default: str, *, base: int | None = None) -> None:
        written = self.envelope.content.get("deadline", default)
        if written in (None, ""):
            return
        read = parse_deadline(written, intake_ms=self.drop.at if base is None else base, zone=self.policy.zone)
        self.found.deadline_ms = read.at_ms
        if not read.readable:
            self._note(f"the deadline {shown(read.written)} cannot be read for certain ({read.note}); there is none")
        elif read.note:
            self._say(f"deadline {shown(read.written)}: {read.note}")

    def _note(self, sentence: str) -> None:
        """Add a sentence that the author must hear too."""
        self.notes.append(sentence)
        self.found.tells_author = True

    def _say(self, sentence: str) -> None:
        self.notes.append(sentence)


def _expected(finder: _Finder) -> str:
    """Say what would have counted, for a message that changes nothing."""
    found, thread, kind = finder.found, finder.thread, finder.envelope.type
    if found.expected:
        return found.expected
    sentences = {
        "amend": 'an amend names one of your own messages of this thread in "supersedes"',
        "cancel": f"only {thread.requester or 'the requester'} or a person cancels it",
        "ruling": "only an arbiter of team.yaml or a person rules",
        "decline": "only those who were asked decline",
        "broadcast": "a broadcast opens a thread of its own: give it another ack_id",
        "answer": "no question is open",
    }
    return sentences.get(kind, "it is kept, and nothing was expected here")


_BY_TYPE: dict[str, Callable[[_Finder], None]] = {
    "request": _Finder.request,
    "amend": _Finder.amend,
    "handoff": _Finder.handoff,
    "broadcast": _Finder.broadcast,
    "ruling": _Finder.ruling,
}
