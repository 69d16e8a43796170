"""Rows that arrive as an Arrow table: what every store refuses, and rows for stores that take objects."""

import asyncio
from collections.abc import Iterator
from itertools import chain
from typing import TYPE_CHECKING, Any
from uuid import UUID

import numpy as np

from overstory import ids
from overstory.columns import Column, Form, StoredKind, columns_of, decode, decode_all, schema_of
from overstory.ids import uuid_of
from overstory.models import VECTOR_KINDS, Row, Vectors
from overstory.stores.checks import check_vectors
from overstory.stores.contract import Tenant

if TYPE_CHECKING:
    import pyarrow as pa

_ROWS = 1_024


def batches_of(table: "pa.Table") -> "list[pa.RecordBatch]":
    """The rows of a table, few enough at a time to be held as Python objects."""
    batches: list[pa.RecordBatch] = table.to_batches(max_chunksize=_ROWS)
    return batches


def check_table(kind: type[Row], table: "pa.Table", dataset_id: UUID, dimensions: int) -> None:
    """Rows of this form, whose values are whole, all of this dataset and with different keys.

    Raises:
        ValueError: they are not.
    """
    if table.schema != schema_of(kind, dimensions):
        raise ValueError(f"{kind.__name__} rows have other columns than {table.schema.names}, or of other types")
    batches = batches_of(table)
    for batch in batches:
        _check_batch(kind, batch, dataset_id, dimensions)
    if len(set(chain.from_iterable(keys_of(kind, batch) for batch in batches))) != table.num_rows:
        raise ValueError(f"two {kind.__name__} rows have the same key")


def keys_of(kind: type[Row], batch: "pa.RecordBatch") -> list[bytes]:
    """The keys of the rows, in their order."""
    if (field := StoredKind(kind).key_field) is not None:
        return cells(batch.column(field))
    versions = zip(cells(batch.column("id")), cells(batch.column("valid_from")), strict=True)
    return [ids.row_key(uuid_of(id_), valid_from).bytes for id_, valid_from in versions]


def cells(column: "pa.Array") -> list[Any]:
    """What `to_pylist` gives of a column without lists, in a fraction of its time."""
    values: list[Any] = column.to_numpy(zero_copy_only=False).tolist()
    return values


async def put_objects(tenant: Tenant, kind: type[Row], table: "pa.Table", dimensions: int) -> None:
    """`put_table` of a store that takes objects."""
    await asyncio.to_thread(check_table, kind, table, tenant.dataset_id, dimensions)
    for batch in batches_of(table):
        for part in _by_vector(batch):
            rows, vectors = await asyncio.to_thread(_objects, kind, part, dimensions)
            await tenant.put(rows, vectors)


def _check_batch(kind: type[Row], batch: "pa.RecordBatch", dataset_id: UUID, dimensions: int) -> None:
    batch.validate(full=True)
    for column in columns_of(kind):
        _check_column(kind, column, batch.column(column.name))
    if set(batch.column("dataset_id").unique().to_pylist()) != {dataset_id.bytes}:
        raise ValueError(f"a row belongs to another dataset than {dataset_id}")
    if kind in VECTOR_KINDS:
        given = batch.column("vector").drop_null()
        check_vectors(kind, len(given), _vectors(given, dimensions), dimensions)


def _check_column(kind: type[Row], column: Column, values: "pa.Array") -> None:
    lacking = 0 if column.nullable else values.null_count
    if column.form in (Form.IDS, Form.TEXTS):
        lacking += values.flatten().null_count
    if lacking:
        raise ValueError(f"a {kind.__name__} row has no value for {column.name!r}")
    if column.form in (Form.GRAPH, Form.CONTENT):
        for value in values:
            decode(column.form, value.as_py())


def _by_vector(batch: "pa.RecordBatch") -> "Iterator[pa.RecordBatch]":
    """Rows with a vector and rows without one, apart."""
    import pyarrow.compute as pc

    if "vector" not in batch.schema.names:
        yield batch
        return
    present = pc.is_valid(batch.column("vector"))
    yield batch.filter(present)
    yield batch.filter(pc.invert(present)).drop_columns(["vector"])


def _objects(kind: type[Row], batch: "pa.RecordBatch", dimensions: int) -> tuple[list[Row], Vectors | None]:
    columns = {c.name: decode_all(c.form, batch.column(c.name).to_pylist()) for c in columns_of(kind)}
    rows: list[Row] = [
        kind(**dict(zip(columns, values, strict=True))) for values in zip(*columns.values(), strict=True)
    ]
    return rows, _vectors(batch.column("vector"), dimensions) if "vector" in batch.schema.names else None


def _vectors(column: "pa.Array", dimensions: int) -> Vectors:
    """A column of vectors without nulls as a matrix, which shares its memory."""
    if not len(column):
        return np.empty((0, dimensions), np.float32)
    stored = np.frombuffer(column.buffers()[1], "<f4").reshape(-1, dimensions)
    return stored[column.offset : column.offset + len(column)]
