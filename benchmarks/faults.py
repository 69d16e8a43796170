"""What breaks, and what the index makes of it: kills, writers, disks, models, clocks.

    python benchmarks/faults.py [--kills 100] [--writers 20] [--step 1] [--seed 1] [--to FOLDER]

Those of a Weaviate server need a `weaviate` on the PATH. Prints a table; ends with 1 when something was not as it must be.
"""

import argparse
import random
import shutil
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from benchmarks import fault_causes as causes  # noqa: E402
from benchmarks import fault_rounds as rounds  # noqa: E402
from benchmarks import fault_server as stops  # noqa: E402
from benchmarks.measuring import Table  # noqa: E402
from benchmarks.weaviate_store import server  # noqa: E402

READERS = 4


class Report:
    """The table, and whether all was well."""

    def __init__(self) -> None:
        self.table = Table("faults")
        self.failed = False

    def add(self, what: str, figure: str, target: str, faults: list[str]) -> None:
        self.failed |= bool(faults)
        self.table.add(what, "; ".join(dict.fromkeys(faults))[:120] if faults else figure, target, faults=len(faults))


def kills(report: Report, folder: Path, count: int, chance: random.Random) -> None:
    for verb in rounds.VERBS:
        prepared = rounds.prepare(verb, folder)
        done = [rounds.kill_once(prepared, folder, chance, READERS) for _ in range(count)]
        recalls = sum(one.recalls for each in done for one in each.seen)
        running = sum(each.was_running for each in done)
        figure = f"{running} of {count} in the middle, {recalls:,} recalls whole"
        report.add(
            f"kill -9 during {verb.name}", figure, "same tree, no mixed reads", [f for d in done for f in d.faults]
        )


def paid_once(report: Report, folder: Path, count: int, chance: random.Random) -> None:
    model = causes.ModelProcess()
    try:
        for verb in rounds.VERBS[:2]:
            _paid_once(report, folder / "paid", verb, model, count, chance)
    finally:
        model.stop()


def _paid_once(
    report: Report,
    folder: Path,
    verb: rounds.Verb,
    model: causes.ModelProcess,
    count: int,
    chance: random.Random,
) -> None:
    only = rounds.Verb(verb.name, verb.prepare, verb.act, verb.act)
    home = folder / f"{verb.name}-home"
    rounds.run(only.prepare, home, model.environment)
    before = rounds.run(causes.durable, home)
    whole = folder / f"{verb.name}-whole"
    shutil.copytree(home, whole)
    model.ask("forget")
    begun = time.monotonic()
    rounds.run(only.act, whole, model.environment)
    seconds, planned = time.monotonic() - begun, model.calls
    faults, in_flight = [], []
    for _ in range(count):
        stored, asked, again = _kill_and_count(home, folder / "round", only, model, chance.uniform(0, seconds))
        in_flight.append(asked - (stored - before))
        if again > planned - (stored - before):
            faults.append(f"paid twice: {again} after {stored - before} of {planned} were stored")
    most = max(in_flight, default=0)
    if most > 2 * causes.CONCURRENCY:
        faults.append(f"{most} calls were lost, {causes.CONCURRENCY} run at once and as many wait to be stored")
    report.add(
        f"kill -9 during {verb.name}, {planned} model calls",
        f"at most {most} asked again",
        "only those in flight",
        faults,
    )
    shutil.rmtree(folder)


def _kill_and_count(
    home: Path, at: Path, verb: rounds.Verb, model: causes.ModelProcess, moment: float
) -> tuple[int, int, int]:
    """Texts stored when it was killed, calls until then, calls of the next run."""
    shutil.rmtree(at, ignore_errors=True)
    shutil.copytree(home, at)
    model.ask("forget")
    child = rounds.Child(verb.act, at, model.environment)
    time.sleep(moment)
    child.kill()
    time.sleep(0.1)
    asked = model.calls
    stored = rounds.run(causes.durable, at)
    rounds.run(verb.finish, at, model.environment)
    return stored, asked, model.calls - asked


def writers(report: Report, folder: Path, count: int, chance: random.Random) -> None:
    verb = rounds.Verb("writers", causes.prepare_two, rounds.improve, rounds.improve)
    prepared = rounds.prepare(verb, folder)
    faults, told = [], 0
    for _ in range(count):
        said, wrong = causes.many_writers(prepared, folder, chance.randint(2, 4))
        told += sum(one.startswith("busy") for one in said)
        faults += wrong
    report.add(
        f"2 to 4 writers at once, {count} rounds", f"one builds, {told} told who holds it", "both trees valid", faults
    )


