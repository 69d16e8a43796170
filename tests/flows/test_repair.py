"""Leftovers: what is named by nothing goes, by itself where it can, by repair where something broke."""

from dataclasses import replace
from uuid import uuid4

from overstory import SourceDocument, datasets, improve, remember
from overstory.models import (
    OPEN_END,
    DocumentChunk,
    Edge,
    Entity,
    GlobalContextSummary,
    PendingChange,
    RelationshipLabel,
    TextSummary,
)
from overstory.runtime import open_dataset
from overstory.testing import ScriptedModelServer, say
from tests.flows.conftest import notes


def documents(count: int, first: int = 0) -> list[SourceDocument]:
    return [SourceDocument(t, source=f"{first + i}.md") for i, t in enumerate(notes(count, first))]


async def tenant():
    return (await open_dataset((await datasets.list_datasets())[0].id)).tenant


async def build():
    return (await improve(build_global_context_index=True)).index


async def rows(kind, generation=None):
    store = await tenant()
    keys = [k async for b in store.batches(kind, ["key"], generation=generation) for k in b.column("key").to_pylist()]
    from overstory.ids import uuid_of

    return await store.get(kind, [uuid_of(k) for k in keys])


async def test_what_rules_named_is_gone_once_the_model_has_read(model: ScriptedModelServer):
    model.when(say("no"), text="Northstar")
    first = await remember(documents(6))
    named_by_rules = {e.name for e in await rows(Entity)}
    model.behave()
    model.when(say('{"entities": [], "relations": [], "summary": "Northstar was reviewed."}'), text="Northstar")

    await improve()

    assert first.degraded >= 2
    assert "Northstar" in named_by_rules
    assert "Northstar" not in {e.name for e in await rows(Entity)}
    assert (await datasets.repair("main_dataset")).mended == 0
    assert (await datasets.status("main_dataset")).incomplete == 0


async def test_a_sound_dataset_has_nothing_to_mend():
    await remember(documents(12))
    await build()
    await remember(documents(3, first=12), self_improvement=False)

    result = await datasets.repair("main_dataset")

    assert (result.mended, result.advice) == (0, "improve")
    assert [v.rule for v in result.violations] == ["every-summary"]


async def test_what_nothing_supports_is_removed():
    await remember(documents(8))
    await build()
    store = await tenant()
    (chunk, *_), (entity, *_) = await rows(DocumentChunk), await rows(Entity)
    lost = replace(chunk, id=uuid4(), document_id=uuid4())
    await store.put([lost])
    await store.put([replace(entity, id=uuid4(), name="Nobody")])
    await store.put(
        [Edge(id=uuid4(), dataset_id=entity.dataset_id, source_id=entity.id, relationship_name="knows",
              target_id=uuid4(), chunk_id=chunk.id)]
    )  # fmt: skip
    await store.put([RelationshipLabel(id=uuid4(), dataset_id=entity.dataset_id, name="knows")])
    await store.put([replace((await rows(TextSummary))[0], id=uuid4(), chunk_id=uuid4())])

    first = await datasets.repair("main_dataset")
    await build()
    second = await datasets.repair("main_dataset")

    assert (first.chunks, first.summaries, first.entities, first.edges, first.labels) == (1, 1, 1, 1, 1)
    assert (second.mended, second.violations, second.advice) == (0, (), "")


async def test_children_that_lead_nowhere_are_cut_and_come_back_with_improve():
    await remember(documents(12))
    await build()
    store = await tenant()
    bucket = next(r for r in await rows(GlobalContextSummary) if r.level == 0 and not r.is_root)
    await store.patch(GlobalContextSummary, {bucket.key: {"child_ids": (*bucket.child_ids[1:], uuid4())}})
    assert {v.rule for v in await datasets.verify("main_dataset")} == {"nothing-dangles", "every-summary"}

    result = await datasets.repair("main_dataset")

    assert (result.children, result.advice) == (1, "improve")
    await build()
    assert await datasets.verify("main_dataset") == []
    assert (await datasets.status("main_dataset")).summaries == 12


async def test_marks_and_rows_of_a_writer_that_was_taken_over_are_taken_back():
    await remember(documents(12))
    await build()
    await remember(documents(2, first=12), self_improvement=False)
    await build()
    tree = await datasets.tree("main_dataset")
    store = await tenant()
    served = await rows(GlobalContextSummary, generation=2)
    dataset = (await datasets.list_datasets())[0]
    opened = await open_dataset(dataset.id)
    lease = await opened.runtime.store.acquire_lease(dataset.id, "test", 60)
    manifest = await opened.manifest()
    newest = replace(manifest.generations[-1], number=4)
    await opened.runtime.store.write_manifest(
        replace(manifest, serving=4, generations=(*manifest.generations, newest), last_number=4), lease
    )
    await opened.runtime.store.release_lease(lease)
    zombie = replace(served[0], valid_from=3, valid_to=OPEN_END)
    await store.put([zombie])
    await store.patch(GlobalContextSummary, {served[0].key: {"valid_to": 3}, served[1].key: {"valid_to": 3}})
    assert await datasets.verify("main_dataset")

    result = await datasets.repair("main_dataset")

    assert result.marks >= 2
    assert result.violations == ()
    assert await datasets.tree("main_dataset") == tree


async def test_changes_of_nothing_are_dropped():
    await remember(documents(5))
    await build()
    store = await tenant()
    await store.put([PendingChange(summary_id=uuid4(), dataset_id=store.dataset_id)])

    result = await datasets.repair("main_dataset")

    assert (result.pending, result.advice) == (1, "")
