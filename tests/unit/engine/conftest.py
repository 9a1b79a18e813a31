"""Conversations for the tests of the engine's words: real verdicts and obligations, without files and clocks."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable
from typing import Any

import msgspec
import pytest

from ackd.engine.delivery import Rendered, render_delivery
from ackd.protocol.drop import Drop
from ackd.protocol.entry import DELIVERED, JUDGED, TIMER, Entry, make_entry
from ackd.protocol.envelope import read_envelope
from ackd.protocol.fold import fold
from ackd.protocol.judge import Verdict, judge
from ackd.protocol.obligations import Clock, Deliver, obligations
from ackd.protocol.policy import MINUTE, Agent, Policy, make_roster
from ackd.protocol.thread import Thread
from ackd.tree.layout import inbox_path, proposed_name

START = 1_772_951_400_000  # 2026-03-08T06:30:00Z

POLICY = Policy(
    roster=make_roster(
        [
            Agent(name="zoe"),
            Agent(name="macro"),
            Agent(name="trading"),
            Agent(name="风控"),
            Agent(name="boss"),
            Agent(name="li", is_person=True),
        ],
        arbiters=["boss"],
    )
)


class Talk:
    """One thread while it is told: `say` drops a message, `pass_` lets time go by and carries out what is owed."""

    def __init__(self, id_: str = "oil-v1", policy: Policy = POLICY) -> None:
        self.id, self.policy, self.now = id_, policy, START
        self.entries: list[Entry] = []
        self.handed: list[tuple[Deliver, Rendered]] = []

    @property
    def thread(self) -> Thread:
        return fold(self.id, self.entries)

    def say(self, sender: str, type_: str, *, path: str = "", n: int = 1, child: bool = False, **words: Any) -> Verdict:
        """Drop a message; keywords with a trailing underscore (`from_`) lose it. Circumstances go in as `drop_…`."""
        circumstances = {key.removeprefix("drop_"): words.pop(key) for key in list(words) if key.startswith("drop_")}
        key = "state" if type_ in ("request", "confirmed", "final") else "type"
        content = {key: type_, "ack_id": self.id, "from": sender, **words}
        where = path or f"roundtable/{self.id}/{proposed_name(type_, sender, n)}"
        drop = Drop(
            envelope=read_envelope(content),
            path=where,
            at=self.now,
            folder=f"roundtable/{self.id}",
            **circumstances,
        )
        verdict = judge(self.thread, drop, self.policy, lambda _: None)
        self._judged(verdict.child if child and verdict.child else verdict, drop)
        return verdict

    def _judged(self, verdict: Verdict, drop: Drop) -> None:
        self.id = verdict.thread
        envelope = drop.envelope
        self._write(
            JUDGED,
            {
                "digest": envelope.digest,
                "identity": envelope.identity,
                "type": envelope.type,
                "from": self.policy.roster.spelling(envelope.sender),
                "verdict": verdict.word,
                "row": verdict.row,
                "because": verdict.because,
                "told": [[tell.agent, tell.kind] for tell in verdict.told],
                "notes": list(verdict.notes),
                "path": drop.path,
                "message": envelope.content,
                "basis": verdict.basis,
            },
        )

    def _write(self, kind: str, body: dict[str, Any]) -> None:
        number = len(self.entries) + 1
        entry, _ = make_entry(
            node="desk",
            inc="9c41d0aa",
            seq=number,
            prev=self.entries[-1].key if self.entries else "",
            stamp=(self.now, number),
            kind=kind,
            thread=self.id,
            at=self.now,
            body=body,
        )
        self.entries.append(entry)

    def pass_(self, minutes: float = 0) -> list[tuple[Deliver, Rendered]]:
        """Let time go by, then carry out all that is owed; give what was handed over."""
        self.now += int(minutes * MINUTE)
        handed: list[tuple[Deliver, Rendered]] = []
        for _ in range(20):
            seen = {entry.key: entry.at for entry in self.entries}
            thread = self.thread
            owed = obligations(thread, self.policy, Clock(self.now, seen.__getitem__))
            if not owed.deliver and not owed.fire:
                self.handed += handed
                return handed
            for fire in owed.fire:
                self._write(TIMER, {"id": fire.id, "name": fire.name, "digest": fire.digest})
            for deliver in owed.deliver:
                rendered = render_delivery(deliver, thread, self.policy, self.now)
                handed.append((deliver, rendered))
                self._write(
                    DELIVERED,
                    {
                        "ids": list(deliver.ids),
                        "agent": deliver.agent,
                        "kind": deliver.kind,
                        "path": inbox_path(deliver.agent, rendered.name),
                        "sha256": hashlib.sha256(rendered.data).hexdigest(),
                        "facts": rendered.facts,
                    },
                )
        raise AssertionError("what is owed never ends")

    def got(self, agent: str, kind: str, handed: Iterable[tuple[Deliver, Rendered]] | None = None) -> dict[str, Any]:
        """Give the one delivery of that kind to that agent, read from its bytes."""
        among = self.handed if handed is None else handed
        found = [rendered for deliver, rendered in among if (deliver.agent, deliver.kind) == (agent, kind)]
        assert len(found) == 1, f"{len(found)} deliveries of kind {kind} to {agent}"
        document: dict[str, Any] = msgspec.json.decode(found[0].data)
        return document


def open_talk(id_: str = "oil-v1", policy: Policy = POLICY, **words: Any) -> Talk:
    """Begin with a request of zoe's to macro and trading (the DRI), handed over."""
    talk = Talk(id_, policy)
    asked = {"to": ["macro", "trading"], "dri": "trading", "action": "下周A股策略：仓位？"} | words
    talk.say("zoe", "request", **asked)
    talk.pass_()
    return talk


@pytest.fixture
def talk() -> Callable[..., Talk]:
    """Give the maker of empty conversations."""
    return Talk


@pytest.fixture
def asked() -> Callable[..., Talk]:
    """Give the maker of conversations that begin with a delivered request."""
    return open_talk
