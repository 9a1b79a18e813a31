"""Repairs over anything: damage that is certain is undone exactly, no bytes raise, and no string changes its value."""

from __future__ import annotations

import json
import re
from typing import Any

from hypothesis import example, given, settings
from hypothesis import strategies as st

from ackd.intake.decode import Bad, Whole, decode
from ackd.intake.repair import NoRepair, Repaired, repair
from ackd.schema import accepts

# Texts full of what a careless repair would take for a comment, a fence or a trailing comma.
traps = st.sampled_from(
    ["//", "#", "/*", "*/", ",]", ",}", "```", "\n```\n", '"', "\\", "\t", "{", "[1,]", "中文", "🙂", " "]
)
words = st.lists(traps | st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=4))
texts = words.map("".join)
said = texts.map(lambda text: "x" + text)
scalars = st.none() | st.booleans() | st.integers(-(2**53) + 1, 2**53 - 1) | texts
values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3), max_leaves=6
)
names = st.sampled_from(["zoe", "macro", "交易", "quant-2"])
extras = st.fixed_dictionaries(
    {},
    optional={
        "dri": names,
        "body": texts,
        "data": values,
        "in_reply_to": st.just("m-1"),
        "message_id": st.just("m-2"),
        "x_未知": values,
    },
)
heads = st.one_of(
    st.fixed_dictionaries({"state": st.just("request"), "to": st.lists(names, min_size=1, max_size=3), "action": said}),
    st.fixed_dictionaries({"state": st.just("final"), "conclusion": said}),
    st.fixed_dictionaries({"type": st.just("clarify"), "question": said}),
    st.fixed_dictionaries({"type": st.just("handoff"), "to": names, "reason": said}),
)
envelopes = st.builds(
    lambda head, sender, extra: head | {"ack_id": "油价-v1", "from": sender} | extra, heads, names, extras
)

blanks = st.sampled_from(["", " ", "\n", "\r\n", "\t"])
comments = st.sampled_from(
    ["/* a */", '/* "b": 2, ] } */', "// c\n", "# d ```\n", "/**/", "/* x\ny // z */", "// 'e\r\n"]
)


class Damage:
    """Writes an envelope as JSON, with the damage that was drawn between its tokens and around it."""

    def __init__(self, data: st.DataObject) -> None:
        self._data = data
        self._kinds = data.draw(
            st.sets(st.sampled_from(["comments", "commas", "tabs", "keys", "state"])), label="kinds"
        )

    def _draw(self, strategy: st.SearchStrategy[Any]) -> Any:
        return self._data.draw(strategy)

    def gap(self) -> str:
        """Give what stands between two tokens."""
        found: str = self._draw(blanks)
        return found + self._draw(st.just("") | comments) if "comments" in self._kinds else found

    def string(self, text: str) -> str:
        """Write a string; a tab in it may stay a raw one."""
        written = json.dumps(text, ensure_ascii=self._draw(st.booleans()))
        return (
            re.sub(r"(\\.)", lambda one: "\t" if one[1] == "\\t" else one[1], written)
            if "tabs" in self._kinds
            else written
        )

    def value(self, value: object) -> str:
        """Write any value."""
        if isinstance(value, str):
            return self.string(value)
        if isinstance(value, list):
            return self._bracket("[]", [self.value(one) for one in value])
        if isinstance(value, dict):
            return self._bracket("{}", [self._member(key, one) for key, one in value.items()])
        return json.dumps(value)

    def envelope(self, document: dict[str, Any]) -> str:
        """Write the envelope itself, whose keys may be spelled otherwise, and whose type may stand under state."""
        spelled = {}
        for key, value in document.items():
            name = "state" if "state" in self._kinds and key == "type" else key
            if "keys" in self._kinds and not key.startswith("x_"):
                name = self._spelling(name)
            spelled[name] = value
        return self.value(spelled)

    def _spelling(self, key: str) -> str:
        forms = (
            *(key, key.upper(), key.title(), key.replace("_", "-"), key.replace("_", " "), key.replace("_", "")),
            *(f" {key}", f"{key} ", "".join(part.title() for part in key.split("_"))),
        )
        found: str = self._draw(st.sampled_from(forms))
        return found

    def _member(self, key: str, value: object) -> str:
        return f"{self.string(key)}{self.gap()}:{self.gap()}{self.value(value)}"

    def _bracket(self, marks: str, parts: list[str]) -> str:
        comma = self.gap() + "," if parts and "commas" in self._kinds and self._draw(st.booleans()) else ""
        inside = ",".join(f"{self.gap()}{part}{self.gap()}" for part in parts)
        return f"{marks[0]}{inside}{comma}{self.gap()}{marks[1]}"

    def around(self, text: str) -> str:
        """Put the object into a list of one or a code fence, or both, with or without prose."""
        if self._draw(st.booleans()):
            comma = self._draw(st.sampled_from(["", ",", " ,\n"]))
            text = f"[{text}{comma}]"
        fence = self._draw(st.sampled_from(["", "", "```", "```json", "~~~ json5", "````"]))
        if fence:
            before = self._draw(st.sampled_from(["", "信封：\n", "# Envelope\n\nHere it is (one, two]:\n"]))
            behind = self._draw(st.sampled_from(["", "\n", "\n还要别的吗？", "\n`zoe`, // see above"]))
            text = f"{before}{fence}\n{text}\n{fence.rstrip('json5 ')}{behind}"
        return text

    def encoded(self, text: str) -> bytes:
        """Encode it as UTF-8, or as something that no decoder of JSON should take."""
        codec = self._draw(st.sampled_from(["utf-8", "utf-8", "utf-8-sig", "utf-16", "utf-32"]))
        found: bytes = text.encode(codec)
        return found


