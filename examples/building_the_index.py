"""Build an index over six facts, add one fact, and see the tree follow.

    python examples/building_the_index.py

Data lies below OVERSTORY_HOME (~/.overstory).
"""

import asyncio
from collections import Counter
from typing import Any

from overstory import datasets, forget, improve, remember

DATASET = "example-building"
FACTS = [
    "Anna Hofer leads the Northstar project at Brightwater Labs.",
    "Luis Ortega designs the battery of Northstar.",
    "Anna Hofer and Luis Ortega met at the Basel conference in 2019.",
    "Northstar is a weather buoy that sends data for five years on one battery.",
    "Luis Ortega moved the battery test of Northstar from March to May.",
    "Anna Hofer showed Northstar to the harbour office of Trieste.",
]
ONE_MORE = "Anna Hofer and Luis Ortega plan the launch of Northstar for 9 June."


async def main() -> None:
    await start_clean()

    await remember(FACTS, DATASET)
    await improve(DATASET, build_global_context_index=True)
    before = await areas()
    print(f"six facts:  {counts(await nodes())}")

    await remember(ONE_MORE, DATASET)
    await improve(DATASET, build_global_context_index=True)
    after = await areas()
    print(f"one more:   {counts(await nodes())}")

    rewritten = [area for area in before if area in after and before[area] != after[area]]
    print(f"areas that were kept with a new text: {len(rewritten)}")
    print(f"\nthe root says:\n{await datasets.root_summary((await dataset()).id)}")


async def start_clean() -> None:
    if any(known.name == DATASET for known in await datasets.list_datasets()):
        await forget(DATASET)


async def dataset() -> Any:
    return next(known for known in await datasets.list_datasets() if known.name == DATASET)


async def nodes() -> list[dict[str, Any]]:
    graph, _ = await datasets.graph_data((await dataset()).id)
    return [{"id": node, **properties} for node, properties in graph]


async def areas() -> dict[Any, str]:
    """The text of each bucket and of the root, by id."""
    return {node["id"]: node["text"] for node in await nodes() if node["type"] == "GlobalContextSummary"}


def counts(graph: list[dict[str, Any]]) -> str:
    kinds = Counter("root" if node.get("is_root") else node["type"] for node in graph)
    return f"{kinds['TextSummary']} TextSummary, {kinds['GlobalContextSummary']} buckets, {kinds['root']} root"


if __name__ == "__main__":
    asyncio.run(main())
