"""Nearest vectors and shared words.

The server breaks ties as it likes. So a search asks for some more than its limit, and for still more while the last
of them is as near as the one at the limit; then the order is made here.
"""

from collections.abc import Awaitable, Callable, Sequence
from typing import Any
from uuid import UUID

import numpy as np

from overstory.columns import RowT
from overstory.errors import StoreError
from overstory.models import Hit, Vector
from overstory.stores.nearest import halves, nearest
from overstory.stores.weaviate import wire
from overstory.stores.weaviate.codec import row_of
from overstory.stores.weaviate.reading import MOST, VECTORS_A_PAGE, Rows, get, seen_by
from overstory.stores.weaviate.schema import shape_of
from overstory.stores.weaviate.wire import Stored
from overstory.words import query_words

_SPARE = 10
_LEAST_SCORE = 1e-6
"""Of a row all of whose shared words are in every row."""


async def search_vectors(rows: Rows, vector: Vector, limit: int | None, generation: int | None) -> list[Hit]:
    return await _search(rows, vector, limit, generation, (), {})


async def search_rows(
    rows: Rows, kind: type[RowT], vector: Vector, limit: int | None, generation: int | None, left_out: dict[str, Any]
) -> list[tuple[RowT, float]]:
    known, given = left_out | rows.scope.known, dict[UUID, Stored]()
    hits = await _search(rows, vector, limit, generation, rows.properties_without(known), given)
    missing = [hit.key for hit in hits if hit.key not in given]
    others = {row.key: row for row in await get(rows, kind, missing, left_out)} if missing else {}
    found = ((row_of(kind, given[h.key], known) if h.key in given else others.get(h.key), h.score) for h in hits)
    return [(row, score) for row, score in found if row is not None]


async def _search(
    rows: Rows,
    vector: Vector,
    limit: int | None,
    generation: int | None,
    properties: Sequence[str],
    given: dict[UUID, Stored],
) -> list[Hit]:
    """The nearest rows; where the server named them, what it gave of them is put into `given`."""
    query, condition = vector.tolist(), None if generation is None else seen_by(generation)

    async def search(count: int) -> list[Hit]:
        found = await rows.link.read(
            lambda: wire.near_vector(rows.collection, query, limit=count, condition=condition, properties=properties)
        )
        if properties:
            given.update((stored.key, stored) for stored in found)
        return [Hit(stored.key, min(max(stored.distance, 0.0), 2.0)) for stored in found]

    hits = await _whole_ties(search, MOST if limit is None else limit)
    if hits is None:
        return await _compare_all(rows, vector, limit, generation)
    return sorted(hits, key=lambda hit: (hit.score, hit.key))[:limit]


async def search_text(rows: Rows, query: str, limit: int) -> list[Hit]:
    if not query_words(query):
        return []

    async def search(count: int) -> list[Hit]:
        return [Hit(stored.key, max(stored.score, _LEAST_SCORE)) for stored in await _bm25(rows, query, count)]

    hits = await _whole_ties(search, limit)
    if hits is None:
        raise StoreError(f"{rows.link.address.place}: more than {MOST:,} rows share words with this query.")
    return sorted(hits, key=lambda hit: (-hit.score, hit.key))[:limit]


async def has_words(rows: Rows, query: str) -> bool:
    return bool(query_words(query)) and bool(await _bm25(rows, query, 1))


async def _bm25(rows: Rows, query: str, count: int) -> list[Stored]:
    words, fields = " ".join(query_words(query)), [f"{field}_words" for field in shape_of(rows.kind).text_fields]
    return await rows.link.read(lambda: wire.bm25(rows.collection, words, fields, limit=count))


async def _whole_ties(search: Callable[[int], Awaitable[list[Hit]]], limit: int) -> list[Hit] | None:
    """At least the first `limit` hits, and all that equal the last of these; None where the server can't give them."""
    count = limit + _SPARE
    while count < MOST:
        hits = await search(count)
        if len(hits) < count or hits[limit - 1].score != hits[-1].score:
            return hits
        count *= 4
    hits = await search(MOST)
    whole = len(hits) < MOST or (limit < MOST and hits[limit - 1].score != hits[-1].score)
    return hits if whole else None


async def _compare_all(rows: Rows, vector: Vector, limit: int | None, generation: int | None) -> list[Hit]:
    """Compare with every vector here, where more rows are asked for than the server gives."""
    keys, found = [], []
    versions = () if generation is None else ("valid_from", "valid_to")
    async for stored in rows.scan(versions, vectors=True, page=VECTORS_A_PAGE):
        one = stored.vector
        if one is not None and (generation is None or stored["valid_from"] <= generation < stored["valid_to"]):
            keys.append(stored.key.bytes)
            found.append(one)
    return nearest(np.stack(found), halves(keys), vector, limit) if found else []
