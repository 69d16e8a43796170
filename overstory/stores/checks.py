"""What a store refuses before it touches anything, the same for every store. All raise ValueError."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any
from uuid import UUID

import numpy as np

from overstory.columns import RowT, columns_of
from overstory.models import (
    FINDABLE,
    HEAVY,
    KINDS,
    TEXT_KINDS,
    VECTOR_KINDS,
    GlobalContextSummary,
    Row,
    Vector,
    Vectors,
)

_LENGTH_TOLERANCE = 1e-2
KEY_FIELDS: dict[type[Row], frozenset[str]] = {
    kind: frozenset({"id", "valid_from"} if kind is GlobalContextSummary else {"id", "summary_id"}) for kind in KINDS
}
"""Fields that a row's key follows from."""


def check_rows(rows: Sequence[Row], dataset_id: UUID) -> type[Row]:
    """The one kind of these rows (at least one), all of this dataset and with different keys."""
    kind = type(rows[0])
    if kind not in KINDS or any(type(row) is not kind for row in rows):
        raise ValueError("one call stores rows of one kind")
    if any(row.dataset_id != dataset_id for row in rows):
        raise ValueError(f"a row belongs to another dataset than {dataset_id}")
    if len({row.key for row in rows}) != len(rows):
        raise ValueError(f"two {kind.__name__} rows have the same key")
    return kind


def check_vectors(kind: type[Row], count: int, vectors: Vectors, dimensions: int) -> Vectors:
    """Vectors for so many rows, as float32 in one block."""
    check_vector_kind(kind)
    given = np.ascontiguousarray(vectors, dtype=np.float32)
    if given.shape != (count, dimensions):
        raise ValueError(f"vectors of shape {given.shape} were given, not {(count, dimensions)}")
    lengths = np.einsum("ij,ij->i", given, given)
    if not bool(np.all(np.abs(lengths - 1.0) < _LENGTH_TOLERANCE)):
        raise ValueError("a vector has values that are no numbers, or not the length 1")
    return given


def check_query(kind: type[Any], vector: Vector, limit: int | None, generation: int | None, dimensions: int) -> Vector:
    """The vector of a search that makes sense."""
    check_limit(limit)
    check_generation(kind, generation)
    query: Vector = check_vectors(kind, 1, np.asarray(vector)[None], dimensions)[0]
    return query


def check_vector_kind(kind: type[Row]) -> None:
    if kind not in VECTOR_KINDS:
        raise ValueError(f"{kind.__name__} rows have no vectors")


def check_text_kind(kind: type[Row]) -> None:
    if kind not in TEXT_KINDS:
        raise ValueError(f"{kind.__name__} rows have no text to search")


def check_limit(limit: int | None) -> None:
    if limit is not None and limit < 1:
        raise ValueError(f"limit={limit}: at least 1, or None for all")


def check_generation(kind: type[Row], generation: int | None) -> None:
    if generation is not None and kind is not GlobalContextSummary:
        raise ValueError(f"{kind.__name__} rows have no generations")


def check_findable(kind: type[Row], field: str) -> None:
    if field not in FINDABLE[kind]:
        raise ValueError(
            f"{kind.__name__} rows can't be found by {field!r}, only by {', '.join(FINDABLE[kind]) or 'key'}"
        )


def check_columns(kind: type[Row], names: Sequence[str]) -> None:
    known = {"key", "vector", *(column.name for column in columns_of(kind))}
    if unknown := [name for name in names if name not in known]:
        raise ValueError(f"{kind.__name__} rows have no {unknown[0]!r}")
    if "vector" in names:
        check_vector_kind(kind)


def check_changes(kind: type[Row], changes: Iterable[Mapping[str, Any]]) -> None:
    """Changes of fields that exist and that the key does not follow from."""
    names = {name for change in changes for name in change}
    if unknown := names - {column.name for column in columns_of(kind)}:
        raise ValueError(f"{kind.__name__} rows have no field {min(unknown)!r}")
    if fixed := names & (KEY_FIELDS[kind] | {"dataset_id"}):
        raise ValueError(f"{min(fixed)!r} of a stored {kind.__name__} can't change: put a new row")


def left_out(kind: type[RowT], without: Collection[str]) -> dict[str, Any]:
    """What stands for the fields that a caller does not need.

    Raises:
        ValueError: one of them is no heavy field of the kind.
    """
    heavy = HEAVY.get(kind.__name__, {})
    if unknown := set(without) - heavy.keys():
        raise ValueError(f"{kind.__name__} can't be read without {sorted(unknown)}: only without {sorted(heavy)}")
    return {name: heavy[name] for name in without}
