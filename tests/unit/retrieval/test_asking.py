"""One question to one dataset: what is called, what comes back, what is refused."""

import asyncio
import itertools
import math
import re

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from overstory import ids
from overstory.errors import (
    ContextBudgetError,
    GenerationNotFoundError,
    ModelUnavailableError,
    NoDataError,
    StoreUnavailableError,
)
from overstory.models import PendingChange
from overstory.results import SearchType
from overstory.stores.memory import MemoryStore
from overstory.tokens import estimate_tokens
from retrieval.asking import STRATEGIES
from retrieval.question import DEFAULT_SYSTEM_PROMPT
from tests.unit.retrieval.data import BUILT_AT, Note, make_indexed_world, make_world

QUESTION = "When is the Northstar launch?"
NONSENSE = "qwertz asdf yxcv"
COMPLETIONS = ("GRAPH_COMPLETION", "HYBRID_COMPLETION", "RAG_COMPLETION", "TRIPLET_COMPLETION", "TEMPORAL")
ROUNDS = {one for one in SearchType if one.endswith(("_COT", "_DECOMPOSITION", "_EXTENSION"))}
PASSAGES = ("CHUNKS", "CHUNKS_LEXICAL", "SUMMARIES")


def test_every_search_type_has_a_strategy():
    assert set(STRATEGIES) == set(SearchType)


@pytest.mark.parametrize("query_type", COMPLETIONS)
async def test_an_answer_is_the_model_s_and_carries_its_evidence(query_type):
    world = await make_indexed_world()

    found = await world.ask(QUESTION, query_type)

    assert found.text == "On 9 June."
    assert (found.dataset, found.dataset_id, found.query) == ("team", world.dataset.id, QUESTION)
    assert found.query_type == query_type
    assert found.usage.calls == 1
    assert "launch.md" in {passage.source for passage in found.evidence.passages}
    assert found.evidence.passages[0].occurred_at == "2026-05-03"


@pytest.mark.parametrize("query_type", COMPLETIONS)
async def test_only_context_is_the_prompt_that_would_have_been_sent(query_type):
    world = await make_indexed_world()

    shown = await world.ask(QUESTION, query_type, index=True, only_context=True)
    assert world.writer.prompts == []

    await world.ask(QUESTION, query_type, index=True)
    assert world.writer.prompts == [(shown.text, DEFAULT_SYSTEM_PROMPT)]
    assert shown.text.startswith(f"The question is: {QUESTION}\n\nAnswer it from this context:\n\n")
    assert shown.usage.calls == 0


async def test_a_system_prompt_of_the_caller_replaces_ours():
    world = await make_world()

    await world.ask(QUESTION, system_prompt="Answer in rhyme.")

    assert world.writer.prompts[0][1] == "Answer in rhyme."


async def test_a_question_with_braces_and_marks_goes_into_the_prompt_as_it_is():
    world = await make_world()
    question = "Is {context} or %s or $x in Northstar?"

    found = await world.ask(question, only_context=True)

    assert found.text.startswith(f"The question is: {question}\n")


@pytest.mark.parametrize("query_type", [one for one in SearchType if one not in ROUNDS])
@pytest.mark.parametrize("index", [False, True])
async def test_the_question_is_embedded_at_most_once(query_type, index):
    world = await make_indexed_world()

    await world.ask(QUESTION, query_type, index=index)

    assert world.embedder.calls == (query_type is not SearchType.CHUNKS_LEXICAL)


async def test_chunks_and_summaries_are_the_passages_found_without_a_model():
    world = await make_world()

    chunks = await world.ask(QUESTION, "CHUNKS", top_k=2)
    summaries = await world.ask(QUESTION, "SUMMARIES", top_k=1)

    assert chunks.text == (
        "Anna Hofer moved the Northstar launch to 9 June.\n\nLuis Ortega cut the Northstar budget by a tenth."
    )
    assert next((p.source, p.text) for p in chunks.evidence.passages) == ("launch.md", chunks.text.split("\n\n")[0])
    assert summaries.text == "In short: Anna Hofer moved the Northstar launch to 9 June."
    assert world.writer.prompts == []


async def test_lexical_chunks_share_words_with_the_question():
    world = await make_world()

    found = await world.ask("tomatoes", "CHUNKS_LEXICAL")

    assert found.text == "Mara Lind planted tomatoes behind the greenhouse."
    assert await world.ask("nothing", "CHUNKS_LEXICAL") is None


