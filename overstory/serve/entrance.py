"""What every request passes: an id, who asks, how often, how much, and the headers that keep the page safe."""

import asyncio
import re
from urllib.parse import urlsplit
from uuid import uuid4

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from overstory.access import DEFAULT_USER
from overstory.errors import ConfigurationError
from overstory.serve import problems
from overstory.serve.keys import KeyRing
from overstory.serve.limits import RateLimiter, limited, too_large
from overstory.serve.options import ServeOptions, is_loopback
from overstory.serve.views import Problem

API = "/v1/"
AGENTS = "/mcp"
METRICS = "/metrics"
_GUARDED = (AGENTS, METRICS)
"""What needs a key beside all that is below `API`."""
CONTENT_SECURITY_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
)
_HEADERS = {
    "Content-Security-Policy": CONTENT_SECURITY_POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}
_REQUEST_ID = re.compile(r"[A-Za-z0-9._-]{1,64}")
_WRONG_KEY = "This needs a key: send it as `Authorization: Bearer KEY`."


class Entrance:
    """Middleware in front of everything."""

    def __init__(self, app: ASGIApp, options: ServeOptions, keys: KeyRing) -> None:
        self._app, self._options, self._keys = app, options, keys
        self._limiter = RateLimiter(options.requests_per_minute)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        state = scope.setdefault("state", {})
        state["request_id"] = request_id = _request_id(headers)
        send = _with_headers(send, request_id, scope["path"])
        try:
            refused = await self._refuse(scope, headers, request_id)
        except ConfigurationError as error:
            refused = problems.problem_of(error, request_id)
        if refused is not None:
            more = {"WWW-Authenticate": "Bearer"} if refused.status == 401 else {}
            await problems.response(refused, more)(scope, receive, send)
            return
        await self._app(scope, limited(receive, self._options.max_body_bytes), send)

    async def _refuse(self, scope: Scope, headers: Headers, request_id: str) -> Problem | None:
        """Why a request goes no further; notes who asks when it does."""
        if not self._options.asks_for_key and (reason := _foreign(headers)):
            return problems.plain_problem(403, reason, request_id)
        user = await self._user(headers)
        wait = self._limiter.wait_seconds(f"user {user}" if user else f"address {(scope['client'] or ['?'])[0]}")
        if wait:
            data = {"retry_after_seconds": round(wait, 1)}
            return problems.plain_problem(429, "Too many requests: wait a moment.", request_id, data)
        if user is None and guarded(scope["path"]):
            return problems.plain_problem(401, _WRONG_KEY, request_id)
        length = headers.get("content-length", "0")
        if length.isdecimal() and int(length) > self._options.max_body_bytes:
            return problems.plain_problem(413, too_large(self._options.max_body_bytes).detail, request_id)
        scope["state"]["user"] = user or DEFAULT_USER
        return None

    async def _user(self, headers: Headers) -> str | None:
        """Who shows which key; the default user where none is asked for; None for a wrong or missing one."""
        scheme, _, key = headers.get("authorization", "").partition(" ")
        if scheme.lower() == "bearer":
            return await asyncio.to_thread(self._keys.user_of, key.strip())
        return None if self._options.asks_for_key else DEFAULT_USER


def guarded(path: str) -> bool:
    """Whether it is for those with a key, where keys are asked for."""
    return path.startswith(API) or path in _GUARDED


def _foreign(headers: Headers) -> str | None:
    """Where no key is asked for, a page of another site could ask in its visitor's name: it is refused."""
    host = headers.get("host", "")
    if not is_loopback(_name_of(f"//{host}")):
        return "This server answers to localhost only."
    origin = headers.get("origin")
    if origin is not None and urlsplit(origin).netloc != host:
        return "This server answers to its own page only."
    if headers.get("sec-fetch-site") in {"cross-site", "same-site"}:
        return "This server answers to its own page only."
    return None


def _name_of(address: str) -> str:
    try:
        return urlsplit(address).hostname or ""
    except ValueError:
        return ""


def _request_id(headers: Headers) -> str:
    given = headers.get("x-request-id", "")
    return given if _REQUEST_ID.fullmatch(given) else uuid4().hex


def _with_headers(send: Send, request_id: str, path: str) -> Send:
    async def send_some(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            headers["X-Request-ID"] = request_id
            headers.update(_HEADERS)
            headers.setdefault("Cache-Control", "no-store" if guarded(path) else "no-cache")
        await send(message)

    return send_some
