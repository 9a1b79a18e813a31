"""Names that are no drops: temporary files of editors, browsers and sync tools; and names of conflict copies.

Pure: only names are judged, never contents. A name that might be an ordinary one is one: whoever calls a file
``sync-conflict-guide.json`` or ``q 2.json`` means it.
"""

from __future__ import annotations

import re
from collections.abc import Callable

_MOST_CONFLICTS = 8

_TEMPORARY_NAMES = frozenset({"4913", "thumbs.db", "desktop.ini", "icon\r", "$recycle.bin"})
_TEMPORARY_PREFIXES = ("~$", "~syncthing~", "~wrd", ".")
_TEMPORARY_SUFFIXES = (
    "~",
    ".aria2",
    ".bak",
    ".crdownload",
    ".download",
    ".filepart",
    ".lck",
    ".lock",
    ".opdownload",
    ".orig",
    ".part",
    ".partial",
    ".rej",
    ".swo",
    ".swp",
    ".swx",
    ".temp",
    ".tmp",
    "___jb_old___",
    "___jb_tmp___",
)
_TEMPORARY = re.compile(
    r"\#.*\#"  # emacs: what is not saved yet
    r"|sed[A-Za-z0-9]{6}"  # sed -i
    r"|.*\.save(?:\.[0-9]+)?"  # nano, when it was killed
    r"|.*\.te?mp[-.][0-9A-Za-z._-]*"  # x.json.tmp.4711, x.json.tmp-ab12
    r"|.*\.sb-[0-9a-f]{8}-[0-9A-Za-z]{6}",  # macOS: safe save
    re.DOTALL,
)

# Names that only a sync tool makes: a copy whether or not its original is there. Groups: what stands before, after.
_CERTAIN = (
    # Syncthing
    re.compile(r"(.+)\.sync-conflict-[0-9]{8}-[0-9]{6}(?:-[A-Z2-7]{7})?((?:\.[^.]*)?)", re.DOTALL),
    # ownCloud and older Nextcloud
    re.compile(r"(.+)_conflict-[0-9]{8}-[0-9]{6}((?:\.[^.]*)?)", re.DOTALL),
    # Dropbox, Nextcloud, pCloud, Seafile: "(wen's conflicted copy 2026-03-09)", "(SFConflict wen 2026-03-09)"
    re.compile(
        r"(.+?) ?\((?:[^()]*conflict(?:ed|ing) copy[^()]*|conflicted|SFConflict [^()]*)\)((?:\.[^.]*)?)", re.DOTALL
    ),
    # Chinese clients, with full-width brackets or plain ones
    re.compile(r"(.+?) ?[(（][^()（）]*(?:冲突副本|冲突文件|衝突複本)[^()（）]*[)）]((?:\.[^.]*)?)", re.DOTALL),
    # Resilio
    re.compile(r"(.+)\.Conflict((?:\.[^.]*)?)", re.DOTALL),
)
# Names that people choose too: a copy only where the original lies beside it.
_POSSIBLE = (
    # browsers and file managers: "x (1).json", "x（1）.json"
    re.compile(r"(.+?) ?[(（][1-9][0-9]?[)）]((?:\.[^.]*)?)", re.DOTALL),
    # iCloud and Finder: "x 2.json"
    re.compile(r"(.+) [2-9]((?:\.[^.]*)?)", re.DOTALL),
    # OneDrive appends the machine's name; only names that machines are given by their makers. An agent's name must not
    # match: `final-trading.json` is no copy of `final.json`.
    re.compile(
        r"(.+?)-(?:(?:DESKTOP|LAPTOP|WIN)-[0-9A-Z]{5,12}"
        r"|(?:[^.]*-)?(?:MacBook(?:-(?:Pro|Air))?|iMac|Mac-(?:mini|Studio|Pro)|MBP|MBA|PC)(?:-[0-9]{1,2})?(?:\.local)?)"
        r"((?:\.[^.]*)?)",
        re.DOTALL,
    ),
)
# What every such name has somewhere: one look spares most names the eight above.
_MARKS = re.compile(
    r"conflict|冲突|衝突|[)）]| [2-9]|-DESKTOP-|-LAPTOP-|-WIN-|MacBook|iMac|Mac-|MBP|MBA|PC", re.IGNORECASE
)
_PLACEHOLDER = re.compile(r"\.(.+)\.icloud", re.DOTALL)


def is_temporary(name: str) -> bool:
    """True for a name that no finished file has: temporary, backup, lock and system files, and all dot-files.

    Args:
        name: The last component of a path.
    """
    folded = name.lower()
    return (
        folded.startswith(_TEMPORARY_PREFIXES)
        or folded.endswith(_TEMPORARY_SUFFIXES)
        or folded in _TEMPORARY_NAMES
        or _TEMPORARY.fullmatch(name) is not None
    )


def placeholder_of(name: str) -> str | None:
    """Name the file that an iCloud placeholder stands for: its content is not on this machine yet."""
    match = _PLACEHOLDER.fullmatch(name)
    return match.group(1) if match else None


def conflict_original(name: str, exists: Callable[[str], bool]) -> str | None:
    """Name the file that a conflict copy was made from, or None for an ordinary name.

    Args:
        name: The last component of a path.
        exists: Says whether a name lies in the same folder. Asked for names that people choose too (``x 2.json``);
            where only a sync tool makes such a name, the answer does not depend on it, and the original may be gone.

    Returns:
        The original's name; of a copy of a copy, the first one's.
    """
    if _MARKS.search(name) is None:
        return None
    original: str | None = None
    for _ in range(_MOST_CONFLICTS):
        before = _one_step(original or name, exists)
        if before is None:
            break
        original = before
    return original


def _one_step(name: str, exists: Callable[[str], bool]) -> str | None:
    for pattern in _CERTAIN:
        match = pattern.fullmatch(name)
        if match:
            return match.group(1) + match.group(2)
    for pattern in _POSSIBLE:
        match = pattern.fullmatch(name)
        if match and exists(match.group(1) + match.group(2)):
            return match.group(1) + match.group(2)
    return None
