"""The tree that is served, as the next build finds it, and what of it goes into a plan."""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from overstory import ids
from overstory.indexing.plans import BuildPlan, Job, PlannedBucket
from overstory.indexing.tree.bucketing import TreeOptions
from overstory.models import GlobalContextSummary
from overstory.stores.contract import Tenant


@dataclass(frozen=True, slots=True, kw_only=True)
class ServedBucket:
    """A bucket or the root as it is served: its shape, not its text."""

    key: UUID
    id: UUID
    level: int
    is_root: bool
    child_ids: tuple[UUID, ...]
    degraded: bool
    cut: bool
    """By a forgetting: its text has lost facts, or is withheld, and children may have gone."""

    @property
    def unfit(self) -> bool:
        """To be written again."""
        return self.degraded or self.cut


@dataclass(frozen=True, slots=True, kw_only=True)
class Served:
    """The tree that is served."""

    shape: tuple[ServedBucket, ...]


async def read_served(tenant: Tenant, generation: int) -> Served:
    """The shape of a generation; empty for generation 0."""
    if not generation:
        return Served(shape=())
    columns = ["key", "id", "level", "is_root", "child_ids", "degraded", "stale", "withheld"]
    shape: list[ServedBucket] = []
    async for batch in tenant.batches(GlobalContextSummary, columns, generation=generation):
        shape += [_served_bucket(*row) for row in zip(*(batch.column(c).to_pylist() for c in columns), strict=True)]
    return Served(shape=tuple(shape))


def _served_bucket(
    key: bytes,
    bucket: bytes,
    level: int,
    is_root: bool,
    children: list[bytes],
    degraded: str,
    stale: bool,
    withheld: bool,
) -> ServedBucket:
    return ServedBucket(
        key=ids.uuid_of(key),
        id=ids.uuid_of(bucket),
        level=level,
        is_root=is_root,
        child_ids=tuple([ids.uuid_of(c) for c in children]),
        degraded=bool(degraded),
        cut=stale or withheld,
    )


def finish(
    job: Job,
    options: TreeOptions,
    levels: Sequence[Sequence[PlannedBucket]],
    old: Served,
    *,
    replaced: Sequence[UUID],
    summaries: int,
    pending: Sequence[UUID],
    level_sizes: Sequence[int] | None = None,
    top: Sequence[UUID] | None = None,
    nothing_to_do: bool = False,
    same_shape: bool = False,
) -> BuildPlan:
    """Add the root, and put siblings beside each other so that parents need not wait for a whole level.

    Args:
        levels: the buckets to be written.
        level_sizes: of the finished tree, where `levels` is not the whole of it.
        top: ids of the buckets under the root, where `levels` does not hold them all.
    """
    whole = [list(level) for level in levels]
    sizes = tuple(level_sizes) if level_sizes is not None else tuple(map(len, whole))
    children = tuple(top) if top is not None else tuple(b.id for b in whole[-1]) if whole else ()
    if children:
        root = PlannedBucket(id=ids.root_id(job.dataset_id), level=len(sizes), child_ids=children, is_root=True)
        whole.append([root])
    return BuildPlan(
        job=job,
        options=options,
        levels=tuple(tuple(level) for level in _in_family_order(whole) if level),
        level_sizes=sizes,
        replaced=tuple(replaced),
        summaries=summaries,
        pending=tuple(pending),
        nothing_to_do=nothing_to_do or (not children and not old.shape),
        same_shape=same_shape,
    )


def _in_family_order(levels: Sequence[list[PlannedBucket]]) -> list[list[PlannedBucket]]:
    """Each level in the order of its parents."""
    ordered = list(levels)
    for upper in range(len(ordered) - 1, 0, -1):
        place = {c: i for i, c in enumerate(c for b in ordered[upper] for c in b.child_ids)}
        ordered[upper - 1] = sorted(ordered[upper - 1], key=lambda b: place.get(b.id, len(place)))
    return ordered
