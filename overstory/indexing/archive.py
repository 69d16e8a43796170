"""A dataset as a folder of Parquet files, and back, with the same ids, tree and answers.

    manifest.json       format version, dataset, served index, and for each file its rows and SHA-256
    Document.parquet    one file a kind: the columns of `columns.columns_of`, and `vector` where the kind has one

Rows are streamed: memory doesn't grow with the dataset.
"""

import asyncio
import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, TYPE_CHECKING, Literal
from uuid import UUID

from pydantic import BaseModel, ConfigDict, TypeAdapter

from overstory.columns import schema_of
from overstory.errors import UnreadableSourceError, UsageError
from overstory.indexing.exporting import written_whole
from overstory.indexing.leasing import writing
from overstory.models import KINDS, Build, Dataset, Document, Manifest, Row
from overstory.stores.contract import Store, Tenant

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq

FORMAT_VERSION = 1
MANIFEST = "manifest.json"
_ROWS = 1_024
_BYTES = 8 * 2**20
"""What is imported in one transaction, before compression: few large ones write an index faster than many small ones."""
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
        UnreadableSourceError: a file is damaged, and nothing was imported; or it is whole and its rows don't fit, and
            the import may be repeated with a good one.
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
            await _import_kind(tenant, kind, folder)
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

    schema = schema_of(kind, dataset.embedding_dimensions)
    path = folder / f"{kind.__name__}.parquet"
    rows = 0
    options = {"compression": "zstd", "use_dictionary": False, "write_statistics": False}
    with _opened(path, "wb") as file, pq.ParquetWriter(file, schema, **options) as writer:
        async for batch in tenant.batches(kind, schema.names, rows=_ROWS):
            rows += batch.num_rows
            table = pa.Table.from_batches([batch]).cast(schema)
            await asyncio.to_thread(writer.write_table, table)
    return ArchivedFile(rows=rows, sha256=await asyncio.to_thread(_sha256, path))


async def _import_kind(tenant: Tenant, kind: type[Row], folder: Path) -> None:
    import pyarrow.parquet as pq

    path = folder / f"{kind.__name__}.parquet"
    try:
        with _opened(path, "rb") as file:
            metadata = await asyncio.to_thread(pq.read_metadata, file)
        for groups in _together(metadata):
            await tenant.put_table(kind, await asyncio.to_thread(_read, path, metadata, groups))
    except ValueError as error:
        raise UnreadableSourceError(str(path), str(error)) from error


def _together(metadata: "pq.FileMetaData") -> Iterator[list[int]]:
    """The row groups of a file, at least `_BYTES` of them at a time."""
    groups, size = list[int](), 0
    for group in range(metadata.num_row_groups):
        groups.append(group)
        size += metadata.row_group(group).total_byte_size
        if size >= _BYTES or group == metadata.num_row_groups - 1:
            yield groups
            groups, size = [], 0


def _read(path: Path, metadata: "pq.FileMetaData", groups: Sequence[int]) -> "pa.Table":
    import pyarrow.parquet as pq

    with _opened(path, "rb") as opened, pq.ParquetFile(opened, metadata=metadata) as file:
        return file.read_row_groups(groups, use_threads=False)


def _opened(path: Path, mode: Literal["rb", "wb"]) -> IO[bytes]:
    """A file for pyarrow, which can't open names that are not UTF-8, or that the locale could not read, itself."""
    return path.open(mode)


def _begin(folder: Path, building: Path) -> None:
    if folder.exists() and any(folder.iterdir()):
        raise UsageError(f"{folder} is not empty: export into a new folder.")
    building.mkdir(parents=True)


def _check_files(folder: Path, manifest: ArchiveManifest) -> None:
    for kind in KINDS:
        path, expected = folder / f"{kind.__name__}.parquet", manifest.files.get(kind.__name__)
        if expected is None or not path.is_file():
            raise UnreadableSourceError(str(path), "the file is missing from the archive")
        if _sha256(path) != expected.sha256:
            raise UnreadableSourceError(str(path), "the file is not the one that was exported: its SHA-256 differs")


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
