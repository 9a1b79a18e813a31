"""The verbs: each composes one envelope from options, checks it, lays it down, and says what became of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click
import msgspec

from ackd.cli.envelope_options import envelope_options, fields_of, hidden_options
from ackd.cli.options import (
    ack_id_argument,
    agent_named,
    common,
    complete_agents,
    from_option,
    open_view,
    with_examples,
)
from ackd.cli.verdict import lay_down
from ackd.errors import UsageError


class Verb(msgspec.Struct, frozen=True, kw_only=True):
    """One verb.

    Attributes:
        type: Message type.
        help: What it does, for `--help`; examples stand before it.
        usage: Its shortest form.
        examples: Two or three, ready to paste.
        text: Key of the text that may stand bare, or an empty string.
        needs: Keys without which it says nothing.
        shown: Envelope keys that `--help` lists; all others are options too.
    """

    type: str
    help: str
    usage: str
    examples: tuple[str, ...]
    text: str = ""
    needs: tuple[str, ...] = ()
    shown: tuple[str, ...] = ()


VERBS: dict[str, Verb] = {
    "request": Verb(
        type="request",
        help="Ask agents for something. Prints the ack_id alone on stdout.",
        usage="ackd request AGENT… --action TEXT",
        examples=(
            'ackd request macro --action "Is the oil shock priced in?" --from zoe',
            'ID=$(ackd request macro trading --dri trading --action "Plan the week")',
        ),
        needs=("to", "action"),
        shown=(
            "action",
            "dri",
            "deadline",
            "body",
            "priority",
            "context",
            "data",
            "attach",
            "ack-id",
            "parent",
            "retry-of",
        ),
    ),
    "confirm": Verb(
        type="confirmed",
        help="Take on what you were asked, or accept a handoff. Without a text it counts, and nobody is told.",
        examples=('ackd confirm oil-v1 "Oil shock priced in; I look at the rest"', "ackd confirm oil-v1 --version v2"),
        usage="ackd confirm ACK_ID [TEXT]",
        text="conclusion",
        shown=("conclusion", "version", "effective", "body", "in-reply-to"),
    ),
    "final": Verb(
        type="final",
        help="Close a thread with its result. Only its DRI does.",
        usage="ackd final ACK_ID TEXT",
        examples=(
            'ackd final oil-v1 "Cut exposure to 40 %"',
            'ackd final oil-v1 "No data before Monday" --status failed --body - < why.txt',
        ),
        text="conclusion",
        needs=("conclusion",),
        shown=("conclusion", "status", "body", "decision", "data", "attach"),
    ),
    "decline": Verb(
        type="decline",
        help="Say that you cannot do what you were asked, or will not take a handoff.",
        usage="ackd decline ACK_ID REASON",
        examples=('ackd decline oil-v1 "I have no access to the order book"',),
        text="reason",
        needs=("reason",),
        shown=("reason", "in-reply-to"),
    ),
    "clarify": Verb(
        type="clarify",
        help="Ask a question before you go on; your times stand still until it is answered.",
        usage="ackd clarify ACK_ID QUESTION",
        examples=('ackd clarify oil-v1 "Which week?"',),
        text="question",
        needs=("question",),
        shown=("question", "context"),
    ),
    "answer": Verb(
        type="answer",
        help="Answer a question; where several are open, --in-reply-to names one, else all are answered.",
        usage="ackd answer ACK_ID TEXT",
        examples=('ackd answer oil-v1 "The next"',),
        text="body",
        needs=("body",),
        shown=("body", "data", "in-reply-to"),
    ),
    "handoff": Verb(
        type="handoff",
        help="Hand your duty to one other agent; it is yours until that one confirms.",
        usage="ackd handoff ACK_ID AGENT REASON",
        examples=(
            'ackd handoff oil-v1 macro "A rates question, not a trading one"',
            'ackd handoff oil-v1 macro "The part on rates" --partial',
        ),
        text="reason",
        needs=("to", "reason"),
        shown=("reason", "partial", "report-to", "context"),
    ),
    "supplement": Verb(
        type="supplement",
        help="Add something; the DRI is told.",
        usage="ackd supplement ACK_ID TEXT",
        examples=('ackd supplement oil-v1 "The index comes out at nine tomorrow"',),
        text="body",
        needs=("body",),
        shown=("body", "data", "attach"),
    ),
    "progress": Verb(
        type="progress",
        help="Say that you are at it: a sign of life, nobody is woken.",
        usage="ackd progress ACK_ID TEXT",
        examples=('ackd progress oil-v1 "Half of the pages are read"',),
        text="body",
        needs=("body",),
        shown=("body",),
    ),
    "amend": Verb(
        type="amend",
        help="Correct a message of your own: the one that --supersedes names, else your last in the thread.",
        usage="ackd amend ACK_ID TEXT",
        examples=(
            'ackd amend oil-v1 "Cut exposure to 35 %"',
            'ackd amend oil-v1 --supersedes m-3f2a9c0012ab34cd --conclusion "Cut to 35 %"',
        ),
        text="(text)",
        shown=("supersedes", "conclusion", "body", "action", "deadline", "reason"),
    ),
    "cancel": Verb(
        type="cancel",
        help="Take back what you asked for.",
        usage="ackd cancel ACK_ID [REASON]",
        examples=('ackd cancel oil-v1 "The meeting is off"',),
        text="reason",
        shown=("reason",),
    ),
    "ruling": Verb(
        type="ruling",
        help="Decide a stuck thread: dri AGENT, extend DEADLINE, pick MESSAGE_ID, cancel, or close.",
        usage="ackd ruling ACK_ID dri|extend|cancel|pick|close [VALUE] [REASON]",
        examples=(
            'ackd ruling oil-v1 dri macro "trading is away"',
            "ackd ruling oil-v1 extend 2h",
            'ackd ruling oil-v1 close "Nobody needs it any more"',
        ),
        needs=("ruling",),
        shown=("reason", "dri", "deadline", "pick"),
    ),
    "broadcast": Verb(
        type="broadcast",
        help="Tell agents something; nobody owes an answer.",
        usage="ackd broadcast AGENT… --body TEXT",
        examples=('ackd broadcast all --subject "Holiday" --body "Closed on Monday"',),
        needs=("to", "body"),
        shown=("body", "subject", "urgency", "ack-id"),
    ),
}

_NEEDED = {
    "to": "a recipient",
    "action": "an action",
    "body": "a text",
    "ruling": "what is ruled",
}
_VALUE_OF = {"dri": "dri", "extend": "deadline", "pick": "pick"}
_TO = click.argument("to_bare", metavar="TO...", nargs=-1, shell_complete=complete_agents)


def _say(name: str, sender: str | None, ack_id: str, options: dict[str, Any], bare: dict[str, Any]) -> int:
    """Compose an envelope of what stands bare and in options, and lay it down."""
    from ackd.engine.composing import compose, words_key

    verb = VERBS[name]
    anyway = options.pop("anyway")
    author = agent_named(sender)
    with open_view() as view:
        if verb.type == "amend" and "(text)" in bare:
            bare = {words_key(view, verb.type, author, ack_id): bare["(text)"]}
        fields = fields_of(options, bare, view.root, view.tree)
        missing = [key for key in verb.needs if not fields.get(key)]
        if missing:
            words = " and ".join(_NEEDED.get(key, f"a {key}") for key in missing)
            raise UsageError(f"{name} needs {words}: {verb.usage}", hint=f"for example: {verb.examples[0]}")
        composed = compose(view, verb.type, author, fields, named=ack_id, anyway=anyway)
        return lay_down(view, composed, anyway=anyway)


def _command(name: str, verb: Verb) -> click.Command:
    """Make the command of a verb."""
    run = _RUNS[name] if name in _RUNS else _speak_in(name, verb)
    arguments: list[Callable[[Any], Any]] = list(_ARGUMENTS.get(name, (ack_id_argument, _text_argument(verb))))
    for decorate in (common, *reversed(envelope_options(verb.shown)), from_option, *reversed(arguments)):
        run = decorate(run)
    epilog = f"A text of - is read from stdin.\n\n{hidden_options(verb.shown)}"
    return click.command(name, help=with_examples(verb.examples, verb.help), epilog=epilog)(run)


def _text_argument(verb: Verb) -> Callable[[Any], Any]:
    return click.argument("text", metavar="[TEXT]", required=False)


def _speak_in(name: str, verb: Verb) -> Callable[..., int]:
    def run(ack_id: str, text: str | None, sender: str | None, **options: Any) -> int:
        return _say(name, sender, ack_id, options, {verb.text: text} if text is not None else {})

    return run


def _request(to_bare: tuple[str, ...], sender: str | None, **options: Any) -> int:
    return _say("request", sender, "", options, {"to": list(to_bare)})


def _broadcast(to_bare: tuple[str, ...], sender: str | None, **options: Any) -> int:
    return _say("broadcast", sender, "", options, {"to": list(to_bare)})


def _handoff(ack_id: str, to_bare: str | None, text: str | None, sender: str | None, **options: Any) -> int:
    bare: dict[str, Any] = {"to": [to_bare] if to_bare else []}
    if text is not None:
        bare["reason"] = text
    return _say("handoff", sender, ack_id, options, bare)


def _ruling(ack_id: str, kind: str | None, words: tuple[str, ...], sender: str | None, **options: Any) -> int:
    bare: dict[str, Any] = {"ruling": kind} if kind else {}
    rest = list(words)
    value = _VALUE_OF.get(kind or "")
    if value and rest and not options.get(value):
        bare[value] = rest.pop(0)
    if rest:
        bare["reason"] = rest.pop(0)
    if rest:
        raise UsageError("a ruling has one value and one reason", hint=f"for example: {VERBS['ruling'].examples[0]}")
    if value and not (bare.get(value) or options.get(value)):
        raise UsageError(f"ruling {kind} needs --{value}", hint="for example: " + "; ".join(VERBS["ruling"].examples))
    return _say("ruling", sender, ack_id, options, bare)


_RUNS: dict[str, Callable[..., int]] = {
    "request": _request,
    "broadcast": _broadcast,
    "handoff": _handoff,
    "ruling": _ruling,
}
_ARGUMENTS: dict[str, tuple[Callable[[Any], Any], ...]] = {
    "request": (_TO,),
    "broadcast": (_TO,),
    "handoff": (
        ack_id_argument,
        click.argument("to_bare", metavar="TO", required=False, shell_complete=complete_agents),
        click.argument("text", metavar="[REASON]", required=False),
    ),
    "ruling": (
        ack_id_argument,
        click.argument(
            "kind",
            metavar="dri|extend|cancel|pick|close",
            required=False,
            type=click.Choice(["dri", "extend", "cancel", "pick", "close"]),
        ),
        click.argument("words", metavar="[VALUE] [REASON]", nargs=-1),
    ),
}

COMMANDS: dict[str, click.Command] = {name: _command(name, verb) for name, verb in VERBS.items()}
