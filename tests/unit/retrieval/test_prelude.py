"""The prelude: root and areas, none said twice, none that may not be served."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from overstory.errors import StoreUnavailableError
from overstory.models import GlobalContextSummary
from overstory.tokens import estimate_tokens
from retrieval.prelude import Area, Prelude, fit_beside, fit_prelude, says_nothing_new
from tests.unit.retrieval.data import NOTES, make_indexed_world, make_world

QUESTION = "When is the Northstar launch?"


async def test_the_prelude_stands_before_the_local_context_in_its_exact_form():
    world = await make_indexed_world()

    plain = await world.context(QUESTION)
    context = await world.context(QUESTION, index=True)

    assert (
        context
        == (
            "World summary:\n"
            "This dataset is about:\n- Topics: Everything\n\nFacts:\n"
            "- The Northstar launch is on 9 June.\n- Mara Lind grows tomatoes.\n"
            "\n"
            "Relevant areas:\n"
            "This area of the dataset is about:\n- Topics: Northstar\n\nFacts:\n"
            "- Anna Hofer moved the Northstar launch to 9 June.\n- Luis Ortega cut the Northstar budget by a tenth.\n"
            "\n"
            "This area of the dataset is about:\n- Topics: Garden\n\nFacts:\n"
            "- Mara Lind planted tomatoes behind the greenhouse.\n"
            "\n"
        )
        + plain
    )
    assert plain.startswith("Nodes:\n")


@pytest.mark.parametrize("count", [0, -1])
async def test_no_area_is_given_for_a_count_below_one(count):
    world = await make_indexed_world()

    context = await world.context(QUESTION, index=count)

    assert context.startswith("World summary:\n")
    assert "Relevant areas:" not in context


async def test_the_root_never_comes_again_among_the_areas():
    world = await make_indexed_world()

    found = await world.ask("The Northstar launch is on 9 June. Mara Lind grows tomatoes.", index=9)

    assert found.evidence.root.is_root
    assert [area.is_root for area in found.evidence.areas] == [False, False]


async def test_areas_are_cut_to_the_nearest():
    world = await make_indexed_world()

    found = await world.ask("Who planted tomatoes behind the greenhouse?", index=1)

    assert [area.text.count("tomatoes") for area in found.evidence.areas] == [1]


async def test_index_texts_are_never_in_local_results():
    world = await make_indexed_world()
    only_in_index = {"This area of the dataset", "This dataset is about"}

    for query_type in ("GRAPH_COMPLETION", "HYBRID_COMPLETION", "RAG_COMPLETION", "CHUNKS", "SUMMARIES"):
        found = await world.ask(QUESTION, query_type, only_context=True, wide_search_top_k=None, top_k=50)

        assert not [text for text in only_in_index if text in found.text]


@pytest.mark.parametrize("query_type", ["RAG_COMPLETION", "CHUNKS", "CHUNKS_LEXICAL", "SUMMARIES"])
async def test_passages_never_read_the_index(query_type):
    world = await make_indexed_world()

    with_flag = await world.ask(QUESTION, query_type, index=True, only_context=True)

    assert with_flag.text == (await world.ask(QUESTION, query_type, only_context=True)).text
    assert with_flag.evidence.root is None


async def test_evidence_names_the_documents_that_the_facts_rest_on():
    world = await make_indexed_world()

    found = await world.ask(QUESTION, index=True)

    assert found.evidence.root.sources == ("garden.md", "launch.md")
    assert [area.sources for area in found.evidence.areas] == [("budget.md", "launch.md"), ("garden.md",)]


async def test_an_area_above_or_below_a_nearer_one_is_dropped_however_far():
    world = await make_world()
    leaf = world.area(0, "leaf", [("Anna Hofer moved the Northstar launch to 9 June.", "launch.md")])
    middle = world.area(1, "middle", [("Invoices are filed by quarter.", "")], [leaf])
    top = world.area(2, "top", [("Northstar launch dates were set by Anna in June.", "")], [middle])
    other = world.area(2, "other", [("Tomatoes grow behind glass.", "garden.md")])
    root = world.area(3, "all", [("All of it.", "launch.md")], [top, other], is_root=True)
    await world.index(leaf, middle, top, other, root=root)

    found = await world.ask("When did Anna Hofer move the Northstar launch?", index=3)

    assert [area.id for area in found.evidence.areas] == [leaf.id, other.id]


async def test_more_areas_are_searched_where_relatives_and_copies_drop_out():
    world = await make_world()
    copies = [
        world.area(0, f"copy {n}", [("Anna Hofer moved the Northstar launch to 9 June.", "launch.md")])
        for n in range(12)
    ]
    garden = world.area(0, "Garden", [("Mara Lind planted tomatoes.", "garden.md")])
    root = world.area(1, "all", [("All of it.", "launch.md")], [*copies, garden], is_root=True)
    await world.index(*copies, garden, root=root)

    found = await world.ask(QUESTION, index=2)

    assert len(found.evidence.areas) == 2
    assert found.evidence.areas[1].id == garden.id


async def test_numbers_tell_texts_apart_that_share_their_other_words():
    world = await make_world()
    words = "Anna Hofer has moved the launch of Northstar from the spring to the"
    june = Area(world.area(0, "a", [(f"{words} 9 June.", "")]), 0.1, "")
    july = Area(world.area(0, "b", [(f"{words} 12 June.", "")]), 0.2, "")

    assert says_nothing_new(june, [june])
    assert not says_nothing_new(july, [june])


async def test_withheld_texts_are_not_served_and_the_notes_say_so():
    world = await make_world()
    kept = world.area(0, "kept", [("Mara Lind planted tomatoes.", "garden.md")])
    gone = world.area(0, "gone", [("Secret.", "launch.md")], withheld=True)
    root = world.area(1, "all", [("Secret.", "launch.md")], [kept, gone], is_root=True, withheld=True)
    await world.index(kept, gone, root=root)

    found = await world.ask(QUESTION, index=True, only_context=True)

    assert "Secret." not in found.text
    assert "World summary:" not in found.text
    assert [area.id for area in found.evidence.areas] == [kept.id]
    assert found.evidence.root is None
    assert any("withheld" in note and "root" in note for note in found.evidence.notes)


async def test_stale_and_degraded_texts_are_served_and_marked():
    world = await make_world()
    area = world.area(0, "a", [("Mara Lind planted tomatoes.", "garden.md")], stale=True)
    root = world.area(1, "all", [("All.", "garden.md")], [area], is_root=True, degraded="the model refused")
    await world.index(area, root=root)

    evidence = (await world.ask("Who planted tomatoes?", index=True)).evidence

    assert evidence.areas[0].stale
    assert evidence.root.degraded == "the model refused"
    assert any("stale" in note and "1 area" in note for note in evidence.notes)
    assert any("degraded" in note and "root" in note for note in evidence.notes)


async def test_without_an_index_the_answer_has_no_prelude_and_says_why():
    world = await make_world()

    found = await world.ask(QUESTION, index=True)

    assert found.text == "On 9 June."
    assert found.evidence.root is None
    assert found.evidence.notes == ("prelude unavailable: the dataset has no index yet",)


class BrokenIndex:
    """A tenant whose index rows can't be read."""

    def __init__(self, tenant):
        self._tenant = tenant

    def __getattr__(self, name):
        return getattr(self._tenant, name)

    async def areas(self, ids, generation):
        raise StoreUnavailableError("the store did not answer in 5 s")

    async def search_rows(self, kind, vector, limit, **options):
        if kind is GlobalContextSummary:
            raise StoreUnavailableError("the store did not answer in 5 s")
        return await self._tenant.search_rows(kind, vector, limit, **options)


