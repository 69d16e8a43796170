"""The adaptive prelude: what the index knows about a question that the local context does not say already.

World summary:
<root text, short>

Relevant areas:
This area of the dataset is about: Northstar, budget
- Earlier: 2026-05-03, launch.md: Anna Hofer moved the Northstar launch to 9 June.
- Current: 2026-05-20, board.md: The Northstar launch moved to 16 June.

Within a budget, facts and local texts compete: a text gives way where the facts that come in its place are worth more,
and three quarters stay local whatever they are worth. There, an area is told without its topics, so that there is room
for facts.
"""

import asyncio
import math
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import islice
from typing import Final, Generic, NamedTuple, TypeAlias
from uuid import UUID

from overstory import ids
from overstory.errors import StoreError
from overstory.indexing.rendering import CURRENT, EARLIER
from overstory.models import Fact, GlobalContextSummary, Hit, instant
from overstory.offline.states import Statement, find_superseded
from overstory.tokens import estimate_tokens
from overstory.words import query_words, words_of

from .context import RELEVANT_AREAS, WORLD_SUMMARY, clean_fact, clean_name, least_budget
from .prelude import (
    LEFT_OUT,
    PRELUDE_PART,
    Area,
    LocalT,
    Prelude,
    fit_beside,
    is_copy,
    noted,
    shorter,
    without_prelude,
)
from .question import ADAPTIVE
from .ranking import word_weights
from .scene import Scene
from .sources import Source, documents_of, sources_of_summaries

MAX_FACTS: Final = 12
"""Where no budget says so."""
ROOT_TOKENS: Final = 120
"""Of the root where no budget says so."""
SHORT_ROOT_PART: Final = 20
"""Of a budget, the root gets one part in so many: it orients, and is no evidence."""
WORDS_WEIGHT: Final = 0.3
"""What the words that a fact shares with the question count beside the worth of its chunk."""
LEAST_WORTH: Final = 0.25
LEAST_SHARE: Final = 0.15
"""Of the question's words, by weight, for a fact whose chunk is worth less."""
FACT_SHARE: Final = 0.3
"""What a fact is worth beside the whole of its chunk."""
FACT_CHUNKS: Final = 60
"""The best chunks, whose facts are looked at."""
COPY_SHARE: Final = 0.85
_TRIED: Final = 6
"""Divisions of a budget that are compared."""
_TOPICS: Final = 6
_LEAST_ROOM: Final = 25
"""Tokens that a fact with its origin takes at least."""
OVERTAKEN: Final = "the budget has no room for a later value of something that is given"
_BLANK_LINE = estimate_tokens("\n\n")
_HEADING = estimate_tokens(f"\n\n{RELEVANT_AREAS}\n")
_MARK = len(EARLIER)


@dataclass(frozen=True, slots=True, kw_only=True)
class Local(Generic[LocalT]):
    """Local evidence that can be made to fit a budget."""

    fit: Callable[[int | None], tuple[LocalT, str]]
    """What is given within a number of tokens (None for no limit), and the text of it."""
    fit_texts: Callable[[int | None], tuple[LocalT, str]]
    """The same without what may always give way to facts."""
    shown: Callable[[LocalT], Collection[UUID]]
    """The chunks and summaries that are in it."""


