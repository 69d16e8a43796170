"""What stands in for transactions: drops that stop anywhere, leases that several ask for at once, strays."""

import asyncio
from dataclasses import replace
from uuid import uuid4

import pytest

from overstory.errors import DatasetBusyError, DatasetNotFoundError, LeaseLostError, StoreUnavailableError
from overstory.models import KINDS, Entity, Manifest, Permission
from overstory.settings import StoreSettings
from overstory.stores.weaviate import WeaviateStore, registry
from overstory.stores.weaviate.connecting import Connections
from overstory.stores.weaviate.janitor import find_strays, remove_strays
from tests.contract.samples import dataset, row
from tests.weaviate.stopping import DROP_WRITES, stopped_drop


async def _filled(store):
    created = await store.create_dataset(dataset("canary set"))
    await (await store.tenant(created)).put([row(Entity, created.id, name="canary")])
    await store.grant(created.id, uuid4(), [Permission.READ])
    lease = await store.acquire_lease(created.id, "a", 60)
    await store.write_manifest(Manifest(dataset_id=created.id, serving=1), lease)
    return created


@pytest.mark.parametrize("writes", range(DROP_WRITES))
async def test_a_drop_that_stops_anywhere_hides_the_dataset_and_is_finished_by_the_next(store, writes):
    created = await _filled(store)

    stopped = await stopped_drop(store, created.id, writes)

    assert stopped
    assert await store.get_dataset(created.id) == (created if writes == 0 else None)
    if writes:
        assert created not in await store.list_datasets(created.owner_id)
        assert await store.next_occurrence(created.owner_id, created.name) == 1
        with pytest.raises(DatasetNotFoundError):
            await store.acquire_lease(created.id, "b", 60)
    await store.drop_dataset(created.id)
    await store.drop_dataset(created.id)
    link = await store._connections.link()
    assert await registry.of_id(link, created.id) is None
    assert created.id not in await registry.datasets_with_records(link)
    assert not any([await link.collection(kind).tenants.exists(str(created.id)) for kind in KINDS])
    assert await store.next_occurrence(created.owner_id, created.name) == 1


async def test_making_a_dataset_of_a_half_dropped_name_finishes_the_drop_first(store):
    old = await _filled(store)
    await stopped_drop(store, old.id, 2)

    new = await store.create_dataset(dataset(old.name, owner=old.owner_id))

    assert new.id != old.id
    assert await store.list_datasets(old.owner_id) == [new]
    assert await (await store.tenant(new)).count(Entity) == 0
    link = await store._connections.link()
    assert not await link.collection(Entity).tenants.exists(str(old.id))
    await store.drop_dataset(new.id)
    assert await store.next_occurrence(old.owner_id, old.name) == 2


async def test_a_dropped_name_leaves_no_name_behind(store):
    created = await store.create_dataset(dataset("a telling name"))

    await store.drop_dataset(created.id)

    link = await store._connections.link()
    left = await registry._by_key(link, [registry.name_key(created.owner_id, created.name)])
    assert "telling" not in str(left)
    assert str(created.owner_id) not in str(left)


async def test_two_stores_that_make_one_name_at_once_get_one_dataset(settings, store):
    other = WeaviateStore(settings)
    owner = uuid4()

    first, second = await asyncio.gather(
        store.create_dataset(dataset("race", owner=owner)), other.create_dataset(dataset("race", owner=owner))
    )

    (standing,) = await store.list_datasets(owner)
    assert standing in (first, second)
    assert await (await store.tenant(standing)).count(Entity) == 0
    await store.drop_dataset(standing.id)
    await other.close()


# --- leases ----------------------------------------------------------------------------------------


async def test_of_many_that_ask_at_once_one_gets_the_lease(settings):
    stores = [WeaviateStore(settings, settle_seconds=0.3) for _ in range(6)]
    created = await stores[0].create_dataset(dataset())

    asked = await asyncio.gather(
        *(one.acquire_lease(created.id, f"holder {i}", 60) for i, one in enumerate(stores)), return_exceptions=True
    )

    held = [lease for lease in asked if not isinstance(lease, BaseException)]
    assert len(held) == 1
    assert all(isinstance(other, DatasetBusyError) for other in asked if other is not held[0])
    assert await stores[0].read_lease(created.id) == held[0]
    await stores[0].drop_dataset(created.id)
    for one in stores:
        await one.close()


async def test_whose_lease_was_overwritten_may_neither_renew_nor_publish(store, registered):
    """Two wrote within one read of each other, so that both have the same token."""
    mine = await store.acquire_lease(registered.id, "first", 60)
    link = await store._connections.link()
    record = await registry.read_lease(link, registered.id)
    await registry.change_lease(link, registered.id, lambda _: replace(record, holder="second"), settle_seconds=0)

    with pytest.raises(LeaseLostError):
        await store.renew_lease(mine, 60)
    with pytest.raises(LeaseLostError):
        await store.write_manifest(Manifest(dataset_id=registered.id, serving=1), mine)

    assert (await store.read_manifest(registered.id)).serving == 0


# --- strays ----------------------------------------------------------------------------------------


async def test_strays_are_found_and_only_they_are_removed(url):
    settings = StoreSettings(url=url)
    store = WeaviateStore(settings, settle_seconds=0)
    kept, half, lost = [await _filled_as(store, name) for name in ("kept", "half", "lost")]
    await stopped_drop(store, half.id, 2)
    link = await store._connections.link()
    await link.collection(Entity).tenants.create(["nobodys"])
    await link.collection(Entity).tenants.remove([str(lost.id)])

    found = await find_strays(settings)
    removed = await remove_strays(settings, grace_seconds=0)

    assert (found.tenants, found.half_dropped, found.without_tenant) == ({"nobodys"}, {half.id}, {lost.id})
    assert removed == found
    after = await find_strays(settings)
    assert (after.tenants, after.half_dropped, after.records) == (set(), set(), set())
    assert {d.id for d in await store.list_datasets()} == {kept.id, lost.id}
    assert await (await store.tenant(kept)).count(Entity) == 1
    await store.close()


async def test_a_store_that_can_not_be_closed_leaves_no_connection_open(url, monkeypatch):
    linked, closed = set(), set()
    link, close = Connections.link, Connections.close

    async def links(self):
        linked.add(self)
        return await link(self)

    async def closes(self):
        closed.add(self)
        await close(self)

    async def fails(self):
        raise StoreUnavailableError("the connection is gone")

    monkeypatch.setattr(Connections, "link", links)
    monkeypatch.setattr(Connections, "close", closes)
    monkeypatch.setattr(WeaviateStore, "close", fails)

    with pytest.raises(StoreUnavailableError):
        await remove_strays(StoreSettings(url=url), grace_seconds=0)

    assert len(closed) == 3
    assert closed == linked


async def _filled_as(store, name):
    created = await store.create_dataset(dataset(name))
    await (await store.tenant(created)).put([row(Entity, created.id)])
    return created


async def test_a_clean_store_has_no_strays(url):
    store = WeaviateStore(StoreSettings(url=url), settle_seconds=0)
    created = await _filled(store)
    await store.drop_dataset(created.id)
    await _filled_as(store, "there")

    found = await find_strays(StoreSettings(url=url))

    assert not any((found.tenants, found.half_dropped, found.without_tenant, found.records))
    await store.close()
