"""Versions of buckets: which generation sees which row."""

from uuid import uuid4

import pytest

from overstory.models import OPEN_END, GlobalContextSummary, TextSummary
from tests.contract.samples import row, unit


async def _put_versions(tenant, bucket, *spans):
    """One row of the bucket for each span of generations, all with the same vector."""
    rows = [
        row(GlobalContextSummary, tenant.dataset_id, id=bucket, valid_from=start, valid_to=end, text=f"from {start}")
        for start, end in spans
    ]
    for one in rows:
        await tenant.put([one], unit(1)[None])
    return rows


async def _seen(tenant, generation):
    """What each way of reading shows of a generation."""
    hits = await tenant.search_vectors(GlobalContextSummary, unit(1), None, generation=generation)
    read = [b async for b in tenant.batches(GlobalContextSummary, ["key"], generation=generation)]
    return sorted(hit.key for hit in hits), sorted(key for b in read for key in b.column("key").to_pylist())


async def test_a_generation_sees_rows_from_valid_from_until_before_valid_to(tenant):
    bucket = uuid4()
    first, second, third = await _put_versions(tenant, bucket, (1, 3), (3, 4), (4, OPEN_END))

    seen = {g: await tenant.areas([bucket], g) for g in (0, 1, 2, 3, 4, 1_000)}

    assert seen == {0: [], 1: [first], 2: [first], 3: [second], 4: [third], 1_000: [third]}


@pytest.mark.parametrize(("generation", "index"), [(1, 0), (2, 0), (3, 1), (9, 2)])
async def test_search_and_bulk_reads_show_the_same_generation(tenant, generation, index):
    rows = await _put_versions(tenant, uuid4(), (1, 3), (3, 4), (4, OPEN_END))

    hits, read = await _seen(tenant, generation)

    assert hits == [rows[index].key]
    assert read == [rows[index].key.bytes]


async def test_a_limit_counts_rows_of_the_generation_only(tenant):
    for _ in range(20):
        await _put_versions(tenant, uuid4(), (1, 2))
    current = [(await _put_versions(tenant, uuid4(), (2, OPEN_END)))[0] for _ in range(5)]

    hits = await tenant.search_vectors(GlobalContextSummary, unit(1), 3, generation=2)

    assert [hit.key for hit in hits] == sorted(one.key for one in current)[:3]


async def test_without_a_generation_every_row_is_seen(tenant):
    rows = await _put_versions(tenant, uuid4(), (1, 3), (3, OPEN_END))

    hits, read = await _seen(tenant, None)

    assert hits == sorted(one.key for one in rows)
    assert read == sorted(one.key.bytes for one in rows)


async def test_closing_a_row_by_patch_is_seen_by_every_reader(tenant):
    bucket = uuid4()
    (old,) = await _put_versions(tenant, bucket, (1, OPEN_END))
    assert (await _seen(tenant, 2))[0] == [old.key]

    await tenant.patch(GlobalContextSummary, {old.key: {"valid_to": 2}})

    assert await _seen(tenant, 1) == ([old.key], [old.key.bytes])
    assert await _seen(tenant, 2) == ([], [])
    assert await tenant.areas([bucket], 2) == []


async def test_reopening_a_row_by_patch_is_seen_too(tenant):
    (old,) = await _put_versions(tenant, uuid4(), (1, 2))
    assert (await _seen(tenant, 2))[0] == []

    await tenant.patch(GlobalContextSummary, {old.key: {"valid_to": OPEN_END}})

    assert await _seen(tenant, 2) == ([old.key], [old.key.bytes])


async def test_areas_come_in_the_order_asked(tenant):
    buckets = [(await _put_versions(tenant, uuid4(), (1, OPEN_END)))[0] for _ in range(4)]

    areas = await tenant.areas([buckets[2].id, uuid4(), buckets[0].id], 1)

    assert areas == [buckets[2], buckets[0]]
    assert await tenant.areas([], 1) == []


async def test_versions_are_rows_of_their_own(tenant):
    bucket = uuid4()
    rows = await _put_versions(tenant, bucket, (1, 2), (2, OPEN_END))

    found = await tenant.find(GlobalContextSummary, "id", [bucket])

    assert found == sorted(one.key for one in rows)
    assert await tenant.count(GlobalContextSummary) == 2


async def test_sweeping_removes_what_no_kept_generation_sees(tenant):
    one, two, three = await _put_versions(tenant, uuid4(), (1, 2), (2, 5), (5, OPEN_END))
    (future,) = await _put_versions(tenant, uuid4(), (6, OPEN_END))

    removed = await tenant.sweep([3, 5])

    assert removed == 2
    keys = [one.key, two.key, three.key, future.key]
    assert await tenant.get(GlobalContextSummary, keys) == [two, three]
    assert (await _seen(tenant, None))[0] == sorted([two.key, three.key])
    assert await tenant.sweep([3, 5]) == 0


async def test_sweeping_for_no_generation_removes_every_index_row_and_nothing_else(tenant):
    await _put_versions(tenant, uuid4(), (1, 2), (2, OPEN_END))
    summary = row(TextSummary, tenant.dataset_id)
    await tenant.put([summary])

    removed = await tenant.sweep([])

    assert removed == 2
    assert await tenant.count(GlobalContextSummary) == 0
    assert await tenant.count(TextSummary) == 1


async def test_an_open_end_is_kept_exactly(tenant):
    (one,) = await _put_versions(tenant, uuid4(), (1, OPEN_END))

    (stored,) = await tenant.get(GlobalContextSummary, [one.key])

    assert stored.valid_to == OPEN_END
