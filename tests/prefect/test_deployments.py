"""Deployments run by the API, as the UI does it, on one worker."""

import asyncio
from typing import Any

import pytest

from overstory import datasets, improve, remember
from overstory.models import Permission
from overstory.results import IndexStatus
from overstory.testing import ScriptedModelServer, refuse, slow
from tests.flows.conftest import notes
from tests.prefect_server import PrefectServer

pytestmark = pytest.mark.prefect


async def dataset_with_index(name: str, count: int = 16) -> None:
    await remember(notes(count), name)
    await improve(name, build_global_context_index=True)


async def ended(server: PrefectServer, run_id: str) -> dict[str, Any]:
    return await asyncio.to_thread(server.ended, run_id)


async def test_a_rebuild_publishes_the_next_generation_and_readers_see_no_other(
    deployed: PrefectServer, model: ScriptedModelServer
):
    await dataset_with_index("rebuilt")
    run_id = deployed.run("rebuild", dataset="rebuilt")

    finished = asyncio.create_task(ended(deployed, run_id))
    seen = []
    while not finished.done():
        seen.append((await datasets.status("rebuilt")).generation)
        assert await datasets.root_summary("rebuilt")
        await asyncio.sleep(0.2)
    seen.append((await datasets.status("rebuilt")).generation)

    run = await finished
    assert run["state"]["type"] == "COMPLETED", run["state"]
    assert run["name"] == "rebuild-rebuilt"
    assert seen == sorted(seen)
    assert set(seen) == {1, 2}
    assert await datasets.verify("rebuilt") == []
    assert "0 degraded" in deployed.logged(run_id, "summarise level 0", "written")


async def test_of_two_rebuilds_one_builds_and_one_is_told_while_another_dataset_goes_on(
    deployed: PrefectServer, model: ScriptedModelServer
):
    await dataset_with_index("twice")
    await dataset_with_index("other")
    model.when(slow(8), schema="AreaAnswer")

    runs = [deployed.run("rebuild", dataset=name) for name in ("twice", "twice", "other")]
    one, two, other = [await ended(deployed, run) for run in runs]

    states = {run["state"]["type"]: run["state"]["message"] for run in (one, two)}
    assert set(states) == {"COMPLETED", "FAILED"}
    assert "'twice' is being written by rebuild" in states["FAILED"]
    assert other["state"]["type"] == "COMPLETED"
    assert (await datasets.status("twice")).generation == 2


async def test_what_cannot_be_done_is_refused_in_the_words_of_the_form(deployed: PrefectServer):
    runs = {
        "dataset": deployed.run("rebuild", dataset="twise"),
        "source": deployed.run("remember", source="/no/such/folder", dataset="never"),
    }

    messages = {what: (await ended(deployed, run))["state"]["message"] for what, run in runs.items()}

    assert "There is no dataset 'twise'" in messages["dataset"]
    assert "source='/no/such/folder' is not allowed" in messages["source"]
    assert "max_bucket_size" in deployed.refusal("rebuild", max_bucket_size=1)
    assert "bucketing_strategy" in deployed.refusal("rebuild", bucketing_strategy="random")


async def test_the_background_does_enrichment_and_index_in_order(
    deployed: PrefectServer, model: ScriptedModelServer, monkeypatch: pytest.MonkeyPatch
):
    model.when(refuse(), schema="ChunkAnswer", text="Note 3:", times=1)
    await remember(notes(12), "later")

    found = await in_an_application(deployed, "later")

    run = await ended(deployed, found["run_id"])
    graph = deployed.graph(found["run_id"])
    status = await datasets.status("later")
    assert found["status"] == IndexStatus.STARTED
    assert found["run_url"].endswith(f"/runs/flow-run/{found['run_id']}")
    assert found["state"] in {"Scheduled", "Pending", "Late", "Running"}
    assert run["state"]["type"] == "COMPLETED", run["state"]
    assert "find what is incomplete" in graph
    assert (status.generation, status.pending, status.incomplete) == (1, 0, 0)


async def in_an_application(server: PrefectServer, dataset: str) -> dict[str, Any]:
    """Start an improvement in the background from a process of its own, and ask how it stands."""
    import json
    import sys

    program = f"""
import asyncio, json
from overstory import datasets, improve
async def main():
    index = (await improve({dataset!r}, build_global_context_index=True, run_in_background=True)).index
    status = await datasets.run_status(index.run_id)
    print(json.dumps({{"status": index.status, "run_id": index.run_id, "run_url": index.run_url, "state": status.state}}))
asyncio.run(main())
"""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", program, env=server.environment, stdout=asyncio.subprocess.PIPE
    )
    printed, _ = await process.communicate()
    return dict(json.loads(printed))


async def test_of_two_rebuilds_the_second_waits_when_it_is_told_to(deployed: PrefectServer, model: ScriptedModelServer):
    await dataset_with_index("queued")
    model.when(slow(2), schema="AreaAnswer")

    runs = [deployed.run("rebuild", dataset="queued", wait_seconds=120) for _ in range(2)]
    ends = [await ended(deployed, run) for run in runs]

    assert [run["state"]["type"] for run in ends] == ["COMPLETED", "COMPLETED"], ends
    assert (await datasets.status("queued")).generation == 3
    assert await datasets.verify("queued") == []


async def test_who_may_only_read_is_refused_in_one_line(deployed: PrefectServer, model: ScriptedModelServer):
    await dataset_with_index("read only")
    dataset_id = (await datasets.status("read only")).id
    await datasets.grant(dataset_id, "a reader", [Permission.READ])

    run = await ended(deployed, deployed.run("rebuild", dataset=str(dataset_id), user="a reader"))

    assert run["state"]["type"] == "FAILED"
    assert run["state"]["message"] == ("This user may not write the dataset 'read only': its owner can grant it.")


async def test_old_runs_are_counted_and_then_deleted_while_others_stay(
    deployed: PrefectServer, model: ScriptedModelServer
):
    old, new, strangers = [deployed.run("rebuild", dataset="no such one") for _ in range(3)]
    for run in (old, new, strangers):
        await ended(deployed, run)
    for run in (old, strangers):
        deployed.age(run)
    deployed.untag(strangers)

    counted = await ended(deployed, deployed.run("clean_up"))
    there = deployed.knows(old)
    deleted = await ended(deployed, deployed.run("clean_up", dry_run=False))

    assert "1 runs that ended before" in counted["state"]["message"]
    assert "would be deleted" in counted["state"]["message"]
    assert there
    assert deleted["state"]["message"].endswith("deleted")
    assert not deployed.knows(old)
    assert deployed.knows(new) and deployed.knows(strangers)
