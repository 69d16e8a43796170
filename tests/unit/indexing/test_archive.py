"""Archives: what is exported is imported whole, what is not what was exported is refused."""

import json
from pathlib import Path
from uuid import uuid4

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from overstory.errors import UnreadableSourceError, UsageError
from overstory.indexing import archive
from overstory.models import KINDS, VECTOR_KINDS, Dataset, Entity
from overstory.stores.embedded import EmbeddedStore
from overstory.stores.memory import MemoryStore
from tests.contract.samples import dataset, random_vectors, row

COUNT = 25


async def filled(store: MemoryStore) -> Dataset:
    """A dataset with rows of every kind, some of them with vectors."""
    made = await store.create_dataset(dataset())
    tenant = await store.tenant(made)
    for kind in KINDS:
        rows = [row(kind, made.id) for _ in range(COUNT)]
        await tenant.put(rows[:10], random_vectors(10) if kind in VECTOR_KINDS else None)
        await tenant.put(rows[10:])
    return made


@pytest.fixture
async def exported(tmp_path: Path) -> Path:
    store = MemoryStore()
    made = await filled(store)
    await archive.export_dataset(store, await store.tenant(made), made, tmp_path / "out")
    return tmp_path / "out"


async def imported(store, folder: Path) -> Dataset:
    manifest = archive.read_manifest(folder)
    return await archive.import_dataset(store, folder, manifest, owner_id=uuid4(), name=None, lease_seconds=60)


def signed(folder: Path, table: pa.Table, kind: type) -> None:
    """Another file of a kind, with its checksum in the manifest."""
    path = folder / f"{kind.__name__}.parquet"
    pq.write_table(table, path)
    manifest = json.loads((folder / archive.MANIFEST).read_text())
    manifest["files"][kind.__name__]["sha256"] = archive._sha256(path)
    (folder / archive.MANIFEST).write_text(json.dumps(manifest))


@pytest.mark.parametrize("transaction_bytes", [1, 2**20], ids=["many transactions", "one"])
async def test_every_row_arrives_with_its_vector(tmp_path: Path, monkeypatch, transaction_bytes):
    monkeypatch.setattr(archive, "_ROWS", 4)
    monkeypatch.setattr(archive, "_BYTES", transaction_bytes)
    first, second = MemoryStore(), EmbeddedStore(tmp_path / "home")
    made = await filled(first)
    await archive.export_dataset(first, await first.tenant(made), made, tmp_path / "out")

    there = await imported(second, tmp_path / "out")

    await archive.export_dataset(second, await second.tenant(there), there, tmp_path / "again")
    for kind in KINDS:
        name = f"{kind.__name__}.parquet"
        assert pq.read_table(tmp_path / "again" / name) == pq.read_table(tmp_path / "out" / name)
    await second.close()


@pytest.mark.parametrize("damage", ["changed", "missing", "not in the manifest"])
async def test_a_damaged_file_is_refused_before_anything_is_imported(exported: Path, damage: str):
    path, store = exported / "Entity.parquet", MemoryStore()
    content = path.read_bytes()
    path.write_bytes(content[:-9] + b"x" + content[-8:])
    if damage == "missing":
        path.unlink()
    if damage == "not in the manifest":
        listed = json.loads((exported / archive.MANIFEST).read_text())
        del listed["files"]["Entity"]
        (exported / archive.MANIFEST).write_text(json.dumps(listed))

    with pytest.raises(UnreadableSourceError, match=r"Entity\.parquet"):
        await imported(store, exported)

    assert await store.list_datasets() == []


@pytest.mark.parametrize("wrong", ["rows of another dataset", "no value", "the same key twice"])
async def test_rows_that_do_not_fit_are_refused_and_a_whole_archive_may_follow(tmp_path: Path, exported: Path, wrong):
    store, path = MemoryStore(), exported / "Entity.parquet"
    good = pq.read_table(path)
    other = {
        "rows of another dataset": lambda: good.set_column(
            1, "dataset_id", pa.array([bytes(16)] * COUNT, pa.binary(16))
        ),
        "no value": lambda: good.set_column(2, "name", pa.nulls(COUNT, pa.string())),
        "the same key twice": lambda: pa.concat_tables([good, good]),
    }[wrong]()
    signed(exported, other, Entity)

    with pytest.raises(UnreadableSourceError, match=r"Entity\.parquet"):
        await imported(store, exported)

    (there,) = await store.list_datasets()
    tenant = await store.tenant(there)
    assert await tenant.count(Entity) == 0
    signed(exported, good, Entity)
    await imported(store, exported)
    assert await tenant.count(Entity) == COUNT


async def test_what_is_no_archive_is_refused(tmp_path: Path, exported: Path):
    newer = json.loads((exported / archive.MANIFEST).read_text()) | {"format_version": archive.FORMAT_VERSION + 1}
    (tmp_path / "newer").mkdir()
    (tmp_path / "newer" / archive.MANIFEST).write_text(json.dumps(newer))

    with pytest.raises(UsageError, match="no folder"):
        archive.read_manifest(tmp_path / "nowhere")
    with pytest.raises(UnreadableSourceError, match=r"manifest\.json"):
        archive.read_manifest(tmp_path)
    with pytest.raises(UnreadableSourceError, match="upgrade"):
        archive.read_manifest(tmp_path / "newer")


async def test_a_dataset_that_is_there_is_not_imported_over(exported: Path):
    store = MemoryStore()
    there = await imported(store, exported)

    with pytest.raises(UsageError, match="here already"):
        await imported(store, exported)

    assert await store.list_datasets() == [there]
