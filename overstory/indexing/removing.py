"""Taking chunks, or what they no longer say, out of a dataset, with everything that nothing else supports."""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

from overstory import ids
from overstory.indexing.extracting import as_weighted, embed_texts, entity_text, named_by, nodes_of
from overstory.models import DocumentChunk, Edge, Entity, PendingChange, RelationshipLabel, TextSummary
from overstory.stores.contract import Tenant
from overstory.writer import Embedder

_TELLERS = 8
"""Chunks that are asked whether they name a thing, when another has to give its words."""


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
    removed = [c.id for c in chunks]
    summaries = [ids.summary_id(c) for c in removed]
    await tenant.put([PendingChange(summary_id=s, dataset_id=tenant.dataset_id) for s in summaries])
    removal = await _stop_naming(tenant, embedder, chunks, {key: frozenset() for key in removed})
    await tenant.delete(TextSummary, summaries)
    removal.chunks = await tenant.delete(DocumentChunk, removed)
    return removal


async def drop_outdated(tenant: Tenant, embedder: Embedder, chunks: Sequence[DocumentChunk]) -> Removal:
    """Let go of what chunks named before they were read again, and of what an interrupted reading left."""
    read = {c.id: c for c in chunks if c.graph is not None}
    named = {key: named_by(chunk) for key, chunk in read.items()}
    outdated = {key for key, chunk in read.items() if not named[key].issuperset(chunk.mentions)}
    outdated |= await _with_remains(tenant, named)
    if not outdated:
        return Removal()
    still = {key: named[key] for key in outdated}
    removal = await _stop_naming(tenant, embedder, [read[key] for key in outdated], still)
    kept = {key: tuple(m for m in read[key].mentions if m in named[key]) for key in outdated}
    await tenant.patch(DocumentChunk, {key: {"mentions": mentions} for key, mentions in kept.items()})
    return removal


async def _with_remains(tenant: Tenant, named: Mapping[UUID, Collection[UUID]]) -> set[UUID]:
    """Those of the chunks in whose words something is told that none of them names."""
    everything: set[UUID] = set().union(*named.values())
    return {row.chunk_id for row in await _told_in(tenant, named, besides=everything)}


async def _told_in(tenant: Tenant, chunk_ids: Iterable[UUID], besides: Collection[UUID] = ()) -> list[Entity | Edge]:
    """Entities and edges that are told in the words of these chunks, without some."""
    origins = sorted(chunk_ids)
    entities = [key for key in await tenant.find(Entity, "chunk_id", origins) if key not in besides]
    edges = [key for key in await tenant.find(Edge, "chunk_id", origins) if key not in besides]
    return [*await tenant.get(Entity, entities), *await tenant.get(Edge, edges)]


async def _stop_naming(
    tenant: Tenant,
    embedder: Embedder,
    chunks: Sequence[DocumentChunk],
    still: Mapping[UUID, Collection[UUID]],
) -> Removal:
    """Remove what no chunk names once each of these names only what is left to it, and tell the rest anew.

    Args:
        still: for each of `chunks`, the ids that it goes on naming.
    """
    here = Counter(m for c in chunks for m in c.mentions if m not in still[c.id])
    everywhere = await tenant.tally(DocumentChunk, "mentions", list(here)) if here else {}
    unsupported = {key for key, times in here.items() if everywhere[key] <= times}
    unsupported |= await _retell(tenant, embedder, still, unsupported)
    gone = sorted(unsupported)
    edges = await tenant.delete(Edge, gone)
    entities = await tenant.delete(Entity, gone)
    await tenant.delete(RelationshipLabel, gone)
    return Removal(entities=entities, edges=edges)


async def _retell(
    tenant: Tenant, embedder: Embedder, still: Mapping[UUID, Collection[UUID]], unsupported: Collection[UUID]
) -> set[UUID]:
    """Give what stays, but was told in these chunks' words, those of a chunk that names it; what none names."""
    untold: set[UUID] = set()
    entities: list[Entity] = []
    edges: list[Edge] = []
    for row in await _told_in(tenant, still, besides=unsupported):
        told = await _told_anew(tenant, row, still)
        if told is None:
            untold.add(row.id)
        elif isinstance(told, Entity):
            entities.append(told)
        else:
            edges.append(told)
    await tenant.put(entities, await embed_texts(embedder, [entity_text(e) for e in entities]))
    await tenant.put(edges)
    return untold


async def _told_anew(
    tenant: Tenant, row: Entity | Edge, still: Mapping[UUID, Collection[UUID]]
) -> Entity | Edge | None:
    found = await tenant.find(DocumentChunk, "mentions", [row.id], limit=len(still) + _TELLERS)
    tellers = [key for key in found if key not in still or row.id in still[key]]
    nodes = [nodes_of(chunk) for chunk in await tenant.get(DocumentChunk, tellers[:_TELLERS])]
    named = (n.entities if isinstance(row, Entity) else n.edges for n in nodes)
    told = [one for several in named for one in several if one.id == row.id]
    return as_weighted(max(told, key=lambda one: isinstance(one, Entity) and one.is_subject), row) if told else None
