"""One writer a dataset: hold its lease while work goes on, and stop when it was lost."""

import asyncio
import logging
import os
import socket
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from uuid import uuid4

from overstory.errors import DatasetBusyError, LeaseLostError, OverstoryError, StoreError, StoreUnavailableError
from overstory.models import Dataset, Lease
from overstory.stores.contract import Store

logger = logging.getLogger(__name__)

_POLL_SECONDS = 0.25


class HeldLease:
    """The lease as last renewed."""

    def __init__(self, lease: Lease) -> None:
        self.lease = lease


@asynccontextmanager
async def writing(
    store: Store, dataset: Dataset, work: str, *, ttl_seconds: float, wait_seconds: float = 0
) -> AsyncIterator[HeldLease]:
    """Be the one writer of a dataset inside the block.

    Args:
        work: what is being done, for those who are told to wait.
        wait_seconds: how long to wait for another writer.

    Raises:
        DatasetBusyError: another writer holds it, still after `wait_seconds`.
        LeaseLostError: another writer took over while the block ran; it was cancelled.
    """
    held = HeldLease(await _acquire(store, dataset, holder_name(work), ttl_seconds, wait_seconds))
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


def holder_name(work: str) -> str:
    """Says who works, and is no other's: two works of one process are two holders."""
    return f"{work} {uuid4().hex[:8]} (process {os.getpid()} on {socket.gethostname()})"


async def _end(store: Store, held: HeldLease, renewal: "asyncio.Task[None]") -> None:
    await asyncio.gather(renewal, return_exceptions=True)
    await _give_back(store, held.lease)


async def _give_back(store: Store, lease: Lease) -> None:
    try:
        await store.release_lease(lease)
    except StoreError as error:
        logger.warning("The lease of %s was not given back, it expires by itself: %s", lease.dataset_id, error)


async def _acquire(store: Store, dataset: Dataset, holder: str, ttl_seconds: float, wait_seconds: float) -> Lease:
    deadline = time.monotonic() + wait_seconds
    while True:
        try:
            return await _take(store, dataset, holder, ttl_seconds)
        except DatasetBusyError as busy:
            if time.monotonic() >= deadline:
                raise DatasetBusyError(dataset.name, busy.holder, busy.since, busy.until) from None
            await asyncio.sleep(min(_POLL_SECONDS, max(0.0, deadline - time.monotonic())))


async def _take(store: Store, dataset: Dataset, holder: str, ttl_seconds: float) -> Lease:
    """Acquire, or, when cancelled on the way, give back what was acquired."""
    acquiring = asyncio.ensure_future(store.acquire_lease(dataset.id, holder, ttl_seconds))
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
