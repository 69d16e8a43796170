"""Running the batches of a stage: as many at once as the model can be kept busy with, each after those it needs."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from overstory.layout import tasks
from overstory.settings import OFFLINE, Settings

B = TypeVar("B")
R = TypeVar("R")

MOST_BATCHES = 200
"""Of one stage: more of them only make its picture harder to read."""


class NotStartedError(Exception):
    """A batch was not begun since an earlier one failed."""


@dataclass(frozen=True, slots=True)
class _Done(Generic[R]):
    result: R
    place: tuple[object, ...]
    """In the graph of the run."""


def batch_size(settings: Settings, items: int) -> int:
    """How many items one batch takes."""
    return max(settings.index.batch_size, -(-items // MOST_BATCHES))


def batches_at_once(settings: Settings, size: int) -> int:
    """Enough to keep every place of the model taken while a batch ends; rules run one after the other.

    With other processes, which have one batch each, the next one for each of them waits there.
    """
    if processes := tasks.policies.processes():
        return 2 * processes
    return 1 if settings.models.model == OFFLINE else 2 + settings.models.max_concurrency // size


async def run(
    batches: Sequence[B],
    work: Callable[[B], Awaitable[R]],
    *,
    waits_for: Callable[[B], Sequence[int]] = lambda _: (),
    at_once: int,
) -> tuple[list[R], list[BaseException]]:
    """Run all batches; after a failure none is begun, those under way end. What ended well, and the failures.

    In the graph of a run each batch comes after those it waits for, and what follows comes after the last ones.

    Args:
        waits_for: places, in `batches`, of those that have to be finished before; all earlier in the list.
    """
    slots = asyncio.Semaphore(at_once)
    started: list[asyncio.Task[_Done[R]]] = []
    failures: list[BaseException] = []
    needed = {i for batch in batches for i in waits_for(batch)}

    async def one(batch: B) -> _Done[R]:
        before = [started[i] for i in waits_for(batch)]
        if before:
            await asyncio.wait(before)
            tasks.policies.go_to([done.place for done in _ended_well(before)])
        async with slots:
            if failures:
                raise NotStartedError
            try:
                return _Done(await work(batch), tasks.policies.place())
            except Exception as error:
                failures.append(error)
                raise

    for batch in batches:
        started.append(asyncio.create_task(one(batch)))
    try:
        await asyncio.gather(*started, return_exceptions=True)
    except asyncio.CancelledError:
        for task in started:
            task.cancel()
        await asyncio.gather(*started, return_exceptions=True)
        raise
    last = [task for i, task in enumerate(started) if i not in needed]
    if ends := [done.place for done in _ended_well(last)]:
        tasks.policies.go_to(ends)
    return [done.result for done in _ended_well(started)], failures


def _ended_well(started: Sequence["asyncio.Task[_Done[R]]"]) -> list["_Done[R]"]:
    return [task.result() for task in started if not task.cancelled() and task.exception() is None]
