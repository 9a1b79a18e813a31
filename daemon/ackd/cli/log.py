"""`ackd log`: what became of each dropped file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ackd.cli.options import common, examples, open_view
from ackd.cli.output import as_json, block, coloured, columns, emit, line, local, out, padded, wanted, width

if TYPE_CHECKING:
    from ackd.engine.reading import View

MOST_LINES = 50


@click.command("log")
@click.option("--file", "file", metavar="PATH", help="One file: its verdict, or why it has none yet.")
@click.option("--jsonl", is_flag=True, help="One JSON object a line.")
@click.option(
    "-n", "--lines", type=click.IntRange(1), default=None, help=f"How many, the newest; as text {MOST_LINES}."
)
@common
@examples(
    "ackd log",
    "ackd log --file roundtable/oil-v1/final-macro.json",
    "ackd log --jsonl | tail -1",
)
def log(file: str | None, jsonl: bool, lines: int | None) -> int:
    """What became of each dropped file, and why; the newest last.

    Nothing dropped is without a verdict.
    """
    from ackd.engine.show import file_line

    with open_view() as view:
        zone = view.zone
        if file is not None:
            found = _file(view, file)
            if wanted().json or jsonl:
                (emit if wanted().json else _print_line)(found)
            elif found.get("lines"):
                for one in found["lines"]:
                    place = f"{one['path']}:{one['line']}" if one["line"] else f"{one['path']}, no longer there"
                    _show({**one, "path": place, "because": f"{one['text']}; {one['because']}".strip("; ")}, zone)
            else:
                _show(found, zone)
            return 0 if found["verdict"] != "missing" else 1
        rows = view.files()
    wholly = wanted().json or jsonl
    most = lines or (len(rows) if wholly else MOST_LINES)
    documents = [file_line(row) for row in rows[-most:]] if most else []
    if wanted().json:
        emit(documents)
    elif jsonl:
        for one in documents:
            _print_line(one)
    else:
        if len(rows) > most:
            out(f"{len(rows) - most} earlier ones: ackd log -n {len(rows)}")
        for one in documents:
            _show(one, zone)
        if not documents:
            out("nothing was dropped yet")
    return 0


def _print_line(document: dict[str, Any]) -> None:
    click.echo(as_json(document), color=False)


def _show(one: dict[str, Any], zone: Any) -> None:
    verdict = coloured(padded(line(one["verdict"], 14), 10), one["verdict"])
    thread = f"  {line(one['ack_id'], 70)}" if one["ack_id"] and one["ack_id"] not in one["path"] else ""
    at = f"{local(one['at'], zone)}  " if one["at"] else ""
    head, where = f"{at}{verdict}  ", f"{line(one['path'], 300)}{thread}"
    if width(click.unstyle(head)) + width(where) <= columns():
        out(head + where)
    else:
        # The path keeps a line of its own, whole: it is what somebody copies.
        out(head.rstrip())
        out(f"  {where}")
    if one["because"]:
        out(block(line(one["because"], 600), "  "))


def _file(view: View, written: str) -> dict[str, Any]:
    """Give the verdict of one file, or why it has none: `pending`, `waiting`, `no-drop`, `missing`.

    Of the people's page `lines` has the verdicts of what came from it.
    """
    from ackd.engine.show import file_line, why_without_verdict
    from ackd.tree.layout import PROJECT_STATUS

    path = _in_tree(view, written)
    row = view.file(path)
    if row is not None:
        changed = why_without_verdict(view, path, row)
        document = file_line(row)
        if changed is not None:
            document["because"] = f"{document['because']}; {changed[1]}" if document["because"] else changed[1]
        return document
    verdict, because = why_without_verdict(view, path, None) or ("waiting", "")
    more: dict[str, Any] = {}
    if path == PROJECT_STATUS:
        from ackd.engine.page_memory import page_document

        page = page_document(view.book)
        lines = [
            {"path": path, "at": None, **{key: one[key] for key in ("line", "text", "verdict", "ack_id", "because")}}
            for one in (*page["requests"], *page["rulings"])
        ]
        more["lines"] = lines
        because = f"the page itself is no drop and is never written; of its lines {len(lines)} were asked or ruled"
    return {
        "path": path,
        "verdict": verdict,
        "ack_id": None,
        "because": because,
        "at": None,
        "sha256": "",
        "digest": None,
        **more,
    }


def _in_tree(view: View, written: str) -> str:
    """Give a path relative to the tree: one from here if it leads into the tree, else one from the tree's top."""
    here, tree = Path(written).absolute(), view.tree.resolve()
    for path in (here, here.parent.resolve() / here.name):
        if path.is_relative_to(tree) and (path.exists() or Path(written).is_absolute()):
            return path.relative_to(tree).as_posix()
    return Path(written).as_posix().removeprefix("./")


COMMANDS: dict[str, click.Command] = {"log": log}
