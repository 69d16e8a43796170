"""A cap on what one build may take."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from uuid import UUID

from overstory.errors import BudgetExceededError
from overstory.models import Usage


@dataclass(slots=True, kw_only=True)
class Budget:
    """Counts calls and cost of one build, and stops it at the cap. Without caps it only counts."""

    max_calls: int | None = None
    max_cost_usd: float | None = None
    planned: int = 0
    """Texts that the build has to write, for the message."""
    calls: int = 0
    cost_usd: float = 0.0
    expected_usd: float = 0.0
    """What one call is expected to cost at most: calls in flight count with it."""
    _open: int = 0

    def take(self) -> None:
        """Take the right to one call.

        Raises:
            BudgetExceededError: the cap would be passed.
        """
        if self.max_calls is not None and self.calls >= self.max_calls:
            raise BudgetExceededError(f"max_calls={self.max_calls}", self.calls, max(0, self.planned - self.calls))
        ahead = self.cost_usd + (self._open + 1) * self.expected_usd
        if self.max_cost_usd is not None and ahead > self.max_cost_usd:
            raise BudgetExceededError(
                f"max_cost_usd={self.max_cost_usd:g}", self.calls, max(0, self.planned - self.calls)
            )
        self.calls += 1
        self._open += 1

    def spend(self, usage: Usage) -> None:
        """Say what a call that was taken has cost."""
        self._open -= 1
        self.cost_usd += usage.cost_usd or 0.0


_budgets: dict[tuple[UUID, int], Budget] = {}
"""Budgets of the builds of this process: steps are given ids, not objects."""


@contextmanager
def budgeted(dataset_id: UUID, generation: int, budget: Budget) -> Iterator[None]:
    """Let the steps of a build find its budget."""
    _budgets[dataset_id, generation] = budget
    try:
        yield
    finally:
        del _budgets[dataset_id, generation]


def budget_of(dataset_id: UUID, generation: int) -> Budget:
    """The budget of a build; one without caps when none was set in this process."""
    return _budgets.get((dataset_id, generation)) or Budget()
