"""Several processes, threads and event loops on one home, and processes that are killed."""

import asyncio
import json
import os
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from textwrap import dedent

import apsw
import pytest

from overstory.errors import DatasetBusyError
from overstory.models import DocumentChunk, Entity, PendingChange
from overstory.stores.embedded import EmbeddedStore
from tests.contract.samples import dataset, random_vectors, row, unit

ROOT = Path(__file__).parents[3]
PREAMBLE = """
import asyncio, json, sys
from pathlib import Path
from uuid import UUID, uuid4
from overstory.models import *
from overstory.stores.embedded import EmbeddedStore
from tests.contract.samples import *
home, dataset_id = Path(sys.argv[1]), UUID(sys.argv[2])
async def opened():
    store = EmbeddedStore(home)
    return store, await store.tenant(await store.get_dataset(dataset_id))
"""


def _start(code: str, home: Path, dataset_id: object) -> "subprocess.Popen[str]":
    command = [sys.executable, "-c", PREAMBLE + dedent(code), str(home), str(dataset_id)]
    return subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stdin=subprocess.PIPE, text=True)


WRITE_FOR_EVER = """
async def main():
    store, tenant = await opened()
    for number in range(1_000_000):
        tag = "tag" + uuid4().hex
        entities = [row(Entity, dataset_id, name=f"{tag} word", description=tag) for _ in range(40)]
        edges = [row(Edge, dataset_id, source_id=entities[0].id, target_id=e.id, chunk_id=entities[0].id) for e in entities]
        await tenant.put(entities, random_vectors(40, seed=number))
        await tenant.put(edges)
        if number % 3 == 2:
            await tenant.delete(Entity, [e.id for e in entities[:20]])
            await tenant.erase_traces() if number % 9 == 8 else None
        print(tag, flush=True)
asyncio.run(main())
"""


def _integrity(path: Path) -> list[str]:
    connection = apsw.Connection(str(path))
    try:
        problems = [text for (text,) in connection.execute("PRAGMA integrity_check").fetchall() if text != "ok"]
        for kind in ("DocumentChunk", "TextSummary", "Entity"):
            connection.execute(f"INSERT INTO {kind}_text({kind}_text) VALUES ('integrity-check')")
        return problems
    finally:
        connection.close()


async def _agreement(tenant) -> None:
    """What a put writes is there as a whole: rows, vectors, words."""
    batches = [batch async for batch in tenant.batches(Entity, ["key", "vector", "description"])]
    rows = [cells for batch in batches for cells in batch.to_pylist()]
    per_batch: dict[str, int] = {}
    for cells in rows:
        per_batch[cells["description"]] = per_batch.get(cells["description"], 0) + 1
    assert set(per_batch.values()) <= {20, 40}
    assert all(cells["vector"] is not None for cells in rows)
    assert len(await tenant.search_vectors(Entity, unit(1), None)) == len(rows)
    assert len(await tenant.search_text(Entity, "word", 1_000_000)) == len(rows)


async def test_a_kill_at_any_instant_leaves_whole_writes_and_all_acknowledged_ones(home):
    store = EmbeddedStore(home)
    created = await store.create_dataset(dataset())
    await store.close()
    path = home / "datasets" / f"{created.id}.db"

    for round_ in range(10):
        acknowledged = await _write_and_kill(home, created.id, lines=1 + round_ % 4, delay=0.003 * round_)

        assert _integrity(path) == []
        store = EmbeddedStore(home)
        tenant = await store.tenant(created)
        await _agreement(tenant)
        for tag in acknowledged:
            assert len(await tenant.search_text(Entity, tag, 100)) in {20, 40}
        await store.close()


async def _write_and_kill(home: Path, dataset_id: object, *, lines: int, delay: float) -> list[str]:
    process = _start(WRITE_FOR_EVER, home, dataset_id)
    read = [(await asyncio.to_thread(process.stdout.readline)).strip() for _ in range(lines)]
    await asyncio.sleep(delay)
    process.send_signal(signal.SIGKILL)
    rest, _ = process.communicate()
    # A line that the kill cut short acknowledges nothing.
    return read + [line for line in rest.splitlines() if len(line) == len("tag") + 32]


COUNT = """
async def main():
    store, tenant = await opened()
    vector = unit(1)
    for line in sys.stdin:
        hits = await tenant.search_vectors(Entity, vector, None)
        print(json.dumps([str(hit.key) for hit in hits]), flush=True)
asyncio.run(main())
"""


