"""improve_all: what the nightly run does. One sub-flow for each dataset that has something to be done."""

import asyncio
import logging
from typing import Annotated, Any

from prefect import State, flow
from prefect.states import Completed, Failed
from pydantic import Field

from overstory import datasets
from overstory.results import DatasetStatus

from .deployed import Calls, Dollars, Seconds, improve

logger = logging.getLogger(__name__)
WITH_ERRORS = "CompletedWithErrors"


@flow(name="improve_all", flow_run_name="improve-all", persist_result=False)
async def improve_all(
    first_index: bool = True,
    at_once: Annotated[int, Field(ge=1, le=16)] = 1,
    max_calls: Calls | None = None,
    max_cost_usd: Dollars | None = None,
    wait_seconds: Seconds = 600,
    user: str = "",
) -> State[Any]:
    """Improve every dataset with pending changes, incomplete documents or degraded texts, each in a run of its own.

    Args:
        first_index: Also build the first index of datasets that have none.
        at_once: How many datasets at a time.
        max_calls: Stop the index of a dataset after so many calls of the model; the next night goes on from there.
        max_cost_usd: Stop the index of a dataset before its calls cost more.
        wait_seconds: How long to wait for a dataset that another run writes.
        user: Name of the user whose datasets are meant; empty for the default user.
    """
    waiting = [s for s in await _statuses(user or None) if _needs_work(s, first_index=first_index)]
    slots = asyncio.Semaphore(at_once)

    async def one(status: DatasetStatus) -> State[Any]:
        async with slots:
            ended: State[Any] = await improve(
                status.name,
                max_calls=max_calls,
                max_cost_usd=max_cost_usd,
                wait_seconds=wait_seconds,
                user=user,
                return_state=True,
            )
            logger.info("%s: %s %s", status.name, ended.name, ended.message)
            return ended

    states = await asyncio.gather(*(one(status) for status in waiting))
    return _summary([s.name for s in waiting], states)


async def _statuses(user: str | None) -> list[DatasetStatus]:
    return [await datasets.status(dataset.id, user) for dataset in await datasets.list_datasets(user)]


def _needs_work(status: DatasetStatus, *, first_index: bool) -> bool:
    if not status.generation:
        return bool(status.incomplete or (first_index and status.documents))
    return bool(status.pending or status.incomplete or status.degraded or status.stale)


def _summary(names: list[str], states: list[State[Any]]) -> State[Any]:
    failed = [name for name, state in zip(names, states, strict=True) if not state.is_completed()]
    in_part = [name for name, state in zip(names, states, strict=True) if state.name == WITH_ERRORS]
    message = f"{len(names)} datasets improved" if names else "Nothing to do"
    if failed:
        message = f"{len(names) - len(failed)} of {len(names)} datasets improved; failed: {', '.join(failed)}"
    if in_part:
        message += f"; with errors: {', '.join(in_part)}"
    if failed and len(failed) == len(names):
        return Failed(message=message)
    return Completed(name=WITH_ERRORS if failed or in_part else "Completed", message=message)
