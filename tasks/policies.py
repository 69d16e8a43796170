"""How flows and tasks run: as Prefect runs where there is someone to orchestrate, as plain coroutines elsewhere.

The composition is written once. `@flow` marks what becomes a flow run, `@task` what becomes a task run; both are
plain coroutine functions, with the same retries, unless `PREFECT_API_URL` or `OVERSTORY_ORCHESTRATE` say that
there is a server. Prefect is imported only then.
"""

import asyncio
import functools
import inspect
import random
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from overstory.errors import StoreUnavailableError
from overstory.runtime import current_runtime

if TYPE_CHECKING:
    from prefect import State

P = ParamSpec("P")
R = TypeVar("R")

LOST_CONNECTION_RETRIES = 2
RETRY_DELAYS_SECONDS = (1.0, 4.0)
_JITTER = 0.5

_orchestrated: ContextVar[bool] = ContextVar("orchestrated", default=False)
_place: ContextVar[tuple[object, ...]] = ContextVar("place", default=())


@contextmanager
def orchestrated() -> Iterator[None]:
    """What runs inside is part of a Prefect flow run: its tasks become task runs, its flows belong to the same run."""
    token, place = _orchestrated.set(True), _place.set(())
    try:
        yield
    finally:
        _place.reset(place)
        _orchestrated.reset(token)


def is_orchestrated() -> bool:
    """Whether a Prefect flow run surrounds the caller."""
    return _orchestrated.get()


def place() -> tuple[object, ...]:
    """Where the caller stands in the graph of a run: after which task runs its next one comes."""
    return _place.get()


def go_to(places: Sequence[tuple[object, ...]]) -> None:
    """Go on after all of these places: the next task gets an edge from each."""
    _place.set(tuple({id(run): run for one in places for run in one}.values()))


def task(
    run_name: Callable[[dict[str, Any]], str], *, tags: tuple[str, ...] = ()
) -> Callable[[Callable[P, Awaitable[R]]], Callable[P, Awaitable[R]]]:
    """Mark a coroutine function as a task.

    One that loses its store is tried again, here as in Prefect; whatever it had finished is skipped then. It is
    given ids, counts and references only, and opens what it needs itself. It follows the task that its caller
    awaited before.

    Args:
        run_name: what people read, made from the call's arguments.
    """

    def mark(function: Callable[P, Awaitable[R]]) -> Callable[P, Awaitable[R]]:
        @functools.wraps(function)
        async def call(*args: P.args, **kwargs: P.kwargs) -> R:
            if not _orchestrated.get():
                return await _retried(function, *args, **kwargs)
            from .prefect_tasks import run_as_task

            name = run_name(_arguments(function, args, kwargs))
            finished, result = await run_as_task(function, name, tags, _place.get(), args, kwargs)
            _place.set((finished,))
            return result

        return call

    return mark


def flow(
    name: Callable[[dict[str, Any]], str], *, shown: Callable[[dict[str, Any]], dict[str, Any]]
) -> Callable[[Callable[P, Awaitable[R]]], Callable[P, Awaitable[R]]]:
    """Mark a composition as a flow. The first argument of it is the dataset's id.

    Inside a flow run it is a part of that run. The caller gets the same result and the same errors either way.

    Args:
        name: of the flow, made from the call's arguments.
        shown: the parameters that people see: options and counts, never texts.

    Raises:
        OrchestratorUnavailableError: the server does not answer; nothing has been begun.
    """

    def mark(function: Callable[P, Awaitable[R]]) -> Callable[P, Awaitable[R]]:
        @functools.wraps(function)
        async def call(*args: P.args, **kwargs: P.kwargs) -> R:
            orchestration = (await current_runtime()).settings.orchestration
            if _orchestrated.get() or not orchestration.wanted:
                return await function(*args, **kwargs)
            from .prefect_flows import run_as_flow

            given = _arguments(function, args, kwargs)
            return await run_as_flow(
                lambda: function(*args, **kwargs),
                name=name(given),
                dataset_id=given["dataset_id"],
                options=shown(given),
                settings=orchestration,
            )

        return call

    return mark


async def observed(dataset: str, work: Callable[[], Awaitable[Any]]) -> "State[Any]":
    """Do the work of a Prefect flow; the final state of its run. Only for flows that Prefect has started."""
    from .prefect_flows import Observed

    return await Observed().run(dataset, work)


def _arguments(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
    bound = inspect.signature(function).bind(*args, **kwargs)
    bound.apply_defaults()
    return dict(bound.arguments)


async def _retried(function: Callable[P, Awaitable[R]], *args: P.args, **kwargs: P.kwargs) -> R:
    for delay in RETRY_DELAYS_SECONDS:
        try:
            return await function(*args, **kwargs)
        except StoreUnavailableError:
            await asyncio.sleep(delay * random.uniform(1 - _JITTER, 1 + _JITTER))
    return await function(*args, **kwargs)
