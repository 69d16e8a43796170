"""Weaviate in figures, beside the embedded store: remembering, indexing, recalling, many readers, many tenants.

    python benchmarks/weaviate_store.py [--notes 10000] [--url weaviate://localhost:8080?grpc_port=50051] [--tenants 200]
    python benchmarks/weaviate_store.py --folder texts/ --questions questions.txt

The notes are made up: 75 names that all know each other. A folder of your own texts, with a question a line, shows what
others are like. Without --url a `weaviate` from the PATH is started on free ports, with its data in a temporary folder.
"""

import argparse
import asyncio
import os
import random
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from uuid import uuid4

sys.path.insert(0, str(Path(__file__).parents[1]))
sys.path.insert(0, str(Path(__file__).parent))
from main_job import PEOPLE, THINGS, WITH_INDEX, make_notes
from measuring import Table, Timing, leave_services, percentile, timed

from tests.weaviate_server import WeaviateServer

QUESTIONS, UNCOUNTED = 60, 10
READERS, ASKED_BY_EACH = 16, 12


@contextmanager
def server(url: str) -> Iterator[tuple[str, WeaviateServer | None]]:
    """The URL of a server, with collections of this run alone, and the server where it is ours."""
    prefix = f"prefix=Bench{uuid4().hex[:8]}"
    if url:
        yield f"{url}{'&' if '?' in url else '?'}{prefix}", None
        return
    with tempfile.TemporaryDirectory(prefix="overstory-bench-", ignore_cleanup_errors=True) as folder:
        own = WeaviateServer(Path(folder))
        try:
            own.start()
            yield f"{own.url}&{prefix}", own
        finally:
            own.kill()


async def build(notes: Sequence[str] | Path) -> Timing:
    from overstory import improve, remember

    with timed() as whole:
        await remember(notes, "bench")
        await improve("bench", build_global_context_index=True)
    return whole


def made_up_questions() -> list[str]:
    chooser = random.Random(4)
    return [f"What did {chooser.choice(PEOPLE)} decide about {chooser.choice(THINGS)}?" for _ in range(QUESTIONS)]


async def ask(question: str) -> float:
    """Milliseconds of one recall with the prelude, context only."""
    from overstory import recall

    begun = time.perf_counter()
    found = await recall(
        question, "GRAPH_COMPLETION", datasets="bench", only_context=True, retriever_specific_config=WITH_INDEX
    )
    if "World summary:" not in found[0].text:
        raise RuntimeError("the prelude is missing")
    return (time.perf_counter() - begun) * 1000


async def ask_one_by_one(questions: Sequence[str]) -> list[float]:
    return [await ask(question) for question in questions][UNCOUNTED:]


async def ask_together(questions: Sequence[str]) -> float:
    """Answers a second, with so many readers at once in this process."""

    async def reader(number: int) -> None:
        for place in range(number, number + ASKED_BY_EACH):
            await ask(questions[place % len(questions)])

    begun = time.perf_counter()
    await asyncio.gather(*(reader(number) for number in range(READERS)))
    return READERS * ASKED_BY_EACH / (time.perf_counter() - begun)


async def one_store(table: Table, name: str, notes: Sequence[str] | Path, questions: Sequence[str]) -> float:
    from overstory import datasets

    built = await build(notes)
    chunks = (await datasets.status("bench")).chunks
    table.add(
        f"{name}: remember and index {chunks:,} chunks", f"{built.wall_seconds:.1f} s", cpu_seconds=built.cpu_seconds
    )
    times = await ask_one_by_one(questions)
    goal = "p50 <= 60" if name == "weaviate" else ""
    table.add(
        "  recall with the prelude, p50 / p95", f"{percentile(times, 0.5):.1f} / {percentile(times, 0.95):.1f} ms", goal
    )
    rate = await ask_together(questions)
    table.add(f"  {READERS} readers at once", f"{rate:.0f} a second", ">= 60" if name == "weaviate" else "")
    return built.wall_seconds


async def many_tenants(table: Table, url: str, count: int, own: WeaviateServer | None) -> None:
    from overstory.models import Dataset
    from overstory.settings import StoreSettings
    from overstory.stores.weaviate import WeaviateStore

    store = WeaviateStore(StoreSettings(url=url))
    owner, before = uuid4(), own.memory_megabytes if own else 0.0
    wanted = [
        Dataset(
            id=uuid4(),
            name=f"d{i}",
            owner_id=owner,
            created_at=datetime.now(UTC),
            embedding_model="none",
            embedding_dimensions=8,
        )
        for i in range(count)
    ]
    with timed() as making:
        for dataset in wanted:
            await store.create_dataset(dataset)
    table.add(f"make {count} datasets", f"{making.wall_seconds / count * 1000:.0f} ms each")
    if own:
        table.add("  memory of the server for each", f"{(own.memory_megabytes - before) / count:.2f} MB")
    with timed() as dropping:
        for dataset in wanted:
            await store.drop_dataset(dataset.id)
    table.add(f"drop {count} datasets", f"{dropping.wall_seconds / count * 1000:.0f} ms each")
    await store.close()


async def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--notes", type=int, default=10_000)
    parser.add_argument("--tenants", type=int, default=200)
    parser.add_argument("--url", default="")
    parser.add_argument("--folder", type=Path, help="texts of your own instead of made-up notes")
    parser.add_argument("--questions", type=Path, help="a file with a question a line, with --folder")
    arguments = parser.parse_args()
    if bool(arguments.folder) != bool(arguments.questions):
        parser.error("--folder and --questions go together")
    table, notes, questions = Table("weaviate_store"), make_notes(arguments.notes, seed=3), made_up_questions()
    if arguments.folder:
        notes, questions = arguments.folder, arguments.questions.read_text(encoding="utf-8").splitlines()
    leave_services()
    with tempfile.TemporaryDirectory() as home, server(arguments.url) as (url, own):
        os.environ |= {"EMBEDDING_MODEL": "hashing", "OVERSTORY_HOME": home}
        embedded = await one_store(table, "embedded", notes, questions)
        os.environ["OVERSTORY_STORE_URL"] = url
        ratio = await one_store(table, "weaviate", notes, questions) / embedded
        table.add("  its time, beside the embedded store's", f"{ratio:.2f} x", "<= 2")
        await many_tenants(table, url, arguments.tenants, own)
    table.write()


if __name__ == "__main__":
    asyncio.run(main())
