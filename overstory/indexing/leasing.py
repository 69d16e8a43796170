"""One writer a dataset: hold its lease while work goes on, and stop when it was lost.

A lease that its holder can't give back any more is taken over at once where that is certain: the holder was a process
of this host that has ended, or a work of this process whose lease the store did not take back. Any other one expires.
"""

import asyncio
import logging
import os
import socket
import time
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from itertools import count
from uuid import UUID, uuid4

from overstory import processes
from overstory.errors import DatasetBusyError, LeaseLostError, OverstoryError, StoreError, StoreUnavailableError
from overstory.models import Dataset, Lease
from overstory.runtime import OpenDataset
from overstory.stores.contract import Store

logger = logging.getLogger(__name__)

_POLL_SECONDS = 0.25
_works = count(1)
_over: set[str] = set()
"""Holders of this process whose work is over, and whose lease is still stored."""


class HeldLease:
    """The lease as last renewed."""

    def __init__(self, lease: Lease) -> None:
        self.lease = lease


@asynccontextmanager
async def writing(
    store: Store,
    dataset: Dataset,
    work: str,
    *,
    ttl_seconds: float,
    wait_seconds: float = 0,
    alone: bool = True,
) -> AsyncIterator[HeldLease]:
    """Be the one writer of a dataset inside the block.

    Args:
        work: what is being done, for those who are told to wait.
        wait_seconds: how long to wait for another writer.
        alone: no other process does parts of the work, so that nobody works any more once this one is dead.

    Raises:
        DatasetBusyError: another writer holds it, still after `wait_seconds`.
        LeaseLostError: another writer took over while the block ran; it was cancelled.
    """
    held = HeldLease(await _acquire(store, dataset, holder_name(work, alone=alone), ttl_seconds, wait_seconds))
    body = asyncio.current_task()
    renewal = asyncio.create_task(_renew(store, dataset, held, ttl_seconds, body))
    try:
        yield held
    except asyncio.CancelledError:
        if (
            renewal.done()
            and not renewal.cancelled()
            and (lost := renewal.exception())
            and body
            and not body.uncancel()
        ):
            raise lost from None
        raise
    finally:
        renewal.cancel()
        await asyncio.shield(_end(store, held, renewal))


def writing_in(
    opened: OpenDataset, work: str, *, wait_seconds: float = 0, alone: bool = True
) -> AbstractAsyncContextManager[HeldLease]:
    """Be the one writer of a dataset that is open, as `writing`, for as long a lease as its settings say."""
    store, ttl = opened.runtime.store, opened.runtime.settings.store.lease_seconds
    return writing(store, opened.dataset, work, ttl_seconds=ttl, wait_seconds=wait_seconds, alone=alone)


def holder_name(work: str, *, alone: bool = True) -> str:
    """Says who works, and is no other's: two works of one process are two holders."""
    mark = processes.mark() if alone else ""
    own = f"{mark}.{next(_works)}" if mark else uuid4().hex[:8]
    return f"{work} {own} (process {os.getpid()} on {socket.gethostname()})"


def is_over(holder: str) -> bool:
    """Whether a holder certainly works no more."""
    return holder in _over or processes.has_ended(holder)


async def current_holder(store: Store, dataset_id: UUID) -> str:
    """Who writes a dataset now; empty when nobody does."""
    lease = await store.read_lease(dataset_id)
    return lease.holder if lease and not is_over(lease.holder) else ""


async def _end(store: Store, held: HeldLease, renewal: "asyncio.Task[None]") -> None:
    await asyncio.gather(renewal, return_exceptions=True)
    await _give_back(store, held.lease)


async def _give_back(store: Store, lease: Lease) -> None:
    try:
        await store.release_lease(lease)
    except StoreError as error:
        _over.add(lease.holder)
        logger.warning(
            "The lease of %s was not given back: it ends with this process, or expires by itself: %s",
            lease.dataset_id,
            error,
        )


async def _acquire(store: Store, dataset: Dataset, holder: str, ttl_seconds: float, wait_seconds: float) -> Lease:
    deadline = time.monotonic() + wait_seconds
    while True:
        try:
            return await _take(store, dataset, holder, ttl_seconds)
        except DatasetBusyError as busy:
            if is_over(busy.holder):
                with suppress(DatasetBusyError):  # somebody else was faster
                    return await _take_over(store, dataset, holder, ttl_seconds, busy)
            if time.monotonic() >= deadline:
                raise DatasetBusyError(dataset.name, busy.holder, busy.since, busy.until) from None
            await asyncio.sleep(min(_POLL_SECONDS, max(0.0, deadline - time.monotonic())))


async def _take_over(store: Store, dataset: Dataset, holder: str, ttl_seconds: float, busy: DatasetBusyError) -> Lease:
    """Acquire what somebody holds who works no more."""
    lease = await _take(store, dataset, holder, ttl_seconds, over=busy.holder)
    _over.discard(busy.holder)
    logger.warning(
        "The dataset %s was held by %s since %s UTC, whose work ended without giving it back: taken over.",
        dataset.id,
        busy.holder,
        f"{busy.since:%Y-%m-%d %H:%M:%S}",
    )
    return lease


async def _take(store: Store, dataset: Dataset, holder: str, ttl_seconds: float, over: str = "") -> Lease:
    """Acquire, or, when cancelled on the way, give back what was acquired."""
    acquiring = asyncio.ensure_future(store.acquire_lease(dataset.id, holder, ttl_seconds, over=over))
    try:
        return await asyncio.shield(acquiring)
    except asyncio.CancelledError:
        with suppress(OverstoryError):
            await _give_back(store, await acquiring)
        raise


async def _renew(
    store: Store, dataset: Dataset, held: HeldLease, ttl_seconds: float, body: "asyncio.Task[object] | None"
) -> None:
    pause = ttl_seconds / 3
    while True:
        await asyncio.sleep(pause)
        try:
            held.lease = await store.renew_lease(held.lease, ttl_seconds)
            pause = ttl_seconds / 3
        except StoreUnavailableError as error:
            logger.warning("The lease of %s was not renewed, trying again: %s", dataset.id, error)
            pause = min(1.0, ttl_seconds / 10)
        except LeaseLostError as lost:
            if await store.get_dataset(dataset.id) is None:
                return  # the work inside was to drop it
            if body:
                body.cancel()
            raise LeaseLostError(dataset.name, held.lease.holder) from lost
        except StoreError as error:  # the next try may be in time; a lease that was lost can't publish anyway
            logger.warning("The lease of %s was not renewed: %s", dataset.id, error)
