"""A cap on what one call may take of the model."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from uuid import UUID

from overstory.errors import BudgetExceededError
from overstory.models import Usage


@dataclass(slots=True, kw_only=True)
class Budget:
    """Counts calls and cost, of chunks as of buckets, and stops at the cap. Without caps it only counts."""

    max_calls: int | None = None
    max_cost_usd: float | None = None
    calls: int = 0
    cost_usd: float = 0.0
    expected_usd: float = 0.0
    """What one text may cost at most, repeated tries included: those in flight count with it."""
    _open: int = 0
    _spent: asyncio.Event = field(default_factory=asyncio.Event)

    async def take(self) -> None:
        """Take the right to ask for one text; waits while those in flight may still use up what is left.

        Raises:
            BudgetExceededError: the cap would be passed.
        """
        if self.max_calls is not None and self.calls >= self.max_calls:
            raise BudgetExceededError(f"max_calls={self.max_calls}", self.calls)
        while self.max_cost_usd is not None and self.cost_usd + (self._open + 1) * self.expected_usd > self.max_cost_usd:
            if not self._open:
                raise BudgetExceededError(f"max_cost_usd={self.max_cost_usd:g}", self.calls)
            self._spent.clear()
            await self._spent.wait()
        self.calls += 1
        self._open += 1

    def spend(self, usage: Usage) -> None:
        """Say what a call that was taken has cost."""
        self._open -= 1
        self.cost_usd += usage.cost_usd or 0.0
        self._spent.set()


_budgets: dict[UUID, Budget] = {}
"""By dataset, of which this process is the one writer: steps are given ids, not objects."""


@contextmanager
def budgeted(dataset_id: UUID, budget: Budget | None) -> Iterator[None]:
    """Let the steps that write a dataset find their budget."""
    _budgets[dataset_id] = budget or Budget()
    try:
        yield
    finally:
        del _budgets[dataset_id]


def budget_of(dataset_id: UUID) -> Budget:
    """What the work on a dataset may take; no caps when none were set in this process."""
    return _budgets.get(dataset_id) or Budget()
