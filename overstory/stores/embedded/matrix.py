"""Vectors of a kind as one matrix in memory: a copy of what the file holds, brought up to date at every search.

New rows are those with higher numbers than the last one known, rows that went away or changed their generations
stand in the table `change`; so a search after a write, of this or another process, reads only what is new.
"""

import threading
from array import array
from collections import OrderedDict
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import apsw
import numpy as np
from numpy.typing import NDArray

from overstory.models import GlobalContextSummary, Hit, Row, Vector, Vectors
from overstory.stores.embedded.connections import fetch, number
from overstory.stores.embedded.schema import table_of
from overstory.stores.nearest import Keys, halves, nearest

LIMIT_BYTES = 2 * 2**30
"""Of all matrices of a store: beyond it the least recently searched ones are read again when they are needed."""
_PAGE = 4096
_LEAST_CAPACITY = 256


@dataclass(frozen=True, slots=True, kw_only=True)
class Matrix:
    """One state of a kind's vectors; later states may share its memory, but never change what it shows."""

    vectors: Vectors
    """Shape (capacity, dimensions), of which `count` rows are in use."""
    keys: Keys
    rids: NDArray[np.int64]
    """Ascending."""
    seen: NDArray[np.int64]
    """Shape (capacity, 2): the generations that see a row, from and before; for index rows only."""
    alive: NDArray[np.bool_]
    count: int = 0
    dead: int = 0
    last_rid: int = 0
    last_change: int = 0

    @classmethod
    def empty(cls, dimensions: int, capacity: int) -> "Matrix":
        return cls(
            vectors=np.empty((capacity, dimensions), np.float32),
            keys=np.empty((capacity, 2), np.uint64),
            rids=np.empty(capacity, np.int64),
            seen=np.empty((capacity, 2), np.int64),
            alive=np.empty(capacity, np.bool_),
        )

    @property
    def nbytes(self) -> int:
        return self.vectors.nbytes + self.keys.nbytes + self.rids.nbytes + self.seen.nbytes + self.alive.nbytes

    def search(self, query: Vector, limit: int | None, generation: int | None) -> list[Hit]:
        mask = self.alive[: self.count] if self.dead else None
        if generation is not None:
            seen = self.seen[: self.count]
            visible = (seen[:, 0] <= generation) & (seen[:, 1] > generation)
            mask = visible if mask is None else visible & mask
        return nearest(self.vectors[: self.count], self.keys[: self.count], query, limit, mask)


@dataclass(slots=True)
class _Cached:
    lock: threading.Lock = field(default_factory=threading.Lock)
    matrix: Matrix | None = None


class Matrices:
    """Matrices of many files, bounded in bytes."""

    def __init__(self, limit_bytes: int = LIMIT_BYTES) -> None:
        self._limit_bytes = limit_bytes
        self._cached: OrderedDict[tuple[Path, type[Row], int], _Cached] = OrderedDict()
        self._lock = threading.Lock()

    def current(self, connection: apsw.Connection, path: Path, kind: type[Row], dimensions: int) -> Matrix:
        """The matrix as the connection's transaction sees it, or newer."""
        place = path, kind, dimensions
        with self._lock:
            cached = self._cached.setdefault(place, _Cached())
            self._cached.move_to_end(place)
        with cached.lock:
            cached.matrix = refreshed(connection, kind, dimensions, cached.matrix)
            matrix = cached.matrix
        self._shrink()
        return matrix

    def forget(self, path: Path) -> None:
        with self._lock:
            for place in [place for place in self._cached if place[0] == path]:
                del self._cached[place]

    @property
    def nbytes(self) -> int:
        return sum(cached.matrix.nbytes for cached in list(self._cached.values()) if cached.matrix is not None)

    def _shrink(self) -> None:
        with self._lock:
            while len(self._cached) > 1 and self.nbytes > self._limit_bytes:
                self._cached.popitem(last=False)


def refreshed(connection: apsw.Connection, kind: type[Row], dimensions: int, matrix: Matrix | None) -> Matrix:
    """The matrix with everything that happened since."""
    forgotten = number(connection, "SELECT value FROM state WHERE name = 'forgotten'")
    if matrix is None or matrix.last_change < forgotten:
        rows = number(connection, f"SELECT count(*) FROM {table_of(kind).name}_vector")
        newest = number(connection, "SELECT ifnull(max(seq), 0) FROM change")
        matrix = replace(Matrix.empty(dimensions, max(rows, _LEAST_CAPACITY)), last_change=max(newest, forgotten))
    else:
        matrix = _with_changes(connection, kind, matrix)
    return _with_new_rows(connection, kind, matrix)


