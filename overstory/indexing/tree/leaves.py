"""The summaries to plan a tree over, and one level of a plan, both as arrays."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from overstory.indexing.tree.id_arrays import IdArray, is_sorted, number, sort_order
from overstory.models import Vectors

if TYPE_CHECKING:
    import pyarrow as pa

_ROWS_AT_ONCE = 16_384


@dataclass(frozen=True, slots=True, eq=False)
class Leaves:
    """TextSummaries with their vectors and entities, in any order."""

    ids: IdArray
    """uint8, shape (n, 16)."""
    vectors: Vectors
    """float32, shape (n, dimensions); zeros where a summary has none."""
    entity_offsets: NDArray[np.int64]
    """Shape (n + 1,): summary i has `entity_codes[entity_offsets[i]:entity_offsets[i + 1]]`."""
    entity_codes: NDArray[np.int32]
    """Numbers from 0 that stand for entities."""

    def __len__(self) -> int:
        return len(self.ids)

    @classmethod
    def from_batches(cls, batches: "Iterable[pa.RecordBatch]") -> "Leaves":
        """Read summaries from Arrow.

        Args:
            batches: with the columns `key` (16 bytes), `entity_ids` (lists of 16 bytes) and `vector` (float32 as
                bytes, null for none).
        """
        ids, lengths, entities = _Growing(np.uint8, 16), _Growing(np.int64), _Growing(np.uint8, 16)
        vectors = _Growing(np.float32, 0)
        for batch in batches:
            rows = _vectors(batch.column("vector"), vectors.width)
            if rows.shape[1] > vectors.width:
                vectors = _Growing(np.float32, rows.shape[1], filled=len(ids))
            ids.append(as_bytes(batch.column("key"), 16))
            lengths.append(np.asarray(batch.column("entity_ids").value_lengths().fill_null(0), np.int64))
            entities.append(as_bytes(batch.column("entity_ids").flatten(), 16))
            vectors.append(rows)
        offsets = np.concatenate([[0], np.cumsum(lengths.array())]).astype(np.int64)
        return cls(ids.array(), vectors.array(), offsets, number(entities.array())[1])

    def take(self, rows: NDArray[np.integer[Any]]) -> "Leaves":
        """The summaries at these places, in this order."""
        lengths = np.diff(self.entity_offsets)[rows]
        offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        codes = self.entity_codes[ranges(self.entity_offsets[:-1][rows], lengths)]
        return Leaves(self.ids[rows], self.vectors[rows], offsets, codes)

    def in_order(self) -> tuple["Leaves", NDArray[np.int64]]:
        """The summaries by ascending id, and the place of each in the given order."""
        if is_sorted(self.ids):
            return self, np.arange(len(self), dtype=np.int64)
        order = sort_order(self.ids)
        return self.take(order), order


@dataclass(frozen=True, slots=True, eq=False)
class PlannedLevel:
    """Bucket b holds `members[offsets[b]:offsets[b + 1]]`: places in the level below, of summaries at level 0."""

    offsets: NDArray[np.int64]
    members: NDArray[np.int32]

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def sizes(self) -> NDArray[np.int64]:
        return np.diff(self.offsets)


def ranges(starts: NDArray[Any], lengths: NDArray[Any]) -> NDArray[np.int64]:
    """`starts[0], starts[0] + 1, …` of each length, one after the other."""
    ends = np.cumsum(lengths)
    places: NDArray[np.int64] = np.arange(ends[-1] if len(ends) else 0) + np.repeat(starts - (ends - lengths), lengths)
    return places


def sums_below(vectors: Vectors, level: PlannedLevel) -> Vectors:
    """For each bucket of a level (none is empty) the sum of its members' vectors."""
    sums = np.empty((len(level), vectors.shape[1]), np.float32)
    for first in range(0, len(level), _ROWS_AT_ONCE):
        offsets = level.offsets[first : first + _ROWS_AT_ONCE + 1]
        sums[first : first + len(offsets) - 1] = _sum_members(vectors, level.members, offsets[:-1], np.diff(offsets))
    return sums


def _sum_members(
    vectors: Vectors, members: NDArray[np.int32], starts: NDArray[np.int64], sizes: NDArray[np.int64]
) -> Vectors:
    """First members, plus second members, and so on: much faster than `np.add.reduceat` over short runs."""
    sums: Vectors = vectors[members[starts]]
    for step in range(1, int(sizes.max(initial=0))):
        longer = np.flatnonzero(sizes > step)
        sums[longer] += vectors[members[starts[longer] + step]]
    return sums


def directions(sums: Vectors) -> Vectors:
    """The rows at length 1; what has no direction stays zero."""
    lengths = np.sqrt(np.einsum("ij,ij->i", sums, sums))
    scaled: Vectors = sums / np.maximum(lengths, np.float32(1e-12))[:, None]
    return scaled


class _Growing:
    """An array that rows are appended to without a second copy of it."""

    def __init__(self, dtype: DTypeLike, *shape: int, filled: int = 0) -> None:
        self._data = np.zeros((filled, *shape), dtype)
        self._used = filled

    @property
    def width(self) -> int:
        return self._data.shape[1]

    def __len__(self) -> int:
        return self._used

    def append(self, rows: NDArray[Any]) -> None:
        end = self._used + len(rows)
        if end > len(self._data):
            self._data.resize((max(end, end * 5 // 4), *self._data.shape[1:]), refcheck=False)
        self._data[self._used : end] = rows
        self._used = end

    def array(self) -> NDArray[Any]:
        self._data.resize((self._used, *self._data.shape[1:]), refcheck=False)
        return self._data


def with_text(summaries: "pa.RecordBatch") -> "pa.RecordBatch":
    """Those that have a text, and so belong into the tree."""
    import pyarrow.compute as pc

    filled = pc.greater(pc.utf8_length(pc.utf8_trim_whitespace(summaries.column("text"))), 0)
    return summaries if pc.all(filled).as_py() else summaries.filter(filled)


def as_bytes(column: "pa.Array", width: int) -> NDArray[np.uint8]:
    """A column of fixed-width binary without nulls, as shape (n, width)."""
    start = column.offset * width
    data = column.buffers()[1]
    if data is None:
        return np.zeros((0, width), np.uint8)
    return np.frombuffer(data, np.uint8)[start : start + len(column) * width].reshape(-1, width)


def _vectors(column: "pa.Array", dimensions: int) -> Vectors:
    """A column of float32 as bytes, zeros for null; `dimensions` when all are null."""
    import pyarrow as pa
    import pyarrow.compute as pc

    width = pc.max(pc.binary_length(column)).as_py() or 0
    if not width:
        return np.zeros((len(column), dimensions), np.float32)
    filled = column.cast(pa.binary()).fill_null(bytes(width)) if column.null_count else column
    return as_bytes(filled.cast(pa.binary(width)), width).view(np.float32)
