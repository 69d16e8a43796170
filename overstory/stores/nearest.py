"""Exact nearest neighbours by cosine distance in a matrix of vectors, for stores that hold one."""

from collections.abc import Iterable
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from overstory.models import Hit, Vector, Vectors

Keys = NDArray[np.uint64]
"""Shape (n, 2): the upper and lower half of each key, so that they sort as the keys do."""

_ROUNDING = 1e-5
"""More than float32 products of vectors of length 1 are off."""
_BLOCK = 4096
_PRODUCT_ROWS = 1024


def halves(keys: Iterable[bytes]) -> Keys:
    """Keys of 16 bytes as pairs of numbers."""
    return np.frombuffer(b"".join(keys), dtype=">u8").reshape(-1, 2).astype(np.uint64)


def nearest(
    vectors: Vectors, keys: Keys, query: Vector, limit: int | None, mask: NDArray[np.bool_] | None = None
) -> list[Hit]:
    """The rows nearest to a vector of length 1, by ascending distance, ties by key; all of them for no limit."""
    candidates = _candidates(_similarities(vectors, query), limit, mask)
    distances = _distances(vectors, candidates, query)
    order = np.lexsort((keys[candidates, 1], keys[candidates, 0], distances))[:limit]
    chosen = keys[candidates[order]].tolist()
    return [
        Hit(UUID(int=upper << 64 | lower), distance)
        for (upper, lower), distance in zip(chosen, distances[order].tolist(), strict=True)
    ]


def _similarities(vectors: Vectors, query: Vector) -> Vector:
    """Block by block: a product of more rows wakes a second thread, which costs more than it gains when searches
    run side by side."""
    found = np.empty(len(vectors), np.float32)
    for first in range(0, len(vectors), _PRODUCT_ROWS):
        np.dot(vectors[first : first + _PRODUCT_ROWS], query, out=found[first : first + _PRODUCT_ROWS])
    return found


def _candidates(similarities: Vector, limit: int | None, mask: NDArray[np.bool_] | None) -> NDArray[np.intp]:
    """Positions of all rows that may be among the nearest, whatever rounding did."""
    if mask is not None:
        similarities = np.where(mask, similarities, np.float32(-np.inf))
    if limit is None or limit >= len(similarities):
        return np.flatnonzero(similarities > -np.inf)
    cut = np.partition(similarities, len(similarities) - limit)[len(similarities) - limit]
    return np.flatnonzero(similarities >= cut - _ROUNDING) if cut > -np.inf else np.flatnonzero(similarities > cut)


def _distances(vectors: Vectors, positions: NDArray[np.intp], query: Vector) -> NDArray[np.float64]:
    """In double precision and row by row, so that equal vectors have equal distances wherever they stand."""
    exact = query.astype(np.float64)
    blocks = [(vectors[positions[i : i + _BLOCK]] * exact).sum(axis=1) for i in range(0, len(positions), _BLOCK)]
    return np.clip(1.0 - np.concatenate(blocks), 0.0, 2.0) if blocks else np.empty(0)
