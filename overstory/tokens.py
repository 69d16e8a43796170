"""How many tokens a text has, about: enough to keep budgets, without a tokenizer.

Latin text has about four characters a token, Chinese, Japanese and Korean about one; the estimate leans high.
"""

import re

_WIDE = re.compile(r"[\u1100-\u11ff\u2e80-\u9fff\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff\U00020000-\U0003134f]")
_CHARACTERS_A_TOKEN = 3.6


def estimate_tokens(text: str) -> int:
    """At least 1 for any text that is not empty."""
    wide = len(_WIDE.findall(text)) if not text.isascii() else 0
    return int(wide + (len(text) - wide) / _CHARACTERS_A_TOKEN) + bool(text)
