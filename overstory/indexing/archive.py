"""A dataset as a folder of Parquet files, and back, with the same ids, tree and answers.

    manifest.json       format version, dataset, served index, and for each file its rows and SHA-256
    Document.parquet    one file a kind: the columns of `columns.columns_of`, and `vector` where the kind has one

Rows are streamed: memory doesn't grow with the dataset.
"""

import asyncio
import hashlib
import json
from collections.abc import AsyncGenerator, Iterator
from contextlib import aclosing
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, TYPE_CHECKING, Literal, TypeAlias
from uuid import UUID

import numpy as np
from pydantic import BaseModel, ConfigDict, TypeAdapter

from overstory.columns import arrow_type, columns_of, decode_all
from overstory.errors import UnreadableSourceError, UsageError
from overstory.indexing.exporting import written_whole
from overstory.indexing.leasing import writing
from overstory.models import KINDS, VECTOR_KINDS, Build, Dataset, Document, Manifest, Row, Vectors
from overstory.stores.contract import Store, Tenant

if TYPE_CHECKING:
    import pyarrow as pa

_Part: TypeAlias = "tuple[list[Row], Vectors | None]"
"""Some rows of a kind with their vectors; None where they have none."""
FORMAT_VERSION = 1
MANIFEST = "manifest.json"
_ROWS = 1_024
IMPORT = "import"
"""Purpose of a build that is none: it marks a dataset whose import has not ended."""


