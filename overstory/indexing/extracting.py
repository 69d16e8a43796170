"""From chunks to what they say: graph, summary, entities, edges, and the vectors of all of them."""

import asyncio
from collections.abc import Iterable, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Generic, Self, TypeVar
from uuid import UUID

import numpy as np

from overstory import ids
from overstory.errors import BudgetExceededError, OverstoryError
from overstory.indexing.budgets import Budget
from overstory.indexing.documents import read_of
from overstory.indexing.shelf import Shelf
from overstory.models import (
    ChunkGraph,
    Document,
    DocumentChunk,
    Edge,
    Entity,
    Mention,
    PendingChange,
    Relation,
    RelationshipLabel,
    TextSummary,
    Usage,
    Vectors,
)
from overstory.progress import watcher
from overstory.stores.contract import Tenant
from overstory.writer import ChunkInput, ChunkReading, Embedder, Writer

RowT = TypeVar("RowT", Edge, RelationshipLabel)
ToldT = TypeVar("ToldT", bound=Entity | Edge)
ReportT = TypeVar("ReportT")
STAGE = "reading chunks"


@dataclass(slots=True, kw_only=True)
class ExtractReport:
    """What reading chunks took. Adds up with `+=`."""

    chunks: int = 0
    degraded: int = 0
    usage: Usage = field(default_factory=Usage)

    def __iadd__(self, other: "ExtractReport") -> Self:
        self.chunks += other.chunks
        self.degraded += other.degraded
        self.usage += other.usage
        return self


class StoppedError(Exception, Generic[ReportT]):
    """Work ended early; `report` says what was done by then, `reason` why."""

    def __init__(self, report: ReportT, reason: OverstoryError) -> None:
        self.report, self.reason = report, reason
        super().__init__(report, reason)

    def __str__(self) -> str:
        return str(self.reason)


class ExtractStoppedError(StoppedError[ExtractReport]):
    """A cap left chunks to be read."""

    reason: BudgetExceededError


async def extract(
    tenant: Tenant,
    writer: Writer,
    embedder: Embedder,
    chunk_ids: Sequence[UUID],
    budget: Budget,
    unstored: AbstractAsyncContextManager[Any],
) -> ExtractReport:
    """Read those of the chunks that have not been read, or only by rules in place of the model.

    What is read is stored as soon as it is, together what came meanwhile, even when other chunks fail; then the first
    failure is raised.

    Args:
        unstored: room for one that is not stored yet.

    Raises:
        ModelError: the model does not answer, or refuses the key.
        ExtractStoppedError: a cap was reached.
    """
    chunks = await _unread(tenant, chunk_ids)
    watcher().advance(STAGE, len(chunk_ids) - len(chunks))
    documents = {d.id: d for d in await tenant.get(Document, list({c.document_id for c in chunks}))}
    shelf: Shelf[tuple[DocumentChunk, ChunkReading]] = Shelf(partial(_store, tenant, embedder))
    report, failures = ExtractReport(), list[Exception]()

    async def read_and_store(chunk: DocumentChunk) -> None:
        async with unstored:
            try:
                reading = await _read(writer, chunk, documents.get(chunk.document_id), budget)
            except Exception as error:  # noqa: BLE001 - raised when the others have ended
                failures.append(error)
                return
            await shelf.put((chunk, reading))
        _count(report, reading)

    tasks = [asyncio.create_task(read_and_store(chunk)) for chunk in chunks]
    try:
        await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
        await shelf.close()
    if failures:
        first = failures[0]
        raise ExtractStoppedError(report, first) if isinstance(first, BudgetExceededError) else first
    return report


def entity_text(entity: Entity) -> str:
    """What of an entity is turned into a vector."""
    return f"{entity.name}: {entity.description}" if entity.description else entity.name


async def embed_texts(embedder: Embedder, texts: Sequence[str]) -> Vectors:
    """Vectors of the texts, in their order; equal texts are embedded once."""
    unique = list(dict.fromkeys(texts))
    if not unique:
        return np.empty((0, embedder.dimensions), dtype=np.float32)
    vectors = await embedder.embed(unique)
    places = {text: i for i, text in enumerate(unique)}
    return vectors[[places[text] for text in texts]]


@dataclass(frozen=True, slots=True, kw_only=True)
class ChunkNodes:
    """What one chunk speaks of, in its spelling."""

    entities: list[Entity]
    edges: list[Edge]
    labels: list[RelationshipLabel]


def nodes_of(chunk: DocumentChunk) -> ChunkNodes:
    """The entities, edges and labels of a chunk that has been read."""
    graph = chunk.graph or ChunkGraph()
    entities = {m.name: _entity(chunk, m) for m in graph.mentions}
    edges, labels = [], []
    for relation in graph.relations:
        source, target = entities.get(relation.source), entities.get(relation.target)
        if source is not None and target is not None:
            edges.append(_edge(chunk, relation, source.id, target.id))
            label = ids.label_id(chunk.dataset_id, relation.name)
            labels.append(RelationshipLabel(id=label, dataset_id=chunk.dataset_id, name=relation.name))
    return ChunkNodes(entities=list(entities.values()), edges=edges, labels=labels)


def named_by(chunk: DocumentChunk) -> frozenset[UUID]:
    """The ids of what a chunk's graph names: the same as those of `nodes_of`, without making the rows."""
    graph = chunk.graph or ChunkGraph()
    entities = {m.name: ids.entity_id(chunk.dataset_id, m.name) for m in graph.mentions}
    known = [r for r in graph.relations if r.source in entities and r.target in entities]
    edges = [ids.edge_id(entities[r.source], r.name, entities[r.target]) for r in known]
    return frozenset([*entities.values(), *edges, *(ids.label_id(chunk.dataset_id, r.name) for r in known)])


