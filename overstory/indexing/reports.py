"""From the reports of batches to what a build as a whole did."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime

from overstory.errors import OverstoryError
from overstory.indexing.plans import BuildPlan
from overstory.indexing.summarizing import BatchReport
from overstory.models import Dataset, Generation, Manifest, Usage
from overstory.results import IndexResult, IndexStatus, LevelReport
from overstory.writer import Writer


def generation_of(
    plan: BuildPlan, dataset: Dataset, writer: Writer, reports: Sequence[BatchReport], degraded: int
) -> Generation:
    """What the manifest will say of a finished build."""
    usage = total_usage(reports)
    return Generation(
        number=plan.job.generation,
        root_id=plan.root_id,
        bucketing_strategy=plan.options.bucketing_strategy,
        max_bucket_size=plan.options.max_bucket_size,
        placement_distance_threshold=plan.options.placement_distance_threshold,
        min_overlap=plan.options.min_overlap,
        level_sizes=plan.level_sizes,
        summaries=plan.summaries,
        degraded=degraded,
        model=writer.model,
        prompt_version=writer.prompt_version,
        embedding_model=dataset.embedding_model,
        embedding_dimensions=dataset.embedding_dimensions,
        built_at=datetime.now(UTC),
        model_calls=usage.calls,
        cost_usd=usage.cost_usd,
    )


def result_of(
    status: IndexStatus,
    manifest: Manifest,
    *,
    reports: Sequence[BatchReport] = (),
    reason: str = "",
    seconds: float = 0.0,
) -> IndexResult:
    """What the caller of a build is told; `manifest` is the one that is served now."""
    current = manifest.current
    usage = total_usage(reports)
    return IndexResult(
        status=status,
        reason=reason,
        generation=manifest.serving,
        buckets=sum(current.level_sizes) if current else 0,
        written=sum(r.written for r in reports),
        reused=sum(r.reused for r in reports),
        degraded=current.degraded if current else 0,
        model_calls=usage.calls,
        usage=usage,
        levels=levels_of(reports),
        seconds=seconds,
    )


def unchanged(manifest: Manifest, reports: Sequence[BatchReport], seconds: float) -> IndexResult:
    """What the caller is told of a build that made nothing better: what it took, and why it came to nothing."""
    usage = total_usage(reports)
    failed = next((reason for report in reports for reason in report.degraded.values()), "")
    result = result_of(IndexStatus.UNCHANGED, manifest, seconds=seconds)
    if result.degraded:
        tried = f": {failed}" if failed else "."
        reason = f"{result.degraded} of its texts are still written by rules, another try came out no better{tried}"
        result = replace(result, reason=reason)
    return replace(result, model_calls=usage.calls, usage=usage)


def left_over(plan: BuildPlan, reports: Sequence[BatchReport]) -> str:
    """What is done and what is left of a build that stopped."""
    done = sum(r.written + r.reused for r in reports)
    return f"{done} of {plan.to_write} texts are done and kept, {plan.to_write - done} are left: the next run goes on from there."


def reason_of(error: OverstoryError) -> str:
    """An error with what was noted on its way."""
    return " ".join([str(error), *getattr(error, "__notes__", ())])


def levels_of(reports: Sequence[BatchReport]) -> tuple[LevelReport, ...]:
    """One row a level, level 0 first, the root last."""
    levels: dict[int, LevelReport] = {}
    for report in sorted(reports, key=lambda r: r.level):
        row = levels.get(report.level, LevelReport(level=report.level, buckets=0))
        levels[report.level] = replace(
            row,
            buckets=row.buckets + report.buckets,
            written=row.written + report.written,
            reused=row.reused + report.reused,
            degraded=row.degraded + len(report.degraded),
            prompt_tokens=row.prompt_tokens + report.usage.prompt_tokens,
            completion_tokens=row.completion_tokens + report.usage.completion_tokens,
            cost_usd=_sum(row.cost_usd, report.usage.cost_usd),
            seconds=row.seconds + report.seconds,
        )
    return tuple(levels.values())


def total_usage(reports: Sequence[BatchReport]) -> Usage:
    usage = Usage()
    for report in reports:
        usage += report.usage
    return usage


def _sum(one: float | None, other: float | None) -> float | None:
    return None if one is None and other is None else (one or 0.0) + (other or 0.0)
