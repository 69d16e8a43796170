"""Open files and matrices are bounded, searches read indexes."""

import apsw
import numpy as np
import pytest

from overstory.models import FINDABLE, Edge, Entity, GlobalContextSummary, TextSummary
from overstory.stores.embedded import EmbeddedStore, matrix, schema, writing
from overstory.stores.embedded.connections import Database, create, fetch
from overstory.stores.embedded.matrix import Matrices, Matrix
from overstory.stores.embedded.reading import Scope
from tests.contract.samples import DIMENSIONS, dataset, random_vectors, row, some_keys, unit


async def test_no_more_datasets_than_asked_stay_open(home):
    store = EmbeddedStore(home, open_datasets=2)
    created = [await store.create_dataset(dataset(f"d{i}")) for i in range(6)]
    tenants = [await store.tenant(one) for one in created]

    for one, tenant in zip(created, tenants, strict=True):
        await tenant.put([row(Entity, one.id)], unit(1)[None])
        await tenant.search_vectors(Entity, unit(1), 1)

    assert len(store._files._files) == 2
    assert len(store._files.matrices._cached) == 2
    assert [await tenant.count(Entity) for tenant in tenants] == [1] * 6
    await store.close()


async def test_closing_leaves_no_side_files(home):
    store = EmbeddedStore(home)
    created = await store.create_dataset(dataset())
    await (await store.tenant(created)).put([row(Entity, created.id)])

    await store.close()

    assert sorted(path.name for path in home.rglob("*.db*")) == sorted(["registry.db", f"{created.id}.db"])


class Stuck:
    """A connection that can't be closed."""

    def close(self):
        raise apsw.IOError("disk I/O error")


def test_a_connection_that_can_not_be_closed_leaves_no_other_one_open(home):
    file = home / "one.db"
    create(file, schema.statements(False))
    database = Database(file)
    with database.read() as reader, database.write() as writer:
        fetch(reader, "SELECT 1")
    database._opened.readers.insert(0, Stuck())

    with pytest.raises(apsw.IOError):
        database.close()

    for connection in (reader, writer):
        with pytest.raises(apsw.ConnectionClosedError):
            connection.execute("SELECT 1")


async def test_matrices_beyond_their_bytes_are_dropped_and_read_again(home, monkeypatch):
    store = EmbeddedStore(home)
    store._files.matrices = Matrices(limit_bytes=200_000)
    created = await store.create_dataset(dataset())
    tenant = await store.tenant(created)
    for kind in (Entity, TextSummary, GlobalContextSummary):
        await tenant.put([row(kind, created.id) for _ in range(1_500)], random_vectors(1_500))

    for _ in range(2):
        for kind in (Entity, TextSummary, GlobalContextSummary):
            assert len(await tenant.search_vectors(kind, unit(1), None)) == 1_500

    assert store._files.matrices.nbytes <= 200_000
    await store.close()


async def test_many_deletions_shrink_the_matrix(registered, store, tenant, path):
    rows, vectors = [row(Entity, registered.id) for _ in range(2_000)], random_vectors(2_000)
    await tenant.put(rows, vectors)
    await tenant.search_vectors(Entity, unit(1), 1)

    await tenant.delete(Entity, [one.key for one in rows[:1_500]])
    hits = await tenant.search_vectors(Entity, unit(1), None)

    cached = store._files.matrices._cached[path, Entity, DIMENSIONS].matrix
    assert {hit.key for hit in hits} == {one.key for one in rows[1_500:]}
    assert (cached.count, cached.dead, len(cached.rids)) == (500, 0, 500)


async def test_a_matrix_that_slept_through_forgotten_changes_is_read_anew(registered, tenant, monkeypatch):
    monkeypatch.setattr(writing, "_KEPT_CHANGES", 10)
    rows, vectors = [row(Entity, registered.id) for _ in range(100)], random_vectors(100)
    await tenant.put(rows, vectors)
    await tenant.search_vectors(Entity, unit(1), 1)

    for one in rows[:60]:
        await tenant.delete(Entity, [one.key])

    hits = await tenant.search_vectors(Entity, unit(1), None)
    assert {hit.key for hit in hits} == {one.key for one in rows[60:]}


