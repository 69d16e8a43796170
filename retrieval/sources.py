"""The names of the documents that rows come from."""

from collections.abc import Iterable
from uuid import UUID

from overstory.models import Document, TextSummary
from overstory.stores.contract import Tenant

from .projections import UNREAD


async def sources_of(tenant: Tenant, document_ids: Iterable[UUID]) -> dict[UUID, str]:
    """The sources of documents, by their ids; those that are gone are left out."""
    keys = sorted(set(document_ids))
    documents = await tenant.get(Document, keys, without=UNREAD[Document]) if keys else []
    return {document.id: document.source for document in documents}


async def sources_of_summaries(tenant: Tenant, summary_ids: Iterable[UUID]) -> dict[UUID, str]:
    """The sources of the documents that summaries are of, by the ids of the summaries; those that are gone are left out."""
    keys = sorted(set(summary_ids))
    summaries = await tenant.get(TextSummary, keys, without=UNREAD[TextSummary]) if keys else []
    sources = await sources_of(tenant, (summary.document_id for summary in summaries))
    return {summary.id: sources[summary.document_id] for summary in summaries if summary.document_id in sources}
