"""Who hears of a message: the audiences that the rows of the table name, as agents (nobody hears what he wrote)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from ackd.protocol import table
from ackd.protocol.drop import Drop
from ackd.protocol.facts import Findings
from ackd.protocol.policy import Policy
from ackd.protocol.thread import Tell, Thread


class Audience:
    """Resolves the audiences of one message."""

    def __init__(self, thread: Thread, found: Findings, drop: Drop, policy: Policy, sender: str) -> None:
        self.thread, self.found, self.drop, self.policy, self.sender = thread, found, drop, policy, sender

    def resolve(self, row: table.Row, basis: dict[str, Any]) -> tuple[Tell, ...]:
        """Give who is told and as what; an agent that is named twice hears once, in the row's first capacity."""
        told: dict[str, str] = {}
        for audience, kind in row.told:
            for agent in _AUDIENCES[audience](self):
                if agent and (agent != self.sender or audience in _OWN):
                    told.setdefault(agent, kind)
        if row.verdict == "revision":
            for agent in basis.get("added", ()):
                told[agent] = "request"
        if self.found.tells_author and row.verdict in ("opened", "revision", "broadcast"):
            told.setdefault(self.sender, "notice")
        return tuple(Tell(agent, kind) for agent, kind in told.items())

    def _author(self) -> Iterable[str]:
        return (self.sender,)

    def _requester(self) -> Iterable[str]:
        return (self.thread.requester,)

    def _requesters(self) -> Iterable[str]:
        return (self.thread.requester, self.sender)

    def _dri(self) -> Iterable[str]:
        """The DRI; a broadcast has none, so that a reply of substance reaches who sent it."""
        return (self.thread.dri or self.thread.requester,)

    def _new_dri(self) -> Iterable[str]:
        return (self.found.dri,)

    def _assignees(self) -> Iterable[str]:
        return self.found.assignees if self.found.type == "request" else tuple(self.thread.duties)

    def _addressees(self) -> Iterable[str]:
        return self.found.members

    def _recipients(self) -> Iterable[str]:
        """Whoever got the first text, or one of its later ones."""
        message = self.thread.message(self.found.revises)
        first = self._first_text(message.digest) if message is not None else ""
        told: dict[str, None] = {}
        current = self.thread.message(first)
        for _ in self.thread.messages:
            if current is None:
                break
            told.update(dict.fromkeys(tell.agent for tell in current.told if tell.kind not in _ABOUT_IT))
            current = self.thread.message(current.revised_by) if current.revised_by else None
        return told

    def _first_text(self, digest: str) -> str:
        earlier = {message.revised_by: message.digest for message in self.thread.messages if message.revised_by}
        for _ in self.thread.messages:
            if digest not in earlier:
                break
            digest = earlier[digest]
        return digest

    def _addressee(self) -> Iterable[str]:
        """Those whom a late remark names; else the DRI; else the requester; else a person."""
        expansion = self.policy.roster.expand(self.drop.envelope.to, without=self.sender)
        named = tuple(name for name in expansion.members if name != self.sender)
        if named:
            return named
        return next(((name,) for name in (self.thread.dri, self.thread.requester) if name and name != self.sender), ())

    def _asker(self) -> Iterable[str]:
        return self.found.askers

    def _old_owner(self) -> Iterable[str]:
        return (self.found.handoff_owner,)

    def _new_owner(self) -> Iterable[str]:
        return (self.found.target,)

    def _arbiter(self) -> Iterable[str]:
        """The first arbiter, else the first person; once a thread."""
        if any(message.row == "in-lineage" for message in self.thread.messages):
            return ()  # It was told once; the thread is shown as one that needs a person.
        roster = self.policy.roster
        return (roster.arbiters or roster.people)[:1]

    def _person(self) -> Iterable[str]:
        return self.policy.roster.people[:1]


_OWN = frozenset({"author", "requesters"})
"""Audiences in which the author itself is meant."""

_ABOUT_IT = frozenset({"notice", "collision"})
"""Kinds by which somebody hears about a message without being one of its recipients."""

_AUDIENCES: dict[str, Callable[[Audience], Iterable[str]]] = {
    "author": Audience._author,
    "requester": Audience._requester,
    "requesters": Audience._requesters,
    "dri": Audience._dri,
    "new-dri": Audience._new_dri,
    "assignees": Audience._assignees,
    "addressees": Audience._addressees,
    "recipients": Audience._recipients,
    "addressee": Audience._addressee,
    "asker": Audience._asker,
    "old-owner": Audience._old_owner,
    "new-owner": Audience._new_owner,
    "arbiter": Audience._arbiter,
    "person": Audience._person,
}
