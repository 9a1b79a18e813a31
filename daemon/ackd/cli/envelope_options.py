"""The keys of an envelope as options, and from options back to keys."""

from __future__ import annotations

import hashlib
import sys
import textwrap
from collections.abc import Callable, Collection
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import msgspec

from ackd.errors import UsageError

if TYPE_CHECKING:
    from ackd.fs.beneath import Root

_CAP = 1024 * 1024
_MOST_ATTACHED = 256 * 1024 * 1024

TEXTS = {
    "action": "What is to be done, and how one knows that it is done.",
    "conclusion": "The result in a sentence.",
    "body": "The whole text: reasons, details.",
    "reason": "Why.",
    "question": "One question.",
    "dri": "Who is responsible and writes the final; else the first of TO.",
    "deadline": "When the final is wanted: 2h, 2026-03-08T15:00:00+08:00, 202603081500.",
    "status": "success, partial_success, failed, rejected or cancelled.",
    "version": "Which version it speaks of, such as v2.",
    "effective": "From when it holds.",
    "subject": "Heading.",
    "urgency": "low, normal, high or critical.",
    "priority": "low, normal, high or critical.",
    "context": "Background for whoever does the work.",
    "mode": "realtime, task or stream.",
    "parent": "The ack_id out of which this arose.",
    "thread": "The chat thread or other place outside that this belongs to.",
    "in-reply-to": "The message_id that this speaks to; found by itself where it is clear.",
    "message-id": "Your own id for this message; made where it is left out.",
    "supersedes": "The message_id of your own message that this replaces.",
    "retry-of": "The ack_id of the earlier try.",
    "report-to": "To whom the taker of a handoff reports.",
    "ruling": "dri, extend, cancel, pick or close.",
    "pick": "The message_id of the final that holds.",
    "depth": "How often the matter was passed on, such as 1/5; ackd counts by itself.",
    "ack-id": "The id of the thread; made where it is left out.",
    "traceparent": "W3C trace context.",
    "protocol-version": "Version of the envelope.",
    "sent-at": "When you say that you sent it.",
    "signature": "Proof of the writer.",
}
JSON = {
    "data": "Result or input for machines: any JSON.",
    "decision": "A title, or a JSON object: title, options, chosen, because; it becomes a record in decisions/.",
    "expects": "JSON Schema that the data of the final satisfies.",
    "attempts": "Live sends that you made yourself, as a JSON list.",
    "metadata": "More keys, as a JSON object.",
}
FLAGS = {
    "partial": "Hand on a part only: it becomes a thread of its own.",
    "writes": "The work changes something outside the tree.",
    "compensable": "The work can be undone by a compensate message.",
}
_ALL = (*TEXTS, *JSON, *FLAGS, "to", "attach")


def envelope_options(shown: Collection[str]) -> list[Callable[[Any], Any]]:
    """Give one option for each key of an envelope; `--help` lists the `shown` ones, in their order."""
    # Where the ack_id is the first argument it is no option too.
    order = [*shown, *(key for key in _ALL if key not in shown and key != "ack-id")]
    options = [_option(key, hidden=key not in shown) for key in order]
    anyway = click.option("--anyway", is_flag=True, help="Drop it even where the thread does not allow it now.")
    return [*options, anyway]


def hidden_options(shown: Collection[str]) -> str:
    """Name the options that `--help` does not list, in a paragraph that click leaves as it is."""
    names = [f"--{key}" for key in _ALL if key not in shown and key != "ack-id"]
    lines = textwrap.wrap(" ".join(names), 74, break_on_hyphens=False)  # No option is broken in two.
    return "\n".join(["\b", "Every other key of an envelope is an option too:", *(f"  {one}" for one in lines)])


def _option(key: str, *, hidden: bool) -> Callable[[Any], Any]:
    name = _name(key)
    if key == "to":
        return click.option("--to", "to", multiple=True, metavar="AGENT", hidden=hidden, help="Who is addressed.")
    if key == "attach":
        return click.option(
            "--attach",
            "attach",
            multiple=True,
            metavar="PATH",
            hidden=hidden,
            help="A file of the tree that belongs to it.",
        )
    if key in FLAGS:
        return click.option(f"--{key}", name, is_flag=True, default=None, hidden=hidden, help=FLAGS[key])
    text, metavar = (JSON[key], "JSON") if key in JSON else (TEXTS[key], "TEXT")
    return click.option(f"--{key}", name, metavar=metavar, hidden=hidden, help=text)


