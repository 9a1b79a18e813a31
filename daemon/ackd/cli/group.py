"""The command `ackd`: its commands by topic, each imported only when it is called; how errors end it."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Sequence
from typing import Any, NoReturn

import click

import ackd
from ackd.cli.options import common, first_sentence, with_examples
from ackd.cli.output import Wanted, emit_error, show_error
from ackd.errors import AckdError, UsageError

SECTIONS: dict[str, dict[str, tuple[str, str]]] = {
    "Run": {
        "init": ("init", "Lay down a tree, and say what to do next."),
        "up": ("up", "Run the daemon of a tree in the foreground."),
        "status": ("status", "Does the daemon run, and who owes what?"),
    },
    "Speak": {
        "request": ("speak", "Ask agents for something; prints the ack_id."),
        "confirm": ("speak", "Take on what you were asked."),
        "final": ("speak", "Close a thread with its result (the DRI does)."),
        "decline": ("speak", "Say that you cannot do it."),
        "clarify": ("speak", "Ask a question before you go on."),
        "answer": ("speak", "Answer a question."),
        "handoff": ("speak", "Hand your duty to another agent."),
        "supplement": ("speak", "Add something for the DRI."),
        "progress": ("speak", "Say that you are at it."),
        "amend": ("speak", "Correct a message of your own."),
        "cancel": ("speak", "Take back what you asked for."),
        "ruling": ("speak", "Decide a stuck thread (arbiters and people)."),
        "broadcast": ("speak", "Tell several agents something; nobody owes an answer."),
        "drop": ("drop", "Lay any envelope in its place."),
    },
    "Read": {
        "inbox": ("inbox", "What an agent owes, and what it is told."),
        "threads": ("threads", "List the threads."),
        "show": ("show", "All about one thread, the final first."),
        "log": ("log", "What became of each dropped file, and why."),
        "rejected": ("rejected", "Refused files, and how to put them right."),
        "reply-check": ("reply_check", "Does a chat text deserve a reply?"),
    },
    "Set up and check": {
        "agents": ("agents", "List the roster, or add somebody to it."),
        "sync": ("sync", "Carry the tree between machines with git."),
        "config": ("config", "The configuration in force, and where each value comes from."),
        "doctor": ("doctor", "What is wrong with tree, memory or machine, and what to do."),
        "validate": ("validate", "Check files without a daemon."),
        "protocol": ("protocol", "The rules: every transition, as table, JSON or diagram."),
        "purge": ("purge", "Remove a message for good (people only)."),
        "completion": ("completion", "Complete commands, ack_ids and names in your shell."),
    },
}
"""Commands by section: name, module and what it does in a line; `--help` needs no more than this."""

_MODULES = {name: module for section in SECTIONS.values() for name, (module, _) in section.items()}
_MEANT = {
    "ask": "request",
    "ack": "confirm",
    "accept": "confirm",
    "finish": "final",
    "close": "final",
    "done": "final",
    "reject": "decline",
    "question": "clarify",
    "reply": "answer",
    "send": "drop",
    "serve": "up",
    "run": "up",
    "start": "up",
    "daemon": "up",
    "ls": "threads",
    "list": "threads",
    "thread": "show",
    "check": "validate",
    "lint": "validate",
    "refused": "rejected",
    "agent": "agents",
    "team": "agents",
    "rule": "ruling",
    "edit": "amend",
    "history": "log",
    "settings": "config",
    "fsck": "doctor",
}

EXAMPLES = (
    "ackd init && ackd up",
    'ackd request macro trading --action "Next week\'s strategy" --from zoe',
    "ackd inbox macro",
)
_WHAT = (
    "Requests that end, and stay ended: ackd delivers, reminds and escalates what agents ask of each other through the "
    "files of a shared-context/ tree."
)


class Commands(click.Group):
    """A group whose commands are imported when they are called (click knows lazy groups only by subclass)."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Give the names of all commands."""
        return list(_MODULES)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import a command and give it."""
        if cmd_name not in _MODULES:
            return None
        module = importlib.import_module(f"ackd.cli.{_MODULES[cmd_name]}")
        command: click.Command = module.COMMANDS[cmd_name]
        for below in command.commands.values() if isinstance(command, click.Group) else ():
            # Its help begins with examples; a list of commands wants its first sentence.
            below.short_help = below.short_help or first_sentence(below.help or "")
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command, or say which one was probably meant."""
        name = args[0]
        if name not in _MODULES and not name.startswith("-") and not ctx.resilient_parsing:
            import difflib

            near = [_MEANT[name]] if name in _MEANT else difflib.get_close_matches(name, _MODULES, n=2)
            meant = " or ".join(f"ackd {one}" for one in near)
            hint = f"did you mean {meant}?" if meant else "ackd --help lists the commands"
            raise UsageError(f"there is no command {name[:80]!r}", hint=hint)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands by section, without importing one."""
        for section, commands in SECTIONS.items():
            with formatter.section(section):
                formatter.write_dl([(name, text) for name, (_, text) in commands.items()])

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,
        **extra: Any,
    ) -> Any:
        """Run a command and exit: 0 ok, else what the error says; errors are shown in the form that was asked for."""
        given = list(sys.argv[1:] if args is None else args)
        name = prog_name or "ackd"
        if not standalone_mode or f"_{name.upper().replace('-', '_')}_COMPLETE" in os.environ:
            return super().main(given, name, complete_var, standalone_mode, **extra)
        _tolerate_any_character()
        before_text = given[: given.index("--")] if "--" in given else given
        try:
            returned = super().main(given, name, complete_var, standalone_mode=False, **extra)
            sys.stdout.flush()
            code = returned if isinstance(returned, int) else 0
        except (BrokenPipeError, SystemExit):
            _be_silent()  # Whoever reads our output has gone; click says so by leaving.
            code = 0
        except click.exceptions.Abort:
            code = 130
        except click.ClickException as error:
            code = _show(_as_ours(error), as_json="--json" in before_text)
        except AckdError as error:
            code = _show(error, as_json="--json" in before_text)
        except Exception as error:
            if "--debug" in before_text:
                raise
            code = _show(_unexpected(error), as_json="--json" in before_text)
        sys.exit(code)


def _as_ours(error: click.ClickException) -> AckdError:
    context = getattr(error, "ctx", None)
    hint = f"{context.command_path} --help" if context is not None else "ackd --help"
    if not isinstance(error, click.UsageError):
        return AckdError(error.format_message())
    return UsageError(error.format_message().rstrip("."), hint=hint)


def _unexpected(error: Exception) -> AckdError:
    told = AckdError(f"unexpected {type(error).__name__}: {error}", hint="the same again with --debug shows where")
    told.code = "unexpected"
    return told


def _show(error: AckdError, *, as_json: bool) -> int:
    try:
        if as_json:
            emit_error(error)
        else:
            show_error(error)
    except BrokenPipeError:
        _be_silent()
    return error.exit_code


def _tolerate_any_character() -> None:
    """A terminal without UTF-8 shows escapes instead of ending the command."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")


def _be_silent() -> None:
    """Send what is still to be written nowhere, so that the interpreter does not complain at its end."""
    try:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
    except (OSError, ValueError, AttributeError):
        return


def _no_command(context: click.Context) -> NoReturn:
    click.echo(context.get_help())
    context.exit(2)


@click.group(
    cls=Commands,
    invoke_without_command=True,
    help=with_examples(EXAMPLES, _WHAT),
    epilog="Every command takes --dir DIR and --json; --help on it shows examples. Exit codes: 0 ok, 1 findings, "
    "2 usage, 3 no tree, 4 not allowed now, 5 sync or delivery failed, 75 busy.",
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(ackd.__version__, message="ackd %(version)s")
@common
@click.pass_context
def main(context: click.Context) -> None:
    """Run `ackd`."""
    context.ensure_object(Wanted)
    if context.invoked_subcommand is None:
        _no_command(context)
