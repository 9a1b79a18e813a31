"""Courtesy is what says nothing from end to end; whatever else is delivered."""

from __future__ import annotations

import time

import pytest

from ackd.protocol.courtesy import is_courtesy, is_silent_token, strip_quotes

ROSTER = ("macro", "trading", "radar", "scout", "ledger", "quant-2", "zoe", "宏观")

POLITE = {
    "receipt": [
        "收到",
        "收到，感谢！",
        "已收到",
        "收到啦～",
        "收悉，谢谢",
        "已知悉",
        "知道了",
        "明白",
        "了解。",
        "已阅",
        "收到收到",
        "@trading收到",
        "都收到了",
        "确认",
        "Acknowledged.",
        "ack",
        "ACK!",
        "Received, thank you so much",
        "Noted with thanks.",
        "Got it, thanks!",
        "Got it 👍",
        "Copy that",
        "Roger that.",
        "Understood.",
        "Understood, standing by.",
        "Message received.",
        "Received the final. Thanks!",
        "Noted on my end",
        "Confirmed.",
        "I see",
        "收到你的最终结论，感谢",
    ],
    "agreement": [
        "好",
        "好的",
        "好的👌",
        "好嘞",
        "行",
        "嗯嗯",
        "没问题",
        "OK",
        "ok.",
        "Okay!",
        "OK 👍",
        "ok啦",
        "Sounds good",
        "Sounds good to me 👍",
        "kk",
        "Alright, thanks.",
        "Perfect.",
        "Great, thank you!",
        "makes sense, thanks",
        "+1",
        "@macro @trading 收到 +1",
        "100% agree",
        "收到，同意",
        "Agreed, thanks",
        "Thanks, looks good",
    ],
    "thanks": [
        "谢谢",
        "谢谢！",
        "thanks!",
        "thx",
        "ty",
        "Thanks a lot, everyone!",
        "Many thanks to macro and trading.",
        "Thanks, team. Great job!",
        "Thanks for the detailed analysis, very helpful!",
        "Thank you for your hard work and dedication.",
        "Thanks for the quick turnaround",
        "Thanks for letting me know!",
        "Thanks for the heads-up",
        "thank you, Macro — much appreciated",
        "I really appreciate your help.",
        "感谢确认",
        "感谢macro",
        "感谢宏观的分析",
        "感谢@宏观 和@trading 的支持！",
        "谢谢大家，辛苦了",
        "谢谢 quant-2",
        "感谢各位的支持与配合",
        "非常感谢您的耐心解答",
        "谢谢提醒",
        "收到thanks",
        "辛苦了～",
        "辛苦macro了",
        "大家辛苦了！🎉",
    ],
    "praise": [
        "Great work team! 🎉",
        "Excellent work, macro 👏",
        "Well done everyone 👏👏",
        "Good catch, thanks.",
        "Very clear and thorough analysis. Thank you!",
        "That was super insightful.",
        "The logic is clear and I learned a lot.",
        "Kudos to trading!",
        "Congrats team! 🥳",
        "分析很到位，学到了",
        "思路清晰，论证扎实，赞！",
        "太棒了！",
        "非常专业，点赞👍",
        "你的分析很清楚，谢谢",
        "@trading 收到，已阅。谢谢你这么细的分析，逻辑清楚，学到很多，期待下次再一起做！",
    ],
    "you are welcome": [
        "不用谢",
        "不客气😊",
        "应该的",
        "客气了",
        "没关系",
        "you're welcome",
        "You’re very welcome!",
        "np",
        "No problem!",
        "No worries 👍",
        "My pleasure!",
        "Don't mention it.",
        "Glad I could help!",
        "Anytime!",
    ],
    "closing": [
        "No further action needed",
        "Nothing to add.",
        "No further questions from my side.",
        "No reply needed.",
        "Standing by.",
        "On standby.",
        "（待命中）",
        "随时待命",
        "无需回复",
        "暂无补充",
        "没有其他问题了，谢谢",
        "合作愉快！",
        "期待下次合作",
        "Looking forward to working together again",
        "It was a pleasure working with you!",
        "Have a great day!",
        "Feel free to reach out anytime.",
        "Let me know if you need anything else.",
        "感谢macro，感谢trading，有问题随时找我",
        "有需要随时叫我",
        "晚安",
        "了解，后续按此执行。",
        "收到，以此为准",
        "Understood, I'll keep that in mind.",
        "收到，后续会注意",
    ],
    "signs": [
        "",
        "   ",
        "\n\n",
        ".",
        "...",
        "…",
        "。",
        "！",
        "✓",
        "√",
        "✅",
        "☑️",
        "👍",
        "👍🏽",
        "🙏🙏🙏",
        "❤️",
        "🙇‍♂️🙏",
        "👍收到收到",
        "💯",
        ":)",
        "谢谢 ^_^",
        "@macro",
        "<@U02AB> thanks",
        "@all 收到",
        "@所有人 收到",
    ],
    "other spellings": [
        "謝謝",
        "收到，謝謝大家的辛苦付出",
        "已閱，感謝您的詳細分析",
        "瞭解，後續按此執行",
        "沒問題",
        "不客氣",
        "無需回覆",
        "妳辛苦了",
        "ＯＫ",
        "ｔｈａｎｋｓ！",
        "＠macro 收到",
        "收\u200b到",
        "\ufeff收到",
        "THANK YOU",
        "**Acknowledged.** Thanks!",
        "- Noted\n- Thanks",
        "`ack`",
        "_thanks_",
        "【收到】",
        "“收到”",
        "收到\r\n谢谢\r\n",
        "收到　谢谢",
        "thank\u00a0you",
        "Thank you for the thorough\nanalysis and your\nhelp",
        ":+1: thanks :tada:",
        "收到[抱拳]",
        "谢谢~~",
    ],
    "long": [
        "Acknowledged. No further action needed. Thank you everyone!",
        "You're very welcome, trading! Let me know if you need anything else.",
        "Thank you for the thorough analysis, Macro. The logic is clear and I learned a lot.\nLooking forward to it!",
        "好的，已收到最终结论，感谢各位的支持与配合！",
        "收到，感谢@trading的详细分析！结论清晰，逻辑严谨，后续有问题随时沟通。",
        "大家好，收到，谢谢",
        "Hi team, thank you! Great job on this. Have a nice weekend everyone! 🎉",
    ],
}

