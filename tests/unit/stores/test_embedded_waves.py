"""Reads that are asked for at the same time share a thread and a transaction, and nothing else."""

import asyncio
import threading
from contextlib import contextmanager

import pytest

from overstory.stores.embedded.waves import ReadingThread


class Transactions:
    """Counts how often one was opened, and in which threads."""

    def __init__(self):
        self.opened, self.threads = 0, set()

    @contextmanager
    def reading(self):
        self.opened += 1
        self.threads.add(threading.get_ident())
        yield self.opened


async def nested(thread, reading, function, turns):
    """A read that starts some turns of the loop later, as in a task of a task."""
    if not turns:
        return await thread.run(reading, function)
    return await asyncio.create_task(nested(thread, reading, function, turns - 1))


async def test_reads_of_one_wave_share_a_transaction():
    thread, file = ReadingThread(), Transactions()
    reading = file.reading

    found = await asyncio.gather(*[nested(thread, reading, lambda c, n=n: (n, c), n) for n in range(3)])

    assert found == [(0, 1), (1, 1), (2, 1)]
    assert len(file.threads) == 1
    assert file.threads != {threading.get_ident()}


async def test_reads_of_several_files_and_of_later_waves_have_transactions_of_their_own():
    thread, one, two = ReadingThread(), Transactions(), Transactions()
    first, second = one.reading, two.reading

    found = await asyncio.gather(*[thread.run(reading, lambda c: c) for reading in (first, first, second)])
    later = await thread.run(first, lambda c: c)

    assert (found, later) == ([1, 1, 1], 2)
    assert (one.opened, two.opened) == (2, 1)


async def test_one_that_fails_costs_the_others_nothing():
    thread, file = ReadingThread(), Transactions()
    reading = file.reading

    found = await asyncio.gather(
        *[thread.run(reading, function) for function in (lambda c: c, lambda c: c / 0, lambda c: c + 10)],
        return_exceptions=True,
    )

    assert (found[0], type(found[1]), found[2]) == (1, ZeroDivisionError, 12)


async def test_what_can_not_be_opened_fails_for_each():
    thread = ReadingThread()

    @contextmanager
    def gone():
        raise FileNotFoundError("no such file")
        yield

    found = await asyncio.gather(*[thread.run(gone, lambda c: c) for _ in range(2)], return_exceptions=True)

    assert list(map(str, found)) == ["no such file"] * 2


async def test_a_failure_at_the_end_of_the_transaction_is_told():
    @contextmanager
    def breaking():
        yield 1
        raise OSError("the disk went away")

    with pytest.raises(OSError, match="the disk went away"):
        await ReadingThread().run(breaking, lambda c: c)


async def test_who_is_cancelled_does_not_keep_the_others_waiting():
    thread, file, go_on = ReadingThread(), Transactions(), threading.Event()
    reading = file.reading
    slow = asyncio.create_task(thread.run(reading, lambda c: go_on.wait(30)))
    other = asyncio.create_task(thread.run(reading, lambda c: c))
    while not file.opened:
        await asyncio.sleep(0.001)

    slow.cancel()
    go_on.set()

    assert await other == 1
    with pytest.raises(asyncio.CancelledError):
        await slow


def test_every_event_loop_has_its_own_waves():
    thread, file = ReadingThread(), Transactions()
    reading = file.reading

    found = [asyncio.run(thread.run(reading, lambda c: c)) for _ in range(2)]

    assert found == [1, 2]


async def test_threads_that_have_ended_are_an_error_not_a_wait():
    thread, file = ReadingThread(), Transactions()
    await asyncio.get_running_loop().shutdown_default_executor()

    with pytest.raises(RuntimeError):
        await thread.run(file.reading, lambda c: c)
