"""From a question's vector to the material of a fragment: rows with their distances.

Three projections: what matched, a node set (the documents with certain tags), and a neighbourhood of what matched.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Final, TypeAlias
from uuid import UUID

import numpy as np

from overstory import ids
from overstory.models import (
    Document,
    DocumentChunk,
    Edge,
    Entity,
    Hit,
    LeanEdge,
    RelationshipLabel,
    Row,
    TextSummary,
    Vector,
)
from overstory.stores.contract import Tenant
from overstory.waves import wave

Node: TypeAlias = Entity | DocumentChunk | TextSummary

UNREAD: Final[Mapping[type[Row], tuple[str, ...]]] = {
    Document: ("chunk_ids", "node_set"),
    DocumentChunk: ("graph", "node_set"),
    TextSummary: ("entity_ids", "node_set"),
}
"""Fields that an answer makes no use of, and that cost much to read."""
MAX_NEIGHBORHOOD_NODES = 2_000
"""A neighbourhood stops growing here: the steps beyond are left out."""
MAX_EDGES_A_STEP = 2_000
EDGES_A_MATCH = 2
"""Edges between what matched, for each match, from which on they are those of the nearest matches alone."""
NEAREST_PART = 4
"""The nearest matches are one in so many."""
_BLOCK = 256


@dataclass(frozen=True, slots=True, kw_only=True)
class Material:
    """What a fragment is built from."""

    entities: Sequence[Entity] = ()
    chunks: Sequence[DocumentChunk] = ()
    summaries: Sequence[TextSummary] = ()
    edges: Sequence[LeanEdge] = ()
    distances: dict[UUID, float] = field(default_factory=dict)
    """Of nodes and of relationship labels to the question, for those that were compared."""

    @property
    def nodes(self) -> list[Node]:
        nodes: list[Node] = [*self.entities, *self.chunks, *self.summaries]
        return nodes


async def matching(tenant: Tenant, vector: Vector, limit: int | None) -> Material:
    """What is nearest to the question, of each kind at most `limit`; everything for None."""
    async with wave() as group:
        entities = group.create_task(tenant.search_rows(Entity, vector, limit))
        chunks = group.create_task(tenant.search_rows(DocumentChunk, vector, limit, without=UNREAD[DocumentChunk]))
        summaries = group.create_task(tenant.search_rows(TextSummary, vector, limit, without=UNREAD[TextSummary]))
        labels = group.create_task(tenant.search_vectors(RelationshipLabel, vector, limit))
    nodes: Iterable[tuple[Node, float]] = chain(entities.result(), chunks.result(), summaries.result())
    near = [entity.id for entity, _ in entities.result()]
    return Material(
        entities=[entity for entity, _ in entities.result()],
        chunks=[chunk for chunk, _ in chunks.result()],
        summaries=[summary for summary, _ in summaries.result()],
        edges=await tenant.edges_between(near) if limit is None else await _edges_near(tenant, near, limit),
        distances={node.id: distance for node, distance in nodes} | {hit.key: hit.score for hit in labels.result()},
    )


async def _edges_near(tenant: Tenant, entity_ids: Sequence[UUID], limit: int) -> list[LeanEdge]:
    """The edges between entities, nearest first; where everything is tied to everything, those between the nearest."""
    edges = await tenant.edges_between(entity_ids, limit=EDGES_A_MATCH * limit)
    if len(edges) < EDGES_A_MATCH * limit:
        return edges
    return await tenant.edges_between(entity_ids[: max(limit // NEAREST_PART, 2)])


async def _read(
    tenant: Tenant,
    entities: Sequence[UUID],
    chunks: Sequence[UUID],
    summaries: Sequence[UUID],
    distances: dict[UUID, float],
) -> Material:
    async with wave() as group:
        entity_rows = group.create_task(tenant.get(Entity, entities))
        chunk_rows = group.create_task(tenant.get(DocumentChunk, chunks, without=UNREAD[DocumentChunk]))
        summary_rows = group.create_task(tenant.get(TextSummary, summaries, without=UNREAD[TextSummary]))
        edges = group.create_task(tenant.edges_between(entities))
    return Material(
        entities=entity_rows.result(),
        chunks=chunk_rows.result(),
        summaries=summary_rows.result(),
        edges=edges.result(),
        distances=distances,
    )


def _keys(hits: Iterable[Hit]) -> list[UUID]:
    return [hit.key for hit in hits]


# --- a node set ------------------------------------------------------------------------------------


async def in_node_set(tenant: Tenant, kind: type[Row], names: Sequence[str], every: bool) -> list[UUID]:
    """Keys of the rows of a kind that carry one of the tags, or every one of them; ascending."""
    if not every:
        return await tenant.find(kind, "node_set", names)
    async with wave() as group:
        searches = [group.create_task(tenant.find(kind, "node_set", [name])) for name in names]
    return sorted(set.intersection(*(set(search.result()) for search in searches)))


async def covers_dataset(tenant: Tenant, names: Sequence[str], every: bool) -> bool:
    """Whether every document of the dataset is in the node set."""
    async with wave() as group:
        inside = group.create_task(in_node_set(tenant, Document, names, every))
        documents = group.create_task(tenant.count(Document))
    return len(inside.result()) == documents.result()


async def node_set(tenant: Tenant, vector: Vector, names: Sequence[str], every: bool, limit: int | None) -> Material:
    """What the documents of a node set say, of each kind the nearest `limit`.

    An entity that others speak of, too, shows here only what the node set says of it.
    """
    async with wave() as group:
        chunk_search = group.create_task(in_node_set(tenant, DocumentChunk, names, every))
        summary_search = group.create_task(in_node_set(tenant, TextSummary, names, every))
        label_search = group.create_task(tenant.search_vectors(RelationshipLabel, vector, None))
    chunks = await tenant.get(DocumentChunk, chunk_search.result())
    mentioned = sorted({mention for chunk in chunks for mention in chunk.mentions})
    async with wave() as group:
        entity_hits = group.create_task(nearest(tenant, Entity, mentioned, vector, limit))
        chunk_hits = group.create_task(nearest(tenant, DocumentChunk, chunk_search.result(), vector, limit))
        summary_hits = group.create_task(nearest(tenant, TextSummary, summary_search.result(), vector, limit))
    hits = [*entity_hits.result(), *chunk_hits.result(), *summary_hits.result(), *label_search.result()]
    material = await _read(
        tenant,
        _keys(entity_hits.result()),
        _keys(chunk_hits.result()),
        _keys(summary_hits.result()),
        {hit.key: hit.score for hit in hits},
    )
    return _as_said_in(material, chunks, frozenset(mentioned))


async def nearest(
    tenant: Tenant, kind: type[Row], keys: Sequence[UUID], vector: Vector, limit: int | None
) -> list[Hit]:
    """Those of these rows that are nearest to the question, best first; rows without a vector are left out."""
    distances = await measure(tenant, kind, keys, vector)
    ranked = sorted((Hit(key, distance) for key, distance in distances.items()), key=lambda hit: (hit.score, hit.key))
    return ranked[:limit]


async def measure(tenant: Tenant, kind: type[Row], keys: Sequence[UUID], vector: Vector) -> dict[UUID, float]:
    """The cosine distances of these rows to the question."""
    vectors = await tenant.vectors(kind, keys) if keys else {}
    if not vectors:
        return {}
    matrix = np.stack(list(vectors.values()))
    # in blocks: larger products wake the linear algebra library's threads, which costs more than it saves
    blocks = [1.0 - matrix[i : i + _BLOCK] @ vector for i in range(0, len(matrix), _BLOCK)]
    return dict(zip(vectors, np.concatenate(blocks).tolist(), strict=True))


def _as_said_in(material: Material, chunks: Sequence[DocumentChunk], mentioned: frozenset[UUID]) -> Material:
    inside = {chunk.id for chunk in chunks}
    foreign = {entity.id: entity for entity in material.entities if entity.chunk_id not in inside}
    retold = _retell(chunks, foreign)
    return replace(
        material,
        entities=[
            retold.get(entity.id, entity)
            for entity in material.entities
            if entity.id in retold or entity.id not in foreign
        ],
        edges=[edge for edge in material.edges if edge.key in mentioned],
    )


def _retell(chunks: Sequence[DocumentChunk], entities: Mapping[UUID, Entity]) -> dict[UUID, Entity]:
    """These entities in the words of the first of these chunks that names them."""
    retold: dict[UUID, Entity] = {}
    for chunk in chunks:
        for mention in chunk.graph.mentions if chunk.graph else ():
            key = ids.entity_id(chunk.dataset_id, mention.name)
            if key in entities and key not in retold:
                retold[key] = replace(
                    entities[key],
                    name=mention.name,
                    type=mention.type,
                    description=mention.description,
                    chunk_id=chunk.id,
                )
    return retold


# --- a neighbourhood -------------------------------------------------------------------------------


async def neighborhood(
    tenant: Tenant, vector: Vector, start: Material, depth: int, *, max_nodes: int = MAX_NEIGHBORHOOD_NODES
) -> Material:
    """What matched and what is up to `depth` steps away from it, at most `max_nodes` nodes."""
    nodes = _Nodes(start, max_nodes)
    for _ in range(depth):
        if not await nodes.step(tenant):
            break
    return await nodes.measured(tenant, vector, start)


class _Nodes:
    """Ids of the nodes reached so far, by kind, and those that the last step reached."""

    def __init__(self, start: Material, max_nodes: int) -> None:
        self._max_nodes = max_nodes
        self.entities = {entity.id for entity in start.entities}
        self.chunks = {chunk.id for chunk in start.chunks}
        self.summaries = {summary.id for summary in start.summaries}
        self._new_entities, self._new_chunks = sorted(self.entities), sorted(self.chunks)
        self._new_summaries = sorted(self.summaries)

    async def step(self, tenant: Tenant) -> bool:
        """Go one step further; False when nothing new was reached."""
        async with wave() as group:
            out = group.create_task(tenant.find(Edge, "source_id", self._new_entities, limit=MAX_EDGES_A_STEP))
            into = group.create_task(tenant.find(Edge, "target_id", self._new_entities, limit=MAX_EDGES_A_STEP))
            speaking = group.create_task(
                tenant.find(DocumentChunk, "mentions", self._new_entities, limit=self._max_nodes)
            )
            chunks = group.create_task(tenant.get(DocumentChunk, self._new_chunks, without=UNREAD[DocumentChunk]))
            summaries = group.create_task(tenant.get(TextSummary, self._new_summaries, without=UNREAD[TextSummary]))
        mentions = {mention for chunk in chunks.result() for mention in chunk.mentions}
        async with wave() as group:
            edges = group.create_task(tenant.get(Edge, sorted({*out.result(), *into.result()})))
            entities = group.create_task(tenant.get(Entity, sorted(mentions - self.entities)))
        return self._reach(
            entities=[
                *chain.from_iterable((edge.source_id, edge.target_id) for edge in edges.result()),
                *(entity.id for entity in entities.result()),
            ],
            chunks=[*speaking.result(), *(summary.chunk_id for summary in summaries.result())],
            summaries=[ids.summary_id(chunk) for chunk in self._new_chunks],
        )

    def _reach(self, entities: list[UUID], chunks: list[UUID], summaries: list[UUID]) -> bool:
        self._new_entities = self._take(self.entities, entities)
        self._new_chunks = self._take(self.chunks, chunks)
        self._new_summaries = self._take(self.summaries, summaries)
        return bool(self._new_entities or self._new_chunks or self._new_summaries)

    def _take(self, known: set[UUID], reached: list[UUID]) -> list[UUID]:
        room = self._max_nodes - len(self.entities) - len(self.chunks) - len(self.summaries)
        new = sorted(set(reached) - known)[: max(room, 0)]
        known.update(new)
        return new

    async def measured(self, tenant: Tenant, vector: Vector, start: Material) -> Material:
        far = [(Entity, self.entities), (DocumentChunk, self.chunks), (TextSummary, self.summaries)]
        async with wave() as group:
            measures = [
                group.create_task(measure(tenant, kind, sorted(keys - start.distances.keys()), vector))
                for kind, keys in far
            ]
        distances = dict(start.distances)
        for task in measures:
            distances |= task.result()
        return await _read(tenant, sorted(self.entities), sorted(self.chunks), sorted(self.summaries), distances)
