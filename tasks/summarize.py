"""Write the texts of buckets and root, a batch at a time."""

from uuid import UUID

from overstory.indexing import summarizing
from overstory.indexing.budgets import budget_of
from overstory.indexing.plans import Batch, Job
from overstory.indexing.summarizing import BatchReport, Tools
from overstory.runtime import open_dataset

from .policies import task


@task(lambda call: call["batch"].name, tags=("llm",), texts=lambda call: len(call["batch"].buckets))
async def summarize_batch(dataset_id: UUID, job: Job, batch: Batch, lenient: bool) -> BatchReport:
    """Write a batch of buckets of one level, or the root; finished ones are skipped."""
    opened = await open_dataset(dataset_id)
    tools = Tools(
        tenant=opened.tenant,
        writer=opened.runtime.writer,
        embedder=opened.runtime.embedder,
        settings=opened.runtime.settings,
        budget=budget_of(dataset_id),
        unstored=opened.runtime.unstored,
    )
    return await summarizing.summarize(tools, job, batch, lenient=lenient)
