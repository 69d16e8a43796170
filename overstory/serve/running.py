"""Running the server until it is told to stop."""

import asyncio
import contextlib
import socket
from collections.abc import Callable

import uvicorn

from overstory.errors import ConfigurationError
from overstory.serve.app import make_app
from overstory.serve.options import ServeOptions

_GRACE_SECONDS = 10
_HEAD_BYTES = 1 << 20
"""The longest head of a request: what options in an address may take at most fits in."""


def run(options: ServeOptions, ready: Callable[[str], None]) -> None:
    """Serve until a signal.

    Args:
        ready: told the address as soon as the server answers.

    Raises:
        ConfigurationError: the address can't be taken.
    """
    bound = _bind(options)
    config = uvicorn.Config(
        make_app(options),
        log_level="warning",
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=_GRACE_SECONDS,
        limit_concurrency=512,
        h11_max_incomplete_event_size=_HEAD_BYTES,
    )
    with contextlib.suppress(KeyboardInterrupt):  # which is how one stops it
        asyncio.run(_serve(uvicorn.Server(config), bound, options, ready))


async def _serve(
    server: uvicorn.Server, bound: socket.socket, options: ServeOptions, ready: Callable[[str], None]
) -> None:
    serving = asyncio.create_task(server.serve(sockets=[bound]))
    while not server.started and not serving.done():  # noqa: ASYNC110 - uvicorn tells nobody when it has started
        await asyncio.sleep(0.02)
    if server.started:
        ready(_url(options.host, bound.getsockname()[1]))
    await serving


def _bind(options: ServeOptions) -> socket.socket:
    family = socket.AF_INET6 if ":" in options.host else socket.AF_INET
    bound = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)  # named, or asyncio leaves Nagle's delay on
    try:
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.bind((options.host.strip("[]"), options.port))
    except OSError as error:
        bound.close()
        place = f"{options.host}:{options.port}"
        raise ConfigurationError(
            f"{place} can't be listened to ({error.strerror}): choose --host or --port."
        ) from error
    return bound


def _url(host: str, port: int) -> str:
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
