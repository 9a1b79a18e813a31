"""Kill it at any instant, start it again: nothing is lost, nothing handed over twice (longer: `kill_driver.py`)."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

DRIVER = Path(__file__).with_name("kill_driver.py")


@pytest.mark.parametrize("more", [["--kills", "20"], ["--kills", "10", "--lockless"]], ids=["alone", "lockless"])
def test_sigkill_at_every_point_loses_and_doubles_nothing(tmp_path: Path, more: list[str]) -> None:
    """While requests, answers, reminders and finals are under way; also beside a second daemon under a broken lock."""
    done = subprocess.run(
        [sys.executable, DRIVER, "--threads", "30", "--seed", "7", "--keep", tmp_path / "campaign", *more],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        timeout=110,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "lost 0, doubled 0, without a verdict 0" in done.stdout
