"""The adaptive prelude: what the index knows and the local context does not say."""

from dataclasses import replace

import pytest

from overstory.errors import StoreUnavailableError
from overstory.models import GlobalContextSummary
from overstory.offline.writer import OfflineWriter
from overstory.tokens import estimate_tokens
from tests.unit.retrieval.data import NOTES, Note, make_indexed_world, make_world
from tests.unit.retrieval.test_asking import Failing

QUESTION = "What about the Northstar launch and its budget?"
ADAPTIVE = {"include_global_context_index": True, "global_context_index_mode": "adaptive"}


async def prelude_of(world, question=QUESTION, query_type="GRAPH_COMPLETION", **options):
    return await world.ask(
        question, query_type, retriever_specific_config=ADAPTIVE, only_context=True, **{"top_k": 1, **options}
    )


@pytest.mark.parametrize("query_type", ["GRAPH_COMPLETION", "HYBRID_COMPLETION"])
async def test_facts_that_local_evidence_lacks_are_given_with_date_and_document(query_type):
    world = await make_dated_world()

    found = await prelude_of(world, query_type=query_type)

    assert len(found.evidence.areas) == 1
    [line] = [line for line in found.evidence.areas[0].text.splitlines() if line.startswith("- ")]
    shown = found.evidence.passages[0].source
    assert shown not in line
    assert line in {
        "- 2026-05-03, launch.md: Anna Hofer moved the Northstar launch to 9 June.",
        "- 2026-05-04, budget.md: Luis Ortega cut the Northstar budget by a tenth.",
    }
    assert set(found.evidence.areas[0].sources) == {"launch.md", "budget.md"} - {shown}


async def test_a_fact_of_several_documents_is_told_with_the_one_that_its_date_is_of():
    world = await make_world()
    area = world.area(0, "Northstar", [("The Northstar budget rules the Northstar launch.", "launch.md")])
    leaves = tuple(map(world.summary_of, ("launch.md", "budget.md")))
    facts = tuple(replace(fact, summary_ids=leaves, occurred_at="2026-05-04") for fact in area.content.facts)
    area = replace(area, child_ids=leaves, content=replace(area.content, facts=facts))
    root = world.area(1, "All", [("A root.", "garden.md")], [area], is_root=True)
    await world.index(area, root=replace(root, content=replace(root.content, facts=facts), text=f"- {facts[0].text}"))
    world.writer = OfflineWriter()

    given = await prelude_of(world, "tomatoes greenhouse: what about the Northstar budget?", wide_search_top_k=None)
    by_the_map = await world.ask("What is this about?", index=True)

    assert "- 2026-05-04, budget.md: The Northstar budget" in given.text
    assert "(2026-05-04, budget.md, launch.md)" in by_the_map.text


async def make_dated_world():
    world = await make_world()
    dates = {note.source: note.date for note in NOTES}
    work = world.area(
        0,
        "Northstar",
        [
            ("Anna Hofer moved the Northstar launch to 9 June.", "launch.md"),
            ("Luis Ortega cut the Northstar budget by a tenth.", "budget.md"),
        ],
    )
    facts = tuple(
        replace(fact, occurred_at=dates[source])
        for fact, source in zip(work.content.facts, ("launch.md", "budget.md"), strict=True)
    )
    work = replace(work, content=replace(work.content, facts=facts))
    root = world.area(1, "Everything", [("The Northstar launch is on 9 June.", "launch.md")], [work], is_root=True)
    await world.index(work, root=root)
    return world


async def test_what_is_in_the_local_context_is_not_said_again():
    world = await make_dated_world()

    found = await prelude_of(world, top_k=20)

    assert found.evidence.areas == ()
    assert found.evidence.root is not None


async def test_a_fact_that_has_nothing_to_do_with_the_question_is_left_out():
    world = await make_indexed_world()

    found = await prelude_of(world)

    [area] = found.evidence.areas
    assert "tomatoes" not in area.text


@pytest.mark.parametrize("budget", [60, 120, 240, 480])
@pytest.mark.parametrize("query_type", ["GRAPH_COMPLETION", "HYBRID_COMPLETION"])
async def test_the_prelude_takes_a_quarter_of_a_budget_at_most(query_type, budget):
    world = await make_dated_world()

    found = await prelude_of(world, query_type=query_type, context_token_budget=budget)

    assert found.evidence.prelude_tokens <= budget // 4
    assert estimate_tokens(found.text.partition("context:\n\n")[2]) <= budget


