"""Rows of a dataset's file as Arrow record batches and back, without a Python object per id."""

from collections.abc import Sequence
from itertools import pairwise, repeat
from typing import TYPE_CHECKING, Any

import apsw
import numpy as np

from overstory.columns import Form, arrow_type
from overstory.models import Row
from overstory.stores.arriving import cells, keys_of
from overstory.stores.embedded.codec import StoredRow, dump_texts, load_texts
from overstory.stores.embedded.connections import fetch
from overstory.stores.embedded.reading import Scope
from overstory.stores.embedded.schema import table_of

if TYPE_CHECKING:
    import pyarrow as pa


def page(
    connection: apsw.Connection,
    scope: Scope,
    kind: type[Row],
    columns: Sequence[str],
    *,
    after: bytes,
    rows: int,
    generation: int | None,
    dimensions: int,
) -> "tuple[pa.RecordBatch, bytes] | None":
    """The next rows by ascending key as one batch, with the last key; None when there are no more."""
    stored = _stored(connection, scope, kind, columns, after, rows, generation)
    if not stored:
        return None
    import pyarrow as pa

    last, *values = zip(*stored, strict=True)
    schema = pa.schema([(name, arrow_type(kind, name, dimensions)) for name in columns])
    arrays = [_array(kind, name, cells, schema.field(name).type) for name, cells in zip(columns, values, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=schema), last[-1]


def stored_rows(kind: type[Row], batch: "pa.RecordBatch") -> list[StoredRow]:
    """The rows of a batch that was checked."""
    table = table_of(kind)
    values = zip(*(_stored_cells(c.form, batch.column(c.name)) for c in table.columns), strict=True)
    vectors = cells(batch.column("vector")) if table.has_vectors else repeat(None)
    return list(map(StoredRow, keys_of(kind, batch), values, vectors))


def _stored_cells(form: Form, column: "pa.Array") -> list[Any]:
    if form is Form.TEXTS:
        return [dump_texts(texts) for texts in column.to_pylist()]
    return _packed(column) if form is Form.IDS else cells(column)


def _packed(column: "pa.Array") -> list[bytes]:
    """The bytes of each list of ids, laid end to end."""
    joined = b"".join(cells(column.flatten()))
    ends = np.cumsum(16 * column.value_lengths().to_numpy()).tolist()
    return [joined[start:end] for start, end in pairwise([0, *ends])]


def _stored(
    connection: apsw.Connection,
    scope: Scope,
    kind: type[Row],
    columns: Sequence[str],
    after: bytes,
    rows: int,
    generation: int | None,
) -> list[tuple[Any, ...]]:
    table = table_of(kind)
    expressions = ", ".join(["t.key", *("v.vector" if name == "vector" else table.sql(name) for name in columns)])
    join = f" LEFT JOIN {table.name}_vector v ON v.rid = t.rid" if "vector" in columns else ""
    seen = "" if generation is None else " AND t.valid_from <= ? AND t.valid_to > ?"
    generations = () if generation is None else (generation, generation)
    sql = (
        f"SELECT {expressions} FROM {table.name} t{join} WHERE t.key > ?{seen}{scope.condition} "
        f"ORDER BY t.key LIMIT {rows}"
    )
    return fetch(connection, sql, (after, *generations, *scope.values))


def _array(kind: type[Row], name: str, cells: Sequence[Any], type_: "pa.DataType") -> "pa.Array":
    import pyarrow as pa

    form = None if name in ("key", "vector") else table_of(kind).form(name)
    if form is Form.IDS:
        return _id_lists(cells, type_)
    if form is Form.TEXTS:
        return pa.array([load_texts(cell) for cell in cells], type_)
    if form is Form.FLAG:
        return pa.array(np.array(cells, np.bool_), type_)
    return pa.array(cells, type_)


def _id_lists(packed: Sequence[bytes], type_: "pa.DataType") -> "pa.Array":
    """Lists of 16-byte ids from their bytes laid end to end."""
    import pyarrow as pa

    offsets = np.zeros(len(packed) + 1, np.int32)
    np.cumsum(np.fromiter(map(len, packed), np.int32, len(packed)) // 16, out=offsets[1:])
    ids = pa.Array.from_buffers(type_.value_type, int(offsets[-1]), [None, pa.py_buffer(b"".join(packed))])
    return pa.ListArray.from_arrays(pa.array(offsets), ids, type=type_)
