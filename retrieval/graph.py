"""GRAPH_COMPLETION: the connections nearest to the question, with the prelude before them when it is asked for."""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import NamedTuple
from uuid import UUID

from overstory.models import DocumentChunk, Entity, Hit
from overstory.results import Evidence, Passage
from overstory.telemetry import Kind, step
from overstory.tokens import estimate_tokens
from overstory.waves import wave

from .adaptive import Local, fit_both, least_beside
from .context import described, fitter, given_of, join, least_budget
from .evidence import areas_of, descriptions_of, map_of, passages_of, texts_of, triplets_of
from .fragment import PENALTY_DISTANCE, Fragment, cut
from .passages import by_words
from .prelude import Prelude, read_prelude
from .projections import Material, matching, neighborhood, node_set
from .question import ADAPTIVE
from .ranking import CANDIDATES, rank_chunks
from .relevance import has_to_do_with
from .scene import Findings, Scene


async def graph_completion(scene: Scene) -> Findings:
    async with wave() as group:
        local = group.create_task(_find_local(scene))
        before = group.create_task(read_prelude(scene))
    found, whole = local.result(), before.result()
    fit_local = fitter(found.fragment)
    fit = await fit_both(scene, whole, Local(fit=fit_local, fit_texts=fit_local, shown=_shown), found.ranked)
    (fragment, text), prelude = await asyncio.to_thread(fit, scene.question.context_token_budget)
    context = join(prelude.text, text)
    evidence = _evidence(fragment, found.quotable, prelude, context)
    least = 0 if text else await asyncio.to_thread(least_beside, fit, fit_local, prelude)
    return Findings(context=context, evidence=evidence, given_map=partial(map_of, prelude), least_tokens=least)


class _Quotable(NamedTuple):
    """What a fragment may say in words of documents."""

    passages: Sequence[Passage]
    """Its texts."""
    descriptions: Mapping[UUID, Passage]
    """Of its entities, by their ids."""


class _Found(NamedTuple):
    fragment: Fragment
    quotable: _Quotable
    ranked: Sequence[Hit] = ()
    """The chunks that fit the question best, where the index is to give facts."""


async def _find_local(scene: Scene) -> _Found:
    question = scene.question
    gives_facts = question.include_index and question.index_mode == ADAPTIVE
    found = await find_ranked(scene) if gives_facts else Ranked(await find_material(scene))
    fragment = await cut(found.material, question.top_k, question.feedback_influence)
    return _Found(fragment, await _quotable(scene, fragment, found.material.chunks), found.hits)


async def _quotable(scene: Scene, fragment: Fragment, known: Sequence[DocumentChunk]) -> _Quotable:
    """Args: `known` are chunks that need not be read again."""
    entities = [
        (node, fragment.distances.get(node.id, PENALTY_DISTANCE)) for node in fragment.nodes if isinstance(node, Entity)
    ]
    async with wave() as group:
        passages = group.create_task(passages_of(scene.tenant, texts_of(fragment)))
        descriptions = group.create_task(descriptions_of(scene.tenant, entities, known))
    return _Quotable(passages.result(), descriptions.result())


def _shown(fragment: Fragment) -> set[UUID]:
    return {node.id for node in fragment.nodes}


async def local_findings(scene: Scene, fragment: Fragment, notes: Sequence[str]) -> Findings:
    """A fragment as the context of an answer, nothing of the index before it."""
    fit = fitter(fragment)
    kept, text = fit(scene.question.context_token_budget)
    prelude = Prelude(notes=tuple(notes) if text else ())
    quotable = await _quotable(scene, kept, [node for node in kept.nodes if isinstance(node, DocumentChunk)])
    least = 0 if text else least_budget(lambda budget: fit(budget)[1])
    return Findings(context=text, evidence=_evidence(kept, quotable, prelude, text), least_tokens=least)


async def find_fragment(scene: Scene) -> Fragment:
    """The best connections of a question, nothing of the index among them."""
    question = scene.question
    return await cut(await find_material(scene), question.top_k, question.feedback_influence)


class Ranked(NamedTuple):
    material: Material
    hits: Sequence[Hit] = ()
    """The chunks that fit the question best, whether they are in the material or only share words with it."""


async def find_ranked(scene: Scene) -> Ranked:
    """What the question's projection holds, and the chunks that fit the question best."""
    async with wave() as group:
        projected = group.create_task(find_material(scene))
        worded = group.create_task(by_words(scene, DocumentChunk, CANDIDATES))
    material = projected.result()
    return Ranked(material, await rank_chunks(scene, material, worded.result(), CANDIDATES))


@step(Kind.RECALL, "find")
async def find_material(scene: Scene) -> Material:
    """What the question's projection holds; nothing when that has nothing to do with it."""
    material = await _project(scene)
    distances = (material.distances[node.id] for node in material.nodes if node.id in material.distances)
    return material if await has_to_do_with(scene, distances) else Material()


async def _project(scene: Scene) -> Material:
    question, tenant, vector = scene.question, scene.tenant, await scene.vector.get()
    limit = question.wide_search_top_k
    if question.node_names:
        return await node_set(tenant, vector, question.node_names, question.every_node_name, limit)
    found = await matching(tenant, vector, limit)
    if question.neighborhood_depth is None or limit is None:
        return found
    return await neighborhood(tenant, vector, found, question.neighborhood_depth)


def _evidence(fragment: Fragment, quotable: _Quotable, prelude: Prelude, context: str) -> Evidence:
    """Where a context comes from; `quotable` is of a fragment that it is a part of."""
    root, chosen = areas_of(prelude)
    shown = _shown(fragment)
    return Evidence(
        triplets=triplets_of(fragment),
        passages=_given(fragment, (passage for passage in quotable.passages if passage.id in shown)),
        descriptions=_given(
            fragment, (quotable.descriptions[e.id] for e in described(fragment) if e.id in quotable.descriptions)
        ),
        root=root,
        areas=chosen,
        prelude_tokens=estimate_tokens(prelude.text),
        context_tokens=estimate_tokens(context),
        notes=prelude.notes,
    )


def _given(fragment: Fragment, passages: Iterable[Passage]) -> tuple[Passage, ...]:
    return tuple(replace(passage, text=given_of(passage.text, fragment)) for passage in passages)
