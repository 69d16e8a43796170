"""Collections as data: which there are, their properties, and which of these have an index.

A kind's collection has a property for each of its columns, and beside them, where they are needed:

- `<field>_key`: for a text by which rows are found, an id that stands for it, so that any text is found exactly;
- `<field>_words`: for a text that full-text search reads, its words, as every store cuts them.

Each index costs memory in every tenant: what is not found, searched or compared has none.
"""

from functools import cached_property
from typing import Any, Final

from weaviate.classes.config import Configure, DataType, Property, StopwordsPreset, Tokenization, VectorDistances

from overstory.columns import Form, StoredKind
from overstory.models import FINDABLE, KINDS, Row
from overstory.stores.weaviate.address import HNSW, Address

VERSION: Final = 1
SHARED_TENANT: Final = "shared"
_TYPES: Final = {
    Form.ID: DataType.UUID,
    Form.IDS: DataType.UUID_ARRAY,
    Form.TEXT: DataType.TEXT,
    Form.TEXTS: DataType.TEXT_ARRAY,
    Form.INTEGER: DataType.INT,
    Form.NUMBER: DataType.NUMBER,
    Form.FLAG: DataType.BOOL,
    Form.GRAPH: DataType.TEXT,
    Form.CONTENT: DataType.TEXT,
}
_COMPARED: Final = ("valid_from", "valid_to")


class Shape(StoredKind):
    """How rows of a kind are stored: the key is the object's own id, every column has a property."""

    @cached_property
    def properties(self) -> tuple[str, ...]:
        """Of the columns."""
        return tuple(property_of(c.name) for c in self.columns)

    @cached_property
    def text_keys(self) -> tuple[str, ...]:
        """Text fields by which rows are found."""
        texts = {c.name for c in self.columns if c.form in (Form.TEXT, Form.TEXTS)}
        return tuple(name for name in FINDABLE[self.kind] if name in texts)

    def found_by(self, field: str) -> str:
        """The property by which rows are found for a field."""
        return f"{field}_key" if field in self.text_keys else property_of(field)


SHAPES: Final = {kind: Shape(kind) for kind in KINDS}


def shape_of(kind: type[Any]) -> Shape:
    return SHAPES[kind]


def property_of(field: str) -> str:
    """The name of a field's property: `id` is the server's own."""
    return "row_id" if field == "id" else field


def registry_name(address: Address) -> str:
    return f"{address.prefix}Registry"


def sessions_name(address: Address) -> str:
    return f"{address.prefix}Session"


def collection_name(address: Address, kind: type[Row], shared: bool) -> str:
    return f"{address.prefix}{'Shared' * shared}{kind.__name__}"


def definitions(address: Address, shared: bool) -> dict[str, dict[str, Any]]:
    """What `collections.create` takes, by name; the registry comes first."""
    kinds = {collection_name(address, kind, shared): _of_kind(shape, address, shared) for kind, shape in SHAPES.items()}
    return {registry_name(address): _of_registry(), sessions_name(address): _of_sessions(), **kinds}


def _of_registry() -> dict[str, Any]:
    return _without_tenants(
        _plain("record", DataType.TEXT, found=True),
        _plain("status", DataType.TEXT, found=True),
        _plain("dataset_id", DataType.UUID, found=True),
        _plain("user_id", DataType.UUID, found=True),
        _plain("body", DataType.TEXT),
    )


def _of_sessions() -> dict[str, Any]:
    return _without_tenants(
        _plain("session_id", DataType.UUID, found=True),
        _plain("dataset_ids", DataType.UUID_ARRAY, found=True),
        _plain("kept_at", DataType.NUMBER),
        _plain("body", DataType.TEXT),
    )


def _without_tenants(*properties: Property) -> dict[str, Any]:
    return {
        "properties": list(properties),
        "vector_config": _no_vectors(),
        "inverted_index_config": Configure.inverted_index(stopwords_preset=StopwordsPreset.NONE),
    }


def _of_kind(shape: Shape, address: Address, shared: bool) -> dict[str, Any]:
    found = {shape.found_by(field) for field in FINDABLE[shape.kind]} | ({"dataset_id"} if shared else set())
    columns = [_plain(property_of(c.name), _TYPES[c.form], found=property_of(c.name) in found) for c in shape.columns]
    keys = [_plain(shape.found_by(f), _key_type(shape.form(f)), found=True) for f in shape.text_keys]
    return {
        "properties": [*columns, *keys, *(_words(field) for field in shape.text_fields)],
        "multi_tenancy_config": Configure.multi_tenancy(
            enabled=True, auto_tenant_creation=False, auto_tenant_activation=True
        ),
        "vector_config": _vectors(address) if shape.has_vectors else _no_vectors(),
        "inverted_index_config": Configure.inverted_index(stopwords_preset=StopwordsPreset.NONE),
    }


def _plain(name: str, data_type: DataType, *, found: bool = False) -> Property:
    texts = data_type in (DataType.TEXT, DataType.TEXT_ARRAY)
    return Property(
        name=name,
        data_type=data_type,
        index_filterable=found,
        index_searchable=False,
        index_range_filters=True if name in _COMPARED else None,
        tokenization=Tokenization.FIELD if texts else None,
    )


def _words(field: str) -> Property:
    return Property(
        name=f"{field}_words",
        data_type=DataType.TEXT,
        index_filterable=False,
        index_searchable=True,
        tokenization=Tokenization.WORD,
    )


def _key_type(form: Form) -> DataType:
    return DataType.UUID_ARRAY if form is Form.TEXTS else DataType.UUID


def _vectors(address: Address) -> Any:
    kinds = Configure.VectorIndex
    index = kinds.hnsw if address.index == HNSW else kinds.flat
    return Configure.Vectors.self_provided(
        vector_index_config=index(distance_metric=VectorDistances.COSINE, quantizer=kinds.Quantizer.none())
    )


def _no_vectors() -> Any:
    return Configure.Vectors.self_provided(vector_index_config=Configure.VectorIndex.none())
