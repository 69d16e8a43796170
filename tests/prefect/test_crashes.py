"""Runs that are killed, cancelled, or lose their server in the middle."""

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest

from overstory import datasets, forget, improve, remember
from overstory.testing import ScriptedModelServer, refuse, slow
from tests.flows.conftest import notes
from tests.prefect.conftest import LONG
from tests.prefect_server import PrefectServer, wait_for

pytestmark = [pytest.mark.prefect, LONG]

HEARTBEAT_SECONDS = 30


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory, model_environment: dict[str, str]) -> Iterator[PrefectServer]:
    """A server of these tests alone: it is stopped, and its worker killed."""
    settings = {
        **model_environment,
        "LLM_MAX_CONCURRENCY": "4",
        "OVERSTORY_LEASE_SECONDS": "6",
        "OVERSTORY_BATCH_SIZE": "25",
    }
    running = PrefectServer(tmp_path_factory.mktemp("prefect"), settings)
    try:
        running.start()
        running.deploy(heartbeat_seconds=HEARTBEAT_SECONDS)
        yield running
    finally:
        running.stop()


@pytest.fixture
def working(own: PrefectServer, model: ScriptedModelServer, monkeypatch: pytest.MonkeyPatch) -> Iterator[PrefectServer]:
    monkeypatch.setenv("OVERSTORY_HOME", str(own.home))
    if own.worker is None:
        own.start_worker()
    yield own
    model.behave()


async def asked_for(model: ScriptedModelServer, calls: int) -> None:
    """Wait until so many texts were asked for."""
    await asyncio.to_thread(wait_for, lambda: len(model.chats) >= calls, seconds=120, what=f"{calls} calls")


async def ended(server: PrefectServer, run_id: str, seconds: float = 240) -> dict[str, Any]:
    return await asyncio.to_thread(server.ended, run_id, seconds)


async def test_after_a_kill_only_the_missing_buckets_are_called(working: PrefectServer, model: ScriptedModelServer):
    await remember(notes(750), "killed")
    whole = await calls_of_a_build("killed")
    model.forget()
    model.when(slow(0.2), schema="AreaAnswer")

    first = working.run("improve", dataset="killed")
    await asked_for(model, whole // 2)
    working.kill_flows()
    crashed = await ended(working, first)
    model.behave()
    again = await ended(working, working.run("improve", dataset="killed", wait_seconds=60))

    called_twice = len(model.chats) - whole
    assert whole >= 250
    assert crashed["state"]["type"] == "CRASHED"
    assert again["state"]["type"] == "COMPLETED", again["state"]
    assert 0 <= called_twice <= 4 + 1
    assert await datasets.verify("killed") == []


async def calls_of_a_build(name: str) -> int:
    preview = (await improve(name, build_global_context_index=True, preview=True)).preview
    assert preview is not None
    return preview.calls


async def test_a_cancelled_run_ends_soon_gives_the_dataset_back_and_can_be_resumed(
    working: PrefectServer, model: ScriptedModelServer
):
    await remember(notes(60), "cancelled")
    whole = await calls_of_a_build("cancelled")
    model.forget()
    model.when(slow(1), schema="AreaAnswer")
    first = working.run("improve", dataset="cancelled")
    await asked_for(model, 6)

    working.cancel(first)
    stopped = await ended(working, first)
    lease = (await datasets.status("cancelled")).held_by
    model.behave()
    again = await ended(working, working.run("improve", dataset="cancelled"))

    assert stopped["state"]["type"] == "CANCELLED"
    assert lease == ""
    assert again["state"]["type"] == "COMPLETED", again["state"]
    assert len(model.chats) <= whole + 5


async def test_a_server_that_is_started_anew_in_the_middle_does_not_fail_the_run(
    working: PrefectServer, model: ScriptedModelServer
):
    await remember(notes(60), "restarted")
    model.forget()
    model.when(slow(2), schema="AreaAnswer")
    run_id = working.run("improve", dataset="restarted")
    await asked_for(model, 4)

    await asyncio.to_thread(working.stop_server)
    await asyncio.to_thread(working.start)
    run = await ended(working, run_id)

    assert run["state"]["type"] == "COMPLETED", run["state"]
    assert (await datasets.status("restarted")).generation == 1


async def test_every_dataset_with_something_to_do_is_improved_and_one_that_fails_does_not_stop_the_rest(
    working: PrefectServer, model: ScriptedModelServer, monkeypatch: pytest.MonkeyPatch
):
    for i in range(12):
        await remember(notes(4, first=1000 + 100 * i), f"tenant-{i}")
        if i % 3 == 0:
            await improve(f"tenant-{i}", build_global_context_index=True)
    await forget("tenant-4")
    with monkeypatch.context() as other:
        other.setenv("EMBEDDING_DIMENSIONS", "128")
        await remember(notes(4), "tenant-4")
    model.when(refuse(), schema="AreaAnswer", text="Note 1500")

    run = await ended(working, working.run("improve_all", at_once=2))

    children = {child["name"]: child["state"] for child in working.children_of(run["id"])}
    ours = {name: state for name, state in children.items() if "tenant" in name}
    assert set(ours) == {f"improve-tenant-{i}" for i in range(12) if i % 3}
    assert ours["improve-tenant-4"]["type"] == "FAILED"
    assert ours["improve-tenant-5"]["name"] == "CompletedWithErrors", ours["improve-tenant-5"]
    assert sum(state["name"] == "Completed" for state in ours.values()) == 6
    assert run["state"]["name"] == "CompletedWithErrors"
    assert "tenant-4" in run["state"]["message"]


async def test_when_worker_and_run_are_gone_the_automation_ends_the_run_and_the_next_one_takes_over(
    working: PrefectServer, model: ScriptedModelServer
):
    await remember(notes(60), "orphaned")
    model.forget()
    model.when(slow(1), schema="AreaAnswer")
    run_id = working.run("improve", dataset="orphaned")
    await asked_for(model, 6)

    working.kill_worker()
    run = await ended(working, run_id, seconds=6 * HEARTBEAT_SECONDS)
    model.behave()
    working.start_worker()
    again = await ended(working, working.run("improve", dataset="orphaned", wait_seconds=60))

    assert run["state"]["type"] == "CRASHED"
    assert "No heartbeat" in run["state"]["message"]
    assert again["state"]["type"] == "COMPLETED", again["state"]
