"""Rows in, rows out: put, get, vectors, patch, delete, count."""

from dataclasses import replace
from uuid import uuid4

import numpy as np
import pytest

from overstory.models import (
    KINDS,
    VECTOR_KINDS,
    AreaContent,
    Category,
    ChunkGraph,
    Document,
    DocumentChunk,
    Edge,
    Entity,
    Fact,
    GlobalContextSummary,
    Mention,
    PendingChange,
    Relation,
    TextSummary,
)
from tests.contract.samples import DIMENSIONS, HOSTILE_TEXTS, dataset, random_vectors, row, some_keys, unit


@pytest.mark.parametrize("kind", KINDS)
async def test_a_row_comes_back_as_it_was_put(tenant, kind):
    one = row(kind, tenant.dataset_id)

    await tenant.put([one])

    assert await tenant.get(kind, [one.key]) == [one]
    assert await tenant.count(kind) == 1


async def test_a_tenant_knows_its_dataset(tenant, registered):
    assert tenant.dataset_id == registered.id


async def test_rows_come_in_the_order_asked_and_unknown_keys_are_left_out(tenant):
    first, second = row(Entity, tenant.dataset_id), row(Entity, tenant.dataset_id)
    await tenant.put([first, second])

    found = await tenant.get(Entity, [second.key, uuid4(), first.key])

    assert found == [second, first]


async def test_more_rows_than_any_page_come_back_whole_and_in_order(tenant):
    rows = [row(PendingChange, tenant.dataset_id) for _ in range(1_200)]
    await tenant.put(rows)

    found = await tenant.get(PendingChange, [one.key for one in reversed(rows)])

    assert found == rows[::-1]
    assert await tenant.count(PendingChange) == 1_200


async def test_nothing_in_nothing_out(tenant):
    await tenant.put([])
    await tenant.patch(Entity, {})

    assert await tenant.get(Entity, []) == []
    assert await tenant.vectors(Entity, []) == {}
    assert await tenant.delete(Entity, []) == 0
    assert await tenant.count(Entity) == 0
    assert await tenant.edges_between([]) == []


async def test_a_key_of_one_kind_is_no_key_of_another(tenant):
    entity = row(Entity, tenant.dataset_id)
    await tenant.put([entity])

    found = await tenant.get(DocumentChunk, [entity.key])

    assert found == []


async def test_structures_come_back_whole(tenant):
    graph = ChunkGraph(
        mentions=(Mention(name="Anna", type="person", description="An engineer"), Mention(name="Northstar")),
        relations=(Relation(source="Anna", name="works_on", target="Northstar", text="Anna works on Northstar"),),
    )
    content = AreaContent(
        categories=(Category(name="People", topics=("Anna", "Luis")),),
        facts=(
            Fact(
                text="It moved.", inputs=("a", "b"), summary_ids=(uuid4(),), occurred_at="2026-05-03", superseded=True
            ),
        ),
    )
    chunk = row(DocumentChunk, tenant.dataset_id, graph=graph, mentions=tuple(some_keys(3)))
    bucket = row(GlobalContextSummary, tenant.dataset_id, content=content, is_root=True, stale=True, withheld=True)

    await tenant.put([chunk])
    await tenant.put([bucket])

    assert await tenant.get(DocumentChunk, [chunk.key]) == [chunk]
    assert await tenant.get(GlobalContextSummary, [bucket.key]) == [bucket]


async def test_no_graph_is_not_an_empty_graph(tenant):
    without = row(DocumentChunk, tenant.dataset_id, graph=None)
    empty = row(DocumentChunk, tenant.dataset_id, graph=ChunkGraph())
    await tenant.put([without, empty])

    found = await tenant.get(DocumentChunk, [without.key, empty.key])

    assert [one.graph for one in found] == [None, ChunkGraph()]


