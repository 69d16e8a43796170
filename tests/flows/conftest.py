"""Whole datasets: made-up notes, and a model that does what a test wants."""

from collections.abc import Iterator

import pytest

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


@pytest.fixture
def model(monkeypatch: pytest.MonkeyPatch) -> Iterator[ScriptedModelServer]:
    """The model lane, answered by a script over real HTTP."""
    with ScriptedModelServer() as server:
        monkeypatch.setenv("LLM_MODEL", "openai/scripted")
        monkeypatch.setenv("LLM_ENDPOINT", server.url)
        monkeypatch.setenv("LLM_API_KEY", "test")
        monkeypatch.setenv("LLM_MAX_ATTEMPTS", "2")
        yield server
