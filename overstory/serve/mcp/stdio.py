"""The tools over standard input and output, for a client that starts this process: it is whoever runs it."""

import asyncio
import contextlib
import logging
import signal
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast
from uuid import uuid4

from mcp.server.stdio import stdio_server

from overstory.access import DEFAULT_USER
from overstory.runtime import current_runtime
from overstory.serve.jobs import Jobs
from overstory.serve.mcp.folders import check_folders
from overstory.serve.mcp.lines import StandardInput
from overstory.serve.mcp.server import Client, Context, make_server

logger = logging.getLogger(__name__)


def run(folders: Sequence[Path] = ()) -> None:
    """Serve until the client closes its end, or a signal.

    Args:
        folders: what `remember` may read of this machine's files, nothing by default.

    Raises:
        InvalidOptionError: one of them is no folder.
    """
    allowed = check_folders(folders)
    with contextlib.suppress(KeyboardInterrupt):  # which is how one stops it
        asyncio.run(_serve(allowed))


async def _serve(folders: Sequence[Path]) -> None:
    serving = asyncio.current_task()
    assert serving is not None
    with contextlib.suppress(NotImplementedError):  # where the loop knows no signals, the process just ends
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, serving.cancel)
    jobs = Jobs()
    server = make_server(_operator, jobs, folders)
    await current_runtime()
    try:
        async with stdio_server(stdin=cast(Any, StandardInput())) as (incoming, outgoing):
            await server.run(incoming, outgoing, server.create_initialization_options())
    except asyncio.CancelledError:
        logger.info("Stopped by a signal")
    finally:
        await jobs.stop()


def _operator(_: Context) -> Client:
    return Client(DEFAULT_USER, uuid4().hex, operator=True)
