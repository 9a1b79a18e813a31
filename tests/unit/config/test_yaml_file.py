"""YAML as a configuration may be written: what stands in the file is what is meant, and nothing else gets in."""

from __future__ import annotations

from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from ackd.config.yaml_file import MAX_BYTES, read_yaml
from ackd.errors import InvalidError


def read(text: str | bytes) -> Any:
    """Read a document named conf.yaml."""
    return read_yaml(text.encode() if isinstance(text, str) else text, name="conf.yaml")


@pytest.mark.parametrize(
    "word",
    [
        *("no", "yes", "on", "off", "y", "n", "No", "True", "FALSE", "Null", "NULL"),
        *("12:30", "12:30:00", "010", "0o7", "0x1F", "1_000", "+1", "1.", ".5", "1e3", ".inf", ".nan"),
        *("2026-03-08", "2026-03-08T14:30:00Z", "=", "<<", "12345678901234567890", "不", "是"),
    ],
)
def test_words_times_and_dates_stay_text(word: str) -> None:
    """Nothing but true, false, null and plain decimals is anything else than the text that stands there."""
    assert read(f"a: {word}\nb: [{word}]") == {"a": word, "b": [word]}


@pytest.mark.parametrize(
    ("written", "value"),
    [
        *(("true", True), ("false", False), ("null", None), ("~", None), ("", None)),
        *(("0", 0), ("7", 7), ("-12", -12), ("1.5", 1.5), ("-0.25", -0.25), ("'7'", "7"), ('"true"', "true")),
    ],
)
def test_json_values_are_read(written: str, value: object) -> None:
    """JSON's own values are values, and in quotes they are texts."""
    found = read(f"a: {written}")["a"]
    assert found == value
    assert type(found) is type(value)


def test_keys_are_always_text() -> None:
    """A key is the text that stands there, whatever it looks like."""
    assert read("1: a\ntrue: b\n010: c\n~: d\n王: e") == {"1": "a", "true": "b", "010": "c", "~": "d", "王": "e"}


def test_a_merge_key_is_a_key_like_any_other() -> None:
    """`<<` merges nothing."""
    assert read("<<: {a: 1}\nb: 2") == {"<<": {"a": 1}, "b": 2}


def test_nothing_is_null() -> None:
    """A file without content, or of comments only, is null."""
    assert read("") is None
    assert read("# nothing yet\n") is None


@pytest.mark.parametrize("mark", ["\ufeff", ""])
def test_a_byte_order_mark_is_taken(mark: str) -> None:
    """A BOM, as some editors write it, does not become part of the first key."""
    assert read(f"{mark}agents: 王") == {"agents": "王"}


@pytest.mark.parametrize(
    ("text", "line", "says"),
    [
        ("a: 1\nb: 2\na: 3", 3, "'a' stands here twice"),
        ("x:\n  a: 1\n  a: 1", 3, "twice"),
        ("1: a\n'1': b", 2, "twice"),
        ("a: 1\nb: &x 2", 2, "anchors are not taken"),
        ("a: &x [1]\nb: *x", 1, "anchors are not taken"),
        ("a: &x [*x]", 1, "anchors are not taken"),
        ("a: 1\nb: *x", 2, "aliases are not taken"),
        ("a: 1\nb: 2\n*x : 3", 3, "aliases are not taken"),
        ("a: 1\nb: !!int 010", 2, "tags are not taken"),
        ("a: !!binary aGk=", 1, "tags are not taken"),
        ("a: !!timestamp 2026-03-08", 1, "tags are not taken"),
        ("a: !!set {b, c}", 1, "tags are not taken"),
        ("a: 1\nb: !!python/object/apply:os.system [id]", 2, "tags are not taken"),
        ("a: !own 1", 1, "tags are not taken"),
        ("!!str a: 1", 1, "tags are not taken"),
        ("? [a, b]\n: 1", 1, "keys are plain words"),
        ("a: 1\n---\nb: 2", 2, "another document"),
        ("a: 1\n\nb: }", 3, ""),
        ("a: 1\n\tb: 2", 2, ""),
        ("a: 1\nb: x\x00y", 2, r'the character "\x00" is not taken'),
        ("王: 1\n# 山\nb: \x1b[2J", 3, r'the character "\x1b" is not taken'),
        ("[" * 60_000, 1, "nesting"),
    ],
)
def test_what_surprises_is_refused_with_its_line(text: str, line: int, says: str) -> None:
    """The message names file and line, in one line of text that steers no terminal; the hint says what to do."""
    with pytest.raises(InvalidError) as caught:
        read(text)
    assert caught.value.message.startswith(f"conf.yaml, line {line}: ")
    assert says in caught.value.message
    assert caught.value.message.isprintable()
    assert caught.value.hint == "correct conf.yaml and save it"


def test_aliases_of_aliases_never_grow() -> None:
    """A few lines that stand for a billion values are refused, however they are read."""
    bomb = "a: &a [x, x]\n" + "".join(f"{b}: &{b} [*{a}, *{a}]\n" for a, b in zip("abcdefgh", "bcdefghi", strict=True))
    with pytest.raises(InvalidError, match="anchors are not taken"):
        read(bomb)


def test_the_slow_loader_does_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where PyYAML lacks its C half, the same is taken and the same is refused."""
    monkeypatch.delattr(yaml, "CSafeLoader", raising=False)
    assert read("a: no\nb: 010\nc: {d: 12:30:00, e: [1, 2.5, true, ~]}") == {
        "a": "no",
        "b": "010",
        "c": {"d": "12:30:00", "e": [1, 2.5, True, None]},
    }
    for text, says in [("a: &x 1", "anchors"), ("a: *x", "aliases"), ("a: !!int 010", "tags"), ("a: 1\na: 2", "twice")]:
        with pytest.raises(InvalidError, match=says):
            read(text)
    with pytest.raises(InvalidError, match=r"conf\.yaml, line 2: the character"):
        read("a: 1\nb: \x00")


def test_what_is_not_utf8_is_refused_with_its_byte() -> None:
    """A file in another encoding is told where it stops to be UTF-8."""
    with pytest.raises(InvalidError, match=r"conf\.yaml is not UTF-8 at byte 3") as caught:
        read("a: 王".encode("gbk"))
    assert caught.value.hint == "save it as UTF-8"


def test_the_size_is_capped() -> None:
    """A file of the most bytes is read; one byte more and it is refused unread."""
    most = b"a: 1\n#" + b"x" * (MAX_BYTES - 6)
    assert read(most) == {"a": 1}
    with pytest.raises(InvalidError, match=f"has {MAX_BYTES + 1} bytes; at most {MAX_BYTES} are read"):
        read(most + b"x")


@given(st.one_of(st.binary(max_size=60), st.text("ab:-[]{}&*!?|>'\"%@#, \n\t<~王0", max_size=40)))
def test_any_bytes_are_read_or_refused(data: bytes | str) -> None:
    """Whatever stands there, it is either JSON's values or one InvalidError."""
    try:
        found, message = read(data), ""
    except InvalidError as error:
        found, message = None, error.message
    assert _is_json(found)
    assert not message or message.startswith("conf.yaml")


def _is_json(value: object) -> bool:
    if isinstance(value, dict):
        return all(isinstance(key, str) and _is_json(one) for key, one in value.items())
    if isinstance(value, list):
        return all(_is_json(one) for one in value)
    return value is None or type(value) in (str, int, float, bool)
