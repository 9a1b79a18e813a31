"""The channel `webhook` against real servers on loopback: each answer, none, a slow one, rubbish, redirects, TLS."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from ackd.channels.addresses import is_public
from ackd.channels.port import Outcome, Post, Sent
from ackd.channels.webhook import WebhookChannel, make_webhook
from ackd.config.channels import ChannelSetting
from ackd.errors import InvalidError

SECRET = b"0123456789abcdef0123456789abcdef"


def post(**more: Any) -> Post:
    """Give a post to an agent."""
    values: dict[str, Any] = {
        "agent": "交易 台",
        "message_id": "zoe-1",
        "thread": "week-v1",
        "kind": "request",
        "priority": "normal",
        "text": "[ackd] 请确认",
        "delivery": '{"ackd": "delivery/1", "to": "交易"}'.encode(),
    }
    return Post(**{**values, **more})


def unheard(sent: Sent) -> None:
    """Nobody is told."""


class Server:
    """An HTTP server that answers as it is told and keeps what it was sent."""

    def __init__(self) -> None:
        self.answer: tuple[int, dict[str, str], bytes] = (200, {}, b"")
        self.got: list[tuple[str, dict[str, str], bytes]] = []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"]))
                outer.got.append((self.path, {key.lower(): value for key, value in self.headers.items()}, body))
                code, headers, answer = outer.answer
                self.send_response(code)
                for name, value in headers.items():
                    self.send_header(name, value)
                self.send_header("content-length", str(len(answer)))
                self.end_headers()
                self.wfile.write(answer)

            def log_message(self, *arguments: object) -> None:
                """Say nothing."""

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.http.server_address[1]}/hook"
        threading.Thread(target=self.http.serve_forever, args=(0.05,), daemon=True).start()

    def close(self) -> None:
        """Stop it."""
        self.http.shutdown()
        self.http.server_close()


@pytest.fixture
def server() -> Iterator[Server]:
    """Start a server."""
    server = Server()
    yield server
    server.close()


@pytest.fixture
def raw() -> Iterator[Callable[[Callable[[socket.socket], None]], str]]:
    """Start servers that speak through a bare socket."""
    listeners: list[socket.socket] = []

    def start(speak: Callable[[socket.socket], None]) -> str:
        listener = socket.create_server(("127.0.0.1", 0))
        listeners.append(listener)

        def run() -> None:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            with connection:
                connection.recv(65_536)
                try:
                    speak(connection)
                except OSError:
                    return

        threading.Thread(target=run, daemon=True).start()
        return f"http://127.0.0.1:{listener.getsockname()[1]}/"

    yield start
    for listener in listeners:
        listener.close()


def channel(url: str, **more: Any) -> WebhookChannel:
    """Make a channel that may reach loopback."""
    return WebhookChannel("desk", url, allow_private=True, **more)


@pytest.mark.parametrize(
    ("code", "body", "outcome"),
    [
        *((200, b"", "delivered"), (202, b"queued", "delivered"), (204, b"", "delivered"), (409, b"", "delivered")),
        *((200, b'{"status": "error"}', "not-sent"), (200, b'{"status": "timeout"}', "ambiguous")),
        *((200, b'{"status": "busy"}', "busy"), (200, b'{"status": "accepted"}', "delivered")),
        *((301, b"", "refused"), (307, b"", "refused"), (400, b"", "refused"), (401, b"", "refused")),
        *((404, b"", "refused"), (410, b"", "refused"), (413, b"", "refused"), (408, b"", "not-sent")),
        *((429, b"", "busy"), (503, b"", "busy"), (500, b"", "ambiguous"), (502, b"", "ambiguous")),
        (504, b"", "ambiguous"),
    ],
)
def test_what_each_answer_means(server: Server, code: int, body: bytes, outcome: str) -> None:
    """By its status code; a status word in the body of a success counts more."""
    server.answer = (code, {}, body)
    assert channel(server.url).send(post(), 10, unheard).outcome.value == outcome
    assert len(server.got) == 1


def test_what_is_sent(server: Server) -> None:
    """The delivery as JSON, by the same id for a repetition, to the path with the recipient's name encoded."""
    sent = channel(server.url + "/{agent}?to={agent}", headers={"Authorization": "Bearer x"}).send(post(), 10, unheard)
    assert sent.outcome == Outcome.DELIVERED
    path, headers, body = server.got[0]
    name = "%E4%BA%A4%E6%98%93%20%E5%8F%B0"
    assert path == f"/hook/{name}?to={name}"
    assert json.loads(body)["to"] == "交易"
    assert headers["webhook-id"] == headers["idempotency-key"] == "zoe-1"
    assert headers["authorization"] == "Bearer x"
    assert headers["content-type"] == "application/json; charset=utf-8"
    assert "webhook-signature" not in headers
    channel(server.url, sends_text=True).send(post(), 10, unheard)
    assert server.got[1][2].decode() == "[ackd] 请确认"


