"""Git as a program carries the tree between machines: commits, merges and pushes that lose no byte and run no hook."""

from ackd.gitsync.repository import Repository, prepare
from ackd.gitsync.sync import Synced, sync_once

__all__ = ["Repository", "Synced", "prepare", "sync_once"]
