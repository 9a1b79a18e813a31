"""Validating files without a daemon: what it would refuse, with the place in the file, for people, editors and CI."""

from __future__ import annotations

import datetime
import json
import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import msgspec

from ackd.config import Team, parse_team
from ackd.engine.followed import unknown_names
from ackd.engine.page_reading import read_page
from ackd.engine.places import json_place, yaml_place
from ackd.errors import InvalidError
from ackd.intake.decode import Bad, Conflict, Open, Whole, decode
from ackd.intake.encodings import NoText, read_text
from ackd.protocol.envelope import read_envelope
from ackd.protocol.ids import shown
from ackd.schema import problems
from ackd.tree import layout
from ackd.tree.freshness import unreadable_times
from ackd.tree.project_status import read_project_status
from ackd.tree.skips import is_temporary

_CAP = 1024 * 1024
_LINE = re.compile(re.escape(layout.TEAM) + r", line ([0-9]{1,9})")
_PLACES = (
    (re.compile(r"((?:agents/[^/: ]{1,64}/)?timeouts): ([^/: ]{1,64}) is no timeout"), "/{0}/{1}"),
    (re.compile(r"((?:agents/[^/: ]{1,64}/)?timeouts/[^/: ]{1,64}|arbiters|timezone): "), "/{0}"),
    (re.compile(r'the key "([^"]{1,80})" is unknown'), "/{0}"),
    (re.compile(r"[^ ]{1,160} in group ([^ ]{1,160}) is not on the roster"), "/groups/{0}"),
)
"""Forms of what the reader of `team.yaml` says, and the pointer to what each speaks of."""
_TOPS = frozenset((*layout.KIND_FOLDERS, layout.ROUNDTABLE, layout.INBOX, layout.DECISIONS))


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that is wrong with a file.

    Attributes:
        path: The file as it was named.
        line, column: From 1; 0 where they are not known.
        pointer: The field as an RFC 6901 pointer, or an empty string.
        message: What is wrong and what should stand there.
        kind: Kind of document that the file was taken for.
        repair: What would be changed to make it the envelope that it was certainly meant to be, a sentence each.
    """

    path: str
    line: int = 0
    column: int = 0
    pointer: str = ""
    message: str
    kind: str
    repair: tuple[str, ...] = ()


class Checked(msgspec.Struct, frozen=True):
    """How many files were looked at, and what was found."""

    files: int
    findings: tuple[Finding, ...]


def validate(paths: Iterable[Path]) -> Checked:
    """Check files and folders.

    What the daemon does not read as a message or a document of its own is left out: other endings (but for the people's
    page and the records in `decisions/`), dot-folders, `ledger/`, `rejected/`, and files that an envelope among `paths`
    attaches.

    Raises:
        InvalidError: A path does not exist.
    """
    given = [path for one in paths for path in _walk(one)]
    teams: dict[Path, Team | None] = {}
    documents = [(path, *_place(path)) for path in given]
    attached = {name for path, _, rel in documents for name in _attachments(path, rel)}
    findings: list[Finding] = []
    files = 0
    for path, tree, rel in documents:
        if not _is_ours(rel) or rel in attached:
            continue
        files += 1
        if tree is not None and tree not in teams:
            teams[tree] = _team_of(tree)
        findings += check_file(path, rel, teams.get(tree) if tree is not None else None)
    return Checked(files, tuple(findings))


def check_file(path: Path, rel: str, team: Team | None) -> list[Finding]:
    """Check one file.

    Args:
        path: Where it lies.
        rel: Where it lies in its tree, which says what it is.
        team: The team, for its roster, or None where there is none.
    """
    kind = layout.kind_of(rel) or "envelope"
    if rel == layout.PROJECT_STATUS or _is_record(rel):
        kind = "project-status" if rel == layout.PROJECT_STATUS else "decision"
    try:
        size = path.stat().st_size
        data = path.read_bytes() if path.is_file() and size <= _CAP else b""
    except OSError as error:
        return [Finding(path=str(path), message=f"it cannot be read: {error.strerror}", kind=kind)]
    if not path.is_file():
        return [Finding(path=str(path), message="it is no regular file", kind=kind)]
    if size > _CAP:
        return [Finding(path=str(path), message=f"it has {size} bytes; at most {_CAP} are taken", kind=kind)]
    return check_bytes(data, str(path), rel, team)


def check_bytes(data: bytes, path: str, rel: str, team: Team | None = None) -> list[Finding]:
    """Check the bytes of a file. Arguments as in `check_file`."""
    if rel == layout.PROJECT_STATUS:
        return _check_page(data, path, team)
    kind = layout.kind_of(rel) or "envelope"
    if kind == "team":
        return _check_team(data, path)
    if kind == "tech-radar":
        return _check_radar(data, path, team)
    if _is_record(rel):
        return _check_record(data, path)
    decoded = decode(data)
    if isinstance(decoded, Whole):
        found = _check_document(decoded.value, data, path, rel, team)
    else:
        found = [_not_whole(decoded, path, kind)]
    return _with_repair(found, data) if found and layout.kind_of(rel) is None else found


def _with_repair(found: list[Finding], data: bytes) -> list[Finding]:
    """Name the repair in the first finding, where there is one."""
    from ackd.intake.repair import Repaired, repair

    offer = repair(data)
    if not isinstance(offer, Repaired):
        return found
    return [msgspec.structs.replace(found[0], repair=offer.changes), *found[1:]]


def _not_whole(decoded: Open | Conflict | Bad, path: str, kind: str) -> Finding:
    if isinstance(decoded, Bad):
        return Finding(path=path, line=decoded.line, column=decoded.column, message=decoded.detail, kind=kind)
    if isinstance(decoded, Conflict):
        return Finding(path=path, line=decoded.line, column=1, message="git left conflict markers in it", kind=kind)
    return Finding(path=path, message=f"the text ends at character {decoded.position}, before it is whole", kind=kind)


def _check_document(document: dict[str, Any], data: bytes, path: str, rel: str, team: Team | None) -> list[Finding]:
    mark = document.get("ackd")
    kind = layout.kind_of_object(rel, document)
    if isinstance(mark, str) and mark.startswith("delivery/"):
        kind = "delivery"
    kind = kind or "envelope"
    text = data.decode("utf-8-sig")
    found = _by_schema(kind, document, text, path)
    if found or kind != "envelope":
        return found or _by_team(kind, document, text, path, team)
    try:
        envelope = read_envelope(document)
    except InvalidError as error:
        return [Finding(path=path, message=error.message, kind=kind)]
    if team is not None and team.policy.roster.find(envelope.sender) is None:
        message = f"the sender {shown(envelope.sender)} is not on the roster of {layout.TEAM}"
        return [Finding(path=path, **_at(json_place(text, "/from")), pointer="/from", message=message, kind=kind)]
    return []


def _by_schema(kind: str, document: Any, text: str, path: str) -> list[Finding]:
    return [
        Finding(
            path=path,
            **_at(json_place(text, one.pointer)),
            pointer=one.pointer,
            message=f"{one.pointer or 'the whole'}: {one.expected}; found {one.found}",
            kind=kind,
        )
        for one in problems(kind, document)
    ]


def _check_page(data: bytes, path: str, team: Team | None) -> list[Finding]:
    """Check the people's page: by its own form, and by the roster where there is one."""
    text = read_text(data)
    if isinstance(text, NoText):
        return [Finding(path=path, message=text.reason, kind="project-status")]
    if team is None:
        found = read_project_status(text.text).findings
    else:
        found = read_page(text.text, team.policy.roster, team.policy.zone).findings
    return [
        Finding(
            path=path, line=one.line, column=1, message=f"{one.what}; expected: {one.expected}", kind="project-status"
        )
        for one in found
    ]


