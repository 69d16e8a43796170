"""Answers without a model: quotations of what was found, and of the map where the question is about the whole."""

import pytest

from overstory.models import Turn
from overstory.offline.answers import NO_ANSWER
from overstory.offline.writer import OfflineWriter
from tests.unit.retrieval.data import Note, make_indexed_world, make_world

TYPES = ("GRAPH_COMPLETION", "HYBRID_COMPLETION")


async def make_quoting_world():
    world = await make_indexed_world()
    world.writer = OfflineWriter()
    return world


@pytest.mark.parametrize("query_type", TYPES)
@pytest.mark.parametrize("question", ["What is this about?", "Give an overview", "What is the plan?"])
async def test_a_question_about_the_whole_is_answered_by_the_map(query_type, question):
    world = await make_quoting_world()

    found = await world.ask(question, query_type, index=True)

    assert found.text.splitlines()[:4] == [
        "From the stored texts, by their map:",
        "- Topics: Everything",
        "- “The Northstar launch is on 9 June.” (launch.md)",
        "- “Mara Lind grows tomatoes.” (garden.md)",
    ]


async def test_only_what_of_the_map_is_in_the_context_is_quoted():
    world = await make_quoting_world()

    found = await world.ask("What is this about?", index=0)

    assert len(found.text.splitlines()) == 4
    assert "planted tomatoes" not in found.text


async def test_a_question_that_goes_on_from_another_one_is_about_the_same():
    world = await make_quoting_world()
    before = Turn(question="Who planted tomatoes?", answer="Mara Lind.", dataset_ids=())

    found = await world.ask("And what is the plan?", index=True, history=[before])

    assert "“Mara Lind planted tomatoes behind the greenhouse.”" in found.text
    assert "by their map" not in found.text


@pytest.mark.parametrize("query_type", TYPES)
async def test_without_the_map_or_with_a_question_of_its_own_nothing_is_made_up(query_type):
    world = await make_quoting_world()

    assert (await world.ask("What is this about?", query_type)).text == NO_ANSWER
    assert (await world.ask("Which insurance covers the ferry?", query_type, index=True)).text == NO_ANSWER


async def test_the_origin_of_a_fact_is_no_part_of_its_quotation():
    world = await make_quoting_world()
    adaptive = {"include_global_context_index": True, "global_context_index_mode": "adaptive"}

    found = await world.ask("Who planted tomatoes?", top_k=1, retriever_specific_config=adaptive)

    assert found.text == "From the stored texts: “Mara Lind planted tomatoes behind the greenhouse.”"


async def test_a_line_of_a_document_that_looks_like_our_mark_of_history_is_quoted_as_it_is():
    world = await make_world([Note(source="pier.md", text="Earlier: The pier opens on 3 May.")])
    world.writer = OfflineWriter()

    found = await world.ask("When does the pier open?", "HYBRID_COMPLETION")

    assert found.text == "From the stored texts: “Earlier: The pier opens on 3 May.”"
