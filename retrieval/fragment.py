"""The memory fragment: the small graph of one question, its scores, and what of it is kept."""

import asyncio
import heapq
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import TYPE_CHECKING, Final, TypeAlias
from uuid import UUID

from overstory import ids
from overstory.models import DEFAULT_WEIGHT, Entity, LeanEdge, TextSummary
from overstory.telemetry import Kind, step

from .projections import Material, Node

if TYPE_CHECKING:
    import networkx as nx

MADE_FROM: Final = "made_from"
CONTAINS: Final = "contains"
PENALTY_DISTANCE: Final = 2.0
"""Of what was not compared with the question: the largest cosine distance."""
NEUTRAL_DISTANCE: Final = 1.0
"""Of `contains`, which is as true of every question: that of unrelated directions."""
CONNECTIONS_PART: Final = 3
"""One place in so many is kept for connections, whatever texts are nearer."""
_ENDS_AND_EDGE = 3
"""A node by itself costs what a connection does whose ends and edge are all as far as the node."""
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
class Standing:
    """A node that stands in a fragment by itself: a text, or an entity where there was room left."""

    node: Node
    score: float


Pick: TypeAlias = Connection | Standing


@dataclass(frozen=True, slots=True, kw_only=True)
class Fragment:
    """What was kept for a question, best first."""

    picks: tuple[Pick, ...] = ()
    distances: Mapping[UUID, float]
    content_tokens: int | None = None
    """How much of each text is given; None for all of it."""

    def first(self, count: int) -> "Fragment":
        """The best `count` connections and nodes of it."""
        return replace(self, picks=self.picks[:count])

    @property
    def size(self) -> int:
        return len(self.picks)

    @property
    def connections(self) -> tuple[Connection, ...]:
        return tuple(pick for pick in self.picks if isinstance(pick, Connection))

    @property
    def nodes(self) -> list[Node]:
        """Each node once, in the order in which the best picks name them."""
        ends = chain.from_iterable(_nodes_of(pick) for pick in self.picks)
        return list({node.id: node for node in ends}.values())


def _nodes_of(pick: Pick) -> tuple[Node, ...]:
    return (pick.source, pick.target) if isinstance(pick, Connection) else (pick.node,)


def merged(fragments: Sequence[Fragment], top_k: int) -> Fragment:
    """The best of several fragments, nothing of it twice."""
    picks: dict[tuple[str, ...], Pick] = {}
    for pick in chain.from_iterable(fragment.picks for fragment in fragments):
        name = pick.relationship_name if isinstance(pick, Connection) else ""
        key = (name, *(str(node.id) for node in _nodes_of(pick)))
        if key not in picks or pick.score < picks[key].score:
            picks[key] = pick
    distances: dict[UUID, float] = {}
    for fragment in reversed(fragments):
        distances |= fragment.distances
    best = sorted(picks.items(), key=lambda item: (item[1].score, item[0]))[:top_k]
    return Fragment(picks=tuple(pick for _, pick in best), distances=distances)


@step(Kind.RECALL, "choose connections")
async def cut(material: Material, top_k: int, feedback_influence: float = 0.0) -> Fragment:
    """Build the graph of the material and keep what of it is nearest to the question, `top_k` picks."""
    if len(material.nodes) > _LARGE:
        return await asyncio.to_thread(cut_now, material, top_k, feedback_influence)
    return cut_now(material, top_k, feedback_influence)


def cut_now(material: Material, top_k: int, feedback_influence: float = 0.0) -> Fragment:
    graph = project(material, feedback_influence, top_k)
    picks = _mixed(standing_texts(graph, top_k), best_connections(graph, top_k), top_k)
    alone = best_isolated(graph, top_k - len(picks))
    return Fragment(picks=(*picks, *alone), distances=material.distances)


