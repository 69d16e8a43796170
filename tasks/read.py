"""Read sources and store their documents and chunks."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from uuid import UUID

from overstory.indexing import documents, reading
from overstory.indexing.sources import ReadOutcome, SkippedSource, SourceDocument, SourceInput
from overstory.progress import watcher
from overstory.results import DocumentOutcome, DocumentStatus
from overstory.runtime import OpenDataset, open_dataset

from .policies import task

STAGE = "reading sources"
_BATCH = 128


@dataclass(slots=True, kw_only=True)
class ReadReport:
    """What became of the sources, and what is left to be done with them."""

    outcomes: list[DocumentOutcome]
    document_ids: list[UUID]
    unread: list[UUID]
    """Chunks that are left to be read."""
    read: int = 0
    """How many chunks of the documents are read already."""


@task(lambda call: "read sources")
async def read_sources(
    dataset_id: UUID, data: SourceInput, node_set: tuple[str, ...], fetched: Mapping[str, ReadOutcome]
) -> ReadReport:
    """Read everything that `data` names and store what is new; what can't be read is reported as skipped.

    Args:
        fetched: files and URLs that were read a moment ago, by source.
    """
    opened = await open_dataset(dataset_id)
    report = ReadReport(outcomes=[], document_ids=[], unread=[])
    batch: dict[str, SourceDocument] = {}
    watcher().begin(STAGE, 0)
    async for outcome in reading.read(data, node_set, fetched=fetched):
        watcher().advance(STAGE)
        if not isinstance(outcome, SourceDocument):
            report.outcomes.append(_skipped(outcome))
            continue
        if outcome.source in batch or len(batch) >= _BATCH:
            await _take_in(opened, batch, report)
        batch[outcome.source] = outcome
    await _take_in(opened, batch, report)
    watcher().end(STAGE)
    return replace(  # a source may be given twice
        report, document_ids=_each_once(report.document_ids), unread=_each_once(report.unread)
    )


def _each_once(keys: list[UUID]) -> list[UUID]:
    return list(dict.fromkeys(keys))


def _skipped(skip: SkippedSource) -> DocumentOutcome:
    return DocumentOutcome(source=skip.source, document_id=None, status=DocumentStatus.SKIPPED, reason=skip.reason)


async def _take_in(opened: OpenDataset, batch: dict[str, SourceDocument], report: ReadReport) -> None:
    intake = await documents.take_in(opened.tenant, list(batch.values()), opened.runtime.settings.index.chunk_tokens)
    report.outcomes += intake.outcomes
    report.document_ids += intake.document_ids
    report.unread += intake.unread
    report.read += intake.read
    batch.clear()
