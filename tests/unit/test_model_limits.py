"""Calls in flight shrink and recover; failed ones come back as long as the policy allows."""

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from overstory.errors import ModelAccessError, ModelOutputError, ModelOverloadedError, ModelUnavailableError
from overstory.model_limits import AdaptiveLimiter, RetryPolicy, limiter_for, with_retries
from overstory.models import Usage

SOON = RetryPolicy(attempts=3, first_delay_seconds=0.001)


def failing(*outcomes):
    """A call with these outcomes, one after the other; the last one for ever."""
    left = list(outcomes)
    calls = []

    async def call():
        calls.append(1)
        outcome = left.pop(0) if len(left) > 1 else left[0]
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    call.calls = calls
    return call


async def test_no_more_calls_run_than_allowed():
    limiter = AdaptiveLimiter(3)
    running, most = 0, 0

    async def call():
        nonlocal running, most
        running += 1
        most = max(most, running)
        await asyncio.sleep(0)
        running -= 1

    await asyncio.gather(*(with_retries(call, limiter, SOON, Usage()) for _ in range(20)))

    assert most == 3
    assert limiter.in_flight == 0


async def test_overload_halves_the_limit_once_a_round_and_success_brings_it_back():
    limiter = AdaptiveLimiter(16)
    rounds = [await limiter.acquire() for _ in range(16)]

    for began in rounds:
        limiter.shrink(began)
        limiter.release()
    halved = limiter.allowed
    for _ in range(200):
        limiter.grow()

    assert halved == 8
    assert limiter.allowed == 16


async def test_the_limit_never_falls_below_one():
    limiter = AdaptiveLimiter(2)

    for _ in range(9):
        limiter.shrink(await limiter.acquire())
        limiter.release()

    assert limiter.allowed == 1


async def test_a_cancelled_waiter_gives_its_place_to_the_next():
    limiter = AdaptiveLimiter(1)
    await limiter.acquire()
    first, second = (asyncio.create_task(limiter.acquire()) for _ in range(2))
    await asyncio.sleep(0)

    first.cancel()
    limiter.release()
    await second

    assert limiter.in_flight == 1


async def test_a_waiter_cancelled_just_after_its_turn_came_loses_no_place():
    limiter = AdaptiveLimiter(1)
    await limiter.acquire()
    first, second = (asyncio.create_task(limiter.acquire()) for _ in range(2))
    await asyncio.sleep(0)

    limiter.release()
    first.cancel()
    await second

    assert limiter.in_flight == 1


@given(st.lists(st.sampled_from(["ok", "overloaded", "cancel"]), max_size=30), st.integers(1, 4))
def test_no_place_is_ever_lost(outcomes, maximum):
    async def main():
        limiter = AdaptiveLimiter(maximum)

        async def call(outcome):
            await asyncio.sleep(0)
            if outcome == "overloaded":
                raise ModelOverloadedError("m", "busy")

        once = RetryPolicy(attempts=1, first_delay_seconds=0)
        tasks = [asyncio.create_task(with_retries(lambda o=o: call(o), limiter, once, Usage())) for o in outcomes]
        await asyncio.sleep(0)
        for task, outcome in zip(tasks, outcomes, strict=True):
            if outcome == "cancel":
                task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        return limiter

    limiter = asyncio.run(main())

    assert limiter.in_flight == 0
    assert 1 <= limiter.allowed <= maximum


async def test_one_service_has_one_limiter_and_the_newest_setting_holds():
    first = limiter_for("chat here", 4)

    again = limiter_for("chat here", 8)

    assert again is first
    assert again.allowed == 8
    assert limiter_for("chat there", 4) is not first


async def test_a_failed_call_comes_back_and_is_counted():
    usage = Usage()
    call = failing(ModelUnavailableError("m", "down"), ModelOverloadedError("m", "busy"), "done")

    assert await with_retries(call, AdaptiveLimiter(4), SOON, usage) == "done"
    assert usage.retries == 2


@pytest.mark.parametrize(
    ("error", "tries"),
    [
        (ModelUnavailableError("m", "down"), 3),
        (ModelOverloadedError("m", "busy", 0.001), 6),
        (ModelAccessError("m", "no key"), 1),
        (ModelOutputError("m", "empty"), 1),
    ],
)
async def test_tries_are_bounded_by_kind(error, tries):
    call = failing(error)

    with pytest.raises(type(error)):
        await with_retries(call, AdaptiveLimiter(4), SOON, Usage())

    assert len(call.calls) == tries


async def test_no_try_begins_after_the_total_time():
    call = failing(ModelOverloadedError("m", "busy", 3600))

    with pytest.raises(ModelOverloadedError):
        await with_retries(call, AdaptiveLimiter(4), RetryPolicy(attempts=5, total_seconds=60), Usage())

    assert len(call.calls) == 1


@given(st.integers(1, 20), st.floats(0, 100))
def test_what_the_service_asks_is_waited_for_and_little_more(tries, asked):
    delay = RetryPolicy().delay(tries, ModelOverloadedError("m", "busy", asked))

    assert asked <= delay <= asked * 1.1


@given(st.integers(1, 60))
def test_without_a_word_of_the_service_delays_grow_up_to_a_bound(tries):
    policy = RetryPolicy()

    delay = policy.delay(tries, ModelUnavailableError("m", "down"))

    assert policy.first_delay_seconds / 2 <= delay <= policy.longest_delay_seconds
