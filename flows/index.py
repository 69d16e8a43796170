"""global_context_index_pipeline and rebuild: plan → per level, in batches: summarise → root → verify → publish → sweep."""

import logging
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from uuid import UUID

from overstory import telemetry
from overstory.errors import BudgetExceededError, OverstoryError
from overstory.indexing.budgets import Budget, budgeted
from overstory.indexing.leasing import HeldLease, writing_in
from overstory.indexing.plans import IMPROVE, REBUILD, Batch, BuildPlan, batches_of
from overstory.indexing.reports import generation_of, left_over, reason_of, result_of, total_usage, unchanged
from overstory.indexing.summarizing import BatchReport, BatchStoppedError, stage_of
from overstory.indexing.tree.bucketing import TreeOptions
from overstory.layout import tasks
from overstory.models import Usage
from overstory.progress import watcher
from overstory.results import IndexResult, IndexStatus
from overstory.runtime import open_dataset
from overstory.telemetry import Kind

from . import batches

logger = logging.getLogger(__name__)


@tasks.policies.flow(
    lambda call: "rebuild" if call["rebuild"] else "global_context_index_pipeline",
    shown=lambda call: {**asdict(call["options"]), "reuse_unchanged": call["reuse_unchanged"]},
)
async def global_context_index_pipeline(
    dataset_id: UUID,
    *,
    options: TreeOptions,
    rebuild: bool = False,
    reuse_unchanged: bool = False,
    wait_seconds: float = 0,
    budget: Budget | None = None,
) -> IndexResult:
    """Bring the index of a dataset up to date, or write it from scratch."""
    opened = await open_dataset(dataset_id)
    purpose = REBUILD if rebuild else IMPROVE
    alone = not tasks.policies.processes()
    async with writing_in(opened, purpose, wait_seconds=wait_seconds, alone=alone) as held:
        with budgeted(dataset_id, budget):
            reuse = reuse_unchanged or not rebuild
            return await grow(dataset_id, held, options=options, purpose=purpose, usage=Usage(), reuse=reuse)


async def grow(
    dataset_id: UUID,
    held: HeldLease,
    *,
    options: TreeOptions | None,
    purpose: str,
    usage: Usage,
    reuse: bool = True,
) -> IndexResult:
    """Build and publish the next generation under a lease that is held.

    Args:
        options: None for those that the index was built with, or the defaults for a first one.
        usage: what the texts took is added here, also when it fails.

    Raises:
        ModelError: the model does not answer, or refuses the key; what is finished is kept for the next run.
    """
    with telemetry.operation(Kind.FLOW, "build index", dataset_id=str(dataset_id), purpose=purpose) as told:
        return tasks.policies.noted(told, await _grow(dataset_id, held, options, purpose, usage, reuse))


async def _grow(
    dataset_id: UUID, held: HeldLease, options: TreeOptions | None, purpose: str, usage: Usage, reuse: bool
) -> IndexResult:
    begun = time.monotonic()
    opened = await open_dataset(dataset_id)
    plan = await tasks.plan.plan_index(dataset_id, held.lease, options, purpose, reuse)
    if plan.nothing_to_do:
        status = IndexStatus.UNCHANGED if plan.root_id else IndexStatus.EMPTY
        return result_of(status, await opened.manifest())
    reports, stopped = await _write(plan, usage)
    if stopped is not None:
        stopped.add_note(left_over(plan, reports))
        if not isinstance(stopped, BudgetExceededError):
            raise stopped
        manifest = await opened.manifest()
        return result_of(IndexStatus.STOPPED, manifest, reports=reports, reason=reason_of(stopped))
    if plan.same_shape and await tasks.publish.withdraw_unchanged(dataset_id, plan, held.lease):
        return unchanged(await opened.manifest(), reports, time.monotonic() - begun)
    await _publish(plan, held, reports)
    status = IndexStatus.PUBLISHED if plan.root_id else IndexStatus.EMPTY
    manifest = await opened.manifest()
    result = result_of(status, manifest, reports=reports, seconds=time.monotonic() - begun)
    await tasks.report.report_index(dataset_id, reports, result)
    return result


async def _write(plan: BuildPlan, usage: Usage) -> tuple[list[BatchReport], OverstoryError | None]:
    """Write all texts of a plan, children before parents; what was written, and the cap or model that stopped it."""
    settings = (await open_dataset(plan.job.dataset_id)).runtime.settings
    size = batches.batch_size(settings, plan.to_write)
    todo = batches_of(plan, size)
    to_come = Counter(_stage_of(batch) for batch in todo)
    written = 0

    async def summarize(batch: Batch) -> BatchReport:
        nonlocal written
        report = await tasks.summarize.summarize_batch(plan.job.dataset_id, plan.job, batch, lenient=written > 0)
        written += report.written - len(report.degraded)
        logger.info(
            "%s: %d written, %d reused, %d degraded, %d tokens, %.1f s",
            batch.name,
            report.written,
            report.reused,
            len(report.degraded),
            report.usage.prompt_tokens + report.usage.completion_tokens,
            report.seconds,
        )
        to_come[_stage_of(batch)] -= 1
        if not to_come[_stage_of(batch)]:
            watcher().end(_stage_of(batch))
        return report

    for level in plan.levels:
        watcher().begin(stage_of(level[0].level, level[0].is_root), len(level))
    reports, failures = await batches.run(
        todo, summarize, waits_for=lambda b: b.waits_for, at_once=batches.batches_at_once(settings, size)
    )
    stopped = [f for f in failures if isinstance(f, BatchStoppedError)]
    reports += [f.report for f in stopped]
    usage += total_usage(reports)
    for failure in failures:
        if not isinstance(failure, BatchStoppedError):
            raise failure
    return reports, next((f.reason for f in stopped), None)


def _stage_of(batch: Batch) -> str:
    return stage_of(batch.level, batch.buckets[0].is_root)


async def _publish(plan: BuildPlan, held: HeldLease, reports: Sequence[BatchReport]) -> None:
    dataset_id = plan.job.dataset_id
    opened = await open_dataset(dataset_id)
    degraded = await tasks.publish.verify_index(dataset_id, plan, held.lease)
    generation = generation_of(plan, opened.dataset, opened.runtime.writer, reports, degraded)
    await tasks.publish.publish_index(dataset_id, generation, held.lease)
    await tasks.publish.sweep_index(dataset_id, plan.pending, held.lease)
