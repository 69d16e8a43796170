"""An existing tree as arrays, and what a change makes of it."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Protocol
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from overstory.errors import InvalidIndexError
from overstory.indexing.tree.bucketing import TreePlan
from overstory.indexing.tree.id_arrays import IdArray, find, from_uuids, sort_order, to_uuids
from overstory.indexing.tree.leaves import Leaves, PlannedLevel


class Node(Protocol):
    """A stored bucket or root."""

    @property
    def id(self) -> UUID: ...
    @property
    def level(self) -> int: ...
    @property
    def is_root(self) -> bool: ...
    @property
    def child_ids(self) -> tuple[UUID, ...]: ...


@dataclass(frozen=True, slots=True, eq=False)
class TreeState:
    """A tree over summaries, in the order of ids on every level, so that it doesn't matter how it was read.

    Children at level 0 that are no longer among the summaries are left out; a bucket may have lost all of them.
    """

    dataset_id: UUID
    leaves: Leaves
    """Every summary there is now: those in the tree and those to be added."""
    ids: tuple[IdArray, ...]
    """For each level the ids of its buckets."""
    levels: tuple[PlannedLevel, ...]
    """For each level its buckets' children: places in the level below."""
    bereft: NDArray[np.int64]
    """Places of the buckets of level 0 that have lost a child."""

    @classmethod
    def from_nodes(cls, dataset_id: UUID, leaves: Leaves, nodes: Iterable[Node]) -> "TreeState":
        """The tree of these buckets; a root among them is passed over."""
        by_level: dict[int, list[Node]] = {}
        for node in nodes:
            if not node.is_root:
                by_level.setdefault(node.level, []).append(node)
        found = {level: _read_nodes(of_level) for level, of_level in by_level.items()}
        return _build(dataset_id, leaves, found)

    @classmethod
    def from_plan(cls, dataset_id: UUID, leaves: Leaves, plan: TreePlan) -> "TreeState":
        """The tree as it was planned."""
        below, found = leaves.ids, {}
        for number, (level, names) in enumerate(zip(plan.levels, plan.bucket_ids(dataset_id, leaves), strict=True)):
            found[number] = (from_uuids(names), level.sizes, below[level.members])
            below = from_uuids(names)
        return _build(dataset_id, leaves, found)

    def with_leaves(self, leaves: Leaves) -> "TreeState":
        """The same tree over the summaries that there are now."""
        below, found = self.leaves.ids, {}
        for number, (names, level) in enumerate(zip(self.ids, self.levels, strict=True)):
            found[number] = (names, level.sizes, below[level.members])
            below = names
        return _build(self.dataset_id, leaves, found)

    @property
    def level_sizes(self) -> tuple[int, ...]:
        return tuple(map(len, self.levels))

    def buckets(self) -> Iterator["PlacedBucket"]:
        """All buckets, level 0 first."""
        below = to_uuids(self.leaves.ids)
        for number, (names, level) in enumerate(zip(self.ids, self.levels, strict=True)):
            own, members = to_uuids(names), level.members.tolist()
            for name, (a, b) in zip(own, pairwise(level.offsets.tolist()), strict=True):
                yield PlacedBucket(id=name, level=number, child_ids=tuple([below[m] for m in members[a:b]]))
            below = own


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacedBucket:
    """A bucket with its children, by ascending id."""

    id: UUID
    level: int
    child_ids: tuple[UUID, ...]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TreeChange:
    """What becomes of a tree. Buckets are listed by level, then id."""

    created: tuple[PlacedBucket, ...]
    changed: tuple[PlacedBucket, ...]
    """With other children than before."""
    stale: tuple[PlacedBucket, ...]
    """With the same children as before, whose text rests on something that changed below."""
    removed: tuple[PlacedBucket, ...]
    """With the children that they had."""
    top_ids: tuple[UUID, ...]
    """The buckets under the root; none when nothing is left to summarise."""
    state: TreeState
    """The tree afterwards, over the summaries that are in it."""

    @property
    def rewritten(self) -> tuple[PlacedBucket, ...]:
        """All buckets whose text is to be written, by level; the root is one more when anything changed."""
        return tuple(sorted((*self.created, *self.changed, *self.stale), key=lambda b: (b.level, b.id)))

    @property
    def level_sizes(self) -> tuple[int, ...]:
        """Buckets per level afterwards, without the root."""
        return self.state.level_sizes

    def __bool__(self) -> bool:
        """Whether anything changed; then the root is to be rewritten too, if there still is one."""
        return bool(self.created or self.changed or self.stale or self.removed)


_Rows = tuple[IdArray, NDArray[np.int64], IdArray]
"""Ids of buckets, how many children each has, the ids of all these children."""


def _read_nodes(nodes: Sequence[Node]) -> _Rows:
    lengths = np.array([len(node.child_ids) for node in nodes], np.int64)
    return from_uuids(n.id for n in nodes), lengths, from_uuids(c for n in nodes for c in n.child_ids)


def _build(dataset_id: UUID, leaves: Leaves, rows: dict[int, _Rows]) -> TreeState:
    ordered, _ = leaves.in_order()
    below, ids, levels, bereft = ordered.ids, [], [], np.zeros(0, np.int64)
    for number in range(max(rows, default=-1) + 1):
        if number not in rows:
            raise InvalidIndexError(str(dataset_id), [f"adjacent-levels: there is no bucket at level {number}"])
        names, level, lost = _in_order(*rows[number], below)
        if number == 0:
            bereft = lost
        elif len(lost):
            named = ", ".join(map(str, to_uuids(names[lost[:5]])))
            raise InvalidIndexError(str(dataset_id), [f"nothing-dangles: buckets that name missing ones: {named}"])
        ids.append(names)
        levels.append(level)
        below = names
    return TreeState(dataset_id, ordered, tuple(ids), tuple(levels), bereft)


def _in_order(
    names: IdArray, lengths: NDArray[np.int64], child_ids: IdArray, below: IdArray
) -> tuple[IdArray, PlannedLevel, NDArray[np.int64]]:
    """A level by ascending ids of buckets and children, and which of the buckets have lost a child."""
    rank = np.empty(len(names), np.int64)
    order = sort_order(names)
    rank[order] = np.arange(len(names))
    owners, places = np.repeat(rank, lengths), find(below, child_ids)
    there = places >= 0
    lost = np.unique(owners[~there])
    owners, places = owners[there], places[there]
    sizes = np.bincount(owners, minlength=len(names))
    members = places[np.lexsort((places, owners))].astype(np.int32)
    offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    return names[order], PlannedLevel(offsets, members), lost
