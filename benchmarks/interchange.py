"""The graph of a dataset in files and in networkx: seconds of CPU and memory, as the dataset grows.

    python benchmarks/interchange.py [--notes 1000,4000]

Each case runs in a process of its own; memory is what it takes beyond the same process that only opens the dataset.
"""

import argparse
import asyncio
import os
import random
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks.measuring import Table, peak_megabytes, timed
from overstory import SourceDocument, datasets, improve, remember
from overstory.interchange import read_graphml, read_jsonl

DATASET = "notes"
CASES = ("prepare", "open", "write jsonl", "write graphml", "to_networkx", "read jsonl", "read graphml")
NAMES = [
    f"{first} {last}" for first in ("Anna", "Luis", "Mira", "Tomas") for last in ("Hofer", "Ortega", "Okonjo", "Brandt")
]
THINGS = [f"{what} {number}" for what in ("Pump", "Dock", "Buoy", "Crane") for number in range(1, 60)]


def notes(number: int) -> list[SourceDocument]:
    draw = random.Random(7)
    return [
        SourceDocument(
            f"{draw.choice(NAMES)} inspected {draw.choice(THINGS)} with {draw.choice(NAMES)}. "
            f"{draw.choice(THINGS)} was moved beside {draw.choice(THINGS)} for {draw.randint(100, 9999)} euros.",
            f"note-{one}",
        )
        for one in range(number)
    ]


async def run(case: str, number: int) -> tuple[int, int]:
    """Do what a case says; nodes and edges."""
    if case == "prepare":
        await remember(notes(number), DATASET)
        await improve(DATASET, build_global_context_index=True)
    if case in {"prepare", "open"}:
        status = await datasets.status(DATASET)
        return status.chunks, status.edges
    how, _, form = case.partition(" ")
    if how == "write":
        return await datasets.export_graph(DATASET, f"graph.{form}")
    if how == "to_networkx":
        graph = await datasets.to_networkx(DATASET)
    else:
        graph = (read_graphml if form == "graphml" else read_jsonl)(f"graph.{form}")
    return len(graph), graph.size()


def one(case: str, number: int) -> None:
    with timed() as timing:
        nodes, edges = asyncio.run(run(case, number))
    print(nodes, edges, timing.cpu_seconds, peak_megabytes())


def measure(number: int, table: Table) -> None:
    with tempfile.TemporaryDirectory() as folder:
        environment = os.environ | {"OVERSTORY_HOME": folder, "EMBEDDING_MODEL": "hashing"}
        base = 0.0
        for case in CASES:
            program = [sys.executable, str(Path(__file__).resolve()), "--case", case, "--notes", str(number)]
            ran = subprocess.run(program, cwd=folder, env=environment, capture_output=True, text=True, check=True)
            nodes, edges, seconds, peak = (float(word) for word in ran.stdout.split())
            if case == "prepare":
                continue
            base = base or peak
            figure = f"{peak - base:6.0f} MB, {seconds:5.1f} CPU s"
            size = f"{nodes:,.0f} nodes, {edges:,.0f} edges" if case != "open" else f"{base:.0f} MB to begin with"
            table.add(f"{number:,} notes: {case}", figure, size, megabytes=peak - base, cpu_seconds=seconds)
        for form in ("jsonl", "graphml"):
            size = (Path(folder) / f"graph.{form}").stat().st_size
            table.add(f"{number:,} notes: {form} file", f"{size / 1e6:.1f} MB")


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--notes", default="1000,4000")
    options.add_argument("--case", choices=CASES)
    chosen = options.parse_args()
    if chosen.case:
        one(chosen.case, int(chosen.notes))
        return
    table = Table("interchange")
    for number in chosen.notes.split(","):
        measure(int(number), table)
    table.write()


if __name__ == "__main__":
    main()
