"""Writing the texts of a batch of buckets: what is paid for is kept, what fails is replaced and marked."""

import asyncio
import time
from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeAlias
from uuid import UUID

import numpy as np

from overstory import ids
from overstory.errors import (
    BudgetExceededError,
    ModelError,
    ModelOverloadedError,
    ModelUnavailableError,
)
from overstory.indexing.area_tasks import PreparedArea, prepare
from overstory.indexing.budgets import Budget
from overstory.indexing.extracting import StoppedError, embed_texts
from overstory.indexing.gate import CheckedArea, fallback_area, write_checked_area
from overstory.indexing.plans import Batch, Job
from overstory.indexing.rendering import render_area
from overstory.indexing.shelf import Shelf
from overstory.models import GlobalContextSummary, Usage
from overstory.offline.writer import extractive_area
from overstory.progress import watcher
from overstory.settings import Settings
from overstory.stores.contract import Tenant
from overstory.writer import Embedder, Writer

Rows: TypeAlias = Shelf[GlobalContextSummary]
_FEW = 2
"""Up to so many calls that all fail may be bad luck with their texts; more of them mean that the model is down."""


def stage_of(level: int, is_root: bool = False) -> str:
    return "writing the root" if is_root else f"writing level {level}"


@dataclass(slots=True, kw_only=True)
class BatchReport:
    """What a batch took: counts and ids, no texts."""

    level: int
    is_root: bool = False
    buckets: int = 0
    written: int = 0
    reused: int = 0
    degraded: dict[str, str] = field(default_factory=dict)
    """Id of a bucket → why its text is a fallback."""
    usage: Usage = field(default_factory=Usage)
    seconds: float = 0.0


