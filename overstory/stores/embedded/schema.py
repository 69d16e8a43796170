"""Tables of a dataset's file: one per kind with a column per field, and beside it what finds its rows.

A row has a number (`rid`) that grows with every write in the whole file and is never given twice; a row that is
replaced gets a new one. So "what is new since" is a range of numbers, and what went away stands in `change`.
The field that the key of a kind equals is not stored a second time.
"""

from functools import cached_property
from typing import Any

from overstory.columns import Form, StoredKind
from overstory.models import FINDABLE, KINDS, Edge, Row

APPLICATION_ID = 0x4F565354
VERSION = 1

_SQL_TYPES = {
    Form.ID: "BLOB",
    Form.IDS: "BLOB",
    Form.TEXT: "TEXT",
    Form.TEXTS: "TEXT",
    Form.INTEGER: "INTEGER",
    Form.NUMBER: "REAL",
    Form.FLAG: "INTEGER",
    Form.GRAPH: "TEXT",
    Form.CONTENT: "TEXT",
}
_LISTS = (Form.IDS, Form.TEXTS)
_BESIDE: dict[tuple[type[Row], str], tuple[str, ...]] = {(Edge, "source_id"): ("target_id",)}
"""Further fields of an index, so that `edges_between` sees there which edges it needs."""
_STATE = (
    "CREATE TABLE state(name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID",
    "INSERT INTO state VALUES ('next_rid', 1), ('forgotten', 0), ('deleted', 0), ('erased', 0)",
    "CREATE TABLE change(seq INTEGER PRIMARY KEY AUTOINCREMENT, kind TEXT NOT NULL, rid INTEGER NOT NULL)",
)


class Table(StoredKind):
    """Where rows of one kind lie."""

    @property
    def name(self) -> str:
        return self.kind.__name__

    @cached_property
    def links(self) -> tuple[str, ...]:
        """List fields by whose values rows are found."""
        lists = {c.name for c in self.columns if c.form in _LISTS}
        return tuple(name for name in FINDABLE[self.kind] if name in lists)

    def sql(self, field: str) -> str:
        """A field as an SQL expression."""
        return "t.key" if field in ("key", self.key_field) else f't."{field}"'

    def place(self, field: str) -> int:
        """Where a field stands among the columns."""
        return [column.name for column in self.columns].index(field)

    def link(self, field: str) -> str:
        """The table that finds rows by the values of a list field."""
        return f"{self.name}_{field}"

    @cached_property
    def insert(self) -> str:
        names = ", ".join(f'"{c.name}"' for c in self.columns)
        return f"INSERT INTO {self.name}(rid, key, {names}) VALUES (?, ?{', ?' * len(self.columns)})"


TABLES = tuple(Table(kind) for kind in KINDS)
_BY_KIND = {table.kind: table for table in TABLES}


def table_of(kind: type[Any]) -> Table:
    return _BY_KIND[kind]


def statements(shared: bool) -> list[str]:
    """What makes an empty file a dataset's file; `shared` when several datasets lie in it."""
    return [*_STATE, *(statement for table in TABLES for statement in _statements(table, shared))]


def _statements(table: Table, shared: bool) -> list[str]:
    typed = ", ".join(f'"{c.name}" {_SQL_TYPES[c.form]}{"" if c.nullable else " NOT NULL"}' for c in table.columns)
    made = [f"CREATE TABLE {table.name}(rid INTEGER PRIMARY KEY, key BLOB NOT NULL UNIQUE, {typed})"]
    for field in FINDABLE[table.kind]:
        if field in table.links:
            made.append(f"CREATE TABLE {table.link(field)}(value, key BLOB, PRIMARY KEY(value, key)) WITHOUT ROWID")
        else:
            columns = ", ".join(f'"{name}"' for name in (field, *_BESIDE.get((table.kind, field), ()), "key"))
            made.append(f"CREATE INDEX {table.name}_by_{field} ON {table.name}({columns})")
    if shared:
        made.append(f"CREATE INDEX {table.name}_own ON {table.name}(dataset_id, key)")
    if table.has_vectors:
        made.append(
            f"CREATE TABLE {table.name}_vector(rid INTEGER PRIMARY KEY, key BLOB NOT NULL, vector BLOB NOT NULL)"
        )
    if table.text_fields:
        made.append(
            f"CREATE VIRTUAL TABLE {table.name}_text USING fts5("
            "words, content='', contentless_delete=1, tokenize='porter unicode61')"
        )
    return made
