"""The adaptive prelude: what the index knows about a question that the local context does not say already.

World summary:
<root text, short>

Relevant areas:
This area of the dataset is about: Northstar, budget
- Earlier: 2026-05-03, launch.md: Anna Hofer moved the Northstar launch to 9 June.
- Current: 2026-05-20, board.md: The Northstar launch moved to 16 June.
"""

import asyncio
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, NamedTuple
from uuid import UUID

from overstory import ids
from overstory.errors import StoreError
from overstory.models import DocumentChunk, Fact, GlobalContextSummary
from overstory.offline.states import Statement, find_superseded
from overstory.tokens import estimate_tokens
from overstory.words import query_words, words_of

from .context import WORLD_SUMMARY, clean_markdown, clean_name
from .passages import by_words
from .prelude import PRELUDE_SHARE, Area, LocalT, Prelude, shorter, without_prelude
from .ranking import word_weights
from .scene import Scene
from .sources import sources_of_summaries

MAX_FACTS: Final = 12
"""Where no budget says so."""
ROOT_TOKENS: Final = 120
"""Of the root where no budget says so; else a third of the prelude's share."""
CHUNK_WEIGHT: Final = 0.3
"""What the distance of a fact's chunk counts beside the words that the fact shares with the question."""
LEAST_SHARE: Final = 0.15
"""Share of the question's words, by weight, that a fact must have."""
CANDIDATES: Final = 60
"""Chunks outside the local context whose facts are looked at, by meaning and by words each."""
COPY_SHARE: Final = 0.85
_TOPICS: Final = 6
_BLANK_LINE = estimate_tokens("\n\n")


class Candidate(NamedTuple):
    fact: Fact
    area: GlobalContextSummary
    score: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Local:
    """What the local context holds, and how far what was looked at is from the question."""

    shown: Collection[UUID]
    """Chunks and summaries that are in it."""
    text: str
    distances: Mapping[UUID, float]


async def fit_adaptive(
    scene: Scene,
    root: Prelude,
    fit_local: Callable[[int | None], tuple[LocalT, str]],
    shown_of: Callable[[LocalT], Collection[UUID]],
    distances: Mapping[UUID, float],
) -> tuple[tuple[LocalT, str], Prelude]:
    """Local evidence within three quarters of the budget, and the facts that it lacks in what is left."""
    budget = scene.question.context_token_budget
    share = None if budget is None else budget // PRELUDE_SHARE
    kept, text = fit_local(None if budget is None or share is None else budget - share)
    local = Local(shown=shown_of(kept), text=text, distances=distances)
    try:
        prelude = await find_prelude(scene, root, local, share)
    except StoreError as error:
        return fit_local(budget), without_prelude(str(error))
    if budget is None:
        return (kept, text), prelude
    taken = estimate_tokens(prelude.text) + _BLANK_LINE if prelude.text else 0
    return fit_local(budget - taken), prelude


async def find_prelude(scene: Scene, root: Prelude, local: Local, budget_tokens: int | None) -> Prelude:
    """The root and the best facts that local evidence lacks, as a budget has room for them."""
    short = _short_root(root, budget_tokens)
    rows = await _areas_around(scene, local)
    chosen = await asyncio.to_thread(choose, scene.question.search_text, rows, local)
    if not chosen:
        return short
    sources = await sources_of_summaries(scene.tenant, {leaf for one in chosen for leaf in one.fact.summary_ids})
    short = replace(short, sources={**short.sources, **sources})
    for count in range(len(chosen), 0, -1):
        prelude = replace(short, areas=render_areas(chosen[:count], sources))
        if budget_tokens is None or estimate_tokens(prelude.text) + _BLANK_LINE <= budget_tokens:
            return prelude
    return short


def _short_root(root: Prelude, budget_tokens: int | None) -> Prelude:
    room = ROOT_TOKENS if budget_tokens is None else budget_tokens // 3
    kept = shorter(root.root, room - estimate_tokens(f"{WORLD_SUMMARY}\n")) if root.root else None
    return replace(root, root=kept)


