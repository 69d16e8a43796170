"""What a route works with: who asks, and what the server holds."""

from dataclasses import dataclass, field
from typing import Annotated
from uuid import UUID

from fastapi import Depends, Path, Query, Request

from overstory.runtime import Runtime, current_runtime
from overstory.serve.jobs import Jobs
from overstory.serve.keys import KeyRing
from overstory.serve.looking import Look, look
from overstory.serve.metrics import Metrics
from overstory.serve.options import ServeOptions


@dataclass(slots=True, kw_only=True)
class Server:
    options: ServeOptions
    keys: KeyRing
    jobs: Jobs = field(default_factory=Jobs)
    metrics: Metrics = field(default_factory=Metrics)


@dataclass(frozen=True, slots=True)
class Caller:
    """Who asks."""

    user: str
    request_id: str


def the_server(request: Request) -> Server:
    server: Server = request.app.state.server
    return server


def the_caller(request: Request) -> Caller:
    return Caller(request.state.user, request.state.request_id)


async def the_runtime() -> Runtime:
    return await current_runtime()


TheServer = Annotated[Server, Depends(the_server)]
TheCaller = Annotated[Caller, Depends(the_caller)]
TheRuntime = Annotated[Runtime, Depends(the_runtime)]
DatasetName = Annotated[str, Path(min_length=1, max_length=300, description="Name or id; by id where a name has a /.")]
NodeId = Annotated[UUID, Path(description="Of the root, an area or a summary.")]
GenerationNumber = Annotated[int | None, Query(ge=0, le=2**31 - 1, description="A kept one; the served one if unset.")]


async def the_look(
    runtime: TheRuntime, caller: TheCaller, dataset: DatasetName, generation: GenerationNumber = None
) -> Look:
    return await look(runtime, dataset, caller.user, generation)


TheLook = Annotated[Look, Depends(the_look)]
