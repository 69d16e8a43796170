"""What a dataset holds, for people: its documents in order, the one that was meant, why texts are degraded."""

import difflib
from collections import Counter
from dataclasses import dataclass
from pathlib import PurePosixPath
from uuid import UUID

from overstory.models import FORGETTING, UNFINISHED, Document, GlobalContextSummary, TextSummary
from overstory.results import DocumentEntry
from overstory.stores.contract import Tenant

_COMPARED = 20_000
"""Sources that a misspelt one is compared with; comparing takes some milliseconds a thousand."""
_REASONS_READ = 1_000


async def list_documents(tenant: Tenant, *, offset: int, limit: int | None) -> list[DocumentEntry]:
    """The documents by source, without those that are being forgotten. Memory: the sources of all of them."""
    sources = sorted(await _sources(tenant))
    wanted = [key for _, key in sources[offset : None if limit is None else offset + limit]]
    return [_entry(document) for document in await tenant.get(Document, wanted)]


async def nearest_source(tenant: Tenant, wanted: str) -> str | None:
    """The source that was probably meant: the only one of that file name, or the one that is spelt most alike."""
    known = sorted(source for source, _ in await _sources(tenant))
    name = PurePosixPath(wanted).name
    of_that_name = [source for source in known if name and PurePosixPath(source).name == name]
    if len(of_that_name) == 1:
        return of_that_name[0]
    alike = difflib.get_close_matches(wanted, known[:_COMPARED], n=1)
    if alike:
        return alike[0]
    by_name = {PurePosixPath(source).name: source for source in known[:_COMPARED]}
    return next((by_name[one] for one in difflib.get_close_matches(name, by_name, n=1)), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Condition:
    """How the texts of the served generation stand."""

    stale: int
    """Cut by a forgetting, or withheld."""
    degraded_reasons: dict[str, int]
    """Why texts are degraded, the most frequent reason first."""


async def condition(tenant: Tenant, generation: int) -> Condition:
    """Look through the texts that a generation sees; 0 for none."""
    stale, reasons = 0, Counter[str]()
    if generation:
        async for batch in tenant.batches(
            GlobalContextSummary, ["stale", "withheld", "degraded"], generation=generation
        ):
            for row in batch.to_pylist():
                stale += row["stale"] or row["withheld"]
                reasons.update([row["degraded"]] if row["degraded"] else [])
    return Condition(stale=stale, degraded_reasons=dict(reasons.most_common()))


async def incomplete_reasons(tenant: Tenant) -> dict[str, int]:
    """Why chunks of documents that are not finished were read by rules, of the first thousand."""
    documents = await tenant.find(Document, "state", UNFINISHED)
    if not documents:
        return {}
    summaries = await tenant.find(TextSummary, "document_id", documents, limit=_REASONS_READ)
    found = Counter(row.degraded for row in await tenant.get(TextSummary, summaries) if row.degraded)
    return dict(found.most_common())


async def _sources(tenant: Tenant) -> list[tuple[str, UUID]]:
    found: list[tuple[str, UUID]] = []
    async for batch in tenant.batches(Document, ["id", "source", "state"]):
        rows = batch.to_pylist()
        found += [(row["source"], UUID(bytes=row["id"])) for row in rows if row["state"] != FORGETTING]
    return found


def _entry(document: Document) -> DocumentEntry:
    return DocumentEntry(
        id=document.id,
        source=document.source,
        title=document.title,
        occurred_at=document.occurred_at,
        node_set=document.node_set,
        chunks=len(document.chunk_ids),
        state=document.state,
    )
