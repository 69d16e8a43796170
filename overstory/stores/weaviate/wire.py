"""Searches and bulk reads, with the server's answers taken as they come over the wire.

The client makes a Python value of every property and an object of every row, which costs more than all the rest of a
recall. So requests are made and sent by the client, its retries and errors included, and the answer is read here.
That touches three members of the client that are not public; everything that does stands in this file.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any
from uuid import UUID

import numpy as np
from weaviate.classes.query import MetadataQuery

from overstory import ids
from overstory.models import Vector
from overstory.stores.weaviate.connecting import Collection

_NO_METADATA = MetadataQuery()
_DISTANCE, _SCORE = MetadataQuery(distance=True), MetadataQuery(score=True)


class Stored:
    """An object of an answer; its properties are read when they are asked for."""

    __slots__ = ("_metadata", "fields", "key")

    def __init__(self, result: Any) -> None:
        self._metadata = result.metadata
        self.key = ids.uuid_of(result.metadata.id_as_bytes)
        self.fields = result.properties.non_ref_props.fields
        """Each property's value on the wire."""

    def __getitem__(self, name: str) -> Any:
        """A property: an id, a number, a text, or a list of ids; None where it has no value."""
        value = self.fields[name]
        kind = value.WhichOneof("kind")
        return _PLAIN[kind](value) if kind in _PLAIN else None

    @property
    def distance(self) -> float:
        return float(self._metadata.distance)

    @property
    def score(self) -> float:
        return float(self._metadata.score)

    @property
    def vector_bytes(self) -> bytes | None:
        """float32, little-endian; None where it has none."""
        for vector in self._metadata.vectors:
            stored: bytes = vector.vector_bytes
            return stored or None
        return None

    @property
    def vector(self) -> Vector | None:
        stored = self.vector_bytes
        return None if stored is None else np.frombuffer(stored, dtype="<f4").astype(np.float32)


def uuid_of(text: str) -> UUID:
    """An id from its usual form, of which the server's always are."""
    return ids.uuid_of(bytes.fromhex(text.replace("-", "")))


def ids_of(value: Any) -> Iterator[UUID]:
    return map(uuid_of, value.list_value.uuid_values.values)


def texts_of(value: Any) -> Sequence[str]:
    texts: Sequence[str] = value.list_value.text_values.values
    return texts


_PLAIN: dict[str, Callable[[Any], Any]] = {
    "uuid_value": lambda value: uuid_of(value.uuid_value),
    "text_value": lambda value: value.text_value,
    "int_value": lambda value: value.int_value,
    "number_value": lambda value: value.number_value,
    "bool_value": lambda value: value.bool_value,
    "list_value": lambda value: list(ids_of(value)),
}


async def fetch(
    collection: Collection,
    properties: Sequence[str],
    *,
    limit: int,
    condition: Any = None,
    after: UUID | None = None,
    vectors: bool = False,
) -> list[Stored]:
    """Objects of a condition, or those after a key; never both."""
    given = _returned(collection, properties, _NO_METADATA, vectors)
    request = collection.query._query.get(limit=limit, filters=condition, after=after, **given)
    return await _search(collection, request)


async def near_vector(
    collection: Collection, vector: Sequence[float], *, limit: int, condition: Any, properties: Sequence[str] = ()
) -> list[Stored]:
    given = _returned(collection, properties, _DISTANCE, False)
    request = collection.query._query.near_vector(near_vector=vector, limit=limit, filters=condition, **given)
    return await _search(collection, request)


async def bm25(collection: Collection, query: str, fields: list[str], *, limit: int) -> list[Stored]:
    given = _returned(collection, (), _SCORE, False)
    request = collection.query._query.bm25(query=query, properties=fields, limit=limit, **given)
    return await _search(collection, request)


def _returned(
    collection: Collection, properties: Sequence[str], metadata: MetadataQuery, vectors: bool
) -> dict[str, Any]:
    query = collection.query
    return {
        "return_metadata": query._parse_return_metadata(metadata, vectors),
        "return_properties": query._parse_return_properties(list(properties)),
    }


async def _search(collection: Collection, request: Any) -> list[Stored]:
    answer = await collection.query._connection.grpc_search(request=request)
    return [Stored(result) for result in answer.results]
