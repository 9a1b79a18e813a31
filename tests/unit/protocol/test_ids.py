"""Names and ids: what is taken, what is refused, and when two spellings mean the same."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ackd.errors import InvalidError
from ackd.protocol.ids import MAX_BYTES, MAX_CHARACTERS, clean_ack_id, clean_name, name_key, shown, split_suffix

GOOD = [
    "zoe",
    "a",
    "7",
    "ashare-week-v1-202603081430",
    "Macro_2.x",
    "风控",
    "原油-周报-v1-202603081430",
    "müller",
    "Ωmega",
    "агент",
    "エージェント",
    "एजेंट",
    "वित्त_1",
    "a" * 64,
    "油" * 53,
    "٣agent",
    "con-team",
    "console",
    "a..b",
]
HOSTILE = [
    "",
    ".",
    "..",
    "../../x",
    "/etc/x",
    "a/b",
    "a\\b",
    "C:\\x",
    "%2e%2e",
    "a" * 65,
    "a" * 10_240,
    "油" * 54,
    "abc\n",
    "\nabc",
    "a b",
    "a\u3000b",
    "a\tb",
    "a\x00b",
    "-a",
    "_a",
    ".hidden",
    "~a",
    "a~b",
    "trailing.",
    "a\u200bb",
    "a\u200db",
    "a\u202eb",
    "a\u2066b",
    "\ufeffa",
    "a\u00adb",
    "a\ufe0f",
    "a\u3164b",
    "a\U000e0041",
    "a\u2028b",
    "a\ud800",
    "con",
    "CON",
    "nul.txt",
    "Com1",
    "lpt9.json",
    "aux",
    "a*b",
    "a?b",
    "a:b",
    "a|b",
    'a"b',
    "<a>",
    "a／b",
    "a．b",
    "½a",
    "Ⅷ",
    "①",
    "👍",
    "a👍",
    "\u0301a",
    "@zoe",
    "$(id)",
    "a;b",
    "a`b`",
]


@pytest.mark.parametrize("name", GOOD)
def test_letters_marks_and_digits_of_any_script_are_taken(name: str) -> None:
    """As a name and as an ack_id; the result is the NFC spelling."""
    assert clean_name(name) == unicodedata.normalize("NFC", name)
    assert clean_ack_id(name) == clean_name(name)


@pytest.mark.parametrize("name", HOSTILE, ids=ascii)
def test_everything_else_is_refused_with_a_reason(name: str) -> None:
    """Path separators, control, zero-width and bidi characters, device names, too long ones; the reason is one line."""
    for clean in (clean_name, clean_ack_id):
        with pytest.raises(InvalidError) as caught:
            clean(name)
        assert caught.value.hint
        assert caught.value.message.isprintable()
        assert len(caught.value.message) < 300


def test_a_decomposed_name_is_the_composed_one() -> None:
    """NFC is the spelling that is kept."""
    assert clean_name("mu\u0308ller") == "müller"


def test_lengths_count_characters_and_bytes() -> None:
    """64 characters and 160 bytes of UTF-8, both at most."""
    assert (MAX_CHARACTERS, MAX_BYTES) == (64, 160)
    for name, problem in (("a" * 65, "64 characters"), ("油" * 54, "160 bytes")):
        with pytest.raises(InvalidError, match=problem):
            clean_name(name)


def test_an_ack_id_may_end_in_a_tilde_and_four_hex() -> None:
    """It then names the thread of one request; the stem follows the rules of names."""
    assert clean_ack_id("oil-v1~0a9f") == "oil-v1~0a9f"
    assert clean_ack_id("原油~0a9f") == "原油~0a9f"
    assert split_suffix("oil-v1~0a9f") == ("oil-v1", "~0a9f")
    assert split_suffix("oil-v1") == ("oil-v1", "")


@pytest.mark.parametrize(
    "ack_id",
    ["oil~", "oil~12", "oil~12345", "oil~12g4", "oil~１２３４", "oil~1234\n", "~1234", "con~1234", "a~1234~5678"],
)
def test_other_tildes_are_refused(ack_id: str) -> None:
    """Only ASCII hex, only four, only at the end, only after a name."""
    with pytest.raises(InvalidError):
        clean_ack_id(ack_id)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Zoe", "zOE"),
        ("ＺＯＥ", "zoe"),
        ("Straße", "STRASSE"),
        ("müller", "MU\u0308LLER"),
        ("ﬁx", "FIX"),
        ("风控", "风控"),
    ],
)
def test_names_are_compared_by_nfkc_and_case_fold(one: str, other: str) -> None:
    """Case, width and compatibility forms make no difference."""
    assert name_key(one) == name_key(other)


@pytest.mark.parametrize(("one", "other"), [("zoe", "zoé"), ("a1", "a2"), ("zoe", "zое"), ("oil-v1", "oil_v1")])
def test_different_names_stay_different(one: str, other: str) -> None:
    """Accents, digits, other scripts and punctuation count."""
    assert name_key(one) != name_key(other)


@given(st.text(max_size=80))
def test_what_is_taken_is_taken_again_and_keeps_its_key(text: str) -> None:
    """Cleaning is idempotent, its result printable and within bounds, and the key of a key is itself."""
    try:
        name = clean_name(text)
    except InvalidError:
        return
    assert clean_name(name) == name
    assert name.isprintable()
    assert 1 <= len(name) <= MAX_CHARACTERS
    assert len(name.encode()) <= MAX_BYTES
    assert name_key(name_key(name)) == name_key(name)
    assert not set(name) & set('/\\:*?"<>|~ ')


@given(st.text(alphabet=st.characters(codec=None), max_size=200), st.integers(1, 100))
def test_what_is_shown_is_one_printable_line(text: str, limit: int) -> None:
    """Whatever is quoted from outside has no control character left and is cut."""
    quoted = shown(text, limit)
    assert quoted.isprintable()
    assert quoted[0] == quoted[-1] == '"'
    assert len(quoted) <= 10 * limit + 2
