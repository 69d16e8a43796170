"""An application whose batches other processes share, as the tests need it. Prints what came of it as JSON."""

import asyncio
import json
import sys
from typing import Any

from overstory import datasets, improve, remember
from overstory.errors import OverstoryError
from tests.flows.conftest import notes


async def main(name: str, count: int, caps: dict[str, Any]) -> dict[str, Any]:
    try:
        read = await remember(notes(count), name)
        preview = (await improve(name, build_global_context_index=True, preview=True)).preview
        index = (await improve(name, build_global_context_index=True, **caps)).index
    except OverstoryError as error:
        return {"error": f"{type(error).__name__}: {error}"}
    assert preview is not None
    assert index is not None
    return {
        "chunks": read.chunks,
        "planned": preview.calls,
        "calls": index.model_calls,
        "status": index.status,
        "reason": index.reason,
        "levels": [[level.buckets, level.written, level.reused, level.degraded] for level in index.levels],
        "texts": sorted(entry.text for entry in await datasets.tree(name)) if index.generation else [],
        "broken": [str(violation) for violation in await datasets.verify(name)] if index.generation else [],
    }


if __name__ == "__main__":
    sys.stdout.write(json.dumps(asyncio.run(main(sys.argv[1], int(sys.argv[2]), json.loads(sys.argv[3])))))
