"""Adding somebody to `team.yaml` by inserting a few characters: comments and form of the file stay as they are.

The text is never written anew from what was read. After the insertion it is read again, and it is kept only if it then
says exactly what it said before and the new name.
"""

from __future__ import annotations

import copy
import json
import re
from typing import Any

import msgspec

from ackd.config import parse_team
from ackd.config.yaml_file import read_yaml
from ackd.errors import InvalidError, NotAllowedError
from ackd.fs.beneath import FileRead, Root
from ackd.fs.stage import Stage
from ackd.protocol.ids import clean_name, name_key
from ackd.tree import layout

_CAP = 65_536
_EVERYBODY = "all"
_PLAIN = re.compile(r"[A-Za-z][A-Za-z0-9_-]*")
_WORDS_OF_YAML = frozenset({"true", "false", "null", "yes", "no", "on", "off", "y", "n"})


class Added(msgspec.Struct, frozen=True):
    """What became of it: the name as it stands in the file, and what was added, in words; none where all was there."""

    name: str
    changes: tuple[str, ...]


def add_member(root: Root, name: str, *, type_: str = "", person: bool = False, arbiter: bool = False) -> Added:
    """Put somebody on the tree's roster.

    Args:
        root: The tree.
        name: The new name.
        type_: What kind of agent it is (`type:` in team.yaml).
        person: Whether it is a person, under `people:`.
        arbiter: Whether it becomes the last arbiter.

    Raises:
        InvalidError: The name breaks the rules of names, or `team.yaml` cannot be used as it is.
        NotAllowedError: The file's form is one that cannot be added to safely; the hint says what to write.
    """
    read = root.read(layout.TEAM, _CAP)
    if not isinstance(read, FileRead):
        raise InvalidError(f"{layout.TEAM} cannot be read", hint="ackd init lays one down")
    data, added = with_member(read.data, name, type_=type_, person=person, arbiter=arbiter)
    if added.changes:
        again = root.read(layout.TEAM, _CAP)
        if not isinstance(again, FileRead) or again.data != read.data:
            raise NotAllowedError(f"{layout.TEAM} has just been changed by somebody else", hint="try again")
        Stage(root).replace(layout.TEAM, data)
    return added


def with_member(
    data: bytes, name: str, *, type_: str = "", person: bool = False, arbiter: bool = False
) -> tuple[bytes, Added]:
    """Give the bytes of a `team.yaml` with somebody added, and what was added. Raises as `add_member`."""
    name = clean_name(name.removeprefix("@"), what="agent")
    roster = parse_team(data).policy.roster
    if name_key(name) == _EVERYBODY:
        raise InvalidError(f"{name} is no name for one: it means every agent", hint="choose another name")
    if name_key(name) in roster.groups:
        raise InvalidError(f"{name} is a group of {layout.TEAM}", hint="choose another name, or rename the group")
    member = roster.find(name)
    before = read_yaml(data, name=layout.TEAM) or {}
    expected: dict[str, Any] = copy.deepcopy(before)
    text, changes = data.decode("utf-8-sig"), []
    if member is not None:
        name = member.name
    else:
        key = "people" if person else "agents"
        details = {"type": type_} if type_ else {}
        text = _insert(text, key, name, details)
        _expect(expected, key, name, details)
        changes.append(f"{name} under {key}")
    if arbiter and name_key(name) not in {name_key(one) for one in roster.arbiters}:
        text = _insert(text, "arbiters", name, None)
        _expect(expected, "arbiters", name, None)
        changes.append(f"{name} as the last arbiter")
    written = (b"\xef\xbb\xbf" if data.startswith(b"\xef\xbb\xbf") else b"") + text.encode()
    if changes:
        _prove(written, expected, name)
    return written, Added(name, tuple(changes))


def _prove(written: bytes, expected: dict[str, Any], name: str) -> None:
    """Keep the new text only if it says exactly what is meant."""
    try:
        found = read_yaml(written, name=layout.TEAM)
    except InvalidError:
        found = None
    if found != expected:
        raise NotAllowedError(
            f"{layout.TEAM} has a form to which {name} cannot be added safely",
            hint=f"write it in by hand, under agents:  {name}: {{}}",
        )
    parse_team(written)


def _expect(document: dict[str, Any], key: str, name: str, details: dict[str, str] | None) -> None:
    there = document.get(key)
    if isinstance(there, list) or details is None:
        document[key] = [*(there or ()), name]
    else:
        document[key] = {**(there or {}), name: details}


def _insert(text: str, key: str, name: str, details: dict[str, str] | None) -> str:
    """Insert a name under a key; `details` are for a mapping, None for a list of names."""
    import yaml

    top = yaml.compose(text, Loader=yaml.SafeLoader)
    end = "\r\n" if "\r\n" in text else "\n"
    if top is None or not isinstance(top, yaml.MappingNode) or top.flow_style:
        value = None
    else:
        value = next(((there, node) for there, node in top.value if there.value == key), None)
    if value is None:
        lead = "" if not text or text.endswith("\n") else end
        body = f"{key}: [{_scalar(name)}]{end}" if details is None else f"{key}:{end}  {_entry(name, details)}{end}"
        return f"{text}{lead}{body}"
    node = value[1]
    start, stop = int(node.start_mark.index), int(node.end_mark.index)
    written = _scalar(name) if isinstance(node, yaml.SequenceNode) or details is None else _entry(name, details)
    if isinstance(node, yaml.ScalarNode):
        return text  # Nothing that the schema takes; the proof says so.
    if node.flow_style:
        inside = text[start + 1 : stop - 1].rstrip()
        comma = ", " if node.value and not inside.endswith(",") else " " if node.value else ""
        return f"{text[: start + 1]}{inside}{comma}{written}{text[stop - 1 :]}"
    first = node.value[0][0] if isinstance(node, yaml.MappingNode) else node.value[0]
    # The dash of a list stands before its item; the mark of a block list is that dash.
    column = first.start_mark.column if isinstance(node, yaml.MappingNode) else node.start_mark.column
    dash = "- " if isinstance(node, yaml.SequenceNode) else ""
    return _after_line(text, _last_line(node), " " * column + dash + written, end)


def _entry(name: str, details: dict[str, str]) -> str:
    inside = ", ".join(f"{key}: {_scalar(value)}" for key, value in details.items())
    return f"{_scalar(name)}: {{{inside}}}"


def _scalar(text: str) -> str:
    plain = _PLAIN.fullmatch(text) and text.lower() not in _WORDS_OF_YAML
    return text if plain or (not text.isascii() and text.isalnum()) else json.dumps(text, ensure_ascii=False)


def _last_line(node: Any) -> int:
    """Give the line on which the last word of a node stands; a block's end mark lies behind the comments after it."""
    import yaml

    if isinstance(node, yaml.MappingNode) and not node.flow_style and node.value:
        return max(_last_line(one) for pair in node.value for one in pair)
    if isinstance(node, yaml.SequenceNode) and not node.flow_style and node.value:
        return max(_last_line(one) for one in node.value)
    mark = node.end_mark
    is_behind = mark.column == 0 and mark.line > node.start_mark.line
    return int(mark.line) - 1 if is_behind else int(mark.line)


def _after_line(text: str, line: int, new: str, end: str) -> str:
    lines = text.splitlines(keepends=True)
    if line < len(lines) and not lines[line].endswith("\n"):
        lines[line] += end
    lines.insert(line + 1, new + end)
    return "".join(lines)
