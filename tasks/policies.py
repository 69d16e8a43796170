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
from dataclasses import dataclass
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar
from uuid import UUID

from overstory import telemetry
from overstory.errors import ConfigurationError, MissingPackageError, StoreUnavailableError
from overstory.models import Usage
from overstory.runtime import current_runtime, open_dataset
from overstory.settings import Settings, store_scheme
from overstory.telemetry import Kind, Told

if TYPE_CHECKING:
    from prefect import State

    from .scale_out import Elsewhere

P = ParamSpec("P")
R = TypeVar("R")

TAG = "overstory"
"""Of every run of ours, as `prefect.yaml` has it: by it the clean-up and the automation tell ours from others' runs."""
RETRY_DELAYS_SECONDS = (1.0, 4.0)
RETRY_JITTER = 0.5
_TOLD_OF_USAGE = ("prompt_tokens", "completion_tokens", "cost_usd", "retries")
_TOLD = ("generation", "model_calls", "written", "reused", "degraded", "chunks")

_place: ContextVar[tuple[object, ...]] = ContextVar("place", default=())
_elsewhere: ContextVar["Elsewhere | None"] = ContextVar("elsewhere", default=None)


@dataclass(slots=True)
class Subject:
    """The dataset that a flow run is about: first as the caller called it, then as it is."""

    name: str
    id: UUID | None = None


_subject: ContextVar[Subject | None] = ContextVar("subject", default=None)


@contextmanager
def orchestrated(subject: Subject, elsewhere: "Elsewhere | None" = None) -> Iterator[None]:
    """What runs inside is part of a Prefect flow run: its tasks become task runs, its flows belong to the same run.

    Args:
        elsewhere: other processes, for those tasks that may run there.
    """
    token, place, before = _subject.set(subject), _place.set(()), _elsewhere.set(elsewhere)
    try:
        yield
    finally:
        _elsewhere.reset(before)
        _place.reset(place)
        _subject.reset(token)


def is_orchestrated() -> bool:
    """Whether a Prefect flow run surrounds the caller."""
    return _subject.get() is not None


def processes() -> int:
    """How many other processes share the batches; 0 when they all run here."""
    elsewhere = _elsewhere.get()
    return elsewhere.processes if elsewhere else 0


def place() -> tuple[object, ...]:
    """Where the caller stands in the graph of a run: after which task runs its next one comes."""
    return _place.get()


def go_to(places: Sequence[tuple[object, ...]]) -> None:
    """Go on after all of these places: the next task gets an edge from each."""
    _place.set(tuple({id(run): run for one in places for run in one}.values()))


