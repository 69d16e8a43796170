"""Extract graphs, summarise chunks, embed and store."""

from collections.abc import Sequence
from uuid import UUID

from overstory.indexing import extracting
from overstory.indexing.budgets import budget_of
from overstory.indexing.extracting import ExtractReport
from overstory.runtime import open_dataset

from .policies import task


@task(
    lambda call: f"read chunks · {call['first'] + 1}–{call['first'] + len(call['chunk_ids'])} of {call['of']}",
    tags=("llm",),
    texts=lambda call: len(call["chunk_ids"]),
)
async def extract_chunks(dataset_id: UUID, chunk_ids: Sequence[UUID], first: int, of: int) -> ExtractReport:
    """Read a batch of chunks: graph, summary and vectors, from one model call each; finished ones are skipped."""
    opened = await open_dataset(dataset_id)
    runtime, budget = opened.runtime, budget_of(dataset_id)
    return await extracting.extract(
        opened.tenant, runtime.writer, runtime.embedder, chunk_ids, budget, runtime.unstored
    )
