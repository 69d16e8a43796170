"""Nearest vectors and shared words."""

from dataclasses import replace

import numpy as np
import pytest

from overstory.models import (
    TEXT_KINDS,
    VECTOR_KINDS,
    Document,
    DocumentChunk,
    Edge,
    Entity,
    GlobalContextSummary,
    TextSummary,
)
from tests.contract.samples import DIMENSIONS, HOSTILE_TEXTS, random_vectors, row, unit


def _exact(rows, vectors, query):
    distances = 1 - vectors.astype(np.float64) @ query.astype(np.float64)
    return sorted(zip(distances, (one.key for one in rows), strict=True))


@pytest.mark.parametrize("kind", VECTOR_KINDS)
async def test_the_nearest_rows_come_first_with_their_cosine_distance(tenant, kind):
    rows, vectors = [row(kind, tenant.dataset_id) for _ in range(60)], random_vectors(60)
    await tenant.put(rows, vectors)
    query = random_vectors(1, seed=7)[0]

    hits = await tenant.search_vectors(kind, query, 25)

    expected = _exact(rows, vectors, query)[:25]
    assert [hit.key for hit in hits] == [key for _, key in expected]
    np.testing.assert_allclose([hit.score for hit in hits], [distance for distance, _ in expected], atol=1e-5)


async def test_distances_lie_between_zero_and_two(tenant):
    rows = [row(Entity, tenant.dataset_id) for _ in range(3)]
    await tenant.put(rows, np.stack([unit(1), unit(0, 1), -unit(1)]))

    hits = await tenant.search_vectors(Entity, unit(1), None)

    assert [hit.key for hit in hits] == [one.key for one in rows]
    assert [hit.score for hit in hits] == pytest.approx([0, 1, 2], abs=1e-6)
    assert all(0 <= hit.score <= 2 for hit in hits)


async def test_equally_near_rows_come_by_key(tenant):
    rows = [row(Entity, tenant.dataset_id) for _ in range(40)]
    await tenant.put(rows, np.stack([random_vectors(1, seed=3)[0]] * 40))

    hits = await tenant.search_vectors(Entity, random_vectors(1, seed=4)[0], 15)

    assert [hit.key for hit in hits] == sorted(one.key for one in rows)[:15]
    assert len({hit.score for hit in hits}) == 1


async def test_no_limit_gives_every_row_with_a_vector(tenant):
    rows = [row(Entity, tenant.dataset_id) for _ in range(300)]
    await tenant.put(rows, random_vectors(300))
    await tenant.put([row(Entity, tenant.dataset_id)])

    hits = await tenant.search_vectors(Entity, unit(1), None)

    assert {hit.key for hit in hits} == {one.key for one in rows}
    assert [hit.score for hit in hits] == sorted(hit.score for hit in hits)


async def test_a_limit_beyond_the_rows_gives_them_all(tenant):
    rows = [row(Entity, tenant.dataset_id) for _ in range(3)]
    await tenant.put(rows, random_vectors(3))

    hits = await tenant.search_vectors(Entity, unit(1), 1_000)

    assert len(hits) == 3


@pytest.mark.parametrize("kind", VECTOR_KINDS)
@pytest.mark.parametrize("limit", [7, None])
async def test_rows_come_as_the_search_ranks_them(tenant, kind, limit):
    rows, vectors = [row(kind, tenant.dataset_id) for _ in range(30)], random_vectors(30)
    await tenant.put(rows, vectors)
    query = random_vectors(1, seed=7)[0]

    found = await tenant.search_rows(kind, query, limit)

    stored = {one.key: one for one in rows}
    hits = await tenant.search_vectors(kind, query, limit)
    assert found == [(stored[hit.key], hit.score) for hit in hits]
    assert len(found) == (limit or 30)


async def test_rows_of_a_search_may_lack_what_is_not_needed(tenant):
    whole = row(TextSummary, tenant.dataset_id, entity_ids=(row(Entity, tenant.dataset_id).id,))
    await tenant.put([whole], random_vectors(1))

    found = await tenant.search_rows(TextSummary, unit(1), 5, without=("entity_ids",))

    assert [summary for summary, _ in found] == [replace(whole, entity_ids=())]


