"""A server inside the test, and one of its own process."""

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path

import httpx
import pytest

from overstory.serve.app import make_app
from overstory.serve.options import ServeOptions
from overstory.testing import ScriptedModelServer

NOTES = [
    ("notes/launch.md", "2026-03-01", "Ada Brook moved the launch of Northstar to 9 June. The council was told."),
    ("notes/team.md", "2026-03-02", "Luis Ortega tests Northstar in Porto. Ada Brook leads the team."),
    ("notes/money.md", "2026-03-03", "The budget of Northstar is 240,000 euros. Porto pays half of it."),
    ("notes/boat.md", "2026-03-04", "Marta Silva welds the hull of the boat. The hull is made of larch."),
    ("notes/permit.md", "2026-03-05", "The river authority gave the permit. Luis Ortega signed it."),
    ("notes/fares.md", "2026-03-06", "A crossing costs two euros. Children of Porto pay nothing."),
]


def texts(extra: list[dict[str, object]] | None = None) -> list[dict[str, object]]:
    return [{"source": s, "occurred_at": d, "text": t} for s, d, t in NOTES] + (extra or [])


MakeClient = Callable[..., httpx.AsyncClient]


@pytest.fixture
async def make_client(plain_environment: Path) -> AsyncIterator[MakeClient]:
    opened: list[httpx.AsyncClient] = []

    def make(**options: object) -> httpx.AsyncClient:
        app = make_app(ServeOptions(home=plain_environment, **options))  # type: ignore[arg-type]  # by name
        transport = httpx.ASGITransport(app, raise_app_exceptions=False)
        opened.append(httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1"))
        return opened[-1]

    yield make
    for client in opened:
        await client.aclose()


@pytest.fixture
async def client(make_client: MakeClient) -> httpx.AsyncClient:
    """Of the default user, without a key."""
    return make_client()


@pytest.fixture
async def built(client: httpx.AsyncClient) -> httpx.AsyncClient:
    """With a dataset `notes` that has an index."""
    remembered = await client.post("/v1/remember", json={"dataset": "notes", "texts": texts()})
    improved = await client.post("/v1/improve", json={"dataset": "notes"})
    assert (remembered.status_code, improved.status_code) == (200, 200), improved.text
    return client


@pytest.fixture
def model(monkeypatch: pytest.MonkeyPatch) -> Iterator[ScriptedModelServer]:
    with ScriptedModelServer() as server:
        for name, value in {
            "LLM_MODEL": "openai/scripted",
            "LLM_ENDPOINT": server.url,
            "LLM_MAX_ATTEMPTS": "1",
            "LLM_INPUT_USD_PER_MILLION": "1",
            "LLM_OUTPUT_USD_PER_MILLION": "4",
        }.items():
            monkeypatch.setenv(name, value)
        yield server


class Process:
    """`overstory serve` in a process of its own."""

    def __init__(self, home: Path, *arguments: str) -> None:
        program = [sys.executable, "-c", "from overstory.cli import main; main()", "serve", "--port", "0", "--json"]
        environment = {"EMBEDDING_MODEL": "hashing", **os.environ, "OVERSTORY_HOME": str(home)}
        self.process = subprocess.Popen([*program, *arguments], env=environment, stdout=subprocess.PIPE, text=True)
        assert self.process.stdout is not None
        self.url: str = json.loads(self.process.stdout.readline())["url"]

    def kill(self) -> None:
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGKILL)
        self.process.wait()
        if self.process.stdout:
            self.process.stdout.close()


@pytest.fixture
def start_server(tmp_path: Path) -> Iterator[Callable[..., Process]]:
    started: list[Process] = []

    def start(*arguments: str) -> Process:
        started.append(Process(tmp_path / "served", *arguments))
        return started[-1]

    yield start
    for one in started:
        one.kill()


def chromium() -> tuple[str, str]:
    """Where Chromium and its driver are; the test is skipped, loudly, where they are not."""
    found = shutil.which("chromium") or shutil.which("google-chrome"), shutil.which("chromedriver")
    if not all(found):
        pytest.skip("no browser here: install chromium and chromium-driver")
    return found  # type: ignore[return-value]  # both were found
