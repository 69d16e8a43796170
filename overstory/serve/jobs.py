"""The work that this server does: how far it is, and what came of it."""

import asyncio
import logging
from collections import Counter, OrderedDict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Literal, TypeVar
from uuid import UUID, uuid4

from pydantic import TypeAdapter

from overstory.errors import OverstoryError
from overstory.indexing.budgets import budget_of
from overstory.models import Dataset
from overstory.progress import watched_by
from overstory.results import ImproveResult, IndexResult, RememberResult
from overstory.runtime import Runtime
from overstory.serve import problems
from overstory.serve.views import JobView, Problem, StageView
from overstory.settings import OFFLINE

logger = logging.getLogger(__name__)

_KEPT = 200
Result = RememberResult | ImproveResult | IndexResult
R = TypeVar("R", RememberResult, ImproveResult, IndexResult)


@dataclass(slots=True)
class _Stage:
    total: int = 0
    done: int = 0
    counts: Counter[str] = field(default_factory=Counter)


@dataclass(slots=True, kw_only=True)
class Job:
    """A `progress.Watcher` of one call."""

    user: str
    verb: str
    dataset: str
    dataset_id: UUID
    paid: bool
    """Whether a model writes: rules are not called."""
    id: str = field(default_factory=lambda: uuid4().hex)
    state: Literal["running", "done", "failed"] = "running"
    started_at: datetime = field(default_factory=lambda: datetime.now(UTC))
    ended_at: datetime | None = None
    result: Result | None = None
    error: Problem | None = None
    stages: dict[str, _Stage] = field(default_factory=dict)
    calls: int = 0
    cost_usd: float = 0.0

    @classmethod
    def of(cls, verb: str, runtime: Runtime, dataset: Dataset, user: str) -> "Job":
        paid = runtime.writer.model != OFFLINE
        return cls(user=user, verb=verb, dataset=dataset.name, dataset_id=dataset.id, paid=paid)

    def begin(self, stage: str, total: int) -> None:
        self.stages.setdefault(stage, _Stage()).total = total

    def advance(self, stage: str, done: int = 1, **counts: int) -> None:
        one = self.stages.setdefault(stage, _Stage())
        one.done += done
        one.counts.update(counts)

    def end(self, stage: str) -> None:
        if stage in self.stages:
            self.stages[stage].total = self.stages[stage].done

    def view(self) -> JobView:
        self._count()
        stages = [
            StageView(name=name, total=one.total, done=one.done, counts=dict(one.counts))
            for name, one in self.stages.items()
            if one.total or one.done
        ]
        return JobView(
            id=self.id,
            verb=self.verb,
            dataset=self.dataset,
            dataset_id=self.dataset_id,
            state=self.state,
            started_at=self.started_at,
            ended_at=self.ended_at,
            stages=stages,
            calls=self.calls,
            cost_usd=self.cost_usd,
            run_url=index.run_url if (index := _index(self.result)) else "",
            result=plain(self.result) if self.result else None,
            error=self.error,
        )

    def finish(self, result: Result) -> None:
        self.result, self.state, self.ended_at = result, "done", datetime.now(UTC)
        self.calls, self.cost_usd = result.model_calls, result.usage.cost_usd or 0.0

    def fail(self, error: Problem) -> None:
        self.error, self.state, self.ended_at = error, "failed", datetime.now(UTC)

    def _count(self) -> None:
        """Calls and cost so far, of what has a budget now."""
        if self.paid and self.state == "running":
            budget = budget_of(self.dataset_id)
            self.calls, self.cost_usd = max(self.calls, budget.calls), max(self.cost_usd, budget.cost_usd)


class Jobs:
    """Those of this process; the oldest finished ones go."""

    def __init__(self) -> None:
        self._jobs: OrderedDict[str, Job] = OrderedDict()
        self._tasks: set[asyncio.Task[None]] = set()

    def of_dataset(self, dataset_id: UUID) -> list[Job]:
        """The newest first."""
        return [job for job in reversed(self._jobs.values()) if job.dataset_id == dataset_id]

    def get(self, job_id: str, user: str) -> Job | None:
        job = self._jobs.get(job_id)
        return job if job and job.user == user else None

    async def run(self, job: Job, work: Callable[[], Awaitable[R]], request_id: str) -> R:
        """Do the work now, seen by whoever looks at its dataset."""
        self._keep(job)
        try:
            with watched_by(job):
                result = await work()
        except OverstoryError as error:
            job.fail(problems.problem_of(error, request_id))
            raise
        except BaseException:  # a fault of ours, or the server stops: told by whoever catches it
            job.fail(problems.plain_problem(500, "This was not foreseen; the server's log says more.", request_id))
            raise
        job.finish(result)
        return result

    def start(self, job: Job, work: Callable[[], Awaitable[R]], request_id: str) -> None:
        """Do the work while the caller goes on."""
        task = asyncio.create_task(self._alone(job, work, request_id))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        self._keep(job)

    async def stop(self) -> None:
        """Stop what runs; the next call of its kind goes on from there."""
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _alone(self, job: Job, work: Callable[[], Awaitable[R]], request_id: str) -> None:
        try:
            await self.run(job, work, request_id)
        except OverstoryError as error:
            logger.info("Job %s of request %s failed: %s", job.id, request_id, type(error).__name__)
        except Exception:
            logger.exception("Job %s of request %s failed", job.id, request_id)

    def _keep(self, job: Job) -> None:
        self._jobs[job.id] = job
        ended = [key for key, one in self._jobs.items() if one.state != "running"]
        for key in ended[: max(0, len(self._jobs) - _KEPT)]:
            del self._jobs[key]


def _index(result: Result | None) -> IndexResult | None:
    return result if isinstance(result, IndexResult) or result is None else result.index


def plain(result: Any) -> Any:
    """A result of the library as JSON has it."""
    return TypeAdapter(type(result)).dump_python(result, mode="json")