SUBSTANCE = {
    "not received": [
        "没收到",
        "未收到",
        "还没收到",
        "并未收到，谢谢",
        "not received",
        "Received nothing",
        "Received 3 of 5",
        "収到不",
    ],
    "question": [
        "收到？",
        "收到?",
        "收到了吗",
        "收到没有",
        "没问题吗",
        "好不好",
        "行不行",
        "OK?",
        "thanks？",
        "收到❓",
        "收到⁉️",
        "在吗",
        "可以吗",
        "「@radar [state=request] [ack_id=fx-v1-202603010900]」这条还算数吗？",
    ],
    "but": [
        "好的，等等",
        "OK, wait",
        "OK but wait",
        "谢谢，不过…",
        "Thanks, but row 3 is wrong",
        "Received, but conflicts with the plan",
        "已收到，但仓位上限那条和上周的风控决议冲突，先别执行。",
        "谢谢，不过第3步的日期写错了，应该是3月12日",
        "Great work, but the numbers are off",
        "知道了但不同意",
        "逻辑清楚但数据错",
        "The analysis is clear but incomplete",
        "No further action needed except the backup",
    ],
    "refusal": [
        "No, thanks — cancel it",
        "No thanks",
        "no",
        "不",
        "不，谢谢",
        "不用了，谢谢",
        "谢谢，不用了",
        "不用谢谢你了，取消吧",
        "不同意",
        "I disagree",
        "not OK",
        "No good",
        "never mind",
        "Cancel. Thanks.",
    ],
    "order": [
        "停！",
        "先别",
        "稍等",
        "Hold. Thanks.",
        "Stop",
        "stand by",
        "原地待命",
        "按此执行",
        "后续按此执行",
        "好的，后续按此执行",
        "以此为准",
        "收到，下次注意",
        "收到请回复",
        "收到回复",
        "请确认，谢谢",
        "辛苦再跑一遍",
        "辛苦你查一下",
        "辛苦确认收到",
        "辛苦macro确认收到",
        "确认一下",
        "说明清楚",
        "Please confirm, thanks",
        "OK to deploy",
        "go ahead",
        "Approved",
        "同意",
        "Agreed",
        "copy all",
        "copy everyone",
        "Quick call",
        "@trading先别执行",
        "@宏观先别执行 收到",
        "感谢trading先别执行",
        "收到。另外帮我查一下 601857 今天的成交额",
        "Sounds good, go ahead and deploy",
    ],
    "work": [
        "收到，马上开始",
        "Got it, I'll start on that.",
        "好的，我明天做",
        "收到，我来处理",
        "Will do, thanks",
        "on it",
        "Acknowledged, executing now",
        "收到，第二个马上开始，第一个做不了",
    ],
    "news": [
        "搞定了",
        "已完成",
        "Done, thanks",
        "done: 42",
        "already done, thanks",
        "already done,\r\nthanks",
        "Fixed",
        "好了",
        "可以了",
        "没事了",
        "没问题了",
        "确认没问题",
        "都到位",
        "报告好了",
        "感谢，文件已更新",
        "谢谢提醒，我把 intel/finance_news_latest.json 里的日期改好了",
        "No worries, I fixed it",
        "Thanks, noted the error in row",
        "收到的文件打不开",
        "感谢的话不多说了，直接讲问题：第二张表合计少了一行",
        "trading: ok",
        "No issues",
        "All good",
        "Nothing further received",
        "I see no problem",
        "No objections received",
        "not at all helpful",
        "了解清楚",
    ],
    "asking for more": [
        "Thanks in advance",
        "先谢谢了",
        "Looking forward to your reply",
        "期待你的回复",
        "Let me know when it's done",
        "有变化随时通知我",
        "Standing by for your approval",
        "再说",
        "希望配合",
    ],
    "figures": [
        "谢谢，3",
        "1",
        "收到1",
        "收到②",
        "+2",
        "+1.5",
        "+1%",
        "100%",
        "½",
        "thanks ３",
        "thanks v2",
        "ok <3",
        "很高",
        "> 3% 就止损",
        ">3% sell",
        "二",
    ],
    "addresses": ["thanks /tmp/a.txt", "收到 a.json", "thanks https://example.org", "thanks @3pm"],
    "signs": [
        "👎",
        "❌",
        "🛑",
        "⚠️",
        "收到 ✗",
        "🙅",
        "OK :(",
        "收到（",
        "~~收到~~",
        "收到\x00",
        "收到\u202e谢谢",
        "?",
        "？",
    ],
    "names alone": ["macro", "trading", "ok trading"],
    "greeting alone": ["hello", "你好", "早上好", "Hi team"],
}