def task(
    run_name: Callable[[dict[str, Any]], str],
    *,
    tags: tuple[str, ...] = (),
    texts: Callable[[dict[str, Any]], int] | None = None,
) -> Callable[[Callable[P, Awaitable[R]]], Callable[P, Awaitable[R]]]:
    """Mark a coroutine function as a task.

    One that loses its store is tried again, here as in Prefect; whatever it had finished is skipped then. It is
    given ids, counts and references only, and opens what it needs itself. It follows the task that its caller
    awaited before.

    Args:
        run_name: what people read, made from the call's arguments.
        texts: how many texts it may ask the model for. A task that says so may run in another process, where
            OVERSTORY_TASK_RUNNER names one: its arguments, result and errors travel, its first argument is a dataset.
    """

    def mark(function: Callable[P, Awaitable[R]]) -> Callable[P, Awaitable[R]]:
        @functools.wraps(function)
        async def call(*args: P.args, **kwargs: P.kwargs) -> R:
            if not is_orchestrated():
                with telemetry.operation(Kind.TASK, _title(function)):
                    return await _retried(function, *args, **kwargs)
            from .prefect_tasks import configured, run_as_task

            given, after = _arguments(function, args, kwargs), _place.get()
            options = configured(function, run_name(given), tags)
            with telemetry.operation(Kind.TASK, _title(function)):
                if texts is not None and (elsewhere := _elsewhere.get()):
                    finished, result = await elsewhere.run(options, call, args, kwargs, texts=texts(given), after=after)
                else:
                    finished, result = await run_as_task(options, function, args, kwargs, after=after)
            _place.set((finished,))
            returned: R = result
            return returned

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
        ConfigurationError: OVERSTORY_TASK_RUNNER asks for what can't be had; nothing has been begun.
    """

    def mark(function: Callable[P, Awaitable[R]]) -> Callable[P, Awaitable[R]]:
        @functools.wraps(function)
        async def call(*args: P.args, **kwargs: P.kwargs) -> R:
            settings = (await current_runtime()).settings
            orchestration, subject = settings.orchestration, _subject.get()
            given = _arguments(function, args, kwargs)
            check_task_runner(settings, has_server=bool(subject) or orchestration.wanted)
            with telemetry.operation(Kind.FLOW, name(given), dataset_id=str(given["dataset_id"])) as told:
                if subject:
                    await _name(subject, given["dataset_id"])
                if subject or not orchestration.wanted:
                    return noted(told, await function(*args, **kwargs))
                check_prefect()
                from .prefect_flows import run_as_flow

                result = await run_as_flow(
                    lambda: function(*args, **kwargs),
                    name=name(given),
                    dataset_id=given["dataset_id"],
                    options=shown(given),
                    settings=orchestration,
                )
                return noted(told, result)

        return call

    return mark


def check_prefect() -> None:
    """
    Raises:
        MissingPackageError: there is a server to talk to, and nothing to talk with.
    """
    if find_spec("prefect") is None:
        raise MissingPackageError("prefect", "prefect", "PREFECT_API_URL")


def check_task_runner(settings: Settings, *, has_server: bool) -> None:
    """
    Raises:
        ConfigurationError: other processes were asked for, and can't be used.
    """
    runner = settings.orchestration.task_runner
    if not runner:
        return
    if not has_server:
        raise ConfigurationError(
            f"OVERSTORY_TASK_RUNNER={runner} needs a Prefect server: name it in PREFECT_API_URL, or unset OVERSTORY_TASK_RUNNER."
        )
    if find_spec("prefect_dask") is None:
        raise MissingPackageError("prefect-dask", "dask", f"OVERSTORY_TASK_RUNNER={runner}")
    if store_scheme(settings.store) == "memory":
        raise ConfigurationError(
            f"OVERSTORY_TASK_RUNNER={runner} needs a store that other processes see, not {settings.store.url!r}: "
            "unset OVERSTORY_STORE_URL, or unset OVERSTORY_TASK_RUNNER."
        )


async def observed(dataset: str, work: Callable[[], Awaitable[Any]]) -> "State[Any]":
    """Do the work of a Prefect flow; the final state of its run. Only for flows that Prefect has started."""
    from .prefect_flows import Observed

    return await Observed().run(dataset, work)


def _title(function: Callable[..., Any]) -> str:
    return function.__name__.replace("_", " ")


def noted(told: Told, result: R) -> R:
    """Tell what a flow took: numbers and states, as far as its result has them."""
    usage = getattr(result, "usage", None)
    if isinstance(usage, Usage):
        told.note(**{name: getattr(usage, name) for name in _TOLD_OF_USAGE})
    told.note(**{name: value for name in _TOLD if isinstance(value := getattr(result, name, None), int)})
    told.note(index_status=getattr(result, "status", None))
    return result


async def _name(subject: Subject, dataset_id: UUID) -> None:
    dataset = (await open_dataset(dataset_id, any_embedder=True)).dataset
    subject.name, subject.id = dataset.name, dataset.id


def _arguments(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
    bound = inspect.signature(function).bind(*args, **kwargs)
    bound.apply_defaults()
    return dict(bound.arguments)


async def _retried(function: Callable[P, Awaitable[R]], *args: P.args, **kwargs: P.kwargs) -> R:
    for delay in RETRY_DELAYS_SECONDS:
        try:
            return await function(*args, **kwargs)
        except StoreUnavailableError:
            await asyncio.sleep(delay * random.uniform(1 - RETRY_JITTER, 1 + RETRY_JITTER))
    return await function(*args, **kwargs)
