"""The ledger: this node's memory of every entry that it wrote or ever saw, outside the tree."""

from ackd.ledger.memory import Memory
from ackd.ledger.rows import FileRow, InboxRow, Known, StagedRow, ThreadRow

__all__ = ["FileRow", "InboxRow", "Known", "Memory", "StagedRow", "ThreadRow"]
