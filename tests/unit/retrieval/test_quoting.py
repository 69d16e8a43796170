"""Answers without a model: quotations of what was found, and of the map where the question is about the whole."""

import re
from dataclasses import replace

import pytest

from overstory.errors import ContextBudgetError
from overstory.models import Turn
from overstory.offline.answers import NO_ANSWER
from overstory.offline.writer import OfflineWriter
from overstory.results import SearchType
from retrieval.question import PASSAGE_TYPES
from tests.unit.retrieval.data import NOTES, Note, make_indexed_world, make_world

QUESTION = "Who moved the Northstar launch?"
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


BESIDE = "The Northstar launch was asked about by the harbour office. Anna Hofer wrote # to nobody else."
MAPS = (
    None,
    {"include_global_context_index": True},
    {"include_global_context_index": True, "global_context_index_mode": "plain"},
)


def plain(text):
    return " ".join(text.replace("\\", "").replace("…", "").split())


@pytest.mark.parametrize("query_type", SearchType)
async def test_whatever_the_budget_evidence_and_answer_say_no_more_than_the_context(query_type):
    world = await make_quoting_world()
    await world.tell([replace(note, source=f"more {note.source}", text=f"{note.text} {BESIDE}") for note in NOTES])
    told = set()

    for budget in (None, *range(4, 120, 3)):
        for config in MAPS:
            options = {"context_token_budget": budget, "retriever_specific_config": config}
            try:
                found = await world.ask(QUESTION, query_type, **options)
            except ContextBudgetError:
                continue
            context = plain((await world.ask(QUESTION, query_type, only_context=True, **options)).text)
            texts = [one.text for one in (*found.evidence.passages, *found.evidence.descriptions)]
            quotes = re.findall("“(.*?)”", found.text) if query_type not in PASSAGE_TYPES else []
            told.update(quotes or texts)
            assert [text for text in (*texts, *quotes) if plain(text) not in context] == []

    assert len(told) > 1


@pytest.mark.parametrize("query_type", TYPES)
async def test_documents_that_are_quoted_come_first_among_the_references(query_type):
    world = await make_quoting_world()

    found = await world.ask("Northstar launch: who planted tomatoes?", query_type, include_references=True)
    of_the_whole = await world.ask("What is this about?", query_type, index=True)

    assert [passage.source for passage in found.evidence.passages] == ["garden.md", "launch.md", "budget.md"]
    assert found.quoted == ("launch.md", "garden.md")
    assert found.references == ("launch.md", "garden.md", "budget.md")
    assert found.text.endswith("References:\n- launch.md\n- garden.md\n- budget.md")
    assert of_the_whole.quoted == ("launch.md", "garden.md", "budget.md")
    assert of_the_whole.references == of_the_whole.quoted
