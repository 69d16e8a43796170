"""What a monitor and a tracer are told of the server."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx
import pytest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from prometheus_client.parser import text_string_to_metric_families

from overstory import telemetry
from overstory.serve.app import make_app
from overstory.serve.keys import KeyRing
from overstory.serve.options import ServeOptions
from overstory.telemetry import Kind, operation
from overstory.testing import ScriptedModelServer, fail
from overstory.tracing import Spans
from tests.serve.conftest import MakeClient, texts


@asynccontextmanager
async def serving(home: Path) -> AsyncIterator[httpx.AsyncClient]:
    """A client of a server that has started up."""
    app = make_app(ServeOptions(home=home))
    transport = httpx.ASGITransport(app, raise_app_exceptions=False)
    async with (
        app.router.lifespan_context(app),
        httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client,
    ):
        yield client


class Figures:
    """What `/metrics` says."""

    def __init__(self, text: str) -> None:
        self.samples = [sample for family in text_string_to_metric_families(text) for sample in family.samples]

    def __call__(self, metric: str, /, **labels: str) -> float:
        """The sum of what has these labels."""
        return sum(
            one.value
            for one in self.samples
            if one.name == f"overstory_{metric}" and labels.items() <= one.labels.items()
        )


async def figures(client: httpx.AsyncClient) -> Figures:
    return Figures((await client.get("/metrics")).text)


async def test_work_is_counted_with_its_calls_tokens_and_cost(plain_environment: Path, model: ScriptedModelServer) -> None:  # fmt: skip
    async with serving(plain_environment) as client:
        remembered = (await client.post("/v1/remember", json={"dataset": "notes", "texts": texts()})).json()
        improved = (await client.post("/v1/improve", json={"dataset": "notes"})).json()
        asked = {"query_text": "Who moved the launch?", "only_context": True}
        for stream in (False, True):
            await client.post("/v1/recall", json={**asked, "stream": stream})
        told = await figures(client)

    usage = [remembered["usage"], improved["usage"]]
    assert told("model_call_seconds_count", model="openai/scripted", outcome="done") == len(model.chats)
    assert told("model_tokens_total", direction="input") == sum(one["prompt_tokens"] for one in usage)
    assert told("model_tokens_total", direction="output") == sum(one["completion_tokens"] for one in usage)
    assert told("model_cost_usd_total") == pytest.approx(sum(one["cost_usd"] for one in usage))
    assert told("flow_seconds_count", name="build index", outcome="published") == 1
    assert told("flow_seconds_count", name="remember") == 1
    for step in ("recall", "search", "answer"):
        assert told("step_seconds_count", kind="recall", name=step) == 2
    assert told("step_seconds_count", kind="store", name="put") > 0
    assert told("running") == 0


async def test_requests_are_counted_by_route_and_problems_by_code(plain_environment: Path, model: ScriptedModelServer) -> None:  # fmt: skip
    async with serving(plain_environment) as client:
        for name in ("the launch", "another one"):
            await client.get(f"/v1/datasets/{name}")
        await client.get("/nowhere/at/all")
        await client.post("/v1/recall", json={"query": 1})
        await client.post("/v1/remember", json={"texts": ["Ada Brook."], "dataset": "notes"})
        model.when(fail(401))
        await client.post("/v1/recall", json={"query_text": "Who?", "query_type": "RAG_COMPLETION"})
        text = (await client.get("/metrics")).text

    told = Figures(text)
    assert told("http_requests_total", route="/v1/datasets/{dataset}", method="GET", status="404") == 2
    assert told("http_requests_total", route="other", status="404") == 1
    assert told("http_request_seconds_count", route="/v1/recall") == 2
    assert told("http_problems_total", code="DatasetNotFoundError") == 2
    assert told("http_problems_total", code="ModelAccessError") == 1
    assert told("model_call_seconds_count", outcome="ModelAccessError") == 1
    assert "the launch" not in text and "Ada" not in text


async def test_what_is_going_on_is_shown(plain_environment: Path) -> None:
    async with serving(plain_environment) as client:
        with operation(Kind.FLOW, "build index"):
            during = await figures(client)
        after = await figures(client)

    assert (during("running", name="build index"), after("running")) == (1, 0)


async def test_metrics_are_for_those_with_a_key_where_keys_are_asked_for(make_client: MakeClient, plain_environment: Path) -> None:  # fmt: skip
    key = KeyRing(plain_environment / "serve" / "keys.json").add("monitor")
    client = make_client(require_key=True)

    answers = [
        await client.get("/metrics"),
        await client.get("/metrics", headers={"Authorization": f"Bearer {key}"}),
    ]

    assert [one.status_code for one in answers] == [401, 200]
    assert answers[1].headers["content-type"].startswith("text/plain")
    assert "process_resident_memory_bytes" in answers[1].text


async def test_a_server_that_has_stopped_is_told_nothing(plain_environment: Path) -> None:
    async with serving(plain_environment) as client:
        await client.get("/health")

    assert not telemetry.observed()


@pytest.fixture
def spans() -> Iterator[InMemorySpanExporter]:
    exporter, provider = InMemorySpanExporter(), TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    observer = Spans(provider.get_tracer("test"))
    telemetry.observe(observer)
    yield exporter
    telemetry.leave(observer)
    provider.shutdown()


async def test_a_request_is_a_span_below_its_callers_without_its_words(built: httpx.AsyncClient, spans: InMemorySpanExporter) -> None:  # fmt: skip
    caller = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"

    await built.get("/v1/datasets/notes/search", params={"q": "Northstar launch"}, headers={"traceparent": caller})
    await asyncio.gather(built.get("/v1/datasets/notes"), built.get("/v1/datasets/nothing"))

    found = {span.name: span for span in spans.get_finished_spans() if span.name.startswith("GET")}
    search = found["GET /v1/datasets/{dataset}/search"]
    assert search.parent is not None
    assert f"{search.parent.span_id:016x}" == "b7ad6b7169203331"
    assert dict(search.attributes or {}) == {
        "http.request.method": "GET",
        "http.route": "/v1/datasets/{dataset}/search",
        "http.response.status_code": 200,
    }
    statuses = {span.attributes["http.response.status_code"] for span in spans.get_finished_spans() if span.name == "GET /v1/datasets/{dataset}"}  # fmt: skip
    assert statuses == {200, 404}
    assert "Northstar" not in " ".join(str(span.attributes) for span in spans.get_finished_spans())


async def test_the_framework_makes_no_spans_of_its_own_which_would_hold_addresses(built: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch) -> None:  # fmt: skip
    exporter, provider = InMemorySpanExporter(), TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    monkeypatch.setattr("opentelemetry.trace.get_tracer_provider", lambda: provider)

    answer = await built.get("/v1/datasets/notes/search", params={"q": "Northstar launch"})

    assert answer.status_code == 200
    assert exporter.get_finished_spans() == ()
