"""Decide the shape of the tree before its first text is written."""

from uuid import UUID

from overstory.indexing import planning
from overstory.indexing.plans import BuildPlan
from overstory.indexing.tree.bucketing import TreeOptions
from overstory.models import Lease
from overstory.runtime import open_dataset

from .policies import task


@task(lambda call: "plan the buckets of every level")
async def plan_index(
    dataset_id: UUID, lease: Lease, options: TreeOptions | None, purpose: str, reuse: bool
) -> BuildPlan:
    """Plan a build and write down that it has begun; nothing is begun when there is nothing to do."""
    opened = await open_dataset(dataset_id)
    return await planning.plan_build(opened, lease, options, purpose, reuse=reuse)