def test_the_signature_can_be_checked(server: Server) -> None:
    """As the Standard Webhooks specification says: over id, timestamp and body."""
    channel(server.url, secret=SECRET).send(post(), 10, unheard)
    _, headers, body = server.got[0]
    signed = f"{headers['webhook-id']}.{headers['webhook-timestamp']}.".encode() + body
    expected = base64.b64encode(hmac.new(SECRET, signed, hashlib.sha256).digest()).decode()
    assert headers["webhook-signature"] == f"v1,{expected}"
    assert abs(int(headers["webhook-timestamp"]) - time.time()) < 60


def test_an_id_that_no_header_can_hold_is_hashed(server: Server) -> None:
    """A message_id is an agent's own words, line ends and all."""
    hostile = "a\r\nX-Evil: 1"
    channel(server.url).send(post(message_id=hostile), 10, unheard)
    _, headers, _ = server.got[0]
    assert headers["webhook-id"] == "sha256-" + hashlib.sha256(hostile.encode()).hexdigest()
    assert "x-evil" not in headers


def test_redirects_are_not_followed(server: Server) -> None:
    """Where one leads is said, and nobody goes there."""
    other = Server()
    server.answer = (307, {"Location": other.url}, b"")
    sent = channel(server.url).send(post(), 10, unheard)
    assert sent.outcome == Outcome.REFUSED
    assert "redirect to" in sent.detail
    other.close()
    assert other.got == []


def test_a_busy_one_says_until_when(server: Server) -> None:
    """Its Retry-After is shown, escaped."""
    server.answer = (429, {"Retry-After": "120"}, b"")
    assert 'retry after "120"' in channel(server.url).send(post(), 10, unheard).detail


def test_nobody_there_is_not_sent() -> None:
    """Refused connections and unknown names are known not to have arrived."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        url = f"http://127.0.0.1:{listener.getsockname()[1]}/"
    assert channel(url).send(post(), 5, unheard).outcome == Outcome.NOT_SENT

    def nowhere(host: str, port: int) -> list[str]:
        raise OSError("no such name")

    assert channel("http://no.invalid/", resolve=nowhere).send(post(), 5, unheard).outcome == Outcome.NOT_SENT


def test_a_slow_resolver_does_not_hold_us() -> None:
    """The system's own knows no time-out."""
    began = time.monotonic()

    def slow(host: str, port: int) -> list[str]:
        time.sleep(3)
        return ["127.0.0.1"]

    assert channel("http://slow.invalid/", resolve=slow).send(post(), 0.3, unheard).outcome == Outcome.NOT_SENT
    assert time.monotonic() - began < 1.5


@pytest.mark.parametrize(
    "speak",
    [
        pytest.param(lambda one: time.sleep(5), id="silence"),
        pytest.param(lambda one: None, id="hangs up"),
        pytest.param(lambda one: one.sendall(b"rubbish\r\n\r\n"), id="rubbish"),
        pytest.param(lambda one: one.sendall(b"HTTP/1.1 20"), id="half a line"),
        pytest.param(lambda one: _drip(one, b"HTTP/1.1 200 OK\r\nX: " + b"y" * 500), id="drips"),
        pytest.param(lambda one: one.sendall(b"HTTP/1.1 200 OK\r\n" + b"a: b\r\n" * 100_000), id="endless headers"),
    ],
)
def test_what_gives_no_answer_is_ambiguous(raw: Callable[..., str], speak: Callable[[socket.socket], None]) -> None:
    """From the first byte on nobody knows what the other side made of it; and it ends in time."""
    url = raw(speak)
    began = time.monotonic()
    assert channel(url).send(post(), 0.6, unheard).outcome == Outcome.AMBIGUOUS
    assert time.monotonic() - began < 2


def test_a_body_that_never_ends_changes_nothing(raw: Callable[..., str]) -> None:
    """The code came: it is delivered."""
    url = raw(lambda one: _drip(one, b"HTTP/1.1 200 OK\r\n\r\n", b"z" * 1_000))
    began = time.monotonic()
    assert channel(url).send(post(), 0.6, unheard).outcome == Outcome.DELIVERED
    assert time.monotonic() - began < 2


@pytest.mark.parametrize(
    "address",
    [
        *(
            "127.0.0.1",
            "10.1.2.3",
            "172.16.0.1",
            "192.168.1.1",
            "169.254.169.254",
            "100.64.0.1",
            "0.0.0.0",  # noqa: S104 - an address to refuse
            "224.0.0.1",
        ),
        *("::1", "fe80::1%eth0", "fd00::1", "::ffff:10.0.0.1", "2002:0a00:0001::1", "64:ff9b::7f00:1", "::", "ff02::1"),
        *("240.0.0.1", "255.255.255.255", "no address"),
    ],
)
def test_private_addresses_are_reached_by_word_only(address: str) -> None:
    """Whatever the name resolves to, in whatever form; the connection goes to the very address that was checked."""
    assert not is_public(address)
    asked: list[str] = []

    def resolve(host: str, port: int) -> list[str]:
        asked.append(host)
        return ["93.184.216.34", address]

    sent = WebhookChannel("desk", "https://example.org/", resolve=resolve).send(post(), 5, unheard)
    assert sent.outcome == Outcome.NOT_SENT
    assert "private" in sent.detail
    assert asked == ["example.org"]


