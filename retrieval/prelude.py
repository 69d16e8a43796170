"""The prelude: the root of the index and the areas nearest to a question, before the local context.

World summary:
<root text>

Relevant areas:
<bucket text>

<bucket text>
"""

import re
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from typing import Final, NamedTuple, TypeVar
from uuid import UUID

from overstory.errors import StoreError
from overstory.indexing.rendering import render_area
from overstory.models import GlobalContextSummary
from overstory.stores.contract import Tenant
from overstory.telemetry import Kind, step
from overstory.tokens import estimate_tokens
from overstory.waves import wave

from .context import RELEVANT_AREAS, WORLD_SUMMARY, clean_area, join
from .projections import covers_dataset
from .question import PLAIN
from .scene import QueryVector, Scene
from .sources import Source, sources_of_summaries

SPARE_AREAS: Final = 5
"""Searched beyond those asked for, to make up for the root, relatives and copies that drop out."""
NEAR_COPY: Final = 0.9
"""Share of an area's words that another one has, from which on it says nothing new."""
PRELUDE_PART: Final = 4
"""The prelude may push local evidence out of one part in so many of a budget."""
ROOT_PART: Final = 3
"""With areas beside it, the root gets one part in so many of a budget."""
LEFT_OUT: Final = "prelude left out: the budget has no room for it"
_WORD = re.compile(r"\w+")
LocalT = TypeVar("LocalT")


