"""Finish what earlier runs left, and what an update left behind."""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from overstory.indexing import documents, forgetting, removing
from overstory.models import FORGETTING, INCOMPLETE, Document, Lease
from overstory.runtime import open_dataset

from .policies import task


@dataclass(frozen=True, slots=True, kw_only=True)
class Unfinished:
    document_ids: tuple[UUID, ...]
    chunk_ids: tuple[UUID, ...]


@task(lambda call: "find what is incomplete")
async def find_unfinished(dataset_id: UUID, lease: Lease) -> Unfinished:
    """Documents that a stop, or a model that failed, left incomplete; one that was being forgotten is forgotten."""
    opened = await open_dataset(dataset_id)
    tenant = opened.tenant
    if leaving := await tenant.find(Document, "state", [FORGETTING]):
        await forgetting.forget(opened.runtime.store, tenant, opened.runtime.embedder, lease, leaving)
    rows = await tenant.get(Document, await tenant.find(Document, "state", [INCOMPLETE]))
    return Unfinished(document_ids=tuple(d.id for d in rows), chunk_ids=tuple(c for d in rows for c in d.chunk_ids))


@task(lambda call: f"finish {len(call['document_ids'])} documents")
async def finish_documents(dataset_id: UUID, document_ids: Sequence[UUID]) -> int:
    """Remove what earlier versions of documents held and these do not; mark those that are complete. Chunks removed."""
    opened = await open_dataset(dataset_id)
    rows = await opened.tenant.get(Document, document_ids)
    orphans = await documents.orphans_of(opened.tenant, rows)
    removal = await removing.remove_chunks(opened.tenant, opened.runtime.embedder, orphans)
    await documents.mark_complete(opened.tenant, rows)
    return removal.chunks
