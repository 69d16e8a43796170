"""The memory fragment: the small graph of one question, its scores, and its best connections."""

import asyncio
import heapq
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final
from uuid import UUID

from overstory import ids
from overstory.models import Edge

from .projections import Material, Node

if TYPE_CHECKING:
    import networkx as nx

MADE_FROM: Final = "made_from"
CONTAINS: Final = "contains"
PENALTY_DISTANCE: Final = 2.0
"""Of what was not compared with the question: the largest cosine distance."""
NEUTRAL_DISTANCE: Final = 1.0
"""Of `contains`, which is as true of every question: that of unrelated directions."""
_LARGE = 2_000
"""Nodes from which on scoring would hold up the event loop."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Connection:
    """A triplet of the fragment, `score` lower for a better one."""

    source: Node
    relationship_name: str
    target: Node
    text: str = ""
    """The sentence that states it, where one was stored."""
    score: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Fragment:
    """What was kept for a question, best first."""

    connections: tuple[Connection, ...] = ()
    isolated: tuple[Node, ...] = ()
    """Nodes that matched and have no connection, where there was room left."""
    distances: Mapping[UUID, float]

    def first(self, count: int) -> "Fragment":
        """The best `count` connections and isolated nodes of it."""
        alone = max(count - len(self.connections), 0)
        return Fragment(connections=self.connections[:count], isolated=self.isolated[:alone], distances=self.distances)

    @property
    def size(self) -> int:
        return len(self.connections) + len(self.isolated)

    @property
    def nodes(self) -> list[Node]:
        """Each node once, in the order in which the best connections name them."""
        ends = (end for connection in self.connections for end in (connection.source, connection.target))
        return list({node.id: node for node in (*ends, *self.isolated)}.values())


async def cut(material: Material, top_k: int, feedback_influence: float = 0.0) -> Fragment:
    """Build the graph of the material and keep its `top_k` best connections."""
    if len(material.nodes) > _LARGE:
        return await asyncio.to_thread(cut_now, material, top_k, feedback_influence)
    return cut_now(material, top_k, feedback_influence)


def cut_now(material: Material, top_k: int, feedback_influence: float = 0.0) -> Fragment:
    graph = project(material, feedback_influence)
    connections = best_connections(graph, top_k)
    return Fragment(
        connections=tuple(connections),
        isolated=tuple(best_isolated(graph, top_k - len(connections))),
        distances=material.distances,
    )


# --- the graph -------------------------------------------------------------------------------------


def project(material: Material, feedback_influence: float = 0.0) -> "nx.MultiDiGraph[UUID]":
    """The graph of the material: a node has its `row` and `cost`, an edge its `cost`, by relationship name.

    An edge has both ends among the nodes. `cost` is the weighted distance, see `cost_of`.
    """
    import networkx as nx

    nodes = {node.id: node for node in material.nodes}
    graph: nx.MultiDiGraph[UUID] = nx.MultiDiGraph()
    graph.add_nodes_from(_weighed(nodes.values(), material.distances, feedback_influence))
    graph.add_edges_from(_stored(material.edges, nodes, material.distances, feedback_influence))
    graph.add_edges_from(_structural(material, nodes))
    return graph


def cost_of(distance: float, importance: float, feedback: float, feedback_influence: float) -> float:
    """`(2 - importance) * distance`, with feedback blended in as a distance from 0 (praised) to 2 (blamed)."""
    blended = (1 - feedback_influence) * distance + feedback_influence * 2 * (1 - feedback)
    return (2 - importance) * blended


def _cost(row: Node | Edge, distance: float, feedback_influence: float) -> float:
    return cost_of(distance, row.importance_weight, row.feedback_weight, feedback_influence)


def _weighed(
    nodes: Iterable[Node], distances: Mapping[UUID, float], feedback_influence: float
) -> Iterator[tuple[UUID, dict[str, object]]]:
    for node in nodes:
        distance = distances.get(node.id, PENALTY_DISTANCE)
        yield node.id, {"row": node, "distance": distance, "cost": _cost(node, distance, feedback_influence)}


def _stored(
    edges: Iterable[Edge], nodes: Mapping[UUID, Node], distances: Mapping[UUID, float], feedback_influence: float
) -> Iterator[tuple[UUID, UUID, str, dict[str, object]]]:
    labels: dict[tuple[UUID, str], float] = {}
    for edge in edges:
        if edge.source_id not in nodes or edge.target_id not in nodes:
            continue
        label = (edge.dataset_id, edge.relationship_name)
        if label not in labels:
            labels[label] = distances.get(ids.label_id(*label), PENALTY_DISTANCE)
        cost = _cost(edge, labels[label], feedback_influence)
        yield edge.source_id, edge.target_id, edge.relationship_name, {"cost": cost, "text": edge.edge_text}


def _structural(material: Material, nodes: Mapping[UUID, Node]) -> Iterator[tuple[UUID, UUID, str, dict[str, object]]]:
    """Connections that follow from fields.

    Summary and chunk are one matter, so `made_from` is as far from the question as they are; `contains` says
    nothing of the question and stays neutral. So text comes before the bare list of what it names.
    """
    distances = material.distances
    entities = {entity.id for entity in material.entities}
    for summary in material.summaries:
        if summary.chunk_id in nodes:
            ends = [distances.get(end, PENALTY_DISTANCE) for end in (summary.id, summary.chunk_id)]
            yield summary.id, summary.chunk_id, MADE_FROM, {"cost": cost_of(sum(ends) / 2, 0.5, 0.5, 0)}
    neutral = cost_of(NEUTRAL_DISTANCE, 0.5, 0.5, 0)
    for chunk in material.chunks:
        for entity in sorted(entities.intersection(chunk.mentions)):
            yield chunk.id, entity, CONTAINS, {"cost": neutral}


# --- the best of it --------------------------------------------------------------------------------


def best_connections(graph: "nx.MultiDiGraph[UUID]", top_k: int) -> list[Connection]:
    """The connections with the lowest sum over both ends and the edge; ties by ids and name."""
    costs = dict(graph.nodes(data="cost"))
    scored = (
        (costs[source] + costs[target] + cost, source, target, name)
        for source, target, name, cost in graph.edges(keys=True, data="cost")
    )
    rows = graph.nodes(data="row")
    return [
        Connection(
            source=rows[source],
            relationship_name=name,
            target=rows[target],
            text=graph.edges[source, target, name].get("text", ""),
            score=score,
        )
        for score, source, target, name in heapq.nsmallest(top_k, scored)
    ]


def best_isolated(graph: "nx.MultiDiGraph[UUID]", count: int) -> list[Node]:
    """The nodes without any connection that are nearest to the question."""
    if count <= 0:
        return []
    alone = ((data["cost"], node, data["row"]) for node, data in graph.nodes(data=True) if not graph.degree(node))
    return [row for _, _, row in heapq.nsmallest(count, alone, key=lambda item: item[:2])]
