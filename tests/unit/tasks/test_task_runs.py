"""How many task runs a build makes: a server loses the history of too many, and people the overview."""

from uuid import UUID

import pytest

from flows.batches import batch_size
from overstory.indexing.plans import IMPROVE, BuildPlan, Job, PlannedBucket, batches_of
from overstory.indexing.tree.bucketing import TreeOptions
from overstory.settings import IndexSettings, Settings

BESIDE_BATCHES = ("find what is incomplete", "plan", "verify", "publish", "sweep", "report")


def plan_over(summaries: int, bucket_size: int) -> BuildPlan:
    """The plan of a fresh tree in which each bucket is full."""
    numbers = iter(range(summaries, 10 * summaries))
    below = tuple(UUID(int=i) for i in range(summaries))
    levels: list[tuple[PlannedBucket, ...]] = []
    while len(below) > bucket_size or not levels:
        parts = [below[i : i + bucket_size] for i in range(0, len(below), bucket_size)]
        levels.append(tuple(PlannedBucket(id=UUID(int=next(numbers)), level=len(levels), child_ids=p) for p in parts))
        below = tuple(bucket.id for bucket in levels[-1])
    levels.append((PlannedBucket(id=UUID(int=next(numbers)), level=len(levels), child_ids=below, is_root=True),))
    return BuildPlan(
        job=Job(dataset_id=UUID(int=0), generation=1, serving=0, purpose=IMPROVE),
        options=TreeOptions("graph", bucket_size, 0.5, 0.05),
        levels=tuple(levels),
        level_sizes=tuple(map(len, levels[:-1])),
        replaced=(),
        summaries=summaries,
        pending=(),
    )


@pytest.mark.parametrize(
    ("summaries", "bucket_size", "at_least", "at_most"),
    [(15_000, 4, 5_000, 300), (1_000, 4, 334, 40), (150_000, 4, 50_000, 300), (100_000, 20, 5_000, 300)],
)
def test_a_build_makes_few_task_runs(summaries: int, bucket_size: int, at_least: int, at_most: int):
    plan = plan_over(summaries, bucket_size)

    batches = batches_of(plan, batch_size(Settings(), plan.to_write))

    assert plan.to_write >= at_least
    assert sum(len(batch.buckets) for batch in batches) == plan.to_write
    assert len(batches) + len(BESIDE_BATCHES) <= at_most


def test_small_batches_are_made_larger_before_they_are_too_many():
    plan = plan_over(15_000, 4)

    batches = batches_of(plan, batch_size(Settings(index=IndexSettings(batch_size=1)), plan.to_write))

    assert len(batches) + len(BESIDE_BATCHES) <= 300


def test_a_batch_waits_only_for_those_that_hold_its_children():
    batches = batches_of(plan_over(1_000, 4), 32)

    writes = {bucket.id: i for i, batch in enumerate(batches) for bucket in batch.buckets}

    for i, batch in enumerate(batches):
        children = {writes[child] for bucket in batch.buckets for child in bucket.child_ids if child in writes}
        assert set(batch.waits_for) == children
        assert all(place < i for place in children)
