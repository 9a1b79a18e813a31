"""The decoder over anything: it never raises, a cut object only waits, and both of its paths agree."""

from __future__ import annotations

import json

from hypothesis import example, given, settings
from hypothesis import strategies as st

from ackd.intake.decode import Bad, Conflict, Open, Whole, decode
from ackd.intake.syntax import MAX_INTEGER, brackets_close, explain, too_deep

texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=12)
scalars = (
    st.none()
    | st.booleans()
    | st.integers(-MAX_INTEGER, MAX_INTEGER)
    | st.floats(allow_nan=False, allow_infinity=False)
    | texts
)
values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3), max_leaves=12
)
objects = st.dictionaries(texts, values, max_size=4)
pieces = st.sampled_from(
    [
        *(
            '{"a":',
            "{",
            "}",
            "[",
            "]",
            '"',
            ",",
            ":",
            "1",
            "-",
            "1e5",
            "true",
            "nul",
            "\\",
            "\\u00",
            "\\ud83d",
            "\\ude42",
        ),
        *(
            "中",
            "🙂",
            "\n",
            " ",
            "<<<<<<< HEAD\n",
            "```",
            "//",
            "'",
            "NaN",
            "-Infinity",
            "\0",
            "\ufeff",
            "é",
            "“",
            "：",
            "x",
        ),
    ]
)


@given(st.binary(max_size=60) | st.lists(pieces, max_size=14).map(lambda parts: "".join(parts).encode()))
@settings(max_examples=600)
@example(b'{"a":1e400')
@example("\ufeff\ufeff{}".encode())
def test_any_bytes_have_an_outcome(data: bytes) -> None:
    """Whatever the bytes: one of the four outcomes, and a fault lies within the text."""
    found = decode(data)
    assert isinstance(found, Whole | Open | Conflict | Bad)
    if isinstance(found, Bad):
        assert found.line >= 1
        assert found.column >= 1
        assert 0 <= found.position <= len(data)
    if isinstance(found, Whole):
        assert json.dumps(found.value, ensure_ascii=False, allow_nan=False).encode()


@given(objects, st.booleans(), st.sampled_from([None, 1]), st.sampled_from(["", "\ufeff"]), st.data())
@settings(max_examples=400)
def test_a_strict_prefix_of_an_object_is_open(
    value: dict[str, object], ascii_only: bool, indent: int | None, mark: str, data: st.DataObject
) -> None:
    """An object is whole; every strict prefix of its bytes, wherever it is cut, waits."""
    whole = (mark + json.dumps(value, ensure_ascii=ascii_only, indent=indent)).encode()
    assert decode(whole) == Whole(value)
    cut = data.draw(st.integers(0, len(whole) - 1))
    assert isinstance(decode(whole[:cut]), Open)


def test_all_prefixes_of_one_envelope_are_open() -> None:
    """Byte by byte, for a text with every kind of value, escape and width of character."""
    text = r'{"a": -1.5e-3, "b\u4e2d": [true, false, null, "\ud83d\ude42\n\"\\"], "c": {"é中🙂": 90071992}, "d": 0}'
    whole = text.encode()
    assert isinstance(decode(whole), Whole)
    assert [type(decode(whole[:cut])) for cut in range(len(whole))] == [Open] * len(whole)


@given(st.lists(pieces, max_size=14).map("".join))
@settings(max_examples=600)
def test_what_is_bad_stays_bad_and_the_two_paths_agree(text: str) -> None:
    """What is bad stays bad, whatever is appended; what is whole is neither open nor faulty to the slow path."""
    found = decode(text.encode())
    if isinstance(found, Bad) and found.text is not None:
        for more in ("}", '"}', "1}", "]}", "e-9}", ":1}", "x", "\\ude42", "null}"):
            assert not isinstance(decode((text + more).encode()), Whole | Open)
    if isinstance(found, Whole):
        fault = explain(text)
        assert fault is not None
        assert fault.code == "syntax"
        assert fault.position == len(text)
        assert brackets_close(text)


@given(st.integers(1, 90), st.booleans())
def test_depth_is_counted_the_same_by_both_scans(depth: int, lists: bool) -> None:
    """64 levels are whole, 65 are too deep, for objects and for lists in an object."""
    inner = (
        "[" * (depth - 1) + "]" * (depth - 1)
        if lists and depth > 1
        else '{"a":' * (depth - 1) + "1" + "}" * (depth - 1)
    )
    text = f'{{"a":{inner}}}'
    found = decode(text.encode())
    assert too_deep(text) == (depth > 64)
    assert isinstance(found, Whole) == (depth <= 64)
    if depth > 64:
        assert isinstance(found, Bad)
        assert found.code == "too-deep"
