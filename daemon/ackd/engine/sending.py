"""Live sends: what is owed to an agent with a channel waits here for its turn, is recorded, and is then tried.

Whether and when to try is decided by `protocol/retry.py`; here it is carried out. Every try is in the ledger before it
is made, so that none is made twice over a restart; it runs in a thread of its own, and what became of it comes back
with a later turn.
"""

from __future__ import annotations

import hashlib
import logging
import re
import threading
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

from ackd.channels.port import Channel, Outcome, Sent
from ackd.config.channels import ChannelSetting
from ackd.engine.book import Book
from ackd.engine.delivery import Rendered
from ackd.engine.flights import EXPIRED, PRIORITIES, Flight, Landed, Offer, Part, Plan, files_only, sooner, turn_of
from ackd.engine.posts import post_of, summary_post
from ackd.engine.throttle import Throttle
from ackd.fs import faults
from ackd.protocol.entry import ATTEMPTED, DELIVERED, OUTCOME
from ackd.protocol.ids import name_key
from ackd.protocol.obligations import Deliver
from ackd.protocol.policy import Policy
from ackd.protocol.retry import JITTER_MS, Fall, Try, Wait, next_step
from ackd.protocol.sends import Send
from ackd.protocol.subject import is_thread
from ackd.protocol.thread import Thread

log = logging.getLogger("ackd")

_JOINED = frozenset({"escalation", "notice"})
"""Kinds of which several to one agent go as one."""
_MOST_JOINED = 50
_GRACE_MS = 2_000
_CLOSE_S = 2.0
_PLAIN_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._~-]{0,127}")
_NOT_TRIED = frozenset({"error", "failed", "refused", "rejected", "busy", "not-sent"})
"""What an author writes of a try of its own that surely did not arrive; anything else may have (T29)."""