@given(envelopes, st.data())
@settings(max_examples=200, deadline=None)
def test_certain_damage_is_undone_exactly(document: dict[str, Any], data: st.DataObject) -> None:
    """Fence, prose, comments, commas, tabs, spelling, state, list, encoding, in any mixture: all of it is undone."""
    assert accepts("envelope", document)
    damage = Damage(data)
    broken = damage.encoded(damage.around(damage.envelope(document)))
    found = repair(broken)
    if isinstance(found, NoRepair):
        # Only what needs none gets none.
        assert found.reason == "it is an envelope as it stands"
        assert decode(broken) == Whole(document)
    else:
        assert found.document == document
        assert json.dumps(found.document) == json.dumps(document)
        assert found.changes


def same_place_types(document: object) -> object:
    """Give a value in a form in which 1, 1.0 and true differ."""
    return json.dumps(document, ensure_ascii=False)


pieces = st.sampled_from(
    [
        *(
            '{"from":"zoe","ack_id":"a","body":"x"',
            '"from":',
            '"zoe"',
            '"ackId":"q"',
            '"state":"clarify"',
            '"body":"//,]"',
        ),
        *(
            "{",
            "}",
            "[",
            "]",
            ",",
            ":",
            '"',
            "1",
            "null",
            "\n",
            "\t",
            " ",
            "//",
            "#",
            "/*",
            "*/",
            "```json\n",
            "\n```\n",
        ),
        *("~~~", "中", "🙂", "\ufeff", "\r\n", "\0", "<<<<<<< HEAD\n", "'", "“", ",}", ",]"),
    ]
)
codecs = st.sampled_from(["utf-8", "utf-16", "utf-16-le", "utf-32-be", "gb18030"])


few = st.lists(pieces, max_size=2).map("".join)
near = st.sampled_from(['{"from":"zoe","ack_id":"a","body":"x",}', '[{"From":"zoe","ack_id":"a","body":"周报"}]'])
mixtures = st.lists(pieces).map("".join) | st.builds(lambda *parts: "".join(parts), few, near, few)


@given(st.binary(max_size=60) | st.builds(lambda text, codec: text.encode(codec), mixtures, codecs))
@settings(max_examples=600, deadline=None)
@example(b'{"from":"\xc4\xe3","ack_id":"a","body":"x"}')
@example(b"\xff\xfe")
@example(b"[}")
@example(b'```\n{"a":1]\n```')
def test_any_bytes_have_an_answer_and_a_repair_is_a_whole_envelope(data: bytes) -> None:
    """Nothing raises; what is offered is valid, is taken when it is dropped, and needs no second repair."""
    found = repair(data)
    if isinstance(found, NoRepair):
        assert found.reason
        assert "\n" not in found.reason
        return
    assert found.changes
    assert accepts("envelope", found.document)
    assert decode(json.dumps(found.document, ensure_ascii=False).encode()) == Whole(found.document)
    again = decode(found.to_bytes())
    assert isinstance(again, Whole)
    assert same_place_types(again.value) == same_place_types(found.document)
    assert repair(found.to_bytes()) == NoRepair("it is an envelope as it stands")


gaps = st.sampled_from(["", ",", " ", "\n", "// x\n", "/* y */", "# z\n", "[", "]", "{", "}", "null", ","])
raw_strings = st.lists(traps.filter(lambda one: one not in ('"', "\\")), max_size=3).map("".join)


def strings_in(value: object) -> list[str]:
    """Give every string of a value, keys below the top level included."""
    if isinstance(value, str):
        return [value]
    if isinstance(value, list):
        return [text for one in value for text in strings_in(one)]
    if isinstance(value, dict):
        return [text for key, one in value.items() for text in (key, *strings_in(one))]
    return []


@given(
    st.lists(st.tuples(gaps, raw_strings, gaps, raw_strings), max_size=3), st.sampled_from([",}", "}", "} // x", "]}"])
)
@settings(max_examples=600, deadline=None)
@example([("", "to", "", "a")], ",}")
def test_no_string_changes_its_value(members: list[tuple[str, str, str, str]], end: str) -> None:
    """However the text around them is mangled, each string of a repair stands between quotes in the file, as it is."""
    text = '{"from":"zoe","ack_id":"a","body":"x"'
    for one, key, two, value in members:
        text += f',{one}"k{key}":{two}"{value}"'
    text += end
    found = repair(text.encode())
    if isinstance(found, Repaired):
        for string in [*strings_in(list(found.document.values())), *found.document]:
            assert f'"{string}"' in text
        assert isinstance(decode(text.encode()), Bad)
