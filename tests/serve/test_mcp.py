"""The tools of the Model Context Protocol, asked with the SDK's own client."""

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any
from uuid import UUID

import httpx
import httpx2
import pytest
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError
from mcp_types import CallToolResult
from typer.testing import CliRunner

from overstory.cli.app import app
from overstory.errors import InvalidOptionError
from overstory.models import COMPLETE, FORGETTING, Document
from overstory.runtime import open_dataset
from overstory.serve.jobs import Job
from overstory.serve.keys import KeyRing
from overstory.serve.mcp import tools
from overstory.serve.mcp.folders import check_folders, files_of
from overstory.serve.mcp.server import ERROR
from tests.serve.conftest import MakeClient, Process, texts

PROGRAM = ["-c", "from overstory.cli import main; main()", "mcp"]
TOOLS = ["list_datasets", "describe_dataset", "recall", "remember", "improve", "forget"]


def started(*arguments: str) -> Any:
    """`overstory mcp` in a process of its own, as a client starts it."""
    server = StdioServerParameters(command=sys.executable, args=[*PROGRAM, *arguments], env=dict(os.environ))
    return stdio_client(server)


@asynccontextmanager
async def over_http(url: str, key: str = "") -> AsyncIterator[Any]:
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    async with (
        httpx2.AsyncClient(headers=headers, timeout=60) as http,
        streamable_http_client(f"{url}/mcp", http_client=http) as streams,
    ):
        yield streams


@pytest.fixture(params=["stdio", "http"])
def connect(request: pytest.FixtureRequest, start_server: Callable[..., Process]) -> Callable[[], Any]:
    return started if request.param == "stdio" else lambda: over_http(start_server().url)


def said(result: CallToolResult) -> dict[str, Any]:
    assert not result.is_error, result.content
    assert result.structured_content is not None
    return result.structured_content


def error(result: CallToolResult) -> dict[str, Any]:
    assert result.is_error
    assert result.meta is not None
    told: dict[str, Any] = result.meta[ERROR]
    assert result.content[0].text.startswith(f"{told['code']}: {told['detail']}")  # type: ignore[union-attr]  # a text
    return told


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_a_client_lists_remembers_improves_recalls_and_forgets(connect: Callable[[], Any], mode: str) -> None:
    async with Client(connect(), mode=mode) as client:
        listed = (await client.list_tools()).tools
        remembered = said(await client.call_tool("remember", {"dataset": "notes", "texts": texts()}))
        before = said(await client.call_tool("describe_dataset", {"dataset": "notes"}))
        improved = said(await client.call_tool("improve", {"dataset": "notes"}))
        after = said(await client.call_tool("describe_dataset", {"dataset": "notes"}))
        found = said(await client.call_tool("list_datasets"))["datasets"]
        question = {"query_text": "Who moved the launch?", "datasets": ["notes"], "include_global_context_index": True}
        answered = await client.call_tool("recall", question)
        forgotten = said(await client.call_tool("forget", {"dataset": "notes", "documents": ["notes/fares.md"]}))
        everything = said(await client.call_tool("forget", {"dataset": "notes", "documents": "all"}))
        left = said(await client.call_tool("list_datasets"))

    assert [tool.name for tool in listed] == TOOLS
    assert remembered["counts"] == {"added": 6}
    assert (before["fresh"], before["root"]) == (False, None)
    assert (improved["index"], improved["generation"]) == ("published", 1)
    assert after["fresh"] and "Northstar" in after["root"]
    assert "place" not in after["status"]["store"]
    assert [(one["name"], one["generation"]) for one in found] == [("notes", 1)]
    result = said(answered)["results"][0]
    assert "notes/launch.md" in result["sources"] and result["generation"] == 1
    assert result["text"] in answered.content[0].text  # type: ignore[union-attr]  # a text
    assert (forgotten["documents"], everything["dataset"]) == (1, "notes")
    assert left["datasets"] == []


