"""Forgetting documents, at once and in every text above them, without asking a model.

Facts of buckets and root that rest on a forgotten summary are cut by their sources. What is left is searched for
words that only the forgotten documents had: a text that still holds one, or has no fact left, is withheld until the
next improve has written it anew. Versions that only older generations see are removed.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any
from uuid import UUID

from overstory import ids
from overstory.indexing import publishing
from overstory.indexing.extracting import embed_texts
from overstory.indexing.pending import lowest_buckets
from overstory.indexing.removing import remove_chunks
from overstory.indexing.rendering import render_area
from overstory.indexing.searching import is_found
from overstory.models import (
    FORGETTING,
    AreaContent,
    Category,
    Document,
    DocumentChunk,
    Generation,
    GlobalContextSummary,
    Lease,
    Manifest,
    TextSummary,
)
from overstory.runtime import OpenDataset
from overstory.stores.contract import Store, Tenant
from overstory.words import STOP_WORDS, words_of
from overstory.writer import Embedder

_NAMELESS: Mapping[str, Any] = {"source": "", "title": "", "content_hash": "", "node_set": (), "chunk_ids": ()}
"""What is left of a document while its traces are erased."""


@dataclass(slots=True, kw_only=True)
class Forgotten:
    """What was taken away."""

    documents: int = 0
    chunks: int = 0
    entities: int = 0
    edges: int = 0
    stale: int = 0
    """Served index texts that were cut."""
    withheld: int = 0
    """Index texts not served until they are rewritten."""


async def forget(opened: OpenDataset, lease: Lease, document_ids: Sequence[UUID] = ()) -> Forgotten:
    """Forget documents, and those that an earlier call began to forget.

    A stop anywhere is finished by the next call that writes to the dataset: a document is marked first, and what is
    left of it, a row of ids, goes last.
    """
    store, tenant, embedder = opened.runtime.store, opened.tenant, opened.runtime.embedder
    leaving = list(dict.fromkeys([*document_ids, *await tenant.find(Document, "state", [FORGETTING])]))
    if not leaving:
        return Forgotten()
    await tenant.patch(Document, {key: {"state": FORGETTING} for key in leaving})
    chunk_ids = await tenant.find(DocumentChunk, "document_id", leaving)
    result = await _cut_index(store, tenant, embedder, lease, chunk_ids)
    removal = await remove_chunks(tenant, embedder, chunk_ids)
    await tenant.patch(Document, dict.fromkeys(leaving, _NAMELESS))
    await tenant.erase_traces()
    await store.erase_turns(tenant.dataset_id)
    result.documents = await tenant.delete(Document, leaving)
    result.chunks, result.entities, result.edges = removal.chunks, removal.entities, removal.edges
    return result


async def _cut_index(
    store: Store, tenant: Tenant, embedder: Embedder, lease: Lease, chunk_ids: Sequence[UUID]
) -> Forgotten:
    """Cut the served texts and remove all others above these chunks.

    Texts are written from the root down, those of a level together: after a stop the lowest still name what is gone,
    and lead to all above them again.
    """
    manifest = await publishing.settle(store, tenant, lease)
    former = await _former_summaries(tenant)
    gone = {ids.summary_id(c) for c in chunk_ids} | former
    above = await _rows_above(tenant, gone)
    served = [r for r in above if r.valid_from <= manifest.serving < r.valid_to]
    served = sorted([*served, *await _cut_before(tenant, manifest.serving, served)], key=lambda r: (r.level, r.key))
    others = [r for r in above if not r.valid_from <= manifest.serving < r.valid_to]
    kept, empty = _without_empty(served, gone)
    await _forget_generations(store, manifest, lease, [*others, *empty])
    await tenant.delete(GlobalContextSummary, [r.key for r in others])
    if not served:
        return Forgotten()
    own = await _OwnWords.of(tenant, chunk_ids, unknown=bool(former))
    rewritten = [await _cut(row, gone, own) for row in reversed(kept)]
    for _, rows in groupby(rewritten, key=lambda row: row.level):
        await _put_cut(tenant, embedder, list(rows))
    await tenant.delete(GlobalContextSummary, [r.key for r in empty])
    withheld = sum(row.withheld for row in rewritten)
    return Forgotten(stale=len(rewritten) - withheld, withheld=withheld)


async def _put_cut(tenant: Tenant, embedder: Embedder, rows: Sequence[GlobalContextSummary]) -> None:
    open_texts = [r for r in rows if not r.withheld]
    await tenant.put(open_texts, await embed_texts(embedder, [r.text for r in open_texts]))
    await tenant.put([r for r in rows if r.withheld])


async def _former_summaries(tenant: Tenant) -> set[UUID]:
    """Summaries that are gone, of earlier versions of documents, and that some row of the index still names.

    Nobody knows any more which document said them, so that they go with whichever is forgotten next.
    """
    named = {key async for bucket in lowest_buckets(tenant) for key in bucket.child_keys}
    if named:
        async for batch in tenant.batches(TextSummary, ["key"]):
            named.difference_update(batch.column("key").to_pylist())
    return {ids.uuid_of(key) for key in named}


async def _rows_above(tenant: Tenant, summary_ids: Collection[UUID]) -> list[GlobalContextSummary]:
    """Every version of every bucket above these summaries, up to the roots, of all generations; lowest level first."""
    found: dict[UUID, GlobalContextSummary] = {}
    children = sorted(summary_ids)
    while children:
        keys = await tenant.find(GlobalContextSummary, "child_ids", children)
        rows = [r for r in await tenant.get(GlobalContextSummary, keys) if r.key not in found]
        found.update({r.key: r for r in rows})
        children = sorted({r.id for r in rows})
    return sorted(found.values(), key=lambda r: (r.level, r.key))


async def _cut_before(
    tenant: Tenant, serving: int, besides: Collection[GlobalContextSummary]
) -> list[GlobalContextSummary]:
    """Served texts that an earlier forgetting cut and nothing has rewritten.

    They may still say a topic since another document supported it then, which may be the one that goes now.
    """
    known, keys = {row.key.bytes for row in besides}, list[bytes]()
    if serving:
        async for batch in tenant.batches(GlobalContextSummary, ["key", "stale", "withheld"], generation=serving):
            keys += [r["key"] for r in batch.to_pylist() if r["stale"] and not r["withheld"] and r["key"] not in known]
    return await tenant.get(GlobalContextSummary, [ids.uuid_of(key) for key in keys])


async def _forget_generations(
    store: Store, manifest: Manifest, lease: Lease, purged: Sequence[GlobalContextSummary]
) -> None:
    """Keep no generation whose root goes, but the served one, which is then said to be of nothing."""
    roots = [r for r in purged if r.is_root]
    lost = {g.number for g in manifest.generations for r in roots if r.valid_from <= g.number < r.valid_to}
    if lost:
        left = (g for g in manifest.generations if g.number not in lost - {manifest.serving})
        kept = tuple(_of_nothing(g) if g.number in lost else g for g in left)
        await store.write_manifest(replace(manifest, generations=kept, token=lease.token), lease)


def _of_nothing(generation: Generation) -> Generation:
    return replace(generation, root_id=None, level_sizes=(), summaries=0, degraded=0)


def _without_empty(
    served: Sequence[GlobalContextSummary], gone: Collection[UUID]
) -> tuple[list[GlobalContextSummary], list[GlobalContextSummary]]:
    """The rows without the children that are gone, lowest level first; those that have none left."""
    missing, kept, empty = set(gone), list[GlobalContextSummary](), list[GlobalContextSummary]()
    for row in served:
        children = tuple(c for c in row.child_ids if c not in missing)
        if children:
            kept.append(replace(row, child_ids=children))
        else:
            missing.add(row.id)
            empty.append(row)
    return kept, empty


async def _cut(row: GlobalContextSummary, gone: set[UUID], own: "_OwnWords") -> GlobalContextSummary:
    facts = tuple(f for f in row.content.facts if not gone.intersection(f.summary_ids))
    content = AreaContent(categories=await _supported(row.content.categories, own), facts=facts)
    if not facts or await own.in_text("\n".join(_said(content))):
        return replace(row, content=AreaContent(), text="", stale=True, withheld=True)
    return replace(row, content=content, text=render_area(content, is_root=row.is_root), stale=True)


def _said(content: AreaContent) -> Iterator[str]:
    """What of a text comes from documents: topics and facts, not its headings."""
    for category in content.categories:
        yield from category.topics
    yield from (fact.text for fact in content.facts)


async def _supported(categories: Iterable[Category], own: "_OwnWords") -> tuple[Category, ...]:
    found = []
    for category in categories:
        topics = tuple([t for t in category.topics if not await own.topic_lost(t)])
        if topics:
            found.append(Category(name=category.name, topics=topics))
    return tuple(found)


class _OwnWords:
    """Words and topics that only the documents being forgotten have; looked up once each.

    Args:
        words: of these documents.
        topics: ids of what they name.
        unknown: what else is gone can't be read any more, so that each word has to be found in what stays.
    """

    def __init__(
        self, tenant: Tenant, chunk_ids: Collection[UUID], words: set[str], topics: set[UUID], *, unknown: bool
    ) -> None:
        self._tenant, self._chunk_ids = tenant, set(chunk_ids)
        self._words, self._topics, self._unknown = words, topics, unknown
        self._answers: dict[str | UUID, bool] = {}

    @classmethod
    async def of(cls, tenant: Tenant, chunk_ids: Sequence[UUID], *, unknown: bool) -> "_OwnWords":
        chunks = await tenant.get(DocumentChunk, chunk_ids)
        summaries = await tenant.get(TextSummary, [ids.summary_id(c) for c in chunk_ids])
        documents = await tenant.get(Document, list({c.document_id for c in chunks}))
        texts = [c.text for c in chunks] + [s.text for s in summaries] + [d.title for d in documents]
        words = {w for text in texts for w in words_of(text)}
        return cls(tenant, chunk_ids, words, {m for c in chunks for m in c.mentions}, unknown=unknown)

    async def in_text(self, text: str) -> bool:
        words = set(words_of(text)) - STOP_WORDS
        suspects = words if self._unknown else words & self._words
        return any([await self._only_here(word) for word in sorted(suspects)])

    async def topic_lost(self, topic: str) -> bool:
        """Nothing but a forgotten document speaks of it."""
        key = ids.entity_id(self._tenant.dataset_id, topic)
        if key in self._topics:
            return await self._unsupported(key)
        return await self.in_text(topic)

    async def _unsupported(self, key: UUID) -> bool:
        if key not in self._answers:
            found = await self._tenant.find(DocumentChunk, "mentions", [key], limit=len(self._chunk_ids) + 1)
            self._answers[key] = not set(found) - self._chunk_ids
        return self._answers[key]

    async def _only_here(self, word: str) -> bool:
        """No document that stays has it."""
        if word not in self._answers:
            self._answers[word] = not await is_found(self._tenant, DocumentChunk, word, self._chunk_ids)
        return self._answers[word]
