"""The configuration in force: every value, and where it comes from (a flag, a variable, a file, or the default)."""

from __future__ import annotations

import os
from typing import Any

import msgspec

from ackd.config import Team, load_node
from ackd.config.channels import ChannelSetting, Limit, load_channels
from ackd.config.node import config_file, node_settings, state_home
from ackd.config.yaml_file import read_yaml
from ackd.engine.reading import View
from ackd.fs.beneath import FileRead
from ackd.protocol.ids import name_key
from ackd.protocol.policy import Timeouts
from ackd.tree import layout

DEFAULT = "default"
_CAP = 65_536
_UNITS = {1_000: "s", 60_000: "min", 3_600_000: "h"}


class Setting(msgspec.Struct, frozen=True):
    """One value in force.

    Attributes:
        key: Its name; parts of a whole are parted by dots, such as `timeouts.reminder`.
        value: JSON; times in milliseconds.
        origin: `--dir`, the name of a variable, the path of a file, `found upwards`, or `default`.
    """

    key: str
    value: Any
    origin: str


def settings(view: View, flag: str | None = None) -> list[Setting]:
    """Give every value in force on this machine for a tree.

    Args:
        view: The tree.
        flag: What `--dir` said, or None.

    Raises:
        InvalidError: `team.yaml` or the node's configuration cannot be used; the message names file and key.
    """
    return [*_of_node(view, flag), *map(_of_channel, load_channels()), *_of_team(view)]


def _of_node(view: View, flag: str | None) -> list[Setting]:
    here = node_settings()
    node = load_node(view.tree, create=False)
    found = "--dir" if flag else "ACKD_DIR" if os.environ.get("ACKD_DIR") else "found upwards"
    state = str(node.state) if node is not None else f"{state_home()} (made by ackd up)"
    given = [
        Setting("tree", str(view.tree), found),
        Setting("node", here["node"].value, here["node"].origin),
        Setting("state", state, _of_variable("ACKD_STATE")),
        Setting("config", str(config_file()), _of_variable("ACKD_CONFIG")),
        Setting("durability", here["durability"].value, here["durability"].origin),
    ]
    speaker = os.environ.get("ACKD_AGENT")
    return [*given, Setting("agent", speaker or None, "ACKD_AGENT" if speaker else DEFAULT)]


def _of_channel(one: ChannelSetting) -> Setting:
    """Give what may be seen of a channel: no argument, no secret, and of an address the host alone."""
    value = {
        "kind": one.kind,
        **_target(one),
        "timeout": one.timeout_ms,
        "rate": _rate(one.rate),
        "recipient_rate": _rate(one.recipient_rate),
        "parallel": one.parallel,
    }
    return Setting(f"channels.{one.name}", value, one.origin)


def _target(one: ChannelSetting) -> dict[str, str]:
    """Give program or host; of other kinds nothing: what looks like a host in an address of theirs may be a token."""
    if one.kind == "command":
        run = one.options.get("run")
        return {"program": run[0]} if isinstance(run, list) and run and isinstance(run[0], str) else {}
    if one.kind != "webhook":
        return {}
    from urllib.parse import urlsplit

    try:
        host = urlsplit(str(one.options.get("url"))).hostname
    except ValueError:
        return {}
    return {"host": host} if host else {}


def _rate(limit: Limit | None) -> str | None:
    return f"{limit.count}/{_UNITS[limit.per_ms]}" if limit is not None else None


def _of_variable(name: str) -> str:
    return name if os.environ.get(name) else DEFAULT


def _of_team(view: View) -> list[Setting]:
    team, written = view.team, _written(view)
    policy = team.policy
    values: dict[str, Any] = {
        "protocol": policy.version,
        "timezone": team.zone_name,
        "default_home": team.default_home or None,
        "depth_limit": policy.depth_limit,
        "trust_edits": policy.trust_edits,
        "arbiters": list(policy.roster.arbiters),
        "people": list(policy.roster.people),
        "agents": [member.name for member in policy.roster.members.values() if not member.is_person],
    }
    given = [Setting(key, value, _origin(written.get(key))) for key, value in values.items()]
    given += _times("timeouts", policy.timeouts, written.get("timeouts"), None)
    for member in policy.roster.members.values():
        if member.channel:
            part = "people" if member.is_person else "agents"
            given.append(Setting(f"{part}.{member.name}.channel", member.channel, layout.TEAM))
    return [*given, *_own_times(team, written)]


def _own_times(team: Team, written: dict[str, Any]) -> list[Setting]:
    """Give the times of members that have their own; only those that they set themselves."""
    given: list[Setting] = []
    for part in ("agents", "people"):
        members = written.get(part)
        for name, details in members.items() if isinstance(members, dict) else ():
            member = team.policy.roster.members.get(name_key(name))
            if member is not None and member.timeouts is not None and isinstance(details, dict):
                given += _times(f"{part}.{member.name}.timeouts", member.timeouts, details.get("timeouts"), layout.TEAM)
    return given


def _times(prefix: str, times: Timeouts, written: Any, only: str | None) -> list[Setting]:
    said = written if isinstance(written, dict) else {}
    names = [name for name in Timeouts.__struct_fields__ if only is None or name in said]
    return [Setting(f"{prefix}.{name}", getattr(times, name), _origin(said.get(name))) for name in names]


def _origin(value: Any) -> str:
    return DEFAULT if value is None else layout.TEAM


def _written(view: View) -> dict[str, Any]:
    read = view.root.read(layout.TEAM, _CAP)
    document = read_yaml(read.data, name=layout.TEAM) if isinstance(read, FileRead) else None
    return document if isinstance(document, dict) else {}