COURTEOUS_IN_COMPANY = {
    *SUBSTANCE["greeting alone"],
    "Agreed",
    "同意",
    "All good",
    "后续按此执行",
    "以此为准",
}
"""Alone they may say something (a vote, an order, a call); with a receipt or thanks they say what "OK" says."""


def _flat(groups: dict[str, list[str]]) -> list[object]:
    return [
        pytest.param(text, id=f"{group.replace(' ', '-')}-{number}")
        for group, texts in groups.items()
        for number, text in enumerate(texts, 1)
    ]


@pytest.mark.parametrize("text", _flat(POLITE))
def test_what_says_nothing_is_courtesy(text: str) -> None:
    """Receipt, thanks, praise and farewell, in Chinese and English, of any length, wake nobody."""
    assert is_courtesy(text, names=ROSTER)


@pytest.mark.parametrize("text", _flat(SUBSTANCE))
def test_what_says_something_is_delivered(text: str) -> None:
    """A hold, a correction, a figure, a question or a refusal is no courtesy, however politely it begins."""
    assert not is_courtesy(text, names=ROSTER)


@pytest.mark.parametrize("text", _flat(SUBSTANCE))
def test_politeness_around_it_hides_no_substance(text: str) -> None:
    """With thanks before and after it, substance stays substance."""
    assert is_courtesy(f"收到，谢谢！\n{text}\nThanks!", names=ROSTER) == (text in COURTEOUS_IN_COMPANY)


class TestNames:
    """A roster name is no word of its own."""

    def test_a_name_is_known_only_from_the_roster(self) -> None:
        """Thanks to an unknown bare word are in doubt; to a mention or a known name they are thanks."""
        assert not is_courtesy("感谢mercury")
        assert is_courtesy("感谢@mercury")
        assert is_courtesy("感谢mercury", names=["mercury"])

    def test_a_chinese_mention_ends_where_the_name_ends(self) -> None:
        """Without blanks only the roster says where a name ends; what follows is read like any text."""
        assert is_courtesy("@宏观收到", names=["宏观"])
        assert not is_courtesy("@宏观组收到", names=["宏观"])
        assert not is_courtesy("@宏观收到")

    def test_names_are_compared_as_they_look(self) -> None:
        """Case, width and composition of a name make no difference."""
        assert is_courtesy("Thanks ZOË!", names=["zoe\u0308"])
        assert is_courtesy("感谢ｍａｃｒｏ", names=["Macro"])

    def test_a_longer_word_is_not_a_name(self) -> None:
        """`macroeconomics` is not macro."""
        assert not is_courtesy("thanks macroeconomics", names=["macro"])


