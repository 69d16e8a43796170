"""HYBRID_COMPLETION: passages by meaning and by words, entities with what is said of them, and further facts.

## Global context
<prelude>

## Relevant passages
source: minutes.md, 2026-05-03
<chunk>

---

<chunk>

## Relevant entities
### Anna Hofer (person)
<description>
- <fact>

## Related facts
- <fact>
"""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Final, NamedTuple
from uuid import UUID

from overstory.models import DocumentChunk, Entity, Hit
from overstory.results import Evidence, Passage
from overstory.tokens import estimate_tokens
from overstory.waves import wave

from .adaptive import Local, fit_both, least_beside
from .context import clean_markdown, clean_name, join, section, sentence_of
from .evidence import areas_of, descriptions_of, map_of, triplets_of
from .fragment import Fragment, cut
from .graph import find_ranked
from .passages import fit_shortened, read_passages, render_passage
from .prelude import Prelude, read_prelude
from .projections import Material
from .scene import Findings, Scene

GLOBAL_CONTEXT = "## Global context"
PASSAGES = "## Relevant passages"
ENTITIES = "## Relevant entities"
FACTS = "## Related facts"

MAX_LANE: Final = 10
"""Passages, entities and facts at most, whatever `top_k` says."""
MAX_BULLETS: Final = 10
MIN_FACT_WORDS: Final = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Lanes:
    """What was found, best first in each lane."""

    passages: tuple[Passage, ...] = ()
    entities: tuple[Entity, ...] = ()
    bullets: tuple[tuple[str, ...], ...] = ()
    """For each entity, what is said of it."""
    descriptions: Mapping[UUID, Passage] = field(default_factory=dict)
    """Of entities, by their ids, as passages of the chunks whose words they are."""
    facts: tuple[str, ...] = ()
    fragment: Fragment
    ranked: tuple[Hit, ...] = ()
    """The best chunks, those among the passages and the next ones."""

    def first(self, count: int) -> "Lanes":
        return replace(
            self,
            passages=self.passages[:count],
            entities=self.entities[:count],
            bullets=self.bullets[:count],
            facts=self.facts[:count],
            fragment=self.fragment.first(count),
        )

    @property
    def size(self) -> int:
        return max(len(self.passages), len(self.entities), len(self.facts))

    @property
    def texts(self) -> "Lanes":
        """The passages alone."""
        return replace(self.first(0), passages=self.passages)


async def hybrid_completion(scene: Scene) -> Findings:
    async with wave() as group:
        local = group.create_task(_find_lanes(scene))
        before = group.create_task(read_prelude(scene))
    found, whole, budget = local.result(), before.result(), scene.question.context_token_budget
    heading = estimate_tokens(f"{GLOBAL_CONTEXT}\n") if whole.text else 0
    room = None if budget is None else max(budget - heading, 0)
    evidence = Local(fit=partial(_fit, found), fit_texts=partial(_fit, found.texts), shown=_shown)
    fit = await fit_both(scene, whole, evidence, found.ranked)
    (lanes, text), prelude = await asyncio.to_thread(fit, room)
    context = join(section(GLOBAL_CONTEXT, prelude.text), text)
    least = 0 if text else await asyncio.to_thread(least_beside, fit, evidence.fit, prelude)
    return Findings(
        context=context,
        evidence=_evidence(lanes, prelude, context),
        given_map=partial(map_of, prelude),
        least_tokens=least and least + heading,
    )


def _shown(lanes: Lanes) -> set[UUID]:
    return {passage.id for passage in lanes.passages}


async def _find_lanes(scene: Scene) -> Lanes:
    lane = min(scene.question.top_k, MAX_LANE)
    material, ranked = await find_ranked(scene)
    fragment = await cut(replace(material, chunks=(), summaries=()), MAX_LANE * MAX_BULLETS)
    nearest = _nearest_entities(material, lane)
    async with wave() as group:
        reading = group.create_task(read_passages(scene, DocumentChunk, ranked[:lane]))
        describing = group.create_task(
            descriptions_of(scene.tenant, [(e, material.distances[e.id]) for e in nearest], material.chunks)
        )
    passages = reading.result()
    told = [" ".join(passage.text.split()) for passage in passages]
    sentences = [_Sentence(c.source.id, c.target.id, sentence_of(c)) for c in fragment.connections]
    entities, bullets = _what_is_said(nearest, sentences, told)
    said = {bullet for lines in bullets for bullet in lines}
    facts = [fact for fact in _facts(sentences, said) if not _is_in(fact, told)]
    return Lanes(
        passages=passages,
        entities=entities,
        bullets=bullets,
        descriptions=describing.result(),
        facts=tuple(facts)[:lane],
        fragment=fragment.first(lane),
        ranked=tuple(ranked),
    )