@pytest.mark.parametrize("text", HOSTILE_TEXTS)
async def test_any_characters_in_every_text_field_come_back(tenant, text):
    rows = [
        row(
            Document, tenant.dataset_id, source=text, title=text, content_hash=text, occurred_at=text, node_set=(text,)
        ),
        row(DocumentChunk, tenant.dataset_id, text=text, graph=ChunkGraph(mentions=(Mention(name=text),))),
        row(TextSummary, tenant.dataset_id, text=text, model=text, degraded=text, node_set=(text, "b")),
        row(Entity, tenant.dataset_id, name=text, type=text, description=text),
        row(Edge, tenant.dataset_id, relationship_name=text, edge_text=text),
        row(
            GlobalContextSummary,
            tenant.dataset_id,
            text=text,
            fingerprint=text,
            content=AreaContent(categories=(Category(name=text, topics=(text,)),)),
        ),
    ]

    for one in rows:
        await tenant.put([one])

    assert [(await tenant.get(type(one), [one.key]))[0] for one in rows] == rows


# --- replacing -----------------------------------------------------------------------------------------------------


async def test_putting_a_key_again_replaces_the_row_and_its_vector(tenant):
    old = row(Entity, tenant.dataset_id, name="Old", description="gone")
    await tenant.put([old], unit(1)[None])
    new = replace(old, name="New", description="")

    await tenant.put([new], unit(0, 1)[None])

    assert await tenant.get(Entity, [old.key]) == [new]
    assert await tenant.count(Entity) == 1
    np.testing.assert_allclose((await tenant.vectors(Entity, [old.key]))[old.key], unit(0, 1), atol=1e-6)


async def test_putting_a_key_again_without_vector_takes_the_vector_away(tenant):
    one = row(Entity, tenant.dataset_id)
    await tenant.put([one], unit(1)[None])

    await tenant.put([one])

    assert await tenant.vectors(Entity, [one.key]) == {}
    assert await tenant.search_vectors(Entity, unit(1), 10) == []


async def test_putting_the_same_twice_changes_nothing(tenant):
    rows, vectors = [row(Entity, tenant.dataset_id) for _ in range(3)], random_vectors(3)
    await tenant.put(rows, vectors)

    await tenant.put(rows, vectors)

    assert await tenant.get(Entity, [one.key for one in rows]) == rows
    assert await tenant.count(Entity) == 3
    assert len(await tenant.search_vectors(Entity, vectors[0], None)) == 3


# --- vectors -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", VECTOR_KINDS)
async def test_vectors_come_back_by_key(tenant, kind):
    rows, vectors = [row(kind, tenant.dataset_id) for _ in range(3)], random_vectors(3)
    await tenant.put(rows, vectors)

    found = await tenant.vectors(kind, [rows[2].key, uuid4(), rows[0].key])

    assert set(found) == {rows[2].key, rows[0].key}
    assert found[rows[2].key].dtype == np.float32
    np.testing.assert_allclose(found[rows[2].key], vectors[2], atol=1e-6)


async def test_rows_without_vectors_are_left_out(tenant):
    one = row(Entity, tenant.dataset_id)
    await tenant.put([one])

    found = await tenant.vectors(Entity, [one.key])

    assert found == {}


@pytest.mark.parametrize(
    "vectors",
    [
        random_vectors(1),
        random_vectors(3),
        random_vectors(2, dimensions=DIMENSIONS + 1),
        random_vectors(2)[0],
        np.full((2, DIMENSIONS), np.nan, np.float32),
        np.full((2, DIMENSIONS), np.inf, np.float32),
        np.zeros((2, DIMENSIONS), np.float32),
        random_vectors(2) * 2,
        np.stack([unit(1), np.full(DIMENSIONS, np.nan, np.float32)]),
    ],
    ids=["too few", "too many", "too long", "flat", "nan", "infinite", "zero", "not of length 1", "one of two nan"],
)
async def test_wrong_vectors_are_refused_and_nothing_is_stored(tenant, vectors):
    rows = [row(Entity, tenant.dataset_id) for _ in range(2)]

    with pytest.raises(ValueError, match="vector"):
        await tenant.put(rows, vectors)

    assert await tenant.count(Entity) == 0


async def test_vectors_for_a_kind_that_has_none_are_refused(tenant):
    edge = row(Edge, tenant.dataset_id)

    with pytest.raises(ValueError, match="Edge"):
        await tenant.put([edge], unit(1)[None])

    assert await tenant.count(Edge) == 0


