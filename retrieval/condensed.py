"""GRAPH_SUMMARY_COMPLETION and TRIPLET_COMPLETION: the graph context, condensed. The index is not read."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final
from uuid import UUID

from overstory import ids
from overstory.models import DocumentChunk, Edge
from overstory.results import Evidence, Passage
from overstory.tokens import estimate_tokens

from .context import CONNECTIONS, clean_name, clean_text, least_budget, sentence_of, titles_of
from .evidence import passages_of, triplets_of
from .fragment import Connection, Fragment, cut
from .graph import find_fragment, find_material, local_findings
from .projections import UNREAD
from .scene import Findings, Scene

CONDENSE: Final = (
    "The question is: {question}\n\nSummarise what this context says about it, in at most 200 words, with names, "
    "dates and numbers as they stand. Leave out what has nothing to do with it.\n\n{context}"
)
SUMMARY: Final = "Summary of what was found:"


async def graph_summary_completion(scene: Scene) -> Findings:
    """The graph context in the model's words; as it is, with a note, where no model may be called."""
    found = await local_findings(scene, await find_fragment(scene), ())
    if not found.context:
        return found
    if scene.why_silent:
        return _noted(found, f"the graph context was not summarised: {scene.why_silent}")
    prompt = CONDENSE.format(question=scene.question.query_text, context=found.context)
    summary = clean_text(await scene.ask(prompt, scene.question.system_prompt))
    if not summary:
        return _noted(found, "the model's summary was empty: the graph context stands in its place")
    context = f"{SUMMARY}\n{summary}"
    return replace(found, context=context, evidence=replace(found.evidence, context_tokens=estimate_tokens(context)))


def _noted(found: Findings, note: str) -> Findings:
    return replace(found, evidence=replace(found.evidence, notes=(*found.evidence.notes, note)))


async def triplet_completion(scene: Scene) -> Findings:
    """The connections between entities alone, each with the sentence that states it."""
    material = replace(await find_material(scene), chunks=(), summaries=())
    whole = await cut(material, scene.question.top_k, scene.question.feedback_influence)
    fragment = Fragment(picks=whole.connections, distances=whole.distances)
    kept, text = _fit(fragment, scene.question.context_token_budget)
    evidence = Evidence(
        triplets=triplets_of(kept),
        passages=await _stating(scene, kept.connections) if text else (),
        context_tokens=estimate_tokens(text),
    )
    least = 0 if text else least_budget(lambda budget: _fit(fragment, budget)[1])
    return Findings(context=text, evidence=evidence, least_tokens=least)


def _fit(fragment: Fragment, budget_tokens: int | None) -> tuple[Fragment, str]:
    for count in range(fragment.size, 0, -1):
        kept = fragment.first(count)
        text = _render(kept)
        if budget_tokens is None or estimate_tokens(text) <= budget_tokens:
            return kept, text
    return fragment.first(0), ""


def _render(fragment: Fragment) -> str:
    titles = titles_of(fragment)
    return "\n".join([CONNECTIONS, *(_line(connection, titles) for connection in fragment.connections)])


def _line(connection: Connection, titles: dict[UUID, str]) -> str:
    name, stated = clean_name(connection.relationship_name), clean_name(connection.text)
    line = f"{titles[connection.source.id]} --[{name}]--> {titles[connection.target.id]}"
    return f"{line} ({stated})" if stated else line


async def _stating(scene: Scene, connections: Sequence[Connection]) -> tuple[Passage, ...]:
    """The chunks whose words the connections are, with those words."""
    stated = {ids.edge_id(c.source.id, c.relationship_name, c.target.id): c for c in connections}
    by_chunk: dict[UUID, list[Connection]] = {}
    for edge in await scene.tenant.get(Edge, list(stated)):
        by_chunk.setdefault(edge.chunk_id, []).append(stated[edge.id])
    chunks = await scene.tenant.get(DocumentChunk, list(by_chunk), without=UNREAD[DocumentChunk])
    passages = await passages_of(scene.tenant, ((chunk, by_chunk[chunk.id][0].score) for chunk in chunks))
    return tuple(
        replace(passage, text="\n".join(dict.fromkeys(map(sentence_of, by_chunk[passage.id])))) for passage in passages
    )
