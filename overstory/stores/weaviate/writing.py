"""Writing rows: chunks that the server takes, every result looked at, only what failed tried again."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple
from uuid import UUID

from weaviate.classes.data import DataObject
from weaviate.classes.query import Filter
from weaviate.exceptions import UnexpectedStatusCodeError, WeaviateBaseError, WeaviateInsertManyAllFailedError

from overstory.errors import RowsRejectedError, StoreUnavailableError
from overstory.models import Row, Vectors
from overstory.stores.weaviate.codec import changed_properties, properties_of
from overstory.stores.weaviate.connecting import Collection, Link
from overstory.stores.weaviate.faults import is_missing, is_too_large, refusal
from overstory.stores.weaviate.reading import IDS_AT_ONCE
from overstory.waves import together

CHUNK_ROWS, CHUNK_BYTES = 200, 4_000_000
_DELETED_AT_ONCE = 10_000
"""The server removes no more in one request."""
_TRIES = 3
_ROW_OVERHEAD_BYTES = 600
Objects = list[DataObject[Any, Any]]


class _Outcome(NamedTuple):
    refused: Objects
    reason: str
    too_large: bool = False


async def put(
    link: Link, collection: Collection, kind: type[Row], rows: Sequence[Row], vectors: Vectors | None
) -> None:
    """Store rows with their vectors, replacing those of the same keys.

    Raises:
        RowsRejectedError: the server refused some, also when tried again; the others are stored.
    """
    await together(put_objects(link, collection, kind.__name__, chunk) for chunk in _chunks(rows, vectors))


async def put_objects(link: Link, collection: Collection, kind: str, objects: Objects) -> None:
    """Store objects, at most what one request may hold."""
    left = _Outcome(objects, "")
    for _ in range(_TRIES):
        left = await link.write(partial(_insert, collection, left.refused, link.address.place))
        if left.too_large and len(left.refused) > 1:
            return await _put_halves(link, collection, kind, left.refused)
        if not left.refused:
            return None
    raise RowsRejectedError(kind, [UUID(str(one.uuid)) for one in left.refused], left.reason)


async def _put_halves(link: Link, collection: Collection, kind: str, objects: Objects) -> None:
    middle = len(objects) // 2
    for half in (objects[:middle], objects[middle:]):
        await put_objects(link, collection, kind, half)


async def _insert(collection: Collection, objects: Objects, place: str) -> _Outcome:
    """Send one request; what the server refused of it.

    Raises:
        OverstoryError: what it said is no matter of single rows.
    """
    try:
        errors = (await collection.data.insert_many(objects)).errors
    except WeaviateInsertManyAllFailedError as error:
        if (told := refusal(str(error), place)) is not None:
            raise told from error
        return _Outcome(objects, _short(str(error)))
    except WeaviateBaseError as error:
        if not is_too_large(error):
            raise
        return _Outcome(objects, "too large for the server", too_large=True)
    for failed in errors.values():
        if (told := refusal(failed.message, place)) is not None:
            raise told
    reason = next((_short(failed.message) for failed in errors.values()), "")
    return _Outcome([objects[i] for i in sorted(errors)], reason)


def _chunks(rows: Sequence[Row], vectors: Vectors | None) -> Iterator[Objects]:
    """Rows as objects, in groups that one request may hold."""
    chunk: Objects = []
    size, vector_bytes = 0, 0 if vectors is None else 4 * vectors.shape[1]
    for i, row in enumerate(rows):
        properties = properties_of(row)
        added = _ROW_OVERHEAD_BYTES + vector_bytes + sum(map(_bytes, properties.values()))
        if chunk and (len(chunk) == CHUNK_ROWS or size + added > CHUNK_BYTES):
            yield chunk
            chunk, size = [], 0
        vector = None if vectors is None else vectors[i].tolist()
        chunk.append(DataObject(properties=properties, uuid=row.key, vector=vector))
        size += added
    if chunk:
        yield chunk


def _bytes(value: Any) -> int:
    """About how much a property takes on the wire."""
    if isinstance(value, str):
        return len(value) if value.isascii() else 4 * len(value)
    return sum(map(_bytes, value)) + 8 if isinstance(value, list) else 36


async def patch(link: Link, collection: Collection, kind: type[Row], changes: Mapping[UUID, Mapping[str, Any]]) -> None:
    """Change single fields of rows, each row at once."""
    given = ((key, changed_properties(kind, change)) for key, change in changes.items() if change)
    await together(_patch_one(link, collection, key, properties) for key, properties in given)


async def _patch_one(link: Link, collection: Collection, key: UUID, properties: dict[str, Any]) -> None:
    async def update() -> None:
        try:
            await collection.data.update(uuid=key, properties=properties)
        except UnexpectedStatusCodeError as error:
            if not is_missing(error):
                raise

    await link.write(update)


async def delete(link: Link, collection: Collection, keys: Iterable[UUID]) -> int:
    """Remove rows by key; the number that existed."""
    unique = list(dict.fromkeys(keys))
    parts = [unique[i : i + IDS_AT_ONCE] for i in range(0, len(unique), IDS_AT_ONCE)]
    return sum(await together(delete_matching(link, collection, Filter.by_id().contains_any(part)) for part in parts))


async def delete_matching(link: Link, collection: Collection, condition: Any) -> int:
    """Remove all rows of a condition, in as many requests as it takes; their number.

    Raises:
        StoreUnavailableError: the server removes no more of them.
    """
    removed = 0
    while True:
        done = await link.write(lambda: collection.data.delete_many(where=condition))
        removed += done.successful
        if done.failed and not done.successful:
            raise StoreUnavailableError(f"{link.address.place} can't remove {done.failed} rows now: try again.")
        if done.matches == done.successful < _DELETED_AT_ONCE:
            return removed


def _short(reason: str) -> str:
    """Short enough that it holds no text of a document."""
    flat = " ".join(reason.split())
    return flat if len(flat) <= 200 else flat[:200] + "…"
