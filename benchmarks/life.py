"""A life of an index: one more document, nothing new, fifty together, one at a time, stops, and how tight it stays.

    python benchmarks/life.py [--large] [--to FOLDER]

Calls are those of a build by rules, one for each text it writes; CPU is that of this process, all threads. With
--large also at 100,000 summaries (some minutes).
"""

import argparse
import asyncio
import os
import random
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks.measuring import Table, leave_services, timed
from overstory import SourceDocument

if TYPE_CHECKING:
    from overstory.indexing.tree.state import TreeState

Step = tuple[list[int], list[int]]
"""Numbers of documents that are added, and that are forgotten."""
PEOPLE = [f"{first} {last}" for first in ("Anna", "Luis", "Mira", "Tom", "Ines") for last in ("Hofer", "Sand", "Prado")]
THINGS = [f"{colour}{thing}" for colour in ("Blue", "Red", "North", "Gold") for thing in ("star", "bird", "gate")]
PLACES = ["Porto", "Bergen", "Ghent", "Turin", "Graz", "Lyon", "Oslo", "Riga"]


def notes(first: int, end: int) -> list[SourceDocument]:
    made = []
    for i in range(first, end):
        pick = random.Random(i)
        text = (
            f"{pick.choice(PEOPLE)} reviewed the {pick.choice(THINGS)}{pick.randint(1, max(2, end // 40))} plan in "
            f"{pick.choice(PLACES)} with {pick.choice(PEOPLE)} and asked for {pick.randint(2, 90)} changes."
        )
        made.append(SourceDocument(text, source=f"{i}.md"))
    return made


async def build(name: str, **options: object) -> object:
    from overstory import improve

    index = (await improve(name, build_global_context_index=True, **options)).index  # type: ignore[arg-type]
    assert index is not None
    return index


async def grow(table: Table, count: int, cpu_target: float) -> None:
    """One more document, fifty singly and fifty together, nothing new, one document less."""
    from overstory import datasets, forget, remember

    name = f"life-{count}"
    await remember(notes(0, count), name, self_improvement=False)
    with timed() as whole:
        await build(name)
    levels = len((await datasets.status(name)).level_sizes)
    table.add(
        f"{count:,} summaries: first build",
        f"{whole.cpu_seconds:.1f} CPU s, {levels} levels",
        cpu_seconds=whole.cpu_seconds,
    )
    calls, seconds = [], []
    for i in range(50):
        await remember(notes(count + i, count + i + 1), name, self_improvement=False)
        with timed() as one:
            index = await build(name)
        calls.append(index.written)  # type: ignore[attr-defined]
        seconds.append(one.cpu_seconds)
    average, median = sum(calls) / 50, sorted(seconds)[25]
    table.add("  one more: texts on average", f"{average:.1f} (most {max(calls)})", f"<= {levels + 3}", count=average)
    table.add("  one more: CPU, median", f"{median:.2f} s", f"<= {cpu_target}", cpu_seconds=median)
    await remember(notes(count + 50, count + 100), name, self_improvement=False)
    together = await build(name)
    share = together.written / sum(calls)  # type: ignore[attr-defined]
    table.add("  fifty together, of fifty singly", f"{share:.2f}", "<= 0.4", count=share)
    with timed() as idle:
        unchanged = await build(name)
    table.add("  nothing new: calls, CPU", f"{unchanged.written}, {idle.cpu_seconds:.3f} s", "0, <= 0.1")  # type: ignore[attr-defined]
    with timed() as gone:
        await forget(name, document="7.md")
    table.add("  forget one, its traces erased", f"{gone.cpu_seconds:.2f} CPU s, {gone.wall_seconds:.2f} s")


async def one_at_a_time(table: Table) -> None:
    from overstory import datasets, remember

    for note in notes(0, 48):
        await remember(note, "singly", self_improvement=False)
        await build("singly")
    status = await datasets.status("singly")
    table.add("48 documents one at a time: the root covers", f"{status.summaries}", "48")


async def half_way(table: Table) -> None:
    """Stopped at half of 250 buckets: what the next run writes again."""
    from overstory import remember

    await remember(notes(0, 1_000), "half", self_improvement=False)
    stopped = await build("half", max_calls=125)
    finished = await build("half")
    again = stopped.written - finished.reused  # type: ignore[attr-defined]
    table.add("stopped after 125 texts: written again", f"{again} of {stopped.written}", "calls in flight")  # type: ignore[attr-defined]


