"""What a Prefect server costs: `improve` of the same notes with it and without, each in a process of its own."""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from measuring import ROOT, Table

sys.path.insert(0, str(ROOT))

from tests.prefect_server import PrefectServer

PROGRAM = """
import asyncio, json, sys, time
from overstory import improve, remember
from tests.flows.conftest import notes

async def main():
    await remember(notes(int(sys.argv[1])), sys.argv[2], self_improvement=False)

async def grow():
    begun, cpu = time.monotonic(), time.process_time()
    result = await improve(sys.argv[2], build_global_context_index=True)
    print(json.dumps({"wall": time.monotonic() - begun, "cpu": time.process_time() - cpu, "written": result.index.written}))

asyncio.run(main() if sys.argv[3] == "fill" else grow())
"""
PLAIN = {"OVERSTORY_ORCHESTRATE": "false"}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--notes", type=int, default=1_000)
    given = parser.parse_args()
    table = Table("orchestration")
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        server = PrefectServer(Path(folder))
        try:
            server.start()
            compare(server, given.notes, table)
        finally:
            server.stop()
    table.write()


def compare(server: PrefectServer, notes: int, table: Table) -> None:
    run(server, notes, "warm", "fill", {})  # the server's first run is slower
    for name in ("plain", "observed"):
        run(server, notes, name, "fill", PLAIN)
    plain = run(server, notes, "plain", "grow", PLAIN)
    observed = run(server, notes, "observed", "grow", {})
    (shown,) = [r for r in server.runs_of("improve") if r["name"] == "improve-observed"]
    table.add(f"improve of {notes:,} notes, plain", f"{plain['wall']:.1f} s, CPU {plain['cpu']:.1f} s")
    table.add(f"improve of {notes:,} notes, with a server", f"{observed['wall']:.1f} s, CPU {observed['cpu']:.1f} s")
    more = {what: observed[what] - plain[what] for what in ("wall", "cpu")}
    table.add("more with a server", f"{more['wall']:.1f} s, CPU {more['cpu']:.1f} s", "≤ 10 s, CPU ≤ 5 s", **more)
    table.add("task runs", str(len(server.graph(shown["id"]))), "≤ 40", written=observed["written"])


def run(server: PrefectServer, notes: int, dataset: str, what: str, settings: dict[str, str]) -> dict[str, float]:
    command = [sys.executable, "-c", PROGRAM, str(notes), dataset, what]
    environment = {**os.environ, **server.environment, **settings}
    ran = subprocess.run(command, cwd=ROOT, env=environment, check=True, capture_output=True, text=True)
    return json.loads(ran.stdout) if what == "grow" else {}


if __name__ == "__main__":
    main()
