"""Fault points: named places where a test lets the process die, to prove that nothing is lost or done twice.

Nothing happens at a point unless the environment names it when the process starts:
`ACKD_FAULT=<point>:<n>` kills the process with SIGKILL when it comes to that point for the n-th time.
"""

from __future__ import annotations

import os
import signal

POINTS = (
    "intake",  # a file was read, nothing is recorded
    "judge",  # a verdict was found, nothing is recorded
    "stage",  # a delivery was staged, the intent is not recorded
    "intent",  # the intent is about to be committed
    "commit",  # entries and intents were just committed
    "rename",  # a staged file was just renamed into place
    "done",  # the deliveries are about to be recorded as done
    "attempt",  # a live send was just recorded, it was not begun
    "send",  # a live send was just begun
    "outcome",  # what became of a live send was found out, nothing is recorded
    "page",  # a page was just written, that is not recorded
    "seal",  # a sealed file was just published
)

_point, _, _count = os.environ.get("ACKD_FAULT", "").partition(":")
_left = int(_count) if _count.isdigit() else 1


def reach(point: str) -> None:
    """Die here if a test asked for it."""
    if point == _point:
        _die_when_due()


def _die_when_due() -> None:
    global _left
    _left -= 1
    if _left == 0:
        os.kill(os.getpid(), signal.SIGKILL)
