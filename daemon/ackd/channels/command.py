"""The channel `command`: a program of the node's own choosing is run for each send, as an argument vector, no shell.

A program that has not ended in time may have done its work: it is left running for a while, and what it says then
still counts. What agents wrote reaches it as a value in one argument or on its standard input, and is never looked at
again for placeholders.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Mapping

from ackd.channels.options import Options
from ackd.channels.port import Outcome, Post, Sent
from ackd.channels.status import one_line, outcome_of_status, status_in
from ackd.config.channels import ChannelSetting
from ackd.protocol.ids import shown

PLACEHOLDERS = ("agent", "message_id", "thread", "ack_id", "kind", "priority", "text", "delivery")
"""What an argument may hold in braces; `{{` and `}}` are braces themselves."""

_OPTIONS = frozenset({"run", "stdin", "folder", "environment", "exit", "status", "linger"})
_STDIN = ("text", "delivery", "nothing")
_EXITS = {0: Outcome.DELIVERED, 69: Outcome.NOT_SENT, 75: Outcome.BUSY, 77: Outcome.REFUSED}
"""Exit codes by sysexits.h: unavailable, try again later, no permission."""
_LINGER_MS = 240_000
_MOST_LINGER_MS = 3_600_000
_KEPT = 65_536
_LONGEST_ARGUMENT = 131_072
"""Linux takes no longer argument (MAX_ARG_STRLEN); a longer text belongs on the standard input."""
_PIECE = re.compile(r"\{\{|\}\}|\{([a-z_]*)\}|[{}]")
_TERM_S, _DRAIN_S = 1.0, 0.5


def make_command(setting: ChannelSetting) -> CommandChannel:
    """Make the channel of a setting.

    Options: `run` (the argument vector; placeholders in all but the first), `stdin` (text, delivery or nothing; else
    what no placeholder carries), `folder`, `environment`, `exit` (exit code to outcome), `status` (whether a JSON
    `status` in the output counts; true), `linger` (how long a program that is late may go on; 4 min).

    Raises:
        InvalidError: An option cannot be used; the message names file, channel and key.
    """
    options = Options(setting, _OPTIONS)
    run = _vector(options)
    carried = {name for part in run[1:] for name in _names(part)}
    stdin = options.choice("stdin", _STDIN, "nothing" if carried & {"text", "delivery"} else "delivery")
    return CommandChannel(
        setting.name,
        run,
        stdin=stdin,
        folder=_folder(options),
        environment=_environment(options),
        exits=_exits(options),
        reads_status=options.flag("status", True),
        linger_s=options.duration("linger", _LINGER_MS, _MOST_LINGER_MS) / 1000,
    )


class CommandChannel:
    """Runs a program for each send; see `make_command` for what its parts mean."""

    def __init__(
        self,
        name: str,
        run: tuple[str, ...],
        *,
        stdin: str = "delivery",
        folder: str | None = None,
        environment: Mapping[str, str] | None = None,
        exits: Mapping[int, Outcome] | None = None,
        reads_status: bool = True,
        linger_s: float = _LINGER_MS / 1000,
    ) -> None:
        self.name = name
        self._run, self._stdin, self._folder = run, stdin, folder
        self._environment = dict(environment or {})
        self._exits = {**_EXITS, **(exits or {})}
        self._reads_status, self._linger_s = reads_status, linger_s
        self._children: set[_Child] = set()
        self._late: dict[_Child, str] = {}
        self._lock = threading.Lock()
        self._closed = False

    def send(self, post: Post, timeout_s: float, late: Callable[[Sent], None]) -> Sent:
        """Run the program once; see `Channel.send`."""
        arguments = [self._run[0], *(_filled(part, post) for part in self._run[1:])]
        problem = _problem_of(arguments)
        if problem:
            return Sent(Outcome.NOT_SENT, problem)
        if not post.repeated and self._is_at_work(post.agent):
            # Two runs for one agent at once would work in the same place; only the one more try may.
            return Sent(Outcome.BUSY, f"what was started for {post.agent} before still runs")
        data = {"text": post.text.encode(), "delivery": post.delivery}.get(self._stdin, b"")
        try:
            child = self._start(arguments, data)
        except OSError as error:
            return Sent(Outcome.NOT_SENT, one_line(f"{self._run[0]} cannot be started: {error.strerror or error}"))
        if child is None:
            return Sent(Outcome.NOT_SENT, "the daemon stops")
        if child.wait(timeout_s):
            return self._ended(child)
        with self._lock:
            self._late[child] = post.agent
        threading.Thread(target=self._linger, args=(child, late), name="ackd-linger", daemon=True).start()
        return Sent(Outcome.AMBIGUOUS, f"no answer within {timeout_s:g} s; it may be at work")

    def close(self) -> None:
        """End every program that still runs."""
        with self._lock:
            self._closed = True
            children = list(self._children)
        for child in children:
            child.signal(signal.SIGTERM)
        end = time.monotonic() + _TERM_S
        for child in children:
            if not child.wait(max(0.0, end - time.monotonic())):
                child.signal(signal.SIGKILL)
        for child in children:
            child.wait(_TERM_S)

    def _start(self, arguments: list[str], data: bytes) -> _Child | None:
        with self._lock:
            if self._closed:
                return None
            child = _Child(arguments, data, self._folder, {**os.environ, **self._environment})
            self._children.add(child)
            return child

    def _linger(self, child: _Child, late: Callable[[Sent], None]) -> None:
        """Let a program that was late go on for a while; what it delivers after all is told."""
        if not child.wait(self._linger_s):
            child.signal(signal.SIGTERM)
            if not child.wait(_TERM_S):
                child.signal(signal.SIGKILL)
                child.wait(_TERM_S)
            self._forget(child)
            return
        sent = self._ended(child)
        if sent.outcome == Outcome.DELIVERED and not self._closed:
            late(
                Sent(Outcome.DELIVERED, one_line(f"it answered late; {sent.detail}" if sent.detail else "it was late"))
            )

    def _ended(self, child: _Child) -> Sent:
        """Read what a program that has ended says of the send."""
        self._forget(child)
        code, output, errors = child.result()
        word = status_in(output) if self._reads_status else None
        said = one_line((errors or output).decode("utf-8", "replace").strip().partition("\n")[0])
        if code < 0:
            # Whoever killed it did so at a moment that nobody knows.
            return Sent(Outcome.AMBIGUOUS, one_line(f"it was ended by signal {-code}. {said}"))
        usual = self._exits.get(code, Outcome.NOT_SENT)
        if word is not None:
            outcome = outcome_of_status(word)
            if outcome == Outcome.DELIVERED and usual != Outcome.DELIVERED:
                outcome = Outcome.AMBIGUOUS  # it says both, so nobody knows
            return Sent(outcome, one_line(f'status "{word}", exit {code}'))
        if usual == Outcome.DELIVERED:
            return Sent(usual)
        return Sent(usual, one_line(f"exit {code}. {said}" if said else f"exit {code}"))

    def _is_at_work(self, agent: str) -> bool:
        with self._lock:
            return agent in self._late.values()

    def _forget(self, child: _Child) -> None:
        with self._lock:
            self._children.discard(child)
            self._late.pop(child, None)


class _Child:
    """A running program in a session of its own: its input is fed and its output read beside it, capped."""

    def __init__(self, arguments: list[str], data: bytes, folder: str | None, environment: Mapping[str, str]) -> None:
        self._process = subprocess.Popen(  # noqa: S603 - a vector of this node's own configuration, and no shell
            arguments,
            stdin=subprocess.PIPE if data else subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=folder,
            env=dict(environment),
            start_new_session=True,
        )
        self._kept: dict[str, bytearray] = {"out": bytearray(), "err": bytearray()}
        self._readers = [self._beside(self._read, name) for name in self._kept]
        if data:
            self._beside(self._feed, data)

    def _beside(self, run: Callable[..., None], *arguments: object) -> threading.Thread:
        thread = threading.Thread(target=run, args=arguments, name="ackd-pipe", daemon=True)
        thread.start()
        return thread

    def _feed(self, data: bytes) -> None:
        pipe = self._process.stdin
        assert pipe is not None
        # A program that reads nothing closes the pipe, or leaves it full until it ends.
        with contextlib.suppress(OSError, ValueError):
            pipe.write(data)
        with contextlib.suppress(OSError, ValueError):
            pipe.close()

    def _read(self, name: str) -> None:
        pipe = self._process.stdout if name == "out" else self._process.stderr
        assert pipe is not None
        kept = self._kept[name]
        with contextlib.suppress(OSError, ValueError), pipe:
            while piece := os.read(pipe.fileno(), 65_536):
                # The last part counts: a status stands in the last line.
                kept += piece
                del kept[:-_KEPT]

    def wait(self, seconds: float) -> bool:
        """Wait until it has ended, at most so long."""
        try:
            self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            return False
        return True

    def result(self) -> tuple[int, bytes, bytes]:
        """Give exit code, output and errors of a program that has ended.

        One that it started may still hold the pipes: what came until now counts.
        """
        end = time.monotonic() + _DRAIN_S
        for reader in self._readers:
            reader.join(max(0.0, end - time.monotonic()))
        return self._process.wait(), bytes(self._kept["out"]), bytes(self._kept["err"])

    def signal(self, number: int) -> None:
        """Send a signal to it and all that it started."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, number)


