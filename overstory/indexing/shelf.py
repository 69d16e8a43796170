"""Storing what comes, as it comes."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Generic, TypeVar

T = TypeVar("T")


class Shelf(Generic[T]):
    """Stores things as they come: one at a time when they come slowly, many at once when they come fast."""

    def __init__(self, store: Callable[[Sequence[T]], Awaitable[None]]) -> None:
        self._store = store
        self._waiting: list[tuple[T, asyncio.Future[None]]] = []
        self._worker: asyncio.Task[None] | None = None

    async def put(self, thing: T) -> None:
        """Store a thing; returns when it is durable, and raises what storing it raised."""
        stored = asyncio.get_running_loop().create_future()
        self._waiting.append((thing, stored))
        if self._worker is None or self._worker.done():
            self._worker = asyncio.create_task(self._work())
        await stored

    async def close(self) -> None:
        """Wait until nothing is being stored."""
        if self._worker is not None:
            await self._worker

    async def _work(self) -> None:
        await asyncio.sleep(0)
        while self._waiting:
            taken, self._waiting = self._waiting, []
            try:
                await self._store([thing for thing, _ in taken])
            except Exception as error:  # noqa: BLE001 - handed to each who waits for its thing
                _settle([stored for _, stored in taken], error)
            else:
                _settle([stored for _, stored in taken], None)


def _settle(waiting: "Sequence[asyncio.Future[None]]", error: Exception | None) -> None:
    for stored in waiting:
        if stored.done():
            continue
        if error is None:
            stored.set_result(None)
        else:
            stored.set_exception(error)
