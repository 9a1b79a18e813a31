"""Ready-made answers: for each thing that is asked, a message filled in but for the words, and where to drop it."""

from __future__ import annotations

from typing import Any

from ackd.protocol.obligations import Deliver
from ackd.protocol.thread import Message, Thread
from ackd.tree.layout import ROUNDTABLE, free_path

_MOST_REFERENCE = 200
_STATES = frozenset({"confirmed", "final"})


def answers(deliver: Deliver, thread: Thread, message: Message | None) -> list[dict[str, Any]]:
    """Give the ways to answer a delivery, the one that is asked first.

    Args:
        deliver: What is handed over.
        thread: The thread.
        message: The message that the delivery is about; for a request or reminder the request's text in force.

    Returns:
        Objects with `for`, `means`, `drop_at` and `skeleton`; none where nothing is asked and nothing can be chosen.
    """
    form = _Form(thread, deliver.agent)
    to = reference(message)
    given: list[dict[str, Any]] = []
    if "confirm" in deliver.asks:
        given.append(
            form.answer(
                "confirm",
                "You take it on. Say what you know already, or leave both texts empty to confirm and no more.",
                "confirmed",
                in_reply_to=to,
                version="",
                conclusion="",
            )
        )
    # A reminder takes the place of the request's file: what the DRI could do with that one it can do with this.
    if "final" in deliver.asks or (deliver.kind == "reminder" and deliver.agent == thread.dri):
        given.append(form.final())
    if "answer" in deliver.asks:
        given.append(form.answer("answer", "You answer the question.", "answer", in_reply_to=to, body=""))
    if "accept" in deliver.asks:
        given.append(
            form.answer("accept", "You take the duty over.", "confirmed", in_reply_to=to, version="", conclusion="")
        )
    if "confirm" in deliver.asks:
        given.append(form.answer("clarify", "You must know something first.", "clarify", in_reply_to=to, question=""))
    if "confirm" in deliver.asks or "accept" in deliver.asks:
        given.append(form.answer("decline", "You cannot do it.", "decline", in_reply_to=to, reason=""))
    if "rule" in deliver.asks:
        given += form.rulings()
    return given


def cancelled_answers(thread: Thread, agent: str) -> list[dict[str, Any]]:
    """Give what the DRI may still say while a cancel waits for it."""
    form = _Form(thread, agent)
    by = thread.cancelling.key if thread.cancelling is not None else ""
    cancel = next((message for message in thread.messages if message.key == by), None)
    agree = form.answer(
        "confirm", "You agree: the thread ends as cancelled at once.", "confirmed", in_reply_to=reference(cancel)
    )
    return [form.final("The work is done all the same: this ends the thread with your own status."), agree]


def withdrawal(thread: Thread, agent: str) -> list[dict[str, Any]]:
    """Give the requester's way to take a request back."""
    return [_Form(thread, agent).answer("cancel", "It does not stand any more.", "cancel", reason="")]


def replacement(thread: Thread, agent: str, message: Message) -> list[dict[str, Any]]:
    """Give the DRI's way to let a second final of its own replace the one in force."""
    in_force = thread.text_in_force(thread.final)
    words = {key: message.content[key] for key in ("status", "conclusion", "body", "data") if key in message.content}
    form = _Form(thread, agent)
    return [
        form.answer(
            "amend", "The second final replaces the first.", "amend", supersedes=reference(in_force), reason="", **words
        )
    ]


def reference(message: Message | None) -> str:
    """Give what stands in `in_reply_to` for a message: its identity, or its digest where that could not be copied."""
    if message is None:
        return ""
    identity = message.identity
    return identity if identity.isprintable() and len(identity) <= _MOST_REFERENCE else message.digest


class _Form:
    """Fills in skeletons for one agent in one thread."""

    def __init__(self, thread: Thread, agent: str) -> None:
        self.thread, self.agent = thread, agent
        self.folder = thread.folder or f"{ROUNDTABLE}/{thread.id}"
        self.taken = {message.path for message in thread.messages if message.sender == agent}

    def answer(self, for_: str, means: str, type_: str, **words: Any) -> dict[str, Any]:
        key = "state" if type_ in _STATES else "type"
        skeleton = {key: type_, "ack_id": self.thread.id, "from": self.agent, **words}
        if not skeleton.get("in_reply_to", "-"):
            del skeleton["in_reply_to"]
        return {
            "for": for_,
            "means": means,
            "drop_at": free_path(self.folder, type_, self.agent, self.taken),
            "skeleton": skeleton,
        }

    def final(
        self, means: str = "The work is done. `status`: success, partial_success, failed, rejected or cancelled."
    ) -> dict[str, Any]:
        return self.answer("final", means, "final", status="success", conclusion="", body="")

    def rulings(self) -> list[dict[str, Any]]:
        given = [
            self.answer(
                "rule", "Another agent becomes the DRI and writes the final.", "ruling", ruling="dri", dri="", reason=""
            ),
            self.answer("rule", "There is more time.", "ruling", ruling="extend", deadline="", reason=""),
            self.answer("rule", "It is no longer wanted.", "ruling", ruling="cancel", reason=""),
            self.answer("rule", "It ends without a result.", "ruling", ruling="close", reason=""),
        ]
        finals = [self.thread.message(digest) for digest in self.thread.finals]
        given += [
            self.answer(
                "rule", f"The final that {final.sender} wrote holds.", "ruling", ruling="pick", pick=reference(final)
            )
            for final in finals[:10]
            if final is not None
        ]
        return given