class TestQuotes:
    """What is quoted was said by somebody else."""

    @pytest.mark.parametrize(
        "text",
        [
            pytest.param("> @zoe [state=final] [ack_id=bonds-v1-202603081430] 结论：减仓\n谢谢！", id="one-line"),
            pytest.param(">> [state=request]\n> 没收到？\n感谢", id="nested"),
            pytest.param("> 请复核\n\n> 第二段 42\n\n收到", id="two-paragraphs"),
            pytest.param("> 只有引用", id="nothing-but-a-quote"),
            pytest.param(
                "On Sun, 8 Mar 2026 at 14:55, zoe wrote:\n> @radar re-check\n\nalready done, thanks", id="mail"
            ),
            pytest.param(
                "谢谢！\n\nOn Mon, Mar 9, 2026 at 9:01 AM Zoe Chen <zoe@example.org>\nwrote:\n> 3% stop\n> agreed?",
                id="mail-below-own-words",
            ),
            pytest.param("2026年3月8日 14:55，宏观 写道：\n> 请复核\n收到，谢谢", id="chinese-mail"),
            pytest.param("↪ @trading: 结论：减仓三成\n👍", id="reply-header"),
            pytest.param("「macro：结论：减仓三成」\n- - - - - - - -\n谢谢", id="block-above-dashes"),
            pytest.param("> 请处理\n已经处理了，谢谢", id="done-already-below-a-quote"),
        ],
    )
    def test_a_quote_is_not_the_authors_word(self, text: str) -> None:
        """Tags, figures and questions inside a quote do not make a thank-you substance."""
        assert is_courtesy(text, names=ROSTER)

    @pytest.mark.parametrize(
        "text",
        [
            pytest.param("> @trading 请给策略\n这是哪天的？", id="question-below"),
            pytest.param("> 收到\n> 谢谢\n那我再问一句：第二步谁负责", id="courtesy-is-only-quoted"),
            pytest.param("> 你是不是没收到？\n没收到", id="answer-below"),
            pytest.param("收到\n> 3% 就止损", id="own-rule-below"),
            pytest.param("收到\n> 先别执行", id="unknown-quote-below"),
            pytest.param("> 5% 减仓\n谢谢", id="comparison-above"),
            pytest.param(">=3 cut\n谢谢", id="at-least"),
            pytest.param("谢谢\n↪ @trading: 停止交易", id="reply-header-below"),
            pytest.param("回复 @trading：没收到", id="answer-in-one-line"),
            pytest.param("On reflection, ignore what macro wrote:\n> buy", id="no-mail-header"),
            pytest.param("On 8 March, I object to what macro wrote:\n> buy", id="sentence-with-a-date"),
            pytest.param("On 8 Mar 2026, macro wrote:\nstop", id="header-without-a-quote"),
            pytest.param("「macro：结论」\n谢谢，但错了", id="block-without-dashes"),
            pytest.param("> please deploy\ndone", id="done-below-a-quote"),
            pytest.param("> please deploy\nwill do, thanks", id="promise-below-a-quote"),
            pytest.param("收到\n\n> 请处理\n已经处理了，谢谢", id="own-words-first"),
        ],
    )
    def test_own_words_beside_a_quote_count(self, text: str) -> None:
        """What is not certainly a quote is the author's."""
        assert not is_courtesy(text, names=ROSTER)

    def test_the_rest_is_given_back(self) -> None:
        """Own paragraphs stay as they are, blank lines between them too."""
        assert strip_quotes("> a\n>> b\n\nfirst\n\nsecond\n> kept\n") == "first\n\nsecond\n> kept"
        assert strip_quotes("> a") == ""
        assert strip_quotes("plain") == "plain"


