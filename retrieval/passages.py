"""CHUNKS, CHUNKS_LEXICAL, SUMMARIES and RAG_COMPLETION: passages, by meaning or by words. The index is not read."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TypeAlias
from uuid import UUID

from overstory.models import DocumentChunk, Hit, TextSummary
from overstory.results import Evidence, Passage
from overstory.telemetry import Kind, step
from overstory.tokens import estimate_tokens

from .context import clean_markdown, clean_source, clean_text, join, least_budget, shorten
from .evidence import passages_of
from .projections import UNREAD, in_node_set, nearest
from .relevance import has_to_do_with
from .scene import Findings, Scene

TextKind: TypeAlias = type[DocumentChunk] | type[TextSummary]


async def chunks(scene: Scene) -> Findings:
    return await _passages(scene, DocumentChunk, await near(scene, DocumentChunk, scene.question.top_k))


async def summaries(scene: Scene) -> Findings:
    return await _passages(scene, TextSummary, await near(scene, TextSummary, scene.question.top_k))


async def lexical_chunks(scene: Scene) -> Findings:
    return await _passages(scene, DocumentChunk, await by_words(scene, DocumentChunk, scene.question.top_k))


async def rag_completion(scene: Scene) -> Findings:
    """The nearest chunks as context of an answer."""
    found = await read_passages(scene, DocumentChunk, await near(scene, DocumentChunk, scene.question.top_k))
    cleaned = [replace(passage, text=clean_text(passage.text)) for passage in found]
    return replace(_findings(cleaned, scene.question.context_token_budget), answered=True)


# --- finding ---------------------------------------------------------------------------------------


@step(Kind.RECALL, "find")
async def near(scene: Scene, kind: TextKind, limit: int) -> list[Hit]:
    """The chunks or summaries nearest to the question, in the node set where one was asked for."""
    hits = await _near(scene, kind, limit)
    return hits if await has_to_do_with(scene, (hit.score for hit in hits)) else []


async def _near(scene: Scene, kind: TextKind, limit: int) -> list[Hit]:
    question, tenant, vector = scene.question, scene.tenant, await scene.vector.get()
    if not question.node_names:
        return await tenant.search_vectors(kind, vector, limit)
    keys = await in_node_set(tenant, kind, question.node_names, question.every_node_name)
    return await nearest(tenant, kind, keys, vector, limit)


@step(Kind.RECALL, "find by words")
async def by_words(scene: Scene, kind: TextKind, limit: int) -> list[Hit]:
    """The chunks or summaries that share words with the question, in the node set where one was asked for."""
    question, tenant = scene.question, scene.tenant
    if not question.node_names:
        return await tenant.search_text(kind, question.search_text, limit)
    inside = set(await in_node_set(tenant, kind, question.node_names, question.every_node_name))
    wide = limit
    while inside:
        hits = await tenant.search_text(kind, question.search_text, wide)
        kept = [hit for hit in hits if hit.key in inside][:limit]
        if len(kept) == limit or len(hits) < wide:
            return kept
        wide *= 4
    return []


async def read_passages(scene: Scene, kind: TextKind, hits: Sequence[Hit]) -> tuple[Passage, ...]:
    scores: Mapping[UUID, float] = {hit.key: hit.score for hit in hits}
    rows: Sequence[DocumentChunk | TextSummary] = await scene.tenant.get(kind, list(scores), without=UNREAD[kind])
    return await passages_of(scene.tenant, ((row, scores[row.id]) for row in rows if row.text.strip()))


# --- giving ----------------------------------------------------------------------------------------


async def _passages(scene: Scene, kind: TextKind, hits: Sequence[Hit]) -> Findings:
    return _findings(await read_passages(scene, kind, hits), scene.question.context_token_budget)


def _findings(passages: Sequence[Passage], budget_tokens: int | None) -> Findings:
    kept = fit_passages(passages, budget_tokens)
    text = _joined(kept)
    least = 0 if text else least_budget(lambda budget: _joined(fit_passages(passages, budget)))
    evidence = Evidence(passages=kept, context_tokens=estimate_tokens(text))
    return Findings(context=text, evidence=evidence, answered=False, least_tokens=least)


def _joined(passages: Iterable[Passage]) -> str:
    return join(*(passage.text for passage in passages))


def render_passage(passage: Passage) -> str:
    """A passage under its source and date."""
    origin = ", ".join(part for part in (clean_source(passage.source), passage.occurred_at) if part)
    text = clean_markdown(passage.text)
    return f"source: {origin}\n{text}" if origin else text


def fit_passages(passages: Sequence[Passage], budget_tokens: int | None) -> tuple[Passage, ...]:
    """The best passages that a budget has room for; the first is shortened where it must be."""
    if budget_tokens is None or not passages:
        return tuple(passages)
    kept: list[Passage] = []
    for passage in passages:
        if estimate_tokens(_joined((*kept, passage))) > budget_tokens:
            break
        kept.append(passage)
    first = shorten(passages[0].text, budget_tokens)
    return tuple(kept) or ((replace(passages[0], text=first),) if first else ())


def fit_shortened(
    passage: Passage, render: Callable[[Passage], str], budget_tokens: int
) -> tuple[tuple[Passage, ...], str]:
    """As much of a passage as a budget has room for beside what it is rendered with, and that text; else nothing."""
    size = budget_tokens
    while size:
        short = replace(passage, text=shorten(passage.text, size))
        if short.text and estimate_tokens(text := render(short)) <= budget_tokens:
            return (short,), text
        size //= 2
    return (), ""
