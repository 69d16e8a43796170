"""remember: read → chunk → extract graph and summarise → embed and store."""

import time
from collections.abc import Mapping
from dataclasses import dataclass
from uuid import UUID

from overstory.errors import BudgetExceededError
from overstory.indexing import reading
from overstory.indexing.budgets import budgeted
from overstory.indexing.documents import Intake
from overstory.indexing.extracting import STAGE, ExtractReport, ExtractStoppedError
from overstory.indexing.leasing import writing_in
from overstory.indexing.sources import ReadOutcome, SourceInput
from overstory.layout import tasks
from overstory.models import FORGETTING, Document
from overstory.progress import watcher
from overstory.results import RememberResult
from overstory.runtime import open_dataset

from . import batches


@dataclass(slots=True, kw_only=True)
class Reading(ExtractReport):
    """What reading chunks took in all."""

    stopped: BudgetExceededError | None = None
    """The cap that left chunks to be read."""


@tasks.policies.flow(
    lambda call: "remember",
    shown=lambda call: {"sources": _count(call["data"]), "node_set": list(call["node_set"])},
)
async def remember(
    dataset_id: UUID,
    data: SourceInput,
    *,
    node_set: tuple[str, ...] = (),
    fetched: Mapping[str, ReadOutcome] = reading.NOTHING_FETCHED,
    wait_seconds: float = 0,
) -> RememberResult:
    """Take sources into a dataset; those files and URLs that were `fetched` a moment ago, by source, as they are."""
    begun = time.monotonic()
    opened = await open_dataset(dataset_id)
    runtime = opened.runtime
    alone = not tasks.policies.processes()
    async with writing_in(opened, "remember", wait_seconds=wait_seconds, alone=alone) as held:
        if await opened.tenant.find(Document, "state", [FORGETTING], limit=1):
            await tasks.remove.forget_documents(dataset_id, (), held.lease)
        taken = await tasks.read.read_sources(dataset_id, data, node_set, fetched)
        with budgeted(dataset_id, None):
            done = await read_chunks(dataset_id, taken)
    return RememberResult(
        dataset=opened.dataset.name,
        dataset_id=dataset_id,
        documents=tuple(taken.outcomes),
        chunks=done.chunks,
        model_calls=done.usage.calls,
        degraded=done.degraded,
        usage=done.usage,
        writer=runtime.writer.model,
        embedder=runtime.embedder.model,
        seconds=time.monotonic() - begun,
    )


async def read_chunks(dataset_id: UUID, taken: Intake) -> Reading:
    """Read the chunks that are left to be read, batch by batch, then finish the documents.

    Returns:
        What was read. Where a cap stopped it, the documents are not finished, and the rest is left to the next run.

    Raises:
        ModelError, StoreError: the first failure, after what was under way has been stored.
    """
    runtime = (await open_dataset(dataset_id)).runtime
    count = len(taken.unread)
    size = batches.batch_size(runtime.settings, count)
    firsts = range(0, count, size)

    async def extract(first: int) -> ExtractReport:
        part = taken.unread[first : first + size]
        return await tasks.extract.extract_chunks(dataset_id, part, first=first, of=count)

    watcher().begin(STAGE, taken.chunks_read + count)
    watcher().advance(STAGE, taken.chunks_read)
    reports, failures = await batches.run(firsts, extract, at_once=batches.batches_at_once(runtime.settings, size))
    watcher().end(STAGE)
    stopped = [failure for failure in failures if isinstance(failure, ExtractStoppedError)]
    for failure in failures:
        if not isinstance(failure, ExtractStoppedError):
            raise failure
    done = Reading(stopped=stopped[0].reason if stopped else None)
    for report in [*reports, *(one.report for one in stopped)]:
        done += report
    if not stopped and taken.document_ids:
        await tasks.enrich.finish_documents(dataset_id, taken.document_ids)
    return done


def _count(data: SourceInput) -> int:
    return len(data) if isinstance(data, list | tuple) else 1
