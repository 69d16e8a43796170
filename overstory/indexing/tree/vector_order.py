"""Full buckets of near vectors, without comparing all with all.

Points are put in a line in which neighbours are near: divided by the nearest of a few centres (spherical k-means on
a sample), the parts laid in a chain of near ones, and each divided again. The line is cut into windows of some
hundred points; there the products of all pairs are taken, and a window is split in two along its main direction
(a few steps of the power method), again and again, down to buckets. The time grows as n log n.
"""

from collections import defaultdict
from collections.abc import Iterator
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from overstory.indexing.tree.leaves import PlannedLevel, directions
from overstory.models import Vectors

_WINDOW_POINTS = 256
_UNDIVIDED_POINTS = 128
_CENTRES = 32
_POINTS_A_CENTRE = 64
_SAMPLE_A_CENTRE = 24
_CENTRE_STEPS = 5
_DIVISIONS = 12
_POWER_STEPS = 6
_ROWS_AT_ONCE = 8_192
_FLOATS_AT_ONCE = 8_000_000
_SAME_POINT = 1e-6
"""Squared distance below which points count as one: what is left is rounding."""

Rows: TypeAlias = NDArray[np.int64]


class _Segments(NamedTuple):
    """Sets of as many points each, that are to become as many buckets each."""

    first: NDArray[np.int64]
    """Shape (s,): the number of each one's first bucket."""
    rows: Rows
    """Shape (s, points)."""
    buckets: int


