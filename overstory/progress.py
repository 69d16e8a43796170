"""How work tells whoever watches how far it is: a terminal, a Prefect run, or nobody."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Protocol


class Watcher(Protocol):
    """Told of progress; must return at once and never raise."""

    def begin(self, stage: str, total: int) -> None:
        """A stage with so many steps begins (or its total is now known)."""
        ...

    def advance(self, stage: str, done: int = 1, **counts: int) -> None:
        """So many more steps of a stage are done; `counts` add up by name (reused=3, degraded=1)."""
        ...

    def end(self, stage: str) -> None: ...


class Silent:
    def begin(self, stage: str, total: int) -> None:
        pass

    def advance(self, stage: str, done: int = 1, **counts: int) -> None:
        pass

    def end(self, stage: str) -> None:
        pass


_watcher: ContextVar[Watcher | None] = ContextVar("watcher", default=None)
_nobody = Silent()


def watcher() -> Watcher:
    """Whoever watches the current task."""
    return _watcher.get() or _nobody


@contextmanager
def watched_by(new: Watcher) -> Iterator[None]:
    """Let someone watch what runs inside."""
    token = _watcher.set(new)
    try:
        yield
    finally:
        _watcher.reset(token)
