"""What somebody probably meant who wrote a name or an ack_id that nobody knows."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from typing import TYPE_CHECKING

from ackd.errors import InvalidError
from ackd.protocol.ids import clean_ack_id, name_key, shown

if TYPE_CHECKING:
    from ackd.engine.reading import View

_NEAR, _NEAR_IF_SHORT = 0.6, 0.5
_SHORT = 3
_MOST_THREADS = 2000
_MOST_NEAR = 5


def nearest(written: str, known: Iterable[str], most: int = 1) -> list[str]:
    """Give the known names that are most like a written one; case, accents and the kind of separator do not count.

    Args:
        written: What somebody wrote, of any length.
        known: Names or ids.
        most: How many are given.
    """
    import difflib

    forms: dict[str, str] = {}
    for name in known:
        forms.setdefault(_form(name), name)
    form = _form(written[:200])
    # One wrong character in a name of two, as Chinese names have, leaves half of it.
    cutoff = _NEAR_IF_SHORT if len(form) <= _SHORT and not form.isascii() else _NEAR
    return [forms[one] for one in difflib.get_close_matches(form, forms, n=most, cutoff=cutoff)]


def nearest_thread(view: View, written: str, speaker: str = "") -> str:
    """Give the thread that was probably meant: an open one, best one of the speaker's own, else an ended one.

    Args:
        view: The tree.
        written: The ack_id as written.
        speaker: Who speaks, in the roster's spelling, where that is known.

    Returns:
        Its id, or an empty string where none is near.
    """
    boards = [board for board in view.threads() if board["state"] is not None]
    live = [board["id"] for board in boards if not board["ended_by"]]
    near = nearest(written, live[-_MOST_THREADS:], _MOST_NEAR)
    for one in near if speaker else ():
        thread = view.book.thread(one)
        if speaker == thread.requester or speaker in thread.duties:
            return one
    if not near:
        ended = [board["id"] for board in boards if board["ended_by"]]
        near = nearest(written, ended[-_MOST_THREADS:])
    return near[0] if near else ""


def unknown_thread(view: View, written: str, speaker: str = "") -> str:
    """Say that nobody knows a thread, and which one was probably meant."""
    near = nearest_thread(view, written, speaker)
    return f"no thread {_plain(written)} is known" + (f"; did you mean {near}?" if near else "")


def unknown_member(written: str, known: Iterable[str]) -> str:
    """Say what to type where a name is not on the roster: the one that was probably meant, or how to add it."""
    near = nearest(written, known, 2)
    add = f"ackd agents add {written}"
    return f"did you mean {' or '.join(near)}? Somebody new: {add}" if near else add


def _plain(written: str) -> str:
    """Give an ack_id as it is; what cannot be one in quotes, escaped."""
    try:
        return clean_ack_id(written)
    except InvalidError:
        return shown(written)


def _form(written: str) -> str:
    """Give the form in which names are likened."""
    plain = unicodedata.normalize("NFKD", name_key(written))
    letters = (one for one in plain if not unicodedata.combining(one))
    return "".join("-" if one in "._- " else one for one in letters)
