"""A writer that dies between any two of its writes, and a server that dies under it: readers see whole indexes."""

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from uuid import UUID

import pytest

from overstory import OverstoryError, SourceDocument, datasets, forget, improve, recall, remember
from overstory.errors import DatasetNotFoundError
from overstory.models import KINDS, Lease
from overstory.runtime import current_runtime
from overstory.stores.weaviate import WeaviateStore
from overstory.stores.weaviate.tenant import WeaviateTenant
from overstory.testing import ScriptedModelServer, slow
from tests.cutting import line_cut_after
from tests.flows.conftest import notes
from tests.weaviate.stopping import DROP_WRITES, stopped_drop

QUESTION = "What did Anna Hofer ask for in Porto?"
WITH_INDEX = {"include_global_context_index": True}
CANARY = "zorblaxite"
STEP = 1 if os.environ.get("OVERSTORY_TEST_EVERY_STOP") else 5
"""Which writes to die after: each of them takes minutes."""
IN_FLIGHT = 32
"""Texts of one batch, which may be paid for and not yet stored when the server dies."""


@pytest.fixture(autouse=True)
def on_the_server(monkeypatch: pytest.MonkeyPatch, url: str, plain_environment: object) -> str:
    monkeypatch.setenv("OVERSTORY_STORE_URL", url)
    return url


async def build():
    return (await improve("notes", build_global_context_index=True, wait_seconds=5)).index


async def free_the_lease() -> None:
    """As its expiry would."""
    store = (await current_runtime()).store
    (dataset,) = await datasets.list_datasets()
    held: Lease | None = await store.read_lease(dataset.id)
    if held:
        await store.release_lease(held)


async def whole_index() -> int:
    """The number of the generation that a reader sees, which is whole."""
    assert await datasets.verify("notes") == []
    shown = await datasets.tree("notes")
    status = await datasets.status("notes")
    assert len(shown) == sum(status.level_sizes) + 1
    [found] = await recall(
        QUESTION, "GRAPH_COMPLETION", datasets="notes", only_context=True, retriever_specific_config=WITH_INDEX
    )
    assert "World summary:" in found.text
    return status.generation


async def test_a_build_that_dies_anywhere_leaves_the_old_index_or_the_new_one(on_the_server):
    await remember(notes(6), "notes", self_improvement=False)
    await build()
    stops = 0

    for writes in range(0, 100, STEP):
        await remember(notes(1, first=10 + writes), "notes", self_improvement=False)
        before = await whole_index()
        with line_cut_after(writes, WeaviateStore, WeaviateTenant) as line, suppress(OverstoryError):
            await build()
        if not line.cut:
            break
        stops += 1
        assert await whole_index() >= before
        await free_the_lease()
        await build()
        await whole_index()
        assert (await datasets.status("notes")).unpublished == 0
        assert (await datasets.status("notes")).pending == 0

    assert stops >= 2


async def test_forgetting_that_dies_anywhere_is_finished_by_the_next(on_the_server):
    await remember(notes(6), "notes", self_improvement=False)
    stops = 0

    for writes in range(0, 100, STEP):
        text = f"The {CANARY} number {writes} was found by Anna Hofer in Porto."
        await remember(SourceDocument(text, source="c.md"), "notes", self_improvement=False)
        await build()
        with line_cut_after(writes, WeaviateStore, WeaviateTenant) as line, suppress(OverstoryError):
            await forget("notes", document="c.md")
        if not line.cut:
            break
        stops += 1
        await datasets.verify("notes")
        await free_the_lease()
        with suppress(OverstoryError):  # where the first one had got to its last write
            await forget("notes", document="c.md")
        assert await datasets.verify("notes") == []
        assert CANARY not in str(await datasets.tree("notes"))
        found = await recall(f"Where was the {CANARY}?", "GRAPH_COMPLETION", datasets="notes", only_context=True)
        assert CANARY not in str([one.evidence for one in found])

    assert stops >= 2


