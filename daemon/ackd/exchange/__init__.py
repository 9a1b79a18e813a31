"""The exchange of ledger entries between nodes; today through sealed files in the tree."""

from ackd.exchange.port import Exchange, Sealed
from ackd.exchange.sealed import SealedFiles

__all__ = ["Exchange", "Sealed", "SealedFiles"]
