"""A dataset's graph and tree as nodes and edges, in a stream.

Nodes are documents, chunks, their summaries, entities, and the areas of one generation of the index. An edge that
would lead nowhere, such as one to a summary that waits for the next improve, is left out.
"""

from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias
from uuid import UUID

import numpy as np

from overstory import ids
from overstory.columns import columns_of, row_from
from overstory.models import (
    AreaContent,
    Dataset,
    Document,
    DocumentChunk,
    Edge,
    Entity,
    Fact,
    Generation,
    GlobalContextSummary,
    Row,
    TextSummary,
)
from overstory.stores.contract import Tenant

FORMAT, FORMAT_VERSION = "overstory-graph", 1
Attributes: TypeAlias = dict[str, Any]
"""Text, numbers, flags, None, and lists and dicts of these: what JSON can hold. Dates are ISO 8601 text."""
_WEIGHTS = ("importance_weight", "feedback_weight")
_FIELDS: dict[type[Row], tuple[str, ...]] = {
    Document: ("source", "title", "occurred_at", "node_set", "state", "importance_weight"),
    DocumentChunk: ("text", "position", "occurred_at", "node_set", *_WEIGHTS),
    TextSummary: ("text", "position", "occurred_at", "node_set", "model", "degraded", *_WEIGHTS),
    Entity: ("name", "description", *_WEIGHTS),
    GlobalContextSummary: ("text", "level", "is_root", "model", "degraded", "stale", "withheld"),
}
"""Fields that are attributes under their own names."""
NODE_ATTRIBUTES: dict[str, type] = {
    "type": str,
    "entity_type": str,
    "categories": list,
    "facts": list,
    **{name: str for name in ("source", "title", "text", "name", "description", "occurred_at", "state", "model")},
    "degraded": str,
    "node_set": list,
    **{name: int for name in ("position", "level")},
    **{name: bool for name in ("is_root", "stale", "withheld")},
    **{name: float for name in _WEIGHTS},
}
EDGE_ATTRIBUTES: dict[str, type] = {
    "relationship_name": str,
    "text": str,
    "position": int,
    **{name: float for name in _WEIGHTS},
}
GRAPH_ATTRIBUTES: dict[str, type] = {
    **{name: str for name in ("format", "dataset", "dataset_id", "embedding_model", "built_at", "model")},
    **{name: int for name in ("format_version", "embedding_dimensions", "generation")},
}


_LEFT_OUT: dict[str, Any] = {"graph": None, "mentions": (), "entity_ids": (), "chunk_ids": (), "child_ids": ()}
"""Fields of nodes that edges tell of, with what stands for them."""
_ROWS = 512
"""Read at once."""


class GraphNode(NamedTuple):
    id: str
    attributes: Attributes


class GraphEdge(NamedTuple):
    source: str
    target: str
    key: str
    """Tells it from other edges between the same two nodes; no other edge has it."""
    attributes: Attributes


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphSource:
    """What to read of a dataset.

    Args:
        hidden: keys of rows that are being forgotten.
    """

    tenant: Tenant
    dataset: Dataset
    generation: Generation | None
    hidden: frozenset[UUID] = frozenset()


def about(source: GraphSource) -> Attributes:
    """What the whole graph is of."""
    dataset, generation = source.dataset, source.generation
    return {
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        "dataset": dataset.name,
        "dataset_id": str(dataset.id),
        "embedding_model": dataset.embedding_model,
        "embedding_dimensions": dataset.embedding_dimensions,
        "generation": generation.number if generation else 0,
        "built_at": generation.built_at.isoformat() if generation else None,
        "model": generation.model if generation else None,
    }


async def read_graph(source: GraphSource) -> AsyncIterator[list[GraphNode] | list[GraphEdge]]:
    """All nodes, some hundred at a time, then all edges; each kind in the order of its ids.

    Memory: 16 bytes a node, beside the part that is being read.
    """
    known = _Known()
    for kind in _FIELDS:
        left_out = _LEFT_OUT.keys() - ({"child_ids"} if source.hidden else set())
        columns = [column.name for column in columns_of(kind) if column.name not in left_out]
        async for values in _values(source, kind, columns):
            rows = [row_from(kind, {**_LEFT_OUT, **one}) for one in values]
            rows = [row for row in rows if row.key not in source.hidden]
            known.add(rows)
            if rows:
                yield [node_of(row, source.hidden) for row in rows]
    for edge_kind, (columns, edges_of) in _EDGES.items():
        async for values in _values(source, edge_kind, ["id", *columns]):
            shown = [one for one in values if not source.hidden or ids.uuid_of(one["id"]) not in source.hidden]
            edges = [edge for one in shown for edge in edges_of(one)]
            if kept := known.between(edges):
                yield [_edge(*edge) for edge in kept]


