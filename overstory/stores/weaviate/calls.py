"""Every call of the server passes here: with a deadline of ours, and errors of ours."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypeVar

from overstory.errors import StoreUnavailableError
from overstory.stores.weaviate.faults import FOREIGN, fault

T = TypeVar("T")

_FIRST_PAUSE, _LONGEST_PAUSE = 0.1, 2.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Patience:
    """How long a call may take, all its tries together."""

    read_seconds: float = 10
    write_seconds: float = 60
    """Long enough for a server that is being started again."""


async def once(place: str, seconds: float, call: Callable[[], Awaitable[T]]) -> T:
    """Call the server.

    Raises:
        StoreError, ConfigurationError, DatasetNotFoundError: see `fault`; the cause is kept.
    """
    try:
        async with asyncio.timeout(seconds):
            return await call()
    except FOREIGN as error:
        raise fault(error, place) from error


async def insisting(place: str, seconds: float, call: Callable[[], Awaitable[T]]) -> T:
    """Call the server, again where it was not available, until so many seconds have passed.

    For what may be done twice without harm.
    """
    deadline, pause = time.monotonic() + seconds, _FIRST_PAUSE
    while True:
        left = deadline - time.monotonic()
        try:
            return await once(place, left, call)
        except StoreUnavailableError:
            if time.monotonic() + pause >= deadline:
                raise
        await asyncio.sleep(pause)
        pause = min(2 * pause, _LONGEST_PAUSE)
