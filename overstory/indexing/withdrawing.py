"""A build that leaves every text as it is served, or as bad, is withdrawn: the last one stays as it is.

Each build tries fallback texts again. Where the model fails at them for ever, publishing the same tree anew would push
the generation before it out of those that are kept, for nothing.
"""

from collections.abc import Sequence
from dataclasses import replace
from uuid import UUID

from overstory import ids
from overstory.indexing.plans import REBUILD, BuildPlan
from overstory.models import GlobalContextSummary, Lease, PendingChange
from overstory.stores.contract import Store, Tenant

_ROWS = 200


async def brings_news(tenant: Tenant, plan: BuildPlan) -> bool:
    """Whether the texts that a build wrote are others, or better ones, than those that are served."""
    planned = [bucket.id for level in plan.levels for bucket in level]
    for first in range(0, len(planned), _ROWS):
        some = planned[first : first + _ROWS]
        served = {row.id: row for row in await tenant.areas(some, plan.job.serving)}
        written = await tenant.get(GlobalContextSummary, [ids.row_key(b, plan.job.generation) for b in some])
        if any(_is_news(row, served.get(row.id)) for row in written):
            return True
    return False


def _is_news(new: GlobalContextSummary, served: GlobalContextSummary | None) -> bool:
    """A fallback in place of a good text is none by itself above level 0: there, what is below it must be new."""
    if served is None or served.stale or served.withheld or set(served.child_ids) != set(new.child_ids):
        return True
    if not new.degraded:
        return bool(served.degraded) or new.fingerprint != served.fingerprint
    return new.content != served.content if served.degraded else new.level == 0


async def withdraw(store: Store, tenant: Tenant, lease: Lease, pending: Sequence[UUID]) -> None:
    """Drop what this build and stopped ones of its kind wrote, and the changes that turned out to be none.

    Their fallback texts go too: the next run tries anew instead of taking them over. May be repeated.
    """
    manifest = await store.read_manifest(tenant.dataset_id)
    kept = tuple(b for b in manifest.unpublished if b.purpose == REBUILD)
    dropped = {b.number for b in manifest.unpublished} - {b.number for b in kept}
    rows: list[UUID] = []
    async for batch in tenant.batches(GlobalContextSummary, ["key", "valid_from"]):
        rows += [ids.uuid_of(row["key"]) for row in batch.to_pylist() if row["valid_from"] in dropped]
    await tenant.delete(GlobalContextSummary, rows)
    await store.write_manifest(replace(manifest, unpublished=kept, token=lease.token), lease)
    await tenant.delete(PendingChange, pending)
