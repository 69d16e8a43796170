"""The rows of the index: where each stands and what became of it, without its text."""

from dataclasses import dataclass
from uuid import UUID

from overstory import ids
from overstory.models import GlobalContextSummary
from overstory.stores.contract import Tenant

_COLUMNS = ["key", "id", "level", "is_root", "child_ids", "valid_from", "valid_to", "degraded", "stale", "withheld"]


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexRow:
    """A version of a bucket or of the root."""

    key: UUID
    id: UUID
    level: int
    is_root: bool
    child_ids: tuple[UUID, ...]
    valid_from: int
    valid_to: int
    degraded: bool
    cut: bool
    """By a forgetting: its text has lost facts, or is withheld, and children may have gone."""

    @property
    def unfit(self) -> bool:
        """To be written again."""
        return self.degraded or self.cut

    def is_seen(self, generation: int) -> bool:
        return self.valid_from <= generation < self.valid_to


async def read_rows(tenant: Tenant, generation: int | None = None) -> tuple[IndexRow, ...]:
    """Those that a generation sees, none for generation 0; every row where none is named."""
    rows: list[IndexRow] = []
    async for batch in tenant.batches(GlobalContextSummary, _COLUMNS, generation=generation):
        rows += [_row(*row) for row in zip(*(batch.column(c).to_pylist() for c in _COLUMNS), strict=True)]
    return tuple(rows)


def _row(
    key: bytes,
    bucket: bytes,
    level: int,
    is_root: bool,
    children: list[bytes],
    valid_from: int,
    valid_to: int,
    degraded: str,
    stale: bool,
    withheld: bool,
) -> IndexRow:
    return IndexRow(
        key=ids.uuid_of(key),
        id=ids.uuid_of(bucket),
        level=level,
        is_root=is_root,
        child_ids=tuple([ids.uuid_of(c) for c in children]),
        valid_from=valid_from,
        valid_to=valid_to,
        degraded=bool(degraded),
        cut=stale or withheld,
    )
