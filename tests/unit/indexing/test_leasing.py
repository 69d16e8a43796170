"""Holding a lease while work goes on."""

import asyncio

import pytest

from overstory.errors import DatasetBusyError, LeaseLostError, StoreUnavailableError
from overstory.indexing.leasing import writing
from overstory.models import Dataset, Lease
from overstory.stores.memory import MemoryStore
from tests.contract.samples import dataset


class FlakyStore(MemoryStore):
    """Loses its connection at the first renewals."""

    def __init__(self, failures: int) -> None:
        super().__init__()
        self.failures = failures
        self.renewals = 0

    async def renew_lease(self, lease: Lease, ttl_seconds: float) -> Lease:
        if self.failures:
            self.failures -= 1
            raise StoreUnavailableError("away")
        self.renewals += 1
        return await super().renew_lease(lease, ttl_seconds)


@pytest.fixture
async def registered() -> Dataset:
    return dataset()


async def test_a_lost_connection_does_not_end_the_renewals(registered: Dataset):
    store = FlakyStore(failures=3)
    await store.create_dataset(registered)

    async with writing(store, registered, "build", ttl_seconds=0.3):
        await asyncio.sleep(0.4)

    assert store.failures == 0
    assert store.renewals >= 1


async def test_work_whose_lease_was_taken_over_is_cancelled(registered: Dataset):
    store = MemoryStore()
    await store.create_dataset(registered)

    async def work() -> None:
        async with writing(store, registered, "build", ttl_seconds=0.3) as held:
            await store.release_lease(held.lease)
            await store.acquire_lease(registered.id, "another", 60)
            await asyncio.sleep(30)

    with pytest.raises(LeaseLostError):
        await asyncio.wait_for(work(), 10)

    assert (await store.read_lease(registered.id)).holder == "another"


async def test_dropping_the_dataset_inside_is_no_loss(registered: Dataset):
    store = MemoryStore()
    await store.create_dataset(registered)

    async with writing(store, registered, "forget", ttl_seconds=0.15):
        await store.drop_dataset(registered.id)
        await asyncio.sleep(0.3)

    assert await store.get_dataset(registered.id) is None


async def test_cancelled_work_gives_its_lease_back(registered: Dataset):
    store = MemoryStore()
    await store.create_dataset(registered)
    begun = asyncio.Event()

    async def work() -> None:
        async with writing(store, registered, "build", ttl_seconds=60):
            begun.set()
            await asyncio.sleep(30)

    task = asyncio.create_task(work())
    await begun.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task

    assert await store.read_lease(registered.id) is None


async def test_two_works_of_one_process_are_two_holders(registered: Dataset):
    store = MemoryStore()
    await store.create_dataset(registered)

    async with writing(store, registered, "build", ttl_seconds=60):
        with pytest.raises(DatasetBusyError, match="build"):
            async with writing(store, registered, "build", ttl_seconds=60):
                pass

    assert await store.read_lease(registered.id) is None
