"""What is being forgotten is out of sight before it is gone."""

import pytest

from overstory import ids
from overstory.errors import NoDataError
from overstory.indexing.hiding import hide_forgetting
from overstory.models import FORGETTING, Document, DocumentChunk, Edge, Entity, TextSummary
from overstory.results import SearchType
from tests.unit.retrieval.data import NOTES, make_indexed_world, make_world

QUESTION = "Who planted tomatoes behind the greenhouse?"
GONE = ("tomatoes behind", "Mara", "garden.md")


async def begin_to_forget(world, *sources):
    keys = [ids.document_id(world.dataset.id, source) for source in sources]
    await world.tenant.patch(Document, {key: {"state": FORGETTING} for key in keys})


@pytest.mark.parametrize("query_type", list(SearchType))
@pytest.mark.parametrize("index", [False, True])
async def test_nothing_of_a_document_that_is_being_forgotten_is_found(query_type, index):
    world = await make_indexed_world()
    await begin_to_forget(world, "garden.md")

    found = await world.ask(QUESTION + " Northstar", query_type, index=index, only_context=True, top_k=40)

    told = found.text.removeprefix(f"The question is: {QUESTION} Northstar")
    assert not [word for word in GONE if word in told]
    assert "garden.md" not in str(found.evidence)


async def test_others_take_the_places_of_what_is_hidden():
    world = await make_world()
    await begin_to_forget(world, "garden.md")

    found = await world.ask(QUESTION + " Northstar", "CHUNKS", top_k=2)

    assert {passage.source for passage in found.evidence.passages} == {"launch.md", "budget.md"}


async def test_a_node_set_of_all_documents_that_stay_keeps_the_prelude():
    world = await make_indexed_world()
    await begin_to_forget(world, "garden.md")
    tags = sorted({tag for note in NOTES for tag in note.tags} - {"garden"})

    found = await world.ask(QUESTION, index=True, node_name=tags, only_context=True)

    assert not [note for note in found.evidence.notes if "outside this node set" in note]
    assert found.evidence.areas


@pytest.mark.parametrize("kind", [Document, DocumentChunk, TextSummary, Entity, Edge])
async def test_rows_that_may_be_shown_are_counted(kind):
    world = await make_indexed_world()
    await begin_to_forget(world, "garden.md")
    batches = [batch async for batch in world.tenant.batches(kind, ["key"])]
    keys = [ids.uuid_of(key) for batch in batches for key in batch.column(0).to_pylist()]
    shown = hide_forgetting(world.tenant)

    counted = await shown.count(kind)

    assert counted == len(await shown.get(kind, keys)) < len(keys)


async def test_a_dataset_whose_documents_are_all_being_forgotten_holds_nothing():
    world = await make_indexed_world()
    await begin_to_forget(world, *(note.source for note in NOTES))

    with pytest.raises(NoDataError):
        await world.ask(QUESTION, "GRAPH_COMPLETION", index=True)
