from dataclasses import replace
from itertools import pairwise
from uuid import UUID, uuid5

import pytest

from overstory import ids
from overstory.indexing.tree.bucketing import TreeOptions, plan_tree
from overstory.indexing.tree.id_arrays import to_uuids
from tests.unit.indexing import trees
from tests.unit.indexing.trees import TreeNode, verify_tree

DATASET = UUID(int=7)
STRANGER = uuid5(DATASET, "stranger")


def planned(n=60):
    """A good tree: its nodes by level, the root last, and the summaries."""
    leaves = trees.topical(n, dimensions=8)
    plan = plan_tree(leaves, TreeOptions())
    below, nodes = to_uuids(leaves.ids), []
    for number, (level, names) in enumerate(zip(plan.levels, plan.bucket_ids(DATASET, leaves), strict=True)):
        parts = pairwise(level.offsets.tolist())
        for name, (a, b) in zip(names, parts, strict=True):
            children = tuple(below[m] for m in level.members[a:b])
            nodes.append(TreeNode(id=name, level=number, is_root=False, child_ids=children))
        below = names
    root = TreeNode(id=ids.root_id(DATASET), level=len(plan.levels), is_root=True, child_ids=tuple(below))
    return [*nodes, root], to_uuids(leaves.ids)


def violated(nodes, summaries, size=4, fresh=True):
    return [(v.rule, v.ids) for v in verify_tree(nodes, summaries, size, fresh=fresh)]


def changed(nodes, place, **fields):
    nodes[place] = replace(nodes[place], **fields)


@pytest.mark.parametrize("n", [1, 2, 4, 5, 17, 60])
def test_a_planned_tree_is_sound(n):
    nodes, summaries = planned(n)

    assert violated(nodes, summaries) == []


def test_no_tree_over_no_summaries_is_sound():
    assert violated([], []) == []


def test_a_summary_in_no_bucket_is_named():
    nodes, summaries = planned()
    left_out = nodes[0].child_ids[0]
    changed(nodes, 0, child_ids=nodes[0].child_ids[1:])

    assert violated(nodes, summaries) == [("every-summary", (left_out,))]


def test_a_summary_under_the_root_is_named():
    nodes, summaries = planned(60)
    moved = nodes[0].child_ids[0]
    changed(nodes, 0, child_ids=nodes[0].child_ids[1:])
    changed(nodes, -1, child_ids=(*nodes[-1].child_ids[:3], moved))

    assert ("summary-in-bucket", (moved,)) in violated(nodes, summaries, size=5)


def test_a_summary_in_two_buckets_is_named():
    nodes, summaries = planned()
    twice = nodes[0].child_ids[0]
    changed(nodes, 1, child_ids=(*nodes[1].child_ids[1:], twice))

    assert ("one-parent", (twice,)) in violated(nodes, summaries)


def test_a_bucket_with_two_parents_is_named():
    nodes, summaries = planned()
    one, other = [i for i, n in enumerate(nodes) if n.level == 1][:2]
    changed(nodes, other, child_ids=(*nodes[other].child_ids, nodes[one].child_ids[0]))

    assert violated(nodes, summaries, size=5) == [("one-parent", (nodes[one].child_ids[0],))]


def test_a_bucket_that_is_not_one_level_down_is_named():
    nodes, summaries = planned()
    parent = next(i for i, n in enumerate(nodes) if n.level == 1)
    moved = nodes[parent].child_ids[0]
    changed(nodes, parent, child_ids=nodes[parent].child_ids[1:])
    changed(nodes, -1, child_ids=(*nodes[-1].child_ids, moved))

    assert violated(nodes, summaries, size=5) == [("adjacent-levels", (moved,))]


def test_a_child_that_does_not_exist_is_named():
    nodes, summaries = planned(58)
    short = next(i for i, n in enumerate(nodes) if len(n.child_ids) < 4)
    changed(nodes, short, child_ids=(*nodes[short].child_ids, STRANGER))

    assert violated(nodes, summaries) == [("nothing-dangles", (STRANGER,))]


