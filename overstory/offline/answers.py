"""An answer without a model: the stored sentences that fit a question best, quoted, or the word that none does."""

import math
import re
from collections import Counter
from collections.abc import Sequence

from overstory.offline.dates import DATE
from overstory.offline.ranking import is_near_copy, is_order
from overstory.offline.sentences import sentences_of, shorten
from overstory.offline.states import changes_of
from overstory.offline.terms import terms_of
from overstory.offline.words import word_set

NO_ANSWER = "No sentence of the stored texts answers this by itself."
_OPENING = "From the stored texts: "
_MAX_SENTENCES = 3
_LONGEST = 400
_LEAST_COVER = 0.34
"""Share of the question's weight that the best sentence must have."""
_LEAST_COVER_UNSTEMMED = 0.22
"""The same for scripts whose words we don't bring to a stem."""
_MAX_COMPARED = 300
_CLOSE = 0.75
"""Further sentences must come so near to the best."""
_EARLIER = "Earlier: "
_FRAME = re.compile(
    r"^(?:Answer\b.*\bcontext:|World summary:|Relevant areas:|Nodes:|Connections:|Facts:|Context:|Question:|(?:This area of the|This) dataset is about:"
    r"|## .*|source: .*|---|Node: .*|__node_content_(?:start|end)__|.* --\[.*\]--> .*|- [A-Z]\w+(?: \w+)?: [^.]*)$",
    re.MULTILINE,
)
_CONTEXT_BEGINS = re.compile(
    r"^(?:Answer\b.*\bcontext:|World summary:|Relevant areas:|Nodes:|Context:|## .*|(?:The c|C)ontext\b.*:)\s*$",
    re.MULTILINE,
)
_LABEL = re.compile(r"^\s*(?:the )?question(?: is)?:\s*", re.IGNORECASE)
_WHEN = re.compile(
    r"\b(?:when|what (?:date|day|year|time)|which (?:date|day|year|weekday))\b|\bwann\b|\bquand\b|什么时候",
    re.IGNORECASE,
)
_HOW_MANY = re.compile(r"\bhow (?:many|much|long|old|far)\b|\bwie viele?\b|\bcombien\b|多少|几", re.IGNORECASE)
_ASKING = word_set("year date day time name weekday many much kind type")
"""Words that say what is asked for, and stand in no answer."""
_WEEKDAY = re.compile(r"\b(?:mon|tues|wednes|thurs|fri|satur|sun)days?\b", re.IGNORECASE)


def answer_prompt(prompt: str) -> str:
    """Answer a whole user prompt: the question, and the context after it in any of the forms that recall writes."""
    question, context = _split(prompt)
    return extract_answer(question, _passages(context))


def _split(prompt: str) -> tuple[str, str]:
    begin = _CONTEXT_BEGINS.search(prompt)
    if begin and prompt[: begin.start()].strip():
        return _LABEL.sub("", prompt[: begin.start()].strip()), prompt[begin.start() :]
    question, _, context = prompt.strip().partition("\n")
    return _LABEL.sub("", question), context


def _passages(context: str) -> list[str]:
    """The texts of a context without its frame."""
    plain = _FRAME.sub("", context)
    return [block for block in re.split(r"\n\s*\n", plain) if block.strip()]


def extract_answer(question: str, passages: Sequence[str]) -> str:
    """The sentences of `passages` that support an answer best, quoted in their order.

    Args:
        question: in any language.
        passages: texts in the order of time or of relevance; of equally fit ones the later wins.
    """
    told = _told(passages)
    sentences = list(told)
    terms = frozenset(terms_of(question))
    scores = _scores(question, terms - _ASKING or terms, sentences)
    best = max(scores, default=0.0)
    least = _LEAST_COVER if question.isascii() or _is_latin(question) else _LEAST_COVER_UNSTEMMED
    if best < least:
        return NO_ANSWER
    ranked = sorted(range(len(sentences)), key=lambda place: (-scores[place], -place))
    chosen: list[int] = []
    for place in ranked[: 4 * _MAX_SENTENCES]:
        fits = scores[place] >= max(least, best * _CLOSE)
        if fits and len(chosen) < _MAX_SENTENCES and not _repeats(place, chosen, sentences):
            chosen.append(place)
    return _OPENING + _quoted([sentences[place] for place in sorted(chosen)], told)


def _is_latin(text: str) -> bool:
    return sum("a" <= letter <= "ɏ" for letter in text.lower()) * 2 > len(text)


def _quoted(chosen: Sequence[str], told: dict[str, bool]) -> str:
    """The sentences in quotation marks, history marked as such, and what says that one of them is no longer so."""
    current = [text for text, is_history in list(told.items())[:_MAX_COMPARED] if not is_history]
    later = dict.fromkeys(current[n] for text in chosen for n in changes_of(text, current) if current[n] not in chosen)
    quotes = [f"{_EARLIER if told[text] else ''}“{shorten(text, _LONGEST)}”" for text in chosen]
    return " ".join([*quotes, *(f"But also: “{shorten(text, _LONGEST)}”" for text in list(later)[:2])])


def _told(passages: Sequence[str]) -> dict[str, bool]:
    """Each sentence once, with whether the map calls it history."""
    told: dict[str, bool] = {}
    for passage in passages:
        for sentence in sentences_of(passage):
            text = sentence.text.removeprefix(_EARLIER)
            if sentence.kind != "heading" and not is_order(text):
                told[text] = told.get(text, False) or text != sentence.text
    return told


def _scores(question: str, wanted: frozenset[str], sentences: Sequence[str]) -> list[float]:
    """Share of the question's weight that each sentence has; rare words weigh more."""
    bags = [frozenset(terms_of(text)) for text in sentences]
    frequency = Counter(term for bag in bags for term in sorted(bag & wanted))
    weights = {term: math.log(1 + len(bags) / (1 + frequency[term])) + 0.3 for term in wanted}
    total = sum(weights[term] for term in sorted(wanted)) or 1.0
    scores = []
    for bag, text in zip(bags, sentences, strict=True):
        cover = sum(weights[term] for term in sorted(bag & wanted)) / total
        scores.append(cover * _kind_factor(question, text))
    return scores


def _kind_factor(question: str, text: str) -> float:
    """More for a sentence with a date or figure where one is asked for."""
    if _WHEN.search(question):
        return 1.25 if DATE.search(text) or _WEEKDAY.search(text) else 0.9
    if _HOW_MANY.search(question):
        return 1.25 if any(character.isdigit() for character in text) else 0.95
    return 1.0


def _repeats(place: int, chosen: Sequence[int], sentences: Sequence[str]) -> bool:
    terms = frozenset(terms_of(sentences[place]))
    return any(is_near_copy(terms, frozenset(terms_of(sentences[other]))) for other in chosen)