def _check_record(data: bytes, path: str) -> list[Finding]:
    """Check a decision record as the daemon does."""
    from ackd.engine.decisions import record_findings
    from ackd.tree.madr import read_record

    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        return [Finding(path=path, line=line, message="the record is no UTF-8", kind="decision")]
    return [
        Finding(path=path, line=one.line, column=1, message=f"{one.what}; expected: {one.expected}", kind="decision")
        for one in record_findings(read_record(text))
    ]


def _by_team(kind: str, document: Any, text: str, path: str, team: Team | None) -> list[Finding]:
    """Check what a schema can't: that times can be read, and that names are on the roster where there is one."""
    found = unreadable_times(kind, document, team.policy.zone if team is not None else datetime.UTC)
    if team is not None:
        found += unknown_names(kind, document, team.policy.roster)
    return [
        Finding(path=path, **_at(json_place(text, pointer)), pointer=pointer, message=message, kind=kind)
        for pointer, message in found
    ]


def _check_radar(data: bytes, path: str, team: Team | None) -> list[Finding]:
    """Check the radar, the one document of a tree that is a list."""
    try:
        text = data.decode("utf-8-sig")
        document = json.loads(text)
        found = _by_schema("tech-radar", document, text, path)
        return found or _by_team("tech-radar", document, text, path, team)
    except json.JSONDecodeError as error:
        return [Finding(path=path, line=error.lineno, column=error.colno, message=error.msg, kind="tech-radar")]
    except (UnicodeDecodeError, RecursionError):
        return [Finding(path=path, message="it is no JSON in UTF-8", kind="tech-radar")]


