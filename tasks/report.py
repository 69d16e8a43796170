"""What people look at after a build: tables and a page among the artifacts of its run."""

import logging
from collections.abc import Sequence
from uuid import UUID

from overstory.indexing.reports import levels_of
from overstory.indexing.summarizing import BatchReport
from overstory.models import GlobalContextSummary
from overstory.results import IndexResult
from overstory.runtime import OpenDataset, open_dataset

from .policies import is_orchestrated, task

logger = logging.getLogger(__name__)

MOST_DEGRADED_SHOWN = 500
_TOP_SHOWN = 20


@task(lambda call: "report")
async def report_index(dataset_id: UUID, reports: Sequence[BatchReport], result: IndexResult) -> None:
    """Show a finished build: a table of its levels, one of degraded texts, the top of the tree. Nothing without Prefect."""
    if not is_orchestrated():
        return
    from .prefect_artifacts import show_page, show_table

    opened = await open_dataset(dataset_id)
    dataset = opened.dataset
    try:
        await show_table(
            dataset, "levels", level_rows(reports), f"Generation {result.generation} of {dataset.name}, level by level"
        )
        if degraded := degraded_rows(reports):
            why = f"Texts of {dataset.name} written by rules, not by the model, and why"
            await show_table(dataset, "degraded", degraded, why)
        what = f"The index of {dataset.name}: what was built, and its top"
        await show_page(dataset, "report", await _page(opened, result), what)
    except Exception as error:  # noqa: BLE001 - the index is published, whatever becomes of its report
        logger.warning("The report was not shown: %r", error)


def level_rows(reports: Sequence[BatchReport]) -> list[dict[str, object]]:
    """One row a level, the root last."""
    roots = {r.level for r in reports if r.is_root}
    return [
        {
            "level": "root" if row.level in roots else row.level,
            "buckets": row.buckets,
            "written": row.written,
            "reused": row.reused,
            "degraded": row.degraded,
            "tokens": row.prompt_tokens + row.completion_tokens,
            "cost USD": "" if row.cost_usd is None else f"{row.cost_usd:.4f}",
            "seconds": f"{row.seconds:.1f}",
        }
        for row in levels_of(reports)
    ]


def degraded_rows(reports: Sequence[BatchReport]) -> list[dict[str, object]]:
    rows: list[dict[str, object]] = [
        {"level": "root" if r.is_root else r.level, "bucket": key, "reason": " ".join(reason.split())[:300]}
        for r in reports
        for key, reason in r.degraded.items()
    ]
    return rows[:MOST_DEGRADED_SHOWN]


async def _page(opened: OpenDataset, result: IndexResult) -> str:
    manifest = await opened.manifest()
    current = manifest.current
    if current is None or current.root_id is None:
        return f"# {opened.dataset.name}\n\nThere is nothing to summarise."
    (root,) = await opened.tenant.areas([current.root_id], current.number)
    top = await opened.tenant.areas(root.child_ids[:_TOP_SHOWN], current.number)
    sizes = " → ".join(map(str, (current.summaries, *current.level_sizes, 1)))
    head = (
        f"# {opened.dataset.name}, generation {result.generation}\n\n"
        f"{current.bucketing_strategy} buckets of at most {current.max_bucket_size}, {sizes}. Model: {current.model}. "
        f"{result.written} texts written, {result.reused} reused, {result.degraded} degraded, "
        f"{result.model_calls} model calls, {result.seconds:.1f} s.\n"
    )
    return "\n".join(
        [head, "## Root\n", _quoted(root), *(f"## Area {i}\n\n{_quoted(a)}" for i, a in enumerate(top, 1))]
    )


def _quoted(area: GlobalContextSummary) -> str:
    """The text of an area as a quotation: what documents say is not our markup."""
    return "\n".join(f"> {line}" for line in area.text.split("\n")) + "\n"
