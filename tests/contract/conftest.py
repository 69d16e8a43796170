"""One suite, every store. A further store is one more entry of `FACTORIES` with an async context manager.

`new_store(access_control=...)` opens a store on the test's own place; called again it opens the same place once
more where the store is persistent. Tests use only datasets of their own, so a store on a server may be used by
several tests at once.
"""

from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from overstory.models import Dataset
from overstory.settings import StoreSettings
from overstory.stores.contract import Store, Tenant
from overstory.stores.embedded import EmbeddedStore
from overstory.stores.memory import MemoryStore
from tests.contract.samples import Clock, dataset

NewStore = Callable[..., Any]


@asynccontextmanager
async def _memory(place: Path, clock: Clock, access_control: bool) -> AsyncIterator[Store]:
    yield MemoryStore(access_control=access_control, clock=clock)


@asynccontextmanager
async def _embedded(place: Path, clock: Clock, access_control: bool) -> AsyncIterator[Store]:
    store = EmbeddedStore(place, access_control=access_control, clock=clock, busy_seconds=5)
    try:
        yield store
    finally:
        await store.close()


@asynccontextmanager
async def _weaviate(place: str, clock: Clock, access_control: bool) -> AsyncIterator[Store]:
    from overstory.stores.weaviate import WeaviateStore

    store = WeaviateStore(StoreSettings(url=place, access_control=access_control), clock=clock, settle_seconds=0)
    try:
        yield store
    finally:
        await store.close()


FACTORIES: dict[str, Any] = {"memory": _memory, "embedded": _embedded, "weaviate": _weaviate}
MARKS: dict[str, Any] = {"weaviate": pytest.mark.weaviate}
"""Of a store that needs a server."""


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest_asyncio.fixture(params=[pytest.param(name, marks=MARKS.get(name, ())) for name in FACTORIES])
async def new_store(request: pytest.FixtureRequest, tmp_path: Path, clock: Clock) -> AsyncIterator[NewStore]:
    place = request.getfixturevalue("weaviate_url") if request.param == "weaviate" else tmp_path / "home"
    async with AsyncExitStack() as stack:

        async def open_one(*, access_control: bool = True) -> Store:
            return await stack.enter_async_context(FACTORIES[request.param](place, clock, access_control))

        yield open_one


@pytest_asyncio.fixture
async def store(new_store: NewStore) -> Store:
    return await new_store()


@pytest_asyncio.fixture
async def shared_store(new_store: NewStore) -> Store:
    """All datasets in one tenant."""
    return await new_store(access_control=False)


@pytest_asyncio.fixture
async def registered(store: Store) -> AsyncIterator[Dataset]:
    one = await store.create_dataset(dataset())
    yield one
    await store.drop_dataset(one.id)


@pytest_asyncio.fixture
async def tenant(store: Store, registered: Dataset) -> Tenant:
    return await store.tenant(registered)
