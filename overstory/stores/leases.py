"""The rule of leases, the same for every store: pure functions from one record to the next.

Each store keeps one record per dataset. In memory and in the embedded store these functions are applied where nobody
else can write in between; on Weaviate, which has no transactions, a writer writes, waits and reads again who holds it.
"""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from uuid import UUID

from overstory.errors import DatasetBusyError, LeaseLostError
from overstory.models import Lease, Manifest


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaseRecord:
    """What is known of a dataset's lease, also when nobody holds it: the token must go on growing."""

    dataset_id: UUID
    holder: str
    """Empty when it was given back."""
    token: int
    acquired_at: datetime
    renewed_at: datetime
    ttl_seconds: float

    def is_held(self, now: datetime) -> bool:
        """Held, and renewed within its time of `now`, before or after: a clock set back can't keep it alive."""
        return bool(self.holder) and abs((now - self.renewed_at).total_seconds()) <= self.ttl_seconds

    def belongs_to(self, lease: Lease) -> bool:
        return self.holder == lease.holder and self.token == lease.token

    @property
    def lease(self) -> Lease:
        return Lease(
            dataset_id=self.dataset_id,
            holder=self.holder,
            token=self.token,
            acquired_at=self.acquired_at,
            expires_at=self.renewed_at + timedelta(seconds=self.ttl_seconds),
        )


def acquire(
    record: LeaseRecord | None,
    dataset_id: UUID,
    name: str,
    holder: str,
    ttl_seconds: float,
    now: datetime,
    *,
    over: str = "",
) -> LeaseRecord:
    """The record once `holder` has the lease; whoever has it already keeps the token.

    Args:
        over: a holder whose lease counts as expired.

    Raises:
        DatasetBusyError: another holder's lease has not expired; `name` is the dataset's.
    """
    if not holder:
        raise ValueError("a lease needs a holder")
    if record is not None and record.is_held(now) and record.holder != over:
        if record.holder != holder:
            raise DatasetBusyError(name, record.holder, record.acquired_at, record.lease.expires_at)
        return replace(record, renewed_at=now, ttl_seconds=ttl_seconds)
    return LeaseRecord(
        dataset_id=dataset_id,
        holder=holder,
        token=record.token + 1 if record else 1,
        acquired_at=now,
        renewed_at=now,
        ttl_seconds=ttl_seconds,
    )


def renew(record: LeaseRecord | None, lease: Lease, name: str, ttl_seconds: float, now: datetime) -> LeaseRecord:
    """The record once the lease is extended; one that expired is, as long as nobody took it.

    Raises:
        LeaseLostError: another holder has it by now, or it was given back.
    """
    if record is None or not record.belongs_to(lease):
        raise LeaseLostError(name, lease.holder)
    return replace(record, renewed_at=now, ttl_seconds=ttl_seconds)


def release(record: LeaseRecord | None, lease: Lease) -> LeaseRecord | None:
    """The record once the lease is given back; None when there is nothing to give back."""
    return replace(record, holder="") if record is not None and record.belongs_to(lease) else None


def check_writer(record: LeaseRecord | None, stored: Manifest | None, lease: Lease, name: str) -> None:
    """Let only the newest lease write.

    Raises:
        LeaseLostError: a lease with a higher token was given since, or the dataset is gone.
    """
    newest = max(record.token if record else 0, stored.token if stored else 0)
    if record is None or lease.token < newest:
        raise LeaseLostError(name, lease.holder)
