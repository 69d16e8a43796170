"""Finish what earlier runs left, and what an update left behind."""

from collections.abc import Sequence
from uuid import UUID

from overstory.indexing import documents, forgetting, removing
from overstory.indexing.documents import Intake
from overstory.models import UNFINISHED, Document, DocumentChunk, Lease
from overstory.runtime import open_dataset

from .policies import task

_DOCUMENTS = 512
"""So many are finished at once: their chunks are in memory."""


@task(lambda call: "find what is incomplete")
async def find_unfinished(dataset_id: UUID, lease: Lease) -> Intake:
    """Documents that a stop, or a model that failed, left incomplete; one that was being forgotten is forgotten."""
    opened = await open_dataset(dataset_id)
    tenant = opened.tenant
    await forgetting.forget(opened, lease)
    rows = await tenant.get(Document, await tenant.find(Document, "state", UNFINISHED))
    found = Intake(document_ids=[d.id for d in rows])
    for first in range(0, len(rows), _DOCUMENTS):
        chunks = await tenant.get(DocumentChunk, [c for d in rows[first : first + _DOCUMENTS] for c in d.chunk_ids])
        finished = await documents.read_of(tenant, chunks)
        found.unread += [c.id for c in chunks if c.id not in finished]
        found.chunks_read += len(finished)
    return found


@task(lambda call: f"finish {len(call['document_ids'])} documents")
async def finish_documents(dataset_id: UUID, document_ids: Sequence[UUID]) -> int:
    """Remove what earlier versions and readings held and the present ones do not; mark what is read. Chunks removed."""
    opened = await open_dataset(dataset_id)
    tenant, embedder = opened.tenant, opened.runtime.embedder
    removed = 0
    for first in range(0, len(document_ids), _DOCUMENTS):
        rows = await tenant.get(Document, document_ids[first : first + _DOCUMENTS])
        removal = await removing.remove_chunks(tenant, embedder, await documents.orphans_of(tenant, rows))
        removed += removal.chunks
        chunks = await tenant.get(DocumentChunk, [c for d in rows for c in d.chunk_ids])
        await removing.drop_outdated(tenant, embedder, chunks)
        await documents.bring_in_line(tenant, rows, chunks)
        await documents.mark_read(tenant, rows, chunks)
    return removed
