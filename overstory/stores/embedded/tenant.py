"""The rows of one dataset in its file: every call checks what it is given and works in a thread."""

import asyncio
from collections.abc import AsyncIterator, Callable, Collection, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar
from uuid import UUID

import apsw

from overstory.columns import RowT
from overstory.models import Dataset, GlobalContextSummary, Hit, LeanEdge, Row, Vector, Vectors
from overstory.stores import checks
from overstory.stores.arriving import batches_of, check_table
from overstory.stores.embedded import connections, erasing, reading, registry, tables, writing
from overstory.stores.embedded.codec import codec_of
from overstory.stores.embedded.faults import translated
from overstory.stores.embedded.files import OpenFiles
from overstory.stores.embedded.matrix import Matrix
from overstory.stores.embedded.reading import Scope
from overstory.stores.embedded.schema import table_of
from overstory.stores.embedded.searching import has_words, search_text
from overstory.stores.embedded.sessions import SessionFile

if TYPE_CHECKING:
    import pyarrow as pa

P = ParamSpec("P")
T = TypeVar("T")
_LARGE_BYTES = 8 * 2**20
"""From here on a matrix is searched beside others, not after them."""


class EmbeddedTenant:
    """A dataset's rows in a file, which others may share."""

    def __init__(
        self, files: OpenFiles, path: Path, dataset: Dataset, *, registry: Path, sessions: SessionFile, shared: bool
    ) -> None:
        self._files, self._path, self._registry, self._sessions = files, path, registry, sessions
        self._reading = partial(files.read, path)
        self._scope = Scope(dataset.id, shared)
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
        await self._write(lambda connection: writing.put(connection, kind, [codec_of(kind).encode(rows, vectors)]))

    async def put_table(self, kind: type[Row], table: "pa.Table") -> None:
        await asyncio.to_thread(check_table, kind, table, self.dataset_id, self._dimensions)
        if table.num_rows:
            await self._write(writing.put, kind, (tables.stored_rows(kind, batch) for batch in batches_of(table)))

    async def get(self, kind: type[RowT], keys: Sequence[UUID], *, without: Collection[str] = ()) -> list[RowT]:
        return await self._read(reading.get, kind, keys, checks.left_out(kind, without))

    async def vectors(self, kind: type[Row], keys: Sequence[UUID]) -> dict[UUID, Vector]:
        return await self._read(reading.vectors, kind, keys)

    async def patch(self, kind: type[Row], changes: Mapping[UUID, Mapping[str, Any]]) -> None:
        checks.check_changes(kind, changes.values())
        if changes:
            await self._write(writing.patch, kind, changes)

    async def delete(self, kind: type[Row], keys: Sequence[UUID]) -> int:
        return await self._write(writing.remove, table_of(kind), [key.bytes for key in keys])

    async def count(self, kind: type[Row]) -> int:
        return await self._read(reading.count, self._scope, kind)

    async def find(
        self, kind: type[Row], field: str, values: Sequence[UUID | str], *, limit: int | None = None
    ) -> list[UUID]:
        checks.check_findable(kind, field)
        checks.check_limit(limit)
        return await self._read(reading.find, self._scope, kind, field, values, limit)

    async def tally(self, kind: type[Row], field: str, values: Sequence[UUID | str]) -> dict[UUID | str, int]:
        checks.check_findable(kind, field)
        return await self._read(reading.tally, self._scope, kind, field, values)

    async def edges_between(self, node_ids: Sequence[UUID], *, limit: int | None = None) -> list[LeanEdge]:
        checks.check_limit(limit)
        return await self._read(reading.edges_between, node_ids, limit)

    async def search_vectors(
        self, kind: type[Row], vector: Vector, limit: int | None, *, generation: int | None = None
    ) -> list[Hit]:
        return await self._search(kind, vector, limit, generation, lambda connection, hits: hits)

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
        return await self._search(
            kind, vector, limit, generation, lambda connection, hits: reading.rows_of(connection, kind, hits, left_out)
        )

    async def _search(
        self,
        kind: type[Any],
        vector: Vector,
        limit: int | None,
        generation: int | None,
        finish: Callable[[apsw.Connection, list[Hit]], T],
    ) -> T:
        query = checks.check_query(kind, vector, limit, generation, self._dimensions)

        def search(connection: apsw.Connection) -> tuple[Matrix, T | None]:
            matrix = self._files.matrices.current(connection, self._path, kind, self._dimensions)
            small = matrix.nbytes <= _LARGE_BYTES
            return matrix, finish(connection, matrix.search(query, limit, generation)) if small else None

        matrix, found = await self._files.thread.run(self._reading, search)
        if found is not None:
            return found
        # The product of a large matrix frees other threads to run.
        hits = await asyncio.to_thread(matrix.search, query, limit, generation)
        return await self._read(finish, hits)

    async def search_text(self, kind: type[Row], query: str, limit: int) -> list[Hit]:
        checks.check_text_kind(kind)
        checks.check_limit(limit)
        return await self._read(search_text, kind, query, limit)

    async def has_words(self, kind: type[Row], query: str) -> bool:
        checks.check_text_kind(kind)
        return await self._read(has_words, kind, query)

    async def areas(self, ids: Sequence[UUID], generation: int) -> list[GlobalContextSummary]:
        return await self._read(reading.areas, self._scope, ids, generation)

    async def sweep(self, keep: Sequence[int]) -> int:
        return await self._write(writing.sweep, self.dataset_id, keep)

    async def batches(
        self, kind: type[Row], columns: Sequence[str], *, generation: int | None = None, rows: int = 4096
    ) -> "AsyncIterator[pa.RecordBatch]":
        checks.check_columns(kind, columns)
        checks.check_generation(kind, generation)
        after = b""

        def next_page() -> "tuple[pa.RecordBatch, bytes] | None":
            with self._files.use(self._path) as database, database.read() as connection:
                return tables.page(
                    connection,
                    self._scope,
                    kind,
                    columns,
                    after=after,
                    rows=rows,
                    generation=generation,
                    dimensions=self._dimensions,
                )

        while page := await asyncio.to_thread(next_page):
            batch, after = page
            yield batch

    async def erase_traces(self) -> None:
        def erase() -> None:
            with self._files.use(self._path) as database:
                erasing.erase(database)

        await asyncio.to_thread(erase)

    async def files(self) -> list[Path]:
        places = (self._path, self._registry, self._sessions.path)
        return await asyncio.to_thread(lambda: [file for place in places for file in connections.files_of(place)])

    async def beside_rows(self) -> str:
        def read() -> str:
            with self._files.read(self._path) as rows, self._files.read(self._registry) as registered:
                texts = [*connections.schema_of(rows), *connections.schema_of(registered), *registry.texts(registered)]
            return "\n".join([*texts, *self._sessions.texts_of_others(self.dataset_id)])

        return await asyncio.to_thread(read)

    async def describe(self) -> dict[str, str | int]:
        def measure() -> dict[str, str | int]:
            with translated(self._path):
                return {"place": str(self._path), "bytes": connections.size_bytes(self._path), "index": "exact"}

        return await asyncio.to_thread(measure)

    async def _read(
        self, function: Callable[Concatenate[apsw.Connection, P], T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        return await self._files.thread.run(self._reading, lambda connection: function(connection, *args, **kwargs))

    async def _write(
        self, function: Callable[Concatenate[apsw.Connection, P], T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        def run() -> T:
            with self._files.use(self._path) as database, database.write() as connection:
                return function(connection, *args, **kwargs)

        return await asyncio.to_thread(run)
