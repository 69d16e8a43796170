"""Recall by size of the dataset, with readers while one builds, and over very many datasets of one home.

    python benchmarks/recalling.py [--large]

Hashing embedder, embedded store, context only. Without --large up to 10,000 chunks and 200 datasets; with it 100,000
and 1,000.
"""

import argparse
import asyncio
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks import large_tree
from benchmarks.large_tree import write_large_tree
from benchmarks.main_job import PEOPLE, THINGS, WITH_INDEX, make_notes
from benchmarks.measuring import Table, leave_services, peak_megabytes, percentile

QUESTIONS, UNCOUNTED = 60, 10
GOALS = {1_000: 12, 10_000: 25, 100_000: 60}
TYPES = ("GRAPH_COMPLETION", "HYBRID_COMPLETION")
READERS, READING_SECONDS = 8, 10
BUILD_NOTES = 2_000
CHUNKS_OF_EACH = 50


def questions(count: int, seed: int = 4, people: Sequence[str] = PEOPLE, things: Sequence[str] = THINGS) -> list[str]:
    chooser = random.Random(seed)
    return [f"What did {chooser.choice(people)} decide about {chooser.choice(things)}?" for _ in range(count)]


async def ask(dataset: str, question: str, query_type: str, *, index: bool) -> tuple[float, float]:
    """Milliseconds of wall and of CPU."""
    from overstory import recall

    wall, cpu = time.perf_counter(), time.process_time()
    config = WITH_INDEX if index else None
    found = await recall(question, query_type, datasets=dataset, only_context=True, retriever_specific_config=config)
    if not found or (index and not found[0].evidence.root):
        raise RuntimeError(f"nothing was found for {question!r}")
    return (time.perf_counter() - wall) * 1000, (time.process_time() - cpu) * 1000


async def one_size(table: Table, count: int) -> None:
    from overstory import improve, remember

    name = f"notes-{count}"
    await remember(make_notes(count, seed=3), name)
    await improve(name, build_global_context_index=True)
    await latencies(table, name, f"{count:,} notes", GOALS[count], questions(QUESTIONS))


async def latencies(table: Table, name: str, what: str, goal: int, texts: Sequence[str]) -> None:
    for query_type in TYPES:
        for index in (False, True):
            taken = [await ask(name, question, query_type, index=index) for question in texts]
            wall, cpu = ([times[i] for times in taken[UNCOUNTED:]] for i in (0, 1))
            wanted = f"p50 <= {goal + 4 * index}, p95 <= 2 x" if query_type == TYPES[0] else ""
            table.add(
                f"recall {query_type}, {what}" if not index else "  with the prelude",
                f"{percentile(wall, 0.5):.1f} / {percentile(wall, 0.95):.1f} ms",
                wanted,
                cpu_seconds=percentile(cpu, 0.5) / 1000,
            )


# --- readers while one builds ----------------------------------------------------------------------

_BEGIN = """
import asyncio, sys, time
sys.path.insert(0, {root!r})
from benchmarks.main_job import make_notes
from benchmarks.recalling import ask, questions
from overstory import improve, remember
def wait():
    print("ready", flush=True)
    sys.stdin.readline()
    return time.monotonic()
"""
_READ = """
async def main():
    texts = questions(200, seed={seed})
    for text in texts[:5]:
        await ask("notes-1000", text, "GRAPH_COMPLETION", index=True)
    done, end = 0, wait() + {seconds}
    while time.monotonic() < end:
        await ask("notes-1000", texts[done % 200], "GRAPH_COMPLETION", index=True)
        done += 1
    print(done / {seconds}, flush=True)
asyncio.run(main())
"""
_BUILD = """
async def main():
    await remember(make_notes({notes}, seed={seed}), "built-{seed}")
    begun = wait()
    await improve("built-{seed}", build_global_context_index=True)
    print(time.monotonic() - begun, flush=True)
asyncio.run(main())
"""


def start(program: str, **values: object) -> "subprocess.Popen[str]":
    """A process that is ready, and waits to be let off."""
    code = (_BEGIN + program).format(root=str(Path(__file__).parents[1]), **values)
    process = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    if process.stdout.readline().strip() != "ready":
        raise RuntimeError("a process did not start")
    return process


def let_off(*processes: "subprocess.Popen[str]") -> list[float]:
    """All at once; the number that each prints at its end."""
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("\n")
        process.stdin.flush()
    return [float(process.communicate()[0]) for process in processes]


def readers_and_a_builder(table: Table) -> None:
    def readers(count: int) -> "list[subprocess.Popen[str]]":
        return [start(_READ, seed=seed, seconds=READING_SECONDS) for seed in range(count)]

    [alone] = let_off(*readers(1))
    table.add("one reader", f"{alone:.0f} answers a second")
    many = sum(let_off(*readers(READERS)))
    table.add(f"{READERS} readers in processes of their own", f"{many:.0f} a second = {many / alone:.2f} x", ">= 1.6 x")
    [undisturbed] = let_off(start(_BUILD, notes=BUILD_NOTES, seed=1))
    *rates, disturbed = let_off(*readers(READERS), start(_BUILD, notes=BUILD_NOTES, seed=2))
    table.add("  while one builds", f"{sum(rates):.0f} a second = {sum(rates) / alone:.2f} x", "no error")
    table.add("  the build", f"{disturbed / undisturbed:.2f} x its time alone", "<= 1.5 x with a core to spare")


# --- very many datasets ----------------------------------------------------------------------------


def open_files() -> int:
    return len(os.listdir("/proc/self/fd")) if Path("/proc/self/fd").exists() else 0


async def many_datasets(table: Table, count: int) -> None:
    for i in range(count):
        await write_large_tree(f"small-{i}", CHUNKS_OF_EACH)
    before, handles, times = peak_megabytes(), 0, []
    for i in range(count):
        times.append((await ask(f"small-{i}", "What about the ferry and the permit?", TYPES[0], index=True))[0])
        handles = max(handles, open_files())
    table.add(f"{count:,} datasets of {CHUNKS_OF_EACH} chunks: recall, cold, p50 / p95", f"{percentile(times, 0.5):.1f} / {percentile(times, 0.95):.1f} ms", "<= 50 cold")  # fmt: skip
    table.add("  files open at most, memory grown by", f"{handles}, {peak_megabytes() - before:.0f} MB", "by OVERSTORY_OPEN_DATASETS")  # fmt: skip


async def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--large", action="store_true")
    asked = parser.parse_args()
    table = Table("recalling")
    leave_services()
    with tempfile.TemporaryDirectory() as home:
        os.environ |= {"OVERSTORY_HOME": home, "EMBEDDING_MODEL": "hashing"}
        await one_size(table, 1_000)
        await one_size(table, 10_000)
        if asked.large:
            await write_large_tree("large", 100_000)
            texts = questions(QUESTIONS, people=large_tree.PEOPLE, things=large_tree.THINGS)
            await latencies(table, "large", "100,000 chunks", GOALS[100_000], texts)
        readers_and_a_builder(table)
        await many_datasets(table, 1_000 if asked.large else 200)
    table.write()


if __name__ == "__main__":
    asyncio.run(main())
