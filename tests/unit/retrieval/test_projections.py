"""What a fragment is cut from: matches, a node set, a neighbourhood."""

from overstory import ids
from overstory.models import DocumentChunk, Entity, TextSummary
from retrieval.projections import Material, matching, neighborhood, node_set
from tests.unit.retrieval.data import Note, make_world

CHAIN = [
    Note(
        source=f"{n}.md",
        text=f"Station {n} borders the next one.",
        names=(f"Station {n}", f"Station {n + 1}"),
        relations=[(f"Station {n}", "borders", f"Station {n + 1}")],
    )
    for n in range(6)
]


def names(material):
    return {entity.name for entity in material.entities}


async def test_at_most_so_many_of_each_kind_match():
    world = await make_world(CHAIN)
    vector = world.embedder.embed_now(["Station 0"])[0]

    material = await matching(world.tenant, vector, 2)

    assert (len(material.entities), len(material.chunks), len(material.summaries)) == (2, 2, 2)
    assert all(edge.source_id in material.distances and edge.target_id in material.distances for edge in material.edges)


async def test_no_limit_gives_the_full_graph():
    world = await make_world(CHAIN)
    vector = world.embedder.embed_now(["Station 0"])[0]

    material = await matching(world.tenant, vector, None)

    assert (len(material.entities), len(material.chunks), len(material.edges)) == (7, 6, 6)


async def test_a_neighbourhood_reaches_as_far_as_it_is_deep():
    world = await make_world(CHAIN)
    vector = world.embedder.embed_now(["Station 0"])[0]
    start = Material(entities=await world.tenant.get(Entity, [ids.entity_id(world.dataset.id, "Station 0")]))

    near = await neighborhood(world.tenant, vector, start, 1)
    further = await neighborhood(world.tenant, vector, start, 3)

    assert names(near) == {"Station 0", "Station 1"}
    assert [chunk.text for chunk in near.chunks] == [CHAIN[0].text]
    assert names(further) == {"Station 0", "Station 1", "Station 2", "Station 3"}
    assert {ids.summary_id(chunk.id) for chunk in near.chunks} <= {s.id for s in further.summaries}


async def test_what_a_neighbourhood_reaches_is_compared_with_the_question():
    world = await make_world(CHAIN)
    vector = world.embedder.embed_now(["Station 0"])[0]
    start = await matching(world.tenant, vector, 1)

    material = await neighborhood(world.tenant, vector, start, 2)
    everything = await matching(world.tenant, vector, None)

    assert all(abs(material.distances[n.id] - everything.distances[n.id]) < 1e-5 for n in material.nodes)


async def test_a_neighbourhood_stops_growing_at_its_cap():
    world = await make_world(CHAIN)
    vector = world.embedder.embed_now(["Station 0"])[0]
    start = await matching(world.tenant, vector, 1)

    material = await neighborhood(world.tenant, vector, start, 4, max_nodes=8)

    assert len(material.nodes) == 8


async def test_a_question_may_ask_for_a_neighbourhood():
    world = await make_world(CHAIN)

    narrow = await world.context("Station 0", wide_search_top_k=1, top_k=40)
    wide = await world.context("Station 0", wide_search_top_k=1, top_k=40, neighborhood_depth=2)

    assert "Node: Station 2\n" not in narrow
    assert "Node: Station 2\n" in wide


# --- node sets ---


async def test_a_node_set_holds_only_what_its_documents_say():
    world = await make_world()

    context = await world.context("Northstar", node_name="finance", top_k=40)

    assert "Luis Ortega" in context
    assert "Anna Hofer" not in context
    assert "Mara Lind" not in context


async def test_an_entity_of_several_node_sets_is_described_in_the_words_of_the_one_asked_for():
    world = await make_world()

    inside = await world.context("Northstar", node_name="product", top_k=40)
    outside = await world.context("Northstar", node_name="finance", top_k=40)

    assert "The spring launch." in inside
    assert "The spring launch." not in outside
    assert "in budget.md" in outside


async def test_edges_of_a_node_set_are_those_that_its_chunks_state():
    world = await make_world(
        [
            Note(
                source="a.md",
                text="Anna likes Luis.",
                names=["Anna", "Luis"],
                relations=[("Anna", "likes", "Luis")],
                tags=("a",),
            ),
            Note(
                source="b.md",
                text="Anna owes Luis.",
                names=["Anna", "Luis"],
                relations=[("Anna", "owes", "Luis")],
                tags=("b",),
            ),
        ]
    )

    context = await world.context("Anna and Luis", node_name="b", top_k=40)

    assert "Anna --[owes]--> Luis" in context
    assert "likes" not in context


async def test_or_takes_one_of_the_tags_and_and_takes_all_of_them():
    world = await make_world()

    either = await world.ask("tomatoes launch", "CHUNKS", node_name=["garden", "product"])
    both = await world.ask("tomatoes launch", "CHUNKS", node_name=["garden", "product"], node_name_filter="AND")

    assert {p.source for p in either.evidence.passages} == {"launch.md", "garden.md"}
    assert {p.source for p in both.evidence.passages} == {"garden.md"}


async def test_a_node_set_that_no_document_has_finds_nothing():
    world = await make_world()

    for query_type in ("GRAPH_COMPLETION", "HYBRID_COMPLETION", "CHUNKS", "CHUNKS_LEXICAL", "SUMMARIES"):
        assert await world.ask("tomatoes", query_type, node_name="nowhere") is None


async def test_words_are_searched_in_the_node_set_alone():
    world = await make_world()

    found = await world.ask("Northstar", "CHUNKS_LEXICAL", node_name="finance", top_k=1)

    assert [p.source for p in found.evidence.passages] == ["budget.md"]


async def test_a_node_set_keeps_the_nearest_of_each_kind():
    world = await make_world()
    vector = world.embedder.embed_now(["tomatoes"])[0]

    material = await node_set(world.tenant, vector, ["product"], False, 1)

    assert [len(rows) for rows in (material.entities, material.chunks, material.summaries)] == [1, 1, 1]
    assert isinstance(material.chunks[0], DocumentChunk)
    assert isinstance(material.summaries[0], TextSummary)
    assert material.chunks[0].text.startswith("Mara Lind")


def everybody_knows_everybody(count):
    pairs = [(f"Name {a}", f"Name {b}") for a in range(count) for b in range(count) if a != b]
    names = tuple(f"Name {n}" for n in range(count))
    return [Note(source="all.md", text="All know all.", names=names, relations=[(a, "knows", b) for a, b in pairs])]


async def test_where_all_is_tied_to_all_the_edges_are_those_of_the_nearest():
    world = await make_world(everybody_knows_everybody(16))
    vector = world.embedder.embed_now(["Name 3 and Name 5"])[0]

    material = await matching(world.tenant, vector, 16)

    nearest = {entity.id for entity in material.entities[:4]}
    assert len(material.entities) == 16
    assert len(material.edges) == 4 * 3
    assert all({edge.source_id, edge.target_id} <= nearest for edge in material.edges)


async def test_all_edges_are_there_where_they_are_not_too_many():
    world = await make_world(everybody_knows_everybody(6))
    vector = world.embedder.embed_now(["Name 3 and Name 5"])[0]

    limited, everything = await matching(world.tenant, vector, 16), await matching(world.tenant, vector, None)

    assert sorted(limited.edges) == sorted(everything.edges)
    assert len(everything.edges) == 6 * 5