async def test_rows_of_a_search_are_those_that_a_generation_sees(tenant):
    old = row(GlobalContextSummary, tenant.dataset_id, valid_from=1, valid_to=2)
    new = row(GlobalContextSummary, tenant.dataset_id, valid_from=2)
    await tenant.put([old, new], random_vectors(2))

    found = [await tenant.search_rows(GlobalContextSummary, unit(1), 5, generation=number) for number in (1, 2)]

    assert [[one for one, _ in rows] for rows in found] == [[old], [new]]


@pytest.mark.parametrize("kind", VECTOR_KINDS)
async def test_an_empty_tenant_has_nothing_near(tenant, kind):
    assert await tenant.search_vectors(kind, unit(1), 10) == []


async def test_search_follows_every_write(tenant):
    rows, vectors = [row(Entity, tenant.dataset_id) for _ in range(20)], random_vectors(20)
    await tenant.put(rows[:10], vectors[:10])
    assert len(await tenant.search_vectors(Entity, unit(1), None)) == 10

    await tenant.put(rows[10:], vectors[10:])
    await tenant.delete(Entity, [one.key for one in rows[:8]])
    await tenant.put([rows[9]], unit(1)[None])

    hits = await tenant.search_vectors(Entity, unit(1), None)
    assert {hit.key for hit in hits} == {one.key for one in rows[8:]}
    assert (hits[0].key, hits[0].score) == (rows[9].key, pytest.approx(0, abs=1e-6))


@pytest.mark.parametrize(
    "vector",
    [unit(1, dimensions=DIMENSIONS + 1), unit(1)[None], np.full(DIMENSIONS, np.nan, np.float32), unit(1) * 3],
    ids=["too long", "two-dimensional", "nan", "not of length 1"],
)
async def test_a_wrong_query_vector_is_refused(tenant, vector):
    with pytest.raises(ValueError, match="vector"):
        await tenant.search_vectors(Entity, vector, 10)


async def test_a_search_that_makes_no_sense_is_refused(tenant):
    with pytest.raises(ValueError, match="limit"):
        await tenant.search_vectors(Entity, unit(1), 0)
    with pytest.raises(ValueError, match="Edge"):
        await tenant.search_vectors(Edge, unit(1), 1)
    with pytest.raises(ValueError, match="generation"):
        await tenant.search_vectors(Entity, unit(1), 1, generation=1)
    with pytest.raises(ValueError, match="Document"):
        await tenant.search_text(Document, "word", 1)
    with pytest.raises(ValueError, match="limit"):
        await tenant.search_text(Entity, "word", 0)


# --- words ---------------------------------------------------------------------------------------------------------


async def _put_chunks(tenant, *texts):
    chunks = [row(DocumentChunk, tenant.dataset_id, text=text) for text in texts]
    await tenant.put(chunks)
    return [chunk.key for chunk in chunks]


FILLER = tuple(f"filler{i} paragraph{i} about nothing{i} special{i}" for i in range(8))


@pytest.mark.parametrize("kind", TEXT_KINDS)
async def test_rows_that_share_words_are_found(tenant, kind):
    field = "name" if kind is Entity else "text"
    rows = [
        row(kind, tenant.dataset_id, **{field: text}) for text in ("The Northstar launch", "A quiet garden", *FILLER)
    ]
    await tenant.put(rows)

    hits = await tenant.search_text(kind, "when is the NORTHSTAR?", 10)

    assert [hit.key for hit in hits] == [rows[0].key]
    assert hits[0].score > 0


@pytest.mark.parametrize("kind", TEXT_KINDS)
async def test_whether_words_are_shared_is_told_without_a_ranking(tenant, kind):
    field = "name" if kind is Entity else "text"
    await tenant.put([row(kind, tenant.dataset_id, **{field: "The harbour was closed."})])

    asked = ["harbours?", "the", "ferry", "ferry or harbour", ""]

    assert [await tenant.has_words(kind, query) for query in asked] == [
        bool(await tenant.search_text(kind, query, 1)) for query in asked
    ]
    assert await tenant.has_words(kind, "ferry or harbour")
    assert not await tenant.has_words(kind, "ferry")


