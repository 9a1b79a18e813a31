"""The fold: recorded entries in, one thread out; any order, any number of copies, the same thread (R7).

It only merges what was recorded: no clock, no files, no configuration. Entries are put into their total order first,
so that whoever folds the same set gets the same bytes.
"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec.structs import replace

from ackd.protocol.clock import Stamp
from ackd.protocol.entry import DELIVERED, JUDGED, Entry
from ackd.protocol.merge import EFFECTIVE, Merge
from ackd.protocol.thread import Thread

_STRENGTH = {"duplicate": -1, "held": 1, "refused": 2, "weak": 3}
_UNKNOWN_SENDER = 0
_STRONGEST = 4


def strength(verdict: str, row: str = "") -> int:
    """Give how strong a verdict is: of two admissions of one message the stronger counts.

    What was held may be refused when its request comes; what was refused because nobody knew its author may be held
    once the roster has it.
    """
    if row == "stranger":
        return _UNKNOWN_SENDER
    return _STRENGTH.get(verdict, _STRONGEST)


def fold(thread_id: str, entries: Iterable[Entry]) -> Thread:
    """Merge the entries of one thread.

    Args:
        thread_id: The thread's id; entries of other threads must not be among them.
        entries: In any order, with any number of copies.

    Returns:
        The thread; equal for equal sets of entries.
    """
    return Folding(thread_id, entries).thread


class Folding:
    """A fold that grows: the thread of all entries so far.

    An entry that is later than all others is merged into what is there, also where it says more of a message that was
    held or weak; any other makes the fold begin anew. Either way the thread is the same as that of `fold` over all of
    them.

    Args:
        thread_id: The thread's id.
        entries: Entries to begin with, in any order, with any number of copies.
    """

    def __init__(self, thread_id: str, entries: Iterable[Entry] = ()) -> None:
        self._id = thread_id
        self._entries = {entry.key: entry for entry in entries}
        self._admissions: dict[str, list[Entry]] = {}
        self._merge: Merge | None = None
        self._last: Entry | None = None
        self._thread: Thread | None = None

    @property
    def thread(self) -> Thread:
        """The thread of all entries so far."""
        if self._thread is None:
            if self._merge is None:
                self._begin()
            assert self._merge is not None
            self._thread = self._merge.result()
        return self._thread

    def add(self, entry: Entry) -> None:
        """Merge one more entry."""
        if entry.key in self._entries:
            return
        self._entries[entry.key] = entry
        merge, last, thread = self._merge, self._last, self._thread
        if merge is None:
            self._thread = None
            return
        is_again = entry.kind == JUDGED and entry.body["digest"] in merge.messages
        is_late = last is not None and entry.order <= last.order
        if is_late or (is_again and not self._withdraw(entry, merge)):
            self._merge = self._thread = None
            return
        self._last = entry
        if entry.kind == JUDGED:
            several = self._admissions.setdefault(entry.body["digest"], [])
            several.append(entry)
            merge.add(_united(entry, several) if is_again else entry)
        else:
            merge.add(entry)
        if entry.kind == DELIVERED and thread is not None:
            self._thread = replace(thread, done=dict(merge.done))
        else:
            self._thread = None

    def _withdraw(self, entry: Entry, merge: Merge) -> bool:
        """Take a message back for a later admission; False where anything rests on the one that counted."""
        digest = entry.body["digest"]
        message = merge.messages[digest]
        is_stronger = all(_strength_of(one) < _strength_of(entry) for one in self._admissions[digest])
        if not is_stronger or message.verdict in EFFECTIVE or message.revised_by:
            return False
        merge.withdraw(message)
        return True

    def _begin(self) -> None:
        self._admissions = {}
        for entry in sorted(self._entries.values(), key=_order_of):
            if entry.kind == JUDGED:
                self._admissions.setdefault(entry.body["digest"], []).append(entry)
        self._merge = Merge(self._id)
        ordered = _in_order(self._entries.values())
        for entry in ordered:
            self._merge.add(entry)
        self._last = max(self._entries.values(), key=_order_of, default=None)


def _order_of(entry: Entry) -> tuple[Stamp, str, str, int]:
    return entry.order


def _in_order(entries: Iterable[Entry]) -> list[Entry]:
    """Give the entries, in the total order; of several admissions of one message only the one that counts."""
    unique = sorted(entries, key=_order_of)
    if sum(entry.kind == JUDGED for entry in unique) < 2:
        return unique
    admissions: dict[str, list[Entry]] = {}
    for entry in unique:
        if entry.kind == JUDGED:
            admissions.setdefault(entry.body["digest"], []).append(entry)
    counts = {digest: max(several, key=_strength_of) for digest, several in admissions.items()}
    kept = []
    for entry in unique:
        if entry.kind == JUDGED:
            several = admissions[entry.body["digest"]]
            if counts[entry.body["digest"]] is not entry:
                continue
            if len(several) > 1:
                entry = _united(entry, several)
        kept.append(entry)
    return kept


def _strength_of(entry: Entry) -> int:
    return strength(entry.body["verdict"], entry.body["row"])


def _united(entry: Entry, several: list[Entry]) -> Entry:
    """Give the admission that counts with everybody whom any admission told: nobody who was asked is un-asked."""
    told = {(agent, kind): None for one in several for agent, kind in one.body["told"]}
    notes = {note: None for one in several for note in one.body.get("notes", ())}
    again = (one for one in several if one is not entry and one.body["verdict"] == "duplicate")
    notes.update({one.body["because"]: None for one in again if one.body.get("because")})
    return replace(entry, body={**entry.body, "told": [list(pair) for pair in told], "notes": list(notes)})