@pytest.mark.parametrize("query_type", list(SearchType))
async def test_an_empty_dataset_is_an_error_and_no_model_is_called(query_type):
    world = await make_world([])

    with pytest.raises(NoDataError, match="'team'"):
        await world.ask(QUESTION, query_type, index=True)

    assert world.writer.prompts == []


@pytest.mark.parametrize("query_type", list(SearchType))
async def test_a_question_that_has_nothing_to_do_with_the_dataset_finds_nothing_and_calls_no_model(query_type):
    world = await make_indexed_world()

    assert await world.ask(NONSENSE, query_type) is None
    assert world.writer.prompts == []


async def test_a_question_about_the_whole_dataset_is_let_through():
    world = await make_indexed_world()

    assert await world.ask("What is this all about?")
    assert await world.ask("Give me an overview.")


async def test_the_prelude_alone_is_enough_for_an_answer():
    world = await make_indexed_world()

    found = await world.ask(NONSENSE, index=True, only_context=True)

    assert found.text.split("context:\n\n")[1].startswith("World summary:\n")
    assert "Nodes:" not in found.text


@pytest.mark.parametrize("query_type", [one for one in COMPLETIONS if one != "RAG_COMPLETION"] + sorted(ROUNDS))
async def test_a_budget_without_room_is_an_error_that_names_the_least_useful_one_and_calls_no_model(query_type):
    world = await make_indexed_world()

    with pytest.raises(ContextBudgetError, match=r"A budget of 1 token has no room .* in 'team'") as raised:
        await world.ask(QUESTION, query_type, context_token_budget=1)

    assert f"at least {raised.value.least_tokens}" in str(raised.value)
    assert world.writer.prompts == []


@pytest.mark.parametrize(
    "query_type", [*PASSAGES, "RAG_COMPLETION", "GRAPH_COMPLETION", "HYBRID_COMPLETION", "TEMPORAL"]
)
async def test_no_word_of_what_was_found_is_no_room(query_type):
    world = await make_world(
        [Note(source="log.md", text="# Northstar weekly log\n\nThe Northstar launch is on 9 June.")]
    )

    async def ask(tokens):
        return await world.ask("the Northstar launch", query_type, context_token_budget=tokens, only_context=True)

    for budget in range(1, 60):
        try:
            found = await ask(budget)
        except ContextBudgetError as error:
            found = await ask(error.least_tokens)
        assert re.match(r"(# Northstar|In) ", found.evidence.passages[0].text)
        assert not re.search(r"(?m)^# …|^$\n__node_content_end__", found.text)


@pytest.mark.parametrize("mode", ["plain", "adaptive"])
@pytest.mark.parametrize("query_type", ["GRAPH_COMPLETION", "HYBRID_COMPLETION"])
async def test_the_budget_that_is_named_is_the_one_from_which_on_local_evidence_is_given(query_type, mode):
    world = await make_indexed_world()
    options = {"include_global_context_index": True, "global_context_index_mode": mode}

    async def is_given(tokens):
        try:
            found = await world.ask(
                QUESTION, query_type, context_token_budget=tokens, retriever_specific_config=options
            )
        except ContextBudgetError:
            return False
        return bool(found.evidence.passages)

    with pytest.raises(ContextBudgetError) as raised:
        await world.ask(QUESTION, query_type, context_token_budget=1, retriever_specific_config=options)
    least = raised.value.least_tokens

    assert not await is_given(least - 1)
    assert all([await is_given(tokens) for tokens in range(least, 3 * least)])


async def test_local_evidence_that_has_no_room_is_missed_in_the_notes():
    world = await make_indexed_world()
    plain = {"include_global_context_index": True, "global_context_index_mode": "plain"}

    found = await world.ask(QUESTION, context_token_budget=35, retriever_specific_config=plain)

    assert (found.evidence.passages, found.evidence.triplets) == ((), ())
    [note] = [note for note in found.evidence.notes if note.startswith("local evidence left out")]
    least = int("".join(filter(str.isdigit, note)))
    fitting = await world.ask(QUESTION, context_token_budget=least, retriever_specific_config=plain)
    assert fitting.evidence.triplets or fitting.evidence.passages


