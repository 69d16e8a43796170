"""Without a server, nothing of Prefect is there."""

import json
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
PROGRAM = """
import asyncio, json, sys
from pathlib import Path
from overstory import improve, remember

async def main():
    await remember(["Ada moved the launch of Northstar to June.", "Ben tests Northstar in Porto."])
    await improve(build_global_context_index=True, run_in_background=False)
    result = await improve(build_global_context_index=True, run_in_background=True)
    tasks = Path("/proc/self/task")
    children = [c for t in tasks.iterdir() for c in (t / "children").read_text().split()] if tasks.exists() else []
    print(json.dumps({"prefect": "prefect" in sys.modules, "children": children, "index": result.index.status}))

asyncio.run(main())
"""


def test_a_plain_call_imports_starts_and_writes_nothing_of_prefect(tmp_path: Path):
    place = tmp_path / "place"
    place.mkdir()
    home = tmp_path / "overstory"
    kept = {k: v for k, v in os.environ.items() if not k.startswith("PREFECT_")}
    environment = {**kept, "HOME": str(place), "TMPDIR": str(place), "OVERSTORY_HOME": str(home)}

    ran = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        cwd=place,
        env={**environment, "PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        check=True,
    )

    assert json.loads(ran.stdout) == {"prefect": False, "children": [], "index": "skipped"}
    assert list(place.iterdir()) == []
    assert home.is_dir()
