"""Everything in prefect.yaml loads, its parameters fit, and its form explains itself. No server is needed."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from tasks.policies import TAG

ROOT = Path(__file__).parents[2]
FILE = yaml.safe_load((ROOT / "prefect.yaml").read_text(encoding="utf-8"))
DEPLOYMENTS = FILE["deployments"]

flows = pytest.importorskip("prefect.flows", reason="needs the extra `prefect`")
setup_server = pytest.importorskip("deployments.setup_server")


@pytest.fixture(params=DEPLOYMENTS, ids=lambda d: d["name"])
def deployment(request: pytest.FixtureRequest) -> dict[str, Any]:
    return dict(request.param)


@pytest.fixture
def flow(deployment: dict[str, Any]) -> Any:
    return flows.load_flow_from_entrypoint(deployment["entrypoint"], use_placeholder_flow=False)


def test_the_entry_point_is_the_flow_of_the_name(deployment: dict[str, Any], flow: Any):
    assert flow.name.replace("_", "-") == deployment["name"]


def test_its_runs_bear_our_tag(deployment: dict[str, Any]):
    assert TAG in deployment["tags"]


def test_the_automation_ends_runs_of_ours_only():
    trigger = setup_server._zombies(30).trigger

    assert setup_server.TAG == TAG
    related = trigger.match_related
    assert related["prefect.resource.id"] == [f"prefect.tag.{TAG}"] and related["prefect.resource.role"] == ["tag"]


def test_the_parameters_fit(deployment: dict[str, Any], flow: Any):
    required = {"remember": {"source": "notes"}, "forget": {"dataset": "demo"}}.get(deployment["name"], {})
    scheduled = [s.get("parameters", {}) for s in deployment.get("schedules", [])] or [{}]

    for parameters in scheduled:
        given = {**required, **deployment["parameters"], **parameters}
        assert given.items() <= flow.validate_parameters(given).items()


def test_every_field_of_the_form_explains_itself(flow: Any):
    fields = flow.parameters.properties

    assert [name for name, field in fields.items() if not field.get("description")] == []


def test_bounds_reach_the_form():
    rebuild = flows.load_flow_from_entrypoint(
        "flows.deployed.rebuild", use_placeholder_flow=False
    ).parameters.properties

    assert rebuild["bucketing_strategy"]["enum"] == ["as served", "vector", "graph"]
    assert rebuild["max_bucket_size"]["anyOf"][0]["minimum"] == 2
    assert rebuild["dataset"]["maxLength"] == 300


def test_the_parameters_that_a_schedule_gives_are_its_own():
    nightly = next(d for d in DEPLOYMENTS if d["name"] == "improve-all")

    assert [s["cron"] for s in nightly["schedules"] if s["active"]] == ["0 3 * * *"]
    assert all(d["enforce_parameter_schema"] for d in DEPLOYMENTS)
