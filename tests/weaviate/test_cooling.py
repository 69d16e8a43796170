"""Datasets that nobody has written for long leave the server's memory, and are there again when they are asked for."""

from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest

from overstory.models import KINDS, Entity
from overstory.settings import StoreSettings
from overstory.stores.weaviate import WeaviateStore
from overstory.stores.weaviate.connecting import Link
from overstory.stores.weaviate.janitor import cool
from tests.contract.samples import dataset, random_vectors, row, unit

MONTH = 30.0


async def activity(store: WeaviateStore, dataset_id: UUID) -> set[str]:
    link: Link = await store._connections.link()
    tenants = [await link.collection(kind).tenants.get_by_name(str(dataset_id)) for kind in KINDS]
    return {tenant.activity_status.name for tenant in tenants if tenant}


@pytest.fixture
def settings(url: str) -> StoreSettings:
    return StoreSettings(url=url, cold_after_days=MONTH)


async def filled(store: WeaviateStore):
    created = await store.create_dataset(dataset())
    await (await store.tenant(created)).put([row(Entity, created.id, name="Ferry")], random_vectors(1))
    lease = await store.acquire_lease(created.id, "a", 60)
    await store.release_lease(lease)
    return created


@pytest.mark.parametrize("days", [31, 29])
async def test_only_what_was_not_written_for_so_long_is_cooled(store, settings, clock, days):
    clock.now = datetime.now(UTC) - timedelta(days=days)
    created = await filled(store)

    cooled = await cool(settings)

    assert cooled == ({created.id} if days > MONTH else frozenset())
    assert await activity(store, created.id) == ({"INACTIVE"} if days > MONTH else {"ACTIVE"})


async def test_a_cold_dataset_is_read_and_written_as_any_other(store, settings, clock):
    clock.now = datetime.now(UTC) - timedelta(days=365)
    created = await filled(store)
    await cool(settings)
    tenant = await store.tenant(created)

    hits = await tenant.search_vectors(Entity, unit(1), 5)
    await tenant.put([row(Entity, created.id, name="Barge")], random_vectors(1, seed=2))

    assert len(hits) == 1
    assert await tenant.count(Entity) == 2
    assert "ACTIVE" in await activity(store, created.id)


async def test_a_cold_dataset_can_be_dropped(store, settings, clock):
    clock.now = datetime.now(UTC) - timedelta(days=365)
    created = await filled(store)
    await cool(settings)

    await store.drop_dataset(created.id)

    assert await activity(store, created.id) == set()


async def test_nothing_is_cooled_where_the_setting_is_not_set(store, settings, clock):
    clock.now = datetime.now(UTC) - timedelta(days=365)
    created = await filled(store)

    assert await cool(settings.model_copy(update={"cold_after_days": 0.0})) == frozenset()
    assert await activity(store, created.id) == {"ACTIVE"}
