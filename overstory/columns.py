"""How the fields of a row travel: one table of columns that Arrow, Parquet and the stores share.

Ids are 16 bytes, lists of ids lists of 16 bytes, structures (graphs, contents) JSON text, vectors float32
little-endian bytes of fixed size.
"""

import types
import typing
from dataclasses import dataclass, fields
from enum import Enum
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any, TypeVar
from uuid import UUID

from pydantic import TypeAdapter

from overstory.ids import uuid_of
from overstory.models import (
    TEXT_KINDS,
    VECTOR_KINDS,
    AreaContent,
    ChunkGraph,
    Entity,
    GlobalContextSummary,
    PendingChange,
    Row,
)

if TYPE_CHECKING:
    import pyarrow as pa

RowT = TypeVar("RowT", bound=Row)


class Form(Enum):
    ID = "id"
    IDS = "ids"
    TEXT = "text"
    TEXTS = "texts"
    INTEGER = "integer"
    NUMBER = "number"
    FLAG = "flag"
    GRAPH = "graph"
    CONTENT = "content"


_FORMS: dict[Any, Form] = {
    UUID: Form.ID,
    tuple[UUID, ...]: Form.IDS,
    str: Form.TEXT,
    tuple[str, ...]: Form.TEXTS,
    int: Form.INTEGER,
    float: Form.NUMBER,
    bool: Form.FLAG,
    ChunkGraph: Form.GRAPH,
    AreaContent: Form.CONTENT,
}


_AS_THEY_ARE = frozenset({Form.TEXT, Form.INTEGER, Form.NUMBER, Form.FLAG})


@dataclass(frozen=True, slots=True)
class Column:
    name: str
    form: Form
    nullable: bool = False


def columns_of(kind: type[Any]) -> tuple[Column, ...]:
    """The columns of a kind, in the order of its fields."""
    hashable: Any = kind  # which mypy does not see of a class of rows
    return _columns_of(hashable)


@cache
def _columns_of(kind: Any) -> tuple[Column, ...]:
    hints = typing.get_type_hints(kind)
    return tuple(_column(f.name, hints[f.name]) for f in fields(kind))


def _column(name: str, hint: Any) -> Column:
    nullable = isinstance(hint, types.UnionType)
    plain = next(a for a in typing.get_args(hint) if a is not type(None)) if nullable else hint
    return Column(name, _FORMS[plain], nullable)


@dataclass(frozen=True)
class StoredKind:
    """What every store does alike with the rows of one kind."""

    kind: type[Row]

    @cached_property
    def key_field(self) -> str | None:
        """The field that always equals the key, and is not stored a second time."""
        if self.kind is GlobalContextSummary:
            return None
        return "summary_id" if self.kind is PendingChange else "id"

    @cached_property
    def columns(self) -> tuple[Column, ...]:
        """Those that are stored beside the key."""
        return tuple(c for c in columns_of(self.kind) if c.name != self.key_field)

    @cached_property
    def text_fields(self) -> tuple[str, ...]:
        """Fields that full-text search reads."""
        if self.kind not in TEXT_KINDS:
            return ()
        return ("name", "description") if self.kind is Entity else ("text",)

    @property
    def has_vectors(self) -> bool:
        return self.kind in VECTOR_KINDS

    def form(self, field: str) -> Form:
        return next(c.form for c in columns_of(self.kind) if c.name == field)


@cache
def _json(form: Form) -> TypeAdapter[Any]:
    return TypeAdapter(ChunkGraph if form is Form.GRAPH else AreaContent)


def encode(form: Form, value: Any) -> Any:
    """A field's value as what a store or a table keeps: bytes, text, numbers, or a list of bytes or texts."""
    if value is None or form in _AS_THEY_ARE:
        return value
    if form is Form.ID:
        return value.bytes
    if form is Form.IDS:
        return [v.bytes for v in value]
    if form is Form.TEXTS:
        return list(value)
    return _json(form).dump_json(value).decode()


def decode(form: Form, value: Any) -> Any:
    """The value that `encode` was given."""
    if value is None or form in (Form.TEXT, Form.INTEGER, Form.NUMBER):
        return value
    if form is Form.FLAG:
        return bool(value)
    if form is Form.ID:
        return uuid_of(value)
    if form is Form.IDS:
        return tuple([uuid_of(v) for v in value])
    if form is Form.TEXTS:
        return tuple(value)
    return _json(form).validate_json(value)


def arrow_type(kind: type[Row], column: str, dimensions: int | None = None) -> "pa.DataType":
    """The Arrow type of a column: of a field, of `key`, or of `vector` (which needs the number of dimensions)."""
    import pyarrow as pa

    if column == "key":
        return pa.binary(16)
    if column == "vector":
        return pa.binary(4 * dimensions) if dimensions else pa.binary()
    form = next(c.form for c in columns_of(kind) if c.name == column)
    return {
        Form.ID: pa.binary(16),
        Form.IDS: pa.list_(pa.binary(16)),
        Form.TEXT: pa.string(),
        Form.TEXTS: pa.list_(pa.string()),
        Form.INTEGER: pa.int64(),
        Form.NUMBER: pa.float64(),
        Form.FLAG: pa.bool_(),
        Form.GRAPH: pa.string(),
        Form.CONTENT: pa.string(),
    }[form]


def schema_of(kind: type[Row], dimensions: int) -> "pa.Schema":
    """All fields of a kind, and `vector` where it has one."""
    import pyarrow as pa

    names = [c.name for c in columns_of(kind)] + (["vector"] if kind in VECTOR_KINDS else [])
    return pa.schema([(name, arrow_type(kind, name, dimensions)) for name in names])


def decode_all(form: Form, values: list[Any]) -> list[Any]:
    """What `decode` makes of each cell of a column."""
    return values if form in _AS_THEY_ARE else [decode(form, value) for value in values]


def row_from(kind: type[RowT], values: dict[str, Any]) -> RowT:
    """Build a row from encoded values by column name."""
    return kind(**{c.name: decode(c.form, values[c.name]) for c in columns_of(kind)})
