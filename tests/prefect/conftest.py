"""One real Prefect server for all of these tests, with one worker, and a model that does what a test wants."""

import os
from collections.abc import Iterator
from importlib.util import find_spec

import pytest

from overstory.testing import ScriptedModelServer
from tests.prefect_server import PrefectServer


def pytest_itemcollected(item: pytest.Item) -> None:
    """Called for the tests of this folder."""
    if find_spec("prefect") is None:
        item.add_marker(pytest.mark.skip(reason="needs the extra `prefect`"))


LONG = pytest.mark.skipif(
    not os.environ.get("OVERSTORY_TEST_PREFECT_LONG"), reason="takes a minute: `make prefect-check`"
)


@pytest.fixture(scope="session")
def shared_model() -> Iterator[ScriptedModelServer]:
    with ScriptedModelServer() as server:
        yield server


@pytest.fixture(scope="session")
def model_environment(shared_model: ScriptedModelServer) -> dict[str, str]:
    return {
        "LLM_MODEL": "openai/scripted",
        "LLM_ENDPOINT": shared_model.url,
        "LLM_API_KEY": "test",
        "LLM_MAX_ATTEMPTS": "2",
    }


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory, model_environment: dict[str, str]) -> Iterator[PrefectServer]:
    """The server alone, for calls of the library."""
    running = PrefectServer(tmp_path_factory.mktemp("prefect"), {**model_environment, "OVERSTORY_LEASE_SECONDS": "6"})
    try:
        running.start()
        yield running
    finally:
        running.stop()


@pytest.fixture(scope="session")
def _deployed(server: PrefectServer) -> PrefectServer:
    server.deploy()
    server.start_worker()
    return server


@pytest.fixture
def deployed(_deployed: PrefectServer, same_home: None) -> PrefectServer:
    """The server with prefect.yaml deployed and a worker."""
    return _deployed


@pytest.fixture
def model(
    shared_model: ScriptedModelServer, model_environment: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> ScriptedModelServer:
    """The model that the worker uses too, without a script and without memory."""
    shared_model.behave()
    shared_model.forget()
    for name, value in model_environment.items():
        monkeypatch.setenv(name, value)
    return shared_model


@pytest.fixture
def same_home(server: PrefectServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """Plain calls of the test see the data of the worker."""
    monkeypatch.setenv("OVERSTORY_HOME", str(server.home))
