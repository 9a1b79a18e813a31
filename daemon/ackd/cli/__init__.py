"""The command line (floor 7): one module a topic, loaded only when it is called."""

from ackd.cli.group import main

__all__ = ["main"]
