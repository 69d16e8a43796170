"""remember: read → chunk → extract graph and summarise → embed and store."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from uuid import UUID

from overstory.errors import BudgetExceededError
from overstory.indexing import reading
from overstory.indexing.budgets import budgeted
from overstory.indexing.extracting import STAGE, ExtractReport, ExtractStoppedError
from overstory.indexing.leasing import writing_in
from overstory.indexing.sources import ReadOutcome, SourceInput
from overstory.layout import tasks
from overstory.models import FORGETTING, Document, Usage
from overstory.progress import watcher
from overstory.results import RememberResult
from overstory.runtime import open_dataset

from . import batches


@dataclass(slots=True, kw_only=True)
class Reading:
    """What reading chunks took in all."""

    chunks: int = 0
    degraded: int = 0
    usage: Usage = field(default_factory=Usage)
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
        report = await tasks.read.read_sources(dataset_id, data, node_set, fetched)
        with budgeted(dataset_id, None):
            read = await read_chunks(dataset_id, report.document_ids, report.unread, report.read)
    return RememberResult(
        dataset=opened.dataset.name,
        dataset_id=dataset_id,
        documents=tuple(report.outcomes),
        chunks=read.chunks,
        model_calls=read.usage.calls,
        degraded=read.degraded,
        usage=read.usage,
        writer=runtime.writer.model,
        embedder=runtime.embedder.model,
        seconds=time.monotonic() - begun,
    )


async def read_chunks(dataset_id: UUID, document_ids: Sequence[UUID], chunk_ids: Sequence[UUID], read: int) -> Reading:
    """Read chunks of documents, batch by batch, then finish the documents.

    Args:
        chunk_ids: those that are left to be read.
        read: how many chunks of the documents were read before.

    Returns:
        What was read. Where a cap stopped it, the documents are not finished, and the rest is left to the next run.

    Raises:
        ModelError, StoreError: the first failure, after what was under way has been stored.
    """
    runtime = (await open_dataset(dataset_id)).runtime
    size = batches.batch_size(runtime.settings, len(chunk_ids))
    firsts = range(0, len(chunk_ids), size)

    async def extract(first: int) -> ExtractReport:
        part = chunk_ids[first : first + size]
        return await tasks.extract.extract_chunks(dataset_id, part, first=first, of=len(chunk_ids))

    watcher().begin(STAGE, read + len(chunk_ids))
    watcher().advance(STAGE, read)
    reports, failures = await batches.run(firsts, extract, at_once=batches.batches_at_once(runtime.settings, size))
    watcher().end(STAGE)
    stopped = [failure for failure in failures if isinstance(failure, ExtractStoppedError)]
    for failure in failures:
        if not isinstance(failure, ExtractStoppedError):
            raise failure
    read_now = _sum_up([*reports, *(one.report for one in stopped)])
    if stopped:
        read_now.stopped = stopped[0].reason
    elif document_ids:
        await tasks.enrich.finish_documents(dataset_id, document_ids)
    return read_now


def _count(data: SourceInput) -> int:
    return len(data) if isinstance(data, list | tuple) else 1


def _sum_up(reports: Sequence[ExtractReport]) -> Reading:
    read = Reading()
    for report in reports:
        read.chunks += report.chunks
        read.degraded += report.degraded
        read.usage += report.usage
    return read
