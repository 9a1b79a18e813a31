"""Whatever is joined from courtesy is courtesy, and one unknown word ends that."""

from __future__ import annotations

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from ackd.protocol.courtesy import en, is_courtesy, is_silent_token, strip_quotes, zh

NAMES = ("macro", "宏观")


def _plain(texts: list[str]) -> list[str]:
    entries = (entry.strip() for text in texts for entry in text.split("|"))
    return [entry for entry in entries if entry and "{" not in entry and "," not in entry]


PHRASES = _plain([*zh.STRONG.values(), *en.STRONG.values(), zh.ALONE, en.ALONE])
JOINTS = ["，", "。", "！", ", ", ". ", "! ", "\n", " 👍 ", "🙏", "～", "…", "; ", " @macro ", " — "]
# No word of the lexicon has these, alone or beside what it has.
UNKNOWN = [
    "q7",
    "zx",
    "42",
    "v3",
    "不过",
    "但是",
    "撤",
    "仓",
    "错",
    "未",
    "wait",
    "but",
    "/",
    "=",
    "?",
    "？",
    "👎",
    "%",
]

courteous = st.lists(st.tuples(st.sampled_from(PHRASES), st.sampled_from(JOINTS)), min_size=1, max_size=6).map(
    lambda parts: "".join(phrase + joint for phrase, joint in parts)
)


@pytest.mark.parametrize("phrase", PHRASES)
def test_each_phrase_is_courtesy_by_itself(phrase: str) -> None:
    """No phrase of the lexicon is out of the grammar's reach, in capitals and with an emoji neither."""
    assert is_courtesy(phrase)
    assert is_courtesy(phrase.upper() + "👍")


@given(courteous)
def test_courtesy_joined_by_signs_is_courtesy(text: str) -> None:
    """Any phrases in any order, with any signs between them."""
    assert is_courtesy(text, names=NAMES)


@given(courteous, courteous, st.sampled_from(UNKNOWN), st.sampled_from(["", " ", "，", "\n"]))
def test_one_unknown_word_makes_it_substance(before: str, after: str, unknown: str, joint: str) -> None:
    """Before, between or behind phrases, glued to them or apart."""
    assert not is_courtesy(before + joint + unknown + joint + after, names=NAMES)
    assert not is_courtesy(before + joint + unknown, names=NAMES)
    assert not is_courtesy(unknown + joint + after, names=NAMES)


@given(
    courteous,
    st.text(alphabet=st.characters(categories=["Nd"], include_characters="①②½²㈠"), min_size=1, max_size=5),
    st.data(),
)
def test_a_figure_anywhere_makes_it_substance(text: str, figure: str, data: st.DataObject) -> None:
    """Digits of any script, at any place, even inside a phrase, are never swallowed."""
    at = data.draw(st.integers(0, len(text)))
    mixed = text[:at] + figure + text[at:]
    assume("+1" not in mixed and "100%" not in mixed)
    assert not is_courtesy(mixed, names=NAMES)


@given(courteous, st.text(max_size=60))
def test_a_quote_above_changes_nothing(text: str, quoted: str) -> None:
    """Whatever somebody else wrote, thanks below it are thanks."""
    quote = "".join(f"> | {line}\n" for line in quoted.splitlines())
    assert is_courtesy(quote + text, names=NAMES)


@given(st.text(max_size=300), st.text(max_size=20))
def test_no_text_raises(text: str, name: str) -> None:
    """Any text, surrogates and controls too, gets an answer, and quotes off twice is quotes off once for plain text."""
    assert is_courtesy(text, names=[name]) in (True, False)
    assert is_silent_token(text, token=name) in (True, False)
    assert len(strip_quotes(text)) <= len(text)
