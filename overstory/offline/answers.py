"""An answer without a model: the stored sentences that fit a question best, quoted, or the word that none does."""

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence, Set
from typing import NamedTuple

from overstory.models import instant
from overstory.offline.dates import DATE
from overstory.offline.ranking import is_near_copy, is_order
from overstory.offline.sentences import sentences_of, shorten
from overstory.offline.states import Statement, changes_of, tells_change
from overstory.offline.terms import terms_of
from overstory.offline.values import values_of
from overstory.offline.words import OVERVIEW_FRAME_WORDS, OVERVIEW_WORDS, word_set

NO_ANSWER = "No sentence of the stored texts answers this by itself."
_OPENING = "From the stored texts: "
_OF_THE_MAP = "From the stored texts, by their map:"
_OVERVIEW_TERMS = frozenset(terms_of(" ".join(sorted(OVERVIEW_WORDS | OVERVIEW_FRAME_WORDS))))
_MAX_FACTS = 15
_MAX_SOURCES = 2
_MAX_SENTENCES = 3
_MAX_STEPS = 5
"""Of a change that is asked for."""
_MAX_CHANGES = 2
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
_BARE_NODE = re.compile(r"^Node: (.+)\n__node_content_start__\n(?:\1|\w+)\n__node_content_end__$", re.MULTILINE)
"""A node of which nothing but its name or its type is said."""
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
_CHANGE_TERMS = frozenset(terms_of("change develop evolve shift"))
_ASKING_CHANGE = _ASKING.union(terms_of("plan schedule state value"))
_WEEKDAY = re.compile(r"\b(?:mon|tues|wednes|thurs|fri|satur|sun)days?\b", re.IGNORECASE)


class Text(NamedTuple):
    """What an answer may quote."""

    text: str
    occurred_at: str = ""
    is_history: bool = False
    sources: tuple[str, ...] = ()


class MapFact(NamedTuple):
    """A fact of the map, with what it rests on."""

    text: str
    occurred_at: str = ""
    sources: tuple[str, ...] = ()
    is_history: bool = False


class GivenMap(NamedTuple):
    """The part of a context that the map is."""

    text: str = ""
    topics: Sequence[str] = ()
    """Of the whole, a line a category."""
    facts: Sequence[MapFact] = ()
    """Those of the whole before those of areas."""


class Quotation(NamedTuple):
    """An answer in words of documents."""

    text: str
    sources: tuple[str, ...] = ()
    """The documents that are quoted, in the order of the quotes."""


def answer_prompt(prompt: str) -> str:
    """Answer a whole user prompt: the question, and the context after it in any of the forms that recall writes."""
    question, context = _split(prompt)
    return quote_texts(question, [Text(block) for block in blocks_of(context)]).text


def _split(prompt: str) -> tuple[str, str]:
    begin = _CONTEXT_BEGINS.search(prompt)
    if begin and prompt[: begin.start()].strip():
        return _LABEL.sub("", prompt[: begin.start()].strip()), prompt[begin.start() :]
    question, _, context = prompt.strip().partition("\n")
    return _LABEL.sub("", question), context


def blocks_of(context: str) -> list[str]:
    """The texts of a context without its frame, and without nodes that say nothing."""
    plain = _FRAME.sub("", _BARE_NODE.sub("", context))
    return [block for block in re.split(r"\n\s*\n", plain) if block.strip()]


# --- about the whole -------------------------------------------------------------------------------


def asks_for_overview(question: str) -> bool:
    """Whether a question has no word of its own, so that no sentence of the texts could be told from another by it."""
    asks_for_value = _WHEN.search(question) or _HOW_MANY.search(question)
    return any(map(str.isalpha, question)) and not asks_for_value and _OVERVIEW_TERMS.issuperset(terms_of(question))


def quote_map(given: GivenMap) -> Quotation:
    """What the map says of the whole: topics, then facts with date and documents, what holds before history."""
    told: dict[str, MapFact] = {}
    for fact in given.facts:
        if not is_order(fact.text):
            told.setdefault(fact.text, fact)
    facts = sorted(told.values(), key=lambda fact: fact.is_history)[:_MAX_FACTS]
    text = "\n".join([_OF_THE_MAP, *(f"- {topic}" for topic in given.topics), *map(_with_origin, facts)])
    return Quotation(text, _sources(facts))


def _with_origin(fact: MapFact) -> str:
    more = len(fact.sources) - _MAX_SOURCES
    rest = f"{more} more" if more > 0 else ""
    named = ", ".join(part for part in (fact.occurred_at, *fact.sources[:_MAX_SOURCES], rest) if part)
    quote = f"- {_EARLIER if fact.is_history else ''}“{shorten(fact.text, _LONGEST)}”"
    return f"{quote} ({named})" if named else quote


# --- about one thing -------------------------------------------------------------------------------


