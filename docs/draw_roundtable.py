"""Draws the picture of the README, in English and in Chinese: one roundtable from the request to the silence after it.

    python docs/draw_roundtable.py      writes docs/roundtable.svg and docs/roundtable.zh-CN.svg

Colours follow the reader's light or dark theme.
"""

from __future__ import annotations

from html import escape
from pathlib import Path
from typing import NamedTuple

WORDS = {
    "roundtable.svg": {
        "title": "A roundtable: zoe asks macro and trading; after trading's final there is silence.",
        "request": "request: what next week?",
        "asked": "what, by when, how to answer",
        "confirmed": "confirmed: it is priced in",
        "later": "5 minutes without a word",
        "reminder": "one reminder",
        "second": "confirmed: on it",
        "final": "final: cut exposure to 40 %",
        "told": "the one final",
        "thanks": "thanks!",
        "more": "received, thank you!",
        "silence": "wakes nobody",
    },
    "roundtable.zh-CN.svg": {
        "title": "一次圆桌：zoe 向 macro 和 trading 提问；trading 写出 final 之后，一片安静。",
        "request": "request：下周怎么做？",
        "asked": "要什么、何时要、怎么答",
        "confirmed": "confirmed：已计入价格",
        "later": "5 分钟没有回音",
        "reminder": "只催办一次",
        "second": "confirmed：正在做",
        "final": "final：仓位降到 40 %",
        "told": "唯一的 final",
        "thanks": "谢谢！",
        "more": "收到，感谢！",
        "silence": "不唤醒任何人",
    },
}
COLUMNS = {"zoe": 150, "ackd": 390, "macro": 630, "trading": 780}
WIDTH, HEIGHT, TOP, STEP = 850, 446, 44, 34


class Arrow(NamedTuple):
    """A message: its row, from whom, to whom, its words, and how it is drawn (empty, `told` or `lost`)."""

    row: int
    start: str
    end: str
    words: str
    look: str = ""


ARROWS = (
    Arrow(1, "zoe", "ackd", "request"),
    Arrow(2, "ackd", "trading", "asked", "told"),
    Arrow(2, "ackd", "macro", "", "told"),
    Arrow(3, "macro", "ackd", "confirmed"),
    Arrow(5, "ackd", "trading", "reminder", "told"),
    Arrow(6, "trading", "ackd", "second"),
    Arrow(7, "trading", "ackd", "final"),
    Arrow(8, "ackd", "zoe", "told", "told"),
    Arrow(8, "ackd", "macro", "", "told"),
    Arrow(9, "macro", "ackd", "thanks", "lost"),
    Arrow(10, "trading", "ackd", "more", "lost"),
)
BANDS = (("request", 1, 5), ("confirmed", 6, 6), ("final", 7, 11))

STYLE = """
text { font: 13px system-ui, -apple-system, "Segoe UI", "PingFang SC", "Noto Sans CJK SC", sans-serif; fill: #1f2328 }
.name { font-weight: 600; font-size: 15px; text-anchor: middle }
.state { font-size: 12px; font-weight: 600; fill: #fff }
.words { text-anchor: middle } .quiet { fill: #656d76 }
.card { fill: #fff; stroke: #d1d9e0 } .life { stroke: #d1d9e0 } .hub { fill: #f6f8fa; stroke: #d1d9e0 }
.line { stroke: #1f2328; stroke-width: 1.5 } .told { stroke: #0969da; stroke-width: 1.5 }
.lost { stroke: #8c959f; stroke-width: 1.5; stroke-dasharray: 4 4 } .head { fill: #1f2328 } .head-told { fill: #0969da }
.cross { stroke: #cf222e; stroke-width: 2 }
.request { fill: #9a6700 } .confirmed { fill: #0969da } .final { fill: #1a7f37 }
@media (prefers-color-scheme: dark) {
text { fill: #e6edf3 } .quiet { fill: #9198a1 } .card { fill: #0d1117; stroke: #3d444d } .life { stroke: #3d444d }
.hub { fill: #151b23; stroke: #3d444d } .line { stroke: #e6edf3 } .head { fill: #e6edf3 }
.told { stroke: #4493f8 } .head-told { fill: #4493f8 } .lost { stroke: #6e7681 } .cross { stroke: #f85149 }
}
"""


def draw(words: dict[str, str]) -> str:
    """Draw the picture with the given words and give it as SVG."""
    bottom = HEIGHT - 16
    size = f'viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}"'
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img" aria-label="{escape(words["title"])}">',
        f"<title>{escape(words['title'])}</title>",
        f"<style>{STYLE}</style>",
        f'<rect class="card" x=".5" y=".5" width="{WIDTH - 1}" height="{HEIGHT - 1}" rx="10"/>',
        f'<rect class="hub" x="{COLUMNS["ackd"] - 34}" y="14" width="68" height="{bottom - 14}" rx="8"/>',
    ]
    for name, x in COLUMNS.items():
        parts.append(f'<text class="name" x="{x}" y="36">{name}</text>')
        if name != "ackd":
            parts.append(f'<path class="life" d="M{x} {TOP + 4}V{bottom}"/>')
    for state, first, last in BANDS:
        y, height = _y(first) - 22, (last - first + 1) * STEP - 4
        parts.append(f'<rect class="{state}" x="14" y="{y}" width="82" height="{height}" rx="6"/>')
        parts.append(f'<text class="state words" x="55" y="{y + height / 2 + 4:g}">{state}</text>')
    parts.append(_words((_edge("ackd", "macro") + COLUMNS["macro"]) / 2, _y(4), words["later"], quiet=True))
    parts += [part for arrow in ARROWS for part in _arrow(arrow, words)]
    parts.append(_words(COLUMNS["ackd"] - 115, _y(10) - STEP / 2 + 4, words["silence"], quiet=True))
    return "\n".join([*parts, "</svg>"]) + "\n"


def _arrow(arrow: Arrow, words: dict[str, str]) -> list[str]:
    y, start, end = _y(arrow.row), _edge(arrow.start, arrow.end), _edge(arrow.end, arrow.start)
    away = 1 if end > start else -1
    # Words stand where no line of life crosses them.
    middle = (_edge("ackd", "macro") + COLUMNS["macro"]) / 2 if "zoe" not in arrow[1:3] else (start + end) / 2
    parts = [_words(middle, y - 6, words[arrow.words])] if arrow.words else []
    parts.append(f'<path class="{arrow.look or "line"}" d="M{start} {y}H{end - 6 * away}"/>')
    if arrow.look == "lost":
        return [*parts, f'<path class="cross" d="M{end + 3} {y - 5}l10 10m0 -10l-10 10"/>']
    head = "head-told" if arrow.look == "told" else "head"
    return [*parts, f'<path class="{head}" d="M{end} {y}l{-9 * away} -4.5v9z"/>']


def _edge(name: str, other: str) -> int:
    """Give where an arrow leaves a column: ackd is as wide as its box."""
    if name != "ackd":
        return COLUMNS[name]
    return COLUMNS[name] + (34 if COLUMNS[other] > COLUMNS[name] else -34)


def _words(x: float, y: float, text: str, *, quiet: bool = False) -> str:
    return f'<text class="words{" quiet" if quiet else ""}" x="{x:g}" y="{y:g}">{escape(text)}</text>'


def _y(row: int) -> int:
    return TOP + 4 + row * STEP


if __name__ == "__main__":
    for name, words in WORDS.items():
        Path(__file__).with_name(name).write_text(draw(words), encoding="utf-8")