def _with_changes(connection: apsw.Connection, kind: type[Row], matrix: Matrix) -> Matrix:
    changes = fetch(
        connection, "SELECT seq, rid FROM change WHERE seq > ? AND kind = ?", (matrix.last_change, kind.__name__)
    )
    if not changes:
        return matrix
    rids = np.unique(np.array([rid for _, rid in changes if rid <= matrix.last_rid], np.int64))
    matrix = replace(matrix, last_change=changes[-1][0])
    found = np.searchsorted(matrix.rids[: matrix.count], rids)
    known = found[found < matrix.count]
    positions = known[np.isin(matrix.rids[known], rids)]
    return _compacted(_looked_up(connection, kind, matrix, positions)) if len(positions) else matrix


def _looked_up(connection: apsw.Connection, kind: type[Row], matrix: Matrix, positions: NDArray[np.intp]) -> Matrix:
    """The matrix with what these rows are now."""
    rids = matrix.rids[positions]
    stored = _rows(connection, kind, "v.rid IN carray(?)", apsw.carray(array("q", rids.tolist())), vectors=False)
    alive, seen = matrix.alive.copy(), matrix.seen.copy()
    alive[positions] = False
    if stored:
        places = np.searchsorted(matrix.rids[: matrix.count], np.array([row[0] for row in stored], np.int64))
        alive[places] = True
        seen[places] = [row[3:] for row in stored]
    dead = matrix.count - int(np.count_nonzero(alive[: matrix.count]))
    return replace(matrix, alive=alive, seen=seen, dead=dead)


def _with_new_rows(connection: apsw.Connection, kind: type[Row], matrix: Matrix) -> Matrix:
    while rows := _rows(connection, kind, f"v.rid > ? ORDER BY v.rid LIMIT {_PAGE}", matrix.last_rid):
        fitting = [row for row in rows if len(row[2]) == 4 * matrix.vectors.shape[1]]
        matrix = replace(_appended(matrix, fitting), last_rid=rows[-1][0])
        if len(rows) < _PAGE:
            break
    return matrix


def _rows(
    connection: apsw.Connection, kind: type[Row], where: str, value: Any, *, vectors: bool = True
) -> list[tuple[Any, ...]]:
    """Number, key, vector and generations of rows, ascending where the condition says so."""
    name = table_of(kind).name
    vector = "v.vector" if vectors else "NULL"
    if kind is GlobalContextSummary:
        sql = (
            f"SELECT v.rid, v.key, {vector}, t.valid_from, t.valid_to "
            f"FROM {name}_vector v JOIN {name} t ON t.rid = v.rid WHERE {where}"
        )
    else:
        sql = f"SELECT v.rid, v.key, {vector}, 0, 0 FROM {name}_vector v WHERE {where}"
    return fetch(connection, sql, (value,))


def _appended(matrix: Matrix, rows: list[tuple[Any, ...]]) -> Matrix:
    if not rows:
        return matrix
    end = matrix.count + len(rows)
    if end > len(matrix.rids):
        matrix = _moved(matrix, np.arange(matrix.count), max(end, 2 * len(matrix.rids)))
    new = slice(matrix.count, end)
    matrix.vectors[new] = np.frombuffer(b"".join([row[2] for row in rows]), "<f4").reshape(len(rows), -1)
    matrix.keys[new] = halves(row[1] for row in rows)
    matrix.rids[new] = [row[0] for row in rows]
    matrix.seen[new] = [row[3:] for row in rows]
    matrix.alive[new] = True
    return replace(matrix, count=end)


def _compacted(matrix: Matrix) -> Matrix:
    """Without dead rows, once they are a quarter."""
    if matrix.dead * 4 < matrix.count:
        return matrix
    kept = np.flatnonzero(matrix.alive[: matrix.count])
    return replace(_moved(matrix, kept, max(len(kept), _LEAST_CAPACITY)), dead=0)


def _moved(matrix: Matrix, positions: NDArray[np.intp], capacity: int) -> Matrix:
    """The rows at these positions in new memory."""
    count = len(positions)
    target = Matrix.empty(matrix.vectors.shape[1], capacity)
    for old, new in (
        (matrix.vectors, target.vectors),
        (matrix.keys, target.keys),
        (matrix.rids, target.rids),
        (matrix.seen, target.seen),
        (matrix.alive, target.alive),
    ):
        new[:count] = old[positions]
    return replace(target, count=count, dead=matrix.dead, last_rid=matrix.last_rid, last_change=matrix.last_change)
