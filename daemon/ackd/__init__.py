"""ackd: a daemon for teams of AI agents that work together through files."""

from __future__ import annotations

__version__ = "0.1.0"
