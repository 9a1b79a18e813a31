"""`ackd sync`: git carries the tree between machines."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ackd.cli.options import common, examples
from ackd.cli.output import counted, emit, line, out, program, say, wanted

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ackd.gitsync.merging import Conflict

_SHOWN = 5
_WHAT = {
    "both-changed": "both sides changed it; yours stays",
    "deleted-here": "deleted here and changed by the other side; theirs was kept",
    "deleted-there": "changed here and deleted by the other side; yours stays",
    "in-the-way": "a file on one side and a folder on the other",
    "no-file": "the other side has a link or a repository there; not taken",
}


@click.group("sync", invoke_without_command=True)
@common
@examples(
    "ackd sync init git@example.org:team.git",
    "ackd sync now",
    "ackd sync status",
)
@click.pass_context
def sync(context: click.Context) -> None:
    """Carry the tree between machines with git."""
    if context.invoked_subcommand is None:
        out(context.get_help())


@sync.command("init")
@click.argument("remote", metavar="[REMOTE]", required=False)
@common
@examples(
    "ackd sync init git@example.org:team.git",
    "git init --bare /srv/team.git && ackd sync init /srv/team.git",
)
def init(remote: str | None) -> None:
    """Make the tree a git repository of its own, and say what to do on the second machine.

    REMOTE is a bare repository: an address for git, or a path. Repeating it is harmless. A repository around the tree
    is left alone; the tree is added to its .git/info/exclude.
    """
    from ackd.engine.syncing import set_up

    tree = _tree()
    done = set_up(tree, remote or "")
    made = done.made
    if wanted().json:
        emit(
            {
                "tree": str(tree),
                "created": made.created,
                "branch": made.branch,
                "remote": made.remote,
                "changes": [*made.changes, *(f"{one} laid down" for one in done.files)],
                "notes": list(made.notes),
            }
        )
        return
    for change in (*made.changes, *(f"{one} laid down" for one in done.files)):
        out(f"set: {line(change, 400)}")
    for note in made.notes:
        say(f"note: {line(note, 600)}")
    where = shlex.quote(str(tree))
    out(f"{line(where, 300)} syncs the branch {line(made.branch, 80)} with {line(made.remote or 'nobody yet', 300)}")
    out("Next:")
    if not made.remote:
        out(f"  1. make a bare repository, and name it: {program()} sync init REMOTE --dir {line(where, 300)}")
        return
    out(f"  1. here: {program()} sync now --dir {line(where, 300)}")
    out(
        f"  2. on the second machine: git clone {line(shlex.quote(made.remote), 300)} shared-context && "
        "ackd up shared-context"
    )


@sync.command("now")
@click.option("--no-wait", is_flag=True, help="Do not wait for files that were changed in the last 10 s.")
@common
@examples(
    "ackd sync now",
    "ackd sync now --no-wait --json",
)
def now(no_wait: bool) -> None:
    """Commit, fetch, merge and push once.

    Every file that is not ignored and was not changed for 10 s is committed; the others go next time. What both sides
    changed is never lost: yours stays in place, theirs lies beside it as NAME.theirs-<8 hex>. Exits 5 where git is
    busy or the remote cannot be reached; what was committed goes next time.
    """
    from ackd.engine.syncing import sync_now

    done = sync_now(_tree(), wait=not no_wait)
    if wanted().json:
        emit(done)
        return
    sent = "pushed" if done.pushed else "nothing to push"
    out(f"{counted(len(done.committed), 'file')} committed, {len(done.taken)} taken from others, {sent}")
    _conflicts(done.conflicts)
    _few("changed just now, goes next time", done.waiting)
    _few("not carried", (f"{path} ({why})" for path, why in done.left_out.items()))
    for note in done.notes:
        say(f"note: {line(note, 400)}")


@sync.command("status")
@common
@examples(
    "ackd sync status",
    "ackd sync status --json",
)
def status() -> None:
    """Branch, remote, what waits, and what lies beside; nobody is asked, so `behind` is as of the last sync."""
    from ackd.engine.syncing import sync_status

    found = sync_status(_tree())
    if wanted().json:
        emit(found)
        return
    if not found.is_set_up or found.standing is None:
        out(line(found.busy, 600))
        say(f"do: {line(found.todo, 300)}")
        return
    stands = found.standing
    out(f"branch  {line(found.branch, 80)}, {stands.ahead} ahead, {stands.behind} behind")
    out(f"remote  {line(found.remote or 'none: ackd sync init REMOTE', 300)}")
    last = found.last
    if last is None:
        out("last    never on this machine")
    elif last.error:
        out(f"last    {last.at}, failed: {line(last.error, 600)}")
    else:
        out(f"last    {last.at}, {counted(last.committed, 'file')} committed, {last.taken} taken from others")
    out(f"waits   {counted(len(stands.rested) + len(stands.waiting), 'file')}")
    if found.busy:
        say(f"busy: {line(found.busy, 600)}")
        say(f"do: {line(found.todo, 300)}")
    _few("lies beside; take what you need and delete it", stands.beside)
    _few("not carried", (f"{path} ({why})" for path, why in stands.left_out.items()))


def _tree() -> Path:
    from ackd.engine.reading import find_tree

    return find_tree(wanted().directory)


def _conflicts(conflicts: Iterable[Conflict]) -> None:
    for one in conflicts:
        beside = f", and theirs is {line(one.beside, 300)}" if one.beside else ""
        say(f"conflict: {line(one.path, 300)}: {_WHAT[one.what]}{beside}")


def _few(what: str, paths: Iterable[str]) -> None:
    every = list(paths)
    for path in every[:_SHOWN]:
        say(f"{what}: {line(path, 300)}")
    if len(every) > _SHOWN:
        say(f"{what}: {len(every) - _SHOWN} more")


COMMANDS: dict[str, click.Command] = {"sync": sync}
