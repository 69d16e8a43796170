from uuid import UUID

import numpy as np
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from overstory import ids
from overstory.indexing.tree.bucketing import TreeOptions, plan_tree
from overstory.indexing.tree.id_arrays import to_uuids
from overstory.indexing.tree.increments import apply_changes
from overstory.indexing.tree.leaves import Leaves, directions
from overstory.indexing.tree.state import TreeState
from tests.unit.indexing import trees
from tests.unit.indexing.trees import TreeNode, verify_tree

DATASET = UUID(int=7)


def options(strategy="graph", size=4):
    return TreeOptions(bucketing_strategy=strategy, max_bucket_size=size)


def planned(leaves, chosen):
    return TreeState.from_plan(DATASET, leaves, plan_tree(leaves, chosen))


def grown(state, everything, rows, chosen, **changes):
    """The change that adds these rows of all summaries to a tree."""
    inside = set(to_uuids(state.leaves.ids))
    named = to_uuids(everything.ids)
    there = [i for i, name in enumerate(named) if name in inside.difference(changes.get("removed", ()))] + list(rows)
    now = state.with_leaves(everything.take(np.array(sorted(there), np.int64)))
    return apply_changes(now, [named[r] for r in rows], changes.get("touched", ()), chosen)


def without(state, gone):
    """The tree when these summaries are no longer there."""
    kept = [i for i, name in enumerate(to_uuids(state.leaves.ids)) if name not in set(gone)]
    return state.with_leaves(state.leaves.take(np.array(kept, np.int64)))


def violations(state, size):
    nodes = [TreeNode(id=b.id, level=b.level, is_root=False, child_ids=b.child_ids) for b in state.buckets()]
    if nodes:
        top = tuple(b.id for b in nodes if b.level == nodes[-1].level)
        nodes.append(TreeNode(id=ids.root_id(DATASET), level=nodes[-1].level + 1, is_root=True, child_ids=top))
    return verify_tree(nodes, to_uuids(state.leaves.ids), size, fresh=False)


def shape(state):
    return sorted((b.level, b.id, b.child_ids) for b in state.buckets())


@pytest.mark.parametrize("strategy", ["graph", "vector"])
def test_an_unchanged_tree_stays_as_it_is(strategy):
    chosen = options(strategy)
    state = planned(trees.topical(100), chosen)

    change = apply_changes(state, [], [], chosen)

    assert not change
    assert shape(change.state) == shape(state)


@pytest.mark.parametrize("strategy", ["graph", "vector"])
def test_one_more_summary_rewrites_one_path_and_what_is_split(strategy):
    chosen, everything = options(strategy), trees.topical(300)
    state = planned(everything.take(np.arange(299)), chosen)

    change = grown(state, everything, [299], chosen)

    assert violations(change.state, 4) == []
    assert len(change.rewritten) <= len(change.level_sizes) + len(change.created)
    assert change.removed == ()


def test_of_a_fresh_tree_one_more_summary_splits_few_buckets():
    chosen, everything = options(), trees.topical(3_020, dimensions=8)
    state = planned(everything.take(np.arange(3_000)), chosen)

    made = [len(grown(state, everything, [row], chosen).created) for row in range(3_000, 3_020)]

    assert max(made) <= 2


def test_a_bucket_keeps_its_id_when_children_come():
    chosen, everything = options(), trees.topical(7)
    state = planned(everything.take(np.arange(6)), chosen)

    change = grown(state, everything, [6], chosen)

    old = {b.id for b in state.buckets()}
    assert {b.id for b in change.state.buckets()} == old
    assert len(change.changed) == 1


def test_a_changed_text_rewrites_its_path_only():
    chosen = options()
    state = planned(trees.topical(100), chosen)
    summary = to_uuids(state.leaves.ids)[42]

    change = apply_changes(state, [], [summary], chosen)

    assert shape(change.state) == shape(state)
    assert [b.level for b in change.stale] == list(range(len(state.levels)))
    assert summary in change.stale[0].child_ids
    assert change.rewritten == change.stale


def test_a_summary_whose_vector_moved_far_moves_to_the_bucket_it_suits():
    chosen, axes = options("vector"), np.eye(4, dtype=np.float32)
    leaves = trees.leaves_of(np.stack([axes[0]] * 8 + [axes[1]] * 7), np.zeros((15, 0)), np.random.default_rng(0))
    state = planned(leaves, chosen)
    named = to_uuids(leaves.ids)
    moved = Leaves(leaves.ids, leaves.vectors.copy(), leaves.entity_offsets, leaves.entity_codes)
    moved.vectors[0] = axes[1]

    change = apply_changes(state.with_leaves(moved), [], [named[0]], chosen)

    home = next(b for b in change.state.buckets() if named[0] in b.child_ids)
    assert set(home.child_ids) <= {named[0], *named[8:]}
    assert len(home.child_ids) == 4
    assert violations(change.state, 4) == []


