"""Every way to ask, through the public door, on the embedded store and the one in memory."""

import asyncio
from pathlib import Path

import pytest
from pydantic import BaseModel

import overstory
from overstory import (
    SearchType,
    SourceDocument,
    datasets,
    forget,
    ids,
    improve,
    layout,
    recall,
    recall_stream,
    remember,
)
from overstory.errors import (
    DatasetNotFoundError,
    EmbeddingMismatchError,
    InvalidOptionError,
    InvalidQueryError,
    ModelError,
    ModelOutputError,
    NoDataError,
)
from overstory.models import DocumentChunk
from overstory.runtime import open_dataset
from overstory.testing import ScriptedModelServer
from overstory.testing.behaviours import fail, say
from tests.flows.conftest import make_empty, notes

QUESTION = "When is the Northstar launch in Porto?"
NONSENSE = "qwertz asdf yxcv"
CANARY = "Zebrafinch"
WITH_INDEX = {"include_global_context_index": True}
ADAPTIVE = {**WITH_INDEX, "global_context_index_mode": "adaptive"}
READS_INDEX = {SearchType.GRAPH_COMPLETION, SearchType.HYBRID_COMPLETION}
PASSAGES = {SearchType.CHUNKS, SearchType.CHUNKS_LEXICAL, SearchType.SUMMARIES}
TYPES = list(SearchType)
OWN = [
    SourceDocument("Anna Hofer set the Northstar launch in Porto for 2 May 2025.", "a.md", occurred_at="2025-03-01"),
    SourceDocument("The Northstar launch in Porto moved to 9 June 2025.", "b.md", occurred_at="2025-04-10"),
    SourceDocument(
        "Luis Ortega pays for the Northstar launch party.", "c.md", occurred_at="2025-04-12", node_set="money"
    ),
    SourceDocument("Mira Sand planted tomatoes behind the greenhouse.", "d.md"),
]
FOREIGN = [
    SourceDocument(f"The {CANARY} launch of Northstar in Porto is on 1 July 2025.", "x.md", occurred_at="2025-04-10")
]


