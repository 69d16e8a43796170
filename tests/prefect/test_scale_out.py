"""Batches shared by several processes on Dask: what comes of them is what one process makes."""

import asyncio
import json
import os
import signal
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from overstory import remember
from overstory.testing import ScriptedModelServer, slow
from tests.flows.conftest import notes
from tests.prefect.conftest import LONG
from tests.prefect_server import ROOT, PrefectServer, descendants, wait_for

pytestmark = [
    pytest.mark.prefect,
    pytest.mark.skipif(find_spec("prefect_dask") is None, reason="needs the extra `dask`"),
]

NOTES = 60
PLACES = 4
"""Of the model."""


class Application:
    """A process of its own that remembers notes and builds their index."""

    def __init__(self, server: PrefectServer, name: str, caps: dict[str, Any] | None = None, **settings: str) -> None:
        command = [sys.executable, "-m", "tests.prefect.scale_out_program", name, str(NOTES), json.dumps(caps or {})]
        environment = {
            **server.environment,
            "OVERSTORY_BATCH_SIZE": "5",
            "LLM_MAX_CONCURRENCY": str(PLACES),
            "OVERSTORY_TASK_RUNNER": "dask",
            **settings,
        }
        self._starting = asyncio.create_subprocess_exec(
            *command, cwd=ROOT, env=environment, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE
        )
        self._process: asyncio.subprocess.Process | None = None

    async def start(self) -> "Application":
        self._process = await self._starting
        return self

    async def said(self) -> dict[str, Any]:
        assert self._process is not None
        printed, errors = await self._process.communicate()
        assert self._process.returncode == 0, errors.decode()[-3000:]
        return dict(json.loads(printed))

    def workers(self) -> list[int]:
        """Its processes that work on batches."""
        assert self._process is not None
        return [one for one in descendants(self._process.pid) if b"spawn_main" in _command_of(one)]


def _command_of(process: int) -> bytes:
    try:
        return Path(f"/proc/{process}/cmdline").read_bytes()
    except OSError:
        return b""


async def said(server: PrefectServer, name: str, caps: dict[str, Any] | None = None, **settings: str) -> dict[str, Any]:
    return await (await Application(server, name, caps, **settings).start()).said()


def area_calls(model: ScriptedModelServer) -> int:
    return sum(chat.schema_name == "AreaAnswer" for chat in model.chats)


async def test_several_processes_make_what_one_makes_with_the_calls_of_the_plan(
    server: PrefectServer, model: ScriptedModelServer, tmp_path: Path
):
    alone = await said(
        server, "shared", OVERSTORY_HOME=str(tmp_path), OVERSTORY_ORCHESTRATE="false", OVERSTORY_TASK_RUNNER=""
    )
    model.forget()

    shared = await said(server, "shared")

    (run,) = [run for run in server.runs_of("improve") if run["name"] == "improve-shared"]
    graph = server.graph(run["id"])
    assert alone["status"] == "published"
    assert shared == alone
    assert shared["broken"] == []
    assert area_calls(model) == shared["planned"] == shared["calls"]
    assert model.max_in_flight <= PLACES
    assert graph["summarise level 0: 1-5 of 15"] == {"plan the buckets of every level"}
    assert graph["summarise level 1: 1-4 of 4"] == {
        f"summarise level 0: {part} of 15" for part in ("1-5", "6-10", "11-15")
    }
    assert graph["verify"] == {"write the root"}


@LONG
async def test_a_process_that_is_killed_costs_the_calls_that_it_had_in_flight(
    server: PrefectServer, model: ScriptedModelServer, same_home: None
):
    await remember(notes(NOTES), "killed")
    model.when(slow(0.5), schema="AreaAnswer")
    application = await Application(server, "killed").start()
    await asyncio.to_thread(wait_for, lambda: area_calls(model) >= PLACES + 1, seconds=180, what="the first texts")

    os.kill(application.workers()[-1], signal.SIGKILL)
    ended = await application.said()

    assert ended["status"] == "published"
    assert ended["broken"] == []
    assert ended["planned"] <= area_calls(model) <= ended["planned"] + PLACES


@LONG
async def test_a_cap_holds_for_all_processes_together(
    server: PrefectServer, model: ScriptedModelServer, same_home: None
):
    await remember(notes(NOTES), "capped")

    ended = await said(server, "capped", {"max_calls": 8})

    assert ended["status"] == "stopped"
    assert "Stopped at max_calls=8 after 8 calls" in ended["reason"]
    assert area_calls(model) == ended["calls"] == 8
