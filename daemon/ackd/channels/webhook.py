"""The channel `webhook`: one HTTP POST a send, signed, without redirects, to the very address that was checked.

Signed as in the Standard Webhooks specification: the header `webhook-signature` is `v1,` and the Base64 of the
HMAC-SHA256, by the secret's bytes, of `<webhook-id>.<webhook-timestamp>.<body>`. A receiver computes the same, compares
in constant time, refuses timestamps that are minutes old, and does the work of one `webhook-id` once: it is the
message_id, and a repetition carries the same.
"""

from __future__ import annotations

import base64
import contextlib
import hashlib
import hmac
import io
import re
import ssl
import threading
import time
from collections.abc import Callable, Mapping
from http.client import HTTPException
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlsplit

from ackd import __version__
from ackd.channels.addresses import is_public
from ackd.channels.options import Options
from ackd.channels.port import Outcome, Post, Sent
from ackd.channels.status import one_line, outcome_of_status, status_in
from ackd.config.channels import ChannelSetting
from ackd.protocol.ids import shown

if TYPE_CHECKING:
    import socket
    from http.client import HTTPResponse

Resolve = Callable[[str, int], list[str]]
"""Gives the addresses of a host; raises OSError where there are none."""

_OPTIONS = frozenset({"url", "secret_file", "headers", "private", "body", "ca_file"})
_OUR_HEADERS = frozenset(
    {"host", "content-length", "content-type", "transfer-encoding", "connection", "idempotency-key"}
)
_HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]{1,100}")
_HEADER_SAFE = re.compile(r"[!-~]{1,200}")
_LEAST_SECRET, _MOST_SECRET = 16, 4096
_KEPT = 65_536


def make_webhook(setting: ChannelSetting) -> WebhookChannel:
    """Make the channel of a setting.

    Options: `url` (https, or http to a private address; `{agent}` in path or query is the recipient's name),
    `secret_file` (the key of the signature; unsigned without), `headers` (fixed ones), `private` (whether private and
    loopback addresses may be reached; false), `body` (delivery or text), `ca_file` (a certificate authority to trust
    instead of the system's). Proxies of the environment are not used.

    Raises:
        InvalidError: An option cannot be used; the message names file, channel and key.
    """
    options = Options(setting, _OPTIONS)
    return WebhookChannel(
        setting.name,
        _url(options),
        secret=_secret(options),
        headers=_fixed_headers(options),
        allow_private=options.flag("private", False),
        sends_text=options.choice("body", ("delivery", "text"), "delivery") == "text",
        ca_file=_ca_file(options),
    )


