"""Routing: which of the threads of one ack_id a message belongs to (C19; DESIGN part 5, below the table)."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from ackd.protocol.envelope import Envelope
from ackd.protocol.ids import name_key, split_suffix
from ackd.protocol.thread import Thread


class Route(msgspec.Struct, frozen=True, kw_only=True):
    """Where a message belongs.

    Attributes:
        thread: Id of the thread.
        candidates: Ids that could be meant, where nothing tells them apart; empty otherwise.
        suffix: What a request's thread id gets where another requester has the ack_id; empty otherwise.
    """

    thread: str
    candidates: tuple[str, ...] = ()
    suffix: str = ""


def route(envelope: Envelope, sender: str, threads: Sequence[Thread]) -> Route:
    """Find the thread of a message.

    Args:
        envelope: The message.
        sender: Its author in the roster's spelling.
        threads: All threads of the bare ack_id that are known, in the order of their ids.
    """
    bare, suffix = split_suffix(envelope.ack_id)
    if not threads:
        return Route(thread=envelope.ack_id if suffix else bare)
    if suffix:
        named = next((one for one in threads if name_key(one.id) == name_key(envelope.ack_id)), None)
        return Route(thread=named.id if named is not None else envelope.ack_id)
    if envelope.type in ("request", "broadcast"):
        return _route_request(envelope, sender, threads)
    spoken_to = envelope.text_of("in_reply_to") or envelope.text_of("supersedes")
    answered = next((one for one in threads if one.named(spoken_to) is not None), None)
    if answered is not None:
        return Route(thread=answered.id)
    live = [one for one in threads if one.request] or list(threads)
    if len(live) == 1:
        return Route(thread=live[0].id)
    own = [one for one in live if _has_role(one, sender)]
    if len(own) == 1:
        return Route(thread=own[0].id)
    return Route(thread=live[0].id, candidates=tuple(one.id for one in own or live))


def _route_request(envelope: Envelope, sender: str, threads: Sequence[Thread]) -> Route:
    own = next((one for one in threads if one.requester == sender), None)
    if own is not None:
        return Route(thread=own.id)
    free = next((one for one in threads if not one.request), None)
    if free is not None:
        return Route(thread=free.id)
    return Route(thread=threads[0].id, suffix="~" + envelope.digest[:4])


def _has_role(thread: Thread, sender: str) -> bool:
    handed = any(handoff.target == sender for handoff in thread.handoffs)
    return handed or sender in (thread.requester, thread.dri) or sender in thread.duties
