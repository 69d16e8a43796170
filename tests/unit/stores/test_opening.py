import asyncio
import subprocess
import sys

import pytest

from overstory.errors import ConfigurationError
from overstory.settings import StoreSettings
from overstory.stores.embedded import EmbeddedStore
from overstory.stores.memory import MemoryStore
from overstory.stores.opening import open_store
from tests.contract.samples import dataset


def test_the_embedded_store_is_opened_below_the_home(tmp_path):
    store = open_store(StoreSettings(home=tmp_path / "home"))

    assert isinstance(store, EmbeddedStore)
    assert (tmp_path / "home" / "registry.db").exists()
    asyncio.run(store.close())


def test_a_memory_store_is_shared_by_its_name():
    first, again = (open_store(StoreSettings(url="memory://shared-name")) for _ in range(2))

    other = open_store(StoreSettings(url="memory://other-name"))

    assert isinstance(first, MemoryStore)
    assert first is again
    assert first is not other


def test_closing_a_memory_store_keeps_it_for_whoever_shares_the_name():
    store = open_store(StoreSettings(url="memory://kept"))
    created = asyncio.run(store.create_dataset(dataset()))

    asyncio.run(store.close())

    assert asyncio.run(open_store(StoreSettings(url="memory://kept")).get_dataset(created.id)) == created


def test_an_unknown_kind_of_store_is_refused():
    with pytest.raises(ConfigurationError, match="OVERSTORY_STORE_URL"):
        open_store(StoreSettings(url="postgres://localhost"))


@pytest.mark.parametrize(
    ("module", "unwanted"),
    [
        ("overstory.stores.opening", ["apsw", "weaviate", "pyarrow"]),
        ("overstory.stores.embedded", ["weaviate", "pyarrow"]),
        ("overstory.stores.memory", ["apsw", "pyarrow"]),
    ],
)
def test_importing_loads_no_other_stores_packages(module, unwanted):
    code = f"import sys, {module}; print([name for name in {unwanted} if name in sys.modules])"

    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert said.stdout.strip() == "[]"
