"""Rows as properties of objects, and back."""

from collections.abc import Callable, Mapping
from operator import attrgetter
from typing import Any
from uuid import UUID

from overstory import columns as forms
from overstory import ids
from overstory.columns import Form, RowT
from overstory.models import LeanEdge, Row
from overstory.stores.weaviate.schema import Shape, property_of, shape_of
from overstory.stores.weaviate.wire import Stored, ids_of, texts_of, uuid_of
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


def row_of(kind: type[RowT], stored: Stored, left_out: dict[str, Any] | None = None) -> RowT:
    """The row of an object; `left_out` are fields that were not read, with what stands for them."""
    fields = stored.fields
    values: dict[str, Any] = {name: read(fields[own]) for name, own, read in _readers(kind) if own in fields}
    if key_field := shape_of(kind).key_field:
        values[key_field] = stored.key
    return kind(**values | (left_out or {}))


def lean_edges(known: Mapping[str, Any]) -> Callable[[Stored], LeanEdge]:
    """What reads an edge of an object; `known` are fields that were not read, with what they are."""
    home = known.get("dataset_id")

    def read(stored: Stored) -> LeanEdge:
        fields = stored.fields
        return LeanEdge(
            stored.key,
            home or uuid_of(fields["dataset_id"].uuid_value),
            uuid_of(fields["source_id"].uuid_value),
            fields["relationship_name"].text_value,
            uuid_of(fields["target_id"].uuid_value),
            fields["edge_text"].text_value,
            fields["importance_weight"].number_value,
            fields["feedback_weight"].number_value,
        )

    return read


def cell_maker(kind: type[Row], name: str) -> Callable[[Stored], Any]:
    """What makes a column's cell of an object: the same values as `columns.encode` gives."""
    shape = shape_of(kind)
    if name in ("key", shape.key_field):
        return lambda stored: stored.key.bytes
    if name == "vector":
        return lambda stored: stored.vector_bytes
    own, read = property_of(name), _CELLS[shape.form(name)]
    return lambda stored: read(stored.fields[own])


_Readers = list[tuple[str, str, Callable[[Any], Any]]]


def _readers(kind: type[Any]) -> _Readers:
    """Field, property and what reads it, for each column with a property."""
    name = kind.__name__
    if name not in _READERS:
        _READERS[name] = [(c.name, property_of(c.name), _VALUES[c.form]) for c in shape_of(kind).columns]
    return _READERS[name]


_READERS: dict[str, _Readers] = {}


def _structure(form: Form) -> Callable[[Any], Any]:
    return lambda value: forms.decode(form, value.text_value or None)


# A value that is null reads as the empty one of whatever form it is asked for.
_VALUES: dict[Form, Callable[[Any], Any]] = {
    Form.ID: lambda value: uuid_of(value.uuid_value),
    Form.IDS: lambda value: tuple(ids_of(value)),
    Form.TEXT: attrgetter("text_value"),
    Form.TEXTS: lambda value: tuple(texts_of(value)),
    Form.INTEGER: attrgetter("int_value"),
    Form.NUMBER: attrgetter("number_value"),
    Form.FLAG: attrgetter("bool_value"),
    Form.GRAPH: _structure(Form.GRAPH),
    Form.CONTENT: _structure(Form.CONTENT),
}
_CELLS: dict[Form, Callable[[Any], Any]] = {
    **_VALUES,
    Form.ID: lambda value: bytes.fromhex(value.uuid_value.replace("-", "")),
    Form.IDS: lambda value: [bytes.fromhex(one.replace("-", "")) for one in value.list_value.uuid_values.values],
    Form.TEXTS: lambda value: list(texts_of(value)),
    Form.GRAPH: lambda value: value.text_value or None,
    Form.CONTENT: attrgetter("text_value"),
}