async def test_a_single_note_without_any_entity_gives_a_context():
    world = await make_world([Note(source="one.md", text="The kettle is blue.")])

    context = await world.context("What colour is the kettle?")

    assert context.count("__node_content_start__\nThe kettle is blue.\n") == 1


async def test_freshness_says_what_was_read_and_what_is_pending():
    world = await make_indexed_world()
    await world.tenant.put([PendingChange(summary_id=ids.make_id("new"), dataset_id=world.dataset.id)])

    freshness = (await world.ask(QUESTION)).freshness

    assert (freshness.generation, freshness.built_at, freshness.model) == (1, BUILT_AT, "recording")
    assert (freshness.summaries, freshness.pending) == (3, 1)


async def test_without_an_index_freshness_still_counts_what_is_pending():
    world = await make_world()
    await world.tenant.put([PendingChange(summary_id=ids.make_id("new"), dataset_id=world.dataset.id)])

    freshness = (await world.ask(QUESTION)).freshness

    assert (freshness.generation, freshness.built_at, freshness.pending) == (0, None, 1)


async def test_a_generation_that_is_not_kept_is_refused_with_those_that_are():
    world = await make_indexed_world()

    with pytest.raises(GenerationNotFoundError, match="Generation 7 is not kept; available: 1"):
        await world.ask(QUESTION, generation=7)


# --- what fails ---


class Failing:
    """A tenant that fails in one method."""

    def __init__(self, tenant, method, error):
        self._tenant, self._method, self._error = tenant, method, error

    def __getattr__(self, name):
        if name == self._method:
            return self._fail
        return getattr(self._tenant, name)

    async def _fail(self, *args, **kwargs):
        raise self._error


@pytest.mark.parametrize(
    ("query_type", "method"),
    [
        *itertools.product(["CHUNKS", "SUMMARIES"], ["search_vectors", "get", "count"]),
        *itertools.product(
            ["GRAPH_COMPLETION", "HYBRID_COMPLETION"], ["search_vectors", "search_rows", "get", "count"]
        ),
    ],
)
async def test_a_store_that_is_down_is_an_error_never_an_empty_answer(query_type, method):
    world = await make_indexed_world()
    world.tenant = Failing(world.tenant, method, StoreUnavailableError("no connection"))

    with pytest.raises(StoreUnavailableError, match="no connection"):
        await world.ask(QUESTION, query_type, index=True)

    assert world.writer.prompts == []


async def test_an_embedding_service_that_is_down_is_an_error_with_the_prelude_too():
    world = await make_indexed_world()

    async def down(texts):
        raise ModelUnavailableError("embedder", "no connection")

    world.embedder.embed = down

    with pytest.raises(ModelUnavailableError, match="no connection"):
        await world.ask(QUESTION, index=True)


async def test_nothing_goes_on_in_the_background_after_an_error():
    world = await make_indexed_world()
    world.tenant = Failing(world.tenant, "edges_between", StoreUnavailableError("no connection"))

    with pytest.raises(StoreUnavailableError):
        await world.ask(QUESTION, index=True)
    await asyncio.sleep(0)

    assert asyncio.all_tasks() == {asyncio.current_task()}


@pytest.mark.parametrize(
    "query_type", sorted({"GRAPH_COMPLETION", "HYBRID_COMPLETION", "GRAPH_SUMMARY_COMPLETION"} | ROUNDS)
)
async def test_the_document_of_every_description_that_is_given_is_named(query_type):
    fleet = Note(
        source="fleet.md",
        text="An inventory.",
        names=("Solvind ferry", "Baltic ferry"),
        relations=[("Solvind ferry", "replaces", "Baltic ferry")],
        date="2026-05-05",
    )
    world = await make_world([fleet, *(Note(source=f"{n}.md", text=f"What of the ferry at {n}?") for n in range(9))])

    found = await world.ask("What of the ferry?", query_type, top_k=4, only_context=True)

    assert "Solvind ferry as fleet.md has it." in found.text
    assert "fleet.md" not in {passage.source for passage in found.evidence.passages}
    assert found.references[-1] == "fleet.md"
    assert {(one.source, one.text, one.occurred_at) for one in found.evidence.descriptions} == {
        ("fleet.md", f"{name} as fleet.md has it.", "2026-05-05") for name in fleet.names
    }


