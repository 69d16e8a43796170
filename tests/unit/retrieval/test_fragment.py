"""The fragment: which connections it has, what they cost, and which are kept."""

import random
from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from overstory import ids
from overstory.models import DocumentChunk, Edge, Entity, LeanEdge, TextSummary
from retrieval.fragment import (
    CONTAINS,
    MADE_FROM,
    NEUTRAL_DISTANCE,
    PENALTY_DISTANCE,
    Standing,
    cut,
    cut_now,
    merged,
    project,
)
from retrieval.projections import Material

HOME = ids.make_id("home")
DOCUMENT = ids.make_id("document")


def isolated(fragment):
    """Nodes that stand by themselves."""
    return tuple(pick.node for pick in fragment.picks if isinstance(pick, Standing))


def entity(name, **weights):
    return Entity(id=ids.entity_id(HOME, name), dataset_id=HOME, name=name, chunk_id=DOCUMENT, **weights)


def edge(source, name, target, **weights):
    key = ids.edge_id(source.id, name, target.id)
    edge = Edge(
        id=key,
        dataset_id=HOME,
        source_id=source.id,
        relationship_name=name,
        target_id=target.id,
        chunk_id=DOCUMENT,
        **weights,
    )
    return LeanEdge.of(edge)


def chunk(text, *mentioned):
    key = ids.chunk_id(DOCUMENT, text)
    named = tuple(one.id for one in mentioned)
    return DocumentChunk(id=key, dataset_id=HOME, document_id=DOCUMENT, text=text, position=0, mentions=named)


def summary(of):
    return TextSummary(
        id=ids.summary_id(of.id), dataset_id=HOME, document_id=DOCUMENT, chunk_id=of.id, text=of.text, position=0
    )


ANNA, NORTHSTAR, MARA = entity("Anna"), entity("Northstar"), entity("Mara")
WORKS_ON = edge(ANNA, "works_on", NORTHSTAR)
LABEL = ids.label_id(HOME, "works_on")


def test_a_connection_costs_the_weighted_distances_of_both_ends_and_the_edge():
    anna, edge_ = replace(ANNA, importance_weight=1.0), WORKS_ON._replace(importance_weight=0.0)
    material = Material(
        entities=[anna, NORTHSTAR], edges=[edge_], distances={ANNA.id: 0.2, NORTHSTAR.id: 0.4, LABEL: 0.8}
    )

    (connection,) = cut_now(material, 5).connections

    assert connection.score == pytest.approx((2 - 1) * 0.2 + (2 - 0.5) * 0.4 + (2 - 0) * 0.8)


def test_what_was_not_compared_costs_the_penalty():
    material = Material(entities=[ANNA, NORTHSTAR], edges=[WORKS_ON], distances={ANNA.id: 0.2})

    (connection,) = cut_now(material, 5).connections

    assert connection.score == pytest.approx(1.5 * (0.2 + 2 * PENALTY_DISTANCE))


def test_a_label_is_matched_in_any_spelling_that_has_its_id():
    material = Material(
        entities=[ANNA, NORTHSTAR],
        edges=[WORKS_ON._replace(relationship_name="Works_On")],
        distances={ANNA.id: 0.1, NORTHSTAR.id: 0.1, LABEL: 0.1},
    )

    assert cut_now(material, 1).connections[0].score == pytest.approx(1.5 * 0.3)


def test_an_edge_needs_both_ends_in_the_fragment():
    material = Material(entities=[ANNA], edges=[WORKS_ON], distances={ANNA.id: 0.2})

    fragment = cut_now(material, 5)

    assert fragment.connections == ()
    assert isolated(fragment) == (ANNA,)


def test_fields_of_rows_give_the_structural_connections():
    text = chunk("Anna works.", ANNA, MARA)
    short = summary(text)
    material = Material(entities=[ANNA, NORTHSTAR], chunks=[text], summaries=[short])

    graph = project(material)

    assert set(graph.edges(keys=True)) == {(short.id.int, text.id.int, MADE_FROM), (text.id.int, ANNA.id.int, CONTAINS)}


