"""Whether a tree of buckets is sound: its invariants, each by name.

A fault is reported once, at its cause: what follows from another violation is not listed again.
"""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from uuid import UUID

_NAMED = 5


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
class TreeNode:
    """A bucket or the root: its place in the tree."""

    id: UUID
    level: int
    is_root: bool
    child_ids: tuple[UUID, ...]
    has_text: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Violation:
    """A rule that does not hold, and for which nodes or summaries."""

    rule: str
    message: str
    ids: tuple[UUID, ...]


def verify_tree(
    nodes: Sequence[TreeNode], summary_ids: Collection[UUID], max_bucket_size: int, *, fresh: bool
) -> list[Violation]:
    """Check the invariants of a tree, in linear time.

    Args:
        nodes: all buckets and the root of one generation.
        summary_ids: all summaries that have a text.
        max_bucket_size: most children of a bucket, and of the root.
        fresh: the tree was planned from scratch, so that only one bucket a level may have a single child.
    """
    tree = _Tree(nodes, summary_ids)
    checks = (_identity, _texts, _root, _children, _parents, _sizes, _shrinking)
    found = [violation for check in checks for violation in check(tree, max_bucket_size)]
    return found + list(_lonely(tree)) if fresh else found


class _Tree:
    """The nodes, by id, by level and by child."""

    def __init__(self, nodes: Sequence[TreeNode], summary_ids: Collection[UUID]) -> None:
        self.nodes = nodes
        self.summaries = summary_ids if isinstance(summary_ids, set | frozenset) else set(summary_ids)
        self.by_id = {node.id: node for node in nodes}
        self.roots = [node for node in nodes if node.is_root]
        self.levels: dict[int, list[TreeNode]] = defaultdict(list)
        for node in nodes:
            if not node.is_root:
                self.levels[node.level].append(node)
        self.mentions = Counter(child for node in nodes for child in node.child_ids)


def _violation(rule: Rule, message: str, ids: Collection[UUID]) -> Iterator[Violation]:
    """One violation with all its ids, none when there are no ids."""
    if ids:
        named = ", ".join(map(str, list(ids)[:_NAMED])) + (
            f" and {len(ids) - _NAMED} more" if len(ids) > _NAMED else ""
        )
        yield Violation(rule=rule.value, message=f"{message}: {named}", ids=tuple(ids))


def _identity(tree: _Tree, _: int) -> Iterator[Violation]:
    twice = [node for node, times in Counter(node.id for node in tree.nodes).items() if times > 1]
    yield from _violation(Rule.UNIQUE_NODE, "there more than once", twice)


def _texts(tree: _Tree, _: int) -> Iterator[Violation]:
    yield from _violation(Rule.HAS_TEXT, "no text", [node.id for node in tree.nodes if not node.has_text])


def _root(tree: _Tree, _: int) -> Iterator[Violation]:
    """One root over the buckets; none where there is nothing to summarise."""
    if len(tree.roots) > 1:
        yield from _violation(Rule.ONE_ROOT, "more than one root", [root.id for root in tree.roots])
    if tree.roots and not tree.levels:
        yield from _violation(Rule.ONE_ROOT, "a root without buckets", [root.id for root in tree.roots])
    if tree.levels and not tree.roots:
        top = tree.levels[max(tree.levels)]
        yield from _violation(Rule.ONE_ROOT, "no root over these buckets", [node.id for node in top])


def _children(tree: _Tree, _: int) -> Iterator[Violation]:
    """What nodes name as their children: they exist, one level down; summaries in buckets of level 0 only."""
    dangling, too_high, misplaced = [], [], []
    for node in tree.nodes:
        for child in node.child_ids:
            below = tree.by_id.get(child)
            if below is not None:
                misplaced += [child] if below.level != node.level - 1 or below.is_root else []
            elif child not in tree.summaries:
                dangling.append(child)
            elif node.level != 0 or node.is_root:
                too_high.append(child)
    yield from _violation(Rule.NOTHING_DANGLES, "named as children, but not there", dangling)
    yield from _violation(Rule.SUMMARY_IN_BUCKET, "summaries not directly in a bucket of level 0", too_high)
    yield from _violation(Rule.ADJACENT_LEVELS, "not one level below their parents", misplaced)


def _parents(tree: _Tree, _: int) -> Iterator[Violation]:
    """Each summary and bucket has exactly one parent."""
    several = [child for child, times in tree.mentions.items() if times > 1]
    yield from _violation(Rule.ONE_PARENT, "more than one parent", several)
    missing = [summary for summary in tree.summaries if summary not in tree.mentions]
    yield from _violation(Rule.EVERY_SUMMARY, "summaries in no bucket", sorted(missing))
    if tree.roots:
        lost = [n.id for n in tree.nodes if not n.is_root and n.id not in tree.mentions]
        yield from _violation(Rule.REACHABLE, "buckets without a parent", lost)


def _sizes(tree: _Tree, max_bucket_size: int) -> Iterator[Violation]:
    crowded = [node.id for node in tree.nodes if len(node.child_ids) > max_bucket_size]
    yield from _violation(Rule.BUCKET_SIZE, f"more than {max_bucket_size} children", crowded)
    empty = [node.id for node in tree.nodes if not node.child_ids and (tree.levels or not node.is_root)]
    yield from _violation(Rule.BUCKET_SIZE, "no children", empty)


def _shrinking(tree: _Tree, _: int) -> Iterator[Violation]:
    """Each level has fewer nodes than the one below; a single summary has its one bucket."""
    below = len(tree.summaries)
    for level in sorted(tree.levels):
        count = len(tree.levels[level])
        if count >= below and (level, below, count) != (0, 1, 1):
            ids = [node.id for node in tree.levels[level]]
            yield from _violation(Rule.LEVELS_SHRINK, f"level {level} has {count} buckets over {below} nodes", ids)
        below = count


def _lonely(tree: _Tree) -> Iterator[Violation]:
    for level, nodes in sorted(tree.levels.items()):
        single = [node.id for node in nodes if len(node.child_ids) == 1]
        if len(single) > 1:
            yield from _violation(Rule.NO_LONELY_CHILDREN, f"level {level}: one child each", single)
