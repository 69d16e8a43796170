"""What got slower since the committed baseline: by CPU and by counts, never by wall seconds.

    python benchmarks/compare.py [--baseline FOLDER] [--now FOLDER] [--accept]

CPU is compared in units of the yardstick that each run measured, so that another machine's baseline counts. Exits
with 1 when a row is worse by more than its tolerance. --accept makes the present figures the baseline.
"""

import argparse
import json
import shutil
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
CPU_TOLERANCE, COUNT_TOLERANCE = 1.3, 1.02


@dataclass(frozen=True)
class Change:
    benchmark: str
    what: str
    kind: str
    before: float
    now: float
    tolerance: float

    @property
    def ratio(self) -> float:
        return self.now / self.before if self.before else float("inf" if self.now else 1)

    @property
    def worse(self) -> bool:
        return self.ratio > self.tolerance


def changes(baseline: Path, now: Path) -> Iterator[Change]:
    """Every figure that both folders have."""
    for path in sorted(now.glob("*.json")):
        if (baseline / path.name).exists():
            yield from _changes(path.stem, _read(baseline / path.name), _read(path))


def _changes(name: str, before: dict[str, Any], now: dict[str, Any]) -> Iterator[Change]:
    old = _figures(before)
    for key, figure in _figures(now).items():
        if key in old:
            what, kind = key
            yield Change(name, what, kind, old[key], figure, CPU_TOLERANCE if kind == "CPU" else COUNT_TOLERANCE)


def _figures(run: dict[str, Any]) -> dict[tuple[str, str], float]:
    """By row and kind; a row that belongs to the one above it is named after both."""
    figures, above = {}, ""
    for row in run["rows"]:
        above = above if row["what"].startswith(" ") else row["what"]
        name = f"{above} ›{row['what']}" if row["what"].startswith(" ") else above
        if "cpu_seconds" in row:
            figures[name, "CPU"] = row["cpu_seconds"] / run["machine"]["yardstick_cpu_seconds"]
        if "count" in row:
            figures[name, "count"] = float(row["count"])
    return figures


def _read(path: Path) -> dict[str, Any]:
    run: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return run


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--baseline", type=Path, default=ROOT / "benchmarks" / "baseline")
    parser.add_argument("--now", type=Path, default=ROOT / "build" / "benchmarks")
    parser.add_argument("--accept", action="store_true")
    asked = parser.parse_args()
    if asked.accept:
        asked.baseline.mkdir(parents=True, exist_ok=True)
        for path in asked.now.glob("*.json"):
            shutil.copy(path, asked.baseline)
        return 0
    found = list(changes(asked.baseline, asked.now))
    if not found:
        print(f"Nothing to compare: {asked.now} has no figures that {asked.baseline} has. Run `make bench` first.")
        return 1
    for change in sorted(found, key=lambda change: -change.ratio):
        mark = "WORSE" if change.worse else ""
        print(f"{change.ratio:6.2f} x  {change.kind:<5}  {change.benchmark}: {change.what:<90} {mark}")
    return int(any(change.worse for change in found))


if __name__ == "__main__":
    sys.exit(main())
