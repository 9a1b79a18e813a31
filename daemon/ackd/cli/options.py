"""Options and arguments that commands share, and how a command comes to its tree."""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, TypeVar

import click
from click.shell_completion import CompletionItem

from ackd.cli.output import Wanted
from ackd.errors import AckdError, UsageError

if TYPE_CHECKING:
    from ackd.engine.reading import View

F = TypeVar("F", bound=Callable[..., Any])


def common(function: F) -> F:
    """Give a command the options that every command has: --dir, --json, --debug."""
    for decorate in (_debug, _json, _dir):
        function = decorate(function)
    return function


def examples(*lines: str) -> Callable[[F], F]:
    """Let a command's help begin with examples, ready to paste, before what its docstring says."""

    def put(function: F) -> F:
        function.__doc__ = with_examples(lines, inspect.getdoc(function) or "")
        return function

    return put


def with_examples(lines: Iterable[str], text: str) -> str:
    """Give a help text that begins with examples; click leaves their lines as they are."""
    shown = "\n".join(f"  {one}" for one in lines)
    return f"\b\nExamples:\n{shown}\n\n{text}"


def first_sentence(text: str) -> str:
    """Give the first sentence of a help text that may begin with examples, without its full stop."""
    parts = [part for part in text.split("\n\n") if not part.lstrip("\b\n").startswith("Examples:")]
    words = " ".join(parts[0].split()) if parts else ""
    return words.partition(". ")[0].rstrip(".")


def _keep(name: str) -> Callable[[click.Context, click.Parameter, Any], None]:
    def keep(context: click.Context, parameter: click.Parameter, value: Any) -> None:
        if value:
            setattr(context.ensure_object(Wanted), name, value)

    return keep


_dir = click.option(
    "--dir",
    metavar="DIR",
    expose_value=False,
    callback=_keep("directory"),
    help="The tree; else ACKD_DIR, else the nearest shared-context/ upwards.",
)
_json = click.option(
    "--json", "json_", is_flag=True, expose_value=False, callback=_keep("json"), help="One JSON object on stdout."
)
_debug = click.option(
    "--debug",
    is_flag=True,
    expose_value=False,
    hidden=True,
    callback=_keep("debug"),
    help="Show the traceback of an unexpected error.",
)


@contextlib.contextmanager
def open_view() -> Iterator[View]:
    """Open the tree that the options name.

    Raises:
        NoTreeError: There is none.
    """
    from ackd.engine.reading import View, find_tree

    with View(find_tree(click.get_current_context().ensure_object(Wanted).directory)) as view:
        yield view


def complete_ids(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Complete an ack_id from the threads, the ones touched last first."""
    with contextlib.suppress(AckdError, OSError), open_view_of(context) as view:
        rows = [row for row in reversed(view.memory.threads()) if row.id.lower().startswith(incomplete.lower())]
        return [CompletionItem(row.id, help=row.phase) for row in rows[:200] if row.id[:1] not in "!#"]
    return []


def complete_agents(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Complete a name from the roster."""
    with contextlib.suppress(AckdError, OSError), open_view_of(context) as view:
        return [CompletionItem(name) for name in view.members() if name.lower().startswith(incomplete.lower())]
    return []


@contextlib.contextmanager
def open_view_of(context: click.Context) -> Iterator[View]:
    """Open the tree while completing, when no command runs yet."""
    from ackd.engine.reading import View, find_tree

    directory = context.params.get("dir") or context.ensure_object(Wanted).directory
    with View(find_tree(directory)) as view:
        yield view


def agent_named(written: str | None, what: str = "--from") -> str:
    """Give the agent that an option or ACKD_AGENT names.

    Raises:
        UsageError: Neither does.
    """
    if written:
        return written.removeprefix("@")
    raise UsageError(
        "whose inbox?" if what == "AGENT" else f"who speaks? {what} is missing and ACKD_AGENT is not set",
        hint=f"{'ackd inbox NAME' if what == 'AGENT' else f'add {what} NAME'}, or once: export ACKD_AGENT=NAME; "
        "ackd agents list shows the names",
    )


ack_id_argument = click.argument("ack_id", metavar="ACK_ID", shell_complete=complete_ids)
from_option = click.option(
    "--from",
    "sender",
    metavar="AGENT",
    envvar="ACKD_AGENT",
    shell_complete=complete_agents,
    help="Who speaks; else ACKD_AGENT.",
)
