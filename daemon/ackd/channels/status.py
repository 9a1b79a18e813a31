"""What a word like "timeout" or "accepted" in a tool's answer says about a send (T12, T29).

Such a word never says that work was done or accepted. Only an explicit error means that nothing arrived; what leaves
it open is ambiguous.
"""

from __future__ import annotations

from typing import Any

import msgspec

from ackd.channels.port import Outcome

_WORDS = {
    **dict.fromkeys(("error", "failed"), Outcome.NOT_SENT),
    **dict.fromkeys(("refused", "rejected", "denied"), Outcome.REFUSED),
    **dict.fromkeys(("busy", "rate_limited", "rate-limited"), Outcome.BUSY),
    **dict.fromkeys(("ok", "accepted", "delivered", "sent", "done", "success"), Outcome.DELIVERED),
}
_MOST_DETAIL = 200


def outcome_of_status(word: str) -> Outcome:
    """Give the outcome that a status word stands for; an unknown one leaves it open."""
    return _WORDS.get(word.strip().lower(), Outcome.AMBIGUOUS)


def status_in(output: bytes) -> str | None:
    """Give the `status` of a JSON object that is a tool's whole output or its last line, or None."""
    text = output.strip()
    for part in (text, text.rpartition(b"\n")[2].strip()):
        if not part.startswith(b"{"):
            continue
        try:
            document: Any = msgspec.json.decode(part)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            continue
        if isinstance(document, dict) and isinstance(document.get("status"), str):
            return str(document["status"])
    return None


def one_line(text: str) -> str:
    """Make one line of a text from outside: what steers a terminal escaped, cut at 200 characters."""
    plain = " ".join(text.split())
    shown = "".join(one if one.isprintable() else f"\\u{ord(one):04x}" for one in plain[:_MOST_DETAIL])
    return shown[:_MOST_DETAIL]
