"""YAML as a configuration may be written: safe, typed, without aliases, of a bounded size (faults 58 to 60)."""

from __future__ import annotations

from typing import Any

from ackd.errors import InvalidError
from ackd.protocol.ids import shown

MAX_BYTES = 65_536


def read_yaml(data: bytes, *, name: str) -> Any:
    """Read one YAML document into JSON values.

    Words such as `no` and times such as `12:30` stay strings; only `true` and `false` are booleans, and numbers are
    plain decimals: what stands in the file is what is meant.

    Args:
        data: The bytes of the file; UTF-8, a BOM is taken.
        name: Path of the file, for messages.

    Raises:
        InvalidError: Too large, no UTF-8, no YAML, with tags, anchors, aliases or doubled keys; the message has the
            line.
    """
    import yaml

    if len(data) > MAX_BYTES:
        raise InvalidError(f"{name} has {len(data)} bytes; at most {MAX_BYTES} are read")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InvalidError(f"{name} is not UTF-8 at byte {error.start}", hint="save it as UTF-8") from None
    base = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        _refuse_surprises(text, base)
        loader = _loader(base)(text)
        try:
            return loader.get_single_data()
        finally:
            loader.dispose()
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = f", line {mark.line + 1}" if mark is not None else ""
        raise InvalidError(f"{name}{line}: {error.problem}", hint=f"correct {name} and save it") from None
    except yaml.reader.ReaderError as error:
        character = chr(error.character)
        number = text.count("\n", 0, max(0, text.find(character))) + 1
        problem = f"the character {shown(character)} is not taken"
        raise InvalidError(f"{name}, line {number}: {problem}", hint=f"correct {name} and save it") from None


def _refuse_surprises(text: str, base: Any) -> None:
    """Refuse aliases, anchors and tags before anything is built from them.

    Their events are looked at beforehand, because the C loader composes without asking a subclass: aliases of aliases
    would be a document of any size, or one that holds itself.
    """
    import yaml

    event: Any
    for event in yaml.parse(text, Loader=base):
        if isinstance(event, yaml.AliasEvent):
            problem = "aliases are not taken: write the value out"
        elif getattr(event, "anchor", None) is not None:
            problem = "anchors are not taken: write the value out where it is needed"
        elif getattr(event, "tag", None) is not None:
            problem = "tags are not taken: put a text in quotes instead"
        else:
            continue
        raise yaml.constructor.ConstructorError(None, None, problem, event.start_mark)


def _loader(base: Any) -> Any:
    """Make a loader class that takes JSON's types only and refuses what makes YAML surprising."""
    import yaml

    class Loader(base):  # type: ignore[misc]
        def construct_mapping(self, node: Any, deep: bool = False) -> Any:
            seen: set[str] = set()
            for key, _ in node.value:
                if not isinstance(key, yaml.ScalarNode):
                    raise yaml.constructor.ConstructorError(None, None, "keys are plain words", key.start_mark)
                if key.value in seen:
                    raise yaml.constructor.ConstructorError(
                        None, None, f"the key {key.value!r:.60} stands here twice", key.start_mark
                    )
                seen.add(key.value)
                key.tag = "tag:yaml.org,2002:str"
            return super().construct_mapping(node, deep)

    Loader.yaml_implicit_resolvers = {}
    import re

    Loader.add_implicit_resolver("tag:yaml.org,2002:bool", re.compile(r"(?:true|false)\Z"), list("tf"))
    Loader.add_implicit_resolver("tag:yaml.org,2002:null", re.compile(r"(?:null|~|)\Z"), ["n", "~", ""])
    Loader.add_implicit_resolver(
        "tag:yaml.org,2002:int", re.compile(r"-?(?:0|[1-9][0-9]{0,15})\Z"), list("-0123456789")
    )
    Loader.add_implicit_resolver(
        "tag:yaml.org,2002:float", re.compile(r"-?[0-9]{1,15}\.[0-9]{1,15}\Z"), list("-0123456789")
    )
    return Loader
