"""Whole datasets: made-up notes, and a model that does what a test wants."""

import asyncio
from collections.abc import Iterator

import pytest

from overstory import forget, remember
from overstory.settings import StoreSettings
from overstory.stores.opening import open_store
from overstory.testing import ScriptedModelServer

PEOPLE = ["Anna Hofer", "Luis Ortega", "Mira Sand", "Tom Weller", "Ines Prado", "Joel Baker"]
THINGS = ["Northstar", "Bluebird", "Granite", "Lantern", "Harbour", "Meadow"]
PLACES = ["Porto", "Bergen", "Ghent", "Turin"]


def notes(count: int, first: int = 0) -> list[str]:
    """Different short notes whose names overlap."""
    return [
        f"Note {i}: {PEOPLE[i % 6]} reviewed the {THINGS[(i // 2) % 6]} plan in {PLACES[(i // 3) % 4]} "
        f"and asked for {i + 3} changes."
        for i in range(first, first + count)
    ]


async def make_empty(dataset: str) -> None:
    """A dataset that all documents have left."""
    [document] = (await remember("Anna Hofer leads Northstar.", dataset)).documents
    await forget(dataset, document=document.source)


@pytest.fixture
def model(monkeypatch: pytest.MonkeyPatch) -> Iterator[ScriptedModelServer]:
    """The model lane, answered by a script over real HTTP."""
    with ScriptedModelServer() as server:
        monkeypatch.setenv("LLM_MODEL", "openai/scripted")
        monkeypatch.setenv("LLM_ENDPOINT", server.url)
        monkeypatch.setenv("LLM_API_KEY", "test")
        monkeypatch.setenv("LLM_MAX_ATTEMPTS", "2")
        yield server


ON_FILES = {
    "test_stops",
    "test_deployments",
    "test_isolation",
    "test_export_and_import_give_the_same_dataset",
    "test_the_proof_names_what_it_finds_in_conversations_too",
}
"""Modules and tests that look at files of the embedded store, or choose their stores themselves."""


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Every other test of a whole dataset runs on every store that lasts."""
    names = {metafunc.module.__name__.rpartition(".")[2], metafunc.function.__name__}
    server = [] if names & ON_FILES else [pytest.param("weaviate", marks=pytest.mark.weaviate)]
    metafunc.parametrize("store_kind", ["embedded", *server], indirect=True)


@pytest.fixture(autouse=True)
def store_kind(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, plain_environment: object
) -> Iterator[str]:
    """The store that the settings name; what a test made on a server goes at its end."""
    if request.param == "weaviate":
        settings = StoreSettings(url=request.getfixturevalue("weaviate_url"))
        monkeypatch.setenv("OVERSTORY_STORE_URL", settings.url)
        yield "weaviate"
        asyncio.run(_drop_everything(settings))
    else:
        yield "embedded"


async def _drop_everything(settings: StoreSettings) -> None:
    store = open_store(settings)
    for dataset in await store.list_datasets():
        await store.drop_dataset(dataset.id)
    await store.close()
