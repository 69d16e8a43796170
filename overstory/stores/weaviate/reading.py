"""Reading rows: by key, by field, all of them. Nothing here trusts a limit that was not given.

The server gives at most 10,000 rows for a condition. Where that many come, there may be more: the values are asked
for in halves, and one value with so many rows is looked for by the cursor, which reads every row by ascending key
and takes no condition.
"""

from collections.abc import AsyncIterator, Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import partial, reduce
from typing import Any
from uuid import UUID

from weaviate.classes.query import Filter

from overstory.columns import Form, RowT
from overstory.models import GlobalContextSummary, LeanEdge, Row, Vector
from overstory.stores.weaviate import connecting, wire
from overstory.stores.weaviate.codec import lean_edges, row_of, text_key
from overstory.stores.weaviate.connecting import Link
from overstory.stores.weaviate.schema import shape_of
from overstory.stores.weaviate.wire import Stored
from overstory.waves import together

PAGE, MOST = 1_000, 10_000
IDS_AT_ONCE = VECTORS_A_PAGE = 500
FIRST = UUID(int=0)


@dataclass(frozen=True, slots=True)
class Scope:
    """Whose rows: those of a dataset, in a tenant that others may share."""

    dataset_id: UUID
    tenant: str
    shared: bool

    @property
    def own(self) -> Any:
        """The condition for rows of the dataset; None where all are."""
        return Filter.by_property("dataset_id").equal(self.dataset_id) if self.shared else None

    def owns(self, stored: Stored) -> bool:
        return not self.shared or stored["dataset_id"] == self.dataset_id

    @property
    def known(self) -> dict[str, Any]:
        """Fields that need not be read, with what they are."""
        return {} if self.shared else {"dataset_id": self.dataset_id}

    @property
    def owner_properties(self) -> tuple[str, ...]:
        """What `owns` looks at."""
        return ("dataset_id",) if self.shared else ()


@dataclass(frozen=True, slots=True)
class Rows:
    """The rows of one kind in one tenant, over one link."""

    link: Link
    scope: Scope
    kind: type[Row]

    @property
    def collection(self) -> connecting.Collection:
        return self.link.rows(self.kind, self.scope.tenant)

    @property
    def properties(self) -> list[str]:
        """Those that a whole row is read from."""
        return self.properties_without(self.scope.known)

    def properties_without(self, known: Collection[str]) -> list[str]:
        return [name for name in shape_of(self.kind).properties if name not in known]

    async def fetch(
        self, condition: Any, limit: int, properties: Sequence[str], *, vectors: bool = False
    ) -> list[Stored]:
        """Rows of a condition, at most `limit`."""
        return await self.link.read(
            lambda: wire.fetch(self.collection, properties, limit=limit, condition=condition, vectors=vectors)
        )

    async def by_key(
        self, keys: Iterable[UUID], properties: Sequence[str], *, vectors: bool = False
    ) -> dict[UUID, Stored]:
        unique = list(dict.fromkeys(keys))
        parts = [unique[i : i + IDS_AT_ONCE] for i in range(0, len(unique), IDS_AT_ONCE)]
        pages = await together(
            self.fetch(Filter.by_id().contains_any(p), len(p), properties, vectors=vectors) for p in parts
        )
        return {stored.key: stored for page in pages for stored in page}

    def scan(self, properties: Sequence[str], *, vectors: bool = False, page: int = PAGE) -> AsyncIterator[Stored]:
        """Every row of the tenant, by ascending key."""
        return scan(self.link, self.collection, properties, vectors=vectors, page=page)

    async def holding(
        self, field: str, values: Iterable[Any], properties: Sequence[str] = (), *, also: Any = None
    ) -> dict[UUID, Stored]:
        """Rows whose property equals one of the values, or holds one.

        Args:
            also: a further condition, which may be left out where it would not help: look at what comes.
        """
        unique = list(dict.fromkeys(values))
        parts = [unique[i : i + IDS_AT_ONCE] for i in range(0, len(unique), IDS_AT_ONCE)]
        wanted = (*properties, *self.scope.owner_properties)
        found = await together(self._holding(field, part, wanted, also) for part in parts)
        return {key: stored for part in found for key, stored in part.items()}

    async def _holding(
        self, field: str, values: Sequence[Any], properties: Sequence[str], also: Any
    ) -> dict[UUID, Stored]:
        found = await self.fetch(both(any_of(field, values), also), MOST, properties)
        if len(found) < MOST:
            return {stored.key: stored for stored in found}
        if len(values) == 1:
            return await self._scanned(field, values[0], properties)
        middle = len(values) // 2
        halves = [await self._holding(field, half, properties, also) for half in (values[:middle], values[middle:])]
        return halves[0] | halves[1]

    async def _scanned(self, field: str, value: Any, properties: Sequence[str]) -> dict[UUID, Stored]:
        read = dict.fromkeys((*properties, field))
        return {s.key: s async for s in self.scan(list(read)) if value in values_of(s[field])}

    async def count(self, condition: Any = None) -> int:
        condition = both(condition, self.scope.own)
        counted = await self.link.read(lambda: self.collection.aggregate.over_all(total_count=True, filters=condition))
        return counted.total_count or 0


async def scan(
    link: Link,
    collection: connecting.Collection,
    properties: Sequence[str],
    *,
    vectors: bool = False,
    page: int = PAGE,
) -> AsyncIterator[Stored]:
    """Every object of a collection or tenant, by ascending key."""
    after = FIRST
    while True:
        ask = partial(wire.fetch, collection, properties, limit=page, after=after, vectors=vectors)
        found = await link.read(ask)
        for stored in found:
            yield stored
        if not found:
            return
        after = found[-1].key


