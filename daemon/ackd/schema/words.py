"""From a failed keyword of JSON Schema to a sentence by which a person or a language model can put its file right."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Protocol

import msgspec

from ackd.protocol.ids import shown

FOUND_LIMIT = 80
"""Longest `found`, in characters."""

_TYPES = {
    "string": "a text",
    "number": "a number",
    "integer": "a whole number",
    "boolean": "true or false",
    "object": "an object {…}",
    "array": "a list […]",
    "null": "null",
}
_FORMATS = {
    "date-time": "a date and time with its zone, such as 2026-03-08T14:30:00+08:00",
    "date": "a day, such as 2026-03-08",
}


class FieldProblem(msgspec.Struct, frozen=True):
    """What is wrong with one field.

    Attributes:
        pointer: The field as an RFC 6901 pointer; a missing field by the place where it belongs. Long keys are cut,
            invisible characters escaped.
        expected: What should stand there, in plain words.
        found: What stands there, escaped and cut at `FOUND_LIMIT` characters; "nothing" for a missing field.
    """

    pointer: str
    expected: str
    found: str


class Failure(Protocol):
    """What is read of a `jsonschema.ValidationError`."""

    validator: Any
    validator_value: Any
    instance: Any
    schema: Any
    message: str

    @property
    def absolute_path(self) -> Sequence[str | int]:
        """Keys and indexes down to the value that failed."""

    @property
    def absolute_schema_path(self) -> Sequence[str | int]:
        """Keys and indexes down to the keyword that failed."""


def describe(failure: Failure, schema: Mapping[str, Any]) -> list[tuple[bool, FieldProblem]]:
    """Say what a failure asks of the author.

    Args:
        failure: One failed keyword.
        schema: The whole schema; a rule for some kind of message is an entry of its `allOf` with a `title`.

    Returns:
        Problems, each with whether it comes from such a rule and so says more than a plain one of the same field.
    """
    title, needs = _rule_of(failure, schema)
    if failure.validator == "required":
        return [
            (bool(title), _missing(name, failure, schema, title))
            for name in failure.validator_value
            if name not in failure.instance
        ]
    path = list(failure.absolute_path)
    if "propertyNames" in failure.absolute_schema_path:
        path.append(str(failure.instance))
    expected = _expected(failure)
    field = path[-1] if path else ""
    if title and field in needs:
        expected = f"needed for {title}: {field}, {expected}"
    return [(bool(title), FieldProblem(pointer(path), expected, found(failure.instance)))]


def pointer(path: Iterable[str | int]) -> str:
    """Write a path as an RFC 6901 pointer; a key of more than 80 characters is cut."""
    return "".join("/" + _segment(step) for step in path)


def found(value: object) -> str:
    """Show a value from outside: quoted, escaped, cut at `FOUND_LIMIT` characters."""
    if isinstance(value, str):
        text = shown(value, FOUND_LIMIT - 2)
    elif value is None or isinstance(value, bool):
        text = {None: "null", True: "true", False: "false"}[value]
    elif isinstance(value, int):
        text = str(value) if value.bit_length() < 200 else "a number of more than 60 digits"
    elif isinstance(value, float):
        text = repr(value)
    elif isinstance(value, list):
        text = f"a list of {len(value)}" if value else "an empty list"
    elif isinstance(value, dict):
        keys = ", ".join(shown(str(key), 24)[1:-1] for key, _ in zip(value, range(8), strict=False))
        text = f"an object with {keys}" if value else "an empty object"
    else:
        text = f"a value that JSON does not have ({type(value).__name__})"
    return text if len(text) <= FOUND_LIMIT else text[: FOUND_LIMIT - 1] + "…"


def _rule_of(failure: Failure, schema: Mapping[str, Any]) -> tuple[str, Sequence[str]]:
    """Give the title of the rule that a failure comes from, and the fields that this rule needs."""
    path = failure.absolute_schema_path
    if len(path) < 2 or path[0] != "allOf" or not isinstance(path[1], int):
        return "", ()
    rule = schema["allOf"][path[1]]
    return rule.get("title", ""), rule.get("then", {}).get("required", ())


def _missing(name: str, failure: Failure, schema: Mapping[str, Any], title: str) -> FieldProblem:
    at = pointer([*failure.absolute_path, name])
    here = failure.schema.get("properties", {}).get(name, {})
    meaning = here.get("errorMessage") or here.get("description")
    if not meaning and not failure.absolute_path:
        meaning = schema.get("properties", {}).get(name, {}).get("description")
    start = f"needed for {title}: {name}" if title else f"needed: {name}"
    return FieldProblem(at, f"{start} ({_first_sentence(meaning)})" if meaning else start, _instead(name, failure))


def _instead(name: str, failure: Failure) -> str:
    """Say that nothing stands there, or name the key that was probably meant for it (`ackId` for `ack_id`)."""
    for key in failure.instance:
        if isinstance(key, str) and len(key) <= 64 and _plain(key) == _plain(name):
            return found_key(key)
    return "nothing"


def found_key(key: str) -> str:
    """Say that a key of another spelling was found."""
    return "nothing, but the key " + shown(key, 40)


def _plain(key: str) -> str:
    return key.replace("_", "").replace("-", "").replace(" ", "").casefold()


def _first_sentence(text: str) -> str:
    return text.split(". ")[0].rstrip(".")


def _expected(failure: Failure) -> str:
    schema = failure.schema if isinstance(failure.schema, dict) else {}
    if failure.validator in _SIZES and failure.validator_value > 1:
        # An errorMessage speaks of the form; of a value that is merely too long it would mislead.
        return f"at most {failure.validator_value} {_SIZES[failure.validator]}, here are {len(failure.instance)}"
    if failure.validator == "pattern" and "patternErrorMessage" in schema:
        return str(schema["patternErrorMessage"])
    if "errorMessage" in schema:
        return str(schema["errorMessage"])
    say = _SENTENCES.get(failure.validator)
    return say(failure.validator_value, failure.instance) if say else f"{failure.validator}: {failure.validator_value}"


def _type(value: Any, _instance: object) -> str:
    names = [value] if isinstance(value, str) else [name for name in value if name != "null"]
    return " or ".join(_TYPES[name] for name in names)


def _enum(value: Any, instance: object) -> str:
    words = [word for word in value if isinstance(word, str)]
    text = "one of " + ", ".join(words)
    if isinstance(instance, str) and len(instance) <= 32:
        near = difflib.get_close_matches(instance.strip().lower(), words, n=1, cutoff=0.7)
        if near:
            text += f"; did you mean {near[0]}?"
    return text


def _const(value: Any, _instance: object) -> str:
    return "exactly " + found(value)


_SENTENCES: dict[str, Callable[[Any, Any], str]] = {
    "type": _type,
    "enum": _enum,
    "const": _const,
    "format": lambda value, _: _FORMATS.get(value, f"a {value}"),
    "pattern": lambda value, _: f"a text of the form {value}",
    "minLength": lambda value, _: "a text that is not empty" if value == 1 else f"at least {value} characters",
    "minItems": lambda value, _: "a list that is not empty" if value == 1 else f"at least {value} items",
    "minimum": lambda value, _: f"a number of at least {value}",
    "maximum": lambda value, _: f"a number of at most {value}",
}

_SIZES = {"maxLength": "characters", "maxItems": "items", "maxProperties": "keys"}

SPOKEN = frozenset(_SENTENCES) | frozenset(_SIZES) | {"required"}
"""Keywords that have words of their own; a schema gives any other one an `errorMessage`."""


def _segment(step: str | int) -> str:
    if isinstance(step, int):
        return str(step)
    cut = step if len(step) <= FOUND_LIMIT else step[: FOUND_LIMIT - 1] + "…"
    plain = cut.replace("~", "~0").replace("/", "~1")
    return "".join(character if character.isprintable() else f"\\u{ord(character):04x}" for character in plain)
