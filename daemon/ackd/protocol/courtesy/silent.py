"""An agent's own silent token (`NO_REPLY` and its kin) in the forms that models really write."""

from __future__ import annotations

import functools
import re
import unicodedata
from collections.abc import Collection

from ackd.protocol.courtesy import symbols
from ackd.protocol.courtesy.grammar import MAX_LENGTH, is_courtesy
from ackd.protocol.courtesy.quotes import strip_quotes

SILENT_TOKENS = ("NO_REPLY", "REPLY_SKIP", "ANNOUNCE_SKIP", "HEARTBEAT_OK")
"""What agents are taught to write when they have nothing to say; the last three are OpenClaw's."""

_JSON_SHELL = re.compile(
    r"\{\s*[\"'](?:reply|text|content|message|response|answer|output|action)[\"']\s*:\s*[\"']([^\"'{}]{1,200})[\"']\s*,?\s*\}",
    re.IGNORECASE,
)
_FENCE = re.compile(r"(?:```|~~~)[a-z]{0,12}\s*\n([^`~]{1,400}?)\s*(?:```|~~~)", re.IGNORECASE)
_ELEMENT = re.compile(r"<(reply|final|answer|output|response|message)>([^<>]{1,400})</\1>", re.IGNORECASE)
_ANGLES = re.compile(r"<\s*([^<>]{1,200}?)\s*/?>")
_LABEL = re.compile(r"(?:reply|answer|response|output|回复|答复|输出)\s*:\s*", re.IGNORECASE)
_INVISIBLE = dict.fromkeys(map(ord, symbols.INVISIBLE))
_HUSH = dict.fromkeys(map(ord, "🤐🤫🔇🔕"))

# Without brackets these may be a report ("静默" of an alarm) or an order to another.
_IN_BRACKETS = (
    r"[(\[【《「『〔<]\s*(?:静默|静默处理|保持静默|保持沉默|沉默|不回复|不予回复|不作回复|无需回复|"
    r"(?i:silent|silence|stays? silent|staying silent|no reply needed))\s*[)\]】》」』〕>]"
)

# Each says only why the agent is silent. "the task is done" is news and so not among them.
_WHY = re.compile(
    r"(?:(?:because|since|as) )?(?:"
    r"(?:the|this) (?:thread|conversation|discussion|topic)(?:'s| is| has| has been| was)? (?:already )?"
    r"(?:ended|closed|over|finished)|"
    r"(?:there is |there's |i have )?nothing (?:more |further |else |new )?to (?:add|say)|"
    r"no (?:further |more )?(?:reply|response|answer) (?:is )?(?:needed|required|necessary)|"
    r"(?:this|that|it|the message|the last message)(?: is| was|'s) (?:just |only |purely )?"
    r"(?:courtesy|thanks|an acknowledgement|an acknowledgment)|"
    r"(?:just |only |pure |mere )?courtesy(?: only)?|"
    r"(?:this|it|the message) (?:is|was) not (?:for|addressed to|meant for) me|not (?:for|addressed to) me|"
    r"(?:i am |i'm |i will )?(?:stay|staying|remain|remaining) silent"
    r")|"
    r"(?:因为|由于)?(?:"
    r"(?:本|该|此|这个)?(?:线程|话题|对话|讨论|会话)(?:已经|已)(?:结束|关闭|闭环)了?|"
    r"(?:无需|不需要|不用|无须|不必)再?(?:回复|回应|答复)|"
    r"(?:没有|无|暂无)(?:新|其他|更多)?(?:内容|补充|信息)(?:需要|可|要)?(?:补充|回复|添加)?|"
    r"(?:对方|这条|此条|此消息|该消息|这)?(?:只是|仅为|仅是|纯属|纯)(?:礼貌|客套|致谢|感谢)(?:用语|回复|消息|性回复)?|"
    r"不是(?:发给|给|叫|问)我的?|保持(?:静默|沉默)"
    r")",
    re.IGNORECASE,
)
_BETWEEN = re.compile(r"\s*(?:[\n,.;:!。、…—–()\[\]*_`]|(?<=\s)-+(?=\s))\s*")


def is_silent_token(text: str, token: str | None = None) -> bool:
    """Whether an agent's text is its silent token, and beside it courtesy or the reason for its silence at most.

    Case, `_`, `-` or nothing between the words, Markdown, code fences, quotes, brackets and `{"reply": "NO_REPLY"}` do
    not matter, and a word such as `[静默]` or `(silent)` in brackets counts. With a blank between its words
    ("NO REPLY") the token must stand in its own case, since "No reply." is a report.

    Args:
        text: What the agent is about to post.
        token: The team's silent token; all of `SILENT_TOKENS` where none is named.

    Returns:
        True only where nothing else is said: "NO_REPLY because the thread has ended" is silent, "NO_REPLY, but the
        price is wrong" is not.
    """
    own = strip_quotes(text)
    tokens = SILENT_TOKENS if token is None else (token,)
    words = tuple(_words(one) for one in tokens)
    if not all(words) or len(own) > MAX_LENGTH:
        return False
    own = unicodedata.normalize("NFKC", own).translate(_INVISIBLE).strip()
    rest, count = _pattern(words, token is None).subn(" ", _unwrapped(own))
    rest = rest.translate(_HUSH)
    return count > 0 and (is_courtesy(rest) or _only_says_why(rest))


def says_nothing(text: str, *, names: Collection[str] = ()) -> bool:
    """Whether a text that somebody posted is courtesy, or the silent token that it meant to keep to itself.

    Args:
        text: What was said.
        names: The roster, as for `is_courtesy`.
    """
    return is_courtesy(text, names=names) or is_silent_token(text)


def _unwrapped(own: str) -> str:
    """Take off a code fence, then one shell of JSON, an element or angle brackets, then a label such as `Reply:`."""
    if fence := _FENCE.fullmatch(own):
        own = fence.group(1).strip()
    if shell := _JSON_SHELL.fullmatch(own) or _ANGLES.fullmatch(own):
        own = shell.group(1).strip()
    elif element := _ELEMENT.fullmatch(own):
        own = element.group(2).strip()
    label = _LABEL.match(own)
    return own[label.end() :] if label else own


def _only_says_why(rest: str) -> bool:
    """Whether what stands beside the token gives a reason for silence and, clause by clause, nothing else."""
    clauses = [clause.strip() for clause in _BETWEEN.split(rest.replace("’", "'"))]
    others = [clause for clause in clauses if clause and not _WHY.fullmatch(clause)]
    return all(is_courtesy(clause) for clause in others)


def _words(token: str) -> tuple[str, ...]:
    return tuple(word for word in re.split(r"[\s_-]+", unicodedata.normalize("NFKC", token)) if word)


@functools.lru_cache(maxsize=16)
def _pattern(tokens: tuple[tuple[str, ...], ...], in_brackets: bool) -> re.Pattern[str]:
    either = []
    for words in tokens:
        escaped = [re.escape(word) for word in words]
        joined = r"\\?[_-]{0,2}".join(escaped)
        either.append(rf"(?i:{joined})|" + r"\s+".join(escaped))
    bracketed = f"|{_IN_BRACKETS}" if in_brackets else ""
    return re.compile(rf"(?<![^\W_])(?:{'|'.join(either)})(?![^\W_]){bracketed}")
