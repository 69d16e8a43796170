"""What a monitor may know of this process, in the form of Prometheus: counts, times, tokens, cost. Of all users together."""

import time
from collections.abc import Sequence

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4
from prometheus_client.gc_collector import GCCollector
from prometheus_client.platform_collector import PlatformCollector
from prometheus_client.process_collector import ProcessCollector
from starlette.responses import Response

from overstory.errors import OverstoryError
from overstory.telemetry import End, Kind, Operation

_SHORT = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)
_CALLS = (0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 40, 80, 160)
_LONG = (0.1, 0.5, 1, 5, 15, 60, 300, 900, 3600)
_STEPS = frozenset({Kind.TASK, Kind.RECALL, Kind.STORE})
MEDIA_TYPE = CONTENT_TYPE_PLAIN_0_0_4
DONE, STOPPED, UNFORESEEN = "done", "stopped", "unforeseen"
"""How work ended, where it was not with an error of the library, whose name is told."""


class Metrics:
    """An `Observer`, with the metrics of one server."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        for collector in (ProcessCollector, PlatformCollector, GCCollector):
            collector(registry=self._registry)
        self._requests = self._counter("http_requests", "Requests answered", ["method", "route", "status"])
        self._request_seconds = self._histogram(
            "http_request_seconds", "Until a request is answered", ["route"], _SHORT
        )
        self._problems = self._counter("http_problems", "Requests answered with a problem", ["code"])
        self._running = Gauge("overstory_running", "Work going on", ["kind", "name"], registry=self._registry)
        self._flow_seconds = self._histogram(
            "flow_seconds", "remember, improve, builds, forget", ["name", "outcome"], _LONG
        )
        self._step_seconds = self._histogram(
            "step_seconds", "Steps of these and of recall, calls of the store", ["kind", "name", "outcome"], _SHORT
        )
        self._steps: dict[tuple[str, ...], Histogram] = {}
        self._model_seconds = self._histogram(
            "model_call_seconds", "Calls of models", ["model", "operation", "outcome"], _CALLS
        )
        self._tokens = self._counter("model_tokens", "Tokens told by models", ["model", "direction"])
        self._cost = self._counter("model_cost_usd", "What they cost, where a price is known", ["model"])

    def response(self) -> Response:
        return Response(generate_latest(self._registry), media_type=MEDIA_TYPE)

    def begin(self, operation: Operation) -> End:
        began = time.perf_counter()
        running = self._running.labels(operation.kind, operation.name) if operation.kind is Kind.FLOW else None
        if running:
            running.inc()

        def end(error: BaseException | None) -> None:
            if running:
                running.dec()
            self._count(operation, time.perf_counter() - began, error)

        return end

    def _count(self, operation: Operation, seconds: float, error: BaseException | None) -> None:
        outcome = _outcome(error)
        if operation.kind in _STEPS:
            self._step(operation.kind, operation.name, outcome).observe(seconds)
            return
        about = {name: str(value) for name, value in operation.attributes.items()}
        match operation.kind:
            case Kind.REQUEST:
                self._requests.labels(about["method"], about["route"], about.get("status", "")).inc()
                self._request_seconds.labels(about["route"]).observe(seconds)
                if code := about.get("code"):
                    self._problems.labels(code).inc()
            case Kind.MODEL | Kind.EMBEDDING:
                self._model_seconds.labels(about["model"], about["operation"], outcome).observe(seconds)
                self._take(operation)
            case Kind.FLOW:
                self._flow_seconds.labels(operation.name, about.get("index_status", outcome)).observe(seconds)

    def _step(self, *labels: str) -> Histogram:
        """There are many steps, and finding a metric by its labels takes longer than counting."""
        if labels not in self._steps:
            self._steps[labels] = self._step_seconds.labels(*labels)
        return self._steps[labels]

    def _take(self, operation: Operation) -> None:
        about = operation.attributes
        model = str(about["model"])
        for name, direction in (("prompt_tokens", "input"), ("completion_tokens", "output")):
            self._tokens.labels(model, direction).inc(float(about.get(name, 0)))
        if "cost_usd" in about:
            self._cost.labels(model).inc(float(about["cost_usd"]))

    def _counter(self, name: str, help_text: str, labels: Sequence[str]) -> Counter:
        return Counter(f"overstory_{name}", help_text, labels, registry=self._registry)

    def _histogram(self, name: str, help_text: str, labels: Sequence[str], buckets: Sequence[float]) -> Histogram:
        return Histogram(f"overstory_{name}", help_text, labels, buckets=buckets, registry=self._registry)


def _outcome(error: BaseException | None) -> str:
    if error is None:
        return DONE
    if isinstance(error, OverstoryError):
        return type(error).__name__
    return UNFORESEEN if isinstance(error, Exception) else STOPPED
