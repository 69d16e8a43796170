"""Rows as the values of their table's columns, and back. Lists of ids are their bytes laid end to end."""

import json
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from itertools import repeat
from operator import attrgetter
from typing import Any, Generic, NamedTuple
from uuid import UUID

from overstory import columns as forms
from overstory.columns import Form, RowT, columns_of
from overstory.ids import uuid_of
from overstory.models import KINDS, Vectors
from overstory.stores.embedded.schema import table_of

_NOTHING: Mapping[str, Any] = {}
_PLAIN = (Form.TEXT, Form.INTEGER, Form.NUMBER, Form.FLAG)


class StoredRow(NamedTuple):
    """A row as its table keeps it."""

    key: bytes
    values: Sequence[Any]
    """Of the columns, in the order of the table."""
    vector: bytes | None


def pack(ids: Sequence[UUID]) -> bytes:
    return b"".join([id_.bytes for id_ in ids])


def unpack(packed: bytes) -> tuple[UUID, ...]:
    return tuple([uuid_of(part) for part in split(packed)])


def split(packed: bytes) -> list[bytes]:
    """The single ids of a list, as bytes."""
    return [packed[i : i + 16] for i in range(0, len(packed), 16)]


def dump_texts(texts: Sequence[str]) -> str:
    return json.dumps(texts, ensure_ascii=False) if texts else "[]"


def load_texts(stored: str) -> tuple[str, ...]:
    return () if stored == "[]" else tuple(json.loads(stored))


def encoder(form: Form) -> Callable[[Any], Any] | None:
    """What makes a field's value a column's; None where they are the same."""
    if form in _PLAIN:
        return None
    special: dict[Form, Callable[[Any], Any]] = {Form.ID: attrgetter("bytes"), Form.IDS: pack, Form.TEXTS: dump_texts}
    return special.get(form) or (lambda value: forms.encode(form, value))


def decoder(form: Form) -> Callable[[Any], Any] | None:
    if form in _PLAIN and form is not Form.FLAG:
        return None
    special: dict[Form, Callable[[Any], Any]] = {
        Form.FLAG: bool,
        Form.ID: uuid_of,
        Form.IDS: unpack,
        Form.TEXTS: load_texts,
    }
    return special.get(form) or (lambda stored: forms.decode(form, stored))


dataset_id_of = lru_cache(maxsize=256)(uuid_of)
"""The same for all rows of a tenant."""


class Codec(Generic[RowT]):
    """Both ways for one kind."""

    def __init__(self, kind: type[RowT]) -> None:
        table = table_of(kind)
        names = [column.name for column in table.columns]
        self._kind = kind
        # A tuple also for a kind of one column, which attrgetter would hand out bare.
        self._fields: Callable[[Any], tuple[Any, ...]] = attrgetter(*names, "key")
        self._encoders = [
            (i, encode) for i, column in enumerate(table.columns) if (encode := encoder(column.form)) is not None
        ]
        every = columns_of(kind)
        self._names = [column.name for column in every]
        self._decoders = [(i, decode) for i, c in enumerate(every) if (decode := decoder(c.form)) is not None]
        place = self._names.index("dataset_id")
        self._decoders = [(i, dataset_id_of if i == place else decode) for i, decode in self._decoders]
        self._columns = {name: table.sql(name) for name in self._names}

    def encode(self, rows: Sequence[RowT], vectors: Vectors | None) -> list[StoredRow]:
        """Rows with their vectors, as `decode` reads them."""
        given = repeat(None) if vectors is None else map(bytes, vectors.astype("<f4", copy=False))
        return [StoredRow(row.key.bytes, self._values(row), vector) for row, vector in zip(rows, given, strict=False)]

    def _values(self, row: RowT) -> list[Any]:
        values = list(self._fields(row))
        values.pop()
        for i, encode in self._encoders:
            values[i] = encode(values[i])
        return values

    def select(self, left_out: Mapping[str, Any] = _NOTHING) -> str:
        """The columns that `decode` reads, of a table called t."""
        return ", ".join("NULL" if name in left_out else sql for name, sql in self._columns.items())

    def decode(self, stored: Sequence[Any], left_out: Mapping[str, Any] = _NOTHING) -> RowT:
        """A row, with what stands for the fields that were not read."""
        values = list(stored)
        for i, decode in self._decoders:
            if self._names[i] not in left_out:
                values[i] = decode(values[i])
        return self._kind(**{**dict(zip(self._names, values, strict=True)), **left_out})


def codec_of(kind: type[RowT]) -> Codec[RowT]:
    codec: Codec[RowT] = _CODECS[kind.__name__]
    return codec


_CODECS: dict[str, Codec[Any]] = {kind.__name__: Codec(kind) for kind in KINDS}
