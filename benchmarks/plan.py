"""Planning a tree: CPU, memory and growth of a fresh plan, and of taking in one more summary.

    python benchmarks/plan.py [--million]

Each case runs in a process of its own, so that memory is its own. Without --million up to 100,000 summaries.
"""

import argparse
import json
import math
import subprocess
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from uuid import UUID

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks.measuring import Table, peak_megabytes
from overstory.indexing.tree.bucketing import TreeOptions, plan_tree
from overstory.indexing.tree.id_arrays import to_uuids
from overstory.indexing.tree.increments import apply_changes
from overstory.indexing.tree.state import TreeState
from tests.unit.indexing import trees

DATASET = UUID(int=1)
KINDS = ("topical", "all_alike", "nothing_alike")
DIMENSIONS = 384
CLEAR_REFS = Path("/proc/self/clear_refs")


@dataclass(frozen=True)
class Result:
    kind: str
    strategy: str
    summaries: int
    plan_cpu_seconds: float
    ids_cpu_seconds: float
    peak_gib: float
    """Of the whole process, the data included."""
    levels: tuple[int, ...]
    one_more_cpu_seconds: float
    """From arrays to the changed tree."""
    one_more_rewritten: int


def measure(kind: str, strategy: str, summaries: int, one_more: bool) -> Result:
    leaves = getattr(trees, kind)(summaries, dimensions=DIMENSIONS)
    options = TreeOptions(bucketing_strategy=strategy)
    forget_peak()
    start = time.process_time()
    plan = plan_tree(leaves, options)
    planned = time.process_time()
    plan.bucket_ids(DATASET, leaves)
    named = time.process_time()
    peak = peak_megabytes() / 1024
    seconds, rewritten = add_one(leaves, options) if one_more else (math.nan, 0)
    return Result(
        kind, strategy, summaries, planned - start, named - planned, peak, plan.level_sizes, seconds, rewritten
    )


def forget_peak() -> None:
    """Count from here, so that making up the data doesn't count (Linux; elsewhere it does)."""
    if CLEAR_REFS.exists():
        CLEAR_REFS.write_text("5")


def add_one(leaves: trees.Leaves, options: TreeOptions) -> tuple[float, int]:
    """CPU seconds and rewritten buckets (the root is one more) of adding the last summary to the others."""
    last = len(leaves) - 1
    others = leaves.take(range(last))
    stored = TreeState.from_plan(DATASET, others, plan_tree(others, options))
    start = time.process_time()
    state = stored.with_leaves(leaves)
    change = apply_changes(state, [to_uuids(leaves.ids[last:])[0]], [], options)
    return time.process_time() - start, len(change.rewritten)


def in_own_process(*case: object) -> Result:
    command = [sys.executable, __file__, "--case", *map(str, case)]
    found = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    return Result(**{**found, "levels": tuple(found["levels"])})


def growth(results: list[Result], kind: str, strategy: str) -> float:
    """The exponent e of CPU ~ n^e between the two largest sizes."""
    first, last = sorted((r for r in results if (r.kind, r.strategy) == (kind, strategy)), key=lambda r: r.summaries)[
        -2:
    ]
    return math.log(last.plan_cpu_seconds / first.plan_cpu_seconds) / math.log(last.summaries / first.summaries)


GOALS = {10_000: "<= 1 CPU s, 0.3 GiB", 100_000: "<= 12 CPU s, 0.8 GiB", 1_000_000: "<= 170 CPU s, 5 GiB"}


def show(table: Table, result: Result) -> None:
    seconds = result.plan_cpu_seconds + result.ids_cpu_seconds
    table.add(
        f"plan {result.summaries:,} summaries, {result.kind.replace('_', ' ')}, {result.strategy} strategy",
        f"{seconds:.2f} CPU s, {result.peak_gib:.2f} GiB",
        GOALS.get(result.summaries, ""),
        cpu_seconds=seconds,
    )
    table.add("  buckets by level", ", ".join(map(str, result.levels[:4])) + " …", count=result.levels[0])
    if result.one_more_rewritten:
        one_more = result.one_more_cpu_seconds
        table.add("  one more: CPU, texts", f"{one_more:.3f} s, {result.one_more_rewritten}", cpu_seconds=one_more)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--million", action="store_true", help="also plan 1,000,000 topical summaries (minutes, GiB)")
    parser.add_argument("--case", nargs=4, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.case:
        kind, strategy, summaries, one_more = asked.case
        print(json.dumps(asdict(measure(kind, strategy, int(summaries), one_more == "True"))))
        return
    table, results = Table("plan"), []
    for strategy in ("graph", "vector"):
        for kind in KINDS:
            sizes = [1_000, 10_000, 100_000] + [1_000_000] * (
                asked.million and (kind, strategy) == ("topical", "graph")
            )
            for summaries in sizes:
                results.append(in_own_process(kind, strategy, summaries, summaries <= 100_000))
                show(table, results[-1])
            table.add("  cost grows as", f"n^{growth(results, kind, strategy):.2f}", "<= n^1.15")
    table.write()


if __name__ == "__main__":
    main()