async def test_an_entity_is_found_by_its_description_too(tenant):
    entities = [
        row(Entity, tenant.dataset_id, name=f"E{i}", description=text) for i, text in enumerate(("harbour", *FILLER))
    ]
    await tenant.put(entities)

    hits = await tenant.search_text(Entity, "harbour", 10)

    assert [hit.key for hit in hits] == [entities[0].key]


async def test_more_shared_words_come_first(tenant):
    both, one, _none, *_ = await _put_chunks(tenant, "harbour lantern", "harbour bridge", "meadow stone", *FILLER)

    hits = await tenant.search_text(DocumentChunk, "lantern harbour", 10)

    assert [hit.key for hit in hits] == [both, one]
    assert hits[0].score > hits[1].score > 0


async def test_a_rare_word_counts_more_than_a_frequent_one(tenant):
    rare, *_ = await _put_chunks(tenant, "lantern path", *(f"harbour path{i}" for i in range(3)), *FILLER)

    hits = await tenant.search_text(DocumentChunk, "harbour lantern", 10)

    assert hits[0].key == rare
    assert len(hits) == 4


async def test_equal_scores_come_by_key(tenant):
    keys = await _put_chunks(tenant, *["harbour lantern"] * 12, *[f"{text} more" for text in FILLER * 3])

    hits = await tenant.search_text(DocumentChunk, "lantern", 5)

    assert [hit.key for hit in hits] == sorted(keys[:12])[:5]


@pytest.mark.parametrize("query", ["", "   ", "?!", "the of and", '"', "' OR 1=1 --"[:1], "***", "🚀"])
async def test_a_query_without_words_finds_nothing(tenant, query):
    await _put_chunks(tenant, "the rocket of the town and *** 🚀", *FILLER)

    assert await tenant.search_text(DocumentChunk, query, 10) == []


@pytest.mark.parametrize(
    "query", [*HOSTILE_TEXTS, "NEAR(a b)", "harbour AND NOT", "words:harbour", "har*", "(", "a-b^2"]
)
async def test_any_query_is_only_words(tenant, query):
    harbour, *_ = await _put_chunks(tenant, "harbour", *FILLER)

    hits = await tenant.search_text(DocumentChunk, query + " harbour", 10)

    assert harbour in {hit.key for hit in hits}


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("昨日、東京都の図書館で本を読んだ。", "図書館"),
        ("北京大学的学生", "大学"),
        ("서울특별시에서 만났다", "특별시"),
        ("Die Straße nach Zürich", "strasse"),
        ("Café Zoë", "cafe"),
        ("mixed 東京 text", "東京"),
        ("ＡＢＣ wide letters", "abc"),
    ],
)
async def test_words_of_other_scripts_are_found(tenant, text, query):
    wanted, *_ = await _put_chunks(tenant, text, "大阪の川 부산 바다", *FILLER)

    hits = await tenant.search_text(DocumentChunk, query, 10)

    assert [hit.key for hit in hits] == [wanted]


async def test_a_word_is_found_and_beside_it_other_forms_of_it_at_most(tenant):
    exact, form, *_ = await _put_chunks(tenant, "the organization", "an organ", "orange groves", *FILLER)

    hits = {hit.key for hit in await tenant.search_text(DocumentChunk, "organization", 10)}

    assert {exact} <= hits <= {exact, form}


async def test_search_by_words_follows_every_write(tenant):
    replaced, patched, deleted = (row(TextSummary, tenant.dataset_id, text="lantern") for _ in range(3))
    await tenant.put([replaced, patched, deleted])
    await tenant.put([row(TextSummary, tenant.dataset_id, text=text) for text in FILLER])

    await tenant.put([replace(replaced, text="harbour")])
    await tenant.patch(TextSummary, {patched.key: {"text": "harbour"}})
    await tenant.delete(TextSummary, [deleted.key])

    assert await tenant.search_text(TextSummary, "lantern", 10) == []
    found = [hit.key for hit in await tenant.search_text(TextSummary, "harbour", 10)]
    assert found == sorted([replaced.key, patched.key])


async def test_a_query_may_have_very_many_words(tenant):
    harbour, *_ = await _put_chunks(tenant, "harbour", *FILLER)

    hits = await tenant.search_text(DocumentChunk, " ".join(f"word{i}" for i in range(1_500)) + " harbour", 10)

    assert [hit.key for hit in hits] == [harbour]
