"""The grammar engine: phrases with slots, matched over the whole text from left to right.

The lexicon (`zh`, `en`) is data: templates such as `感谢{whom?}的{thing}`. They are compiled to a small automaton whose
edges are words and slots. A text is courtesy when some path consumes every character of it; all paths are followed at
once, position by position, so there is no backtracking and the time is linear in the text.

Template notation: literal text; `{slot}` once, `{slot?}` at most once, `{slot*}` any number, `{slot+}` at least once;
`,` any signs between phrases, none included. Blanks are allowed between all parts. A slot's entries are templates again
(not recursive). Slots made by the engine: `{who}` a roster name or a mention; `{comma}` one comma; `{opens}` and
`{closes}` read nothing, but ask for a sign, a mention, a new line or the text's end directly before or after, since
"nothing further" is courtesy and "nothing further received" is news.

To add a language, write its module with the names of `Language` and add it to `_LANGUAGES`.
"""

from __future__ import annotations

import functools
import re
import unicodedata
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Protocol

from ackd.protocol.courtesy import en, symbols, zh
from ackd.protocol.courtesy.quotes import strip_quotes

MAX_LENGTH = 2_000
"""Characters of own text above which nothing is courtesy: nobody thanks at such length."""


class Language(Protocol):
    """What a language module holds. Entries of one text are parted by `|`."""

    __name__: str

    SLOTS: Mapping[str, str]
    """Slot name to its entries; `everyone` holds what `@` may address besides names."""
    STRONG: Mapping[str, str]
    """Topic to templates that are courtesy by themselves."""
    ALONE: str
    """Strong too, but only with no letter or digit directly before or after: short words that are parts of others."""
    WEAK: str
    """Courtesy only together with something strong: greetings, bare agreement."""
    BELOW_QUOTE: str
    """Courtesy only as the first words below a quote."""
    FOLD: str
    """Pairs of characters: the first is read as the second, a traditional character as the simplified one, say."""


_LANGUAGES: tuple[Language, ...] = (zh, en)

_TOP, _END_STRONG, _END_WEAK, _QUOTE_START = range(4)
_NOTHING, _WEAK, _STRONG = range(3)

_TEMPLATE_PART = re.compile(r"\{(?P<slot>\w+)(?P<times>[?*+]?)\}|(?P<signs>,)|(?P<literal>[^{},]+)")
_FREE_MENTION = re.compile(r"[a-z][a-z_]*(?:[.-][a-z_]+)*(?![a-z0-9_]|-[0-9])")
_CLIENT_MENTION = re.compile(r"<[@!&]{1,2}[a-z0-9]{1,32}>")
_EMOJI_GENDER = re.compile("\u200d[♀♂]")
_STRUCK_OUT = re.compile(r"~~[^~\s]")
_FACE = re.compile("(?<![0-9a-z])(?:" + "|".join(map(re.escape, symbols.FACES)) + ")(?![0-9a-z])")
_SHORTCODE = re.compile(":(?:" + "|".join(map(re.escape, symbols.SHORTCODES.split())) + "):(?::skin-tone-[2-6]:)?")

_BLANKS = " \n"
_MAX_MENTION = 80
_SIGNS = symbols.PUNCTUATION | symbols.TICKS | symbols.EMOJI
_Match = tuple[int, tuple[str, ...]]


def is_courtesy(text: str, *, names: Collection[str] = ()) -> bool:
    """Whether a text, its quoted parts taken off, is courtesy from end to end (T3, C17).

    Args:
        text: Any text; above `MAX_LENGTH` characters of own words it is never courtesy.
        names: The roster. A name may stand where a phrase takes an object (`感谢macro`) and, with `@`, anywhere.

    Returns:
        True where nothing is said: empty, quotes only, signs only, or phrases of the lexicon and nothing else. Any
        question mark, any number but "+1", any unknown word gives False.
    """
    own = strip_quotes(text)
    if len(own) > MAX_LENGTH:
        return False
    if not own:
        return True
    normal = _normal(own)
    if _STRUCK_OUT.search(normal):
        return False
    normal = _FACE.sub(" ", _SHORTCODE.sub(" ", normal))
    return _balanced(normal) and _accepts(normal, _roster(frozenset(names)), quoted=own.split() != text.split())


