"""The rows of one dataset on the server: every call checks what it is given first."""

from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import UUID

from overstory.columns import RowT
from overstory.models import Dataset, DocumentChunk, Edge, GlobalContextSummary, Hit, LeanEdge, Row, Vector, Vectors
from overstory.stores import checks
from overstory.stores.arriving import put_objects
from overstory.stores.weaviate import reading, searching, tables, writing
from overstory.stores.weaviate.address import FLAT
from overstory.stores.weaviate.connecting import Connections
from overstory.stores.weaviate.reading import Rows, Scope, both
from overstory.stores.weaviate.schema import SHARED_TENANT

if TYPE_CHECKING:
    import pyarrow as pa

FLAT_ROWS = 50_000
"""From about here on a flat index is slower than hnsw."""


class WeaviateTenant:
    """A dataset's rows in a tenant, which others may share."""

    def __init__(self, connections: Connections, dataset: Dataset, *, shared: bool) -> None:
        self._connections = connections
        self._scope = Scope(dataset.id, SHARED_TENANT if shared else str(dataset.id), shared)
        self._dimensions = dataset.embedding_dimensions

    @property
    def dataset_id(self) -> UUID:
        return self._scope.dataset_id

    async def put(self, rows: Sequence[Row], vectors: Vectors | None = None) -> None:
        if not rows:
            return
        kind = checks.check_rows(rows, self.dataset_id)
        if vectors is not None:
            vectors = checks.check_vectors(kind, len(rows), vectors, self._dimensions)
        own = await self._rows(kind)
        await writing.put(own.link, own.collection, kind, rows, vectors)

    async def put_table(self, kind: type[Row], table: "pa.Table") -> None:
        await put_objects(self, kind, table, self._dimensions)

    async def get(self, kind: type[RowT], keys: Sequence[UUID], *, without: Collection[str] = ()) -> list[RowT]:
        left_out = checks.left_out(kind, without)
        return await reading.get(await self._rows(kind), kind, keys, left_out)

    async def vectors(self, kind: type[Row], keys: Sequence[UUID]) -> dict[UUID, Vector]:
        return await reading.vectors(await self._rows(kind), keys)

    async def patch(self, kind: type[Row], changes: Mapping[UUID, Mapping[str, Any]]) -> None:
        checks.check_changes(kind, changes.values())
        own = await self._rows(kind)
        await writing.patch(own.link, own.collection, kind, changes)

    async def delete(self, kind: type[Row], keys: Sequence[UUID]) -> int:
        own = await self._rows(kind)
        return await writing.delete(own.link, own.collection, keys)

    async def count(self, kind: type[Row]) -> int:
        return await (await self._rows(kind)).count()

    async def find(
        self, kind: type[Row], field: str, values: Sequence[UUID | str], *, limit: int | None = None
    ) -> list[UUID]:
        checks.check_findable(kind, field)
        checks.check_limit(limit)
        return await reading.find(await self._rows(kind), field, values, limit)

    async def tally(self, kind: type[Row], field: str, values: Sequence[UUID | str]) -> dict[UUID | str, int]:
        checks.check_findable(kind, field)
        return await reading.tally(await self._rows(kind), field, values)

    async def edges_between(self, node_ids: Sequence[UUID], *, limit: int | None = None) -> list[LeanEdge]:
        checks.check_limit(limit)
        return await reading.edges_between(await self._rows(Edge), node_ids, limit)

    async def search_vectors(
        self, kind: type[Row], vector: Vector, limit: int | None, *, generation: int | None = None
    ) -> list[Hit]:
        query = checks.check_query(kind, vector, limit, generation, self._dimensions)
        return await searching.search_vectors(await self._rows(kind), query, limit, generation)

    async def search_rows(
        self,
        kind: type[RowT],
        vector: Vector,
        limit: int | None,
        *,
        generation: int | None = None,
        without: Collection[str] = (),
    ) -> list[tuple[RowT, float]]:
        left_out = checks.left_out(kind, without)
        query = checks.check_query(kind, vector, limit, generation, self._dimensions)
        return await searching.search_rows(await self._rows(kind), kind, query, limit, generation, left_out)

    async def search_text(self, kind: type[Row], query: str, limit: int) -> list[Hit]:
        checks.check_text_kind(kind)
        checks.check_limit(limit)
        return await searching.search_text(await self._rows(kind), query, limit)

    async def has_words(self, kind: type[Row], query: str) -> bool:
        checks.check_text_kind(kind)
        return await searching.has_words(await self._rows(kind), query)

    async def areas(self, ids: Sequence[UUID], generation: int) -> list[GlobalContextSummary]:
        return await reading.areas(await self._rows(GlobalContextSummary), ids, generation)

    async def sweep(self, keep: Sequence[int]) -> int:
        own = await self._rows(GlobalContextSummary)
        unseen = [reading.unseen_by(generation) for generation in keep] or [reading.any_generation()]
        return await writing.delete_matching(own.link, own.collection, both(*unseen, self._scope.own))

    async def batches(
        self, kind: type[Row], columns: Sequence[str], *, generation: int | None = None, rows: int = 4096
    ) -> "AsyncIterator[pa.RecordBatch]":
        checks.check_columns(kind, columns)
        checks.check_generation(kind, generation)
        async for batch in tables.batches(await self._rows(kind), columns, generation, rows, self._dimensions):
            yield batch

    async def erase_traces(self) -> None:
        """Nothing that a client can do: the server drops deleted rows from its files when it compacts them."""

    async def files(self) -> list[Path]:
        return []

    async def beside_rows(self) -> str:
        return ""

    async def describe(self) -> dict[str, str | int]:
        own = await self._rows(DocumentChunk)
        chunks, index = await own.count(), await reading.index_kind(own)
        hint = f"; from {FLAT_ROWS:,} chunks on hnsw is faster" if index == FLAT and chunks > FLAT_ROWS else ""
        return {
            "place": own.link.address.place,
            "tenant": self._scope.tenant,
            "server": f"Weaviate {own.link.version}",
            "index": f"{index}, {'exact' if index == FLAT else 'approximate'}{hint}",
        }

    async def _rows(self, kind: type[Any]) -> Rows:
        return Rows(await self._connections.link(), self._scope, kind)