def _filled(part: str, post: Post) -> str:
    """Put the values of a post into an argument, in one pass: values are not looked at again."""
    values = {
        "agent": post.agent,
        "message_id": post.message_id,
        "thread": post.thread,
        "ack_id": post.thread,
        "kind": post.kind,
        "priority": post.priority,
        "text": post.text,
        "delivery": post.delivery.decode(),
    }
    return _PIECE.sub(lambda found: values[found[1]] if found[1] else found[0][:1], part)


def _names(part: str) -> list[str]:
    return [found[1] for found in _PIECE.finditer(part) if found[1] is not None]


def _problem_of(arguments: list[str]) -> str:
    for one in arguments:
        if "\0" in one:
            return "the text has a NUL character, which no argument can hold"
        if len(one.encode("utf-8", "surrogatepass")) >= _LONGEST_ARGUMENT:
            return "the text is too long for an argument: use `stdin: text` instead of {text}"
    return ""


# What the options say.


def _vector(options: Options) -> tuple[str, ...]:
    run = options.get("run")
    if not isinstance(run, list) or not run or not all(isinstance(one, str) and one for one in run):
        options.fail("run", "is no list of texts", "run: [program, --agent, '{agent}', --message, '{text}']")
    if _names(run[0]):
        options.fail("run", "has a placeholder as its program", "name the program itself")
    for number, part in enumerate(run[1:], 2):
        for name in _names(part):
            if name not in PLACEHOLDERS:
                hint = f"known are {', '.join('{' + one + '}' for one in PLACEHOLDERS)}; write {{{{ for a brace"
                options.fail("run", f"has the unknown placeholder {shown('{' + name + '}')}", hint)
        if any(found[0] in "{}" for found in _PIECE.finditer(part)):
            # The argument itself may hold a token, and is not shown.
            options.fail("run", f"has a single brace in its part {number}", "write {{ or }} for a brace")
    program = os.path.expanduser(run[0])
    if shutil.which(program) is None:
        options.fail(
            "run", f"names {shown(run[0])}, which is not there or cannot be run", "install it, or name its path"
        )
    return (program, *run[1:])


def _folder(options: Options) -> str | None:
    path = options.path("folder")
    if path is not None and not path.is_dir():
        options.fail("folder", f"is no folder: {path}", "make it, or name another")
    return str(path) if path is not None else None


def _environment(options: Options) -> dict[str, str]:
    found = options.mapping("environment", "{NAME: value}")
    if any("=" in name or not name or "\0" in name + one for name, one in found.items()):
        options.fail("environment", "has a name that no variable can have", "environment: {NAME: value}")
    return found


def _exits(options: Options) -> dict[int, Outcome]:
    words = {one.value for one in Outcome}
    found = options.mapping("exit", "{3: refused}")
    for code, word in found.items():
        if not re.fullmatch(r"[0-9]{1,3}", code, re.ASCII) or int(code) > 255 or word not in words:
            hint = f"an exit code, and one of {', '.join(sorted(words))}"
            options.fail("exit", f"has {shown(f'{code}: {word}')}", hint)
    return {int(code): Outcome(word) for code, word in found.items()}
