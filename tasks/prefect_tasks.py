"""Tasks as Prefect task runs. Imported only inside a flow run."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, TypeVar
from uuid import UUID

from prefect import Task, task
from prefect.cache_policies import NO_CACHE
from prefect.client.schemas.objects import State, StateDetails, TaskRun
from prefect.context import TaskRunContext
from prefect.states import Completed

from overstory.errors import StoreUnavailableError

from .policies import LOST_CONNECTION_RETRIES, RETRY_DELAYS_SECONDS

R = TypeVar("R")


async def run_as_task(
    function: Callable[..., Awaitable[R]],
    name: str,
    tags: tuple[str, ...],
    after: Sequence[UUID],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
) -> tuple[UUID, R]:
    """Run a task of the flow run around it; the id of its run, and its result.

    The arguments are bound here, not handed to Prefect, which would look for futures in each bucket of a plan; edges
    of the graph are those to the task runs `after` which it comes.
    """
    run_ids: list[UUID] = []

    async def bound() -> R:
        run_ids.append(_current_run())
        return await function(*args, **kwargs)

    configured: Task[[], Any] = task(
        name=function.__name__.replace("_", " "),
        description=(function.__doc__ or "").strip(),
        task_run_name=lambda: name,
        retries=LOST_CONNECTION_RETRIES,
        retry_delay_seconds=list(RETRY_DELAYS_SECONDS),
        retry_jitter_factor=0.5,
        retry_condition_fn=_lost_connection,
        tags=set(tags) or None,
        cache_policy=NO_CACHE,
        persist_result=False,
    )(bound)
    result: R = await configured(wait_for=[_finished(run) for run in after])
    return run_ids[-1], result


def _current_run() -> UUID:
    context = TaskRunContext.get()
    assert context is not None, "a task runs in the context that Prefect has made for it"
    return context.task_run.id


def _finished(run_id: UUID) -> State[None]:
    return Completed(state_details=StateDetails(task_run_id=run_id))


async def _lost_connection(_task: Task[..., Any], _run: TaskRun, state: State[Any]) -> bool:
    error = await state.aresult(raise_on_failure=False)
    return isinstance(error, StoreUnavailableError)