@pytest.mark.parametrize("query_type", ["GRAPH_COMPLETION", "HYBRID_COMPLETION"])
async def test_a_store_that_fails_for_the_index_alone_costs_the_prelude_not_the_answer(query_type):
    world = await make_indexed_world()
    world.tenant = BrokenIndex(world.tenant)

    found = await world.ask(QUESTION, query_type, index=True)

    assert found.text == "On 9 June."
    assert found.evidence.notes == ("prelude unavailable: the store did not answer in 5 s",)


async def test_a_kept_generation_is_read_as_it_was():
    world = await make_indexed_world()
    new = world.area(0, "new", [("Everything about Northstar is new.", "launch.md")])
    await world.index(new, root=world.area(1, "new", [("A new world.", "launch.md")], [new], is_root=True))

    now, then = await world.ask(QUESTION, index=True), await world.ask(QUESTION, index=True, generation=1)

    assert (now.generation, then.generation) == (2, 1)
    assert "A new world." in now.evidence.root.text


# --- a node set ---


async def test_a_node_set_leaves_the_prelude_out_that_other_documents_are_in():
    world = await make_indexed_world()

    found = await world.ask("Who planted tomatoes?", index=True, node_name="garden", only_context=True)

    assert "World summary:" not in found.text
    assert found.evidence.notes == ("prelude unavailable: the index also covers documents outside this node set",)


