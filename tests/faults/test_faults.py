"""A short cut of `make faults`: few rounds of each kind, in a process of its own."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.weaviate_server import BINARY, REASON

ROOT = Path(__file__).parents[2]
KINDS = [
    "clock set by +1 day",
    "clock set by -1 day",
    "full disk",
    "read-only file",
    "unreadable in the middle",
    "429 with Retry-After for 30 %",
    "429 for all, after 5 calls",
    "2 to 4 writers at once, … rounds",
    "kill -9 during remember, … model calls",
    "kill -9 during improve, … model calls",
    "kill -9 during remember",
    "kill -9 during improve",
    "kill -9 during rebuild",
    "kill -9 during forget",
    "kill -9 during export",
]
SERVER_KINDS = [f"kill -9 before a write of {work} to Weaviate" for work in ("improve", "forget", "drop")]
STEP = "1" if os.environ.get("OVERSTORY_TEST_EVERY_STOP") else "9"


def kind_of(row: dict[str, Any]) -> str:
    """What a row is about, without the numbers of this run."""
    return re.sub(r"(?<=, )\d+ ", "… ", row["what"]).removesuffix(", five sizes")


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    folder = tmp_path_factory.mktemp("faults")
    command = [sys.executable, "benchmarks/faults.py", "--kills", "5", "--writers", "2", "--step", STEP]
    done = subprocess.run([*command, "--to", str(folder)], cwd=ROOT, capture_output=True, text=True, check=False)
    assert (folder / "faults.json").exists(), done.stderr
    found: list[dict[str, Any]] = json.loads((folder / "faults.json").read_text())["rows"]
    return found


@pytest.mark.skipif(not hasattr(os, "fork"), reason="rounds are forked processes")
@pytest.mark.parametrize("kind", [*KINDS, *SERVER_KINDS])
def test_the_index_survives(rows: list[dict[str, Any]], kind: str) -> None:
    if kind in SERVER_KINDS and BINARY is None:
        pytest.skip(REASON)
    (row,) = [r for r in rows if kind_of(r) == kind]

    assert row["faults"] == 0, row["figure"]
    if row["figure"].startswith("not done"):
        pytest.skip(row["figure"])


@pytest.mark.skipif(not hasattr(os, "fork"), reason="rounds are forked processes")
def test_every_row_is_looked_at(rows: list[dict[str, Any]]) -> None:
    assert sorted(map(kind_of, rows)) == sorted([*KINDS, *(SERVER_KINDS if BINARY else [])])