def _entity(chunk: DocumentChunk, mention: Mention) -> Entity:
    return Entity(
        id=ids.entity_id(chunk.dataset_id, mention.name),
        dataset_id=chunk.dataset_id,
        name=mention.name,
        type=mention.type,
        description=mention.description,
        chunk_id=chunk.id,
    )


def _edge(chunk: DocumentChunk, relation: Relation, source: UUID, target: UUID) -> Edge:
    return Edge(
        id=ids.edge_id(source, relation.name, target),
        dataset_id=chunk.dataset_id,
        source_id=source,
        relationship_name=relation.name,
        target_id=target,
        edge_text=relation.text,
        chunk_id=chunk.id,
    )


async def _unread(tenant: Tenant, chunk_ids: Sequence[UUID]) -> list[DocumentChunk]:
    chunks = await tenant.get(DocumentChunk, chunk_ids)
    finished = await read_of(tenant, chunks)
    return [c for c in chunks if c.id not in finished]


async def _read(writer: Writer, chunk: DocumentChunk, document: Document | None, budget: Budget) -> ChunkReading:
    title = document.title if document else ""
    await budget.take(writer.calls_a_chunk)
    usage = Usage()
    try:
        reading = await writer.read_chunk(ChunkInput(text=chunk.text, title=title, occurred_at=chunk.occurred_at))
        usage = reading.usage
    finally:
        budget.spend(usage)
    return reading


async def _store(tenant: Tenant, embedder: Embedder, done: Sequence[tuple[DocumentChunk, ChunkReading]]) -> None:
    """Write what was read. The chunks come last: one that has its graph has everything else too."""
    read = [replace(chunk, graph=reading.graph) for chunk, reading in done]
    nodes = [nodes_of(chunk) for chunk in read]
    # What a chunk named in an earlier reading stays among its mentions until `removing.drop_outdated`, so that a
    # stop in between loses no trace of it, and batches that run at once don't remove what another one names.
    chunks = [replace(c, mentions=_mentions(n, c.mentions)) for c, n in zip(read, nodes, strict=True)]
    summaries = [_summary(chunk, reading) for chunk, (_, reading) in zip(chunks, done, strict=True)]
    entities = await _told_best(tenant, [e for n in nodes for e in n.entities])
    edges = await _unknown(tenant, Edge, [e for n in nodes for e in n.edges])
    labels = await _unknown(tenant, RelationshipLabel, [e for n in nodes for e in n.labels])
    texts = [
        [entity_text(e) for e in entities],
        [label.name for label in labels],
        [s.text for s in summaries],
        [c.text for c in chunks],
    ]
    vectors = await embed_texts(embedder, [text for group in texts for text in group])
    parts = np.split(vectors, np.cumsum([len(group) for group in texts])[:-1])
    await tenant.put([PendingChange(summary_id=s.id, dataset_id=s.dataset_id) for s in summaries])
    await tenant.put(entities, parts[0])
    await tenant.put(labels, parts[1])
    await tenant.put(edges)
    await tenant.put(summaries, parts[2])
    await tenant.put(chunks, parts[3])


def _mentions(nodes: ChunkNodes, earlier: Sequence[UUID]) -> tuple[UUID, ...]:
    named = (row.id for rows in (nodes.entities, nodes.edges, nodes.labels) for row in rows)
    return tuple(dict.fromkeys([*named, *earlier]))


def _summary(chunk: DocumentChunk, reading: ChunkReading) -> TextSummary:
    names = reading.graph.mentions
    return TextSummary(
        id=ids.summary_id(chunk.id),
        dataset_id=chunk.dataset_id,
        document_id=chunk.document_id,
        chunk_id=chunk.id,
        text=reading.summary,
        position=chunk.position,
        occurred_at=chunk.occurred_at,
        node_set=chunk.node_set,
        entity_ids=tuple(dict.fromkeys(ids.entity_id(chunk.dataset_id, m.name) for m in names)),
        model=reading.model,
        degraded=reading.degraded,
        importance_weight=chunk.importance_weight,
    )


async def _told_best(tenant: Tenant, entities: Iterable[Entity]) -> list[Entity]:
    """Those that the dataset does not have, or not from a text that is about them.

    A thing keeps the first spelling seen, until a text comes that tells of it by its name.
    """
    best: dict[UUID, Entity] = {}
    for entity in entities:
        if entity.id not in best or entity.is_subject > best[entity.id].is_subject:
            best[entity.id] = entity
    known = {row.id: row for row in await tenant.get(Entity, list(best))}
    new = [entity for key, entity in best.items() if key not in known]
    better = [as_weighted(best[key], row) for key, row in known.items() if best[key].is_subject > row.is_subject]
    return [*new, *better]


def as_weighted(told: ToldT, row: Entity | Edge) -> ToldT:
    """What tells of a thing in other words, with the weights that it has."""
    return replace(told, importance_weight=row.importance_weight, feedback_weight=row.feedback_weight)


async def _unknown(tenant: Tenant, kind: type[RowT], rows: Iterable[RowT]) -> list[RowT]:
    """The first of each id, without those that the dataset has."""
    first: dict[UUID, RowT] = {}
    for row in rows:
        first.setdefault(row.id, row)
    known = {row.id for row in await tenant.get(kind, list(first))}
    return [row for key, row in first.items() if key not in known]


def _count(report: ExtractReport, reading: ChunkReading) -> None:
    degraded = int(bool(reading.degraded))
    report.chunks += 1
    report.degraded += degraded
    report.usage += reading.usage
    watcher().advance(STAGE, 1, degraded=degraded)
