import subprocess
import sys
from pathlib import Path
from uuid import UUID, uuid4

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from overstory.errors import InvalidOptionError
from overstory.indexing.tree.bucketing import ROOMY_LEVEL, TreeOptions, TreePlan, plan_tree
from overstory.indexing.tree.leaves import Leaves
from tests.unit.indexing import trees

DATASET = UUID(int=7)
MAKERS = (
    trees.topical,
    trees.all_alike,
    trees.one_topic,
    trees.nothing_alike,
    trees.double_edges,
    trees.rings,
)


def options(strategy="graph", size=4, **others):
    return TreeOptions(bucketing_strategy=strategy, max_bucket_size=size, **others)


def without_entities(leaves):
    return Leaves(leaves.ids, leaves.vectors, np.zeros(len(leaves) + 1, np.int64), np.zeros(0, np.int32))


def assert_sound(plan: TreePlan, n: int, size: int) -> None:
    below = n
    for level in plan.levels:
        assert sorted(level.members.tolist()) == list(range(below))
        assert level.sizes.min() >= 1
        assert level.sizes.max() <= size
        assert np.count_nonzero(level.sizes == 1) <= 1
        if size > 2 and len(level) > 1:
            assert level.sizes.min() >= 2
        assert len(level) < below or below == 1
        below = len(level)
    assert below <= size
    assert len(plan.levels) == 0 or n > 0


@settings(max_examples=120, deadline=None)
@given(
    n=st.integers(0, 400),
    strategy=st.sampled_from(["graph", "vector"]),
    size=st.integers(2, 20),
    maker=st.sampled_from(MAKERS),
    seed=st.integers(0, 5),
    bare=st.booleans(),
)
def test_any_plan_keeps_the_invariants_whatever_the_order_of_arrival(n, strategy, size, maker, seed, bare):
    leaves = maker(n, dimensions=8, seed=seed)
    leaves = without_entities(leaves) if bare else leaves
    shuffled = leaves.take(np.random.default_rng(seed).permutation(n))

    plan, other = plan_tree(leaves, options(strategy, size)), plan_tree(shuffled, options(strategy, size))

    assert_sound(plan, n, size)
    assert plan.bucket_ids(DATASET, leaves) == other.bucket_ids(DATASET, shuffled)


