"""HYBRID_COMPLETION: its sections, their order, and what is left out."""

from hypothesis import given, settings

from tests.unit.retrieval.data import Note, make_indexed_world, make_world
from tests.unit.retrieval.test_context import hostile_texts

QUESTION = "When is the Northstar launch?"
HEADINGS = ["## Global context", "## Relevant passages", "## Relevant entities", "## Related facts"]


def headings(text):
    return [line for line in text.splitlines() if line.startswith("## ")]


async def test_sections_come_in_their_order_and_empty_ones_are_left_out():
    world = await make_indexed_world()

    with_index = await world.context(QUESTION, query_type="HYBRID_COMPLETION", index=True)
    without = await world.context(QUESTION, query_type="HYBRID_COMPLETION")

    assert headings(with_index) == HEADINGS[:3]
    assert with_index.startswith("## Global context\nWorld summary:\nThis dataset is about:\n")
    assert headings(without) == HEADINGS[1:3]


async def test_passages_name_their_source_and_are_told_apart():
    world = await make_world()

    context = await world.context(QUESTION, query_type="HYBRID_COMPLETION")

    assert context.startswith(
        "## Relevant passages\n"
        "source: launch.md, 2026-05-03\n"
        "Anna Hofer moved the Northstar launch to 9 June.\n"
        "\n---\n\n"
        "source: budget.md, 2026-05-04\n"
    )


async def test_entities_carry_type_description_and_what_is_said_of_them():
    world = await make_world()

    context = await world.context(QUESTION, query_type="HYBRID_COMPLETION")

    assert (
        "### Northstar (thing)\nThe spring launch.\n"
        "- Anna Hofer works on Northstar.\n- Luis Ortega pays for Northstar.\n"
    ) in context


async def test_facts_are_those_that_no_entity_says():
    notes = [
        Note(
            source=f"{n}.md",
            text=f"Person {n} runs Shop {n}.",
            names=(f"Person {n}", f"Shop {n}"),
            relations=[(f"Person {n}", "runs", f"Shop {n}")],
        )
        for n in range(9)
    ]
    world = await make_world(notes)

    context = await world.context("Who runs Shop 3?", query_type="HYBRID_COMPLETION", top_k=3)

    facts = context.split("## Related facts\n")[1].splitlines()
    entities = context.split("## Relevant entities\n")[1].split("## Related facts")[0]
    assert 0 < len(facts) <= 3
    assert not [fact for fact in facts if fact in entities.splitlines()]


async def test_lanes_hold_ten_at_most():
    notes = [Note(source=f"{n}.md", text=f"Station {n} is open.", names=(f"Station {n}",)) for n in range(14)]
    world = await make_world(notes)

    context = await world.context("Which station is open?", query_type="HYBRID_COMPLETION", top_k=50)

    assert context.count("source: ") == 10
    assert context.count("### ") == 10


@settings(max_examples=60, deadline=None)
@given(hostile_texts, hostile_texts)
async def test_hostile_sources_names_and_texts_forge_no_section(name, text):
    notes = [
        Note(
            source=f"S{name}",
            text=f"Northstar launch\n{text}",
            names=(f"A{name}", "B"),
            relations=[(f"A{name}", f"r{name}", "B")],
            descriptions={"B": text},
        )
    ]
    world = await make_world(notes)

    lines = (await world.context(QUESTION, query_type="HYBRID_COMPLETION")).splitlines()

    assert [line for line in lines if line.lstrip().startswith("## ")] == HEADINGS[1:3]
    assert sum(line.lstrip().startswith("### ") for line in lines) == 2
    assert not [line for line in lines if line.strip() == "---" or line.strip() in {"Nodes:", "World summary:"}]


async def test_nothing_that_a_passage_says_is_said_again():
    text = "Anna Hofer works on Northstar."
    notes = [
        Note(
            source="a.md",
            text=text,
            names=("Anna Hofer", "Northstar"),
            relations=[("Anna Hofer", "works_on", "Northstar")],
            descriptions={"Anna Hofer": text, "Northstar": "The spring launch."},
        )
    ]
    world = await make_world(notes)

    context = await world.context("Who works on Northstar?", query_type="HYBRID_COMPLETION")

    assert context.count(text) == 1
    assert context.endswith("### Northstar (thing)\nThe spring launch.")
