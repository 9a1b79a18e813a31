"""Strict decoding: whole, open, in conflict, or bad with a code and a place; and never content in the words."""

from __future__ import annotations

import json
import time

import pytest

from ackd.intake.decode import Bad, Conflict, Open, Whole, decode
from ackd.intake.syntax import explain, read_float, read_integer

ENVELOPE = {
    "state": "request",
    "ack_id": "周报-v1",
    "from": "zoe",
    "to": ["macro", "trading"],
    "action": "写下周策略 🙂",
}


def bad(data: bytes | str) -> Bad:
    """Decode what must be bad."""
    found = decode(data.encode() if isinstance(data, str) else data)
    assert isinstance(found, Bad), found
    return found


@pytest.mark.parametrize("ascii_only", [True, False])
def test_a_whole_object_is_whole(ascii_only: bool) -> None:
    """Chinese text and emoji come through, raw or as escapes, with any spacing, CRLF and a byte order mark."""
    text = json.dumps(ENVELOPE, ensure_ascii=ascii_only, indent=2)
    for form in (text, text.replace("\n", "\r\n"), f"\n\t {text}\r\n", "\ufeff" + text):
        assert decode(form.encode()) == Whole(ENVELOPE)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("{}", {}),
        ('{"a":9007199254740991,"b":-9007199254740991,"c":-0}', {"a": 2**53 - 1, "b": 1 - 2**53, "c": 0}),
        ('{"a":1.5e3,"b":1e-400,"c":[true,false,null]}', {"a": 1500.0, "b": 0.0, "c": [True, False, None]}),
        (r'{"a":"\\u0000 \\ud800 \ud83d\ude42 \u4e2d"}', {"a": r"\u0000 \ud800 🙂 中"}),
        ('{"a":{"a":1},"b":[{"a":1}]}', {"a": {"a": 1}, "b": [{"a": 1}]}),
        ('{"a":"<<<<<<< HEAD"}', {"a": "<<<<<<< HEAD"}),
        ('{"a":"[[[[' + "[" * 100 + '"}', {"a": "[[[[" + "[" * 100}),
        ("{" + ",".join(f'"k{n}":[]' for n in range(100)) + "}", {f"k{n}": [] for n in range(100)}),
    ],
)
def test_what_json_allows_and_all_readers_read_alike_is_whole(text: str, value: object) -> None:
    """The largest integers, small floats, pairs of surrogates, many brackets side by side."""
    assert decode(text.encode()) == Whole(value)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "text",
    [
        *(
            "",
            " ",
            "\n\t\r ",
            "{",
            '{"',
            '{"a',
            '{"a"',
            '{"a":',
            '{"a":1',
            '{"a":-',
            '{"a":1.',
            '{"a":1e',
            '{"a":1e+',
            '{"a":t',
        ),
        *(
            '{"a":fals',
            '{"a":null',
            '{"a":1,',
            '{"a":"x',
            '{"a":"x\\',
            '{"a":"\\u',
            '{"a":"\\u12',
            '{"a":"\\ud83d',
            '{"a":"x"',
        ),
        *(
            '{"a":"\\ud83d\\',
            '{"a":"\\ud83d\\u',
            '{"a":"\\ud83d\\udE4',
            '{"a":[',
            '{"a":[1',
            '{"a":[1,',
            '{"a":[]',
            '{"a":{}',
        ),
        *('{"a":99999999999999999999', '{"a":0e999', "{" + '"a":{' * 63),
    ],
)
def test_an_unfinished_object_is_open(text: str) -> None:
    """Empty, blank, or cut anywhere: it waits, and says how far it is."""
    assert decode(text.encode()) == Open(len(text))


def test_a_cut_within_a_character_is_open() -> None:
    """In a string, each strict part of a character's bytes is open; so is a part of a byte order mark."""
    for character in ("é", "中", "🙂"):
        whole = f'{{"a":"{character}'.encode()
        for cut in range(1, len(character.encode())):
            assert decode(whole[:-cut]) == Open(6)
    assert decode(b"\xef") == decode(b"\xef\xbb") == decode(b"\xef\xbb\xbf") == Open(0)


@pytest.mark.parametrize(
    "data", [b'{"a":\xe4\xb8', b'{"a":1}\xe4\xb8', b'{"a":"\\\xe4', b"\xe4\xb8", b'{"a":"\xed\xa0']
)
def test_a_part_of_a_character_where_none_may_stand_is_bad(data: bytes) -> None:
    """Outside a string no further byte could make it right."""
    assert bad(data).code == "not-utf-8"


