"""Tasks as Prefect task runs. Imported only inside a flow run."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar
from uuid import UUID

from prefect import Task, task
from prefect.cache_policies import NO_CACHE
from prefect.client.schemas.objects import State, TaskRun
from prefect.context import TaskRunContext

from overstory.errors import StoreUnavailableError

from .policies import RETRY_DELAYS_SECONDS, RETRY_JITTER

R = TypeVar("R")


class Finished:
    """Stands for a finished task run: Prefect draws an edge to each that is handed to a later one."""

    def __init__(self, task_run_id: UUID | None) -> None:
        self.task_run_id = task_run_id


@dataclass(frozen=True, slots=True)
class Configured:
    """How a task is seen and tried again; the work is added where it runs."""

    name: str
    options: dict[str, Any]

    def task_of(self, function: Callable[..., Any], **more: Any) -> Task[..., Any]:
        made: Task[..., Any] = task(**{**self.options, **more})(function)
        return made


def configured(function: Callable[..., Any], name: str, tags: tuple[str, ...]) -> Configured:
    shown = _plain(name)
    options = {
        "name": function.__name__.replace("_", " "),
        "description": (function.__doc__ or "").strip(),
        "task_run_name": lambda: shown,
        "tags": set(tags) or None,
        "cache_policy": NO_CACHE,
        "persist_result": False,
    }
    return Configured(name, options)


async def run_as_task(
    options: Configured,
    function: Callable[..., Awaitable[R]],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    *,
    after: Sequence[object],
) -> tuple[Finished, R]:
    """Run a task of the flow run around it; what stands for its run, and its result.

    Arguments and result are kept from Prefect, which would look for futures in each bucket of a plan, and hold
    results for as long as the flow runs.
    """
    results: list[R] = []

    async def bound() -> Finished:
        results.append(await function(*args, **kwargs))
        context = TaskRunContext.get()
        return Finished(context.task_run.id if context else None)

    made = options.task_of(
        bound,
        retries=len(RETRY_DELAYS_SECONDS),
        retry_delay_seconds=list(RETRY_DELAYS_SECONDS),
        retry_jitter_factor=RETRY_JITTER,
        retry_condition_fn=_lost_connection,
    )
    finished: Finished = await made(wait_for=list(after))
    return finished, results[-1]


def _plain(name: str) -> str:
    """A name in ASCII: the letters that Prefect draws its graph with have no others, `1–32` would read `132`."""
    return name.replace(" · ", ": ").replace("–", "-")


async def _lost_connection(_task: Task[..., Any], _run: TaskRun, state: State[Any]) -> bool:
    error = await state.aresult(raise_on_failure=False)
    return isinstance(error, StoreUnavailableError)
