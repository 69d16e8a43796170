"""What only a server has to say: that something is not there."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from starlette.types import Receive, Scope, Send

from overstory.errors import MissingPackageError, UsageError


class NotThereError(UsageError):
    """What a request names is not there."""


class NotInstalled:
    """In the place of an ASGI application whose package is missing: says so to whoever asks for it."""

    def __init__(self, error: MissingPackageError) -> None:
        self._error = error

    @asynccontextmanager
    async def open(self) -> AsyncIterator[None]:
        yield

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        raise self._error
