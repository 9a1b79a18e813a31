"""Turn the bytes of a refused file into text, in the one encoding that they are in for certain, or say why not.

UTF-16 and UTF-32 show themselves by a byte order mark, or by the NULs beside an ASCII character; JSON, Markdown and
comments all begin with one. GB18030 shows nothing: almost any pairs of high bytes are some Chinese character in it. It
counts as certain only where the characters are those of ordinary Chinese text and the bytes are no likely Korean.
"""

from __future__ import annotations

import re
import unicodedata

import msgspec

_UTF8_CHARACTER = re.compile(rb"[\xe0-\xef][\x80-\xbf]{2}")
_HIGH = bytes(range(0x80, 0x100))
_SIGNS = frozenset({0xA1, 0xA2, 0xA3})  # rows of GB 2312: punctuation, numbered lists, full-width ASCII
_FIRST_HANZI, _FIRST_RARE, _LAST_HANZI = 0xB0, 0xD8, 0xF7

# About three of four syllables of a Korean text are among these. EUC-KR keeps its syllables where GB 2312 keeps its
# common characters, but those that Chinese texts use most are seldom among the syllables that Korean texts use most.
_KOREAN = frozenset(
    "이다는을가에의하고지로은기사리도를해자시어서한대인아나여정수그라일들있으전부제상보장스과주원성마만면"
    "구안게동무신유연위비내러우경습니요합공조국등문모방소생오중학회세적실물계선개발할말진용관당간업산"
)


class Text(msgspec.Struct, frozen=True):
    """The text of a file, without byte order marks; `change` is a sentence where the file must be written anew."""

    text: str
    change: str


class NoText(msgspec.Struct, frozen=True):
    """No encoding is certain; `reason` is a clause in plain English that shows no content."""

    reason: str


def read_text(data: bytes) -> Text | NoText:
    """Decode a file strictly: UTF-8, UTF-16 and UTF-32 with or without a byte order mark, GB18030.

    Never raises, and linear in the length. A text with NUL characters is none: they are what a crash leaves behind.
    """
    wide = _wide(data[:4])
    try:
        text = data.decode(wide or "utf-8")
    except UnicodeDecodeError:
        if wide:
            return NoText(f"it begins as {_family(wide)}, but not all of it is {_family(wide)}")
        chinese = _certain_gb18030(data)
        if chinese is None:
            return NoText("a byte is not UTF-8, and no other encoding is certain")
        text, wide = chinese, "gb18030"
    bare = text.lstrip("\ufeff")
    if "\0" in bare:
        return NoText("it holds NUL characters")
    if wide:
        return Text(bare, f"the file was {_family(wide)} and is now UTF-8")
    # One mark is taken by the decoder of drops, so that it needs no repair.
    return Text(bare, "the byte order marks at its beginning were taken out" if len(text) - len(bare) > 1 else "")


def _wide(head: bytes) -> str:
    """Name the codec of a text in units of two or four bytes by its first four bytes; empty where it is none.

    The order counts: the mark of UTF-32 begins with that of UTF-16, and a NUL never follows that in a text.
    """
    if head in (b"\xff\xfe\0\0", b"\0\0\xfe\xff"):
        return "utf-32"
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        return "utf-16"
    zeros = [byte == 0 for byte in head]
    if zeros == [False, True, True, True]:
        return "utf-32-le"
    if zeros == [True, True, True, False]:
        return "utf-32-be"
    if zeros[:2] == [False, True]:
        return "utf-16-le"
    return "utf-16-be" if zeros[:2] == [True, False] else ""


def _family(codec: str) -> str:
    return codec.upper().removesuffix("-LE").removesuffix("-BE")


def _certain_gb18030(data: bytes) -> str | None:
    """Decode bytes as GB18030, or None where they could well be something else.

    Western and Cyrillic text, Big5 and Shift-JIS leave the rows of GB 2312 within a few characters, EUC-JP shows kana;
    UTF-8 with a fault in it shows its characters of three bytes.
    """
    try:
        text = data.decode("gb18030")
    except UnicodeDecodeError:
        return None
    high = len(data) - len(data.translate(None, _HIGH))
    if 6 * len(_UTF8_CHARACTER.findall(data)) > high:
        return None
    common = rare = 0
    for character in set(text):
        if character.isascii():
            continue
        code = character.encode("gb18030")
        if len(code) == 4:
            # Four bytes, every second one a digit, are like no other encoding: emoji, rare characters.
            if unicodedata.category(character) in ("Cn", "Co"):
                return None
        elif code[1] < 0xA1:
            return None
        elif _FIRST_HANZI <= code[0] < _FIRST_RARE:
            common += 1
        elif _FIRST_RARE <= code[0] <= _LAST_HANZI:
            rare += 1
        elif code[0] not in _SIGNS:
            return None
    # GB 2312 keeps 3,755 common characters apart from 3,008 rare ones, which make up some per cent of a text.
    if common < 3 * rare or not common or _is_likely_korean(data):
        return None
    return text


def _is_likely_korean(data: bytes) -> bool:
    try:
        text = data.decode("euc_kr")
    except UnicodeDecodeError:
        return False
    letters = {character for character in text if not character.isascii() and character.isalpha()}
    return all("가" <= letter <= "힣" for letter in letters) and 3 * len(letters & _KOREAN) >= len(letters)
