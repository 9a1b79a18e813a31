"""The README and its Chinese twin: the same structure and commands, links that lead somewhere, current pictures."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
ENGLISH, CHINESE = "README.md", "README.zh-CN.md"

_BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def read(name: str) -> str:
    """Give a page of the project."""
    return (ROOT / name).read_text(encoding="utf-8")


def without_blocks(text: str) -> str:
    """Give a page without its code."""
    return _BLOCK.sub("", text)


def code(text: str) -> list[tuple[str, list[str]]]:
    """Give the code blocks with their languages; remarks, which each language has in its own words, are left out."""
    return [
        (language, [without_remark(language, line) for line in body.splitlines()]) for language, body in blocks(text)
    ]


def blocks(text: str) -> list[tuple[str, str]]:
    """Give language and text of each code block."""
    return _BLOCK.findall(text)


def without_remark(language: str, line: str) -> str:
    """Give a line of code without what only explains it."""
    if language == "sh":
        return re.sub(r"(^|\s+)# .*$", "", line)
    return re.sub(r"(?<=\S) {2,}\S.*$", "", line) if language == "text" else line


def test_both_have_the_same_headings() -> None:
    """One heading in one language stands for one in the other, at the same depth."""
    depths = [re.findall(r"^(#+) ", without_blocks(read(name)), re.MULTILINE) for name in (ENGLISH, CHINESE)]
    assert depths[0] == depths[1]
    assert len(depths[0]) > 5


def test_both_have_the_same_code() -> None:
    """Whatever can be typed is the same in both; only the remarks are translated."""
    assert code(read(ENGLISH)) == code(read(CHINESE))
    assert {language for language, _ in blocks(read(ENGLISH))} == {"sh", "mermaid", "text"}


def test_both_have_the_same_lists_and_tables() -> None:
    """As many points, numbered promises and rows; the commands in the tables are the same."""
    for form in (r"^- ", r"^\d+\. ", r"^\| "):
        counts = [len(re.findall(form, without_blocks(read(name)), re.MULTILINE)) for name in (ENGLISH, CHINESE)]
        assert counts[0] == counts[1] > 0
    commands = [re.findall(r"`ackd [^`]*`", read(name)) for name in (ENGLISH, CHINESE)]
    assert commands[0] == commands[1]


def test_they_link_to_each_other() -> None:
    """Whoever opens one finds the other in its first lines."""
    assert f"]({CHINESE})" in "".join(read(ENGLISH).splitlines()[:4])
    assert f"]({ENGLISH})" in "".join(read(CHINESE).splitlines()[:4])


@pytest.mark.parametrize("name", [ENGLISH, CHINESE])
def test_links_lead_somewhere(name: str) -> None:
    """Every link and picture is a file of the project."""
    targets = re.findall(r"\]\(([^)]+)\)", without_blocks(read(name)))
    assert targets
    assert [target for target in targets if not (ROOT / target).is_file()] == []


@pytest.mark.parametrize("name", [ENGLISH, CHINESE])
def test_the_targets_it_names_exist(name: str) -> None:
    """Every `make` target that it names stands in the Makefile."""
    targets = set(re.findall(r"\bmake ([a-z-]+)", read(name)))
    assert {"run", "test", "demo"} <= targets
    assert targets <= set(re.findall(r"^([a-z-]+):", read("Makefile"), re.MULTILINE))


def test_the_pictures_are_what_the_script_draws() -> None:
    """The pictures in docs/ are made by the script beside them, and follow the reader's theme."""
    script = ROOT / "docs" / "draw_roundtable.py"
    spec = importlib.util.spec_from_file_location("draw_roundtable", script)
    assert spec is not None
    assert spec.loader is not None
    drawing = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(drawing)
    for name, words in drawing.WORDS.items():
        picture = read(f"docs/{name}")
        assert picture == drawing.draw(words)
        assert "prefers-color-scheme: dark" in picture
        assert f"(docs/{name})" in read(CHINESE if "zh" in name else ENGLISH)
