"""forget: documents, or the whole dataset."""

from collections.abc import Sequence
from uuid import UUID

from overstory.indexing.leasing import writing_in
from overstory.layout import tasks
from overstory.results import ForgetResult
from overstory.runtime import open_dataset


@tasks.policies.flow(
    lambda call: "forget",
    shown=lambda call: {"documents": "all" if call["document_ids"] is None else len(call["document_ids"])},
)
async def forget(dataset_id: UUID, document_ids: Sequence[UUID] | None, *, wait_seconds: float = 0) -> ForgetResult:
    """Remove documents with everything that only they support; the whole dataset for None."""
    opened = await open_dataset(dataset_id, any_embedder=document_ids is None)
    name = opened.dataset.name
    async with writing_in(opened, "forget", wait_seconds=wait_seconds) as held:
        if document_ids is None:
            await tasks.remove.drop_dataset(dataset_id)
            return ForgetResult(dataset=name, documents=0, chunks=0, entities=0, edges=0)
        gone = await tasks.remove.forget_documents(dataset_id, document_ids, held.lease)
    return ForgetResult(
        dataset=name,
        documents=gone.documents,
        chunks=gone.chunks,
        entities=gone.entities,
        edges=gone.edges,
        stale=gone.stale,
        withheld=gone.withheld,
    )
