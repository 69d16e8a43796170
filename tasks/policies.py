"""How a step runs: as a Prefect task inside an orchestrated flow, as a plain coroutine everywhere else.

The composition is written once. `step` marks what becomes a task run, `flow` what becomes a flow run; both are
plain coroutine functions, with the same retries, until `orchestrated()` says that a Prefect run surrounds them.
Prefect is imported only then.
"""

import asyncio
import functools
import random
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, ParamSpec, TypeVar

from overstory.errors import StoreUnavailableError

P = ParamSpec("P")
R = TypeVar("R")

LOST_CONNECTION_RETRIES = 2
RETRY_DELAYS_SECONDS = (1.0, 4.0)
_JITTER = 0.5

_orchestrated: ContextVar[bool] = ContextVar("orchestrated", default=False)


@contextmanager
def orchestrated() -> Iterator[None]:
    """What runs inside is part of a Prefect flow run: steps become task runs."""
    token = _orchestrated.set(True)
    try:
        yield
    finally:
        _orchestrated.reset(token)


def step(
    run_name: Callable[[dict[str, Any]], str] | None = None, *, tags: tuple[str, ...] = ()
) -> Callable[[Callable[P, Awaitable[R]]], Callable[P, Awaitable[R]]]:
    """Mark a coroutine function as one step of a flow.

    A step that loses its store is tried again, here as in Prefect; whatever it had finished is skipped then. It is
    given ids, counts and references only, and opens what it needs itself, so that it may run in another process.

    Args:
        run_name: what people read, made from the call's arguments.
    """

    def mark(function: Callable[P, Awaitable[R]]) -> Callable[P, Awaitable[R]]:
        @functools.wraps(function)
        async def call(*args: P.args, **kwargs: P.kwargs) -> R:
            if _orchestrated.get():
                from .prefect_steps import run_as_task

                return await run_as_task(function, run_name, tags, args, kwargs)
            return await _retried(function, *args, **kwargs)

        return call

    return mark


async def _retried(function: Callable[P, Awaitable[R]], *args: P.args, **kwargs: P.kwargs) -> R:
    for delay in RETRY_DELAYS_SECONDS:
        try:
            return await function(*args, **kwargs)
        except StoreUnavailableError:
            await asyncio.sleep(delay * random.uniform(1 - _JITTER, 1 + _JITTER))
    return await function(*args, **kwargs)
