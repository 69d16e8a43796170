"""The page for agents: its settings work as written, and it lists the tools."""

import json
import os
import re
import sys
from pathlib import Path
from typing import Any

import pytest
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client

from overstory.serve.mcp.tools import tools
from tests.docs.blocks import ROOT, blocks
from tests.serve.conftest import Process

PAGE = ROOT / "docs" / "mcp.md"
ON_THIS_MACHINE, OVER_HTTP = (json.loads(block)["mcpServers"]["overstory"] for block in blocks(PAGE, "json"))
MAIN = ["-c", "from overstory.cli import main; main()"]


async def tools_of(transport: Any) -> list[str]:
    async with Client(transport) as client:
        return [tool.name for tool in (await client.list_tools()).tools]


async def test_the_settings_start_a_server(tmp_path: Path) -> None:
    assert ON_THIS_MACHINE["command"] == "overstory"
    environment = {**os.environ, **ON_THIS_MACHINE["env"], "OVERSTORY_HOME": str(tmp_path / "home")}
    server = StdioServerParameters(command=sys.executable, args=[*MAIN, *ON_THIS_MACHINE["args"]], env=environment)

    assert await tools_of(stdio_client(server)) == [tool.name for tool in tools(with_files=False)]


async def test_the_address_is_where_the_server_answers(tmp_path: Path) -> None:
    server = Process(tmp_path / "served")
    try:
        url = re.sub(r"^http://127.0.0.1:8321", server.url, OVER_HTTP["url"])
        assert await tools_of(streamable_http_client(url)) == [tool.name for tool in tools(with_files=False)]
    finally:
        server.kill()


def test_the_page_lists_every_tool() -> None:
    listed = re.findall(r"^\| `(\w+)` \|", PAGE.read_text(encoding="utf-8"), re.MULTILINE)

    assert listed == [tool.name for tool in tools(with_files=True)]


@pytest.mark.parametrize("tool", tools(with_files=True), ids=lambda tool: tool.name)
def test_an_argument_is_called_as_the_page_calls_it(tool: Any) -> None:
    [row] = [line for line in PAGE.read_text(encoding="utf-8").splitlines() if line.startswith(f"| `{tool.name}` |")]
    named = set(re.findall(r"`(\w+)`", row)) - {tool.name}

    assert named <= set(tool.form.model_fields)
