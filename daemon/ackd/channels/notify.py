"""The channel `notify`: posts to people through Apprise, which knows Discord, Slack, Telegram, e-mail and many more.

It is an extra: `pip install 'ackd[notify]'`. Apprise says of a post only that it went out or that it did not.
"""

from __future__ import annotations

import os
import re
import stat
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

from ackd.channels.port import Outcome, Post, Sent
from ackd.config.channels import ChannelSetting
from ackd.errors import InvalidError
from ackd.protocol.ids import shown

_OPTIONS = frozenset({"urls", "urls_file", "title"})
_TITLE = "ackd: {kind} {thread}"
_TYPES = {"critical": "failure", "high": "warning"}
_MOST_TEXT = 20_000
_CALLS = re.compile(r"@(?=everyone|here|channel|all)|<(?=[@!#&])", re.IGNORECASE)
"""How chat services are told to wake everybody; what agents wrote must not do that."""
_JOINER = "\u2060"


def make_notify(setting: ChannelSetting) -> NotifyChannel:
    """Make the channel of a setting.

    Options: `urls` (a list of Apprise addresses) or `urls_file` (one a line, `#` begins a comment; for its owner's eyes
    alone, since such addresses hold tokens), and `title` (with {kind}, {thread}, {agent}).

    Raises:
        InvalidError: Apprise is not installed, or an option cannot be used; the message names file, channel and key.
    """
    options = _Options(setting)
    try:
        import apprise
    except ImportError:
        options.fail("kind", "notify needs Apprise, which is not installed", "pip install 'ackd[notify]'")
    urls = options.urls()
    sender = apprise.Apprise()
    for number, url in enumerate(urls, 1):
        if not sender.add(url):
            # The address itself holds tokens and is not shown.
            options.fail(
                "urls", f"has an address that Apprise does not know: number {number}", "see its list of services"
            )
    return NotifyChannel(setting.name, sender, title=options.title())


class NotifyChannel:
    """Posts to all addresses of one Apprise object; see `make_notify`."""

    def __init__(self, name: str, sender: Any, *, title: str = _TITLE) -> None:
        self.name = name
        self._sender, self._title = sender, title
        self._closed = False

    def send(self, post: Post, timeout_s: float, late: Callable[[Sent], None]) -> Sent:
        """Post once; see `Channel.send`."""
        if self._closed:
            return Sent(Outcome.NOT_SENT, "the daemon stops")
        done = threading.Event()
        lock = threading.Lock()
        found: list[Sent] = []
        state = {"gave up": False}

        def run() -> None:
            sent = self._post(post)
            with lock:
                found.append(sent)
                is_late = state["gave up"]
            done.set()
            if is_late and sent.outcome == Outcome.DELIVERED:
                late(sent)

        threading.Thread(target=run, name="ackd-notify", daemon=True).start()
        done.wait(timeout_s)
        with lock:
            if found:
                return found[0]
            state["gave up"] = True
        return Sent(Outcome.AMBIGUOUS, f"no answer within {timeout_s:g} s")

    def close(self) -> None:
        """Send no more."""
        self._closed = True

    def _post(self, post: Post) -> Sent:
        title = self._title.format(kind=post.kind, thread=post.thread, agent=post.agent)
        try:
            went_out = self._sender.notify(
                body=_harmless(post.text[:_MOST_TEXT]),
                title=_harmless(title),
                notify_type=_TYPES.get(post.priority, "info"),
                body_format="text",
            )
        except Exception as error:  # one of a hundred services, each with errors of its own
            return Sent(Outcome.AMBIGUOUS, f"the service failed ({type(error).__name__})")
        if went_out:
            return Sent(Outcome.DELIVERED)
        return Sent(Outcome.NOT_SENT, "the service did not take it")


def _harmless(text: str) -> str:
    """Take the effect out of what would wake everybody in a chat; it reads the same."""
    return _CALLS.sub(lambda found: found[0] + _JOINER, text)


class _Options:
    """Reads the options of a setting; each error names file, channel and key, and never an address."""

    def __init__(self, setting: ChannelSetting) -> None:
        self._options, self._where = setting.options, f"{setting.origin} channels.{setting.name}".strip()
        unknown = sorted(set(self._options) - _OPTIONS)
        if unknown:
            self.fail(unknown[0], "is no option of notify", f"known options: {', '.join(sorted(_OPTIONS))}")

    def urls(self) -> list[str]:
        value, path = self._options.get("urls"), self._options.get("urls_file")
        if (value is None) == (path is None):
            self.fail("urls", "or urls_file is needed, and only one of them", "urls_file: ~/.config/ackd/people.urls")
        if path is not None:
            value = self._lines(Path(os.path.expanduser(str(path))))
        if not isinstance(value, list) or not value or not all(isinstance(one, str) and one for one in value):
            self.fail("urls", "is no list of addresses", "urls: ['mailto://…']")
        return [str(one) for one in value]

    def _lines(self, path: Path) -> list[str]:
        try:
            if stat.S_IMODE(path.stat().st_mode) & 0o077:
                self.fail("urls_file", f"can be read by others: {path}", f"chmod 600 {path}")
            lines = path.read_text(encoding="utf-8").splitlines()
        except (OSError, UnicodeDecodeError) as error:
            self.fail("urls_file", f"cannot be read: {path}: {error}", "name a text file with an address a line")
        return [line.strip() for line in lines if line.strip() and not line.strip().startswith("#")]

    def title(self) -> str:
        value = self._options.get("title", _TITLE)
        if not isinstance(value, str):
            self.fail("title", "is no text", f"title: '{_TITLE}'")
        try:
            value.format(kind="", thread="", agent="")
        except (KeyError, IndexError, ValueError, AttributeError):
            self.fail("title", f"has an unknown placeholder: {shown(value)}", "known are {kind}, {thread} and {agent}")
        if re.search(r"\{[a-z]+[^a-z}]", value):
            self.fail("title", f"has more than names in braces: {shown(value)}", "known are {kind}, {thread}, {agent}")
        return value

    def fail(self, key: str, what: str, hint: str) -> NoReturn:
        raise InvalidError(f"{self._where}: {key} {what}", hint=hint)
