"""Yes or no, on the way of every drop: the schemas compiled once by jsonschema-rs."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

from ackd.schema.source import FORMATS, KINDS, load_schema

if TYPE_CHECKING:
    from jsonschema_rs import Draft202012Validator


def accepts(kind: str, document: object) -> bool:
    """Tell whether a document satisfies the schema of its kind.

    Args:
        kind: One of `KINDS`.
        document: What a JSON decoder gave. A value that JSON cannot carry (a lone surrogate, a date) satisfies no
            keyword that looks at it; where none does, it is the decoder's to refuse it.

    Raises:
        InvalidError: There is no such kind.
    """
    validator = _compiled(kind)
    try:
        return validator.is_valid(document)
    except ValueError:  # jsonschema-rs cannot take the value in; a UnicodeEncodeError is one too
        return False


def is_storable(kind: str, document: object) -> bool:
    """Tell whether the values that the schema looks at are ones that JSON in UTF-8 can carry."""
    validator = _compiled(kind)
    try:
        validator.is_valid(document)
    except ValueError:
        return False
    return True


@lru_cache(maxsize=len(KINDS))
def _compiled(kind: str) -> Draft202012Validator:
    from jsonschema_rs import Draft202012Validator, RegexOptions

    return Draft202012Validator(
        load_schema(kind),
        formats=FORMATS,
        validate_formats=True,
        pattern_options=RegexOptions(),  # the engine without backtracking: linear in the text, or it does not compile
        retriever=_fetch_nothing,
    )


def _fetch_nothing(uri: str) -> Any:
    raise LookupError(f"a schema refers to {uri}; nothing is ever fetched")
