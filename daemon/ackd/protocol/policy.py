"""The team's rules as values: who is on the roster, who arbitrates, how long each step may take."""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Mapping

import msgspec

from ackd.protocol.ids import name_key

MINUTE = 60_000


class Timeouts(msgspec.Struct, frozen=True, kw_only=True):
    """How long each step may take, in milliseconds (T14, T15, C7, C8; DESIGN part 5, Defaults)."""

    reminder: int = 5 * MINUTE
    escalation: int = 10 * MINUTE
    complete: int = 30 * MINUTE
    clarify: int = 10 * MINUTE
    handoff: int = 30 * MINUTE
    broadcast: int = 5 * MINUTE
    arbiter: int = 10 * MINUTE
    cancel: int = 10 * MINUTE
    held: int = 10 * MINUTE

    @property
    def after_reminder(self) -> int:
        """The least time between a reminder and the escalation."""
        return max(0, self.escalation - self.reminder)

    @property
    def together(self) -> int:
        """Escalations that fall due within this time share one notice."""
        return min(MINUTE, self.escalation // 10)


class Agent(msgspec.Struct, frozen=True, kw_only=True):
    """A member of the roster.

    Attributes:
        name: Spelling of `team.yaml`, the one that is shown.
        type: What kind of agent it is, for the lineage rule; its name where the team says nothing (C24).
        home: The node that the team asks for, or an empty string.
        channel: Name of its live channel, or an empty string.
        is_person: A name under `people:`.
        timeouts: Its own times, or None for the team's.
    """

    name: str
    type: str = ""
    home: str = ""
    channel: str = ""
    is_person: bool = False
    timeouts: Timeouts | None = None


class Roster(msgspec.Struct, frozen=True):
    """Who takes part (R49).

    Attributes:
        members: Agents and people by the form in which names are compared.
        arbiters: Names in their order, in the roster's spelling.
        groups: Members of each group by the group's compared name; `all` is every agent.
    """

    members: dict[str, Agent]
    arbiters: tuple[str, ...] = ()
    groups: dict[str, tuple[str, ...]] = {}

    def find(self, name: str) -> Agent | None:
        """Give the member of that name, or None."""
        return self.members.get(name_key(name))

    def spelling(self, name: str) -> str:
        """Give the roster's spelling of a name, or the name as it is where the roster lacks it."""
        member = self.members.get(name_key(name))
        return member.name if member else name

    def rank(self, name: str) -> int:
        """Give the rank for rulings: 0 a person, 1 the first arbiter and so on, -1 for everybody else."""
        member = self.find(name)
        if member is None:
            return -1
        if member.is_person:
            return 0
        return self.arbiters.index(member.name) + 1 if member.name in self.arbiters else -1

    @property
    def people(self) -> tuple[str, ...]:
        """Names of the people, in the order of `team.yaml`."""
        return tuple(member.name for member in self.members.values() if member.is_person)

    def expand(self, names: Iterable[str], *, without: str = "") -> Expansion:
        """Turn what stands in `to` into members.

        Args:
            names: Names, group names and `all`.
            without: A name that groups and `all` leave out: the author's (DESIGN part 5).
        """
        known: dict[str, None] = {}
        named: list[str] = []
        unknown: list[str] = []
        for name in names:
            member = self.find(name)
            if member is not None:
                known[member.name] = None
                named.append(member.name)
                continue
            group = self._group(name)
            if group is None:
                unknown.append(name)
                continue
            for other in group:
                if other != without:
                    known.setdefault(other)
        return Expansion(tuple(known), tuple(named), tuple(unknown))

    def _group(self, name: str) -> tuple[str, ...] | None:
        key = name_key(name)
        if key in self.groups:
            return self.groups[key]
        if key == "all":
            return tuple(member.name for member in self.members.values() if not member.is_person)
        return None


class Expansion(msgspec.Struct, frozen=True):
    """What a list of recipients comes to: all members, those named one by one, and the unknown names."""

    members: tuple[str, ...]
    named: tuple[str, ...]
    unknown: tuple[str, ...]


class Policy(msgspec.Struct, frozen=True, kw_only=True):
    """The rules in force.

    Attributes:
        roster: Who takes part.
        timeouts: The team's times.
        zone: Time zone of local times in deadlines (C30).
        depth_limit: How often a request may be passed on (B9).
        trust_edits: Whether an edit of a final counts without proof of its writer.
        version: Name of the rules, recorded with each verdict (T16).
    """

    roster: Roster
    timeouts: Timeouts = Timeouts()
    zone: datetime.tzinfo = datetime.UTC
    depth_limit: int = 5
    trust_edits: bool = True
    version: str = "V1"

    def times(self, agent: str) -> Timeouts:
        """Give the times that hold for an agent."""
        member = self.roster.find(agent)
        return member.timeouts if member is not None and member.timeouts is not None else self.timeouts


def make_roster(
    agents: Iterable[Agent], *, arbiters: Iterable[str] = (), groups: Mapping[str, Iterable[str]] | None = None
) -> Roster:
    """Build a roster; names in `arbiters` and `groups` take the spelling of the agents."""
    members = {name_key(agent.name): agent for agent in agents}

    def spell(name: str) -> str:
        member = members.get(name_key(name))
        return member.name if member else name

    return Roster(
        members=members,
        arbiters=tuple(dict.fromkeys(spell(name) for name in arbiters)),
        groups={name_key(name): tuple(spell(one) for one in names) for name, names in (groups or {}).items()},
    )