@pytest.mark.parametrize(
    ("data", "code", "line", "column"),
    [
        (b'{"a":"\xff"}', "not-utf-8", 1, 7),
        ('{"a":\n"中文"}'.encode("gb18030"), "not-utf-8", 2, 2),
        (b'{"a":"\xed\xa0\x80"}', "not-utf-8", 1, 7),
        ('{"a":1}'.encode("utf-16"), "utf-16", 1, 1),
        ('{"a":1}'.encode("utf-16-le"), "utf-16", 1, 1),
        ('{"a":"中"}'.encode("utf-16-be"), "utf-16", 1, 1),
        ('{"a":1}'.encode("utf-32"), "utf-32", 1, 1),
        ('{"a":1}'.encode("utf-32-be"), "utf-32", 1, 1),
        (b"\0" * 64, "nul", 1, 1),
        (b'{"a":1}' + b"\0" * 20, "nul", 1, 8),
        (b'{"a":"\0"}', "nul", 1, 7),
        (b'{"a":\0}', "nul", 1, 6),
        (rb'{"a":"\u0000"}', "nul", 1, 7),
        (rb'{"\u0000":1}', "nul", 1, 3),
        (rb'{"a":"\ud800"}', "lone-surrogate", 1, 7),
        (rb'{"a":"\uDC00x"}', "lone-surrogate", 1, 7),
        (rb'{"a":"\ud800\ud800"}', "lone-surrogate", 1, 7),
        (rb'{"a":"\ud83d\u00', "lone-surrogate", 1, 7),
        (rb'{"a":"\x"}', "bad-escape", 1, 7),
        (rb'{"a":"\u12g4"}', "bad-escape", 1, 7),
        (b'{"a":"x\ny"}', "line-break", 1, 6),
        (b'{"a":"x\ty"}', "control-character", 1, 8),
        (b'{"a":NaN}', "not-finite", 1, 6),
        (b'{"a":[Infinity]}', "not-finite", 1, 7),
        (b'{"a":-Infinity}', "not-finite", 1, 6),
        (b'{"a":1e400}', "number-too-large", 1, 6),
        (b'{"a":-1.5e999', "number-too-large", 1, 6),
        (b'{"a":9007199254740992}', "number-too-large", 1, 6),
        (b'{"a":-9007199254740992}', "number-too-large", 1, 6),
        (b'{"a":' + b"1" * 5000 + b"}", "number-too-large", 1, 6),
        (b'{"a":0.' + b"1" * 5000 + b"}", "number-too-large", 1, 6),
        (b'{"a":01}', "syntax", 1, 6),
        (b'{"a":+1}', "syntax", 1, 6),
        (b'{"a":1,\n "a":2}', "duplicate-key", 2, 2),
        (rb'{"ack_id":1,"\u0061ck_id":2}', "duplicate-key", 1, 13),
        (b'{"x":{"a":1,"a":', "duplicate-key", 1, 13),
        (b'{"a":' * 65 + b"1" + b"}" * 65, "too-deep", 1, 321),
        (b'{"a":' + b"[" * 100_000, "too-deep", 1, 69),
        (b"[1]", "not-an-object", 1, 1),
        (b'[{"a":1}', "not-an-object", 1, 1),
        (b'\n "text"', "not-an-object", 2, 2),
        (b"12", "not-an-object", 1, 1),
        (b"null\n", "not-an-object", 1, 1),
        (b"NaN", "not-finite", 1, 1),
        (b'{"a":1}x', "trailing-garbage", 1, 8),
        (b'{"a":1}}', "trailing-garbage", 1, 8),
        (b'{"a":1}\n{"a":2}', "two-documents", 2, 1),
        (b'```json\n{"a":1}\n```', "fenced", 1, 1),
        (b'Here it is:\n```\n{"a":1}\n```', "fenced", 1, 1),
        (b'Here it is: {"a":1}', "prose", 1, 1),
        (b"I can't do that.", "not-json", 1, 1),
        (b"\xef\xbb\xbf# title", "comment", 1, 1),
        (b'{"a":1, // one\n"b":2}', "comment", 1, 9),
        (b'{"a":1 /* one */}', "comment", 1, 8),
        (b'{# one\n"a":1}', "comment", 1, 2),
        (b'{"a":1,}', "trailing-comma", 1, 7),
        (b'{"a":[1,\n]}', "trailing-comma", 1, 8),
        (b"{'a':1}", "single-quotes", 1, 2),
        ("{“a”:1}".encode(), "curly-quotes", 1, 2),
        ('{"a"：1}'.encode(), "fullwidth-punctuation", 1, 5),
        ('{"a":1，"b":2}'.encode(), "fullwidth-punctuation", 1, 7),
        (b'{"a":True}', "foreign-literal", 1, 6),
        (b'{"a":None}', "foreign-literal", 1, 6),
        (b'{"a":1 "b":2}', "syntax", 1, 8),
        (b'{"a" 1}', "syntax", 1, 6),
        (b'{"a":1]', "syntax", 1, 7),
        (b'{"a":,}', "syntax", 1, 6),
        (b"{,}", "syntax", 1, 2),
        (b'{"a":[}', "syntax", 1, 7),
        (b'{"a":truth}', "syntax", 1, 6),
        (b'{"a":x', "syntax", 1, 6),
        (b'{"a":1\x0c}', "syntax", 1, 7),
        ("{“中”：1}".encode(), "curly-quotes", 1, 2),
    ],
)
def test_what_can_never_be_right_is_bad_with_its_place(data: bytes, code: str, line: int, column: int) -> None:
    """Each fault has its own stable word, and line and column count characters from 1."""
    found = bad(data)
    assert (found.code, found.line, found.column) == (code, line, column)
    assert found.detail