def _normal(text: str) -> str:
    """One spelling for what looks the same: NFKC, case-folded, no invisible signs, single blanks in a line."""
    grammar = _grammar()
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
    lines = _EMOJI_GENDER.sub("", folded).translate(grammar.fold).splitlines()
    return "\n".join(" ".join(line.split()) for line in lines)


def _balanced(text: str) -> bool:
    """Whether brackets close: a lone one may be a sad face or a cut text."""
    depth = 0
    for character in text:
        if character in symbols.OPENING:
            depth += 1
        elif character in symbols.CLOSING:
            depth -= 1
            if depth < 0:
                return False
    return depth == 0


def _accepts(text: str, roster: _Lengths, *, quoted: bool) -> bool:
    """Run the automaton; a state is `node * 3 + mode`, the mode being the best phrase so far."""
    grammar = _grammar()
    start = {_TOP * 3 + _NOTHING, _QUOTE_START * 3 + _NOTHING} if quoted else {_TOP * 3 + _NOTHING}
    reached: dict[int, set[int]] = {0: start}
    flat = text.replace("\n", " ")  # a phrase may run on in the next line
    for position, character in enumerate(text):
        states = reached.pop(position, None)
        if states is None:
            continue
        _follow_edges(grammar, states, text, position)
        if character in _BLANKS:
            reached.setdefault(position + 1, set()).update(states)
            continue
        for end, labels in _matches(flat, position, grammar.words, roster):
            following: set[int] = set()
            for state in states:
                node, mode = divmod(state, 3)
                edges = grammar.edges[node]
                for label in labels:
                    for target in edges.get(label, ()):
                        _enter(following, grammar.closure(target), mode)
            if following:
                reached.setdefault(end, set()).update(following)
        if not reached:
            return False
    last = reached.get(len(text), set())
    _follow_edges(grammar, last, text, len(text))
    modes = {state % 3 for state in last if state // 3 == _TOP}
    return bool(modes) and modes != {_WEAK}


def _follow_edges(grammar: _Grammar, states: set[int], text: str, position: int) -> None:
    """Add to the states of a position those behind `{closes}` and `{opens}`, where the place allows them."""
    for label, allowed in (("closes", _closes), ("opens", _opens)):
        open_states = [state for state in states if label in grammar.edges[state // 3]]
        if open_states and allowed(text, position):
            for state in open_states:
                for target in grammar.edges[state // 3][label]:
                    _enter(states, grammar.closure(target), state % 3)


def _opens(text: str, position: int) -> bool:
    """Whether nothing but a sign, a mention or a new line stands before a position."""
    before = text[max(0, position - _MAX_MENTION) : position]
    bare = before.rstrip(" ")
    return not bare or bare[-1] in _SIGNS or bare[-1] == "\n" or bare.split()[-1].startswith(("@", "<@"))


def _closes(text: str, position: int) -> bool:
    """Whether nothing but a sign, a mention or a new line stands behind a position."""
    after = text[position : position + 2].lstrip(" ")
    return not after or after[0] in _SIGNS or after[0] in "\n@<"


def _enter(following: set[int], nodes: tuple[int, ...], mode: int) -> None:
    for node in nodes:
        if node == _END_STRONG:
            following.add(_TOP * 3 + _STRONG)
        elif node == _END_WEAK:
            following.add(_TOP * 3 + max(mode, _WEAK))
        else:
            following.add(node * 3 + mode)


def _matches(text: str, start: int, words: _Lengths, roster: _Lengths) -> Iterator[_Match]:
    """All that can be read at a position: (end, labels)."""
    character = text[start]
    if character == ",":
        yield start + 1, ("comma", "sign")
    elif character in _SIGNS:
        yield start + 1, ("sign",)
    elif character == "<":
        if client := _CLIENT_MENTION.match(text, start):
            yield client.end(), ("who", "mention")
    elif character == "@":
        if not (start and _is_ascii_word(text[start - 1])):
            if free := _FREE_MENTION.match(text, start + 1):
                yield free.end(), ("who", "mention")
            for end, _ in roster.at(text, start + 1):
                yield end, ("who", "mention")
            for end, labels in words.at(text, start + 1):
                if "everyone" in labels:
                    yield end, ("who", "mention")
    else:
        yield from roster.at(text, start)
    yield from words.at(text, start)


class _Lengths:
    """Words by first character and length, each with its labels: a few look-ups find what begins at a position."""

    def __init__(self, words: Mapping[str, Collection[str]]) -> None:
        self._labels = {word: tuple(sorted(labels)) for word, labels in words.items() if word}
        lengths: dict[str, set[int]] = {}
        for word in self._labels:
            lengths.setdefault(word[0], set()).add(len(word))
        self._lengths = {first: tuple(sorted(of)) for first, of in lengths.items()}

    def at(self, text: str, start: int) -> Iterator[_Match]:
        """The words at a position that are not parts of longer ones: (end, labels)."""
        for length in self._lengths.get(text[start : start + 1], ()):
            end = start + length
            labels = self._labels.get(text[start:end])
            if labels is None or not _whole(text, start, end):
                continue
            if "alone" in labels and not _stands_alone(text, start, end):
                labels = tuple(label for label in labels if label != "alone")
            yield end, labels


def _is_ascii_word(character: str) -> bool:
    return character.isascii() and character.isalnum()


def _whole(text: str, start: int, end: int) -> bool:
    """Whether no Latin word is cut in two (Chinese has no blanks, so there nothing is asked)."""
    if start and _is_ascii_word(text[start]) and _is_ascii_word(text[start - 1]):
        return False
    if end < len(text) and _is_ascii_word(text[end - 1]):
        following = text[end : end + 2]
        return not (_is_ascii_word(following[0]) or (following[0] == "'" and following[1:].isalpha()))
    return True


def _stands_alone(text: str, start: int, end: int) -> bool:
    before = start > 0 and text[start - 1].isalnum()
    after = end < len(text) and text[end].isalnum()
    return not (before or after)


@functools.lru_cache(maxsize=64)
def _roster(names: frozenset[str]) -> _Lengths:
    return _Lengths({_normal(name): ("who",) for name in names})


class _Grammar:
    """The compiled automaton.

    Attributes:
        edges: For each node, label to target nodes.
        words: Every literal of the lexicon with the labels that it may be read as.
        fold: Characters that are read as others.
    """

    def __init__(self, languages: tuple[Language, ...]) -> None:
        self.fold: dict[int, str] = dict.fromkeys(map(ord, symbols.INVISIBLE | symbols.MODIFIERS), "")
        self.fold |= dict.fromkeys(map(ord, symbols.APOSTROPHES), "'")
        self.edges: list[dict[str, list[int]]] = []
        self._free: list[list[int]] = []
        self._words: dict[str, set[str]] = {}
        self._templates: dict[str, list[str]] = {}
        for _ in (_TOP, _END_STRONG, _END_WEAK, _QUOTE_START):
            self._node()
        self._edge(_TOP, "sign", _TOP)
        self._edge(_TOP, "mention", _TOP)
        self._edge(_TOP, "alone", _END_STRONG)
        for language in languages:
            self.fold |= {ord(pair[0]): pair[1] for pair in language.FOLD.split()}
            compiler = functools.partial(self._chain, language)
            for topic in language.STRONG.values():
                self._phrases(compiler, topic, _TOP, _END_STRONG, "strong")
            self._phrases(compiler, language.WEAK, _TOP, _END_WEAK, "weak")
            self._phrases(compiler, language.BELOW_QUOTE, _QUOTE_START, _END_STRONG, "below-quote")
            for word in _entries(language.ALONE):
                self._words.setdefault(word, set()).add("alone")
            for word in _entries(language.SLOTS["everyone"]):
                self._words.setdefault(word, set()).add("everyone")
        for start in (_TOP, _QUOTE_START):
            self._merge(start)
        self._closures: dict[int, tuple[int, ...]] = {}
        self.words = _Lengths(self._words)

    def closure(self, start: int) -> tuple[int, ...]:
        """The nodes reached from one without reading anything, itself included."""
        known = self._closures.get(start)
        if known is None:
            known = self._closures[start] = tuple(sorted(self._reach(start)))
        return known

    def _merge(self, start: int) -> None:
        """Give a start the edges of all that it reaches freely, so that it is one state and not hundreds."""
        for node in self._reach(start) - {start}:
            for label, targets in self.edges[node].items():
                for target in targets:
                    self._edge(start, label, target)
        self._free[start].clear()

    def _phrases(
        self, chain: Callable[[str, int, int], None], templates: str, start: int, end: int, label: str
    ) -> None:
        self._edge(start, label, end)
        for template in _entries(templates):
            if _is_template(template):
                chain(template, start, end)
            else:
                self._words.setdefault(template, set()).add(label)

    def _chain(self, language: Language, template: str, start: int, end: int) -> None:
        """Lay a template as a chain of nodes from `start` to `end`."""
        parts = [part for part in _TEMPLATE_PART.finditer(template) if part[0].strip()]
        node = start
        for index, part in enumerate(parts):
            following = end if index == len(parts) - 1 else self._node()
            if part["signs"]:
                self._edge(following, "sign", following)
                self._free[node].append(following)
            elif part["literal"]:
                literal = part["literal"].strip()
                self._words.setdefault(literal, set()).add("=" + literal)
                self._edge(node, "=" + literal, following)
            else:
                self._slot(language, part["slot"], part["times"], node, following)
            node = following

    def _slot(self, language: Language, slot: str, times: str, start: int, end: int) -> None:
        if times in ("*", "+"):
            loop = self._node()
            self._once(language, slot, loop, loop)
            self._free[loop].append(end)
            if times == "*":
                self._free[start].append(loop)
            else:
                self._once(language, slot, start, loop)
        else:
            self._once(language, slot, start, end)
            if times == "?":
                self._free[start].append(end)

    def _once(self, language: Language, slot: str, start: int, end: int) -> None:
        if slot in ("who", "comma", "opens", "closes"):
            self._edge(start, slot, end)
            return
        label = f"{language.__name__}.{slot}"
        templates = self._templates.get(label)
        if templates is None:
            entries = _entries(language.SLOTS[slot])
            templates = self._templates[label] = [entry for entry in entries if _is_template(entry)]
            for word in entries:
                if not _is_template(word):
                    self._words.setdefault(word, set()).add(label)
        self._edge(start, label, end)
        for entry in templates:
            self._chain(language, entry, start, end)

    def _node(self) -> int:
        self.edges.append({})
        self._free.append([])
        return len(self.edges) - 1

    def _edge(self, start: int, label: str, end: int) -> None:
        targets = self.edges[start].setdefault(label, [])
        if end not in targets:
            targets.append(end)

    def _reach(self, start: int) -> set[int]:
        seen = {start}
        ahead = [start]
        while ahead:
            for node in self._free[ahead.pop()]:
                if node not in seen:
                    seen.add(node)
                    ahead.append(node)
        return seen


def _entries(text: str) -> list[str]:
    return [entry.strip() for entry in text.split("|") if entry.strip()]


def _is_template(entry: str) -> bool:
    return "{" in entry or "," in entry


@functools.cache
def _grammar() -> _Grammar:
    return _Grammar(_LANGUAGES)
