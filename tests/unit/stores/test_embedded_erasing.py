"""What was deleted can't be read out of the files."""

from dataclasses import replace
from pathlib import Path
from random import Random

import pytest

from overstory.models import (
    AreaContent,
    Category,
    ChunkGraph,
    DocumentChunk,
    Entity,
    GlobalContextSummary,
    Mention,
    TextSummary,
)
from overstory.stores.embedded import EmbeddedStore
from tests.contract.samples import dataset, random_vectors, row

CANARY = "zyxwabracadabra"
FILLER = "ordinary words of an ordinary paragraph "


def _files_with(home: Path, word: str) -> list[str]:
    return [path.name for path in home.rglob("*") if path.is_file() and word.encode() in path.read_bytes()]


def _rows(dataset_id, kind, word, count=40):
    field = "name" if kind is Entity else "text"
    return [row(kind, dataset_id, **{field: f"{FILLER * 4} {word}{i} number{i}"}) for i in range(count)]


async def _fill(home: Path, access_control: bool):
    store = EmbeddedStore(home, access_control=access_control)
    created = await store.create_dataset(dataset())
    tenant = await store.tenant(created)
    for kind in (DocumentChunk, TextSummary, Entity):
        rows = [
            *_rows(created.id, kind, "harmless"),
            *_rows(created.id, kind, CANARY),
            *_rows(created.id, kind, "other"),
        ]
        await tenant.put(rows, random_vectors(len(rows)))
    chunk = row(DocumentChunk, created.id, graph=ChunkGraph(mentions=(Mention(name=CANARY),)), node_set=(CANARY,))
    area = row(
        GlobalContextSummary,
        created.id,
        text=CANARY,
        content=AreaContent(categories=(Category(name=CANARY, topics=()),)),
    )
    await tenant.put([chunk])
    await tenant.put([area])
    return store, created, tenant


async def _forget(tenant):
    for kind in (DocumentChunk, TextSummary, Entity, GlobalContextSummary):
        tables = [
            batch
            async for batch in tenant.batches(kind, [field for field in ("key", "name" if kind is Entity else "text")])
        ]
        cells = [cell for batch in tables for cell in batch.to_pylist()]
        doomed = [cell["key"] for cell in cells if CANARY in cell.get("text", cell.get("name"))]
        await tenant.delete(kind, [type(tenant.dataset_id)(bytes=key) for key in doomed])
    tagged = await tenant.find(DocumentChunk, "node_set", [CANARY])
    await tenant.delete(DocumentChunk, tagged)


async def test_the_check_of_these_tests_sees_what_is_stored(home):
    store, _, _ = await _fill(home, access_control=True)

    await store.close()

    assert _files_with(home, CANARY) != []


@pytest.mark.parametrize("access_control", [True, False])
async def test_a_deleted_word_is_in_no_byte_of_any_file(home, access_control):
    store, _, tenant = await _fill(home, access_control)
    await _forget(tenant)

    await tenant.erase_traces()

    await store.close()
    assert _files_with(home, CANARY) == []
    assert _files_with(home, "harmless") != []


async def test_nothing_is_left_already_before_the_store_is_closed(home):
    store, _, tenant = await _fill(home, access_control=True)
    await _forget(tenant)

    await tenant.erase_traces()

    copies = {path.name: path.read_bytes() for path in home.rglob("*") if path.is_file()}
    assert [name for name, content in copies.items() if CANARY.encode() in content] == []
    await store.close()


async def test_replaced_and_patched_texts_are_erased_too(home):
    store, created, tenant = await _fill(home, access_control=True)
    await _forget(tenant)
    replaced, patched = _rows(created.id, TextSummary, CANARY, 2)
    await tenant.put([replaced, patched])
    await tenant.put([replace(replaced, text="new")])
    await tenant.patch(TextSummary, {patched.key: {"text": "new"}})

    await tenant.erase_traces()

    await store.close()
    assert _files_with(home, CANARY) == []


@pytest.mark.parametrize("access_control", [True, False])
async def test_a_dropped_dataset_leaves_nothing_but_how_often_its_name_was_used(home, access_control):
    store, created, _ = await _fill(home, access_control)

    await store.drop_dataset(created.id)

    await store.close()
    assert _files_with(home, CANARY) == []
    assert _files_with(home, str(created.id)) == []


async def test_the_name_of_a_dropped_dataset_is_gone(home):
    store = EmbeddedStore(home)
    created = await store.create_dataset(dataset(CANARY))
    other = await store.create_dataset(dataset("other"))

    await store.drop_dataset(created.id)

    assert await store.next_occurrence(created.owner_id, CANARY) == 1
    assert await store.list_datasets() == [other]
    await store.close()
    assert _files_with(home, CANARY) == []


async def test_rows_are_where_they_were_after_erasing(home):
    store, created, tenant = await _fill(home, access_control=True)
    kept = row(Entity, created.id, name="Northstar")
    vector = random_vectors(1, seed=9)
    await tenant.put([kept], vector)
    await _forget(tenant)

    await tenant.erase_traces()

    assert await tenant.get(Entity, [kept.key]) == [kept]
    assert (await tenant.search_vectors(Entity, vector[0], 1))[0].key == kept.key
    assert [hit.key for hit in await tenant.search_text(Entity, "northstar", 5)] == [kept.key]
    assert await tenant.count(Entity) == 81
    await store.close()


async def test_nothing_is_rewritten_when_nothing_was_deleted(home):
    store, _, tenant = await _fill(home, access_control=True)
    await tenant.erase_traces()
    files = {path: path.stat().st_mtime_ns for path in (home / "datasets").iterdir()}

    await tenant.erase_traces()

    assert {path: path.stat().st_mtime_ns for path in (home / "datasets").iterdir()} == files
    await store.close()


async def test_copies_that_moving_rows_left_behind_are_erased_too(home):
    store = EmbeddedStore(home)
    created = await store.create_dataset(dataset())
    tenant = await store.tenant(created)
    random, doomed = Random(0), []
    for _ in range(25):
        rows = [
            row(TextSummary, created.id, text=f"{word} {'x' * random.choice([5, 50, 500, 3_000])}", node_set=(word,))
            for word in (random.choice([CANARY, "harmless"]) for _ in range(30))
        ]
        await tenant.put(rows)
        doomed += [one.key for one in rows if one.node_set == (CANARY,)]
        grown = random.sample(rows, 8)
        await tenant.patch(TextSummary, {one.key: {"text": one.text + " y" * 400} for one in grown})
        await tenant.delete(TextSummary, [one.key for one in random.sample(rows, 8)])
    await tenant.delete(TextSummary, doomed)

    await tenant.erase_traces()

    await store.close()
    assert _files_with(home, CANARY) == []