def fields_of(options: dict[str, Any], bare: dict[str, Any], root: Root, tree: Path) -> dict[str, Any]:
    """Give the keys of the envelope that options and bare words come to.

    Args:
        options: Values by option name, as click gives them.
        bare: Values that stood bare, by key.
        root: The tree, for attachments.
        tree: Its path.

    Raises:
        UsageError: A text stands twice, is no JSON where JSON is meant, stdin is wanted twice, or an attachment is no
            file of the tree.
    """
    stdin = _Stdin()
    fields: dict[str, Any] = {}
    recipients = [*_split(bare.get("to") or ()), *_split(options.get("to") or ())]
    if recipients:
        fields["to"] = list(dict.fromkeys(recipients))
    for key, value in bare.items():
        if key != "to":
            if options.get(_name(key)) is not None:
                raise UsageError(f"--{key} stands here twice, bare and as an option", hint="leave one of them out")
            fields[key] = stdin.read(value)
    for key in (*TEXTS, *JSON, *FLAGS):
        value = options.get(_name(key))
        if value is None or value is False:
            continue
        fields[_name(key)] = (
            value if key in FLAGS else _json(key, stdin.read(value)) if key in JSON else stdin.read(value)
        )
    attached = [_attachment(path, root, tree) for path in options.get("attach") or ()]
    if attached:
        fields["attachments"] = attached
    return {**fields.pop("metadata", {}), **fields}


class _Stdin:
    """Standard input, which can be read once."""

    def __init__(self) -> None:
        self._read = False

    def read(self, value: str) -> str:
        if value != "-":
            return value
        if self._read:
            raise UsageError("two texts are - and stdin has only one", hint="give one of them in the command")
        self._read = True
        return read_stdin().decode("utf-8", "replace").strip("\r\n")


def read_stdin() -> bytes:
    """Read standard input, up to the size that an envelope may have.

    Raises:
        UsageError: It is a terminal, or it has too much.
    """
    if sys.stdin is None or sys.stdin.isatty():
        raise UsageError("- reads stdin, and stdin is a terminal", hint="pipe the text in, or write it in the command")
    data = sys.stdin.buffer.read(_CAP + 1)
    if len(data) > _CAP:
        raise UsageError(f"stdin has more than {_CAP} bytes", hint="attach a file instead: --attach PATH")
    return data


def _name(key: str) -> str:
    return key.replace("-", "_")


def _split(names: Collection[str]) -> list[str]:
    """Take `a,b` for two names: no name has a comma."""
    return [part.strip().removeprefix("@") for name in names for part in name.split(",") if part.strip()]


def _json(key: str, text: str) -> Any:
    if key == "decision" and not text.lstrip().startswith("{"):
        return text  # Its title alone.
    try:
        value = msgspec.json.decode(text.encode())
    except (msgspec.DecodeError, UnicodeEncodeError) as error:
        raise UsageError(f"--{key} is no JSON: {error}", hint=f"for example: --{key} '{{\"exposure\": 40}}'") from None
    if key == "metadata" and not isinstance(value, dict):
        raise UsageError("--metadata is no JSON object", hint='for example: --metadata \'{"desk": "rates"}\'')
    return value


def _attachment(written: str, root: Root, tree: Path) -> dict[str, str]:
    """Give path and hash of a file of the tree, named from here or from the tree's top."""
    from ackd.fs.beneath import FileRead

    here = Path(written).absolute()
    inside = here.relative_to(tree.absolute()).as_posix() if here.is_relative_to(tree.absolute()) else written
    if not inside.startswith("/") and ".." not in inside.split("/"):
        read = root.read(inside, _MOST_ATTACHED)
        if isinstance(read, FileRead):
            return {"path": inside, "sha256": hashlib.sha256(read.data).hexdigest()}
    raise UsageError(f"--attach {written} is no file in {tree}", hint="copy it into the thread's folder first")