class Area(NamedTuple):
    row: GlobalContextSummary
    distance: float
    text: str
    """What of its text is given: all, or what a budget has room for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Prelude:
    root: Area | None = None
    areas: tuple[Area, ...] = ()
    sources: Mapping[UUID, Source] = field(default_factory=dict)
    """Of the summaries that its facts rest on."""
    notes: tuple[str, ...] = ()
    available: bool = False
    """The index was asked for and could be read."""

    @property
    def text(self) -> str:
        root = f"{WORLD_SUMMARY}\n{self.root.text}" if self.root else ""
        areas = f"{RELEVANT_AREAS}\n{join(*(area.text for area in self.areas))}" if self.areas else ""
        return join(root, areas)


@step(Kind.RECALL, "read the map")
async def read_prelude(scene: Scene) -> Prelude:
    """The prelude of a question, empty where it was not asked for.

    A store that fails here costs the prelude, not the answer: the notes say why there is none.
    """
    question, generation = scene.question, scene.generation
    if not question.include_index:
        return Prelude()
    if generation is None or generation.root_id is None:
        return without_prelude("the dataset has no index yet")
    try:
        if question.node_names and not await covers_dataset(
            scene.tenant, question.node_names, question.every_node_name
        ):
            return without_prelude("the index also covers documents outside this node set")
        return await _read(scene, generation.root_id, generation.number)
    except StoreError as error:
        return without_prelude(str(error))


def without_prelude(reason: str) -> Prelude:
    return Prelude(notes=(f"prelude unavailable: {reason}",))


async def _read(scene: Scene, root_id: UUID, generation: int) -> Prelude:
    count = scene.question.index_top_k if scene.question.index_mode == PLAIN else 0
    async with wave() as group:
        root = group.create_task(scene.tenant.areas([root_id], generation))
        areas = group.create_task(find_areas(scene.tenant, scene.vector, scene.dataset.id, generation, count))
    served = [Area(row, 0.0, clean_area(row.text)) for row in root.result() if _served(row)]
    given = [area.row for area in (*served, *areas.result())]
    return Prelude(
        root=served[0] if served else None,
        areas=tuple(areas.result()),
        sources=await sources_of_summaries(scene.tenant, set[UUID]().union(*map(_leaves, given))),
        notes=_notes([*root.result(), *(area.row for area in areas.result())]),
        available=True,
    )


def _served(row: GlobalContextSummary) -> bool:
    return not row.withheld and bool(row.text.strip())


def _notes(rows: Sequence[GlobalContextSummary]) -> tuple[str, ...]:
    marks = {
        "withheld until the next improve, since they rest on what was forgotten": [r for r in rows if not _served(r)],
        "stale: something they rested on was forgotten since": [r for r in rows if r.stale and _served(r)],
        "degraded: written by rules, not by the model": [r for r in rows if r.degraded and _served(r)],
    }
    return tuple(f"index texts {mark} ({_names(found)})" for mark, found in marks.items() if found)


def _names(rows: Sequence[GlobalContextSummary]) -> str:
    areas = sum(not row.is_root for row in rows)
    parts = ["root"] * (len(rows) > areas) + [f"{areas} area{'s' * (areas > 1)}"] * bool(areas)
    return ", ".join(parts)


# --- which areas -----------------------------------------------------------------------------------


async def find_areas(tenant: Tenant, vector: QueryVector, dataset_id: UUID, generation: int, count: int) -> list[Area]:
    """The areas nearest to a question, at most `count`, none of which says what another one says.

    Left out are the root, texts that are withheld or empty, other datasets' areas, an area above or below one
    that is nearer, and one that says nothing new beside those that are.
    """
    limit = count + SPARE_AREAS
    while count > 0:
        found = await tenant.search_rows(GlobalContextSummary, await vector.get(), limit, generation=generation)
        candidates = [
            Area(row, distance, row.text)
            for row, distance in found
            if not row.is_root and row.dataset_id == dataset_id and _served(row)
        ]
        chosen = await _choose(tenant, candidates, generation, count)
        if len(chosen) == count or len(found) < limit:
            return [area._replace(text=clean_area(area.text)) for area in chosen]
        limit *= 4
    return []


async def _choose(tenant: Tenant, candidates: Sequence[Area], generation: int, count: int) -> list[Area]:
    chosen: list[Area] = []
    for area in candidates:
        if len(chosen) == count:
            break
        if says_nothing_new(area, chosen):
            continue
        if not await _has_relative(tenant, area.row, [other.row for other in chosen], generation):
            chosen.append(area)
    return chosen


def says_nothing_new(area: Area, chosen: Sequence[Area]) -> bool:
    """Whether one of the chosen has nearly all words of this area, and all of its numbers."""
    words = _words(area.row)
    return any(is_copy(words, _words(other.row), NEAR_COPY) for other in chosen)


def is_copy(words: Set[str], other: Set[str], share: float) -> bool:
    """Whether other words have so large a share of these, and all of their numbers."""
    numbers = {word for word in words if not word.isalpha()}
    return numbers <= other and len(words & other) >= share * len(words)


def _words(row: GlobalContextSummary) -> set[str]:
    facts = " ".join(fact.text for fact in row.content.facts) or row.text
    return set(_WORD.findall(facts.casefold()))


async def _has_relative(
    tenant: Tenant, row: GlobalContextSummary, others: Sequence[GlobalContextSummary], generation: int
) -> bool:
    for other in others:
        lower, higher = sorted((row, other), key=lambda area: area.level)
        if await is_below(tenant, lower, higher, generation):
            return True
    return False


async def is_below(tenant: Tenant, lower: GlobalContextSummary, higher: GlobalContextSummary, generation: int) -> bool:
    """Whether one area lies in another one's branch; the store is asked only where the rows don't tell."""
    if lower.level >= higher.level:
        return False
    if lower.level == higher.level - 1:
        return lower.id in higher.child_ids
    if not _leaves(lower).isdisjoint(_leaves(higher)):
        return True  # each leaf has one branch
    below: Sequence[UUID] = higher.child_ids
    for _ in range(higher.level - 1 - lower.level):
        below = [child for area in await tenant.areas(below, generation) for child in area.child_ids]
    return lower.id in below


def _leaves(row: GlobalContextSummary) -> set[UUID]:
    return {leaf for fact in row.content.facts for leaf in fact.summary_ids}


# --- a budget --------------------------------------------------------------------------------------


def fit_beside(
    prelude: Prelude, fit_local: Callable[[int | None], tuple[LocalT, str]], budget_tokens: int | None
) -> tuple[tuple[LocalT, str], Prelude]:
    """A prelude and local evidence within one budget: local has three quarters of it, and what the prelude leaves.

    Args:
        prelude: the whole of it.
        fit_local: local evidence, and its text, within a number of tokens (None for no limit).
        budget_tokens: of both; None for no limit.
    """
    if budget_tokens is None:
        return fit_local(None), prelude
    blank_line = estimate_tokens("\n\n")
    short = fit_prelude(prelude, budget_tokens // PRELUDE_PART)
    taken = estimate_tokens(short.text) + blank_line if short.text else 0
    local, text = fit_local(budget_tokens - taken)
    left = budget_tokens - (estimate_tokens(text) + blank_line if text else 0)
    given = fit_prelude(prelude, left)
    return (local, text), noted(given, _what_gave_way(prelude, given))


def _what_gave_way(whole: Prelude, given: Prelude) -> str:
    """What a budget has no room for, empty where it has room for all."""
    if given.text == whole.text:
        return ""
    if not given.text:
        return LEFT_OUT
    tokens, of = estimate_tokens(given.text), estimate_tokens(whole.text)
    return f"prelude shortened to the budget: {tokens} of its {of} tokens are given"


def noted(prelude: Prelude, note: str) -> Prelude:
    return replace(prelude, notes=(*prelude.notes, note)) if note else prelude


def fit_prelude(prelude: Prelude, budget_tokens: int) -> Prelude:
    """What of a prelude a budget has room for: texts lose their topics first, then their last facts."""
    if estimate_tokens(prelude.text) <= budget_tokens:
        return prelude
    share = budget_tokens // ROOT_PART if prelude.areas else budget_tokens
    root = shorter(prelude.root, share - estimate_tokens(f"{WORLD_SUMMARY}\n")) if prelude.root else None
    kept = replace(prelude, root=root, areas=())
    for area in prelude.areas:
        heading = 0 if kept.areas else estimate_tokens(f"\n\n{RELEVANT_AREAS}\n")
        room = budget_tokens - estimate_tokens(kept.text) - estimate_tokens("\n\n") - heading
        if short := shorter(area, room):
            kept = replace(kept, areas=(*kept.areas, short))
    return kept


def shorter(area: Area, budget_tokens: int) -> Area | None:
    if estimate_tokens(area.text) <= budget_tokens:
        return area
    content = replace(area.row.content, categories=())
    for count in range(len(content.facts), 0, -1):
        text = clean_area(render_area(replace(content, facts=content.facts[:count]), is_root=area.row.is_root))
        if estimate_tokens(text) <= budget_tokens:
            return area._replace(text=text)
    return None