def _mixed(texts: Sequence[Standing], connections: Sequence[Connection], top_k: int) -> list[Pick]:
    """The best of both; a share of the places is kept for connections, where there are so many."""
    kept = min(len(connections), top_k // CONNECTIONS_PART)
    picks: list[Pick] = [*texts[: top_k - kept], *connections]
    return sorted(picks, key=lambda pick: pick.score)[:top_k]


# --- the graph -------------------------------------------------------------------------------------


def project(material: Material, feedback_influence: float = 0.0, top_k: int | None = None) -> "nx.MultiDiGraph[int]":
    """The graph of the material: a node has its `row` and `cost`, an edge its `cost` and `text`, by relationship name.

    An edge has both ends among the nodes. `cost` is the weighted distance, see `cost_of`. Nodes go by the number of
    their id, which Python hashes and compares ten times as fast as the id. Of stored edges and of `contains` edges,
    of which there may be thousands, only those are added that can be among the best `top_k`.
    """
    import networkx as nx

    graph: nx.MultiDiGraph[int] = nx.MultiDiGraph()
    for node in material.nodes:
        distance = material.distances.get(node.id, PENALTY_DISTANCE)
        graph.add_node(node.id.int, row=node, cost=_cost(node, distance, feedback_influence))
    costs = dict(graph.nodes(data="cost"))
    kinds = [_stored(material, feedback_influence), _made_from(material), _contains(material)]
    stored, made_from, contains = (_inside(edges, costs) for edges in kinds)
    best = [_best_edges(edges, costs, top_k) for edges in (stored, contains)]
    for source, target, name, cost, text in chain(made_from, *best):
        graph.add_edge(source, target, name, cost=cost, text=text)
    return graph


def _inside(edges: Iterable[_Edge], nodes: Container[int]) -> Iterable[_Edge]:
    """The edges that have both ends among the nodes."""
    return (edge for edge in edges if edge[0] in nodes and edge[1] in nodes)


def _best_edges(edges: Iterable[_Edge], costs: Mapping[int, float], top_k: int | None) -> Iterable[_Edge]:
    """The edges that `best_connections` may choose, by its order."""
    if top_k is None:
        return edges
    scored = [
        (costs[source] + costs[target] + cost, source, target, name, cost, text)
        for source, target, name, cost, text in edges
    ]
    return [edge[1:] for edge in heapq.nsmallest(top_k, scored)]


def cost_of(distance: float, importance: float, feedback: float, feedback_influence: float) -> float:
    """`(2 - importance) * distance`, with feedback blended in as a distance from 0 (praised) to 2 (blamed)."""
    blended = (1 - feedback_influence) * distance + feedback_influence * 2 * (1 - feedback)
    return (2 - importance) * blended


def _cost(row: Node | LeanEdge, distance: float, feedback_influence: float) -> float:
    return cost_of(distance, row.importance_weight, row.feedback_weight, feedback_influence)


def _stored(material: Material, feedback_influence: float) -> Iterator[_Edge]:
    costs: dict[tuple[int, str, float, float], float] = {}
    for edge in material.edges:
        home, name = edge.dataset_id, edge.relationship_name
        alike = (home.int, name, edge.importance_weight, edge.feedback_weight)
        if alike not in costs:
            distance = material.distances.get(ids.label_id(home, name), PENALTY_DISTANCE)
            costs[alike] = _cost(edge, distance, feedback_influence)
        yield edge.source_id.int, edge.target_id.int, name, costs[alike], edge.edge_text


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
    """The connections with the lowest sum over both ends and the edge; ties by ids and name.

    That a summary is made from a chunk is not among them: it says nothing, and both say the same.
    """
    costs, rows = dict(graph.nodes(data="cost")), graph.nodes(data="row")
    scored = [
        (costs[source] + costs[target] + cost, source, target, name)
        for source, target, name, cost in graph.edges(keys=True, data="cost")
        if not isinstance(rows[source], TextSummary)
    ]
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


def standing_texts(graph: "nx.MultiDiGraph[int]", top_k: int) -> list[Standing]:
    """The best chunks, and the best summaries whose chunk is not in the graph; ties by id.

    Chunk and summary are one matter, of which the chunk says more: it stands for both, with the score of the
    connection between them.
    """
    rows, costs = graph.nodes(data="row"), dict(graph.nodes(data="cost"))
    scores = {node: _ENDS_AND_EDGE * cost for node, cost in costs.items() if not isinstance(rows[node], Entity)}
    for summary, chunk, cost in graph.edges(data="cost"):
        if isinstance(rows[summary], TextSummary):
            scores[chunk] = costs[summary] + costs[chunk] + cost
            del scores[summary]
    best = heapq.nsmallest(top_k, ((score, node) for node, score in scores.items()))
    return [Standing(node=rows[node], score=score) for score, node in best]


def best_isolated(graph: "nx.MultiDiGraph[int]", count: int) -> list[Standing]:
    """The entities without any connection that are nearest to the question."""
    if count <= 0:
        return []
    rows = graph.nodes(data="row")
    alone = [
        (cost, node)
        for node, cost in graph.nodes(data="cost")
        if isinstance(rows[node], Entity) and not graph.degree(node)
    ]
    return [Standing(node=rows[node], score=_ENDS_AND_EDGE * cost) for cost, node in heapq.nsmallest(count, alone)]