async def test_a_forgetting_that_stopped_is_advised_to_be_finished(plain_environment: Path) -> None:
    async with Client(started()) as client:
        await client.call_tool("remember", {"dataset": "notes", "texts": texts()})
        await client.call_tool("improve", {"dataset": "notes"})
        built = said(await client.call_tool("describe_dataset", {"dataset": "notes"}))
        tenant = (await open_dataset(UUID(built["status"]["id"]))).tenant
        [document, *_] = await tenant.find(Document, "state", [COMPLETE])
        await tenant.patch(Document, {document: {"state": FORGETTING}})
        stopped = said(await client.call_tool("describe_dataset", {"dataset": "notes"}))
        await client.call_tool("improve", {"dataset": "notes"})
        finished = said(await client.call_tool("describe_dataset", {"dataset": "notes"}))

    assert built["fresh"]
    assert not stopped["fresh"] and "`improve` brings it up to date" in stopped["advice"]
    assert (finished["fresh"], finished["advice"]) == (True, "")


async def test_a_wrong_call_gets_a_clear_error(connect: Callable[[], Any]) -> None:
    async with Client(connect()) as client:
        await client.call_tool("remember", {"dataset": "notes", "texts": texts()})
        unknown = error(await client.call_tool("describe_dataset", {"dataset": "note"}))
        strange = error(await client.call_tool("describe_dataset", {"dataset": "zzz"}))
        misspelt = error(await client.call_tool("recall", {"query": "Who?"}))
        blank = error(await client.call_tool("recall", {"query_text": " \x00 "}))
        dated = error(await client.call_tool("remember", {"texts": [{"text": "x", "occurred_at": "soon"}]}))
        nothing = error(await client.call_tool("forget", {"dataset": "notes", "documents": []}))
        files = error(await client.call_tool("remember", {"files": ["/etc/passwd"], "texts": ["x"]}))
        with pytest.raises(MCPError, match="There is no tool 'erase'; there are list_datasets"):
            await client.call_tool("erase", {})
        alive = said(await client.call_tool("list_datasets"))

    assert (unknown["code"], unknown["data"]["nearest"]) == ("DatasetNotFoundError", "notes")
    assert "`list_datasets` lists the datasets" in strange["detail"]
    assert (misspelt["code"], blank["code"], nothing["code"]) == ("UsageError", "InvalidQueryError", "UsageError")
    assert "query_text: Field required" in misspelt["detail"] and "query: Extra inputs" in misspelt["detail"]
    assert "occurred_at" in dated["detail"]
    assert "files: Extra inputs are not permitted" in files["detail"]
    assert len(alive["datasets"]) == 1


async def test_a_text_that_looks_like_a_path_is_a_text(connect: Callable[[], Any], tmp_path: Path) -> None:
    secret = tmp_path / "secret.txt"
    secret.write_text("the password is swordfish")
    forms = [str(secret), secret.as_uri(), {"text": "a note", "source": str(secret)}]

    async with Client(connect()) as client:
        said(await client.call_tool("remember", {"dataset": "paths", "texts": forms}))
        asked = {"query_text": "password swordfish", "query_type": "CHUNKS", "datasets": ["paths"]}
        found = said(await client.call_tool("recall", asked))

    assert "the password is" not in json.dumps(found)


async def test_work_in_the_background_is_seen_in_the_description(connect: Callable[[], Any]) -> None:
    async with Client(connect()) as client:
        await client.call_tool("remember", {"dataset": "notes", "texts": texts()})
        begun = said(await client.call_tool("improve", {"dataset": "notes", "background": True}))
        job = {"state": "running"}
        while job["state"] == "running":
            [job] = [
                one
                for one in said(await client.call_tool("describe_dataset", {"dataset": "notes"}))["jobs"]
                if one["id"] == begun["job"]
            ]

    assert job["state"] == "done"
    assert job["result"]["index"]["status"] == "published"  # type: ignore[index]  # an object


