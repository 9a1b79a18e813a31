"""Where a field stands: from a JSON pointer to line and column, in the text of a JSON or YAML file."""

from __future__ import annotations

import json
import re
from typing import Any

_BLANK = re.compile(r"[ \t\r\n]*")
_decode = json.JSONDecoder(strict=False).raw_decode


def json_place(text: str, pointer: str) -> tuple[int, int]:
    """Give line and column, from 1, of the value that a pointer names; of a missing one, of what should hold it.

    Args:
        text: A text that decodes.
        pointer: RFC 6901; one whose keys were cut or escaped is followed as far as it leads.
    """
    at = _after_blank(text, 0)
    for step in _steps(pointer):
        found = _member(text, at, step) if text[at] == "{" else _item(text, at, step) if text[at] == "[" else None
        if found is None:
            break
        at = found
    return text.count("\n", 0, at) + 1, at - text.rfind("\n", 0, at)


def yaml_place(data: bytes, pointer: str) -> tuple[int, int]:
    """Give line and column, from 1, of the key that a pointer names in a YAML file; 0 where it is none."""
    import yaml

    try:
        node: Any = yaml.compose(data.decode("utf-8-sig"), Loader=yaml.SafeLoader)
    except (yaml.YAMLError, UnicodeDecodeError):
        return 0, 0
    mark = node.start_mark if node is not None else None
    for step in _steps(pointer):
        if isinstance(node, yaml.MappingNode):
            pair = next((one for one in node.value if one[0].value == step), None)
            if pair is None:
                break
            mark, node = pair[0].start_mark, pair[1]
        elif isinstance(node, yaml.SequenceNode) and step.isascii() and step.isdigit() and int(step) < len(node.value):
            node = node.value[int(step)]
            mark = node.start_mark
        else:
            break
    return (mark.line + 1, mark.column + 1) if mark is not None else (0, 0)


def _steps(pointer: str) -> list[str]:
    return [one.replace("~1", "/").replace("~0", "~") for one in pointer.split("/")[1:]]


def _member(text: str, at: int, key: str) -> int | None:
    at = _after_blank(text, at + 1)
    while text[at] == '"':
        name, at = _decode(text, at)
        at = _after_blank(text, _after_blank(text, at) + 1)
        if name == key:
            return at
        at = _next(text, at)
    return None


def _item(text: str, at: int, number: str) -> int | None:
    if not (number.isascii() and number.isdigit()):
        return None
    at = _after_blank(text, at + 1)
    for _ in range(min(int(number), len(text))):
        if text[at] == "]":
            return None
        at = _next(text, at)
    return at


def _next(text: str, at: int) -> int:
    """Give where the next member starts, behind the value at `at` and its comma."""
    _, at = _decode(text, at)
    at = _after_blank(text, at)
    return _after_blank(text, at + 1) if text[at] == "," else at


def _after_blank(text: str, at: int) -> int:
    match = _BLANK.match(text, at)
    return match.end() if match is not None else at
