"""Whether a chat text deserves a reply: before an agent wakes for it, and before it posts one (T3, T9, C17)."""

from __future__ import annotations

import unicodedata
from pathlib import Path

import msgspec

from ackd.engine.reading import View, find_tree
from ackd.errors import InvalidError
from ackd.intake.decode import Whole, decode
from ackd.protocol.conditions import who_owes
from ackd.protocol.courtesy import is_courtesy, is_silent_token, says_nothing, strip_quotes
from ackd.protocol.envelope import TEXT_KEYS, Envelope, read_envelope
from ackd.protocol.ids import name_key
from ackd.protocol.policy import Roster
from ackd.protocol.thread import Thread

NO_REPLY = "NO_REPLY"
REPLY = "REPLY"

_EVERYBODY = ("all", "everyone", "所有人", "全体", "全体成员", "大家")
_SHORTEST_REPLAY = 8
_COMMANDS = {"confirm": "confirm", "final": "final", "answer": "answer", "accept": "confirm", "rule": "ruling"}


class Reply(msgspec.Struct, frozen=True):
    """The answer: `NO_REPLY` or `REPLY`, and why in one sentence."""

    word: str
    because: str


def reply_check(
    directory: Path | str | None, agent: str, text: str, ack_id: str = "", *, outgoing: bool = False
) -> Reply:
    """Tell whether a chat text deserves a reply, as `ackd reply-check` does; nothing is written.

    Args:
        directory: The tree or its parent; None: `ACKD_DIR`, else the nearest `shared-context/` upwards.
        agent: For whom the text arrived, or who is about to post it; any spelling of a roster name, `@` before it too.
        text: The text, or the JSON of an envelope.
        ack_id: The thread in which it was said, where that is known.
        outgoing: The text is what the agent is about to post.

    Returns:
        `REPLY` or `NO_REPLY`, and why; in doubt `REPLY`.

    Raises:
        NoTreeError: There is no tree.
        InvalidError: The agent is not on the roster, no thread has that ack_id, or `team.yaml` cannot be used.
    """
    with View(find_tree(None if directory is None else str(directory))) as view:
        name = view.member(agent)
        thread = view.thread(ack_id) if ack_id else None
        return (check_outgoing if outgoing else check_incoming)(view, text, name, thread)


def check_incoming(view: View, text: str, agent: str, thread: Thread | None) -> Reply:
    """Tell whether a text that arrived for an agent deserves a reply.

    Args:
        view: The tree.
        text: The text as it arrived; the JSON of an envelope too.
        agent: For whom it arrived, in the roster's spelling.
        thread: The thread in which it was said, where that is known.
    """
    envelope = _envelope(text)
    if envelope is not None:
        return _check_envelope(view, envelope, agent)
    own = strip_quotes(text)
    if not own.strip():
        return Reply(NO_REPLY, "it only quotes what was said before" if text.strip() else "it is empty")
    roster = view.team.policy.roster
    others = _addresses_others(own, agent, roster)
    if others:
        return Reply(NO_REPLY, f"it is addressed to {others}, not to {agent}")
    if says_nothing(text, names=_names(roster)):
        return _check_courtesy(agent, thread)
    if thread is not None and _is_replay(own, thread) and not _owes(thread, agent):
        return Reply(NO_REPLY, f"thread {thread.id} has these words already, and {agent} owes nothing there")
    return _substance(agent, thread)


def check_outgoing(view: View, text: str, agent: str, thread: Thread | None) -> Reply:
    """Tell whether what an agent is about to post should be posted. Arguments as in `check_incoming`."""
    owed = [] if thread is None else _owes(thread, agent)
    owes = f"; {agent} still owes: {_how(thread, owed)}" if owed else ""
    if is_silent_token(text):
        return Reply(NO_REPLY, f"it is the agent's own silent token{owes}")
    own = strip_quotes(text)
    if not own.strip():
        return Reply(NO_REPLY, "it only quotes what was said before" if text.strip() else "it is empty")
    if is_courtesy(text, names=_names(view.team.policy.roster)):
        if thread is not None and {"answer", "accept"} & set(owed):
            return Reply(REPLY, f"in thread {thread.id} it answers what {agent} was asked; {_how(thread, owed)}")
        return Reply(NO_REPLY, f"it is courtesy from end to end{owes}")
    return _substance(agent, thread)


def _substance(agent: str, thread: Thread | None) -> Reply:
    if thread is not None and thread.ended:
        return Reply(
            REPLY,
            f"reply only if it needs one: thread {thread.id} has ended, no answer is owed; new work needs a new ack_id",
        )
    owed = [] if thread is None else _owes(thread, agent)
    more = f"; {agent} owes: {_how(thread, owed)}" if thread is not None and owed else ""
    return Reply(REPLY, f"it has substance{more}")


def _check_courtesy(agent: str, thread: Thread | None) -> Reply:
    """Courtesy is an answer where somebody waits for a yes (C17)."""
    if thread is not None and not thread.ended:
        asked = any(question.asker == agent for question in thread.open_questions)
        if asked:
            return Reply(REPLY, f"{agent} has an open question in thread {thread.id}: this may be the answer")
        if any(handoff.owner == agent and handoff.outcome == "pending" for handoff in thread.handoffs):
            return Reply(REPLY, f"{agent} has a handoff pending in thread {thread.id}: this may be the yes to it")
    return Reply(NO_REPLY, "it is courtesy from end to end")


