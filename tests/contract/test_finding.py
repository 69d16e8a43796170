"""Rows by their fields: find, tally, edges between nodes."""

from dataclasses import replace
from uuid import uuid4

import pytest

from overstory.columns import Form, columns_of
from overstory.models import FINDABLE, KINDS, Document, DocumentChunk, Edge, Entity, LeanEdge, TextSummary
from tests.contract.samples import row, some_keys

FIELDS = [(kind, field) for kind, names in FINDABLE.items() for field in names]
FORMS = {(kind, column.name): column.form for kind in KINDS for column in columns_of(kind)}


def _value(kind, field):
    return f"value {uuid4()}" if FORMS[kind, field] in (Form.TEXT, Form.TEXTS) else uuid4()


def _is_list(kind, field):
    return FORMS[kind, field] in (Form.IDS, Form.TEXTS)


def _holding(kind, tenant, field, value):
    held = (value, _value(kind, field)) if _is_list(kind, field) else value
    return row(kind, tenant.dataset_id, **{field: held})


@pytest.mark.parametrize(("kind", "field"), FIELDS)
async def test_rows_are_found_by_the_value_of_a_field(tenant, kind, field):
    wanted, other, unused = _value(kind, field), _value(kind, field), _value(kind, field)
    holders = [_holding(kind, tenant, field, wanted)]
    if field != "id":
        holders.append(_holding(kind, tenant, field, wanted))
    await tenant.put([*holders, _holding(kind, tenant, field, other)])

    found = await tenant.find(kind, field, [wanted, unused])

    assert found == sorted(one.key for one in holders)


@pytest.mark.parametrize(("kind", "field"), FIELDS)
async def test_each_value_is_tallied(tenant, kind, field):
    often, once, never = _value(kind, field), _value(kind, field), _value(kind, field)
    rows = [_holding(kind, tenant, field, value) for value in (often, once)]
    if field == "id":
        rows.append(replace(rows[0], valid_from=2))
    else:
        rows.append(_holding(kind, tenant, field, often))
    await tenant.put(rows)

    tallied = await tenant.tally(kind, field, [often, once, never])

    assert tallied == {often: 2, once: 1, never: 0}


@pytest.mark.parametrize(("kind", "field"), FIELDS)
async def test_what_was_replaced_patched_or_deleted_is_found_no_more(tenant, kind, field):
    if field == "id":
        pytest.skip("a key follows from it")
    value = _value(kind, field)
    replaced, patched, deleted = (_holding(kind, tenant, field, value) for _ in range(3))
    await tenant.put([replaced, patched, deleted])
    new = _value(kind, field)
    changed = (new,) if _is_list(kind, field) else new

    await tenant.put([replace(replaced, **{field: changed})])
    await tenant.patch(kind, {patched.key: {field: changed}})
    await tenant.delete(kind, [deleted.key])

    assert await tenant.find(kind, field, [value]) == []
    assert await tenant.find(kind, field, [new]) == sorted([replaced.key, patched.key])
    assert await tenant.tally(kind, field, [value, new]) == {value: 0, new: 2}


async def test_a_row_that_holds_two_of_the_values_is_found_once(tenant):
    first, second = some_keys(2)
    chunk = row(DocumentChunk, tenant.dataset_id, mentions=(first, second, first))
    await tenant.put([chunk])

    found = await tenant.find(DocumentChunk, "mentions", [first, second])

    assert found == [chunk.key]
    assert await tenant.tally(DocumentChunk, "mentions", [first]) == {first: 1}


async def test_the_limit_keeps_the_lowest_keys(tenant):
    document = uuid4()
    chunks = [row(DocumentChunk, tenant.dataset_id, document_id=document) for _ in range(30)]
    await tenant.put(chunks)

    found = await tenant.find(DocumentChunk, "document_id", [document, uuid4()], limit=12)

    assert found == sorted(chunk.key for chunk in chunks)[:12]


async def test_more_rows_and_values_than_any_page_are_found(tenant):
    documents = some_keys(700)
    summaries = [row(TextSummary, tenant.dataset_id, document_id=one) for one in documents for _ in range(2)]
    await tenant.put(summaries)

    found = await tenant.find(TextSummary, "document_id", documents)

    assert found == sorted(one.key for one in summaries)
    assert await tenant.tally(TextSummary, "document_id", documents) == dict.fromkeys(documents, 2)