def test_a_git_conflict_waits_for_a_person() -> None:
    """Markers at the start of a line are a conflict, also with CRLF or half written; in a string they are text."""
    text = '{\n<<<<<<< HEAD\n"a":1\n=======\n"a":2\n>>>>>>> topic\n}\n'
    assert decode(text.encode()) == decode(text.replace("\n", "\r\n").encode()) == Conflict(2)
    assert decode(text[:16].encode()) == Conflict(2)
    assert decode(b'{"a":\n"x<<<<<<< HEAD') == Open(20)


@pytest.mark.parametrize(
    ("text", "closed"),
    [
        *(
            ('{"a":1,}', True),
            ('{"a":True', False),
            ("```json\n{", False),
            ('```json\n{"a":1}\n```', True),
            ("prose", True),
        ),
        *(('{"a":"}"', None), ('{"a":x "}', False), ('{"a":x "}"}', True), ("[1,2", False)),
    ],
)
def test_a_bad_text_says_whether_more_of_it_may_be_coming(text: str, closed: bool | None) -> None:
    """`closed` follows the brackets outside strings."""
    found = decode(text.encode())
    assert (found.closed if isinstance(found, Bad) else None) == closed


def test_the_words_never_show_content() -> None:
    """A secret in any faulty place does not come back; the name of a duplicate key does, escaped and cut."""
    secret = "hunter2"
    for text in (
        secret,
        f"{{{secret}}}",
        f'{{"a":{secret}}}',
        f'{{"{secret}" 1}}',
        f'{{"a":"{secret}\n"}}',
        f'{{"a":1}}{secret}',
        f'["{secret}"]',
    ):
        assert secret not in bad(text).detail
    key = "k\x1b[2J\u202e" + "y" * 100
    found = bad(json.dumps({key: 1})[:-1] + "," + json.dumps({key: 2})[1:])
    assert "\\u001b[2J\\u202ey" in found.detail
    assert found.detail.isprintable()
    assert len(found.detail) < 160


def test_a_bad_text_keeps_what_a_repair_needs() -> None:
    """The decoded text and the position come along, without the byte order mark; other encodings have none."""
    found = bad(b'\xef\xbb\xbf{"a":1,}')
    assert found.text == '{"a":1,}'
    assert found.text[found.position] == ","
    assert bad(b'{"a":"\xff"}').text is None


@pytest.mark.parametrize(
    "data",
    [
        b'{"a":"' + b'\\"' * 500_000,
        b'{"a":' + b'"' * 1_000_001,
        b'{"a":' + b'"\\' * 500_000,
        b"[" * 1_000_000,
        b'{"a":[' + b"[]," * 300_000,
        b'{"a":' + b"1" * 1_000_000 + b"}",
        b'{"a":[' + b"1," * 500_000,
        b'{"a":' + b" " * 1_000_000,
        b"{" + b'"a":{},' * 140_000 + b"}",
        b"<<<<<<<x\n" * 110_000,
    ],
)
def test_a_megabyte_made_to_be_slow_takes_linear_time(data: bytes) -> None:
    """Nothing in a text of the largest size makes the decoder go back over it."""
    started = time.process_time()
    assert not isinstance(decode(data), Whole)
    assert time.process_time() - started < 5


def test_explaining_a_whole_object_still_gives_an_answer() -> None:
    """Asked about a valid text, the slow path finds a fault at its end rather than calling it open."""
    fault = explain('{"a":1}')
    assert fault is not None
    assert (fault.code, fault.position) == ("syntax", 7)


def test_numbers_are_converted_within_bounds_only() -> None:
    """The digits are counted before they are converted."""
    assert read_integer("-9007199254740991") == 1 - 2**53
    assert read_integer("9" * 100_000) is None
    assert read_float("1e308") == 1e308
    assert read_float("1e309") is None
    assert read_float("0." + "1" * 1000) is None
