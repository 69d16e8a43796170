"""The shape of a fresh tree, decided before the first text is written."""

import math
from dataclasses import dataclass, fields
from itertools import pairwise
from typing import Literal
from uuid import UUID

import numpy as np

from overstory import ids
from overstory.errors import InvalidOptionError
from overstory.indexing.tree.graph_buckets import graph_buckets
from overstory.indexing.tree.id_arrays import to_uuids
from overstory.indexing.tree.leaves import Leaves, PlannedLevel, directions, sums_below
from overstory.indexing.tree.one_core import one_core
from overstory.indexing.tree.vector_order import vector_buckets
from overstory.models import Generation, Vectors

STRATEGIES = ("graph", "vector")


@dataclass(frozen=True, slots=True)
class TreeOptions:
    """How the buckets over the summaries are formed."""

    bucketing_strategy: Literal["graph", "vector"] = "graph"
    """`graph`: by shared entities; `vector`: by cosine distance."""
    max_bucket_size: int = 4
    placement_distance_threshold: float = 0.5
    """Cosine distance up to which a summary suits a bucket, where there is a choice."""
    min_overlap: float = 0.05
    """Weighted share of common entities from which a summary suits a bucket."""

    @classmethod
    def of(cls, served: Generation | None) -> "TreeOptions":
        """Those that a generation was built with; the first ones where there is none."""
        return cls(**{option.name: getattr(served, option.name) for option in fields(cls)}) if served else cls()

    def check(self) -> None:
        """Refuse what makes no sense.

        Raises:
            InvalidOptionError: names the option, its value and what is allowed.
        """
        if self.bucketing_strategy not in STRATEGIES:
            raise InvalidOptionError("bucketing_strategy", self.bucketing_strategy, "use 'graph' or 'vector'")
        if type(self.max_bucket_size) is not int or self.max_bucket_size < 2:
            raise InvalidOptionError("max_bucket_size", self.max_bucket_size, "use a whole number of at least 2")
        if not _is_number(self.placement_distance_threshold) or self.placement_distance_threshold < 0:
            raise InvalidOptionError(
                "placement_distance_threshold", self.placement_distance_threshold, "use a finite number of at least 0"
            )
        if not _is_number(self.min_overlap) or not 0 <= self.min_overlap <= 1:
            raise InvalidOptionError("min_overlap", self.min_overlap, "use a number from 0 to 1")

    def describe(self) -> str:
        return f"{self.bucketing_strategy} buckets of {self.max_bucket_size}"


ROOMY_LEVEL = 2
"""Where all buckets are full, one more summary splits one on every level. With room here it splits two, for 2 % more
buckets: above, a tree has few."""
_LEAST_ROOMY = 4


@dataclass(frozen=True, slots=True, eq=False)
class TreePlan:
    """Every bucket of a tree. The top level hangs under the root; no level when there is nothing to summarise."""

    levels: tuple[PlannedLevel, ...]
    """Level 0 first."""

    @property
    def level_sizes(self) -> tuple[int, ...]:
        return tuple(map(len, self.levels))

    def bucket_ids(self, dataset_id: UUID, leaves: Leaves) -> list[list[UUID]]:
        """For each level the ids of its buckets, from their first children."""
        below = to_uuids(leaves.ids)
        found = []
        for number, level in enumerate(self.levels):
            offsets, members = level.offsets.tolist(), level.members.tolist()
            children = ([below[m] for m in members[a:b]] for a, b in pairwise(offsets))
            below = [ids.bucket_id(dataset_id, number, c) for c in children]
            found.append(below)
        return found


def plan_tree(leaves: Leaves, options: TreeOptions) -> TreePlan:
    """Plan a tree from scratch. The plan doesn't depend on the order of the summaries.

    Raises:
        InvalidOptionError: an option makes no sense.
    """
    options.check()
    if not len(leaves):
        return TreePlan(())
    ordered, places = leaves.in_order()
    with one_core():
        lowest = plan_lowest(ordered, options)
        upper = plan_upper(directions(sums_below(ordered.vectors, lowest)), options.max_bucket_size)
    return TreePlan((PlannedLevel(lowest.offsets, places[lowest.members].astype(np.int32)), *upper))


def plan_lowest(leaves: Leaves, options: TreeOptions) -> PlannedLevel:
    """Level 0 over summaries in the order of their ids."""
    by_vector = vector_buckets(leaves.vectors, options.max_bucket_size)
    if options.bucketing_strategy == "vector":
        return move_distant(leaves.vectors, by_vector, options)
    return graph_buckets(leaves, by_vector.members, options.max_bucket_size, options.min_overlap)


def move_distant(vectors: Vectors, level: PlannedLevel, options: TreeOptions) -> PlannedLevel:
    """Where a bucket has room, let those move in that are too far from their own bucket, and near to this one.

    Buckets are full but for fewer places than one holds, so this is a handful of moves.
    """
    size, sizes = options.max_bucket_size, level.sizes.copy()
    roomy = np.flatnonzero(sizes < size)
    if not len(roomy) or len(level) < 2:
        return level
    home = np.repeat(np.arange(len(level)), level.sizes)
    sums = sums_below(vectors, level)
    least = 1 - options.placement_distance_threshold
    others = directions(sums[home] - vectors[level.members])
    distant = np.flatnonzero((np.einsum("ij,ij->i", others, vectors[level.members]) < least) & (sizes[home] > 2))
    for place in distant.tolist():
        near = directions(sums[roomy]) @ vectors[level.members[place]]
        near[(sizes[roomy] >= size) | (roomy == home[place])] = -1
        best = int(near.argmax())
        if near[best] >= least and sizes[home[place]] > 2:
            sizes[home[place]] -= 1
            sizes[roomy[best]] += 1
            sums[home[place]] -= vectors[level.members[place]]
            sums[roomy[best]] += vectors[level.members[place]]
            home[place] = roomy[best]
    offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    return PlannedLevel(offsets, level.members[np.argsort(home, kind="stable")])


def plan_upper(vectors: Vectors, size: int) -> list[PlannedLevel]:
    """Levels over nodes with these directions, until one has at most `size` buckets; none if they are that few.

    Buckets are full but for one a level. Those of `ROOMY_LEVEL` keep a place free, if that makes the tree no higher.
    """
    levels: list[PlannedLevel] = []
    while len(vectors) > size:
        filled = _filled(len(vectors), size) if len(levels) + 1 == ROOMY_LEVEL else size
        levels.append(vector_buckets(vectors, filled))
        vectors = directions(sums_below(vectors, levels[-1]))
    return levels


def _filled(nodes: int, size: int) -> int:
    """How many children a bucket of the roomy level gets: never so few that one of them would be left with one."""
    if size < _LEAST_ROOMY:
        return size
    roomy, full = (_height(math.ceil(nodes / children), size) for children in (size - 1, size))
    return size - 1 if roomy == full else size


def _height(nodes: int, size: int) -> int:
    """How many levels there are over so many nodes."""
    return 1 + _height(math.ceil(nodes / size), size) if nodes > size else 0


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
