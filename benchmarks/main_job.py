"""The main job in figures: importing, remembering, indexing, recalling.

python benchmarks/main_job.py [--notes 1000] [--offline-notes 10000]
"""

import argparse
import asyncio
import os
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))
from measuring import Table, leave_services, peak_megabytes, percentile, timed

PEOPLE = [
    f"{a} {b}"
    for a in ("Anna", "Luis", "Mira", "Tom", "Ines", "Joel", "Kira", "Omar")
    for b in ("Hofer", "Ortega", "Sand", "Weller", "Prado")
]
THINGS = [
    f"{a}{b}" for a in ("North", "Blue", "Gran", "Lan", "Har", "Mea") for b in ("star", "bird", "ite", "tern", "bour")
]
PLACES = ["Porto", "Bergen", "Ghent", "Turin", "Graz", "Lund", "Split", "Vigo"]
VERBS = ["reviewed", "postponed", "approved", "rebuilt", "measured", "cancelled"]
WITH_INDEX = {"include_global_context_index": True}


def make_note(number: int, chooser: random.Random, topics: int = 0) -> str:
    """About 300 characters with names that recur."""
    pick = chooser.choice
    sentences = [
        f"{pick(PEOPLE)} {pick(VERBS)} the {pick(THINGS)} plan in {pick(PLACES)} on {1 + number % 28} May 2025.",
        f"{pick(PEOPLE)} asked {pick(PEOPLE)} for {number % 90 + 3} changes to {pick(THINGS)}.",
        f"The team in {pick(PLACES)} expects a result within {2 + number % 9} weeks.",
        f"Entry {number}.",
    ]
    text = " ".join(sentences)
    return text + " " + "The notes were shared with everyone who works on it."[: max(0, 300 - len(text))]


def make_notes(count: int, seed: int = 1) -> list[str]:
    chooser = random.Random(seed)
    return [make_note(i, chooser) for i in range(count)]


def start_model() -> tuple["subprocess.Popen[str]", str]:
    """The scripted model in a process of its own, so that its CPU is not counted here."""
    program = "from overstory.testing import ScriptedModelServer; import time\nwith ScriptedModelServer() as s:\n print(s.url, flush=True)\n time.sleep(3600)"
    process = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    return process, process.stdout.readline().strip()


def measure_import(table: Table) -> None:
    """CPU of `import overstory` above that of an empty interpreter; medians of five."""

    def cpu(program: str) -> float:
        before = os.times()
        subprocess.run([sys.executable, "-c", program], check=True)
        after = os.times()
        return after.children_user + after.children_system - before.children_user - before.children_system

    whole = sorted(cpu("import overstory") for _ in range(5))[2]
    table.add("import overstory, whole process", f"{whole:.3f} CPU s", "<= 0.15", cpu_seconds=whole)


async def measure_model_lane(table: Table, count: int) -> None:
    from overstory import improve, remember

    with timed() as reading:
        remembered = await remember(make_notes(count), "model")
    table.add(
        f"remember {count:,} notes over HTTP",
        f"{reading.cpu_seconds:.1f} CPU s",
        "<= 12 at 1,000",
        cpu_seconds=reading.cpu_seconds,
    )
    calls = remembered.model_calls
    table.add("  model calls", f"{calls} of {remembered.chunks} chunks", "calls = chunks", count=calls)
    table.add("  peak memory", f"{peak_megabytes():.0f} MB", "<= 500")
    with timed() as building:
        index = (await improve("model", build_global_context_index=True)).index
    assert index is not None
    calls = index.model_calls
    each, library = building.cpu_seconds / max(1, calls) * 1000, await library_milliseconds()
    table.add("index over them, calls", f"{calls} for {index.buckets} + root", "as planned", count=calls)
    table.add("  CPU a call", f"{each:.1f} ms", cpu_seconds=each / 1000)
    table.add("  of which the client library", f"{library:.1f} ms", "so that <= 2 are ours")


