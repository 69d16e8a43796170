"""improve_all: what the nightly run does. One sub-flow for each dataset that has something to be done."""

import asyncio
import logging
from typing import Annotated, Any
from uuid import UUID

from prefect import State, flow, tags
from prefect.states import Completed, Failed
from pydantic import Field

from overstory import access, datasets
from overstory.errors import OverstoryError
from overstory.layout import tasks
from overstory.models import Dataset, Permission
from overstory.results import COMPLETED_WITH_ERRORS, DatasetStatus
from overstory.runtime import current_runtime

from .deployed import Calls, Dollars, Seconds, given_user, improve

logger = logging.getLogger(__name__)


@flow(name="improve_all", flow_run_name="improve-all", persist_result=False)
async def improve_all(
    first_index: bool = True,
    at_once: Annotated[int, Field(ge=1, le=16)] = 1,
    max_calls: Calls | None = None,
    max_cost_usd: Dollars | None = None,
    wait_seconds: Seconds = 600,
    user: str = "",
) -> State[Any]:
    """Improve every dataset with pending changes, unfinished documents or degraded texts, each in a run of its own.

    Args:
        first_index: Also build the first index of datasets that have none.
        at_once: How many datasets at a time.
        max_calls: Stop the index of a dataset after so many calls of the model; the next night goes on from there.
        max_cost_usd: Stop the index of a dataset before its calls cost more.
        wait_seconds: How long to wait for a dataset that another run writes.
        user: Name or id of a user: only datasets that they may write. Empty for all datasets of the store.
    """
    slots = asyncio.Semaphore(at_once)

    async def one(dataset: Dataset, who: UUID) -> State[Any] | None:
        async with slots:
            if not await _needs_work(dataset, who, first_index=first_index):
                return None
            return await _improve(
                dataset, who, max_calls=max_calls, max_cost_usd=max_cost_usd, wait_seconds=wait_seconds
            )

    found = await _writable(user)
    ended = await asyncio.gather(*(one(dataset, who) for dataset, who in found), return_exceptions=True)
    return _summary([(d.name, _state_of(d, end)) for (d, _), end in zip(found, ended, strict=True) if end is not None])


async def _writable(user: str) -> list[tuple[Dataset, UUID]]:
    """Datasets, each with a user who may write it: the owner, or the one who is named."""
    store = (await current_runtime()).store
    if not user:
        return [(dataset, dataset.owner_id) for dataset in await store.list_datasets()]
    who = access.user_id(given_user(user))
    visible = await store.list_datasets(who)
    return [(d, who) for d in visible if Permission.WRITE in await store.permissions(d.id, who)]


async def _improve(dataset: Dataset, who: UUID, **options: Any) -> State[Any]:
    """By ids, since a name may be another dataset's, too; people see the name."""
    named = improve.with_options(flow_run_name=lambda: f"improve-{dataset.name}")
    with tags(tasks.policies.TAG):
        ended: State[Any] = await named(str(dataset.id), user=str(who), return_state=True, **options)
    logger.info("%s: %s %s", dataset.name, ended.name, ended.message)
    return ended


async def _needs_work(dataset: Dataset, who: UUID, *, first_index: bool) -> bool:
    return has_work(await datasets.status(dataset.id, who), first_index=first_index)


def _state_of(dataset: Dataset, end: State[Any] | BaseException) -> State[Any]:
    """How a dataset ended; one that can't even be looked at has failed, and the others go on."""
    if isinstance(end, State):
        return end
    if not isinstance(end, Exception):
        raise end
    logger.error("%s: %s", dataset.name, end, exc_info=None if isinstance(end, OverstoryError) else end)
    return Failed(message=str(end))


def has_work(status: DatasetStatus, *, first_index: bool) -> bool:
    """Whether there is something to be done, beside a first index that is not wanted."""
    if first_index or status.generation:
        return status.needs_improving
    return bool(status.incomplete or status.forgetting)


def _summary(ended: list[tuple[str, State[Any]]]) -> State[Any]:
    names = [name for name, _ in ended]
    failed = [name for name, state in ended if not state.is_completed()]
    in_part = [name for name, state in ended if state.name == COMPLETED_WITH_ERRORS]
    message = f"{len(names)} datasets improved" if names else "Nothing to do"
    if failed:
        message = f"{len(names) - len(failed)} of {len(names)} datasets improved; failed: {', '.join(failed)}"
    if in_part:
        message += f"; with errors: {', '.join(in_part)}"
    if failed and len(failed) == len(names):
        return Failed(message=message)
    return Completed(name=COMPLETED_WITH_ERRORS if failed or in_part else "Completed", message=message)
