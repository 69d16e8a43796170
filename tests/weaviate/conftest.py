"""Stores on a real server, and a server that a test may kill."""

from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from uuid import uuid4

import pytest
import pytest_asyncio

from overstory.models import Dataset
from overstory.settings import StoreSettings
from overstory.stores.weaviate import WeaviateStore
from overstory.stores.weaviate.tenant import WeaviateTenant
from tests.contract.samples import Clock, dataset
from tests.flows.conftest import model
from tests.weaviate_server import WeaviateServer, started


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if Path(__file__).parent in item.path.parents and "weaviate_url" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.weaviate)


@pytest.fixture
def url(weaviate_url: str) -> str:
    """The server, with collections of this test alone."""
    return f"{weaviate_url.partition('prefix=')[0]}prefix=Alone{uuid4().hex[:8]}"


@pytest.fixture
def settings(weaviate_url: str) -> StoreSettings:
    return StoreSettings(url=weaviate_url)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest_asyncio.fixture
async def store(settings: StoreSettings, clock: Clock) -> AsyncIterator[WeaviateStore]:
    opened = WeaviateStore(settings, clock=clock, settle_seconds=0)
    yield opened
    await opened.close()


@pytest_asyncio.fixture
async def registered(store: WeaviateStore) -> AsyncIterator[Dataset]:
    one = await store.create_dataset(dataset())
    yield one
    await store.drop_dataset(one.id)


@pytest_asyncio.fixture
async def tenant(store: WeaviateStore, registered: Dataset) -> WeaviateTenant:
    return await store.tenant(registered)


@pytest.fixture(scope="module")
def own_server() -> Iterator[WeaviateServer]:
    """A server that nobody else uses."""
    yield from started()


__all__ = ["model"]
