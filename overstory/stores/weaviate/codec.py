"""Rows as properties of objects, and back."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any
from uuid import UUID

from overstory import columns as forms
from overstory import ids
from overstory.columns import Column, Form, RowT, columns_of
from overstory.models import Row
from overstory.stores.weaviate.schema import Shape, property_of, shape_of
from overstory.words import words_of

_PLAIN = (Form.ID, Form.TEXT, Form.INTEGER, Form.NUMBER, Form.FLAG)
_LISTS = (Form.IDS, Form.TEXTS)


def text_key(text: str) -> UUID:
    """What stands for a text in the index, so that spaces, case and stop words count."""
    return ids.make_id("text", text)


def searched_words(text: str) -> str:
    return " ".join(words_of(text))


def properties_of(row: Row) -> dict[str, Any]:
    """All properties of a row's object."""
    shape = shape_of(type(row))
    return _properties(shape, {column.name: getattr(row, column.name) for column in shape.columns})


def changed_properties(kind: type[Row], change: Mapping[str, Any]) -> dict[str, Any]:
    """The properties that a change of single fields touches."""
    return _properties(shape_of(kind), change)


def _properties(shape: Shape, values: Mapping[str, Any]) -> dict[str, Any]:
    found = {property_of(name): _stored(shape.form(name), value) for name, value in values.items()}
    for name in shape.text_keys:
        if name in values:
            given = values[name]
            found[f"{name}_key"] = text_key(given) if isinstance(given, str) else [text_key(text) for text in given]
    for name in shape.text_fields:
        if name in values:
            found[f"{name}_words"] = searched_words(values[name])
    return found


def _stored(form: Form, value: Any) -> Any:
    if form in _PLAIN or value is None:
        return value
    return list(value) if form in _LISTS else forms.encode(form, value)


def row_of(kind: type[RowT], key: UUID, properties: Mapping[str, Any], left_out: dict[str, Any] | None = None) -> RowT:
    """The row of an object; `left_out` are fields that were not read, with what stands for them."""
    key_field = shape_of(kind).key_field
    values: dict[str, Any] = {
        column.name: key if column.name == key_field else read(properties.get(property_of(column.name)))
        for column, read in _readers(kind)
    }
    return kind(**values | (left_out or {}))


def cell_maker(kind: type[Row], name: str) -> Callable[[Any], Any]:
    """What makes a column's cell of an object: the same values as `columns.encode` gives."""
    shape = shape_of(kind)
    if name == "key" or name == shape.key_field:
        return lambda stored: stored.uuid.bytes
    if name == "vector":
        return lambda stored: vector_bytes(stored.vector)
    column = next(c for c in shape.columns if c.name == name)
    own, read = property_of(name), _cell_reader(column)
    return lambda stored: read(stored.properties.get(own))


def vector_bytes(vectors: Mapping[str, Any]) -> bytes | None:
    import numpy as np

    stored = vectors.get("default")
    return np.asarray(stored, dtype="<f4").tobytes() if stored else None


def _readers(kind: type[RowT]) -> Iterable[tuple[Column, Callable[[Any], Any]]]:
    name = kind.__name__
    if name not in _READERS:
        _READERS[name] = [(column, _reader(column)) for column in columns_of(kind)]
    return _READERS[name]


_READERS: dict[str, list[tuple[Column, Callable[[Any], Any]]]] = {}


def _reader(column: Column) -> Callable[[Any], Any]:
    if column.form in _LISTS:
        return lambda stored: tuple(stored or ())
    if column.form in (Form.GRAPH, Form.CONTENT):
        return lambda stored: forms.decode(column.form, stored or None)
    if column.form is Form.TEXT and not column.nullable:
        return lambda stored: stored or ""
    return lambda stored: stored


def _cell_reader(column: Column) -> Callable[[Any], Any]:
    if column.form is Form.ID:
        return lambda stored: stored.bytes
    if column.form is Form.IDS:
        return lambda stored: [one.bytes for one in stored or ()]
    if column.form is Form.TEXTS:
        return lambda stored: list(stored or ())
    if column.form is Form.TEXT and not column.nullable:
        return lambda stored: stored or ""
    return lambda stored: stored
