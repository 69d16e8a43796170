"""Flows as Prefect flow runs. Imported only when there is a server to run them on."""

import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, TypeVar
from uuid import UUID

from prefect import State, flow, get_client, tags
from prefect.exceptions import PrefectException
from prefect.settings import PREFECT_API_URL, PREFECT_LOGGING_EXTRA_LOGGERS, temporary_settings
from prefect.states import Completed, Failed

from overstory.errors import OrchestratorUnavailableError, OverstoryError
from overstory.indexing.reports import reason_of
from overstory.progress import watched_by
from overstory.runtime import current_runtime, open_dataset
from overstory.settings import OrchestrationSettings

from .outcomes import outcome_of
from .policies import TAG, Subject, check_task_runner, orchestrated
from .prefect_progress import watching

if TYPE_CHECKING:
    from .scale_out import Elsewhere

logger = logging.getLogger(__name__)
R = TypeVar("R")


class Observed:
    """What a flow run's body came to: the state that the server shows, the result or error that the caller gets."""

    def __init__(self) -> None:
        self.result: Any = None
        self.error: BaseException | None = None

    async def run(self, dataset: str, work: Callable[[], Awaitable[Any]]) -> State[Any]:
        """Do the work of a flow run; its final state, with one line that says how it went.

        An error of ours makes a failed state with its own words. Any other is raised, for Prefect to show whole.
        """
        _speak_up()
        subject = Subject(dataset)
        try:
            async with watching(subject) as watcher, _processes() as elsewhere:
                with orchestrated(subject, elsewhere), watched_by(watcher):
                    self.result = await work()
        except OverstoryError as error:
            self.error = error
            return Failed(message=" ".join(reason_of(error).split()))
        except BaseException as error:
            self.error = error
            raise
        return final_state(self.result)

    def unwrap(self) -> Any:
        """The result, or the error raised."""
        if self.error is not None:
            raise self.error
        return self.result


@asynccontextmanager
async def _processes() -> AsyncIterator["Elsewhere | None"]:
    """The other processes that the settings ask for."""
    settings = (await current_runtime()).settings
    check_task_runner(settings, has_server=True)
    if not settings.orchestration.task_runner:
        yield None
        return
    from .scale_out import Elsewhere

    elsewhere = Elsewhere(settings)
    try:
        yield elsewhere
    finally:
        await elsewhere.close()


def _speak_up() -> None:
    """Prefect sends to the run's page what its extra loggers say, but leaves them at WARNING."""
    for name in PREFECT_LOGGING_EXTRA_LOGGERS.value():
        extra = logging.getLogger(name)
        if extra.level == logging.NOTSET:
            extra.setLevel(logging.INFO)


def final_state(result: Any) -> State[Any]:
    outcome = outcome_of(result)
    if outcome.failed:
        return Failed(message=outcome.message)
    return Completed(name=outcome.name, message=outcome.message)


async def run_as_flow(
    work: Callable[[], Awaitable[R]],
    *,
    name: str,
    dataset_id: UUID,
    options: dict[str, Any],
    settings: OrchestrationSettings,
) -> R:
    """Run a call of the library as a flow run; only the dataset's name and its options travel to the server."""
    with server_of(settings):
        try:
            await check_server()
        except OrchestratorUnavailableError as error:
            if not settings.fallback:
                raise
            logger.warning("%s Running without it.", error)
            return await work()
        dataset = (await open_dataset(dataset_id, any_embedder=True)).dataset.name
        return await _run(work, name, dataset, options)


async def _run(work: Callable[[], Awaitable[R]], name: str, dataset: str, options: dict[str, Any]) -> R:
    observed = Observed()
    run = flow(name=name, flow_run_name=f"{name}-{{dataset}}", persist_result=False)(_body)
    token = _asked.set((observed, work))
    try:
        with tags(TAG):
            state: State[Any] = await run(dataset, options, return_state=True)
    finally:
        _asked.reset(token)
    if observed.error is None and observed.result is None:
        raise OrchestratorUnavailableError(_url(), f"the run ended {state.name}: {state.message}")
    result: R = observed.unwrap()
    return result


_asked: ContextVar[tuple[Observed, Callable[[], Awaitable[Any]]]] = ContextVar("asked")
"""What the flow run is to do: not in the flow itself, which travels to other processes."""


async def _body(dataset: str, options: dict[str, Any]) -> State[Any]:
    observed, work = _asked.get()
    return await observed.run(dataset, work)


@contextmanager
def server_of(settings: OrchestrationSettings) -> Iterator[None]:
    """Use the server that our settings name; Prefect has read its own when it was imported."""
    updates = {PREFECT_API_URL: settings.prefect_api_url} if settings.prefect_api_url else {}
    with temporary_settings(updates=updates):
        yield


async def check_server() -> None:
    """
    Raises:
        OrchestratorUnavailableError: no server answers at PREFECT_API_URL.
    """
    if not _url():
        raise OrchestratorUnavailableError("(unset)", "no server is named")
    try:
        async with get_client() as client:
            reason = await client.api_healthcheck()
    except (RuntimeError, OSError, PrefectException) as error:
        reason = error
    if reason is not None:
        raise OrchestratorUnavailableError(_url(), str(reason) or type(reason).__name__)


def _url() -> str:
    return PREFECT_API_URL.value() or ""
