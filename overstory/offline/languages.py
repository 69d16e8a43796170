"""Which rules fit a text: told by its closed-class words and its script."""

import re
from collections.abc import Iterable

from overstory.offline.terms import HAN, KANA
from overstory.offline.words import ENGLISH_STOP_WORDS, GERMAN_STOP_WORDS

_GERMAN = GERMAN_STOP_WORDS - ENGLISH_STOP_WORDS - {"die", "war", "den", "am", "an", "so", "es", "des", "du"}
_ENGLISH = ENGLISH_STOP_WORDS - GERMAN_STOP_WORDS
_WIDE = re.compile(f"[{HAN}{KANA}]")
_CASELESS = re.compile("[\u0590-\u08ff\u0900-\u0fff\u10a0-\u10ff\uac00-\ud7af]")


def is_german(words: Iterable[str]) -> bool:
    """Whether words (in lower case) are German, where every noun has a capital."""
    german = english = 0
    for word in words:
        if word in _ENGLISH:
            english += 1
        elif word in _GERMAN:
            german += 1
    return german > english


def is_wide(text: str) -> bool:
    """Whether a text is written without spaces, in Chinese or Japanese."""
    return not text.isascii() and len(_WIDE.findall(text)) * 3 > len(text)


def is_caseless(text: str) -> bool:
    """Whether a text is mostly in a script without capitals that does have spaces (Arabic, Hebrew, Hindi, Korean)."""
    return not text.isascii() and len(_CASELESS.findall(text)) * 3 > len(text)
