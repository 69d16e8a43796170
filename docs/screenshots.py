"""Take the pictures of docs/operating.md anew: a real server, a real browser, the rebuild form filled in and sent.

    npm install playwright-core          # in any folder; PLAYWRIGHT names its node_modules/playwright-core
    PLAYWRIGHT=… python -m docs.screenshots

Needs the extra `prefect`, Node.js, and Chromium (CHROMIUM names it; else `chromium` from the PATH).
"""

import asyncio
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from overstory import datasets, improve, remember
from overstory.testing import ScriptedModelServer, refuse, slow
from tests.prefect_server import PrefectServer

ROOT = Path(__file__).resolve().parents[1]
IMAGES = ROOT / "docs" / "images"
DATASET = "northstar"
SCRIPT = ROOT / "docs" / "screenshots.cjs"


async def main() -> None:
    IMAGES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder, ScriptedModelServer() as model:
        environment = {
            "LLM_MODEL": "openai/scripted",
            "LLM_ENDPOINT": model.url,
            "LLM_API_KEY": "test",
            "LLM_MAX_CONCURRENCY": "8",
            "OVERSTORY_BATCH_SIZE": "8",
        }
        server = PrefectServer(Path(folder), environment)
        os.environ.update({**environment, "OVERSTORY_HOME": str(server.home), "EMBEDDING_MODEL": "hashing"})
        try:
            server.start()
            server.deploy()
            server.start_worker()
            await take(server, model)
        finally:
            server.stop()


async def take(server: PrefectServer, model: ScriptedModelServer) -> None:
    """Fill in the form of the rebuild and send it; watch the readers; picture the run."""
    await remember(ROOT / "overstory" / "demo" / "notes", DATASET)
    await improve(DATASET, build_global_context_index=True)
    model.when(slow(0.4), schema="AreaAnswer")
    model.when(refuse(), schema="AreaAnswer", times=4, share=0.05)
    browse(server, "form", server.deployment_id("rebuild"), DATASET)
    run_id = await started(server)
    seen = {(await datasets.status(DATASET)).generation}
    while server.flow_run(run_id)["state"]["type"] not in {"COMPLETED", "FAILED", "CRASHED"}:
        seen.add((await datasets.status(DATASET)).generation)
        await asyncio.sleep(0.2)
    seen.add((await datasets.status(DATASET)).generation)
    state = server.flow_run(run_id)["state"]
    sys.stdout.write(f"Clicked: {state['name']}, {state['message']}; readers saw generations {sorted(seen)}\n")
    server.graph(run_id)
    browse(server, "pages", run_id)


async def started(server: PrefectServer) -> str:
    """The run that the form started."""
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        if runs := server.runs_of("rebuild"):
            return str(runs[0]["id"])
        await asyncio.sleep(0.5)
    raise SystemExit("The form started no run: does the page look other than expected? See docs/images.")


def browse(server: PrefectServer, *arguments: str) -> None:
    node, chromium = shutil.which("node"), os.environ.get("CHROMIUM") or shutil.which("chromium")
    if not node or not chromium or not os.environ.get("PLAYWRIGHT"):
        raise SystemExit("Needs Node.js, Chromium and PLAYWRIGHT=…/node_modules/playwright-core.")
    ui = server.url.removesuffix("/api")
    environment = {**os.environ, "CHROMIUM": chromium}
    command = [node, str(SCRIPT), ui, str(IMAGES), *arguments]
    subprocess.run(command, env=environment, check=True, timeout=180)


if __name__ == "__main__":
    asyncio.run(main())
