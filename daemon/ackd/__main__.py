"""`python -m ackd`: the command line for where the script `ackd` is not on the PATH."""

from __future__ import annotations

from ackd.cli import main

if __name__ == "__main__":
    main(prog_name="ackd")
