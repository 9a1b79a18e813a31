"""The channel `notify`: posts to people through Apprise, which knows Discord, Slack, Telegram, e-mail and many more.

It is an extra: `pip install 'ackd[notify]'`. Apprise says of a post only that it went out or that it did not.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable
from typing import Any

from ackd.channels.options import Options
from ackd.channels.port import Outcome, Post, Sent
from ackd.config.channels import ChannelSetting
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
    options = Options(setting, _OPTIONS)
    try:
        import apprise
    except ImportError:
        options.fail("kind", "notify needs Apprise, which is not installed", "pip install 'ackd[notify]'")
    sender = apprise.Apprise()
    for number, url in enumerate(_urls(options), 1):
        if not sender.add(url):
            # The address itself holds tokens and is not shown.
            what = f"has an address that Apprise does not know: number {number}"
            options.fail("urls", what, "the services and their addresses: https://github.com/caronc/apprise/wiki")
    return NotifyChannel(setting.name, sender, title=_title(options))


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


# What the options say.


def _urls(options: Options) -> list[str]:
    value, hint = options.get("urls"), "urls_file: ~/.config/ackd/people.urls"
    if (value is None) == (options.get("urls_file") is None):
        options.fail("urls", "or urls_file is needed, and only one of them", hint)
    data = options.private_file("urls_file", "name a text file with an address a line")
    if data is not None:
        lines = [line.strip() for line in data.decode("utf-8", "replace").splitlines()]
        value = [line for line in lines if line and not line.startswith("#")]
    if not isinstance(value, list) or not value or not all(isinstance(one, str) and one for one in value):
        options.fail("urls", "is no list of addresses", "urls: ['mailto://…']")
    return [str(one) for one in value]


def _title(options: Options) -> str:
    value = options.get("title")
    if value is None:
        return _TITLE
    known = "known are {kind}, {thread} and {agent}"
    if not isinstance(value, str):
        options.fail("title", "is no text", f"title: '{_TITLE}'")
    try:
        value.format(kind="", thread="", agent="")
    except (KeyError, IndexError, ValueError, AttributeError):
        options.fail("title", f"has an unknown placeholder: {shown(value)}", known)
    if re.search(r"\{[a-z]+[^a-z}]", value):
        options.fail("title", f"has more than names in braces: {shown(value)}", known)
    return value