# --- how often the store is asked ---


class Rounds:
    """A tenant whose calls all wait until nobody has anything else to do: counts such rounds."""

    def __init__(self, tenant):
        self._tenant, self._waiting, self.rounds = tenant, [], 0

    def __getattr__(self, name):
        method = getattr(self._tenant, name)

        async def call(*args, **kwargs):
            gate = asyncio.get_running_loop().create_future()
            self._waiting.append(gate)
            await gate
            return await method(*args, **kwargs)

        return call

    async def drive(self, task):
        while not task.done():
            for _ in range(50):
                await asyncio.sleep(0)
            if self._waiting:
                self.rounds += 1
                waiting, self._waiting = self._waiting, []
                for gate in waiting:
                    gate.set_result(None)
        return task.result()


@pytest.mark.parametrize(
    ("query_type", "index", "rounds"),
    [
        ("GRAPH_COMPLETION", False, 3),
        ("GRAPH_COMPLETION", True, 3),
        ("HYBRID_COMPLETION", False, 6),
        ("CHUNKS", False, 3),
        ("SUMMARIES", False, 3),
    ],
)
async def test_independent_calls_share_their_round_trips(query_type, index, rounds):
    world = await make_indexed_world()
    world.tenant = tenant = Rounds(world.tenant)

    await tenant.drive(asyncio.create_task(world.ask(QUESTION, query_type, index=index)))

    assert tenant.rounds <= rounds


# --- several datasets ---


@pytest.mark.parametrize("query_type", list(SearchType))
@pytest.mark.parametrize("index", [False, True])
async def test_one_dataset_never_answers_with_another_one_s_content(query_type, index):
    store = MemoryStore()
    world = await make_world(store=store, name="a")
    other = await make_world(
        [Note(source="x.md", text="Canary Northstar launch.", names=["Canary"])], store=store, name="b"
    )
    area = other.area(0, "Canary", [("Canary Northstar launch.", "")])
    await other.index(area, root=other.area(1, "Canary", [("Canary.", "")], [area], is_root=True))

    found = await world.ask(QUESTION, query_type, index=index, only_context=True)

    assert "Canary" not in found.text


async def test_where_datasets_share_a_tenant_the_prelude_is_still_the_dataset_s_own():
    store = MemoryStore(access_control=False)
    world = await make_world(store=store, name="a")
    other = await make_world([Note(source="x.md", text="Northstar launch.")], store=store, name="b")
    foreign = other.area(0, "Canary", [("Canary Northstar launch.", "")])
    await other.index(foreign, root=other.area(1, "Canary", [("Canary.", "")], [foreign], is_root=True))
    own = world.area(0, "Own", [("The garden.", "garden.md")])
    await world.index(own, root=world.area(1, "Own", [("Own root.", "garden.md")], [own], is_root=True))

    found = await world.ask(QUESTION, index=True, only_context=True)

    assert "Canary" not in found.text
    assert found.evidence.root.text.endswith("- Own root.")
    assert [area.id for area in found.evidence.areas] == [own.id]


# --- laws ---


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    budget=st.one_of(st.integers(1, 80), st.integers(1, 500)),
    question=st.sampled_from([QUESTION, NONSENSE]),
    query_type=st.sampled_from(list(SearchType)),
    index=st.booleans(),
    mode=st.sampled_from([None, "plain"]),
    top_k=st.integers(1, 20),
)
async def test_a_context_never_exceeds_its_budget_and_one_without_room_says_which_has_it(
    budget, question, query_type, index, mode, top_k
):
    world = await make_indexed_world()

    async def ask(tokens):
        options = {"include_global_context_index": index, "global_context_index_mode": mode}
        found = await world.ask(
            question,
            query_type,
            top_k=top_k,
            context_token_budget=tokens,
            only_context=True,
            retriever_specific_config=options,
        )
        if found is not None:
            assert estimate_tokens(found.text.split("context:\n\n", 1)[-1]) <= (tokens or math.inf)
            assert found.evidence.context_tokens == estimate_tokens(found.text.split("context:\n\n", 1)[-1])
        return found

    try:
        found = await ask(budget)
    except ContextBudgetError as error:
        found = await ask(error.least_tokens)

    assert (found is None) == (await ask(None) is None)
