"""An application that calls the library, as the tests of flow runs need it: a process of its own, since Prefect
leaves threads and connections behind. Prints what it saw as JSON."""

import asyncio
import json
import os
import socket
import sys
from typing import Any

from overstory import datasets, global_context_index_pipeline, improve, remember
from overstory.errors import OverstoryError
from overstory.indexing.leasing import writing
from overstory.runtime import current_runtime
from tests.flows.conftest import notes

SECRETS = [f"A secret of {name}, told in confidence. {'x' * 50_000}" for name in ("Ada", "Ben", "Cleo")]


async def main() -> None:
    os.environ["OVERSTORY_BATCH_SIZE"] = "10"
    saw: dict[str, Any] = {}
    await remember(notes(60), "graph")
    saw["status"] = (await improve("graph", build_global_context_index=True)).index.status
    await remember(SECRETS, "secrets", node_set="private")
    await remember(notes(30), "observed")
    saw["observed"] = await grown("observed")
    with environment(OVERSTORY_ORCHESTRATE="false"):
        await remember(notes(30), "plain")
        saw["plain"] = await grown("plain")
        await remember(notes(12, first=500), "refused")
        await remember(notes(3), "busy")
    saw["degraded"] = (await global_context_index_pipeline(dataset="refused", max_bucket_size=4)).degraded
    saw["busy"] = await busy()
    saw["down"] = await down()
    sys.stdout.write(json.dumps(saw))


async def grown(name: str) -> list[object]:
    result = await improve(name, build_global_context_index=True)
    return [result.index.buckets, result.index.written, bool(await datasets.root_summary(name))]


async def busy() -> str:
    runtime = await current_runtime()
    (dataset,) = [d for d in await datasets.list_datasets() if d.name == "busy"]
    async with writing(runtime.store, dataset, "another build", ttl_seconds=30):
        return await error_of(improve("busy"))


async def down() -> dict[str, Any]:
    saw: dict[str, Any] = {}
    with environment(PREFECT_API_URL=nobody_listens()):
        saw["error"] = await error_of(remember(notes(2), "unreached"))
        with environment(OVERSTORY_ORCHESTRATE_FALLBACK="true"):
            saw["fallback"] = (await remember(notes(2), "unwatched")).chunks
    saw["documents"] = (await datasets.status("unreached")).documents
    return saw


async def error_of(call: Any) -> str:
    try:
        await call
    except OverstoryError as error:
        return f"{type(error).__name__}: {error}"
    return ""


class environment:
    """Set variables inside the block."""

    def __init__(self, **variables: str) -> None:
        self.variables = variables

    def __enter__(self) -> None:
        self.before = dict(os.environ)
        os.environ.update(self.variables)

    def __exit__(self, *_: object) -> None:
        os.environ.clear()
        os.environ.update(self.before)


def nobody_listens() -> str:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{free.getsockname()[1]}/api"


if __name__ == "__main__":
    asyncio.run(main())
