"""Every transition of a thread, as one table read from the top: the first row that fits holds (DESIGN part 5).

The table is total: its last two rows fit anything. Nothing else in ackd decides a transition, those of timers
included. The diagram in the README and `ackd protocol` are made from these rows.
"""

from __future__ import annotations

import msgspec

from ackd.protocol.envelope import TYPES

# Phases of a thread. `state` in the command line's output is the phase, with UNKNOWN shown as null.
UNKNOWN = "unknown"  # no request was seen yet
REQUEST = "request"
CONFIRMED = "confirmed"
FINAL = "final"
PHASES = (UNKNOWN, REQUEST, CONFIRMED, FINAL)

# Roles of an author in a thread; one author may have several.
STRANGER = "stranger"  # not on the roster
MEMBER = "member"  # on the roster: everybody but strangers
REQUESTER = "requester"
DRI = "dri"
ASSIGNEE = "assignee"  # the DRI is one too
TARGET = "target"  # of a pending handoff
ARBITER = "arbiter"
PERSON = "person"
ROLES = (STRANGER, MEMBER, REQUESTER, DRI, ASSIGNEE, TARGET, ARBITER, PERSON)

# Facts about a message that type, role and phase do not say.
RESTATED = "restated"  # same author, ack_id and content were taken before
AWAITED = "awaited"  # a question or handoff waits for exactly such words
SAME_IDENTITY = "same-identity"  # its message_id belongs to another content, and it is no edit
CONFLICT_COPY = "conflict-copy"  # lies in a sync tool's conflict copy
UNPROVEN = "unproven"  # an edit of a final where the policy wants proof of the writer
WHICH_THREAD = "which-thread"  # several threads could be meant
COURTESY = "courtesy"  # says nothing and changes no state
CHAT_THREAD_TAKEN = "chat-thread-taken"  # its `thread` carries another ack_id
SECOND_RETRY = "second-retry"  # the same text, for the third time, and nothing has ended
TOO_DEEP = "too-deep"
IN_LINEAGE = "in-lineage"  # goes to somebody who already stands in the chain
NOBODY = "nobody"  # no recipient who could own it
SAME_REQUESTER = "same-requester"
REVISES = "revises"  # an amend, `supersedes` or edit of a message of its author's
REVISES_FINAL = "revises-final"
NO_RESULT = "no-result"  # a final that says nothing but thanks
BARE = "bare"  # a confirmed without version, effective time or conclusion
QUESTION_OPEN = "question-open"  # a question that this author may answer is open or timed out
ACCEPTS = "accepts"  # a confirmed that takes a pending handoff, and not its author's own part
ASKED_ARBITER = "asked-arbiter"  # an escalation was sent to it, and it owes nothing else here
DECLINES = "declines"  # a decline, also as a rejected confirmed or final of an assignee who is not the DRI
PICKS = "picks"
RULES_THE_END = "rules-the-end"  # a ruling that cancels, closes or picks
CANCELLING = "cancelling"  # a cancel waits for the DRI
OWN_THREAD = "own-thread"  # the requester is the DRI: nobody else has to be waited for
FACTS = frozenset(
    {RESTATED, AWAITED, SAME_IDENTITY, CONFLICT_COPY, UNPROVEN, WHICH_THREAD, COURTESY, CHAT_THREAD_TAKEN}
    | {SECOND_RETRY, TOO_DEEP, IN_LINEAGE, NOBODY, SAME_REQUESTER, REVISES, REVISES_FINAL, BARE, QUESTION_OPEN}
    | {ASKED_ARBITER, DECLINES, PICKS, RULES_THE_END, OWN_THREAD, CANCELLING, NO_RESULT, ACCEPTS}
)

# Verdict words (stable: scripts rely on them).
VERDICTS = (
    *("opened", "confirmed", "accepted", "declined", "clarified", "answered", "handed-off", "supplement", "progress"),
    *("revision", "closed", "cancelling", "ruled", "broadcast", "duplicate", "no-reply", "late", "flagged"),
    *("collision", "weak", "held", "kept", "refused"),
)

