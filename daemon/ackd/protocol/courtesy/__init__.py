"""Courtesy: texts that are polite and say nothing, which must wake nobody once a thread has ended.

A text counts as courtesy only when a grammar consumes all of it (requirements T3 and C17). One word that the
lexicon does not know makes it substance, so in doubt a text is delivered.
"""

from __future__ import annotations

from ackd.protocol.courtesy.grammar import is_courtesy
from ackd.protocol.courtesy.quotes import strip_quotes
from ackd.protocol.courtesy.silent import is_silent_token, says_nothing

__all__ = ["is_courtesy", "is_silent_token", "says_nothing", "strip_quotes"]
