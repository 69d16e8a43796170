"""More records of datasets than the server lists for one request."""

import json
from datetime import UTC, datetime
from uuid import UUID, uuid4

import pytest
import pytest_asyncio
from weaviate.classes.data import DataObject

from overstory.models import Dataset, Permission
from overstory.settings import StoreSettings
from overstory.stores import leases
from overstory.stores.weaviate import WeaviateStore, registry, writing
from overstory.stores.weaviate.janitor import cool, find_strays
from tests.contract.samples import dataset

MANY = 10_400
AT_ONCE = 2_600


@pytest.fixture
def settings(url: str) -> StoreSettings:
    return StoreSettings(url=url, cold_after_days=30)


@pytest.fixture
def reader() -> UUID:
    return uuid4()


@pytest_asyncio.fixture
async def datasets(store: WeaviateStore, reader: UUID) -> list[Dataset]:
    """Very many of one owner, each written a moment ago, and all readable by another user; without tenants."""
    owner = uuid4()
    made = [dataset(f"set {number:05d}", owner=owner) for number in range(MANY)]
    link = await store._connections.link()
    objects = [part for one in made for part in (_registered(one), _granted(one, reader), _leased(one))]
    for start in range(0, len(objects), AT_ONCE):
        await writing.put_objects(link, link.registry, "registry", objects[start : start + AT_ONCE])
    return made


def _registered(one: Dataset) -> DataObject:
    body = json.dumps({"dropped": 0, "dataset": registry._of(Dataset).dump_python(one, mode="json")})
    given = {"status": registry.ACTIVE, "user_id": one.owner_id}
    return _object(registry.name_key(one.owner_id, one.name), registry.DATASET, one, body, **given)


def _granted(one: Dataset, reader: UUID) -> DataObject:
    body = json.dumps([Permission.READ.value])
    return _object(registry._grant_key(one.id, reader), registry.GRANT, one, body, user_id=reader)


def _leased(one: Dataset) -> DataObject:
    record = leases.acquire(None, one.id, one.name, "a", 60, datetime.now(UTC))
    body = registry._of(registry._Held).dump_json(registry._Held(record=record, nonce="")).decode()
    return _object(registry._lease_key(one.id), registry.LEASE, one, body)


def _object(key: UUID, record: str, one: Dataset, body: str, **more: object) -> DataObject:
    return DataObject(uuid=key, properties={"record": record, "dataset_id": one.id, "body": body, **more})


async def test_very_many_datasets_are_listed_and_looked_after(store, settings, reader, datasets):
    strays = await find_strays(settings)
    cooled = await cool(settings)

    assert await store.list_datasets() == datasets
    assert await store.list_datasets(datasets[0].owner_id) == datasets
    assert await store.list_datasets(reader) == datasets
    assert await store.permissions(datasets[-1].id, reader) == {Permission.READ}
    assert strays.without_tenant == {one.id for one in datasets}
    assert (strays.tenants, strays.half_dropped, strays.records, cooled) == (set(), set(), set(), set())