@pytest.mark.parametrize(
    ("before", "after"),
    [("2025-03-01", "2025-04-10"), ("2025-03-02T01:00:00+09:00", "2025-03-01T20:00:00-04:00")],
)
async def test_the_later_of_two_values_is_marked_as_current(before, after):
    world = await make_world()
    facts = [
        ("The Northstar launch is set for 2 May 2025.", "budget.md", before),
        ("The Northstar launch moved from 2 May 2025 to 9 June 2025.", "budget.md", after),
    ]
    area = world.area(0, "Northstar", [(text, source) for text, source, _ in facts])
    dated = tuple(replace(fact, occurred_at=date) for fact, (_, _, date) in zip(area.content.facts, facts, strict=True))
    area = replace(area, content=replace(area.content, facts=dated))
    await world.index(area, root=world.area(1, "All", [("A root.", "garden.md")], [area], is_root=True))

    found = await prelude_of(world, "tomatoes greenhouse: when is the Northstar launch?", wide_search_top_k=None)

    lines = [line for one in found.evidence.areas for line in one.text.splitlines() if line.startswith("- ")]
    assert lines == [
        f"- Earlier: {before}, budget.md: The Northstar launch is set for 2 May 2025.",
        f"- Current: {after}, budget.md: The Northstar launch moved from 2 May 2025 to 9 June 2025.",
    ]


async def test_withheld_areas_are_not_read_and_degraded_ones_are_marked():
    world = await make_world()
    text = [("Mara Lind planted tomatoes behind the greenhouse.", "garden.md")]
    gone = world.area(0, "Gone", text, withheld=True)
    weak = world.area(0, "Weak", [("Anna Hofer moved the Northstar launch to 9 June.", "launch.md")], degraded="x")
    await world.index(gone, weak, root=world.area(1, "All", [("A root.", "garden.md")], [gone, weak], is_root=True))

    found = await prelude_of(world, "Who cut the Northstar budget before the launch, and who planted tomatoes?")

    [area] = found.evidence.areas
    assert "tomatoes" not in area.text
    assert "(written by rules)" in area.text


async def test_a_store_that_fails_costs_the_prelude_and_not_the_answer():
    world = await make_dated_world()
    tenant = world.tenant

    class Down(Failing):
        async def _fail(self, kind, *args, **kwargs):
            if kind is GlobalContextSummary:
                raise self._error
            return await tenant.find(kind, *args, **kwargs)

    world.tenant = Down(tenant, "find", StoreUnavailableError("no connection"))

    found = await prelude_of(world)

    assert found.evidence.notes == ("prelude unavailable: no connection",)
    assert found.evidence.passages


@pytest.mark.parametrize(("budget", "is_missed"), [(100, True), (400, False)])
async def test_a_later_value_that_a_budget_has_no_room_for_is_missed_in_the_notes(budget, is_missed):
    first = Note(source="first.md", text="The Northstar launch is set for 2 May 2025.", date="2025-03-01")
    later = Note(source="later.md", text=f"The Northstar launch moved from 2 May to 9 June 2025. {'Padding. ' * 40}")
    world = await make_world([first, later])
    leaves = {"2025-03-01": first.text, "2025-04-10": later.text.partition(" Padding")[0]}
    area = world.area(0, "Northstar", [(text, "") for text in leaves.values()])
    facts = tuple(
        replace(fact, occurred_at=date, summary_ids=(world.leaf_of(note),))
        for fact, date, note in zip(area.content.facts, leaves, (first, later), strict=True)
    )
    area = replace(
        area, child_ids=tuple(map(world.leaf_of, (first, later))), content=replace(area.content, facts=facts)
    )
    await world.index(area, root=world.area(1, "All", [("A root.", "")], [area], is_root=True))

    found = await prelude_of(world, "When is the Northstar launch?", context_token_budget=budget, top_k=2)

    assert first.text in found.text
    assert ("9 June" not in found.text) == is_missed
    assert (
        any(note.startswith("the budget has no room for a later value") for note in found.evidence.notes) == is_missed
    )
