"""`ackd reply-check`: does a chat text deserve a reply?"""

from __future__ import annotations

import click

from ackd.cli.envelope_options import read_stdin
from ackd.cli.options import agent_named, common, complete_agents, complete_ids, examples, open_view
from ackd.cli.output import emit, line, out, wanted


@click.command("reply-check")
@click.option(
    "--agent",
    metavar="AGENT",
    envvar="ACKD_AGENT",
    shell_complete=complete_agents,
    help="For whom it is; else ACKD_AGENT.",
)
@click.option("--ack-id", metavar="ACK_ID", shell_complete=complete_ids, help="The thread in which it was said.")
@click.option("--outgoing", is_flag=True, help="TEXT is what the agent is about to post.")
@click.argument("text", metavar="[TEXT|-]", default="-")
@common
@examples(
    'ackd reply-check --agent macro --ack-id oil-v1 "收到，谢谢！"',
    "ackd reply-check --agent macro --outgoing - < answer.txt",
)
def reply_check(agent: str | None, ack_id: str | None, outgoing: bool, text: str) -> None:
    """Prints NO_REPLY or REPLY, and why.

    Courtesy, replays, quotes and texts for others deserve none. Exits 0 for both.
    """
    from ackd.engine.replying import check_incoming, check_outgoing

    said = read_stdin().decode("utf-8", "replace") if text == "-" else text
    with open_view() as view:
        name = view.member(agent_named(agent, "--agent"))
        thread = view.thread(ack_id) if ack_id else None
        reply = (check_outgoing if outgoing else check_incoming)(view, said, name, thread)
    if wanted().json:
        emit({"reply": reply.word, "because": reply.because, "agent": name, "ack_id": thread.id if thread else None})
    else:
        out(f"{reply.word} — {line(reply.because, 600)}")


COMMANDS: dict[str, click.Command] = {"reply-check": reply_check}
