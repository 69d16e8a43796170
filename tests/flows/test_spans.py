"""What OpenTelemetry sees of remember, improve and recall: the shape of the work, and not a word of the texts."""

from collections.abc import Iterator
from contextlib import aclosing

import pytest
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import StatusCode

from overstory import forget, improve, recall, recall_stream, remember, telemetry
from overstory.errors import ModelError
from overstory.recalling import RecallOptions
from overstory.testing import ScriptedModelServer, fail
from overstory.tracing import Spans
from tests.flows.conftest import PEOPLE, PLACES, THINGS, notes


@pytest.fixture
def spans() -> Iterator[InMemorySpanExporter]:
    exporter, provider = InMemorySpanExporter(), TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    observer = Spans(provider.get_tracer("test"))
    telemetry.observe(observer)
    yield exporter
    telemetry.leave(observer)
    provider.shutdown()


@pytest.fixture
def served(model: ScriptedModelServer, monkeypatch: pytest.MonkeyPatch) -> ScriptedModelServer:
    """With prices, and vectors from the same service."""
    monkeypatch.setenv("LLM_INPUT_USD_PER_MILLION", "1")
    monkeypatch.setenv("LLM_OUTPUT_USD_PER_MILLION", "4")
    monkeypatch.setenv("EMBEDDING_MODEL", "openai/vectors")
    monkeypatch.setenv("EMBEDDING_ENDPOINT", model.url)
    return model


def of(found: InMemorySpanExporter, name: str) -> list[ReadableSpan]:
    return [span for span in found.get_finished_spans() if span.name == name]


def above(found: InMemorySpanExporter, span: ReadableSpan) -> list[str]:
    """The names of what a span is part of, the nearest first."""
    by_id = {one.context.span_id: one for one in found.get_finished_spans()}
    names = []
    while span.parent is not None:
        span = by_id[span.parent.span_id]
        names.append(span.name)
    return names


async def test_each_call_of_a_model_tells_its_tokens_and_cost(served: ScriptedModelServer, spans: InMemorySpanExporter) -> None:  # fmt: skip
    remembered = await remember(notes(8))
    improved = await improve(build_global_context_index=True)

    chats, index = of(spans, "chat openai/scripted"), improved.index
    assert index is not None
    assert len(chats) == len(served.chats) == remembered.model_calls + index.model_calls
    told = {name: sum(span.attributes[name] for span in chats) for name in ("gen_ai.usage.input_tokens", "gen_ai.usage.output_tokens", "overstory.cost_usd")}  # fmt: skip
    spent = [remembered.usage, index.usage]
    assert told["gen_ai.usage.input_tokens"] == sum(one.prompt_tokens for one in spent)
    assert told["gen_ai.usage.output_tokens"] == sum(one.completion_tokens for one in spent)
    assert told["overstory.cost_usd"] == pytest.approx(sum(one.cost_usd or 0 for one in spent))
    assert {names[-1] for names in (above(spans, chat) for chat in chats)} == {
        "overstory remember",
        "overstory improve",
    }
    vectors = of(spans, "embeddings openai/vectors")
    assert vectors and all(span.attributes["gen_ai.usage.input_tokens"] > 0 for span in vectors)


async def test_vectors_tell_their_cost_where_a_price_is_known(served: ScriptedModelServer, spans: InMemorySpanExporter, monkeypatch: pytest.MonkeyPatch) -> None:  # fmt: skip
    monkeypatch.setenv("EMBEDDING_MODEL", "openai/text-embedding-3-small")
    remembered = await remember(notes(2))

    vectors = of(spans, "embeddings openai/text-embedding-3-small")
    assert vectors and all(span.attributes["overstory.cost_usd"] > 0 for span in vectors)
    chats = of(spans, "chat openai/scripted")
    assert remembered.usage.cost_usd == pytest.approx(sum(span.attributes["overstory.cost_usd"] for span in chats))


async def test_a_build_tells_its_steps_and_what_it_took(model: ScriptedModelServer, spans: InMemorySpanExporter) -> None:  # fmt: skip
    await remember(notes(8))
    improved = await improve(build_global_context_index=True)

    [build] = of(spans, "overstory build index")
    assert above(spans, build) == ["overstory improve"]
    assert improved.index is not None
    assert build.attributes["overstory.index_status"] == "published"
    assert build.attributes["overstory.model_calls"] == improved.index.model_calls
    below = {span.name for span in spans.get_finished_spans() if above(spans, span)[:1] == [build.name]}
    assert {"overstory plan index", "overstory summarize batch", "overstory publish index"} <= below