def _check_team(data: bytes, path: str) -> list[Finding]:
    from ackd.config.yaml_file import read_yaml

    try:
        document = read_yaml(data, name=layout.TEAM) or {}
        found = problems("team", document)
        if not found:
            team = parse_team(data)
            return [_of_team(one, data, path) for one in team.findings]
    except InvalidError as error:
        hint = "" if error.hint.startswith("correct ") else error.hint
        return [_of_team(error.message + (f"; {hint}" if hint else ""), data, path)]
    return [
        Finding(
            path=path,
            **_at(yaml_place(data, one.pointer)),
            pointer=one.pointer,
            message=f"{one.pointer or 'the whole'}: {one.expected}; found {one.found}",
            kind="team",
        )
        for one in found
    ]


def _of_team(message: str, data: bytes, path: str) -> Finding:
    """Make a finding of what the reader of `team.yaml` says: its name stands before it once, the place is looked up."""
    line = _LINE.match(message)
    said = message.removeprefix(layout.TEAM) if line is None else message[line.end() :]
    said = said.lstrip(": ")
    if line is not None:
        return Finding(path=path, line=int(line[1]), message=said, kind="team")
    found = ((form.match(said), pointer) for form, pointer in _PLACES)
    pointer = next((pointer.format(*match.groups()) for match, pointer in found if match is not None), "")
    place = _at(yaml_place(data, pointer)) if pointer else {}
    return Finding(path=path, **place, pointer=pointer, message=said, kind="team")


def _at(place: tuple[int, int]) -> dict[str, Any]:
    return {"line": place[0], "column": place[1]}


def _walk(path: Path) -> Iterator[Path]:
    if not os.path.lexists(path):
        raise InvalidError(f"{path} does not exist", hint="name files or folders: ackd validate shared-context")
    if not path.is_dir():
        yield path
        return
    for here, folders, names in os.walk(path):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(names):
            yield Path(here) / name


def _is_ours(rel: str) -> bool:
    name = rel.rpartition("/")[2]
    if rel in (layout.TEAM, layout.PROJECT_STATUS) or _is_record(rel):
        return True
    return layout.is_drop_path(rel) and not is_temporary(name)


def _is_record(rel: str) -> bool:
    folder, _, name = rel.rpartition("/")
    return folder.split("/")[0] == layout.DECISIONS and name.endswith(".md") and not name.startswith(".")


def _place(path: Path) -> tuple[Path | None, str]:
    """Give the tree that a file lies in, or None, and its path there; without a tree, its folder's name still tells."""
    absolute = path.absolute()
    for folder in absolute.parents:
        if (folder / layout.TEAM).is_file():
            return folder, absolute.relative_to(folder).as_posix()
    parts = absolute.parts
    for number in range(len(parts) - 2, 0, -1):
        if parts[number] in _TOPS:
            return None, "/".join(parts[number:])
    return None, path.name


def _team_of(tree: Path) -> Team | None:
    try:
        return parse_team((tree / layout.TEAM).read_bytes())
    except (InvalidError, OSError):
        return None  # What is wrong with it is found when it is checked itself.


def _attachments(path: Path, rel: str) -> Iterator[str]:
    """Give the paths that the envelope in a file attaches."""
    try:
        if not _is_ours(rel) or not path.is_file() or path.stat().st_size > _CAP:
            return
        document = msgspec.json.decode(path.read_bytes())
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return
    attached = document.get("attachments") if isinstance(document, dict) else None
    for one in attached if isinstance(attached, list) else ():
        name = one.get("path") if isinstance(one, dict) else one
        if isinstance(name, str):
            yield name
