"""Random rows, as hypothesis strategies: any row that a store must give back as it was."""

import typing
from dataclasses import fields
from datetime import UTC
from typing import Any
from uuid import UUID

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from overstory.models import (
    OPEN_END,
    AreaContent,
    Category,
    ChunkGraph,
    Dataset,
    Fact,
    GlobalContextSummary,
    Mention,
    Relation,
    Row,
)

texts = st.text(max_size=40)
"""Any text that UTF-8 can carry, quotes, newlines and control characters included."""
weights = st.floats(0, 1)
counts = st.integers(0, 2**31 - 1)
generations = st.integers(0, OPEN_END)

mentions = st.builds(Mention, name=texts, type=texts, description=texts)
relations = st.builds(Relation, source=texts, name=texts, target=texts, text=texts)
graphs = st.builds(
    ChunkGraph, mentions=st.lists(mentions, max_size=3).map(tuple), relations=st.lists(relations, max_size=3).map(tuple)
)
categories = st.builds(Category, name=texts, topics=st.lists(texts, max_size=3).map(tuple))
facts = st.builds(
    Fact,
    text=texts,
    inputs=st.lists(texts, max_size=3).map(tuple),
    summary_ids=st.lists(st.uuids(), max_size=3).map(tuple),
    occurred_at=texts,
    superseded=st.booleans(),
)
contents = st.builds(
    AreaContent, categories=st.lists(categories, max_size=2).map(tuple), facts=st.lists(facts, max_size=2).map(tuple)
)

_VALUES: dict[Any, SearchStrategy[Any]] = {
    UUID: st.uuids(),
    tuple[UUID, ...]: st.lists(st.uuids(), max_size=4).map(tuple),
    str: texts,
    tuple[str, ...]: st.lists(texts, max_size=4).map(tuple),
    int: counts,
    float: weights,
    bool: st.booleans(),
    ChunkGraph | None: st.none() | graphs,
    AreaContent: contents,
}


def rows(kind: type[Row], dataset_id: UUID) -> SearchStrategy[Row]:
    """A row of a kind and a dataset, every field of it random."""
    hints = typing.get_type_hints(kind)
    values = {field.name: _VALUES[hints[field.name]] for field in fields(kind)} | {"dataset_id": st.just(dataset_id)}
    if kind is GlobalContextSummary:
        values |= {"valid_from": generations, "valid_to": generations}
    return st.builds(kind, **values)


def row_lists(kind: type[Row], dataset_id: UUID, max_size: int = 5) -> SearchStrategy[list[Row]]:
    """Rows of a kind and a dataset, with different keys."""
    return st.lists(rows(kind, dataset_id), max_size=max_size, unique_by=lambda row: row.key)


datasets = st.builds(
    Dataset,
    id=st.uuids(),
    name=st.text(min_size=1, max_size=40),
    owner_id=st.uuids(),
    created_at=st.datetimes(timezones=st.just(UTC)),
    embedding_model=texts,
    embedding_dimensions=st.integers(1, 4096),
)