async def test_a_question_tells_its_steps_and_the_calls_of_the_store(spans: InMemorySpanExporter) -> None:
    await remember(notes(8))
    await improve(build_global_context_index=True)
    spans.clear()

    about = {"include_global_context_index": True}
    await recall("Who reviewed Granite?", "GRAPH_COMPLETION", retriever_specific_config=about)

    [whole], [search] = of(spans, "overstory recall"), of(spans, "overstory search")
    assert above(spans, search) == [whole.name]
    assert search.attributes["overstory.search_type"] == "GRAPH_COMPLETION"
    assert search.attributes["overstory.context_tokens"] > 0
    steps = {span.name for span in spans.get_finished_spans() if search.name in above(spans, span)}
    assert {
        "overstory embed question",
        "overstory find",
        "overstory read the map",
        "overstory choose connections",
    } <= steps
    store = [span for span in spans.get_finished_spans() if "db.operation.name" in span.attributes]
    assert {span.attributes["db.system.name"] for span in store} <= {"embedded", "weaviate"}
    assert {"areas", "read_manifest"} <= {span.name for span in store}
    assert "Entity" in {span.attributes.get("db.collection.name") for span in store}
    assert all(above(spans, span)[-1] == whole.name for span in store)


async def test_no_step_of_a_question_is_counted_twice(spans: InMemorySpanExporter) -> None:
    await remember(notes(4))
    spans.clear()

    await recall("Who reviewed Granite?", "HYBRID_COMPLETION", only_context=True)

    steps = ("find", "find by words", "rank", "choose connections")
    assert [len(of(spans, f"overstory {name}")) for name in steps] == [1, 1, 1, 1]


async def test_a_stream_tells_its_call_when_it_has_ended(model: ScriptedModelServer, spans: InMemorySpanExporter) -> None:  # fmt: skip
    await remember(notes(4))
    spans.clear()

    async for _ in recall_stream("Who reviewed Granite?", "GRAPH_COMPLETION"):
        pass

    [chat] = of(spans, "chat openai/scripted")
    assert chat.attributes["gen_ai.usage.output_tokens"] > 0


@pytest.mark.parametrize("options", [{}, {"only_context": True}])
async def test_a_stream_tells_the_question_and_its_steps_once(spans: InMemorySpanExporter, options: RecallOptions) -> None:  # fmt: skip
    await remember(notes(4))
    spans.clear()

    async for _ in recall_stream("Who reviewed Granite?", "GRAPH_COMPLETION", **options):
        pass

    steps = ("recall", "search", "find", "answer")
    assert [len(of(spans, f"overstory {name}")) for name in steps] == [1, 1, 1, 1]
    assert of(spans, "overstory recall")[0].attributes["overstory.datasets"] == 1


async def test_a_stream_that_is_given_up_has_not_failed(spans: InMemorySpanExporter) -> None:
    await remember(notes(4))
    spans.clear()

    async with aclosing(recall_stream("Who reviewed Granite?", "GRAPH_COMPLETION")) as pieces:
        await anext(pieces)

    [whole] = of(spans, "overstory recall")
    assert whole.status.status_code is not StatusCode.ERROR


async def test_an_error_is_told_by_its_name_only(model: ScriptedModelServer, spans: InMemorySpanExporter) -> None:
    await remember(notes(2))
    spans.clear()
    model.when(fail(400, message="Anna Hofer is not allowed here"))

    with pytest.raises(ModelError):
        await recall("Who reviewed Granite?", "GRAPH_COMPLETION")

    failed = [span for span in spans.get_finished_spans() if span.status.status_code is StatusCode.ERROR]
    assert {"chat openai/scripted", "overstory answer", "overstory recall"} <= {span.name for span in failed}
    assert all(span.status.description is None and not span.events for span in failed)
    assert {span.attributes["error.type"] for span in failed} == {"ModelInputError"}


async def test_no_span_holds_a_word_of_a_text_or_a_question(served: ScriptedModelServer, spans: InMemorySpanExporter) -> None:  # fmt: skip
    await remember(notes(8), "the launch files", node_set="secret tag")
    await improve("the launch files", build_global_context_index=True)
    await recall("Who reviewed Granite?", datasets=["the launch files"], session_id="my session")
    await forget("the launch files")

    told = " ".join(f"{span.name} {dict(span.attributes)} {span.events}" for span in spans.get_finished_spans())
    words = [word for name in (*PEOPLE, *THINGS, *PLACES) for word in name.split()]
    assert not [word for word in (*words, "launch files", "secret", "my session", "reviewed") if word in told]
