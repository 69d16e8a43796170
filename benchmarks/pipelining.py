"""How long a build takes with a slow model, beside what no order of its calls could beat.

    python benchmarks/pipelining.py [--notes 1000] [--concurrency 16]

Each answer takes 0.5 to 1.5 s. A build can't be shorter than its longest chain of calls, nor than all calls shared
out among those that run at once.
"""

import argparse
import asyncio
import os
import random
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks.main_job import make_notes
from benchmarks.measuring import Table, leave_services, timed
from overstory.testing import ScriptedModelServer
from overstory.testing.model_server import Reply, Request

SECONDS, SPREAD = 1.0, 0.5


class Slow:
    """Answers after a time that is drawn for each call."""

    def __init__(self) -> None:
        self.taken: list[float] = []
        self._chooser = random.Random(7)

    def __call__(self, request: Request, reply: Reply) -> Reply:
        self.taken.append(self._chooser.uniform(SECONDS - SPREAD, SECONDS + SPREAD))
        return replace(reply, delay_seconds=self.taken[-1])


async def measure(table: Table, count: int, concurrency: int) -> None:
    from overstory import datasets, improve, remember

    with ScriptedModelServer() as server:
        os.environ |= {
            "LLM_MODEL": "openai/scripted",
            "LLM_ENDPOINT": server.url,
            "LLM_API_KEY": "none",
            "LLM_MAX_CONCURRENCY": str(concurrency),
        }
        await remember(make_notes(count), "slow")
        slow = Slow()
        server.when(slow, schema="AreaAnswer")
        with timed() as building:
            index = (await improve("slow", build_global_context_index=True)).index
        assert index is not None
        shared = sum(slow.taken) / concurrency
        chain = (len((await datasets.status("slow")).level_sizes) + 1) * SECONDS
    bound = max(shared, chain)
    table.add(f"index of {count:,} notes, a model of {SECONDS:g} ± {SPREAD:g} s: calls", f"{len(slow.taken)}")
    table.add("  all calls, so many at once / longest chain", f"{shared:.1f} / {chain:.1f} s")
    ratio = building.wall_seconds / bound
    table.add(f"  wall at {concurrency} at once", f"{building.wall_seconds:.1f} s = {ratio:.2f} x", "<= 1.2 x")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--notes", type=int, default=1000)
    parser.add_argument("--concurrency", type=int, default=16)
    asked = parser.parse_args()
    table = Table("pipelining")
    leave_services()
    with tempfile.TemporaryDirectory() as home:
        os.environ |= {"OVERSTORY_HOME": home, "EMBEDDING_MODEL": "hashing"}
        asyncio.run(measure(table, asked.notes, asked.concurrency))
    table.write()


if __name__ == "__main__":
    main()
