"""What faces show of followed files and decision records, as plain values: `files` of `ackd status --json`."""

from __future__ import annotations

from typing import Any

import msgspec

from ackd.engine.followed import FOLLOWED, TASK, Followed, stale_text
from ackd.engine.texts import when
from ackd.protocol.instant import iso
from ackd.tree import layout
from ackd.tree.madr import record_path

DECISION = "decision"
"""Kind of a record that somebody wrote by hand."""
RECORD = "decision-record"
"""Kind of a record that follows from a final."""


def read_followed(data: dict[str, Any]) -> Followed | None:
    """Read what an entry tells of a followed file; None where it tells nothing, or is of another form."""
    try:
        return msgspec.convert(data, Followed) if data else None
    except msgspec.ValidationError:
        return None


def followed_document(path: str, known: Followed, refused: dict[str, Any] | None, now: int) -> dict[str, Any]:
    """Give a followed file for a face.

    Args:
        path: Where it lies.
        known: What is known of it.
        refused: The refusal that stands for it, or None.
        now: The wall clock, milliseconds.
    """
    stale = known.stale_at is not None and now >= known.stale_at
    conditions = {
        "broken": refused is not None,
        "flagged": bool(known.flag),
        "future": known.from_future,
        "findings": bool(known.findings),
        "unchanged": stale and known.kind == TASK,
        "stale": stale and known.kind != TASK,
    }
    reasons = [str(refused["detail"])] if refused is not None else []
    # What cannot be read of its time stands among the findings already.
    odd = "" if known.from_future or any(one in known.odd for one in known.findings) else known.odd
    reasons += [text for text in (known.flag, *known.findings, odd) if text]
    reasons += [f"{known.odd}; it was read at {when(known.read_at)}"] if known.from_future else []
    reasons += [stale_text(known, path)] if stale else []
    return {
        "path": path,
        "kind": known.kind,
        "owner": known.owner or (refused or {}).get("author") or None,
        "conditions": [word for word, holds in conditions.items() if holds],
        "because": reasons,
        "state": known.state or None,
        "state_since": _iso(known.state_since),
        "as_of": None if known.from_future else _iso(known.as_of),
        "read_at": _iso(known.read_at or None),
        "stale_at": _iso(known.stale_at),
        "digest": known.digest or None,
        "in_force": known.content if refused is not None else None,
        "findings": [],
    }


def record_document(path: str, data: dict[str, Any]) -> dict[str, Any]:
    """Give a decision record that somebody wrote by hand, with what was found in it; of the subject's data."""
    findings = data.get("findings") or []
    return _document(
        path,
        DECISION,
        conditions=["findings"] if findings else [],
        because=[finding_text(one) for one in findings],
        read_at=_iso(data.get("read_at")),
        digest=data.get("sha256"),
        findings=findings,
    )


def kept_document(data: dict[str, Any]) -> dict[str, Any]:
    """Give the record of a thread's final; of the subject's data."""
    conditions = {"broken": bool(data.get("trouble")), "findings": bool(data.get("notes"))}
    because = [f"it cannot be written: {data['trouble']}"] if data.get("trouble") else []
    return _document(
        record_path(data["day"], data["thread"]),
        RECORD,
        conditions=[word for word, holds in conditions.items() if holds],
        because=[*because, *data.get("notes", ())],
    )


def refused_document(path: str, kind: str, refused: dict[str, Any]) -> dict[str, Any]:
    """Give a file of a kind that was never valid yet; of the row of its refusal."""
    return _document(
        path,
        kind,
        owner=refused.get("author") or None,
        conditions=["broken"],
        because=[str(refused["detail"])],
        read_at=_iso(refused.get("at")),
    )


def file_documents(
    subjects: list[tuple[str, dict[str, Any]]], refusals: list[dict[str, Any]], now: int
) -> list[dict[str, Any]]:
    """Give all files that are followed, by path.

    Args:
        subjects: Name and data of each subject.
        refusals: The rows of the refusals that stand.
        now: The wall clock, milliseconds.
    """
    broken = {one["path"]: one for one in refusals if layout.kind_of(one["path"]) in FOLLOWED}
    found = []
    for name, data in subjects:
        known = read_followed(data) if layout.kind_of(name) in FOLLOWED else None
        if known is not None:
            found.append(followed_document(name, known, broken.pop(name, None), now))
        elif data.get("kind") == DECISION and not data.get("gone"):
            found.append(record_document(name, data))
        elif data.get("kind") == RECORD and not data.get("void"):
            found.append(kept_document(data))
    found += [refused_document(path, layout.kind_of(path) or "", one) for path, one in broken.items()]
    return sorted(found, key=lambda one: str(one["path"]))


def finding_text(finding: dict[str, Any]) -> str:
    """Say a finding in a line: where, what is wrong, what would be right."""
    return f"line {finding['line']}: {finding['what']}; expected: {finding['expected']}"


def _document(path: str, kind: str, **more: Any) -> dict[str, Any]:
    empty = dict.fromkeys(("owner", "state", "state_since", "as_of", "read_at", "stale_at", "digest", "in_force"))
    return {"path": path, "kind": kind, **empty, "conditions": [], "because": [], "findings": [], **more}


def _iso(at_ms: Any) -> str | None:
    return iso(at_ms) if isinstance(at_ms, int) else None
