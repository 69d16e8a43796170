"""Where a context comes from: connections, passages and areas with their documents."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from uuid import UUID

from overstory.indexing.pending import count_pending
from overstory.indexing.rendering import unmarked
from overstory.models import DocumentChunk, Entity, Fact, Generation, Manifest, TextSummary
from overstory.offline.answers import GivenMap, MapFact
from overstory.results import AreaEvidence, Freshness, Passage, Triplet
from overstory.stores.contract import Tenant

from .context import clean_area, clean_fact, clean_name, titles_of
from .fragment import PENALTY_DISTANCE, Fragment
from .prelude import Area, Prelude
from .projections import UNREAD
from .sources import Source, documents_of, sources_of


def triplets_of(fragment: Fragment) -> tuple[Triplet, ...]:
    titles = titles_of(fragment)
    return tuple(
        Triplet(
            source=titles[connection.source.id],
            relationship_name=connection.relationship_name,
            target=titles[connection.target.id],
            source_id=connection.source.id,
            target_id=connection.target.id,
            score=connection.score,
        )
        for connection in fragment.connections
    )


def texts_of(fragment: Fragment) -> list[tuple[DocumentChunk | TextSummary, float]]:
    """The chunks and summaries of a fragment with their distances."""
    return [
        (node, fragment.distances.get(node.id, PENALTY_DISTANCE))
        for node in fragment.nodes
        if not isinstance(node, Entity)
    ]


async def passages_of(
    tenant: Tenant, texts: Iterable[tuple[DocumentChunk | TextSummary, float]]
) -> tuple[Passage, ...]:
    """Chunks or summaries, with their scores, as passages that name their documents."""
    scored = list(texts)
    sources = await sources_of(tenant, (row.document_id for row, _ in scored))
    return tuple(
        Passage(
            id=row.id,
            document_id=row.document_id,
            source=sources.get(row.document_id, ""),
            text=row.text,
            score=score,
            occurred_at=row.occurred_at,
        )
        for row, score in scored
    )


async def descriptions_of(
    tenant: Tenant, entities: Iterable[tuple[Entity, float]], known: Sequence[DocumentChunk]
) -> dict[UUID, Passage]:
    """The descriptions of entities, by their ids, each as a passage of the chunk whose words it is.

    Args:
        tenant: the rows.
        entities: with their scores; those without a description, or whose chunk is gone, are left out.
        known: chunks that need not be read again.
    """
    scored = [(entity, score) for entity, score in entities if entity.description.strip()]
    chunks = {chunk.id: chunk for chunk in known}
    if missing := sorted({entity.chunk_id for entity, _ in scored} - chunks.keys()):
        read = await tenant.get(DocumentChunk, missing, without=UNREAD[DocumentChunk])
        chunks |= {chunk.id: chunk for chunk in read}
    standing = [(entity, score) for entity, score in scored if entity.chunk_id in chunks]
    passages = await passages_of(tenant, ((chunks[entity.chunk_id], score) for entity, score in standing))
    return {
        entity.id: replace(passage, text=entity.description)
        for (entity, _), passage in zip(standing, passages, strict=True)
    }


def areas_of(prelude: Prelude) -> tuple[AreaEvidence | None, tuple[AreaEvidence, ...]]:
    """The root and the areas of a prelude, each with the documents that its facts rest on."""
    root = _area(prelude.root, prelude.sources) if prelude.root else None
    return root, tuple(_area(area, prelude.sources) for area in prelude.areas)


def map_of(prelude: Prelude) -> GivenMap:
    """A prelude as an answer may quote it."""
    root = prelude.root
    shown = [category for category in root.row.content.categories if f"- {category.name}:" in root.text] if root else []
    return GivenMap(
        text=prelude.text,
        topics=[f"{clean_name(category.name)}: {', '.join(map(clean_name, category.topics))}" for category in shown],
        facts=[
            MapFact(fact.text, fact.occurred_at, documents_of(fact, prelude.sources), fact.superseded)
            for area in (*([root] if root else []), *prelude.areas)
            for fact in area.row.content.facts
            if _is_shown(fact, area)
        ],
    )


def _shown_leaves(area: Area) -> set[UUID]:
    """The summaries under those facts that are in the text as it is given."""
    return {leaf for fact in area.row.content.facts if _is_shown(fact, area) for leaf in fact.summary_ids}


def _is_shown(fact: Fact, area: Area) -> bool:
    """Whether a fact is in the text of an area, in one of the forms in which areas tell their facts."""
    return (
        fact.text in area.text
        or clean_fact(fact.text) in area.text
        or clean_area(f"- {unmarked(fact.text)}").removeprefix("- ") in area.text
    )


def _area(area: Area, sources: Mapping[UUID, Source]) -> AreaEvidence:
    row = area.row
    return AreaEvidence(
        id=row.id,
        level=row.level,
        is_root=row.is_root,
        text=area.text,
        distance=area.distance,
        stale=row.stale,
        degraded=row.degraded,
        sources=tuple(sorted({sources[leaf].name for leaf in _shown_leaves(area) if leaf in sources} - {""})),
    )


async def freshness_of(tenant: Tenant, manifest: Manifest, generation: Generation | None) -> Freshness:
    """How current the index is: what a generation covers and what has changed since."""
    pending = (await count_pending(tenant, manifest, generation)).changed
    if generation is None:
        return Freshness(pending=pending)
    return Freshness(
        generation=generation.number,
        built_at=generation.built_at,
        model=generation.model,
        summaries=generation.summaries,
        pending=pending,
        degraded=generation.degraded,
    )