async def test_files_are_read_below_the_folders_that_were_named(tmp_path: Path) -> None:
    allowed, secret = tmp_path / "allowed", tmp_path / "secret.md"
    (allowed / "deep").mkdir(parents=True)
    (allowed / "deep" / "note.md").write_text("Ada Brook tests Northstar in Porto.")
    secret.write_text("The password is swordfish.")
    (allowed / "link.md").symlink_to(secret)

    async with Client(started("--folder", str(allowed))) as client:
        taken = said(await client.call_tool("remember", {"dataset": "files", "files": ["."]}))
        refused = [
            error(await client.call_tool("remember", {"dataset": "files", "files": [name]}))
            for name in ("../secret.md", str(secret), "link.md", "missing.md")
        ]

    assert taken["counts"] == {"added": 1}
    assert {one["code"] for one in refused} == {"InvalidOptionError"}
    assert all(str(allowed) in one["detail"] for one in refused)


def test_a_folder_gives_its_files_by_name_and_no_more_than_may_be(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:  # fmt: skip
    for name in ("b.md", "a.md", ".hidden.md"):
        (tmp_path / name).write_text("x")
    folders = check_folders([tmp_path])

    found = files_of([".", "a.md"], folders)

    assert [file.name for file in found] == ["a.md", "b.md"]
    monkeypatch.setattr("overstory.serve.mcp.folders.MOST_FILES", 1)
    with pytest.raises(InvalidOptionError, match="at most 1 files"):
        files_of(["."], folders)
    with pytest.raises(InvalidOptionError, match="name a folder that exists"):
        check_folders([tmp_path / "a.md"])


def message(number: int, method: str, **params: Any) -> str:
    return json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params}) + "\n"