@pytest.fixture(params=["embedded", "memory"], autouse=True)
async def store(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> str:
    if request.param == "memory":
        monkeypatch.setenv("OVERSTORY_STORE_URL", f"memory://{tmp_path.name}")
    return str(request.param)


async def fill() -> None:
    await remember(OWN, "own")
    await remember(FOREIGN, "foreign")
    for name in ("own", "foreign"):
        await improve(name, build_global_context_index=True)


# --- what every type keeps ---


@pytest.mark.parametrize("config", [None, WITH_INDEX, ADAPTIVE])
@pytest.mark.parametrize("only_context", [False, True])
async def test_no_type_answers_with_another_dataset_s_content(config, only_context):
    await fill()

    for query_type in TYPES:
        [found] = await recall(
            QUESTION,
            query_type,
            datasets="own",
            retriever_specific_config=config,
            only_context=only_context,
            include_references=True,
        )

        assert CANARY not in found.text + str(found.evidence)
        assert "x.md" not in found.references


async def test_types_that_do_not_read_the_index_behave_the_same_with_it():
    await fill()

    for query_type in set(TYPES) - READS_INDEX:
        plain = await recall(QUESTION, query_type, datasets="own", only_context=True)
        for config in (WITH_INDEX, ADAPTIVE):
            asked = await recall(
                QUESTION, query_type, datasets="own", only_context=True, retriever_specific_config=config
            )

            assert [(one.text, one.evidence) for one in asked] == [(one.text, one.evidence) for one in plain]


async def test_nothing_found_is_an_empty_list_and_no_model_is_called(model: ScriptedModelServer):
    await remember(OWN, "own")
    model.forget()

    for query_type in TYPES:
        assert await recall(NONSENSE, query_type, datasets="own") == []

    assert model.chats == []


async def test_an_empty_dataset_is_an_error_and_no_model_is_called(model: ScriptedModelServer):
    await remember(OWN[:1], "own")
    await forget("own", document="a.md")
    model.forget()

    for query_type in TYPES:
        with pytest.raises(NoDataError, match="own"):
            await recall(QUESTION, query_type, datasets="own")

    assert model.chats == []


async def test_another_vector_size_is_refused_with_both_named(monkeypatch):
    await remember(OWN, "own")
    monkeypatch.setenv("EMBEDDING_DIMENSIONS", "768")

    for query_type in TYPES:
        with pytest.raises(EmbeddingMismatchError, match="768"):
            await recall(QUESTION, query_type, datasets="own")


async def test_every_answer_names_documents_that_exist():
    await fill()
    known = {document.source for document in OWN}

    for query_type in TYPES:
        [found] = await recall(QUESTION, query_type, datasets="own", include_references=True)

        assert found.references
        assert set(found.references) <= known
        assert found.text.endswith("\n\nReferences:\n" + "\n".join(f"- {name}" for name in found.references))


async def test_a_model_that_is_down_is_a_typed_error_for_every_type_that_asks_it(model: ScriptedModelServer):
    await remember(OWN, "own")
    model.when(fail(503))

    for query_type in set(TYPES) - PASSAGES:
        with pytest.raises(ModelError):
            await recall(QUESTION, query_type, datasets="own")


# --- several rounds ---


async def test_chain_of_thought_looks_for_what_the_model_misses(model: ScriptedModelServer):
    await remember(OWN, "own")
    model.when(say("ENOUGH"), text="asks for what is missing")
    model.when(say("1. Who planted tomatoes behind the greenhouse?"), text="asks for what is missing", times=1)
    model.forget()

    [found] = await recall("Who pays for the party?", "GRAPH_COMPLETION_COT", datasets="own", top_k=2)

    assert "also looked for: Who planted tomatoes behind the greenhouse?" in found.evidence.notes
    assert "tomatoes" in model.chats[-1].prompt
    assert found.usage.calls == len(model.chats) == 3


async def test_a_model_that_fails_in_the_middle_of_the_rounds_is_an_error(model: ScriptedModelServer):
    await remember(OWN, "own")
    model.when(say("Who planted tomatoes?"), text="asks for what is missing", times=1)
    model.when(fail(503), text="tomatoes behind")

    with pytest.raises(ModelError):
        await recall("Who pays for the party?", "GRAPH_COMPLETION_COT", datasets="own", top_k=1)


async def test_decomposition_looks_for_all_parts_in_one_embedding_call(model: ScriptedModelServer):
    await remember(OWN, "own")
    model.when(say("- Who pays for the party?\n- Who planted tomatoes?"), text="simpler questions")
    model.forget()

    [found] = await recall(
        "Do those who pay for the party and planted tomatoes meet?", "GRAPH_COMPLETION_DECOMPOSITION", datasets="own"
    )

    assert {"also looked for: Who pays for the party?", "also looked for: Who planted tomatoes?"} <= set(
        found.evidence.notes
    )
    assert "tomatoes" in model.chats[-1].prompt


async def test_context_extension_looks_for_what_a_draft_speaks_of(model: ScriptedModelServer):
    await remember(OWN, "own")
    model.when(say("Mira Sand planted tomatoes behind the greenhouse."), times=1)
    model.forget()

    [found] = await recall("Who pays for the party?", "GRAPH_COMPLETION_CONTEXT_EXTENSION", datasets="own", top_k=2)

    assert "tomatoes behind" in model.chats[-1].prompt
    assert "drafts of an answer" in found.evidence.notes[0]


async def test_a_graph_summary_is_what_the_answer_is_made_from(model: ScriptedModelServer):
    await remember(OWN, "own")
    model.when(say("World summary:\nIt moved to 9 June."), text="Summarise what this context says")
    model.forget()

    await recall(QUESTION, "GRAPH_SUMMARY_COMPLETION", datasets="own")

    assert model.chats[-1].prompt.endswith("Summary of what was found:\nWorld summary\\:\nIt moved to 9 June.")


@pytest.mark.parametrize(
    "query_type", [t for t in TYPES if t.startswith("GRAPH_") and t is not SearchType.GRAPH_COMPLETION]
)
async def test_without_a_model_rounds_say_what_was_done_instead(query_type):
    await remember(OWN, "own")

    [found] = await recall(QUESTION, query_type, datasets="own")

    assert any(
        "no language model is configured" in note or "no model was asked" in note for note in found.evidence.notes
    )


# --- triplets and time ---


async def test_triplets_are_given_with_the_sentence_that_states_them():
    await remember(OWN, "own")

    [found] = await recall("Anna Hofer Northstar Porto", "TRIPLET_COMPLETION", datasets="own", only_context=True)

    lines = found.text.partition("Connections:\n")[2].splitlines()
    assert lines and all(" --[" in line and "]--> " in line for line in lines)
    assert "Nodes:" not in found.text
    assert found.references


@pytest.mark.parametrize(("tags", "read"), [((), True), (("films",), False)])
async def test_what_tells_of_a_thing_that_the_best_passage_names_is_read_however_far_it_is(tags, read):
    film = "The film Northern Ferry was made by Luis Ortega in a single winter."
    maker = "Luis Ortega, a glazier's son from Ghent, went to school in Turin."
    others = [SourceDocument(text, source=f"{i}.md") for i, text in enumerate(notes(30))]
    await remember([SourceDocument(maker, source="maker.md"), *others], self_improvement=False)
    await remember([SourceDocument(film, source="film.md")], node_set=["films"], self_improvement=False)

    [found] = await recall(
        "Who directed the Northern Ferry?",
        "HYBRID_COMPLETION",
        wide_search_top_k=1,
        node_name=tags or None,
        only_context=True,
    )

    assert found.evidence.passages[0].source == "film.md"
    assert (maker in found.text) is read


async def test_a_date_finds_what_is_dated_and_what_speaks_of_it_in_the_order_of_time():
    await remember(OWN, "own")

    [april] = await recall("What happened to Northstar in April 2025?", "TEMPORAL", datasets="own", only_context=True)
    [june] = await recall("What is on 9 June 2025 in Porto?", "TEMPORAL", datasets="own", only_context=True)
    [until] = await recall("What about Northstar until 5 March 2025?", "TEMPORAL", datasets="own", only_context=True)

    assert [passage.source for passage in april.evidence.passages] == ["b.md", "c.md"]
    assert [passage.source for passage in june.evidence.passages] == ["b.md"]
    assert until.references == ("a.md",)
    assert april.text.partition("context:\n\n")[2].startswith(
        "## Passages in the order of time\nsource: b.md, 2025-04-10\n"
    )


async def test_what_is_dated_in_the_time_asked_for_is_found_whatever_its_words_are():
    pump, valve = "The pump stopped twice.", "Nobody came to the yard."
    await remember([SourceDocument(pump, source="a.md", occurred_at="2026-03-02T06:00:00+00:00")])
    await remember([SourceDocument(valve, source="b.md", occurred_at="2026-04-10")])

    [in_march] = await recall("What happened on 2 March 2026?", "TEMPORAL", only_context=True)
    [in_april] = await recall("What happened in April 2026?", "TEMPORAL", only_context=True)

    assert pump in in_march.text and valve not in in_march.text
    assert valve in in_april.text and pump not in in_april.text


async def test_where_nothing_is_dated_so_the_nearest_are_given_and_it_is_said():
    await remember(OWN, "own")

    [found] = await recall("What about Northstar in May 1987?", "TEMPORAL", datasets="own", only_context=True)

    assert found.evidence.passages
    assert "nothing is dated" in found.evidence.notes[0]


# --- the choice of a type ---


@pytest.mark.parametrize(
    ("question", "config", "chosen"),
    [
        ('Who said "launch party"?', None, "CHUNKS_LEXICAL"),
        ("What happened to Northstar on 10 April 2025?", None, "TEMPORAL"),
        ("Who pays for Northstar?", None, "HYBRID_COMPLETION"),
        ("What happened to Northstar on 10 April 2025?", WITH_INDEX, "HYBRID_COMPLETION"),
    ],
)
async def test_the_type_is_chosen_by_the_question(model: ScriptedModelServer, question, config, chosen):
    await remember(OWN, "own")

    [found] = await recall(question, datasets="own", retriever_specific_config=config)

    assert found.query_type == chosen
    assert found.route


async def test_without_a_model_passages_are_the_result_and_the_choice_can_be_switched_off():
    await remember(OWN, "own")

    [routed] = await recall(QUESTION, datasets="own")
    [unrouted] = await recall(QUESTION, datasets="own", auto_route=False)
    [named] = await recall(QUESTION, "SUMMARIES", datasets="own")

    assert (routed.query_type, routed.route) == ("CHUNKS", "no language model is configured")
    assert unrouted.query_type == "GRAPH_COMPLETION"
    assert named.route == ""


# --- parameters ---


async def test_several_datasets_answer_in_the_order_given_and_ids_win():
    await fill()
    status = {name: (await datasets.status(name)).id for name in ("own", "foreign")}

    both = await recall(QUESTION, "CHUNKS", datasets=["foreign", "own"])
    by_id = await recall(QUESTION, "CHUNKS", datasets="foreign", dataset_ids=[status["own"]])

    assert [one.dataset for one in both] == ["foreign", "own"]
    assert [one.dataset for one in by_id] == ["own"]


async def test_an_unknown_dataset_among_known_ones_is_an_error():
    await fill()

    with pytest.raises(DatasetNotFoundError, match="owm"):
        await recall(QUESTION, "CHUNKS", datasets=["own", "owm"])
    with pytest.raises(InvalidQueryError, match="datasets"):
        await recall(QUESTION, "CHUNKS", datasets=[])


async def test_a_dataset_without_an_index_beside_one_with_says_so():
    await fill()
    await remember(OWN, "bare")

    bare, own = await recall(
        QUESTION, "GRAPH_COMPLETION", datasets=["bare", "own"], only_context=True, retriever_specific_config=WITH_INDEX
    )

    assert bare.evidence.notes == ("prelude unavailable: the dataset has no index yet",)
    assert bare.evidence.root is None and own.evidence.root is not None


async def test_several_questions_are_answered_in_their_order():
    await fill()

    found = await recall(
        ["Who pays for the party?", "Who planted tomatoes?"], "CHUNKS", datasets=["own", "foreign"], top_k=1
    )

    assert next((one.query, one.dataset) for one in found) == ("Who pays for the party?", "own")
    assert [one.evidence.passages[0].source for one in found if one.dataset == "own"] == ["c.md", "d.md"]
    with pytest.raises(InvalidQueryError, match="0 questions"):
        await recall([], "CHUNKS", datasets="own")


async def test_a_system_prompt_may_lie_in_a_file(model: ScriptedModelServer, tmp_path: Path):
    await remember(OWN, "own")
    (tmp_path / "prompt.txt").write_text("Answer in rhyme.", encoding="utf-8")
    model.forget()

    await recall(QUESTION, "RAG_COMPLETION", datasets="own", system_prompt_path=tmp_path / "prompt.txt")

    assert "Answer in rhyme." in model.chats[-1].prompt
    with pytest.raises(InvalidQueryError, match="missing"):
        await recall(QUESTION, "RAG_COMPLETION", datasets="own", system_prompt_path=tmp_path / "missing.txt")


class Launch(BaseModel):
    day: int
    month: str


async def test_a_response_model_makes_the_answer_an_object(model: ScriptedModelServer):
    await remember(OWN, "own")
    model.when(say('```json\n{"day": 9, "month": "June"}\n```'), text="one JSON object")
    model.when(say("Sure!"), text="one JSON object", times=1)

    [found] = await recall(QUESTION, "GRAPH_COMPLETION", datasets="own", response_model=Launch)

    assert found.value == Launch(day=9, month="June")
    assert found.text == '{"day":9,"month":"June"}'
    assert found.usage.calls >= 2


async def test_a_response_model_that_is_never_met_is_an_error(model: ScriptedModelServer):
    await remember(OWN, "own")
    model.when(say('{"day": "never"}'), text="one JSON object")

    with pytest.raises(ModelOutputError):
        await recall(QUESTION, "GRAPH_COMPLETION", datasets="own", response_model=Launch)


async def test_a_response_model_needs_a_model_and_a_class():
    await remember(OWN, "own")

    with pytest.raises(InvalidQueryError, match="LLM_MODEL"):
        await recall(QUESTION, "GRAPH_COMPLETION", datasets="own", response_model=Launch)
    with pytest.raises(InvalidQueryError, match="BaseModel"):
        await recall(QUESTION, "GRAPH_COMPLETION", datasets="own", response_model=dict)


@pytest.mark.parametrize("query_type", TYPES)
@pytest.mark.parametrize(
    "options",
    [
        {"top_k": 0},
        {"node_name": "  "},
        {"neighborhood_depth": 9},
        {"feedback_influence": 2},
        {"node_name_filter": "XOR"},
    ],
)
async def test_what_makes_no_sense_is_refused_for_every_type(query_type, options):
    await remember(OWN[:1], "own")

    with pytest.raises(InvalidQueryError):
        await recall(QUESTION, query_type, datasets="own", **options)


async def test_large_numbers_and_unknown_tags_do_no_harm():
    await remember(OWN, "own")

    for query_type in TYPES:
        [found] = await recall(QUESTION, query_type, datasets="own", top_k=10**6, only_context=True)
        assert found.references
        assert await recall(QUESTION, query_type, datasets="own", node_name="nowhere") == []


async def test_a_tag_limits_every_type_to_its_documents():
    await remember(OWN, "own")

    for query_type in TYPES:
        found = await recall("Northstar launch party", query_type, datasets="own", node_name="money", only_context=True)
        assert {name for one in found for name in one.references} <= {"c.md"}


# --- streaming, conversations, feedback ---


async def test_a_stream_gives_the_pieces_and_then_the_whole(model: ScriptedModelServer):
    await remember(OWN, "own")
    [whole] = await recall(QUESTION, "GRAPH_COMPLETION", datasets="own")

    *pieces, result = [piece async for piece in recall_stream(QUESTION, "GRAPH_COMPLETION", datasets="own")]

    assert "".join(pieces).strip() == result.text == whole.text
    assert result.evidence == whole.evidence


async def test_a_conversation_is_told_and_can_be_erased(model: ScriptedModelServer):
    await remember(OWN, "own")
    await recall("Who planted tomatoes behind the greenhouse?", "RAG_COMPLETION", datasets="own", session_id="talk")
    model.forget()

    [found] = await recall("And where?", "RAG_COMPLETION", datasets="own", session_id="talk", top_k=1)

    assert "Asked: Who planted tomatoes behind the greenhouse?\nAnswered: " in model.chats[-1].prompt
    assert found.references == ("d.md",)
    assert await overstory.forget_session("talk")
    assert not await overstory.forget_session("talk")


@pytest.mark.parametrize("query_type", ["GRAPH_COMPLETION", "HYBRID_COMPLETION", "RAG_COMPLETION"])
async def test_a_conversation_goes_on_with_what_is_asked_now(query_type):
    baker, builder = "Leif Ask bakes bread in Alta.", "Siv Dal repairs boats in Bodo."
    await remember([baker, builder, "Pål Eik sells skis in Narvik."], self_improvement=False)

    said = []
    for question in ("Who bakes bread in Alta?", "And who repairs boats?", "Any kites?"):
        [answer] = await recall(question, query_type, session_id="talk")
        said.append((baker in answer.text, builder in answer.text))

    assert said == [(True, False), (False, True), (False, False)]


async def test_forgetting_a_document_erases_what_was_answered_from_its_dataset(plain_environment: Path):
    await fill()
    await recall(QUESTION, "CHUNKS", datasets="own", session_id="talk")
    await recall(QUESTION, "CHUNKS", datasets="foreign", session_id="other talk")

    await forget("own", document="a.md")

    assert not await overstory.forget_session("talk")
    assert await overstory.forget_session("other talk")


@pytest.mark.parametrize("document", ["a.md", None], ids=["a document", "the dataset"])
@pytest.mark.parametrize("index", [False, True])
async def test_an_answer_from_what_is_forgotten_meanwhile_is_not_kept(
    monkeypatch: pytest.MonkeyPatch, document: str | None, index: bool
):
    await remember(OWN, "own")
    await improve("own", build_global_context_index=True)
    whole = layout.retrieval.asking.answer_from

    async def answer_while_it_is_forgotten(found):
        await forget("own", document=document)
        return await whole(found)

    monkeypatch.setattr(layout.retrieval.asking, "answer_from", answer_while_it_is_forgotten)
    options = {"include_global_context_index": index}
    [result] = await recall(
        QUESTION, "GRAPH_COMPLETION", datasets="own", session_id="talk", retriever_specific_config=options
    )

    assert "a.md" in result.references
    assert not await overstory.forget_session("talk")


async def test_conversations_of_users_are_kept_apart():
    await remember(OWN, "own", user="ann")
    await remember(OWN, "own", user="bob")
    await recall(QUESTION, "CHUNKS", datasets="own", session_id="talk", user="ann")

    assert not await overstory.forget_session("talk", user="bob")
    assert await overstory.forget_session("talk", user="ann")


async def feedback_weights(name: str) -> dict[str, float]:
    [found] = [dataset for dataset in await datasets.list_datasets() if dataset.name == name]
    tenant = (await open_dataset(found.id)).tenant
    documents = [ids.document_id(found.id, source) for source in ("a.md", "b.md", "c.md", "d.md", "x.md")]
    keys = await tenant.find(DocumentChunk, "document_id", documents)
    return {row.text: row.feedback_weight for row in await tenant.get(DocumentChunk, keys)}


async def test_feedback_moves_the_evidence_of_one_dataset_and_can_be_undone():
    await fill()
    before = await feedback_weights("own"), await feedback_weights("foreign")
    [found] = await recall("Who pays for the Northstar launch party?", "CHUNKS", datasets="own", top_k=1)

    given = await overstory.feedback(found, -1, "that is not it")

    moved = await feedback_weights("own")
    assert {text for text in moved if moved[text] != before[0][text]} == {OWN[2].text}
    assert moved[OWN[2].text] == pytest.approx(0.4)
    assert await feedback_weights("foreign") == before[1]
    await overstory.undo_feedback(given)
    assert await feedback_weights("own") == pytest.approx(before[0])


async def test_feedback_is_bounded():
    await remember(OWN, "own")
    [found] = await recall("Who planted tomatoes?", "CHUNKS", datasets="own", top_k=1)

    for _ in range(9):
        await overstory.feedback(found, 1)

    assert (await feedback_weights("own"))[OWN[3].text] == 1.0
    with pytest.raises(InvalidOptionError, match="score"):
        await overstory.feedback(found, 5)


async def test_questions_at_once_do_not_disturb_each_other():
    await fill()

    results = await asyncio.gather(
        *[recall(QUESTION, query_type, datasets="own", only_context=True) for query_type in TYPES]
    )

    assert [found[0].query_type for found in results] == TYPES


async def test_an_empty_dataset_among_others_is_no_failure():
    await remember(["Anna Hofer leads Northstar."], "full")
    await make_empty("empty")

    answers = await recall("Who leads Northstar?", "CHUNKS")

    assert [answer.dataset for answer in answers] == ["full"]
    with pytest.raises(NoDataError):
        await recall("Who leads Northstar?", "CHUNKS", datasets="empty")
