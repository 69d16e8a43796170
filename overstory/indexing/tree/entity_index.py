"""Which buckets of level 0 speak of the same entities as a summary."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from overstory.indexing.tree.graph_buckets import entity_weights
from overstory.indexing.tree.growing_tree import GrowingTree
from overstory.indexing.tree.leaves import Leaves, ranges

_COMPARED = 64


class EntityIndex:
    """Finds buckets by the entities of some newcomers."""

    def __init__(self, leaves: Leaves, newcomers: NDArray[np.int64]) -> None:
        self._leaves = leaves
        self._weights = entity_weights(leaves)
        wanted = np.zeros(len(self._weights), bool)
        wanted[leaves.take(newcomers).entity_codes] = True
        mentions = np.flatnonzero((wanted & (self._weights > 0))[leaves.entity_codes])
        owners = np.repeat(np.arange(len(leaves)), np.diff(leaves.entity_offsets))[mentions]
        codes = leaves.entity_codes[mentions]
        order = np.argsort(codes, kind="stable")
        self._owners = owners[order]
        self._ends = np.cumsum(np.bincount(codes, minlength=len(self._weights)))

    def overlaps(self, tree: GrowingTree, leaf: int) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Buckets that share entities with a summary, and the weighted Jaccard of its entities and all of theirs.

        Of many buckets only those that share most are compared.
        """
        codes = _different(self._codes(np.array([leaf])))
        lengths = self._ends[codes] - np.where(codes > 0, self._ends[codes - 1], 0)
        parents = tree.leaf_parents[self._owners[ranges(self._ends[codes] - lengths, lengths)]]
        pairs = parents.astype(np.int64) << 32 | np.repeat(codes, lengths)
        pairs = _different(pairs[parents >= 0])
        by_bucket = np.bincount(pairs >> 32, weights=self._weights[pairs & 0xFFFFFFFF])
        buckets = np.flatnonzero(by_bucket)
        shared = by_bucket[buckets]
        most = np.argsort(-shared, kind="stable")[:_COMPARED]
        totals = self._weights[codes].sum() + np.array([self._total(tree, b) for b in buckets[most].tolist()])
        return buckets[most], shared[most] / np.maximum(totals - shared[most], 1)

    def _codes(self, leaves: NDArray[np.int64]) -> NDArray[np.int32]:
        offsets = self._leaves.entity_offsets
        return self._leaves.entity_codes[ranges(offsets[leaves], offsets[leaves + 1] - offsets[leaves])]

    def _total(self, tree: GrowingTree, bucket: int) -> int:
        codes = _different(self._codes(np.array(tree.floors[0].children[bucket])))
        return int(self._weights[codes].sum())


def _different(numbers: NDArray[Any]) -> NDArray[Any]:
    """What `np.unique` gives, sorted: faster where there are many."""
    ordered: NDArray[Any] = np.sort(numbers)
    return np.delete(ordered, np.flatnonzero(ordered[1:] == ordered[:-1]))
