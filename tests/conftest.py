"""What every test stands on: its own home, no model service, no orchestration."""

import os
from pathlib import Path

import pytest
from hypothesis import settings

from tests.weaviate_server import weaviate_url

_OURS = ("OVERSTORY_", "LLM_", "EMBEDDING_", "PREFECT_", "WEAVIATE_", "ENABLE_BACKEND_")
_KEPT = ("OVERSTORY_TEST_", "PREFECT_TEST_")

settings.register_profile("busy machine", deadline=None)  # how long an example takes says nothing of the code
settings.load_profile("busy machine")


@pytest.fixture(autouse=True)
def plain_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A fresh home, offline writer, hashing embedder; a stray flow call can't start a Prefect server."""
    for name in os.environ:
        if name.startswith(_OURS) and not name.startswith(_KEPT):
            monkeypatch.delenv(name)
    home = tmp_path / "home"
    monkeypatch.setenv("OVERSTORY_HOME", str(home))
    monkeypatch.setenv("EMBEDDING_MODEL", "hashing")
    monkeypatch.setenv("PREFECT_SERVER_EPHEMERAL_ENABLED", "false")
    monkeypatch.setenv("PREFECT_HOME", str(tmp_path / "prefect"))
    return home


__all__ = ["weaviate_url"]
