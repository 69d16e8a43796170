"""A tree while it changes: nodes by number, floor by floor.

Floor 0 holds the summaries, floor 1 the buckets of level 0, and so on; the nodes of the highest floor hang under
the root. A node that has lost all its children is gone, its number is not used again.
"""

from collections.abc import Iterable, Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from overstory.indexing.tree.leaves import PlannedLevel, directions, sums_below
from overstory.indexing.tree.state import TreeState
from overstory.indexing.tree.vector_order import vector_buckets
from overstory.models import Vector, Vectors

NOWHERE = -1
"""The parent of a node that hangs under the root, or was not placed yet."""


class Floor:
    """The nodes of one floor, in arrays that have room to grow."""

    def __init__(self, sums: Vectors, children: list[list[int]], originals: int) -> None:
        self.originals = originals
        """Nodes with lower numbers were there before the change."""
        self.children = children
        self.changed: set[int] = set()
        """Nodes whose children are no longer the same."""
        self.used = len(sums)
        self._sums = sums
        self._parents = np.full(len(sums), NOWHERE, np.int32)
        self._counts = np.fromiter(map(len, children), np.int32, len(children))
        self._lengths = np.sqrt(np.einsum("ij,ij->i", sums, sums))

    @property
    def parents(self) -> NDArray[np.int32]:
        return self._parents[: self.used]

    @property
    def counts(self) -> NDArray[np.int32]:
        """How many children each node has; 0 for one that is gone."""
        return self._counts[: self.used]

    @property
    def sums(self) -> Vectors:
        """For each node the sum of the vectors of the summaries below it."""
        return self._sums[: self.used]

    def alive(self) -> NDArray[np.int64]:
        return np.flatnonzero(self.counts)

    def directions(self, nodes: NDArray[np.int64] | Sequence[int]) -> Vectors:
        return directions(self._sums[nodes])

    def similarities(self, vector: Vector) -> NDArray[np.float32]:
        """Cosine of each node with a vector of length 1; -inf for those that are gone."""
        found: NDArray[np.float32] = (self.sums @ vector) / np.maximum(self._lengths[: self.used], np.float32(1e-12))
        found[self.counts == 0] = -np.inf
        return found

    def add_sum(self, node: int, vector: Vector) -> None:
        self._sums[node] += vector
        self._lengths[node] = np.linalg.norm(self._sums[node])

    def append(self, children: list[int], total: Vector) -> int:
        """A new node; its number."""
        if self.used == len(self._sums):
            self._grow()
        node = self.used
        self.used += 1
        self.children.append(children)
        self._parents[node] = NOWHERE
        self._counts[node] = len(children)
        self._sums[node] = 0
        self.add_sum(node, total)
        return node

    def _grow(self) -> None:
        more = max(64, self.used // 8)
        self._sums = np.concatenate([self._sums, np.zeros((more, self._sums.shape[1]), np.float32)])
        self._lengths = np.concatenate([self._lengths, np.zeros(more, np.float32)])
        self._parents = np.concatenate([self._parents, np.full(more, NOWHERE, np.int32)])
        self._counts = np.concatenate([self._counts, np.zeros(more, np.int32)])

    def gain(self, node: int, child: int) -> None:
        self.children[node].append(child)
        self._counts[node] += 1
        self.changed.add(node)

    def lose(self, node: int, child: int) -> None:
        self.children[node].remove(child)
        self._counts[node] -= 1
        self.changed.add(node)


class GrowingTree:
    """The floors of a tree. Sums, counts and parents follow every move."""

    def __init__(self, state: TreeState, max_bucket_size: int) -> None:
        self.size = max_bucket_size
        self.leaf_parents = np.full(len(state.leaves), NOWHERE, np.int32)
        self.leaf_vectors = state.leaves.vectors
        self.floors: list[Floor] = []
        """`floors[level]` holds the buckets of that level."""
        for level in state.levels:
            self._add_floor(level, originals=len(level))
        if self.floors:
            self.floors[0].changed.update(state.bereft.tolist())
        for node in state.bereft.tolist():
            self._drop_if_empty(0, node)

    @property
    def height(self) -> int:
        """The number of levels, without the root."""
        return len(self.floors)

    def parents(self, level: int) -> NDArray[np.int32]:
        """Of the nodes of a level, of the summaries for -1."""
        return self.floors[level].parents if level >= 0 else self.leaf_parents

    def vectors(self, level: int, nodes: Sequence[int] | NDArray[np.int64]) -> Vectors:
        """The directions of nodes."""
        return self.floors[level].directions(nodes) if level >= 0 else self.leaf_vectors[nodes]

    def attach(self, level: int, node: int, parent: int) -> None:
        """Put a node of a level under a parent one level up."""
        self.parents(level)[node] = parent
        self.floors[level + 1].gain(parent, node)
        self._pass_up(level + 1, parent, self._sum(level, node))

    def detach(self, level: int, node: int) -> None:
        """Take a node from its parent; parents that become empty go."""
        parent = int(self.parents(level)[node])
        if parent == NOWHERE:
            return
        self.parents(level)[node] = NOWHERE
        self.floors[level + 1].lose(parent, node)
        self._pass_up(level + 1, parent, -self._sum(level, node))
        self._drop_if_empty(level + 1, parent)

    def create(self, level: int, children: Iterable[int]) -> int:
        """A new node over children that have no parent."""
        members = list(children)
        total = self._sums(level - 1)[members].sum(axis=0)
        node = self.floors[level].append(members, total)
        self.parents(level - 1)[members] = node
        return node

    def plant(self, levels: Sequence[PlannedLevel], members: NDArray[np.int64]) -> None:
        """Grow planned levels over nodes of the highest floor (summaries where there is none)."""
        for planned in levels:
            self._add_floor(PlannedLevel(planned.offsets, members[planned.members].astype(np.int32)), originals=0)
            members = np.arange(len(planned))

    def split(self, level: int, node: int) -> None:
        """Split a node that has too many children; the new one becomes its sibling, and may split the parent."""
        floor = self.floors[level]
        children = sorted(floor.children[node])
        most = min(self.size, (2 * len(children) + 2) // 3)
        halves = vector_buckets(self.vectors(level - 1, children), most)
        keeps = int(np.argmax(halves.sizes))
        leave = [children[m] for part in range(len(halves)) if part != keeps for m in _part(halves, part)]
        for child in leave:
            self.parents(level - 1)[child] = NOWHERE
            floor.lose(node, child)
        new = self.create(level, leave)
        floor.add_sum(node, -floor.sums[new])
        self._join_parent(level, new, int(floor.parents[node]))

    def merge(self, level: int, node: int, into: int) -> None:
        """Move all children of a node to another one; the node goes."""
        for child in sorted(self.floors[level].children[node]):
            self.detach(level - 1, child)
            self.attach(level - 1, child, into)

    def raise_top(self) -> None:
        """Add levels until the root has no more children than a bucket may have."""
        while self.height and len(top := self.floors[-1].alive()) > self.size:
            self.plant([vector_buckets(self.floors[-1].directions(top), self.size)], top)

    def lower_top(self) -> None:
        """Take levels away that the root doesn't need."""
        while self.height and not len(self.floors[-1].alive()):
            self.floors.pop()
        while self.height > 1 and len(self.floors[-2].alive()) <= self.size:
            self.floors.pop()
            self.floors[-1].parents[:] = NOWHERE

    def _add_floor(self, level: PlannedLevel, originals: int) -> None:
        below = self.height - 1
        bounds, members = level.offsets.tolist(), level.members.tolist()
        children = [members[a:b] for a, b in pairwise(bounds)]
        sums = np.zeros((len(level), self.leaf_vectors.shape[1]), np.float32)
        filled = np.flatnonzero(level.sizes)
        kept = PlannedLevel(np.append(level.offsets[:-1][filled], len(level.members)), level.members)
        sums[filled] = sums_below(self._sums(below), kept)
        self.parents(below)[level.members] = np.repeat(np.arange(len(level), dtype=np.int32), level.sizes)
        self.floors.append(Floor(sums, children, originals))

    def _sums(self, level: int) -> Vectors:
        return self.floors[level].sums if level >= 0 else self.leaf_vectors

    def _sum(self, level: int, node: int) -> Vector:
        total: Vector = self._sums(level)[node]
        return total

    def _pass_up(self, level: int, node: int, vector: Vector) -> None:
        while node != NOWHERE:
            self.floors[level].add_sum(node, vector)
            node = int(self.floors[level].parents[node])
            level += 1

    def _drop_if_empty(self, level: int, node: int) -> None:
        if not self.floors[level].counts[node]:
            self.detach(level, node)

    def _join_parent(self, level: int, node: int, parent: int) -> None:
        """Make a node, whose summaries were below this parent already, a child of it."""
        if parent == NOWHERE:
            return
        self.floors[level].parents[node] = parent
        self.floors[level + 1].gain(parent, node)
        if self.floors[level + 1].counts[parent] > self.size:
            self.split(level + 1, parent)


def _part(level: PlannedLevel, bucket: int) -> list[int]:
    members: list[int] = level.members[level.offsets[bucket] : level.offsets[bucket + 1]].tolist()
    return members
