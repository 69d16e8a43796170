"""What benchmarks share: CPU of this process, peak memory, tables, and where the figures come from."""

import json
import os
import platform
import random
import resource
import statistics
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).parents[1]
ROUNDS = 1_000


@dataclass
class Timing:
    wall_seconds: float = 0.0
    cpu_seconds: float = 0.0


@contextmanager
def timed() -> Iterator[Timing]:
    """Wall and CPU seconds of this process, all threads, inside the block."""
    timing = Timing()
    wall, cpu = time.perf_counter(), time.process_time()
    try:
        yield timing
    finally:
        timing.wall_seconds, timing.cpu_seconds = time.perf_counter() - wall, time.process_time() - cpu


def leave_services() -> None:
    """Forget the services that the environment names: a benchmark starts what it needs, and pays nobody."""
    for name in ("LLM_MODEL", "PREFECT_API_URL", "OVERSTORY_STORE_URL"):
        os.environ.pop(name, None)


def peak_megabytes() -> float:
    """Of this process alone, where the kernel tells it: `ru_maxrss` of a child begins with that of its parent."""
    status = Path("/proc/self/status")
    if not status.exists():
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return next(int(line.split()[1]) for line in status.read_text().splitlines() if line.startswith("VmHWM")) / 1024


def percentile(values: Sequence[float], share: float) -> float:
    return statistics.quantiles(values, n=100)[round(share * 100) - 1] if len(values) > 1 else values[0]


def interval(values: Sequence[float]) -> str:
    """The mean with its bootstrap interval of 95 %."""
    chooser, n = random.Random(0), len(values)
    means = sorted(sum(chooser.choices(values, k=n)) / n for _ in range(ROUNDS))
    return f"{statistics.fmean(values):+.3f} [{means[int(0.025 * ROUNDS)]:+.3f}, {means[int(0.975 * ROUNDS) - 1]:+.3f}]"


@dataclass
class Table:
    """Rows of a benchmark; prints them and keeps them as JSON."""

    name: str
    rows: list[dict[str, Any]] = field(default_factory=list)

    def add(self, what: str, figure: str, target: str = "", **details: Any) -> None:
        """A row; `compare.py` looks at its `cpu_seconds` and its `count`, where it has them."""
        self.rows.append({"what": what, "figure": figure, "target": target, **details})
        print(f"{what:<72} {figure:>26}   {target}", flush=True)

    def write(self, folder: Path | None = None) -> None:
        path = (folder or ROOT / "build" / "benchmarks") / f"{self.name}.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps({"machine": machine(), "rows": self.rows}, indent=2) + "\n", encoding="utf-8")
        print(f"written to {path.relative_to(ROOT) if path.is_relative_to(ROOT) else path}")


def machine() -> dict[str, Any]:
    commit = subprocess.run(["git", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=False)
    return {
        "cores": os.cpu_count(),
        "processor": platform.machine(),
        "python": platform.python_version(),
        "commit": commit.stdout.strip(),
        "argv": sys.argv[1:],
        "yardstick_cpu_seconds": yardstick(),
    }


def yardstick() -> float:
    """CPU seconds of a fixed piece of Python and numpy work: how fast this machine is now. The best of five."""

    def work() -> float:
        begun = time.process_time()
        text = " ".join(f"note {i} of {i * i}" for i in range(40_000))
        Counter(text.split())
        matrix = np.linspace(0.0, 1.0, 300 * 300, dtype=np.float32).reshape(300, 300)
        for _ in range(20):
            matrix = matrix @ matrix / np.linalg.norm(matrix)
        return time.process_time() - begun

    return min(work() for _ in range(5))
