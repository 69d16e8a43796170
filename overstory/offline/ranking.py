"""Which sentences say most: by place, names, figures, shared words, and what was not said yet.

Centrality by TF-IDF and maximal marginal relevance (Carbonell and Goldstein 1998); no matrix, a few dicts.
"""

import math
import re
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from overstory.offline.dates import DATE
from overstory.offline.terms import terms_of

_CAPITAL = re.compile(r"(?<=[\w,;)’'\"”] )[^\W\d_a-zß-öø-ÿа-я][\w’'-]+")
_LABEL_ALONE = re.compile(r"[^\W\d]+: +\S+$")
_FIGURE = re.compile(r"\d")
_LEANING = re.compile(
    r"(?:he|she|it|its|they|them|their|this|that|these|those|his|her|there|here|such|then|so|and|but|or|yes|no|well|also|"
    r"however|therefore|thus|er|sie|es|das|dies|il|elle|ce|él|ella|eso)\b",
    re.IGNORECASE,
)
_TALK = re.compile(
    r"(?:good (?:morning|afternoon|evening)|thank(?:s| you)|hello|welcome|sorry|please|next question|let me|let's|ok(?:ay)?|"
    r"yeah|sure|great|hi)\b",
    re.IGNORECASE,
)
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
    bags = [frozenset(terms_of(text)) for text in texts]
    frequency = Counter(term for bag in bags for term in bag)
    orders = orders_in(texts)
    ranked = []
    for place, (text, bag) in enumerate(zip(texts, bags, strict=True)):
        central = sum(math.log(1 + frequency[term]) for term in sorted(bag)) / (len(bag) + 4)
        first = lead / (1 + place) ** 0.5
        steered = 3.0 if place in orders else 0.0
        ranked.append(Ranked(place, text, bag, central * 0.6 + first + weight_of(text, len(bag)) - steered))
    return ranked


def weight_of(text: str, terms: int) -> float:
    """What a sentence is worth by itself: names, dates and figures, ability to stand alone, a readable length."""
    names = len(_CAPITAL.findall(text))
    figures = bool(_FIGURE.search(text))
    weight = 0.5 * min(names, 5) / 3 + 0.25 * figures + 0.2 * bool(figures and DATE.search(text))
    weight += 0.15 * min(terms, 12) / 12
    if _LEANING.match(text):
        weight -= 0.3
    if _TALK.match(text):
        weight -= 0.4
    if text.rstrip("\"'”’)").endswith(("?", "？", "؟")):
        weight -= 0.35
    weight -= 0.45 if terms < 3 else 0.2 if terms < 5 else 0.0
    if (text.isupper() and text.lower() != text) or _LABEL_ALONE.match(text):
        weight -= 0.4
    if text[-1:].isalnum():
        weight -= 0.15
    return weight


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