def files(report: Report, folder: Path) -> None:
    prepared = rounds.prepare(rounds.VERBS[1], folder)
    try:
        ends = [causes.full_disk(prepared, folder, spare) for spare in (128, 192, 288, 400, 700)]
        failed = [said for said, _ in ends if said]
        wrong = [fault for _, faults in ends for fault in faults]
        wrong += [said for said in failed if "can't be written" not in said]
        report.add("full disk, five sizes", f"{len(failed)} clear errors, served, went on", "served, goes on", wrong)
    except PermissionError as error:
        report.add("full disk", f"not done: {error}", "served, goes on", [])
    said, wrong = causes.read_only(prepared, folder)
    report.add("read-only file", _cause(said), "one clear error", wrong)
    said, wrong = causes.unreadable_in_the_middle(prepared, folder, prepared.seconds / 3)
    report.add("unreadable in the middle", _cause(said), "one clear error", wrong)


def _cause(said: str) -> str:
    """An error without the place that it names."""
    return "can't" + said.partition("can't")[2].partition(":")[0]


def overload(report: Report, folder: Path) -> None:
    model = causes.ModelProcess()
    try:
        home = folder / "overload"
        rounds.run(rounds.prepare_pending, home)
        _overload_some(report, folder, home, model)
        _overload_all(report, folder, home, model)
    finally:
        model.stop()


def _overload_some(report: Report, folder: Path, home: Path, model: causes.ModelProcess) -> None:
    shutil.copytree(home, folder / "some")
    model.ask("overload", 0.3, 0.3)
    begun = time.monotonic()
    found = rounds.run(causes.improve_against_overload, folder / "some", model.environment)
    faults = [] if found["status"] == "published" and not found["degraded"] else [str(found)]
    if not found["retries"] or time.monotonic() - begun < 0.3:
        faults.append("no wait")
    faults += [] if found["lowest"] < causes.CONCURRENCY else ["the concurrency did not fall"]
    faults += [] if found["last"] > found["lowest"] else ["the concurrency did not recover"]
    figure = f"{found['calls']} calls, {found['retries']} retries, {found['lowest']} to {found['last']} at once"
    report.add("429 with Retry-After for 30 %", figure, "no call lost", faults)


def _overload_all(report: Report, folder: Path, home: Path, model: causes.ModelProcess) -> None:
    shutil.copytree(home, folder / "all")
    more = {**model.environment, "LLM_MAX_ATTEMPTS": "2", "OVERSTORY_BATCH_SIZE": "4"}
    model.ask("behave")
    model.ask("overload", 1.0, 0.1, 5)
    stopped = rounds.run(causes.improve_against_overload, folder / "all", more)
    model.ask("behave")
    resumed = rounds.run(causes.improve_against_overload, folder / "all", more)
    faults = [] if stopped["status"] == "failed" and "are left" in stopped["reason"] else [str(stopped)]
    faults += [] if stopped["generation"] == 1 and resumed["status"] == "published" else [str(resumed)]
    figure = f"stopped with counts, resumed with {resumed['calls']} calls"
    report.add("429 for all, after 5 calls", figure, "stops, resumes", faults)


def clocks(report: Report, folder: Path) -> None:
    home = folder / "clock"
    rounds.run(rounds.first_index, home)
    for days in (1, -1):
        faults = causes.clock_jumps(home, days)
        report.add(f"clock set by {days:+d} day", "taken over, the first may not publish", "one writer", faults)


def server_stops(report: Report, folder: Path, step: int) -> None:
    if shutil.which("weaviate") is None:
        print("no weaviate on the PATH: kills of its writers were left out")
        return
    with server("") as (url, _):
        for work in stops.WORKS:
            outcome = stops.kill_before_writes(work, url, folder, READERS, step)
            figure = f"{outcome.kills} kills, {outcome.recalls:,} recalls whole"
            target = "next run clean, no mixed reads" if work.is_read else "gone with the next run"
            report.add(f"kill -9 before a write of {work.name} to Weaviate", figure, target, outcome.faults)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=100, help="over all verbs")
    parser.add_argument("--writers", type=int, default=20, help="rounds")
    parser.add_argument(
        "--step", type=int, default=1, help="of Weaviate's writers, kill before every write so many further on"
    )
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--to", type=Path, help="a folder for the table as JSON")
    asked = parser.parse_args()
    chance, report = random.Random(asked.seed), Report()
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        clocks(report, folder / "clocks")
        files(report, folder / "files")
        overload(report, folder / "overload")
        writers(report, folder / "writers", asked.writers, chance)
        paid_once(report, folder / "paid", max(2, asked.kills // 10), chance)
        kills(report, folder / "kills", max(1, asked.kills // len(rounds.VERBS)), chance)
        server_stops(report, folder / "server", asked.step)
    report.table.write(asked.to)
    sys.exit(report.failed)


if __name__ == "__main__":
    main()
