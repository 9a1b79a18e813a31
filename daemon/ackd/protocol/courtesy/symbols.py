"""Signs without words: punctuation, emoji, ticks and faces that carry no content (data only).

Whatever can carry content stays out on purpose: question marks, digits, `>`, `<`, `=`, `+`, `%`, `$`, crosses,
warning signs, raised hands, thumbs down. A text with one of them is delivered.
"""

from __future__ import annotations

OPENING = frozenset("([【《「『〔〈")
CLOSING = frozenset(")]】》」』〕〉")

PUNCTUATION = frozenset(".,!;:~-'\"*_`#&…。、·•‧・‥–—―−〜～“”‘’„«»") | OPENING | CLOSING

TICKS = frozenset("✓✔✅☑√🗸🆗")

EMOJI = frozenset(
    "👍👌🙏👏🙌🤝🫡🫶🤗💪✌👋🙇🤟🤘"  # hands and bows
    "😀😃😄😁😆😊🙂😉😍🥰😘😎🥳😇😌☺🤩😋😺😸🤓"  # smiles
    "❤🧡💛💚💙💜🤎🖤🤍💖💗💓💕💞💝♥💟💘"  # hearts
    "🎉🎊🎈🎁🏆🥇🏅🌟⭐✨💫🔥💯🚀🌹🌸🌺🌻🌷💐🍻🥂☕🍵🧧🎯🌈☀🌞🌙💎👑🍀🎇🎆"  # joy and flowers
    "📝🗒"  # "noted"
)

FACES = (":)", ":-)", ";)", ";-)", "=)", "(:", ":d", ":-d", "^_^", "^-^", "^^", "^.^")
"""Faces made of characters, case-folded; they are taken off before brackets are counted."""

SHORTCODES = (
    "+1 thumbsup ok_hand pray clap raised_hands muscle heart tada white_check_mark heavy_check_mark "
    "ballot_box_with_check 100 fire star star2 sparkles rocket smile "
    "smiley slightly_smiling_face blush grinning wave handshake saluting_face "
    "partying_face trophy medal sunglasses hugging_face green_heart blue_heart purple_heart"
)
"""Names of emoji between colons, as Slack and Discord write them; parted by blanks."""

INVISIBLE = frozenset("\u200b\u200c\u200d\u2060\ufeff\u00ad")
"""Shown by no reader, so it changes no meaning. Direction marks are not here: they change what is seen."""

MODIFIERS = frozenset("\ufe0e\ufe0f\u20dd🏻🏼🏽🏾🏿")
"""Variation selectors and skin tones: another look of the same emoji."""

APOSTROPHES = "’‘ʼ＇`´"
"""Marks that stand for an apostrophe inside a word."""
