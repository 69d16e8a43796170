"""The memory fragment: the small graph of one question, its scores, and its best connections."""

import asyncio
import heapq
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Final, TypeAlias
from uuid import UUID

from overstory import ids
from overstory.models import DEFAULT_WEIGHT, Edge

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
_Edge: TypeAlias = tuple[int, int, str, float, str]
"""Numbers of the ends, relationship name, cost, text."""


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


def project(material: Material, feedback_influence: float = 0.0) -> "nx.MultiDiGraph[int]":
    """The graph of the material: a node has its `row` and `cost`, an edge its `cost` and `text`, by relationship name.

    An edge has both ends among the nodes. `cost` is the weighted distance, see `cost_of`. Nodes go by the number of
    their id, which Python hashes and compares ten times as fast as the id.
    """
    import networkx as nx

    graph: nx.MultiDiGraph[int] = nx.MultiDiGraph()
    for node in material.nodes:
        distance = material.distances.get(node.id, PENALTY_DISTANCE)
        graph.add_node(node.id.int, row=node, cost=_cost(node, distance, feedback_influence))
    connections = (_stored(material, feedback_influence), _made_from(material), _contains(material))
    for source, target, name, cost, text in chain.from_iterable(connections):
        if source in graph and target in graph:
            graph.add_edge(source, target, name, cost=cost, text=text)
    return graph


def cost_of(distance: float, importance: float, feedback: float, feedback_influence: float) -> float:
    """`(2 - importance) * distance`, with feedback blended in as a distance from 0 (praised) to 2 (blamed)."""
    blended = (1 - feedback_influence) * distance + feedback_influence * 2 * (1 - feedback)
    return (2 - importance) * blended


def _cost(row: Node | Edge, distance: float, feedback_influence: float) -> float:
    return cost_of(distance, row.importance_weight, row.feedback_weight, feedback_influence)


def _stored(material: Material, feedback_influence: float) -> Iterator[_Edge]:
    labels: dict[tuple[int, str], float] = {}
    for edge in material.edges:
        label = (edge.dataset_id.int, edge.relationship_name)
        if label not in labels:
            labels[label] = material.distances.get(ids.label_id(edge.dataset_id, label[1]), PENALTY_DISTANCE)
        cost = _cost(edge, labels[label], feedback_influence)
        yield edge.source_id.int, edge.target_id.int, edge.relationship_name, cost, edge.edge_text


def _made_from(material: Material) -> Iterator[_Edge]:
    """Summary and chunk are one matter: their connection is as far from the question as they are."""
    for summary in material.summaries:
        ends = [material.distances.get(end, PENALTY_DISTANCE) for end in (summary.id, summary.chunk_id)]
        yield summary.id.int, summary.chunk_id.int, MADE_FROM, _neutral(sum(ends) / 2), ""


def _contains(material: Material) -> Iterator[_Edge]:
    """That a chunk names an entity says nothing of the question, so that text comes before lists of what it names."""
    entities, cost = {entity.id.int for entity in material.entities}, _neutral(NEUTRAL_DISTANCE)
    for chunk in material.chunks:
        for mention in chunk.mentions:
            if mention.int in entities:
                yield chunk.id.int, mention.int, CONTAINS, cost, ""


def _neutral(distance: float) -> float:
    return cost_of(distance, DEFAULT_WEIGHT, DEFAULT_WEIGHT, 0)


# --- the best of it --------------------------------------------------------------------------------


def best_connections(graph: "nx.MultiDiGraph[int]", top_k: int) -> list[Connection]:
    """The connections with the lowest sum over both ends and the edge; ties by ids and name."""
    costs = dict(graph.nodes(data="cost"))
    scored = [
        (costs[source] + costs[target] + cost, source, target, name)
        for source, target, name, cost in graph.edges(keys=True, data="cost")
    ]
    rows = graph.nodes(data="row")
    return [
        Connection(
            source=rows[source],
            relationship_name=name,
            target=rows[target],
            text=graph.edges[source, target, name]["text"],
            score=score,
        )
        for score, source, target, name in heapq.nsmallest(top_k, scored)
    ]


def best_isolated(graph: "nx.MultiDiGraph[int]", count: int) -> list[Node]:
    """The nodes without any connection that are nearest to the question."""
    if count <= 0:
        return []
    alone = [(cost, node) for node, cost in graph.nodes(data="cost") if not graph.degree(node)]
    return [graph.nodes[node]["row"] for _, node in heapq.nsmallest(count, alone)]
