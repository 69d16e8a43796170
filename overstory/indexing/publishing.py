"""From one generation to the next: begin a build, make its rows visible, check them, publish, sweep, roll back.

The store has no transaction over these steps, so each write keeps every reader's view whole:

1. rows of a build are born with `valid_to == valid_from`: no generation sees them;
2. when all are there, the rows that they replace are closed at the new number, and they are opened: readers of the
   served generation see neither change;
3. what the new generation sees is verified;
4. one write of the manifest, refused when the lease was lost, serves it.

A stop between any two leaves marks of a number that was never published; `restore` takes them back.
"""

import asyncio
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import numpy as np

from overstory import ids
from overstory.errors import GenerationNotFoundError, InvalidIndexError
from overstory.indexing.pending import LowestBucket, lowest_buckets
from overstory.indexing.plans import ROLLED_BACK, BuildPlan, Job
from overstory.indexing.tree.leaves import as_bytes, with_text
from overstory.indexing.tree.verification import StoredTree, Violation, verify_tree
from overstory.models import (
    OPEN_END,
    Build,
    Dataset,
    Generation,
    GlobalContextSummary,
    Lease,
    Manifest,
    PendingChange,
    TextSummary,
)
from overstory.stores.contract import Store, Tenant

_PATCH_ROWS = 2_000


async def settle(store: Store, tenant: Tenant, lease: Lease) -> Manifest:
    """Make what is stored equal to what is served: take back the marks of builds that stopped or were rolled back."""
    manifest = await store.read_manifest(tenant.dataset_id)
    rolled_back = [g for g in manifest.generations if g.number > manifest.serving]
    if rolled_back:
        builds = tuple(Build(number=g.number, purpose=ROLLED_BACK, started_at=g.built_at) for g in rolled_back)
        manifest = replace(
            manifest,
            generations=tuple(g for g in manifest.generations if g.number <= manifest.serving),
            unpublished=(*manifest.unpublished, *builds),
            token=lease.token,
        )
        await store.write_manifest(manifest, lease)
    if manifest.unpublished:
        await restore(tenant, {b.number for b in manifest.unpublished})
    return manifest


async def begin(store: Store, manifest: Manifest, lease: Lease, job: Job) -> None:
    """Write down that a build has begun, so that its rows are found whatever happens to it."""
    build = Build(number=job.generation, purpose=job.purpose, started_at=datetime.now(UTC))
    begun = replace(manifest, unpublished=(*manifest.unpublished, build), last_number=build.number, token=lease.token)
    await store.write_manifest(begun, lease)


async def restore(tenant: Tenant, abandoned: Collection[int]) -> None:
    """Take back the marks of generations that are not served: their rows unseen, the rows they replaced open."""
    changes: dict[UUID, Mapping[str, Any]] = {}
    async for batch in tenant.batches(GlobalContextSummary, ["key", "valid_from", "valid_to"]):
        for row in batch.to_pylist():
            if row["valid_from"] in abandoned and row["valid_to"] > row["valid_from"]:
                changes[ids.uuid_of(row["key"])] = {"valid_to": row["valid_from"]}
            elif row["valid_from"] not in abandoned and row["valid_to"] in abandoned:
                changes[ids.uuid_of(row["key"])] = {"valid_to": OPEN_END}
    await _patch(tenant, changes)


async def open_rows(tenant: Tenant, plan: BuildPlan) -> None:
    """Let the new generation see its rows, and no longer those that they replace."""
    number = plan.job.generation
    written = [ids.row_key(bucket.id, number) for level in plan.levels for bucket in level]
    await _patch(tenant, {key: {"valid_to": number} for key in plan.replaced})
    await _patch(tenant, {key: {"valid_to": OPEN_END} for key in written})


async def check(tenant: Tenant, dataset: Dataset, plan: BuildPlan) -> int:
    """Verify what the new generation sees; the number of fallback texts in it.

    Raises:
        InvalidIndexError: an invariant is violated; nothing is published.
    """
    violations, degraded = await violations_at(
        tenant, plan.job.generation, plan.options.max_bucket_size, fresh=plan.job.serving == 0
    )
    if violations:
        raise InvalidIndexError(dataset.name, [f"{v.rule}: {v.message}" for v in violations])
    return degraded


async def violations_at(
    tenant: Tenant, generation: int, max_bucket_size: int, *, fresh: bool = False
) -> tuple[list[Violation], int]:
    """What is wrong with the tree that a generation sees, and how many of its texts are fallbacks."""
    columns = ["id", "level", "is_root", "child_ids", "degraded", "withheld", "text"]
    stored = [batch async for batch in tenant.batches(GlobalContextSummary, columns, generation=generation)]
    summaries = [with_text(batch) async for batch in tenant.batches(TextSummary, ["key", "text"])]

    def verify() -> list[Violation]:
        keys = np.concatenate(
            [as_bytes(batch.column("key"), 16) for batch in summaries] or [np.zeros((0, 16), np.uint8)]
        )
        return verify_tree(StoredTree.from_batches(stored), keys, max_bucket_size, fresh=fresh)

    degraded = sum(len(batch) - batch.column("degraded").to_pylist().count("") for batch in stored)
    return await asyncio.to_thread(verify), degraded


async def publish(store: Store, tenant: Tenant, lease: Lease, generation: Generation, keep: int) -> None:
    """Serve a generation, by one write of the manifest.

    Raises:
        LeaseLostError: another writer took over; the old generation goes on being served.
    """
    manifest = await store.read_manifest(tenant.dataset_id)
    published = replace(
        manifest,
        serving=generation.number,
        generations=(*(g for g in manifest.generations if g.number < generation.number), generation)[-keep:],
        unpublished=(),
        token=lease.token,
    )
    await store.write_manifest(published, lease)


async def clean_up(tenant: Tenant, manifest: Manifest, pending: Sequence[UUID]) -> None:
    """Drop the changes that were taken in, and rows that no kept generation sees. May be repeated."""
    await tenant.delete(PendingChange, pending)
    await tenant.sweep([g.number for g in manifest.generations])


async def roll_back(store: Store, tenant: Tenant, lease: Lease, number: int) -> Manifest:
    """Serve another kept generation, by one write; what the present one took in is pending again.

    Raises:
        GenerationNotFoundError: it is not kept.
    """
    manifest = await store.read_manifest(tenant.dataset_id)
    kept = [g.number for g in manifest.generations]
    if number not in kept:
        raise GenerationNotFoundError(number, kept)
    differing = await _differing_summaries(tenant, *sorted((number, manifest.serving)))
    await tenant.put([PendingChange(summary_id=s, dataset_id=tenant.dataset_id) for s in differing])
    changed = replace(manifest, serving=number, token=lease.token)
    await store.write_manifest(changed, lease)
    return changed


async def _differing_summaries(tenant: Tenant, older: int, newer: int) -> set[UUID]:
    """Summaries below the level-0 buckets that two generations see differently."""
    return {
        ids.uuid_of(key)
        async for bucket in lowest_buckets(tenant)
        if _sees(older, bucket) != _sees(newer, bucket)
        for key in bucket.child_keys
    }


def _sees(generation: int, bucket: LowestBucket) -> bool:
    return bucket.valid_from <= generation < bucket.valid_to


async def _patch(tenant: Tenant, changes: Mapping[UUID, Mapping[str, Any]]) -> None:
    keys = list(changes)
    for first in range(0, len(keys), _PATCH_ROWS):
        await tenant.patch(GlobalContextSummary, {k: changes[k] for k in keys[first : first + _PATCH_ROWS]})