BEFORE_THE_END = frozenset({REQUEST, CONFIRMED})
_ANY = frozenset[str]()


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """One row: which drops it fits, and what follows.

    Attributes:
        name: Stable name, kebab-case; recorded with each verdict.
        types: Message types that it fits; empty: any.
        roles: The author must have one of these; empty: anybody.
        phases: Phases that it fits; empty: any.
        needs: Facts that must all hold.
        verdict: One of `VERDICTS`; `weak` verdicts may rise when the thread grows.
        told: Pairs of an audience and the kind of delivery that it gets; empty: nobody is woken.
        becomes: Phase after it, or an empty string where it stays.
        because: What the author is told where the verdict is not what it hoped for; `{…}` is filled in by `judge`.
    """

    name: str
    verdict: str
    types: frozenset[str] = _ANY
    roles: frozenset[str] = _ANY
    phases: frozenset[str] = _ANY
    needs: frozenset[str] = _ANY
    told: tuple[tuple[str, str], ...] = ()
    becomes: str = ""
    because: str = ""

    def fits(self, type_: str, roles: frozenset[str], phase: str, facts: frozenset[str]) -> bool:
        """Tell whether the row fits a drop of that type by an author with these roles in that phase."""
        return (
            (not self.types or type_ in self.types)
            and (not self.phases or phase in self.phases)
            and (not self.roles or not self.roles.isdisjoint(roles))
            and self.needs <= facts
        )


def _row(
    name: str,
    types: str = "",
    roles: str = "",
    phases: frozenset[str] | str = _ANY,
    *,
    needs: str = "",
    verdict: str,
    told: str = "",
    becomes: str = "",
    because: str = "",
) -> Row:
    """Write a row in one line: lists as words, `told` as `audience:kind` pairs."""
    pairs = tuple((audience, kind) for audience, _, kind in (word.partition(":") for word in told.split()))
    return Row(
        name=name,
        verdict=verdict,
        types=frozenset(types.split()),
        roles=frozenset(roles.split()),
        phases=frozenset(phases.split()) if isinstance(phases, str) else phases,
        needs=frozenset(needs.split()),
        told=pairs,
        becomes=becomes,
        because=because,
    )


_NOT_OPENING = " ".join(name for name in TYPES if name not in ("request", "broadcast"))