def _what_is_said(
    entities: Sequence[Entity], sentences: Sequence["_Sentence"], told: Sequence[str]
) -> tuple[tuple[Entity, ...], tuple[tuple[str, ...], ...]]:
    """The entities of which there is more to say than the passages do, and that."""
    kept: list[tuple[Entity, tuple[str, ...]]] = []
    for entity in entities:
        bullets = tuple(bullet for bullet in _bullets(entity, sentences) if not _is_in(bullet, told))
        new = entity if not _is_in(entity.description, told) else replace(entity, description="")
        if new.description or bullets:
            kept.append((new, bullets))
    return tuple(entity for entity, _ in kept), tuple(bullets for _, bullets in kept)


def _is_in(sentence: str, told: Sequence[str]) -> bool:
    line = " ".join(sentence.split())
    return any(line in text for text in told)


def _nearest_entities(material: Material, lane: int) -> tuple[Entity, ...]:
    compared = [entity for entity in material.entities if entity.id in material.distances]
    return tuple(sorted(compared, key=lambda entity: (material.distances[entity.id], entity.id))[:lane])


class _Sentence(NamedTuple):
    """What a connection says."""

    source_id: UUID
    target_id: UUID
    text: str


def _bullets(entity: Entity, sentences: Sequence[_Sentence]) -> tuple[str, ...]:
    own = (said.text for said in sentences if entity.id in (said.source_id, said.target_id))
    return tuple(dict.fromkeys(own))[:MAX_BULLETS]


def _facts(sentences: Sequence[_Sentence], said: set[str]) -> list[str]:
    texts = dict.fromkeys(sentence.text for sentence in sentences)
    return [text for text in texts if text not in said and len(text.split()) >= MIN_FACT_WORDS]


# --- giving ----------------------------------------------------------------------------------------


def _fit(lanes: Lanes, budget_tokens: int | None) -> tuple[Lanes, str]:
    """As many passages as a budget has room for, then of the other lanes what is left, and the text of it."""
    if budget_tokens is None:
        return lanes, render(lanes)
    if not lanes.passages:
        return _fill(lanes, lanes.first(0), "", budget_tokens)
    for count in range(len(lanes.passages), 0, -1):
        alone = replace(lanes.first(0), passages=lanes.passages[:count])
        if estimate_tokens(text := render(alone)) <= budget_tokens:
            return _fill(lanes, alone, text, budget_tokens)
    nothing = lanes.first(0)
    kept, text = fit_shortened(lanes.passages[0], lambda one: render(replace(nothing, passages=(one,))), budget_tokens)
    return replace(nothing, passages=kept), text


def _fill(lanes: Lanes, alone: Lanes, text: str, budget_tokens: int) -> tuple[Lanes, str]:
    for count in range(lanes.size, 0, -1):
        kept = replace(lanes.first(count), passages=alone.passages)
        if estimate_tokens(whole := render(kept)) <= budget_tokens:
            return kept, whole
    return alone, text


def render(lanes: Lanes) -> str:
    passages = "\n\n---\n\n".join(map(render_passage, lanes.passages))
    entities = "\n\n".join(map(_render_entity, lanes.entities, lanes.bullets))
    facts = "\n".join(f"- {fact}" for fact in lanes.facts)
    return join(section(PASSAGES, passages), section(ENTITIES, entities), section(FACTS, facts))


def _render_entity(entity: Entity, bullets: Sequence[str]) -> str:
    kind = f" ({clean_name(entity.type)})" if entity.type else ""
    lines = [f"### {clean_name(entity.name)}{kind}", clean_markdown(entity.description)]
    return "\n".join([*(line for line in lines if line), *(f"- {bullet}" for bullet in bullets)])


def _evidence(lanes: Lanes, prelude: Prelude, context: str) -> Evidence:
    root, areas = areas_of(prelude)
    return Evidence(
        triplets=triplets_of(lanes.fragment),
        passages=lanes.passages,
        descriptions=tuple(
            lanes.descriptions[entity.id]
            for entity in lanes.entities
            if entity.description and entity.id in lanes.descriptions
        ),
        root=root,
        areas=areas,
        prelude_tokens=estimate_tokens(prelude.text),
        context_tokens=estimate_tokens(context),
        notes=prelude.notes,
    )
