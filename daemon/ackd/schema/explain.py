"""What is wrong with a document and what to change: jsonschema finds it, `words` says it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from itertools import islice
from typing import TYPE_CHECKING, Any, cast

from ackd.schema.accept import is_storable
from ackd.schema.source import FORMATS, KINDS, load_schema
from ackd.schema.words import Failure, FieldProblem, describe, found

if TYPE_CHECKING:
    from jsonschema.exceptions import ValidationError
    from jsonschema.protocols import Validator

_MAX_FAILURES = 200
"""A document of a million wrong items is not read to its end."""


def problems(kind: str, document: object, *, limit: int = 20) -> list[FieldProblem]:
    """Say what keeps a document from satisfying the schema of its kind.

    Empty exactly where `accepts` says yes. At most one problem a field: what the kind of message needs comes before
    what the field is in general.

    Args:
        kind: One of `KINDS`.
        document: What a JSON decoder gave.
        limit: Most problems to give.

    Raises:
        InvalidError: There is no such kind.
    """
    schema = load_schema(kind)
    if not is_storable(kind, document):
        return [FieldProblem("", "values that JSON can carry, in texts without lone surrogates", found(document))]
    told: dict[str, tuple[bool, FieldProblem]] = {}
    for failure in islice(_explainer(kind).iter_errors(cast(Any, document)), _MAX_FAILURES):
        for from_rule, problem in describe(cast(Failure, failure), schema):
            known = told.get(problem.pointer)
            if known is None or (from_rule and not known[0]):
                told[problem.pointer] = (from_rule, problem)
    named = [_with_type_hint(kind, document, problem) for _, problem in told.values()]
    return named[:limit]


def _with_type_hint(kind: str, document: object, problem: FieldProblem) -> FieldProblem:
    """Tell the author of `"state": "clarify"` that this word stands under `type`: the commonest slip of all."""
    if kind != "envelope" or problem.pointer != "/state" or not isinstance(document, dict):
        return problem
    word = document.get("state")
    if word not in load_schema(kind)["properties"]["type"]["enum"]:
        return problem
    return FieldProblem(
        problem.pointer,
        f'one of request, confirmed, final; for a {word} write "type": "{word}" and leave state out',
        problem.found,
    )


@lru_cache(maxsize=len(KINDS))
def _explainer(kind: str) -> Validator:
    from jsonschema import Draft202012Validator, FormatChecker, validators
    from referencing import Registry

    checker = FormatChecker(formats=())
    for name, check in FORMATS.items():
        checker.checks(name)(_on_texts(check))
    keywords = {name: _within_bounds(Draft202012Validator.VALIDATORS[name], bound) for name, bound in _BOUNDED.items()}
    extend: Any = validators.extend
    strict = extend(Draft202012Validator, {**keywords, "pattern": _check_pattern})
    return cast("Validator", strict(load_schema(kind), registry=Registry(), format_checker=checker))


def _on_texts(check: Any) -> Any:
    return lambda value: not isinstance(value, str) or check(value)


_BOUNDED = {
    "items": "maxItems",
    "properties": "maxProperties",
    "propertyNames": "maxProperties",
    "additionalProperties": "maxProperties",
}


def _within_bounds(check: Any, bound: str) -> Any:
    """Look into a list or an object only where it keeps its bound; else the broken bound is problem enough.

    Without this a hostile file of 200,000 recipients takes seconds to explain.
    """

    def checked(validator: Validator, value: Any, instance: Any, schema: Any) -> Iterator[ValidationError]:
        if not isinstance(instance, list | dict) or len(instance) <= schema.get(bound, len(instance)):
            yield from check(validator, value, instance, schema)

    return checked


def _check_pattern(_validator: Validator, pattern: str, instance: object, _schema: object) -> Iterator[ValidationError]:
    """Search as JavaScript and Rust do: Python's `$` would let one line end through."""
    from jsonschema.exceptions import ValidationError

    if isinstance(instance, str) and not _python_pattern(pattern).search(instance):
        yield ValidationError(f"does not match {pattern}")


@lru_cache(maxsize=256)
def _python_pattern(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern[:-1] + r"\Z" if pattern.endswith("$") else pattern)
