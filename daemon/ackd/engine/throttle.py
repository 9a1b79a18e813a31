"""How fast a channel and a recipient may be sent to, and when a channel is taken to be down. No clock of its own."""

from __future__ import annotations

from collections import deque

from ackd.config.channels import ChannelSetting, Limit

RECIPIENT_LIMIT = Limit(20, 60_000)
"""Limit of a recipient where the configuration names none: each send is a paid turn."""

_DOWN_AFTER = 3
_PROBES_MS = (1_000, 2_000, 4_000, 8_000, 15_000)
_SLOW_MS = 60_000


class Throttle:
    """What one channel allows now.

    Args:
        setting: Its limits.
    """

    def __init__(self, setting: ChannelSetting) -> None:
        self.setting = setting
        self._sent: deque[int] = deque()
        self._by_recipient: dict[str, deque[int]] = {}
        self._slow_until: dict[str, int] = {}
        self._misses = 0
        self._probe_at = 0
        self.said = ""
        self.flying: dict[str, str] = {}

    @property
    def is_down(self) -> bool:
        """Whether several sends in a row did not get through: then one at a time finds out when it is back."""
        return self._misses >= _DOWN_AFTER

    def room_at(self, now: int) -> int | None:
        """Give when the channel takes another send (now or earlier: at once); None until one that runs has ended."""
        if len(self.flying) >= (1 if self.is_down else self.setting.parallel):
            return None
        due = _free_at(self._sent, self.setting.rate, now)
        return max(due, self._probe_at) if self.is_down else due

    def recipient_at(self, agent: str, now: int) -> int | None:
        """Give when a recipient may be sent to; None until what runs to it has ended."""
        if agent in self.flying.values():
            return None
        limit = self.setting.recipient_rate or RECIPIENT_LIMIT
        if self._slow_until.get(agent, 0) > now:
            limit = Limit(max(1, limit.count // 2), limit.per_ms)
        return _free_at(self._by_recipient.get(agent, deque()), limit, now)

    def begins(self, key: str, agent: str, now: int) -> None:
        """Count a send that begins; `key` names it."""
        self.flying[key] = agent
        self._sent.append(now)
        self._by_recipient.setdefault(agent, deque()).append(now)
        for times in (self._sent, self._by_recipient[agent]):
            while len(times) > 10_000:
                times.popleft()

    def ends(self, key: str, outcome: str, now: int, detail: str = "") -> None:
        """Count how a send ended, and keep what the channel said of it."""
        agent = self.flying.pop(key, "")
        self.said = detail
        if outcome == "not-sent":
            self._misses += 1
            if self.is_down:
                step = min(self._misses - _DOWN_AFTER, len(_PROBES_MS) - 1)
                self._probe_at = now + _PROBES_MS[step]
            return
        self._misses = 0
        if outcome == "busy" and agent:
            self._slow_until[agent] = now + _SLOW_MS


def _free_at(times: deque[int], limit: Limit | None, now: int) -> int:
    """Give when a limit has room again; what is older than its window counts no longer."""
    if limit is None:
        return now
    while times and (times[0] <= now - limit.per_ms or times[0] > now + limit.per_ms):
        times.popleft()
    return now if len(times) < limit.count else times[-limit.count] + limit.per_ms