async def _areas_around(scene: Scene, local: Local) -> list[GlobalContextSummary]:
    """The lowest areas over what comes near the question, or shares its words, and is not in the local context."""
    if scene.generation is None:
        return []
    worded = [hit.key for hit in await by_words(scene, DocumentChunk, CANDIDATES)]
    near = sorted(local.distances, key=lambda key: (local.distances[key], key))
    known = frozenset(local.shown)
    summaries = {ids.summary_id(key) for key in (*worded, *_first(near, known)) if key not in known}
    keys = await scene.tenant.find(GlobalContextSummary, "child_ids", sorted(summaries))
    rows = await scene.tenant.get(GlobalContextSummary, keys)
    number = scene.generation.number
    return [
        row
        for row in rows
        if row.level == 0 and row.valid_from <= number < row.valid_to and not row.withheld and not row.is_root
    ]


def _first(keys: Iterable[UUID], known: Collection[UUID]) -> list[UUID]:
    return [key for key in keys if key not in known][:CANDIDATES]


# --- which facts -----------------------------------------------------------------------------------


def choose(question: str, areas: Sequence[GlobalContextSummary], local: Local) -> list[Candidate]:
    """The facts that fit a question best and that local evidence lacks, none said twice."""
    wanted = frozenset(query_words(question))
    shown = {*local.shown, *map(ids.summary_id, local.shown)}
    said = " ".join(local.text.split())
    lacking = [
        (fact, area)
        for area in areas
        for fact in area.content.facts
        if shown.isdisjoint(fact.summary_ids) and fact.text not in said
    ]
    bags = [frozenset(words_of(fact.text)) for fact, _ in lacking]
    weights = word_weights(wanted, [wanted & bag for bag in bags])
    total = sum(weights.values()) or 1.0
    nearness = {ids.summary_id(key): 1 - distance for key, distance in local.distances.items()}
    ranked = sorted(
        (
            (-(share + CHUNK_WEIGHT * max((nearness.get(leaf, 0.0) for leaf in fact.summary_ids), default=0.0)), place)
            for place, ((fact, _), bag) in enumerate(zip(lacking, bags, strict=True))
            if (share := sum(weights[word] for word in wanted & bag) / total) >= LEAST_SHARE
        ),
    )
    chosen: list[int] = []
    for _, place in ranked:
        if len(chosen) == MAX_FACTS:
            break
        if not any(_is_copy(bags[place], bags[other]) for other in chosen):
            chosen.append(place)
    scores = {place: -score for score, place in ranked}
    return [Candidate(*lacking[place], scores[place]) for place in chosen]


def _is_copy(one: frozenset[str], other: frozenset[str]) -> bool:
    numbers = {word for word in one if not word.isalpha()}
    return numbers <= other and len(one & other) >= COPY_SHARE * len(one)


# --- how they are given ----------------------------------------------------------------------------


def render_areas(chosen: Sequence[Candidate], sources: Mapping[UUID, str]) -> tuple[Area, ...]:
    """Facts under their areas, each area and its facts in the order of time; the later of two values is marked."""
    in_order = sorted(chosen, key=lambda one: (one.fact.occurred_at, one.fact.order))
    marks = _marks([one.fact for one in in_order])
    lines: dict[UUID, list[str]] = {}
    rows = {}
    for one, mark in zip(in_order, marks, strict=True):
        rows[one.area.id] = one.area
        lines.setdefault(one.area.id, []).append(f"- {mark}{_origin(one.fact, sources)}{clean_name(one.fact.text)}")
    return tuple(Area(row, 0.0, clean_markdown("\n".join([_heading(row), *lines[key]]))) for key, row in rows.items())


def _marks(facts: Sequence[Fact]) -> list[str]:
    history = find_superseded([Statement(fact.text, fact.occurred_at, str(fact.summary_ids[:1])) for fact in facts])
    current = set(history.values()) - history.keys()
    return [
        "Earlier: " if place in history or fact.superseded else "Current: " if place in current else ""
        for place, fact in enumerate(facts)
    ]


def _origin(fact: Fact, sources: Mapping[UUID, str]) -> str:
    names = dict.fromkeys(clean_name(sources[leaf]) for leaf in fact.summary_ids if sources.get(leaf))
    parts = [part for part in (fact.occurred_at, next(iter(names), "")) if part]
    return f"{', '.join(parts)}: " if parts else ""


def _heading(row: GlobalContextSummary) -> str:
    topics = [topic for category in row.content.categories for topic in category.topics][:_TOPICS]
    marks = [mark for mark, is_so in (("stale", row.stale), ("written by rules", bool(row.degraded))) if is_so]
    told = f" ({', '.join(marks)})" if marks else ""
    return f"This area of the dataset is about{told}: {', '.join(map(clean_name, topics))}"
