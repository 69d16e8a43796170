"""Where newcomers go in a tree that is there already."""

import numpy as np
from numpy.typing import NDArray

from overstory.indexing.tree.bucketing import TreeOptions, plan_lowest, plan_upper
from overstory.indexing.tree.entity_index import EntityIndex
from overstory.indexing.tree.growing_tree import NOWHERE, GrowingTree
from overstory.indexing.tree.leaves import Leaves, PlannedLevel, directions, sums_below
from overstory.indexing.tree.vector_order import vector_buckets
from overstory.models import Vectors

SLACK = 0.1
"""A bucket is as good as the best one when it is nearer than this to it, in cosine or weighted Jaccard: without
some slack a tree gets up to twice the buckets, for no nearer children."""
_ROWS_AT_ONCE = 256
_NEW_LEVEL = 2
"""Buckets that a new level under the root costs."""


class Placing:
    """Puts new summaries into a tree: those that belong together as new buckets, the others one by one.

    Of the buckets that are about as near as the nearest, the one is taken that makes the fewest splits.
    """

    def __init__(self, tree: GrowingTree, leaves: Leaves, options: TreeOptions) -> None:
        self._tree = tree
        self._leaves = leaves
        self._options = options
        self._index: EntityIndex | None = None

    def place(self, newcomers: NDArray[np.int64]) -> None:
        """Put summaries, given by ascending places, into the tree."""
        if not len(newcomers):
            return
        if not self._tree.height:
            self._plant(newcomers)
            return
        if self._options.bucketing_strategy == "graph":
            self._index = EntityIndex(self._leaves, newcomers)
        self._insert(-1, newcomers)

    def leave_misplaced(self, touched: NDArray[np.int64]) -> list[int]:
        """Take those from their buckets whose vector has moved far, to a place where another bucket is nearer."""
        moved: list[int] = []
        for leaf in touched.tolist():
            floor = self._tree.floors[0]
            bucket, vector = int(self._tree.leaf_parents[leaf]), self._leaves.vectors[leaf]
            if bucket == NOWHERE or floor.counts[bucket] < 2:
                continue
            own = float(directions((floor.sums[bucket] - vector)[None])[0] @ vector)
            nearness = floor.similarities(vector)
            nearness[bucket] = own
            best = float(nearness.max())
            if own < 1 - self._options.placement_distance_threshold and best - SLACK > own:
                moved.append(leaf)
        for leaf in moved:
            self._tree.detach(-1, leaf)
        return moved

    def _plant(self, newcomers: NDArray[np.int64]) -> None:
        leaves = self._leaves.take(newcomers)
        lowest = plan_lowest(leaves, self._options)
        upper = plan_upper(directions(sums_below(leaves.vectors, lowest)), self._tree.size)
        self._tree.plant([lowest, *upper], newcomers)

    def _insert(self, level: int, nodes: NDArray[np.int64]) -> None:
        """Give nodes of a level, summaries at -1, a parent; under the root that is nothing to do."""
        if level + 1 == self._tree.height:
            return
        groups, rest = self._group(level, nodes)
        fresh = [self._tree.create(level + 1, group) for group in groups]
        if fresh:
            self._insert(level + 1, np.array(fresh))
        for node in rest:
            self._place_one(level, node)

    def _group(self, level: int, nodes: NDArray[np.int64]) -> tuple[list[list[int]], list[int]]:
        """Newcomers that are as near to each other as to any bucket there is, as new buckets; and the rest."""
        if 2 * len(nodes) <= self._tree.size:
            return [], nodes.tolist()
        vectors = self._tree.vectors(level, nodes)
        if level < 0:
            planned = plan_lowest(self._leaves.take(nodes), self._options)
        else:
            planned = vector_buckets(vectors, self._tree.size)
        owner = np.repeat(np.arange(len(planned)), planned.sizes)
        gain = _cohesion(vectors, planned, owner) - self._nearest(level + 1, vectors)[planned.members]
        is_near = np.bincount(owner, weights=gain) / planned.sizes > -SLACK
        is_new = is_near & (2 * planned.sizes > self._tree.size)
        groups: list[list[int]] = [
            nodes[planned.members[a:b]].tolist()
            for a, b, new in zip(planned.offsets, planned.offsets[1:], is_new, strict=False)
            if new
        ]
        rest: list[int] = sorted(nodes[planned.members[~is_new[owner]]].tolist())
        return groups, rest

    def _nearest(self, level: int, vectors: Vectors) -> NDArray[np.float32]:
        """For each vector the cosine of the nearest node of a level."""
        floor = self._tree.floors[level]
        present = floor.directions(floor.alive())
        starts = range(0, len(vectors), _ROWS_AT_ONCE)
        return np.concatenate([(vectors[s : s + _ROWS_AT_ONCE] @ present.T).max(axis=1) for s in starts])

    def _place_one(self, level: int, node: int) -> None:
        bucket = self._choose(level, node)
        self._tree.attach(level, node, bucket)
        if self._tree.floors[level + 1].counts[bucket] > self._tree.size:
            self._tree.split(level + 1, bucket)

    def _choose(self, level: int, node: int) -> int:
        buckets, nearness = self._by_entities(node) if level < 0 else (None, None)
        if buckets is None or nearness is None:
            buckets, nearness = self._by_vector(level, node)
        splits = self._splits(level + 1)[buckets]
        return int(buckets[np.lexsort((buckets, -nearness, splits))[0]])

    def _by_entities(self, leaf: int) -> tuple[NDArray[np.int64] | None, NDArray[np.float64] | None]:
        """The buckets that share most with a summary; None where none shares enough."""
        if self._index is None:
            return None, None
        buckets, overlap = self._index.overlaps(self._tree, leaf)
        if not len(buckets) or overlap.max() < max(self._options.min_overlap, 1e-9):
            return None, None
        near = overlap >= max(overlap.max() - SLACK, self._options.min_overlap)
        return buckets[near], overlap[near]

    def _by_vector(self, level: int, node: int) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """The buckets near a node, none beyond the threshold unless all are; then room counts for more."""
        nearness = self._tree.floors[level + 1].similarities(self._tree.vectors(level, [node])[0])
        best, suits = float(nearness.max()), 1 - self._options.placement_distance_threshold
        least = max(best - SLACK, suits) if best >= suits else best - 2 * SLACK
        near = np.flatnonzero(nearness >= least)
        return near, nearness[near].astype(np.float64)

    def _splits(self, level: int) -> NDArray[np.int64]:
        """For each node of a level how many nodes have to be made if it is given one child more."""
        floors, size = self._tree.floors, self._tree.size
        above = _NEW_LEVEL * int(len(floors[-1].alive()) >= size)
        needed = np.where(floors[-1].counts < size, 0, 1 + above)
        for floor in reversed(floors[level:-1]):
            needed = np.where(floor.counts < size, 0, 1 + needed[floor.parents])
        return needed


def _cohesion(vectors: Vectors, level: PlannedLevel, owner: NDArray[np.int64]) -> NDArray[np.float32]:
    """For each member, as listed, its cosine with the others of its bucket."""
    own = vectors[level.members]
    others = directions(sums_below(vectors, level)[owner] - own)
    cosines: NDArray[np.float32] = np.einsum("ij,ij->i", others, own)
    return cosines
