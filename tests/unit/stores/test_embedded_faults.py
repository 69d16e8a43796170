"""What goes wrong with files leaves as an error that says who must act."""

import errno
import os
from pathlib import Path

import apsw
import pytest

from overstory.errors import (
    DatasetNotFoundError,
    StoreDamagedError,
    StoreError,
    StoreFullError,
    StoreUnavailableError,
    StoreVersionError,
    TransientError,
)
from overstory.models import Entity
from overstory.stores.embedded import EmbeddedStore
from overstory.stores.embedded.faults import fault, translated
from overstory.stores.embedded.schema import VERSION
from tests.contract.samples import Clock, dataset, random_vectors, row

PLACE = Path("/somewhere/registry.db")
FOREIGN = sorted(
    (c for c in vars(apsw).values() if isinstance(c, type) and issubclass(c, apsw.Error)), key=lambda c: c.__name__
)


@pytest.mark.parametrize("foreign", FOREIGN)
def test_every_error_of_sqlite_becomes_a_store_error_that_names_the_place(foreign):
    translation = fault(foreign("details"), PLACE)

    assert isinstance(translation, StoreError)
    assert str(PLACE) in str(translation)
    assert "details" in str(translation)


@pytest.mark.parametrize(
    ("foreign", "expected"),
    [
        (apsw.FullError, StoreFullError),
        (apsw.ReadOnlyError, StoreFullError),
        (apsw.BusyError, StoreUnavailableError),
        (apsw.LockedError, StoreUnavailableError),
        (apsw.IOError, StoreUnavailableError),
        (apsw.CorruptError, StoreDamagedError),
        (apsw.NotADBError, StoreDamagedError),
    ],
)
def test_what_can_be_done_decides_the_error(foreign, expected):
    assert type(fault(foreign("x"), PLACE)) is expected


@pytest.mark.parametrize(
    ("number", "expected"),
    [
        (errno.ENOSPC, StoreFullError),
        (errno.EROFS, StoreFullError),
        (errno.EACCES, StoreFullError),
        (errno.EIO, StoreUnavailableError),
        (errno.ENOTDIR, StoreUnavailableError),
    ],
)
def test_errors_of_the_file_system_are_told_apart(number, expected):
    with pytest.raises(expected, match="somewhere") as caught, translated(PLACE):
        raise OSError(number, "reason")

    assert isinstance(caught.value.__cause__, OSError)


def test_a_lock_is_worth_another_try_and_a_full_disk_is_not():
    assert isinstance(fault(apsw.BusyError(), PLACE), TransientError)
    assert not isinstance(fault(apsw.FullError(), PLACE), TransientError)


def _overwrite(path: Path, pragma: str, value: int) -> None:
    connection = apsw.Connection(str(path))
    connection.pragma(pragma, value)
    connection.close()


async def test_a_registry_of_a_newer_version_is_refused_with_both_numbers(home):
    await EmbeddedStore(home).close()
    _overwrite(home / "registry.db", "user_version", 99)

    with pytest.raises(StoreVersionError) as caught:
        EmbeddedStore(home)

    assert (caught.value.found, caught.value.supported) == (99, VERSION)


async def test_a_dataset_of_a_newer_version_is_refused(store, registered, path):
    _overwrite(path, "user_version", VERSION + 1)

    with pytest.raises(StoreVersionError, match=path.name):
        await store.tenant(registered)


@pytest.mark.parametrize("content", [b"no database at all" * 500, b"SQLite format 3\x00" + b"\xff" * 5_000])
async def test_a_file_of_garbage_is_damaged(home, content):
    home.mkdir()
    (home / "registry.db").write_bytes(content)

    with pytest.raises(StoreDamagedError, match="registry"):
        EmbeddedStore(home)


async def test_a_database_of_another_program_is_left_alone(home):
    home.mkdir()
    other = apsw.Connection(str(home / "registry.db"))
    other.execute("CREATE TABLE theirs(x); INSERT INTO theirs VALUES (1)")
    other.close()

    with pytest.raises(StoreDamagedError, match="another program"):
        EmbeddedStore(home)

    assert apsw.Connection(str(home / "registry.db")).execute("SELECT x FROM theirs").fetchall() == [(1,)]


