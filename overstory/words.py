"""Words, as every store's full-text search compares them.

Case, diacritics and compatibility forms don't count. Chinese, Japanese and Korean put no spaces between words,
so that a run of their characters is read as pairs of neighbours: 東京都 is 東京 and 京都.
"""

import re
import unicodedata

WORD = re.compile(r"[^\W_]+")
_MARKS = re.compile(r"[\u0300-\u036f]+")
_UNSPACED = re.compile(
    r"[\u1100-\u11ff\u3005-\u3007\u3040-\u309f\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff"
    r"\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff\U00020000-\U0003134f]+"
)

_STOP_WORDS = """
a about after again all also am an and any are as at be because been before being between both but by can could
did do does doing down during each few for from further had has have having he her here hers him his how i if in
into is it its itself just me more most my no nor not now of off on once only or other our ours out over own same
she should so some such than that the their theirs them then there these they this those through to too under
until up us very was we were what when where which while who whom whose why will with would you your yours
"""
STOP_WORDS = frozenset(_STOP_WORDS.split())
"""English words that say how a question is put, not what it is about."""


def searchable(text: str) -> str:
    """A text whose words can be found by splitting it at whatever is no letter or digit, and by lower case."""
    return text if text.isascii() else _UNSPACED.sub(_pairs, _fold(text))


def folded(text: str) -> str:
    """A text as words are compared: the `WORD`s in it are its words."""
    return searchable(text).lower()


def words_of(text: str) -> list[str]:
    """The words of a text, in order."""
    return WORD.findall(folded(text))


def query_words(query: str) -> list[str]:
    """The words of a query that are worth a search: each once, without stop words."""
    return [word for word in dict.fromkeys(words_of(query)) if word not in STOP_WORDS]


def _fold(text: str) -> str:
    bare = _MARKS.sub("", unicodedata.normalize("NFKD", text))
    return unicodedata.normalize("NFC", bare).casefold()


def _pairs(run: re.Match[str]) -> str:
    characters = run.group()
    pairs = [characters[i : i + 2] for i in range(len(characters) - 1)] or [characters]
    return f" {' '.join(pairs)} "
