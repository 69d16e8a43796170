"""Calls of the library as flow runs: the same results and errors, and what people see of them."""

import json
import subprocess
import sys
from typing import Any

import pytest

from overstory.testing import ScriptedModelServer, refuse
from tasks.policies import TAG
from tests.prefect_server import ROOT, PrefectServer

pytestmark = pytest.mark.prefect


@pytest.fixture(scope="module")
def saw(server: PrefectServer, shared_model: ScriptedModelServer) -> dict[str, Any]:
    """What an application saw that made all the calls of this module."""
    shared_model.behave()
    shared_model.when(refuse(), schema="AreaAnswer", text="Note 505")
    ran = subprocess.run(
        [sys.executable, "-m", "tests.prefect.library_program"],
        cwd=ROOT,
        env=server.environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr[-3000:]
    return dict(json.loads(ran.stdout))


def run_named(server: PrefectServer, flow: str, name: str) -> dict[str, Any]:
    return next(run for run in server.runs_of(flow) if run["name"] == name)


def test_a_build_is_a_graph_with_the_levels_one_above_the_other(server: PrefectServer, saw: dict[str, Any]):
    run = run_named(server, "improve", "improve-graph")

    graph = server.graph(run["id"])

    first, second, above = (f"summarise level {part}" for part in ("0: 1-10 of 15", "0: 11-15 of 15", "1: 1-4 of 4"))
    assert saw["status"] == "published"
    assert run["state"]["message"].startswith("Generation 1 published")
    assert graph["plan the buckets of every level"] == {"find what is incomplete"}
    assert graph[first] == graph[second] == {"plan the buckets of every level"}
    assert graph[above] == {first, second}
    assert graph["write the root"] == {above}
    assert graph["verify"] == {"write the root"}
    assert graph["publish generation 1"] == {"verify"}
    assert graph["sweep"] == {"publish generation 1"}


def test_runs_bear_the_tag_by_which_they_are_told_from_others(server: PrefectServer, saw: dict[str, Any]):
    runs = [run for flow in ("remember", "improve", "forget") for run in server.runs_of(flow)]

    assert runs and all(TAG in run["tags"] for run in runs)


def test_only_names_options_and_counts_travel_to_the_server(server: PrefectServer, saw: dict[str, Any]):
    run = run_named(server, "remember", "remember-secrets")

    assert run["parameters"] == {"dataset": "secrets", "options": {"sources": 3, "node_set": ["private"]}}
    assert not any("confidence" in str(task) for task in server.task_runs(run["id"]))


def test_a_flow_run_gives_what_a_plain_call_gives(server: PrefectServer, saw: dict[str, Any]):
    names = {run["name"] for run in server.runs_of("improve")}

    assert saw["observed"] == saw["plain"]
    assert "improve-observed" in names
    assert "improve-plain" not in names


def test_a_text_that_the_model_refuses_is_named_in_a_table(server: PrefectServer, saw: dict[str, Any]):
    run = run_named(server, "global_context_index_pipeline", "global_context_index_pipeline-refused")
    artifacts = server.artifacts(run["id"])

    rows = json.loads(artifacts["degraded"]["data"])

    assert (run["state"]["type"], run["state"]["name"]) == ("COMPLETED", "CompletedWithErrors")
    assert f"{saw['degraded']} degraded" in run["state"]["message"]
    assert len(rows) == saw["degraded"] > 0
    assert all(row["bucket"] and row["reason"] for row in rows)
    assert {"levels", "degraded", "report", "writing"} == set(artifacts)
    assert all(artifact["description"] for artifact in artifacts.values())
    assert "## Root" in artifacts["report"]["data"]


def test_an_error_is_the_callers_and_stands_in_one_line_at_the_run(server: PrefectServer, saw: dict[str, Any]):
    run = run_named(server, "improve", "improve-busy")

    assert saw["busy"].startswith("DatasetBusyError")
    assert run["state"]["type"] == "FAILED"
    assert "is being written by another build" in run["state"]["message"]
    assert "\n" not in run["state"]["message"]


def test_a_server_that_is_down_is_named_before_anything_is_begun(saw: dict[str, Any]):
    assert saw["down"]["error"].startswith("OrchestratorUnavailableError")
    assert "PREFECT_API_URL" in saw["down"]["error"]
    assert saw["down"]["documents"] == 0


def test_a_server_that_is_down_may_be_done_without(saw: dict[str, Any]):
    assert saw["down"]["fallback"] == 2
