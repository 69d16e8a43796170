"""Verify a finished generation, serve it, and sweep what no reader needs."""

from collections.abc import Sequence
from uuid import UUID

from overstory.indexing import publishing, withdrawing
from overstory.indexing.plans import BuildPlan
from overstory.models import Generation, Lease
from overstory.runtime import open_dataset

from .policies import task


@task(lambda call: "compare with what is served")
async def withdraw_unchanged(dataset_id: UUID, plan: BuildPlan, lease: Lease) -> bool:
    """Withdraw a build without a text that is new or better; whether it was."""
    opened = await open_dataset(dataset_id)
    if await withdrawing.brings_news(opened.tenant, plan):
        return False
    await withdrawing.withdraw(opened.runtime.store, opened.tenant, lease, plan.pending)
    return True


@task(lambda call: "verify")
async def verify_index(dataset_id: UUID, plan: BuildPlan, lease: Lease) -> int:
    """Open the new generation's rows and check every invariant; the number of fallback texts."""
    opened = await open_dataset(dataset_id)
    await opened.runtime.store.renew_lease(lease, opened.runtime.settings.store.lease_seconds)
    await publishing.open_rows(opened.tenant, plan)
    return await publishing.check(opened.tenant, opened.dataset, plan)


@task(lambda call: f"publish generation {call['generation'].number}")
async def publish_index(dataset_id: UUID, generation: Generation, lease: Lease) -> None:
    """Serve a verified generation, by one write."""
    opened = await open_dataset(dataset_id)
    keep = opened.runtime.settings.store.keep_generations
    await publishing.publish(opened.runtime.store, opened.tenant, lease, generation, keep)


@task(lambda call: "sweep")
async def sweep_index(dataset_id: UUID, pending: Sequence[UUID], lease: Lease) -> None:
    """Drop rows that no kept generation sees, and the changes that were taken in; never under another writer."""
    opened = await open_dataset(dataset_id)
    await opened.runtime.store.renew_lease(lease, opened.runtime.settings.store.lease_seconds)
    manifest = await opened.manifest()
    await publishing.clean_up(opened.tenant, manifest, pending)