class BatchStoppedError(StoppedError[BatchReport]):
    """A cap, or the model, ended a batch."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tools:
    """What writing needs, opened by the step."""

    tenant: Tenant
    writer: Writer
    embedder: Embedder
    settings: Settings
    budget: Budget
    unstored: AbstractAsyncContextManager[Any]
    """Room for one that is not stored yet."""


async def summarize(tools: Tools, job: Job, batch: Batch, *, lenient: bool) -> BatchReport:
    """Write a batch: skip what this build has, adopt what an interrupted one paid for, reuse, else ask the writer.

    Each text is stored as soon as it is finished.

    Args:
        lenient: texts of this build were written before, so one or two calls that get no answer are taken for bad
            luck and replaced by fallbacks; else they stop the build.

    Raises:
        BatchStoppedError: a cap was reached (its reason is a BudgetExceededError), or the model does not answer or
            refuses the key (a ModelError); what is finished is stored.
    """
    begun = time.monotonic()
    report = BatchReport(level=batch.level, is_root=batch.buckets[0].is_root, buckets=len(batch.buckets))
    areas = await prepare(tools.tenant, tools.writer, tools.settings, job, batch.buckets)
    ready, kept = await find_finished(tools.tenant, job, areas)
    shelf: Rows = Shelf(partial(_store, tools.tenant, tools.embedder))
    stage = stage_of(batch.level, report.is_root)
    await _take_over(tools.tenant, ready, shelf)
    report.reused = len(ready) + len(kept)
    watcher().advance(stage, report.reused, reused=report.reused)
    open_areas = [a for a in areas if a.bucket.id not in {r.id for r, _ in ready} | kept]
    try:
        await _write_all(tools, job, open_areas, shelf, report, lenient=lenient)
    except (BudgetExceededError, ModelError) as error:
        raise BatchStoppedError(report, error) from error
    finally:
        await shelf.close()
        report.seconds = time.monotonic() - begun
    return report


async def find_finished(
    tenant: Tenant, job: Job, areas: Sequence[PreparedArea]
) -> tuple[list[tuple[GlobalContextSummary, UUID]], set[UUID]]:
    """Rows that can be taken over (with the key of their vector), and ids of those that this generation has."""
    keys = [ids.row_key(a.bucket.id, n) for a in areas for n in (job.generation, *job.adopt)]
    rows = await tenant.get(GlobalContextSummary, keys)
    if job.reuse and job.serving:
        rows += await _served_with(tenant, job, areas)
    rows = [row for row in rows if _may_be_used(row, job)]
    wanted = {a.bucket.id: a.fingerprint for a in areas}
    kept = {row.id for row in rows if row.valid_from == job.generation and row.fingerprint == wanted[row.id]}
    usable = {(row.fingerprint, row.is_root): row for row in reversed(rows)}  # of equal ones the first
    ready = []
    for area in areas:
        found = usable.get((area.fingerprint, area.bucket.is_root))
        if found is not None and area.bucket.id not in kept:
            taken = CheckedArea(content=found.content, degraded=found.degraded)
            ready.append((_row(job, area, taken, found.model), found.key))
    return ready, kept


def _may_be_used(row: GlobalContextSummary, job: Job) -> bool:
    """Not what a forgetting has cut, and a fallback only from a build that stopped.

    Else a capped build would write a fallback again and again; once it is served, the next build tries it anew.
    """
    return not (row.stale or row.withheld) and (not row.degraded or row.valid_from in job.adopt)


async def _served_with(tenant: Tenant, job: Job, areas: Sequence[PreparedArea]) -> list[GlobalContextSummary]:
    keys = await tenant.find(GlobalContextSummary, "fingerprint", [a.fingerprint for a in areas])
    rows = await tenant.get(GlobalContextSummary, keys)
    return [r for r in rows if r.valid_from <= job.serving < r.valid_to]


async def _write_all(
    tools: Tools, job: Job, areas: Sequence[PreparedArea], shelf: Rows, report: BatchReport, *, lenient: bool
) -> None:
    results = await asyncio.gather(*(_write_one(tools, job, a, shelf, report) for a in areas), return_exceptions=True)
    failed = [(a, r) for a, r in zip(areas, results, strict=True) if isinstance(r, BaseException)]
    unanswered = [(a, r) for a, r in failed if isinstance(r, (ModelUnavailableError, ModelOverloadedError))]
    for _, error in failed:
        if not isinstance(error, (ModelUnavailableError, ModelOverloadedError)):
            raise error
    if unanswered and len(unanswered) == len(areas) and (not lenient or len(unanswered) > _FEW):
        raise unanswered[0][1]
    for area, error in unanswered:
        await _finish(tools, job, area, fallback_area(area.task, extractive_area, str(error)), shelf, report)


async def _write_one(tools: Tools, job: Job, area: PreparedArea, shelf: Rows, report: BatchReport) -> None:
    usage = Usage()
    async with tools.unstored:
        await tools.budget.take()
        try:
            checked = await write_checked_area(
                tools.writer,
                area.task,
                fallback=extractive_area,
                attempts=tools.settings.index.write_attempts,
                usage=usage,
            )
        finally:
            report.usage += usage
            tools.budget.spend(usage)
        await _finish(tools, job, area, checked, shelf, report)


async def _finish(
    tools: Tools, job: Job, area: PreparedArea, checked: CheckedArea, shelf: Rows, report: BatchReport
) -> None:
    await shelf.put(_row(job, area, checked, tools.writer.model))
    report.written += 1
    if checked.degraded:
        report.degraded[str(area.bucket.id)] = checked.degraded
    watcher().advance(stage_of(area.bucket.level, area.bucket.is_root), 1, degraded=int(bool(checked.degraded)))


def _row(job: Job, area: PreparedArea, checked: CheckedArea, model: str) -> GlobalContextSummary:
    """A row that no generation sees until `publishing.open_rows`."""
    return GlobalContextSummary(
        id=area.bucket.id,
        dataset_id=job.dataset_id,
        level=area.bucket.level,
        is_root=area.bucket.is_root,
        child_ids=area.child_ids,
        content=checked.content,
        text=render_area(checked.content, is_root=area.bucket.is_root),
        valid_from=job.generation,
        valid_to=job.generation,
        fingerprint=area.fingerprint,
        model=model,
        degraded=checked.degraded,
    )


async def _store(tenant: Tenant, embedder: Embedder, rows: Sequence[GlobalContextSummary]) -> None:
    await tenant.put(rows, await embed_texts(embedder, [row.text for row in rows]))


async def _take_over(tenant: Tenant, rows: Sequence[tuple[GlobalContextSummary, UUID]], shelf: Rows) -> None:
    """Store rows whose text has a vector already, under the given key of another row."""
    known = await tenant.vectors(GlobalContextSummary, [key for _, key in rows])
    for row, key in rows:
        if key not in known:
            await shelf.put(row)
    have = [(row, known[key]) for row, key in rows if key in known]
    if have:
        await tenant.put([row for row, _ in have], np.stack([v for _, v in have]))