# fmt: off
TABLE: tuple[Row, ...] = (
    # What it is decides before what it says.
    _row("restated-awaited", needs="restated awaited", verdict="duplicate", told="author:notice",
         because="you said exactly this before; to answer {awaited} with it, add \"in_reply_to\": \"{awaited}\""),
    _row("restated", needs="restated", verdict="duplicate"),
    _row("stranger", roles="stranger", verdict="refused",
         because="{sender} is not on the roster of team.yaml"),
    _row("conflict-copy", needs="conflict-copy", verdict="kept", told="dri:notice person:notice",
         because="a sync tool left this copy beside {original}, and it says something else"),
    _row("same-identity", needs="same-identity", verdict="collision", told="author:collision",
         because="message_id {identity} already belongs to another message; give this one its own"),
    _row("which-thread", needs="which-thread", verdict="held", told="author:notice",
         because="{ack_id} names several threads ({candidates}); name one of them as ack_id, or add in_reply_to"),
    _row("no-request-yet", _NOT_OPENING, phases=UNKNOWN, verdict="held",
         because="no request {ack_id} was seen yet"),
    _row("courtesy", needs="courtesy", verdict="no-reply"),
    # Requests.
    _row("chat-thread-taken", "request", needs="chat-thread-taken", verdict="refused", told="author:refusal",
         because="the chat thread {chat_thread} carries ack_id {holder}; one thread has one ack_id"),
    _row("second-retry", "request", needs="second-retry", verdict="refused", told="author:refusal",
         because="the same was asked under {earlier} and none of them has ended; wait, or ask the arbiter"),
    _row("too-deep", "request clarify handoff", needs="too-deep", verdict="refused", told="author:refusal",
         because="depth {depth} is at the limit: answer or finish yourself, or decline; it needs a person"),
    _row("in-lineage", "request handoff", needs="in-lineage", verdict="refused",
         told="author:refusal arbiter:notice",
         because="{circle}"),
    _row("nobody", "request broadcast handoff", needs="nobody", verdict="refused", told="author:refusal",
         because="nobody could own this: {nobody}"),
    _row("opens", "request", phases=UNKNOWN, verdict="opened", told="assignees:request", becomes=REQUEST),
    _row("request-revised", "request", phases=BEFORE_THE_END, needs="same-requester", verdict="revision",
         told="recipients:revision"),
    _row("new-round", "request", phases=FINAL, needs="same-requester", verdict="refused", told="author:refusal",
         because="thread {ack_id} has ended; open a new ack_id for a new round"),
    _row("id-taken", "request", verdict="opened", told="assignees:request requesters:collision", becomes=REQUEST,
         because="ack_id {ack_id} is taken by {requester}; this request is thread {thread}"),
    # Corrections of one's own words.
    _row("edit-unproven", needs="unproven revises", verdict="kept", told="author:notice",
         because="an edit of a final counts only with proof of its writer; drop an amend with \"supersedes\""),
    _row("revises", phases=BEFORE_THE_END, needs="revises", verdict="revision", told="recipients:revision"),
    _row("revises-final", phases=FINAL, needs="revises-final", verdict="revision",
         told="recipients:revision author:revision"),
    # The three states and what happens on the way.
    _row("declines", roles="assignee target", phases=BEFORE_THE_END, needs="declines", verdict="declined",
         told="requester:declined"),
    _row("accepts-handoff", "confirmed", "target", BEFORE_THE_END, needs="accepts", verdict="accepted",
         told="old-owner:accepted requester:accepted"),
    _row("agrees-to-cancel", "confirmed", "dri", BEFORE_THE_END, needs="cancelling", verdict="confirmed",
         told="requester:confirmed", becomes=FINAL),
    _row("confirms-bare", "confirmed", "assignee", BEFORE_THE_END, needs="bare", verdict="confirmed",
         becomes=CONFIRMED),
    _row("confirms", "confirmed", "assignee", BEFORE_THE_END, verdict="confirmed",
         told="requester:confirmed dri:confirmed", becomes=CONFIRMED),
    _row("confirms-late", "confirmed", "assignee", FINAL, verdict="late"),
    _row("clarifies", "clarify", "assignee", BEFORE_THE_END, verdict="clarified", told="requester:question"),
    _row("answers", "answer", "requester dri", BEFORE_THE_END, needs="question-open", verdict="answered",
         told="asker:answer"),
    _row("answers-nothing", "answer", phases=BEFORE_THE_END, verdict="weak", told="dri:supplement",
         because="no question of thread {ack_id} is open for {sender}; kept as a supplement"),
    _row("hands-off", "handoff", "assignee", BEFORE_THE_END, verdict="handed-off", told="new-owner:handoff"),
    _row("arbiter-speaks", "confirmed supplement progress", "arbiter person", BEFORE_THE_END, needs="asked-arbiter",
         verdict="progress"),
    _row("supplements", "supplement", "member", BEFORE_THE_END, verdict="supplement", told="dri:supplement"),
    _row("progresses", "progress", "assignee", BEFORE_THE_END, verdict="progress"),
    _row("not-an-assignee", "confirmed clarify handoff progress", phases=BEFORE_THE_END, verdict="weak",
         told="author:notice",
         because="{sender} was not asked in thread {ack_id} ({assignees} were); kept as a supplement"),
    _row("no-result", "final", "dri", BEFORE_THE_END, needs="no-result", verdict="refused", told="author:refusal",
         because="a final says what came of the work, and this conclusion is courtesy: write the result, or confirm"),
    _row("closes", "final", "dri", BEFORE_THE_END, verdict="closed", told="requester:final assignees:final",
         becomes=FINAL),
    _row("not-the-dri", "final", phases=BEFORE_THE_END, verdict="weak", told="author:notice dri:supplement",
         because="{dri} is the DRI of thread {ack_id} and writes its final; kept as a supplement"),
    _row("second-final", "final", "dri", FINAL, verdict="flagged", told="author:notice",
         because="thread {ack_id} has a final; if this one is to replace it, drop an amend with "
                 "\"supersedes\": \"{final}\""),
    _row("cancels-at-once", "cancel", "requester person", BEFORE_THE_END, needs="own-thread", verdict="cancelling",
         told="assignees:cancelling", becomes=FINAL),
    _row("cancels", "cancel", "requester person", BEFORE_THE_END, verdict="cancelling", told="assignees:cancelling"),
    _row("rules-the-end", "ruling", "arbiter person", BEFORE_THE_END, needs="rules-the-end", verdict="ruled",
         told="dri:ruling requester:ruling", becomes=FINAL),
    _row("rules", "ruling", "arbiter person", BEFORE_THE_END, verdict="ruled",
         told="dri:ruling new-dri:ruling requester:ruling"),
    _row("picks", "ruling", "arbiter person", FINAL, needs="picks", verdict="ruled",
         told="dri:ruling requester:ruling"),
    _row("broadcasts", "broadcast", phases=UNKNOWN, verdict="broadcast", told="addressees:broadcast",
         becomes=REQUEST),
    # Whatever is left: nothing is lost, nobody is woken for nothing.
    _row("after-the-end", phases=FINAL, verdict="late", told="addressee:late",
         because="thread {ack_id} has ended; new work needs a new ack_id"),
    _row("anything-else", verdict="kept", told="author:notice",
         because="{type} by {sender} changes nothing in thread {ack_id} now; {expected}"),
)