async def test_another_process_finds_what_was_written_and_misses_what_was_deleted(store, registered, tenant, home):
    reader = _start(COUNT, home, registered.id)

    async def seen() -> set[str]:
        reader.stdin.write("\n")
        reader.stdin.flush()
        return set(json.loads(await asyncio.to_thread(reader.stdout.readline)))

    first, second = [row(Entity, registered.id) for _ in range(2)]
    assert await seen() == set()
    await tenant.put([first], unit(1)[None])
    assert await seen() == {str(first.key)}
    await tenant.put([second], unit(0, 1)[None])
    await tenant.delete(Entity, [first.key])
    assert await seen() == {str(second.key)}
    await tenant.erase_traces()
    assert await seen() == {str(second.key)}
    reader.communicate()


WRITE_SOME = """
async def main():
    store, tenant = await opened()
    for _ in range(15):
        await tenant.put([row(Entity, dataset_id) for _ in range(20)], random_vectors(20))
asyncio.run(main())
"""


async def test_two_processes_may_write_while_a_third_reads(store, registered, tenant, home):
    writers = [_start(WRITE_SOME, home, registered.id) for _ in range(2)]
    seen = [0]
    while any(writer.poll() is None for writer in writers):
        seen.append(len(await tenant.search_vectors(Entity, unit(1), None)))
        await asyncio.sleep(0.01)

    for writer in writers:
        writer.communicate()

    assert [writer.returncode for writer in writers] == [0, 0]
    assert seen == sorted(seen)
    assert await tenant.count(Entity) == 600


LEASE = """
async def main():
    store = EmbeddedStore(home)
    sys.stdin.readline()
    try:
        lease = await store.acquire_lease(dataset_id, sys.argv[1] + str(__import__("os").getpid()), 60)
        print(lease.token)
    except Exception as error:
        print(type(error).__name__)
asyncio.run(main())
"""


async def test_of_two_processes_one_gets_the_lease(store, registered, home):
    contenders = [_start(LEASE, home, registered.id) for _ in range(2)]

    said = [process.communicate("\n")[0].strip() for process in contenders]

    assert sorted(said) == ["1", DatasetBusyError.__name__]


def test_one_store_serves_several_event_loops_and_threads(home):
    store = EmbeddedStore(home)
    created = asyncio.run(store.create_dataset(dataset()))
    tenant = asyncio.run(store.tenant(created))

    def write(seed: int) -> None:
        rows = [row(Entity, created.id) for _ in range(30)]
        asyncio.run(tenant.put(rows, random_vectors(30, seed=seed)))
        asyncio.run(tenant.search_vectors(Entity, unit(1), 5))

    with ThreadPoolExecutor(6) as threads:
        list(threads.map(write, range(12)))

    assert len(asyncio.run(tenant.search_vectors(Entity, unit(1), None))) == 360
    asyncio.run(store.close())


async def test_many_calls_at_once_on_one_tenant(registered, tenant):
    rows = [row(DocumentChunk, registered.id, text=f"word{i}") for i in range(200)]

    await asyncio.gather(
        *(tenant.put(rows[i : i + 10], random_vectors(10, seed=i)) for i in range(0, 200, 10)),
        *(tenant.search_vectors(DocumentChunk, unit(1), 3) for _ in range(20)),
        *(tenant.search_text(DocumentChunk, "word5", 3) for _ in range(20)),
    )

    assert await tenant.count(DocumentChunk) == 200
    assert len(await tenant.search_vectors(DocumentChunk, unit(1), None)) == 200


async def test_a_cancelled_write_is_kept_whole_or_not_at_all(registered, tenant):
    rows = [row(PendingChange, registered.id) for _ in range(3_000)]
    writing = asyncio.create_task(tenant.put(rows))
    await asyncio.sleep(0)

    writing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await writing

    await tenant.put([row(PendingChange, registered.id)])
    assert await tenant.count(PendingChange) in {1, 3_001}


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_child_reads_and_writes_with_connections_of_its_own(home):
    store = EmbeddedStore(home)
    created = asyncio.run(store.create_dataset(dataset()))
    tenant = asyncio.run(store.tenant(created))
    entity = row(Entity, created.id)
    asyncio.run(tenant.put([entity], unit(1)[None]))

    child = os.fork()
    if child == 0:
        try:
            found = asyncio.run(tenant.search_vectors(Entity, unit(1), None))
            asyncio.run(tenant.put([row(Entity, created.id)], unit(0, 1)[None]))
            os._exit(0 if [hit.key for hit in found] == [entity.key] else 1)
        finally:
            os._exit(2)
    _, status = os.waitpid(child, 0)

    assert os.waitstatus_to_exitcode(status) == 0
    assert asyncio.run(tenant.count(Entity)) == 2
    assert len(asyncio.run(tenant.search_vectors(Entity, unit(1), None))) == 2
    asyncio.run(store.close())
