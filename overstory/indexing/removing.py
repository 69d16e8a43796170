"""Taking chunks out of a dataset, with everything that nothing else supports."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from uuid import UUID

from overstory import ids
from overstory.indexing.extracting import embed_texts, entity_text, nodes_of
from overstory.models import DocumentChunk, Edge, Entity, PendingChange, RelationshipLabel, TextSummary
from overstory.stores.contract import Tenant
from overstory.writer import Embedder


@dataclass(slots=True, kw_only=True)
class Removal:
    chunks: int = 0
    entities: int = 0
    edges: int = 0


async def remove_chunks(tenant: Tenant, embedder: Embedder, chunk_ids: Sequence[UUID]) -> Removal:
    """Remove chunks, their summaries, and the entities, edges and labels that no other chunk names.

    What others still name keeps its id; where its words came from a removed chunk, another one gives them now.
    The order of writes is such that a stop anywhere leaves no edge without ends and can be repeated.
    """
    chunks = await tenant.get(DocumentChunk, chunk_ids)
    if not chunks:
        return Removal()
    removed = {c.id for c in chunks}
    summaries = [ids.summary_id(c) for c in removed]
    await tenant.put([PendingChange(summary_id=s, dataset_id=tenant.dataset_id) for s in summaries])
    unsupported = await _unsupported(tenant, chunks)
    await _retell(tenant, embedder, removed, unsupported)
    edges = await tenant.delete(Edge, unsupported)
    entities = await tenant.delete(Entity, unsupported)
    await tenant.delete(RelationshipLabel, unsupported)
    await tenant.delete(TextSummary, summaries)
    await tenant.delete(DocumentChunk, list(removed))
    return Removal(chunks=len(chunks), entities=entities, edges=edges)


async def _unsupported(tenant: Tenant, chunks: Sequence[DocumentChunk]) -> list[UUID]:
    """Ids that these chunks name and no other does."""
    here: dict[UUID, int] = {}
    for chunk in chunks:
        for key in chunk.mentions:
            here[key] = here.get(key, 0) + 1
    everywhere = await tenant.tally(DocumentChunk, "mentions", list(here)) if here else {}
    return [key for key, count in here.items() if everywhere[key] <= count]


async def _retell(tenant: Tenant, embedder: Embedder, removed: set[UUID], unsupported: Sequence[UUID]) -> None:
    """Give entities and edges that stay, but were told in a removed chunk's words, those of another chunk."""
    gone = set(unsupported)
    origins = sorted(removed)
    entities = [k for k in await tenant.find(Entity, "chunk_id", origins) if k not in gone]
    edges = [k for k in await tenant.find(Edge, "chunk_id", origins) if k not in gone]
    told_entities, told_edges = [], []
    for key in [*entities, *edges]:
        teller = await _another_teller(tenant, key, removed)
        told = nodes_of(teller)
        told_entities += [row for row in told.entities if row.id == key]
        told_edges += [row for row in told.edges if row.id == key]
    stored = {e.id: e for e in await tenant.get(Entity, entities)}
    told_entities = [_weighed(new, stored[new.id]) for new in told_entities]
    known_edges = {e.id: e for e in await tenant.get(Edge, edges)}
    await tenant.put(told_entities, await embed_texts(embedder, [entity_text(e) for e in told_entities]))
    await tenant.put([_weighed_edge(new, known_edges[new.id]) for new in told_edges])


async def _another_teller(tenant: Tenant, key: UUID, removed: set[UUID]) -> DocumentChunk:
    found = await tenant.find(DocumentChunk, "mentions", [key], limit=len(removed) + 1)
    return (await tenant.get(DocumentChunk, [k for k in found if k not in removed][:1]))[0]


def _weighed(new: Entity, old: Entity) -> Entity:
    return replace(new, importance_weight=old.importance_weight, feedback_weight=old.feedback_weight)


def _weighed_edge(new: Edge, old: Edge) -> Edge:
    return replace(new, importance_weight=old.importance_weight, feedback_weight=old.feedback_weight)
