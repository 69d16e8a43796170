"""A cap on what one call may take of the model."""

import asyncio
import math
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
    calls_a_text: int = 1
    """At most, repeated tries left out."""
    _open: int = 0
    _lent: list["Part"] = field(default_factory=list)
    _spent: asyncio.Event = field(default_factory=asyncio.Event)

    async def take(self, calls: int = 1) -> None:
        """Take the right to ask for one text, in so many calls; waits while those in flight may still use up what is left.

        Raises:
            BudgetExceededError: the cap would be passed.
        """
        while True:
            if self._calls_left < calls:
                raise BudgetExceededError(f"max_calls={self.max_calls}", self.calls)
            if (self._open + 1) * self.expected_usd <= self._usd_left:
                break
            if not self._open:
                raise BudgetExceededError(f"max_cost_usd={self.max_cost_usd:g}", self.calls)
            self._spent.clear()
            await self._spent.wait()
        self.calls += calls
        self._open += 1

    def spend(self, usage: Usage) -> None:
        """Say what the calls for a text that was taken have cost."""
        self._open -= 1
        self.cost_usd += usage.cost_usd or 0.0
        self._spent.set()

    async def lend(self, texts: int) -> "Part":
        """Lend what so many texts may take to another process; `give_back` has to follow.

        Waits while what is left is too little and others may give back. So the cap holds for all together, and nobody
        stops for what another one does not use up.
        """
        most = texts * self.calls_a_text
        while self._lent and (most > self._calls_left or texts * self.expected_usd > self._usd_left):
            self._spent.clear()
            await self._spent.wait()
        calls = int(min(most, self._calls_left))
        usd = min(texts * self.expected_usd, self._usd_left)
        part = Part(budget=self._with_no_more_than(calls, usd), calls=calls, cost_usd=usd)
        self._lent.append(part)
        return part

    def give_back(self, part: "Part", *, calls: int, cost_usd: float) -> None:
        """Say what of a part was used."""
        self._lent.remove(part)
        self.calls += calls
        self.cost_usd += cost_usd
        self._spent.set()

    def _with_no_more_than(self, calls: int, usd: float) -> "Budget":
        """The same caps, of which all but this is used up: what stops there names the cap that was asked for."""
        return Budget(
            max_calls=self.max_calls,
            max_cost_usd=self.max_cost_usd,
            calls=self.calls if self.max_calls is None else self.max_calls - calls,
            cost_usd=self.cost_usd if self.max_cost_usd is None else self.max_cost_usd - usd,
            expected_usd=self.expected_usd,
        )

    @property
    def _calls_left(self) -> float:
        cap = math.inf if self.max_calls is None else self.max_calls
        return max(0, cap - self.calls - sum(part.calls for part in self._lent))

    @property
    def _usd_left(self) -> float:
        cap = math.inf if self.max_cost_usd is None else self.max_cost_usd
        return max(0.0, cap - self.cost_usd - sum(part.cost_usd for part in self._lent))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Part:
    """What was lent of a budget."""

    budget: Budget
    """To be used there."""
    calls: int
    cost_usd: float


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