class FactCandidate(NamedTuple):
    fact: Fact
    area: GlobalContextSummary
    worth: float
    """Of its chunk: 1 for the one that fits the question best."""
    words: frozenset[str]
    origin: str
    """Its date and document, as they are given."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """What the index knows around a question."""

    candidates: Sequence[FactCandidate] = ()
    """Best first; every chunk gives one before any gives a second."""
    worth: Mapping[UUID, float]
    """Of chunks and of their summaries."""
    sources: Mapping[UUID, Source] = field(default_factory=dict)
    """Of the summaries under the candidates."""


Fit: TypeAlias = Callable[[int | None], tuple[tuple[LocalT, str], Prelude]]
"""Local evidence, its text and the prelude, within a number of tokens for both (None for no limit)."""


async def fit_both(scene: Scene, whole: Prelude, local: Local[LocalT], ranked: Sequence[Hit]) -> Fit[LocalT]:
    """How local evidence and a prelude are given within a budget, in the form that the question asks for.

    Args:
        scene: the question and where it is asked.
        whole: the prelude; in the adaptive form with the root alone.
        local: the evidence.
        ranked: the chunks that fit the question best, whether they are part of that evidence or not.
    """
    if not whole.available or scene.question.index_mode != ADAPTIVE:
        return partial(fit_beside, whole, local.fit)
    try:
        known = await find_known(scene, ranked)
    except StoreError as error:
        return partial(fit_beside, without_prelude(str(error)), local.fit)
    return partial(fit_adaptive, replace(whole, sources={**whole.sources, **known.sources}), local, known)


def fit_adaptive(
    root: Prelude, local: Local[LocalT], known: Known, budget: int | None
) -> tuple[tuple[LocalT, str], Prelude]:
    """Local evidence and the facts that it lacks, as the budget has room for them."""
    if budget is None:
        return add_facts(root, local, known)
    given, prelude = divide(root, local, known, budget)
    prelude = noted(prelude, _what_gave_way(root, prelude, lacking(known, local.shown(given[0]), given[1])))
    return given, noted(prelude, OVERTAKEN if lacks_later_value(known, f"{prelude.text}\n{given[1]}") else "")


def _what_gave_way(root: Prelude, given: Prelude, lacked: Iterator[FactCandidate]) -> str:
    """What a budget has no room for at all; that it has room for less is the way of this form."""
    no_root = root.root is not None and given.root is None
    no_fact = not given.areas and any(lacked)
    if not given.text:
        return LEFT_OUT if no_root or no_fact else ""
    gone = "root" if no_root else "facts" if no_fact else ""
    return f"prelude shortened to the budget: there is no room for its {gone}" if gone else ""


def lacks_later_value(known: Known, text: str) -> bool:
    """Whether a text holds one of the best facts, and lacks another one of them that says otherwise since."""
    said = " ".join(text.split())
    facts = sorted(
        (one.fact for one in known.candidates[:MAX_FACTS]), key=lambda fact: (instant(fact.occurred_at), fact.order)
    )
    history = _history(facts)
    return any(facts[early].text in said and facts[late].text not in said for early, late in history.items())


async def find_known(scene: Scene, ranked: Sequence[Hit]) -> Known:
    """The facts of the lowest areas over the best chunks."""
    best = max((hit.score for hit in ranked), default=0.0) or 1.0
    of_chunks = {hit.key: max(hit.score / best, 0.0) for hit in ranked[:FACT_CHUNKS]}
    of_summaries = {ids.summary_id(key): value for key, value in of_chunks.items()}
    worth = of_chunks | of_summaries
    if scene.generation is None:
        return Known(worth=worth)
    keys = await scene.tenant.find(GlobalContextSummary, "child_ids", sorted(of_summaries))
    rows = await scene.tenant.get(GlobalContextSummary, keys)
    number = scene.generation.number
    areas = [
        row
        for row in rows
        if row.level == 0 and row.valid_from <= number < row.valid_to and not row.withheld and not row.is_root
    ]
    facts = (fact for area in areas for fact in area.content.facts)
    leaves = {
        leaf for fact in facts if not of_summaries.keys().isdisjoint(fact.summary_ids) for leaf in fact.summary_ids
    }
    sources = await sources_of_summaries(scene.tenant, leaves)
    candidates = await asyncio.to_thread(find_facts, scene.question.search_text, areas, worth, sources)
    return Known(candidates=candidates, worth=worth, sources=sources)


def find_facts(
    question: str, areas: Sequence[GlobalContextSummary], worth: Mapping[UUID, float], sources: Mapping[UUID, Source]
) -> list[FactCandidate]:
    """The facts of the best chunks that have to do with a question, best first."""
    wanted = frozenset(query_words(question))
    found = [
        FactCandidate(fact, area, worth_of(fact, worth), frozenset(words_of(fact.text)), _origin(fact, sources))
        for area in areas
        for fact in area.content.facts
        if not worth.keys().isdisjoint(fact.summary_ids)
    ]
    weights = word_weights(wanted, [wanted & one.words for one in found])
    total = sum(weights.values()) or 1.0
    shares = [sum(weights[word] for word in sorted(wanted & one.words)) / total for one in found]
    scores = [one.worth + WORDS_WEIGHT * share for one, share in zip(found, shares, strict=True)]
    places = sorted(
        (place for place, one in enumerate(found) if one.worth >= LEAST_WORTH or shares[place] >= LEAST_SHARE),
        key=lambda place: (-scores[place], place),
    )
    given: Counter[tuple[UUID, ...]] = Counter()
    turns = []
    for place in places:
        turns.append((given[found[place].fact.summary_ids], place))
        given[found[place].fact.summary_ids] += 1
    return [found[place] for _, place in sorted(turns, key=lambda turn: turn[0])]


def worth_of(fact: Fact, worth: Mapping[UUID, float]) -> float:
    return max((worth.get(leaf, 0.0) for leaf in fact.summary_ids), default=0.0)


# --- beside local evidence -------------------------------------------------------------------------


def add_facts(root: Prelude, local: Local[LocalT], known: Known) -> tuple[tuple[LocalT, str], Prelude]:
    """All local evidence, and the best facts that it lacks."""
    kept, text = local.fit(None)
    chosen = list(islice(lacking(known, local.shown(kept), text), MAX_FACTS))
    return (kept, text), replace(short_root(root, ROOT_TOKENS), areas=render_areas(chosen, _TOPICS))


def divide(root: Prelude, local: Local[LocalT], known: Known, budget: int) -> tuple[tuple[LocalT, str], Prelude]:
    """The division of a budget between local evidence and facts that is worth most; of equal ones, the most local."""
    short = short_root(root, budget // SHORT_ROOT_PART)
    best, most, seen = replace(short, root=None), -1.0, set[frozenset[UUID]]()
    for part in range(_TRIED):
        kept, text = local.fit_texts(budget - part * budget // (PRELUDE_PART * (_TRIED - 1)))
        shown = frozenset(local.shown(kept))
        if shown in seen:
            continue
        seen.add(shown)
        room = min(budget - estimate_tokens(text), budget // PRELUDE_PART) - _BLANK_LINE
        chosen = _within(lacking(known, shown, text), room - estimate_tokens(short.text))
        prelude = _fitting(short, chosen, room)
        value = sum(known.worth.get(key, 0.0) ** 2 for key in shown) + FACT_SHARE * _worth(chosen)
        if value > most:
            best, most = prelude, value
    taken = estimate_tokens(best.text) + _BLANK_LINE if best.text else 0
    return local.fit(budget - taken), best


def _worth(chosen: Sequence[FactCandidate]) -> float:
    """Of their chunks, each counted once."""
    return sum({one.fact.summary_ids: one.worth**2 for one in chosen}.values())


def least_beside(fit: Fit[LocalT], fit_local: Callable[[int | None], tuple[LocalT, str]], given: Prelude) -> int:
    """The budget of both, in tokens, from which on local evidence is given; 0 where none was found.

    Where none was found and no prelude is given either: one that has room for a prelude.

    Args:
        fit: both within a budget.
        fit_local: local evidence alone.
        given: what the budget has room for.
    """
    least = least_budget(lambda room: fit_local(room)[1])
    if not least:
        return 0 if given.text else least_budget(lambda budget: fit(budget)[1].text)
    # from here on it has that much, whatever the prelude takes
    budget = math.ceil((least + _BLANK_LINE) * PRELUDE_PART / (PRELUDE_PART - 1))
    while budget > least and fit(budget - 1)[0][1]:
        budget -= 1
    return budget


def short_root(prelude: Prelude, budget_tokens: int) -> Prelude:
    room = budget_tokens - estimate_tokens(f"{WORLD_SUMMARY}\n")
    return replace(prelude, root=shorter(prelude.root, room) if prelude.root else None)


def lacking(known: Known, shown: Collection[UUID], text: str) -> Iterator[FactCandidate]:
    """The candidates that local evidence does not say, none said twice."""
    hidden = {*shown, *map(ids.summary_id, shown)}
    said = " ".join(text.split())
    given: list[frozenset[str]] = []
    for one in known.candidates:
        is_new = hidden.isdisjoint(one.fact.summary_ids) and one.fact.text not in said
        if is_new and not any(is_copy(one.words, other, COPY_SHARE) for other in given):
            given.append(one.words)
            yield one


def _within(candidates: Iterable[FactCandidate], budget_tokens: int) -> list[FactCandidate]:
    """As many as there is room for, about; a long one is passed over for shorter ones."""
    chosen: list[FactCandidate] = []
    areas: set[UUID] = set()
    left = budget_tokens - _HEADING
    for one in candidates:
        if left < _LEAST_ROOM:
            break
        heading = "" if one.area.id in areas else f"\n\n{_heading(one.area, 0)}"
        size = estimate_tokens(f"{heading}\n- {one.origin}{one.fact.text}{' ' * _MARK * one.fact.superseded}")
        if size <= left:
            chosen.append(one)
            areas.add(one.area.id)
            left -= size
    return chosen


def _fitting(short: Prelude, chosen: Sequence[FactCandidate], budget_tokens: int) -> Prelude:
    for count in range(len(chosen), 0, -1):
        prelude = replace(short, areas=render_areas(chosen[:count], 0))
        if estimate_tokens(prelude.text) <= budget_tokens:
            return prelude
    return short if estimate_tokens(short.text) <= budget_tokens else replace(short, root=None)


# --- how they are given ----------------------------------------------------------------------------


def render_areas(chosen: Sequence[FactCandidate], topics: int) -> tuple[Area, ...]:
    """Facts under their areas, each area and its facts in the order of time; the later of two values is marked."""
    in_order = sorted(chosen, key=lambda one: (instant(one.fact.occurred_at), one.fact.order))
    marks = _marks([one.fact for one in in_order])
    lines: dict[UUID, list[str]] = {}
    rows = {}
    for one, mark in zip(in_order, marks, strict=True):
        rows[one.area.id] = one.area
        lines.setdefault(one.area.id, []).append(f"- {mark}{one.origin}{clean_fact(one.fact.text)}")
    headings = {key: _heading(row, topics) for key, row in rows.items()}
    return tuple(Area(row, 0.0, "\n".join([*filter(None, [headings[key]]), *lines[key]])) for key, row in rows.items())


def _marks(facts: Sequence[Fact]) -> list[str]:
    history = _history(facts)
    current = set(history.values()) - history.keys()
    return [
        EARLIER if place in history or fact.superseded else CURRENT if place in current else ""
        for place, fact in enumerate(facts)
    ]


def _history(facts: Sequence[Fact]) -> dict[int, int]:
    """As `find_superseded` gives it."""
    return find_superseded([Statement(fact.text, fact.occurred_at, str(fact.summary_ids[:1])) for fact in facts])


def _origin(fact: Fact, sources: Mapping[UUID, Source]) -> str:
    parts = [part for part in (fact.occurred_at, *documents_of(fact, sources)[:1]) if part]
    return f"{', '.join(parts)}: " if parts else ""


def _heading(row: GlobalContextSummary, topics: int) -> str:
    """What an area is about, and whether it is stale or degraded; empty where there is nothing to say."""
    told = [topic for category in row.content.categories for topic in category.topics][:topics]
    marks = [mark for mark, is_so in (("stale", row.stale), ("written by rules", bool(row.degraded))) if is_so]
    marked = f" ({', '.join(marks)})" if marks else ""
    if told:
        return f"This area of the dataset is about{marked}: {', '.join(map(clean_name, told))}"
    return f"This area of the dataset{marked}:" if marks else ""
