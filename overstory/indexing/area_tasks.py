"""From stored children to the task that a writer is given, and its fingerprint."""

import hashlib
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from uuid import UUID

from overstory import ids
from overstory.indexing.condensing import condense
from overstory.indexing.documents import order_key
from overstory.indexing.plans import Job, PlannedBucket
from overstory.models import Category, Document, Entity, GlobalContextSummary, TextSummary, instant
from overstory.settings import IndexSettings, Settings
from overstory.stores.contract import Tenant
from overstory.writer import AreaInput, AreaTask, Writer

_TOPICS = 24


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparedArea:
    bucket: PlannedBucket
    child_ids: tuple[UUID, ...]
    """In the order of events."""
    task: AreaTask
    fingerprint: str


async def prepare(
    tenant: Tenant,
    writer: Writer,
    settings: Settings,
    job: Job,
    buckets: Sequence[PlannedBucket],
    known: Mapping[UUID, GlobalContextSummary] | None = None,
) -> list[PreparedArea]:
    """Read the children of buckets of one level and say what is to be written from them.

    Args:
        known: children that need not be read from the store.
    """
    if buckets[0].level == 0:
        inputs, entities = await _from_summaries(tenant, buckets)
        categories: Mapping[UUID, tuple[Category, ...]] = {}
    else:
        inputs, categories = await _from_buckets(tenant, job, buckets, known or {})
        entities = {}
    prepared = []
    for bucket in buckets:
        ordered = sorted(inputs[bucket.id], key=lambda i: (instant(i.occurred_at), i.order, i.key))
        children = _order_of_children(bucket, ordered)
        task = _task(
            bucket,
            ordered,
            merge_categories([categories[c] for c in children if c in categories]),
            entities.get(bucket.id, ()),
            settings.index,
            writer.input_tokens,
        )
        prepared.append(
            PreparedArea(
                bucket=bucket,
                child_ids=children,
                task=task,
                fingerprint=fingerprint(writer, task),
            )
        )
    return prepared


def fingerprint(writer: Writer, task: AreaTask) -> str:
    """What a text is written from: equal fingerprints mean that it need not be written again."""
    parts = [[i.key, i.text, i.occurred_at, i.superseded, [s.hex for s in i.summary_ids]] for i in task.inputs]
    topics = [[[c.name, c.topics] for c in task.categories], task.entities]
    whole = [writer.model, writer.prompt_version, task.is_root, task.max_tokens, parts, topics]
    return hashlib.sha256(json.dumps(whole, ensure_ascii=True).encode()).hexdigest()


def _task(
    bucket: PlannedBucket,
    inputs: Sequence[AreaInput],
    categories: tuple[Category, ...],
    entities: tuple[str, ...],
    limits: IndexSettings,
    input_tokens: int,
) -> AreaTask:
    return AreaTask(
        is_root=bucket.is_root,
        level=bucket.level,
        inputs=_numbered(condense(_numbered(inputs), input_tokens)),
        categories=categories,
        entities=entities,
        max_tokens=limits.root_tokens if bucket.is_root else limits.bucket_tokens,
    )


def _numbered(inputs: Sequence[AreaInput]) -> tuple[AreaInput, ...]:
    return tuple(replace(i, number=n) for n, i in enumerate(inputs, 1))


def _order_of_children(bucket: PlannedBucket, inputs: Sequence[AreaInput]) -> tuple[UUID, ...]:
    first: dict[UUID, int] = {}
    for i in inputs:
        first.setdefault(i.child_id, len(first))
    return tuple(sorted(bucket.child_ids, key=lambda c: (first.get(c, len(first)), c)))


async def _from_summaries(
    tenant: Tenant, buckets: Sequence[PlannedBucket]
) -> tuple[dict[UUID, list[AreaInput]], dict[UUID, tuple[str, ...]]]:
    summaries = {s.id: s for s in await tenant.get(TextSummary, [c for b in buckets for c in b.child_ids])}
    documents = {d.id: d for d in await tenant.get(Document, list({s.document_id for s in summaries.values()}))}
    frequent = {b.id: _frequent_entities([summaries[c] for c in b.child_ids if c in summaries]) for b in buckets}
    wanted = list({e for entities in frequent.values() for e in entities})
    names = {e.id: e.name for e in await tenant.get(Entity, wanted)}
    inputs = {b.id: [_leaf_input(summaries[c], documents) for c in b.child_ids if c in summaries] for b in buckets}
    return inputs, {key: tuple(names[e] for e in found if e in names) for key, found in frequent.items()}


def _leaf_input(summary: TextSummary, documents: dict[UUID, Document]) -> AreaInput:
    document = documents.get(summary.document_id)
    return AreaInput(
        number=0,
        key=str(summary.id),
        text=summary.text,
        child_id=summary.id,
        summary_ids=(summary.id,),
        occurred_at=summary.occurred_at,
        order=order_key(document.source if document else "", summary.position),
    )


def _frequent_entities(summaries: Sequence[TextSummary]) -> list[UUID]:
    counts = Counter(e for s in summaries for e in s.entity_ids)
    return sorted(counts, key=lambda e: (-counts[e], e))[:_TOPICS]


async def _from_buckets(
    tenant: Tenant, job: Job, buckets: Sequence[PlannedBucket], known: Mapping[UUID, GlobalContextSummary]
) -> tuple[dict[UUID, list[AreaInput]], dict[UUID, tuple[Category, ...]]]:
    """Inputs by bucket, and categories by child."""
    unknown = [c for b in buckets for c in b.child_ids if c not in known]
    children = {**known, **await read_children(tenant, job, unknown)}
    inputs = {b.id: [i for c in b.child_ids if c in children for i in _fact_inputs(children[c])] for b in buckets}
    return inputs, {child.id: child.content.categories for child in children.values()}


async def read_children(tenant: Tenant, job: Job, wanted: Sequence[UUID]) -> dict[UUID, GlobalContextSummary]:
    """Buckets as the generation being built sees them: its own row, else the one that is served."""
    own = await tenant.get(GlobalContextSummary, [ids.row_key(c, job.generation) for c in wanted])
    children = {row.id: row for row in own}
    missing = [c for c in wanted if c not in children]
    if missing and job.serving:
        children |= {row.id: row for row in await tenant.areas(missing, job.serving)}
    return children


def _fact_inputs(child: GlobalContextSummary) -> list[AreaInput]:
    return [
        AreaInput(
            number=0,
            key=fact.key,
            text=fact.text,
            child_id=child.id,
            summary_ids=fact.summary_ids,
            occurred_at=fact.occurred_at,
            superseded=fact.superseded,
            order=fact.order,
        )
        for fact in child.content.facts
    ]


def merge_categories(groups: Sequence[tuple[Category, ...]]) -> tuple[Category, ...]:
    """Categories of several children as one: topics that more children name come first."""
    counts: dict[str, Counter[str]] = {}
    for categories in groups:
        for category in categories:
            counts.setdefault(category.name, Counter()).update(dict.fromkeys(category.topics, 1))
    return tuple(
        Category(name=name, topics=tuple(t for t, _ in topics.most_common(_TOPICS))) for name, topics in counts.items()
    )
