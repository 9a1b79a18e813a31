"""The command as a whole: its help, unknown words, errors and exit codes."""

from __future__ import annotations

import json
from typing import Any

import click
import pytest

from ackd.cli import main
from ackd.cli.group import SECTIONS
from ackd.errors import AckdError

NAMES = [name for section in SECTIONS.values() for name in section]


def command(name: str) -> click.Command:
    """Import a command."""
    found = main.get_command(click.Context(main), name)
    assert isinstance(found, click.Command)
    return found


@pytest.mark.parametrize("name", NAMES)
def test_every_command_begins_its_help_with_an_example(ackd: Any, name: str) -> None:
    """Each command loads, and its help begins with examples that call it, before it says what it does."""
    said = ackd.ok(name, "--help")
    lines = [one.strip() for one in said.splitlines()]
    start = next(number for number, one in enumerate(lines) if one.startswith("Example"))
    assert f"ackd {name}" in lines[start + 1]
    assert {"--json", "--dir"} <= {word for one in lines for word in one.split()}


@pytest.mark.parametrize("name", NAMES)
def test_every_command_has_no_name_twice(name: str) -> None:
    """No option of a command takes the value of another one."""
    names = [parameter.name for parameter in command(name).params if parameter.expose_value]
    assert len(names) == len(set(names))


def test_help_groups_the_commands(ackd: Any) -> None:
    """The help begins with examples and lists every command below its topic."""
    said = ackd.ok("--help")
    assert said.index("Examples:") < said.index("Options:") < said.index("Run:")
    assert [name for name in NAMES if f"\n  {name} " not in said] == []


def test_no_command_shows_the_help(ackd: Any) -> None:
    """Called without a word it shows its help and exits 2."""
    done = ackd()
    assert done.exit_code == 2
    assert "Examples:" in done.stdout


@pytest.mark.parametrize(
    ("wrong", "meant"), [("conform", "confirm"), ("ask", "request"), ("finish", "final"), ("serve", "up")]
)
def test_an_unknown_command_names_the_nearest(ackd: Any, wrong: str, meant: str) -> None:
    """A slip, or the word of another tool, is answered with the command that was meant."""
    done = ackd(wrong)
    assert done.exit_code == 2
    assert f"ackd {meant}" in done.stderr
    assert done.stdout == ""


def test_an_unknown_option_is_a_usage_error(ackd: Any) -> None:
    """It exits 2, with where to look."""
    code, error = ackd.error("inbox", "--takee")
    assert (code, error["code"]) == (2, "usage")
    assert error["hint"] == "ackd inbox --help"


def test_errors_are_messages(ackd: Any) -> None:
    """Without --json an error goes to stderr: what is wrong, then what to type."""
    done = ackd("show", "nothing-v1")
    assert done.exit_code == 1
    assert done.stdout == ""
    first, second = done.stderr.splitlines()
    assert first.startswith("error: ")
    assert second.startswith("hint: ")


def test_no_tree_exits_3(ackd: Any, tmp_path: Any) -> None:
    """Where there is no tree, the hint is to make one."""
    code, error = ackd.error("threads", "--dir", str(tmp_path / "nowhere"))
    assert (code, error["code"]) == (3, "no-tree")
    assert "ackd init" in error["hint"]


def test_json_may_stand_before_the_command(ackd: Any) -> None:
    """`ackd --json threads` is `ackd threads --json`."""
    assert json.loads(ackd.ok("--json", "threads")) == {"schema_version": 1, "data": []}


def test_an_unexpected_error_is_one_line(ackd: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """No traceback reaches a user who did not ask for it; --debug shows it."""

    def breaks(*_: Any, **__: Any) -> None:
        raise RuntimeError("the \x1b[2J disk is odd")

    monkeypatch.setattr("ackd.engine.reading.View.threads", breaks)
    done = ackd("threads")
    assert done.exit_code == 1
    assert "RuntimeError" in done.stderr
    assert "--debug" in done.stderr
    assert "\x1b" not in done.stderr
    assert "Traceback" not in done.output
    assert isinstance(ackd("threads", "--debug").exception, RuntimeError)


def test_the_exit_codes_are_the_documented_ones() -> None:
    """What an error exits with is said by its class, and the help lists the same numbers."""
    codes = {kind.exit_code for kind in AckdError.__subclasses__()} | {AckdError.exit_code}
    assert codes == {1, 2, 3, 4, 5, 75}
    assert all(f"{code} " in (main.epilog or "") for code in codes)


def helps() -> list[tuple[str, ...]]:
    """Give the words of every help: the whole, each command, each one below a command."""
    below = [(name, sub) for name in NAMES if isinstance(one := command(name), click.Group) for sub in one.commands]
    return [(), *((name,) for name in NAMES), *below]


@pytest.mark.parametrize("words", helps(), ids=" ".join)
def test_no_help_is_wider_than_80_columns(ackd: Any, words: tuple[str, ...]) -> None:
    """Examples are not wrapped, so they are short; a list of commands says what each does, not that it has examples."""
    said = ackd.ok(*words, "--help")
    assert [one for one in said.splitlines() if len(one) > 80] == []
    assert "  Examples: " not in said


@pytest.mark.parametrize("name", SECTIONS["Speak"])
def test_a_verb_lists_every_option_that_it_takes(ackd: Any, name: str) -> None:
    """What the table of options leaves out is named below it, none broken in two."""
    said = set(ackd.ok(name, "--help").split())
    taken = {word for one in command(name).params if isinstance(one, click.Option) for word in one.opts}
    assert taken - {"--debug"} <= {word.rstrip(",.") for word in said} | {"--json_"}
