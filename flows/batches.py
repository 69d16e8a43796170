"""Running the batches of a stage: as many at once as the model can be kept busy with, each after those it needs."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

from overstory.settings import OFFLINE, Settings

B = TypeVar("B")
R = TypeVar("R")

MOST_BATCHES = 200
"""Of one stage: more of them only make its picture harder to read."""


class NotStartedError(Exception):
    """A batch was not begun since an earlier one failed."""


def batch_size(settings: Settings, items: int) -> int:
    """How many items one batch takes."""
    return max(settings.index.batch_size, -(-items // MOST_BATCHES))


def batches_at_once(settings: Settings, size: int) -> int:
    """Enough to keep every place of the model taken while a batch ends; rules run one after the other."""
    return 1 if settings.models.model == OFFLINE else 2 + settings.models.max_concurrency // size


async def run(
    batches: Sequence[B],
    work: Callable[[B], Awaitable[R]],
    *,
    waits_for: Callable[[B], Sequence[int]] = lambda _: (),
    at_once: int,
) -> tuple[list[R], list[BaseException]]:
    """Run all batches; after a failure none is begun, those under way end. What ended well, and the failures.

    Args:
        waits_for: places, in `batches`, of those that have to be finished before; all earlier in the list.
    """
    places = asyncio.Semaphore(at_once)
    started: list[asyncio.Task[R]] = []
    failures: list[BaseException] = []

    async def one(batch: B) -> R:
        before = [started[i] for i in waits_for(batch)]
        if before:
            await asyncio.wait(before)
        async with places:
            if failures:
                raise NotStartedError
            try:
                return await work(batch)
            except Exception as error:
                failures.append(error)
                raise

    for batch in batches:
        started.append(asyncio.create_task(one(batch)))
    try:
        results = await asyncio.gather(*started, return_exceptions=True)
    except asyncio.CancelledError:
        for task in started:
            task.cancel()
        await asyncio.gather(*started, return_exceptions=True)
        raise
    return [r for r in results if not isinstance(r, BaseException)], failures
