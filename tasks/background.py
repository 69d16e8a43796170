"""Handing work to a deployment on the Prefect server, and asking how it stands. Imports Prefect when called."""

from dataclasses import dataclass
from typing import Any
from uuid import UUID

from overstory.errors import ConfigurationError, UsageError
from overstory.results import RunStatus
from overstory.runtime import current_runtime

from .policies import check_prefect


@dataclass(frozen=True, slots=True)
class Started:
    run_id: str
    run_url: str


async def start(flow: str, parameters: dict[str, Any]) -> Started:
    """Start the deployment of a flow and return at once.

    Raises:
        OrchestratorUnavailableError: the server does not answer.
        ConfigurationError: it has no such deployment.
    """
    check_prefect()
    from prefect.deployments import arun_deployment
    from prefect.exceptions import ObjectNotFound
    from prefect.utilities.urls import url_for

    from .prefect_flows import check_server, server_of

    name = f"{flow}/{flow.replace('_', '-')}"
    with server_of((await current_runtime()).settings.orchestration):
        await check_server()
        try:
            run = await arun_deployment(name, parameters=parameters, timeout=0, as_subflow=False)
        except ObjectNotFound as error:
            raise ConfigurationError(
                f"The Prefect server has no deployment {name!r}: create it with `prefect deploy --all`."
            ) from error
        return Started(str(run.id), url_for(run) or "")


async def run_status(run_id: str | UUID) -> RunStatus:
    """How a flow run stands.

    Raises:
        OrchestratorUnavailableError: the server does not answer.
        UsageError: it knows no such run.
    """
    check_prefect()
    from prefect import get_client
    from prefect.exceptions import ObjectNotFound
    from prefect.utilities.urls import url_for

    from .prefect_flows import check_server, server_of

    with server_of((await current_runtime()).settings.orchestration):
        await check_server()
        try:
            async with get_client() as client:
                run = await client.read_flow_run(UUID(str(run_id)))
        except (ObjectNotFound, ValueError) as error:
            raise UsageError(f"The Prefect server knows no run {str(run_id)!r}.") from error
        url = url_for(run) or ""
    return RunStatus(
        run_id=str(run.id),
        name=run.name,
        state=run.state.name or "" if run.state else "",
        message=run.state.message or "" if run.state else "",
        ended=bool(run.state and run.state.is_final()),
        started_at=run.start_time,
        ended_at=run.end_time,
        run_url=url,
    )