class WebhookChannel:
    """Posts to one URL; see `make_webhook` for what its parts mean."""

    def __init__(
        self,
        name: str,
        url: str,
        *,
        secret: bytes = b"",
        headers: Mapping[str, str] | None = None,
        allow_private: bool = False,
        sends_text: bool = False,
        ca_file: str | None = None,
        resolve: Resolve | None = None,
    ) -> None:
        self.name = name
        parts = urlsplit(url)
        self._tls = parts.scheme == "https"
        self._host = (
            (parts.hostname or "").encode("idna").decode() if not _is_literal(parts.hostname) else parts.hostname or ""
        )
        self._port = parts.port or (443 if self._tls else 80)
        self._target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        self._authority = parts.netloc
        self._secret, self._headers = secret, dict(headers or {})
        self._allow_private, self._sends_text = allow_private, sends_text
        self._context = ssl.create_default_context(cafile=ca_file) if self._tls else None
        self._resolve = resolve or _addresses
        self._closed = False

    def send(self, post: Post, timeout_s: float, late: Callable[[Sent], None]) -> Sent:
        """Post once; see `Channel.send`. An answer after the time-out is not waited for."""
        if self._closed:
            return Sent(Outcome.NOT_SENT, "the daemon stops")
        end = time.monotonic() + timeout_s
        address, problem = self._checked_address(end)
        if not address:
            return Sent(Outcome.NOT_SENT, problem)
        body = post.text.encode() if self._sends_text else post.delivery
        head = self._head(post, body)
        try:
            connection = self._connect(address, end)
        except (OSError, ssl.SSLError) as error:
            return Sent(Outcome.NOT_SENT, one_line(f"{self._host} cannot be reached: {_reason(error)}"))
        try:
            with connection:
                _send_all(connection, head + body, end)
                return self._read_answer(connection, end)
        except (OSError, ValueError, HTTPException) as error:
            # From the first byte on nobody knows what the other side made of it (T12).
            return Sent(Outcome.AMBIGUOUS, one_line(f"{self._host} gave no answer: {_reason(error)}"))

    def close(self) -> None:
        """Send no more."""
        self._closed = True

    def _checked_address(self, end: float) -> tuple[str, str]:
        """Give an address that may be reached, or why there is none; all that the name has must be fit."""
        found: list[list[str] | OSError] = []

        def look_up() -> None:
            try:
                found.append(self._resolve(self._host, self._port))
            except OSError as error:
                found.append(error)

        # The system's resolver knows no time-out.
        thread = threading.Thread(target=look_up, name="ackd-resolve", daemon=True)
        thread.start()
        thread.join(max(0.0, end - time.monotonic()))
        if not found:
            return "", f"the name {self._host} was not found in time"
        if isinstance(found[0], OSError) or not found[0]:
            return "", one_line(f"the name {self._host} was not found")
        if not self._allow_private and not all(is_public(one) for one in found[0]):
            return "", f"{self._host} is a private address; `private: true` in the configuration allows it"
        return found[0][0], ""

    def _connect(self, address: str, end: float) -> socket.socket:
        """Connect to the address that was checked; the certificate must be the name's."""
        import socket

        plain = socket.create_connection((address, self._port), _left(end))
        if self._context is None:
            return plain
        try:
            plain.settimeout(_left(end))
            return self._context.wrap_socket(plain, server_hostname=self._host)
        except BaseException:
            plain.close()
            raise

    def _head(self, post: Post, body: bytes) -> bytes:
        agent = quote(post.agent, safe="")
        identity = post.message_id
        if not _HEADER_SAFE.fullmatch(identity):
            identity = "sha256-" + hashlib.sha256(post.message_id.encode()).hexdigest()
        kind = "text/plain" if self._sends_text else "application/json"
        moment = str(int(time.time()))
        headers = {
            "Host": self._authority,
            "User-Agent": f"ackd/{__version__}",
            "Content-Type": f"{kind}; charset=utf-8",
            "Content-Length": str(len(body)),
            "Connection": "close",
            "Idempotency-Key": identity,
            "webhook-id": identity,
            "webhook-timestamp": moment,
            **self._headers,
        }
        if self._secret:
            signed = f"{identity}.{moment}.".encode() + body
            digest = base64.b64encode(hmac.new(self._secret, signed, hashlib.sha256).digest()).decode()
            headers["webhook-signature"] = f"v1,{digest}"
        lines = [f"POST {self._target.replace('{agent}', agent)} HTTP/1.1"]
        lines += [f"{name}: {value}" for name, value in headers.items()]
        return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")

    def _read_answer(self, connection: socket.socket, end: float) -> Sent:
        from http.client import HTTPResponse

        response = HTTPResponse(_InTime(connection, end))  # type: ignore[arg-type]
        response.begin()
        code = response.status
        if not 200 <= code < 300:
            return Sent(_outcome_of_code(code), one_line(f"{self._host} answered {code}{_more(response)}"))
        body = b""
        with contextlib.suppress(OSError, HTTPException):
            body = response.read(_KEPT)  # what is missing of it changes nothing: the code came
        word = status_in(body)
        if word is not None:
            return Sent(outcome_of_status(word), one_line(f'{code}, status "{word}"'))
        return Sent(Outcome.DELIVERED, f"{code}")


class _InTime(io.RawIOBase):
    """A connection as the file that `HTTPResponse` reads: all reads end by one instant, however slow it drips."""

    def __init__(self, connection: socket.socket, end: float) -> None:
        super().__init__()
        self._connection, self._end = connection, end

    def makefile(self, mode: str) -> io.BufferedReader:
        """Give the file, as a socket would."""
        return io.BufferedReader(self)

    def readable(self) -> bool:
        """It is only read."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Read what is there, at the latest by the end."""
        self._connection.settimeout(_left(self._end))
        return self._connection.recv_into(buffer)


