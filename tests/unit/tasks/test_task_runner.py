"""When batches may be shared by other processes, and what is said when they may not."""

import re
from importlib.util import find_spec

import pytest

from overstory import datasets, remember
from overstory.errors import ConfigurationError, MissingPackageError
from overstory.settings import Settings
from tasks.policies import check_task_runner

DASK = {"OVERSTORY_TASK_RUNNER": "dask"}
needs_dask = pytest.mark.skipif(find_spec("prefect_dask") is None, reason="needs the extra `dask`")


def settings(**more: str) -> Settings:
    return Settings.from_environment({**DASK, **more})


def refusal_of(given: Settings, *, has_server: bool) -> str:
    try:
        check_task_runner(given, has_server=has_server)
    except ConfigurationError as error:
        return str(error)
    return ""


async def test_a_call_without_a_server_is_refused_before_anything_is_begun(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("OVERSTORY_TASK_RUNNER", "dask")

    with pytest.raises(ConfigurationError, match="needs a Prefect server: name it in PREFECT_API_URL"):
        await remember(["Anna Hofer leads Northstar."], "shared")

    assert (await datasets.status("shared")).documents == 0


def test_a_server_that_is_switched_off_is_none():
    orchestration = settings(PREFECT_API_URL="http://127.0.0.1:1/api", OVERSTORY_ORCHESTRATE="false").orchestration

    assert not orchestration.wanted


@needs_dask
@pytest.mark.parametrize(
    ("runner", "store", "has_server", "refusal"),
    [
        ("dask", "", True, "^$"),
        ("dask", "memory://here", True, "unset OVERSTORY_STORE_URL"),
        ("dask", "", False, "needs a Prefect server"),
        ("dask", "memory://here", False, "needs a Prefect server"),
        ("", "memory://here", False, "^$"),
    ],
)
def test_batches_are_shared_only_with_a_server_and_a_store_that_others_see(
    runner: str, store: str, has_server: bool, refusal: str
):
    given = settings(OVERSTORY_TASK_RUNNER=runner, OVERSTORY_STORE_URL=store)

    assert re.search(refusal, refusal_of(given, has_server=has_server))


@pytest.mark.skipif(find_spec("prefect_dask") is not None, reason="the extra `dask` is installed")
def test_without_the_package_its_extra_is_named():
    with pytest.raises(MissingPackageError, match=r"overstory\[dask\]"):
        check_task_runner(settings(), has_server=True)


def test_another_runner_is_refused_by_name():
    with pytest.raises(ConfigurationError, match="OVERSTORY_TASK_RUNNER='ray'"):
        settings(OVERSTORY_TASK_RUNNER="ray")
