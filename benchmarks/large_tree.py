"""A dataset with very many summaries, written straight into the store: its rows are right, its texts are made up."""

import random
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from overstory import ids
from overstory.access import find_or_create_dataset
from overstory.indexing.leasing import writing
from overstory.indexing.rendering import render_area
from overstory.models import (
    AreaContent,
    Category,
    Document,
    DocumentChunk,
    Edge,
    Entity,
    Fact,
    Generation,
    GlobalContextSummary,
    Manifest,
    RelationshipLabel,
    TextSummary,
)
from overstory.runtime import OpenDataset, current_runtime

PEOPLE = ["Ada Brook", "Luis Ortega", "Marta Silva", "Noor Castellan", "Emil Farrow", "Priya Raman", "Hanne Solberg"]
THINGS = ["Northstar", "the hull", "the permit", "the budget", "the ferry", "the landing", "the batteries", "the post"]
DOING = ["moved", "tested", "paid for", "signed", "welded", "measured", "postponed", "handed over"]
CHUNKS_OF_A_DOCUMENT, TOGETHER = 50, 4
CHUNKS_AN_ENTITY, EDGES_AN_ENTITY, MENTIONS = 5, 3, 4
_ROWS = 2_000


async def write_large_tree(name: str, summaries: int, user: str | None = None) -> UUID:
    """Make a dataset of so many summaries with a tree of fours over them; its id."""
    runtime = await current_runtime()
    opened = await find_or_create_dataset(runtime, name, user)
    chooser = random.Random(4)
    entities = await _write_graph(opened, max(1, summaries // CHUNKS_AN_ENTITY), chooser)
    leaves = await _write_documents(opened, summaries, chooser, entities)
    levels: list[list[GlobalContextSummary]] = []
    below: Sequence[TextSummary | GlobalContextSummary] = leaves
    while len(below) > TOGETHER or not levels:
        groups = [below[i : i + TOGETHER] for i in range(0, len(below), TOGETHER)]
        below = [_area(opened, len(levels), group) for group in groups]
        levels.append(below)
        await _put_areas(opened, below)
    root = _area(opened, len(levels), below, is_root=True)
    await _put_areas(opened, [root])
    await _publish(opened, root, [len(level) for level in levels], summaries)
    return opened.dataset.id


async def _write_graph(opened: OpenDataset, number: int, chooser: random.Random) -> list[UUID]:
    """Entities, and relations between them; the entities' ids."""
    dataset = opened.dataset.id
    names = [f"{chooser.choice(THINGS)} {n}" for n in range(number)]
    entities = [
        Entity(id=ids.entity_id(dataset, name), dataset_id=dataset, name=name, type="thing", description=f"{name} is one of many.", chunk_id=ids.make_id(name))
        for name in names
    ]  # fmt: skip
    pairs = ((one, chooser.choice(entities), chooser.choice(DOING)) for one in entities for _ in range(EDGES_AN_ENTITY))
    edges = {ids.edge_id(a.id, verb, b.id): (a, b, verb) for a, b, verb in pairs}
    rows = [
        Edge(id=key, dataset_id=dataset, source_id=a.id, relationship_name=verb, target_id=b.id, edge_text=f"{a.name} {verb} {b.name}.", chunk_id=a.chunk_id)
        for key, (a, b, verb) in edges.items()
    ]  # fmt: skip
    labels = [RelationshipLabel(id=ids.label_id(dataset, verb), dataset_id=dataset, name=verb) for verb in DOING]
    await opened.tenant.put(labels, _vectors(opened, len(labels), 1))
    for first in range(0, len(entities), _ROWS):
        part = entities[first : first + _ROWS]
        await opened.tenant.put(part, _vectors(opened, len(part), first + 2))
    for first in range(0, len(rows), _ROWS):
        await opened.tenant.put(rows[first : first + _ROWS])
    return [entity.id for entity in entities]


async def _write_documents(
    opened: OpenDataset, summaries: int, chooser: random.Random, entities: Sequence[UUID]
) -> list[TextSummary]:
    dataset, leaves = opened.dataset.id, []
    for first in range(0, summaries, CHUNKS_OF_A_DOCUMENT):
        source = f"notes/{first // CHUNKS_OF_A_DOCUMENT:05}.md"
        document = ids.document_id(dataset, source)
        day = (datetime(2020, 1, 1) + timedelta(days=first // CHUNKS_OF_A_DOCUMENT % 2_000)).date().isoformat()
        chunks = [
            DocumentChunk(
                id=ids.chunk_id(document, text := f"{_sentence(chooser, n)} It rained. {_sentence(chooser, -n)}"),
                dataset_id=dataset,
                document_id=document,
                text=text,
                position=n - first,
                occurred_at=day,
                mentions=tuple(dict.fromkeys(chooser.choices(entities, k=MENTIONS))),
            )
            for n in range(first, min(summaries, first + CHUNKS_OF_A_DOCUMENT))
        ]
        leaves += [
            TextSummary(
                id=ids.summary_id(c.id),
                dataset_id=dataset,
                document_id=document,
                chunk_id=c.id,
                text=c.text.partition(" It rained.")[0],
                position=c.position,
                occurred_at=day,
                entity_ids=c.mentions,
                model="offline",
            )
            for c in chunks
        ]
        row = Document(id=document, dataset_id=dataset, source=source, title=f"Note {first}", content_hash=source, occurred_at=day, chunk_ids=tuple(c.id for c in chunks), state="complete")  # fmt: skip
        await opened.tenant.put([row])
        await opened.tenant.put(chunks, _vectors(opened, len(chunks), first))
    for first in range(0, len(leaves), _ROWS):
        part = leaves[first : first + _ROWS]
        await opened.tenant.put(part, _vectors(opened, len(part), first))
    return leaves


def _sentence(chooser: random.Random, number: int) -> str:
    return f"{chooser.choice(PEOPLE)} {chooser.choice(DOING)} {chooser.choice(THINGS)} with {chooser.choice(PEOPLE)}, note {number}."


def _area(
    opened: OpenDataset, level: int, children: Sequence[TextSummary | GlobalContextSummary], *, is_root: bool = False
) -> GlobalContextSummary:
    facts = tuple(fact for child in children for fact in _facts(child))
    facts = facts[: 16 if is_root else 8]
    content = AreaContent(categories=(Category(name="People", topics=tuple(PEOPLE[:4])),), facts=facts)
    key = (
        ids.root_id(opened.dataset.id) if is_root else ids.bucket_id(opened.dataset.id, level, [c.id for c in children])
    )
    return GlobalContextSummary(
        id=key,
        dataset_id=opened.dataset.id,
        level=level,
        is_root=is_root,
        child_ids=tuple(child.id for child in children),
        content=content,
        text=render_area(content, is_root=is_root),
        valid_from=1,
        fingerprint=f"made-{key}",
        model="offline",
    )


def _facts(child: TextSummary | GlobalContextSummary) -> Sequence[Fact]:
    if isinstance(child, TextSummary):
        return [Fact(text=child.text, inputs=(str(child.id),), summary_ids=(child.id,), occurred_at=child.occurred_at)]
    return [Fact(text=f.text, inputs=(f.key,), summary_ids=f.summary_ids, occurred_at=f.occurred_at) for f in child.content.facts[:3]]  # fmt: skip


async def _put_areas(opened: OpenDataset, areas: Sequence[GlobalContextSummary]) -> None:
    for first in range(0, len(areas), _ROWS):
        part = areas[first : first + _ROWS]
        await opened.tenant.put(part, _vectors(opened, len(part), first))


def _vectors(opened: OpenDataset, number: int, seed: int) -> NDArray[np.float32]:
    made = np.random.default_rng(seed).standard_normal((number, opened.dataset.embedding_dimensions), np.float32)
    return made / np.linalg.norm(made, axis=1, keepdims=True)


async def _publish(opened: OpenDataset, root: GlobalContextSummary, level_sizes: Sequence[int], summaries: int) -> None:
    generation = Generation(
        number=1,
        root_id=root.id,
        bucketing_strategy="graph",
        max_bucket_size=TOGETHER,
        placement_distance_threshold=0.5,
        min_overlap=0.05,
        level_sizes=tuple(level_sizes),
        summaries=summaries,
        degraded=0,
        model="offline",
        prompt_version="made",
        embedding_model=opened.dataset.embedding_model,
        embedding_dimensions=opened.dataset.embedding_dimensions,
        built_at=datetime.now(UTC),
    )
    store = opened.runtime.store
    async with writing(store, opened.dataset, "made", ttl_seconds=90) as held:
        await store.write_manifest(
            Manifest(
                dataset_id=opened.dataset.id,
                serving=1,
                generations=(generation,),
                last_number=1,
                token=held.lease.token,
            ),
            held.lease,
        )
