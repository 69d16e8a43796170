"""Holding a lease while work goes on."""

import asyncio
import subprocess
import sys
from uuid import UUID

import pytest

from overstory.errors import DatasetBusyError, LeaseLostError, StoreFullError, StoreUnavailableError
from overstory.indexing.leasing import current_holder, is_over, writing
from overstory.models import Dataset, Lease
from overstory.stores.memory import MemoryStore
from tests.contract.samples import dataset


class FlakyStore(MemoryStore):
    """Loses its connection at the first renewals."""

    def __init__(self, failures: int) -> None:
        super().__init__()
        self.failures = failures
        self.renewed = asyncio.Event()

    async def renew_lease(self, lease: Lease, ttl_seconds: float) -> Lease:
        if self.failures:
            self.failures -= 1
            raise StoreUnavailableError("away")
        renewed = await super().renew_lease(lease, ttl_seconds)
        self.renewed.set()
        return renewed


class AskedStore(MemoryStore):
    """Says when it was asked whether there is a dataset."""

    def __init__(self) -> None:
        super().__init__()
        self.asked = asyncio.Event()

    async def get_dataset(self, dataset_id: UUID) -> Dataset | None:
        found = await super().get_dataset(dataset_id)
        self.asked.set()
        return found


class FullStore(MemoryStore):
    """Takes no lease back while its disk is full."""

    full = True

    async def release_lease(self, lease: Lease) -> None:
        if self.full:
            raise StoreFullError("no space is left")
        await super().release_lease(lease)


NAME = "from overstory.indexing.leasing import holder_name; print(holder_name('improve'))"


@pytest.fixture
async def registered() -> Dataset:
    return dataset()


async def test_a_lost_connection_does_not_end_the_renewals(registered: Dataset):
    store = FlakyStore(failures=3)
    await store.create_dataset(registered)

    async with writing(store, registered, "build", ttl_seconds=0.3):
        await asyncio.wait_for(store.renewed.wait(), 60)

    assert store.failures == 0


async def test_work_whose_lease_was_taken_over_is_cancelled(registered: Dataset):
    store = MemoryStore()
    await store.create_dataset(registered)

    async def work() -> None:
        async with writing(store, registered, "build", ttl_seconds=0.3) as held:
            await store.release_lease(held.lease)
            await store.acquire_lease(registered.id, "another", 60)
            await asyncio.sleep(30)

    with pytest.raises(LeaseLostError):
        await asyncio.wait_for(work(), 60)

    assert (await store.read_lease(registered.id)).holder == "another"


async def test_dropping_the_dataset_inside_is_no_loss(registered: Dataset):
    store = AskedStore()
    await store.create_dataset(registered)

    async with writing(store, registered, "forget", ttl_seconds=0.15):
        await store.drop_dataset(registered.id)
        store.asked.clear()
        await asyncio.wait_for(store.asked.wait(), 60)

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


async def test_a_lease_that_could_not_be_given_back_holds_nobody_up_in_this_process(registered: Dataset):
    store = FullStore()
    await store.create_dataset(registered)
    with pytest.raises(StoreFullError):
        async with writing(store, registered, "build", ttl_seconds=3_600) as first:
            await store.release_lease(first.lease)
    stored = await store.read_lease(registered.id)
    shown = await current_holder(store, registered.id)
    store.full = False

    async with writing(store, registered, "build", ttl_seconds=60) as second:
        token = second.lease.token

    assert stored is not None and stored.holder == first.lease.holder
    assert shown == ""
    assert token == first.lease.token + 1
    assert await store.read_lease(registered.id) is None


async def test_the_lease_of_a_killed_process_is_taken_over_and_its_holder_named(registered, caplog):
    store = MemoryStore()
    await store.create_dataset(registered)
    ended = subprocess.Popen([sys.executable, "-c", NAME], stdout=subprocess.PIPE, text=True)
    holder = ended.communicate()[0].strip()
    if not is_over(holder):
        pytest.skip("this system does not tell processes apart")
    first = await store.acquire_lease(registered.id, holder, 3_600)

    async with writing(store, registered, "improve", ttl_seconds=60) as held:
        assert held.lease.token == first.token + 1

    assert f"process {ended.pid}" in caplog.text
    assert f"since {first.acquired_at:%Y-%m-%d %H:%M:%S}" in caplog.text


async def test_a_holder_that_had_other_processes_help_it_is_waited_for(registered: Dataset):
    store = MemoryStore()
    await store.create_dataset(registered)
    program = NAME.replace("('improve')", "('improve', alone=False)")
    ended = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
    lease = await store.acquire_lease(registered.id, ended.communicate()[0].strip(), 3_600)

    with pytest.raises(DatasetBusyError, match=f"process {ended.pid}"):
        async with writing(store, registered, "improve", ttl_seconds=60):
            pass

    assert await store.read_lease(registered.id) == lease


async def test_two_works_of_one_process_are_two_holders(registered: Dataset):
    store = MemoryStore()
    await store.create_dataset(registered)

    async with writing(store, registered, "build", ttl_seconds=60):
        with pytest.raises(DatasetBusyError, match="build"):
            async with writing(store, registered, "build", ttl_seconds=60):
                pass

    assert await store.read_lease(registered.id) is None