async def keep_the_map(table: Table, count: int) -> None:
    """The share of buckets and roots that stay served after 1 % of the documents was forgotten."""
    from overstory import datasets, forget, remember

    await remember(notes(0, count), "forgotten", self_improvement=False)
    await build("forgotten")
    whole = await datasets.tree("forgotten")
    chosen = random.Random(1).sample(range(count), count // 100)
    await forget("forgotten", document=[f"{i}.md" for i in chosen])
    left = [e for e in await datasets.tree("forgotten") if not e.withheld]
    table.add(
        f"texts served after forgetting 1 % of {count:,}", f"{len(left) / len(whole):.3f}", ">= 0.95",
        root=bool(left and left[0].is_root),
    )  # fmt: skip


async def stay_tight(table: Table, what: str, steps: Sequence[Step]) -> None:
    """The tree of 1,000 summaries after many steps, against one that is built at once."""
    from overstory import datasets, forget, remember

    name, texts = f"tight {what}", []
    await remember(notes(0, 1_000), name, self_improvement=False)
    await build(name)
    for added, gone in steps:
        if gone:
            await forget(name, document=[f"{i}.md" for i in gone])
        if added:
            await remember([note for i in added for note in notes(i, i + 1)], name, self_improvement=False)
        texts.append((await build(name)).written)  # type: ignore[attr-defined]
    whole, fresh = await _trees(name)
    near, more = nearness(whole) / nearness(fresh), sum(whole.level_sizes) / sum(fresh.level_sizes)
    levels = f"{len(whole.levels)} levels for {len(fresh.levels)}"
    table.add(
        f"1,000 summaries, {what}: nearness", f"{near:.3f}", ">= 0.97", violations=len(await datasets.verify(name))
    )
    table.add("  areas of a fresh tree", f"{more:.2f}, {levels}", "<= 1.25, one level more")
    table.add("  texts a step, on average", f"{sum(texts) / len(texts):.1f} (most {max(texts)})")


async def _trees(name: str) -> "tuple[TreeState, TreeState]":
    """The tree that is served, and the one that would be built at once from the same summaries."""
    from overstory import datasets
    from overstory.indexing.index_rows import read_rows
    from overstory.indexing.planning import choose_options, read_leaves
    from overstory.indexing.plans import IMPROVE
    from overstory.indexing.tree.bucketing import plan_tree
    from overstory.indexing.tree.state import TreeState
    from overstory.runtime import open_dataset

    (dataset,) = [d for d in await datasets.list_datasets() if d.name == name]
    opened = await open_dataset(dataset.id)
    manifest = await opened.manifest()
    leaves, served = await read_leaves(opened.tenant), await read_rows(opened.tenant, manifest.serving)
    fresh = plan_tree(leaves, choose_options(name, manifest, None, IMPROVE))
    return (
        TreeState.from_nodes(dataset.id, leaves, served),
        TreeState.from_plan(dataset.id, leaves, fresh),
    )


def nearness(tree: "TreeState") -> float:
    """Mean cosine of the summaries with their buckets' directions."""
    import numpy as np

    level, vectors = tree.levels[0], tree.leaves.vectors
    owner = np.repeat(np.arange(len(level)), level.sizes)
    sums = np.zeros((len(level), vectors.shape[1]), np.float32)
    np.add.at(sums, owner, vectors[level.members])
    sums /= np.maximum(np.linalg.norm(sums, axis=1, keepdims=True), 1e-12)
    return float(np.einsum("ij,ij->i", sums[owner], vectors[level.members]).mean())


def mixed(count: int, chance: random.Random) -> list[Step]:
    """Steps that each add a document or forget one."""
    there, steps = list(range(1_000)), list[Step]()
    for new in range(1_000, 1_000 + count):
        if chance.random() < 0.5:
            there.append(new)
            steps.append(([new], []))
        else:
            steps.append(([], [there.pop(chance.randrange(len(there)))]))
    return steps


def half_of_them(together: int, chance: random.Random) -> list[Step]:
    leaving = chance.sample(range(1_000), 500)
    return [([], leaving[i : i + together]) for i in range(0, 500, together)]


async def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--large", action="store_true")
    parser.add_argument("--to", type=Path)
    asked = parser.parse_args()
    table = Table("life")
    leave_services()
    with tempfile.TemporaryDirectory() as home:
        os.environ |= {"OVERSTORY_HOME": home, "EMBEDDING_MODEL": "hashing"}
        await one_at_a_time(table)
        await half_way(table)
        await keep_the_map(table, 1_000)
        chance = random.Random(2)
        await stay_tight(table, "500 added singly", [([i], []) for i in range(1_000, 1_500)])
        await stay_tight(table, "300 added or forgotten", mixed(300, chance))
        await stay_tight(table, "half forgotten by ten", half_of_them(10, chance))
        await stay_tight(table, "half forgotten at once", half_of_them(500, chance))
        await grow(table, 1_000, 0.3)
        await grow(table, 10_000, 0.5)
        if asked.large:
            await grow(table, 100_000, 2.0)
    table.write(asked.to)


if __name__ == "__main__":
    asyncio.run(main())
