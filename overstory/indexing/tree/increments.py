"""Changing a tree where summaries came, changed or went, and nowhere else.

A newcomer goes into the nearest bucket; of several that are about as near, into the one that makes the fewest
splits. A bucket with too many children is split in two, and one that has lost half of its children or more gives the
rest to one or two siblings if they have room. Empty buckets go, levels come and go. A bucket keeps its id for life.
"""

from collections.abc import Collection, Iterator, Sequence
from itertools import chain
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from overstory import ids
from overstory.indexing.tree.bucketing import TreeOptions
from overstory.indexing.tree.growing_tree import NOWHERE, Floor, GrowingTree
from overstory.indexing.tree.id_arrays import IdArray, find_uuids, sort_order, to_uuids
from overstory.indexing.tree.leaves import PlannedLevel
from overstory.indexing.tree.one_core import one_core
from overstory.indexing.tree.placing import Placing
from overstory.indexing.tree.squeezing import squeeze
from overstory.indexing.tree.state import PlacedBucket, TreeChange, TreeState


def apply_changes(
    state: TreeState,
    added: Sequence[UUID],
    touched: Sequence[UUID],
    options: TreeOptions,
    *,
    thinned: Sequence[UUID] = (),
) -> TreeChange:
    """Plan what becomes of a tree. The result doesn't depend on the order within the lists.

    One more summary changes at most one bucket a level, and those that are split.

    Args:
        state: the tree with all summaries that there are now; children that are no longer among them leave.
        added: new summaries; those in the tree already count as touched.
        touched: summaries whose text or vector has changed; each keeps its bucket unless its vector moved far.
        options: those that the tree was planned with.
        thinned: buckets whose children were taken from them before; they may have become too small.

    Raises:
        InvalidOptionError: an option makes no sense.
        ValueError: an added summary is not among the summaries.
    """
    options.check()
    with one_core():
        tree = GrowingTree(state, options.max_bucket_size)
        placing = Placing(tree, state.leaves, options)
        newcomers, rewritten = _sort_out(tree, state, added, touched)
        tree.lower_top()
        moved = placing.leave_misplaced(rewritten)
        tree.lower_top()
        shrunk = _shrunk(tree, state, thinned)
        placing.place(np.union1d(newcomers, np.array(moved, np.int64)))
        squeeze(tree, shrunk)
        _settle(tree)
    return _Outcome(tree, state, rewritten).change()


