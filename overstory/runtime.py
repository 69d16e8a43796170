"""What a call works with: store, embedder and writer, opened once per event loop and closed when it ends."""

import asyncio
import os
import sys
import weakref
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, AsyncExitStack, nullcontext
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from overstory import telemetry, tracing
from overstory.errors import DatasetNotFoundError, EmbeddingMismatchError
from overstory.models import Dataset, Manifest
from overstory.settings import HASHING, MINILM, OFFLINE, Settings, store_scheme
from overstory.stores.contract import Store, Tenant
from overstory.stores.opening import open_store
from overstory.stores.watched import watched
from overstory.writer import Embedder, Writer

_MOST_FOUND = 10_000
_UNSTORED_A_CALL = 2
"""For each call that may run at once: itself, and one that is being stored."""
_ARROW_POOL = "ARROW_DEFAULT_MEMORY_POOL"


@dataclass(slots=True, kw_only=True)
class Runtime:
    settings: Settings
    store: Store
    embedder: Embedder
    writer: Writer
    unstored: AbstractAsyncContextManager[Any] = field(default_factory=nullcontext)
    """Room for a model's answer that is not stored yet: a kill costs no more of them, however slow the disk is."""
    found: dict[tuple[UUID, str | UUID], Dataset] = field(default_factory=dict)
    """What a user's name for a dataset last meant: a guess, to ask more at once."""
    _closers: AsyncExitStack = field(default_factory=AsyncExitStack)

    def keep_found(self, user_id: UUID, name: str | UUID, dataset: Dataset) -> None:
        if len(self.found) >= _MOST_FOUND:
            self.found.clear()
        self.found[user_id, name] = dataset

    async def close(self) -> None:
        """Close everything, whatever of it fails; the error is raised then."""
        await self._closers.aclose()


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenDataset:
    """One dataset, ready to be read and written."""

    dataset: Dataset
    tenant: Tenant
    runtime: Runtime

    async def manifest(self) -> Manifest:
        """Which generations of its index there are, and which one is served now."""
        return await self.runtime.store.read_manifest(self.dataset.id)


_Opened = dict[Settings, "asyncio.Task[Runtime]"]
_runtimes: "weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, _Opened]" = weakref.WeakKeyDictionary()


async def current_runtime(settings: Settings | None = None) -> Runtime:
    """The runtime of this event loop for these settings (read from the environment when not given)."""
    settings = settings or Settings.from_environment()
    loop = asyncio.get_running_loop()
    opened = _runtimes.get(loop)
    if opened is None:
        opened = _runtimes[loop] = {}
        await _close_with_loop(opened)
    opening = opened.get(settings)
    if opening is None:
        opening = opened[settings] = asyncio.create_task(asyncio.to_thread(_open, settings))
    try:
        return await asyncio.shield(opening)
    except Exception:
        if opened.get(settings) is opening:  # else somebody who waited too tries again already
            del opened[settings]
        raise


async def open_dataset(dataset_id: UUID, *, any_embedder: bool = False) -> OpenDataset:
    """Open a dataset by its id.

    With `any_embedder`, for work that compares and writes no vectors, also one with the vectors of another model.

    Raises:
        DatasetNotFoundError: it was dropped.
        EmbeddingMismatchError: its vectors are of another model than the settings name.
    """
    runtime = await current_runtime()
    dataset = await runtime.store.get_dataset(dataset_id)
    if dataset is None:
        raise DatasetNotFoundError(str(dataset_id))
    if not any_embedder:
        check_embedding(dataset, runtime.embedder)
    return OpenDataset(dataset=dataset, tenant=await runtime.store.tenant(dataset), runtime=runtime)


def check_embedding(dataset: Dataset, embedder: Embedder) -> None:
    stored = (dataset.embedding_model, dataset.embedding_dimensions)
    if stored != (embedder.model, embedder.dimensions):
        raise EmbeddingMismatchError(dataset.name, *stored, embedder.model, embedder.dimensions)


def _open(settings: Settings) -> Runtime:
    _give_memory_back()
    if settings.telemetry.traces:
        tracing.start()
    embedder = _embedder(settings)
    _ = embedder.dimensions  # a service may have to be asked, and is asked here, in a thread
    runtime = Runtime(settings=settings, store=_store(settings), embedder=embedder, writer=_writer(settings))
    if settings.models.model != OFFLINE:
        runtime.unstored = asyncio.Semaphore(_UNSTORED_A_CALL * settings.models.max_concurrency)
    if settings.models.model != OFFLINE or settings.embeddings.model not in {"", HASHING, MINILM}:
        from overstory import llm

        runtime._closers.push_async_callback(llm.close)
    runtime._closers.push_async_callback(runtime.store.close)
    return runtime


def _give_memory_back() -> None:
    """Let Arrow allocate as everybody does, unless its own setting says otherwise.

    Its own allocator keeps what threads had that have ended: half a megabyte a build, for good.
    """
    if _ARROW_POOL in os.environ:
        return
    if arrow := sys.modules.get("pyarrow"):
        arrow.set_memory_pool(arrow.system_memory_pool())
    else:
        os.environ[_ARROW_POOL] = "system"


def _store(settings: Settings) -> Store:
    store = open_store(settings.store)
    return watched(store, store_scheme(settings.store)) if telemetry.observed() else store


def _writer(settings: Settings) -> Writer:
    from overstory.offline.writer import OfflineWriter

    offline = OfflineWriter()
    if settings.models.model == OFFLINE:
        return offline
    from overstory.model_writer import ModelWriter

    return ModelWriter(settings.models, fallback=offline, attempts=settings.index.write_attempts)


def _embedder(settings: Settings) -> Embedder:
    name = settings.embeddings.model
    if name == HASHING:
        from overstory.offline.hashing import HashingEmbedder

        return HashingEmbedder(
            **({"dimensions": settings.embeddings.dimensions} if settings.embeddings.dimensions else {})
        )
    if name in {"", MINILM}:
        return _local_embedder(settings)
    from overstory.embeddings import LiteLLMEmbedder

    return LiteLLMEmbedder(settings.embeddings)


def _local_embedder(settings: Settings) -> Embedder:
    from overstory.offline import minilm

    if settings.embeddings.model == MINILM or minilm.local_embedder_available():
        return minilm.MiniLmEmbedder()
    return _embedder(
        settings.model_copy(update={"embeddings": settings.embeddings.model_copy(update={"model": HASHING})})
    )


async def _close_with_loop(opened: _Opened) -> None:
    """Close what was opened when the loop shuts its asynchronous generators down, as `asyncio.run` does at its end."""

    async def guard() -> AsyncIterator[None]:
        try:
            yield
        finally:
            async with AsyncExitStack() as closers:
                for opening in await asyncio.gather(*opened.values(), return_exceptions=True):
                    if isinstance(opening, Runtime):
                        closers.push_async_callback(opening.close)
                opened.clear()

    generator = guard()
    await anext(generator)
    _guards[asyncio.get_running_loop()] = generator


_guards: "weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, AsyncIterator[None]]" = weakref.WeakKeyDictionary()
