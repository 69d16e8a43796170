"""After children have left: a node that has become small gives the rest to one or two of its siblings, and goes.

Only families, the nodes under one parent, that have lost something are looked at. Where two parents became one, the
family that they now have is looked at once more. A small node whose siblings have no room joins the nearest cousin
that has. So a tree of some size that only shrinks keeps at most a quarter more buckets than a fresh one, and for a
summary that leaves little more than its own path is written anew.
"""

from collections.abc import Iterable, Sequence

import numpy as np

from overstory.indexing.tree.growing_tree import NOWHERE, GrowingTree


def squeeze(tree: GrowingTree, shrunk: Sequence[Iterable[int]]) -> None:
    """Empty small nodes into others, the lowest first.

    Args:
        shrunk: for each level the nodes that have lost children.
    """
    waiting = [set(nodes) for nodes in shrunk[: tree.height]]
    waiting += [set() for _ in range(len(waiting), tree.height + 1)]
    while any(waiting[: tree.height]):
        level = next(i for i, nodes in enumerate(waiting) if nodes)
        nodes = sorted(waiting[level])
        waiting[level].clear()
        for receiver in _squeeze_level(tree, level, nodes, waiting[level + 1]):
            if level and tree.floors[level].counts[receiver]:
                waiting[level - 1].add(tree.floors[level].children[receiver][0])


def _squeeze_level(tree: GrowingTree, level: int, nodes: Sequence[int], shrunk: set[int]) -> set[int]:
    """Empty what can be emptied among these nodes and their siblings.

    Args:
        shrunk: parents that lose children are added.

    Returns:
        The nodes that took children.
    """
    floor, receivers = tree.floors[level], set[int]()
    for parent in sorted({int(floor.parents[node]) for node in nodes if floor.counts[node]}):
        while found := _empty_one(tree, level, _family(tree, level, parent)):
            receivers.update(found)
            shrunk.add(parent)
    for node in nodes:
        parent = int(floor.parents[node])
        if floor.counts[node] and parent != NOWHERE and (found := _join_cousin(tree, level, node)):
            receivers.update(found)
            shrunk.add(parent)
    shrunk.discard(NOWHERE)
    return receivers


def _family(tree: GrowingTree, level: int, parent: int) -> list[int]:
    if parent == NOWHERE:
        alive: list[int] = tree.floors[level].alive().tolist()
        return alive
    return sorted(tree.floors[level + 1].children[parent])


def _empty_one(tree: GrowingTree, level: int, family: Sequence[int]) -> list[int]:
    """Empty the smallest node for which that can be done; the nodes that took its children."""
    counts = tree.floors[level].counts
    small = [node for node in family if counts[node] <= tree.size // 2]
    for node in sorted(small, key=lambda n: (counts[n], n)):
        receivers = _receivers(tree, level, node, [n for n in family if n != node])
        if receivers:
            _hand_over(tree, level, node, receivers)
            return receivers
    return []


def _join_cousin(tree: GrowingTree, level: int, node: int) -> list[int]:
    """Move the children of a small node to the nearest cousin that has room for all of them; that one."""
    floor, parent = tree.floors[level], int(tree.floors[level].parents[node])
    if floor.counts[node] > tree.size // 2:
        return []
    parents = _family(tree, level + 1, int(tree.floors[level + 1].parents[parent]))
    cousins = [c for p in parents if p != parent for c in sorted(tree.floors[level + 1].children[p])]
    receivers = _receivers(tree, level, node, cousins, most=1)
    if receivers:
        _hand_over(tree, level, node, receivers)
    return receivers


def _receivers(tree: GrowingTree, level: int, node: int, others: Sequence[int], most: int = 2) -> list[int]:
    """The nearest of the others that has room for all children of a node, else the nearest two that have together."""
    floor = tree.floors[level]
    open_ = [n for n in others if floor.counts[n] < tree.size]
    if not open_:
        return []
    nearness = floor.directions(open_) @ floor.directions([node])[0]
    room, needed = tree.size - floor.counts[open_], floor.counts[node]
    if room.max() >= needed:
        return [open_[int(np.where(room >= needed, nearness, -np.inf).argmax())]]
    if most == 1:
        return []
    one, other = np.triu_indices(len(open_), 1)
    fits = room[one] + room[other] >= needed
    if not fits.any():
        return []
    best = int(np.where(fits, nearness[one] + nearness[other], -np.inf).argmax())
    return [open_[int(one[best])], open_[int(other[best])]]


def _hand_over(tree: GrowingTree, level: int, node: int, receivers: Sequence[int]) -> None:
    """Give each child of a node to the receiver nearest to it that has room; the node goes."""
    floor = tree.floors[level]
    for child in sorted(floor.children[node]):
        open_ = [n for n in receivers if floor.counts[n] < tree.size]
        nearest = int((floor.directions(open_) @ tree.vectors(level - 1, [child])[0]).argmax())
        tree.detach(level - 1, child)
        tree.attach(level - 1, child, open_[nearest])
