"""The tools, each a form, what it does, and an answer."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import BaseModel

import overstory
from overstory import access, datasets
from overstory.errors import InvalidOptionError, UsageError
from overstory.results import DatasetStatus
from overstory.runtime import current_runtime
from overstory.serve import working
from overstory.serve.jobs import Job, Jobs, plain
from overstory.serve.mcp import answers, folders, forms
from overstory.serve.views import without_place

MOST_CHARACTERS = 64_000_000
"""Of all texts of one call."""
_MOST_DATASETS = 1_000
_MOST_JOBS = 10
_TELL_SECONDS = 1.0

Report = Callable[[float, float | None, str], Awaitable[None]]
"""Tells the client how far its call is: done, total, and what is being done."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """Who calls, and what the call may use."""

    user: str
    request_id: str
    jobs: Jobs
    folders: Sequence[Path] = ()
    """What may be read of this machine's files."""
    report: Report


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    name: str
    title: str
    description: str
    form: type[BaseModel]
    answer: type[BaseModel]
    run: Callable[[Any, Call], Awaitable[BaseModel]]
    hints: dict[str, bool] = field(default_factory=dict)
    """`read_only_hint`, `destructive_hint`, `idempotent_hint` of the protocol."""


def tools(*, with_files: bool) -> list[Tool]:
    """All of them; `remember` takes files only where there are folders that may be read."""
    return [
        Tool(
            name="list_datasets",
            title="List datasets",
            description="The datasets that can be asked, with the generation of their index.",
            form=forms.NothingForm,
            answer=answers.DatasetList,
            run=list_datasets,
            hints=_READS,
        ),
        Tool(
            name="describe_dataset",
            title="Describe a dataset",
            description="What a dataset is about, how much it holds, whether its index covers all of it, and work on it.",
            form=forms.DatasetForm,
            answer=answers.DatasetDescription,
            run=describe_dataset,
            hints=_READS,
        ),
        Tool(
            name="recall",
            title="Ask",
            description="Answer a question from datasets, with the documents that the answer rests on.",
            form=forms.Recall,
            answer=answers.RecallAnswers,
            run=recall,
            hints=_READS,
        ),
        Tool(
            name="remember",
            title="Remember",
            description="Take texts into a dataset, which is made when there is none of the name. The same source with "
            "another text is an update; the same text again is no work. A text is a text: no path or address is opened.",
            form=forms.RememberTextsAndFiles if with_files else forms.RememberTexts,
            answer=answers.Remembered,
            run=remember,
            hints={"read_only_hint": False, "destructive_hint": False, "idempotent_hint": True},
        ),
        Tool(
            name="improve",
            title="Bring the index up to date",
            description="Finish what is incomplete in a dataset, and build or refresh its index; may call a model and "
            "cost money, up to `max_calls` or `max_cost_usd`. A call that stops goes on with the next one.",
            form=forms.Improve,
            answer=answers.Improved,
            run=improve,
            hints={"read_only_hint": False, "destructive_hint": False, "idempotent_hint": True},
        ),
        Tool(
            name="forget",
            title="Forget",
            description="Erase documents, or with `all` a whole dataset, from everything that was written of them. It "
            "takes effect at once and can't be undone.",
            form=forms.Forget,
            answer=answers.Forgotten,
            run=forget,
            hints={"read_only_hint": False, "destructive_hint": True, "idempotent_hint": False},
        ),
    ]


_READS = {"read_only_hint": True}


async def list_datasets(_: forms.NothingForm, call: Call) -> answers.DatasetList:
    store = (await current_runtime()).store
    found = await datasets.list_datasets(call.user)
    shown, who = found[:_MOST_DATASETS], access.user_id(call.user)
    served = await asyncio.gather(*[store.read_manifest(one.id) for one in shown])
    listed = [
        answers.ListedDataset(
            name=one.name,
            id=one.id,
            own=one.owner_id == who,
            generation=manifest.serving,
            built_at=manifest.current.built_at if manifest.current else None,
        )
        for one, manifest in zip(shown, served, strict=True)
    ]
    return answers.DatasetList(datasets=listed, left_out=len(found) - len(shown))


async def describe_dataset(form: forms.DatasetForm, call: Call) -> answers.DatasetDescription:
    status = await datasets.status(form.dataset, call.user)
    advice = _advice(status)
    jobs = [job.view() for job in call.jobs.of_dataset(status.id)[:_MOST_JOBS]]
    root = await datasets.root_summary(status.id, call.user)
    return answers.DatasetDescription(
        status=without_place(status), root=root, fresh=not advice, advice=advice, jobs=jobs
    )


def _advice(status: DatasetStatus) -> str:
    if status.documents and not status.generation:
        return "There is no index yet: `improve` builds one."
    if status.needs_improving:
        return "The index is behind what was remembered or forgotten since, or in part written by rules: `improve` brings it up to date."
    return "" if status.generation else "Nothing was remembered yet."


async def recall(form: forms.Recall, call: Call) -> answers.RecallAnswers:
    options = form.form().options()
    results = await overstory.recall(options.pop("query_text"), user=call.user, **options)
    return answers.RecallAnswers(results=[answers.Recalled.of(one) for one in results])


async def remember(form: forms.RememberTexts, call: Call) -> answers.Remembered:
    wanted = form.files if isinstance(form, forms.RememberTextsAndFiles) else []
    files = await asyncio.to_thread(folders.files_of, wanted, call.folders)
    if not form.texts and not files:
        raise UsageError("There is nothing to remember: give texts or files.")
    documents = form.documents()
    if sum(len(one.text) for one in documents) > MOST_CHARACTERS:
        raise InvalidOptionError("texts", "…", f"at most {MOST_CHARACTERS:,} characters at once; send them in parts")
    job, work = await working.remember(await current_runtime(), [*documents, *files], form, call.user)
    if form.background:
        call.jobs.start(job, work, call.request_id)
        return answers.Remembered(dataset=job.dataset, job=job.id)
    async with _telling(job, call.report):
        return answers.Remembered.of(await call.jobs.run(job, work, call.request_id))


async def improve(form: forms.Improve, call: Call) -> answers.Improved:
    job, work = await working.improve(await current_runtime(), form, call.user)
    if form.background:
        call.jobs.start(job, work, call.request_id)
        return answers.Improved(dataset=job.dataset, job=job.id)
    async with _telling(job, call.report):
        return answers.Improved.of(await call.jobs.run(job, work, call.request_id))


async def forget(form: forms.Forget, call: Call) -> answers.Forgotten:
    result = await overstory.forget(
        form.dataset,
        document=None if form.documents == "all" else form.documents,
        user=call.user,
        wait_seconds=form.wait_seconds,
        prove=form.prove,
    )
    return answers.Forgotten(
        dataset=result.dataset,
        documents=result.documents,
        chunks=result.chunks,
        stale=result.stale,
        withheld=result.withheld,
        proof=plain(result.proof) if result.proof else None,
    )


@asynccontextmanager
async def _telling(job: Job, report: Report) -> AsyncIterator[None]:
    """Tell the client now and then how far a job is."""

    async def tell() -> None:
        last = -1.0
        while True:
            await asyncio.sleep(_TELL_SECONDS)
            stages = job.view().stages
            done, total = float(sum(one.done for one in stages)), float(sum(one.total for one in stages))
            if done > last:
                last = done
                await report(done, total if total >= done else None, stages[-1].name if stages else job.verb)

    telling = asyncio.create_task(tell())
    try:
        yield
    finally:
        telling.cancel()
        with contextlib.suppress(asyncio.CancelledError, Exception):  # a client that has gone is told nothing
            await telling