@pytest.mark.parametrize("arguments", [(), ("--debug",)])
def test_standard_output_holds_the_protocol_only(arguments: tuple[str, ...], tmp_path: Path) -> None:
    hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
    lines = [
        message(1, "initialize", **hello),
        json.dumps({"jsonrpc": "2.0", "method": "notifications/initialized"}) + "\n",
        "this is no message\n",
        message(2, "tools/list"),
        message(3, "tools/call", name="remember", arguments={"dataset": "n", "texts": ["Ada Brook tests Northstar."]}),
    ]
    program = [sys.executable, *PROGRAM[:2], *arguments, "mcp"]

    with subprocess.Popen(program, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as server:  # fmt: skip
        assert server.stdin is not None and server.stdout is not None and server.stderr is not None
        server.stdin.write("".join(lines))
        server.stdin.flush()
        answers: list[dict[str, Any]] = []
        while not any(one.get("id") == 3 for one in answers):
            answers.append(json.loads(server.stdout.readline()))
        server.stdin.close()
        answers += map(json.loads, server.stdout)
        log = server.stderr.read()

    assert {one["jsonrpc"] for one in answers} == {"2.0"}
    assert {1, 2, 3} <= {one.get("id") for one in answers}
    assert server.returncode == 0
    assert bool(log) == bool(arguments)


def test_a_signal_ends_it(tmp_path: Path) -> None:
    program = [sys.executable, *PROGRAM]
    with subprocess.Popen(program, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdin is not None and server.stdout is not None
        server.stdin.write(message(1, "ping"))
        server.stdin.flush()
        server.stdout.readline()
        server.send_signal(signal.SIGTERM)

        assert server.wait(timeout=60) == 0
        assert server.stdout.read() == ""


async def test_over_http_a_key_opens_its_users_datasets_only(start_server: Callable[..., Process], tmp_path: Path) -> None:  # fmt: skip
    ring = KeyRing(tmp_path / "served" / "serve" / "keys.json")
    ada, eve = ring.add("ada"), ring.add("eve")
    url = start_server("--require-key").url

    async with AsyncExitStack() as open_clients:
        of_ada = await open_clients.enter_async_context(Client(over_http(url, ada)))
        of_eve = await open_clients.enter_async_context(Client(over_http(url, eve)))
        said(await of_ada.call_tool("remember", {"dataset": "secret", "texts": ["Ada Brook tests Northstar."]}))
        dataset = said(await of_ada.call_tool("list_datasets"))["datasets"][0]["id"]
        seen = [
            error(await of_eve.call_tool("describe_dataset", {"dataset": "secret"})),
            error(await of_eve.call_tool("recall", {"query_text": "Northstar?", "datasets": [dataset]})),
            error(await of_eve.call_tool("forget", {"dataset": dataset, "documents": "all"})),
        ]
        empty = said(await of_eve.call_tool("list_datasets"))

    assert [one["code"] for one in seen] == ["DatasetNotFoundError"] * 3
    assert all(one["data"].get("nearest") is None for one in seen)
    assert empty["datasets"] == []


async def test_the_entrance_stands_before_the_tools(make_client: MakeClient) -> None:
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    locked, open_to_all = make_client(require_key=True), make_client()

    answers = [
        await locked.post("/mcp", json=body),
        await locked.post("/mcp", json=body, headers={"Authorization": "Bearer ovs_00000000_wrong"}),
        await open_to_all.post("/mcp", json=body, headers={"Origin": "https://evil.example"}),
        await open_to_all.get("/mcp"),
        await make_client(max_body_bytes=10).post("/mcp", json=body),
    ]

    assert [one.status_code for one in answers] == [401, 401, 403, 405, 413]
    assert all(one.headers["content-type"] == "application/problem+json" for one in answers)


def without_mcp(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.partition(".")[0] in ("mcp", "mcp_types") or ".serve.mcp." in name]:  # fmt: skip
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "mcp", None)


def test_without_the_package_the_command_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    without_mcp(monkeypatch)

    result = CliRunner().invoke(app, ["mcp"])

    assert result.exit_code == 2
    assert "pip install 'overstory[mcp]'" in result.stderr.replace("\n", " ")
    assert result.stdout == ""


async def test_without_the_package_the_server_serves_the_rest(make_client: MakeClient, monkeypatch: pytest.MonkeyPatch) -> None:  # fmt: skip
    without_mcp(monkeypatch)
    client: httpx.AsyncClient = make_client()

    answer = await client.post("/mcp", json={})

    assert (answer.status_code, answer.json()["code"]) == (501, "MissingPackageError")
    assert "overstory[mcp]" in answer.json()["detail"]
    assert (await client.get("/v1/datasets")).status_code == 200


async def test_whoever_runs_it_is_told_what_a_setting_lacks(monkeypatch: pytest.MonkeyPatch) -> None:
    async with Client(started()) as client:
        said(await client.call_tool("remember", {"dataset": "notes", "texts": ["Ada Brook tests Northstar."]}))
    monkeypatch.setenv("EMBEDDING_DIMENSIONS", "64")

    async with Client(started()) as client:
        told = error(await client.call_tool("recall", {"query_text": "Northstar?", "datasets": ["notes"]}))

    assert told["code"] == "EmbeddingMismatchError"
    assert "EMBEDDING_DIMENSIONS=" in told["detail"]


async def test_a_client_that_asks_for_progress_is_told_how_far_the_work_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("overstory.serve.mcp.tools._TELL_SECONDS", 0.001)
    job = Job(user="ada", verb="improve", dataset="notes", dataset_id=UUID(int=1), paid=False)
    told: asyncio.Queue[tuple[float, float | None, str]] = asyncio.Queue()

    async def report(done: float, total: float | None, what: str) -> None:
        await told.put((done, total, what))

    async with tools._telling(job, report):
        job.begin("writing level 0", 4)
        job.advance("writing level 0", 1)
        first = await told.get()
        job.advance("writing level 0", 2)
        second = await told.get()

    assert (first, second) == ((1, 4, "writing level 0"), (3, 4, "writing level 0"))
