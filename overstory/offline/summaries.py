"""The summary of one chunk in its own sentences: those that say most, in their order, in the language of the source."""

import re
from collections.abc import Sequence

from overstory.offline.ranking import Ranked, is_order, nearness, orders_in, rank
from overstory.offline.sentences import Sentence, shorten, with_short_addresses
from overstory.offline.terms import HAN, KANA

_WHOLE_WORDS = 60
"""A chunk of so many words needs no summary: it is kept whole."""
_SHARE = 1 / 3
_MOST_WORDS = 150
_NOVELTY = 0.6
_LEAST_WORTH = -0.2
"""Below it a sentence says nothing that is worth its place (`Good morning.`, a bare label)."""
_MAX_CHARACTERS = 420
_WIDE_CHARACTER = re.compile(f"[{HAN}{KANA}]")


def summarize_chunk(sentences: Sequence[Sentence]) -> str:
    """About a third of the chunk's words and at least `_WHOLE_WORDS`, one paragraph; empty for a chunk without words."""
    texts = _candidates(sentences)
    words = sum(map(length_in_words, texts))
    if words <= _WHOLE_WORDS and not orders_in(texts):
        return " ".join(map(_closed, texts))
    budget = min(max(_WHOLE_WORDS, round(words * _SHARE)), _MOST_WORDS)
    chosen = sorted(_choose(rank(texts), budget), key=lambda item: item.place)
    return " ".join(_quoted(_closed(item.text)) for item in chosen)


def _candidates(sentences: Sequence[Sentence]) -> list[str]:
    """Running text first; without any, whatever the chunk has."""
    for kinds in (("prose", "item"), ("prose", "item", "row"), ("heading",), ("code",)):
        texts = [_tidy(s.text) for s in sentences if s.kind in kinds]
        texts = list(dict.fromkeys(text for text in texts if text))
        if sum(map(length_in_words, texts)) >= (3 if kinds != ("code",) else 1):
            return texts
    return [_tidy(s.text) for s in sentences]


def _tidy(text: str) -> str:
    return " ".join(shorten(with_short_addresses(text), _MAX_CHARACTERS).split())


def _choose(ranked: Sequence[Ranked], budget: int) -> list[Ranked]:
    """The best sentences within the budget, each weighed against those already taken; orders only for want of others."""
    orders = orders_in([item.text for item in ranked])
    left = [item for item in ranked if item.place not in orders] or list(ranked)
    chosen: list[Ranked] = []
    while left and budget > 3:
        best = max(left, key=lambda item: (item.worth - _NOVELTY * _said(item, chosen), -item.place))
        left.remove(best)
        words = length_in_words(best.text)
        if not chosen or (words <= budget and best.worth > _LEAST_WORTH):
            chosen.append(best)
            budget -= words
    return chosen


def _said(item: Ranked, chosen: Sequence[Ranked]) -> float:
    return max((nearness(item.terms, other.terms) for other in chosen), default=0.0)


def _quoted(text: str) -> str:
    """An order in the text is told as what the text says."""
    return f'The text says: "{text}"' if is_order(text) else text


def _closed(text: str) -> str:
    """With an end, so that the next sentence is not read as its continuation."""
    return text if not text[-1:].isalnum() else f"{text}."


def length_in_words(text: str) -> int:
    """Words; two Chinese or Japanese characters count as one."""
    wide = 0 if text.isascii() else len(_WIDE_CHARACTER.findall(text))
    return len(text.split()) + wide // 2
