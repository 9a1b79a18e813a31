"""What somebody who owes something types: commands that are right when they are pasted, but for the words in quotes."""

from __future__ import annotations

import os
import shlex
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ackd.engine.answers import reference
from ackd.errors import InvalidError
from ackd.protocol.ids import clean_ack_id, name_key
from ackd.protocol.thread import Message, Thread

if TYPE_CHECKING:
    from ackd.engine.reading import View

STEPS = {
    "confirm": ('confirm {thread} "…"',),
    "final": ('final {thread} "…"',),
    "answer": ('answer {thread} "…"',),
    "accept": ('confirm {thread} "…"',),
    "rule": (
        'ruling {thread} dri AGENT "…"',
        'ruling {thread} extend 2h "…"',
        'ruling {thread} cancel "…"',
        'ruling {thread} close "…"',
    ),
}
"""The ways to pay each step that can be owed; the words in quotes are the author's own."""

OTHERWISE = {
    "confirm": ('clarify {thread} "…"', 'decline {thread} "…"'),
    "accept": ('decline {thread} "…"',),
}
"""What may be said in place of a step."""

_HANDED = frozenset({"confirm", "accept"})


def next_steps(view: View, agent: str, thread: str, asks: Sequence[str]) -> list[str]:
    """Give the commands that pay what an agent owes in a thread, in the order in which it is asked.

    A command names its speaker where `ACKD_AGENT` is not that agent, and the message that it speaks to where an agent
    that has a part of its own is asked to take over another's: the two confirms are not the same.
    """
    return _commands(view, agent, thread, [(ask, form) for ask in asks for form in STEPS.get(ask, ())])


def other_steps(view: View, agent: str, thread: str, asks: Sequence[str]) -> list[str]:
    """Give the commands for an agent that will not or cannot pay yet: a question, a decline."""
    return _commands(view, agent, thread, [(ask, form) for ask in asks for form in OTHERWISE.get(ask, ())])


def _commands(view: View, agent: str, thread: str, forms: Sequence[tuple[str, str]]) -> list[str]:
    try:
        clean_ack_id(thread)
    except InvalidError:
        return []  # Nobody pastes what a file that only looks like a delivery says.
    known = view.book.find(thread) if any(ask in _HANDED for ask, _ in forms) else None
    by = "" if name_key(os.environ.get("ACKD_AGENT", "").removeprefix("@")) == name_key(agent) else f" --from {agent}"
    commands = (f"ackd {form.format(thread=thread)}{_speaks_to(known, agent, ask, form)}{by}" for ask, form in forms)
    return list(dict.fromkeys(commands))


def _speaks_to(thread: Thread | None, agent: str, ask: str, form: str) -> str:
    """Give the option that says which message is answered, where the command alone would not tell."""
    if thread is None or ask not in _HANDED or form.startswith("clarify"):
        return ""
    handoff = next((one for one in reversed(thread.handoffs) if one.target == agent and one.outcome == "pending"), None)
    spoken: Message | None = None
    if ask == "accept" and handoff is not None:
        spoken = thread.message(handoff.digest)
    elif ask == "confirm" and handoff is not None:
        spoken = thread.text_in_force(thread.request)
    to = reference(spoken)
    return f" --in-reply-to {shlex.quote(to)}" if to else ""