def _sort_out(
    tree: GrowingTree, state: TreeState, added: Sequence[UUID], touched: Sequence[UUID]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Places of the summaries to add, and of those rewritten where they are."""
    new, same = (np.unique(find_uuids(state.leaves.ids, i)) for i in (added, touched))
    if len(new) and new[0] < 0:
        known = set(to_uuids(state.leaves.ids))
        raise ValueError(f"added, but not among the summaries: {sorted(set(added) - known)[:5]}")
    named = np.union1d(new, same[same >= 0])
    is_placed = tree.leaf_parents != NOWHERE
    return named[~is_placed[named]], named[is_placed[named]]


def _shrunk(tree: GrowingTree, state: TreeState, thinned: Sequence[UUID]) -> list[set[int]]:
    """For each level the buckets that have lost children, here or before."""
    before = [find_uuids(names, thinned) for names in state.ids[: tree.height]]
    return [floor.changed | set(nodes[nodes >= 0].tolist()) for floor, nodes in zip(tree.floors, before, strict=True)]


def _nearest(floor: Floor, node: int, others: list[int]) -> int:
    return int((floor.directions(others) @ floor.directions([node])[0]).argmax())


def _settle(tree: GrowingTree) -> None:
    """Give the tree as many levels as it needs, each with fewer nodes than the one below."""
    tree.raise_top()
    tree.lower_top()
    level = 0
    while level < tree.height:
        alive = tree.floors[level].alive()
        below = np.count_nonzero(tree.leaf_parents != NOWHERE) if level == 0 else len(tree.floors[level - 1].alive())
        if 1 < below <= len(alive):
            single = int(alive[0])
            others = alive[1:].tolist()
            tree.merge(level, single, others[_nearest(tree.floors[level], single, others)])
            tree.lower_top()
        else:
            level += 1


class _Outcome:
    """Reads the difference between the tree that was and the one that is."""

    def __init__(self, tree: GrowingTree, state: TreeState, rewritten: NDArray[np.int64]) -> None:
        self._tree = tree
        self._state = state
        self._rewritten = rewritten
        self._names: list[IdArray] = []
        """For each level the ids of its nodes."""

    def change(self) -> TreeChange:
        created: list[PlacedBucket] = []
        changed: list[PlacedBucket] = []
        stale: list[PlacedBucket] = []
        dirty = set(self._tree.leaf_parents[self._rewritten].tolist())
        for level, floor in enumerate(self._tree.floors):
            self._names.append(self._name_all(level, floor))
            new, other = self._new(floor), self._other(level, floor)
            created += self._placed(level, new)
            changed += self._placed(level, other)
            dirty = {n for n in dirty - new - other if n != NOWHERE}
            stale += self._placed(level, dirty)
            dirty = {int(floor.parents[n]) for n in new | other | dirty}
        top = sorted(to_uuids(self._names[-1][self._tree.floors[-1].alive()])) if self._names else []
        return TreeChange(
            created=tuple(created),
            changed=tuple(changed),
            stale=tuple(stale),
            removed=tuple(self._removed()),
            top_ids=tuple(top),
            state=self._result(),
        )

    def _new(self, floor: Floor) -> set[int]:
        return {n for n in range(floor.originals, floor.used) if floor.counts[n]}

    def _other(self, level: int, floor: Floor) -> set[int]:
        """Nodes that were there and have other children than they had."""
        if not floor.originals:
            return set()
        was = self._state.levels[level]
        lost = set(self._state.bereft.tolist()) if level == 0 else set[int]()
        return {
            n
            for n in floor.changed
            if n < floor.originals
            and floor.counts[n]
            and (n in lost or sorted(floor.children[n]) != was.members[was.offsets[n] : was.offsets[n + 1]].tolist())
        }

    def _name_all(self, level: int, floor: Floor) -> IdArray:
        """Ids by node: old ones keep theirs, new ones get theirs from their first children."""
        names = np.zeros((floor.used, 16), np.uint8)
        if floor.originals:
            names[: floor.originals] = self._state.ids[level]
        new = sorted(self._new(floor))
        taken = {row.tobytes() for row in self._state.ids[level]} if new and level < len(self._state.ids) else set()
        for node in new:
            name = self._new_name(level, self._children(level, floor.children[node]), taken)
            names[node] = np.frombuffer(name.bytes, np.uint8)
            taken.add(name.bytes)
        return names

    def _new_name(self, level: int, children: Sequence[UUID], taken: Collection[bytes]) -> UUID:
        name = ids.bucket_id(self._state.dataset_id, level, children)
        while name.bytes in taken:
            name = ids.bucket_id(self._state.dataset_id, level, [*children, name])
        return name

    def _children(self, level: int, nodes: Sequence[int]) -> tuple[UUID, ...]:
        """Ids of the children of a bucket of this level."""
        names = self._names[level - 1] if level else self._state.leaves.ids
        return tuple(sorted(to_uuids(names[nodes])))

    def _placed(self, level: int, nodes: set[int]) -> list[PlacedBucket]:
        listed, children = sorted(nodes), self._tree.floors[level].children
        names = to_uuids(self._names[level][listed])
        found = [
            PlacedBucket(id=name, level=level, child_ids=self._children(level, children[node]))
            for name, node in zip(names, listed, strict=True)
        ]
        return sorted(found, key=lambda bucket: bucket.id)

    def _removed(self) -> Iterator[PlacedBucket]:
        below = self._state.leaves.ids
        for level, (names, was) in enumerate(zip(self._state.ids, self._state.levels, strict=True)):
            kept = np.zeros(len(names), bool)
            if level < self._tree.height:
                floor = self._tree.floors[level]
                kept[: floor.originals] = floor.counts[: floor.originals] > 0
            for node in np.flatnonzero(~kept).tolist():
                children = to_uuids(below[was.members[was.offsets[node] : was.offsets[node + 1]]])
                yield PlacedBucket(id=to_uuids(names[node : node + 1])[0], level=level, child_ids=tuple(children))
            below = names

    def _result(self) -> TreeState:
        placed = np.flatnonzero(self._tree.leaf_parents != NOWHERE)
        place = np.full(len(self._tree.leaf_parents), NOWHERE, np.int64)
        place[placed] = np.arange(len(placed))
        ids_of, levels = [], []
        for floor, names in zip(self._tree.floors, self._names, strict=True):
            nodes = floor.alive()
            nodes = nodes[sort_order(names[nodes])]
            levels.append(_as_level([floor.children[n] for n in nodes.tolist()], place))
            ids_of.append(names[nodes])
            place = np.full(floor.used, NOWHERE, np.int64)
            place[nodes] = np.arange(len(nodes))
        leaves = self._state.leaves if len(placed) == len(self._state.leaves) else self._state.leaves.take(placed)
        return TreeState(self._state.dataset_id, leaves, tuple(ids_of), tuple(levels), np.zeros(0, np.int64))


def _as_level(children: Sequence[list[int]], place: NDArray[np.int64]) -> PlannedLevel:
    """Lists of nodes as a level, each by the nodes' places."""
    sizes = np.fromiter(map(len, children), np.int64, len(children))
    members = place[np.fromiter(chain.from_iterable(children), np.int64, int(sizes.sum()))]
    members = members[np.lexsort((members, np.repeat(np.arange(len(children)), sizes)))]
    return PlannedLevel(np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64), members.astype(np.int32))
