"""What a build will take, before anything is paid: the plan is known, so the calls are."""

from collections.abc import Sequence
from dataclasses import replace
from uuid import UUID

from overstory.indexing import planning
from overstory.indexing.area_tasks import PreparedArea, prepare
from overstory.indexing.plans import IMPROVE, Batch, BuildPlan, PlannedBucket, batches_of
from overstory.indexing.summarizing import find_finished
from overstory.models import UNFINISHED, Document, GlobalContextSummary
from overstory.results import IndexPreview, LevelPreview
from overstory.runtime import OpenDataset
from overstory.writer import AreaInput, AreaTask

_BATCH = 256
_TEXT_OF_A_TOKEN = "word"


async def preview(opened: OpenDataset) -> IndexPreview:
    """Count what `improve` would ask of the model for the index; nothing is written."""
    tenant, manifest = opened.tenant, await opened.manifest()
    chosen = planning.choose_options(opened.dataset.name, manifest, None, IMPROVE)
    plan = await planning.look_ahead(tenant, manifest, chosen)
    levels = [] if plan.nothing_to_do else await _levels(opened, plan)
    prompt, completion = sum(row.prompt_tokens for row in levels), sum(row.completion_tokens for row in levels)
    return IndexPreview(
        model=opened.runtime.writer.model,
        buckets=plan.buckets,
        calls=sum(level.calls for level in levels),
        prompt_tokens=prompt,
        completion_tokens=completion,
        cost_usd=opened.runtime.writer.cost_usd(prompt, completion),
        levels=tuple(levels),
        written_by=manifest.current.model if manifest.current else "",
        incomplete_documents=len(await tenant.find(Document, "state", UNFINISHED)),
    )


async def _levels(opened: OpenDataset, plan: BuildPlan) -> list[LevelPreview]:
    known: dict[UUID, GlobalContextSummary] = {}
    unwritten: set[UUID] = set()
    rows: dict[int, LevelPreview] = {}
    for batch in batches_of(plan, _BATCH):
        paid = await _paid(opened, plan, batch, known, unwritten)
        row = _level(opened, batch, paid)
        old = rows.get(batch.level)
        rows[batch.level] = row if old is None else _add(old, row)
    return [rows[level] for level in sorted(rows)]


async def _paid(
    opened: OpenDataset,
    plan: BuildPlan,
    batch: Batch,
    known: dict[UUID, GlobalContextSummary],
    unwritten: set[UUID],
) -> list[AreaTask | None]:
    """The tasks of those buckets that a model has to write; None for one whose children are not written yet."""
    certain = [b for b in batch.buckets if not unwritten.intersection(b.child_ids)]
    areas: Sequence[PreparedArea] = ()
    if certain:
        runtime = opened.runtime
        areas = await prepare(opened.tenant, runtime.writer, runtime.settings, plan.job, certain, known)
    ready, kept = await find_finished(opened.tenant, plan.job, areas) if areas else ([], set())
    known.update({row.id: row for row, _ in ready})
    done = kept | {row.id for row, _ in ready}
    todo: list[AreaTask | None] = [a.task for a in areas if a.bucket.id not in done]
    todo += [None] * (len(batch.buckets) - len(certain))
    unwritten.update(b.id for b in batch.buckets if b.id not in done)
    return todo


def _level(opened: OpenDataset, batch: Batch, paid: Sequence[AreaTask | None]) -> LevelPreview:
    writer = opened.runtime.writer
    widest = _widest(opened, batch.buckets, children=max(len(b.child_ids) for b in batch.buckets))
    ceilings = [writer.token_ceiling(task or widest) for task in paid]
    prompt, completion = sum(p for p, _ in ceilings), sum(c for _, c in ceilings)
    return LevelPreview(
        level=batch.level,
        is_root=batch.buckets[0].is_root,
        buckets=len(batch.buckets),
        calls=len(paid),
        prompt_tokens=prompt,
        completion_tokens=completion,
        cost_usd=writer.cost_usd(prompt, completion),
    )


def _widest(opened: OpenDataset, buckets: Sequence[PlannedBucket], children: int) -> AreaTask:
    """A task whose children have texts as long as they may be."""
    limits, first = opened.runtime.settings.index, buckets[0]
    text = " ".join([_TEXT_OF_A_TOKEN] * limits.bucket_tokens)
    inputs = tuple(
        AreaInput(number=n, key=str(n), text=text, child_id=first.id, summary_ids=(), occurred_at="2025-01-01")
        for n in range(1, children + 1)
    )
    return AreaTask(
        is_root=first.is_root,
        level=first.level,
        inputs=inputs,
        max_tokens=limits.root_tokens if first.is_root else limits.bucket_tokens,
    )


def _add(one: LevelPreview, other: LevelPreview) -> LevelPreview:
    cost = None if one.cost_usd is None or other.cost_usd is None else one.cost_usd + other.cost_usd
    return replace(
        one,
        buckets=one.buckets + other.buckets,
        calls=one.calls + other.calls,
        prompt_tokens=one.prompt_tokens + other.prompt_tokens,
        completion_tokens=one.completion_tokens + other.completion_tokens,
        cost_usd=cost,
    )