def _more(response: HTTPResponse) -> str:
    """Say what else a person wants to know: where a redirect went, when a busy one wants to hear of us again."""
    if 300 <= response.status < 400:
        host = urlsplit(response.getheader("location") or "").netloc
        return f", a redirect to {shown(host)}, which is not followed" if host else ", a redirect"
    after = response.getheader("retry-after")
    return f", retry after {shown(after, 40)}" if after else ""


def _outcome_of_code(code: int) -> Outcome:
    """Give what a status code that is no success says of the send."""
    if code == 409:
        return Outcome.DELIVERED  # it had it already
    if code in (429, 503):
        return Outcome.BUSY
    if code == 408:
        return Outcome.NOT_SENT  # it did not get the whole request
    if code >= 500 or code < 200:
        return Outcome.AMBIGUOUS  # it, or what stands behind it, may have begun
    return Outcome.REFUSED


def _send_all(connection: socket.socket, data: bytes, end: float) -> None:
    view = memoryview(data)
    while view:
        connection.settimeout(_left(end))
        view = view[connection.send(view) :]


def _left(end: float) -> float:
    left = end - time.monotonic()
    if left <= 0:
        raise TimeoutError("no answer in time")
    return left


def _addresses(host: str, port: int) -> list[str]:
    import socket

    return list(dict.fromkeys(str(one[4][0]) for one in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)))


def _is_literal(host: str | None) -> bool:
    return bool(host) and (":" in str(host) or str(host).replace(".", "").isdigit())


def _reason(error: BaseException) -> str:
    if isinstance(error, TimeoutError):
        return "no answer in time"
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"its certificate is not trusted ({error.verify_message})"
    return getattr(error, "strerror", None) or type(error).__name__


# What the options say.


def _url(options: Options) -> str:
    value, hint = options.get("url"), "url: https://example.org/hook"
    if not isinstance(value, str) or not re.fullmatch(r"[!-~]{1,2000}", value):
        options.fail("url", "is no address in ASCII", hint)
    try:
        parts = urlsplit(value)
        port_ok = parts.port is None or parts.port > 0
    except ValueError:
        options.fail("url", "cannot be read", hint)
    if parts.scheme not in ("http", "https") or not parts.hostname or not port_ok:
        options.fail("url", "is no http or https address", hint)
    if "@" in parts.netloc or "{" in parts.netloc:
        options.fail("url", "has a user name or a placeholder in its host", "use `headers:` for credentials")
    if parts.fragment:
        options.fail("url", "has a fragment", "leave out what follows #")
    if parts.scheme == "http" and not options.flag("private", False):
        options.fail("url", "is http, which anybody on the way can read", "use https, or `private: true` at home")
    return value


def _secret(options: Options) -> bytes:
    hint = "make one: (umask 077; head -c 32 /dev/urandom | base64 > {path})"
    data = (options.private_file("secret_file", hint) or b"").strip()
    if options.get("secret_file") is None:
        return b""
    if data.startswith(b"whsec_"):
        # The form in which services of that specification hand secrets out: Base64 behind a prefix.
        try:
            data = base64.b64decode(data.removeprefix(b"whsec_"), validate=True)
        except ValueError:
            options.fail("secret_file", "begins with whsec_ and goes on as no Base64", "copy the secret whole")
    if not _LEAST_SECRET <= len(data) <= _MOST_SECRET:
        options.fail("secret_file", f"holds {len(data)} bytes", f"at least {_LEAST_SECRET}")
    return data


def _fixed_headers(options: Options) -> dict[str, str]:
    found = options.mapping("headers", "{Authorization: 'Bearer …'}")
    for name, one in found.items():
        if not _HEADER_NAME.fullmatch(name) or not re.fullmatch(r"[\t -~]{0,4000}", one):
            options.fail("headers", f"has {shown(name)}, which no header can be", "names and values in ASCII, one line")
        if name.lower() in _OUR_HEADERS or name.lower().startswith("webhook-"):
            options.fail("headers", f"has {name}, which ackd writes itself", "leave it out")
    return found


def _ca_file(options: Options) -> str | None:
    path = options.path("ca_file")
    if path is None:
        return None
    try:
        ssl.create_default_context(cafile=path)
    except (OSError, ssl.SSLError):
        options.fail("ca_file", f"is no certificate file: {path}", "name a PEM file")
    return str(path)
