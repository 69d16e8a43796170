"""How many tokens a text has, about: enough to keep budgets, without a tokenizer.

Latin text has about four characters a token, Chinese, Japanese and Korean about one; the estimate leans high.
"""

import re
from bisect import bisect_left, bisect_right

_WIDE = re.compile(r"[\u1100-\u11ff\u2e80-\u9fff\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff\U00020000-\U0003134f]")
_CHARACTERS_A_TOKEN = 3.6


def estimate_tokens(text: str) -> int:
    """At least 1 for any text that is not empty."""
    wide = len(_WIDE.findall(text)) if not text.isascii() else 0
    return _tokens(len(text), wide)


class TokenRuler:
    """Finds the longest beginnings of one text that keep within budgets, looking at its letters once."""

    def __init__(self, text: str) -> None:
        self._ends = range(1, len(text) + 1)
        self._wide = [] if text.isascii() else [match.start() for match in _WIDE.finditer(text)]

    def reach(self, tokens: int) -> int:
        """The most characters of the beginning whose `estimate_tokens` is at most `tokens`, 0 for none."""
        return bisect_right(self._ends, tokens, key=lambda end: _tokens(end, bisect_left(self._wide, end)))


def _tokens(characters: int, wide: int) -> int:
    return int(wide + (characters - wide) / _CHARACTERS_A_TOKEN) + bool(characters)
