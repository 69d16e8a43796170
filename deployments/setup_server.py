"""Prepare a Prefect server for Overstory: work pool, its limit, and the automation that ends dead runs.

    PREFECT_API_URL=http://127.0.0.1:4200/api python deployments/setup_server.py

Safe to run again: what is there is brought to what stands here.
"""

import argparse
import asyncio
import os
from collections.abc import Sequence
from datetime import timedelta

os.environ.setdefault("DO_NOT_TRACK", "1")

from prefect import get_client
from prefect.automations import Automation
from prefect.client.orchestration import PrefectClient
from prefect.client.schemas.actions import WorkPoolCreate, WorkPoolUpdate
from prefect.client.schemas.objects import StateType
from prefect.events.actions import ChangeFlowRunState
from prefect.events.schemas.automations import EventTrigger, Posture
from prefect.events.schemas.events import ResourceSpecification
from prefect.exceptions import ObjectNotFound

POOL = "overstory"
TAG = "overstory"
"""Of every run of ours; those of others are left alone."""
ZOMBIES = "Overstory: end runs whose process is gone"
HEARTBEAT_SECONDS = 30
"""As `prefect.yaml` sets it for every run."""
MISSED_HEARTBEATS = 3
END_STATES = ("Completed", "CompletedWithErrors", "Failed", "Crashed", "Cancelled", "TimedOut")


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="Prepare a Prefect server for Overstory; safe to run again.")
    parser.add_argument("--pool", default=POOL, help="name of the work pool")
    parser.add_argument("--runs-at-once", type=int, default=4, help="how many runs the pool lets go on at once")
    parser.add_argument("--heartbeat-seconds", type=int, default=HEARTBEAT_SECONDS, help="as set for the flow runs")
    given = parser.parse_args(arguments)
    asyncio.run(set_up(given.pool, given.runs_at_once, given.heartbeat_seconds))


async def set_up(pool: str, runs_at_once: int, heartbeat_seconds: int) -> None:
    async with get_client() as client:
        print(f"Work pool {pool!r}: {await _ensure_pool(client, pool, runs_at_once)}")
    print(f"Automation {ZOMBIES!r}: {await _ensure_automation(_zombies(heartbeat_seconds))}")


async def _ensure_pool(client: PrefectClient, name: str, limit: int) -> str:
    try:
        pool = await client.read_work_pool(name)
    except ObjectNotFound:
        await client.create_work_pool(WorkPoolCreate(name=name, type="process", concurrency_limit=limit))
        return "created"
    if pool.concurrency_limit == limit:
        return "unchanged"
    await client.update_work_pool(name, WorkPoolUpdate(concurrency_limit=limit))
    return "updated"


def _zombies(heartbeat_seconds: int) -> Automation:
    """A run of ours that stops sending heartbeats without having ended is marked as crashed."""
    heartbeat = "prefect.flow-run.heartbeat"
    return Automation(
        name=ZOMBIES,
        description=f"No heartbeat for {MISSED_HEARTBEATS * heartbeat_seconds} s: worker and process are gone.",
        trigger=EventTrigger(
            after={heartbeat},
            expect={heartbeat, *(f"prefect.flow-run.{state}" for state in END_STATES)},
            match=ResourceSpecification({"prefect.resource.id": ["prefect.flow-run.*"]}),
            match_related=ResourceSpecification(
                {"prefect.resource.id": [f"prefect.tag.{TAG}"], "prefect.resource.role": ["tag"]}
            ),
            for_each={"prefect.resource.id"},
            posture=Posture.Proactive,
            threshold=1,
            within=timedelta(seconds=MISSED_HEARTBEATS * heartbeat_seconds),
        ),
        actions=[
            ChangeFlowRunState(state=StateType.CRASHED, message="No heartbeat: the process is gone. Run it again.")
        ],
    )


async def _ensure_automation(wanted: Automation) -> str:
    try:
        found = await Automation.aread(name=wanted.name)
    except ValueError:
        await wanted.acreate()
        return "created"
    wanted.id = found.id
    await wanted.aupdate()
    return "updated"


if __name__ == "__main__":
    main()
