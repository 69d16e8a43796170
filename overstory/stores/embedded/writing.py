"""Writes to a dataset's file. Each function runs inside one transaction, on its connection."""

from array import array
from collections.abc import Callable, Iterable, Mapping, Sequence
from operator import attrgetter
from typing import Any
from uuid import UUID

import apsw

from overstory.columns import Form
from overstory.models import GlobalContextSummary, Row
from overstory.stores.embedded.codec import StoredRow, encoder, load_texts, split
from overstory.stores.embedded.connections import fetch, number
from overstory.stores.embedded.schema import TABLES, Table, table_of
from overstory.words import searchable

_HARMLESS = (Form.INTEGER, Form.NUMBER, Form.FLAG)
_VALIDITY = {"valid_from", "valid_to"}
_KEPT_CHANGES = 200_000
_DROP_AT_ONCE = 5_000


def put(connection: apsw.Connection, kind: type[Row], parts: Iterable[Sequence[StoredRow]]) -> None:
    """Insert rows, in the place of those with the same keys; only one part of them is held at a time."""
    table = table_of(kind)
    lists: dict[str, list[tuple[bytes, Any]]] = {field: [] for field in table.links}
    for rows in parts:
        _insert(connection, table, rows)
        for field, stored in lists.items():
            place = table.place(field)
            stored += [(row.key, row.values[place]) for row in rows]
    for field, stored in lists.items():
        _link(connection, table, field, stored)


def _insert(connection: apsw.Connection, table: Table, rows: Sequence[StoredRow]) -> None:
    """Everything of rows but their links."""
    # In the order of keys, so that neighbours in the index are neighbours in the file.
    rows = sorted(rows, key=attrgetter("key"))
    remove(connection, table, [row.key for row in rows])
    numbered = list(zip(_take_rids(connection, len(rows)), rows, strict=True))
    connection.executemany(table.insert, ((rid, row.key, *row.values) for rid, row in numbered))
    if table.text_fields:
        places = [table.place(field) for field in table.text_fields]
        _index_text(connection, table, ((rid, *(row.values[place] for place in places)) for rid, row in numbered))
    if table.has_vectors:
        connection.executemany(
            f"INSERT INTO {table.name}_vector(rid, key, vector) VALUES (?, ?, ?)",
            ((rid, row.key, row.vector) for rid, row in numbered if row.vector is not None),
        )


def remove(connection: apsw.Connection, table: Table, keys: Sequence[bytes]) -> int:
    """Delete rows with everything that hangs on them; the number that existed."""
    if not keys:
        return 0
    rids = _rids(connection, table, keys)
    if not rids:
        return 0
    _unlink(connection, table, table.links, keys)
    numbers = [(rid,) for rid in rids]
    connection.execute(f"DELETE FROM {table.name} WHERE rid IN carray(?)", (apsw.carray(array("q", rids)),))
    if table.text_fields:
        connection.executemany(f"DELETE FROM {table.name}_text WHERE rowid = ?", numbers)
    if table.has_vectors:
        connection.executemany(f"DELETE FROM {table.name}_vector WHERE rid = ?", numbers)
        _note_changes(connection, table, rids)
    _note_deletion(connection)
    return len(rids)


def patch(connection: apsw.Connection, kind: type[Row], changes: Mapping[UUID, Mapping[str, Any]]) -> None:
    """Change single fields of rows that exist."""
    table = table_of(kind)
    keys = [key.bytes for key in changes]
    touched = {name for change in changes.values() for name in change}
    links = [field for field in table.links if field in touched]
    _unlink(connection, table, links, keys)
    for key, change in changes.items():
        if change:
            _update(connection, table, key, change)
    for field in links:
        _link(connection, table, field, _stored(connection, table, ("key", field), keys))
    if touched & set(table.text_fields):
        texts = _stored(connection, table, ("rid", *table.text_fields), keys)
        connection.executemany(f"DELETE FROM {table.name}_text WHERE rowid = ?", [(rid,) for rid, *_ in texts])
        _index_text(connection, table, texts)
    if kind is GlobalContextSummary and touched & _VALIDITY:
        _note_changes(connection, table, _rids(connection, table, keys))
    if any(table.form(field) not in _HARMLESS for field in touched):
        _note_deletion(connection)


def sweep(connection: apsw.Connection, dataset_id: UUID, keep: Sequence[int]) -> int:
    """Delete a dataset's index rows that none of these generations sees."""
    table = table_of(GlobalContextSummary)
    seen = " OR ".join("(valid_from <= ? AND valid_to > ?)" for _ in keep) or "FALSE"
    values = [value for generation in keep for value in (generation, generation)]
    found = fetch(
        connection, f"SELECT key FROM {table.name} WHERE dataset_id = ? AND NOT ({seen})", (dataset_id.bytes, *values)
    )
    return remove(connection, table, [key for (key,) in found])


