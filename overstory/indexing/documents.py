"""Documents into a dataset: which are new, which have changed, and the chunks that are left to be read."""

import asyncio
import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any
from uuid import UUID

from overstory import ids
from overstory.indexing import chunking
from overstory.indexing.sources import SourceDocument
from overstory.models import (
    BEGUN,
    COMPLETE,
    DEGRADED,
    INCOMPLETE,
    Document,
    DocumentChunk,
    PendingChange,
    TextSummary,
)
from overstory.results import DocumentOutcome, DocumentStatus
from overstory.stores.contract import Tenant

_SHARED_FIELDS = ("occurred_at", "node_set", "importance_weight")
"""What chunks and summaries take over from their document."""


@dataclass(slots=True, kw_only=True)
class Intake:
    """What became of documents, and what is to be done next. Adds up with `+=`."""

    outcomes: list[DocumentOutcome] = field(default_factory=list)
    document_ids: list[UUID] = field(default_factory=list)
    """Those that are left to be read, or to be finished."""
    unread: list[UUID] = field(default_factory=list)
    """Chunks of those that are left to be read."""
    chunks_read: int = 0
    """How many of their chunks are read already: of an earlier version, or before a stop."""

    def __iadd__(self, other: "Intake") -> "Intake":
        self.outcomes += other.outcomes
        self.document_ids += other.document_ids
        self.unread += other.unread
        self.chunks_read += other.chunks_read
        return self


async def take_in(tenant: Tenant, sources: Sequence[SourceDocument], chunk_tokens: int) -> Intake:
    """Store documents and their chunks, unread; nothing happens to those that are stored as they are.

    Documents are marked incomplete first and get their new chunks last: a stop in between leaves an earlier version
    whole, and of a new document a row without content, which the next call takes for a change.
    """
    documents = [_document(tenant.dataset_id, source) for source in sources]
    stored = {d.id: d for d in await tenant.get(Document, [d.id for d in documents])}
    changed = [(d, s) for d, s in zip(documents, sources, strict=True) if not _same(stored.get(d.id), d)]
    chunks = await asyncio.to_thread(lambda: {d.id: _chunks(d, s.text, chunk_tokens) for d, s in changed})
    rows = [_row(d, chunks[d.id], stored.get(d.id)) for d, _ in changed]
    await tenant.patch(Document, {d.id: {"state": d.state} for d in rows if d.id in stored})
    await tenant.put([replace(d, content_hash="", chunk_ids=()) for d in rows if d.id not in stored])
    known = await _put_new(tenant, [c for d, _ in changed for c in chunks[d.id]])
    await tenant.put(rows)
    read = await read_of(tenant, known)
    return Intake(
        outcomes=[_outcome(d, stored.get(d.id)) for d in documents],
        document_ids=[d.id for d in rows],
        unread=[c for d in rows for c in d.chunk_ids if c not in read],
        chunks_read=len(read),
    )


async def read_of(tenant: Tenant, chunks: Sequence[DocumentChunk]) -> set[UUID]:
    """Those of the chunks that the model itself has read, not rules in its place."""
    read = {c.id for c in chunks if c.graph is not None}
    summaries = await tenant.get(TextSummary, [ids.summary_id(key) for key in read], without=("entity_ids",))
    return read.intersection(s.chunk_id for s in summaries if not s.degraded)


async def orphans_of(tenant: Tenant, documents: Sequence[Document]) -> list[UUID]:
    """Chunks that an earlier version of these documents had and the present one has not."""
    kept = {c for d in documents for c in d.chunk_ids}
    found = await tenant.find(DocumentChunk, "document_id", [d.id for d in documents]) if documents else []
    return [key for key in found if key not in kept]


