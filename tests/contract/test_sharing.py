"""Access control off: all datasets share one tenant, whose searches see them all."""

from uuid import uuid4

import pytest_asyncio

from overstory.models import OPEN_END, DocumentChunk, Edge, Entity, GlobalContextSummary, LeanEdge, Manifest
from tests.contract.samples import dataset, row, some_keys, unit


@pytest_asyncio.fixture
async def pair(shared_store):
    """Two tenants that share their rows."""
    created = [await shared_store.create_dataset(dataset(name)) for name in ("one", "two")]
    yield [await shared_store.tenant(one) for one in created]
    for one in created:
        await shared_store.drop_dataset(one.id)


async def test_reads_by_key_and_searches_see_every_dataset(pair):
    one, two = pair
    mine, theirs = row(Entity, one.dataset_id, name="canary"), row(Entity, two.dataset_id, name="canary")
    word = f"w{uuid4().hex}"
    await one.put([mine], unit(1)[None])
    await two.put([theirs], unit(1)[None])
    await two.put([row(DocumentChunk, two.dataset_id, text=f"{word} text")])

    hits = await one.search_vectors(Entity, unit(1), None)

    assert await one.get(Entity, [mine.key, theirs.key]) == [mine, theirs]
    assert {mine.key, theirs.key} <= {hit.key for hit in hits}
    assert set(await one.vectors(Entity, [mine.key, theirs.key])) == {mine.key, theirs.key}
    assert len(await one.search_text(DocumentChunk, word, 10)) == 1


async def test_edges_of_every_dataset_are_seen(pair):
    one, two = pair
    a, b = some_keys(2)
    edges = [row(Edge, tenant.dataset_id, source_id=a, target_id=b) for tenant in pair]
    await one.put([edges[0]])
    await two.put([edges[1]])

    found = await one.edges_between([a, b])

    assert sorted(found) == sorted(map(LeanEdge.of, edges))


async def test_counts_finds_and_bulk_reads_see_the_own_dataset_only(pair):
    one, two = pair
    chunk = uuid4()
    mine = [row(Entity, one.dataset_id, chunk_id=chunk) for _ in range(2)]
    await one.put(mine)
    await two.put([row(Entity, two.dataset_id, chunk_id=chunk)])

    read = [batch async for batch in one.batches(Entity, ["key"])]

    assert await one.count(Entity) == 2
    assert await one.find(Entity, "chunk_id", [chunk]) == sorted(entity.key for entity in mine)
    assert await one.tally(Entity, "chunk_id", [chunk]) == {chunk: 2}
    assert [key for batch in read for key in batch.column("key").to_pylist()] == sorted(e.key.bytes for e in mine)


async def test_list_fields_too_are_found_in_the_own_dataset_only(pair):
    one, two = pair
    tag = f"tag {uuid4()}"
    mine = row(DocumentChunk, one.dataset_id, node_set=(tag,))
    await one.put([mine])
    await two.put([row(DocumentChunk, two.dataset_id, node_set=(tag,))])

    found = await one.find(DocumentChunk, "node_set", [tag], limit=10)

    assert found == [mine.key]
    assert await one.tally(DocumentChunk, "node_set", [tag]) == {tag: 1}


async def test_each_dataset_keeps_its_own_index(pair):
    one, two = pair
    bucket = uuid4()
    mine = row(GlobalContextSummary, one.dataset_id, id=uuid4(), valid_from=1, valid_to=OPEN_END)
    theirs = row(GlobalContextSummary, two.dataset_id, id=bucket, valid_from=1, valid_to=OPEN_END)
    await one.put([mine], unit(1)[None])
    await two.put([theirs], unit(1)[None])

    removed = await one.sweep([0])

    assert removed == 1
    assert await one.areas([bucket], 1) == []
    assert await two.areas([bucket], 1) == [theirs]


async def test_dropping_one_dataset_leaves_the_other(shared_store):
    first, second = [await shared_store.create_dataset(dataset(name)) for name in ("first", "second")]
    gone, kept = row(Entity, first.id, name="gone"), row(Entity, second.id, name="kept")
    await (await shared_store.tenant(first)).put([gone], unit(1)[None])
    tenant = await shared_store.tenant(second)
    await tenant.put([kept], unit(1)[None])
    lease = await shared_store.acquire_lease(second.id, "a", 60)
    await shared_store.write_manifest(Manifest(dataset_id=second.id, serving=1), lease)

    await shared_store.drop_dataset(first.id)
    await shared_store.drop_dataset(first.id)

    assert await tenant.get(Entity, [gone.key, kept.key]) == [kept]
    assert gone.key not in {hit.key for hit in await tenant.search_vectors(Entity, unit(1), None)}
    assert (await shared_store.read_manifest(second.id)).serving == 1
    assert await shared_store.next_occurrence(first.owner_id, "first") == 1
