"""The application: routes, errors, the page, and what is opened and closed with it."""

import logging
import shutil
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from importlib import metadata
from typing import TYPE_CHECKING, Any

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.openapi.utils import get_openapi
from fastapi.responses import JSONResponse, PlainTextResponse
from starlette.exceptions import HTTPException
from starlette.routing import Route

from overstory import telemetry
from overstory.errors import MissingPackageError, OverstoryError
from overstory.runtime import current_runtime
from overstory.serve import problems
from overstory.serve.context import Server, TheServer
from overstory.serve.entrance import AGENTS, METRICS, Entrance, guarded
from overstory.serve.keys import KeyRing
from overstory.serve.missing import NotInstalled
from overstory.serve.options import ServeOptions
from overstory.serve.routes import datasets, page, questions, trees, verbs
from overstory.serve.views import Problem
from overstory.serve.watching import Watch

if TYPE_CHECKING:
    from overstory.serve.mcp.http import Endpoint

logger = logging.getLogger(__name__)

_SECURITY = {"key": {"type": "http", "scheme": "bearer", "description": "`overstory serve keys add USER` makes one."}}


def make_app(options: ServeOptions) -> FastAPI:
    """The application of these options; it opens what the settings of the environment name."""
    server = Server(options=options, keys=KeyRing(options.keys_file))

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        shutil.rmtree(options.exports_folder, ignore_errors=True)  # of a server that was killed
        async with AsyncExitStack() as closers:  # each is ended, whatever of them fails
            telemetry.observe(server.metrics)  # before the store is opened, which is told of only then
            closers.callback(telemetry.leave, server.metrics)
            closers.push_async_callback(server.jobs.stop)
            await current_runtime()
            async with agents.open():
                yield

    app = FastAPI(
        title="Overstory",
        version=metadata.version("overstory"),
        docs_url=None,
        redoc_url=None,
        lifespan=lifespan,
        # its own spans hold addresses with their questions, its logs what forms said; `Watch` tells neither
        telemetry={"tracing": False, "logs": False},
    )
    app.state.server = server
    for module in (datasets, trees, verbs, questions):
        app.include_router(module.router)
    agents = _agents(server)
    app.router.routes.append(Route(AGENTS, agents, include_in_schema=False))
    app.add_api_route("/health", health, tags=["server"])
    app.add_api_route(METRICS, metrics, tags=["server"], response_class=PlainTextResponse)
    app.include_router(page.router)
    app.add_middleware(Entrance, options=options, keys=server.keys)
    app.add_middleware(Watch)
    _tell_errors(app)
    app.openapi = lambda: _described(app)  # type: ignore[method-assign]  # FastAPI's way to change it
    return app


def _agents(server: Server) -> "Endpoint | NotInstalled":
    """What answers agents, or tells which package is missing."""
    try:
        from overstory.serve.mcp.http import Endpoint
    except ModuleNotFoundError as error:
        return NotInstalled(MissingPackageError(error.name or "mcp", "mcp", "The Model Context Protocol"))
    return Endpoint(server.jobs, server.options.max_body_bytes)


async def health() -> JSONResponse:
    """Whether the server answers."""
    return JSONResponse({"status": "ok"})


async def metrics(server: TheServer) -> Response:
    """Counts, times, tokens and cost of this process, for Prometheus; of all users together."""
    return server.metrics.response()


def _tell_errors(app: FastAPI) -> None:
    @app.exception_handler(OverstoryError)
    async def of_the_library(request: Request, error: OverstoryError) -> Response:
        return problems.response(problems.problem_of(error, request.state.request_id))

    @app.exception_handler(RequestValidationError)
    async def of_the_form(request: Request, error: RequestValidationError) -> Response:
        found = [{"where": list(map(str, one["loc"])), "what": one["msg"]} for one in error.errors()]
        detail = "; ".join(f"{'.'.join(one['where'])}: {one['what']}" for one in found[:3])
        return problems.response(problems.plain_problem(422, detail, request.state.request_id, {"errors": found[:20]}))

    @app.exception_handler(HTTPException)
    async def of_the_request(request: Request, error: HTTPException) -> Response:
        problem = problems.plain_problem(error.status_code, str(error.detail), request.state.request_id)
        return problems.response(problem, error.headers)

    @app.exception_handler(Exception)
    async def not_foreseen(request: Request, error: Exception) -> Response:
        logger.error("Request %s failed with %s", request.state.request_id, type(error).__name__)
        detail = "This was not foreseen; the server's log says more under the request's id."
        return problems.response(problems.plain_problem(500, detail, request.state.request_id))


def _described(app: FastAPI) -> dict[str, Any]:
    """The OpenAPI document, in which every operation may end with a problem."""
    if app.openapi_schema:
        return app.openapi_schema
    described = get_openapi(title=app.title, version=app.version, routes=app.routes)
    components = described.setdefault("components", {})
    schemas = components.setdefault("schemas", {})
    schemas["Problem"] = Problem.model_json_schema(ref_template="#/components/schemas/{model}")
    for name in ("HTTPValidationError", "ValidationError"):
        schemas.pop(name, None)
    components["securitySchemes"] = _SECURITY
    told = {
        "description": "A problem",
        "content": {problems.MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}},
    }
    for path, operations in described["paths"].items():
        for operation in operations.values():
            operation["responses"].update({str(status): told for status in problems.STATUSES})
            if guarded(path):
                operation["security"] = [{"key": []}, {}]
    app.openapi_schema = described
    return described