def test_several_that_moved_far_may_empty_their_buckets():
    chosen, axes = options("vector"), np.eye(4, dtype=np.float32)
    leaves = trees.leaves_of(np.repeat(axes, 4, axis=0), np.zeros((16, 0)), np.random.default_rng(0))
    state = planned(leaves, chosen)
    turned = Leaves(leaves.ids, leaves.vectors[::-1].copy(), leaves.entity_offsets, leaves.entity_codes)

    change = apply_changes(state.with_leaves(turned), [], to_uuids(leaves.ids)[::2], chosen)

    assert violations(change.state, 4) == []


def test_a_forgotten_summary_rewrites_no_more_than_its_path():
    chosen = options()
    state = planned(trees.topical(200), chosen)

    for summary in to_uuids(state.leaves.ids)[::20]:
        change = apply_changes(without(state, [summary]), [], [], chosen)

        assert violations(change.state, 4) == []
        assert summary not in to_uuids(change.state.leaves.ids)
        assert len(change.rewritten) <= len(state.levels)


def test_children_that_are_no_longer_among_the_summaries_leave():
    chosen, leaves = options(), trees.topical(50)
    state = planned(leaves, chosen)
    gone = to_uuids(leaves.ids)[:5]

    erased = apply_changes(without(state, gone), [], [], chosen)

    assert not set(gone) & {child for b in erased.state.buckets() for child in b.child_ids}
    assert {b.id for b in erased.rewritten} >= {
        b.id for b in state.buckets() if set(gone) & set(b.child_ids) and b.id in {x.id for x in erased.state.buckets()}
    }


def test_when_all_summaries_go_nothing_is_left():
    chosen = options()
    state = planned(trees.topical(50), chosen)

    change = apply_changes(without(state, to_uuids(state.leaves.ids)), [], [], chosen)

    assert change.state.levels == ()
    assert change.top_ids == ()
    assert len(change.removed) == sum(state.level_sizes)


def test_first_summaries_are_planned_as_a_fresh_tree():
    chosen, leaves = options(), trees.topical(50)
    state = TreeState.from_nodes(DATASET, leaves, [])

    change = apply_changes(state, to_uuids(leaves.ids), [], chosen)

    assert shape(change.state) == shape(planned(leaves, chosen))


def test_everything_may_be_replaced_at_once():
    chosen, leaves = options(), trees.topical(80)
    old, new = np.arange(40), list(range(40, 80))
    state = planned(leaves.take(old), chosen)

    change = grown(state, leaves, new, chosen, removed=to_uuids(leaves.ids)[:40])

    assert violations(change.state, 4) == []
    assert not {b.id for b in change.created} & {b.id for b in change.removed}


def test_the_result_does_not_depend_on_the_order_within_a_call():
    chosen, leaves = options(), trees.topical(200)
    named = to_uuids(leaves.ids)
    state = planned(leaves.take(np.arange(150)), chosen)
    rows = list(state.buckets())[::-1]
    shuffled = leaves.take(20 + np.random.default_rng(1).permutation(180))

    change = apply_changes(state.with_leaves(leaves.take(np.arange(20, 200))), named[150:], named[30:40], chosen)
    other = apply_changes(
        TreeState.from_nodes(
            DATASET,
            shuffled,
            [TreeNode(id=b.id, level=b.level, is_root=False, child_ids=b.child_ids[::-1]) for b in rows],
        ),
        named[:149:-1],
        named[39:29:-1],
        chosen,
    )

    assert shape(change.state) == shape(other.state)
    assert change.rewritten == other.rewritten


def test_an_added_summary_that_does_not_exist_is_refused():
    state = planned(trees.topical(5), options())

    with pytest.raises(ValueError, match="not among the summaries"):
        apply_changes(state, [UUID(int=1)], [], options())


@pytest.mark.parametrize("strategy", ["graph", "vector"])
def test_additions_that_come_together_share_their_paths(strategy):
    chosen, everything = options(strategy), trees.topical(550)
    state = planned(everything.take(np.arange(500)), chosen)

    together = grown(state, everything, range(500, 550), chosen)
    singly, single = 0, state
    for row in range(500, 550):
        change = grown(single, everything, [row], chosen)
        single, singly = change.state, singly + len(change.rewritten)

    assert violations(together.state, 4) == []
    assert len(together.rewritten) <= 0.4 * singly


@pytest.mark.parametrize("strategy", ["graph", "vector"])
def test_unlike_summaries_added_one_by_one_make_no_tower(strategy):
    chosen, everything = options(strategy), trees.nothing_alike(48)
    state, rewritten = planned(everything.take(np.arange(1)), chosen), 0

    for row in range(1, 48):
        change = grown(state, everything, [row], chosen)
        state, rewritten = change.state, rewritten + len(change.rewritten)

    assert violations(state, 4) == []
    assert len(state.levels) <= 3
    assert len(to_uuids(state.leaves.ids)) == 48
    assert rewritten < 48 * 4


