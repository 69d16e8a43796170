"""The server against its own OpenAPI document, by schemathesis, where that is installed (in any environment)."""

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import httpx
import pytest

from tests.serve.conftest import Process, texts

CONFIGURATION = Path(__file__).with_name("schemathesis.toml")


@pytest.mark.schema
def test_no_request_is_answered_other_than_described(start_server: Callable[..., Process]) -> None:
    tool = shutil.which("schemathesis")
    if tool is None:
        pytest.skip("no schemathesis on the PATH: pip install schemathesis, anywhere")
    url = start_server("--requests-per-minute", "1000000").url
    httpx.post(f"{url}/v1/remember", json={"texts": texts()}, timeout=60)
    httpx.post(f"{url}/v1/improve", json={}, timeout=60)

    arguments = ("run", f"{url}/openapi.json", "--max-examples", "20", "--phases", "examples,coverage,fuzzing")
    done = subprocess.run(
        [tool, "--config-file", str(CONFIGURATION), *arguments], capture_output=True, text=True, check=False
    )

    assert done.returncode == 0, done.stdout[-6_000:]
    assert "No issues found" in done.stdout or "passed" in done.stdout
