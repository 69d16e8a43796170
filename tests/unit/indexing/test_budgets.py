"""A cap on what a call may take of the model, also when several processes share it."""

import asyncio
import pickle
from unittest.mock import ANY

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from overstory.errors import BudgetExceededError
from overstory.indexing.budgets import Budget, Part
from overstory.models import Usage


async def use(part: Part, wanted: int, usd: float = 0.0) -> tuple[int, BudgetExceededError | None]:
    """Ask for so many texts of a part, as another process does; what it got, and what stopped it."""
    budget: Budget = pickle.loads(pickle.dumps(part.budget))
    for done in range(wanted):
        try:
            await budget.take()
        except BudgetExceededError as error:
            return done, error
        budget.spend(Usage(calls=1, cost_usd=usd))
    return wanted, None


async def batch(budget: Budget, texts: int, wanted: int, usd: float = 0.0) -> tuple[int, BudgetExceededError | None]:
    """A batch of so many texts in another process, of which it asks for those that are not finished."""
    part = await budget.lend(texts)
    await asyncio.sleep(0)
    done, stopped = await use(part, wanted, usd)
    budget.give_back(part, calls=done, cost_usd=done * usd)
    return done, stopped


BATCHES = st.lists(st.integers(1, 8).flatmap(lambda n: st.tuples(st.just(n), st.integers(0, n))), max_size=8)


@settings(deadline=None)
@given(batches=BATCHES, cap=st.integers(0, 40))
def test_processes_together_make_the_calls_that_one_would_make(batches: list[tuple[int, int]], cap: int):
    budget = Budget(max_calls=cap)

    async def run() -> list[tuple[int, BudgetExceededError | None]]:
        return list(await asyncio.gather(*(batch(budget, *one) for one in batches)))

    ended = asyncio.run(run())

    assert sum(done for done, _ in ended) == budget.calls == min(cap, sum(wanted for _, wanted in batches))
    calls = "1 call." if cap == 1 else f"{cap} calls."
    assert all(f"max_calls={cap} after {calls}" in str(stopped) for _, stopped in ended if stopped)


@settings(deadline=None)
@given(batches=BATCHES, cents=st.integers(0, 100))
def test_processes_together_never_cost_more_than_the_cap(batches: list[tuple[int, int]], cents: int):
    budget = Budget(max_cost_usd=cents / 100, expected_usd=0.06)

    async def run() -> list[tuple[int, BudgetExceededError | None]]:
        return list(await asyncio.gather(*(batch(budget, *one, usd=0.03) for one in batches)))

    ended = asyncio.run(run())

    assert budget.cost_usd <= cents / 100 + 1e-9
    if all(stopped is None for _, stopped in ended):
        assert budget.cost_usd == pytest.approx(0.03 * sum(wanted for _, wanted in batches))


@settings(deadline=None)
@given(texts=st.integers(0, 12), cap=st.integers(0, 8), cents=st.integers(0, 100))
def test_both_caps_hold_for_texts_that_wait_for_money(texts: int, cap: int, cents: int):
    budget = Budget(max_calls=cap, max_cost_usd=cents / 100, expected_usd=0.06)

    async def ask() -> None:
        await budget.take()
        await asyncio.sleep(0)
        budget.spend(Usage(calls=1, cost_usd=0.03))

    async def run() -> list[BaseException | None]:
        return await asyncio.gather(*(ask() for _ in range(texts)), return_exceptions=True)

    ended = asyncio.run(run())

    assert budget.calls <= cap
    assert budget.cost_usd <= cents / 100 + 1e-9
    assert ended.count(None) == budget.calls
    assert cents < 50 or budget.calls == min(texts, cap)


async def test_what_is_lent_is_not_taken_here():
    budget = Budget(max_calls=5)
    part = await budget.lend(4)

    await budget.take()

    with pytest.raises(BudgetExceededError):
        await budget.take()
    budget.give_back(part, calls=0, cost_usd=0.0)
    await budget.take()


async def test_a_text_of_several_calls_takes_all_of_them_or_none():
    budget = Budget(max_calls=7, calls_a_text=2)
    part = await budget.lend(2)

    await budget.take(2)

    with pytest.raises(BudgetExceededError, match="max_calls=7 after 2 calls"):
        await budget.take(2)
    assert await use(part, 9) == (4, ANY)


async def test_without_caps_a_part_only_counts():
    budget = Budget()

    done, stopped = await batch(budget, 3, 3, usd=0.5)

    assert (done, stopped, budget.calls, budget.cost_usd) == (3, None, 3, 1.5)
