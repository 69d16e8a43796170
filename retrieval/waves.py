"""Store and model calls that don't need each other run at once, as one wave."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager


@asynccontextmanager
async def wave() -> AsyncIterator[asyncio.TaskGroup]:
    """A task group whose first error comes out as itself; the others are cancelled before it does."""
    try:
        async with asyncio.TaskGroup() as group:
            yield group
    except BaseExceptionGroup as failures:
        raise _first(failures) from None


def _first(failure: BaseException) -> BaseException:
    return _first(failure.exceptions[0]) if isinstance(failure, BaseExceptionGroup) else failure
