"""What the doctor looks at in the tree: the team, the template's files, git's files, names, scratch, refusals."""

from __future__ import annotations

import os
import unicodedata
from collections.abc import Iterator

from ackd.engine.doctor import Check, Patient, ok, problem, warning
from ackd.engine.template import lay_down
from ackd.fs.beneath import FileRead
from ackd.fs.stage import SCRATCH, Stage
from ackd.protocol.ids import shown
from ackd.resources import template_dir
from ackd.tree import layout

_CAP = 1024 * 1024
_SHOWN = 5
_MOST_NAMES = 200_000
_OLD_MS = 3_600_000
_KEEP = ".gitkeep"
_OPTIONAL = ".vscode/"
_GIT_LINES = {
    ".gitattributes": (("*.json -text", "*.jsonl -text"), "git may change line ends of what is hashed"),
    ".gitignore": ((f"{layout.SCRATCH}/",), "git would carry this machine's scratch to others"),
}


def look_at_team(patient: Patient) -> Iterator[Check]:
    """Whether `team.yaml` can be used, and what is odd in it."""
    team = patient.view.team
    for finding in team.findings:
        yield warning("team", finding, f"correct {layout.TEAM}")
    roster = team.policy.roster
    if not roster.people:
        yield warning(
            "team",
            "nobody stands under people: what no arbiter settles reaches nobody",
            "ackd agents add NAME --person",
        )
    members, arbiters = len(roster.members), len(roster.arbiters)
    said = f"{members} member{'s' * (members != 1)}, {arbiters} arbiter{'s' * (arbiters != 1)}"
    yield ok("team", f"{layout.TEAM} can be used: {said}")


def look_at_template(patient: Patient) -> Iterator[Check]:
    """Whether everything that `ackd init` lays down is there; folders count, their placeholders do not."""
    root, missing = patient.view.root, []
    template = template_dir()
    for source in sorted(template.rglob("*")):
        path = source.relative_to(template).as_posix()
        if path.startswith(_OPTIONAL) or "__pycache__" in path or not source.is_file():
            continue
        wanted = path.removesuffix(f"/{_KEEP}")
        if not root.exists(wanted):
            missing.append(wanted)
    if not missing:
        yield ok("template", "every file and folder of a tree is there")
    elif patient.fix:
        lay_down(patient.view.tree)
        yield ok("template", f"laid down: {', '.join(missing)}", fixed=True)
    else:
        level = problem if layout.TEAM in missing else warning
        yield level("template", f"missing: {', '.join(missing)}", "ackd doctor --fix, or ackd init")


def look_at_git(patient: Patient) -> Iterator[Check]:
    """Whether git leaves alone what must stay as it is."""
    is_well = True
    for path, (lines, why) in _GIT_LINES.items():
        read = patient.view.root.read(path, _CAP)
        if not isinstance(read, FileRead):
            continue  # What is missing is the template's to say.
        there = {" ".join(one.split()) for one in read.data.decode("utf-8", "replace").splitlines()}
        gone = [one for one in lines if one not in there]
        if gone:
            is_well = False
            yield warning("git", f"{path} lacks {' and '.join(gone)}: {why}", f"add it to {path}")
    if is_well:
        yield ok("git", "git leaves hashed files and scratch alone")


def look_at_names(patient: Patient) -> Iterator[Check]:
    """Whether names in inboxes and conversations are one and the same on other people's disks."""
    twins, count = [], 0
    for top in (layout.INBOX, layout.ROUNDTABLE):
        for here, folders, files in os.walk(patient.view.tree / top):
            seen: dict[str, str] = {}
            for name in sorted((*folders, *files)):
                count += 1
                other = seen.setdefault(unicodedata.normalize("NFC", name).casefold(), name)
                if other != name:
                    folder = os.path.relpath(here, patient.view.tree)
                    twins.append(f"{shown(folder)}: {shown(other)} and {shown(name)}")
            if count > _MOST_NAMES:
                break
    if twins:
        more = f", and {len(twins) - _SHOWN} more" if len(twins) > _SHOWN else ""
        yield warning(
            "names",
            f"the same name on disks that do not tell case apart: {'; '.join(twins[:_SHOWN])}{more}",
            "rename one of each pair; what was taken in stays known",
        )
    else:
        yield ok("names", f"no two of {count} names in inbox/ and roundtable/ collide")


def look_at_scratch(patient: Patient) -> Iterator[Check]:
    """Whether crashes left files in the scratch folder: what is staged and has an intent is finished by the daemon."""
    view = patient.view
    view.memory  # noqa: B018 - opened first: what has an intent there stays
    needed = {row.scratch for row in view.memory.staged()}
    old = []
    for name in view.root.listdir(SCRATCH):
        stat = view.root.stat(f"{SCRATCH}/{name}")
        is_young = stat is not None and abs(patient.now - stat.mtime_ns // 1_000_000) <= _OLD_MS
        if (
            stat is not None
            and stat.kind == "file"
            and name not in needed
            and not name.startswith("mark-")
            and not is_young
        ):
            old.append(name)
    if not old:
        yield ok("scratch", "no leftovers of a crash")
    elif patient.fix:
        stage = Stage(view.root)
        for name in old:
            stage.discard(name)
        yield ok("scratch", f"{len(old)} old leftovers removed", fixed=True)
    else:
        yield warning("scratch", f"{len(old)} old leftovers in {SCRATCH}", "ackd doctor --fix removes them")


def look_at_refusals(patient: Patient) -> Iterator[Check]:
    """Whether refused files wait for somebody."""
    refused = patient.view.refusals()
    if refused:
        few = ", ".join(shown(str(one["path"])) for one in refused[:_SHOWN])
        yield warning("refused", f"{len(refused)} refused files stand: {few}", "ackd rejected")
    else:
        yield ok("refused", "no file is refused")


LOOKS = (look_at_template, look_at_team, look_at_git, look_at_names, look_at_scratch, look_at_refusals)
