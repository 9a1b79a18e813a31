"""The channels of a node: what a live channel runs or where it posts stands in the node's own configuration only."""

from __future__ import annotations

import msgspec


class Limit(msgspec.Struct, frozen=True):
    """At most `count` sends in `per_ms` milliseconds."""

    count: int
    per_ms: int


class ChannelSetting(msgspec.Struct, frozen=True, kw_only=True):
    """One entry under `channels:`, as it was written; what belongs to its kind is read by that kind.

    Attributes:
        name: By which `team.yaml` names it.
        kind: `command`, `webhook`, `notify`, or the name of an entry point of the group `ackd.channels`.
        timeout_ms: How long one send may take.
        rate: Limit of the whole channel, or None.
        recipient_rate: Limit of one recipient, or None.
        parallel: How many sends run at once.
        options: All other keys, as read from YAML.
        origin: The file that it stands in.
    """

    name: str
    kind: str
    timeout_ms: int = 30_000
    rate: Limit | None = None
    recipient_rate: Limit | None = None
    parallel: int = 4
    options: dict[str, object] = {}
    origin: str = ""
