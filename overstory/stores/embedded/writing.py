"""Writes to a dataset's file. Each function runs inside one transaction, on its connection."""

from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any
from uuid import UUID

import apsw

from overstory.columns import Form
from overstory.models import GlobalContextSummary, Row, Vectors
from overstory.stores.embedded.codec import codec_of, encoder, load_texts, split
from overstory.stores.embedded.connections import fetch, number
from overstory.stores.embedded.schema import TABLES, Table, table_of
from overstory.words import searchable

_HARMLESS = (Form.INTEGER, Form.NUMBER, Form.FLAG)
_VALIDITY = {"valid_from", "valid_to"}
_KEPT_CHANGES = 200_000
_DROP_AT_ONCE = 5_000


def put(connection: apsw.Connection, kind: type[Row], rows: Sequence[Row], vectors: Vectors | None) -> None:
    """Insert rows, in the place of those with the same keys."""
    table, codec = table_of(kind), codec_of(kind)
    keys = [row.key.bytes for row in rows]
    # In the order of keys, so that neighbours in the index are neighbours in the file.
    order = sorted(range(len(rows)), key=keys.__getitem__)
    remove(connection, table, keys)
    rids = dict(zip(order, _take_rids(connection, len(rows)), strict=True))
    connection.executemany(table.insert, ([rids[i], keys[i], *codec.encode(rows[i])] for i in order))
    _link(connection, table, keys)
    _index_text(connection, table, keys)
    if vectors is not None:
        bytes_of = vectors.astype("<f4", copy=False)
        connection.executemany(
            f"INSERT INTO {table.name}_vector(rid, key, vector) VALUES (?, ?, ?)",
            ((rids[i], keys[i], bytes_of[i].tobytes()) for i in order),
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
    _link(connection, table, keys, links)
    if touched & set(table.text_fields):
        connection.executemany(
            f"DELETE FROM {table.name}_text WHERE rowid = ?", [(rid,) for rid in _rids(connection, table, keys)]
        )
        _index_text(connection, table, keys)
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


def _stored_links(
    connection: apsw.Connection, table: Table, field: str, keys: Sequence[bytes]
) -> Iterator[tuple[bytes | str, bytes]]:
    """Each value of a list field with the key of its row."""
    sql = f'SELECT key, "{field}" FROM {table.name} WHERE key IN carray(?)'
    values_of: Callable[[Any], Sequence[bytes | str]] = split if table.form(field) is Form.IDS else load_texts
    for key, stored in fetch(connection, sql, (apsw.carray(tuple(keys)),)):
        for value in dict.fromkeys(values_of(stored)):
            yield value, key


def _link(
    connection: apsw.Connection, table: Table, keys: Sequence[bytes], fields: Iterable[str] | None = None
) -> None:
    for field in table.links if fields is None else fields:
        # Sorted, since neighbours in the index are inserted much faster one after the other.
        pairs = sorted(_stored_links(connection, table, field, keys))
        connection.executemany(f"INSERT INTO {table.link(field)}(value, key) VALUES (?, ?)", pairs)


def _unlink(connection: apsw.Connection, table: Table, fields: Iterable[str], keys: Sequence[bytes]) -> None:
    for field in fields:
        pairs = sorted(_stored_links(connection, table, field, keys))
        connection.executemany(f"DELETE FROM {table.link(field)} WHERE value = ? AND key = ?", pairs)


def _index_text(connection: apsw.Connection, table: Table, keys: Sequence[bytes]) -> None:
    if not table.text_fields:
        return
    fields = ", ".join(f'"{field}"' for field in table.text_fields)
    sql = f"SELECT rid, {fields} FROM {table.name} WHERE key IN carray(?) ORDER BY rid"
    stored = fetch(connection, sql, (apsw.carray(tuple(keys)),))
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
