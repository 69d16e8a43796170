"""When batches may be shared by other processes, and what is said when they may not."""

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


async def test_a_call_without_a_server_is_refused_before_anything_is_begun(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("OVERSTORY_TASK_RUNNER", "dask")

    with pytest.raises(ConfigurationError, match="needs a Prefect server: name it in PREFECT_API_URL"):
        await remember(["Anna Hofer leads Northstar."], "shared")

    assert (await datasets.status("shared")).documents == 0


def test_a_server_that_is_switched_off_is_none():
    orchestration = settings(PREFECT_API_URL="http://127.0.0.1:1/api", OVERSTORY_ORCHESTRATE="false").orchestration

    assert not orchestration.wanted


@needs_dask
def test_a_store_that_only_this_process_sees_is_refused():
    with pytest.raises(ConfigurationError, match="unset OVERSTORY_STORE_URL"):
        check_task_runner(settings(OVERSTORY_STORE_URL="memory://here"), has_server=True)


@needs_dask
def test_with_a_server_and_a_store_on_disk_batches_may_be_shared():
    check_task_runner(settings(), has_server=True)


@pytest.mark.skipif(find_spec("prefect_dask") is not None, reason="the extra `dask` is installed")
def test_without_the_package_its_extra_is_named():
    with pytest.raises(MissingPackageError, match=r"overstory\[dask\]"):
        check_task_runner(settings(), has_server=True)


def test_another_runner_is_refused_by_name():
    with pytest.raises(ConfigurationError, match="OVERSTORY_TASK_RUNNER='ray'"):
        settings(OVERSTORY_TASK_RUNNER="ray")