async def test_no_values_find_nothing(tenant):
    await tenant.put([row(Document, tenant.dataset_id)])

    found, tallied = await tenant.find(Document, "source", []), await tenant.tally(Document, "source", [])

    assert (found, tallied) == ([], {})


@pytest.mark.parametrize(
    "word", ["the", "and", "Notes", "notes.txt", "a b", 'quo"te', "it's", "naïve", "漢字", "50%_x"]
)
async def test_texts_are_found_exactly(tenant, word):
    exact = row(Document, tenant.dataset_id, source=word, node_set=(word,))
    near = row(Document, tenant.dataset_id, source=word + " more", node_set=(word.upper() + "x",))
    await tenant.put([exact, near])

    found = await tenant.find(Document, "source", [word]), await tenant.find(Document, "node_set", [word])

    assert found == ([exact.key], [exact.key])


@pytest.mark.parametrize(("kind", "field"), [(Document, "title"), (Entity, "name"), (Edge, "key"), (Entity, "nothing")])
async def test_only_findable_fields_find(tenant, kind, field):
    with pytest.raises(ValueError, match=field):
        await tenant.find(kind, field, ["x"])
    with pytest.raises(ValueError, match=field):
        await tenant.tally(kind, field, ["x"])


@pytest.mark.parametrize("limit", [0, -1])
async def test_a_limit_is_at_least_one(tenant, limit):
    with pytest.raises(ValueError, match="limit"):
        await tenant.find(Document, "source", ["x"], limit=limit)


# --- edges ---------------------------------------------------------------------------------------------------------


async def test_edges_between_nodes_have_both_ends_among_them(tenant):
    a, b, c, d = some_keys(4)
    inside = [row(Edge, tenant.dataset_id, source_id=s, target_id=t) for s, t in ((a, b), (b, a), (a, a), (b, c))]
    outside = [row(Edge, tenant.dataset_id, source_id=s, target_id=t) for s, t in ((a, d), (d, b), (d, d))]
    await tenant.put([*inside, *outside])

    found = await tenant.edges_between([a, b, c, uuid4()])

    assert sorted(found) == sorted(map(LeanEdge.of, inside))


async def test_edges_among_many_nodes_are_complete(tenant):
    nodes = some_keys(1_300)
    edges = [
        row(Edge, tenant.dataset_id, source_id=one, target_id=other)
        for one, other in zip(nodes, nodes[650:] + nodes[:650], strict=True)
    ]
    await tenant.put(edges)

    found = await tenant.edges_between(nodes)

    assert sorted(found) == sorted(map(LeanEdge.of, edges))


async def test_several_relations_of_one_pair_are_all_there(tenant):
    a, b = some_keys(2)
    edges = [row(Edge, tenant.dataset_id, source_id=a, target_id=b, relationship_name=n) for n in ("knows", "likes")]
    await tenant.put(edges)

    found = await tenant.edges_between([a, b, a])

    assert sorted(found) == sorted(map(LeanEdge.of, edges))


@pytest.mark.parametrize("limit", [1, 2, 3, 50])
async def test_edges_between_are_at_most_so_many_as_asked_for(tenant, limit):
    a, b, c, outside = some_keys(4)
    inside = [row(Edge, tenant.dataset_id, source_id=s, target_id=t) for s, t in ((a, b), (b, a), (b, c))]
    await tenant.put([*inside, row(Edge, tenant.dataset_id, source_id=a, target_id=outside)])

    found = await tenant.edges_between([a, b, c], limit=limit)

    assert len(found) == min(limit, len(inside))
    assert set(found) <= set(map(LeanEdge.of, inside))


async def test_a_limit_holds_among_many_nodes_too(tenant):
    nodes = some_keys(600)
    edges = [row(Edge, tenant.dataset_id, source_id=one, target_id=nodes[0]) for one in nodes]
    await tenant.put(edges)

    found = await tenant.edges_between(nodes, limit=40)

    assert len(found) == 40
    assert set(found) <= set(map(LeanEdge.of, edges))


async def test_no_edges_between_is_no_limit(tenant):
    with pytest.raises(ValueError, match="limit"):
        await tenant.edges_between(some_keys(2), limit=0)