@pytest.mark.parametrize("writes", range(1, DROP_WRITES))
async def test_a_dataset_that_is_half_removed_is_removed_whole_by_the_next_forget(on_the_server, writes):
    await remember(f"The {CANARY} was found by Anna Hofer in Porto.", "notes", self_improvement=False)
    (old,) = await datasets.list_datasets()
    store = (await current_runtime()).store
    assert await stopped_drop(store, old.id, writes)

    assert await datasets.list_datasets() == []
    with pytest.raises(DatasetNotFoundError):
        await forget("notes", user="somebody else")
    result = await forget("notes")

    assert result.dataset == "notes"
    assert await left_of(old.id) == []
    with pytest.raises(DatasetNotFoundError):
        await forget("notes")
    await remember("Another one.", "notes", self_improvement=False)
    assert (await datasets.status("notes")).documents == 1
    assert await store.next_occurrence(old.owner_id, "notes") == 1


async def left_of(dataset_id: UUID) -> list[str]:
    """Kinds of rows of which the server still has the tenant of a dataset."""
    link = await (await current_runtime()).store._connections.link()
    return [k.__name__ for k in KINDS if str(dataset_id) in await link.read(link.collection(k).tenants.get)]


_BUILDER = """
import asyncio
from overstory import improve
asyncio.run(improve("notes", build_global_context_index=True))
"""
_WRITTEN = (1, 3, 6)
"""After so many texts of the model, a builder is killed."""
_SECONDS = 120


async def asked_for(model: ScriptedModelServer, calls: int, running: Callable[[], bool]) -> None:
    """Wait until the model was asked for so many more areas; what is to be stopped must be running then."""
    ends = time.monotonic() + _SECONDS
    while len(model.chats) < calls:
        assert running(), "it ended before it could be stopped"
        assert time.monotonic() < ends, "the model is not asked"
        await asyncio.sleep(0.01)
    assert running(), "it ended before it could be stopped"


async def test_a_builder_that_is_killed_is_followed_by_one_that_ends_it(on_the_server, monkeypatch, model):
    monkeypatch.setenv("OVERSTORY_LEASE_SECONDS", "1")
    await remember(notes(60), "notes", self_improvement=False)
    await build()
    for written in _WRITTEN:
        await remember(notes(30, first=1_000 * written), "notes", self_improvement=False)
        before = await whole_index()
        model.forget()
        model.when(slow(0.5), schema="AreaAnswer")
        process = subprocess.Popen([sys.executable, "-c", _BUILDER], env=dict(os.environ))
        try:
            await asked_for(model, written, lambda: process.poll() is None)  # noqa: B023 - waited for here
        finally:
            process.send_signal(signal.SIGKILL)
            process.wait()
        model.behave()

        assert await whole_index() >= before
        await build()
        assert (await datasets.status("notes")).pending == 0
        await whole_index()


async def test_a_server_that_dies_under_a_build_is_waited_for_and_lost_nothing(own_server, monkeypatch, model):
    monkeypatch.setenv("OVERSTORY_STORE_URL", own_server.url)
    await remember(notes(60), "notes", self_improvement=False)
    known = (await datasets.status("notes")).chunks
    calls_before = len(model.chats)
    model.when(slow(0.5), schema="AreaAnswer")

    building = asyncio.create_task(build())
    await asked_for(model, calls_before + 2, lambda: not building.done())
    await asyncio.to_thread(own_server.kill)
    await asyncio.to_thread(own_server.start)
    with suppress(OverstoryError):  # where the restart took longer than a write waits
        await building
    model.behave()
    await free_the_lease()
    index = await build()

    assert (await datasets.status("notes")).chunks == known
    status = await datasets.status("notes")
    written = len(model.chats) - calls_before
    assert written <= sum(status.level_sizes) + 1 + IN_FLIGHT
    assert index is not None
    await whole_index()