async def test_a_node_set_of_all_documents_keeps_the_prelude():
    world = await make_indexed_world()
    tags = sorted({tag for note in NOTES for tag in note.tags})

    found = await world.ask("Who planted tomatoes?", index=True, node_name=tags, only_context=True)

    assert "World summary:" in found.text


# --- a budget ---


async def _prelude():
    world = await make_indexed_world()
    rows = await world.tenant.areas(world.manifest.current.root_id and [world.manifest.current.root_id], 1)
    areas = await world.tenant.search_vectors(
        GlobalContextSummary, world.embedder.embed_now([QUESTION])[0], 5, generation=1
    )
    buckets = [row for row in await world.tenant.get(GlobalContextSummary, [a.key for a in areas]) if not row.is_root]
    return Prelude(root=Area(rows[0], 0.0, rows[0].text), areas=tuple(Area(row, 0.5, row.text) for row in buckets))


async def test_a_prelude_is_never_longer_than_its_budget():
    prelude = await _prelude()

    lengths = [(budget, estimate_tokens(fit_prelude(prelude, budget).text)) for budget in range(0, 200)]

    assert all(length <= budget for budget, length in lengths)
    assert len({length for _, length in lengths}) > 3


async def test_a_short_prelude_loses_its_topics_before_its_facts():
    prelude = await _prelude()

    short = fit_prelude(prelude, estimate_tokens(prelude.text) - 1)

    assert short.text.count("- Topics:") < prelude.text.count("- Topics:")
    assert all(area.text.count("\n- ") for area in short.areas)
    assert "planted tomatoes" in short.text


@given(budget=st.integers(1, 300), local_size=st.integers(0, 400))
async def test_local_evidence_keeps_three_quarters_and_both_stay_within_the_budget(budget, local_size):
    prelude = await _prelude()
    local = "x" * local_size

    def fit_local(room):
        kept = local[: max(int((room - 1) * 3.6), 0)]
        return len(kept), kept

    (kept, text), fitted = fit_beside(prelude, fit_local, budget)

    assert estimate_tokens("\n\n".join(part for part in (fitted.text, text) if part)) <= budget
    assert kept >= min(local_size, int((budget * 0.75 - 3) * 3.6))


async def test_room_that_local_evidence_leaves_goes_to_the_prelude():
    prelude = await _prelude()

    _, fitted = fit_beside(prelude, lambda room: (0, ""), estimate_tokens(prelude.text))

    assert fitted.text == prelude.text


@pytest.mark.parametrize("query_type", ["GRAPH_COMPLETION", "HYBRID_COMPLETION"])
@pytest.mark.parametrize(
    ("mode", "budget", "note"),
    [
        ("plain", 50, "prelude left out: the budget has no room for it"),
        ("plain", 140, "prelude shortened to the budget: "),
        ("adaptive", 120, "prelude left out: the budget has no room for it"),
        ("adaptive", 280, "prelude shortened to the budget: there is no room for its root"),
    ],
)
async def test_what_a_budget_takes_from_the_prelude_is_in_the_notes(query_type, mode, budget, note):
    world = await make_indexed_world()

    async def notes(tokens):
        options = {"include_global_context_index": True, "global_context_index_mode": mode}
        found = await world.ask(
            QUESTION, query_type, top_k=1, context_token_budget=tokens, retriever_specific_config=options
        )
        return found.evidence.notes, found.evidence.prelude_tokens

    (told, tokens), (whole, _) = await notes(budget), await notes(10_000)

    assert [line for line in told if line.startswith(note)] == list(told) != []
    assert bool(tokens) == ("shortened" in note)
    assert whole == ()
