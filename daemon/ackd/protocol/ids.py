"""Names and ids: which spellings are taken, and when two spellings mean the same."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

from ackd.errors import InvalidError

MAX_CHARACTERS = 64
MAX_BYTES = 160

_ASCII_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}\Z")
_SUFFIX = re.compile(r"(.*)(~[0-9a-f]{4})\Z", re.DOTALL)
_DEVICES = frozenset(
    ["con", "prn", "aux", "nul", *(f"com{n}" for n in range(1, 10)), *(f"lpt{n}" for n in range(1, 10))]
)
_GENERATED = frozenset("._-")


@lru_cache(maxsize=8192)
def clean_name(written: str, *, what: str = "name") -> str:
    """Give the NFC spelling of a name, or refuse it.

    Letters, marks and digits of any script and `.`, `_`, `-`; first a letter or digit; at most 64 characters and 160
    bytes; no Windows device name, no trailing dot (DESIGN part 3, Names).

    Args:
        written: The name as somebody wrote it.
        what: What it names, for the message of the error.

    Raises:
        InvalidError: The name breaks one of the rules; the message says which.
    """
    name = unicodedata.normalize("NFC", written)
    problem = _problem(name)
    if problem:
        raise InvalidError(
            f"{what} {shown(written)} {problem}",
            hint="use letters, digits, '.', '_' and '-', starting with a letter or digit, at most 64 characters",
        )
    return name


@lru_cache(maxsize=8192)
def clean_ack_id(written: str) -> str:
    """Give the NFC spelling of an ack_id, which may end in `~` and four hex digits, or refuse it.

    Raises:
        InvalidError: The ack_id breaks one of the rules of names.
    """
    match = _SUFFIX.match(written)
    stem, suffix = (match[1], match[2]) if match else (written, "")
    return clean_name(stem, what="ack_id") + suffix


@lru_cache(maxsize=8192)
def name_key(name: str) -> str:
    """Give the form by which names are compared: NFKC, case-folded."""
    if name.isascii():
        return name.lower()
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).casefold())


def split_suffix(ack_id: str) -> tuple[str, str]:
    """Split `topic~1a2b` into the bare ack_id and its suffix (empty where there is none)."""
    match = _SUFFIX.match(ack_id)
    return (match[1], match[2]) if match else (ack_id, "")


@lru_cache(maxsize=8192)
def bare_key(ack_id: str) -> str:
    """Give the compared form of an ack_id without its suffix: threads that share it were asked under one id."""
    return name_key(split_suffix(ack_id)[0])


def shown(text: str, limit: int = 80) -> str:
    """Quote a text from outside for one line of a message: no control or invisible characters, cut at `limit`."""
    cut = text if len(text) <= limit else text[: limit - 1] + "…"
    return '"' + "".join(_shown_character(character) for character in cut) + '"'


def _shown_character(character: str) -> str:
    if character in '"\\':
        return "\\" + character
    if character.isprintable():
        return character
    code = ord(character)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def _problem(name: str) -> str:
    if _ASCII_NAME.match(name):
        return _problem_of_form(name)
    if not name:
        return "is empty"
    if len(name) > MAX_CHARACTERS:
        return f"has more than {MAX_CHARACTERS} characters"
    if len(name.encode("utf-8", "surrogatepass")) > MAX_BYTES:
        return f"has more than {MAX_BYTES} bytes"
    if unicodedata.category(name[0])[0] not in "LN" or unicodedata.category(name[0]) in ("Nl", "No"):
        return "does not start with a letter or digit"
    for character in name:
        category = unicodedata.category(character)
        if character not in _GENERATED and category[0] not in "LM" and category != "Nd":
            return f"has the character {shown(character)}, which names do not take"
    if any(_is_invisible(character) for character in name):
        return "has an invisible character"
    return _problem_of_form(name)


def _problem_of_form(name: str) -> str:
    if name.endswith("."):
        return "ends in a dot"
    if name.split(".", 1)[0].lower() in _DEVICES:
        return "is a device name on Windows"
    return ""


def _is_invisible(character: str) -> bool:
    """Tell letters and marks that show nothing: Hangul fillers, variation selectors, the grapheme joiner."""
    code = ord(character)
    return (
        code in (0x034F, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x3164, 0xFFA0)
        or 0xFE00 <= code <= 0xFE0F
        or (0x180B <= code <= 0x180F or 0xE0000 <= code <= 0xE0FFF)
    )
