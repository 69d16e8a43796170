"""Batches in other processes, on Dask. Imported only inside a flow run, when OVERSTORY_TASK_RUNNER says so."""

import asyncio
import threading
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from prefect import Task
from prefect.client.schemas.objects import TaskRunResult
from prefect.exceptions import PrefectException
from prefect_dask.task_runners import DaskTaskRunner, PrefectDaskFuture

from overstory.errors import WorkerLostError
from overstory.indexing.budgets import Budget, budget_of, budgeted
from overstory.progress import watched_by, watcher
from overstory.settings import Settings

from .prefect_tasks import Configured


@dataclass(slots=True)
class Kept:
    """A `progress.Watcher` that keeps what it is told, for the process that shows it."""

    done: Counter[str] = field(default_factory=Counter)
    counts: dict[str, Counter[str]] = field(default_factory=dict)

    def begin(self, stage: str, total: int) -> None:
        pass

    def advance(self, stage: str, done: int = 1, **counts: int) -> None:
        self.done[stage] += done
        self.counts.setdefault(stage, Counter()).update(counts)

    def end(self, stage: str) -> None:
        pass

    def tell(self) -> None:
        """Tell whoever watches here."""
        for stage, done in self.done.items():
            watcher().advance(stage, done, **self.counts[stage])


class Parcel:
    """What a batch needs in another process; opaque, so that Prefect does not look into it."""

    def __init__(
        self, step: Callable[..., Awaitable[Any]], args: tuple[Any, ...], kwargs: dict[str, Any], budget: Budget
    ) -> None:
        self.step, self.args, self.kwargs, self.budget = step, args, kwargs, budget


class Brought:
    """What a batch brings back: its result, its progress, and what it took of the budget that it was lent."""

    def __init__(self, result: Any, kept: Kept, calls: int, cost_usd: float) -> None:
        self.result, self.kept, self.calls, self.cost_usd = result, kept, calls, cost_usd


class Elsewhere:
    """The processes of one flow run, started with its first batch.

    The model's places are divided among them, so that all together have no more than one process would. Each works on
    one batch at a time. A batch whose process is killed is begun again in another one, which skips what is stored; what
    the killed one had spent of its part of a budget is not known, and not counted.
    """

    def __init__(self, settings: Settings) -> None:
        self.processes = min(settings.orchestration.task_runner_workers, settings.models.max_concurrency)
        self._starting = asyncio.Lock()
        self._runner = DaskTaskRunner(
            cluster_kwargs={
                "n_workers": self.processes,
                "threads_per_worker": 1,
                "dashboard_address": None,
                "security": True,
                "env": {
                    "LLM_MAX_CONCURRENCY": str(settings.models.max_concurrency // self.processes),
                    "EMBEDDING_MAX_CONCURRENCY": str(max(1, settings.embeddings.max_concurrency // self.processes)),
                },
            }
        )
        self._runner.__enter__()

    async def close(self) -> None:
        """End the processes."""
        await asyncio.to_thread(self._runner.__exit__, None, None, None)

    async def run(
        self,
        options: Configured,
        step: Callable[..., Awaitable[Any]],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        *,
        texts: int,
        after: Sequence[Any],
    ) -> tuple[object, Any]:
        """Run a batch; what stands for its task run, and its result.

        Args:
            step: found by its name in the other process; its first argument is the dataset's id.
            texts: so many it may ask the model for.
        """
        budget = budget_of(args[0])
        part = await budget.lend(texts)
        try:
            future = await self._submit(options.task_of(work), Parcel(step, args, kwargs, part.budget), after)
            brought = await _brought(options.name, future)
        except BaseException:
            budget.give_back(part, calls=part.calls, cost_usd=part.cost_usd)
            raise
        budget.give_back(part, calls=brought.calls, cost_usd=brought.cost_usd)
        brought.kept.tell()
        return future, brought.result

    async def _submit(
        self, task: Task[[Parcel], Brought], parcel: Parcel, after: Sequence[Any]
    ) -> "PrefectDaskFuture[Brought]":
        """The one place where a task is submitted and not awaited."""
        async with self._starting:
            await asyncio.to_thread(lambda: self._runner.client)
        edges = {TaskRunResult(id=one.task_run_id) for one in after}
        return self._runner.submit(task, {"parcel": parcel}, dependencies={"parcel": set(edges)})


_here = threading.local()


def work(parcel: Parcel) -> Brought:
    """Do a batch in this process, on an event loop that stays: what one batch opens, the next one uses."""
    if not hasattr(_here, "runner"):
        _here.runner = asyncio.Runner()
    brought: Brought = _here.runner.run(_work(parcel))
    return brought


async def _work(parcel: Parcel) -> Brought:
    kept, budget = Kept(), parcel.budget
    calls, cost_usd = budget.calls, budget.cost_usd
    with budgeted(parcel.args[0], budget), watched_by(kept):
        result = await parcel.step(*parcel.args, **parcel.kwargs)
    return Brought(result, kept, budget.calls - calls, budget.cost_usd - cost_usd)


async def _brought(name: str, future: "PrefectDaskFuture[Brought]") -> Brought:
    """
    Raises:
        WorkerLostError: no process lived long enough to finish the batch.
    """
    loop, done = asyncio.get_running_loop(), asyncio.Event()
    future.wrapped_future.add_done_callback(lambda _: loop.call_soon_threadsafe(done.set))
    try:
        await done.wait()
    except asyncio.CancelledError:
        future.wrapped_future.cancel()
        raise
    if future.wrapped_future.status != "finished":
        raise WorkerLostError(name, str(await asyncio.to_thread(_failure, future)))
    await asyncio.to_thread(future.wait)
    try:
        return future.result()
    except PrefectException as error:
        raise WorkerLostError(name, str(error)) from error


def _failure(future: "PrefectDaskFuture[Brought]") -> object:
    failure = future.wrapped_future.exception() if future.wrapped_future.status == "error" else None
    return failure or future.wrapped_future.status