def test_a_bucket_without_a_parent_is_named():
    nodes, summaries = planned()
    parent = next(i for i, n in enumerate(nodes) if n.level == 1)
    lost = nodes[parent].child_ids[0]
    changed(nodes, parent, child_ids=nodes[parent].child_ids[1:])

    assert violated(nodes, summaries) == [("reachable", (lost,))]


def test_a_bucket_with_too_many_children_is_named():
    nodes, summaries = planned()

    found = violated(nodes, summaries, size=3)

    assert found == [("bucket-size", tuple(n.id for n in nodes if len(n.child_ids) > 3))]


def test_a_root_with_too_many_children_is_named():
    nodes, summaries = planned(20)
    extra = TreeNode(id=STRANGER, level=0, is_root=False, child_ids=nodes[0].child_ids[:1])
    changed(nodes, 0, child_ids=nodes[0].child_ids[1:])
    top = [n.id for n in nodes if n.level == 0]
    flat = [n for n in nodes if n.level == 0] + [extra]
    root = replace(nodes[-1], level=1, child_ids=(*top, STRANGER))

    assert violated([*flat, root], summaries) == [("bucket-size", (root.id,))]


def test_an_empty_bucket_is_named():
    nodes, summaries = planned()
    parent = next(i for i, n in enumerate(nodes) if n.level == 1 and len(n.child_ids) < 4)
    changed(nodes, parent, child_ids=(*nodes[parent].child_ids, STRANGER))
    nodes.append(TreeNode(id=STRANGER, level=0, is_root=False, child_ids=()))

    assert violated(nodes, summaries) == [("bucket-size", (STRANGER,))]


def test_lonely_children_are_named_on_a_fresh_tree_only():
    nodes, summaries = planned(8)
    root = nodes[-1]
    first, second = nodes[0], nodes[1]
    one, other = uuid5(DATASET, "1"), uuid5(DATASET, "2")
    single = [
        TreeNode(id=i, level=0, is_root=False, child_ids=(b.child_ids[0],)) for i, b in ((one, first), (other, second))
    ]
    rest = [replace(b, child_ids=b.child_ids[1:]) for b in (first, second)]
    split = [*single, *rest, replace(root, child_ids=(one, other, first.id, second.id))]

    assert violated(split, summaries) == [("no-lonely-children", (one, other))]
    assert violated(split, summaries, fresh=False) == []


def test_a_level_that_does_not_shrink_is_named():
    nodes, summaries = planned(8)
    wrappers = [TreeNode(id=uuid5(DATASET, str(n.id)), level=1, is_root=False, child_ids=(n.id,)) for n in nodes[:-1]]
    root = replace(nodes[-1], level=2, child_ids=tuple(w.id for w in wrappers))

    found = violated([*nodes[:-1], *wrappers, root], summaries, fresh=False)

    assert found == [("levels-shrink", tuple(w.id for w in wrappers))]


def test_two_roots_are_named():
    nodes, summaries = planned()
    second = replace(nodes[-1], id=STRANGER)

    found = dict(violated([*nodes, second], summaries))

    assert found["one-root"] == (nodes[-1].id, STRANGER)


def test_buckets_without_a_root_are_named():
    nodes, summaries = planned()
    top = nodes[-1].child_ids

    assert violated(nodes[:-1], summaries) == [("one-root", top)]


def test_a_root_over_nothing_is_named():
    root = TreeNode(id=STRANGER, level=0, is_root=True, child_ids=())

    assert violated([root], []) == [("one-root", (STRANGER,))]


def test_a_node_that_is_there_twice_is_named():
    nodes, summaries = planned()

    found = [rule for rule, _ in violated([*nodes, nodes[-1]], summaries)]

    assert "unique-node" in found


def test_a_bucket_without_text_is_named():
    nodes, summaries = planned()
    changed(nodes, 3, has_text=False)

    assert violated(nodes, summaries) == [("has-text", (nodes[3].id,))]