class Sender:
    """Sends what is owed to agents with a live channel.

    Args:
        book: Entries and threads.
        policy: Gives the rules in force.
        render: Renders a delivery at an instant.
        channels: Each channel of this node with its setting.
        wake: Called when a send has ended.
        spawn: Runs a send beside the loop; tests run it at once.
    """

    def __init__(
        self,
        book: Book,
        policy: Callable[[], Policy],
        render: Callable[[Deliver, int], Rendered],
        channels: Sequence[tuple[ChannelSetting, Channel]],
        wake: Callable[[], None],
        spawn: Callable[[Callable[[], None]], None] | None = None,
    ) -> None:
        self._book, self._policy, self._render, self._wake = book, policy, render, wake
        self._spawn = spawn or _in_thread
        self._channels = {name_key(setting.name): channel for setting, channel in channels}
        self._throttles = {name_key(setting.name): Throttle(setting) for setting, _ in channels}
        self._offers: dict[str, dict[str, Offer]] = {}
        self._flying: dict[str, Flight] = {}
        self._prepared: list[Flight] = []
        self._landed: deque[Landed] = deque()
        self._collected: list[Landed] = []
        self._next: int | None = None
        self._closed = False

    @property
    def is_flying(self) -> bool:
        """Whether a send is under way, or has ended and is not recorded yet."""
        return bool(self._flying or self._landed)

    def channel_of(self, agent: str) -> str:
        """Give the live channel by which this node reaches an agent, in the compared form, or an empty string."""
        if not self._channels or self._closed:
            return ""
        member = self._policy().roster.find(agent)
        name = name_key(member.channel) if member is not None else ""
        return name if name in self._channels else ""

    @property
    def has_channels(self) -> bool:
        """Whether this node has any live channel."""
        return bool(self._channels)

    def say_what_is_there(self) -> None:
        """Log by which channels this node reaches whom, and whom team.yaml gives one that it does not have."""
        members = self._policy().roster.members.values()
        for name in self._throttles:
            reached = [one.name for one in members if name_key(one.channel) == name]
            log.info("channel", extra={"channel": name, "agents": ", ".join(reached) or "nobody"})
        for one in members:
            if one.channel and name_key(one.channel) not in self._channels:
                reason = f"no channel {one.channel} on this machine: {one.name} gets files"
                log.info("no-channel", extra={"agent": one.name, "reason": reason})

    def in_flight(self) -> list[str]:
        """Give the ledgers in which a send is under way."""
        return [part.thread for flight in self._flying.values() for part in flight.parts]

    # Deciding.

    def plan(self, thread: str, owed: Sequence[Deliver], now: int) -> Plan:
        """Divide what is owed in a ledger into what goes live and what goes as a file.

        Args:
            thread: The thread or other ledger.
            owed: All that is owed there now.
            now: The node's wall clock, milliseconds.
        """
        before = self._offers.pop(thread, {})
        # A ledger that is no thread may be very long, and without channels nothing of it was ever sent.
        sends = self._book.sends(thread) if self._channels or is_thread(thread) else {}
        if not (self._channels or sends):
            return files_only(thread, owed, now)
        again = self._settle_lost(thread, sends, now)
        folded = self._book.thread(thread) if is_thread(thread) else None
        files: list[tuple[Deliver, Fall | None]] = []
        due = self._in_flight_until(sends, now)
        for deliver in owed:
            one, channel = deliver.ids[0], self.channel_of(deliver.agent)
            if not channel:
                files.append((deliver, None))
                continue
            if folded is not None and self._note_own_tries(folded, deliver, channel, now):
                again = True
                continue
            step = self._step(thread, folded, deliver, sends, now)
            if isinstance(step, Try):
                since = before[one].since if one in before else now
                patience = since + self._policy().timeouts.reminder
                if now < patience:
                    self._offers.setdefault(thread, {})[one] = Offer(
                        deliver, channel, since, self._priority(deliver), step.repeated
                    )
                    due = sooner(due, patience)
                else:
                    files.append((deliver, Fall(EXPIRED)))
            elif isinstance(step, Wait):
                due = sooner(due, step.until)
            else:
                files.append((deliver, step))
        return Plan(tuple(files), due, again)

    def _step(
        self, thread: str, folded: Thread | None, deliver: Deliver, sends: dict[str, Send], now: int
    ) -> Try | Wait | Fall:
        send = next((sends[one] for one in deliver.ids if one in sends), None)
        agent = deliver.agent
        flying = any(
            flight.agent == agent and part.thread == thread
            for flight in (*self._flying.values(), *self._prepared)
            for part in flight.parts
        )
        return next_step(
            send,
            folded.unknown_tries(agent) if folded is not None else (),
            kind=deliver.kind,
            was_alive=folded is not None and _was_alive(folded, agent),
            was_refused=any(
                one.outcome == Outcome.REFUSED.value
                for other in sends.values()
                if other.agent == agent
                for one in other.attempts
            ),
            is_flying=flying,
            now=now,
            jitter=int(send.last.key[:4], 16) % (JITTER_MS + 1) if send is not None else 0,
        )

    def _settle_lost(self, thread: str, sends: dict[str, Send], now: int) -> bool:
        """Record of a try whose outcome nobody will hear of that it may have arrived: the daemon died over it."""
        lost = {one.key for send in sends.values() for one in send.attempts if not one.outcome}
        if not lost:
            return False
        under_way = (*self._flying.values(), *self._prepared, *(one.flight for one in self._landed))
        lost -= {part.key for flight in under_way for part in flight.parts}
        # What another node has under way is its own to settle.
        mine = [key for key in sorted(lost) if self._is_own(thread, key)]
        for key in mine:
            detail = "the daemon stopped before the outcome was known"
            self._book.write(OUTCOME, thread, _outcome(key, Outcome.AMBIGUOUS, detail), now)
        return bool(mine)

    def _is_own(self, thread: str, key: str) -> bool:
        entry = self._book.entry(thread, key)
        return entry is not None and entry.node == self._book.node

    def _note_own_tries(self, thread: Thread, deliver: Deliver, channel: str, now: int) -> bool:
        """Record live sends of a request that its author made itself and says so (`attempts`); they count (T13)."""
        message = thread.message(deliver.message)
        if deliver.kind != "request" or message is None or deliver.ids[0] in thread.sends:
            return False
        tries = [one for one in message.content.get("attempts") or () if isinstance(one, dict)]
        roster = self._policy().roster
        mine = [
            one
            for one in tries
            if str(one.get("outcome") or one.get("status") or "").strip().lower() not in _NOT_TRIED
            and (not one.get("to") or roster.spelling(str(one["to"])) == deliver.agent)
        ]
        for one in mine[:2]:
            body = self._attempt_body(deliver, channel, message.identity, {}, "") | {"by": message.sender}
            entry = self._book.write(ATTEMPTED, thread.id, body, now)
            said = str(one.get("outcome") or one.get("status") or "no answer")
            self._book.write(
                OUTCOME, thread.id, _outcome(entry.key, Outcome.AMBIGUOUS, f"its author says: {said}"), now
            )
        return bool(mine)

    def _in_flight_until(self, sends: dict[str, Send], now: int) -> int | None:
        """Give when a send of this ledger must have ended, so that a daemon that died over it is noticed.

        One that has not ended by then is looked at again now and then: it may be another node's.
        """
        running = [one for send in sends.values() for one in send.attempts if not one.outcome]
        ends = [one.at + self._timeout_ms(one.channel) + _GRACE_MS for one in running]
        return max(min(ends), now + _GRACE_MS) if ends else None

    def _timeout_ms(self, channel: str) -> int:
        throttle = self._throttles.get(channel)
        return throttle.setting.timeout_ms if throttle is not None else 30_000

    # Doing.

    def prepare(self, now: int) -> bool:
        """Take the offers whose turn it is and record a try of each; they fly once that is committed.

        Returns:
            Whether there is anything to commit.
        """
        self._next = None
        for name, throttle in self._throttles.items():
            waiting = self._waiting(name)
            while waiting:
                room = throttle.room_at(now)
                if room is None or room > now:
                    self._look_again(room)
                    break
                offer = self._first_ready(throttle, waiting, now)
                if offer is None:
                    break
                several = [offer]
                if offer.deliver.kind in _JOINED:
                    alike = (
                        one for one in waiting if one.agent == offer.agent and one.deliver.kind == offer.deliver.kind
                    )
                    several = list(alike)[:_MOST_JOINED]
                waiting = [one for one in waiting if one not in several]
                flight = self._record(name, several, now)
                throttle.begins(flight.key, flight.agent, now)
                self._prepared.append(flight)
        return bool(self._prepared)

    def _waiting(self, channel: str) -> list[Offer]:
        """Give the offers of a channel: the pressing ones first, then the older."""
        offers = [one for several in self._offers.values() for one in several.values()]
        mine = [one for one in offers if one.channel == channel]
        return sorted(mine, key=turn_of)

    def _first_ready(self, throttle: Throttle, waiting: list[Offer], now: int) -> Offer | None:
        later: dict[str, int | None] = {}
        for offer in waiting:
            if offer.agent not in later:
                due = throttle.recipient_at(offer.agent, now)
                if due is not None and due <= now:
                    return offer
                later[offer.agent] = due
                self._look_again(due)
        return None

    def _priority(self, deliver: Deliver) -> str:
        if not is_thread(deliver.thread):
            return "normal"
        thread = self._book.thread(deliver.thread)
        request = thread.text_in_force(thread.request)
        written = request.content.get("priority") if request is not None else None
        return written if isinstance(written, str) and written in PRIORITIES else "normal"

    def _record(self, channel: str, several: list[Offer], now: int) -> Flight:
        """Record a try of each, and give the send that makes them."""
        rendered = [self._render(one.deliver, now) for one in several]
        repeated = any(one.repeated for one in several)
        message_id = self._message_id(several[0].deliver)
        priority = several[0].priority
        if len(several) == 1:
            post = post_of(rendered[0], message_id=message_id, priority=priority, repeated=repeated)
        else:
            post = summary_post(rendered, message_id=message_id, priority=priority, at_ms=now, repeated=repeated)
        parts = []
        for offer, one in zip(several, rendered, strict=True):
            deliver = offer.deliver
            sha256 = _sha256(one.data)
            body = self._attempt_body(deliver, channel, message_id, one.facts, sha256)
            entry = self._book.write(ATTEMPTED, deliver.thread, body, now)
            parts.append(Part(deliver.thread, entry.key, body))
            self._offers.get(deliver.thread, {}).pop(deliver.ids[0], None)
        return Flight(channel, several[0].agent, post, tuple(parts))

    def _attempt_body(
        self, deliver: Deliver, channel: str, message_id: str, facts: dict[str, Any], sha256: str
    ) -> dict[str, Any]:
        return {
            "ids": list(deliver.ids),
            "agent": deliver.agent,
            "kind": deliver.kind,
            "channel": channel,
            "message_id": message_id,
            "facts": facts,
            "sha256": sha256,
        }

    def _message_id(self, deliver: Deliver) -> str:
        """Give by what a receiver knows a repetition: a reminder has the id of the request that it carries.

        It may stand beside other things in an argument or a header: one with more than plain characters is hashed.
        """
        identity = ""
        if deliver.kind in ("request", "reminder") and is_thread(deliver.thread):
            thread = self._book.thread(deliver.thread)
            request = thread.text_in_force(thread.request)
            identity = request.identity if request is not None else ""
        if _PLAIN_ID.fullmatch(identity):
            return identity
        if identity:
            return f"sha256-{_sha256(identity.encode())}"
        return f"{deliver.kind}-{_sha256(deliver.ids[0].encode())[:32]}"

    def launch(self) -> None:
        """Let fly what was prepared; its tries are committed."""
        prepared, self._prepared = self._prepared, []
        for flight in prepared:
            self._flying[flight.key] = flight
            faults.reach("attempt")
            log.info("sending", extra={"agent": flight.agent, "ack_id": flight.post.thread, "kind": flight.post.kind})
            self._spawn(lambda flight=flight: self._fly(flight))  # type: ignore[misc]
            faults.reach("send")

    def _fly(self, flight: Flight) -> None:
        def late(sent: Sent) -> None:
            self._landed.append(Landed(flight, sent, late=True))
            self._wake()

        try:
            channel = self._channels[flight.channel]
            sent = channel.send(flight.post, self._timeout_ms(flight.channel) / 1000, late)
        except Exception as error:
            # A channel of somebody else's making may raise; whether it had sent before that, nobody knows.
            log.exception("channel-failed", extra={"channel": flight.channel})
            sent = Sent(Outcome.AMBIGUOUS, f"the channel itself failed ({type(error).__name__})")
        self._landed.append(Landed(flight, sent))
        self._wake()

    def collect(self, now: int) -> None:
        """Record what became of sends since the last turn."""
        while self._landed:
            landed = self._landed.popleft()
            self._collected.append(landed)
            outcome = Outcome(landed.sent.outcome)
            if not landed.late:
                self._flying.pop(landed.flight.key, None)
                throttle = self._throttles[landed.flight.channel]
                throttle.ends(landed.flight.key, outcome.value, now, landed.sent.detail)
            for part in landed.flight.parts:
                self.resolve(part.thread, part.key, part.body, outcome, landed.sent.detail, now)
            faults.reach("outcome")
            extra = {"agent": landed.flight.agent, "ack_id": landed.flight.post.thread, "reason": landed.sent.detail}
            log.info("send-%s", outcome.value, extra=extra)

    def resolve(
        self,
        thread: str,
        key: str,
        body: dict[str, Any],
        outcome: Outcome,
        detail: str,
        now: int,
        *,
        sign: bool = False,
    ) -> None:
        """Record the outcome of one try; one that arrived carries out its obligations.

        Args:
            thread: The ledger.
            key: Key of the entry that recorded the try.
            body: That entry's body.
            outcome: How it ended.
            detail: What the channel said, or what showed it.
            now: The node's wall clock, milliseconds.
            sign: Whether only a sign of life of the receiver shows that it arrived.
        """
        book = self._book
        more: dict[str, Any] = {"sign": True} if sign else {}
        book.write(OUTCOME, thread, _outcome(key, outcome, detail) | more, now)
        if outcome != Outcome.DELIVERED or book.is_done(thread, body["ids"][0]):
            return
        done = {name: body[name] for name in ("ids", "agent", "kind", "sha256", "facts", "channel")}
        book.write(DELIVERED, thread, {**done, "path": ""}, now)

    def committed(self) -> None:
        """What was collected is in the memory now."""
        self._collected.clear()

    def forget(self) -> None:
        """After a commit that failed: what came back is recorded anew, what was not yet let fly is not."""
        self._landed.extendleft(reversed(self._collected))
        self._collected.clear()
        for flight in self._prepared:
            self._throttles[flight.channel].flying.pop(flight.key, None)
        self._prepared.clear()
        self._offers.clear()
        for landed in self._landed:
            if not landed.late:
                self._flying.setdefault(landed.flight.key, landed.flight)

    def trouble(self) -> str:
        """Say which channels are down, for people; an empty string where none is."""
        down = [one for one in self._throttles.values() if one.is_down]
        return "; ".join(
            f"the channel {one.setting.name} is down: {one.said or 'no send gets through'}" for one in down
        )

    def next_due(self) -> int | None:
        """Give when a limit has room again, or None."""
        return self._next

    def _look_again(self, due: int | None) -> None:
        self._next = sooner(self._next, due)

    def close(self, now: int) -> None:
        """Stop sending; what ends within two seconds is recorded, all else may have arrived."""
        for channel in self._channels.values():
            channel.close()
        done = threading.Event()
        for _ in range(int(_CLOSE_S / 0.02)):
            if len({one.flight.key for one in self._landed if not one.late}) >= len(self._flying):
                break
            done.wait(0.02)
        self.collect(now)
        self._closed = True


def _was_alive(thread: Thread, agent: str) -> bool:
    """Whether the agent gave a sign of life after a try of which nobody else knows whether it arrived."""
    sign = thread.signs.get(agent)
    for send in thread.sends.values():
        if send.agent != agent:
            continue
        if any(one.by_sign for one in send.attempts):
            return True
        first = send.first_unknown
        if first is not None and sign is not None and sign[0] > first.stamp:
            return True
    return False


def _outcome(key: str, outcome: Outcome, detail: str) -> dict[str, Any]:
    return {"attempt": key, "outcome": outcome.value, "detail": detail[:200]}


def _sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _in_thread(run: Callable[[], None]) -> None:
    threading.Thread(target=run, name="ackd-send", daemon=True).start()
