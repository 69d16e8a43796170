"""Steps as Prefect tasks. Imported only inside an orchestrated flow."""

import inspect
from collections.abc import Awaitable, Callable
from functools import cache
from typing import Any, TypeVar

from prefect import Task, task
from prefect.cache_policies import NO_CACHE
from prefect.client.schemas.objects import State, TaskRun

from overstory.errors import StoreUnavailableError

from .policies import LOST_CONNECTION_RETRIES, RETRY_DELAYS_SECONDS

R = TypeVar("R")


async def run_as_task(
    function: Callable[..., Awaitable[R]],
    run_name: Callable[[dict[str, Any]], str] | None,
    tags: tuple[str, ...],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
) -> R:
    """Run a step as a task run of the flow run around it."""
    bound = inspect.signature(function).bind(*args, **kwargs)
    bound.apply_defaults()
    configured = _as_task(function, tags)
    if run_name is not None:
        configured = configured.with_options(task_run_name=run_name(dict(bound.arguments)).replace("{", "(").replace("}", ")"))
    result: R = await configured(*args, **kwargs)
    return result


@cache
def _as_task(function: Callable[..., Awaitable[Any]], tags: tuple[str, ...]) -> Task[..., Any]:
    return task(
        name=function.__name__.replace("_", " "),
        retries=LOST_CONNECTION_RETRIES,
        retry_delay_seconds=list(RETRY_DELAYS_SECONDS),
        retry_jitter_factor=0.5,
        retry_condition_fn=_lost_connection,
        tags=set(tags) or None,
        cache_policy=NO_CACHE,
        persist_result=False,
    )(function)


async def _lost_connection(_task: Task[..., Any], _run: TaskRun, state: State[Any]) -> bool:
    error = await state.aresult(raise_on_failure=False)
    return isinstance(error, StoreUnavailableError)
