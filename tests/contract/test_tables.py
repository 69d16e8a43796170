"""Bulk writes as Arrow tables: the same as `put` with the same rows."""

from collections.abc import Callable
from dataclasses import replace
from uuid import uuid4

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from overstory.columns import columns_of, encode, schema_of
from overstory.models import KINDS, VECTOR_KINDS, ChunkGraph, DocumentChunk, Edge, Entity, Row, TextSummary, Vectors
from tests import strategies
from tests.contract.samples import DIMENSIONS, HOSTILE_TEXTS, random_vectors, row, some_keys, unit

few = settings(
    max_examples=20,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow, HealthCheck.differing_executors],
)


def table_of(kind: type[Row], rows: list[Row], vectors: list[Vectors | None] | None = None) -> pa.Table:
    """Rows as `batches` gives them."""
    columns = {c.name: [encode(c.form, getattr(one, c.name)) for one in rows] for c in columns_of(kind)}
    if kind in VECTOR_KINDS:
        given = vectors or [None] * len(rows)
        columns["vector"] = [None if one is None else one.astype("<f4").tobytes() for one in given]
    return pa.table(columns, schema_of(kind, DIMENSIONS))


@pytest.mark.parametrize("kind", KINDS)
@few
@given(data=st.data())
async def test_rows_come_back_as_their_table_said(tenant, kind, data):
    rows = data.draw(strategies.row_lists(kind, tenant.dataset_id))

    await tenant.put_table(kind, table_of(kind, rows))

    assert await tenant.get(kind, [one.key for one in rows]) == rows
    assert await tenant.delete(kind, [one.key for one in rows]) == len(rows)


@pytest.mark.parametrize("kind", KINDS)
async def test_what_batches_give_may_be_put_again(tenant, kind):
    rows = [row(kind, tenant.dataset_id) for _ in range(5)]
    vectors = random_vectors(5) if kind in VECTOR_KINDS else None
    await tenant.put(rows, vectors)
    names = schema_of(kind, DIMENSIONS).names
    table = pa.Table.from_batches([batch async for batch in tenant.batches(kind, names, rows=2)])
    await tenant.delete(kind, [one.key for one in rows])

    await tenant.put_table(kind, table)

    again = pa.Table.from_batches([batch async for batch in tenant.batches(kind, names)])
    assert again.sort_by(names[0]).to_pylist() == table.sort_by(names[0]).to_pylist()


async def test_more_rows_than_are_held_at_once_are_all_stored_and_found(tenant):
    entities = some_keys(3)
    rows = [
        row(TextSummary, tenant.dataset_id, entity_ids=(entities[i % 3],) * 2, node_set=("a",)) for i in range(2_500)
    ]
    vectors = [None if i % 7 == 0 else one for i, one in enumerate(random_vectors(2_500))]

    await tenant.put_table(TextSummary, table_of(TextSummary, rows, vectors))

    found = await tenant.find(TextSummary, "entity_ids", [entities[1]])
    assert found == sorted(one.key for one in rows if one.entity_ids[0] == entities[1])
    assert await tenant.tally(TextSummary, "node_set", ["a"]) == {"a": 2_500}
    assert len(await tenant.vectors(TextSummary, [one.key for one in rows])) == sum(v is not None for v in vectors)
    assert (await tenant.search_vectors(TextSummary, vectors[1], 1))[0].key == rows[1].key


async def test_a_slice_of_a_table_is_stored_as_it_is(tenant):
    rows = [row(TextSummary, tenant.dataset_id, entity_ids=tuple(some_keys(n))) for n in range(6)]
    vectors = random_vectors(6)

    await tenant.put_table(TextSummary, table_of(TextSummary, rows, list(vectors)).slice(2, 3))

    assert await tenant.get(TextSummary, [one.key for one in rows]) == rows[2:5]
    stored = await tenant.vectors(TextSummary, [rows[3].key])
    np.testing.assert_allclose(stored[rows[3].key], vectors[3], atol=1e-6)


@pytest.mark.parametrize("text", HOSTILE_TEXTS)
async def test_words_are_found_as_if_they_had_been_put(tenant, text):
    first, second = (row(Entity, tenant.dataset_id, name="Northstar", description=text) for _ in range(2))
    await tenant.put([first])

    await tenant.put_table(Entity, table_of(Entity, [second]))

    for query in ("northstar", text):
        found = await tenant.search_text(Entity, query, 10)
        assert len({hit.score for hit in found}) <= 1
        assert {hit.key for hit in found} in (set(), {first.key, second.key})


async def test_a_row_of_a_table_replaces_that_of_the_same_key(tenant):
    old = row(Entity, tenant.dataset_id, name="Old", description="gone")
    await tenant.put([old], unit(1)[None])
    new = replace(old, name="New", description="")

    await tenant.put_table(Entity, table_of(Entity, [new]))

    assert await tenant.get(Entity, [old.key]) == [new]
    assert await tenant.vectors(Entity, [old.key]) == {}
    assert not await tenant.has_words(Entity, "gone")


async def test_an_empty_table_changes_nothing(tenant):
    await tenant.put_table(Entity, table_of(Entity, []))

    assert await tenant.count(Entity) == 0


def _with(name: str, *values: object) -> Callable[[pa.Table], pa.Table]:
    """Other values of a column."""

    def changed(table: pa.Table) -> pa.Table:
        place = table.schema.get_field_index(name)
        return table.set_column(place, name, pa.array(values, table.schema.field(name).type))

    return changed


def _not_utf8(table: pa.Table) -> pa.Table:
    wrong = pa.array([b"ok", b"\xff"]).view(pa.string())
    return table.set_column(table.schema.get_field_index("text"), "text", wrong)


WRONG = {
    "of another dataset": _with("dataset_id", uuid4().bytes, uuid4().bytes),
    "of the same key": _with("id", bytes(16), bytes(16)),
    "without a value": _with("text", "some text", None),
    "without a list": _with("mentions", [], None),
    "without an id in a list": _with("mentions", [], [None]),
    "not of UTF-8": _not_utf8,
    "with a graph that is no JSON": _with("graph", None, "{"),
    "with a graph of other fields": _with("graph", None, '{"mentions": [{"colour": "red"}]}'),
    "with a vector of another length": _with("vector", unit(1).tobytes(), (unit(1) * 2).tobytes()),
    "with a vector of no numbers": _with("vector", None, np.full(DIMENSIONS, np.nan, np.float32).tobytes()),
    "without a column": lambda table: table.drop_columns(["text"]),
    "with one more column": lambda table: table.append_column("colour", pa.array(["red", "blue"])),
    "with a column of another type": lambda table: table.set_column(4, "position", pa.array([0.5, 1.0])),
}


@pytest.mark.parametrize("wrong", WRONG.values(), ids=WRONG)
async def test_a_table_that_does_not_fit_is_refused_and_nothing_is_stored(tenant, wrong):
    rows = [row(DocumentChunk, tenant.dataset_id, graph=ChunkGraph()) for _ in range(2)]
    good = table_of(DocumentChunk, rows, list(random_vectors(2)))

    with pytest.raises(ValueError):
        await tenant.put_table(DocumentChunk, wrong(good))

    assert await tenant.count(DocumentChunk) == 0


async def test_the_same_key_far_apart_is_refused(tenant):
    rows = [row(Edge, tenant.dataset_id) for _ in range(1_500)]

    with pytest.raises(ValueError, match="same key"):
        await tenant.put_table(Edge, table_of(Edge, [*rows, rows[0]]))

    assert await tenant.count(Edge) == 0
