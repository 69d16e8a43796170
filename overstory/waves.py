"""Store and model calls that don't need each other run at once, as one wave."""

import asyncio
from collections.abc import AsyncIterator, Coroutine, Iterable
from contextlib import asynccontextmanager
from typing import Any, TypeVar

T = TypeVar("T")


@asynccontextmanager
async def wave() -> AsyncIterator[asyncio.TaskGroup]:
    """A task group whose first error comes out as itself; the others are cancelled before it does."""
    try:
        async with asyncio.TaskGroup() as group:
            yield group
    except BaseExceptionGroup as failures:
        raise _first(failures) from None


async def together(work: Iterable[Coroutine[Any, Any, T]]) -> list[T]:
    """The results of all, in their order; of the first error, that error."""
    async with wave() as group:
        tasks = [group.create_task(one) for one in work]
    return [task.result() for task in tasks]


def _first(failure: BaseException) -> BaseException:
    return _first(failure.exceptions[0]) if isinstance(failure, BaseExceptionGroup) else failure
