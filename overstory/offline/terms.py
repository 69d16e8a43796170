"""Words of a text in any script, and what two forms of one word have in common."""

import re
import unicodedata
from functools import lru_cache

from overstory.offline.words import STOP_WORDS

_MARKS = "\u0300-\u036f\u0591-\u05c7\u0610-\u061a\u064b-\u065f\u0670"
_JOINED_SCRIPTS = "\u0900-\u0963\u0966-\u0dff\u0e01-\u0e3a\u0e40-\u0eff"
"""Indic scripts, Thai and Lao: vowel signs are no letters to the regex engine, and still part of words."""
HAN = "\u3005\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003134f"
KANA = "\u3041-\u3096\u30a1-\u30fa\u30fc"
_WIDE = re.compile(f"[{HAN}{KANA}]+")
_LETTER = rf"[^\W_{HAN}{KANA}]|[{_MARKS}{_JOINED_SCRIPTS}]"
WORD = re.compile(rf"(?:{_LETTER})+(?:['’.\-](?:{_LETTER})+)*|[{HAN}{KANA}]+")
_PIECE = re.compile(rf"\d+(?:[.,:]\d+)+|(?:{_LETTER})+(?:['’](?:{_LETTER})+)*|[{HAN}{KANA}]+")
_ASCII_PIECE = re.compile(r"\d+(?:[.,:]\d+)+|[a-z0-9]+(?:'[a-z]+)*")


def words_of(text: str) -> list[str]:
    """Words in lower case and order; Chinese and Japanese runs as overlapping pairs of characters."""
    if text.isascii():
        return _ASCII_PIECE.findall(text.lower())
    folded = unicodedata.normalize("NFKC", text).casefold().replace("’", "'")
    words: list[str] = []
    for piece in _PIECE.findall(folded):
        words.extend(_pairs(piece) if _WIDE.match(piece) else (piece,))
    return words


def _pairs(run: str) -> list[str]:
    return [run] if len(run) == 1 else [run[i : i + 2] for i in range(len(run) - 1)]


def is_stop_word(word: str) -> bool:
    """Whether a word in lower case carries no meaning of its own, in any of the languages known."""
    return word in STOP_WORDS or (len(word) == 1 and not word.isdigit() and not _WIDE.match(word))


def terms_of(text: str) -> list[str]:
    """The stems of the words that carry meaning, in order, repeated as often as they stand."""
    return [stem(word) for word in words_of(text) if not is_stop_word(word)]


@lru_cache(maxsize=50_000)
def stem(word: str) -> str:
    """A rough English stem: enough to bring `moves`, `moved` and `moving` together."""
    word = word.removesuffix("'s").removesuffix("'")
    if len(word) < 4 or not word.isascii() or not word.isalpha():
        return word
    if word.endswith(("ies", "ied")):
        return word[:-3] + "y" if len(word) > 4 else word[:-1]
    if word.endswith("s") and not word.endswith(("ss", "us", "is")):
        word = word[:-1]
    for ending in ("ing", "ed"):
        if word.endswith(ending) and _has_vowel(word[: -len(ending)]):
            word = _undouble(word[: -len(ending)])
            break
    return word.removesuffix("e") if len(word) > 3 else word


def _has_vowel(word: str) -> bool:
    return len(word) > 2 and any(letter in "aeiouy" for letter in word)


def _undouble(word: str) -> str:
    doubled = word[-1] == word[-2] and word[-1] != "s" and (word[-1] != "l" or len(word) > 5)
    return word[:-1] if doubled else word
