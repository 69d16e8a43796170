"""Mending a dataset by rule, without a model: what dangles, what nothing sees, what nothing supports.

Each step may be repeated. What a repair takes from the served texts is pending afterwards, so that the next improve
writes them anew.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Any
from uuid import UUID

from overstory import ids
from overstory.indexing import forgetting, publishing, removing
from overstory.indexing.index_rows import IndexRow, read_rows
from overstory.indexing.pending import keys_of
from overstory.indexing.plans import IMPROVE, REBUILD
from overstory.models import (
    OPEN_END,
    Document,
    DocumentChunk,
    Edge,
    Entity,
    GlobalContextSummary,
    Lease,
    Manifest,
    PendingChange,
    RelationshipLabel,
    TextSummary,
)
from overstory.results import RepairResult
from overstory.runtime import OpenDataset
from overstory.stores.contract import Tenant
from overstory.writer import Embedder


async def repair(opened: OpenDataset, lease: Lease) -> RepairResult:
    """Mend what can be mended without a model, and say what is left."""
    store, tenant, embedder = opened.runtime.store, opened.tenant, opened.runtime.embedder
    forgotten = await forgetting.forget(opened, lease)
    contents = await _repair_contents(tenant, embedder)
    manifest = await publishing.settle(store, tenant, lease)
    index = await _repair_index(tenant, manifest)
    current = manifest.current
    violations = (await publishing.violations_at(tenant, current.number, current.max_bucket_size))[0] if current else []
    pending = await tenant.count(PendingChange)
    uncovered = {i for v in violations if v.rule == "every-summary" for i in v.ids}
    await tenant.put([PendingChange(summary_id=i, dataset_id=tenant.dataset_id) for i in sorted(uncovered)])
    left = [v for v in violations if v.rule != "every-summary"]
    return RepairResult(
        dataset=opened.dataset.name,
        documents=forgotten.documents,
        violations=tuple(violations),
        advice=REBUILD if left else IMPROVE if pending or uncovered else "",
        **contents,
        **index,
    )


# --- documents, chunks and graph -------------------------------------------------------------------


async def _repair_contents(tenant: Tenant, embedder: Embedder) -> dict[str, int]:
    documents = await keys_of(tenant, Document)
    orphans, chunks, mentioned = [], set(), set()
    async for batch in tenant.batches(DocumentChunk, ["key", "document_id", "mentions"]):
        for row in batch.to_pylist():
            if row["document_id"] in documents:
                chunks.add(row["key"])
                mentioned.update(row["mentions"])
            else:
                orphans.append(ids.uuid_of(row["key"]))
    await removing.remove_chunks(tenant, embedder, orphans)
    summaries = await _remove_summaries(tenant, chunks)
    edges = await tenant.delete(Edge, await _unsupported_edges(tenant, mentioned))
    entities = await tenant.delete(Entity, _absent(await keys_of(tenant, Entity), mentioned))
    labels = await tenant.delete(RelationshipLabel, _absent(await keys_of(tenant, RelationshipLabel), mentioned))
    return {"chunks": len(orphans), "summaries": summaries, "entities": entities, "edges": edges, "labels": labels}


async def _remove_summaries(tenant: Tenant, chunks: Collection[bytes]) -> int:
    gone = []
    async for batch in tenant.batches(TextSummary, ["key", "chunk_id"]):
        gone += [ids.uuid_of(row["key"]) for row in batch.to_pylist() if row["chunk_id"] not in chunks]
    await tenant.put([PendingChange(summary_id=key, dataset_id=tenant.dataset_id) for key in gone])
    return await tenant.delete(TextSummary, gone)


async def _unsupported_edges(tenant: Tenant, mentioned: Collection[bytes]) -> list[UUID]:
    """Edges that no chunk names, or that lack an end once what no chunk names is gone."""
    entities = await keys_of(tenant, Entity)
    gone = []
    async for batch in tenant.batches(Edge, ["key", "source_id", "target_id"]):
        for row in batch.to_pylist():
            ends = (row["source_id"], row["target_id"])
            if row["key"] not in mentioned or any(e not in entities or e not in mentioned for e in ends):
                gone.append(ids.uuid_of(row["key"]))
    return gone


def _absent(keys: Collection[bytes], mentioned: Collection[bytes]) -> list[UUID]:
    return [ids.uuid_of(key) for key in sorted(keys) if key not in mentioned]


# --- the index -------------------------------------------------------------------------------------


async def _repair_index(tenant: Tenant, manifest: Manifest) -> dict[str, int]:
    marks = 0 if await _is_sound(tenant, manifest) else await _repair_marks(tenant, manifest)
    children = await _repair_children(tenant, manifest)
    rows = await read_rows(tenant)
    return {
        "marks": marks,
        "children": children,
        "rows": await _remove_unseen(tenant, manifest, rows),
        "pending": await _remove_stray(tenant, [row for row in rows if row.is_seen(manifest.serving)]),
    }


async def _is_sound(tenant: Tenant, manifest: Manifest) -> bool:
    current = manifest.current
    return current is None or not (await publishing.violations_at(tenant, current.number, current.max_bucket_size))[0]


async def _repair_marks(tenant: Tenant, manifest: Manifest) -> int:
    """Take back what a writer that had lost its lease opened or closed after its successor had begun."""
    rows = await read_rows(tenant)
    kept = {g.number for g in manifest.generations}
    begun = {b.number for b in manifest.unpublished}
    # Between two kept generations no other one was published: they are the newest.
    never = set(range(min(kept, default=0) + 1, manifest.last_number + 1)) - kept - begun
    served = {r.id for r in rows if r.is_seen(manifest.serving) and r.valid_from not in never}
    changes: dict[UUID, Mapping[str, Any]] = {}
    for row in rows:
        if row.valid_from in never and row.valid_to > row.valid_from:
            changes[row.key] = {"valid_to": row.valid_from}
        elif row.valid_from not in never and row.valid_to in never and row.id not in served:
            changes[row.key] = {"valid_to": OPEN_END}
    await tenant.patch(GlobalContextSummary, changes)
    return len(changes)


async def _repair_children(tenant: Tenant, manifest: Manifest) -> int:
    """Cut child ids that lead nowhere, and buckets that then have none; lowest level first."""
    seen = sorted(await read_rows(tenant, manifest.serving), key=lambda row: (row.level, row.key))
    there = {ids.uuid_of(key) for key in await keys_of(tenant, TextSummary)}
    lost: set[UUID] = set()
    cut: dict[UUID, Mapping[str, Any]] = {}
    empty = []
    for row in seen:
        children = tuple(c for c in row.child_ids if c in there)
        lost.update(c for c in row.child_ids if c not in there)
        if children:
            there.add(row.id)
        else:
            empty.append(row.key)
        if children and children != row.child_ids:
            cut[row.key] = {"child_ids": children, "stale": True}
    await tenant.put([PendingChange(summary_id=key, dataset_id=tenant.dataset_id) for key in sorted(lost)])
    await tenant.patch(GlobalContextSummary, cut)
    await tenant.delete(GlobalContextSummary, empty)
    return len(lost)


async def _remove_unseen(tenant: Tenant, manifest: Manifest, rows: Sequence[IndexRow]) -> int:
    """Rows that no kept generation sees, and that no stopped build has paid for."""
    kept = [g.number for g in manifest.generations]
    begun = {b.number for b in manifest.unpublished}
    unseen = [r.key for r in rows if r.valid_from not in begun and not any(r.is_seen(number) for number in kept)]
    return await tenant.delete(GlobalContextSummary, unseen)


async def _remove_stray(tenant: Tenant, served: Sequence[IndexRow]) -> int:
    """Changes of summaries that are gone and that the served tree does not name, unless they say that it was cut."""
    if any(row.cut for row in served):
        return 0
    summaries = await keys_of(tenant, TextSummary)
    named = {c for row in served for c in row.child_ids}
    pending = {ids.uuid_of(key) for key in await keys_of(tenant, PendingChange) - summaries}
    return await tenant.delete(PendingChange, sorted(pending - named))
