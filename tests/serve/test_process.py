"""The server in a process of its own: killed, refused, stopped."""

import json
import select
import socket
from collections.abc import Callable
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest
from typer.testing import CliRunner

from overstory import ids
from overstory.access import DEFAULT_USER
from overstory.cli.app import app
from tests.serve.conftest import Process

TEXT = "\n\n".join(
    f"Note {n}: Ada Brook tests part {n} of Northstar in Porto on {n % 28 + 1} March." for n in range(400)
)


def upload(text: str) -> tuple[bytes, bytes]:
    """The head and the body of a request that uploads one file."""
    body = (
        "--b\r\n"
        'Content-Disposition: form-data; name="files"; filename="long.md"\r\nContent-Type: text/markdown\r\n\r\n'
        f"{text}\r\n--b--\r\n"
    ).encode()
    head = f"POST /v1/remember/files?dataset=up HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: multipart/form-data; boundary=b\r\nContent-Length: {len(body)}\r\n\r\n"  # fmt: skip
    return head.encode(), body


def stored(url: str) -> str | None:
    """The text of the uploaded document, None when there is none."""
    dataset = ids.dataset_id(ids.user_id(DEFAULT_USER), "up")
    answer = httpx.get(f"{url}/v1/datasets/up/documents/{ids.document_id(dataset, 'long.md')}?limit=200")
    if answer.status_code == 404:
        return None
    return "".join(part["text"] for chunk in answer.json()["chunks"] for part in chunk["parts"])


@pytest.mark.parametrize(("share", "seconds"), [(0.5, 0.1), (1.0, 0.03), (1.0, 0.1), (1.0, 0.25)])
def test_a_kill_in_the_middle_leaves_the_document_whole_or_absent(
    start_server: Callable[..., Process], share: float, seconds: float
) -> None:
    server = start_server()
    head, body = upload(TEXT)
    place = urlsplit(server.url)
    with socket.create_connection((place.hostname or "", place.port or 0)) as connection:
        connection.sendall(head + body[: int(len(body) * share)])
        answered = bool(select.select([connection], [], [], seconds)[0])
        server.kill()

    found = stored(start_server().url)

    assert found in ([TEXT] if answered else [None, TEXT])
    assert found is None or share == 1


def test_others_are_served_only_where_there_is_a_key(plain_environment: Path) -> None:
    result = CliRunner().invoke(app, ["serve", "--host", "0.0.0.0", "--json"])

    assert result.exit_code == 2
    assert "overstory serve keys add USER" in json.loads(result.stdout)["error"]["message"]


def test_keys_are_made_listed_and_removed_by_command(plain_environment: Path) -> None:
    run = CliRunner().invoke
    key = run(app, ["serve", "keys", "add", "ada"]).stdout.strip()
    listed = json.loads(run(app, ["serve", "keys", "list", "--json"]).stdout)["keys"]

    removed = run(app, ["serve", "keys", "remove", listed[0]["id"]])

    assert key.startswith(f"ovs_{listed[0]['id']}_")
    assert (listed[0]["user"], removed.exit_code) == ("ada", 0)
    assert run(app, ["serve", "keys", "remove", "nothing"]).exit_code == 2
    assert run(app, ["serve", "keys", "list"]).stdout == ""


def test_a_port_that_is_taken_is_told(plain_environment: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()

        result = CliRunner().invoke(app, ["serve", "--port", str(taken.getsockname()[1]), "--json"])

    assert result.exit_code == 2
    assert "choose --host or --port" in json.loads(result.stdout)["error"]["message"]
