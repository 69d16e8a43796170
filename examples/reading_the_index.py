"""Ask the same question without and with the index; the context differs by the map alone.

    python examples/reading_the_index.py

Data lies below OVERSTORY_HOME (~/.overstory).
"""

import asyncio

from overstory import datasets, forget, improve, recall, remember

DATASET = "example-reading"
FACTS = [
    "Marta Silva skis in Zermatt every winter.",
    "Marta Silva climbs in the Dolomites every summer.",
    "Marta Silva plays the cello in a winter quartet.",
    "Marta Silva grows tomatoes on her balcony in summer.",
    "Marta Silva restores old radios in winter.",
    "Jonas Keller swims in Lake Zurich every summer.",
    "Jonas Keller skates on frozen ponds in winter.",
    "Jonas Keller bakes rye bread in winter.",
    "Jonas Keller cycles over the Gotthard pass in summer.",
    "Jonas Keller and Marta Silva sing in one choir in winter.",
]
QUESTION = "How do Marta Silva and Jonas Keller spend winter and summer?"


async def main() -> None:
    await start_clean()
    await remember(FACTS, DATASET)
    await improve(DATASET, build_global_context_index=True)

    local = await context(with_index=False)
    whole = await context(with_index=True)

    print(f"--- without the index ---\n{local}\n")
    print(f"--- with the index ---\n{whole}\n")
    print(f"the map adds {len(whole) - len(local)} characters and changes nothing else")


async def start_clean() -> None:
    if any(known.name == DATASET for known in await datasets.list_datasets()):
        await forget(DATASET)


async def context(*, with_index: bool) -> str:
    """What a model would read; none is called."""
    [result] = await recall(
        QUESTION,
        "GRAPH_COMPLETION",
        datasets=DATASET,
        top_k=4,
        only_context=True,
        retriever_specific_config={"include_global_context_index": with_index},
    )
    return result.text


if __name__ == "__main__":
    asyncio.run(main())