async def test_random_writes_leave_the_matrix_as_the_file(registered, tenant):
    random = np.random.default_rng(5)
    stored: dict = {}
    for step in range(60):
        rows = [row(Entity, registered.id) for _ in range(random.integers(1, 20))]
        vectors = random_vectors(len(rows), seed=step)
        await tenant.put(rows, vectors)
        stored |= {one.key: vector for one, vector in zip(rows, vectors, strict=True)}
        doomed = [key for key in stored if random.random() < 0.2]
        await tenant.delete(Entity, doomed)
        for key in doomed:
            del stored[key]
        hits = await tenant.search_vectors(Entity, unit(1), None)
        assert {hit.key for hit in hits} == set(stored)
        for hit in hits:
            assert hit.score == pytest.approx(1 - float(stored[hit.key] @ unit(1)), abs=1e-5)


def test_an_older_state_of_a_matrix_is_not_changed_by_a_newer_one():
    old = matrix._appended(Matrix.empty(DIMENSIONS, 8), [(1, b"a" * 16, unit(1).tobytes(), 0, 0)])

    new = matrix._appended(old, [(2, b"b" * 16, unit(0, 1).tobytes(), 0, 0)])

    assert len(old.search(unit(1), None, None)) == 1
    assert len(new.search(unit(1), None, None)) == 2


# --- queries read indexes ------------------------------------------------------------------------------------------


class Plans:
    """A connection that remembers how SQLite would answer what it is asked."""

    def __init__(self, connection):
        self._connection, self.steps = connection, []

    def execute(self, sql, values=()):
        explained = self._connection.execute("EXPLAIN QUERY PLAN " + sql, values).fetchall()
        self.steps += [detail for *_, detail in explained]
        return self._connection.execute(sql, values)


@pytest.fixture(params=[False, True], ids=["own file", "shared file"])
def plans(request, tmp_path):
    create(tmp_path / "x.db", schema.statements(request.param))
    connection = apsw.Connection(str(tmp_path / "x.db"))
    yield Plans(connection), Scope(some_keys(1)[0], request.param)
    connection.close()


def _scans(plans) -> list[str]:
    return [step for step in plans.steps if step.startswith("SCAN") and "carray" not in step and "VIRTUAL" not in step]


@pytest.mark.parametrize(("kind", "field"), [(kind, field) for kind, names in FINDABLE.items() for field in names])
def test_finding_and_tallying_scan_no_table(plans, kind, field):
    from overstory.stores.embedded import reading

    connection, scope = plans
    values = [*some_keys(1), "text"]

    reading.find(connection, scope, kind, field, values, 5)
    reading.tally(connection, scope, kind, field, values)

    assert _scans(connection) == []


def test_reads_by_key_by_end_and_by_generation_scan_no_table(plans):
    from overstory.stores.embedded import reading, tables

    connection, scope = plans

    reading.get(connection, Entity, some_keys(2), {})
    reading.vectors(connection, Entity, some_keys(2))
    reading.edges_between(connection, some_keys(2))
    reading.areas(connection, scope, some_keys(2), 1)
    tables.page(connection, scope, Edge, ["key"], after=b"", rows=10, generation=None, dimensions=DIMENSIONS)

    assert _scans(connection) == []
    assert not any("TEMP B-TREE" in step for step in connection.steps)


def test_a_file_is_in_log_mode_and_written_through(store, registered, path):
    with store._files.use(path) as database, database.read() as reader, database.maintain() as writer:
        found = [
            (c.pragma("journal_mode"), c.pragma("synchronous"), c.pragma("secure_delete")) for c in (reader, writer)
        ]

    assert found == [("wal", 2, 1)] * 2


def test_a_reader_can_not_write(store, registered, path):
    with store._files.use(path) as database, pytest.raises(apsw.Error), database.read() as reader:
        reader.execute("DELETE FROM Entity")


async def test_a_bulk_read_holds_no_transaction_between_batches(store, registered, tenant, path):
    await tenant.put([row(Entity, registered.id) for _ in range(50)])
    batches = tenant.batches(Entity, ["key"], rows=10)
    await anext(batches)

    with store._files.use(path) as database, database.maintain() as connection:
        busy = connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
        left = fetch(connection, "SELECT count(*) FROM Entity")

    assert (busy[0], left) == (0, [(50,)])
    await batches.aclose()
