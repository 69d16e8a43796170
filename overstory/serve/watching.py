"""Tells of each request, to whoever observes: how it was asked, by which route, and how it ended. Never what it said."""

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from overstory import telemetry
from overstory.serve import problems
from overstory.serve.entrance import AGENTS
from overstory.telemetry import Kind

_METHODS = {"GET", "POST", "HEAD", "PUT", "PATCH", "DELETE", "OPTIONS"}
_OTHER = "other"


class Watch:
    """Middleware around everything."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or not telemetry.observed():
            await self._app(scope, receive, send)
            return
        method = scope["method"] if scope["method"] in _METHODS else _OTHER
        with telemetry.operation(
            Kind.REQUEST, method, method=method, route=_OTHER, caller=Headers(scope=scope)
        ) as told:

            async def send_some(message: Message) -> None:
                if message["type"] == "http.response.start":
                    told.note(status=message["status"])
                await send(message)

            try:
                await self._app(scope, receive, send_some)
            except Exception:  # answered outside of this
                told.note(status=500)
                raise
            finally:
                told.note(route=_route(scope), code=problems.code_of(scope))


def _route(scope: Scope) -> str:
    """The route's own form, without what a request has put into it; one name for all that have none."""
    path: str | None = getattr(scope.get("route"), "path", None)
    return path or (AGENTS if scope["path"] == AGENTS else _OTHER)
