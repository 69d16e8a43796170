"""What the index has yet to look at, and what of it the served tree covers all the same."""

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple
from uuid import UUID

from overstory import ids
from overstory.models import Generation, GlobalContextSummary, Manifest, PendingChange, Row, TextSummary
from overstory.stores.contract import Tenant


@dataclass(frozen=True, slots=True)
class Pending:
    """How many summaries the next improve looks at."""

    changed: int
    """New, changed or gone since."""
    covered: int = 0
    """In the generation as they are."""


_Situation = tuple[int, ...]
_MOST_KNOWN = 1_000
_covered: dict[UUID, tuple[_Situation, int]] = {}
"""By dataset, how many changes were found covered and in which situation: to look takes a reading of all keys."""


async def keys_of(tenant: Tenant, kind: type[Row]) -> set[bytes]:
    found: set[bytes] = set()
    async for batch in tenant.batches(kind, ["key"]):
        found.update(batch.column("key").to_pylist())
    return found


async def pending_changes(tenant: Tenant) -> list[UUID]:
    """The summaries that the next improve looks at."""
    if not await tenant.count(PendingChange):
        return []
    return [ids.uuid_of(key) for key in sorted(await keys_of(tenant, PendingChange))]


async def count_pending(tenant: Tenant, manifest: Manifest, generation: Generation | None) -> Pending:
    """How far a generation is behind the summaries; None for no generation.

    Where there has been a newer generation, as after a rollback, all that it placed otherwise is pending, and most
    of that is covered. To tell takes a second call of the store, and several where the situation is new.
    """
    number = await tenant.count(PendingChange)
    if generation is None or not number or generation.number == manifest.last_number:
        return Pending(changed=number)
    situation = (generation.number, manifest.last_number, number, await tenant.count(TextSummary))
    known, covered = _covered.get(tenant.dataset_id, (None, 0))
    if known != situation:
        covered = await _count_covered(tenant, generation.number)
        if len(_covered) >= _MOST_KNOWN:
            _covered.clear()
        _covered[tenant.dataset_id] = (situation, covered)
    return Pending(changed=number - covered, covered=covered)


async def _count_covered(tenant: Tenant, generation: int) -> int:
    pending = await keys_of(tenant, PendingChange) & await _placed(tenant, generation)
    return len(pending & await keys_of(tenant, TextSummary))


async def _placed(tenant: Tenant, generation: int) -> set[bytes]:
    """The summaries below the level-0 buckets of a generation."""
    return {key async for bucket in lowest_buckets(tenant, generation) for key in bucket.child_keys}


class LowestBucket(NamedTuple):
    """A bucket of level 0: from which generation on it is seen, up to which, and the summaries below it."""

    valid_from: int
    valid_to: int
    child_keys: Sequence[bytes]


async def lowest_buckets(tenant: Tenant, generation: int | None = None) -> AsyncIterator[LowestBucket]:
    """The level-0 buckets that a generation sees, or all that are stored."""
    columns = ["level", *LowestBucket._fields[:2], "child_ids"]
    async for batch in tenant.batches(GlobalContextSummary, columns, generation=generation):
        for level, *bucket in zip(*(batch.column(name).to_pylist() for name in columns), strict=True):
            if level == 0:
                yield LowestBucket(*bucket)