def node_of(row: Any, hidden: frozenset[UUID] = frozenset()) -> GraphNode:
    """A row with what it says; the id of an area is the one that it keeps for life."""
    attributes = {"type": type(row).__name__, **{name: _plain(getattr(row, name)) for name in _FIELDS[type(row)]}}
    if isinstance(row, Entity):
        attributes["entity_type"] = row.type
    if isinstance(row, GlobalContextSummary):
        attributes |= _content(row.content)
        if hidden and row.rests_on(hidden):
            attributes |= {"text": "", "withheld": True, **_content(AreaContent())}
    return GraphNode(str(row.id), attributes)


def _content(content: AreaContent) -> Attributes:
    categories = [{"name": category.name, "topics": list(category.topics)} for category in content.categories]
    return {"categories": categories, "facts": [_fact(fact) for fact in content.facts]}


def _fact(fact: Fact) -> Attributes:
    return {
        "text": fact.text,
        "occurred_at": fact.occurred_at,
        "superseded": fact.superseded,
        "inputs": list(fact.inputs),
        "summary_ids": [str(key) for key in fact.summary_ids],
    }


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value


async def _values(source: GraphSource, kind: type[Row], columns: list[str]) -> AsyncIterator[list[dict[str, Any]]]:
    number = source.generation.number if source.generation else 0
    generation = number if kind is GlobalContextSummary else None
    if generation == 0:
        return
    async for batch in source.tenant.batches(kind, columns, generation=generation, rows=_ROWS):
        yield batch.to_pylist()


# --- edges ----------------------------------------------------------------------------------------


_RawEdge: TypeAlias = tuple[bytes, bytes, str, Attributes]
"""Ids of both ends, the relationship's name, and what else is known of it."""


def _of_chunk(row: dict[str, Any]) -> Iterator[_RawEdge]:
    yield row["id"], row["document_id"], "is_part_of", {}
    for mention in dict.fromkeys(row["mentions"]):
        yield row["id"], mention, "contains", {}


def _of_summary(row: dict[str, Any]) -> Iterator[_RawEdge]:
    yield row["id"], row["chunk_id"], "made_from", {}


def _of_edge(row: dict[str, Any]) -> Iterator[_RawEdge]:
    attributes = {"text": row["edge_text"], **{name: row[name] for name in _WEIGHTS}}
    yield row["source_id"], row["target_id"], row["relationship_name"], attributes


def _of_area(row: dict[str, Any]) -> Iterator[_RawEdge]:
    for position, child in enumerate(row["child_ids"]):
        yield child, row["id"], "summarized_in", {"position": position}


_EDGES: dict[type[Row], tuple[list[str], Callable[[dict[str, Any]], Iterable[_RawEdge]]]] = {
    DocumentChunk: (["document_id", "mentions"], _of_chunk),
    TextSummary: (["chunk_id"], _of_summary),
    Edge: (["source_id", "target_id", "relationship_name", "edge_text", *_WEIGHTS], _of_edge),
    GlobalContextSummary: (["child_ids"], _of_area),
}


def _edge(source: bytes, target: bytes, relationship_name: str, attributes: Attributes) -> GraphEdge:
    ends = ids.uuid_of(source), ids.uuid_of(target)
    key = ids.edge_id(ends[0], relationship_name, ends[1])
    return GraphEdge(str(ends[0]), str(ends[1]), str(key), {"relationship_name": relationship_name, **attributes})


class _Known:
    """Which nodes there are."""

    def __init__(self) -> None:
        self._ids = bytearray()
        self._sorted = np.empty(0, "S16")

    def add(self, rows: Iterable[Any]) -> None:
        self._ids += b"".join([row.id.bytes for row in rows])

    def between(self, edges: list[_RawEdge]) -> list[_RawEdge]:
        """Those of the edges that have both ends."""
        if len(self._sorted) * 16 != len(self._ids):
            self._sorted = np.sort(np.frombuffer(self._ids, "S16"))
        if not len(self._sorted):
            return []
        has = self._has([edge[0] for edge in edges]) & self._has([edge[1] for edge in edges])
        return [edge for edge, kept in zip(edges, has.tolist(), strict=True) if kept]

    def _has(self, wanted: list[bytes]) -> np.ndarray[Any, np.dtype[np.bool_]]:
        keys = np.frombuffer(b"".join(wanted), "S16")
        places = np.searchsorted(self._sorted, keys).clip(max=len(self._sorted) - 1)
        found: np.ndarray[Any, np.dtype[np.bool_]] = self._sorted[places] == keys
        return found