async def test_a_dataset_file_with_overwritten_pages_is_damaged(home):
    store = EmbeddedStore(home)
    created = await store.create_dataset(dataset())
    await (await store.tenant(created)).put([row(Entity, created.id) for _ in range(300)])
    await store.close()
    path = home / "datasets" / f"{created.id}.db"
    content = bytearray(path.read_bytes())
    content[8192:] = b"\xa5" * (len(content) - 8192)
    path.write_bytes(content)

    store = EmbeddedStore(home)
    with pytest.raises(StoreDamagedError):
        await (await store.tenant(created)).count(Entity)

    await store.close()


async def test_an_empty_file_is_made_anew_by_the_next_create(home):
    store = EmbeddedStore(home)
    one = dataset()
    path = home / "datasets" / f"{one.id}.db"
    path.parent.mkdir()
    path.touch()

    await store.create_dataset(one)

    assert await (await store.tenant(one)).count(Entity) == 0
    await store.close()


async def test_a_home_below_a_file_can_not_be_used(tmp_path):
    (tmp_path / "file").touch()

    with pytest.raises(StoreError, match="registry"):
        EmbeddedStore(tmp_path / "file" / "home")


async def test_a_file_locked_by_another_program_is_unavailable_for_now(home):
    store = EmbeddedStore(home, busy_seconds=0.1)
    created = await store.create_dataset(dataset())
    tenant = await store.tenant(created)
    other = apsw.Connection(str(home / "datasets" / f"{created.id}.db"))
    other.execute("BEGIN IMMEDIATE")

    with pytest.raises(StoreUnavailableError, match="another process"):
        await tenant.put([row(Entity, created.id)])

    assert await tenant.count(Entity) == 0
    other.execute("ROLLBACK")
    await tenant.put([row(Entity, created.id)])
    assert await tenant.count(Entity) == 1
    other.close()
    await store.close()


async def test_a_full_file_refuses_the_whole_write_and_goes_on_reading(store, registered, tenant, path):
    kept = row(Entity, registered.id)
    await tenant.put([kept])
    with store._files.use(path) as database, database.maintain() as connection:
        connection.pragma("max_page_count", connection.pragma("page_count") + 4)

    with pytest.raises(StoreFullError, match="free space"):
        await tenant.put([row(Entity, registered.id, description="x" * 500) for _ in range(500)], random_vectors(500))

    assert await tenant.count(Entity) == 1
    assert await tenant.get(Entity, [kept.key]) == [kept]


async def test_a_dataset_whose_file_is_gone_is_not_found(store, registered, tenant, path):
    for part in path.parent.glob(path.name + "*"):
        part.unlink()

    with pytest.raises(DatasetNotFoundError):
        await tenant.count(Entity)


async def test_a_tenant_of_a_dropped_dataset_does_not_bring_it_back(store, registered, tenant, path):
    await store.drop_dataset(registered.id)

    with pytest.raises(DatasetNotFoundError):
        await tenant.put([row(Entity, registered.id)])

    assert list(path.parent.iterdir()) == []


async def test_dropping_goes_on_from_where_it_was_stopped(store, registered, tenant, path):
    path.with_name(path.name + "-wal").unlink()

    await store.drop_dataset(registered.id)

    assert await store.get_dataset(registered.id) is None
    assert list(path.parent.iterdir()) == []
    assert await store.next_occurrence(registered.owner_id, registered.name) == 1


async def test_a_registered_dataset_without_its_file_gets_one_by_create(store, registered, path):
    for part in path.parent.glob(path.name + "*"):
        part.unlink()

    again = await store.create_dataset(registered)

    assert again == registered
    assert await (await store.tenant(again)).count(Entity) == 0


async def test_the_clock_is_asked_for_leases_only(home):
    clock = Clock()
    store = EmbeddedStore(home, clock=clock)
    created = await store.create_dataset(dataset())

    lease = await store.acquire_lease(created.id, "a", 10)

    assert lease.acquired_at == clock.now
    await store.close()


def test_a_file_in_a_folder_that_is_only_read_is_no_matter_of_trying_again(tmp_path, monkeypatch):
    place = tmp_path / "registry.db"
    place.touch()
    monkeypatch.setattr("os.access", lambda path, mode: mode == os.R_OK)

    translation = fault(apsw.CantOpenError("unable to open database file"), place)

    assert isinstance(translation, StoreFullError)
    assert "Make the folder writable" in str(translation)
