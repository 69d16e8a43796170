"""clean_up: drop old runs of ours from the Prefect server, whose database grows with every task run."""

import logging
from datetime import UTC, timedelta
from typing import Annotated, Any

from prefect import State, flow, get_client
from prefect.client.orchestration import PrefectClient
from prefect.client.schemas.filters import (
    FlowFilter,
    FlowFilterName,
    FlowRunFilter,
    FlowRunFilterEndTime,
    FlowRunFilterTags,
)
from prefect.client.schemas.objects import FlowRun
from prefect.states import Completed
from prefect.types import DateTime
from pydantic import Field

from overstory.layout import tasks

logger = logging.getLogger(__name__)

OURS = ("remember", "improve", "improve_all", "global_context_index_pipeline", "rebuild", "forget", "clean_up")
_PAGE = 200


@flow(name="clean_up", flow_run_name="clean-up", persist_result=False)
async def clean_up(older_than_days: Annotated[int, Field(ge=1, le=3_650)] = 30, dry_run: bool = True) -> State[Any]:
    """Delete old runs of Overstory's flows, with their task runs and logs, from the Prefect server. No data is touched.

    Args:
        older_than_days: Runs with the tag overstory that ended longer ago than this.
        dry_run: Only count them.
    """
    before = DateTime.now(UTC) - timedelta(days=older_than_days)
    async with get_client() as client:
        old = await _ended_before(client, before)
        for run in () if dry_run else old:
            await client.delete_flow_run(run.id)
    verb = "would be deleted" if dry_run else "deleted"
    logger.info("%d runs that ended before %s %s", len(old), before, verb)
    return Completed(message=f"{len(old)} runs that ended before {before:%Y-%m-%d} {verb}")


async def _ended_before(client: PrefectClient, before: DateTime) -> list[FlowRun]:
    found: list[FlowRun] = []
    while True:
        page = await client.read_flow_runs(
            flow_filter=FlowFilter(name=FlowFilterName(any_=list(OURS))),
            flow_run_filter=FlowRunFilter(
                end_time=FlowRunFilterEndTime(before_=before), tags=FlowRunFilterTags(all_=[tasks.policies.TAG])
            ),
            limit=_PAGE,
            offset=len(found),
        )
        found += page
        if len(page) < _PAGE:
            return found
