"""Exporting and importing a large dataset: memory and rows a second.

python benchmarks/moving.py [--chunks 100000]
"""

import argparse
import asyncio
import os
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks.large_tree import write_large_tree
from benchmarks.measuring import Table, leave_services

ROOT = Path(__file__).parents[1]
PROGRAM = """
import asyncio, sys, time
sys.path.insert(0, {root!r})
from benchmarks.measuring import peak_megabytes
from overstory import datasets
async def main():
    begun, cpu = time.monotonic(), time.process_time()
    {call}
    print(time.monotonic() - begun, time.process_time() - cpu, peak_megabytes())
asyncio.run(main())
"""


def run(call: str, home: Path) -> tuple[float, float, float]:
    """Wall seconds, CPU seconds and peak MB, in a process of its own."""
    program = PROGRAM.format(root=str(ROOT), call=call)
    environment = {**os.environ, "OVERSTORY_HOME": str(home)}
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True)
    wall, cpu, peak = map(float, done.stdout.split())
    return wall, cpu, peak


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--chunks", type=int, default=100_000)
    chunks = parser.parse_args().chunks
    leave_services()
    table = Table("moving")
    with tempfile.TemporaryDirectory() as folder:
        home, other, archive = Path(folder, "home"), Path(folder, "other"), Path(folder, "archive")
        os.environ |= {"OVERSTORY_HOME": str(home), "EMBEDDING_MODEL": "hashing"}
        asyncio.run(write_large_tree("large", chunks))
        calls = {
            "export": (f"await datasets.export('large', {str(archive)!r})", home),
            "import": (f"await datasets.import_archive({str(archive)!r})", other),
        }  # fmt: skip
        rows = 0
        for verb, (call, where) in calls.items():
            wall, cpu, peak = run(call, where)
            rows = rows or count_rows(archive)
            table.add(f"{verb} {chunks:,} chunks with vectors, {rows:,} rows", f"{rows / wall:,.0f} rows a second", ">= 20,000", cpu_seconds=cpu)  # fmt: skip
            table.add("  peak memory", f"{peak:.0f} MB", "<= 300", count=round(peak))
    table.write()


def count_rows(archive: Path) -> int:
    import pyarrow.parquet as pq

    return sum(pq.read_metadata(path).num_rows for path in archive.rglob("*.parquet"))


if __name__ == "__main__":
    main()
