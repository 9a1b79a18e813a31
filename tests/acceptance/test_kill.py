"""Kill it at any instant, start it again: nothing is lost, nothing is handed over twice (the long form: `kill_driver.py`)."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

DRIVER = Path(__file__).with_name("kill_driver.py")


@pytest.mark.parametrize("seed", [7])
def test_sigkill_at_every_point_loses_and_doubles_nothing(tmp_path: Path, seed: int) -> None:
    """Ten aims, two deaths each, while requests, answers, reminders and finals are under way."""
    done = subprocess.run(
        [
            sys.executable,
            DRIVER,
            "--threads",
            "40",
            "--kills",
            "20",
            "--seed",
            str(seed),
            "--keep",
            tmp_path / "campaign",
        ],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        timeout=110,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "lost 0, doubled 0, without a verdict 0" in done.stdout
