"""Learning what changed in the tree: hints that come fast and may be lost, and a scan that is the truth."""
