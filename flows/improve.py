"""improve: finish what is incomplete, then build or refresh the index."""

import logging
from dataclasses import replace
from uuid import UUID

from overstory.errors import OverstoryError
from overstory.indexing.budgets import Budget, budgeted
from overstory.indexing.leasing import HeldLease, writing_in
from overstory.indexing.plans import IMPROVE
from overstory.indexing.reports import reason_of, result_of
from overstory.layout import tasks
from overstory.models import Usage
from overstory.results import ImproveResult, IndexResult, IndexStatus
from overstory.runtime import OpenDataset, open_dataset

from .index import grow
from .remember import Reading, read_chunks

logger = logging.getLogger(__name__)


@tasks.policies.flow(
    lambda call: "improve",
    shown=lambda call: {"build_global_context_index": call["build_global_context_index"]},
)
async def improve(
    dataset_id: UUID, *, build_global_context_index: bool = False, wait_seconds: float = 0, budget: Budget | None = None
) -> ImproveResult:
    """Enrich a dataset and, when asked, bring its index up to date.

    A failure of the index is a warning in the result: what is served goes on being served.
    """
    opened = await open_dataset(dataset_id)
    alone = not tasks.policies.processes()
    async with writing_in(opened, "improve", wait_seconds=wait_seconds, alone=alone) as held:
        with budgeted(dataset_id, budget):
            reading, index = await _enrich_and_index(opened, held, build_global_context_index)
    usage = reading.usage
    reason = _left_unread(reading)
    if index:
        usage += index.usage
        reason = index.reason
    return ImproveResult(
        dataset=opened.dataset.name,
        index=index,
        completed_chunks=reading.chunks,
        warnings=(reason,) if reason else (),
        model_calls=usage.calls,
        usage=usage,
    )


async def enrich(dataset_id: UUID, held: HeldLease) -> Reading:
    """Finish documents that a stop, or a model that failed, left incomplete."""
    unfinished = await tasks.enrich.find_unfinished(dataset_id, held.lease)
    return await read_chunks(dataset_id, unfinished) if unfinished.document_ids else Reading()


async def _enrich_and_index(
    opened: OpenDataset, held: HeldLease, build_index: bool
) -> tuple[Reading, IndexResult | None]:
    reading = await enrich(opened.dataset.id, held)
    if not build_index:
        return reading, None
    if reading.stopped is None:
        return reading, await _index_or_reason(opened, held)
    manifest = await opened.manifest()
    return reading, result_of(IndexStatus.STOPPED, manifest, reason=_left_unread(reading))


def _left_unread(reading: Reading) -> str:
    return f"{reading.stopped} Chunks are left to be read." if reading.stopped else ""


async def _index_or_reason(opened: OpenDataset, held: HeldLease) -> IndexResult:
    usage = Usage()
    try:
        return await grow(opened.dataset.id, held, options=None, purpose=IMPROVE, usage=usage)
    except OverstoryError as error:
        logger.warning("The index of %s was not built: %s", opened.dataset.id, error)
        manifest = await opened.manifest()
        failed = result_of(IndexStatus.FAILED, manifest, reason=reason_of(error))
        return replace(failed, model_calls=usage.calls, usage=usage)
