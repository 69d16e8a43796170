"""The names of the documents that rows come from."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple
from uuid import UUID

from overstory.models import Document, Fact, TextSummary
from overstory.stores.contract import Tenant

from .context import clean_source
from .projections import UNREAD


class Source(NamedTuple):
    """Where a summary comes from."""

    name: str
    """Of its document."""
    occurred_at: str


async def sources_of(tenant: Tenant, document_ids: Iterable[UUID]) -> dict[UUID, str]:
    """The sources of documents, by their ids; those that are gone are left out."""
    keys = sorted(set(document_ids))
    documents = await tenant.get(Document, keys, without=UNREAD[Document]) if keys else []
    return {document.id: document.source for document in documents}


async def sources_of_summaries(tenant: Tenant, summary_ids: Iterable[UUID]) -> dict[UUID, Source]:
    """The documents that summaries are of, by the ids of the summaries; those that are gone are left out."""
    keys = sorted(set(summary_ids))
    summaries = await tenant.get(TextSummary, keys, without=UNREAD[TextSummary]) if keys else []
    sources = await sources_of(tenant, (summary.document_id for summary in summaries))
    return {
        summary.id: Source(sources[summary.document_id], summary.occurred_at)
        for summary in summaries
        if summary.document_id in sources
    }


def documents_of(fact: Fact, sources: Mapping[UUID, Source]) -> tuple[str, ...]:
    """The names of the documents that a fact rests on, as they are given: first the one whose date is the fact's."""
    known = [sources[leaf] for leaf in fact.summary_ids if leaf in sources]
    of_its_date_first = sorted(known, key=lambda source: source.occurred_at != fact.occurred_at)
    return tuple(dict.fromkeys(clean_source(source.name) for source in of_its_date_first if source.name))
