"""The channel `notify` with the real Apprise, to a real server on loopback."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from ackd.channels.notify import make_notify
from ackd.channels.port import Outcome, Post, Sent
from ackd.config.channels import ChannelSetting
from ackd.errors import InvalidError

# Apprise imports modules of the standard library that a later Python no longer has.
pytestmark = [pytest.mark.needs_tools, pytest.mark.filterwarnings("ignore::DeprecationWarning")]


def post(text: str = "[ackd] 需要裁决 @everyone <@123> <!channel>") -> Post:
    """Give a post to a person."""
    return Post(
        agent="wen",
        message_id="e-1",
        thread="week-v1",
        kind="escalation",
        priority="critical",
        text=text,
        delivery=b"{}",
    )


def unheard(sent: Sent) -> None:
    """Nobody is told."""


class Desk:
    """A server that takes Apprise's JSON posts."""

    def __init__(self) -> None:
        self.got: list[dict[str, Any]] = []
        self.code, self.wait = 200, threading.Event()
        self.wait.set()
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                outer.got.append(json.loads(self.rfile.read(int(self.headers["content-length"]))))
                outer.wait.wait(10)
                self.send_response(outer.code)
                self.end_headers()

            def log_message(self, *arguments: object) -> None:
                """Say nothing."""

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"json://127.0.0.1:{self.http.server_address[1]}/"
        threading.Thread(target=self.http.serve_forever, args=(0.05,), daemon=True).start()


@pytest.fixture
def desk() -> Iterator[Desk]:
    """Start a server."""
    desk = Desk()
    yield desk
    desk.wait.set()
    desk.http.shutdown()
    desk.http.server_close()


def setting(**options: object) -> ChannelSetting:
    """Give a setting."""
    return ChannelSetting(name="people", kind="notify", options=options, origin="/home/wen/config.yaml")


def test_a_person_is_told(desk: Desk) -> None:
    """The whole text arrives, and wakes nobody else."""
    assert make_notify(setting(urls=[desk.url])).send(post(), 20, unheard).outcome == Outcome.DELIVERED
    (got,) = desk.got
    assert got["title"] == "ackd: escalation week-v1"
    assert "需要裁决" in got["message"]
    assert got["type"] == "failure"
    for call in ("@everyone", "<@123>", "<!channel>"):
        assert call not in got["message"]


def test_what_the_service_does_not_take_is_not_sent(desk: Desk) -> None:
    """Apprise says only that it did not go out."""
    desk.code = 500
    assert make_notify(setting(urls=[desk.url])).send(post(), 20, unheard).outcome == Outcome.NOT_SENT


def test_a_slow_service_is_ambiguous_and_may_be_late(desk: Desk) -> None:
    """What goes out after the time-out is told."""
    desk.wait.clear()
    heard: list[Sent] = []
    told = threading.Event()

    def late(sent: Sent) -> None:
        heard.append(sent)
        told.set()

    assert make_notify(setting(urls=[desk.url])).send(post(), 0.3, late).outcome == Outcome.AMBIGUOUS
    desk.wait.set()
    assert told.wait(10)
    assert [one.outcome for one in heard] == [Outcome.DELIVERED]


def test_addresses_in_a_file(desk: Desk, tmp_path: Path) -> None:
    """One a line, for its owner's eyes alone."""
    urls = tmp_path / "people.urls"
    urls.write_text(f"# the desk\n\n{desk.url}\n")
    urls.chmod(0o600)
    assert make_notify(setting(urls_file=str(urls))).send(post(), 20, unheard).outcome == Outcome.DELIVERED
    urls.chmod(0o644)
    with pytest.raises(InvalidError, match="read by others"):
        make_notify(setting(urls_file=str(urls)))


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({}, "urls or urls_file"),
        ({"urls": []}, "no list"),
        ({"urls": ["nothing://secret-token"]}, "does not know: number 1"),
        ({"urls": ["json://x"], "title": "{what}"}, "unknown placeholder"),
        ({"urls": ["json://x"], "title": "{kind.__class__}"}, "more than names"),
        ({"urls": ["json://x"], "tags": "x"}, "tags is no option"),
    ],
)
def test_a_bad_setting_says_what_is_wrong(options: dict[str, object], words: str) -> None:
    """And never shows an address: it holds tokens."""
    with pytest.raises(InvalidError) as caught:
        make_notify(setting(**options))
    assert words in caught.value.message
    assert "secret-token" not in caught.value.message
