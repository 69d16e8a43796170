"""The verbs that take their time, each as a job and the work to be done for it: over HTTP and over MCP the same."""

from collections.abc import Awaitable, Callable
from typing import TypeAlias, TypeVar

import overstory
from overstory import access
from overstory.indexing.sources import SourceInput
from overstory.models import Permission
from overstory.results import ImproveResult, IndexResult, RememberResult
from overstory.runtime import Runtime
from overstory.serve.forms import ImproveForm, RebuildForm, RememberOptions
from overstory.serve.jobs import Job

R = TypeVar("R")
Begun: TypeAlias = tuple[Job, Callable[[], Awaitable[R]]]


async def remember(runtime: Runtime, data: SourceInput, options: RememberOptions, user: str) -> "Begun[RememberResult]":
    dataset = await access.find_or_plan_dataset(runtime, options.dataset, user)

    async def work() -> RememberResult:
        return await overstory.remember(
            data,
            options.dataset,
            node_set=options.node_set,
            self_improvement=options.self_improvement,
            user=user,
            wait_seconds=options.wait_seconds,
        )

    return Job.of("remember", runtime, dataset, user), work


async def improve(runtime: Runtime, form: ImproveForm, user: str) -> "Begun[ImproveResult]":
    opened = await access.find_dataset(runtime, form.dataset, user, Permission.WRITE)
    elsewhere = form.background and runtime.settings.orchestration.wanted

    async def work() -> ImproveResult:
        return await overstory.improve(
            opened.dataset.id,
            build_global_context_index=form.build_global_context_index,
            run_in_background=elsewhere,
            user=user,
            wait_seconds=form.wait_seconds,
            max_calls=form.max_calls,
            max_cost_usd=form.max_cost_usd,
        )

    return Job.of("improve", runtime, opened.dataset, user), work


async def rebuild(runtime: Runtime, form: RebuildForm, user: str) -> "Begun[IndexResult]":
    opened = await access.find_dataset(runtime, form.dataset, user, Permission.WRITE)
    elsewhere = form.background and runtime.settings.orchestration.wanted

    async def work() -> IndexResult:
        return await overstory.rebuild(
            opened.dataset.id,
            bucketing_strategy=form.bucketing_strategy,
            max_bucket_size=form.max_bucket_size,
            placement_distance_threshold=form.placement_distance_threshold,
            min_overlap=form.min_overlap,
            reuse_unchanged=form.reuse_unchanged,
            run_in_background=elsewhere,
            user=user,
            wait_seconds=form.wait_seconds,
            max_calls=form.max_calls,
            max_cost_usd=form.max_cost_usd,
        )

    return Job.of("rebuild", runtime, opened.dataset, user), work