@pytest.mark.parametrize(
    "address", ["93.184.216.34", "2606:2800:220:1::1", "::ffff:93.184.216.34", "64:ff9b::5db8:d822"]
)
def test_public_addresses_may_be_reached(address: str) -> None:
    """In every form."""
    assert is_public(address)


def test_a_name_is_looked_up_once(server: Server) -> None:
    """What the name says a moment later counts no more: the connection is to the first answer."""
    answers = ["127.0.0.1", "203.0.113.1"]
    port = server.http.server_address[1]
    one = channel(f"http://desk.invalid:{port}/x", resolve=lambda host, _: [answers.pop(0)])
    assert one.send(post(), 5, unheard).outcome == Outcome.DELIVERED
    assert answers == ["203.0.113.1"]
    assert server.got[0][1]["host"] == f"desk.invalid:{port}"


def test_a_certificate_that_nobody_trusts_is_not_sent(raw: Callable[..., str]) -> None:
    """A server that speaks no TLS at all is not sent to either."""
    url = raw(lambda one: one.sendall(b"HTTP/1.1 200 OK\r\n\r\n")).replace("http:", "https:")
    assert channel(url).send(post(), 3, unheard).outcome == Outcome.NOT_SENT


def test_close_sends_no_more(server: Server) -> None:
    """After it nothing goes out."""
    one = channel(server.url)
    one.close()
    assert one.send(post(), 5, unheard).outcome == Outcome.NOT_SENT
    assert server.got == []


def test_a_setting_as_people_write_it(server: Server, tmp_path: Path) -> None:
    """With the secret in a file for its owner's eyes alone."""
    secret = tmp_path / "secret"
    secret.write_bytes(SECRET + b"\n")
    secret.chmod(0o600)
    options: dict[str, object] = {"url": server.url, "private": True, "secret_file": str(secret)}
    made = make_webhook(ChannelSetting(name="desk", kind="webhook", options=options))
    assert made.send(post(), 5, unheard).outcome == Outcome.DELIVERED
    assert "webhook-signature" in server.got[0][1]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({}, "url is no address"),
        ({"url": "ftp://example.org/"}, "no http or https"),
        ({"url": "http://example.org/"}, "is http"),
        ({"url": "https://u:p@example.org/"}, "user name"),
        ({"url": "https://{agent}.example.org/"}, "placeholder in its host"),
        ({"url": "https://example.org/#x"}, "fragment"),
        ({"url": "https://例子.org/"}, "no address in ASCII"),
        ({"url": "https://example.org/", "headers": {"X": "a\r\nb"}}, "no header"),
        ({"url": "https://example.org/", "headers": {"Host": "x"}}, "writes itself"),
        ({"url": "https://example.org/", "secret_file": "/no/such"}, "secret_file cannot be read"),
        ({"url": "https://example.org/", "private": "yes"}, "private is"),
        ({"url": "https://example.org/", "body": "xml"}, "body is"),
        ({"url": "https://example.org/", "ca_file": "/no/such"}, "ca_file is no"),
        ({"url": "https://example.org/", "proxy": "x"}, "proxy is no option"),
    ],
)
def test_a_bad_setting_says_what_is_wrong(options: dict[str, object], words: str) -> None:
    """File, channel, key and what to write instead."""
    with pytest.raises(InvalidError) as caught:
        make_webhook(ChannelSetting(name="desk", kind="webhook", options=options, origin="/home/wen/config.yaml"))
    assert "/home/wen/config.yaml channels.desk: " in caught.value.message
    assert words in caught.value.message
    assert caught.value.hint


@pytest.mark.parametrize(
    ("data", "mode", "words"), [(SECRET, 0o644, "read by others"), (b"short", 0o600, "holds 5 bytes")]
)
def test_a_secret_must_be_one(tmp_path: Path, data: bytes, mode: int, words: str) -> None:
    """Long enough, and for its owner alone."""
    secret = tmp_path / "secret"
    secret.write_bytes(data)
    secret.chmod(mode)
    options: dict[str, object] = {"url": "https://example.org/", "secret_file": str(secret)}
    with pytest.raises(InvalidError, match=words):
        make_webhook(ChannelSetting(name="desk", kind="webhook", options=options))


def _drip(connection: socket.socket, data: bytes, rest: bytes = b"") -> None:
    if rest:
        connection.sendall(data)
    for byte in rest or data:
        connection.sendall(bytes([byte]))
        time.sleep(0.05)