@pytest.mark.parametrize("case", ["two kinds", "foreign", "twice"])
async def test_rows_that_do_not_belong_together_are_refused(tenant, case):
    one = row(Entity, tenant.dataset_id)
    other = {
        "two kinds": row(Edge, tenant.dataset_id),
        "foreign": row(Entity, uuid4()),
        "twice": replace(one, name="Again"),
    }[case]

    with pytest.raises(ValueError):
        await tenant.put([one, other])

    assert await tenant.count(Entity) == 0


# --- patching ------------------------------------------------------------------------------------------------------


async def test_a_patch_changes_named_fields_and_keeps_the_rest_and_the_vector(tenant):
    one = row(TextSummary, tenant.dataset_id, text="old", entity_ids=tuple(some_keys(2)))
    await tenant.put([one], unit(1)[None])

    await tenant.patch(TextSummary, {one.key: {"text": "new", "importance_weight": 0.9, "degraded": "why"}})

    assert await tenant.get(TextSummary, [one.key]) == [replace(one, text="new", importance_weight=0.9, degraded="why")]
    np.testing.assert_allclose((await tenant.vectors(TextSummary, [one.key]))[one.key], unit(1), atol=1e-6)
    assert [hit.key for hit in await tenant.search_vectors(TextSummary, unit(1), 1)] == [one.key]


async def test_a_patch_may_change_each_row_differently(tenant):
    rows = [row(Entity, tenant.dataset_id) for _ in range(3)]
    await tenant.put(rows)

    await tenant.patch(Entity, {rows[0].key: {"name": "A"}, rows[1].key: {"description": "B", "feedback_weight": 0.0}})

    found = await tenant.get(Entity, [one.key for one in rows])
    assert found == [replace(rows[0], name="A"), replace(rows[1], description="B", feedback_weight=0.0), rows[2]]


async def test_a_patch_passes_over_unknown_keys(tenant):
    one = row(Entity, tenant.dataset_id)
    await tenant.put([one])

    await tenant.patch(Entity, {uuid4(): {"name": "Nobody"}, one.key: {"name": "Somebody"}})

    assert await tenant.count(Entity) == 1
    assert (await tenant.get(Entity, [one.key]))[0].name == "Somebody"


async def test_a_patch_of_structures_and_lists_comes_back(tenant):
    chunk, bucket = row(DocumentChunk, tenant.dataset_id), row(GlobalContextSummary, tenant.dataset_id)
    await tenant.put([chunk])
    await tenant.put([bucket])
    graph, mentions = ChunkGraph(mentions=(Mention(name="Anna"),)), tuple(some_keys(2))
    content = AreaContent(categories=(Category(name="People", topics=("Anna",)),))

    await tenant.patch(DocumentChunk, {chunk.key: {"graph": graph, "mentions": mentions, "node_set": ("a", "b")}})
    await tenant.patch(GlobalContextSummary, {bucket.key: {"content": content, "stale": True, "valid_to": 4}})

    assert await tenant.get(DocumentChunk, [chunk.key]) == [
        replace(chunk, graph=graph, mentions=mentions, node_set=("a", "b"))
    ]
    assert await tenant.get(GlobalContextSummary, [bucket.key]) == [
        replace(bucket, content=content, stale=True, valid_to=4)
    ]


async def test_a_patch_may_take_a_value_away(tenant):
    chunk = row(DocumentChunk, tenant.dataset_id, graph=ChunkGraph(), mentions=tuple(some_keys(2)), node_set=("a",))
    await tenant.put([chunk])

    await tenant.patch(DocumentChunk, {chunk.key: {"graph": None, "mentions": (), "node_set": (), "occurred_at": ""}})

    assert await tenant.get(DocumentChunk, [chunk.key]) == [replace(chunk, graph=None, mentions=(), node_set=())]


@pytest.mark.parametrize("change", [{"colour": "red"}, {"id": uuid4()}, {"dataset_id": uuid4()}])
async def test_a_patch_of_what_no_row_has_or_may_change_is_refused(tenant, change):
    one = row(Entity, tenant.dataset_id)
    await tenant.put([one])

    with pytest.raises(ValueError):
        await tenant.patch(Entity, {one.key: change})

    assert await tenant.get(Entity, [one.key]) == [one]


