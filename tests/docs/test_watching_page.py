import re
from pathlib import Path

from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider

from overstory.serve.metrics import Metrics
from overstory.telemetry import Kind, Operation
from tests.docs.blocks import ROOT, blocks

PAGE = ROOT / "docs" / "watching.md"


def test_the_page_lists_every_metric() -> None:
    metrics = Metrics()
    for kind in Kind:
        about = {"model": "m", "operation": "chat", "method": "GET", "route": "/", "code": "x", "cost_usd": 1.0}
        metrics.begin(Operation(kind, "x", True, {}, dict(about)))(None)

    text = bytes(metrics.response().body).decode()

    told = {re.sub(r"_(bucket|sum|count|created)$", "", name) for name in re.findall(r"^(overstory_\w+)", text, re.M)}
    listed = set(re.findall(r"^\| `(overstory_\w+)` \|", PAGE.read_text(encoding="utf-8"), re.M))
    assert {re.sub(r"_total$", "", name) for name in told} == {re.sub(r"_total$", "", name) for name in listed}


def test_the_program_of_the_page_sets_a_tracer_up(monkeypatch) -> None:
    [code] = blocks(PAGE, "python")
    given: list[object] = []
    monkeypatch.setattr(trace, "set_tracer_provider", given.append)

    exec(compile(code, str(Path(PAGE).name), "exec"), {})

    [provider] = given
    assert isinstance(provider, TracerProvider)
    provider.shutdown()
