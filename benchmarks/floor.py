"""The floor: what the machine needs for the bare steps of the same work, measured in the same run.

Scan, read, parse (orjson), validate (jsonschema-rs), append to a journal with one fdatasync for each 100, and one
output file each by rename, not flushed. No protocol, no memory of what was seen: nothing can be faster and do the job.
"""

from __future__ import annotations

import os
import time
from pathlib import Path

import orjson

from ackd.schema import accepts

GROUP = 100


def measure(drops: Path, work: Path, output: bytes, count: int) -> dict[str, float]:
    """Do the bare steps for `count` files and give microseconds a file for each step.

    Args:
        drops: Folder in which the files lie already.
        work: An empty folder on the same file system.
        output: Bytes of each output file.
        count: How many files lie there.
    """
    steps: dict[str, float] = {}
    started = time.perf_counter()

    def done(step: str) -> None:
        nonlocal started
        now = time.perf_counter()
        steps[step] = (now - started) / count * 1e6
        started = time.perf_counter()

    names = []
    with os.scandir(drops) as entries:
        for entry in entries:
            entry.stat(follow_symlinks=False)
            names.append(entry.path)
    done("scan")
    texts = []
    for name in names:
        handle = os.open(name, os.O_RDONLY)
        texts.append(os.read(handle, 65_536))
        os.close(handle)
    done("read")
    objects = [orjson.loads(text) for text in texts]
    done("parse")
    if not all(accepts("envelope", one) for one in objects):
        raise SystemExit("the envelopes of the benchmark are not valid")
    done("validate")
    journal = os.open(work / "journal", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    for first in range(0, count, GROUP):
        os.write(journal, b"\n".join(texts[first : first + GROUP]))
        os.fdatasync(journal)
    os.close(journal)
    done("journal")
    scratch, out = work / "scratch", work / "out"
    scratch.mkdir()
    out.mkdir()
    for number in range(count):
        source = f"{scratch}/{number}"
        handle = os.open(source, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
        os.write(handle, output)
        os.close(handle)
        os.rename(source, f"{out}/{number}.json")
    done("output")
    return steps
