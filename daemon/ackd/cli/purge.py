"""`ackd purge`: a person has a message removed for good."""

from __future__ import annotations

import time

import click

from ackd.cli.options import agent_named, common, complete_agents, examples
from ackd.cli.output import emit, line, out, say, wanted
from ackd.errors import UsageError


@click.command("purge")
@click.argument("name", metavar="ID|PATH")
@click.option(
    "--by", metavar="PERSON", envvar="ACKD_AGENT", shell_complete=complete_agents, help="Who wants it: a person."
)
@click.option("--yes", is_flag=True, help="Do it: nothing brings it back.")
@common
@examples(
    "ackd purge roundtable/oil-v1/final-macro.json --by wen --yes",
    "ackd purge m-0123456789abcdef --by wen --yes",
)
def purge(name: str, by: str | None, yes: bool) -> None:
    """Remove a message that should never have been dropped from memory, ledger, inboxes and rejected/; its hash stays.

    Names a message_id, the path of the dropped file, the id of a refusal, or a thread of one message. No daemon may
    run meanwhile. Ids and names stay; a thread whose request is removed has ended, since nobody can do what is not
    there any more. The dropped file itself is yours to delete, and so is what git and other
    machines remember.
    """
    from ackd.engine.purging import purge as remove
    from ackd.engine.reading import find_tree

    person = agent_named(by, "--by")
    if not yes:
        raise UsageError("what is purged cannot be brought back", hint=f"ackd purge {name} --by {person} --yes")
    done = remove(find_tree(wanted().directory), name, person, time.time_ns() // 1_000_000)
    if wanted().json:
        emit(done)
        return
    out(f"removed from {done.entries} entries of the ledger")
    for path in done.removed:
        out(f"  {line(path, 300)}")
    for path in done.left:
        say(f"still in {line(path, 300)}: yours to delete")
    say("git, and other machines, may still have it: treat a secret as known, and change it")


COMMANDS: dict[str, click.Command] = {"purge": purge}
