"""Made-up summaries to plan trees over."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from uuid import UUID

import numpy as np

from overstory.indexing.tree.id_arrays import from_uuids
from overstory.indexing.tree.leaves import Leaves
from overstory.indexing.tree.verification import StoredTree, Violation
from overstory.indexing.tree.verification import verify_tree as verify


@dataclass(frozen=True, slots=True, kw_only=True)
class TreeNode:
    """A bucket or the root: its place in the tree."""

    id: UUID
    level: int
    is_root: bool
    child_ids: tuple[UUID, ...]
    has_text: bool = True


def verify_tree(nodes: Sequence[TreeNode], summary_ids: Iterable[UUID], size: int, *, fresh: bool) -> list[Violation]:
    """What is wrong with a tree that is given node by node."""
    tree = StoredTree(
        ids=from_uuids(node.id for node in nodes),
        levels=np.array([node.level for node in nodes], np.int64),
        is_root=np.array([node.is_root for node in nodes], bool),
        has_text=np.array([node.has_text for node in nodes], bool),
        sizes=np.array([len(node.child_ids) for node in nodes], np.int64),
        children=from_uuids(child for node in nodes for child in node.child_ids),
    )
    return verify(tree, from_uuids(summary_ids), size, fresh=fresh)


TOPIC_SUMMARIES = 100
TOPIC_ENTITIES = 40


def topical(n: int, dimensions: int = 64, seed: int = 0, spread: float = 0.6) -> Leaves:
    """Topics of a hundred, each summary with six of its topic's forty entities, three frequent ones, one of its own."""
    rng = np.random.default_rng(seed)
    topics = max(1, n // TOPIC_SUMMARIES)
    topic = rng.integers(topics, size=n)
    centres = rng.standard_normal((topics, dimensions), np.float32) / np.sqrt(dimensions)
    vectors = rng.standard_normal((n, dimensions), np.float32)
    vectors *= spread / np.sqrt(dimensions)
    vectors += centres[topic]
    own = np.arange(n) + topics * TOPIC_ENTITIES + 10
    frequent = np.argsort(rng.random((n, 10)), axis=1)[:, :3] + topics * TOPIC_ENTITIES
    typical = np.argpartition(rng.random((n, TOPIC_ENTITIES), np.float32), 6, axis=1)[:, :6]
    typical = typical + topic[:, None] * TOPIC_ENTITIES
    return leaves_of(vectors, np.hstack([typical, frequent, own[:, None]]), rng)


def all_alike(n: int, dimensions: int = 64, seed: int = 0) -> Leaves:
    """One text, n times."""
    rng = np.random.default_rng(seed)
    vectors = np.tile(rng.standard_normal(dimensions).astype(np.float32), (n, 1))
    return leaves_of(vectors, np.tile(np.arange(5), (n, 1)), rng)


def one_topic(n: int, dimensions: int = 64, seed: int = 0) -> Leaves:
    """Notes of one topic: all about the same three entities, each with some of its own."""
    rng = np.random.default_rng(seed)
    vectors = rng.standard_normal(dimensions).astype(np.float32) + 0.3 * rng.standard_normal(
        (n, dimensions), np.float32
    )
    own = np.arange(2 * n).reshape(n, 2) + 3
    return leaves_of(vectors, np.hstack([np.tile(np.arange(3), (n, 1)), own]), rng)


def nothing_alike(n: int, dimensions: int = 64, seed: int = 0) -> Leaves:
    """Random directions, no entity twice."""
    rng = np.random.default_rng(seed)
    return leaves_of(rng.standard_normal((n, dimensions), np.float32), np.arange(5 * n).reshape(n, 5), rng)


def double_edges(n: int, dimensions: int = 64, seed: int = 0) -> Leaves:
    """Pairs with the same entities, each named several times by each of them."""
    rng = np.random.default_rng(seed)
    vectors = rng.standard_normal((n, dimensions), np.float32)
    pair = np.arange(n)[:, None] // 2
    return leaves_of(vectors, np.hstack([2 * pair, 2 * pair, 2 * pair + 1, 2 * pair]), rng)


def rings(n: int, dimensions: int = 64, seed: int = 0) -> Leaves:
    """Each as near to the next as to the one before, the last to the first: by entities and by vectors."""
    rng = np.random.default_rng(seed)
    place = np.arange(n)
    angle = 2 * np.pi * place / max(1, n)
    vectors = np.zeros((n, dimensions), np.float32)
    vectors[:, 0], vectors[:, 1] = np.cos(angle), np.sin(angle)
    return leaves_of(vectors, np.stack([place, (place + 1) % max(1, n)], axis=1), rng)


def leaves_of(vectors: np.ndarray, entities: np.ndarray, rng: np.random.Generator) -> Leaves:
    """Leaves with random ids, in ascending order as stores give them."""
    n, per_leaf = entities.shape
    ids = rng.integers(256, size=(n, 16), dtype=np.uint8)
    ids = ids[np.lexsort(ids.T[::-1])]
    vectors = np.array(vectors, np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    offsets = np.arange(n + 1, dtype=np.int64) * per_leaf
    return Leaves(ids, vectors, offsets, np.ascontiguousarray(entities, np.int32).ravel())