def quote_texts(question: str, texts: Sequence[Text], own: str = "") -> Quotation:
    """The sentences of texts that support an answer best, quoted, what holds before what it replaced.

    Args:
        question: in any language.
        texts: of equally fit sentences the later wins, by date and then by place.
        own: what of the question is new in a conversation; where it has a word, a sentence must have one of its words.
    """
    told = _told(texts)
    sentences = list(told)
    scores = _scores(question, sentences)
    if terms_of(own):
        scores = [score if has_own else 0.0 for score, has_own in zip(scores, _scores(own, sentences), strict=True)]
    best = max(scores, default=0.0)
    least = _LEAST_COVER if question.isascii() or _is_latin(question) else _LEAST_COVER_UNSTEMMED
    if best < least:
        return Quotation(NO_ANSWER)
    by_time = sorted(
        range(len(sentences)), key=lambda place: (instant(told[sentences[place]].occurred_at), place), reverse=True
    )
    chosen: list[int] = []
    limit = _MAX_STEPS if _asks_for_change(terms_of(question)) else _MAX_SENTENCES
    for place in sorted(by_time, key=lambda place: -scores[place])[: 4 * limit]:
        fits = scores[place] >= max(least, best * _CLOSE)
        if fits and len(chosen) < limit and not _repeats(place, chosen, sentences):
            chosen.append(place)
    fitting = {sentences[place] for place, score in enumerate(scores) if score > 0}
    return _quoted([sentences[place] for place in by_time if place in chosen], told, fitting)


def _is_latin(text: str) -> bool:
    return sum("a" <= letter <= "ɏ" for letter in text.lower()) * 2 > len(text)


def _quoted(chosen: Sequence[str], told: Mapping[str, Text], fitting: Set[str]) -> Quotation:
    """The sentences in quotation marks, after what says that one of them is no longer so; history is marked."""
    later = _what_changed(chosen, told)
    changes = [text for texts in later.values() for text in texts if text not in chosen]
    first = [text for text in dict.fromkeys(changes) if text in fitting][:_MAX_CHANGES]
    history = {text for text in (*chosen, *first) if told[text].is_history or not fitting.isdisjoint(later[text])}
    newest_first = sorted((*first, *chosen), key=lambda text: instant(told[text].occurred_at), reverse=True)
    beside = [text for text in dict.fromkeys(changes) if text not in fitting][:_MAX_CHANGES]
    marks = {
        **{text: "" for text in newest_first if text not in history},
        **{text: _EARLIER for text in newest_first if text in history},
        **dict.fromkeys(beside, "But also: "),
    }
    quotes = (f"{mark}{_quote(text)}" for text, mark in marks.items())
    return Quotation(_OPENING + " ".join(quotes), _sources(told[text] for text in marks))


def _sources(quoted: Iterable[Text | MapFact]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(source for one in quoted for source in one.sources if source))


def _quote(text: str) -> str:
    return f"“{shorten(text, _LONGEST)}”"


def _what_changed(chosen: Sequence[str], told: Mapping[str, Text]) -> dict[str, list[str]]:
    """For each sentence, and for what changed it, what says that it is no longer so."""
    compared = [Statement(one.text, one.occurred_at) for one in told.values()][:_MAX_COMPARED]
    later: dict[str, list[str]] = {}
    waiting = list(chosen)
    while waiting:
        text = waiting.pop()
        if text in later:
            continue
        later[text] = [compared[n].text for n in changes_of(Statement(text, told[text].occurred_at), compared)]
        waiting.extend(later[text])
    return later


def _told(texts: Sequence[Text]) -> dict[str, Text]:
    """Each sentence once, with the first date that is known of it, and whether the map calls it history."""
    told: dict[str, Text] = {}
    spelt: dict[str, str] = {}
    for one in texts:
        for sentence in sentences_of(one.text):
            if sentence.kind != "heading" and not is_order(sentence.text):
                text = spelt.setdefault(sentence.text.replace("\\", ""), sentence.text)  # a context escapes marks
                before = told.get(text, Text(text))
                told[text] = Text(
                    text,
                    before.occurred_at or one.occurred_at,
                    before.is_history or one.is_history,
                    (*before.sources, *one.sources),
                )
    return told


def _scores(question: str, sentences: Sequence[str]) -> list[float]:
    """Share of the question's weight that each sentence has; rare words weigh more."""
    asked = frozenset(terms_of(question))
    wanted = asked - (_ASKING_CHANGE if _asks_for_change(asked) else _ASKING) or asked
    bags = [wanted.intersection(_terms_told(text, wanted)) for text in sentences]
    frequency = Counter(term for bag in bags for term in sorted(bag))
    weights = {term: math.log(1 + len(bags) / (1 + frequency[term])) + 0.3 for term in wanted}
    total = sum(weights[term] for term in sorted(wanted)) or 1.0
    return [
        sum(weights[term] for term in sorted(bag)) / total * _kind_factor(question, text)
        for bag, text in zip(bags, sentences, strict=True)
    ]


def _asks_for_change(asked: Iterable[str]) -> bool:
    return not _CHANGE_TERMS.isdisjoint(asked)


def _terms_told(text: str, wanted: Set[str]) -> list[str]:
    """The terms of a sentence; one that tells of a change, or what was so at a time, says so in whatever words."""
    asked_change = wanted & _CHANGE_TERMS
    values = values_of(text) if asked_change else None
    tells = values and (tells_change(text) or values.dates or values.weekdays or values.times or values.amounts)
    return [*terms_of(text), *(sorted(asked_change) if tells else [])]


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
