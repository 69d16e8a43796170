"""Bulk reads as Arrow record batches."""

import numpy as np
import pyarrow as pa
import pytest

from overstory.columns import arrow_type, columns_of, encode
from overstory.models import KINDS, ChunkGraph, DocumentChunk, Entity, PendingChange, TextSummary
from tests.contract.samples import DIMENSIONS, random_vectors, row, some_keys


async def _table(tenant, kind, columns, **options):
    batches = [batch async for batch in tenant.batches(kind, columns, **options)]
    return pa.Table.from_batches(batches)


async def test_batches_hold_every_row_once_by_ascending_key(tenant):
    rows = [row(PendingChange, tenant.dataset_id) for _ in range(250)]
    await tenant.put(rows)

    batches = [batch async for batch in tenant.batches(PendingChange, ["key"], rows=100)]

    assert [batch.num_rows for batch in batches] == [100, 100, 50]
    keys = [key for batch in batches for key in batch.column("key").to_pylist()]
    assert keys == sorted(one.key.bytes for one in rows)


async def test_an_empty_tenant_has_no_batches(tenant):
    assert [batch async for batch in tenant.batches(Entity, ["key", "name"])] == []


@pytest.mark.parametrize("kind", KINDS)
async def test_columns_have_their_types_and_values(tenant, kind):
    rows = [row(kind, tenant.dataset_id) for _ in range(3)]
    await tenant.put(rows)
    names = ["key", *(column.name for column in columns_of(kind))]

    table = await _table(tenant, kind, names)

    assert table.schema == pa.schema([(name, arrow_type(kind, name)) for name in names])
    for one, cells in zip(sorted(rows, key=lambda r: r.key), table.to_pylist(), strict=True):
        expected = {column.name: encode(column.form, getattr(one, column.name)) for column in columns_of(kind)}
        assert cells == {"key": one.key.bytes, **expected}


async def test_columns_come_in_the_order_asked(tenant):
    await tenant.put([row(Entity, tenant.dataset_id)])

    table = await _table(tenant, Entity, ["name", "key", "chunk_id"])

    assert table.column_names == ["name", "key", "chunk_id"]


async def test_lists_keep_their_lengths_and_order(tenant):
    rows = [
        row(TextSummary, tenant.dataset_id, entity_ids=tuple(some_keys(n)), node_set=tuple("ab"[: n % 3]))
        for n in (0, 3, 1, 0, 5)
    ]
    await tenant.put(rows)

    table = await _table(tenant, TextSummary, ["key", "entity_ids", "node_set"], rows=2)

    by_key = {cells["key"]: cells for cells in table.to_pylist()}
    for one in rows:
        assert by_key[one.key.bytes]["entity_ids"] == [id_.bytes for id_ in one.entity_ids]
        assert by_key[one.key.bytes]["node_set"] == list(one.node_set)


async def test_vectors_are_float32_bytes_and_null_where_there_is_none(tenant):
    with_vector = [row(Entity, tenant.dataset_id) for _ in range(5)]
    vectors = random_vectors(5)
    without = row(Entity, tenant.dataset_id)
    await tenant.put(with_vector, vectors)
    await tenant.put([without])

    table = await _table(tenant, Entity, ["key", "vector"])

    assert table.schema.field("vector").type == pa.binary(4 * DIMENSIONS)
    by_key = dict(zip(table.column("key").to_pylist(), table.column("vector").to_pylist(), strict=True))
    assert by_key[without.key.bytes] is None
    for one, vector in zip(with_vector, vectors, strict=True):
        np.testing.assert_allclose(np.frombuffer(by_key[one.key.bytes], "<f4"), vector, atol=1e-6)


async def test_a_missing_graph_is_null(tenant):
    await tenant.put([row(DocumentChunk, tenant.dataset_id), row(DocumentChunk, tenant.dataset_id, graph=ChunkGraph())])

    table = await _table(tenant, DocumentChunk, ["graph"])

    assert sorted(table.column("graph").to_pylist(), key=str)[0] is None
    assert table.column("graph").null_count == 1


async def test_more_rows_than_a_batch_are_all_read(tenant):
    rows = [row(PendingChange, tenant.dataset_id) for _ in range(1_200)]
    await tenant.put(rows)

    table = await _table(tenant, PendingChange, ["summary_id"], rows=500)

    assert sorted(table.column("summary_id").to_pylist()) == sorted(one.key.bytes for one in rows)


async def test_a_reader_may_stop_early_and_others_may_write_meanwhile(tenant):
    await tenant.put([row(PendingChange, tenant.dataset_id) for _ in range(300)])

    batches = tenant.batches(PendingChange, ["key"], rows=100)
    first = await anext(batches)
    await tenant.put([row(PendingChange, tenant.dataset_id)])
    await batches.aclose()

    assert first.num_rows == 100
    assert await tenant.count(PendingChange) == 301


@pytest.mark.parametrize(("kind", "column"), [(Entity, "colour"), (PendingChange, "vector")])
async def test_an_unknown_column_is_refused(tenant, kind, column):
    with pytest.raises(ValueError, match=r"colour|vector"):
        await _table(tenant, kind, [column])


async def test_a_generation_is_for_index_rows_only(tenant):
    with pytest.raises(ValueError, match="generation"):
        await _table(tenant, Entity, ["key"], generation=1)
