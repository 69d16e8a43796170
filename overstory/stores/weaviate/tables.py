"""Bulk reads as Arrow record batches, by the cursor."""

from collections.abc import AsyncIterator, Sequence
from typing import TYPE_CHECKING

from overstory.columns import arrow_type
from overstory.stores.weaviate.codec import cell_maker
from overstory.stores.weaviate.reading import PAGE, VECTORS_A_PAGE, Rows
from overstory.stores.weaviate.schema import property_of, shape_of
from overstory.stores.weaviate.wire import Stored

if TYPE_CHECKING:
    import pyarrow as pa


async def batches(
    rows: Rows, columns: Sequence[str], generation: int | None, size: int, dimensions: int
) -> "AsyncIterator[pa.RecordBatch]":
    """The dataset's own rows, each batch of `size` rows but the last."""
    vectors = "vector" in columns
    page = min(size, VECTORS_A_PAGE if vectors else PAGE)
    waiting: list[Stored] = []
    async for stored in rows.scan(_read(rows, columns, generation), vectors=vectors, page=page):
        if not rows.scope.owns(stored) or not _seen(stored, generation):
            continue
        waiting.append(stored)
        if len(waiting) == size:
            yield _batch(rows, columns, waiting, dimensions)
            waiting = []
    if waiting:
        yield _batch(rows, columns, waiting, dimensions)


def _read(rows: Rows, columns: Sequence[str], generation: int | None) -> list[str]:
    """The properties that are needed."""
    key_field = shape_of(rows.kind).key_field
    names = [property_of(name) for name in columns if name not in ("key", "vector", key_field)]
    versions = () if generation is None else ("valid_from", "valid_to")
    return list(dict.fromkeys((*names, *versions, *rows.scope.owner_properties)))


def _seen(stored: Stored, generation: int | None) -> bool:
    if generation is None:
        return True
    return bool(stored["valid_from"] <= generation < stored["valid_to"])


def _batch(rows: Rows, columns: Sequence[str], page: Sequence[Stored], dimensions: int) -> "pa.RecordBatch":
    import pyarrow as pa

    schema = pa.schema([(name, arrow_type(rows.kind, name, dimensions)) for name in columns])
    makers = [cell_maker(rows.kind, name) for name in columns]
    arrays = [
        pa.array([make(stored) for stored in page], field.type) for make, field in zip(makers, schema, strict=True)
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)