class TimerRow(msgspec.Struct, frozen=True, kw_only=True):
    """What a timer that runs out does to a thread.

    Attributes:
        name: Stable name; first part of the timer's id.
        while_: What must be true for it to run, in words.
        after: Name of the duration in `Timeouts`.
        outcome: What the thread is afterwards.
        told: As in `Row`.
        becomes: Phase after it, or an empty string where it stays.
    """

    name: str
    while_: str
    after: str
    outcome: str
    told: tuple[tuple[str, str], ...] = ()
    becomes: str = ""


TIMERS: tuple[TimerRow, ...] = (
    TimerRow(name="reminder", while_="an assignee has not confirmed", after="reminder", outcome="reminded",
             told=(("assignee", "reminder"),)),
    TimerRow(name="escalation", while_="the reminder went unanswered", after="escalation", outcome="escalated",
             told=(("arbiter", "escalation"),)),
    TimerRow(name="overdue", while_="the DRI owes the final", after="complete", outcome="overdue",
             told=(("dri", "reminder"),)),
    TimerRow(name="ladder", while_="the arbiter that was told is silent", after="arbiter", outcome="escalated",
             told=(("next-arbiter", "escalation"),)),
    TimerRow(name="clarify", while_="a question is open", after="clarify", outcome="timed out, timers go on",
             told=(("asker", "notice"), ("requester", "notice"))),
    TimerRow(name="handoff", while_="a handoff is not accepted", after="handoff", outcome="lapsed",
             told=(("old-owner", "notice"), ("requester", "notice"))),
    TimerRow(name="cancel", while_="a cancel waits for the DRI", after="cancel", outcome="cancelled", becomes=FINAL),
    TimerRow(name="broadcast", while_="a broadcast was delivered", after="broadcast", outcome="ended", becomes=FINAL),
    TimerRow(name="held", while_="no request was seen for a message", after="held", outcome="reported",
             told=(("author", "notice"),)),
)
# fmt: on


def find_row(type_: str, roles: frozenset[str], phase: str, facts: frozenset[str]) -> Row:
    """Give the one row that holds for a drop.

    Args:
        type_: One of the message types.
        roles: Roles of its author; never empty: a stranger or a member.
        phase: One of `PHASES`.
        facts: A subset of `FACTS`.
    """
    for row in _BY_TYPE.get(type_, TABLE):
        if row.fits(type_, roles, phase, facts):
            return row
    raise AssertionError("the table is total: its last row fits anything")


# The rows that can fit a type at all, in order: most rows name their types, so the search is short.
_BY_TYPE = {type_: tuple(row for row in TABLE if not row.types or type_ in row.types) for type_ in TYPES}
