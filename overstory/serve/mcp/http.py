"""The tools at one address of the HTTP server, behind the same entrance: keys, limits, refused pages of other sites."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from starlette.exceptions import HTTPException
from starlette.types import Receive, Scope, Send

from overstory.serve.jobs import Jobs
from overstory.serve.mcp.server import Client, Context, make_server


class Endpoint:
    """An ASGI application. Each request stands for itself: no session that another user could take over."""

    def __init__(self, jobs: Jobs, max_body_bytes: int) -> None:
        self._jobs, self._max_body_bytes = jobs, max_body_bytes
        self._manager: StreamableHTTPSessionManager | None = None

    @asynccontextmanager
    async def open(self) -> AsyncIterator[None]:
        """Answer as long as this is open."""
        server = make_server(_shown, self._jobs)
        self._manager = StreamableHTTPSessionManager(server, stateless=True, max_request_body_size=self._max_body_bytes)
        async with self._manager.run():
            yield

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["method"] != "POST":  # without sessions the server has nothing to say unasked
            raise HTTPException(405, "Ask with POST.", {"Allow": "POST"})
        assert self._manager is not None, "the application's lifespan has not begun"
        await self._manager.handle_request(scope, receive, send)


def _shown(context: Context) -> Client:
    """Who was let in."""
    assert context.request is not None
    state = context.request.state
    return Client(state.user, state.request_id, operator=False)