def remove_some(connection: apsw.Connection, dataset_id: UUID) -> int:
    """Delete rows of a dataset that shares its file; 0 when none are left."""
    for table in TABLES:
        found = fetch(
            connection, f"SELECT key FROM {table.name} WHERE dataset_id = ? LIMIT {_DROP_AT_ONCE}", (dataset_id.bytes,)
        )
        if found:
            return remove(connection, table, [key for (key,) in found])
    return 0


def _update(connection: apsw.Connection, table: Table, key: UUID, change: Mapping[str, Any]) -> None:
    values = []
    for field, value in change.items():
        encode = encoder(table.form(field))
        values.append(value if encode is None else encode(value))
    assignments = ", ".join(f'"{field}" = ?' for field in change)
    connection.execute(f"UPDATE {table.name} SET {assignments} WHERE key = ?", (*values, key.bytes))


def _take_rids(connection: apsw.Connection, count: int) -> range:
    """Numbers for so many new rows, higher than any before."""
    sql = "UPDATE state SET value = value + ? WHERE name = 'next_rid' RETURNING value"
    after = number(connection, sql, (count,))
    return range(after - count, after)


def _rids(connection: apsw.Connection, table: Table, keys: Sequence[bytes]) -> list[int]:
    sql = f"SELECT rid FROM {table.name} WHERE key IN carray(?)"
    return [rid for (rid,) in fetch(connection, sql, (apsw.carray(tuple(keys)),))]


def _stored(
    connection: apsw.Connection, table: Table, names: Sequence[str], keys: Sequence[bytes]
) -> list[tuple[Any, ...]]:
    """Columns of the rows that exist, by ascending rid."""
    columns = ", ".join(f'"{name}"' for name in names)
    sql = f"SELECT {columns} FROM {table.name} WHERE key IN carray(?) ORDER BY rid"
    return fetch(connection, sql, (apsw.carray(tuple(keys)),))


def _link(connection: apsw.Connection, table: Table, field: str, stored: Iterable[tuple[Any, ...]]) -> None:
    sql = f"INSERT INTO {table.link(field)}(value, key) VALUES (?, ?)"
    connection.executemany(sql, _links(table, field, stored))


def _unlink(connection: apsw.Connection, table: Table, fields: Iterable[str], keys: Sequence[bytes]) -> None:
    for field in fields:
        sql = f"DELETE FROM {table.link(field)} WHERE value = ? AND key = ?"
        connection.executemany(sql, _links(table, field, _stored(connection, table, ("key", field), keys)))


def _links(table: Table, field: str, stored: Iterable[tuple[Any, ...]]) -> list[tuple[bytes | str, bytes]]:
    """Each value of a list field with the key of its row, of rows' keys and lists."""
    values_of: Callable[[Any], Sequence[bytes | str]] = split if table.form(field) is Form.IDS else load_texts
    # Sorted, since neighbours in the index are inserted much faster one after the other.
    return sorted({(value, key) for key, values in stored for value in values_of(values)})


def _index_text(connection: apsw.Connection, table: Table, stored: Iterable[Sequence[Any]]) -> None:
    """Make rows findable by their words, of their numbers and texts."""
    connection.executemany(
        f"INSERT INTO {table.name}_text(rowid, words) VALUES (?, ?)",
        ((rid, searchable("\n".join(texts))) for rid, *texts in stored),
    )


def _note_changes(connection: apsw.Connection, table: Table, rids: Sequence[int]) -> None:
    """Tell the matrices of all processes; those that slept through very many changes are read anew."""
    connection.executemany("INSERT INTO change(kind, rid) VALUES (?, ?)", [(table.name, rid) for rid in rids])
    ((first, last),) = fetch(connection, "SELECT ifnull(min(seq), 0), ifnull(max(seq), 0) FROM change")
    if last - first > _KEPT_CHANGES:
        forget_changes(connection, last - _KEPT_CHANGES // 2)


def forget_changes(connection: apsw.Connection, up_to: int) -> None:
    connection.execute("DELETE FROM change WHERE seq <= ?", (up_to,))
    connection.execute("UPDATE state SET value = max(value, ?) WHERE name = 'forgotten'", (up_to,))


def _note_deletion(connection: apsw.Connection) -> None:
    """Something that was readable should become unreadable at the next `erase`."""
    connection.execute("UPDATE state SET value = value + 1 WHERE name = 'deleted'")