def _check_envelope(view: View, envelope: Envelope, agent: str) -> Reply:
    """An envelope in a chat: what is known already is a replay, unless it is what the agent still owes an answer to."""
    policy, book = view.team.policy, view.book
    known = book.known(envelope.digest)
    thread = book.thread(known.thread) if known is not None else book.find(envelope.ack_id)
    if known is not None and thread is not None:
        asks = envelope.type in ("request", "clarify", "handoff")
        owed = _owes(thread, agent) if asks else []
        if not owed:
            return Reply(NO_REPLY, f"it is a replay: {known.path} says the same, and {agent} owes nothing for it")
        return Reply(REPLY, f"thread {thread.id} has it already, and {agent} owes: {_how(thread, owed)}")
    expanded = policy.roster.expand(envelope.to)
    if envelope.to and agent not in expanded.members:
        return Reply(NO_REPLY, f"it is addressed to {', '.join(envelope.to[:5])}, not to {agent}")
    only_words = envelope.type in ("supplement", "progress", "answer") and not envelope.has_more_than_words
    if only_words and says_nothing(envelope.words, names=_names(policy.roster)):
        return _check_courtesy(agent, thread)
    return _substance(agent, thread)


def _envelope(text: str) -> Envelope | None:
    """Read a text that is the JSON of an envelope, or give None."""
    if not text.lstrip().startswith("{"):
        return None
    decoded = decode(text.strip().encode("utf-8", "replace"))
    if not isinstance(decoded, Whole):
        return None
    try:
        return read_envelope(decoded.value)
    except InvalidError:
        return None


def _owes(thread: Thread, agent: str) -> list[str]:
    return [one.step for one in who_owes(thread) if one.agent == agent]


def _how(thread: Thread | None, owed: list[str]) -> str:
    ack_id = thread.id if thread is not None else ""
    return ", ".join(dict.fromkeys(f"ackd {_COMMANDS[step]} {ack_id}" for step in owed))


def _is_replay(own: str, thread: Thread) -> bool:
    """Tell whether a message of the thread says just this; very short texts mean something new each time."""
    words = _plain(own)
    if len(words) < _SHORTEST_REPLAY:
        return False
    texts = (message.content.get(key) for message in thread.messages for key in TEXT_KEYS)
    return any(isinstance(text, str) and _plain(text) == words for text in texts)


def _plain(text: str) -> str:
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


def _names(roster: Roster) -> list[str]:
    return [member.name for member in roster.members.values()]


def _addresses_others(text: str, agent: str, roster: Roster) -> str:
    """Give the names that a text mentions with `@`, where the agent is certainly not among them; else nothing."""
    words: dict[str, tuple[str, ...]] = {name_key(member.name): (member.name,) for member in roster.members.values()}
    words |= {key: members for key, members in roster.groups.items() if key not in words}
    words |= {name_key(word): tuple(_names(roster)) for word in _EVERYBODY if name_key(word) not in words}
    certain, possible = mentions(text, words)
    reached = {name for word in (*certain, *possible) for name in words[word]}
    if not certain or agent in reached:
        return ""
    return ", ".join(dict.fromkeys(name for word in certain for name in words[word]))


def mentions(text: str, words: dict[str, tuple[str, ...]]) -> tuple[list[str], list[str]]:
    """Find whom a text mentions with `@` or the full-width `＠`.

    The longest known word wins. An address (`desk@trading.com`), one behind a backslash and a longer unknown name
    (`@tradingbot`) are no mention; a Chinese name that runs on into Chinese text is a possible one.

    Args:
        text: Any text.
        words: Known names in their compared form.

    Returns:
        The words that are certainly mentioned, and those that may be.
    """
    visible = "".join(one for one in text if unicodedata.category(one) != "Cf")
    folded = name_key(visible.replace("＠", "@"))
    longest = sorted(words, key=len, reverse=True)
    certain: list[str] = []
    possible: list[str] = []
    end = 0
    at = folded.find("@")
    while at >= 0:
        before = folded[at - 1] if at else " "
        starts = at == end or not (before.isascii() and (before.isalnum() or before in "._-\\"))
        word = next((one for one in longest if folded.startswith(one, at + 1)), "") if starts or not at else ""
        if word:
            after = folded[at + 1 + len(word) : at + 3 + len(word)]
            if not _runs_on(word, after):
                certain.append(word)
                end = at + 1 + len(word)
            elif not word[-1].isascii():
                possible.append(word)
        at = folded.find("@", at + 1)
    return certain, possible


def _runs_on(word: str, after: str) -> bool:
    """Tell whether what follows a name belongs to a longer one."""
    if not after or not (after[0].isalnum() or after[0] in "._-"):
        return False
    if after[0] in "._-":
        return len(after) > 1 and after[1].isascii() and after[1].isalnum()
    return word[-1].isascii() == after[0].isascii()