class TestSilentToken:
    """An agent that has nothing to say writes its token, more or less."""

    @pytest.mark.parametrize(
        "text",
        [
            "NO_REPLY",
            "no_reply",
            "NO REPLY",
            "NO-REPLY",
            "NoReply",
            "`NO_REPLY`",
            "**NO_REPLY**",
            "NO\\_REPLY",
            "NO_REPLY.",
            '"NO_REPLY"',
            "[NO_REPLY]",
            "(NO_REPLY)",
            "「NO_REPLY」",
            "<NO_REPLY/>",
            "```\nNO_REPLY\n```",
            '{"reply": "NO_REPLY"}',
            "ＮＯ＿ＲＥＰＬＹ",
            "NO\u200b_REPLY",
            "> 你好\nNO_REPLY",
            "NO_REPLY NO_REPLY",
            "NO_REPLY 🙏",
            "收到，谢谢\n\nNO_REPLY",
            "NO_REPLY\n",
            "NO_REPLY 🤐🙏",
            "“NO_REPLY”",
            "'NO_REPLY'",
            "__NO_REPLY__",
            "# NO_REPLY",
            "```text\nNO_REPLY\n```",
            '```json\n{"action": "NO_REPLY"}\n```',
            "<final>NO_REPLY</final>",
            "Reply: NO_REPLY",
            "回复：NO_REPLY",
            "HEARTBEAT_OK",
            "heartbeat_ok.",
            "**HEARTBEAT_OK**",
            "`ANNOUNCE_SKIP`",
            "REPLY_SKIP",
            "[静默]",
            "【静默】",
            "（不回复）",
            "「保持静默」",
            "(silent)",
            "*[no reply needed]*",
            "（静默）收到，谢谢",
            "NO_REPLY because the thread has ended",
            "NO_REPLY — nothing to add.",
            "NO_REPLY (the thread is closed, no reply needed)",
            "Nothing further to add. NO_REPLY",
            "NO_REPLY：线程已结束，无需回复",
            "NO_REPLY（对方只是致谢）",
            "NO_REPLY - it was just courtesy",
            "HEARTBEAT_OK, I’m staying silent",
        ],
    )
    def test_it_is_known_in_the_forms_that_models_write(self, text: str) -> None:
        """Markup, brackets, case and courtesy beside it make no difference."""
        assert is_silent_token(text)

    @pytest.mark.parametrize(
        "text",
        [
            "",
            "收到",
            "NO_REPLY because the price is wrong",
            "NO_REPLY, the task is done",
            "NO_REPLY because the thread has not ended",
            "NO_REPLY, the thread has ended?",
            "NO_REPLY, nothing to add but the total is off",
            "NO_REPLY，线程没有结束",
            "NO_REPLY，但第二步的日期错了",
            "NO_REPLY\n第三张表少一行",
            "```text\nNO_REPLY\n卖出\n```",
            "<final>NO_REPLY 撤单</final>",
            "<b>NO_REPLY</b><i>sell</i>",
            "HEARTBEAT_OK but the disk is full",
            "HEARTBEAT_OK_2",
            "heartbeat ok",
            "静默",
            "不回复",
            "[静默] 价格错了",
            "（不回复对方，直接卖出）",
            "I answer NO_REPLY",
            "no reply",
            "No reply.",
            "NO_REPLY?",
            "NO_REPLY_2",
            "XNO_REPLY",
            "NO_REPLY 3",
            "NO_REPLY, wait",
            "> NO_REPLY",
            '{"reply": "NO_REPLY", "but": "stop"}',
        ],
    )
    def test_a_text_that_only_contains_it_is_a_text(self, text: str) -> None:
        """Words beside the token are posted; the token inside a quote is another's."""
        assert not is_silent_token(text)

    def test_a_team_may_have_its_own(self) -> None:
        """The token is an argument; an empty one is never found."""
        assert is_silent_token("[silent]", token="SILENT")
        assert not is_silent_token("[静默]", token="SILENT")
        assert not is_silent_token("NO_REPLY", token="SILENT")
        assert not is_silent_token("", token="")


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("收到" * 500_000, id="phrases"),
        pytest.param("\n" * 1_000_000, id="blank-lines"),
        pytest.param(">" + " " * 1_000_000, id="blanks-after-a-quote-mark"),
        pytest.param("On 8 Mar 2026, a wrote:\n" * 40_000, id="headers"),
        pytest.param("「" * 1_000_000, id="open-brackets"),
        pytest.param("- " * 500_000, id="dashes"),
    ],
)
def test_a_million_characters_take_a_moment(text: str) -> None:
    """Hostile length costs linear time."""
    begun = time.perf_counter()
    is_courtesy(text, names=ROSTER)
    is_silent_token(text)
    assert time.perf_counter() - begun < 5


def test_nobody_thanks_at_length() -> None:
    """Above two thousand characters of own words nothing is courtesy; a long quote does not count."""
    assert is_courtesy("谢谢" * 1_000)
    assert not is_courtesy("谢谢" * 1_000 + "！")
    assert is_courtesy("> 报告" + "很长" * 5_000 + "\n谢谢")