def vector_buckets(vectors: Vectors, size: int) -> PlannedLevel:
    """Group vectors of length 1 into as few buckets as can be, none with one member if it can be helped.

    Neighbouring buckets hold neighbouring vectors. Equal vectors stay in the order given.
    """
    count = -(-len(vectors) // size)
    finished: list[_Segments] = []
    for windows in _windows(_line(vectors), count, size):
        if windows.buckets == 1:
            finished.append(windows)
        else:
            for portion in _portions(windows, vectors.shape[1]):
                finished += _split_all(_products(vectors, portion.rows), portion, size)
    return _assemble(finished, count, len(vectors))


def _windows(line: Rows, count: int, size: int) -> Iterator[_Segments]:
    """Cut the line into windows of whole buckets, free places spread evenly; windows of one shape come together."""
    number = -(-count // max(1, _WINDOW_POINTS // size))
    first = np.arange(number + 1) * count // number
    start = first * len(line) // count
    shapes: dict[tuple[int, int], list[int]] = defaultdict(list)
    for window, shape in enumerate(zip(np.diff(start).tolist(), np.diff(first).tolist(), strict=True)):
        shapes[shape].append(window)
    for (points, buckets), same in shapes.items():
        yield _Segments(first[same], line[start[same][:, None] + np.arange(points)], buckets)


def _portions(segments: _Segments, dimensions: int) -> Iterator[_Segments]:
    """A part of the segments at a time, so that memory stays bounded."""
    points = segments.rows.shape[1]
    portion = max(1, _FLOATS_AT_ONCE // (points * max(points, dimensions)))
    for start in range(0, len(segments.rows), portion):
        part = slice(start, start + portion)
        yield _Segments(segments.first[part], segments.rows[part], segments.buckets)


# --- the line: by nearest centre -------------------------------------------------------------------


def _line(vectors: Vectors) -> Rows:
    """All points, near ones near each other."""
    line = np.arange(len(vectors))
    waiting = [(0, len(vectors), _DIVISIONS)]
    while waiting:
        start, end, divisions = waiting.pop()
        if end - start > _UNDIVIDED_POINTS and divisions:
            line[start:end], ends = _by_centre(vectors, line[start:end])
            starts = [0, *ends[:-1]]
            if np.diff(ends, prepend=0).max() < end - start:
                waiting += [(start + a, start + b, divisions - 1) for a, b in zip(starts, ends, strict=True)]
    return line


def _by_centre(vectors: Vectors, rows: Rows) -> tuple[Rows, NDArray[np.int64]]:
    """The points centre by centre, each one's from those near the centre before to those near the next.

    Returns:
        the points, and where those of each centre end.
    """
    centres = _centres(vectors, rows)
    last = len(centres) - 1
    nearest = np.empty(len(rows), np.int64)
    onward = np.empty(len(rows), np.float32)
    for start in range(0, len(rows), _ROWS_AT_ONCE):
        near = vectors[rows[start : start + _ROWS_AT_ONCE]] @ centres.T
        best = near.argmax(axis=1)
        each = np.arange(len(near))
        nearest[start : start + len(near)] = best
        onward[start : start + len(near)] = near[each, np.minimum(best + 1, last)] - near[each, np.maximum(best - 1, 0)]
    ends = np.cumsum(np.bincount(nearest, minlength=len(centres)))
    return rows[np.lexsort((onward, nearest))], ends


def _centres(vectors: Vectors, rows: Rows) -> Vectors:
    """Centres of a sample of the points, of length 1, each followed by a near one."""
    count = min(_CENTRES, max(2, len(rows) // _POINTS_A_CENTRE))
    sample = vectors[rows[:: -(-len(rows) // (count * _SAMPLE_A_CENTRE))]]
    centres = sample[np.arange(count) * len(sample) // count]
    for _ in range(_CENTRE_STEPS):
        nearest = (sample @ centres.T).argmax(axis=1)
        is_own = (nearest == np.arange(count)[:, None]).astype(np.float32)
        sums = is_own @ sample
        centres = directions(np.where(is_own.any(axis=1)[:, None], sums, centres))
    return centres[_chain(centres)]


def _chain(points: Vectors) -> list[int]:
    """From the first point on, always the nearest that is left."""
    near = points @ points.T
    chain, left = [0], np.ones(len(points), bool)
    left[0] = False
    while left.any():
        chain.append(int(np.where(left, near[chain[-1]], -np.inf).argmax()))
        left[chain[-1]] = False
    return chain


# --- a window: by the products of all pairs --------------------------------------------------------


def _products(vectors: Vectors, rows: Rows) -> NDArray[np.float32]:
    points = vectors[rows]
    products: NDArray[np.float32] = points @ points.transpose(0, 2, 1)
    return products


def _split_all(products: NDArray[np.float32], segments: _Segments, size: int) -> list[_Segments]:
    """Split segments down to single buckets, given the products of their pairs, shape (s, points, points)."""
    if segments.buckets == 1:
        return [segments]
    along = _main_coordinates(products)
    order = np.argsort(along, axis=1, kind="stable")
    left = _left(segments.buckets)
    cuts = _cuts(np.take_along_axis(along, order, 1), left, segments.buckets, size)
    finished: list[_Segments] = []
    for cut in np.unique(cuts):
        same = np.flatnonzero(cuts == cut)
        for part, first, buckets in (
            (order[same, :cut], 0, left),
            (order[same, cut:], left, segments.buckets - left),
        ):
            inner = products[same[:, None, None], part[:, :, None], part[:, None, :]] if buckets > 1 else products
            rows = np.take_along_axis(segments.rows[same], part, 1)
            finished += _split_all(inner, _Segments(segments.first[same] + first, rows, buckets), size)
    return finished


def _main_coordinates(products: NDArray[np.float32]) -> NDArray[np.float32]:
    """Where the points of each segment lie along its main direction, shape (s, points)."""
    means = products.mean(axis=1, keepdims=True)
    centred = products - means - means.transpose(0, 2, 1) + means.mean(axis=2, keepdims=True)
    squares = np.einsum("sii->si", centred)
    farthest = squares.argmax(axis=1)
    each = np.arange(len(products))
    along: NDArray[np.float32] = centred[each, farthest] * (squares[each, farthest] > _SAME_POINT)[:, None]
    for _ in range(_POWER_STEPS):
        along = (centred @ along[..., None])[..., 0]
        along /= np.maximum(np.sqrt(np.einsum("si,si->s", along, along)), np.float32(1e-30))[:, None]
    return along


def _cuts(along: NDArray[np.float32], left: int, buckets: int, size: int) -> NDArray[np.int64]:
    """Where to cut sorted points in two: at the widest gap among the places that leave every bucket well filled."""
    low, high = _room(along.shape[1], left, buckets, size)
    gaps = along[:, low : high + 1] - along[:, low - 1 : high]
    cuts: NDArray[np.int64] = low + np.argmax(gaps, axis=1)
    return cuts


def _left(buckets: int) -> int:
    return (buckets + 1) // 2


def _room(points: int, left: int, buckets: int, size: int) -> tuple[int, int]:
    """The fewest and the most of the points that the left of these buckets may take."""
    right = buckets - left
    fewest = min(2, points // buckets)
    return max(points - right * size, left * fewest), min(left * size, points - right * fewest)


def _assemble(finished: list[_Segments], count: int, points: int) -> PlannedLevel:
    sizes = np.zeros(count, np.int64)
    for segments in finished:
        sizes[segments.first] = segments.rows.shape[1]
    offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    members = np.empty(points, np.int32)
    for segments in finished:
        places: NDArray[Any] = offsets[segments.first][:, None] + np.arange(segments.rows.shape[1])
        members[places] = segments.rows
    return PlannedLevel(offsets, members)