class ArchivedFile(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    rows: int
    sha256: str


class ArchiveManifest(BaseModel):
    """What `manifest.json` says."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    format_version: int
    dataset: Dataset
    index: Manifest
    files: dict[str, ArchivedFile]


async def export_dataset(store: Store, tenant: Tenant, dataset: Dataset, folder: Path) -> ArchiveManifest:
    """Write a dataset into a new folder; it appears whole, or not at all.

    Raises:
        UsageError: the folder exists and is not empty, or can't be written.
    """
    async with written_whole(folder) as building:
        await asyncio.to_thread(_begin, folder, building)
        files = {kind.__name__: await _export_kind(tenant, dataset, kind, building) for kind in KINDS}
        index = await store.read_manifest(dataset.id)
        manifest = ArchiveManifest(format_version=FORMAT_VERSION, dataset=dataset, index=index, files=files)
        text = json.dumps(json.loads(manifest.model_dump_json()), indent=2, ensure_ascii=False)
        await asyncio.to_thread((building / MANIFEST).write_text, text + "\n", encoding="utf-8")
    return manifest


def read_manifest(folder: Path) -> ArchiveManifest:
    """What an archive holds.

    Raises:
        UsageError: there is no such folder.
        UnreadableSourceError: it is no archive, or one of a newer Overstory.
    """
    if not folder.is_dir():
        raise UsageError(f"There is no folder {folder}: name one that `export` wrote.")
    try:
        manifest = TypeAdapter(ArchiveManifest).validate_json((folder / MANIFEST).read_bytes())
    except (OSError, ValueError) as error:
        raise UnreadableSourceError(str(folder), f"no readable {MANIFEST}: is this an exported dataset?") from error
    if manifest.format_version > FORMAT_VERSION:
        found = f"format version {manifest.format_version}, this Overstory knows up to {FORMAT_VERSION}: upgrade it"
        raise UnreadableSourceError(str(folder), found)
    return manifest


async def import_dataset(
    store: Store, folder: Path, manifest: ArchiveManifest, *, owner_id: UUID, name: str | None, lease_seconds: float
) -> Dataset:
    """Bring an archive into a store, under its old id. One that stopped may be repeated.

    Raises:
        UnreadableSourceError: a file is damaged; nothing was imported.
        UsageError: the dataset exists already.
        DatasetBusyError: another writer holds the dataset.
    """
    await asyncio.to_thread(_check_files, folder, manifest)
    wanted = replace(manifest.dataset, owner_id=owner_id, name=name or manifest.dataset.name)
    dataset, tenant = await _place(store, wanted)
    async with writing(store, dataset, "import", ttl_seconds=lease_seconds) as held:
        begun = Build(number=0, purpose=IMPORT, started_at=datetime.now(UTC))
        mark = Manifest(dataset_id=dataset.id, unpublished=(begun,), token=held.lease.token)
        await store.write_manifest(mark, held.lease)
        for kind in KINDS:
            async with aclosing(_read_ahead(_imported(folder, kind, dataset))) as parts:
                async for rows, vectors in parts:
                    await tenant.put(rows, vectors)
        await store.write_manifest(replace(manifest.index, token=held.lease.token), held.lease)
    return dataset


async def _place(store: Store, wanted: Dataset) -> tuple[Dataset, Tenant]:
    """Where the archive goes: nowhere but where there is nothing, or what an import that stopped has left."""
    known = await store.get_dataset(wanted.id)
    if known is not None:
        tenant = await store.tenant(known)
        if not await _may_import(store, tenant):
            raise UsageError(
                f"The archive's dataset is here already, as {known.name!r}: forget it first, or import into another home "
                "(--home) or store."
            )
        return known, tenant
    dataset = await store.create_dataset(wanted)
    if dataset.id != wanted.id:
        raise UsageError(f"There is another dataset {wanted.name!r}: import under another name.")
    return dataset, await store.tenant(dataset)


async def _may_import(store: Store, tenant: Tenant) -> bool:
    """The dataset is empty, or holds what an import that stopped has brought."""
    unpublished = (await store.read_manifest(tenant.dataset_id)).unpublished
    return any(b.purpose == IMPORT for b in unpublished) or not await tenant.count(Document)


async def _export_kind(tenant: Tenant, dataset: Dataset, kind: type[Row], folder: Path) -> ArchivedFile:
    import pyarrow as pa
    import pyarrow.parquet as pq

    schema = _schema(kind, dataset.embedding_dimensions)
    path = folder / f"{kind.__name__}.parquet"
    rows = 0
    options = {"compression": "zstd", "use_dictionary": False, "write_statistics": False}
    with _opened(path, "wb") as file, pq.ParquetWriter(file, schema, **options) as writer:
        async for batch in tenant.batches(kind, schema.names, rows=_ROWS):
            rows += batch.num_rows
            table = pa.Table.from_batches([batch]).cast(schema)
            await asyncio.to_thread(writer.write_table, table)
    return ArchivedFile(rows=rows, sha256=await asyncio.to_thread(_sha256, path))


def _opened(path: Path, mode: Literal["rb", "wb"]) -> IO[bytes]:
    """A file for pyarrow, which can't open names that are not UTF-8, or that the locale could not read, itself."""
    return path.open(mode)


def _schema(kind: type[Row], dimensions: int) -> "pa.Schema":
    import pyarrow as pa

    names = [c.name for c in columns_of(kind)] + (["vector"] if kind in VECTOR_KINDS else [])
    return pa.schema([(name, arrow_type(kind, name, dimensions)) for name in names])


def _begin(folder: Path, building: Path) -> None:
    if folder.exists() and any(folder.iterdir()):
        raise UsageError(f"{folder} is not empty: export into a new folder.")
    building.mkdir(parents=True)


def _check_files(folder: Path, manifest: ArchiveManifest) -> None:
    for name, expected in manifest.files.items():
        path = folder / f"{name}.parquet"
        if not path.is_file():
            raise UnreadableSourceError(str(path), "the file is missing from the archive")
        if _sha256(path) != expected.sha256:
            raise UnreadableSourceError(str(path), "the file is not the one that was exported: its SHA-256 differs")


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


async def _read_ahead(parts: AsyncGenerator[_Part, None]) -> AsyncGenerator[_Part, None]:
    """The same parts, the next one read while one is written."""
    async with aclosing(parts):
        coming = asyncio.ensure_future(anext(parts, None))
        try:
            while (part := await coming) is not None:
                coming = asyncio.ensure_future(anext(parts, None))
                yield part
        finally:
            await asyncio.gather(coming, return_exceptions=True)  # a thread may still be reading the file


async def _imported(folder: Path, kind: type[Row], dataset: Dataset) -> AsyncGenerator[_Part, None]:
    import pyarrow.parquet as pq

    with _opened(folder / f"{kind.__name__}.parquet", "rb") as opened, pq.ParquetFile(opened) as file:
        batches = file.iter_batches(batch_size=_ROWS)
        while (batch := await asyncio.to_thread(next, batches, None)) is not None:
            for part in _by_vector(batch):
                yield await asyncio.to_thread(_rows_of, kind, part, dataset)


def _by_vector(batch: "pa.RecordBatch") -> "Iterator[pa.RecordBatch]":
    """Rows with a vector and rows without one, apart."""
    import pyarrow.compute as pc

    if "vector" not in batch.schema.names or not batch.column("vector").null_count:
        yield batch
        return
    present = pc.is_valid(batch.column("vector"))
    for part in (batch.filter(present), batch.filter(pc.invert(present)).drop_columns(["vector"])):
        if part.num_rows:
            yield part


def _rows_of(kind: type[Row], batch: "pa.RecordBatch", dataset: Dataset) -> _Part:
    columns = {c.name: decode_all(c.form, batch.column(c.name).to_pylist()) for c in columns_of(kind)}
    rows: list[Row] = [
        kind(**dict(zip(columns, values, strict=True))) for values in zip(*columns.values(), strict=True)
    ]
    if "vector" not in batch.schema.names:
        return rows, None
    joined = b"".join(batch.column("vector").to_pylist())
    return rows, np.frombuffer(joined, np.float32).reshape(len(rows), dataset.embedding_dimensions)