@pytest.mark.parametrize("strategy", ["graph", "vector"])
def test_a_tree_that_grew_is_as_tight_as_a_fresh_one(strategy):
    chosen, everything = options(strategy), trees.topical(450)
    state = planned(everything.take(np.arange(300)), chosen)

    for row in range(300, 450):
        state = grown(state, everything, [row], chosen).state
    fresh = planned(everything, chosen)

    assert violations(state, 4) == []
    assert sum(state.level_sizes) <= 1.25 * sum(fresh.level_sizes)
    assert nearness(state) >= 0.97 * nearness(fresh)
    assert len(state.levels) <= len(fresh.levels) + 1


@pytest.mark.parametrize("together", [1, 10, 500])
@pytest.mark.parametrize("strategy", ["graph", "vector"])
def test_a_tree_that_shrank_is_as_tight_as_a_fresh_one(strategy, together):
    chosen, everything = options(strategy), trees.topical(1_000)
    state = planned(everything, chosen)
    leaving = np.random.default_rng(3).permutation(1_000)[:500]
    rewritten = []

    for first in range(0, 500, together):
        gone = [to_uuids(everything.ids)[row] for row in leaving[first : first + together]]
        change = grown(state, everything, [], chosen, removed=gone)
        rewritten.append(len(change.rewritten))
        state = change.state
    fresh = planned(everything.take(np.setdiff1d(np.arange(1_000), leaving)), chosen)

    assert violations(state, 4) == []
    assert len(state.leaves) == 500
    assert sum(state.level_sizes) <= 1.25 * sum(fresh.level_sizes)
    assert nearness(state) >= 0.97 * nearness(fresh)
    assert len(state.levels) <= len(fresh.levels) + 1
    if together == 1:
        assert np.mean(rewritten) <= len(state.levels) + 0.5


def nearness(state):
    """Mean cosine of the summaries with their buckets."""
    level = state.levels[0]
    owner = np.repeat(np.arange(len(level)), level.sizes)
    sums = np.zeros((len(level), state.leaves.vectors.shape[1]), np.float32)
    np.add.at(sums, owner, state.leaves.vectors[level.members])
    return float(np.einsum("ij,ij->i", directions(sums)[owner], state.leaves.vectors[level.members]).mean())


class ChangingTree(RuleBasedStateMachine):
    """Any sequence of changes keeps the invariants."""

    @initialize(
        start=st.integers(0, 40),
        size=st.integers(2, 6),
        strategy=st.sampled_from(["graph", "vector"]),
        maker=st.sampled_from([trees.topical, trees.all_alike, trees.nothing_alike]),
    )
    def begin(self, start, size, strategy, maker):
        self.everything = maker(120, dimensions=8)
        self.named = to_uuids(self.everything.ids)
        self.options = options(strategy, size)
        self.inside = set(range(start))
        self.state = planned(self.everything.take(np.arange(start)), self.options)
        self.past = shape(self.state)

    @rule(
        added=st.sets(st.integers(0, 119), max_size=30),
        removed=st.sets(st.integers(0, 119), max_size=30),
        touched=st.sets(st.integers(0, 119), max_size=5),
    )
    def change(self, added, removed, touched):
        added = added - self.inside - removed
        removed, touched = removed & self.inside, (touched & self.inside) - removed
        now = self.everything.take(np.array(sorted((self.inside | added) - removed), np.int64))
        before = {b.id: b for b in self.state.buckets()}
        change = apply_changes(
            self.state.with_leaves(now),
            *([self.named[i] for i in rows] for rows in (added, touched)),
            self.options,
        )
        self.inside = (self.inside | added) - removed
        self.state = change.state
        self.check_change(before, change)

    def check_change(self, before, change):
        after = {b.id: b for b in change.state.buckets()}
        assert {b.id for b in change.created} == set(after) - set(before)
        assert {b.id for b in change.removed} == set(before) - set(after)
        different = {i for i in set(before) & set(after) if set(before[i].child_ids) != set(after[i].child_ids)}
        assert {b.id for b in change.changed} == different
        written = {b.id for b in change.rewritten}
        for bucket in after.values():
            assert bucket.id in written or not written & set(bucket.child_ids)

    @invariant()
    def is_sound(self):
        if hasattr(self, "state"):
            assert violations(self.state, self.options.max_bucket_size) == []
            assert set(to_uuids(self.state.leaves.ids)) == {self.named[i] for i in self.inside}


TestChangingTree = ChangingTree.TestCase
TestChangingTree.settings = settings(
    max_examples=25, stateful_step_count=10, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
