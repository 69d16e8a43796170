"""From what a dataset holds and what is served to the plan of the next generation."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING
from uuid import UUID

from overstory.errors import IndexMismatchError
from overstory.indexing import forgetting, publishing
from overstory.indexing.increment_plans import draw_increment
from overstory.indexing.index_rows import IndexRow, read_rows
from overstory.indexing.pending import pending_changes
from overstory.indexing.plans import IMPROVE, REBUILD, BuildPlan, Job, PlannedBucket, build_plan
from overstory.indexing.tree.bucketing import TreeOptions, plan_tree
from overstory.indexing.tree.id_arrays import to_uuids
from overstory.indexing.tree.leaves import Leaves, with_text
from overstory.models import Lease, Manifest, PendingChange, TextSummary
from overstory.runtime import OpenDataset
from overstory.stores.contract import Tenant

if TYPE_CHECKING:
    import pyarrow as pa

_LEAF_COLUMNS = ["key", "entity_ids", "vector", "text"]


async def plan_build(
    opened: OpenDataset, lease: Lease, options: TreeOptions | None, purpose: str, *, reuse: bool
) -> BuildPlan:
    """Plan a build and write down that it has begun.

    Raises:
        IndexMismatchError: the index was built with another strategy or size, and this is no rebuild.
    """
    store, tenant = opened.runtime.store, opened.tenant
    manifest = await opened.manifest()
    chosen = choose_options(opened.dataset.name, manifest, options, purpose)
    if (await forgetting.forget(opened, lease)).documents:
        manifest = await opened.manifest()
    pending = tuple(await pending_changes(tenant))
    if purpose == IMPROVE and is_current(manifest) and not pending:
        return _nothing(tenant, manifest, chosen)
    manifest = await publishing.settle(store, tenant, lease)
    job = _job(tenant.dataset_id, manifest, purpose, reuse=reuse)
    plan = await draw(tenant, manifest, job, chosen, pending)
    if plan.nothing_to_do:
        await tenant.delete(PendingChange, pending)
        return plan
    await publishing.begin(store, manifest, lease, job)
    return plan


def choose_options(name: str, manifest: Manifest, asked: TreeOptions | None, purpose: str) -> TreeOptions:
    """The options of a build: those asked for, where they fit what is there, else the stored ones."""
    current = manifest.current
    if asked is not None:
        asked.check()
    if current is None or (asked is not None and purpose == REBUILD):
        return asked or TreeOptions()
    stored = TreeOptions.of(current)
    if asked is None:
        return stored
    if (asked.bucketing_strategy, asked.max_bucket_size) != (stored.bucketing_strategy, stored.max_bucket_size):
        raise IndexMismatchError(name, stored.describe(), asked.describe())
    return asked


def is_current(manifest: Manifest) -> bool:
    """Nothing of the served generation waits to be written better."""
    return manifest.current is not None and not manifest.current.degraded


async def look_ahead(tenant: Tenant, manifest: Manifest, options: TreeOptions) -> BuildPlan:
    """The plan that `improve` would follow now; nothing is written."""
    pending = tuple(await pending_changes(tenant))
    if is_current(manifest) and not pending:
        return _nothing(tenant, manifest, options)
    job = _job(tenant.dataset_id, manifest, IMPROVE, reuse=True)
    return await draw(tenant, manifest, job, options, pending)


async def draw(
    tenant: Tenant, manifest: Manifest, job: Job, options: TreeOptions, pending: Sequence[UUID]
) -> BuildPlan:
    """The plan itself, without writing anything; in a thread, so that the lease is renewed meanwhile."""
    leaves = await read_leaves(tenant)
    old = await read_rows(tenant, manifest.serving)
    how = _fresh if job.purpose == REBUILD or not old else draw_increment
    return await asyncio.to_thread(how, job, options, leaves, old, pending)


async def read_leaves(tenant: Tenant) -> Leaves:
    """All summaries that have a text."""
    found = [batch async for batch in _with_text(tenant)]
    return Leaves.from_batches(found)


async def _with_text(tenant: Tenant) -> "AsyncIterator[pa.RecordBatch]":
    async for batch in tenant.batches(TextSummary, _LEAF_COLUMNS):
        yield with_text(batch).select(["key", "entity_ids", "vector"])


def _job(dataset_id: UUID, manifest: Manifest, purpose: str, *, reuse: bool) -> Job:
    return Job(
        dataset_id=dataset_id,
        generation=manifest.last_number + 1,
        serving=manifest.serving,
        purpose=purpose,
        adopt=tuple(b.number for b in manifest.unpublished if b.purpose == purpose),
        reuse=reuse,
    )


def _fresh(
    job: Job, options: TreeOptions, leaves: Leaves, old: Sequence[IndexRow], pending: Sequence[UUID]
) -> BuildPlan:
    plan = plan_tree(leaves, options)
    below, levels = to_uuids(leaves.ids), []
    for number, (level, names) in enumerate(zip(plan.levels, plan.bucket_ids(job.dataset_id, leaves), strict=True)):
        offsets, members = level.offsets.tolist(), level.members.tolist()
        levels.append(
            [
                PlannedBucket(id=name, level=number, child_ids=tuple([below[m] for m in members[a:b]]))
                for name, (a, b) in zip(names, pairwise(offsets), strict=True)
            ]
        )
        below = names
    return build_plan(
        job,
        options,
        levels,
        level_sizes=plan.level_sizes,
        top=below,
        replaced=[b.key for b in old],
        summaries=len(leaves),
        pending=pending,
        nothing_to_do=not levels and not old,
    )


def _nothing(tenant: Tenant, manifest: Manifest, options: TreeOptions) -> BuildPlan:
    current = manifest.current
    root = current.root_id if current else None
    levels = ((PlannedBucket(id=root, level=0, child_ids=(), is_root=True),),) if root else ()
    return BuildPlan(
        job=_job(tenant.dataset_id, manifest, IMPROVE, reuse=True),
        options=options,
        levels=levels,
        level_sizes=current.level_sizes if current else (),
        replaced=(),
        summaries=0,
        pending=(),
        nothing_to_do=True,
    )
