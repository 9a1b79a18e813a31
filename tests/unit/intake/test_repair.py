"""Repairs of refused files: what anybody would put right without asking, and nothing that takes a guess."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest

from ackd.intake.decode import Whole, decode
from ackd.intake.encodings import NoText, Text, read_text
from ackd.intake.repair import MAX_BYTES, NoRepair, Repaired, repair
from ackd.intake.scrub import Doubt, scrub
from ackd.schema.source import load_schema

ENVELOPE: dict[str, Any] = {
    "state": "request",
    "ack_id": "油价周报-v1",
    "from": "zoe",
    "to": ["macro", "trading"],
    "action": "看 https://example.org/报告 // 第三节, 写一页, # 不要附件 /* 真的 */",
    "body": 'list: [a, b,] and {"c": 1,} ```',
}
LINES = json.dumps(ENVELOPE, ensure_ascii=False, indent=2)
FLAT = json.dumps(ENVELOPE, ensure_ascii=False)
LIST_END = '"trading"\n  ]'
LAST = '```"\n}'


def repaired(text: str | bytes) -> Repaired:
    """Repair what must be repairable."""
    found = repair(text.encode() if isinstance(text, str) else text)
    assert isinstance(found, Repaired), found
    return found


def refused(text: str | bytes) -> str:
    """Give the reason why there is no repair."""
    found = repair(text.encode() if isinstance(text, str) else text)
    assert isinstance(found, NoRepair), found
    return found.reason


def with_lines(**changed: Any) -> str:
    """Give the envelope with some keys changed, as a text of several lines."""
    return json.dumps(ENVELOPE | changed, ensure_ascii=False, indent=2)


# What is repaired.


@pytest.mark.parametrize(
    ("text", "change"),
    [
        (f"```json\n{LINES}\n```\n", "the code fence around the object was taken out"),
        (f"```\n{LINES}\n```", "the code fence around the object was taken out"),
        (f"~~~~ json5\r\n{FLAT}\r\n~~~~", "the code fence around the object was taken out"),
        (f"```json {FLAT} ```", "the code fence around the object was taken out"),
        (f"\n  ```JSON\n{FLAT}```", "the code fence around the object was taken out"),
        (f"````\n{LINES}\n`````\n", "the code fence around the object was taken out"),
        (f"```json\n{LINES}\n", "the code fence around the object was taken out"),
        (
            f"好的，信封如下：\n\n```json\n{LINES}\n```\n还需要别的吗？",
            "the code fence and the text around it were taken out",
        ),
        (f"# Envelope [1]\n```json\n{LINES}\n```", "the code fence and the text around it were taken out"),
        (f"```json\n{LINES}\n```\n`zoe` asked.", "the code fence and the text around it were taken out"),
        (LINES.replace(LIST_END, '"trading",\n  ]'), "a comma before the closing bracket was taken out (line 7)"),
        (LINES.replace(LAST, '```",\n}'), "a comma before the closing bracket was taken out (line 10)"),
        (
            LINES.replace(LIST_END, '"trading" , ]').replace(LAST, '```",}'),
            "2 commas before closing brackets were taken out (lines 7 and 9)",
        ),
        (f"// 给 macro\n{LINES}", "a comment was taken out (line 1)"),
        (LINES.replace('"zoe",', '"zoe", // that is "me"'), "a comment was taken out (line 4)"),
        (LINES.replace("{\n", '{\n  # "from": "macro",\n'), "a comment was taken out (line 2)"),
        (LINES.replace(": [\n", ': /* "x": 1,\n who */ [\n'), "a comment was taken out (line 5)"),
        (f"{LINES}\n// done // really", "a comment was taken out (line 12)"),
        (LINES.replace("\n", " // x\n"), "10 comments were taken out (lines 1, 2, 3, 4, 5 and 5 more)"),
        (f"[{FLAT}]", "the object was taken out of a list of one"),
        (f"\n[\n{LINES}\n]\n", "the object was taken out of a list of one"),
        ("\ufeff\ufeff" + LINES, "the byte order marks at its beginning were taken out"),
    ],
)
def test_what_is_no_json_and_means_nothing_is_taken_out(text: str, change: str) -> None:
    """A fence, prose around it, trailing commas, comments, a list of one: the envelope comes back as it was meant."""
    assert repaired(text) == Repaired(ENVELOPE, (change,))


def test_several_repairs_are_all_told_in_the_order_of_the_work() -> None:
    """UTF-16 around a fence around a list around comments, commas and `ackId`: each has its sentence."""
    inner = LINES.replace('"ack_id"', '"ackId"').replace(LIST_END, '"trading", // both\n  ]')
    text = f"Here you are:\n```json\n[\n{inner},\n]\n```"
    assert repaired(text.encode("utf-16")) == Repaired(
        ENVELOPE,
        (
            "the file was UTF-16 and is now UTF-8",
            "the object was taken out of a list of one",
            "the code fence and the text around it were taken out",
            "a comment was taken out (line 10)",
            "2 commas before closing brackets were taken out (lines 10 and 14)",
            'the key "ackId" is now "ack_id"',
        ),
    )


@pytest.mark.parametrize("codec", ["utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-32-le", "utf-32-be", "gb18030"])
@pytest.mark.parametrize("form", [LINES, "\n\t" + FLAT, f"[{FLAT}]"])
def test_another_encoding_is_repaired(codec: str, form: str) -> None:
    """UTF-16 and UTF-32 in either byte order, with and without a mark, and GB18030 become UTF-8."""
    name = codec.upper().removesuffix("-LE").removesuffix("-BE")
    found = repaired(form.encode(codec))
    assert found.document == ENVELOPE
    assert found.changes[0] == f"the file was {name} and is now UTF-8"


@pytest.mark.parametrize(
    "text",
    ["出策略", "减仓", "周报", "请给出下周仓位建议", "“完成”——共 ３ 项…… 🙂", "不要和朱镕基的鬱混淆", "利率决定"],
)
def test_short_chinese_texts_are_read_as_gb18030(text: str) -> None:
    """Two characters may be enough; emoji and full-width signs are read; what lies outside the common set is left."""
    data = with_lines(ack_id="q1", action=text, body="x").encode("gb18030")
    if "镕" in text:
        assert refused(data) == "a byte is not UTF-8, and no other encoding is certain"
    else:
        assert repaired(data).document["action"] == text


@pytest.mark.parametrize(
    ("text", "codec"),
    [
        ("Prüfe die Zahlen für Zürich", "cp1252"),
        ("naïve café déjà", "latin-1"),
        ("Проверь цифры за неделю", "cp1251"),
        ("下週策略報告", "big5"),
        ("来週の方針を書く", "euc_jp"),
        ("来週の方針を書く", "shift_jis"),
        ("다음 주 전략을 한 장으로 써 주세요", "euc_kr"),
        ("보고서", "euc_kr"),
        ("€ 5", "gb18030"),
        ("，。", "gb18030"),
    ],
)
def test_an_encoding_that_is_not_certain_is_left(text: str, codec: str) -> None:
    """Western, Cyrillic, Japanese, Korean and Taiwanese encodings are never read as mainland Chinese ones."""
    data = with_lines(ack_id="q1", action=text, body="x").encode(codec)
    assert refused(data) == "a byte is not UTF-8, and no other encoding is certain"


def test_a_utf8_file_with_a_fault_is_not_read_as_another_encoding() -> None:
    """One byte that is lost in a Chinese text makes it no GB18030, and one in UTF-16 no text at all."""
    data = with_lines(action="中文" * 20).encode()
    at = data.index("文".encode())
    assert isinstance(read_text(data[:at] + data[at + 1 :]), NoText)
    assert refused(LINES.encode("utf-16")[:-1]) == "it begins as UTF-16, but not all of it is UTF-16"
    assert refused(LINES.encode() + b"\0") == "it holds NUL characters"
    assert read_text("\ufeff中".encode()) == Text("中", "")


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        *(("ackId", "ack_id"), ("ack-id", "ack_id"), ("AckID", "ack_id"), ("ack id", "ack_id"), ("ACK_ID", "ack_id")),
        *(("From", "from"), (" from", "from"), ("to ", "to"), ("TO", "to"), ("Action", "action"), ("State", "state")),
    ],
)
def test_a_key_of_another_spelling_is_renamed(written: str, meant: str) -> None:
    """Case, `_`, `-` and spaces make no other key; the order of the keys stays."""
    text = LINES.replace(f'"{meant}"', f'"{written}"')
    found = repaired(text)
    assert found == Repaired(ENVELOPE, (f'the key "{written}" is now "{meant}"',))
    assert list(found.document) == list(ENVELOPE)


def test_only_keys_of_the_envelope_itself_are_renamed() -> None:
    """Unknown keys stay, and keys inside of data and metadata are nobody's spelling but their author's."""
    extra = {"Ticker": "BRENT", "data": {"ackId": 1, "From": 2}, "metadata": {"To": "x"}}
    assert repaired(f"/* x */ {with_lines(**extra)}").document == ENVELOPE | extra


def test_every_key_of_the_envelope_has_a_spelling_of_its_own() -> None:
    """No two keys of the schema differ in case, `_` and `-` alone; with that each is found by its camel case."""
    names = list(load_schema("envelope")["properties"])
    assert len({name.replace("_", "") for name in names}) == len(names)
    for name in ("in_reply_to", "message_id", "retry_of", "report_to", "protocol_version", "sent_at"):
        first, *more = name.split("_")
        camel = first + "".join(part.title() for part in more)
        assert repaired(with_lines(**{camel: "1"}) + "//").document == ENVELOPE | {name: "1"}


def test_a_type_under_state_moves_to_type() -> None:
    """`{"state": "clarify"}` is a clarify, also when `type` says the same."""
    question = {"ack_id": "q1", "from": "macro", "question": "香港也算吗？"}
    clarify = {"type": "clarify", **question}
    moved = repaired(json.dumps({"state": "clarify", **question}))
    assert moved == Repaired(clarify, ('"clarify" stands under "type" now: it is a type of message and no state',))
    assert list(moved.document) == list(clarify)
    both = repaired(json.dumps({"State": "clarify", "type": "clarify", **question}))
    assert both.document == clarify
    assert len(both.changes) == 2
    assert "contradict" in refused(json.dumps({"state": "clarify", "type": "answer", **question}))
    assert "/state" in refused(json.dumps({"state": "Clarify", **question}))
    assert "/state" in refused(json.dumps({"state": "thanks", **question}))


def test_raw_tabs_and_line_breaks_in_a_string_are_written_as_escapes() -> None:
    """The value stays letter by letter; places behind it stay the lines of the file."""
    body = json.dumps(ENVELOPE["body"], ensure_ascii=False)
    found = repaired(LINES.replace(body, '"一、\n二、\\\\\n\n`\\n`\t.",'))
    assert found.document == ENVELOPE | {"body": "一、\n二、\\\n\n`\n`\t."}
    assert found.changes == (
        "a comma before the closing bracket was taken out (line 13)",
        "a tab in a string is now written \\t (line 10)",
        "3 line breaks in strings are now written \\n (line 10)",
    )


@pytest.mark.parametrize(
    "body",
    ["one\r\ntwo", "one\n  two", "one\n\ttwo", "one\\\ntwo", "one\\\ttwo", "one\x01two", "one\rtwo"],
)
def test_a_string_whose_value_is_not_clear_is_left(body: str) -> None:
    """An indent or a CRLF may be the file's and not the text's; no control character is meant."""
    assert refused(LINES.replace('"zoe"', f'"zoe", "context": "{body}"'))


# What is not.


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (f"{LINES}\n{FLAT}", "a second object follows the object (line 12)"),
        (f"[{FLAT},\n{FLAT}]", "the top level is a list that does not hold exactly one object"),
        (f"[{FLAT}, 1]", "the top level is a list that does not hold exactly one object"),
        (f"[[{FLAT}]]", "the top level is a list that does not hold exactly one object"),
        (f"[{FLAT},,]", "the top level is a list that does not hold exactly one object"),
        (f"[{FLAT}}}", "the top level is a list that does not hold exactly one object"),
        ("[]", "it holds no object"),
        ("抱歉，我不能创建这个文件。", "it holds no object"),
        ('"{}"', "something else stands where the object should begin (line 1)"),
        (LINES[:-2], "it ends before the object does"),
        (LINES[:-2] + ",", "it ends before the object does"),
        (f"```json\n{LINES[:-2]}\n```", "a closing bracket is missing"),
        (f"// x\n{LINES[:-2]}", "a closing bracket is missing"),
        (f"```json\n{LINES}\n```\n```json\n{LINES}\n```", "there is more than one code fence"),
        (f"```json\n{LINES}\n{FLAT}\n```", "something follows the object in the code fence (line 13)"),
        (f"```json\n{LINES}\n```\n{FLAT}", "braces stand outside the code fence too"),
        (f"{FLAT}\n```json\n{LINES}\n```", "something else follows the object (line 2)"),
        (f"```sh\nackd status\n```\n```json\n{LINES}\n```", "something else stands where"),
        (f"````json\n{LINES}\n```", "something follows the object in the code fence"),
        (f"[\n```json\n{LINES}\n```\n]", "the code fence stands inside something else"),
        (f"Here it is: {FLAT}", "something else stands where the object should begin (line 1)"),
        (f"{LINES}\nAnything else?", "something else follows the object (line 12)"),
        (LINES.replace('"from"', '"state": "final", "from"'), 'the key "state" stands twice in one object (line 4)'),
        (
            LINES.replace('"from": "zoe"', '"from": "zoe", "From": "macro"'),
            'the keys "from" and "From" both mean "from"',
        ),
        (LINES.replace('"ack_id"', '"ackId": "x", "Ack-ID"'), 'the keys "ackId" and "Ack-ID" both mean "ack_id"'),
        (LINES.replace('"from"', '"fromm"'), "/from: needed: from"),
        (LINES.replace('"from"', '"fr\u043em"'), "/from: needed: from"),
        (LINES.replace(LIST_END, '"trading",,]'), "(line 7)"),
        (LINES.replace('"macro",', ","), "(line 6)"),
        (LINES.replace('[\n    "macro",\n    "trading"\n  ]', "[,]"), "(line 5)"),
        (LINES.replace('"zoe"', '"zoe", "data": [,]'), "a comma stands where"),
        (LINES.replace('"zoe"', '"zoe", "data": {,}'), "a comma stands where"),
        (LINES.replace('"zoe"', '"zoe", "data": {"a": ,}'), "a comma stands where"),
        (f"[,{FLAT}]", "the top level is a list that does not hold exactly one object"),
        (LINES.replace('"zoe",', '"zoe"'), "(line 5)"),
        (LINES.replace('"zoe"', "zoe"), "(line 4)"),
        (LINES.replace('"zoe"', "'zoe'"), "(line 4)"),
        (LINES.replace('"zoe"', "“zoe”"), "(line 4)"),
        (LINES.replace('"zoe",', '"zoe,'), "(line 4)"),
        (LINES.replace('"zoe",', '"zoe", // 我 "to": "macro",'), "a comment may hold a part of the object (line 4)"),
        (LINES.replace('"zoe",', '"zoe", // \u2028'), "it is not clear where a comment ends (line 4)"),
        (f"{LINES} /* done", "a comment is not closed (line 11)"),
        (f"// x\n{LINES[:-4]}", "a string is not closed (line 11)"),
        (f"{LINES}\n<<<<<<< HEAD\n", "git left conflict markers in it (line 12)"),
        (f"```json\n<<<<<<< HEAD\n{LINES}\n```", "git left conflict markers in it (line 2)"),
        (with_lines(**{"from": "a b"}) + "//", "a comment was taken out (line 11); it is still no envelope: /from"),
        (with_lines(to=None) + "//", "/to"),
        (with_lines(ack_id="con") + "//", 'ack_id "con" is a device name on Windows'),
        ('{"深": ' + "[" * 70 + "]" * 70 + ",}", "deeper than 64"),
        (LINES, "it is an envelope as it stands"),
        ("\ufeff" + LINES, "it is an envelope as it stands"),
        ("", "it ends before the object does"),
        (" " * MAX_BYTES + FLAT, "more than 1048576"),
    ],
)
def test_what_could_be_meant_otherwise_is_left_with_a_reason(text: str, reason: str) -> None:
    """Two objects, a missing bracket, a key twice, contradictions, prose without a fence, and what needs no repair."""
    assert reason in refused(text)


def test_a_reason_shows_no_content() -> None:
    """A file that is none of ours, linked into the tree, is not quoted."""
    secret = 'root:x:0:0 {"token": "s3cret", "token2": s3cret}'
    for text in (secret, f"```\n{secret}\n```", f"```\n{secret[11:]}\n```", f"//\n{secret[11:]}", '{"a": "s3cret",}'):
        assert "s3cret" not in refused(text)
    key = refused('{"a\u202e\n": 1, "a\u202e\n": 2}'.replace("\n", "\\n"))
    assert "\u202e" not in key
    assert "\n" not in key


# What the repair gives.


def test_the_repaired_file_is_taken() -> None:
    """Its bytes decode to the document, end in a line break, and need no repair; a large one is not indented."""
    for extra in ({}, {"body": "长" * 100_000}, {"data": [[[[[[[[1] * 8]]]]]]] * 4000}):
        found = repaired(f"```\n{json.dumps(ENVELOPE | extra)}\n```")
        data = found.to_bytes()
        assert data.endswith(b"\n")
        assert decode(data) == Whole(ENVELOPE | extra)
        assert refused(data) == "it is an envelope as it stands"
        assert (b'{\n  "state"' in data) == (len(data) < 65536)


def test_a_repair_that_would_be_too_large_to_be_taken_is_not_offered() -> None:
    """UTF-16 holds a Chinese character in two bytes and UTF-8 in three."""
    data = with_lines(data=["长" * 1000] * 400).encode("utf-16")
    assert len(data) < MAX_BYTES
    assert refused(data) == "written as UTF-8 it has more than 1048576 bytes"


@pytest.mark.parametrize(
    "piece",
    [
        *(
            "/*",
            "//\n",
            "#\r",
            '#":\r',
            '# x\n "a":',
            '"',
            '"\\',
            "[",
            "{",
            ",",
            "[,",
            "/**/",
            "```\n",
            "~~~",
            " ",
            "\n",
        ),
        *('{"a":1,},', '"\n"', '"a\t",', "长", "\\u0041", '{"From":1,"from":2},', "\t\n", "1"),
    ],
)
@pytest.mark.parametrize("head", ["", "{", "```\n[", '{"a":['])
def test_hostile_texts_take_no_long_time(head: str, piece: str) -> None:
    """Whatever is repeated: an answer soon, where quadratic work would take minutes."""
    data = (head + piece * (131072 // len(piece))).encode()
    start = time.process_time()
    assert isinstance(repair(data), NoRepair)
    assert time.process_time() - start < 3


def test_scrub_keeps_every_line_in_its_place() -> None:
    """What is taken out leaves its line breaks, so that a fault that remains is told with the line of the file."""
    text = f"see:\n```json\n/* a\nb */ {LINES}\n```"
    found = scrub(text)
    assert not isinstance(found, Doubt)
    assert [n for n, line in enumerate(found.text.split("\n"), 1) if '"zoe"' in line] == [
        n for n, line in enumerate(text.split("\n"), 1) if '"zoe"' in line
    ]
