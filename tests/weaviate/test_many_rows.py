"""More rows than the server gives, or removes, for one request."""

from uuid import uuid4

import numpy as np
import pytest_asyncio

from overstory.models import Edge, Entity, GlobalContextSummary, LeanEdge, PendingChange
from tests.contract.samples import random_vectors, row

MANY = 10_400


@pytest_asyncio.fixture
async def entities(tenant):
    """Very many rows that one value finds, with vectors."""
    chunk = uuid4()
    rows, vectors = [row(Entity, tenant.dataset_id, chunk_id=chunk) for _ in range(MANY)], random_vectors(MANY)
    await tenant.put(rows, vectors)
    return chunk, rows, vectors


async def test_one_value_of_very_many_rows_finds_and_counts_them_all(tenant, entities):
    chunk, rows, vectors = entities
    query, unknown = random_vectors(1, seed=5)[0], uuid4()

    found = await tenant.find(Entity, "chunk_id", [chunk, unknown])
    hits = await tenant.search_vectors(Entity, query, None)
    most = await tenant.search_vectors(Entity, query, MANY - 100)

    assert found == sorted(one.key for one in rows)
    assert await tenant.find(Entity, "chunk_id", [chunk], limit=3) == found[:3]
    assert await tenant.tally(Entity, "chunk_id", [chunk, unknown]) == {chunk: MANY, unknown: 0}
    assert await tenant.count(Entity) == MANY
    assert len(hits) == MANY
    exact = np.sort(1 - vectors.astype(np.float64) @ query.astype(np.float64))
    np.testing.assert_allclose([hit.score for hit in hits], exact, atol=1e-5)
    assert [hit.key for hit in most] == [hit.key for hit in hits[: MANY - 100]]
    assert await tenant.delete(Entity, found) == MANY
    assert await tenant.count(Entity) == 0


async def test_a_hub_with_very_many_edges_has_them_all(tenant):
    hub, others = uuid4(), [uuid4() for _ in range(MANY)]
    edges = [row(Edge, tenant.dataset_id, source_id=hub, target_id=one) for one in others]
    await tenant.put(edges)

    found = await tenant.edges_between([hub, *others])

    assert sorted(found) == sorted(map(LeanEdge.of, edges))


async def test_a_sweep_removes_very_many_rows(tenant):
    rows = [row(GlobalContextSummary, tenant.dataset_id, child_ids=(uuid4(),)) for _ in range(MANY)]
    await tenant.put(rows)

    removed = await tenant.sweep([])

    assert removed == MANY
    assert await tenant.count(GlobalContextSummary) == 0


async def test_very_many_rows_are_read_in_batches_by_ascending_key(tenant):
    rows = [row(PendingChange, tenant.dataset_id) for _ in range(MANY)]
    await tenant.put(rows)

    read = [key for b in [b async for b in tenant.batches(PendingChange, ["key"])] for key in b.column(0).to_pylist()]

    assert read == sorted(one.key.bytes for one in rows)