async def bring_in_line(tenant: Tenant, documents: Sequence[Document], chunks: Sequence[DocumentChunk]) -> None:
    """Let chunks that an earlier version had too, and their summaries, take over place, date and tags."""
    places = {key: (d, i) for d in documents for i, key in enumerate(d.chunk_ids)}
    moved = {c.id: changed for c in chunks if (changed := _differences(c, *places[c.id]))}
    if not moved:
        return
    summaries = {ids.summary_id(key): fields for key, fields in moved.items()}
    redated = [key for key, fields in summaries.items() if "occurred_at" in fields]
    await tenant.put([PendingChange(summary_id=key, dataset_id=tenant.dataset_id) for key in redated])
    await tenant.patch(TextSummary, summaries)
    await tenant.patch(DocumentChunk, moved)


async def mark_read(tenant: Tenant, documents: Sequence[Document], chunks: Sequence[DocumentChunk]) -> None:
    """Mark the documents whose chunks are all read: as degraded where rules read some in place of the model.

    Args:
        chunks: all chunks of the documents that are stored.
    """
    read, by_model = {c.id for c in chunks if c.graph is not None}, await read_of(tenant, chunks)
    done = [d for d in documents if d.chunk_ids and read.issuperset(d.chunk_ids)]
    states = {d.id: COMPLETE if by_model.issuperset(d.chunk_ids) else DEGRADED for d in done}
    await tenant.patch(Document, {key: {"state": state} for key, state in states.items()})


def order_key(source: str, position: int) -> str:
    """Sorts as people do: `note 9` before `note 10`, then by position."""
    padded = re.sub(r"\d+", lambda m: m.group().zfill(8), source)
    return f"{padded[-160:]}\x1f{position:08d}"


def _document(dataset_id: UUID, source: SourceDocument) -> Document:
    return Document(
        id=ids.document_id(dataset_id, source.source),
        dataset_id=dataset_id,
        source=source.source,
        title=source.title,
        content_hash=ids.text_hash(source.text),
        occurred_at=source.occurred_at,
        node_set=source.node_set,
        importance_weight=source.importance_weight,
        state=INCOMPLETE,
    )


def _row(document: Document, chunks: Sequence[DocumentChunk], stored: Document | None) -> Document:
    state = BEGUN if stored is None or stored.state == BEGUN else INCOMPLETE
    return replace(document, chunk_ids=tuple(c.id for c in chunks), state=state)


def _same(stored: Document | None, new: Document) -> bool:
    if stored is None or stored.state not in (COMPLETE, DEGRADED):
        return False
    return replace(stored, chunk_ids=(), state=new.state) == new


def _outcome(document: Document, stored: Document | None) -> DocumentOutcome:
    if stored is None or stored.state == BEGUN:
        status = DocumentStatus.ADDED
    elif _same(stored, document):
        status = DocumentStatus.UNCHANGED
    else:
        status = DocumentStatus.UPDATED
    return DocumentOutcome(source=document.source, document_id=document.id, status=status)


def _chunks(document: Document, text: str, max_tokens: int) -> list[DocumentChunk]:
    shared = {name: getattr(document, name) for name in _SHARED_FIELDS}
    return [
        DocumentChunk(
            id=key, dataset_id=document.dataset_id, document_id=document.id, text=piece, position=position, **shared
        )
        for position, (key, piece) in enumerate(chunking.chunk_ids(document.id, chunking.split(text, max_tokens)))
    ]


async def _put_new(tenant: Tenant, chunks: Sequence[DocumentChunk]) -> list[DocumentChunk]:
    """Write those that are not stored; the others, which are returned, keep what was read from them."""
    stored = await tenant.get(DocumentChunk, [c.id for c in chunks])
    known = {c.id for c in stored}
    await tenant.put([c for c in chunks if c.id not in known])
    return stored


def _differences(chunk: DocumentChunk, document: Document, position: int) -> dict[str, Any]:
    wanted = {name: getattr(document, name) for name in _SHARED_FIELDS} | {"position": position}
    return {name: value for name, value in wanted.items() if getattr(chunk, name) != value}