# --- deleting ------------------------------------------------------------------------------------------------------


async def test_deleted_rows_are_gone_with_their_vectors_and_counted(tenant):
    rows, vectors = [row(Entity, tenant.dataset_id) for _ in range(3)], random_vectors(3)
    await tenant.put(rows, vectors)

    removed = await tenant.delete(Entity, [rows[0].key, uuid4(), rows[2].key])

    assert removed == 2
    assert await tenant.get(Entity, [one.key for one in rows]) == [rows[1]]
    assert list(await tenant.vectors(Entity, [one.key for one in rows])) == [rows[1].key]
    assert [hit.key for hit in await tenant.search_vectors(Entity, vectors[0], None)] == [rows[1].key]
    assert await tenant.delete(Entity, [rows[0].key]) == 0


async def test_a_key_named_twice_is_deleted_once(tenant):
    one = row(Entity, tenant.dataset_id)
    await tenant.put([one])

    removed = await tenant.delete(Entity, [one.key, one.key])

    assert removed == 1


async def test_more_rows_than_any_page_are_deleted(tenant):
    rows = [row(PendingChange, tenant.dataset_id) for _ in range(1_200)]
    await tenant.put(rows)

    removed = await tenant.delete(PendingChange, [one.key for one in rows])

    assert removed == 1_200
    assert await tenant.count(PendingChange) == 0


async def test_erasing_traces_leaves_what_is_stored(tenant):
    rows, vectors = [row(Entity, tenant.dataset_id, name=f"Name{i}") for i in range(4)], random_vectors(4)
    await tenant.put(rows, vectors)
    await tenant.delete(Entity, [rows[0].key])

    await tenant.erase_traces()
    await tenant.erase_traces()

    assert await tenant.get(Entity, [one.key for one in rows]) == rows[1:]
    assert [hit.key for hit in await tenant.search_vectors(Entity, vectors[2], 1)] == [rows[2].key]
    assert [hit.key for hit in await tenant.search_text(Entity, "name3", 5)] == [rows[3].key]
    assert await tenant.search_text(Entity, "name0", 5) == []


async def test_the_files_of_a_tenant_hold_its_rows_or_there_are_none(tenant):
    word = "zorblaxite"
    await tenant.put([row(DocumentChunk, tenant.dataset_id, text=f"The {word} is kept here.")])

    files = await tenant.files()

    assert all(path.is_file() for path in files)
    assert not files or any(word.encode() in path.read_bytes() for path in files)


async def test_a_tenant_describes_itself_in_texts_and_numbers(tenant):
    facts = await tenant.describe()

    assert facts
    assert all(isinstance(name, str) and isinstance(fact, str | int) for name, fact in facts.items())


async def test_two_datasets_never_mix(store, registered, tenant):
    other = await store.create_dataset(dataset("other"))
    neighbour = await store.tenant(other)
    mine, theirs = row(Entity, registered.id, name="canary"), row(Entity, other.id, name="canary")
    await tenant.put([mine], unit(1)[None])

    await neighbour.put([theirs], unit(1)[None])

    assert await tenant.get(Entity, [mine.key, theirs.key]) == [mine]
    assert await tenant.count(Entity) == 1
    assert [hit.key for hit in await tenant.search_vectors(Entity, unit(1), None)] == [mine.key]
    assert [hit.key for hit in await tenant.search_text(Entity, "canary", 10)] == [mine.key]
    assert await tenant.vectors(Entity, [theirs.key]) == {}
    assert await tenant.delete(Entity, [theirs.key]) == 0
    await store.drop_dataset(other.id)
    assert await tenant.count(Entity) == 1


async def test_fields_that_are_not_needed_are_left_empty(tenant):
    chunk = row(DocumentChunk, tenant.dataset_id, graph=ChunkGraph(mentions=(Mention(name="Porto"),)))
    await tenant.put([chunk])

    found = await tenant.get(DocumentChunk, [chunk.id], without=["graph"])

    assert found == [replace(chunk, graph=None)]
    with pytest.raises(ValueError, match="text"):
        await tenant.get(DocumentChunk, [chunk.id], without=["text"])