def test_a_chunk_stands_for_its_summary_as_far_as_both_are_and_contains_stays_neutral():
    text = chunk("Anna works.", ANNA)
    short = summary(text)
    distances = {short.id: 0.2, text.id: 0.4, ANNA.id: 0.5}
    material = Material(entities=[ANNA], chunks=[text], summaries=[short], distances=distances)

    pair, contains = cut_now(material, 5).picks

    assert pair.node is text
    assert pair.score == pytest.approx(1.5 * (0.2 + 0.4 + 0.3))
    assert contains.score == pytest.approx(1.5 * (0.4 + 0.5 + NEUTRAL_DISTANCE))


def test_a_summary_stands_by_itself_where_its_chunk_did_not_match():
    short = summary(chunk("Anna works."))

    (pick,) = cut_now(Material(summaries=[short], distances={short.id: 0.2}), 5).picks

    assert pick.node is short
    assert pick.score == pytest.approx(3 * 1.5 * 0.2)


def test_a_third_of_the_places_is_kept_for_connections():
    texts = [chunk(f"Text {n}.", ANNA) for n in range(9)]
    distances = {text.id: 0.1 for text in texts} | {ANNA.id: 0.9}

    fragment = cut_now(Material(entities=[ANNA], chunks=texts, distances=distances), 6)

    assert len(isolated(fragment)) == 4
    assert len(fragment.connections) == 2


def test_only_contains_that_can_be_kept_are_in_the_graph():
    people = [entity(f"Person {n}") for n in range(20)]
    text = chunk("All of them.", *people)
    distances = {person.id: n / 20 for n, person in enumerate(people)}
    material = Material(entities=people, chunks=[text], distances=distances)

    graph = project(material, top_k=3)

    assert {target for _, target in graph.edges()} == {person.id.int for person in people[:3]}


def test_of_several_fragments_the_best_picks_are_kept_once():
    near, far = chunk("Near."), chunk("Far.")
    one = cut_now(Material(chunks=[near, far], distances={near.id: 0.4, far.id: 0.8}), 5)
    other = cut_now(Material(chunks=[near], distances={near.id: 0.2}), 5)

    both = merged([one, other], 2)

    assert [node.text for node in both.nodes] == ["Near.", "Far."]
    assert both.picks[0].score == other.picks[0].score


def test_feedback_counts_only_as_far_as_it_is_configured():
    blamed, praised = entity("Blamed", feedback_weight=0.0), entity("Praised", feedback_weight=1.0)
    edges = [edge(ANNA, "works_on", blamed), edge(ANNA, "works_on", praised)]
    distances = {ANNA.id: 0.1, blamed.id: 0.1, praised.id: 0.2, LABEL: 0.1}
    material = Material(entities=[ANNA, blamed, praised], edges=edges, distances=distances)

    without, with_feedback = cut_now(material, 1), cut_now(material, 1, feedback_influence=0.5)

    assert without.connections[0].target is blamed
    assert with_feedback.connections[0].target is praised


def test_places_left_over_go_to_nodes_without_a_connection_nearest_first():
    near, far = entity("Near"), entity("Far")
    distances = {ANNA.id: 0.1, NORTHSTAR.id: 0.1, LABEL: 0.1, near.id: 0.2, far.id: 0.9}
    material = Material(entities=[far, ANNA, near, NORTHSTAR], edges=[WORKS_ON], distances=distances)

    assert isolated(cut_now(material, 1)) == ()
    assert isolated(cut_now(material, 2)) == (near,)
    assert isolated(cut_now(material, 9)) == (near, far)


@given(st.randoms(use_true_random=False), st.integers(1, 12))
def test_equal_scores_are_kept_in_the_same_order_whatever_the_order_of_the_rows(order: random.Random, top_k: int):
    people = [entity(f"Person {n}") for n in range(6)]
    edges = [edge(a, "knows", b) for a in people for b in people if a is not b]
    expected = cut_now(Material(entities=people, edges=edges), top_k).connections

    order.shuffle(people)
    order.shuffle(edges)

    assert cut_now(Material(entities=people, edges=edges), top_k).connections == expected


def test_no_material_gives_an_empty_fragment():
    fragment = cut_now(Material(), 5)

    assert fragment.size == 0
    assert fragment.nodes == []


async def test_a_large_fragment_is_the_same_when_it_is_cut_in_a_thread():
    people = [entity(f"Person {n}") for n in range(2_100)]
    edges = [edge(a, "knows", b) for a, b in pairwise(people)]
    material = Material(entities=people, edges=edges)

    fragment = await cut(material, 3)

    assert fragment.connections == cut_now(material, 3).connections
