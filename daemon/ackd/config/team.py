"""`team.yaml`: who takes part and by which rules, read into a `Policy`. It is data; nothing in it is ever executed."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import msgspec

from ackd.config.yaml_file import read_yaml
from ackd.errors import InvalidError
from ackd.fs.beneath import FileRead, Root, TooLarge
from ackd.protocol.ids import clean_name, name_key, shown
from ackd.protocol.instant import parse_duration
from ackd.protocol.policy import Agent, Policy, Timeouts, make_roster

FILE_NAME = "team.yaml"
_CAP = 65_536
_KEYS = (
    *("agents", "people", "arbiters", "groups", "default_home", "timezone", "timeouts", "trust_edits", "protocol"),
    *("permissions", "depth_limit", "$schema"),
)
_MEMBER_KEYS = ("type", "home", "channel", "accounts", "timeouts")


class Team(msgspec.Struct, frozen=True, kw_only=True):
    """What `team.yaml` says.

    Attributes:
        policy: The rules in force.
        zone_name: IANA name of the team's time zone.
        default_home: Node at which agents without a home live, or an empty string.
        findings: What was odd but did no harm, one sentence each.
    """

    policy: Policy
    zone_name: str = "UTC"
    default_home: str = ""
    findings: tuple[str, ...] = ()


def load_team(root: Root) -> Team:
    """Read the tree's `team.yaml`.

    Raises:
        InvalidError: There is none, or it cannot be used; the message says where.
    """
    read = root.read(FILE_NAME, _CAP)
    if isinstance(read, TooLarge):
        raise InvalidError(
            f"{FILE_NAME} has {read.size} bytes; at most {_CAP} are read", hint="take out what no rule needs"
        )
    if not isinstance(read, FileRead):
        raise InvalidError(f"{FILE_NAME} cannot be read", hint="ackd init lays one down")
    return parse_team(read.data)


def parse_team(data: bytes) -> Team:
    """Read the bytes of a `team.yaml`.

    Raises:
        InvalidError: It cannot be used; the message names the key.
    """
    from ackd.schema import accepts, problems

    document = read_yaml(data, name=FILE_NAME)
    if document is None:
        document = {}
    if not accepts("team", document):
        found = problems("team", document)
        where = "; ".join(f"{one.pointer or '/'}: {one.expected} (found {one.found})" for one in found[:3])
        raise InvalidError(f"{FILE_NAME} {where or 'does not fit its schema'}", hint=f"correct {FILE_NAME} and save it")
    return _team(document)


def _team(document: dict[str, Any]) -> Team:
    findings: list[str] = []
    times = _times(document.get("timeouts") or {}, Timeouts(), "timeouts")
    agents = [
        _agent(name, details or {}, times, is_person=False) for name, details in (document.get("agents") or {}).items()
    ]
    people = document.get("people") or {}
    names = people if isinstance(people, dict) else dict.fromkeys(people)
    persons = [_agent(name, details or {}, times, is_person=True) for name, details in names.items()]
    seen: dict[str, str] = {}
    for member in (*agents, *persons):
        other = seen.setdefault(name_key(member.name), member.name)
        if name_key(member.name) == "all":
            raise InvalidError(f"{FILE_NAME}: {member.name} is no name: it means every agent", hint="rename it")
        if other is not member.name:
            raise InvalidError(
                f"{FILE_NAME} has {other} and {member.name}, which count as the same name", hint="rename one of them"
            )
    groups = {clean_name(name, what="group"): _names(of) for name, of in (document.get("groups") or {}).items()}
    group_keys: dict[str, str] = {}
    for name in groups:
        if name_key(name) == "all":
            raise InvalidError(
                f"{FILE_NAME} groups: {name} means every agent already", hint="give the group another name"
            )
        if name_key(name) in seen:
            raise InvalidError(f"{FILE_NAME}: {name} is a group and an agent", hint="rename the group")
        other = group_keys.setdefault(name_key(name), name)
        if other is not name:
            raise InvalidError(
                f"{FILE_NAME} groups: {other} and {name} count as the same name", hint="rename one of them"
            )
    findings += _unknown_keys(document)
    arbiters = _names(document.get("arbiters"))
    for name in arbiters:
        if name_key(name) not in seen:
            near = _nearest(name, seen.values())
            raise InvalidError(
                f"{FILE_NAME} arbiters: {name} is not on the roster",
                hint=f"did you mean {near}?" if near else "add it under agents: or people:",
            )
    findings += [
        f"{member} in group {name} is not on the roster"
        for name, members in groups.items()
        for member in members
        if name_key(member) not in seen
    ]
    groups = {name: [one for one in members if name_key(one) in seen] for name, members in groups.items()}
    zone_name = document.get("timezone") or "UTC"
    policy = Policy(
        roster=make_roster((*agents, *persons), arbiters=arbiters, groups=groups),
        timeouts=times,
        zone=_zone(zone_name),
        depth_limit=int(document.get("depth_limit") or 5),
        trust_edits=bool(document.get("trust_edits", True)),
        version=str((document.get("protocol") or {}).get("version") or "V1"),
    )
    return Team(
        policy=policy,
        zone_name=zone_name,
        default_home=str(document.get("default_home") or ""),
        findings=tuple(findings),
    )


def _unknown_keys(document: dict[str, Any]) -> list[str]:
    findings = []
    for key in document:
        if key not in _KEYS:
            near = _nearest(key, _KEYS)
            guess = f"; did you mean {near}?" if near else ""
            findings.append(f"{FILE_NAME}: the key {shown(key)} is unknown{guess}")
    for part in ("agents", "people"):
        members = document.get(part)
        for name, details in members.items() if isinstance(members, dict) else ():
            for key in details if isinstance(details, dict) else ():
                near = _nearest(key, _MEMBER_KEYS) if key not in _MEMBER_KEYS else ""
                if near:  # any other key is the team's own note
                    findings.append(f"{FILE_NAME} {part}.{name}: the key {shown(key)} is unknown; did you mean {near}?")
    return findings


def _nearest(word: str, words: Iterable[str]) -> str:
    import difflib

    return next(iter(difflib.get_close_matches(word, list(words), n=1)), "")


def _agent(name: str, details: dict[str, Any], team: Timeouts, *, is_person: bool) -> Agent:
    own = details.get("timeouts")
    return Agent(
        name=clean_name(name, what="agent"),
        type=str(details.get("type") or ""),
        home=str(details.get("home") or ""),
        # As the node's own configuration spells it: on some systems a typed é is two characters.
        channel=unicodedata.normalize("NFC", str(details.get("channel") or "")),
        is_person=is_person,
        timeouts=_times(own, team, f"agents/{name}/timeouts") if own else None,
    )


def _names(value: Any) -> list[str]:
    return [value] if isinstance(value, str) else list(value or ())


def _times(written: dict[str, Any], base: Timeouts, where: str) -> Timeouts:
    changes: dict[str, int] = {}
    for name, value in written.items():
        if name not in Timeouts.__struct_fields__:
            raise InvalidError(
                f"{FILE_NAME} {where}: {name} is no timeout", hint="known: " + ", ".join(Timeouts.__struct_fields__)
            )
        if value is None:
            continue
        length = round(value * 1000) if isinstance(value, int | float) else parse_duration(value)
        if length is None or length <= 0:
            raise InvalidError(
                f"{FILE_NAME} {where}/{name}: {value!r:.40} is no duration", hint="write 5m, 90s or 1h30m"
            )
        changes[name] = length
    return msgspec.structs.replace(base, **changes)


def _zone(name: str) -> ZoneInfo:
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise InvalidError(
            f"{FILE_NAME} timezone: {name!r:.60} is no time zone", hint="use a name such as Asia/Shanghai"
        ) from None
