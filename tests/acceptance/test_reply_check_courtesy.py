"""Who is woken by a chat text: courtesy and its look-alikes, in threads that a real engine keeps."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest
from click.testing import CliRunner

from ackd.cli.reply_check import reply_check as command
from ackd.engine.replying import NO_REPLY, REPLY, reply_check

AGENTS = ("zoe", "macro", "trading", "radar", "scout", "ledger", "宏观")
ENDED, ASKED, TWIN = "gold-iran-v1", "bond-roll-v1", "fx-hedge-v1"

# Who says it, in which thread, and the text; nobody may be woken.
SILENT = [
    ("macro", ENDED, "收到"),
    ("macro", ENDED, "收到，感谢！"),
    ("radar", ENDED, "好的👌"),
    ("scout", ENDED, "辛苦了～"),
    ("macro", ENDED, "👍收到收到"),
    ("macro", ENDED, "@trading 收到，已阅。谢谢你这么细致的分析，思路清晰，学到很多，期待下次再合作！"),
    ("scout", ENDED, "✓"),
    ("radar", ENDED, "（待命中）"),
    ("ledger", ENDED, "."),
    ("ledger", ENDED, "@macro @trading 收到 +1"),
    ("macro", ENDED, "不用谢"),
    ("scout", ENDED, "了解，后续按此执行。"),
    ("ledger", ENDED, "感谢macro，感谢trading，有问题随时找我"),
    ("scout", ENDED, "好"),
    ("trading", ASKED, "收到"),
    ("macro", ENDED, "> @macro [state=final] [ack_id=gold-iran-v1] 结论：减半\n谢谢！"),
    ("macro", ENDED, ">> [state=final] [ack_id=gold-iran-v1]\n> 收到\n感谢"),
    ("trading", ENDED, "On Mon, 9 Mar 2026 at 09:55, macro wrote:\n> @radar please look again\n\nalready done, thanks"),
    ("radar", ENDED, "↪ @trading: 结论：减半\n👍"),
    ("macro", ENDED, "收到啦，多谢各位"),
    ("macro", ENDED, "好滴，谢谢@trading"),
    ("scout", ENDED, "OK，收到"),
    ("radar", ENDED, "OK收到，thanks"),
    ("radar", ENDED, "Got it, thanks everyone! 🙏"),
    ("macro", ENDED, "辛苦@trading了"),
    ("macro", ENDED, "@宏观 辛苦啦～"),
    ("scout", ENDED, "Noted, 感谢分享"),
    ("scout", ENDED, "🙏🙏🙏"),
    ("宏观", ENDED, "✔️"),
    ("宏观", ENDED, "…"),
    ("ledger", ENDED, "+1"),
    ("ledger", ENDED, "收到，待命中"),
    ("ledger", ENDED, "(standing by)"),
    ("trading", ENDED, "不客气，应该的"),
    ("trading", ENDED, "You're welcome!"),
    ("macro", ENDED, "大家辛苦了，早点休息🌙"),
    ("macro", ENDED, "收到，學習了，感謝"),
    ("macro", ENDED, "Thanks @trading, great work!"),
    ("macro", ENDED, "Roger that."),
    ("macro", ENDED, "NO_REPLY"),
    ("macro", ENDED, "`NO_REPLY`"),
    ("macro", ENDED, "HEARTBEAT_OK"),
    ("macro", ENDED, "（静默）"),
    ("macro", ENDED, "[不回复]"),
    ("macro", ENDED, "NO_REPLY because the thread has ended"),
    ("scout", ENDED, "> 谁来负责？\n收到，谢谢"),
    ("scout", ENDED, "> Please check this\n👍"),
]

# The text reaches at least one agent, and its author may post it.
DELIVERED = [
    ("ledger", ENDED, "已收到，但止损线和上周风控的决定冲突，先别动。"),
    ("macro", ENDED, "收到。另外帮我查一下 600519 今天的成交量"),
    ("radar", ENDED, "谢谢，不过第2步的日期写错了，应该是3月10日"),
    ("scout", ENDED, "没收到"),
    ("macro", ENDED, "好的，等等"),
    ("radar", ENDED, "谢谢提醒，我把 intel/oil_latest.json 里的日期改好了"),
    ("zoe", ENDED, "收到？"),
    ("ledger", ENDED, "感谢的话不多说了，直接讲问题：第三张表合计少了一行"),
    ("trading", ASKED, "收到，马上开始"),
    ("trading", ASKED, "@macro [state=confirmed] [ack_id=bond-roll-v1] 版本=v2 收到，马上开始"),
    ("radar", ASKED, "收到，马上开始"),
    ("trading", ASKED, "Got it, I'll start on that."),
    ("trading", ASKED, "搞定了"),
    ("trading", TWIN, "收到，马上开始"),
    ("trading", TWIN, "收到，第二个马上开始，第一个做不了"),
    ("trading", ENDED, "收到，马上开始"),
    ("macro", ASKED, "收到，马上开始"),
    ("scout", ENDED, "> @trading [state=request] [ack_id=gold-iran-v1] 请给策略\n这是哪天的？"),
    ("ledger", ENDED, "> 收到\n> 谢谢\n那我再问一句：第二步谁负责"),
    ("macro", ENDED, "「@radar [state=request] [ack_id=old-topic-v1]」这条还算数吗？"),
    ("zoe", ENDED, "收到\n> 3% 就止损"),
    ("scout", ENDED, "> 你是不是没收到？\n没收到"),
    ("macro", ENDED, "@trading [state=confirmed] [ack_id=gold-iran-v1]\n> [state=request] [ack_id=other-v1]"),
    ("macro", ENDED, "谢谢，不过合计那一栏对不上"),
    ("macro", ENDED, "Thanks, but the second figure is wrong."),
    ("macro", ENDED, "收到，但我不同意第二点"),
    ("macro", ENDED, "Thanks for this — please hold until Monday."),
    ("scout", ENDED, "还没收到附件"),
    ("scout", ENDED, "I have not received it"),
    ("scout", ENDED, "并未收到，谢谢"),
    ("scout", ENDED, "OK?"),
    ("scout", ENDED, "ok吗"),
    ("scout", ENDED, "收到了吗"),
    ("macro", ENDED, "好的，先别动"),
    ("macro", ENDED, "稍等，谢谢"),
    ("macro", ENDED, "Hold on please"),
    ("macro", ENDED, "更正：应为3.5%"),
    ("macro", ENDED, "谢谢！日期应是周五"),
    ("macro", ENDED, "Thanks! One more thing: add the Q2 numbers"),
    ("macro", ENDED, "好的，我来处理"),
    ("macro", ENDED, "谢谢，已改"),
    ("macro", ENDED, "❌"),
    ("macro", ENDED, "⚠️ 收到"),
    ("macro", ENDED, "好的❓"),
    ("macro", ENDED, "> 谁负责？\n我"),
    ("macro", ENDED, "@radar 你看一下，谢谢"),
    ("macro", ENDED, "不用了，谢谢"),
    ("macro", ENDED, "No thanks"),
    ("macro", ENDED, "没明白，谢谢"),
    ("macro", ENDED, "收到个空文件"),
    ("macro", ENDED, "好的，取消吧"),
    ("macro", ENDED, "好，卖"),
    ("macro", ENDED, "NO_REPLY，但第二步错了"),
    ("macro", ENDED, "NO_REPLY because the price is wrong"),
    ("macro", ENDED, "收到(错误版本)"),
    ("macro", ENDED, "辛苦了，能再补一张图吗"),
    ("macro", ENDED, "Thanks in advance for the numbers"),
    ("macro", ENDED, "👍 但先别执行"),
    ("macro", ENDED, "已经做完了，谢谢"),
    ("macro", ENDED, "谢谢，收不到"),
]
ROWS = [(row, NO_REPLY) for row in SILENT] + [(row, REPLY) for row in DELIVERED]


@pytest.fixture
def desk(bench: Any) -> Any:
    """Give a tree with one thread that has ended and two that wait for trading, made of dropped files."""
    bench.tree.team(agents={name: {"type": f"kind-{name}"} for name in AGENTS})
    for ack_id in (ENDED, ASKED, TWIN):
        bench.tree.request(ack_id, **{"from": "macro", "to": ["trading"]})
    bench.turn()
    for state, words in (("confirmed", {"version": "v1", "conclusion": "看多"}), ("final", {"conclusion": "减半"})):
        words = {"state": state, "ack_id": ENDED, "from": "trading", "status": "success", **words}
        if state == "confirmed":
            words.pop("status")
        bench.tree.drop(f"roundtable/{ENDED}/{state}-trading.json", words)
        bench.turn(60)
    assert [bench.thread(ack_id).ended for ack_id in (ENDED, ASKED, TWIN)] == [True, False, False]
    return bench


def judged(row: tuple[str, str, str], ask: Callable[[str, str, str, bool], str]) -> str:
    """Give REPLY where another agent is woken and the author may post it, NO_REPLY where neither, else ''."""
    author, ack_id, text = row
    woken = {ask(name, ack_id, text, False) for name in AGENTS if name != author}
    posted = ask(author, ack_id, text, True)
    return posted if (REPLY in woken) == (posted == REPLY) else ""


def test_every_text_is_judged_right(desk: Any) -> None:
    """Nothing of substance is silenced, and no courtesy wakes anybody, read by each agent and before it is posted."""
    tree, files = desk.tree.path, {one: one.read_bytes() for one in desk.tree.path.rglob("*") if one.is_file()}
    found = [
        (
            row,
            word,
            judged(row, lambda name, ack_id, text, out: reply_check(tree, name, text, ack_id, outgoing=out).word),
        )
        for row, word in ROWS
    ]
    silenced = [row for row, word, got in found if word == REPLY and got != REPLY]
    delivered = [row for row, word, got in found if word == NO_REPLY and got != NO_REPLY]
    count = f"{len(found) - len(silenced) - len(delivered)} of {len(found)} right"
    assert (silenced, delivered) == ([], []), (
        f"{count}; wrongly silenced: {len(silenced)} {silenced}; wrongly delivered: {len(delivered)} {delivered}"
    )
    assert {one: one.read_bytes() for one in tree.rglob("*") if one.is_file()} == files, "a check writes nothing"


def test_the_command_says_the_same_of_every_text(desk: Any) -> None:
    """`ackd reply-check` exits 0 for both answers, and its first word is the answer."""
    for (author, ack_id, text), word in ROWS:
        words = ["--dir", str(desk.tree.path), "--agent", author, "--ack-id", ack_id, "--outgoing", "-"]
        done = CliRunner().invoke(command, words, input=text)
        assert (done.exit_code, done.output.split()[0]) == (0, word), (text, done.output)


@pytest.mark.parametrize(("text", "word"), [("收到，感谢！", NO_REPLY), ("没收到", REPLY)])
def test_a_real_process_prints_the_word_first(desk: Any, text: str, word: str) -> None:
    """The program itself, with the text as an argument and the answer as JSON too."""
    words = ["reply-check", "--dir", str(desk.tree.path), "--agent", "trading", "--ack-id", ENDED, text]
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "PYTHONUTF8": "1"}
    outs = [
        subprocess.run(
            [sys.executable, "-m", "ackd", *words, *more], env=env, capture_output=True, check=True, timeout=60
        )
        for more in ([], ["--json"])
    ]
    assert outs[0].stdout.decode().split()[0] == word
    assert json.loads(outs[1].stdout)["data"]["reply"] == word


def test_silence_does_not_settle_what_is_owed(desk: Any) -> None:
    """Before the end, thanks and a silent token stay unsaid, and the answer names the step that is still owed."""
    for text in ("收到", "NO_REPLY"):
        said = reply_check(desk.tree.path, "@Trading", text, ASKED, outgoing=True)
        assert said.word == NO_REPLY
        assert f"ackd confirm {ASKED}" in said.because
