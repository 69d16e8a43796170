"""Reads of a dataset's file by keys and by fields. Each function runs inside one transaction, on its connection."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any
from uuid import UUID

import apsw
import numpy as np

from overstory.columns import RowT
from overstory.ids import uuid_of
from overstory.models import GlobalContextSummary, Hit, LeanEdge, Row, Vector
from overstory.stores.embedded.codec import codec_of, dataset_id_of
from overstory.stores.embedded.connections import fetch, number
from overstory.stores.embedded.schema import Table, table_of

_LEAN_EDGE = ", ".join(f"t.{name}" for name in LeanEdge._fields)
_TEXT_VALUES = "(SELECT CAST(value AS TEXT) FROM carray(?))"


@dataclass(frozen=True, slots=True)
class Scope:
    """Which rows of the file are the tenant's own."""

    dataset_id: UUID
    shared: bool

    @property
    def condition(self) -> str:
        """To be added to a condition on a table called t."""
        return " AND t.dataset_id = ?" if self.shared else ""

    @property
    def values(self) -> tuple[bytes, ...]:
        return (self.dataset_id.bytes,) if self.shared else ()


def get(connection: apsw.Connection, kind: type[RowT], keys: Sequence[UUID], left_out: Mapping[str, Any]) -> list[RowT]:
    found = _rows(connection, kind, "t.key IN carray(?)", (_blobs(keys),), left_out) if keys else []
    rows = {row.key: row for row in found}
    return [rows[key] for key in keys if key in rows]


def rows_of(
    connection: apsw.Connection, kind: type[RowT], hits: Sequence[Hit], left_out: Mapping[str, Any]
) -> list[tuple[RowT, float]]:
    """The rows that a search found, each with its distance."""
    scores = {hit.key: hit.score for hit in hits}
    return [(row, scores[row.key]) for row in get(connection, kind, list(scores), left_out)]


def vectors(connection: apsw.Connection, kind: type[Row], keys: Sequence[UUID]) -> dict[UUID, Vector]:
    table = table_of(kind)
    if not keys or not table.has_vectors:
        return {}
    sql = f"SELECT v.key, v.vector FROM {table.name} t JOIN {table.name}_vector v USING (rid) WHERE t.key IN carray(?)"
    found = dict(fetch(connection, sql, (_blobs(keys),)))
    return {key: np.frombuffer(found[key.bytes], "<f4").copy() for key in keys if key.bytes in found}


def count(connection: apsw.Connection, scope: Scope, kind: type[Row]) -> int:
    sql = f"SELECT count(*) FROM {kind.__name__} t WHERE TRUE{scope.condition}"
    return number(connection, sql, scope.values)


def find(
    connection: apsw.Connection,
    scope: Scope,
    kind: type[Row],
    field: str,
    values: Sequence[UUID | str],
    limit: int | None,
) -> list[UUID]:
    if not values:
        return []
    source, expression = _source(table_of(kind), field, scope)
    keys: set[bytes] = set()
    for wanted, bound in _by_type(values):
        sql = (
            f"SELECT DISTINCT t.key FROM {source} WHERE {expression} IN {wanted}{scope.condition} "
            "ORDER BY t.key LIMIT ?"
        )
        found = fetch(connection, sql, (bound, *scope.values, -1 if limit is None else limit))
        keys.update(key for (key,) in found)
    return [UUID(bytes=key) for key in sorted(keys)[:limit]]


def tally(
    connection: apsw.Connection, scope: Scope, kind: type[Row], field: str, values: Sequence[UUID | str]
) -> dict[UUID | str, int]:
    counts: dict[UUID | str, int] = dict.fromkeys(values, 0)
    if not values:
        return counts
    source, expression = _source(table_of(kind), field, scope)
    for wanted, bound in _by_type(values):
        sql = f"SELECT {expression}, count(*) FROM {source} WHERE {expression} IN {wanted}{scope.condition} GROUP BY 1"
        for value, rows in fetch(connection, sql, (bound, *scope.values)):
            counts[UUID(bytes=value) if isinstance(value, bytes) else value] = rows
    return counts


def edges_between(connection: apsw.Connection, node_ids: Sequence[UUID], limit: int | None = None) -> list[LeanEdge]:
    if not node_ids:
        return []
    # The plus keeps SQLite from looking for the targets by their index, which would try every pair of ends.
    sql = f"SELECT {_LEAN_EDGE} FROM Edge t WHERE t.source_id IN carray(?) AND +t.target_id IN carray(?) LIMIT ?"
    ends = _blobs(dict.fromkeys(node_ids))
    return [
        LeanEdge(uuid_of(key), dataset_id_of(home), uuid_of(source), name, uuid_of(target), text, importance, feedback)
        for key, home, source, name, target, text, importance, feedback in fetch(
            connection, sql, (ends, ends, -1 if limit is None else limit)
        )
    ]


def areas(
    connection: apsw.Connection, scope: Scope, ids: Sequence[UUID], generation: int
) -> list[GlobalContextSummary]:
    if not ids:
        return []
    condition = f"t.id IN carray(?) AND t.valid_from <= ? AND t.valid_to > ?{scope.condition}"
    found = _rows(connection, GlobalContextSummary, condition, (_blobs(ids), generation, generation, *scope.values))
    seen = {row.id: row for row in found}
    return [seen[id_] for id_ in ids if id_ in seen]


def _rows(
    connection: apsw.Connection,
    kind: type[RowT],
    condition: str,
    values: Sequence[Any],
    left_out: Mapping[str, Any] = MappingProxyType({}),
) -> list[RowT]:
    codec = codec_of(kind)
    sql = f"SELECT {codec.select(left_out)} FROM {kind.__name__} t WHERE {condition}"
    return [codec.decode(row, left_out) for row in fetch(connection, sql, values)]


def _blobs(ids: Iterable[UUID]) -> "apsw.CArrayBinding":
    return apsw.carray(tuple(id_.bytes for id_ in ids))


def _by_type(values: Sequence[UUID | str]) -> list[tuple[str, "apsw.CArrayBinding"]]:
    """Ids and texts apart, each as an SQL list and what is bound to it."""
    ids = tuple({value.bytes for value in values if isinstance(value, UUID)})
    texts = tuple({value.encode() for value in values if isinstance(value, str)})
    lists = []
    if ids:
        lists.append(("carray(?)", apsw.carray(ids)))
    if texts:
        lists.append((_TEXT_VALUES, apsw.carray(texts)))
    return lists


def _source(table: Table, field: str, scope: Scope) -> tuple[str, str]:
    """Where the values of a field stand in an index: the FROM clause, with t for keys, and the expression."""
    if field not in table.links:
        return f"{table.name} t", table.sql(field)
    if not scope.shared:
        return f"{table.link(field)} t", "t.value"
    return f"{table.link(field)} l JOIN {table.name} t ON t.key = l.key", "l.value"
