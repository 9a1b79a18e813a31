"""What users test with: a clock that is set by hand, and conversations without files, processes or waiting."""

from __future__ import annotations

from ackd.testing.clock import ManualClock
from ackd.testing.conversation import Conversation, Delivery, told

__all__ = ["Conversation", "Delivery", "ManualClock", "told"]