@pytest.mark.parametrize("strategy", ["graph", "vector"])
@pytest.mark.parametrize("size", [2, 3, 4, 20])
@pytest.mark.parametrize("n", [0, 1, 2, 3, 4, 5, 19, 20, 21, 401])
def test_a_plan_has_as_few_buckets_as_can_be(n, size, strategy):
    plan = plan_tree(trees.topical(n, dimensions=8), options(strategy, size))

    expected = []
    while n > size or (n and not expected):
        n = -(-n // size)
        expected.append(n)
    assert plan.level_sizes[:ROOMY_LEVEL] == tuple(expected[:ROOMY_LEVEL])
    assert len(plan.level_sizes) == len(expected)


def test_one_level_keeps_room_where_that_makes_the_tree_no_higher():
    plans = {n: plan_tree(trees.topical(n, dimensions=8), options("vector")).level_sizes for n in (1_000, 3_000)}

    assert plans == {1_000: (250, 63, 16, 4), 3_000: (750, 188, 63, 16, 4)}


@pytest.mark.parametrize("size", [3, 4, 5, 20])
@pytest.mark.parametrize("n", [127, 389, 1_000, 2_011])
def test_room_leaves_no_bucket_with_one_child_that_another_could_take(n, size):
    assert_sound(plan_tree(trees.topical(n, dimensions=8), options("vector", size)), n, size)


@pytest.mark.parametrize("strategy", ["graph", "vector"])
def test_notes_of_one_topic_fill_their_buckets(strategy):
    plan = plan_tree(trees.one_topic(1000), options(strategy))

    assert plan.level_sizes[0] == 250


def test_two_summaries_with_the_same_entities_share_a_bucket():
    leaves = trees.leaves_of(np.ones((2, 4), np.float32), np.array([[0, 1], [0, 1]]), np.random.default_rng(0))

    plan = plan_tree(leaves, options())

    assert plan.level_sizes == (1,)


_PLAN_TEN_TIMES = """
import sys
from uuid import UUID
import numpy as np
from overstory.indexing.tree.bucketing import ROOMY_LEVEL, TreeOptions, plan_tree
from tests.unit.indexing import trees

maker, strategy = sys.argv[1:]
for n in (2, 3, 10, 300):
    leaves, shapes = getattr(trees, maker)(n, dimensions=8), set()
    for seed in range(10):
        given = leaves.take(np.random.default_rng(seed).permutation(n))
        plan = plan_tree(given, TreeOptions(bucketing_strategy=strategy))
        shapes.add(str(plan.bucket_ids(UUID(int=7), given)))
    assert len(shapes) == 1, (n, len(shapes))
"""


@pytest.mark.parametrize("strategy", ["graph", "vector"])
@pytest.mark.parametrize("maker", ["double_edges", "rings", "all_alike"])
def test_ties_come_to_an_end_and_always_to_the_same(maker, strategy):
    """In a process of its own, since what never ends can't be stopped otherwise."""
    done = subprocess.run(
        [sys.executable, "-c", _PLAN_TEN_TIMES, maker, strategy],
        cwd=Path(__file__).parents[3],
        timeout=300,
        capture_output=True,
        text=True,
        check=False,
    )

    assert (done.returncode, done.stderr) == (0, "")


def test_an_entity_that_a_summary_names_twice_counts_once():
    leaves = trees.double_edges(40)

    level = plan_tree(leaves, options(size=2)).levels[0]

    pairs = leaves.entity_codes[::4][level.members].reshape(-1, 2)
    assert (pairs[:, 0] == pairs[:, 1]).all()


def test_summaries_that_share_entities_meet_though_their_vectors_differ():
    vectors = np.random.default_rng(1).standard_normal((40, 16)).astype(np.float32)
    leaves = trees.leaves_of(
        vectors, np.stack([np.arange(40) % 10, np.arange(40) % 10 + 10], axis=1), np.random.default_rng(1)
    )

    level = plan_tree(leaves, options()).levels[0]

    topics = (leaves.entity_codes[::2])[level.members].reshape(-1, 4)
    assert (topics == topics[:, :1]).all()


def test_topics_stay_together():
    leaves = trees.topical(1000)
    topic = leaves.entity_codes.reshape(1000, -1)[:, 0] // trees.TOPIC_ENTITIES

    shares = []
    for strategy in ("graph", "vector"):
        members = plan_tree(leaves, options(strategy)).levels[0].members.reshape(-1, 4)
        shares.append((topic[members] == topic[members[:, :1]]).mean())

    assert min(shares) > 0.9


def test_a_summary_that_is_too_far_from_its_bucket_moves_where_there_is_room():
    near, far = np.eye(4, dtype=np.float32)[:2]
    leaves = trees.leaves_of(np.stack([near] * 4 + [far] * 2), np.zeros((6, 0)), np.random.default_rng(0))

    level = plan_tree(leaves, options("vector")).levels[0]

    is_far = leaves.vectors[:, 1] > 0.5
    groups = [is_far[level.members[a:b]] for a, b in zip(level.offsets, level.offsets[1:], strict=False)]
    assert sorted((len(g), bool(g.all())) for g in groups) == [(2, True), (4, False)]


def test_a_threshold_never_makes_buckets_of_one():
    plan = plan_tree(trees.nothing_alike(40), options("vector", placement_distance_threshold=0.0))

    assert plan.level_sizes == (10, 3)


@pytest.mark.parametrize(
    ("option", "values"),
    [
        ("max_bucket_size", [True, 1, 0, -4, 4.0, "4", None]),
        ("placement_distance_threshold", [-0.1, float("nan"), float("inf"), "0.5", None, True]),
        ("min_overlap", [-0.1, 1.1, float("nan"), float("inf"), "0.05", None, True]),
        ("bucketing_strategy", ["", "Graph", "random", None]),
    ],
)
def test_an_option_that_makes_no_sense_is_refused_by_name(option, values):
    for value in values:
        with pytest.raises(InvalidOptionError) as refused:
            TreeOptions(**{option: value}).check()
        assert refused.value.option == option


def test_an_unknown_strategy_is_told_the_known_ones():
    with pytest.raises(InvalidOptionError, match=r"'graph' or 'vector'"):
        plan_tree(trees.topical(3), options("random"))


def test_options_describe_themselves():
    assert TreeOptions().describe() == "graph buckets of 4"


def summaries_as_arrow(keys, entities, vectors):
    return pa.record_batch(
        {
            "key": pa.array([k.bytes for k in keys], pa.binary(16)),
            "entity_ids": pa.array([[e.bytes for e in row] for row in entities], pa.list_(pa.binary(16))),
            "vector": pa.array(vectors, pa.binary(8)),
        }
    )


def test_leaves_are_read_from_arrow():
    keys, entities = [uuid4() for _ in range(5)], sorted(uuid4() for _ in range(3))
    rows = [[entities[2], entities[0]], [], [entities[1]], [entities[2]], []]
    vectors = [np.array([i, 1], np.float32).tobytes() for i in range(4)] + [None]
    whole = summaries_as_arrow(keys, rows, vectors)

    leaves = Leaves.from_batches([whole.slice(0, 2), whole.slice(2, 3)])

    assert leaves.ids.tobytes() == b"".join(k.bytes for k in keys)
    assert leaves.entity_offsets.tolist() == [0, 2, 2, 3, 4, 4]
    assert leaves.entity_codes.tolist() == [2, 0, 1, 2]
    assert leaves.vectors.tolist() == [[0, 1], [1, 1], [2, 1], [3, 1], [0, 0]]


def test_batches_without_vectors_may_come_at_any_place():
    keys = [uuid4() for _ in range(3)]
    vector = np.ones(2, np.float32).tobytes()
    batches = [summaries_as_arrow([k], [[]], [v]) for k, v in zip(keys, [None, vector, None], strict=True)]

    leaves = Leaves.from_batches(batches)

    assert leaves.vectors.tolist() == [[0, 0], [1, 1], [0, 0]]


def test_leaves_without_any_vector_or_row_can_be_read_and_planned():
    keys = [uuid4() for _ in range(6)]
    none = summaries_as_arrow(keys, [[]] * 6, [None] * 6)

    leaves, empty = Leaves.from_batches([none]), Leaves.from_batches([])

    assert plan_tree(leaves, options()).level_sizes == (2,)
    assert plan_tree(empty, options()).levels == ()
