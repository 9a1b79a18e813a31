"""The daemon's log: one line an event, whatever agents call their files."""

from __future__ import annotations

import io
import json
import logging
from collections.abc import Iterator

import pytest

from ackd.engine.logs import set_up

HOSTILE = 'a\x1b[2J\n{"event":"forged"} \x9b2J \u202egpj \u200b 收到.json'


@pytest.fixture
def logger() -> Iterator[logging.Logger]:
    """Give the daemon's logger and put it back afterwards."""
    logger = logging.getLogger("ackd")
    before = logger.handlers[:], logger.level, logger.propagate
    yield logger
    logger.handlers[:], logger.propagate = before[0], before[2]
    logger.setLevel(before[1])


@pytest.mark.parametrize("form", ["json", "text"])
def test_a_name_cannot_forge_a_line_or_steer_a_terminal(logger: logging.Logger, form: str) -> None:
    """Each event is one line of printable characters; Chinese stays readable."""
    stream = io.StringIO()
    set_up(form=form, stream=stream)
    logger.warning("refused", extra={"path": HOSTILE})
    (line,) = stream.getvalue().splitlines()
    assert not [one for one in line if one in "\x1b\x9b\u202e\u200b"]
    assert "收到" in line
    if form == "json":
        assert (json.loads(line)["event"], json.loads(line)["path"]) == ("refused", HOSTILE)
