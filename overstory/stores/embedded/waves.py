"""Reads in a thread: those that are asked for at the same time go in one, and in one transaction.

Handing work to a thread and its result back costs more than most reads take, and threads that run Python wait for
each other. So what one wave of a recall reads is one job.
"""

import asyncio
import weakref
from collections.abc import Callable
from contextlib import AbstractContextManager
from itertools import groupby
from operator import attrgetter
from typing import Any, NamedTuple, TypeAlias, TypeVar

import apsw

T = TypeVar("T")
Reading: TypeAlias = Callable[[], AbstractContextManager[apsw.Connection]]
"""Opens a transaction that only reads; one object for each file."""
_QUIET_TURNS = 2
"""A wave starts tasks that start tasks, each a turn of the loop later."""
_Outcome: TypeAlias = tuple[Any, BaseException | None]


class _Job(NamedTuple):
    reading: Reading
    function: Callable[[apsw.Connection], Any]
    result: "asyncio.Future[Any]"


class ReadingThread:
    """Runs in one thread, one after another, the reads that are asked for in the same turns of an event loop."""

    def __init__(self) -> None:
        self._waiting: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, list[_Job]] = weakref.WeakKeyDictionary()

    async def run(self, reading: Reading, function: Callable[[apsw.Connection], T]) -> T:
        """What the function returns or raises, given a connection."""
        loop = asyncio.get_running_loop()
        result: asyncio.Future[T] = loop.create_future()
        waiting = self._waiting.setdefault(loop, [])
        waiting.append(_Job(reading, function, result))
        if len(waiting) == 1:
            loop.call_soon(self._send, loop, 1, 0)
        return await result

    def _send(self, loop: asyncio.AbstractEventLoop, known: int, quiet: int) -> None:
        """Start what is waiting, once some turns of the loop have added nothing to it."""
        jobs = self._waiting[loop]
        quiet = quiet + 1 if len(jobs) == known else 0
        if quiet < _QUIET_TURNS:
            loop.call_soon(self._send, loop, len(jobs), quiet)
            return
        self._waiting[loop] = []
        try:
            started = loop.run_in_executor(None, _run, jobs)
        except RuntimeError as closing:  # the threads of the loop have ended
            _deliver(jobs, [(None, closing)] * len(jobs))
        else:
            started.add_done_callback(lambda done: _deliver(jobs, done.result()))


def _run(jobs: list[_Job]) -> list[_Outcome]:
    outcomes: list[_Outcome] = []
    for reading, group in groupby(jobs, key=attrgetter("reading")):
        outcomes += _run_together(reading, [job.function for job in group])
    return outcomes


def _run_together(reading: Reading, functions: list[Callable[[apsw.Connection], Any]]) -> list[_Outcome]:
    """In one transaction; after one that fails the others get another."""
    outcomes: list[_Outcome] = []
    while len(outcomes) < len(functions):
        try:
            with reading() as connection:
                for function in functions[len(outcomes) :]:
                    outcomes.append((function(connection), None))
        except BaseException as error:  # noqa: BLE001 - it goes to the one who asked
            outcomes = [*outcomes[: len(functions) - 1], (None, error)]
    return outcomes


def _deliver(jobs: list[_Job], outcomes: list[_Outcome]) -> None:
    for job, (value, error) in zip(jobs, outcomes, strict=True):
        if job.result.done():  # whoever asked was cancelled
            continue
        if error is None:
            job.result.set_result(value)
        else:
            job.result.set_exception(error)
