"""Documents that are being forgotten, out of everybody's sight from the first moment on.

To forget takes several writes. Until they are done, what they will remove is hidden here: rows by their document,
an entity or edge whose words are the document's, and every text of the index that rests on it.
"""

import asyncio
from collections.abc import Callable, Collection, Coroutine, Mapping, Sequence
from dataclasses import dataclass, field, replace
from operator import attrgetter
from typing import Any, TypeVar, cast
from uuid import UUID

from overstory import ids
from overstory.models import (
    FORGETTING,
    AreaContent,
    Document,
    DocumentChunk,
    Edge,
    Entity,
    GlobalContextSummary,
    Hit,
    LeanEdge,
    Row,
    TextSummary,
    Vector,
)
from overstory.stores.contract import RowT, Tenant
from overstory.waves import wave

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Hidden:
    keys: frozenset[UUID] = frozenset()
    summaries: frozenset[UUID] = frozenset()
    counts: Mapping[type[Row], int] = field(default_factory=dict)
    """Rows by kind."""


async def find_hidden(tenant: Tenant) -> Hidden:
    """The keys of what belongs to documents that are being forgotten."""
    documents = await tenant.find(Document, "state", [FORGETTING])
    if not documents:
        return Hidden()
    chunks = await tenant.find(DocumentChunk, "document_id", documents)
    async with wave() as group:
        entities = group.create_task(tenant.find(Entity, "chunk_id", chunks))
        edges = group.create_task(tenant.find(Edge, "chunk_id", chunks))
        written = group.create_task(tenant.find(TextSummary, "document_id", documents))
    summaries = frozenset(map(ids.summary_id, chunks))
    rows: dict[type[Row], list[UUID]] = {
        Document: documents,
        DocumentChunk: chunks,
        TextSummary: written.result(),
        Entity: entities.result(),
        Edge: edges.result(),
    }
    return Hidden(summaries.union(*rows.values()), summaries, {kind: len(keys) for kind, keys in rows.items()})


def hide_forgetting(tenant: Tenant) -> Tenant:
    """A tenant for one question or one look, that shows nothing of documents that are being forgotten."""
    return cast(Tenant, _VisibleTenant(tenant))


class _VisibleTenant:
    """Looks up what is hidden while the first call runs; all calls that need no filter go to the tenant itself."""

    def __init__(self, tenant: Tenant) -> None:
        self._tenant = tenant
        self._finding: asyncio.Task[Hidden] | None = None

    def __getattr__(self, name: str) -> Any:
        return getattr(self._tenant, name)

    async def _hidden(self) -> Hidden:
        if self._finding is None:
            self._finding = asyncio.create_task(find_hidden(self._tenant))
        return await asyncio.shield(self._finding)

    async def count(self, kind: type[Row]) -> int:
        async with wave() as group:
            hidden, number = group.create_task(self._hidden()), group.create_task(self._tenant.count(kind))
        return number.result() - hidden.result().counts.get(kind, 0)

    async def get(self, kind: type[RowT], keys: Sequence[UUID], *, without: Collection[str] = ()) -> list[RowT]:
        async with wave() as group:
            hidden = group.create_task(self._hidden())
            rows = group.create_task(self._tenant.get(kind, keys, without=without))
        if not hidden.result().keys:
            return rows.result()
        return [shown(row, hidden.result()) for row in rows.result() if row.key not in hidden.result().keys]

    async def areas(self, ids: Sequence[UUID], generation: int) -> list[GlobalContextSummary]:
        async with wave() as group:
            hidden = group.create_task(self._hidden())
            rows = group.create_task(self._tenant.areas(ids, generation))
        return [shown(row, hidden.result()) for row in rows.result()]

    async def edges_between(self, node_ids: Sequence[UUID], *, limit: int | None = None) -> list[LeanEdge]:
        return await self._search(
            lambda count: self._tenant.edges_between(node_ids, limit=count), limit, attrgetter("key")
        )

    async def find(
        self, kind: type[Row], field: str, values: Sequence[UUID | str], *, limit: int | None = None
    ) -> list[UUID]:
        async with wave() as group:
            hidden = group.create_task(self._hidden())
            keys = group.create_task(self._tenant.find(kind, field, values, limit=limit))
        return [key for key in keys.result() if key not in hidden.result().keys]

    async def search_vectors(
        self, kind: type[Row], vector: Vector, limit: int | None, *, generation: int | None = None
    ) -> list[Hit]:
        return await self._search(
            lambda count: self._tenant.search_vectors(kind, vector, count, generation=generation),
            limit,
            attrgetter("key"),
        )

    async def search_rows(
        self,
        kind: type[RowT],
        vector: Vector,
        limit: int | None,
        *,
        generation: int | None = None,
        without: Collection[str] = (),
    ) -> list[tuple[RowT, float]]:
        found = await self._search(
            lambda count: self._tenant.search_rows(kind, vector, count, generation=generation, without=without),
            limit,
            lambda ranked: ranked[0].key,
        )
        hidden = await self._hidden()
        return [(shown(row, hidden), distance) for row, distance in found] if hidden.summaries else found

    async def search_text(self, kind: type[Row], query: str, limit: int) -> list[Hit]:
        return await self._search(
            lambda count: self._tenant.search_text(kind, query, count or limit),
            limit,
            attrgetter("key"),
        )

    async def _search(
        self,
        search: Callable[[int | None], Coroutine[None, None, list[T]]],
        limit: int | None,
        key_of: Callable[[T], UUID],
    ) -> list[T]:
        """What a search finds of what may be shown: as many, where there are so many."""
        async with wave() as group:
            finding, searching = group.create_task(self._hidden()), group.create_task(search(limit))
        hidden, found = finding.result().keys, searching.result()
        if not hidden:
            return found
        wider = found if limit is None else await search(limit + len(hidden))
        return [one for one in wider if key_of(one) not in hidden][:limit]

    async def has_words(self, kind: type[Row], query: str) -> bool:
        async with wave() as group:
            hidden = group.create_task(self._hidden())
            found = group.create_task(self._tenant.has_words(kind, query))
        return found.result() and (not hidden.result().keys or bool(await self.search_text(kind, query, 1)))


def shown(row: RowT, hidden: Hidden) -> RowT:
    """The row; what the index says is withheld where it rests on what is hidden."""
    if isinstance(row, GlobalContextSummary) and hidden.summaries and row.rests_on(hidden.summaries):
        return cast(RowT, replace(row, text="", content=AreaContent(), withheld=True))
    return row
