"""The schema files themselves: valid, described, bounded, self-contained."""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterator
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from ackd.errors import InvalidError
from ackd.resources import schema_dir
from ackd.schema import KINDS, accepts, load_schema, problems
from ackd.schema.source import FORMATS
from ackd.schema.words import SPOKEN

# The parser of `re` itself: how often something may repeat is not to be read off with another regular expression.
sre: Any = importlib.import_module("re._parser")

_CHILDREN_BY_NAME = ("properties", "$defs")
_CHILDREN = ("items", "additionalProperties", "propertyNames", "not", "if", "then", "else")
_CHILD_LISTS = ("allOf", "anyOf", "oneOf", "prefixItems")


def walk(schema: Any, path: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    """Give every subschema with its path."""
    if not isinstance(schema, dict):
        return
    yield path, schema
    for word in _CHILDREN_BY_NAME:
        for name, child in schema.get(word, {}).items():
            yield from walk(child, f"{path}/{word}/{name}")
    for word in _CHILDREN:
        yield from walk(schema.get(word), f"{path}/{word}")
    for word in _CHILD_LISTS:
        for number, child in enumerate(schema.get(word, ())):
            yield from walk(child, f"{path}/{word}/{number}")


def fields(kind: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Give the subschemas that say what a field is, without the rules that only add what some messages need."""
    for path, schema in walk(load_schema(kind)):
        if not re.search(r"/(allOf|anyOf|if|then|not)(/|$)", path):
            yield path, schema


def types(schema: dict[str, Any]) -> set[str]:
    """Give the types that a subschema names."""
    named = schema.get("type", [])
    return {named} if isinstance(named, str) else set(named)


@pytest.mark.parametrize("kind", KINDS)
class TestFile:
    """What holds of every schema file."""

    def test_satisfies_the_metaschema_and_names_itself(self, kind: str) -> None:
        """It is draft 2020-12, and its id ends in the name of its file."""
        schema = load_schema(kind)
        Draft202012Validator.check_schema(schema)
        assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
        assert schema["$id"] == f"https://ackd.dev/schemas/1.0/{kind}.schema.json"
        assert schema["title"]
        assert schema["description"].endswith(".")

    def test_its_examples_are_accepted(self, kind: str) -> None:
        """There is at least one example, and each satisfies the schema."""
        examples = load_schema(kind)["examples"]
        assert examples
        for example in examples:
            assert accepts(kind, example)
            assert problems(kind, example) == []

    def test_every_field_is_described(self, kind: str) -> None:
        """Editors show a description for every key."""
        for path, schema in fields(kind):
            for name, child in schema.get("properties", {}).items():
                assert child.get("description", "").endswith("."), f"{path}/{name}"

    def test_everything_is_bounded(self, kind: str) -> None:
        """Texts, lists, open objects and numbers have an upper bound, so that no file is read without end."""
        for path, schema in fields(kind):
            kinds = types(schema)
            if "string" in kinds:
                assert "maxLength" in schema, path
            if "array" in kinds:
                assert "maxItems" in schema, path
            if "object" in kinds:
                assert "maxProperties" in schema, path
            if kinds & {"number", "integer"}:
                assert -(2**53) < schema["minimum"] <= schema["maximum"] < 2**53, path

    def test_refers_to_nothing_outside(self, kind: str) -> None:
        """References stay in the file, so that nothing is ever fetched."""
        for path, schema in walk(load_schema(kind)):
            assert schema.get("$ref", "#/$defs/").startswith("#/$defs/"), path
            assert not {"$dynamicRef", "$anchor", "$dynamicAnchor"} & schema.keys(), path
            assert path == "" or "$id" not in schema, path

    def test_has_no_costly_keyword(self, kind: str) -> None:
        """Nothing that compares all items with all others or tries every branch against every branch."""
        for path, schema in walk(load_schema(kind)):
            assert not {"uniqueItems", "patternProperties", "unevaluatedProperties", "contains"} & schema.keys(), path

    def test_patterns_are_linear_and_ascii(self, kind: str) -> None:
        """No repeat within a repeat, at most one open repeat, ASCII classes, whole from ^ to $ or a single class."""
        for path, schema in walk(load_schema(kind)):
            pattern = schema.get("pattern")
            if pattern is None:
                continue
            assert pattern.isascii(), path
            assert not re.search(r"\\[dDwWsSbBpP]", pattern), path
            assert (pattern.startswith("^") and pattern.endswith("$")) or re.fullmatch(r"\[[^]]+\]", pattern), path
            assert open_repeats(sre.parse(pattern)) <= 1, path

    def test_formats_are_checked_by_both(self, kind: str) -> None:
        """Only formats that both validators check in the same way are used."""
        for path, schema in walk(load_schema(kind)):
            assert schema.get("format", "date") in FORMATS, path

    def test_every_keyword_can_be_explained(self, kind: str) -> None:
        """A keyword without words of its own has an `errorMessage`, and a rule has a title."""
        silent = {"not", "anyOf", "oneOf"}
        for path, schema in walk(load_schema(kind)):
            inside_condition = re.search(r"/(if|not|anyOf)(/|$)", path)
            if not inside_condition and silent & schema.keys():
                assert "errorMessage" in schema, path
            if "if" in schema:
                assert re.fullmatch(r"/allOf/\d+", path), path
                assert schema["title"], path
        assertions = {"type", "enum", "const", "format", "pattern", "required"}
        assert assertions <= SPOKEN

    def test_unknown_keys_are_kept(self, kind: str) -> None:
        """An object with a key that nobody knows is accepted: it is metadata."""
        for example in load_schema(kind)["examples"]:
            more = (
                [{**blip, "x-note": 1} for blip in example] if isinstance(example, list) else {**example, "x-note": 1}
            )
            assert accepts(kind, more)

    def test_a_document_may_name_its_schema(self, kind: str) -> None:
        """The key `$schema`, by which editors find the schema, is allowed and described."""
        schema = load_schema(kind)
        if kind in ("tech-radar", "ledger-entry"):  # a list has no keys; a ledger line is written by ackd alone
            return
        assert "$schema" in schema["properties"]
        assert accepts(kind, {**schema["examples"][0], "$schema": schema["$id"]})


def open_repeats(parsed: Any, inside: bool = False) -> int:
    """Count the repeats without a small upper bound; a repeat inside another one counts as two."""
    total = 0
    for operation, argument in parsed:
        name = str(operation)
        if "REPEAT" in name:
            _low, high, body = argument
            if high > 1:
                total += 2 if inside else high > 1000
            total += open_repeats(body, inside=inside or high > 1)
        elif name == "SUBPATTERN":
            total += open_repeats(argument[-1], inside)
        elif name == "BRANCH":
            total += max(open_repeats(branch, inside) for branch in argument[1])
    return total


def test_every_file_has_its_kind() -> None:
    """The folder holds the known kinds and no other."""
    assert {path.name for path in schema_dir().iterdir()} == {f"{kind}.schema.json" for kind in KINDS}


def test_an_unknown_kind_is_named() -> None:
    """Asking for another kind says which there are."""
    for ask in (load_schema, lambda kind: accepts(kind, {}), lambda kind: problems(kind, {})):
        with pytest.raises(InvalidError) as raised:
            ask("../envelope")
        assert "tech-radar" in raised.value.hint


@pytest.mark.parametrize("pattern", ["^(a+)+$", "^a*a*$"])
def test_the_test_of_patterns_finds_a_bad_one(pattern: str) -> None:
    """The check above does catch patterns that explode."""
    assert open_repeats(sre.parse(pattern)) > 1
