"""The tree that is served, as the next build finds it."""

from dataclasses import dataclass
from uuid import UUID

from overstory import ids
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


async def read_served(tenant: Tenant, generation: int) -> tuple[ServedBucket, ...]:
    """The shape of a generation; empty for generation 0."""
    if not generation:
        return ()
    columns = ["key", "id", "level", "is_root", "child_ids", "degraded", "stale", "withheld"]
    shape: list[ServedBucket] = []
    async for batch in tenant.batches(GlobalContextSummary, columns, generation=generation):
        shape += [_served_bucket(*row) for row in zip(*(batch.column(c).to_pylist() for c in columns), strict=True)]
    return tuple(shape)


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
