"""Which sentences say most: by place, names, figures, shared words, and what was not said yet.

Centrality by TF-IDF and maximal marginal relevance (Carbonell and Goldstein 1998); no matrix, a few dicts.
"""

import math
import re
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from overstory.offline.dates import date_spans
from overstory.offline.terms import terms_of
from overstory.offline.words import COMMON_VERBS

_CAPITAL = re.compile(r"(?<=[\w,;)’'\"”] )[^\W\d_a-zß-öø-ÿа-я][\w’'-]+")
_READABLE = 160
"""Characters up to which a sentence is easy to read."""
_SPEAKER = re.compile(r"^(?:\[[^\]]{4,30}\] )?[^\W\d_][\w.'’-]*(?: [\w.'’-]+){0,3}: ")
_FIGURE = re.compile(r"\d")
_LEANING = re.compile(
    r"^[\"'“‘(]*(?:he|she|it|its|they|them|their|this|that|these|those|his|her|there|here|such|then|so|and|but|or|yes|no|well|also|"
    r"however|therefore|thus|for example|likewise|additionally|moreover|first(?:ly)?,|second(?:ly)?,|next,|finally|similarly|"
    r"in addition|at the same time|with that|to that end|of course|like|er|sie|es|das|dies|il|elle|ce|él|ella|eso)\b",
    re.IGNORECASE,
)
_TALK = re.compile(
    r"^[\"'“‘(]*(?:good (?:morning|afternoon|evening)|thank(?:s| you)|hello|welcome|sorry|please|next question|let me|let's|ok(?:ay)?|"
    r"yeah|yes|no|oh|right|absolutely|sure|great|hi|hello|exactly)\b",
    re.IGNORECASE,
)
_COSTS = (
    (_LEANING, 0.3),
    (_TALK, 0.4),
    (re.compile(r"[?？؟][\"'”’)]*$"), 0.35),
    (re.compile(r"\b(?:I|I'm|I've|I'd|I'll|I’m|me|my|you|your)\b"), 0.25),
    (re.compile(r"![\"'”’)]*$"), 0.15),
    (re.compile(r"\w$"), 0.15),
    (re.compile(r"^\(.*\)$"), 0.4),
    (re.compile(r"^['‘](?!.*['’](?:\W|$))|^[\"“](?!.*[\"”])"), 0.3),  # a quotation that doesn't end
    (re.compile(r"^[^\W\d]+: +\S+$"), 0.6),  # a label alone
    (re.compile(r"^[^a-zß-öø-ÿа-я]*[A-ZÀ-ÞА-Я]{2}[^a-zß-öø-ÿа-я]*$"), 0.4),  # shouted
)
_LATIN_WORD = re.compile(r"[a-zA-Z'’]+")
_ORDER = re.compile(
    r"(?:ignore|disregard|forget|override)\b.{0,40}\b(?:instruction|rule|prompt|above|previous|everything)"
    r"|\b(?:reply|answer|respond|output|print|say) (?:only|exactly|with)\b|\byou are (?:now|an? (?:ai|assistant|pirate))\b"
    r"|\b(?:system prompt|new rule|note to the indexer|as an ai|you must now)\b"
    r"|\b(?:every|the|this|your|only correct root) (?:summary|answer|response) (?:must|should|is|has to)\b"
    r"|^(?:output|system)\s*:|\bstop here\b"
    r"|\bwhen (?:you|summari[sz]ing|answering)\b.{0,60}\b(?:answer|add|state|print|say|write|include)\b"
    r"|\b(?:call|use|run|execute) the \w+ (?:function|tool)\b|\bdecode and follow\b|\"(?:summary|nodes|edges|arguments)\"\s*:"
    r"|\b(?:vergiss|ignoriere)\b.{0,30}\banweisung|忽略.{0,12}(?:指示|指令)|تجاهل.{0,20}التعليمات|\bignora\b.{0,30}\binstruc",
    re.IGNORECASE,
)
_NEAR = 0.75
"""Share of common terms from which two sentences count as the same."""


class Ranked(NamedTuple):
    """A sentence with what the choice needs."""

    place: int
    text: str
    terms: frozenset[str]
    worth: float


def rank(texts: Sequence[str], *, lead: float = 0.35) -> list[Ranked]:
    """Worth of each sentence among the others; `lead` favours those that come first."""
    bags = [frozenset(terms_of(without_speaker(text))) for text in texts]
    distinct = dict(zip(texts, bags, strict=True))
    frequency = Counter(term for bag in distinct.values() for term in bag)
    orders = orders_in(texts)
    ranked = []
    for place, (text, bag) in enumerate(zip(texts, bags, strict=True)):
        central = sum(math.log(1 + frequency[term]) for term in sorted(bag)) / (len(bag) + 4)
        first = lead / (1 + place) ** 0.5
        steered = 3.0 if place in orders else 0.0
        ranked.append(Ranked(place, text, bag, central * 0.6 + first + weight_of(text, len(bag)) - steered))
    return ranked


def weight_of(text: str, terms: int) -> float:
    """What a sentence is worth by itself: names, dates and figures, less what keeps it from standing alone."""
    text = without_speaker(text)
    names = len(_CAPITAL.findall(text))
    figures = _FIGURE.search(text) is not None
    weight = 0.5 * min(names, 5) / 3 + 0.25 * figures + 0.2 * bool(figures and date_spans(text))
    weight += 0.15 * min(terms, 12) / 12 - 0.15 * max(len(text) - _READABLE, 0) / 100
    weight -= 0.45 if terms < 3 else 0.2 if terms < 5 else 0.0
    return weight - sum(cost for pattern, cost in _COSTS if pattern.search(text)) - 0.9 * _is_fragment(text)


def without_speaker(text: str) -> str:
    """A turn of a talk without the label that says whose it is."""
    return _SPEAKER.sub("", text)


def _is_fragment(text: str) -> bool:
    """Whether a text in Latin letters has no verb: a heading, a list of names, a label."""
    words = _LATIN_WORD.findall(text)
    return len(words) * 8 > len(text) and not any(
        w in COMMON_VERBS or (len(w) > 4 and w.endswith("ed") and w.islower()) for w in words
    )


@lru_cache(maxsize=2_048)
def is_order(text: str) -> bool:
    """Whether a sentence tells whoever reads it what to do, as an attempt to steer a model does."""
    return _ORDER.search(text) is not None


def orders_in(texts: Sequence[str]) -> set[int]:
    """Places of the orders, with the short sentences that go on from one."""
    places: set[int] = set()
    for place, text in enumerate(texts):
        if is_order(text) or (place - 1 in places and len(text.split()) <= 6):
            places.add(place)
    return places


def nearness(one: frozenset[str], other: frozenset[str]) -> float:
    """Share of the smaller set's terms that the other has too, 0 to 1."""
    smaller = min(len(one), len(other))
    return len(one & other) / smaller if smaller else 0.0


def is_near_copy(one: frozenset[str], other: frozenset[str]) -> bool:
    together = len(one | other)
    return bool(together) and len(one & other) / together >= _NEAR