async def library_milliseconds(calls: int = 200) -> float:
    """CPU of a call of the model by the client library alone, with an area's prompt and answer."""
    import litellm

    answer = {"name": "Any", "strict": True, "schema": {"type": "object", "properties": {"text": {"type": "string"}}}}
    given: dict[str, Any] = {
        "model": os.environ["LLM_MODEL"],
        "api_base": os.environ["LLM_ENDPOINT"],
        "api_key": "none",
        "messages": [{"role": "user", "content": " ".join(make_notes(8))}],
        "response_format": {"type": "json_schema", "json_schema": answer},
        "max_tokens": 1_000,
        "max_retries": 0,
    }

    async def some() -> None:
        for _ in range(calls // 8):
            await litellm.acompletion(**given)

    await litellm.acompletion(**given)
    with timed() as alone:
        await asyncio.gather(*(some() for _ in range(8)))
    return alone.cpu_seconds / calls * 1000


async def measure_offline(table: Table, count: int) -> None:
    from overstory import improve, remember

    with timed() as whole:
        with timed() as reading:
            await remember(make_notes(count, seed=2), "offline")
        index = (await improve("offline", build_global_context_index=True)).index
    assert index is not None
    table.add(
        f"offline: remember and index {count:,} notes (hashing)",
        f"{whole.cpu_seconds:.1f} CPU s",
        "<= 60 at 10,000",
        cpu_seconds=whole.cpu_seconds,
    )
    table.add(
        "  remember alone", f"{reading.cpu_seconds:.1f} CPU s", "<= 30 at 10,000", cpu_seconds=reading.cpu_seconds
    )
    table.add("  buckets, wall", f"{index.buckets:,}, {whole.wall_seconds:.1f} s")
    table.add("  peak memory", f"{peak_megabytes():.0f} MB")


async def measure_recall(table: Table, count: int) -> None:
    from overstory import improve, recall, remember

    await remember(make_notes(count, seed=3), "recall")
    await improve("recall", build_global_context_index=True)
    chooser = random.Random(4)
    questions = [f"What did {chooser.choice(PEOPLE)} decide about {chooser.choice(THINGS)}?" for _ in range(60)]

    async def run(config: dict[str, bool] | None) -> list[float]:
        times = []
        for question in questions:
            begun = time.perf_counter()
            await recall(
                question, "GRAPH_COMPLETION", datasets="recall", only_context=True, retriever_specific_config=config
            )
            times.append((time.perf_counter() - begun) * 1000)
        return times[10:]

    plain, with_map = await run(None), await run(WITH_INDEX)
    table.add(
        f"recall GRAPH_COMPLETION, {count:,} notes, p50 / p95",
        f"{percentile(plain, 0.5):.1f} / {percentile(plain, 0.95):.1f} ms",
        "p50 <= 20",
    )
    table.add(
        "  with the prelude", f"{percentile(with_map, 0.5):.1f} / {percentile(with_map, 0.95):.1f} ms", "p50 <= 22"
    )


async def measure_one_topic(table: Table, count: int) -> None:
    from overstory import datasets, improve, remember

    notes = [
        f"Anna Hofer reports on the Northstar launch in Porto: day {i} went as planned, {i * 7 % 100} visitors came."
        for i in range(count)
    ]
    await remember(notes, "topic")
    await improve("topic", build_global_context_index=True)
    level = (await datasets.status("topic")).level_sizes[0]
    table.add(f"{count:,} notes of one topic: level 0", f"{level} buckets", f"<= {1.1 * count / 4:.0f}", count=level)


async def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--notes", type=int, default=1000)
    parser.add_argument("--offline-notes", type=int, default=10_000)
    arguments = parser.parse_args()
    table = Table("main_job")
    os.environ["EMBEDDING_MODEL"] = "hashing"
    leave_services()
    with tempfile.TemporaryDirectory() as home:
        os.environ["OVERSTORY_HOME"] = home
        measure_import(table)
        process, url = start_model()
        try:
            os.environ |= {"LLM_MODEL": "openai/scripted", "LLM_ENDPOINT": url, "LLM_API_KEY": "none"}
            await measure_model_lane(table, arguments.notes)
        finally:
            process.terminate()
        del os.environ["LLM_MODEL"]
        await measure_recall(table, arguments.notes)
        await measure_one_topic(table, arguments.notes)
        await measure_offline(table, arguments.offline_notes)
    table.write()


if __name__ == "__main__":
    asyncio.run(main())
