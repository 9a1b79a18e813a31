"""The channel `command` with real child processes: every outcome, hostile texts, programs that hang or never read."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from ackd.channels.command import CommandChannel, make_command
from ackd.channels.port import Outcome, Post, Sent
from ackd.config.channels import ChannelSetting
from ackd.errors import InvalidError

Make = Callable[..., CommandChannel]


def post(text: str = "[ackd] 请确认", **more: Any) -> Post:
    """Give a post to an agent."""
    values: dict[str, Any] = {
        "agent": "交易",
        "message_id": "zoe-1",
        "thread": "week-v1",
        "kind": "request",
        "priority": "normal",
        "text": text,
        "delivery": b'{"ackd": "delivery/1"}',
    }
    return Post(**{**values, **more})


def unheard(sent: Sent) -> None:
    """Nobody is told."""


@pytest.fixture
def make(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Make]:
    """Make channels that run a Python program, and close them."""
    made: list[CommandChannel] = []
    folder = tmp_path_factory.mktemp("programs")

    def build(program: str, *arguments: str, **options: Any) -> CommandChannel:
        path = folder / f"{len(made)}.py"
        path.write_text(program, encoding="utf-8")
        run = [sys.executable, str(path), *arguments]
        channel = make_command(ChannelSetting(name="live", kind="command", options={"run": run, **options}))
        made.append(channel)
        return channel

    yield build
    for channel in made:
        channel.close()


@pytest.mark.parametrize(
    ("code", "outcome"),
    [(0, "delivered"), (75, "busy"), (69, "not-sent"), (77, "refused"), (1, "not-sent"), (3, "refused")],
)
def test_exit_codes_say_what_became_of_it(make: Make, code: int, outcome: str) -> None:
    """By sysexits.h, and as the configuration says; any other failure is known not to have arrived."""
    channel = make(f"import sys; print('先不行', file=sys.stderr); sys.exit({code})", exit={"3": "refused"})
    sent = channel.send(post(), 20, unheard)
    assert sent.outcome.value == outcome
    assert ("先不行" in sent.detail) == bool(code)


@pytest.mark.parametrize(
    ("word", "outcome"),
    [
        *(("ok", "delivered"), ("accepted", "delivered"), ("delivered", "delivered"), ("sent", "delivered")),
        *(("queued", "ambiguous"), ("pending", "ambiguous"), ("skipped", "ambiguous"), ("", "ambiguous")),
        *(("timeout", "ambiguous"), ("Error", "not-sent"), ("failed", "not-sent"), ("busy", "busy")),
        *(("rejected", "refused"), ("一切都好", "ambiguous")),
    ],
)
def test_a_status_in_the_output_counts_more_than_exit_0(make: Make, word: str, outcome: str) -> None:
    """A tool that says "timeout" and exits with 0 has not delivered for certain (T12)."""
    channel = make(f"import json; print('log line'); print(json.dumps({{'status': {word!r}}}))")
    assert channel.send(post(), 20, unheard).outcome.value == outcome


def test_a_status_that_contradicts_the_exit_code_is_ambiguous(make: Make) -> None:
    """Nobody knows; unless the configuration says that the output does not count."""
    program = 'import sys; print(\'{"status": "ok"}\'); sys.exit(1)'
    assert make(program).send(post(), 20, unheard).outcome == Outcome.AMBIGUOUS
    assert make(program, status=False).send(post(), 20, unheard).outcome == Outcome.NOT_SENT


def test_a_program_that_hangs_is_ambiguous_and_may_deliver_late(make: Make) -> None:
    """It is not killed at its time-out: what it says later is told once."""
    heard: list[Sent] = []
    channel = make("import time; time.sleep(1.2)")
    began = time.monotonic()
    assert channel.send(post(), 0.3, heard.append).outcome == Outcome.AMBIGUOUS
    assert time.monotonic() - began < 1.1
    assert heard == []
    for _ in range(100):
        if heard:
            break
        time.sleep(0.05)
    assert [one.outcome for one in heard] == [Outcome.DELIVERED]


def test_a_program_that_hangs_on_is_ended_with_all_it_started(make: Make, tmp_path: Path) -> None:
    """After its linger time the whole group goes; nobody is told that it was delivered."""
    pids = tmp_path / "pids"
    program = (
        "import os, subprocess, sys, time, signal\n"
        "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        "child = subprocess.Popen(['sleep', '300'])\n"
        f"open({str(pids)!r}, 'w').write(f'{{os.getpid()}} {{child.pid}}')\n"
        "time.sleep(300)\n"
    )
    heard: list[Sent] = []
    channel = make(program, linger="1s")
    assert channel.send(post(), 1.5, heard.append).outcome == Outcome.AMBIGUOUS
    parent, child = (int(one) for one in pids.read_text().split())
    end = time.monotonic() + 10
    while time.monotonic() < end and (_runs(parent) or _runs(child)):
        time.sleep(0.05)
    assert not _runs(parent)
    assert not _runs(child)
    assert heard == []


def test_a_recipient_has_one_run_at_a_time(make: Make) -> None:
    """While a late program goes on, only the one more try may start another; other recipients are not kept waiting."""
    channel = make("import sys, time; time.sleep(30 if sys.argv[1] == 'first' else 0)", "{message_id}")
    assert channel.send(post(message_id="first"), 0.3, unheard).outcome == Outcome.AMBIGUOUS
    assert channel.send(post(message_id="second"), 20, unheard).outcome == Outcome.BUSY
    assert channel.send(post(message_id="second", agent="macro"), 20, unheard).outcome == Outcome.DELIVERED
    assert channel.send(post(message_id="again", repeated=True), 20, unheard).outcome == Outcome.DELIVERED


def test_close_ends_what_runs(make: Make) -> None:
    """A clean stop leaves nothing behind, and sends nothing more."""
    channel = make("import time; time.sleep(300)")
    assert channel.send(post(), 0.5, unheard).outcome == Outcome.AMBIGUOUS
    (child,) = channel._children
    channel.close()
    assert child.wait(0)
    assert channel.send(post(), 5, unheard).outcome == Outcome.NOT_SENT


def test_one_that_is_killed_is_ambiguous(make: Make) -> None:
    """At which moment it was killed nobody knows."""
    channel = make("import os, signal; os.kill(os.getpid(), signal.SIGKILL)")
    assert channel.send(post(), 20, unheard).outcome == Outcome.AMBIGUOUS


@pytest.mark.parametrize(
    "text", ["$(touch pwned)", "; touch pwned", "`touch pwned`", "{agent} {text} {{x}}", "a\nb'\"", "油价"]
)
@pytest.mark.parametrize("way", ["argument", "stdin"])
def test_hostile_texts_arrive_as_they_are(make: Make, tmp_path: Path, text: str, way: str) -> None:
    """No shell, and no second look for placeholders."""
    got = tmp_path / "got"
    source = "sys.argv[1]" if way == "argument" else "sys.stdin.buffer.read().decode()"
    arguments = ["{text}"] if way == "argument" else []
    more: dict[str, Any] = {} if way == "argument" else {"stdin": "text"}
    channel = make(
        f"import sys; open({str(got)!r}, 'w', encoding='utf-8', newline='').write({source})",
        *arguments,
        folder=str(tmp_path),
        **more,
    )
    assert channel.send(post(text), 20, unheard).outcome == Outcome.DELIVERED
    assert got.read_bytes().decode() == text
    assert [path.name for path in tmp_path.iterdir()] == ["got"]


def test_placeholders_are_filled(make: Make, tmp_path: Path) -> None:
    """Each value in its place; doubled braces are braces."""
    got = tmp_path / "got"
    channel = make(
        f"import sys; open({str(got)!r}, 'w').write(' '.join(sys.argv[1:]))",
        *("{agent}", "--id={message_id}", "{ack_id}/{thread}", "{kind}", "{priority}", "{{x}}"),
    )
    channel.send(post(), 20, unheard)
    assert got.read_text() == "交易 --id=zoe-1 week-v1/week-v1 request normal {x}"


def test_the_delivery_is_the_input_where_nothing_else_is_said(make: Make, tmp_path: Path) -> None:
    """Its whole JSON on the standard input."""
    got = tmp_path / "got"
    make(f"import sys; open({str(got)!r}, 'wb').write(sys.stdin.buffer.read())").send(post(), 20, unheard)
    assert got.read_bytes() == post().delivery


def test_a_program_that_reads_nothing_does_not_hang_us(make: Make) -> None:
    """Neither a full pipe, nor huge output, nor one that it started and that keeps the pipe open."""
    big = post(delivery=b"x" * 1_000_000)
    assert make("pass").send(big, 20, unheard).outcome == Outcome.DELIVERED
    assert make("print('y' * 5_000_000)").send(post(), 20, unheard).outcome == Outcome.DELIVERED
    began = time.monotonic()
    holder = make("import subprocess; subprocess.Popen(['sleep', '30']); print('{\"status\": \"ok\"}')")
    assert holder.send(post(), 20, unheard).outcome == Outcome.DELIVERED
    assert time.monotonic() - began < 15


def test_what_no_argument_can_hold_is_not_sent(make: Make) -> None:
    """With a reason that says what to do."""
    channel = make("pass", "{text}")
    assert "stdin" in channel.send(post("x" * 200_000), 20, unheard).detail
    assert channel.send(post("a\0b"), 20, unheard).outcome == Outcome.NOT_SENT


def test_a_program_that_went_away_is_not_sent(tmp_path: Path) -> None:
    """It was there when the daemon started."""
    program = tmp_path / "tool"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    channel = make_command(ChannelSetting(name="live", kind="command", options={"run": [str(program)]}))
    program.unlink()
    assert channel.send(post(), 20, unheard).outcome == Outcome.NOT_SENT


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({}, "run is no list"),
        ({"run": []}, "run is no list"),
        ({"run": ["no-such-program-here"]}, "cannot be run"),
        ({"run": ["sh", "{what}"]}, "unknown placeholder"),
        ({"run": ["sh", "{"]}, "single brace"),
        ({"run": ["{agent}"]}, "placeholder as its program"),
        ({"run": ["sh"], "stdin": "all"}, "stdin is"),
        ({"run": ["sh"], "exit": {"x": "busy"}}, "exit has"),
        ({"run": ["sh"], "exit": {"1": "fine"}}, "exit has"),
        ({"run": ["sh"], "exit": {"256": "busy"}}, "exit has"),
        ({"run": ["sh"], "folder": "/no/such"}, "folder is no folder"),
        ({"run": ["sh"], "linger": "2 days"}, "linger is"),
        ({"run": ["sh"], "status": "maybe"}, "status is"),
        ({"run": ["sh"], "shell": True}, "shell is no option"),
        ({"run": ["sh"], "environment": ["A"]}, "environment is no mapping"),
    ],
)
def test_a_bad_setting_says_what_is_wrong(options: dict[str, object], words: str) -> None:
    """File, channel, key and what to write instead."""
    setting = ChannelSetting(name="live", kind="command", options=options, origin="/home/wen/config.yaml")
    with pytest.raises(InvalidError) as caught:
        make_command(setting)
    assert "/home/wen/config.yaml channels.live: " in caught.value.message
    assert words in caught.value.message
    assert caught.value.hint


def test_many_sends_at_once(make: Make) -> None:
    """They do not get in each other's way."""
    import threading

    channel = make("import sys; sys.exit(int(sys.argv[1]))", "{thread}")
    found: dict[str, Outcome] = {}

    def run(code: str) -> None:
        found[code] = channel.send(post(thread=code), 30, unheard).outcome

    threads = [threading.Thread(target=run, args=(code,)) for code in ("0", "75", "77", "69") * 3]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {code: one.value for code, one in found.items()} == {
        "0": "delivered",
        "75": "busy",
        "77": "refused",
        "69": "not-sent",
    }


def _runs(pid: int) -> bool:
    """Tell whether a process runs; one that has ended and waits for its parent does not."""
    try:
        os.kill(pid, signal.SIGCONT)
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (ProcessLookupError, FileNotFoundError):
        return False
