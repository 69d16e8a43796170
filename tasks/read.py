"""Read sources and store their documents and chunks."""

from collections.abc import Mapping
from uuid import UUID

from overstory.indexing import documents, reading
from overstory.indexing.documents import Intake
from overstory.indexing.sources import ReadOutcome, SkippedSource, SourceDocument, SourceInput
from overstory.progress import watcher
from overstory.results import DocumentOutcome, DocumentStatus
from overstory.runtime import OpenDataset, open_dataset

from .policies import task

STAGE = "reading sources"
_BATCH = 128


@task(lambda call: "read sources")
async def read_sources(
    dataset_id: UUID, data: SourceInput, node_set: tuple[str, ...], fetched: Mapping[str, ReadOutcome]
) -> Intake:
    """Read everything that `data` names and store what is new; what can't be read is reported as skipped.

    Args:
        fetched: files and URLs that were read a moment ago, by source.
    """
    opened = await open_dataset(dataset_id)
    taken = Intake()
    batch: dict[str, SourceDocument] = {}
    watcher().begin(STAGE, 0)
    async for outcome in reading.read(data, node_set, fetched=fetched):
        watcher().advance(STAGE)
        if not isinstance(outcome, SourceDocument):
            taken.outcomes.append(_skipped(outcome))
            continue
        if outcome.source in batch or len(batch) >= _BATCH:
            taken += await _take_in(opened, batch)
            batch.clear()
        batch[outcome.source] = outcome
    taken += await _take_in(opened, batch)
    watcher().end(STAGE)
    taken.document_ids, taken.unread = _each_once(taken.document_ids), _each_once(taken.unread)  # given twice, maybe
    return taken


def _each_once(keys: list[UUID]) -> list[UUID]:
    return list(dict.fromkeys(keys))


def _skipped(skip: SkippedSource) -> DocumentOutcome:
    return DocumentOutcome(source=skip.source, document_id=None, status=DocumentStatus.SKIPPED, reason=skip.reason)


async def _take_in(opened: OpenDataset, batch: dict[str, SourceDocument]) -> Intake:
    return await documents.take_in(opened.tenant, list(batch.values()), opened.runtime.settings.index.chunk_tokens)
