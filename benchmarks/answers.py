"""Does the map make better contexts? Rankings, evidence at equal tokens, changing state, planted facts, time; one table.

    python benchmarks/answers.py [--data FOLDER] [--lane hashing] [--sets hotpotqa,supersede] [--writer MODEL]

Figures are of the questions at odd places; what that is worth as held-out data says `docs/evidence.md`. Intervals are
paired bootstrap intervals of 95 %. The sets lie in `qa/` and `corpora/` of the folder that `--data` or
OVERSTORY_TEST_DATA names; without them it says so and ends.
"""

import argparse
import asyncio
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
from benchmarks import question_sets
from benchmarks.answer_contexts import SYSTEMS, measure_contexts, measure_coverage
from benchmarks.answer_rankings import measure_rankings
from benchmarks.answer_writers import SCRIPTED, TINY, measure_answers, writing
from benchmarks.measuring import Table, leave_services, percentile
from benchmarks.question_sets import SETS, QuestionSet

PARTS = ("rankings", "contexts", "facts", "time")
TIMED, UNCOUNTED = 40, 3


async def measure_time(table: Table, lane: str, loaded: Sequence[QuestionSet]) -> None:
    """Wall time and tokens of a context without a budget, over the largest dataset."""
    from overstory import recall

    largest = max(loaded, key=lambda one: max(map(len, one.passages.values())))
    dataset = max(largest.passages, key=lambda name: len(largest.passages[name]))
    questions = [q.text for q in largest.questions if q.dataset == dataset][:TIMED]
    for system, (query_type, config) in SYSTEMS.items():
        times, tokens = [], []
        for text in questions:
            begun = time.perf_counter()
            found = await recall(
                text, query_type, datasets=dataset, only_context=True, retriever_specific_config=config
            )
            times.append((time.perf_counter() - begun) * 1000)
            tokens += [one.evidence.context_tokens for one in found]
        size = len(largest.passages[dataset])
        table.add(
            f"{lane} {dataset}, {size:,} passages, {system}: p50 / p95",
            f"{percentile(times[UNCOUNTED:], 0.5):.1f} / {percentile(times[UNCOUNTED:], 0.95):.1f} ms",
            f"{statistics.fmean(tokens):,.0f} tokens",
        )


async def measure(table: Table, lane: str, arguments: argparse.Namespace) -> None:
    whole = [question_sets.load(name, arguments.data) for name in arguments.sets.split(",")]
    if arguments.characters:
        whole = [one.cut(arguments.characters) for one in whole]
    for one in whole:
        await question_sets.remember_all(one)
    loaded = [one.half(arguments.half) for one in whole]
    parts = arguments.parts.split(",")
    if "rankings" in parts:
        await measure_rankings(table, lane, loaded)
    if "contexts" in parts:
        await measure_contexts(table, lane, loaded, arguments.questions)
    if "facts" in parts:
        await measure_coverage(table, lane, loaded, arguments.questions)
    if "time" in parts:
        await measure_time(table, lane, whole)
    if arguments.writer:
        await measure_answers(table, arguments.writer, lane, loaded, arguments.questions)


def arguments_of() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    data = os.environ.get("OVERSTORY_TEST_DATA") or None
    parser.add_argument("--data", type=Path, default=data, help="holds qa/ and corpora/")
    parser.add_argument("--lane", choices=["hashing", "minilm"], action="append")
    parser.add_argument("--sets", default=",".join(SETS))
    parser.add_argument("--parts", default=",".join(PARTS), help="what to measure")
    parser.add_argument("--half", choices=["odd", "even", "all"], default="odd", help="choose on even, report odd")
    parser.add_argument("--questions", type=int, default=90, help="of each group, for contexts, facts and answers")
    parser.add_argument("--characters", type=int, help="about so much of each set, for a slow machine")
    parser.add_argument("--home", type=Path, help="keep the datasets here, and use those that are here")
    parser.add_argument(
        "--writer", help=f"writes the index and answers: a litellm model name, {SCRIPTED!r}, or {TINY!r}"
    )
    arguments = parser.parse_args()
    if unknown := set(arguments.parts.split(",")) - {*PARTS, "none"}:
        parser.error(f"--parts knows no {', '.join(sorted(unknown))}: it knows {', '.join(PARTS)}, and none")
    if arguments.data is None or not (arguments.data / "qa").is_dir():
        parser.error("no question sets: name the folder that holds qa/ with --data or OVERSTORY_TEST_DATA")
    return arguments


def main() -> None:
    arguments = arguments_of()
    leave_services()
    table = Table("answers")
    for lane in arguments.lane or ["hashing", "minilm"]:
        with tempfile.TemporaryDirectory() as fresh, writing(arguments.writer):
            home = (arguments.home or Path(fresh)) / f"{lane}-{(arguments.writer or 'offline').replace('/', '-')}"
            os.environ |= {"EMBEDDING_MODEL": lane, "OVERSTORY_HOME": str(home)}
            asyncio.run(measure(table, lane, arguments))
    table.write()


if __name__ == "__main__":
    main()
