"""An agent's own silent token (`NO_REPLY`) in the forms that models really write."""

from __future__ import annotations

import functools
import re
import unicodedata
from collections.abc import Collection

from ackd.protocol.courtesy import symbols
from ackd.protocol.courtesy.grammar import MAX_LENGTH, is_courtesy
from ackd.protocol.courtesy.quotes import strip_quotes

_JSON_SHELL = re.compile(
    r"\{\s*[\"'](?:reply|text|content|message|response|answer|output|action)[\"']\s*:\s*[\"']([^\"'{}]{1,200})[\"']\s*,?\s*\}",
    re.IGNORECASE,
)
_INVISIBLE = dict.fromkeys(map(ord, symbols.INVISIBLE))
_ANGLES = re.compile(r"<\s*([^<>]{1,200}?)\s*/?>")


def is_silent_token(text: str, token: str = "NO_REPLY") -> bool:
    """Whether an agent's text is its silent token, and beside it courtesy at most.

    Case, `_`, `-` or nothing between the words, Markdown, quotes, brackets and `{"reply": "NO_REPLY"}` do not matter.
    With a blank between its words ("NO REPLY") the token must stand in its own case, since "No reply." is a report.

    Args:
        text: What the agent is about to post.
        token: The team's silent token.

    Returns:
        True only where the whole text is the token (once or more) and courtesy; "NO_REPLY because …" is False.
    """
    own = strip_quotes(text)
    words = [word for word in re.split(r"[\s_-]+", unicodedata.normalize("NFKC", token)) if word]
    if not words or len(own) > MAX_LENGTH:
        return False
    own = unicodedata.normalize("NFKC", own).translate(_INVISIBLE).strip()
    shell = _JSON_SHELL.fullmatch(own) or _ANGLES.fullmatch(own)
    rest, count = _pattern(tuple(words)).subn(" ", shell.group(1) if shell else own)
    return count > 0 and is_courtesy(rest)


def says_nothing(text: str, *, names: Collection[str] = ()) -> bool:
    """Whether a text that somebody posted is courtesy, or the silent token that it meant to keep to itself.

    Args:
        text: What was said.
        names: The roster, as for `is_courtesy`.
    """
    return is_courtesy(text, names=names) or is_silent_token(text)


@functools.lru_cache(maxsize=16)
def _pattern(words: tuple[str, ...]) -> re.Pattern[str]:
    escaped = [re.escape(word) for word in words]
    joined = r"\\?[_-]{0,2}".join(escaped)
    spaced = r"\s+".join(escaped)
    return re.compile(rf"(?<![^\W_])(?:(?i:{joined})|{spaced})(?![^\W_])")
