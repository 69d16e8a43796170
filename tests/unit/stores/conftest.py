from pathlib import Path

import pytest
import pytest_asyncio

from overstory.models import Dataset
from overstory.stores.embedded import EmbeddedStore
from overstory.stores.embedded.tenant import EmbeddedTenant
from tests.contract.samples import Clock, dataset


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


@pytest_asyncio.fixture
async def store(home: Path):
    opened = EmbeddedStore(home, clock=Clock(), busy_seconds=5)
    yield opened
    await opened.close()


@pytest_asyncio.fixture
async def registered(store: EmbeddedStore) -> Dataset:
    return await store.create_dataset(dataset())


@pytest_asyncio.fixture
async def tenant(store: EmbeddedStore, registered: Dataset) -> EmbeddedTenant:
    return await store.tenant(registered)


@pytest.fixture
def path(home: Path, registered: Dataset) -> Path:
    """The dataset's file."""
    return home / "datasets" / f"{registered.id}.db"
