"""Whether a tree of buckets is sound: its invariants, each by name.

A fault is reported once, at its cause: what follows from another violation is not listed again. All of it is array
work, since a tree is verified before every publish, however little of it is new.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeAlias
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from overstory.indexing.tree.id_arrays import IdArray, number, to_uuids
from overstory.indexing.tree.leaves import as_bytes

if TYPE_CHECKING:
    import pyarrow as pa

_NAMED = 5
_Flags: TypeAlias = NDArray[np.bool_]
_Numbers: TypeAlias = NDArray[np.int64]


class Rule(StrEnum):
    """What holds in every sound tree."""

    UNIQUE_NODE = "unique-node"
    HAS_TEXT = "has-text"
    ONE_ROOT = "one-root"
    EVERY_SUMMARY = "every-summary"
    SUMMARY_IN_BUCKET = "summary-in-bucket"
    ONE_PARENT = "one-parent"
    ADJACENT_LEVELS = "adjacent-levels"
    NOTHING_DANGLES = "nothing-dangles"
    REACHABLE = "reachable"
    BUCKET_SIZE = "bucket-size"
    NO_LONELY_CHILDREN = "no-lonely-children"
    LEVELS_SHRINK = "levels-shrink"


@dataclass(frozen=True, slots=True, kw_only=True)
class Violation:
    """A rule that does not hold, and for which nodes or summaries."""

    rule: str
    message: str
    ids: tuple[UUID, ...]


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class StoredTree:
    """All buckets and the root of one generation, in any order."""

    ids: IdArray
    """uint8, shape (n, 16), as are the other ids."""
    levels: _Numbers
    is_root: _Flags
    has_text: _Flags
    sizes: _Numbers
    """Shape (n,): how many children each has."""
    children: IdArray
    """The children of all, one node after the other."""

    @classmethod
    def from_batches(cls, batches: "Iterable[pa.RecordBatch]") -> "StoredTree":
        """The tree of stored rows, with the columns `id`, `level`, `is_root`, `child_ids`, `text` and `withheld`."""
        read = [_read(batch) for batch in batches]
        empty = np.zeros((0, 16), np.uint8), *(np.zeros(0, t) for t in (int, bool, bool, int)), np.zeros((0, 16), np.uint8)  # fmt: skip
        ids, levels, roots, texts, sizes, children = map(np.concatenate, zip(empty, *read, strict=True))
        return cls(ids=ids, levels=levels, is_root=roots, has_text=texts, sizes=sizes, children=children)


def _read(batch: "pa.RecordBatch") -> tuple[NDArray[Any], ...]:
    """The fields of `StoredTree`, in their order."""
    import pyarrow.compute as pc

    has_text = pc.or_(pc.greater(pc.binary_length(batch.column("text")), 0), batch.column("withheld"))
    children = batch.column("child_ids")
    return (
        as_bytes(batch.column("id"), 16),
        np.asarray(batch.column("level"), np.int64),
        np.asarray(batch.column("is_root").to_numpy(zero_copy_only=False), bool),
        np.asarray(has_text.to_numpy(zero_copy_only=False), bool),
        np.asarray(children.value_lengths(), np.int64),
        as_bytes(children.flatten(), 16),
    )


def verify_tree(tree: StoredTree, summary_ids: IdArray, max_bucket_size: int, *, fresh: bool) -> list[Violation]:
    """Check the invariants of a tree.

    Args:
        tree: all of it.
        summary_ids: all summaries that have a text, each once.
        max_bucket_size: most children of a bucket, and of the root.
        fresh: the tree was planned from scratch, so that only one bucket a level may have a single child.
    """
    seen = _Numbered(tree, summary_ids)
    checks = (_identity, _texts, _root, _children, _parents, _sizes, _shrinking)
    found = [violation for check in checks for violation in check(seen, max_bucket_size)]
    return found + list(_lonely(seen)) if fresh else found


class _Numbered:
    """A tree whose ids are numbers: the same for the same id, rising as ids do."""

    def __init__(self, tree: StoredTree, summary_ids: IdArray) -> None:
        self.tree = tree
        self.named, codes = number(np.concatenate([summary_ids, tree.ids, tree.children]))
        self.summaries, self.nodes, self.children = np.split(codes, np.cumsum([len(summary_ids), len(tree.ids)]))
        self.owners = np.repeat(np.arange(len(tree.ids)), tree.sizes)
        """Of each child the place of its node."""

    @cached_property
    def node_of(self) -> _Numbers:
        """By number the place of a node; -1 where it is none."""
        places = np.full(len(self.named), -1, np.int64)
        places[self.nodes] = np.arange(len(self.nodes))
        return places

    @cached_property
    def mentions(self) -> _Numbers:
        """By number how often it is named as a child."""
        return np.bincount(self.children, minlength=len(self.named))

    def marked(self, numbers: NDArray[Any]) -> _Flags:
        """By number whether it is among these."""
        flags = np.zeros(len(self.named), bool)
        flags[numbers] = True
        return flags

    @cached_property
    def bucket_levels(self) -> _Numbers:
        """The levels that have buckets, ascending."""
        return np.unique(self.tree.levels[~self.tree.is_root])

    def violation(self, rule: Rule, message: str, numbers: NDArray[Any]) -> Iterator[Violation]:
        """One violation with all its ids, none when there are no ids."""
        if len(numbers):
            ids = to_uuids(self.named[numbers])
            more = f" and {len(ids) - _NAMED} more" if len(ids) > _NAMED else ""
            named = ", ".join(map(str, ids[:_NAMED])) + more
            yield Violation(rule=rule.value, message=f"{message}: {named}", ids=tuple(ids))


def _each_once(numbers: NDArray[Any]) -> NDArray[Any]:
    """Different numbers, in the order in which they come first."""
    return numbers[np.sort(np.unique(numbers, return_index=True)[1])]


def _identity(seen: _Numbered, _: int) -> Iterator[Violation]:
    twice = np.bincount(seen.nodes, minlength=len(seen.named)) > 1
    yield from seen.violation(Rule.UNIQUE_NODE, "there more than once", _each_once(seen.nodes[twice[seen.nodes]]))


def _texts(seen: _Numbered, _: int) -> Iterator[Violation]:
    yield from seen.violation(Rule.HAS_TEXT, "no text", seen.nodes[~seen.tree.has_text])


def _root(seen: _Numbered, _: int) -> Iterator[Violation]:
    """One root over the buckets; none where there is nothing to summarise."""
    roots, levels = seen.nodes[seen.tree.is_root], seen.bucket_levels
    if len(roots) > 1:
        yield from seen.violation(Rule.ONE_ROOT, "more than one root", roots)
    if not len(levels):
        yield from seen.violation(Rule.ONE_ROOT, "a root without buckets", roots)
    elif not len(roots):
        top = seen.nodes[seen.tree.levels == levels[-1]]
        yield from seen.violation(Rule.ONE_ROOT, "no root over these buckets", top)


def _children(seen: _Numbered, _: int) -> Iterator[Violation]:
    """What nodes name as their children: they exist, one level down; summaries in buckets of level 0 only."""
    tree, below = seen.tree, seen.node_of[seen.children]
    is_node, is_summary = below >= 0, seen.marked(seen.summaries)[seen.children]
    level, under_root = tree.levels[seen.owners], tree.is_root[seen.owners]
    wrong_level = is_node & ((tree.levels[below] != level - 1) | tree.is_root[below])
    too_high = ~is_node & is_summary & ((level != 0) | under_root)
    for rule, message, found in (
        (Rule.NOTHING_DANGLES, "named as children, but not there", ~is_node & ~is_summary),
        (Rule.SUMMARY_IN_BUCKET, "summaries not directly in a bucket of level 0", too_high),
        (Rule.ADJACENT_LEVELS, "not one level below their parents", wrong_level),
    ):
        yield from seen.violation(rule, message, seen.children[found])


def _parents(seen: _Numbered, _: int) -> Iterator[Violation]:
    """Each summary and bucket has exactly one parent."""
    several = _each_once(seen.children[seen.mentions[seen.children] > 1])
    yield from seen.violation(Rule.ONE_PARENT, "more than one parent", several)
    missing = np.sort(seen.summaries[seen.mentions[seen.summaries] == 0])
    yield from seen.violation(Rule.EVERY_SUMMARY, "summaries in no bucket", missing)
    if seen.tree.is_root.any():
        lost = seen.nodes[~seen.tree.is_root & (seen.mentions[seen.nodes] == 0)]
        yield from seen.violation(Rule.REACHABLE, "buckets without a parent", lost)


def _sizes(seen: _Numbered, max_bucket_size: int) -> Iterator[Violation]:
    sizes, only_root = seen.tree.sizes, seen.tree.is_root & (len(seen.bucket_levels) == 0)
    crowded = seen.nodes[sizes > max_bucket_size]
    yield from seen.violation(Rule.BUCKET_SIZE, f"more than {max_bucket_size} children", crowded)
    yield from seen.violation(Rule.BUCKET_SIZE, "no children", seen.nodes[(sizes == 0) & ~only_root])


def _shrinking(seen: _Numbered, _: int) -> Iterator[Violation]:
    """Each level has fewer nodes than the one below; a single summary has its one bucket."""
    below = len(seen.summaries)
    for level in seen.bucket_levels.tolist():
        buckets = seen.nodes[(seen.tree.levels == level) & ~seen.tree.is_root]
        if len(buckets) >= below and (level, below, len(buckets)) != (0, 1, 1):
            message = f"level {level} has {len(buckets)} buckets over {below} nodes"
            yield from seen.violation(Rule.LEVELS_SHRINK, message, buckets)
        below = len(buckets)


def _lonely(seen: _Numbered) -> Iterator[Violation]:
    for level in seen.bucket_levels.tolist():
        single = seen.nodes[(seen.tree.levels == level) & ~seen.tree.is_root & (seen.tree.sizes == 1)]
        if len(single) > 1:
            yield from seen.violation(Rule.NO_LONELY_CHILDREN, f"level {level}: one child each", single)