def both(*conditions: Any) -> Any:
    """All of the conditions that are given; None for none."""
    given = [condition for condition in conditions if condition is not None]
    return reduce(lambda one, other: one & other, given) if given else None


def any_of(field: str, values: Iterable[UUID]) -> Any:
    """The condition for rows whose property is one of these ids, or holds one.

    They are given as texts: of other values the client looks at each in several ways, which takes longer than to ask.
    """
    return Filter.by_property(field).contains_any([str(value) for value in values])


def values_of(stored: Any) -> Collection[Any]:
    return stored if isinstance(stored, list) else () if stored is None else (stored,)


def seen_by(generation: int) -> Any:
    """The condition for index rows that a generation sees."""
    return Filter.by_property("valid_from").less_or_equal(generation) & Filter.by_property("valid_to").greater_than(
        generation
    )


def unseen_by(generation: int) -> Any:
    return Filter.by_property("valid_from").greater_than(generation) | Filter.by_property("valid_to").less_or_equal(
        generation
    )


async def get(rows: Rows, kind: type[RowT], keys: Sequence[UUID], left_out: dict[str, Any]) -> list[RowT]:
    """Rows by key.

    Args:
        left_out: fields that are not read, with what stands for them.
    """
    known = left_out | rows.scope.known
    found = await rows.by_key(keys, rows.properties_without(known))
    return [row_of(kind, found[key], known) for key in keys if key in found]


async def vectors(rows: Rows, keys: Sequence[UUID]) -> dict[UUID, Vector]:
    found = await rows.by_key(keys, (), vectors=True)
    given = {key: found[key].vector for key in keys if key in found}
    return {key: vector for key, vector in given.items() if vector is not None}


async def find(rows: Rows, field: str, values: Sequence[UUID | str], limit: int | None) -> list[UUID]:
    shape = shape_of(rows.kind)
    found = await rows.holding(shape.found_by(field), map(_indexed(rows.kind, field), values), also=rows.scope.own)
    return sorted(key for key, stored in found.items() if rows.scope.owns(stored))[:limit]


async def tally(rows: Rows, field: str, values: Sequence[UUID | str]) -> dict[UUID | str, int]:
    indexed = _indexed(rows.kind, field)
    own = shape_of(rows.kind).found_by(field)
    counts: dict[Any, int] = dict.fromkeys(map(indexed, values), 0)
    parts = list(counts)
    for i in range(0, len(parts), IDS_AT_ONCE):
        counts |= await _tally_some(rows, own, parts[i : i + IDS_AT_ONCE])
    return {value: counts[indexed(value)] for value in values}


async def _tally_some(rows: Rows, field: str, values: Sequence[Any]) -> dict[Any, int]:
    """Counts by reading what few values hold; by asking for the count where that would be very much."""
    condition = any_of(field, values)
    if len(values) == 1:
        return {values[0]: await rows.count(condition)}
    found = await rows.fetch(both(condition, rows.scope.own), MOST, (field,))
    if len(found) == MOST:
        middle = len(values) // 2
        return await _tally_some(rows, field, values[:middle]) | await _tally_some(rows, field, values[middle:])
    counts = dict.fromkeys(values, 0)
    for stored in found:
        for value in set(values_of(stored[field])) & counts.keys():
            counts[value] += 1
    return counts


async def edges_between(rows: Rows, node_ids: Sequence[UUID], limit: int | None) -> list[LeanEdge]:
    nodes = set(node_ids)
    if not nodes:
        return []
    read = lean_edges(rows.scope.known)
    wanted = [name for name in LeanEdge._fields if name != "key" and name not in rows.scope.known]
    # Beyond one request's ids the targets are looked at here: asking for them too would cost more than it saves.
    also = any_of("target_id", nodes) if len(nodes) <= IDS_AT_ONCE else None
    if limit is not None and limit < MOST and also is not None:
        few = await rows.fetch(both(any_of("source_id", nodes), also), limit, wanted)
        return [read(stored) for stored in few]
    found = await rows.holding("source_id", nodes, wanted, also=also)
    return [edge for stored in found.values() if (edge := read(stored)).target_id in nodes][:limit]


async def areas(rows: Rows, ids: Sequence[UUID], generation: int) -> list[GlobalContextSummary]:
    found = await rows.holding("row_id", ids, rows.properties, also=both(seen_by(generation), rows.scope.own))
    decoded = [
        row_of(GlobalContextSummary, stored, rows.scope.known) for stored in found.values() if rows.scope.owns(stored)
    ]
    seen = {row.id: row for row in decoded if row.valid_from <= generation < row.valid_to}
    return [seen[id_] for id_ in ids if id_ in seen]


def _indexed(kind: type[Row], field: str) -> Callable[[Any], Any]:
    """What a value of a field is in the index."""
    texts = shape_of(kind).form(field) in (Form.TEXT, Form.TEXTS) if field != shape_of(kind).key_field else False
    return text_key if texts else lambda value: value


def any_generation() -> Any:
    """The condition that every index row meets."""
    return Filter.by_property("valid_from").greater_or_equal(0)


async def index_kind(rows: Rows) -> str:
    """The kind of index that the vectors of these rows have on the server, whatever the URL says."""
    config = await rows.link.read(rows.link.collection(rows.kind).config.get)
    named = next(iter((config.vector_config or {}).values()), None)
    return str(named.vector_index_config.vector_index_type()) if named else "none"
